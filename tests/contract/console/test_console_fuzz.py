"""Bytes that no client sends: the parsers in process, and a console behind a password over sockets.

Short by default. `FUZZ_PACKETS` and `FUZZ_CONNECTIONS` make it long; docs/measures.md has what such a run gave.
"""

import os
import random
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import pytest

from syncmgr.console.audit.mask import mask
from syncmgr.console.login import throttle
from syncmgr.console.statements.time_travel import pins
from syncmgr.console.wire.charset import CHARSETS
from syncmgr.console.wire.compression import ZLIB, ZSTD, frames
from syncmgr.console.wire.messages import parse_change_user, parse_hello
from syncmgr.console.wire.packet import ProtocolError, Reader, lenenc_bytes
from syncmgr.console.wire.placeholders import placeholders
from syncmgr.console.wire.protocol import OFFERED, SHA2, Capability, FieldType
from syncmgr.errors import SyncError
from syncsql import NestedTooDeeplyError, SqlSyntaxError, parse
from tests.support.until import until
from tests.unit.console.running import PASSWORD, Running, prepared_statements, running

PACKETS: Final = int(os.environ.get("FUZZ_PACKETS", "200000"))
CONNECTIONS: Final = int(os.environ.get("FUZZ_CONNECTIONS", "600"))
SEED: Final = int(os.environ.get("FUZZ_SEED", "10"))
MOST_KEPT: Final = 40 << 20  # bytes that a run may leave behind in the process

HELLO: Final = (
    int(OFFERED & ~Capability.SSL).to_bytes(4, "little") + bytes(4) + b"\x2d" + bytes(23) + b"root\0\x14" + b"x" * 20
    + b"demo\0" + SHA2.encode() + b"\0" + lenenc_bytes(lenenc_bytes(b"_client_name") + lenenc_bytes(b"x")) + b"\x03"
)  # fmt: skip
CHANGE: Final = b"root\0\x14" + b"x" * 20 + b"demo\0\x2d\0" + SHA2.encode() + b"\0"
EXECUTE: Final = (
    b"\0\0\0\0\0\x01" + b"".join(bytes((kind, 0)) for kind in FieldType)
    + bytes(60) + b"\x02ab" * 10 + b"\x0b\xea\x07\x0b\x15\x0a\0\0\5\0\0\0" * 3
)  # fmt: skip
STATEMENTS: Final = (
    "SELECT ?, '?' /* ? */ FROM `t` FOR VERSION AS OF 'demo.job1@7' WHERE a = \"b\" -- c",
    "CREATE USER 'a'@'%' IDENTIFIED BY 'secret'; GRANT SELECT ON demo.* TO a",
    "SHOW SYNC JOB FROM demo WHERE State = 'RUNNING' ORDER BY JobName LIMIT 1, 2",
    'CREATE SYNC j (FROM a.b INTO c (x = y + 1) WHERE z > 1) FROM BINLOG ("mysql.password" = "p")',
)


def mangled(good: bytes, chance: random.Random) -> bytes:
    """Some bytes replaced, taken out or put in."""
    data = bytearray(good)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        piece = chance.randbytes(chance.choice((0, 1, 1, 2, 8)))
        data[at : at + chance.choice((0, 1, 1, 4, 30))] = piece
    return bytes(data)


