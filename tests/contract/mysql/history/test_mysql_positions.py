"""Positions that a server does not have, and servers that take over from each other."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position
from syncmgr.sources.mysql.address import Locking
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.description import MysqlDescription
from syncmgr.sources.mysql.description import described as source_of
from syncmgr.sources.mysql.factory import inspect
from syncmgr.sources.mysql.source import MysqlSource, SourceOptions
from tests.conftest import need_gtids, need_names
from tests.contract.mysql_reader import Reader, address, database, described, latest, reading
from tests.support.servers.mysql import GTIDS, PASSWORD, Flavour, MysqlServer, binary, free_port
from tests.support.slow import SERVERS, on_servers, some_slow
from tests.support.until import HANG_SECOND, until

WANTED: Final = Subscription(columns=("id", "v"), keys=("id",))
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02, most=0.2), limits=Limits(events=10))
TABLE: Final = ("moved", "t")
Pair = tuple[MysqlServer, MysqlServer]


def test_transactions_that_the_server_never_executed_are_told(mysql_server: MysqlServer) -> None:
    """A restored or replaced server has none of what was read; MySQL itself would send what it has without a word."""
    need_gtids(mysql_server)
    other = str(uuid4())
    with database(mysql_server) as db:
        mysql_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        at = latest(mysql_server)
        with reading(mysql_server, {(db, "t"): WANTED}, replace(at, gtids=f"{at.gtids},{other}:1-5")) as reader:
            error = reader.until_error()
    assert error.code is Code.SOURCE_POSITION_LOST
    assert f"the job has read {other}:1-5, which that server never executed" in str(error)


@pytest.fixture(params=["mysql", "mariadb"])
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MysqlServer]:
    """One that may be reset."""
    flavour: Flavour = request.param
    need(flavour)
    server = MysqlServer(
        tmp_path / "own", flavour, {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"} if flavour == "mysql" else {}
    ).start()
    yield server
    server.stop()


def need(flavour: Flavour) -> None:
    if binary(flavour) is None:
        pytest.skip(f"no {flavour} server is installed")


@on_servers("mariadb", fixture="own_server")
def test_a_server_that_began_anew_is_told(own_server: MysqlServer) -> None:
    """Its files have the same names and may be longer by now; without GTIDs their birth tells them apart."""
    own_server.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    own_server.run(own_server._reset())
    begin = latest(own_server)
    begin = Position(file=begin.file, offset=begin.offset, server=begin.server)
    with reading(own_server, {TABLE: WANTED}, begin, options=QUICK) as reader:
        own_server.run("INSERT INTO moved.t VALUES (1, 'x')")
        until(lambda: reader.get() and reader.batches[-1].end)
        reached = reader.batches[-1].end
    assert reached is not None
    assert reached.created > 0
    reached = replace(reached, gtids="")
    until(lambda: time.time() >= reached.created + 1.1)
    own_server.run(own_server._reset(), *(f"INSERT INTO moved.t VALUES ({n}, 'new')" for n in range(2, 30)))
    with reading(own_server, {TABLE: WANTED}, reached, options=QUICK) as reader:
        error = reader.until_error()
    assert error.code is Code.SOURCE_POSITION_LOST
    assert "the server was reset, restored or replaced" in str(error)
    assert reader.batches == []


@pytest.fixture(params=["mysql", "mariadb"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """A server and its replica."""
    flavour: Flavour = request.param
    need(flavour)
    servers = [
        MysqlServer(
            tmp_path / f"s{n}", flavour, {"server-id": str(n), "log-slave-updates": "ON", **GTIDS[flavour]}
        ).start()
        for n in (1, 2)
    ]
    first, second = servers
    second.follow(first)
    first.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    yield first, second
    for server in servers:
        server.stop()


def description(*hosts: str) -> MysqlDescription:
    given = {"mysql.user": "repl", "mysql.password": PASSWORD}
    source = source_of({"type": "mysql", "mysql.host": ",".join(hosts), **given})
    assert isinstance(source, MysqlDescription)
    return source


def test_a_job_is_created_while_one_of_its_servers_is_away(mysql_server: MysqlServer) -> None:
    """The first that answers is asked."""
    need_gtids(mysql_server)
    both = description(f"127.0.0.1:{free_port()}", f"127.0.0.1:{mysql_server.port}")
    known = inspect(both, [], connect_timeout=HANG_SECOND, locking=Locking())
    assert known.by_gtid


def test_several_servers_need_gtids(own_server: MysqlServer) -> None:
    """Coordinates of one server mean nothing on another, so the job is refused before it begins."""
    if own_server.flavour == "mariadb":
        pytest.skip("MariaDB always has GTIDs")
    need_names(own_server)  # else there is another reason
    here = f"127.0.0.1:{own_server.port}"
    with pytest.raises(SyncError) as caught:
        inspect(description(here, here), [], connect_timeout=HANG_SECOND, locking=Locking())
    assert caught.value.code is Code.PROPERTY_WRONG
    assert "mysql.host" in str(caught.value)


@pytest.fixture
def reader(pair: Pair) -> Iterator[Reader]:
    """Reads whichever of the two it reaches, from the first one's end on."""
    reader = Reader(None)  # type: ignore[arg-type]  # it wants to hear of troubles before it has a source
    known = [address(server) for server in pair]
    here = latest(pair[0])
    tables = described(pair[0], {TABLE: WANTED})
    reader.source = MysqlSource(known, 4711, here, tables, options=QUICK, trouble=reader.troubles.append)
    yield reader
    reader.source.close()
    reader.source.get(0)


