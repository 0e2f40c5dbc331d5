import pytest

from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position
from syncmgr.job.source_history.read_twice import goes_back

SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
END = Position(gtids=f"{SERVER}:1-6", file="b.000001", offset=200, server=SERVER)


@pytest.mark.parametrize(
    ("start", "back"),
    [
        (Position(gtids=f"{SERVER}:1-5"), True),
        (Position(gtids=f"{SERVER}:1-6"), False),
        (Position(file="b.000001", offset=100), True),
        (Position(file="b.000001", offset=200), False),
        (Position(file="b.000002", offset=4), False),
        (END, False),
    ],
)
def test_a_start_before_rows_that_were_written_goes_back(start: Position, *, back: bool) -> None:
    """However it is written; a stretch without rows does not matter."""
    assert goes_back(start, [Epoch(number=1, end=END, last_seq=1, rows=1)]) is back
    assert not goes_back(start, [Epoch(number=1, end=END, last_seq=1)])
