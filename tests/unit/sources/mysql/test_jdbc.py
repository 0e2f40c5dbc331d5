import pytest

from syncmgr.errors import Code
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.jdbc import MysqlChunks
from tests.unit.job.factories import make_source_table

READER = MysqlChunks(MysqlAddress(host="db1", port=3306, user="repl", password="p"))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("java.sql.SQLDataException: Value '300' is outside of valid range for type java.lang.Byte", Code.SOURCE_VALUE),
        (
            "java.sql.SQLException: no hour\nCaused by: com.mysql.cj.exceptions.DataReadException: no hour",
            Code.SOURCE_VALUE,
        ),
        ("com.mysql.cj.exceptions.NumberOutOfRange: Value '300' is outside of valid range", Code.SOURCE_VALUE),
        ("com.mysql.cj.jdbc.exceptions.CommunicationsException: Communications link failure", Code.SOURCE_UNREACHABLE),
        ("java.sql.SQLException: Table 'a.b' doesn't exist", Code.SNAPSHOT_BROKEN),
    ],
)
def test_a_value_that_the_driver_cannot_read_is_no_outage(text: str, code: Code) -> None:
    """The server has answered; the error is that of the table, with the driver's reason."""
    error = READER.error(
        f"org.apache.spark.SparkException: Job aborted\nCaused by: {text}\n\tat a.b", make_source_table()
    )
    assert error is not None
    assert error.code is code
    assert text.splitlines()[-1].rpartition("Exception: ")[2].rpartition("NumberOutOfRange: ")[2] in str(error)
    assert READER.error("java.lang.IllegalStateException: no", make_source_table()) is None