def rows(server: MysqlServer) -> dict[int, str]:
    return dict(server.run("SELECT id, v FROM moved.t"))


def ids(reader: Reader) -> list[int]:
    return [row["id"] for row in reader.rows(TABLE)]


def test_a_job_goes_on_at_the_next_server(pair: Pair, reader: Reader) -> None:
    """The one that is read dies, its replica takes over: every change comes once, and Status names who is read."""
    first, second = pair
    first.run(*(f"INSERT INTO moved.t VALUES ({n}, 'first')" for n in range(20)))
    until(lambda: reader.get() and len(ids(reader)) == 20)
    assert reader.source.server() == f"127.0.0.1:{first.port}"
    until(lambda: len(_rows_if_there(second)) == 20, why="the replica")
    first.kill()
    stop = "STOP REPLICA" if second.flavour == "mysql" else "STOP SLAVE"
    second.run(stop, *(f"INSERT INTO moved.t VALUES ({n}, 'second')" for n in range(20, 40)))
    until(lambda: (reader.get(), len(ids(reader)))[1] >= 40)
    assert ids(reader) == list(range(40))
    assert {key: row["v"] for key, row in reader.state(TABLE).items()} == rows(second)
    assert reader.source.server() == f"127.0.0.1:{second.port}"
    assert any(trouble is not None and trouble.code is Code.SOURCE_UNREACHABLE for trouble in reader.troubles)
    assert reader.troubles[-1] is None


def _rows_if_there(server: MysqlServer) -> list[tuple[object, ...]]:
    if not server.run("SELECT 1 FROM information_schema.tables WHERE table_schema = 'moved' AND table_name = 't'"):
        return []
    return server.run("SELECT id FROM moved.t")


@on_servers("mariadb", fixture="pair")
def test_a_server_that_lacks_what_was_read_is_not_taken_for_the_next(pair: Pair, reader: Reader) -> None:
    """A replica that had not caught up when its source died: the job says which transactions it does not have."""
    first, second = pair
    first.run("INSERT INTO moved.t VALUES (1, 'both')")
    until(lambda: len(_rows_if_there(second)) == 1, why="the replica")
    second.run("STOP REPLICA" if second.flavour == "mysql" else "STOP SLAVE")
    first.run("INSERT INTO moved.t VALUES (2, 'first alone')")
    until(lambda: reader.get() and len(ids(reader)) == 2)
    first.kill()
    second.run("INSERT INTO moved.t VALUES (3, 'second alone')")
    told: list[SyncError] = []

    def lost() -> bool:
        try:
            reader.get()
        except SyncError as error:
            told.append(error)
        told.extend(trouble for trouble in reader.troubles if trouble is not None)
        return any(error.code is Code.SOURCE_POSITION_LOST for error in told)

    until(lost)
    assert ids(reader) == [1, 2]


