"""Epochs of one run, one after the other, and what comes behind each."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch, StagedFile, Thresholds
from syncmgr.job.position import Position
from syncmgr.pipeline import committer
from syncmgr.pipeline.messages import Limits, Progress
from syncmgr.pipeline.run import JobRun
from syncmgr.pipeline.run_options import Listeners, RunOptions
from tests.support.fakes import BatchSource, MemoryLake, MemoryLedger
from tests.support.until import HANG_SECOND
from tests.unit.job.factories import make_channel, make_rules, make_source_table

STARTING = SyncError(Code.LAKE_STARTING, reason="Spark's JVM is gone")
GOOD, BAD = (make_channel(token=name, source=make_source_table(name=name), target=name) for name in ("good", "bad"))


class Lake(MemoryLake):
    """Table `bad` takes the first epoch that waits for it; in the midst of the second Spark ends, once `good` has
    followed a statement.
    """

    def __init__(self) -> None:
        super().__init__()
        self.followed = threading.Event()
        self.taken: list[int] = []

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        if commit.token == "bad" and self.taken:
            assert self.followed.wait(HANG_SECOND)
            raise STARTING
        self.taken.append(commit.epoch)
        return ChannelCommitted(snapshot=commit.epoch)

    def alter(self, _alter: ChannelAlter) -> ChannelCommitted:
        self.followed.set()
        return ChannelCommitted(snapshot=None)


@dataclass
class Bench:
    """A run that nobody has started; `backlog`: bytes that may wait for a table."""

    folder: Path
    pool: ThreadPoolExecutor
    lake: Lake = field(default_factory=Lake)
    ledger: MemoryLedger = field(default_factory=lambda: MemoryLedger(("good", "bad")))
    troubles: list[SyncError | None] = field(default_factory=list)
    backlog: int = 10**9

    def run(self) -> JobRun:
        thresholds = Thresholds(interval_second=0.01, min_events=1, min_bytes=1, max_bytes=1)
        sizes: dict[str, Any] = {"max_staged_bytes": 10**9, "queue_batches": 64, "queue_bytes": 10**9}
        options = RunOptions(
            job_id=1,
            name="demo.job1",
            channels=(GOOD, BAD),
            rules=make_rules(),
            folder=self.folder,
            limits=lambda: Limits(thresholds=thresholds, position_interval_second=0.2, **sizes),
            retry=Retry,
            max_backlog_bytes=lambda: self.backlog,
            finish_second=lambda: HANG_SECOND,
        )
        listeners = Listeners(on_trouble=self.troubles.append, on_end=lambda *_: None)
        return JobRun(options, self.ledger, self.lake, self.pool, BatchSource(()), listeners)

    def left(self, *numbers: int) -> None:
        """Epochs that an earlier life could not commit to `bad`."""
        for number in numbers:
            path = self.folder / f"{number}.parquet"
            pq.write_table(pa.table({"id": [number]}), path)
            file = StagedFile(path=str(path), rows=1, bytes=path.stat().st_size)
            epoch = Epoch(number=number, end=Position(offset=number), last_seq=number, files={"bad": (file,)})
            self.ledger.stored.append((epoch, True))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ThreadPoolExecutor(2) as pool:
        yield Bench(tmp_path, pool)


def test_a_statement_that_is_stored_is_followed_whatever_fails_behind_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on when that has passed, from behind the statement: by the columns of before it would read values
    into columns that have changed their names.
    """
    monkeypatch.setattr(committer, "GATHERED_BYTES", 0)
    bench.left(1, 2, 3)
    run = bench.run()
    run._commits.finish_intents()
    bench.backlog = 0
    renamed = replace(GOOD, source=make_source_table(name="other"))
    step = DdlStep(statement="RENAME TABLE good TO other", channels={"good": renamed}, changes={"good": ()})
    with pytest.raises(SyncError) as caught:
        run._commits.commit(Epoch(number=4, end=Position(offset=4), last_seq=3, ddl=step))
    assert caught.value is STARTING
    assert bench.ledger.intents() == []
    assert [channel.source.name for channel in run._channels.now] == ["other", "bad"]


DIED = SyncError(Code.WORKER_DIED, status=-9)
QUIET = Progress(
    rows=0, bytes=0, heard_at=9.0, caught_up_at=9.0, read_time=0.0, drained=True, sent=0, full=False, open_since=None
)


@pytest.mark.parametrize(
    ("progress", "passes"),
    [
        (QUIET, True),
        (replace(QUIET, caught_up_at=0.0), False),
        (replace(QUIET, drained=False), False),
        (replace(QUIET, sent=1), False),
    ],
    ids=["all is in", "nobody knows", "rows are staged", "an epoch is sent"],
)
def test_a_trouble_has_passed_once_all_that_the_source_has_is_in(
    bench: Bench, progress: Progress, *, passes: bool
) -> None:
    """A source that is quiet from then on has nothing to commit: Msg kept the death of a worker for as long, and each
    further one was counted as if none had been replaced.
    """
    run = bench.run()
    run._commits.heard(replace(QUIET, caught_up_at=0.0))
    bench.troubles.clear()
    waits = {run._health.failed(Retry()) for _ in range(3)}
    run._health.report(DIED)
    run._commits.heard(progress)
    assert bench.troubles == ([DIED, None] if passes else [DIED])
    assert (run._health.failed(Retry()) in waits) is passes
