"""What a client may take, and what it can break: bare bytes, slow readers, KILL, garbage."""

import gc
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pymysql
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncmgr.console.limits import KiB, MiB
from syncmgr.console.statements.local import sqlite_engine
from syncmgr.console.wire.prepared import PreparedStatement
from syncmgr.console.wire.protocol import Capability
from syncmgr.errors import Code
from tests.support.until import HANG_SECOND, PROMPT_SECOND, until
from tests.unit.console.frontend import BIG, FakeQuery
from tests.unit.console.running import RawClient, Running, id_of, running

DENIED = b"\xff"
QUERY = b"\x03"
PING = b"\x0e"
UNANSWERED = {0x18, 0x19}  # long data and close of a prepared statement


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def console(folder: Path) -> Iterator[Running]:
    size = 20 * MiB
    with running(folder, max_packet=size, max_statement=size, max_query=size, high_water=64 * KiB) as it:
        yield it


def code(error: pytest.ExceptionInfo[BaseException]) -> int:
    return int(error.value.args[0])


def in_thread(connection: "pymysql.Connection[Any]", sql: str) -> tuple[threading.Thread, list[BaseException]]:
    """Run a statement in another thread; the list gets what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
        except pymysql.err.MySQLError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def wait_for_query(it: Running, count: int) -> None:
    until(lambda: len(it.frontend.queries.started) > count, why="the query")


def test_kill_query_ends_the_statement_alone(console: Running) -> None:
    """KILL QUERY interrupts with 1317, the lake's query is cancelled, the connection goes on."""
    before = len(console.frontend.queries.started)
    with console.connect() as victim:
        thread, raised = in_thread(victim, "SELECT * FROM wait")
        wait_for_query(console, before)
        console.ask(f"KILL QUERY {id_of(victim)}")
        thread.join(HANG_SECOND)
        assert [error.args[0] for error in raised] == [1317]
        until(console.frontend.queries.started[-1].cancelled.is_set)
        with victim.cursor() as cursor:
            cursor.execute("SELECT 42")
            assert cursor.fetchall() == ((42,),)


def test_kill_ends_the_connection(console: Running) -> None:
    """KILL ends a busy connection with 1317, and an idle one without a word."""
    before = len(console.frontend.queries.started)
    busy, idle = console.connect(), console.connect()
    thread, raised = in_thread(busy, "SELECT * FROM wait")
    wait_for_query(console, before)
    console.ask(f"KILL {id_of(busy)}")
    console.ask(f"KILL CONNECTION {id_of(idle)}")
    thread.join(HANG_SECOND)
    assert [error.args[0] for error in raised] == [1317]
    for ended in (busy, idle):
        with pytest.raises(pymysql.err.OperationalError):
            ended.ping(reconnect=False)
        ended._force_close()  # type: ignore[attr-defined]


def test_kill_query_leaves_an_idle_connection_alone(console: Running) -> None:
    """There is nothing to interrupt in an idle connection; an unknown id is 1094."""
    with console.connect() as idle:
        console.ask(f"KILL QUERY {id_of(idle)}")
        idle.ping(reconnect=False)
        with pytest.raises(pymysql.err.OperationalError) as caught:
            console.ask("KILL 99999999")
        assert code(caught) == 1094


def test_a_statement_has_its_time(console: Running) -> None:
    """max_execution_time ends a statement with 3024; it is in milliseconds, and for this session alone."""
    with console.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET max_execution_time = 50")
        with pytest.raises(pymysql.err.OperationalError) as caught:
            cursor.execute("SELECT * FROM wait")
        assert code(caught) == 3024
        cursor.execute("SELECT @@max_execution_time")
        assert cursor.fetchall() == ((50,),)
    assert console.ask("SELECT @@max_execution_time") == ((0,),)


