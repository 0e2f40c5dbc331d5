"""A canal that turns to the standby of its MySQL, without GTIDs: coordinates there are of other binlogs."""

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import OP
from syncmgr.sources.mysql.wire import FIRST_OFFSET
from tests.conftest import need_canal
from tests.contract.canal_reader import Reader, channel, reading
from tests.support.servers.canal import CanalServer
from tests.support.servers.mysql import NO_GTIDS, PASSWORD, MysqlServer
from tests.support.slow import some_slow
from tests.support.until import HANG_SECOND

pytestmark = pytest.mark.mysql

TABLE: Final = ("shop", "t")
SWITCHES: Final = {
    "detecting.enable": "true",
    "detecting.interval.time": "1",
    "detecting.retry.threshold": "1",
    "detecting.heartbeatHaEnable": "true",
}
CHECKSUM: Final = 4
HEAD: Final = frozenset({15, 35})  # FORMAT_DESCRIPTION and PREVIOUS_GTIDS
FILES: Final = {"fewer": (4, 0), "as many": (2, 1), "more": (0, 4)}  # those that each server has closed before


@dataclass(frozen=True, slots=True)
class Pair:
    """A MySQL, the one that replicates it, and the canal that knows both."""

    first: MysqlServer
    second: MysqlServer
    canal: CanalServer

    def fail(self) -> None:
        """The first one dies once the other has all of it; that one is written from now on."""
        assert caught_up(self.second, self.first)
        self.first.kill()
        self.second.run("STOP REPLICA")


def caught_up(replica: MysqlServer, source: MysqlServer) -> bool:
    file, offset = source.run("SHOW BINARY LOGS")[-1][:2]
    return replica.run(f"SELECT SOURCE_POS_WAIT('{file}', {offset}, {int(HANG_SECOND)}) >= 0") == [(1,)]


def new_server(folder: Path, number: int, files: int) -> MysqlServer:
    server = MysqlServer(folder, "mysql", {**NO_GTIDS, "server-id": str(number)}).start()
    server.run("DO 1", *["FLUSH BINARY LOGS"] * files)
    return server


def age(server: MysqlServer, seconds: int) -> None:
    """Its binlog files say that they were begun earlier: where the head of one is younger than the minute that canal
    steps back, it looks no further, and finds no place.
    """
    server.stop()
    for path in server.make_data().glob("binlog.0*"):
        data, at = bytearray(path.read_bytes()), FIRST_OFFSET
        while at < len(data):
            said, kind, size = struct.unpack_from("<IB4xI", data, at)
            if kind in HEAD:
                struct.pack_into("<I", data, at, said - seconds)
                end = at + size - CHECKSUM
                struct.pack_into("<I", data, end, zlib.crc32(data[at:end]))
            at += size
        path.write_bytes(data)
    server.start()


def follow(replica: MysqlServer, source: MysqlServer) -> None:
    """By file and offset, from where it is now."""
    file, offset = source.run("SHOW BINARY LOGS")[-1][:2]
    there = f"SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {source.port}, SOURCE_USER = 'repl'"
    where = f"SOURCE_PASSWORD = '{PASSWORD}', SOURCE_LOG_FILE = '{file}', SOURCE_LOG_POS = {offset}"
    replica.run(f"CHANGE REPLICATION SOURCE TO {there}, {where}, GET_SOURCE_PUBLIC_KEY = 1", "START REPLICA")


@pytest.fixture(params=[pytest.param(each, marks=[pytest.mark.long] if each == "as many" else []) for each in FILES])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """Of a table that is older than whatever canal asks the standby for again (a minute)."""
    need_canal()
    mine, its = FILES[request.param]
    first, second = new_server(tmp_path / "first", 1, mine), new_server(tmp_path / "second", 2, its)
    follow(second, first)
    first.run(
        "SET timestamp = UNIX_TIMESTAMP() - 3600",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.t (id BIGINT PRIMARY KEY, v TEXT)",
        "CREATE TABLE shop.before_all (id INT)",
        "INSERT INTO shop.before_all VALUES (1)",
    )
    assert caught_up(second, first)
    age(second, 3600)
    told = {"standby.address": f"127.0.0.1:{second.port}", **SWITCHES}
    options = [part for name, value in told.items() for part in ("--iset", f"example:canal.instance.{name}={value}")]
    canal = CanalServer(tmp_path / "canal", first, options=options).start()
    yield Pair(first, second, canal)
    canal.kill()
    for server in (first, second):
        server.stop()


