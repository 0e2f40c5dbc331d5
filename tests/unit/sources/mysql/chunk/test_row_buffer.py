import random

import pytest

from syncmgr.sources.mysql.chunk.row_buffer import RowBuffer
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError
from tests.unit.sources.mysql.chunk.encoding import END, packets

MOST = 1 << 26


def read(stream: bytes, *, size: int, piece: int, most: int = MOST) -> tuple[list[bytes], bytes | None]:
    """The rows, and the packet after them."""
    buffer, found, at = RowBuffer(most, size), list[bytes](), 0
    while buffer.last is None and at < len(stream):
        while buffer.last is None and at < len(stream) and (room := buffer.room):
            part = stream[at : at + min(piece, len(room))]
            room[: len(part)] = part
            at += len(part)
            buffer.received(len(part))
        rows = buffer.take()
        found += [bytes(rows.data[a:b]) for a, b in zip(rows.begins.tolist(), rows.ends.tolist(), strict=True)]
    return found, buffer.last


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_the_same_however_they_come(seed: int) -> None:
    """In pieces of any size, into a buffer that is smaller than some of them."""
    dice = random.Random(seed)
    rows = [b"\0" + dice.randbytes(dice.choice([0, 5, 90, 2000])) for _ in range(200)]
    stream = packets([*rows, END])
    for size, piece in ((64, 7), (1000, 1), (1 << 20, 4096), (999, 1 << 20)):
        assert read(stream, size=size, piece=piece) == (rows, END)


@pytest.mark.parametrize("extra", [0, 1, 0xFFFFFF])
def test_a_row_of_several_packets_is_one(extra: int) -> None:
    """Those behind it are where they are; a packet without bytes may end it."""
    rows = [b"\0a", b"\0" + bytes(0xFFFFFF - 1 + extra), b"\0b", b"\0c"]
    found, last = read(packets([*rows, END]), size=100, piece=1 << 19)
    assert (found, last) == (rows, END)


def test_a_row_that_is_too_large_is_refused() -> None:
    """Before it has come."""
    with pytest.raises(OversizeError, match="a row of more than 5000 bytes"):
        read(packets([b"\0" + bytes(6000), END]), size=100, piece=50, most=5000)


@pytest.mark.parametrize("packet", [b"", b"\1abc", b"\xfe" + bytes(8), b"\xfb/etc/passwd"])
def test_nothing_else_ends_an_answer(packet: bytes) -> None:
    """Nor is it taken for a row."""
    with pytest.raises(MalformedEventError):
        read(packets([b"\0a", packet]), size=100, piece=50)


def test_an_error_may_come_after_rows() -> None:
    """Those before it are given."""
    assert read(packets([b"\0a", b"\xff\x25\x05#70100killed"]), size=100, piece=50) == (
        [b"\0a"],
        b"\xff\x25\x05#70100killed",
    )
