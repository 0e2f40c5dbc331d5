"""A console with a frontend in memory, and a client that speaks bytes."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pymysql
from pymysql.constants import CLIENT

from syncmgr.console.commands.client import Client
from syncmgr.console.limits import Limits
from syncmgr.console.login.auth import xor
from syncmgr.console.memory import Memory, Share
from syncmgr.console.server import Console
from syncmgr.console.wire.packet import frame, lenenc_bytes
from syncmgr.console.wire.prepared import PreparedStatements
from syncmgr.console.wire.protocol import SHA2, Capability
from tests.support.until import HANG_SECOND
from tests.unit.console.frontend import FakeFrontend

PASSWORD = "s3cret"


class Running:
    """A console and how to reach it."""

    def __init__(self, console: Console, frontend: FakeFrontend) -> None:
        self.console = console
        self.frontend = frontend
        self.port = console.port

    @property
    def connections(self) -> dict[int, Client]:
        return {number: each.client for number, each in self.console._listener._registry.connections.items()}

    def connect(self, *, multi: bool = True, **options: Any) -> "pymysql.Connection[Any]":
        settings = {"host": "127.0.0.1", "port": self.port, "user": "root", "password": self.frontend.password}
        flags = CLIENT.MULTI_STATEMENTS if multi else 0
        return pymysql.connect(**{"ssl_disabled": True, "client_flag": flags, **settings, **options})

    def ask(self, sql: str, **options: Any) -> tuple[tuple[Any, ...], ...]:
        """The rows of one statement, over a connection of its own."""
        with self.connect(**options) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            rows: tuple[tuple[Any, ...], ...] = cursor.fetchall()
            return rows

    def is_open(self) -> bool:
        """Whether new clients get in."""
        try:
            self.connect().close()
        except pymysql.err.OperationalError:
            return False
        return True

    def raw(self, *, source: str = "127.0.0.1") -> "RawClient":
        return RawClient(self.port, source=source)


def id_of(connection: "pymysql.Connection[Any]") -> int:
    """The id by which KILL knows it."""
    return int(connection.thread_id())  # type: ignore[no-untyped-call]


@contextmanager
def running(tls_folder: Path, *, password: str = "", host: str = "", **limits: Any) -> Iterator[Running]:
    """Its clients have all the time of the world, unless told otherwise."""
    frontend = FakeFrontend(password=password)
    patience = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), HANG_SECOND)
    options = {"drain_timeout": 2.0, "threads": 4, "dialect": "spark"} | patience | limits  # its answers are texts
    console = Console(frontend, limits=Limits(**options), host=host, port=0, tls_folder=tls_folder)
    console.start()
    try:
        yield Running(console, frontend)
    finally:
        console.stop()


def prepared_statements(**limits: Any) -> PreparedStatements:
    """Of a connection that is alone."""
    found = Limits(**limits)
    return PreparedStatements(found, Share(Memory(found)))


class RawClient:
    """A socket that knows frames and nothing else. `sequence` is that of the packet last seen."""

    CAPABILITIES = (
        Capability.PROTOCOL_41 | Capability.SECURE_CONNECTION | Capability.PLUGIN_AUTH | Capability.DEPRECATE_EOF
    )

    def __init__(self, port: int, *, source: str = "127.0.0.1") -> None:
        """`source`: its address, any that begins with 127."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=HANG_SECOND, source_address=(source, 0))
        self.sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def read(self) -> bytes:
        """The next packet; empty at the end of the connection."""
        head = self._exactly(4)
        if not head:
            return b""
        self.sequence = head[3]
        return self._exactly(int.from_bytes(head[:3], "little"))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionError:
                return b""
            if not part:
                return b""
            data += part
        return data

    def write(self, payload: bytes) -> None:
        self.socket.sendall(frame(payload, self.sequence + 1)[0])

    def command(self, payload: bytes) -> bytes:
        """The first packet of the answer."""
        self.sequence = -1
        self.write(payload)
        return self.read()

    def greet(self) -> bytes:
        """The nonce of the greeting."""
        greeting = self.read()
        start = greeting.index(b"\0", 1) + 5
        return greeting[start : start + 8] + greeting[start + 27 : start + 39]

    def hello(self, response: bytes, *, user: str = "root", plugin: str = SHA2) -> bytes:
        """A handshake response."""
        head = int(self.CAPABILITIES).to_bytes(4, "little") + bytes(4) + b"\x2d" + bytes(23)
        return head + user.encode() + b"\0" + lenenc_bytes(response) + plugin.encode() + b"\0"

    def switched(self) -> bytes:
        """The nonce of a request for another plugin."""
        request = self.read()
        assert request[:1] == b"\xfe"
        return request.split(b"\0")[1]

    def log_in(self) -> None:
        """As root without a password."""
        self.greet()
        self.write(self.hello(b""))
        assert self.read()[:1] == b"\0"


def hidden(password: str, nonce: bytes) -> bytes:
    """A password as it goes into RSA."""
    return xor(password.encode() + b"\0", nonce)
