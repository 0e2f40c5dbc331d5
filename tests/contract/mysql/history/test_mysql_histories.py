"""A server whose GTIDs reach as far as the job's, and mean something else."""

import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.position import GtidSet, Position, parse_gtids
from syncmgr.job.source_history.last_read import LastRead
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import MysqlSource, SourceOptions
from tests.conftest import need_gtids
from tests.contract.mysql_reader import Reader, address, described, latest, reached, reading
from tests.support.servers.mysql import GTIDS, Flavour, MysqlServer, binary
from tests.support.slow import SERVERS, on_servers, some_slow
from tests.support.until import until

WANTED: Final = Subscription(columns=("id", "v"), keys=("id",))
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02, most=0.2), limits=Limits(events=10))
TABLE: Final = ("moved", "t")


@pytest.fixture(params=["mysql", "mariadb"])
def flavour(request: pytest.FixtureRequest) -> Flavour:
    wanted: Flavour = request.param
    if binary(wanted) is None:
        pytest.skip(f"no {wanted} server is installed")
    return wanted


@pytest.fixture
def server(flavour: Flavour, tmp_path: Path) -> Iterator[MysqlServer]:
    """One that may be restored."""
    server = MysqlServer(tmp_path / "own", flavour).start()
    server.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    yield server
    server.stop()


def insert(server: MysqlServer, ids: range, value: str) -> None:
    server.run(*(f"INSERT INTO moved.t VALUES ({n}, '{value}')" for n in ids))


def read_to_the_end(server: MysqlServer, start: Position) -> Position:
    """The position of a job that has read all."""
    end = latest(server)
    with reading(server, {TABLE: WANTED}, start, options=QUICK) as reader:
        at = reader.until(end)[-1].end
    assert at is not None
    assert at.created
    return at


def ids_behind(server: MysqlServer, at: Position) -> list[int]:
    with reading(server, {TABLE: WANTED}, at, options=QUICK) as reader:
        reader.until(latest(server))
        return [row["id"] for row in reader.rows(TABLE)]


def next_second(at: Position) -> None:
    """Files know the second in which they were made."""
    until(lambda: time.time() >= at.created + 1.1)


def refused(server: MysqlServer, at: Position) -> SyncError:
    with reading(server, {TABLE: WANTED}, at, options=QUICK) as reader:
        error = reader.until_error()
        assert reader.batches == []
    assert error.code is Code.SOURCE_POSITION_LOST
    return error


def restored(server: MysqlServer, change: Callable[[], Position]) -> Position:
    """A copy of the data without its binlog is taken, `change` is made and read, and the copy put back."""
    data, copy = server._data, server._folder / "copy"
    server.stop()
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("binlog.*"))
    server.start()
    read = change()
    server.stop()
    shutil.rmtree(data)
    copy.rename(data)
    next_second(read)
    server.start()
    return read


