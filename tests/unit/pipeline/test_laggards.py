from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel import channel_state
from syncmgr.job.channel.channel_state import ChannelState, Rows, Standing, Stop
from syncmgr.job.epoch import ChannelCommitted, Epoch, StagedFile
from syncmgr.job.position import Position
from syncmgr.pipeline.laggards import Laggards
from syncmgr.pipeline.standings import Standings
from tests.support.until import until
from tests.unit.job.factories import make_channel

FULL = SyncError(Code.LAKE_FULL, reason="disk")
FENCED = SyncError(Code.FENCED, table="b", found=2, epoch=1)
REPLACED = SyncError(Code.TARGET_REPLACED, table="demo.a", snapshot=1, epoch=1, remedy="stop the job")
DONE = ChannelCommitted(snapshot=1)
ALTERED = SyncError(Code.SNAPSHOT_BROKEN, table="b", reason="a column is gone", altered=True)


class Bench:
    """Two channels, a and b, whose commits end when and how the test says."""

    def __init__(self, limit: int = 1000, gathers: int = 1) -> None:
        """`gathers`: so many epochs at a time."""
        self.gathers = gathers
        self.asked: list[tuple[str, int]] = []
        self.took: list[tuple[str, int]] = []
        self.answers: list[ChannelCommitted | SyncError] = []
        self.standings = Standings([make_channel(token=token) for token in ("a", "b")])
        self.laggards = Laggards(
            {"a": "demo.a", "b": "demo.b"}, self.submit, self.took_in, self.gather, lambda: limit, self.standings
        )

    def read(self, token: str) -> None:
        """The rows of a table are being read."""
        self.standings.change(token, lambda standing: channel_state.begun(standing, Rows(), at=0.0))

    def bring(self, token: str) -> None:
        """They are there."""
        self.standings.change(token, lambda standing: channel_state.read(standing, at=0.0))

    def gather(self, token: str, epochs: Sequence[Epoch]) -> Epoch:
        taken = epochs[: self.gathers]
        return replace(taken[-1], files={token: tuple(file for each in taken for file in each.files[token])})

    def submit(self, token: str, epoch: Epoch) -> Future[ChannelCommitted] | None:
        if self.standings[token].rows is not None:
            return None
        self.asked.append((token, epoch.number))
        future: Future[ChannelCommitted] = Future()
        answer = self.answers.pop(0) if self.answers else FULL
        if isinstance(answer, SyncError):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        return future

    def took_in(self, token: str, epoch: Epoch, _outcome: ChannelCommitted) -> None:
        self.took.append((token, epoch.number))


def epoch(number: int, size: int = 100) -> Epoch:
    file = StagedFile(path=f"/staged/{number}", rows=1, bytes=size)
    return Epoch(number=number, end=Position(), last_seq=number, files={"a": (file,), "b": (file,)}, source_time=number)


def test_epochs_are_applied_in_order_and_one_at_a_time() -> None:
    """Whatever came behind waits, and the channel is a laggard no more once all of it is in."""
    bench = Bench()
    for number in (1, 2, 3):
        bench.laggards.add("b", epoch(number))
    assert bench.standings["b"] == Standing(state=ChannelState.BEHIND, since=1, waits=1)
    bench.answers = [DONE] * 3
    for _ in range(4):
        bench.laggards.tend()
    assert bench.standings["b"] == Standing()
    assert bench.asked == bench.took == [("b", 1), ("b", 2), ("b", 3)]
    assert "b" not in bench.laggards
    assert bench.laggards.shown() == ()


def test_the_log_tells_of_each_table_that_is_behind(caplog: pytest.LogCaptureFixture) -> None:
    """Once for each reason, however often it is retried, and when it goes on: Msg has room for one table alone."""
    bench, caplog_of = Bench(), "syncmgr.pipeline.laggards"
    caplog.set_level("INFO", caplog_of)
    for token in ("a", "b"):
        bench.laggards.add(token, epoch(1), FULL)
    bench.answers = [FULL, FULL, REPLACED, DONE, DONE]
    for _ in range(3):
        with suppress(SyncError):  # nothing of the job goes on meanwhile
            bench.laggards.retry()
    lines = [record.getMessage().partition(":")[0] for record in caplog.records if record.name == caplog_of]
    assert lines == [
        "table demo.a is behind, and is retried",
        "table demo.b is behind, and is retried",
        "table demo.a is behind, and is retried",
        "table demo.b takes commits again; 0 epochs wait",
        "table demo.a takes commits again; 0 epochs wait",
    ]


