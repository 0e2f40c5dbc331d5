"""What the events say that name transactions.

Owns: the bodies of GTID events, of the sets at the begin of a file, and of the set with which a dump begins.
Must not know: rows, tables, connections. All functions take an event without its checksum.
"""

import struct
from typing import Final

from syncmgr.job.position import GtidSet, MariadbGtids, Sid
from syncmgr.job.source_history.last_read import LastRead
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.wire import Cursor, MalformedEventError, OversizeError

MAX_GTID_BYTES: Final = 4 << 20  # of all GTIDs of a server, some 250,000 intervals
# of an untagged GTID; MySQL 5.7 ends before the time, with a checksum that is shorter than it
LOGICAL_CLOCK: Final = 44
HAS_LOGICAL_CLOCK: Final = 2
COMMITTED_AT: Final = slice(61, 68)
COMMITTED_AT_BITS: Final = (1 << 55) - 1  # the highest bit says that the time at the first server follows
FIRST_COMMITTED_AT: Final = slice(68, 75)
# fields of a tagged GTID
TAGGED_FLAGS, TAGGED_UUID, TAGGED_GNO, TAGGED_TAG = range(4)
TAGGED_COMMITTED_AT, TAGGED_FIRST_COMMITTED_AT = 6, 7


def uuid_text(raw: bytes) -> str:
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def committed_at(event: memoryview) -> float:
    """Of a GTID event of MySQL: when this server committed what follows, by its own clock, which no session sets.

    0.0 if not stated: before MySQL 8.0.
    """
    return _committed(event)[0] / 1e6


def _committed(event: memoryview) -> tuple[int, int]:
    """Here and at the first server, in microseconds; (0, 0) if not stated."""
    if len(event) < COMMITTED_AT.stop or event[LOGICAL_CLOCK] != HAS_LOGICAL_CLOCK:
        return 0, 0
    committed = int.from_bytes(event[COMMITTED_AT], "little")
    here = committed & COMMITTED_AT_BITS
    if committed == here:
        return here, here
    return here, int.from_bytes(event[FIRST_COMMITTED_AT], "little")


def begun(event: memoryview) -> LastRead | None:
    """The transaction that an event begins, None if it begins none that can be told from others."""
    match event[4]:
        case wire.ANONYMOUS_GTID:
            return LastRead("", _committed(event)[1])
        case wire.GTID:
            uuid, gno = uuid_text(bytes(event[20:36])), int.from_bytes(event[36:44], "little")
            return LastRead(f"{uuid}:{gno}", _committed(event)[1])
        case wire.TAGGED_GTID:
            (uuid, tag), gno, (_, first) = _tagged(bytes(event))
            return LastRead(f"{uuid}:{tag}:{gno}", first)
        case wire.MARIADB_GTID:
            domain, server, seq, _ = mariadb_gtid(bytes(event))
            return LastRead(f"{domain}-{server}-{seq}", int.from_bytes(event[:4], "little"))
    return None


def tagged_committed_at(event: bytes) -> float:
    """The same of a tagged GTID."""
    return _tagged(event)[2][0] / 1e6


def tagged_gtid(event: bytes) -> tuple[Sid, int]:
    return _tagged(event)[:2]


def _tagged(event: bytes) -> tuple[Sid, int, tuple[int, int]]:
    """With the times of its commit here and at the first server, in microseconds."""
    cursor = Cursor(event, wire.HEADER)
    for _ in range(3):  # version, size and last field of the serialised body
        cursor.varint()
    uuid, tag, gno, here, first = b"", "", 0, 0, 0
    while cursor.left:
        match cursor.varint():
            case field if field == TAGGED_UUID:
                uuid = bytes(_byte(cursor.varint()) for _ in range(16))
            case field if field == TAGGED_GNO:
                gno = cursor.signed_varint()
            case field if field == TAGGED_TAG:
                tag = cursor.text(cursor.varint())
            case field if field == TAGGED_COMMITTED_AT:
                here = cursor.varint()
            case field if field == TAGGED_FIRST_COMMITTED_AT:  # only if it differs
                first = cursor.varint()
                break
            case field if field < TAGGED_COMMITTED_AT:
                cursor.varint()
            case _:
                break
    if not uuid or gno <= 0:
        raise MalformedEventError("a tagged GTID without uuid or number")
    return (uuid_text(uuid), tag), gno, (here, first or here)


def _byte(value: int) -> int:
    if value > 255:
        raise MalformedEventError("a tagged GTID with a bad uuid")
    return value


def mariadb_gtid(event: bytes) -> tuple[int, int, int, int]:
    """Domain, server, sequence, flags."""
    cursor = Cursor(event, wire.HEADER)
    seq, domain, flags = cursor.uint(8), cursor.uint(4), cursor.uint(1)
    return domain, int.from_bytes(event[5:9], "little"), seq, flags


def mariadb_gtid_list(event: bytes) -> MariadbGtids:
    """What was in the binlog before this file; the last one of a domain is its newest."""
    _refuse_many(event)
    cursor = Cursor(event, wire.HEADER)
    count = cursor.uint(4) & 0x0FFFFFFF
    made = MariadbGtids()
    for _ in range(count):
        domain, server, seq = cursor.uint(4), cursor.uint(4), cursor.uint(8)
        made.add(domain, server, seq)
    return made


def previous_gtids(event: bytes) -> GtidSet:
    """What was in the binlog before this file."""
    _refuse_many(event)
    cursor = Cursor(event, wire.HEADER)
    head = cursor.take(8)
    tagged = head[7] == 1
    count = int.from_bytes(head[1:7] if tagged else head, "little")
    made = GtidSet()
    for _ in range(count):
        uuid = uuid_text(cursor.take(16))
        tag = cursor.text(cursor.varint()) if tagged else ""
        for _ in range(cursor.uint(8)):
            first, after = cursor.uint(8), cursor.uint(8)
            try:
                made.add_interval((uuid, tag), first, after - 1)
            except ValueError as error:
                raise MalformedEventError("a GTID set that MySQL does not have") from error
    return made


def _refuse_many(event: bytes) -> None:
    """Each GTID takes a few hundred bytes here, and a position has all of them."""
    if len(event) > MAX_GTID_BYTES:
        raise OversizeError(f"a set of GTIDs of {len(event)} bytes; {MAX_GTID_BYTES} are taken")


def encode_gtids(gtids: GtidSet) -> bytes:
    """As COM_BINLOG_DUMP_GTID expects it; the form with tags (MySQL 8.3) only if there are tags."""
    sets = list(gtids.intervals())
    tagged = any(tag for (_, tag), _ in sets)
    parts = [b"\x01" + len(sets).to_bytes(6, "little") + b"\x01" if tagged else struct.pack("<Q", len(sets))]
    for (uuid, tag), intervals in sets:
        parts.append(bytes.fromhex(uuid.replace("-", "")))
        if tagged:
            parts.append(bytes([len(tag) << 1]) + tag.encode())
        parts.append(struct.pack("<Q", len(intervals)))
        parts += [struct.pack("<QQ", first, last + 1) for first, last in intervals]
    return b"".join(parts)
