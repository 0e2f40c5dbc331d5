"""Work on a table that is done again for as long as nobody knows whether it is done, as a job does it.

Owns: which errors leave that open.
Must not know: what has gone wrong.
"""

from collections.abc import Callable

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField, FillField
from syncmgr.job.types.schema import TargetType
from tests.support.spark_session import LakeTable, changes_of

OPEN = {Code.LAKE_FAILED, Code.LAKE_STARTING}
TIMES = 3


def until_committed(table: LakeTable, rows: list[tuple[object, ...]]) -> None:
    commit = table.prepared(rows)
    until_done(lambda: table.apply(commit))


def until_altered(table: LakeTable) -> None:
    """The table gets a column w, which has 7 in every row."""
    alter = changes_of(table, AddField(name="w", type=TargetType(name="INT", args=())), FillField(name="w", value="7"))
    until_done(lambda: table.lake.alter(alter))
    table.columns = (*table.columns, "w")


def until_done(work: Callable[[], object]) -> None:
    for _ in range(TIMES):
        try:
            work()
        except SyncError as error:
            assert error.code in OPEN  # noqa: PT017 - whether it is one at all is open
        else:
            return
    pytest.fail("it was not committed")
