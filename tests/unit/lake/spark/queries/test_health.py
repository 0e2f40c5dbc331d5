from dataclasses import replace

from syncmgr.lake.spark.queries.health import (
    IDLE_SECOND,
    MOST_LINGER_SECOND,
    MOST_PULSE_SECOND,
    PulseTimes,
    excused,
    hoards,
    is_idle,
    overflowing,
    wedged,
)

AT_REST = PulseTimes(pulse_since=None, given_up=(), in_use=False, used=0.0)


def test_a_healthy_engine_is_kept() -> None:
    """Between two heartbeats, in the middle of one, and while a query that was cancelled has yet to hear it."""
    assert wedged(AT_REST, 1e6) is None
    assert wedged(PulseTimes(pulse_since=100.0, given_up=(100.0,), in_use=True, used=100.0), 109.0) is None


def test_a_late_heartbeat_is_the_end() -> None:
    """However many queries are asked."""
    late = PulseTimes(pulse_since=100.0, given_up=(), in_use=False, used=0.0)
    assert wedged(late, 100.0 + MOST_PULSE_SECOND) is None
    assert "has not answered for 31 seconds" in str(wedged(late, 101.0 + MOST_PULSE_SECOND))


def test_the_query_that_was_cancelled_first_counts() -> None:
    """The others may be young."""
    vitals = PulseTimes(pulse_since=None, given_up=(100.0, 50.0, 99.0), in_use=True, used=100.0)
    assert wedged(vitals, 50.0 + MOST_LINGER_SECOND) is None
    assert "went on for 11 seconds" in str(wedged(vitals, 51.0 + MOST_LINGER_SECOND))


def test_a_time_without_a_core_is_excused_for_the_most_part() -> None:
    """A fifth of any time counts: an engine that takes all cores forever is late in the end."""
    assert excused(10.0, 0.0) == 0.0
    assert excused(10.0, 5.0) == 5.0
    assert excused(10.0, 10.0) == 8.0


def test_what_is_spilled_is_bounded() -> None:
    """Both numbers' names are told; half of it is when garbage is looked for."""
    spilled = replace(AT_REST, spilled=3 << 30)
    assert overflowing(spilled, 3 << 30) is None
    assert overflowing(spilled, (3 << 30) - 1) == (
        "queries have spilled 3072 MiB to the disk, more than query_spill_bytes allows"
    )
    assert (hoards(100, 200), hoards(101, 200)) == (False, True)


def test_an_engine_is_idle_an_hour_after_its_last_query() -> None:
    """Not while one is read, nor while one that was cancelled goes on."""
    later = IDLE_SECOND + 1
    assert is_idle(AT_REST, later)
    assert not is_idle(AT_REST, IDLE_SECOND)
    assert not is_idle(PulseTimes(pulse_since=None, given_up=(), in_use=True, used=0.0), later)
    assert not is_idle(PulseTimes(pulse_since=None, given_up=(later,), in_use=False, used=0.0), later)