@on_servers("mysql", fixture="flavour")
@pytest.mark.parametrize(
    "files", [pytest.param(0, id="few files", marks=pytest.mark.long), pytest.param(5, id="as many files")]
)
def test_a_restored_server_whose_numbers_have_grown_past_the_jobs(server: MysqlServer, files: int) -> None:
    """Its new transactions bear numbers of lost ones that were read: passed over as known, they would never come."""
    start = latest(server)

    def lost() -> Position:
        server.run("FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
        insert(server, range(5), "lost")
        return read_to_the_end(server, start)

    read = restored(server, lost)
    server.run("DO 1", *["FLUSH BINARY LOGS"] * files)
    insert(server, range(100, 140), "new")
    assert "the server was reset, restored or replaced" in str(refused(server, read))


@on_servers("mariadb", fixture="flavour")
def test_a_reset_server_whose_numbers_have_grown_past_the_jobs(server: MysqlServer) -> None:
    """The same by RESET, which begins files and numbers anew."""
    server.run(server._reset(), "INSERT INTO moved.t VALUES (99, 'first')")
    start = latest(server)
    insert(server, range(5), "old")
    read = read_to_the_end(server, start)
    next_second(read)
    server.run(server._reset())
    insert(server, range(100, 140), "new")
    assert f"{read.file} was made at" in str(refused(server, read))


@pytest.mark.parametrize(
    ("flavour", "rows"),
    some_slow(itertools.product(SERVERS, [1, 300]), always=[("mysql", 300), ("mariadb", 1)]),
    indirect=["flavour"],
)
def test_a_reset_under_a_stream_is_found(server: MysqlServer, rows: int) -> None:
    """The server would send nothing until its new file has grown past the place of the stream, and heartbeats would
    say that there is nothing; with more rows it would call its binlog unreadable.
    """
    start = latest(server)
    insert(server, range(10), "read" * 20)
    quick = replace(QUICK, heartbeat=0.2, read_timeout=2.0)
    with reading(server, {TABLE: WANTED}, start, options=quick) as reader:
        reader.until(latest(server))
        began = time.time()
        until(lambda: reader.get(0.01) or reader.source.caught_up_at() > began)
        server.run(server._reset())
        insert(server, range(100, 100 + rows), "lost")
        reset_by = time.time()
        error = reader.until_error()
        assert reader.source.caught_up_at() < reset_by
    assert error.code is Code.SOURCE_POSITION_LOST
    assert [row["id"] for row in reader.rows(TABLE)] == [*range(10)]


@on_servers("mariadb", fixture="flavour")
def test_a_quiet_stream_that_has_all_stays_connected(server: MysqlServer) -> None:
    """Through a flush of the binlog, and through rows that it does not want."""
    quick = replace(QUICK, heartbeat=1.0)
    with reading(server, {TABLE: WANTED}, latest(server), options=quick) as reader:
        for statement in (
            "FLUSH BINARY LOGS",
            "CREATE TABLE moved.other (id INT)",
            "INSERT INTO moved.other VALUES (1)",
        ):
            server.run(statement)
            began = time.time()
            until(lambda since=began: reader.get(0.01) or reader.source.caught_up_at() > since + 0.5)  # type: ignore[misc]
        assert reader.troubles == []


@on_servers("mariadb", fixture="flavour")
def test_the_end_is_asked_again_when_that_connection_was_cut(server: MysqlServer) -> None:
    """A server cuts connections that are idle; the stream, which is another one, goes on."""
    with reading(server, {TABLE: WANTED}, latest(server), options=replace(QUICK, heartbeat=1.0)) as reader:
        until(lambda: reader.get(0.01) or reader.source.caught_up_at())
        idle = "SELECT id FROM information_schema.processlist WHERE user = 'repl' AND command = 'Sleep'"
        server.run(*(f"KILL {number}" for (number,) in server.run(idle)))
        began = time.time()
        until(lambda: reader.get(0.01) or reader.source.caught_up_at() > began + 1)
        assert reader.troubles == []


@on_servers("mariadb", fixture="flavour")
def test_a_server_that_is_restored_before_the_job_has_read(server: MysqlServer) -> None:
    """A start knows its file as every later position does."""
    server.run(server._reset(), "INSERT INTO moved.t VALUES (99, 'first')")
    start = latest(server)
    assert start.created
    next_second(start)
    server.run(server._reset())
    insert(server, range(100, 140), "new")
    assert f"{start.file} was made at" in str(refused(server, start))


@on_servers("mariadb", fixture="flavour")
def test_a_server_that_lost_the_end_of_its_binlog(server: MysqlServer) -> None:
    """A copy of the disk from before has the file of the job, but not up to where the job has read it."""
    start = latest(server)
    insert(server, range(5), "kept")
    insert(server, range(5, 10), "lost")
    read = read_to_the_end(server, start)
    server.stop()
    file = server._data / read.file
    kept = file.stat().st_size
    assert kept >= read.offset
    file.write_bytes(file.read_bytes()[: read.offset - 500])
    server.start()
    insert(server, range(100, 140), "new")
    assert f"{read.file} ends at {read.offset - 500}" in str(refused(server, read))


@on_servers("mariadb", fixture="flavour")
def test_what_a_server_may_do_with_its_files(server: MysqlServer) -> None:
    """A restart, FLUSH and PURGE leave the history as it was, and the job goes on."""
    at = read_to_the_end(server, latest_before_a_row(server, 0))
    server.restart()
    insert(server, range(1, 3), "x")
    assert ids_behind(server, at) == [1, 2]
    server.run("FLUSH BINARY LOGS")
    assert ids_behind(server, at) == [1, 2]
    at = read_to_the_end(server, at)
    need_gtids(server)  # a place in a file is lost with its file
    server.run("FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
    insert(server, range(3, 5), "x")
    newest = latest(server).file
    until(lambda: at.file not in purged(server, newest), why="the server lets go of what the last reader has read")
    assert ids_behind(server, at) == [3, 4]


def purged(server: MysqlServer, newest: str) -> set[str]:
    """The files that are left: one that a connection still reads, or that a commit still needs, stays."""
    server.run(f"PURGE BINARY LOGS TO '{newest}'")
    return {name for name, *_ in server.run("SHOW BINARY LOGS")}


def latest_before_a_row(server: MysqlServer, number: int) -> Position:
    start = latest(server)
    insert(server, range(number, number + 1), "x")
    return start


@pytest.mark.slow
def test_binlog_files_under_another_name(tmp_path: Path) -> None:
    """`log_bin` may be changed; numbers of files of another name say nothing."""
    if binary("mysql") is None:
        pytest.skip("no mysql server is installed")
    server = MysqlServer(tmp_path / "own", "mysql", GTIDS["mysql"]).start()  # else the old name is all that it has
    server.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    server.run("FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
    at = read_to_the_end(server, latest_before_a_row(server, 0))
    server.restart({"log-bin": "renamed"})
    insert(server, range(1, 3), "x")
    assert latest(server).file < "renamed.000003"
    assert ids_behind(server, at) == [1, 2]
    server.stop()


@on_servers("mariadb", fixture="flavour")
def test_a_position_that_knows_no_birth_of_its_file(server: MysqlServer) -> None:
    """One of an older version of this program is taken as it was then."""
    at = read_to_the_end(server, latest_before_a_row(server, 0))
    insert(server, range(1, 3), "x")
    assert ids_behind(server, replace(at, created=0)) == [1, 2]


@on_servers("mariadb", fixture="flavour")
def test_a_server_that_was_failed_over_to_is_asked_for_its_own_files(flavour: Flavour, tmp_path: Path) -> None:
    """Files of two servers have like names: until something came from the new one, none of its files was read."""
    first, second = (
        MysqlServer(
            tmp_path / f"s{n}", flavour, {"server-id": str(n), "log-slave-updates": "ON", **GTIDS[flavour]}
        ).start()
        for n in (1, 2)
    )
    second.follow(first)
    first.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    start = latest(first)
    insert(first, range(3), "x")
    until(lambda: reached(latest(second), latest(first)), why="the replica")
    reader = Reader(None)  # type: ignore[arg-type]  # it wants to hear of troubles before it has a source
    known = [address(each) for each in (first, second)]
    tables = described(first, {TABLE: WANTED})
    reader.source = MysqlSource(known, 4711, start, tables, options=QUICK, trouble=reader.troubles.append)
    try:
        reader.until(latest(first))
        first.kill()
        until(lambda: (reader.get(), reader.source.server() == known[1].label)[1], why="the other server")
        second.run("STOP REPLICA" if flavour == "mysql" else "STOP SLAVE")
        second.restart()
        insert(second, range(3, 5), "x")
        reader.until(latest(second))
        assert [row["id"] for row in reader.rows(TABLE)] == list(range(5))
    finally:
        reader.source.close()
        reader.source.get(0)
        first.stop()
        second.stop()


@pytest.fixture
def pair(flavour: Flavour, tmp_path: Path) -> Iterator[tuple[MysqlServer, MysqlServer]]:
    """A server and its replica, with one table."""
    first, second = (
        MysqlServer(
            tmp_path / f"s{n}", flavour, {"server-id": str(n), "log-slave-updates": "ON", **GTIDS[flavour]}
        ).start()
        for n in (1, 2)
    )
    second.follow(first)
    first.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    insert(first, range(3), "both")
    yield first, second
    first.stop()
    second.stop()


def part(first: MysqlServer, second: MysqlServer) -> None:
    """The replica goes on alone."""
    until(lambda: reached(latest(second), latest(first)), why="the replica")
    second.run("STOP REPLICA" if second.flavour == "mysql" else "STOP SLAVE")


def insert_under_numbers_of(first: MysqlServer, second: MysqlServer, ids: range) -> None:
    """As a replica of the restored first one would have them: its numbers, from the end of the second on."""
    known = parse_gtids(latest(second).gtids)
    if isinstance(known, GtidSet):
        [(uuid,)] = first.run("SELECT @@server_uuid")
        number = known.of((uuid, ""))[-1][1]
        for at, n in enumerate(ids, number + 1):
            given = f"SET gtid_next = '{uuid}:{at}'"
            second.run(given, f"INSERT INTO moved.t VALUES ({n}, 'other')", "SET gtid_next = 'AUTOMATIC'")
        return
    number = dict(known.items())[0][1]
    for at, n in enumerate(ids, number + 1):
        second.run(f"SET SESSION server_id = 1, gtid_seq_no = {at}", f"INSERT INTO moved.t VALUES ({n}, 'other')")


@on_servers("mysql", fixture="flavour")
def test_a_replica_of_a_restored_server_is_not_failed_over_to(pair: tuple[MysqlServer, MysqlServer]) -> None:
    """It has all numbers that were read and more, of other transactions: what stands under them never came."""
    first, second = pair
    start = latest(first)
    part(first, second)
    insert(first, range(10, 15), "lost")
    read = read_to_the_end(first, start)
    later(time.time())
    insert_under_numbers_of(first, second, range(100, 110))
    reason = str(refused(second, read))
    assert "which the job has read was committed at" in reason
    assert "the server was restored, or has parted from the one that was read" in reason


def later(at: float) -> None:
    """MariaDB's transactions know the second in which they were committed."""
    until(lambda: time.time() >= at + 1.1)


@on_servers("mariadb", fixture="flavour")
def test_a_replica_that_has_what_was_read_is_failed_over_to(pair: tuple[MysqlServer, MysqlServer]) -> None:
    """Its copy of the last transaction shows the same time of the first commit, however late it was applied."""
    first, second = pair
    start = latest(first)
    part(first, second)
    insert(first, range(10, 15), "read")
    read = read_to_the_end(first, start)
    later(time.time())
    second.run("START REPLICA" if second.flavour == "mysql" else "START SLAVE")
    part(first, second)
    insert(second, range(20, 23), "new")
    assert LastRead.parse(read.last) is not None
    assert ids_behind(second, read) == [20, 21, 22]


@on_servers("mariadb", fixture="flavour")
def test_a_replica_that_has_purged_the_last_transaction_is_believed(pair: tuple[MysqlServer, MysqlServer]) -> None:
    """A failover to a server with a shorter binlog goes on: GTIDs are all that it can show."""
    first, second = pair
    start = latest(first)
    insert(first, range(10, 15), "read")
    read = read_to_the_end(first, start)
    part(first, second)
    second.run("FLUSH BINARY LOGS")
    newest = second.run("SHOW BINARY LOGS")[-1][0]
    until(lambda: purged(second, newest) == {newest}, why="all older files purged")
    insert(second, range(20, 23), "new")
    assert ids_behind(second, read) == [20, 21, 22]
