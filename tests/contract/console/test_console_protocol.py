"""The parts of the protocol that clients must ask for: cursors, compression, session tracking."""

import itertools
import struct
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pymysql
import pytest

from syncmgr.console.wire.packet import Reader, lenenc_bytes
from syncmgr.console.wire.protocol import Capability
from tests.contract.console.test_console_clients import prepare
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import some_slow
from tests.support.until import HANG_SECOND, until
from tests.unit.console.running import RawClient, Running, running

CURSOR_EXISTS, LAST_ROW_SENT, STATE_CHANGED = 64, 128, 1 << 14


class TrackingClient(RawClient):
    """One that asks for session tracking."""

    CAPABILITIES = RawClient.CAPABILITIES | Capability.SESSION_TRACK


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture
def console(folder: Path) -> Iterator[Running]:
    size = 64 << 20
    with running(folder, max_cursors=2, drain_timeout=0.2, max_statement=size, max_query=size) as it:
        yield it


@pytest.fixture
def raw(console: Running) -> Iterator[RawClient]:
    with console.raw() as it:
        it.log_in()
        yield it


def open_cursor(raw: RawClient, statement: int) -> int:
    """The status behind the columns."""
    first = raw.command(b"\x17" + struct.pack("<IBI", statement, 1, 1))
    assert first[:1] != b"\xff", first
    for _ in range(first[0]):
        raw.read()
    return status_of(raw.read())


def fetch(raw: RawClient, statement: int, count: int) -> tuple[list[bytes], int]:
    """Rows, and the status behind them."""
    packet = raw.command(b"\x1c" + struct.pack("<II", statement, count))
    rows = []
    while packet[:1] == b"\0":
        rows.append(packet)
        packet = raw.read()
    return rows, status_of(packet)


def status_of(end: bytes) -> int:
    assert end[:1] == b"\xfe", end
    return int.from_bytes(end[3:5], "little")


def error_of(packet: bytes) -> int:
    assert packet[:1] == b"\xff", packet
    return int.from_bytes(packet[1:3], "little")


def test_a_cursor_gives_rows_as_they_are_fetched(console: Running, raw: RawClient) -> None:
    """No row travels, and none is computed, before it is fetched; the end is told with the last of them."""
    statement, _ = prepare(raw, "SELECT * FROM thousand")
    assert open_cursor(raw, statement) & CURSOR_EXISTS
    rows, status = fetch(raw, statement, 7)
    assert (len(rows), status & (CURSOR_EXISTS | LAST_ROW_SENT)) == (7, CURSOR_EXISTS)
    assert rows[0] == b"\0\0" + struct.pack("<q", 7)
    assert console.frontend.queries.started[-1].given == 10
    rows, status = fetch(raw, statement, 5000)
    assert (len(rows), status & (CURSOR_EXISTS | LAST_ROW_SENT)) == (993, LAST_ROW_SENT)
    assert error_of(raw.command(b"\x1c" + struct.pack("<II", statement, 1))) == 1421


@pytest.mark.parametrize("ending", [b"\x1a%b", b"\x19%b", b"\x17%b\0\1\0\0\0", b"\x1f", b""])
def test_a_cursor_that_is_left_cancels_its_query(console: Running, raw: RawClient, ending: bytes) -> None:
    """RESET, CLOSE, another EXECUTE, RESET_CONNECTION and the end of the connection end what computes the rows."""
    statement, _ = prepare(raw, "SELECT * FROM many")
    open_cursor(raw, statement)
    query = console.frontend.queries.started[-1]
    fetch(raw, statement, 3)
    assert not query.cancelled.is_set()
    raw.sequence = -1
    if ending:
        raw.write(ending.replace(b"%b", struct.pack("<I", statement)))
    else:
        raw.socket.close()
    until(query.cancelled.is_set)