@on_servers("mariadb", fixture="pair")
def test_the_same_server_comes_back_in_the_middle_of_a_transaction(pair: Pair, reader: Reader) -> None:
    """A part that was handed on may be cut otherwise by another server: it is not mixed with what that one sends."""
    first, second = pair
    values = ", ".join(f"({n}, '{'x' * 90}')" for n in range(2000))
    first.run(f"INSERT INTO moved.t VALUES {values}")
    until(lambda: len(_rows_if_there(second)) == 2000, why="the replica")
    until(lambda: (batch := reader.get()) and batch.open)
    first.kill()
    reader.source._disconnect()
    reader.source._router.restart()
    error = reader.until_error()
    assert error.code is Code.SOURCE_MOVED


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    [
        "OFF",
        pytest.param("OFF_PERMISSIVE", marks=pytest.mark.long),
        pytest.param("ON_PERMISSIVE", marks=pytest.mark.long),
    ],
)
def test_a_server_that_once_wrote_gtids_is_read_by_file(tmp_path: Path, mode: str) -> None:
    """Each of its files tells the GTIDs before it, but what it writes now may have none: they are no place to go on."""
    need("mysql")
    server = MysqlServer(tmp_path / "own", "mysql", GTIDS["mysql"]).start()
    try:
        server.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        by_gtid = latest(server)
        server.restart({"gtid-mode": mode})
        start = latest(server)
        assert (bool(by_gtid.gtids), start.gtids) == (True, "")
        server.run("FLUSH BINARY LOGS", "INSERT INTO moved.t VALUES (1, 'x')")
        with reading(server, {TABLE: WANTED}, start, options=QUICK) as reader:
            at = reader.until(latest(server))[-1].end
        assert at is not None
        assert at.gtids == ""
        server.run("INSERT INTO moved.t VALUES (2, 'x')")
        stuck = replace(at, gtids=by_gtid.gtids)  # as a version stored it that believed in them
        for place in (at, stuck):
            with reading(server, {TABLE: WANTED}, place, options=QUICK) as reader:
                reader.until(latest(server))
                assert ids(reader) == [2]
        with reading(server, {TABLE: WANTED}, Position(gtids=by_gtid.gtids, server=at.server), options=QUICK) as reader:
            error = reader.until_error()
        assert error.code is Code.SOURCE_UNSUPPORTED
        assert "gtid_mode is not ON" in str(error)
    finally:
        server.stop()


@pytest.fixture
def gtid_server(tmp_path: Path) -> Iterator[MysqlServer]:
    """A MySQL whose gtid_mode may be changed."""
    need("mysql")
    server = MysqlServer(tmp_path / "own", "mysql", GTIDS["mysql"]).start()
    server.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    yield server
    server.stop()


OTHER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"  # a server_uuid


def set_modes(server: MysqlServer, *modes: str) -> None:
    server.run(*(f"SET GLOBAL gtid_mode = {mode}" for mode in modes))


def write_anonymous(server: MysqlServer, number: int) -> None:
    """A row while gtid_mode is away from ON."""
    set_modes(server, "ON_PERMISSIVE", "OFF_PERMISSIVE")
    server.run(f"INSERT INTO moved.t VALUES ({number}, 'no GTID')")
    set_modes(server, "ON_PERMISSIVE", "ON")


def read_behind(server: MysqlServer, at: Position) -> tuple[list[int], Position]:
    """The ids of all that lies behind a place, and the place behind them."""
    with reading(server, {TABLE: WANTED}, at, options=QUICK) as reader:
        end = reader.until(latest(server))[-1].end
        assert end is not None
        return ids(reader), end


def refusal(server: MysqlServer, at: Position) -> SyncError:
    with reading(server, {TABLE: WANTED}, at, options=QUICK) as reader:
        error = reader.until_error()
        assert ids(reader) == []
    return error


def test_rows_that_were_written_while_gtid_mode_was_not_on_are_not_left_out(gtid_server: MysqlServer) -> None:
    """A server that is asked by GTID begins behind files without one: the job stops, and with ON_PERMISSIVE has all."""
    server = gtid_server
    start = latest(server)
    server.run("INSERT INTO moved.t VALUES (1, 'x')")
    at = read_behind(server, start)[1]
    write_anonymous(server, 2)
    for _ in range(2):  # also where it begins several files behind
        error = refusal(server, at)
        assert error.code is Code.SOURCE_UNSUPPORTED
        assert "SET GLOBAL gtid_mode = ON_PERMISSIVE, RESUME" in str(error)
        server.run("INSERT INTO moved.t VALUES (0, 'x')", "DELETE FROM moved.t WHERE id = 0", "FLUSH BINARY LOGS")
    by_file = refusal(server, replace(at, gtids=""))
    assert (by_file.code, str(by_file)) == (error.code, str(error))
    set_modes(server, "ON_PERMISSIVE")
    found, behind = read_behind(server, at)
    assert found == [2, 0, 0, 0, 0]
    set_modes(server, "ON")
    server.run("INSERT INTO moved.t VALUES (3, 'x')")
    assert read_behind(server, behind)[0] == [3]
    anonymous = next(name for name, *_ in server.run("SHOW BINARY LOGS") if has_anonymous(server, name))
    until(lambda: at.file not in {name for name, *_ in purged(server, anonymous)})
    lost = refusal(server, at)
    assert lost.code is Code.SOURCE_POSITION_LOST
    assert f"transactions without a GTID stand in {anonymous}" in str(lost)


