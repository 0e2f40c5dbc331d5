"""The packets of the protocol as values.

Owns: greeting, handshake response, OK, EOF and ERR; bytes <-> values only.
Must not know: sockets, sessions, when a packet is due.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from syncmgr.console.wire.charset import GREETING_COLLATION, Charset
from syncmgr.console.wire.packet import ProtocolError, Reader, lenenc, lenenc_bytes
from syncmgr.console.wire.protocol import NATIVE, SHA2, VERSION, Capability, Status
from syncmgr.errors import SyncError

KNOWN: Final = sum(Capability)
MAX_ATTRIBUTES: Final = 128
MAX_MESSAGE: Final = 2000  # characters of an ERR; clients have small buffers


@dataclass(frozen=True, kw_only=True, slots=True)
class Hello:
    """A handshake response, or a SSL request if `user` is None.

    `capabilities` is a plain number: Python keeps every combination of an IntFlag that ever occurred, and untrusted
    clients choose them.
    """

    capabilities: int
    collation: int
    user: str | None = None
    response: bytes = b""
    db: str | None = None
    plugin: str = NATIVE
    attributes: Mapping[str, str] = field(default_factory=dict)


def greeting(*, connection_id: int, nonce: bytes, capabilities: Capability) -> bytes:
    return b"".join(
        (
            b"\x0a",
            VERSION.encode() + b"\0",
            connection_id.to_bytes(4, "little"),
            nonce[:8] + b"\0",
            (capabilities & 0xFFFF).to_bytes(2, "little"),
            bytes((GREETING_COLLATION,)),
            Status.AUTOCOMMIT.to_bytes(2, "little"),
            (capabilities >> 16).to_bytes(2, "little"),
            bytes((len(nonce) + 1,)),
            bytes(10),
            nonce[8:] + b"\0",
            SHA2.encode() + b"\0",
        )
    )


def parse_hello(packet: bytes) -> Hello:
    """Raises ProtocolError; a client older than MySQL 4.1 is one."""
    reader = Reader(packet)
    capabilities = reader.uint(4) & KNOWN
    if not capabilities & Capability.PROTOCOL_41:
        raise ProtocolError("a client older than MySQL 4.1")
    reader.take(4)  # its largest packet: ours are split anyway
    collation = reader.uint(1)
    reader.take(23)
    if capabilities & Capability.SSL and not reader.left:
        return Hello(capabilities=capabilities, collation=collation)
    user = _text(reader.until_nul())
    response = _response(reader, capabilities)
    db = reader.until_nul() if capabilities & Capability.CONNECT_WITH_DB and reader.left else b""
    plugin = reader.until_nul() if capabilities & Capability.PLUGIN_AUTH and reader.left else NATIVE.encode()
    return Hello(
        capabilities=capabilities,
        collation=collation,
        user=user,
        response=response,
        db=_text(db) or None,
        plugin=_text(plugin),
        attributes=_attributes(reader) if capabilities & Capability.CONNECT_ATTRS and reader.left else {},
    )


def parse_change_user(packet: bytes, capabilities: int) -> Hello:
    """Raises ProtocolError."""
    reader = Reader(packet)
    user = _text(reader.until_nul())
    response = reader.take(reader.uint(1))
    db = _text(reader.until_nul())
    collation = reader.uint(2) if reader.left >= 2 else 0
    plugin = reader.until_nul() if capabilities & Capability.PLUGIN_AUTH and reader.left else NATIVE.encode()
    return Hello(
        capabilities=capabilities,
        collation=collation,
        user=user,
        response=response,
        db=db or None,
        plugin=_text(plugin),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _response(reader: Reader, capabilities: int) -> bytes:
    if capabilities & Capability.LENENC_AUTH:
        return reader.lenenc_bytes()
    if capabilities & Capability.SECURE_CONNECTION:
        return reader.take(reader.uint(1))
    return reader.until_nul()


def _attributes(reader: Reader) -> dict[str, str]:
    pairs = Reader(reader.lenenc_bytes())
    attributes: dict[str, str] = {}
    while pairs.left:
        name = _text(pairs.lenenc_bytes())
        attributes[name] = _text(pairs.lenenc_bytes())
        if len(attributes) > MAX_ATTRIBUTES:
            raise ProtocolError("too many connection attributes")
    return attributes


def auth_switch(plugin: str, nonce: bytes) -> bytes:
    return b"\xfe" + plugin.encode() + b"\0" + nonce + b"\0"


def auth_more(data: bytes) -> bytes:
    return b"\x01" + data


FAST_AUTH_OK: Final = auth_more(b"\x03")
FULL_AUTH: Final = auth_more(b"\x04")
PUBLIC_KEY_REQUEST: Final = b"\x02"


def ok(status: Status, *, affected: int = 0, warnings: int = 0, info: bytes = b"", mark: bytes = b"\0") -> bytes:
    """`mark` is 0xFE if an OK packet stands for the EOF of a result."""
    counts = lenenc(affected) + lenenc(0)
    return mark + counts + status.to_bytes(2, "little") + min(warnings, 0xFFFF).to_bytes(2, "little") + info


def tracked(status: Status, info: bytes, changes: bytes) -> tuple[Status, bytes]:
    """Status and info of an OK for a client with session tracking: its info has a length, its changes follow."""
    if changes:
        return status | Status.STATE_CHANGED, lenenc_bytes(info) + lenenc_bytes(changes)
    return status, lenenc_bytes(info) if info else b""


def end_of_rows(status: Status, capabilities: int, *, warnings: int = 0) -> bytes:
    if capabilities & Capability.DEPRECATE_EOF:
        return ok(status, warnings=warnings, mark=b"\xfe")
    return b"\xfe" + min(warnings, 0xFFFF).to_bytes(2, "little") + status.to_bytes(2, "little")


def err(error: SyncError, charset: Charset) -> bytes:
    text = charset.encode(str(error)[:MAX_MESSAGE])
    return b"\xff" + error.code.number.to_bytes(2, "little") + b"#" + error.code.sqlstate.encode() + text
