"""What somebody in the place of a MySQL server can do with his answers: nothing but end the connection."""

import contextlib
import itertools
import re
import struct
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final
from unittest import mock

import pytest
import zstandard

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position
from syncmgr.sources.mysql import driver, wire
from syncmgr.sources.mysql.address import MysqlAddress, connect, naming_failures, query
from syncmgr.sources.mysql.binlog.dump.stream import BinlogStream, StreamLostError, StreamOptions
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.routing import executed_gtids
from syncmgr.sources.mysql.description import MysqlDescription
from syncmgr.sources.mysql.factory import survey
from syncmgr.sources.mysql.source import MysqlSource, SourceOptions
from tests.support.servers.hostile import (
    EOF,
    MAX_PACKET,
    OK,
    SECRET,
    UUID,
    HostileServer,
    Talk,
    Thief,
    answering,
    event,
    greeting,
    rows,
    streaming,
)
from tests.support.until import HANG_SECOND, PROMPT_SECOND, until

MIB: Final = 1 << 20


def address(server: HostileServer) -> MysqlAddress:
    return MysqlAddress(host="127.0.0.1", port=server.port, user="repl", password="p")


def described(host: str, port: int = 3306) -> MysqlDescription:
    return MysqlDescription(
        host=host, port=port, user="repl", password="p", server_id=0, start="snapshot", ssl="disabled"
    )


def asked(there: MysqlAddress) -> SyncError:
    """How a question to it ends."""
    with pytest.raises(SyncError) as caught:
        tables_of(there)
    return caught.value


def tables_of(there: MysqlAddress) -> object:
    with naming_failures(there), contextlib.closing(connect(there)) as connection:
        return query(connection, "SHOW TABLES")


@pytest.mark.parametrize("after", [b"set names", b"lock_wait_timeout", b"show tables"])
def test_a_server_that_asks_for_a_file_gets_none(tmp_path: Path, after: bytes) -> None:
    """LOAD DATA LOCAL INFILE in answer to any question of ours ends the connection with an error that says so; nothing
    of any file is sent.
    """
    (tmp_path / "secret").write_bytes(SECRET)
    thief = Thief(tmp_path / "secret", after)
    with HostileServer(thief.script) as server:
        error = asked(address(server))
    assert error.code is Code.SOURCE_ASKS_FILE
    assert str(tmp_path / "secret") in str(error)
    assert not any(SECRET in packet for packet in thief.got)


def test_create_sync_gives_no_file(tmp_path: Path) -> None:
    """Neither do the questions that a statement of the console leads to."""
    thief = Thief(tmp_path / "secret", b"information_schema_stats_expiry")
    with HostileServer(thief.script) as server, pytest.raises(SyncError) as caught:
        survey(described("127.0.0.1", server.port), ["shop"], connect_timeout=HANG_SECOND)
    assert caught.value.code is Code.SOURCE_ASKS_FILE


def packets_without_end(talk: Talk) -> None:
    """Of one event, each of 16 MiB."""
    talk.send(b"\0" + bytes(MAX_PACKET - 1))
    while True:
        talk.send(bytes(MAX_PACKET))


def test_an_event_without_end_stops_the_reading() -> None:
    """Packets of 16 MiB that belong together are taken up to a setting."""
    with HostileServer(streaming(packets_without_end)) as server:
        error = read_from(server, Limits(event_bytes=40 * MIB), Code.SOURCE_TOO_LARGE)
    assert f"max_source_event_bytes, which is {40 * MIB}" in str(error)


@pytest.mark.parametrize("head", [b"\xfe\xff\xff\1\0", b"\xff\xff\xff\1\0"])
def test_an_event_that_trickles_is_given_up(head: bytes) -> None:
    """A byte now and then is no sign of life, whatever size it belongs to."""
    with HostileServer(streaming(trickling(head))) as server:
        error = read_from(server, Limits(), Code.SOURCE_UNREACHABLE, silence=1.0)
    assert "comes too slowly" in str(error)


