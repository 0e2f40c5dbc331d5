"""Decompresses what servers compress into plain events: MySQL's whole transactions, MariaDB's rows events.

Owns: the layout of both, and how much memory they take while they are unpacked.
Must not know: what the events say, connections. All functions take an event without its checksum.
"""

import threading
from collections.abc import Iterator
from typing import Final

import zstandard

from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.inflation import inflate
from syncmgr.sources.mysql.wire import Cursor, MalformedEventError, OversizeError

ZSTD: Final = 0
UNKNOWN_SIZE: Final = -1  # the plain size in zstd's own header
AT_ONCE: Final = 16 << 20  # bytes of a plain transaction that is unpacked whole; a larger one in pieces
PIECE: Final = 4 << 20
LENGTH_BYTES: Final = {252: 2, 253: 3, 254: 8}  # after the first byte of a length
_WRONG_SIZE: Final = "a compressed transaction of another size than it says"
_UNREADABLE: Final = "a compressed transaction that cannot be read"

# fields of a transaction payload's header
PAYLOAD_END, PAYLOAD_SIZE, PAYLOAD_COMPRESSION, PAYLOAD_PLAIN_SIZE = range(4)

Inner = tuple[memoryview, int, int]  # some bytes, and where an event begins and ends in them


def payload(event: bytes, most_event: int, most: int) -> Iterator[Inner]:
    """The events of a compressed transaction, none with a checksum. `most_event`: bytes of one; `most`: of all.

    A small one is known to be complete when the first event is returned. Raises OversizeError, MalformedEventError.
    """
    facts, at = _payload_facts(event)
    body = memoryview(event)[at : at + facts.get(PAYLOAD_SIZE, len(event))]
    if PAYLOAD_SIZE in facts and len(body) != facts[PAYLOAD_SIZE]:
        raise MalformedEventError("a compressed transaction that is cut short")
    if facts.get(PAYLOAD_COMPRESSION) != ZSTD:
        return _whole(bytes(body))
    size = facts.get(PAYLOAD_PLAIN_SIZE, 0)
    if size == 0:
        raise MalformedEventError("a compressed transaction of no size")
    if size > most:
        raise OversizeError(f"a transaction of {size} bytes; max_source_transaction_bytes is {most}")
    if _declared_size(body) not in {UNKNOWN_SIZE, size}:
        raise MalformedEventError(_WRONG_SIZE)
    return _whole(_unpacked(body, size)) if size <= AT_ONCE else _in_pieces(body, size, most_event)


def _declared_size(body: memoryview) -> int:
    """The size for which zstandard would allocate memory."""
    try:
        return zstandard.frame_content_size(body)
    except zstandard.ZstdError as error:
        raise MalformedEventError(_UNREADABLE) from error


def _unpacked(body: memoryview, size: int) -> bytes:
    try:
        plain = _of_thread.zstd.decompress(body, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise MalformedEventError(_UNREADABLE) from error
    if len(plain) != size:
        raise MalformedEventError(_WRONG_SIZE)
    return plain


def _whole(plain: bytes) -> Iterator[Inner]:
    data, at = memoryview(plain), 0
    while at < len(plain):
        end = at + _event_size(plain, at, len(plain) - at)
        yield data, at, end
        at = end


def _in_pieces(body: memoryview, size: int, most_event: int) -> Iterator[Inner]:
    """Only a piece of it is in memory, and the event that the piece cuts."""
    left, tail = size, bytearray()
    for piece in _pieces(body):
        left -= len(piece)
        if left < 0:
            raise MalformedEventError(_WRONG_SIZE)
        tail += piece
        data, at = tail, 0
        whole = memoryview(data)
        while len(data) - at >= wire.HEADER:
            end = at + _event_size(data, at, len(data) - at + left)
            if end - at > most_event:
                raise OversizeError(f"an event of {end - at} bytes; max_source_event_bytes is {most_event}")
            if end > len(data):
                break
            yield whole, at, end
            at = end
        whole.release()
        if at:
            tail = data[at:]
    if left or tail:
        raise MalformedEventError(_WRONG_SIZE)


def _pieces(body: memoryview) -> Iterator[bytes]:
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as reader:
            while piece := reader.read(PIECE):
                yield piece
    except zstandard.ZstdError as error:
        raise MalformedEventError(_UNREADABLE) from error


def _event_size(data: bytes | bytearray, at: int, left: int) -> int:
    size = int.from_bytes(data[at + 9 : at + 13], "little")
    if not wire.HEADER <= size <= left:
        raise MalformedEventError("an event in a compressed transaction has a wrong size")
    return size


def _payload_facts(event: bytes) -> tuple[dict[int, int], int]:
    """The fields of the header, and where they end; without a cursor, since every small transaction has a header."""
    facts, at = dict[int, int](), wire.HEADER
    try:
        while True:
            field, at = _lenenc(event, at)
            if field == PAYLOAD_END:
                return facts, at
            size, at = _lenenc(event, at)
            facts[field], _ = _lenenc(event, at)
            at += size
    except IndexError as error:
        raise MalformedEventError("a compressed transaction without an end of its header") from error


def _lenenc(data: bytes, at: int) -> tuple[int, int]:
    first = data[at]
    if first < 251:
        return first, at + 1
    if first not in LENGTH_BYTES:
        raise MalformedEventError("a bad length in an event")
    end = at + 1 + LENGTH_BYTES[first]
    return int.from_bytes(data[at + 1 : end], "little"), end


class _OfThread(threading.local):
    """Creating a decompressor takes longer than unpacking a small transaction, and no two threads may share one."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


_of_thread: Final = _OfThread()


def rows(event: bytes, most: int) -> bytes:
    """MariaDB's compressed rows event in its plain form, of at most `most` bytes. Raises as `payload` does."""
    plain = wire.PLAIN_OF[event[4]]
    cursor = Cursor(event, wire.ROWS_HEADER)
    if plain >= wire.WRITE_V2:
        cursor.take(cursor.uint(2) - 2)
    bitmaps = 2 if plain in wire.UPDATES else 1
    cursor.take((cursor.lenenc() + 7) // 8 * bitmaps)
    head = event[: cursor.at]
    return head[:4] + bytes([plain]) + head[5:] + inflate(cursor, most)
