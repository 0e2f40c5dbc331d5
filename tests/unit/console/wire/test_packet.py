import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.console.wire.packet import MAX_PAYLOAD, ProtocolError, Reader, frame, lenenc, lenenc_bytes


@given(number=st.integers(0, 2**64 - 1))
def test_a_length_comes_back(number: int) -> None:
    """Every length of up to 64 bits is read as it was written, and nothing is left over."""
    reader = Reader(lenenc(number))
    assert (number, 0) == (reader.lenenc(), reader.left)


@given(data=st.binary(max_size=300))
def test_bytes_come_back(data: bytes) -> None:
    """Bytes behind their length come back whole."""
    assert Reader(lenenc_bytes(data)).lenenc_bytes() == data


@given(data=st.binary(max_size=20), steps=st.lists(st.sampled_from(["uint", "nul", "lenenc", "rest"]), max_size=6))
def test_a_reader_never_reads_past_the_end(data: bytes, steps: list[str]) -> None:
    """Whatever the bytes say, the reader stays inside them or raises ProtocolError."""
    reader = Reader(data)
    try:
        for step in steps:
            {
                "uint": lambda: reader.uint(3),
                "nul": reader.until_nul,
                "lenenc": reader.lenenc_bytes,
                "rest": reader.rest,
            }[step]()
            assert reader.left >= 0
    except ProtocolError:
        assert reader.left >= 0


@pytest.mark.parametrize("data", [b"\xff", b"\xfc\x01", b"\xfe\x01\x02"])
def test_a_bad_length_is_an_error(data: bytes) -> None:
    """A length that is cut off, or that the protocol does not know, is refused."""
    with pytest.raises(ProtocolError):
        Reader(data).lenenc()


def test_a_frame_carries_its_sequence_number() -> None:
    """Length in three bytes, sequence number in one, which wraps."""
    assert frame(b"abc", 255) == (b"\x03\x00\x00\xffabc", 256)
    assert frame(b"", 256) == (b"\x00\x00\x00\x00", 257)


@pytest.mark.parametrize(("size", "frames"), [(MAX_PAYLOAD - 1, 1), (MAX_PAYLOAD, 2), (MAX_PAYLOAD + 1, 2)])
def test_a_big_payload_is_split(size: int, frames: int) -> None:
    """A payload that fills its last frame is followed by an empty one."""
    data, sequence = frame(bytes(size), 0)
    assert (len(data), sequence) == (size + 4 * frames, frames)
