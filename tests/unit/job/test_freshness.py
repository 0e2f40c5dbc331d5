from dataclasses import replace

import pytest

from syncmgr.job.channel_state import Stop
from syncmgr.job.freshness import Reading, in_touch, of_reading, of_table, oldest
from tests.unit.job.factories import make_channel

CAUGHT_UP = Reading(
    heard_at=99.0,
    read_time=50.0,
    idle=True,
    waiting_since=None,
    drained=True,
    known_until=10.0,
    silence_second=5.0,
)


@pytest.mark.parametrize(
    ("why", "changes", "expected"),
    [
        ("caught up and in touch", {}, 99.0),
        ("caught up long ago, and heartbeats stopped", {"heard_at": 80.0}, 80.0),
        ("rows of other tables of long ago are still being read", {"idle": False}, 50.0),
        ("reading has begun, and nothing is known of its place", {"idle": False, "read_time": 0.0}, 10.0),
        ("a row waits for its commit", {"waiting_since": 97.5}, 97.5),
        ("a row waits whose statement had begun before the source was heard last", {"waiting_since": 9.0}, 10.0),
        ("there is more to read", {"drained": False}, 10.0),
        ("there is more to read, and nothing was committed", {"drained": False, "known_until": 0.0}, 0.0),
    ],
)
def test_only_what_is_in_the_lake_is_claimed(why: str, changes: dict[str, float], expected: float) -> None:
    """Up to the last sign of life of a source that had nothing more; never less than before."""
    assert of_reading(replace(CAUGHT_UP, **changes)) == expected, why


@pytest.mark.parametrize(
    ("why", "changes", "expected"),
    [
        ("between two heartbeats", {}, True),
        ("heartbeats stopped", {"heard_at": 94.9}, False),
        ("a row waits", {"waiting_since": 99.5}, False),
        ("something that was read is not committed", {"drained": False}, False),
        ("there is more to read", {"idle": False}, False),
    ],
)
def test_who_is_caught_up_and_in_touch_has_no_lag(why: str, changes: dict[str, float], *, expected: bool) -> None:
    """The time between two signs of life of a quiet source is none."""
    assert in_touch(replace(CAUGHT_UP, **changes), 100.0) is expected, why


@pytest.mark.parametrize(
    ("why", "stop", "stale", "waits", "expected"),
    [
        ("it streams", None, None, None, 90.0),
        ("a change waits", None, None, 70.0, 70.0),
        ("it was stopped", Stop(reason="x", synced_until=40.0), None, None, 40.0),
        ("it was stopped by an earlier version", Stop(reason="x"), None, None, None),
        ("its first rows are being read", None, 0.0, None, None),
        ("it was stopped, and is read anew", None, 40.0, 70.0, 40.0),
        ("it was stopped, was read anew, and stopped once more", Stop(reason="x", synced_until=40.0), 30.0, None, 40.0),
    ],
)
def test_a_table_is_no_fresher_than_its_rows(
    why: str, stop: Stop | None, stale: float | None, waits: float | None, expected: float | None
) -> None:
    """Of one that is not read, or read anew, what it had counts, until the new rows are there."""
    channel = replace(make_channel(), stopped=stop)
    assert of_table(channel, stale=stale, waits=waits, job=90.0) == expected, why


def test_the_oldest_of_many_counts() -> None:
    """Nothing is known of a job where nothing is known of a table."""
    assert oldest([90.0, 40.0]) == 40.0
    assert oldest([90.0, None]) is None
    assert oldest([]) is None