def has_anonymous(server: MysqlServer, file: str) -> bool:
    return any(kind == "Anonymous_Gtid" for _, _, kind, *_ in server.run(f"SHOW BINLOG EVENTS IN '{file}'"))


def purged(server: MysqlServer, newest: str) -> list[tuple[object, ...]]:
    """The files that are left."""
    server.run(f"PURGE BINARY LOGS TO '{newest}'")
    return server.run("SHOW BINARY LOGS")


def test_gtid_mode_changes_while_a_job_reads(gtid_server: MysqlServer) -> None:
    """It is read on by file, without a stop, and by GTID again from the next file on; until then no other server knows
    its place.
    """
    server = gtid_server
    with reading(server, {TABLE: WANTED}, latest(server), options=QUICK) as reader:
        server.run("INSERT INTO moved.t VALUES (1, 'x')")
        until(lambda: reader.get() and ids(reader) == [1])
        set_modes(server, "ON_PERMISSIVE", "OFF_PERMISSIVE")
        server.run("INSERT INTO moved.t VALUES (2, 'x')")
        until(lambda: reader.get() and ids(reader) == [1, 2])
        set_modes(server, "ON_PERMISSIVE", "ON")
        server.run("INSERT INTO moved.t VALUES (3, 'x')")
        until(lambda: reader.get() and ids(reader) == [1, 2, 3])
        behind = reader.batches[-1].end
    assert behind is not None
    assert behind.gtids == ""
    lost = refusal(server, replace(behind, server=OTHER))
    assert lost.code is Code.SOURCE_POSITION_LOST
    assert f"it was read from server {OTHER}, this is" in str(lost)
    assert "and the place of the job is known by file and offset alone" in str(lost)
    server.run("FLUSH BINARY LOGS", "INSERT INTO moved.t VALUES (4, 'x')")
    found, behind = read_behind(server, behind)
    assert (found, bool(behind.gtids)) == ([4], True)


@pytest.mark.parametrize("pair", ["mysql"], indirect=True)
def test_what_one_server_left_out_is_not_looked_for_at_the_next(pair: Pair, reader: Reader) -> None:
    """Its replica never got the transactions without a GTID either: to go on there would lose them."""
    first, second = pair
    first.run("INSERT INTO moved.t VALUES (1, 'x')")
    until(lambda: reader.get() and ids(reader) == [1])
    until(lambda: len(_rows_if_there(second)) == 1, why="the replica")
    reader.source._disconnect()
    write_anonymous(first, 2)
    error = reader.until_error()
    assert error.code is Code.SOURCE_UNSUPPORTED
    assert ids(reader) == [1]


ELSEWHERE: Final = [  # what the position says, and what is told of it
    ({"server": OTHER, "gtids": ""}, f"it was read from server {OTHER}, this is"),
    ({"server": OTHER, "gtids": "", "file": "other.000001"}, f"it was read from server {OTHER}, this is"),
    ({"gtids": "", "file": "other.000001"}, "other.000001"),
    ({"gtids": "", "created": 1_700_000_000}, "the server was reset, restored or replaced"),
    ({"gtids": "", "created": 0, "last": f"@{10**15}@4711@{{file}}"}, "no transaction begins at"),
]


@pytest.mark.parametrize(
    ("own_server", "change", "words"),
    some_slow(
        ((server, *each) for server in SERVERS for each in ELSEWHERE),
        always=[("mysql", *ELSEWHERE[3]), *(("mariadb", *each) for each in ELSEWHERE)],
    ),
    indirect=["own_server"],
)
def test_without_gtids_no_place_of_another_server_is_read_from(
    own_server: MysqlServer, change: dict[str, object], words: str
) -> None:
    """At the address of a job that knows file and offset alone another server answers: none of its rows is taken."""
    own_server.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    start = latest(own_server)
    own_server.run(*(f"INSERT INTO moved.t VALUES ({n}, 'x')" for n in range(30)))
    place = {name: each.format(file=start.file) if isinstance(each, str) else each for name, each in change.items()}
    error = refusal(own_server, replace(start, **place))  # type: ignore[arg-type]
    assert error.code is Code.SOURCE_POSITION_LOST
    assert words in str(error)
