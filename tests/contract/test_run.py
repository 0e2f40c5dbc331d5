import os
import random
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.description import AppendOnChange
from syncmgr.job.epoch import Thresholds
from syncmgr.job.failure import FailType
from syncmgr.pipeline.messages import Limits
from syncmgr.pipeline.run import JobRun, Listeners, RunOptions
from tests.fakes import MemoryLake, MemoryLedger, ScriptedSource, scripted_rows
from tests.unit.job.factories import make_channel
from tests.until import until

QUICK = Thresholds(interval_second=0.05, min_events=10_000, min_bytes=10**9, max_bytes=10**9)
LOST = SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused")


class Bench:
    """One job on fakes: its ledger and lake outlive its runs, as they do in the product."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lake = MemoryLake()
        self.ledger = MemoryLedger(("token-1",))
        self.pool = ThreadPoolExecutor(2)
        self.troubles: list[SyncError | None] = []
        self.ends: list[tuple[SyncError | None, FailType]] = []
        self.thresholds = QUICK
        self.max_staged_bytes = 10**9

    def start(self, source: ScriptedSource) -> JobRun:
        options = RunOptions(
            job_id=1,
            name="demo.job1",
            channels=(make_channel(reads=("id", "version")),),
            append_on_change=AppendOnChange.ERROR,
            folder=self.folder,
            silence_second=5.0,
            limits=self.limits,
            max_retry=lambda: 3,
        )
        listeners = Listeners(
            on_trouble=self.troubles.append,
            on_end=lambda error, kind: self.ends.append((error, kind)),
        )
        run = JobRun(options, self.ledger, self.lake, self.pool, source, listeners)
        run.start()
        return run

    def limits(self) -> Limits:
        return Limits(
            thresholds=self.thresholds,
            position_interval_second=0.2,
            max_staged_bytes=self.max_staged_bytes,
        )

    def caught_up(self, transactions: int) -> bool:
        return self.ledger.last_epoch().end.offset == transactions and not self.ledger.intents()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.pool.shutdown(wait=True)


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if _is_worker(child)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "multiprocessing.spawn" in " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def test_every_transaction_reaches_the_lake_once(bench: Bench) -> None:
    """What the source wrote is in the lake, in order, and `_seq` is unique over epochs."""
    run = bench.start(ScriptedSource(transactions=300))
    until(lambda: bench.caught_up(300), deadline=20)
    run.finish()
    assert run.join(20)
    assert bench.lake.rows == scripted_rows(300)
    assert bench.lake.sequence == sorted(set(bench.lake.sequence))
    assert bench.ends == [(None, FailType.UNKNOWN)]
    assert list(bench.folder.rglob("*.parquet")) == []


def test_a_killed_worker_loses_and_doubles_nothing(bench: Bench) -> None:
    """Workers die at random moments; the run starts new ones, and the lake equals the source."""
    bench.thresholds = Thresholds(interval_second=0.01, min_events=1, min_bytes=1, max_bytes=200)
    dice = random.Random(7)
    kills = 0

    def kill_sometimes(_: object) -> None:
        nonlocal kills
        if kills < 8 and dice.random() < 0.3:
            kills += 1
            for worker in workers():
                os.kill(worker.pid, signal.SIGKILL)

    bench.lake.before_commit = kill_sometimes
    bench.lake.after_commit = kill_sometimes
    run = bench.start(ScriptedSource(transactions=400))
    until(lambda: bench.caught_up(400), deadline=60)
    run.finish()
    assert run.join(20)
    assert kills > 0
    assert bench.lake.rows == scripted_rows(400)
    assert bench.lake.sequence == sorted(set(bench.lake.sequence))


def test_a_crash_between_any_two_steps_is_resumed(bench: Bench) -> None:
    """A commit whose outcome was lost is passed over by its token; one that did not happen is done."""
    failures = iter([LOST, LOST])
    bench.lake.before_commit = lambda _: _raise_next(failures)
    after = iter([LOST])
    bench.lake.after_commit = lambda _: _raise_next(after)
    run = bench.start(ScriptedSource(transactions=50))
    until(lambda: bench.caught_up(50), deadline=20)
    run.finish()
    assert run.join(20)
    assert bench.lake.rows == scripted_rows(50)
    assert bench.lake.sequence == sorted(set(bench.lake.sequence))
    assert [str(trouble) for trouble in bench.troubles if trouble] == [str(LOST)] * 3
    assert bench.troubles[-1] is None, "success clears the trouble"


def _raise_next(errors: Iterator[SyncError]) -> None:
    error = next(errors, None)
    if error is not None:
        raise error


def test_what_an_operator_must_mend_ends_the_run_with_whole_epochs(bench: Bench) -> None:
    """A bad value stops the job at once; every transaction before it is in the lake."""
    bad = SyncError(Code.SOURCE_VALUE, column="at", table="shop.orders", value="a zero date", reason="no such day")
    run = bench.start(ScriptedSource(transactions=99, fails_at=20, error=bad))
    assert run.join(20)
    assert [(str(error), kind) for error, kind in bench.ends] == [(str(bad), FailType.SUBMIT_FAIL)]
    assert bench.lake.rows == scripted_rows(19)


def test_a_passing_trouble_pauses_after_max_retry(bench: Bench) -> None:
    """What stays broken is told each time, and after max_retry tries the run gives up with the cause."""
    bench.lake.before_commit = lambda _: _raise_next(iter([LOST]))
    run = bench.start(ScriptedSource(transactions=5))
    assert run.join(30)
    assert len(bench.troubles) == 3
    assert [(str(error), kind) for error, kind in bench.ends] == [(str(LOST), FailType.RUN_FAIL)]


def test_a_ddl_that_changes_rows_silently_stops_the_run(bench: Bench) -> None:
    """A TRUNCATE is not followed yet: the epoch before it is committed, then the job says what to do."""
    run = bench.start(ScriptedSource(transactions=50, ddl_after=10))
    assert run.join(20)
    assert bench.lake.rows == scripted_rows(10)
    (error, _kind) = bench.ends[0]
    assert error is not None
    assert error.code is Code.SOURCE_DDL
    assert "TRUNCATE orders" in str(error)


def test_a_run_that_hears_its_source_clears_old_troubles(bench: Bench) -> None:
    """A job that resumed by itself shows no stale Msg, also where its source has nothing to say."""
    run = bench.start(ScriptedSource(transactions=0))
    until(lambda: bench.troubles == [None], deadline=20)
    run.abandon()
    assert run.join(5)


def test_abandon_ends_at_once(bench: Bench) -> None:
    """STOP does not wait for the source; no worker is left."""
    run = bench.start(ScriptedSource(transactions=1))
    until(lambda: bench.caught_up(1), deadline=20)
    run.abandon()
    assert run.join(5)
    assert workers() == []


def test_reading_waits_when_too_much_is_staged(bench: Bench) -> None:
    """Past max_staged_bytes the worker stops reading until commits have caught up, and then goes on."""
    bench.max_staged_bytes = 300
    run = bench.start(ScriptedSource(transactions=60))
    until(lambda: bench.caught_up(60), deadline=30)
    run.finish()
    assert run.join(20)
    assert bench.lake.rows == scripted_rows(60)
    assert len(bench.lake.epochs) > 10
