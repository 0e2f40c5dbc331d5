import io

import pytest

from syncmgr.spark.queries.frame import partition

END = (-1).to_bytes(4, "big", signed=True)


def sent(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def test_a_partition_ends_with_its_mark() -> None:
    """What stands behind it is the next partition's."""
    stream = io.BytesIO(sent(b"one") + sent(b"two") + END + b"next")
    assert list(partition(stream)) == [b"one", b"two"]
    assert stream.read() == b"next"


@pytest.mark.parametrize("size", [0, 3, 4, 6, 7, 9])
def test_a_stream_that_breaks_off_is_no_end(size: int) -> None:
    """A JVM that dies in the middle of a result makes an error of it, never a shorter result."""
    with pytest.raises(EOFError):
        list(partition(io.BytesIO((sent(b"one") + END)[:size])))
