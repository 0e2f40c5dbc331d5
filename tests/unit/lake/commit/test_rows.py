import pytest

from syncmgr.console.redaction import without_value
from syncmgr.errors import Code
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit, LastCommit
from syncmgr.lake.commit.rows import value_error
from syncmgr.lake.iceberg.layout import Field, Layout

LAYOUT = Layout(
    schema_id=0,
    spec_id=0,
    fields=(
        Field(id=1, name="id", type="long", required=True),
        Field(id=2, name="d", type="decimal(8, 1)", required=False),
    ),
    partition=(),
)
CHANNEL = ChannelCommit(
    token="t",
    epoch=1,
    fingerprint="f",
    db="demo",
    table="t",
    files=(),
    columns=(MappedColumn(target="id", expression="`id`"), MappedColumn(target="d", expression="`d`")),
    keys=("id",),
    where="CAST(`v` AS INT) = 1",
    last=LastCommit(epoch=0),
)
CAST = (
    "org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'DE12' of the type \"STRING\" cannot"
    ' be cast to "INT" because it is malformed. Correct the value as per the syntax. SQLSTATE: 22018'
)
UNHELD = "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] syncmgr: DE12 does not fit d SQLSTATE: P0001"
NULL = "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] syncmgr: NULL in id SQLSTATE: P0001"


@pytest.mark.parametrize(("text", "code"), [(CAST, Code.BAD_EXPRESSION), (UNHELD, Code.FOREIGN_CHANGE)])
def test_a_value_is_told_where_it_can_be_cut(text: str, code: Code) -> None:
    """Of a condition, and of a column that another engine has changed: not everyone who sees the job may read it."""
    error = value_error(text, CHANNEL, LAYOUT)
    assert error is not None
    assert error.code is code
    assert "DE12" in str(error)
    assert "DE12" not in str(without_value(str(error)))


def test_no_value_is_told_of_null() -> None:
    """In a column that has to have one."""
    error = value_error(NULL, CHANNEL, LAYOUT)
    assert error is not None
    assert error.code is Code.SOURCE_VALUE
    assert value_error("java.io.IOException: No space left on device", CHANNEL, LAYOUT) is None