def write(server: MysqlServer, start: int, stop: int) -> None:
    """Transactions of which each depends on the one before."""
    for number in range(start, stop):
        server.run(
            f"INSERT INTO shop.t VALUES ({number}, 'new')",
            f"UPDATE shop.t SET v = CONCAT(v, '+') WHERE id >= {number - 2}",
            f"DELETE FROM shop.t WHERE id = {number - 4}",
        )


def expected(server: MysqlServer) -> dict[int, str]:
    return dict(server.run("SELECT id, v FROM shop.t"))


def upserted(state: dict[int, str], reader: Reader) -> dict[int, str]:
    """As a target with a key takes changes: each deletes its key first."""
    state = dict(state)
    for row in reader.rows(TABLE):
        state.pop(row["id"], None)
        if row[OP] != 2:
            state[row["id"]] = row["v"]
    return state


def has(reader: Reader, number: int) -> Callable[[], bool]:
    return lambda: any(row["id"] == number for row in reader.rows(TABLE))


def mark(server: MysqlServer, number: int) -> int:
    """A last row, with which everything before it has come."""
    server.run(f"INSERT INTO shop.t VALUES ({number}, 'mark')")
    return number


@pytest.mark.slow
@pytest.mark.parametrize("pair", some_slow(FILES, always=["fewer"]), indirect=True)
def test_a_standby_loses_no_row_while_a_job_reads(pair: Pair) -> None:
    """Rows with a key are applied again from the place that canal has chosen there."""
    with reading(pair.canal, [channel(TABLE)]) as reader:
        reader.get()
        write(pair.first, 0, 10)
        reader.until(has(reader, mark(pair.first, 1000)))
        write(pair.first, 10, 14)
        pair.fail()
        write(pair.second, 14, 20)
        reader.until(has(reader, mark(pair.second, 1001)))
        assert upserted({}, reader) == expected(pair.second)


@pytest.mark.parametrize("pair", some_slow(FILES, always=["more"]), indirect=True)
@pytest.mark.parametrize(
    "more", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["more is written", "nothing is written"]
)
def test_a_standby_loses_no_row_of_a_job_that_was_away(pair: Pair, *, more: bool) -> None:
    """What it has not read lies before its position by the standby's coordinates, and was written in its second."""
    with reading(pair.canal, [channel(TABLE)]) as reader:
        reader.get()
        write(pair.first, 0, 10)
        reader.until(has(reader, mark(pair.first, 1000)))
        end, state = reader.end, upserted({}, reader)
    write(pair.first, 10, 14)
    last = mark(pair.first, 1001)
    pair.fail()
    if more:
        write(pair.second, 14, 20)
        last = mark(pair.second, 1002)
    with reading(pair.canal, [channel(TABLE)], end) as reader:
        reader.until(has(reader, last))
        assert upserted(state, reader) == expected(pair.second)


@pytest.mark.parametrize("pair", some_slow(FILES, always=["more"]), indirect=True)
@pytest.mark.parametrize("away", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["reading", "away"])
def test_a_target_without_a_key_gets_no_row_twice(pair: Pair, *, away: bool) -> None:
    """Which rows of the standby it has already nobody knows; the job says so before it appends one."""
    found = list[int]()

    def read(start: Position, last: int, begin: Callable[[], None]) -> Position:
        with reading(pair.canal, [channel(TABLE, key="")], start) as reader:
            try:
                reader.get()
                begin()
                reader.until(has(reader, last))
            finally:
                found.extend(row["id"] for row in reader.rows(TABLE))
            return reader.end

    def first() -> None:
        pair.first.run(*(f"INSERT INTO shop.t VALUES ({number}, 'x')" for number in range(10)))

    end = read(Position(), 9, first)

    def second() -> None:
        pair.first.run(*(f"INSERT INTO shop.t VALUES ({number}, 'x')" for number in range(10, 14)))
        pair.fail()
        pair.second.run(*(f"INSERT INTO shop.t VALUES ({number}, 'x')" for number in range(14, 20)))

    if away:
        second()
    with pytest.raises(SyncError, match="whose target has no key, would be appended twice") as raised:
        read(end, 19, (lambda: None) if away else second)
    assert raised.value.code is Code.CANAL_POSITION_LOST
    assert len(found) == len(set(found))
