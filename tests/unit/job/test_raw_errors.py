import errno

import pytest

from syncmgr.errors import Code
from syncmgr.job.raw_errors import of_binlog, of_connection, of_staging


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, Code.SOURCE_UNREACHABLE),
        (1040, Code.SOURCE_UNREACHABLE),
        (1053, Code.SOURCE_UNREACHABLE),
        (2003, Code.SOURCE_UNREACHABLE),
        (1045, Code.SOURCE_ACCESS_DENIED),
        (1130, Code.SOURCE_ACCESS_DENIED),
        (3159, Code.SOURCE_ACCESS_DENIED),
        (1381, Code.SOURCE_BINLOG_OFF),
    ],
)
def test_a_connection_that_fails(number: int, expected: Code) -> None:
    """A wrong user and a server without a binlog wait for a person; too many connections, a shutdown and the network
    pass.
    """
    assert of_connection(number) is expected


@pytest.mark.parametrize(
    ("number", "message", "expected"),
    [
        (1227, "Access denied", Code.SOURCE_GRANT_MISSING),
        (2013, "Lost connection", Code.SOURCE_UNREACHABLE),
        (1236, "A replica with the same server_uuid/server_id as this replica", Code.SOURCE_SERVER_ID),
        (1236, "Cannot replicate because the source purged required binary logs", Code.SOURCE_POSITION_LOST),
        (1236, "Cannot replicate anonymous transaction when AUTO_POSITION = 1, at file", Code.SOURCE_UNSUPPORTED),
        (1236, "Cannot replicate GTID-transaction when @@GLOBAL.GTID_MODE = OFF", Code.SOURCE_UNSUPPORTED),
        (1236, "Client requested source to start replication from position > file size", Code.SOURCE_POSITION_LOST),
        (1236, "bogus data in log event", Code.SOURCE_PROTOCOL),
    ],
)
def test_a_binlog_that_is_refused(number: int, message: str, expected: Code) -> None:
    """One number of the server means many things, its words tell which."""
    assert of_binlog(number, message) is expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, Code.DISK_FULL),
        (errno.EDQUOT, Code.DISK_FULL),
        (errno.EROFS, Code.NOT_WRITABLE),
        (None, Code.NOT_WRITABLE),
    ],
)
def test_a_disk_that_does_not_take_rows(number: int | None, expected: Code) -> None:
    """A full one is told apart from one that is broken."""
    assert of_staging(number) is expected
