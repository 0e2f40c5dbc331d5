from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from syncmgr.control.running.retained_binlogs import FAILED_SECOND, RetainedBinlogs
from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position
from syncmgr.job.source import SourceDescription
from syncmgr.job.source_history.retained import Retained
from syncmgr.job.sync_job import JobId, SyncJob
from tests.unit.job.factories import make_canal, make_job, make_source

ASK_SECOND = 30.0
FUTURE = 1e12  # nothing has counted down yet


@dataclass
class Shelf:
    """Jobs, their places, and a source that is asked."""

    here: list[SyncJob] = field(default_factory=list)
    asked: list[tuple[str, list[int]]] = field(default_factory=list)
    down: bool = False
    now: float = 1000.0

    @property
    def jobs(self) -> "Shelf":
        return self

    @property
    def epochs(self) -> "Shelf":
        return self

    def all(self, *, live: bool) -> list[SyncJob]:
        assert live
        return self.here

    def last(self, job_id: int) -> Epoch:
        return Epoch(number=1, end=Position(file="f", offset=job_id), last_seq=0)

    def ask(self, source: SourceDescription, starts: Sequence[Position]) -> list[Retained] | None:
        self.asked.append((source.address, [start.offset for start in starts]))
        if self.down:
            raise SyncError(Code.SOURCE_UNREACHABLE, address=source.address, reason="away")
        return (
            None
            if source.kind == "CANAL"
            else [Retained(left_second=start.offset, lag_bytes=start.offset * 2, at=FUTURE) for start in starts]
        )

    def retained(self) -> RetainedBinlogs:
        store: Any = self
        return RetainedBinlogs(store, self.ask, lambda: 5.0, lambda: ASK_SECOND, lambda: self.now)


def job(number: int, **told: Any) -> SyncJob:
    return make_job(id=JobId(number), **told)


def test_each_source_is_asked_once_for_all_of_its_jobs() -> None:
    """And not again before its time, whatever the number of ticks; jobs get the answers about their own places."""
    shelf = Shelf([job(7), job(8), job(9, source=make_source(host="other")), job(10, source=make_canal())])
    retained = shelf.retained()
    assert retained.left(shelf.here[0]) is None
    for _ in range(3):
        retained.look()
    assert shelf.asked == [("db1:3306", [7, 8]), ("other:3306", [9]), ("canal1:11111", [10])]
    assert [retained.left(each) for each in shelf.here] == [7, 8, 9, None]
    assert [retained.lag_bytes(each) for each in shelf.here] == [14, 16, 18, None]
    warned = [retained.warning(each, left) is not None for each, left in zip(shelf.here, (7, 4, None, 5), strict=True)]
    assert warned == [False, True, False, False]
    shelf.now += ASK_SECOND
    retained.look()
    assert len(shelf.asked) == 6


def test_a_source_that_is_away_is_asked_less_often() -> None:
    """What it has said before stays, and counts down; a job that is gone is forgotten."""
    shelf = Shelf([job(7)])
    retained = shelf.retained()
    retained.look()
    shelf.down = True
    for _ in range(10):
        shelf.now += ASK_SECOND
        retained.look()
    assert len(shelf.asked) == 2 + (9 * ASK_SECOND >= FAILED_SECOND)
    assert retained.left(shelf.here[0]) is not None
    gone = shelf.here.pop()
    retained.look()
    assert retained.left(gone) is None
