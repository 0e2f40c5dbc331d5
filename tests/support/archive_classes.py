"""Fetches the jars that a test run shares, and creates the archive of Spark's classes that its JVMs start from, unless
they exist.

Run: python -m tests.support.archive_classes.  Takes about 30 s of CPU time, once for each environment.
"""

import os
import shlex
import tempfile
from pathlib import Path
from typing import Final

from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.spark import session
from tests.support import jvm
from tests.support.spark_session import Tables, new_lake

DUMP_SECOND: Final = 300.0


def main() -> None:
    jvm.bring_jars()
    if jvm.archive().exists():
        return
    session.STOP_GRACE_SECOND = DUMP_SECOND  # type: ignore[misc] # the JVM writes its archive while it ends
    unfinished = jvm.archive().with_suffix(f".{os.getpid()}")
    with tempfile.TemporaryDirectory() as folder:
        _work(Path(folder), f"{jvm.ONE_COMPILER} -XX:ArchiveClassesAtExit={shlex.quote(str(unfinished))}")
    unfinished.rename(jvm.archive())


def _work(folder: Path, flags: str) -> None:
    """What most tests need from a lake: commits by Arrow and by Spark, and queries."""
    lake = new_lake(folder, options={"spark.driver.extraJavaOptions": flags})
    lake.start()
    lake.ready()
    tables = Tables(lake, folder)
    for table in (tables.make(), tables.make(expressions={"id": "`id`", "v": "`v` + 1"}, where="`v` > 0")):
        table.commit([(ChangeKind.INSERT, 1, 1), (ChangeKind.INSERT, 2, 1)])
        table.commit([(ChangeKind.UPDATE, 1, 2), (ChangeKind.DELETE, 2, 1)])
        table.rows()
        table.in_spark("count(*), sum(v)")
    lake.stop()


if __name__ == "__main__":
    main()
