import time

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.rows.batch import Batch
from syncmgr.sources.reconnect import Reconnector
from tests.support.fakes import make_batch

GONE = SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused")


def make_line(**retry: float) -> tuple[Reconnector, list[SyncError | None]]:
    told: list[SyncError | None] = []
    return Reconnector(Retry(**retry), told.append), told  # type: ignore[arg-type]


def nothing() -> Batch | None:
    return None


def fail() -> Batch | None:
    raise GONE


def test_every_failure_is_told_at_once_and_its_end_once() -> None:
    """Msg shows a trouble from its first moment until the other side answers."""
    line, told = make_line(first=0.0)
    line.lost(GONE)
    line.lost(GONE)
    line.connected()
    assert told == [GONE, GONE, None]


def test_a_connection_that_brought_rows_ends_the_series() -> None:
    """Only what fails in a row counts."""
    line, told = make_line(first=0.0, times=1)
    for _ in range(5):
        line.lost(GONE)
        line.connected()
        line.progressed()
    assert told == [GONE, None] * 5


def test_what_lasts_too_long_is_raised() -> None:
    """By number, where there is no patience to wait for."""
    line, told = make_line(first=0.0, times=2)
    line.lost(GONE)
    line.lost(GONE)
    with pytest.raises(SyncError):
        line.lost(GONE)
    assert told == [GONE, GONE]


def test_the_next_attempt_waits_no_longer_than_asked() -> None:
    """A caller with a deadline gets its turn back, and is told that it is too early."""
    line, _ = make_line(first=60.0)
    assert line.is_due(time.monotonic())
    line.lost(GONE)
    assert not line.is_due(time.monotonic() + 0.01)


def test_what_was_whole_comes_before_the_error_that_ended_it() -> None:
    """Once; then the error, again and again, without another attempt."""
    line, _ = make_line()
    last = make_batch()
    assert line.get(fail, lambda: last) is last
    for _ in range(2):
        with pytest.raises(SyncError):
            line.get(nothing, nothing)


def test_a_closed_line_reads_nothing_and_complains_of_nothing() -> None:
    """Whatever is lost after the end is no trouble."""
    line, told = make_line(times=0)
    line.close()
    line.lost(GONE)
    assert line.get(fail, nothing) is None
    assert told == []
