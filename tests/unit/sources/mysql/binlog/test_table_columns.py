import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import SourceColumn, SourceTable
from syncmgr.sources.mysql.binlog.table_columns import check_types
from syncmgr.sources.mysql.values.decoder import WantedCells


def test_a_stored_type_that_nothing_knows_stops_the_table() -> None:
    """As a change of the column, which RESYNC TABLE mends, and not as a bug."""
    stored = SourceColumn(name="e", type="enum with the bytes of its labels in latin1")
    now = SourceColumn(name="e", type="enum", members=("a",), charset="latin1")
    before = SourceTable(db="shop", name="orders", columns=(stored,))
    with pytest.raises(SyncError, match="column 'e' was enum with the bytes") as caught:
        check_types(("shop", "orders"), [WantedCells(place=0, column=now, name="e", key=False)], before)
    assert caught.value.code is Code.SOURCE_SCHEMA