def slow_but_sure(talk: Talk) -> None:
    """An event that takes longer than a server may be silent, and after it the one that ends the reading."""
    whole = b"\0" + event(wire.HEARTBEAT, bytes(400_000))
    talk.raw(struct.pack("<I", len(whole) | 1 << 24))
    for at in range(0, len(whole), 4096):
        talk.raw(whole[at : at + 4096])
        time.sleep(0.02)
    talk.raw(b"\x17\0\0\2\0" + event(wire.INCIDENT, b"\1\0\0"))
    talk.hear()


def test_a_large_event_may_come_slowly() -> None:
    """Over a slow line it takes longer than a server may be silent, and is read."""
    with HostileServer(streaming(slow_but_sure)) as server:
        read_from(server, Limits(), Code.SOURCE_UNSUPPORTED, silence=1.0)


def test_a_file_without_a_head_is_given_up() -> None:
    """Where a file is asked when it was made: events without end that do not say it."""
    start = Position(file="b.000001", offset=400, server=UUID, created=5)

    def dump(talk: Talk) -> None:
        while True:
            talk.send(b"\0" + event(wire.HEARTBEAT, b"b.000001"))

    with HostileServer(streaming(dump)) as server, pytest.raises(StreamLostError):
        BinlogStream(address(server), StreamOptions(server_id=4711, read_timeout=1.0), start)


def endless(make: Callable[[int], bytes]) -> Callable[[Talk], None]:
    def script(talk: Talk) -> None:
        for number in itertools.count():
            talk.send(make(number))

    return script


def switching(talk: Talk) -> None:
    """From one way to log in to the next."""
    talk.send(greeting())
    while True:
        talk.hear()
        talk.send(b"\xfemysql_native_password\0" + b"12345678901234567890\0")


def asking_more(talk: Talk) -> None:
    """For the full login, again and again."""
    talk.send(greeting(plugin=b"caching_sha2_password"))
    talk.hear()
    while True:
        talk.send(b"\x01\x03")


def trickling(data: bytes) -> Callable[[Talk], None]:
    """One byte at a time, of which none comes late."""

    def script(talk: Talk) -> None:
        for byte in itertools.chain(data, itertools.repeat(0)):
            talk.raw(bytes([byte]))
            time.sleep(0.02)

    return script


LOGINS: Final[dict[str, Callable[[Talk], None]]] = {
    "a long version": lambda talk: talk.send(greeting(version=b"8" * (1 << 20))),
    "a version of many digits": lambda talk: talk.send(greeting(version=b"8" * 20_000)),
    "no version": lambda talk: talk.send(greeting(version=b"")),
    "no greeting": lambda talk: talk.send(b"\x0a"),
    "HTTP": lambda talk: talk.raw(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100),
    "a large packet": lambda talk: talk.raw(b"\xff\xff\xff\0" + bytes(MAX_PACKET)),
    "a plugin without a name": lambda talk: talk.send(greeting(plugin=b"\xff\xfe")),
    "switches": switching,
    "more and more": asking_more,
    "small packets": endless(lambda _: b"\x0a"),
}


@pytest.mark.parametrize("script", LOGINS.values(), ids=LOGINS.keys())
def test_a_login_that_is_none_ends(script: Callable[[Talk], None]) -> None:
    """Whatever comes in place of one, and however long it goes on: it is named, and little of it is taken."""
    with HostileServer(script) as server:
        error = asked(replace(address(server), query_timeout=PROMPT_SECOND))
    assert error.code is Code.SOURCE_ANSWER, error
    assert len(str(error)) < 2000


@pytest.mark.parametrize("data", [b"\x40\0\0\0" + b"x", b"\xff\xff\xff\0", b""])
def test_a_login_that_trickles_ends(data: bytes) -> None:
    """All of it has the time that one silence may have."""
    with HostileServer(trickling(data)) as server:
        begun = time.monotonic()
        error = asked(replace(address(server), query_timeout=0.5))
    assert error.code in {Code.SOURCE_UNREACHABLE, Code.SOURCE_ANSWER}
    assert time.monotonic() - begun < PROMPT_SECOND


