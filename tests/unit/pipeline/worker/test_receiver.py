import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import Thresholds
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch
from syncmgr.pipeline.messages import ChannelsAltered, Finish, Limits, Retune, ToWorker
from syncmgr.pipeline.worker import worker
from syncmgr.pipeline.worker.consumer import Inbox
from syncmgr.pipeline.worker.receiver import Receiver
from tests.support.until import HANG_SECOND, until

if TYPE_CHECKING:
    from syncmgr.pipeline.worker.worker import Pipe

THRESHOLDS = Thresholds(interval_second=1, min_events=1, min_bytes=1, max_bytes=1)


def make_limits(**overrides: int) -> Limits:
    facts = {"max_staged_bytes": 1, "queue_batches": 5, "queue_bytes": 1000}
    return Limits(thresholds=THRESHOLDS, position_interval_second=1.0, **(facts | overrides))


@dataclass
class Flood:
    """A source that gives batches of 100 bytes without end, or until its error."""

    error_at: int = 10**9
    given: int = 0
    closed: threading.Event = field(default_factory=threading.Event)

    def get(self, timeout: float) -> Batch | None:
        if self.given == self.error_at:
            raise SyncError(Code.SOURCE_PROTOCOL, address="a", reason="b")
        self.given += 1
        end = Position(offset=self.given)
        return Batch(changes=(), end=end, open=False, events=1, bytes=100, source_time=0.0)

    def ack(self, end: Position) -> None:
        """Nothing is kept for it."""

    def heard_at(self) -> float:
        return 0.0

    def caught_up_at(self) -> float:
        return 0.0

    def server(self) -> str:
        return ""

    def close(self) -> None:
        self.closed.set()


def stays(source: Flood, count: int) -> bool:
    """Whether so many batches were got, and the reader waits."""
    until(lambda: source.given >= count)
    return source.given == count


@pytest.mark.parametrize(
    ("limits", "count"), [(make_limits(), 5), (make_limits(queue_batches=100), 10), (make_limits(queue_bytes=1), 1)]
)
def test_reading_ahead_is_bounded(limits: Limits, count: int) -> None:
    """By number and by bytes; one batch always has room, and each that is taken makes room for one more."""
    source = Flood()
    receiver = Receiver(source, lambda: limits)
    receiver.start()
    assert stays(source, count)
    batch = receiver.take(5)
    assert batch is not None
    assert batch.end == Position(offset=1)
    assert stays(source, count + 1)
    receiver.stop()
    assert source.closed.is_set()


def test_the_bounds_change_live() -> None:
    """A wider queue is used as soon as the next batch is taken."""
    source, limits = Flood(), [make_limits(queue_batches=1)]
    receiver = Receiver(source, lambda: limits[0])
    receiver.start()
    assert stays(source, 1)
    limits[0] = make_limits(queue_batches=3)
    receiver.take(5)
    assert stays(source, 4)
    receiver.stop()


def test_who_waits_for_a_batch_is_woken() -> None:
    """By what the frontend said, and for one turn; also where that came before the wait."""
    receiver = Receiver(Flood(), make_limits)  # which does not read
    receiver.wake()
    assert receiver.take(HANG_SECOND) is None
    with ThreadPoolExecutor(1) as waiters:
        waiting = waiters.submit(receiver.take, 10 * HANG_SECOND)
        receiver.wake()
        assert waiting.result(HANG_SECOND) is None
    assert receiver.take(0) is None
    receiver.stop()


def test_all_that_the_frontend_says_wakes_the_consumer() -> None:
    """An idle worker looks at nothing by itself for half a second."""
    said: list[ToWorker] = [Finish(), Retune(limits=make_limits(queue_bytes=1)), ChannelsAltered(channels=())]
    woken: list[bool] = []
    inbox = Inbox(make_limits())
    pipe = SimpleNamespace(receive=iter(said).__next__)
    with pytest.raises(StopIteration):
        worker._listen(cast("Pipe", pipe), inbox, Flood(), lambda: woken.append(inbox.finish))
    assert woken == [True] * 3
    assert (inbox.limits.queue_bytes, inbox.altered.get_nowait()) == (1, ())


def test_an_error_comes_behind_the_last_batch() -> None:
    """What was read before the source failed is not lost, and then the error stays."""
    receiver = Receiver(Flood(error_at=2), make_limits)
    receiver.start()
    assert [receiver.take(5) is not None for _ in range(2)] == [True, True]
    for _ in range(2):
        with pytest.raises(SyncError, match="cannot be read"):
            receiver.take(5)
    receiver.stop()