def feed_text(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    placeholders(text)
    mask(text)
    pins(text, "demo")


def feed_statement(data: bytes) -> None:
    parse(data.decode("utf-8", "replace"))


def feed_execute(data: bytes) -> None:
    statement = prepared_statements().add("?" * len(FieldType), tuple(range(len(FieldType))))
    statement.bind(Reader(data), CHARSETS["utf8mb4"])


FEEDS: Final[tuple[tuple[str, Callable[[bytes], object], tuple[bytes, ...], int], ...]] = (
    ("handshake", parse_hello, (HELLO,), 1),
    ("change of user", lambda data: parse_change_user(data, OFFERED), (CHANGE,), 1),
    ("execute", feed_execute, (EXECUTE,), 4),
    ("zlib", lambda data: ZLIB.unpack(data, 1000), (frames(bytes(1000), 0, ZLIB)[0][7:],), 4),
    ("zstd", lambda data: ZSTD.unpack(data, 1000), (frames(bytes(1000), 0, ZSTD)[0][7:],), 10),
    ("text", feed_text, tuple(map(str.encode, STATEMENTS)), 20),
    ("statement", feed_statement, tuple(map(str.encode, STATEMENTS)), 100),
)


@pytest.mark.parametrize(("name", "feed", "seeds", "cost"), FEEDS, ids=[feed[0] for feed in FEEDS])
def test_parsers_take_any_bytes(
    name: str, feed: Callable[[bytes], object], seeds: tuple[bytes, ...], cost: int
) -> None:
    """Whatever a packet holds, its parser gives a value or one of the three errors of its kind, and keeps nothing."""
    chance = random.Random(f"{SEED} {name}")
    before = psutil.Process().memory_info().rss
    for _ in range(PACKETS // cost // len(FEEDS)):
        with suppress(ProtocolError, SyncError, SqlSyntaxError, NestedTooDeeplyError):
            feed(mangled(chance.choice(seeds), chance))
    assert psutil.Process().memory_info().rss - before < MOST_KEPT


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("tls")
    with pytest.MonkeyPatch.context() as patch, running(folder, password=PASSWORD, max_login_failures=0) as it:
        for name in ("FIRST", "SPACING"):
            patch.setattr(throttle, name, 0.0)  # strangers come by thousands here
        yield it


def stranger(console: Running, chance: random.Random) -> None:
    """One that does not know the password: a mangled login, and then statements as if it had been let in."""
    with console.raw() as raw, suppress(OSError):  # the console may hang up at any byte
        raw.greet()
        good = raw.hello(chance.randbytes(32), user=chance.choice(("root", "nobody", "")))
        raw.write((mangled(good, chance) if chance.random() < 0.8 else good)[:60_000])
        for _ in range(chance.randint(0, 3)):
            raw.write(chance.choice((b"\x02", b"", chance.randbytes(256))))
        for sql in (b"\x03SELECT * FROM orders", b"\x16SELECT 1", b"\x02demo", b"\x0e"):
            raw.sequence = -1
            raw.write(sql)
        raw.socket.shutdown(socket.SHUT_WR)
        while raw.read():
            pass


def test_no_stranger_gets_a_statement_through(console: Running) -> None:
    """Whatever is sent without the password, nothing of it runs, nobody stays, and a client that knows it gets in."""
    chance = random.Random(SEED)
    before = psutil.Process().memory_info().rss
    for _ in range(CONNECTIONS):
        stranger(console, chance)
    assert console.frontend.queries.asked == []
    assert not any(each.commands for each in console.connections.values())
    assert psutil.Process().memory_info().rss - before < MOST_KEPT
    assert console.ask("SELECT 42") == ((42,),)


@pytest.mark.slow
def test_five_hundred_clients(tmp_path: Path) -> None:
    """All are let in, each is answered while the others wait, half of them half-open or slow; none is left behind."""
    with running(tmp_path, max_logins=500, max_logins_per_address=500) as it:
        clients = [it.raw() for _ in range(500)]
        for raw in clients[::2]:
            raw.log_in()
        for raw in clients[:100:2]:  # they ask for much, and read nothing of it
            raw.sequence = -1
            raw.write(b"\x03SELECT * FROM many")
        for raw in clients[100::2]:
            raw.sequence = -1
            raw.write(b"\x03SELECT 42")
        for raw in clients[100::2]:
            assert raw.read() == b"\x01"
        assert it.ask("SELECT 42") == ((42,),)
        until(lambda: len(it.connections) == 500)
        for raw in clients:
            raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # they vanish
            raw.socket.close()
        until(lambda: all(query.cancelled.is_set() for query in it.frontend.queries.started))
