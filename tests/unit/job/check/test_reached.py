import pytest

from syncmgr.job.check.reached import Reached
from syncmgr.job.freshness import Reading
from syncmgr.job.position import Position

UUID = "11111111-1111-1111-1111-111111111111"


def at(gno: int, file: int, offset: int) -> Position:
    return Position(gtids=f"{UUID}:1-{gno}", file=f"b.{file:06}", offset=offset, server=UUID)


def reading(caught_up_at: float, **facts: object) -> Reading:
    known = {"read_time": 0.0, "waiting_since": None, "drained": True, "known_until": 0.0, "server": "db:1"}
    return Reading(caught_up_at=caught_up_at, **(known | facts))  # type: ignore[arg-type]


END = Reached(position=at(5, 3, 198), at=100.0, server="db:1")


def test_what_is_committed_beyond_it_has_reached_it() -> None:
    assert END.by(at(6, 3, 500), None)
    assert not END.by(at(4, 3, 100), None)


def test_the_end_of_a_new_file_without_transactions_is_reached_if_the_server_had_nothing_later() -> None:
    """No transaction comes after it on a quiet server, so no position that is committed is beyond it."""
    committed = at(5, 3, 4)
    assert not END.by(committed, None)
    assert not END.by(committed, reading(99.0))
    assert END.by(committed, reading(101.0))


@pytest.mark.parametrize("facts", [{"drained": False}, {"server": "db:2"}])
def test_what_is_only_read_or_of_another_server_proves_nothing(facts: dict[str, object]) -> None:
    assert not END.by(at(5, 3, 4), reading(101.0, **facts))


def test_what_a_later_file_shows_and_does_not_count_as_executed_is_waited_for() -> None:
    """A SELECT may have seen it: the transaction before it is committed, in the file before."""
    assert not END.by(at(5, 2, 900), None)