def test_a_long_error_is_cut() -> None:
    """What a server says of a failure is neither stored, logged nor shown beyond some KB, causes included."""
    text = b"\xff\x15\x04#28000" + b"denied " * 1_000_000
    with HostileServer(answering(lambda talk, _: talk.send(text), after=b"show tables")) as server:
        error = asked(address(server))
    assert error.code is Code.SOURCE_ACCESS_DENIED
    assert "denied denied" in str(error)
    assert len("".join(traceback.format_exception(error))) < 50_000
    with HostileServer(lambda talk: (talk.send(greeting()), talk.hear(), talk.send(text))) as server:
        assert asked(address(server)).code is Code.SOURCE_ANSWER


def result_of(names: int, row: bytes) -> Callable[[Talk, bytes], None]:
    """Rows without end, of so many columns."""

    def answer(talk: Talk, _question: bytes) -> None:
        talk.send(*itertools.islice(rows([b"c"] * names, []), names + 2))
        while True:
            talk.send(row)

    return answer


def joined(talk: Talk, _question: bytes) -> None:
    """A value without end, in packets of 16 MiB."""
    talk.send(*itertools.islice(rows([b"c"], []), 3))
    while True:
        talk.send(bytes(MAX_PACKET))


def lengthy(talk: Talk, _question: bytes) -> None:
    """A value that says that it has a GiB, in a packet that has not."""
    talk.send(*itertools.islice(rows([b"c"], []), 3), b"\xfe" + struct.pack("<Q", 1 << 30) + b"x", EOF)


TOO_LARGE: Final[dict[str, Callable[[Talk, bytes], None]]] = {
    "rows": result_of(2, b"\1a\1b"),
    "rows of NULLs": result_of(200, b"\xfb" * 200),
    "long rows": result_of(1, b"\xfd\0\0\x10" + bytes(1 << 20)),
    "a long value": joined,
    "columns": lambda talk, _: talk.send(b"\xfe" + struct.pack("<Q", 1 << 32)),
}


