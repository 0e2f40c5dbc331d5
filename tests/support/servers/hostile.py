"""An impostor that answers instead of a MySQL server, lets every client in, and then sends whatever it likes.

Owns: the first packets of the protocol, and a thread for each client that follows a script.
Must not know: the clients, what the scripts are for.
"""

import contextlib
import socket
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Self

from tests.support.servers.listening import listening

CAPABILITIES: Final = 0x200 | 0x8000 | 0x80000 | 0x200000 | 0x2000  # 4.1, SECURE, PLUGINS, LENENC, TRANSACTIONS
TLS: Final = 0x800
OK: Final = b"\0\0\0\2\0\0\0"
EOF: Final = b"\xfe\0\0\2\0"
MAX_PACKET: Final = 0xFFFFFF
SECRET: Final = b"what only the frontend may read"
UUID: Final = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class Talk:
    """With one client, in packets."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._number = 0

    def send(self, *payloads: bytes) -> None:
        """Each a packet of its own, below 16 MiB."""
        for payload in payloads:
            self.raw(struct.pack("<I", len(payload) | self._number << 24) + payload)
            self._number = (self._number + 1) % 256

    def raw(self, data: bytes) -> None:
        self._client.sendall(data)

    def hear(self) -> bytes:
        """The next packet of the client. Raises EOFError once it is gone."""
        head = self._read(4)
        self._number = head[3] + 1
        return self._read(int.from_bytes(head[:3], "little"))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._client.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def until_gone(self) -> None:
        """Receives everything and answers nothing."""
        while self._client.recv(MAX_PACKET):
            pass

    def let_in(self) -> None:
        """Any client, whatever its password."""
        self.send(greeting())
        self.hear()
        self.send(OK)


class HostileServer:
    """Follows a script with each client."""

    def __init__(self, script: Callable[[Talk], None]) -> None:
        self._script = script
        self._listener = listening(self._serve)
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, EOFError):
            self._script(Talk(client))


def greeting(
    version: bytes = b"8.4.99", plugin: bytes = b"mysql_native_password", capabilities: int = CAPABILITIES
) -> bytes:
    head = b"\x0a" + version + b"\0" + struct.pack("<I", 7) + b"12345678\0"
    head += struct.pack("<HBHHB", capabilities & 0xFFFF, 255, 2, capabilities >> 16, 21) + bytes(10)
    return head + b"123456789012\0" + plugin + b"\0"


def answering(answer: Callable[[Talk, bytes], None], *, after: bytes = b"") -> Callable[[Talk], None]:
    """A script that answers OK up to the first query with `after` in it, ignoring case, and `answer` from there on."""

    def script(talk: Talk) -> None:
        talk.let_in()
        begun = False
        while True:
            question = talk.hear()
            begun = begun or after.lower() in question.lower()
            if begun:
                answer(talk, question)
            else:
                talk.send(OK)

    return script


def column(name: bytes) -> bytes:
    """The description of a column of text in a result."""
    parts = (b"def", b"", b"", b"", name, name)
    return (
        b"".join(bytes([len(part)]) + part for part in parts)
        + b"\x0c"
        + struct.pack("<HIBHB", 45, 1024, 253, 0, 0)
        + bytes(2)
    )


def rows(names: Iterable[bytes], values: Iterable[Iterable[bytes]]) -> Iterable[bytes]:
    """The packets of a result whose values are texts of less than 251 bytes."""
    told = tuple(names)
    yield bytes([len(told)])
    yield from map(column, told)
    yield EOF
    for row in values:
        yield b"".join(bytes([len(value)]) + value for value in row)
    yield EOF


class Thief:
    """A script that requests a file in answer to every query that contains some word, and keeps what arrives."""

    def __init__(self, file: Path, after: bytes) -> None:
        self._file = str(file).encode()
        self.got: list[bytes] = []
        self.script = answering(self._ask, after=after)

    def _ask(self, talk: Talk, _question: bytes) -> None:
        talk.send(b"\xfb" + self._file)
        self.got.append(talk.hear())
        talk.send(OK)


VARIABLES: Final = {
    b"binlog_checksum": b"NONE",
    b"binlog_format": b"ROW",
    b"binlog_row_metadata": b"FULL",
    b"log_replica_updates": b"ON",
    b"log_slave_updates": b"ON",
    b"lower_case_table_names": b"0",
    b"server_id": b"1",
    b"server_uuid": UUID.encode(),
    b"system_time_zone": b"UTC",
    b"version": b"8.4.99",
}
STATUS: Final = {b"File": b"b.000001", b"Position": b"4", b"Binlog_Do_DB": b"", b"Binlog_Ignore_DB": b""}
DUMPS: Final = frozenset({0x12, 0x1E})  # COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID


def streaming(dump: Callable[[Talk], None], executed: str = "") -> Callable[[Talk], None]:
    """A script that answers like a MySQL server until its binlog is requested; then `dump`. `executed`: its GTIDs."""
    variables = VARIABLES | {b"gtid_mode": b"ON" if executed else b"OFF"}

    def answer(talk: Talk, question: bytes) -> None:
        if question[0] in DUMPS:
            dump(talk)
            raise EOFError
        if b"GLOBAL VARIABLES" in question:
            talk.send(*rows([b"Variable_name", b"Value"], variables.items()))
        elif b"CONVERT_TZ" in question:
            talk.send(*rows([b"shown"], [[b"2000-01-01 12:00:00"]]))
        elif b"CONNECTION_ID" in question:
            talk.send(*rows([b"thread"], [[b"1"]]))
        elif b"@@timestamp" in question:
            talk.send(*rows([b"at"], [[b"1700000000.000000"]]))
        elif b"gtid_executed" in question:
            talk.send(*rows([b"executed", b"purged"], [[executed.encode(), b""]]))
        elif b"BINARY LOGS" in question:
            talk.send(*rows([b"Log_name", b"File_size"], [[b"b.000001", b"4000"]]))
        elif b"BINARY LOG STATUS" in question:
            talk.send(*rows(STATUS, [STATUS.values()]))
        else:
            talk.send(OK)

    return answering(answer)


def event(kind: int, body: bytes) -> bytes:
    """As it is in a file, without a checksum."""
    return struct.pack("<IBIIIH", 1_700_000_000, kind, 1, 19 + len(body), 0, 0) + body