def test_a_hint_gives_a_statement_its_time(console: Running) -> None:
    """MAX_EXECUTION_TIME goes before the variable, and holds for its own statement among several."""
    started = console.frontend.queries.started
    before = len(started)
    with console.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET max_execution_time = 60000")
        with pytest.raises(pymysql.err.OperationalError) as caught:
            cursor.execute("SELECT /*+ MAX_EXECUTION_TIME(50) */ * FROM wait")
        assert code(caught) == 3024
        until(lambda: all(query.cancelled.is_set() for query in started[before:]))  # its time may end before it starts
        cursor.execute("SELECT /*+ MAX_EXECUTION_TIME(1) */ 42; SELECT SLEEP(0.05) FROM thousand")
        assert cursor.fetchall() == ((42,),)
        assert cursor.nextset()
        assert len(cursor.fetchall()) == 1000


@pytest.mark.parametrize("own", ["0", "60000"])
def test_a_query_that_nobody_bounds_is_ended(folder: Path, own: str) -> None:
    """After max_query_second, with 3024 and the setting's name, whatever longer time the session has given it; EXPLAIN
    of a query too.
    """
    with running(folder, max_query_second=0.1) as it, it.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SET max_execution_time = {own}")
        for sql in ("SELECT * FROM wait", "EXPLAIN SELECT * FROM wait"):
            with pytest.raises(pymysql.err.OperationalError, match="max_query_second") as caught:
                cursor.execute(sql)
            assert code(caught) == 3024
        until(lambda: all(query.cancelled.is_set() for query in it.frontend.queries.started))


def test_an_account_leaves_queries_to_the_others(folder: Path) -> None:
    """Who sends as many as there are threads, none of which ends, waits for his own; another is answered at once."""
    with running(folder, threads=4, max_queries_per_account=2) as it, ThreadPoolExecutor(4) as pool:
        it.ask("CREATE USER flood IDENTIFIED BY 'x'")
        it.ask("GRANT SELECT_PRIV ON *.* TO flood")
        flood = [it.connect(user="flood", password="x") for _ in range(4)]
        asked = [pool.submit(connection.query, "SELECT * FROM demo.wait") for connection in flood]
        until(
            lambda: [row[4] for row in it.ask("SHOW PROCESSLIST") if row[1] == "flood"] == ["Query"] * 4, why="all four"
        )
        assert len(it.ask("SELECT * FROM demo.orders", read_timeout=PROMPT_SECOND)) == 3
        for connection in flood:
            it.ask(f"KILL {id_of(connection)}")
        assert [type(each.exception(HANG_SECOND)) for each in asked] == [pymysql.err.OperationalError] * 4
        for connection in flood:
            connection._force_close()  # type: ignore[attr-defined]


def test_a_shorter_time_of_a_session_holds(folder: Path) -> None:
    """Its error does not speak of the setting."""
    with running(folder, max_query_second=60) as it, it.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET max_execution_time = 50")
        with pytest.raises(pymysql.err.OperationalError) as caught:
            cursor.execute("SELECT * FROM wait")
        assert (code(caught), "max_query_second" in str(caught.value)) == (3024, False)


def test_a_vanished_client_cancels_its_query(console: Running) -> None:
    """A client that goes away during a SELECT leaves nothing running."""
    before = len(console.frontend.queries.started)
    with console.raw() as raw:
        raw.log_in()
        raw.sequence = -1
        raw.write(QUERY + b"SELECT * FROM wait")
        wait_for_query(console, before)
    until(console.frontend.queries.started[-1].cancelled.is_set)


def test_rows_are_read_as_the_client_takes_them(console: Running) -> None:
    """A client that reads slowly holds the lake back: what is in flight stays small, however long the result."""
    before = len(console.frontend.queries.started)
    memory = psutil.Process().memory_info().rss
    with console.raw() as slow:
        slow.log_in()
        assert slow.command(QUERY + b"SELECT * FROM many")[:1] == b"\x02"
        wait_for_query(console, before)
        query = console.frontend.queries.started[-1]
        until(lambda: query.given and stands_still(query))
        assert 0 < query.given < 200_000
        assert psutil.Process().memory_info().rss - memory < 60 * MiB
        assert not query.cancelled.is_set()
    until(query.cancelled.is_set)