def test_many_epochs_go_in_at_once() -> None:
    """But for the one that has failed, so that what comes behind it does not grow it."""
    bench = Bench(gathers=3)
    for number in (1, 2, 3, 4, 5, 6):
        bench.laggards.add("b", epoch(number), FULL if number == 1 else None)
    bench.answers = [DONE] * 3
    bench.laggards.retry()
    assert bench.took == [("b", 1)]
    assert [(each.epochs, each.bytes) for each in bench.laggards.shown()] == [(3, 500)]
    bench.laggards.retry()
    bench.laggards.retry()
    assert bench.took == [("b", 1), ("b", 4), ("b", 6)]
    assert "b" not in bench.laggards


def test_one_whose_commit_may_have_landed_is_tried_alone() -> None:
    """Also where what failed concerns the whole job: its table may bear that epoch, and a later one would not fit."""
    bench = Bench(gathers=3)
    bench.answers = [DONE, SyncError(Code.LAKE_STARTING, reason="the JVM died"), DONE, DONE]
    for number in (1, 2):
        bench.laggards.add("b", epoch(number), FULL if number == 1 else None)
    bench.laggards.retry()
    for number in (3, 4):
        bench.laggards.add("b", epoch(number))
    with pytest.raises(SyncError, match="the JVM died"):
        bench.laggards.retry()
    bench.laggards.retry()
    bench.laggards.retry()
    assert bench.took == [("b", 1), ("b", 2), ("b", 4)]


def test_one_that_fails_again_waits_longer_and_is_told() -> None:
    """It is not tried at every look, and Msg has table, size and reason."""
    bench = Bench()
    bench.laggards.add("b", epoch(1), FULL)
    bench.laggards.add("b", epoch(2))
    for _ in range(5):
        bench.laggards.tend()
    assert bench.asked == []
    trouble = bench.laggards.trouble()
    assert trouble is not None
    assert "Table 'demo.b' cannot be committed, and is 2 epochs (200 bytes) behind" in str(trouble)
    (behind,) = bench.laggards.shown()
    assert (behind.since, behind.error) == (1, FULL)


def test_one_that_has_caught_up_but_for_one_epoch_is_waited_for() -> None:
    """Then it commits the next one with the others; those that fail, or have more left, are not waited for."""
    bench = Bench()
    bench.laggards.add("a", epoch(1), FULL)
    bench.laggards.add("b", epoch(1))
    bench.answers = [DONE] * 2
    bench.laggards.rejoin()
    assert ("b" in bench.laggards, bench.took) == (False, [("b", 1)])
    for number in (2, 3, 4):
        bench.laggards.add("b", epoch(number))
    bench.laggards.rejoin()
    assert "b" in bench.laggards


def test_one_that_waits_for_its_snapshot_does_not_fail() -> None:
    """That is told, and nothing that somebody should mend, unless another one fails; it goes on soon behind it."""
    bench = Bench()
    bench.read("b")
    bench.laggards.add("b", epoch(1))
    bench.laggards.tend()
    assert told(bench) is Code.SNAPSHOT_OPEN
    bench.laggards.add("a", epoch(1), FULL)
    assert told(bench) is Code.CHANNEL_BEHIND
    bench.answers = [DONE]
    bench.bring("b")
    until(lambda: bench.laggards.tend() or "b" not in bench.laggards)


def told(bench: Bench) -> Code | None:
    trouble = bench.laggards.trouble()
    return None if trouble is None else trouble.code


def test_one_that_catches_up_is_no_trouble() -> None:
    """What stands still is told, not what moves."""
    bench = Bench()
    bench.laggards.add("b", epoch(1))
    assert bench.laggards.trouble() is None


