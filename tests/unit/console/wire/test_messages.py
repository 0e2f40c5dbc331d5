from contextlib import suppress

import pytest

from syncmgr.console.wire.charset import UTF8MB4, by_collation, by_name
from syncmgr.console.wire.messages import Hello, end_of_rows, err, greeting, ok, parse_change_user, parse_hello
from syncmgr.console.wire.packet import ProtocolError, lenenc_bytes
from syncmgr.console.wire.protocol import NATIVE, OFFERED, SHA2, Capability, Status
from syncmgr.errors import Code, SyncError

BASE = Capability.PROTOCOL_41 | Capability.SECURE_CONNECTION
HEAD = bytes(4) + b"\x2d" + bytes(23)


def packet(capabilities: Capability, rest: bytes) -> bytes:
    return capabilities.to_bytes(4, "little") + HEAD + rest


def test_a_greeting() -> None:
    """The greeting has MySQL's version form, both halves of the nonce and the plugin."""
    made = greeting(connection_id=7, nonce=b"12345678abcdefghijkl", capabilities=OFFERED)
    assert made.startswith(b"\x0a8.0.36-syncmgr\0\x07\0\0\x0012345678\0")
    assert made.endswith(b"abcdefghijkl\0caching_sha2_password\0")


def test_a_full_handshake_response() -> None:
    """User, password, database, plugin and attributes are read in this order."""
    capabilities = BASE | Capability.CONNECT_WITH_DB | Capability.PLUGIN_AUTH | Capability.CONNECT_ATTRS
    attributes = lenenc_bytes(lenenc_bytes(b"_client_name") + lenenc_bytes(b"x"))
    sent = packet(capabilities, b"root\0\x03abcdemo\0" + SHA2.encode() + b"\0" + attributes)
    assert parse_hello(sent) == Hello(
        capabilities=capabilities,
        collation=45,
        user="root",
        response=b"abc",
        db="demo",
        plugin=SHA2,
        attributes={"_client_name": "x"},
    )


def test_an_old_handshake_response() -> None:
    """A client that names no plugin means mysql_native_password."""
    hello = parse_hello(packet(BASE, b"root\0\0"))
    assert (hello.user, hello.response, hello.db, hello.plugin) == ("root", b"", None, NATIVE)


def test_a_request_for_tls() -> None:
    """A response that ends before the user is a request for TLS."""
    assert parse_hello(packet(BASE | Capability.SSL, b"")).user is None


@pytest.mark.parametrize("sent", [b"", packet(Capability(0), b"root\0\0"), packet(BASE, b"root"), packet(BASE, b"")])
def test_a_bad_handshake_response(sent: bytes) -> None:
    """What is cut off, or older than MySQL 4.1, is a bad handshake."""
    with pytest.raises(ProtocolError):
        parse_hello(sent)


def test_a_change_of_user() -> None:
    """COM_CHANGE_USER is a handshake response without its head."""
    hello = parse_change_user(b"root\0\x03abcdemo\0\x08\0" + NATIVE.encode() + b"\0", Capability.PLUGIN_AUTH)
    assert (hello.user, hello.response, hello.db, hello.collation) == ("root", b"abc", "demo", 8)


def test_the_end_of_rows() -> None:
    """The end of a result is an EOF for old clients, an OK with EOF's mark for new ones."""
    assert end_of_rows(Status.AUTOCOMMIT, Capability(0), warnings=1) == b"\xfe\x01\x00\x02\x00"
    assert end_of_rows(Status.AUTOCOMMIT, Capability.DEPRECATE_EOF) == b"\xfe\0\0\x02\0\0\0"
    assert ok(Status.AUTOCOMMIT | Status.MORE_RESULTS, affected=300) == b"\0\xfc\x2c\x01\0\x0a\0\0\0"


def test_an_error() -> None:
    """Number, SQLSTATE and words, in the client's character set."""
    made = err(SyncError(Code.UNKNOWN_DATABASE, db="größe"), by_name("latin1"))
    assert made == b"\xff\x19\x04#42000Unknown database 'gr\xf6\xdfe'"
    assert len(err(SyncError(Code.INTERNAL, message="x" * 9999), UTF8MB4)) < 2100


def test_collations() -> None:
    """A collation tells the character set; one that nobody knows is taken for utf8mb4."""
    assert [by_collation(n).name for n in (8, 33, 45, 255, 63, 0, 254)] == [
        "latin1",
        "utf8mb3",
        "utf8mb4",
        "utf8mb4",
        "binary",
        "utf8mb4",
        "utf8mb4",
    ]
    with pytest.raises(SyncError, match="Unknown character set: 'klingon'"):
        by_name("klingon")


def test_capabilities_leave_nothing_behind() -> None:
    """Strangers may name any combination of capabilities: none of them is remembered."""
    before = len(Capability._value2member_map_)
    for number in range(2000):
        sent = (number << 9 & ~0x800 | BASE.value).to_bytes(4, "little") + HEAD + b"root" + bytes(8)
        with suppress(ProtocolError):
            parse_hello(sent)
    assert len(Capability._value2member_map_) == before
