"""What a connection may hold, and that it is given back: bare bytes and real clients against a console."""

import logging
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pymysql
import pytest

from syncmgr.console.limits import MiB
from syncmgr.console.wire.compression import ZLIB
from syncmgr.console.wire.protocol import Capability
from syncmgr.errors import Code
from tests.support.until import until
from tests.unit.console.running import RawClient, Running, id_of, running

FULL = Code.MEMORY_FULL.number
PREPARE, EXECUTE, LONG_DATA, CLOSE, RESET, QUERY = b"\x16", b"\x17", b"\x18", b"\x19", b"\x1f", b"\x03"
WITH_CURSOR = struct.pack("<BI", 1, 1)
CURSOR_EXISTS = 0x40


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Running]:
    """Eight MiB for a connection, twelve for all."""
    limits = {"max_connection_bytes": 8 * MiB, "max_console_bytes": 12 * MiB}
    with running(tmp_path, drain_timeout=0.2, **limits) as it:
        yield it


@pytest.fixture
def raw(console: Running) -> Iterator[RawClient]:
    with console.raw() as it:
        it.log_in()
        yield it


def held(console: Running) -> int:
    return console.console._listener._gate.memory.held


def error_of(answer: bytes) -> int:
    assert answer[:1] == b"\xff", answer[:40]
    return int(struct.unpack("<H", answer[1:3])[0])


def prepare(raw: RawClient, size: int = MiB) -> bytes:
    return raw.command(PREPARE + b"SELECT '" + b"x" * size + b"' FROM thousand")


def test_prepared_statements_are_bounded_in_bytes(console: Running, raw: RawClient) -> None:
    """The error says which setting; closing one makes room, and the end of the connection gives all back."""
    answers = [prepare(raw) for _ in range(8)]
    assert [answer[0] for answer in answers] == [0] * 6 + [0xFF] * 2  # the packet itself needs room, too
    assert error_of(answers[-1]) == FULL
    assert b"max_connection_bytes" in answers[-1]
    raw.sequence = -1
    raw.write(CLOSE + answers[0][1:5])
    assert prepare(raw)[:1] == b"\0"
    assert held(console) > 6 * MiB
    raw.socket.close()
    until(lambda: held(console) == 0, why="what it held")


def test_all_connections_are_bounded_together(console: Running) -> None:
    """One that comes when the others hold everything is told so, and goes on with what is small."""
    with ExitStack() as stack:
        clients = [stack.enter_context(console.raw()) for _ in range(3)]
        for each in clients:
            each.log_in()
        answers = [prepare(each) for each in clients for _ in range(5)]
        assert error_of(answers[-1]) == FULL
        assert b"max_console_bytes" in answers[-1]
        assert clients[-1].command(PREPARE + b"SELECT 42")[:1] == b"\0"
        assert console.ask("SELECT 42") == ((42,),)
        assert held(console) <= 12 * MiB


def test_kill_gives_back_what_it_killed(console: Running, raw: RawClient) -> None:
    """Prepared statements, data sent ahead, variables and cursors of a connection that is idle or busy."""
    statement = raw.command(PREPARE + b"SELECT ? FROM thousand")[1:5]
    raw.read()  # the definition of its parameter
    raw.sequence = -1
    raw.write(LONG_DATA + statement + b"\0\0" + b"x" * MiB)
    assert raw.command(QUERY + b"SET @a = '" + b"x" * MiB + b"'")[:1] == b"\0"
    assert held(console) > 2 * MiB
    [connection] = console.connections
    console.ask(f"KILL {connection}")
    until(lambda: held(console) == 0, why="what it held")
    with console.raw() as busy:
        busy.log_in()
        assert prepare(busy)[:1] == b"\0"
        busy.sequence = -1
        busy.write(QUERY + b"SELECT * FROM wait")
        until(lambda: console.frontend.queries.started, why="the query")
        console.ask(f"KILL {max(console.connections)}")  # those before it may not have left yet
        until(lambda: held(console) == 0, why="what it held")


def test_user_variables_are_bounded_in_bytes(console: Running) -> None:
    """Setting one anew takes no more; a reset gives all back. A system variable has no room for a book."""
    with console.connect() as connection, connection.cursor() as cursor:
        for _ in range(20):
            cursor.execute("SET @a = %s", ["x" * MiB])
        for number in range(5):
            cursor.execute(f"SET @a{number} = %s", ["x" * MiB])
        with pytest.raises(pymysql.err.MySQLError) as caught:
            cursor.execute("SET @b = %s", ["x" * 2 * MiB])
        assert caught.value.args[0] == FULL
        with pytest.raises(pymysql.err.MySQLError) as caught:
            cursor.execute("SET sql_mode = %s", ["x" * MiB])
        assert caught.value.args[0] == 1231
        cursor.execute("SHOW STATUS LIKE 'Connection_memory'")
        [(_, told)] = cursor.fetchall()
        assert int(told) > 5 * MiB
        connection._execute_command(0x1F, b"")  # type: ignore[attr-defined]
        connection._read_ok_packet()  # type: ignore[attr-defined]
        assert held(console) == 0