def stands_still(query: FakeQuery) -> bool:
    """Whether no row was asked for in a third of a second."""
    before = query.given
    threading.Event().wait(0.3)
    return before == query.given


def test_a_client_that_does_not_read_is_dropped(folder: Path) -> None:
    """After net_write_timeout without a byte taken, the connection is given up and its query cancelled."""
    with running(folder, write_timeout=0.3, high_water=64 * KiB) as it, it.raw() as raw:
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KiB)
        raw.log_in()
        raw.sequence = -1
        raw.write(QUERY + b"SELECT * FROM many")
        until(lambda: it.frontend.queries.started and it.frontend.queries.started[0].cancelled.is_set())
        until(lambda: not it.connections)


def test_a_row_beyond_16_mib(console: Running) -> None:
    """A row bigger than a packet is split, and joined again by the client."""
    [(value,)] = console.ask("SELECT * FROM big", max_allowed_packet=64 * MiB)
    assert value == BIG


def test_a_statement_beyond_16_mib(console: Running) -> None:
    """A statement bigger than a packet is joined."""
    text = "x" * (17 * MiB)
    [(value,)] = console.ask(f"SELECT '{text}' FROM t", max_allowed_packet=64 * MiB)
    assert len(value) == len(text) + len("SELECT '' FROM t")


def test_a_statement_of_exactly_16_mib(console: Running) -> None:
    """A packet that fills its frame is followed by an empty one."""
    size = 0xFFFFFF - 1 - len("SELECT '' FROM t")
    [(value,)] = console.ask(f"SELECT '{'x' * size}' FROM t", max_allowed_packet=64 * MiB)
    assert len(value) == 0xFFFFFF - 1


def test_a_packet_too_large_is_refused_at_once(console: Running) -> None:
    """More than max_allowed_packet is 1153 before it is read, and the end of the connection."""
    with console.raw() as raw:
        raw.log_in()
        raw.socket.sendall(b"\xff\xff\xff\x00" + b"\x03" * 0xFFFFFF + b"\xff\xff\xff\x01")
        answer = raw.read()
        assert (answer[:1], struct.unpack("<H", answer[1:3])) == (DENIED, (1153,))


def test_a_large_packet_before_the_login_is_refused(console: Running) -> None:
    """A stranger cannot send much: the end of the connection, at once."""
    with console.raw() as raw:
        raw.greet()
        raw.socket.sendall(b"\xff\xff\xff\x01")
        assert raw.read()[:1] in {b"", DENIED}
        assert raw.read() == b""


TLS_ASKED_FOR = b"\x20\x00\x00\x01" + struct.pack("<IIB23x", RawClient.CAPABILITIES | Capability.SSL, 0, 45)


@pytest.mark.parametrize("sent", [b"", b"\x20\x00\x00\x01\x00", TLS_ASKED_FOR, TLS_ASKED_FOR + b"\x16\x03\x01"])
def test_a_slow_login_is_ended(folder: Path, sent: bytes) -> None:
    """A client that does not log in is dropped at connect_timeout, also in the middle of a packet or of TLS."""
    with running(folder, connect_timeout=0.5) as it, it.raw() as raw:
        raw.greet()
        raw.socket.sendall(sent)
        while raw.read():
            pass


def test_a_packet_that_stalls_is_ended(folder: Path) -> None:
    """Half a packet and then silence ends the connection at net_read_timeout."""
    with running(folder, read_timeout=0.5) as it, it.raw() as raw:
        raw.log_in()
        raw.socket.sendall(b"\x00\x10\x00\x00\x03SELECT")
        assert raw.read() == b""


