"""Which readers read a table of ours, in format v3 with deletion vectors and in v2 with position deletes?

Run: python -m tests.readers PYTHON

Owns: the two tables, what each reader is asked, and in which words.
Must not know: what the answers should be in docs/reading.md.

PYTHON is one that has the readers (pip install pyiceberg[sql-sqlite] pyarrow duckdb polars daft chdb); what it lacks,
and what cannot fetch its extension, is said.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from syncmgr.job.rows.batch import ChangeKind
from tests.support.spark_session import LakeTable, Tables, new_lake

INS, UPD, DEL = ChangeKind
ROWS: Final = 100
READER_SECOND: Final = 120.0
# Each sets `rows`: [(id, v), ...] of the table whose metadata file is `metadata`, and `version`.
READERS: Final = {
    "pyiceberg": """
import pyiceberg
from pyiceberg.table import StaticTable
version = pyiceberg.__version__
rows = StaticTable.from_metadata(metadata).scan().to_arrow().to_pylist()
rows = [(row["id"], row["v"]) for row in rows]
""",
    "duckdb": """
import duckdb
version = duckdb.__version__
duckdb.sql("INSTALL iceberg")
duckdb.sql("LOAD iceberg")
rows = duckdb.sql(f"SELECT id, v FROM iceberg_scan('{metadata}')").fetchall()
""",
    "polars": """
import polars
version = polars.__version__
rows = polars.scan_iceberg(metadata).select("id", "v").collect().rows()
""",
    "polars, reader_override='native'": """
import polars
version = polars.__version__
rows = polars.scan_iceberg(metadata, reader_override="native").select("id", "v").collect().rows()
""",
    "daft": """
import daft
from pyiceberg.table import StaticTable
version = daft.__version__
read = daft.read_iceberg(StaticTable.from_metadata(metadata)).select("id", "v").to_pylist()
rows = [(row["id"], row["v"]) for row in read]
""",
    "chdb": """
import chdb
version = chdb.__version__
folder = metadata.rpartition("/metadata/")[0]
read = chdb.query(f"SELECT id, v FROM icebergLocal('{folder}/') FORMAT JSONCompactEachRow").data()
rows = [tuple(map(int, json.loads(line))) for line in str(read).splitlines()]
""",
}
FRAME: Final = """
import json, sys
metadata, version, rows, wrong = sys.argv[1], None, None, None
try:
{body}
except BaseException as error:
    wrong = f"{{type(error).__name__}}: {{error}}"
print(json.dumps([version, rows, wrong]))
"""


def ask(python: str, reader: str, metadata: str, expected: list[tuple[object, ...]]) -> str:
    """What became of it."""
    body = "\n".join(f"    {line}" for line in READERS[reader].strip().splitlines())
    done = subprocess.run(
        [python, "-c", FRAME.format(body=body), metadata],
        capture_output=True,
        text=True,
        timeout=READER_SECOND,
        check=False,
    )
    if done.returncode:
        return f"died with {done.returncode}: {done.stderr.strip()[-200:]}"
    version, rows, wrong = json.loads(done.stdout.splitlines()[-1])
    if wrong is not None:
        return f"{version} refuses: {' '.join(wrong.split())[:300]}"
    found = sorted(map(tuple, rows))
    if found == expected:
        return f"{version} reads it"
    return f"{version} READS WRONG ROWS: {len(found)} instead of {len(expected)}, without an error"


def filled(tables: Tables, version: int) -> LakeTable:
    """A table whose rows were updated and deleted, as most targets are."""
    table = tables.make(f'(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "{version}")')
    table.commit([(INS, number, number) for number in range(ROWS)])
    table.commit([(UPD, 1, -1), (UPD, 2, -2), (DEL, 3, None)])
    return table


def main(python: str) -> None:
    made = tempfile.TemporaryDirectory(prefix="readers", ignore_cleanup_errors=True)
    folder = Path(made.name)
    lake = new_lake(folder)
    lake.start()
    try:
        lake.ready()
        tables = Tables(lake, folder)
        for version in (3, 2):
            table = filled(tables, version)
            loaded = lake.iceberg().load(table.db, table.name)
            metadata = str(loaded.operations().current().metadataFileLocation()).removeprefix("file:")
            for reader in READERS:
                print(f"v{version} | {reader} | {ask(python, reader, metadata, sorted(table.rows()))}", flush=True)
    finally:
        lake.stop()
        made.cleanup()


if __name__ == "__main__":
    main(sys.argv[1])