def test_cursors_are_bounded(console: Running, raw: RawClient) -> None:
    """With as many cursors open as are allowed, a further statement is answered with its rows at once."""
    for _ in range(2):
        assert open_cursor(raw, prepare(raw, "SELECT * FROM thousand")[0]) & CURSOR_EXISTS
    statement, _ = prepare(raw, "SELECT * FROM orders")
    columns = raw.command(b"\x17" + struct.pack("<IBI", statement, 1, 1))[0]
    packets = [raw.read() for _ in range(columns + 4)]
    assert status_of(packets[-1]) & (CURSOR_EXISTS | LAST_ROW_SENT) == 0


def test_a_fetch_can_be_killed(console: Running, raw: RawClient) -> None:
    """KILL QUERY during a FETCH ends it with 1317, and its cursor; the connection goes on."""
    statement, _ = prepare(raw, "SELECT * FROM wait")
    open_cursor(raw, statement)
    raw.sequence = -1
    raw.write(b"\x1c" + struct.pack("<II", statement, 1))
    [victim] = console.connections.values()
    until(lambda: victim.command == "Fetch")
    console.ask(f"KILL QUERY {victim.id}")
    assert error_of(raw.read()) == 1317
    until(console.frontend.queries.started[-1].cancelled.is_set)
    assert error_of(raw.command(b"\x1c" + struct.pack("<II", statement, 1))) == 1421


def test_a_fetch_that_nobody_bounds_is_ended(folder: Path) -> None:
    """After max_query_second: a query does not run forever because its rows are fetched."""
    with running(folder, max_query_second=3) as it, it.raw() as raw:
        raw.log_in()
        statement, _ = prepare(raw, "SELECT * FROM wait")
        open_cursor(raw, statement)
        packet = raw.command(b"\x1c" + struct.pack("<II", statement, 1))
        assert (error_of(packet), b"max_query_second" in packet) == (3024, True)
        until(it.frontend.queries.started[-1].cancelled.is_set)


def test_a_cursor_of_a_statement_without_rows(raw: RawClient) -> None:
    """Where there are no rows, a cursor is not opened: OK, as without one."""
    statement, _ = prepare(raw, "SET @x = 1")
    assert raw.command(b"\x17" + struct.pack("<IBI", statement, 1, 1))[:1] == b"\0"


COMPRESSED: Final = (
    ("mysql", "--compression-algorithms=zlib"),
    ("mysql", "--compression-algorithms=zstd", "--zstd-compression-level=22"),
    ("mariadb", "--compress"),
)


@pytest.mark.parametrize(
    ("tls", "arguments"),
    some_slow(
        itertools.product([True, False], COMPRESSED),
        always=[(True, COMPRESSED[1])],
    ),
)
def test_the_command_lines_compress(console: Running, arguments: tuple[str, ...], tls: bool) -> None:  # noqa: FBT001
    """Both algorithms, under TLS and without; a statement and a row of more than 16 MiB too."""
    program, *options = arguments
    secure = {"mysql": f"--ssl-mode={'REQUIRED' if tls else 'DISABLED'}", "mariadb": "--ssl" if tls else "--skip-ssl"}
    done = subprocess.run(
        [
            *(program, "--no-defaults", "-h127.0.0.1", f"-P{console.port}", "-uroot", "-N"),
            *("--max-allowed-packet=64M", secure[program], *options),
        ],
        input="SHOW STATUS LIKE 'Compression%';\nSELECT * FROM big;\nSELECT '" + "y" * (17 << 20) + "' AS t FROM t;\n",
        capture_output=True,
        text=True,
        timeout=HANG_SECOND,
        check=False,
    )
    algorithm = "zstd" if "zstd" in options[0] else "zlib"
    switch, name, big, echo = done.stdout.splitlines()
    assert (switch, name) == ("Compression\tON", f"Compression_algorithm\t{algorithm}"), done.stderr
    assert (len(big), len(echo)) == (17 << 20, (17 << 20) + len("SELECT '' AS t FROM t"))


def changes_of(packet: bytes) -> list[tuple[int, list[str]]]:
    """Kind and texts of every change in an OK."""
    assert packet[:1] == b"\0", packet
    reader = Reader(packet[1:])
    reader.lenenc(), reader.lenenc()
    status, _ = reader.uint(2), reader.uint(2)
    if not status & STATE_CHANGED:
        return []
    reader.lenenc_bytes()
    entries, found = Reader(reader.lenenc_bytes()), []
    while entries.left:
        kind, data = entries.uint(1), Reader(entries.lenenc_bytes())
        texts = []
        while data.left:
            texts.append(data.lenenc_bytes().decode())
        found.append((kind, texts))
    return found