def test_an_idle_connection_is_ended(console: Running) -> None:
    """wait_timeout ends an idle connection; a session may shorten it."""
    with console.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET wait_timeout = 1")
        until(lambda: id_of(connection) not in console.connections)
        connection._force_close()  # type: ignore[attr-defined]


def test_a_header_may_come_byte_by_byte(console: Running) -> None:
    """TCP may cut a packet anywhere."""
    with console.raw() as raw:
        raw.log_in()
        for byte in b"\x01\x00\x00\x00" + PING:
            raw.socket.sendall(bytes((byte,)))
        assert raw.read()[:1] == b"\0"


def test_a_wrong_sequence_number_ends_the_connection(console: Running) -> None:
    """Packets out of order mean that the two sides have lost each other."""
    with console.raw() as raw:
        raw.log_in()
        raw.sequence = 6
        raw.write(PING)
        assert raw.read() == b""


@pytest.mark.parametrize("command", [b"", b"\x7f", b"\x05", b"\x20"])
def test_an_unknown_command_is_1047(console: Running, command: bytes) -> None:
    """A command that is none of ours is an error, and the connection goes on."""
    with console.raw() as raw:
        raw.log_in()
        assert raw.command(command)[:3] == DENIED + struct.pack("<H", 1047)
        assert raw.command(PING)[:1] == b"\0"


def test_text_that_is_none_is_1300(console: Running) -> None:
    """Bytes that are not of the client's character set are an error that shows them."""
    with console.raw() as raw:
        raw.log_in()
        answer = raw.command(QUERY + b"SELECT '\xff\xfe'")
        assert answer[:3] == DENIED + struct.pack("<H", 1300)
        assert b"Invalid utf8mb4 character string: 'FFFE27'" in answer


def test_deep_nesting_is_an_error(console: Running) -> None:
    """Five thousand brackets do not break the parser."""
    with console.connect() as connection, connection.cursor() as cursor:
        with pytest.raises(pymysql.err.MySQLError) as caught:
            cursor.execute("SHOW SYNC JOB WHERE " + "(" * 5000 + "1" + ")" * 5000)
        assert code(caught) in {1064, 1436}
        connection.ping(reconnect=False)


class Clock:
    """Stands in for `time`: it stands still until it is set. `looks`: how often it was asked."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0
        self._end = time.monotonic() + HANG_SECOND

    def monotonic(self) -> float:
        self.looks += 1
        return self.now if time.monotonic() < self._end else self._end


def test_an_expensive_question_is_ended(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question about metadata that would run forever ends with 3024, and disturbs nobody meanwhile."""
    endless = (
        "SELECT count(*) FROM information_schema.columns a, information_schema.columns b, "
        "information_schema.columns c, information_schema.columns d"
    )
    clock = Clock()
    monkeypatch.setattr(sqlite_engine, "time", clock)
    with console.connect() as busy:
        thread, raised = in_thread(busy, endless)
        until(lambda: clock.looks > 2, why="the question under way")
        assert console.ask("SELECT 42") == ((42,),)
        assert thread.is_alive()
        clock.now = sqlite_engine.SECONDS + 1
        thread.join(HANG_SECOND)
        assert [error.args[0] for error in raised] == [3024]


LONGEST_SECOND = 0.6  # of computing; about 0.15 at rest

LONG_TEXTS = [
    b"\x03SELECT " + b"1," * (1 << 16) + b"'information_schema'",
    b"\x03SELECT * FROM information_schema.tables WHERE table_name IN (" + b"1," * 15_000 + b"1)",
    b"\x03SELECT * FROM t VERSION AS OF 'job1@7' WHERE id IN (" + b"1," * (1 << 14) + b"1)",
    b"\x16SELECT " + b"/* " * (1 << 20),
    b"\x16SELECT '" + b"\\'" * (1 << 20),
]


