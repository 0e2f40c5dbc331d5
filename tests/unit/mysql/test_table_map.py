import pytest

from syncmgr.errors import SyncError
from syncmgr.job.schema import SourceColumn, SourceTable
from syncmgr.mysql import wire
from syncmgr.mysql.table_map import Field, TableMap, agreed

TABLE = SourceTable(db="d", name="t", columns=(SourceColumn(name="v", type="vector"),))


@pytest.mark.parametrize("field", [Field(code=wire.VECTOR, meta=4), Field(code=wire.VARCHAR, meta=8, collation=63)])
def test_a_vector_is_one_in_the_binlog_of_either_server(field: Field) -> None:
    """MariaDB's is bytes there."""
    assert agreed(TableMap(db="d", name="t", fields=(field,)), TABLE) == TABLE


def test_a_vector_is_no_number() -> None:
    """What cannot be it stops the table."""
    with pytest.raises(SyncError, match="column 'v' is vector, but the binlog has type"):
        agreed(TableMap(db="d", name="t", fields=(Field(code=wire.LONG),)), TABLE)
