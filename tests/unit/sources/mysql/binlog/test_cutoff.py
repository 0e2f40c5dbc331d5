from dataclasses import replace

import pytest

from syncmgr.job.position import Position
from syncmgr.sources.mysql.binlog.cutoff import Cutoff, Gtid, NumbersBackError

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
    assert Cutoff(position).has(gtid, Position(file=file, offset=end)) is expected


PLACE = Position(gtids="0-1-5", file="b.000002", offset=500, server="1", created=100)


@pytest.mark.parametrize(
    ("number", "here", "expected"),
    [
        (5, replace(PLACE, offset=500), True),
        (6, replace(PLACE, offset=501), False),
        (6, replace(PLACE, offset=500), None),
        (5, replace(PLACE, offset=501), None),
        (4, replace(PLACE, file="b.000003", offset=9, created=200), None),
        (6, replace(PLACE, file="b.000001", created=50), None),
        (4, replace(PLACE, offset=501, created=101), True),  # begun anew
        (4, replace(PLACE, offset=501, created=0), True),
        (4, replace(PLACE, offset=501, server="2"), True),
        (4, replace(PLACE, offset=501, server=""), True),
        (4, replace(PLACE, file="other.000003"), True),
    ],
)
def test_a_number_and_a_place_that_contradict_each_other(number: int, here: Position, *, expected: bool | None) -> None:
    """Nobody knows then; files of another history, or of a server that is not known, say nothing."""
    cutoff = Cutoff(PLACE)
    if expected is None:
        with pytest.raises(NumbersBackError, match=f"0-7-{number} ends"):
            cutoff.has((0, 7, number), here)
    else:
        assert cutoff.has((0, 7, number), here) is expected
    assert cutoff.has((3, 7, number), here) is False