@pytest.fixture
def small_heap() -> Iterator[None]:
    """A collection of garbage that walks over what all tests before have left would count as a wait."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def longest_of(running: Callable[[], bool], ask: Callable[[], object]) -> float:
    """Seconds that this process computed during the longest of the answers, which are asked for while it is running."""
    longest = 0.0
    while running():
        started, begun = time.process_time(), time.monotonic()
        ask()
        longest = max(longest, time.process_time() - started)
        assert time.monotonic() - begun < PROMPT_SECOND
    return longest


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("packet", LONG_TEXTS, ids=["names", "question", "point", "comments", "quotes"])
def test_a_long_text_holds_up_nobody(console: Running, packet: bytes) -> None:
    """However long a statement takes to read, and whatever is in it, other clients are answered meanwhile: no answer
    waits for much of what this process computes, nor for a lock.
    """

    def longest() -> float:
        with console.raw() as busy, console.connect() as other, other.cursor() as cursor:
            busy.log_in()
            busy.sequence = -1
            busy.write(packet)
            answered = threading.Thread(target=busy.read)
            answered.start()
            return longest_of(answered.is_alive, lambda: cursor.execute("SELECT 42"))

    assert median(longest() for _ in range(5)) < LONGEST_SECOND


COMPUTED = {
    "a long variable": ["SET @a = '" + "x" * 4_000_000 + "'", "SELECT COALESCE(1, @a)"],
    "a long SET": ["SET " + ", ".join(["@a = 1 + 1"] * 2_000)],
    "many columns": ["SELECT " + ", ".join(f"COALESCE(1, {n})" for n in range(400))],
    "many statements": ["; ".join(["SELECT 1 + 1"] * 2_000)],
}


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(each, id=name, marks=[pytest.mark.slow] if name in {"many statements", "a long SET"} else [])
        for name, each in COMPUTED.items()
    ],
)
def test_what_is_computed_without_a_table_holds_up_nobody(console: Running, statements: list[str]) -> None:
    """However long the values of user variables are, and however many expressions a statement has."""

    def compute(busy: "pymysql.Connection[Any]") -> None:
        with busy.cursor() as mine, suppress(pymysql.err.MySQLError):
            for statement in statements:
                mine.execute(statement)

    def longest() -> float:
        with console.connect() as busy, console.connect() as other, other.cursor() as cursor:
            thread = threading.Thread(target=compute, args=[busy])
            thread.start()
            return longest_of(thread.is_alive, lambda: cursor.execute("SHOW SYNC JOB FROM demo"))

    assert median(longest() for _ in range(5)) < LONGEST_SECOND


def test_many_parameters_hold_up_nobody(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of as many as there may be are bound in another thread than that of all clients."""
    threads, bind = list[str](), PreparedStatement.bind

    def noted(self: PreparedStatement, *given: Any, **options: Any) -> str:
        threads.append(threading.current_thread().name)
        return bind(self, *given, **options)

    monkeypatch.setattr(PreparedStatement, "bind", noted)
    for count in (1, 65_000):
        with console.raw() as raw:
            raw.log_in()
            names = b",".join([b"?"] * count)
            statement = raw.command(b"\x16SELECT 1 IN (" + names + b") FROM thousand")[1:5]
            for _ in range(count):
                raw.read()
            values = b"\0" * ((count + 7) // 8) + b"\1" + b"\xfd\0" * count + b"\x01a" * count
            assert raw.command(b"\x17" + statement + struct.pack("<BI", 0, 1) + values) == b"\x01"
    assert [name == "console" for name in threads] == [True, False]


@pytest.mark.parametrize("name", ["@a", "max_execution_time", "sql_select_limit"])
def test_a_number_of_thousands_of_digits_is_refused(console: Running, name: str) -> None:
    """In words, as no DECIMAL of MySQL has so many."""
    with pytest.raises(pymysql.err.MySQLError) as caught:
        console.ask(f"SET {name} = {'9' * 5000}")
    assert code(caught) == Code.NOT_SUPPORTED.number


@pytest.mark.parametrize("sql", ["SELECT load_extension('x')", "SELECT randomblob(100000000)", "SELECT readfile('x')"])
def test_sqlite_is_guarded(console: Running, sql: str) -> None:
    """No function that reaches outside can be called where information_schema is asked."""
    with pytest.raises(pymysql.err.MySQLError) as caught:
        console.ask(f"{sql} FROM information_schema.schemata")
    assert code(caught) == Code.QUERY_FAILED.number


def test_stop_lets_a_statement_end(folder: Path) -> None:
    """stop() closes idle connections, waits for a running statement, and refuses new clients."""
    with running(folder, drain_timeout=HANG_SECOND) as it:
        idle, busy = it.connect(), it.connect()
        thread, raised = in_thread(busy, "SELECT * FROM wait")
        wait_for_query(it, 0)
        stopping = threading.Thread(target=it.console.stop)
        stopping.start()
        until(lambda: not it.is_open())
        it.frontend.queries.started[0].waits = False
        it.frontend.queries.started[0].cancelled.set()
        thread.join(HANG_SECOND)
        stopping.join(HANG_SECOND)
        assert not stopping.is_alive()
        assert [error.args[0] for error in raised] in ([], [Code.QUERY_FAILED.number])
        with pytest.raises(pymysql.err.OperationalError):
            idle.ping(reconnect=False)
        for ended in (idle, busy):
            ended._force_close()  # type: ignore[attr-defined]


def test_stop_ends_what_does_not_end(folder: Path) -> None:
    """A statement that outlives the drain is told that the server shuts down."""
    with running(folder, drain_timeout=0.2) as it, it.connect() as busy:
        thread, raised = in_thread(busy, "SELECT * FROM wait")
        wait_for_query(it, 0)
        it.console.stop()
        thread.join(HANG_SECOND)
        assert [error.args[0] for error in raised] == [1053]
        until(it.frontend.queries.started[0].cancelled.is_set)
        busy._force_close()  # type: ignore[attr-defined]


def test_many_clients_that_hang_up(console: Running) -> None:
    """Clients that connect and go, politely or not, leave nothing behind."""
    before = psutil.Process().num_fds()
    for number in range(100):
        with RawClient(console.port) as raw:
            if number % 3 == 0:
                raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif number % 3 == 1:
                raw.socket.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    until(lambda: not console.connections)
    until(lambda: psutil.Process().num_fds() < before + 20, why="the end of their sockets")
    assert console.ask("SELECT 42") == ((42,),)


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(sent=st.binary(max_size=80), start=st.integers(0, 60))
def test_a_mangled_login_never_hangs(console: Running, sent: bytes, start: int) -> None:
    """Whatever stands in a handshake response, the console answers or hangs up, and lives."""
    with console.raw() as raw:
        raw.greet()
        good = raw.hello(b"")
        raw.write((good[:start] + sent + good[start + len(sent) :])[: 64 * KiB] or b"\0")
        assert raw.read()[:1] in {b"\0", b"\xff", b"\xfe", b"\x01", b""}


@FUZZ
@given(
    commands=st.lists(
        st.tuples(
            st.sampled_from([0x02, 0x03, 0x04, 0x0A, 0x0C, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1B, 0x1F, 0x40]),
            st.one_of(st.binary(max_size=60), st.text(max_size=30).map(str.encode), st.just(b"SELECT ?, ?")),
        ),
        max_size=6,
    )
)
def test_mangled_commands_never_hang(console: Running, commands: list[tuple[int, bytes]]) -> None:
    """Whatever stands in a command, the console goes on or hangs up; it never stops answering others."""
    with console.raw() as raw:
        raw.log_in()
        with suppress(ConnectionError):  # the console may hang up
            for number, body in commands:
                raw.sequence = -1
                raw.write(bytes((number,)) + body)
                if number not in UNANSWERED and not raw.read():
                    break
    with console.raw() as raw:
        raw.log_in()
        assert raw.command(PING)[:1] == b"\0"
