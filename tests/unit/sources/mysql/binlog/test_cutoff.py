import pytest

from syncmgr.job.position import Position
from syncmgr.sources.mysql.binlog.cutoff import Cutoff, Gtid

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("position", "gtid", "file", "end", "expected"),
    [
        (Position(gtids=f"{UUID}:1-5:7"), ((UUID, ""), 5), "b.000009", 9, True),
        (Position(gtids=f"{UUID}:1-5:7"), ((UUID, ""), 6), "b.000001", 4, False),
        (Position(gtids="0-1-5,2-1-9"), (0, 1, 5), "b.000009", 9, True),
        (Position(gtids="0-1-5,2-1-9"), (0, 1, 6), "b.000001", 4, False),
        (Position(gtids="0-1-5"), (3, 1, 1), "b.000001", 4, False),
        (Position(file="b.000002", offset=500), None, "b.000002", 500, True),
        (Position(file="b.000002", offset=500), None, "b.000002", 501, False),
        (Position(file="b.000010", offset=500), None, "b.000009", 9999, True),
        (Position(file="b.999999", offset=500), None, "b.1000000", 200, False),
    ],
)
def test_a_transaction_is_reached_or_not(
    position: Position, gtid: Gtid | None, file: str, end: int, *, expected: bool
) -> None:
    """By GTID, whatever the files are called; without one by file and offset."""
    assert Cutoff(position).has(gtid, file, end) is expected
