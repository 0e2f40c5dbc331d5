"""Bytes of canal's TCP protocol <-> values.

Owns: frames, requests, replies, the scrambled password, and which parts of an entry are not trusted.
Must not know: sockets, time, what an entry means.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError, Message

from syncmgr.sources.canal.proto import entry_pb2, packet_pb2
from syncmgr.sources.canal.values.fields import BYTES, VARINT, MalformedEntryError, varint

CLIENT_ID: Final = "1001"  # the one that every canal client uses: a destination has one reader
STRANGER: Final = "32101"  # one that has never subscribed, so canal gives it nothing
LENGTH: Final = struct.Struct(">i")
MAX_FRAME: Final = 1 << 30  # one entry holds a whole rows event, which max_allowed_packet bounds
MAX_LOGIN_FRAME: Final = 1 << 20  # of one without entries
MAX_ENTRIES: Final = 1_000_000  # of a delivery; canal's ring has 16,384, unless it is made larger
MAX_HEADER: Final = 1 << 20  # bytes of an entry's header: names, and some pairs of texts
ENTRY_HEADER, MESSAGES_ENTRY = 0x0A, 0x12  # tags
IDLE_MILLISECOND: Final = 3_600_000  # the server closes a connection that neither side has used for this long
MILLISECONDS: Final = 2  # unit of GET's timeout
UNCOMPRESSED: Final = frozenset({0, 1})


class MalformedPacketError(ValueError):
    """Bytes that no canal server sends."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """The first frame of a connection. `seed` is empty before 1.1.4, which knew no passwords."""

    seed: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An ACK frame: `code` 0 is success."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one GET returned: serialised entries, none if `batch_id` is -1."""

    batch_id: int
    entries: tuple[bytes, ...]


Reply = Greeting | Answer | Delivery


def frame_size(head: bytes, most: int = MAX_FRAME) -> int:
    """How many bytes follow the four of `head`. Raises MalformedPacketError."""
    (size,) = LENGTH.unpack(head)
    if not 0 < size <= most:
        raise MalformedPacketError(f"a frame of {size} bytes")
    return int(size)


def reply(body: bytes) -> Reply:
    """What a server's frame says. Raises MalformedPacketError."""
    packet = packet_pb2.Packet()
    _parse(packet, body)
    if packet.compression not in UNCOMPRESSED:
        raise MalformedPacketError(f"a packet compressed by method {packet.compression}")
    match packet.type:
        case packet_pb2.HANDSHAKE:
            handshake = packet_pb2.Handshake()
            _parse(handshake, packet.body)
            return Greeting(handshake.seeds)
        case packet_pb2.ACK:
            ack = packet_pb2.Ack()
            _parse(ack, packet.body)
            return Answer(ack.error_code, ack.error_message)
        case packet_pb2.MESSAGES:
            if packet.body.count(MESSAGES_ENTRY) > MAX_ENTRIES:  # otherwise there are certainly fewer
                _refuse(packet.body, MESSAGES_ENTRY, "entries", count=MAX_ENTRIES)
            messages = packet_pb2.Messages()
            _parse(messages, packet.body)
            return Delivery(messages.batch_id, tuple(messages.messages))
        case other:
            raise MalformedPacketError(f"a packet of type {other}")


def entry(data: bytes) -> entry_pb2.Entry:
    """One of a delivery's entries. Raises MalformedPacketError."""
    if len(data) > MAX_HEADER:
        _refuse(data, ENTRY_HEADER, "bytes of a header", size=MAX_HEADER)
    try:
        return entry_pb2.Entry.FromString(data)
    except DecodeError as error:
        raise MalformedPacketError("a broken Entry") from error


def row_change(data: bytes) -> entry_pb2.RowChange:
    """The value of a ROWDATA entry. Raises MalformedPacketError."""
    made = entry_pb2.RowChange()
    _parse(made, data)
    return made


def _refuse(data: bytes, wanted: int, what: str, *, count: int = MAX_FRAME, size: int = MAX_FRAME) -> None:
    """Raises MalformedPacketError if there are more than `count` fields with that tag, or `size` bytes in all: protobuf
    makes an object of each part of a message, which takes many times its bytes.
    """
    at = found = held = 0
    try:
        while at < len(data):
            tag, at = varint(data, at)
            value, at = varint(data, at)
            if tag & 7 not in {VARINT, BYTES}:
                raise MalformedPacketError(f"an unknown field {tag}")
            at += value if tag & 7 == BYTES else 0
            if tag == wanted:
                found, held = found + 1, held + value
            if found > count or held > size:
                raise MalformedPacketError(f"more than {count if found > count else size} {what}")
    except (IndexError, MalformedEntryError) as error:
        raise MalformedPacketError("a message that is cut off") from error


def _parse(message: Message, data: bytes) -> None:
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise MalformedPacketError(f"a broken {message.DESCRIPTOR.name}") from error


def authentication(user: str, password: str, seed: bytes) -> bytes:
    body = packet_pb2.ClientAuth(
        username=user,
        password=scrambled(password, seed),
        net_read_timeout=IDLE_MILLISECOND,
        net_write_timeout=IDLE_MILLISECOND,
    )
    return _frame(packet_pb2.CLIENTAUTHENTICATION, body)


def subscription(destination: str, table_filter: str) -> bytes:
    body = packet_pb2.Sub(destination=destination, client_id=CLIENT_ID, filter=table_filter)
    return _frame(packet_pb2.SUBSCRIPTION, body)


def get(destination: str, fetch_size: int, timeout_millisecond: int, client_id: str = CLIENT_ID) -> bytes:
    """`fetch_size`: KiB, or entries if the server counts those. A timeout of 0 would wait forever."""
    body = packet_pb2.Get(
        destination=destination,
        client_id=client_id,
        fetch_size=fetch_size,
        timeout=timeout_millisecond,
        unit=MILLISECONDS,
    )
    return _frame(packet_pb2.GET, body)


def acknowledgement(destination: str, batch_id: int) -> bytes:
    body = packet_pb2.ClientAck(destination=destination, client_id=CLIENT_ID, batch_id=batch_id)
    return _frame(packet_pb2.CLIENTACK, body)


def rollback(destination: str) -> bytes:
    """Of every batch: after a rollback of one, the later ones could be acked unseen."""
    return _frame(packet_pb2.CLIENTROLLBACK, packet_pb2.ClientRollback(destination=destination, client_id=CLIENT_ID))


def _frame(kind: packet_pb2.PacketType, body: Message) -> bytes:
    data = packet_pb2.Packet(version=1, type=kind, body=body.SerializeToString()).SerializeToString()
    return LENGTH.pack(len(data)) + data


def scrambled(password: str, seed: bytes) -> bytes:
    """As mysql_native_password does it, in hex; a server without a seed compares nothing."""
    if not password or not seed:
        return password.encode()
    stage1 = _sha1(password.encode())
    mask = _sha1(seed + _sha1(stage1))
    return bytes(a ^ b for a, b in zip(stage1, mask, strict=True)).hex().encode()


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()
