import pytest

from syncmgr.errors import SyncError
from syncmgr.job.types.schema import SourceColumn, SourceTable
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.values.schema import agreed
from syncmgr.sources.mysql.values.table_map import Field, TableMap

TABLE = SourceTable(db="d", name="t", columns=(SourceColumn(name="v", type="vector"),))


@pytest.mark.parametrize("field", [Field(code=wire.VECTOR, meta=4), Field(code=wire.VARCHAR, meta=8, collation=63)])
def test_a_vector_is_one_in_the_binlog_of_either_server(field: Field) -> None:
    """MariaDB's is bytes there."""
    assert agreed(TableMap(db="d", name="t", fields=(field,)), TABLE, mariadb=True) == TABLE


def test_a_vector_is_no_number() -> None:
    """What cannot be it stops the table."""
    with pytest.raises(SyncError, match="column 'v' is vector, but the binlog has type"):
        agreed(TableMap(db="d", name="t", fields=(Field(code=wire.LONG),)), TABLE, mariadb=True)


@pytest.mark.parametrize(
    ("code", "mariadb", "hidden"),
    [(wire.LONGLONG, True, True), (wire.LONGLONG, False, False), (wire.LONG, True, False)],
)
def test_hashes_of_long_unique_keys_are_passed_over(code: int, mariadb: bool, hidden: bool) -> None:  # noqa: FBT001
    """MariaDB keeps them in BIGINTs behind all columns; whatever else is more than the table has stops it."""
    fields = Field(code=wire.VECTOR, meta=4), Field(code=wire.LONGLONG), Field(code=code)
    table = TableMap(db="d", name="t", fields=fields)
    if hidden:
        assert agreed(table, TABLE, mariadb=mariadb) == TABLE
    else:
        with pytest.raises(SyncError, match="the binlog has 3 columns"):
            agreed(table, TABLE, mariadb=mariadb)


@pytest.mark.parametrize("mariadb", [True, False])
def test_a_table_that_lost_a_column_is_not_read(mariadb: bool) -> None:  # noqa: FBT001
    """Of either server."""
    with pytest.raises(SyncError, match="the binlog has 0 columns"):
        agreed(TableMap(db="d", name="t", fields=()), TABLE, mariadb=mariadb)


def test_a_text_whose_charset_nobody_tells_is_not_read() -> None:
    """Neither the statement that made it nor a binlog below FULL metadata: the table stops, where the worker failed."""
    table = SourceTable(db="d", name="t", columns=(SourceColumn(name="a", type="varchar", length=20),))
    told = TableMap(db="d", name="t", fields=(Field(code=wire.VARCHAR, meta=20),))
    with pytest.raises(SyncError, match="no statement names the charset of column 'a'"):
        agreed(told, table, mariadb=True)