def test_changes_of_the_session_are_tracked(console: Running) -> None:
    """Database and variables are told with the OK of the statement that changed them, once."""
    with TrackingClient(console.port) as raw:
        raw.log_in()
        ask = partial(_ask, raw)
        assert changes_of(ask(b"USE demo")) == [(1, ["demo"])]
        assert changes_of(ask(b"SET autocommit = 0, sql_mode = ''")) == [(0, ["autocommit", "OFF"])]
        assert changes_of(ask(b"SET NAMES latin1")) == [
            (0, [f"character_set_{each}", "latin1"]) for each in ("client", "connection", "results")
        ]
        assert changes_of(raw.command(b"\x02empty")) == [(1, ["empty"])]
        assert changes_of(raw.command(b"\x0e")) == []
        assert changes_of(ask(b"DROP DATABASE empty")) == [(1, [""])]


def _ask(raw: RawClient, sql: bytes) -> bytes:
    return raw.command(b"\x03" + sql)


def test_nothing_is_told_to_who_did_not_ask(raw: RawClient) -> None:
    """A client without session tracking gets the OK that it knows."""
    assert raw.command(b"\x03USE demo") == b"\0\0\0\x02\0\0\0"


def test_lengths_in_compressed_frames_are_checked(console: Running) -> None:
    """A frame out of order, or one that is none, ends the connection and nothing else."""
    for sent in (b"\x05\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x0e", b"\x03\x00\x00\x00\x10\x00\x00abc"):
        with _Compressing(console.port) as raw:
            raw.log_in()
            raw.socket.sendall(sent)
            assert raw.read() == b""
    assert console.ask("SELECT 42") == ((42,),)


@pytest.mark.mysql
@pytest.mark.parametrize("multi", [False, True], ids=["not asked for", "asked for"])
@pytest.mark.parametrize("body", [b"\0\0", b"\1\0", b"\2\0", b"\0\1", b"\xff\xff", b"\1\0\7"])
def test_an_option_is_set_as_mysql_sets_it(
    console: Running,
    mysql_server: MysqlServer,
    body: bytes,
    multi: bool,  # noqa: FBT001
) -> None:
    """COM_SET_OPTION knows two options, several statements on and off; any other is refused and changes nothing."""
    theirs = {"port": mysql_server.port, "password": ""}
    assert set_option(console.connect(multi=multi), body) == set_option(console.connect(multi=multi, **theirs), body)


def set_option(connection: "pymysql.Connection[Any]", body: bytes) -> tuple[int, int]:
    """The numbers of the errors that answer it, and two statements afterwards; 0 where there is none."""
    with connection, connection.cursor() as cursor:
        connection._execute_command(0x1B, body)
        answers = [number_of(connection._read_packet)]
        answers.append(number_of(lambda: cursor.execute("SELECT 1; SELECT 2")))
    return answers[0], answers[1]


def number_of(ask: Callable[[], object]) -> int:
    try:
        ask()
    except pymysql.err.MySQLError as error:
        return int(error.args[0])
    return 0


class _Compressing(RawClient):
    CAPABILITIES = RawClient.CAPABILITIES | Capability.COMPRESS


def test_the_word_of_a_login_may_be_followed_by_a_level(console: Running) -> None:
    """A client with zstd ends its handshake response with a level, which is the client's own business."""
    with _Zstd(console.port) as raw:
        raw.greet()
        raw.write(raw.hello(b"") + b"\x16")
        assert raw.read()[:1] == b"\0"
        raw.socket.sendall(b"\x05\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0e")
        head = raw.socket.recv(7)
        assert (head[3], int.from_bytes(head[4:], "little")) == (1, 0)
        assert raw.socket.recv(100)[4:5] == lenenc_bytes(b"")


class _Zstd(RawClient):
    CAPABILITIES = RawClient.CAPABILITIES | Capability.ZSTD