def test_a_standstill_of_all_is_the_job_s() -> None:
    """With one channel left the job goes on; with none it has the error."""
    bench = Bench()
    bench.laggards.add("b", epoch(1), FULL)
    bench.laggards.refuse_standstill({})
    with pytest.raises(SyncError) as caught:
        bench.laggards.refuse_standstill({"a": FENCED})
    assert caught.value is FULL


def test_tables_that_are_all_read_anew_are_no_standstill() -> None:
    """Their changes are staged meanwhile, and a statement among them may have to be met."""
    bench = Bench()
    bench.laggards.refuse_standstill({t: SyncError(Code.SNAPSHOT_OPEN, table=f"shop.{t}") for t in ("a", "b")})


def test_what_concerns_the_whole_job_is_raised() -> None:
    """A frontend that was replaced must not go on with the other tables."""
    bench = Bench()
    bench.laggards.add("b", epoch(1))
    bench.answers = [FENCED]
    with pytest.raises(SyncError) as caught:
        bench.laggards.retry()
    assert caught.value is FENCED


def test_a_reading_that_fails_for_the_whole_job_is_raised() -> None:
    """Its thread has ended, so only a new run reads on."""
    bench = Bench()
    bench.read("b")
    bench.laggards.add("b", epoch(1))
    bench.laggards.tend()
    bench.standings.change("b", lambda standing: channel_state.failed(standing, FENCED, at=0.0))
    with pytest.raises(SyncError) as caught:
        bench.laggards.tend()
    assert caught.value is FENCED


def test_too_much_waits_for_what_moves_and_refuses_what_does_not() -> None:
    """Past the limit reading stops until the channel has caught up; where it fails, the job pauses."""
    bench = Bench(limit=150)
    for number in (1, 2, 3):
        bench.laggards.add("b", epoch(number))
    bench.answers = [DONE, DONE, FULL]
    bench.laggards.make_room(lambda: False)
    assert bench.took == [("b", 1), ("b", 2)]
    bench.laggards.add("b", epoch(4), FULL)
    with pytest.raises(SyncError) as caught:
        bench.laggards.make_room(lambda: False)
    assert caught.value.code is Code.BACKLOG_WAITS
    bench.laggards.make_room(lambda: True)


def test_too_much_that_waits_for_a_snapshot_holds_up_reading() -> None:
    """Until its rows are there, not with an error: the job goes on, only later; and not before they can be read."""
    bench = Bench(limit=150)
    bench.read("b")
    for number in (1, 2):
        bench.laggards.add("b", epoch(number))
    bench.laggards.make_room(lambda: False, for_snapshots=False)
    bench.answers = [DONE, DONE]
    looks: list[None] = []

    def ending() -> bool:
        looks.append(None)
        if len(looks) == 2:
            bench.bring("b")
        return False

    bench.laggards.make_room(ending)
    assert len(looks) > 1
    assert ("b", 1) in bench.took


def test_a_run_that_ends_keeps_what_a_commit_has_brought() -> None:
    """A commit under way at the end counts; one that fails then is tried by the next run."""
    bench = Bench()
    for token in ("a", "b"):
        bench.laggards.add(token, epoch(1))
    bench.answers = [DONE, FULL]
    bench.laggards.tend()
    bench.laggards.settle()
    assert bench.took == [("a", 1)]


@pytest.mark.parametrize("stop", [None, Stop(reason="a statement")], ids=["altered", "stopped"])
def test_nobody_waits_for_rows_that_only_a_later_statement_brings(stop: Stop | None) -> None:
    """Their changes go beyond the limit, since the statement, or RESYNC, is reached by reading on alone."""
    bench = Bench(limit=50)
    bench.read("b")
    bench.standings.change("b", partial(channel_state.failed, error=ALTERED, at=1.0))
    if stop is not None:
        bench.standings.change("b", partial(channel_state.stopped, stop=stop, at=2.0))
    bench.laggards.add("b", epoch(1))
    bench.laggards.make_room(lambda: pytest.fail("it waits"))
