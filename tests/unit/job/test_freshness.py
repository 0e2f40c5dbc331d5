from dataclasses import replace

import pytest

from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.freshness import Reading, of_commit, of_reading, of_table, oldest
from tests.unit.job.factories import make_channel, with_history

CAUGHT_UP = Reading(
    caught_up_at=97.0,
    read_time=50.0,
    waiting_since=None,
    drained=True,
    known_until=10.0,
)


@pytest.mark.parametrize(
    ("why", "changes", "expected"),
    [
        ("caught up", {}, 97.0),
        ("the source was heard, and what it has may be on its way", {"caught_up_at": 0.0}, 50.0),
        ("the newest that was read is newer than what heartbeats proved", {"read_time": 98.0}, 98.0),
        ("reading has begun, and nothing is known of its place", {"caught_up_at": 0.0, "read_time": 0.0}, 10.0),
        ("the clock of the source is ahead", {"caught_up_at": 3700.0}, 100.0),
        ("our clock was set back since", {"known_until": 130.0}, 130.0),
        ("a row waits for its commit", {"waiting_since": 97.5}, 97.5),
        ("a row waits whose statement had begun before the source was heard last", {"waiting_since": 9.0}, 10.0),
        ("there is more to read", {"drained": False}, 10.0),
        ("there is more to read, and nothing was committed", {"drained": False, "known_until": 0.0}, 0.0),
    ],
)
def test_only_what_is_in_the_lake_is_claimed(why: str, changes: dict[str, float], expected: float) -> None:
    """Up to when the source is proved to have had nothing more, and not to when it was heard; never less than before,
    never more than now.
    """
    assert of_reading(replace(CAUGHT_UP, **changes), 100.0) == expected, why


def test_a_commit_claims_nothing_of_what_is_staged_after_it() -> None:
    """A session may give its changes an older time than those of the transaction before it."""
    assert of_commit(10.0, 98.0, None, 100.0) == 98.0
    assert of_commit(10.0, 98.0, 96.5, 100.0) == 96.5
    assert of_commit(97.0, 98.0, 96.5, 100.0) == 97.0, "what is known stays known"
    assert of_commit(10.0, 3700.0, None, 100.0) == 100.0, "nothing is newer than now"


@pytest.mark.parametrize(
    ("why", "stop", "stale", "waits", "expected"),
    [
        ("it streams", None, None, None, 90.0),
        ("a change waits", None, None, 70.0, 70.0),
        ("it was stopped", Stop(reason="x", synced_until=40.0), None, None, 40.0),
        ("it was stopped by an earlier version", Stop(reason="x"), None, None, None),
        ("its first rows are being read", None, 0.0, None, None),
        ("it was stopped, and is read again", None, 40.0, 70.0, 40.0),
        ("it was stopped, was read anew, and stopped once more", Stop(reason="x", synced_until=40.0), 30.0, None, 40.0),
    ],
)
def test_a_table_is_no_fresher_than_its_rows(
    why: str, stop: Stop | None, stale: float | None, waits: float | None, expected: float | None
) -> None:
    """Of one that is not read, or read anew, what it had counts, until the new rows are there."""
    channel = with_history(make_channel(), stopped=stop)
    assert of_table(channel, stale=stale, waits=waits, job=90.0) == expected, why


def test_the_oldest_of_many_counts() -> None:
    """Nothing is known of a job where nothing is known of a table."""
    assert oldest([90.0, 40.0]) == 40.0
    assert oldest([90.0, None]) is None
    assert oldest([]) is None
