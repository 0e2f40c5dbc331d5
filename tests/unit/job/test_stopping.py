from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.following import not_followed
from syncmgr.job.schema import SourceTable
from syncmgr.job.stopping import standstill, stopped_by
from tests.unit.job.factories import make_channel

ORDERS = make_channel()
LINES = make_channel(token="lines", source=SourceTable(db="shop", name="lines", columns=()), target="lines")
IMAGE = SyncError(Code.SOURCE_ROW_IMAGE, value="not FULL", address="db1:3306", table="shop.lines")


@pytest.mark.parametrize(
    ("error", "stops"),
    [
        (IMAGE, True),
        (SyncError(Code.SOURCE_SCHEMA, table="shop.lines", reason="column 'a' is gone"), True),
        (not_followed(("shop", "lines"), "nobody can read it", "ALTER novelty", unread=True), True),
        (not_followed(("shop", "lines"), "it changes values", "ALTER TABLE lines MODIFY a INT"), False),
        (SyncError(Code.SOURCE_SCHEMA, table="shop.others", reason="column 'a' is gone"), False),
        (SyncError(Code.SOURCE_UNSUPPORTED, address="db1:3306", reason="partial JSON", table="shop.lines"), True),
        (SyncError(Code.SOURCE_UNSUPPORTED, address="db1:3306", reason="an incident"), False),
        (SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused"), False),
    ],
)
def test_an_error_stops_a_table_alone(error: SyncError, *, stops: bool) -> None:
    """Where it tells of the rows of one table; what an operator is to settle pauses the job."""
    assert stopped_by(error, (ORDERS, LINES)) == (LINES if stops else None)


def test_the_last_table_stops_the_job() -> None:
    """There is nothing left that could go on."""
    assert stopped_by(IMAGE, (LINES,)) is None
    assert stopped_by(IMAGE, (replace(ORDERS, stopped="gone"), LINES)) is None
    assert stopped_by(IMAGE, (ORDERS, replace(LINES, stopped="gone"))) is None


def test_a_table_that_is_not_read_is_told() -> None:
    """As long as it is so."""
    assert standstill((ORDERS, LINES)) is None
    told = standstill((ORDERS, replace(LINES, stopped="its rows are cut")))
    assert "Table 'shop.lines' is not read any more, while the other tables" in str(told)