def test_cursors_that_are_never_fetched_are_bounded(console: Running, raw: RawClient) -> None:
    """Each takes its room; where there is none, the rows come at once, as where there are too many cursors."""
    opened = 0
    for _ in range(10):
        statement = raw.command(PREPARE + b"SELECT * FROM thousand")[1:5]
        assert raw.command(EXECUTE + statement + WITH_CURSOR)[:1] == b"\x01"
        raw.read()  # the column
        last = raw.read()
        status = struct.unpack("<H", last[3:5])[0] if last[:1] == b"\xfe" else 0
        if not status & CURSOR_EXISTS:
            break
        opened += 1
    assert opened == 7
    raw.socket.close()
    until(lambda: held(console) == 0, why="what they held")


def test_rows_that_nobody_reads_are_bounded(console: Running) -> None:
    """What has come of wide results and was not read is held; where there is no room for more, a result ends with the
    error, while short ones of others go on. What is held ends with its connection, and with a KILL.
    """
    with ExitStack() as stack:
        clients = [stack.enter_context(console.raw()) for _ in range(4)]
        for each in clients:
            each.log_in()
            assert each.command(QUERY + b"SELECT * FROM wide") == b"\x01"
        until(lambda: any(connection.error == FULL for connection in console.connections.values()))
        until(lambda: held(console) == 12 * MiB)
        assert len(console.ask("SELECT * FROM thousand")) == 1000
        stuck = [connection.id for connection in console.connections.values() if not connection.running.idle]
        console.ask(f"KILL {stuck[0]}")
        until(lambda: held(console) == 8 * MiB, why="what the killed one held")
    until(lambda: held(console) == 0, why="what the others held")


class Compressing(RawClient):
    CAPABILITIES = RawClient.CAPABILITIES | Capability.COMPRESS


@pytest.mark.parametrize("head", [b"\xff\xff\xff\0\0\0\0", b"\x10\0\0\0\xff\xff\xff"], ids=["long", "bomb"])
def test_compressed_frames_are_bounded(console: Running, head: bytes) -> None:
    """A frame of 16 MiB, or one that becomes as much, is refused in words before it has come; others go on."""
    with Compressing(console.port) as raw:
        raw.log_in()
        raw.socket.sendall(head + b"x" * 1000)
        sent = raw._exactly(7)
        length, size = int.from_bytes(sent[:3], "little"), int.from_bytes(sent[4:], "little")
        assert error_of(ZLIB.unpack(raw._exactly(length), size)[4:]) == FULL
    assert console.ask("SELECT 42") == ((42,),)
    until(lambda: held(console) == 0, why="what it held")


def test_a_wide_result_that_is_read_is_whole(console: Running) -> None:
    """However much larger it is than all that may be held."""
    assert sum(len(pad) for (pad,) in console.ask("SELECT * FROM wide")) == 300 * MiB
    assert held(console) == 0


@pytest.mark.parametrize("sql", ["KILL {id}", "KILL QUERY {id}", "KILL CONNECTION {id}"])
def test_a_connection_that_kills_itself_has_one_answer(console: Running, raw: RawClient, sql: str) -> None:
    """1317 and nothing else, as MySQL; then the end, if it was the connection."""
    [connection] = console.connections
    assert error_of(raw.command(QUERY + sql.format(id=connection).encode())) == 1317
    if "QUERY" in sql:
        assert raw.command(b"\x0e")[:1] == b"\0"
    else:
        assert raw.read() == b""


def test_a_client_that_hangs_up_is_no_news(console: Running, caplog: pytest.LogCaptureFixture) -> None:
    """A scan of ports fills no log: nothing is said at INFO of connections that come and go."""
    caplog.set_level(logging.INFO, logger="syncmgr.console")
    for _ in range(3):
        with console.raw() as raw:
            raw.greet()
        with console.raw() as raw:
            raw.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    connection = console.connect()
    number = id_of(connection)
    connection.close()
    until(lambda: not console.connections, why="their end")
    assert [
        record.message for record in caplog.records if str(number) in record.message or "ended" in record.message
    ] == []