@pytest.mark.parametrize("answer", TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_an_answer_without_end_ends(answer: Callable[[Talk, bytes], None]) -> None:
    """By its size, by the count of its cells or of its columns; the error says by which, and little memory was
    taken.
    """
    tracemalloc.start()
    try:
        with (
            mock.patch.multiple(driver, ANSWER_BYTES=40 << 20, ANSWER_CELLS=50_000),
            HostileServer(answering(answer, after=b"show tables")) as server,
        ):
            error = asked(address(server))
        assert tracemalloc.get_traced_memory()[1] < 160 * MIB
    finally:
        tracemalloc.stop()
    assert error.code is Code.SOURCE_TOO_LARGE
    assert re.search(r"more than \d+ (bytes|cells)|columns", str(error))


WRONG: Final[dict[str, Callable[[Talk, bytes], None]]] = {
    "a value that is longer than its packet": lengthy,
    "no description": lambda talk, _: talk.send(b"\x01", b"", EOF, EOF),
    "an empty row": result_of(2, b""),
    "an empty packet": lambda talk, _: talk.send(b""),
    "a name that is no text": lambda talk, _: talk.send(*rows([b"\xff\xfe"], [[b"x"]])),
    "a value that is no text": lambda talk, _: talk.send(*rows([b"c"], [[b"\xff\xfe"]])),
    "another number": lambda talk, _: talk.raw(b"\x01\0\0\x63\0"),
    "an answer before the question": lambda talk, _: talk.send(OK, OK, OK, OK),
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG.keys())
def test_an_answer_that_is_none_is_told(answer: Callable[[Talk, bytes], None]) -> None:
    """And nothing is made of it."""
    with HostileServer(answering(answer, after=b"information_schema")) as server:
        error = not_surveyed(server)
    assert error.code in {Code.SOURCE_ANSWER, Code.SOURCE_UNREACHABLE}


def test_an_answer_that_trickles_ends() -> None:
    """However often a byte of it comes."""
    with HostileServer(answering(lambda talk, _: trickling(b"\xff\xff\xff\1")(talk), after=b"show tables")) as server:
        begun = time.monotonic()
        error = asked(replace(address(server), query_timeout=0.5))
    assert error.code is Code.SOURCE_UNREACHABLE
    assert "did not end within 5 seconds" in str(error)
    assert time.monotonic() - begun < PROMPT_SECOND


@pytest.mark.parametrize("row", [{}, {b"other": b"1"}])
def test_an_answer_to_another_question_is_told(row: dict[bytes, bytes]) -> None:
    """One that lacks what was asked for, or has no row."""
    with HostileServer(answering(lambda talk, _: talk.send(*rows(row, [row.values()] if row else [])))) as server:
        assert not_surveyed(server).code is Code.SOURCE_ANSWER


def not_surveyed(server: HostileServer) -> SyncError:
    with pytest.raises(SyncError) as caught:
        survey(described("127.0.0.1", server.port), ["%"], connect_timeout=HANG_SECOND)
    return caught.value


def read_from(
    server: HostileServer, limits: Limits, wanted: Code, gtids: str = "", silence: float = HANG_SECOND
) -> SyncError:
    """How the reading of its binlog ends for good, whatever comes before that."""
    start = Position(gtids=gtids, file="b.000001", offset=4, server=UUID)
    options = SourceOptions(limits=limits, read_timeout=silence, retry=Retry(first=0.02, times=1))
    source = MysqlSource((address(server),), 4711, start, {}, options=options)
    try:
        with pytest.raises(SyncError) as caught:
            until(lambda: source.get(0.1) and False, why=f"the end by {wanted}")
    finally:
        source.close()
    assert caught.value.code is wanted, caught.value
    return caught.value


def compressed_transaction(pieces: Iterable[bytes], size: int) -> bytes:
    """A TRANSACTION_PAYLOAD of these bytes, which says that they are `size`."""
    packer = zstandard.ZstdCompressor().compressobj()
    body = b"".join(packer.compress(piece) for piece in pieces) + packer.flush()
    told = b"\x02\x01\x00" + b"\x03\x09\xfe" + struct.pack("<Q", size)
    told += b"\x01\x09\xfe" + struct.pack("<Q", len(body)) + b"\0"
    return event(wire.TRANSACTION_PAYLOAD, told + body)


def heartbeats(count: int) -> Iterator[bytes]:
    """Events of 16 MiB that say nothing."""
    yield from (event(wire.HEARTBEAT, bytes(16 * MIB - wire.HEADER)) for _ in range(count))


@pytest.mark.parametrize(
    ("limits", "setting"),
    [
        (Limits(transaction_bytes=512 * MIB), "max_source_transaction_bytes is 536870912"),
        (Limits(event_bytes=8 * MIB), "max_source_event_bytes is 8388608"),
    ],
)
def test_a_transaction_that_swells_stops_the_reading(limits: Limits, setting: str) -> None:
    """A compressed transaction of some KB that is, as it says, a GiB when it is unpacked ends the reading where a
    setting does not take so much, which the error names.
    """
    bomb = compressed_transaction(heartbeats(64), 1024 * MIB)
    assert len(bomb) < MIB
    with HostileServer(streaming(lambda talk: talk.send(b"\0" + bomb))) as server:
        assert setting in str(read_from(server, limits, Code.SOURCE_TOO_LARGE))


def scattered_transactions(talk: Talk) -> None:
    """Every other number of one server, each transaction of nothing."""
    for number in itertools.count(1, 2):
        talk.send(b"\0" + event(wire.GTID, b"\0" + bytes(16) + struct.pack("<Q", number) + bytes(2)))
        talk.send(b"\0" + event(wire.XID, bytes(8)))


def test_gtids_without_end_stop_the_reading() -> None:
    """Numbers of transactions with gaps between them have no bound: they end the reading with an error that says so."""
    executed = f"{UUID}:1-5"
    with (
        mock.patch.object(executed_gtids, "MAX_PIECES", 1000),
        HostileServer(streaming(scattered_transactions, executed)) as server,
    ):
        assert "1000 are taken" in str(read_from(server, Limits(), Code.SOURCE_TOO_LARGE, executed))


@pytest.mark.parametrize("lie", [1024 * MIB - 1, 1024 * MIB + 1, 1 << 33])
def test_a_transaction_of_another_size_than_it_says_stops_the_reading(lie: int) -> None:
    """Whether it is larger or smaller."""
    bomb = compressed_transaction(heartbeats(64), lie)
    with HostileServer(streaming(lambda talk: talk.send(b"\0" + bomb))) as server:
        assert "size" in str(read_from(server, Limits(), Code.SOURCE_PROTOCOL))
