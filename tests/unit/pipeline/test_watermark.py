from dataclasses import replace

from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position
from syncmgr.pipeline.messages import Progress
from syncmgr.pipeline.watermark import Watermark

NOW = 100.0
QUIET = Progress(
    rows=0,
    bytes=0,
    heard_at=99.9,
    caught_up_at=95.0,
    read_time=50.0,
    drained=True,
    sent=3,
    full=False,
    open_since=None,
)
LAST = Epoch(number=3, end=Position(), last_seq=0, source_time=50.0)
NEXT = Epoch(number=4, end=Position(), last_seq=9, source_time=98.0, oldest_time=96.0)


def watermark() -> Watermark:
    found = Watermark(40.0, lambda: NOW)
    assert (found.until(), found.reading()) == (40.0, None)
    found.begins(LAST)
    assert found.until() == 50.0
    found.heard(QUIET)
    assert found.until() == 95.0
    return found


def test_what_the_worker_says_overtakes_its_epochs() -> None:
    """All that was read is sent, but not in the lake before the last epoch sent is."""
    mark = watermark()
    mark.heard(replace(QUIET, sent=4, caught_up_at=99.0))
    assert mark.until() == 95.0
    mark.commits(NEXT)
    mark.heard(replace(QUIET, sent=4, caught_up_at=99.5))
    reading = mark.reading()
    assert reading is not None
    assert (reading.waiting_since, reading.drained, mark.until()) == (96.0, False, 96.0)
    mark.committed()
    assert mark.until() == 99.5, "the worker had read nothing after it when it said so"


def test_rows_of_an_older_session_came_after_what_was_known() -> None:
    """A session may have set its time back by a day: a table that waits with its rows is no day old."""
    mark = watermark()
    assert mark.commits(replace(NEXT, oldest_time=10.0)).since == 95.0
    assert mark.commits(NEXT) == NEXT
    assert mark.commits(replace(NEXT, oldest_time=0.0, source_time=0.0)).since == 0.0, "nobody knows"


def test_a_worker_that_is_lost_takes_nothing_back() -> None:
    """Also an epoch that failed half way: what was known before it stays known, and no more."""
    mark = watermark()
    mark.commits(NEXT)
    mark.lost()
    assert (mark.reading(), mark.committing(), mark.until()) == (None, None, 95.0)
    mark.begins(LAST)
    assert mark.until() == 95.0


def test_a_commit_lifts_nothing_over_rows_that_are_staged_after_it() -> None:
    """Neither what it brought nor what the worker said before counts for a row that waits with an older time."""
    mark = watermark()
    mark.commits(NEXT)
    mark.heard(replace(QUIET, sent=4, caught_up_at=95.5, drained=False, open_since=96.5))
    mark.committed()
    assert mark.until() == 96.5


def test_nothing_is_known_of_later_than_now() -> None:
    """A source's clock may be ahead of ours, and so may the time that a session has set."""
    mark = watermark()
    mark.heard(replace(QUIET, caught_up_at=3700.0))
    assert mark.until() == NOW
    mark.commits(replace(NEXT, source_time=3700.0, oldest_time=3600.0))
    mark.committed()
    assert mark.until() == NOW
