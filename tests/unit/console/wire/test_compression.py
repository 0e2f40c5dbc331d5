import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.console.wire.compression import ZLIB, ZSTD, Algorithm, agreed, frames
from syncmgr.console.wire.packet import MAX_PAYLOAD, ProtocolError
from syncmgr.console.wire.protocol import Capability

BOTH = pytest.mark.parametrize("algorithm", [ZLIB, ZSTD], ids=lambda algorithm: algorithm.name)


def opened(data: bytes, algorithm: Algorithm) -> tuple[bytes, list[int]]:
    """What frames hold, and their sequence numbers."""
    out, numbers = b"", []
    while data:
        length, size = int.from_bytes(data[:3], "little"), int.from_bytes(data[4:7], "little")
        numbers.append(data[3])
        body, data = data[7 : 7 + length], data[7 + length :]
        out += algorithm.unpack(body, size) if size else body
    return out, numbers


@BOTH
@pytest.mark.parametrize("size", [0, 49, 50, 70_000, MAX_PAYLOAD, MAX_PAYLOAD + 1])
def test_frames_hold_what_was_put_in(algorithm: Algorithm, size: int) -> None:
    """Small, large and larger than a frame; the numbers of the frames go on from the one given."""
    data = b"syncmgr " * (size // 8) + b"x" * (size % 8)
    sent, following = frames(data, 254, algorithm)
    plain, numbers = opened(sent, algorithm)
    assert plain == data
    assert numbers == [number & 0xFF for number in range(254, following)]


@BOTH
def test_what_does_not_shrink_is_sent_as_it_is(algorithm: Algorithm) -> None:
    """A frame whose plain size is 0 is not compressed: short texts, and bytes without order."""
    for data in (b"\x01\x00\x00\x01\x00", bytes(range(256))):
        sent, _ = frames(data, 0, algorithm)
        assert sent == len(data).to_bytes(3, "little") + bytes(4) + data


@BOTH
@given(data=st.binary(max_size=200), size=st.integers(1, 1 << 24))
def test_garbage_is_a_protocol_error(algorithm: Algorithm, data: bytes, size: int) -> None:
    """Bytes that are no compressed frame give an error, and never another one."""
    with pytest.raises(ProtocolError):
        algorithm.unpack(data, size)


@pytest.mark.parametrize(
    ("algorithm", "bomb"),
    [
        (ZLIB, zlib.compress(bytes(64 << 20))),
        (ZSTD, zstandard.ZstdCompressor().compress(bytes(64 << 20))),
        (ZSTD, zstandard.ZstdCompressor(write_content_size=False).compress(bytes(64 << 20))),
    ],
)
def test_a_frame_never_gives_more_than_it_says(algorithm: Algorithm, bomb: bytes) -> None:
    """A frame that would grow beyond its told size is an error, or cut at that size: memory is bounded by it."""
    try:
        assert len(algorithm.unpack(bomb, 1000)) == 1000
    except ProtocolError:
        return


def test_the_algorithm_is_agreed() -> None:
    """Zlib before zstd, as MySQL chooses; without either nothing is compressed."""
    assert agreed(Capability.COMPRESS | Capability.ZSTD) is ZLIB
    assert agreed(Capability.ZSTD) is ZSTD
    assert agreed(Capability.PROTOCOL_41) is None
