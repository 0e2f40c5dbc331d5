"""Numbers of a MariaDB's domain that go back while a table of the job counts from a place of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position, has_passed, is_beyond
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.mysql_reader import Reader, latest, reading
from tests.support.servers.mysql import MysqlServer, binary
from tests.support.until import until

QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02, most=0.2), limits=Limits(events=10))
OLD, JOINED = ("moved", "old"), ("moved", "t")


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """One whose sessions may choose their numbers, and that may be reset."""
    if binary("mariadb") is None:
        pytest.skip("no mariadb server is installed")
    server = MysqlServer(tmp_path_factory.mktemp("own"), "mariadb", {"gtid-strict-mode": "OFF"}).start()
    yield server
    server.stop()


@pytest.fixture
def server(own_server: MysqlServer) -> MysqlServer:
    """Its numbers begin at 1."""
    tables = (f"CREATE TABLE {'.'.join(table)} (id INT PRIMARY KEY)" for table in (OLD, JOINED))
    own_server.run("DROP DATABASE IF EXISTS moved", own_server._reset(), "CREATE DATABASE moved", *tables)
    return own_server


@contextmanager
def joined(server: MysqlServer, after: Position, start: Position | None = None) -> Iterator[Reader]:
    """A job of two tables, one of which has joined it at `after`."""
    wanted = Subscription(columns=("id",), keys=("id",))
    tables = {OLD: wanted, JOINED: replace(wanted, after=after)}
    with reading(server, tables, start or after, options=QUICK) as reader:
        yield reader


@contextmanager
def joined_and_connected(server: MysqlServer) -> Iterator[Reader]:
    """The table has joined where the server's number is 100. A new connection would be refused by the server."""
    server.run("SET gtid_seq_no = 100", "INSERT INTO moved.t VALUES (1)")
    with joined(server, latest(server)) as reader:
        server.run("INSERT INTO moved.old VALUES (1)")
        until(lambda: reader.get() and ids(reader, OLD) == [1])
        yield reader


def ids(reader: Reader, table: tuple[str, str]) -> list[int]:
    return [row["id"] for row in reader.rows(table)]


def refused(reader: Reader, gtid: str, side: str) -> SyncError:
    error = reader.until_error()
    assert error.code is Code.SOURCE_UNSUPPORTED
    assert error.context["table"] == "moved.t"
    assert f"{gtid} ends {side} " in str(error)
    assert ids(reader, JOINED) == []
    return error


def test_numbers_that_go_back_under_a_live_connection(server: MysqlServer) -> None:
    """A later row with a number that is below the place of the table would be taken for one of its snapshot."""
    with joined_and_connected(server) as reader:
        server.run("SET gtid_seq_no = 50", "INSERT INTO moved.t VALUES (2)")
        assert "and its number is not higher" in str(refused(reader, "0-1-50", "behind"))


def test_numbers_that_went_back_before_the_place_of_the_table(server: MysqlServer) -> None:
    """An earlier row with a number that is above that place came with the snapshot: read again, it would undo it."""
    start = latest(server)
    server.run("SET gtid_seq_no = 100", "INSERT INTO moved.t VALUES (1)")
    server.run("SET gtid_seq_no = 50", "DELETE FROM moved.t")
    after = latest(server)
    assert after.gtids == "0-1-50"
    with joined(server, after, start) as reader:
        assert "and its number is not lower" in str(refused(reader, "0-1-100", "before"))


def test_numbers_that_go_back_in_a_later_file(server: MysqlServer) -> None:
    """The place of the table lies in a file before."""
    with joined_and_connected(server) as reader:
        server.run("FLUSH BINARY LOGS", "SET gtid_seq_no = 50", "INSERT INTO moved.t VALUES (2)")
        refused(reader, "0-1-50", "behind")


def test_the_number_of_the_place_itself_by_another_server(server: MysqlServer) -> None:
    """Two servers that write into one domain may use a number twice."""
    with joined_and_connected(server) as reader:
        server.run("SET server_id = 2", "SET gtid_seq_no = 100", "INSERT INTO moved.t VALUES (2)")
        refused(reader, "0-2-100", "behind")


def test_numbers_that_go_back_where_a_statement_alters_a_table(server: MysqlServer) -> None:
    """Whether the table had the column when its rows were read, nobody knows either."""
    with joined_and_connected(server) as reader:
        server.run("SET gtid_seq_no = 50", "ALTER TABLE moved.t ADD v INT")
        refused(reader, "0-1-50", "behind")


def test_numbers_in_order_are_believed(server: MysqlServer) -> None:
    """In several domains, over files, at a new connection and from an older place of the job."""
    start = latest(server)
    server.run("INSERT INTO moved.t VALUES (1)", "SET gtid_domain_id = 3", "INSERT INTO moved.t VALUES (2)")
    after = latest(server)
    with joined(server, after, start) as reader:
        server.run("INSERT INTO moved.t VALUES (3)", "FLUSH BINARY LOGS", "INSERT INTO moved.old VALUES (4)")
        until(lambda: reader.get() and ids(reader, OLD) == [4])
        server.end_sessions("command = 'Binlog Dump'")
        server.run("SET gtid_domain_id = 3", "INSERT INTO moved.t VALUES (5)")
        server.run("SET gtid_domain_id = 4", "INSERT INTO moved.t VALUES (6)")
        reader.until(latest(server))
        assert ids(reader, JOINED) == [3, 5, 6]


def test_a_table_that_is_read_anew_goes_on_with_the_numbers_that_went_back(server: MysqlServer) -> None:
    """RESYNC gives it a place among them."""
    server.run("SET gtid_seq_no = 100", "INSERT INTO moved.t VALUES (1)")
    start = latest(server)
    server.run("SET gtid_seq_no = 50", "INSERT INTO moved.old VALUES (2)")
    with joined(server, latest(server), start) as reader:
        server.run("INSERT INTO moved.t VALUES (3)")
        reader.until(latest(server))
        assert ids(reader, OLD) == [2]
        assert ids(reader, JOINED) == [3]


def test_a_place_in_an_earlier_file_passes_none_in_a_later_one(server: MysqlServer) -> None:
    """Whatever its number: a job that took it for past would leave out what is between both."""
    server.run("SET gtid_seq_no = 100", "INSERT INTO moved.t VALUES (1)")
    with reading(server, {JOINED: Subscription(columns=("id",), keys=("id",))}, options=QUICK) as reader:
        server.run("INSERT INTO moved.t VALUES (2)")
        [*_, before] = reader.until(latest(server))
        server.run("FLUSH BINARY LOGS", "SET gtid_seq_no = 50", "INSERT INTO moved.t VALUES (3)")
        until(lambda: (reader.get(), ids(reader, JOINED))[1] == [2, 3])
        behind = reader.batches[-1].end
    assert before.end is not None
    assert behind is not None
    assert (before.end.gtids, behind.gtids) == ("0-1-101", "0-1-50")
    for upper in (behind, latest(server)):
        assert not has_passed(before.end, upper)
        assert not is_beyond(before.end, upper)
