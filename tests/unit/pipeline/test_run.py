import json
import os
import queue
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

from mysqlddl.reading import ORDINARY
from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.description import Reshaped
from syncmgr.job.channel.patterns import DatabasePattern
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.ddl.ddl_plan import DdlStatement
from syncmgr.job.ddl.ddl_step import DdlState
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.epoch import Epoch, Thresholds
from syncmgr.job.failure import FailType
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch, ChangeKind, Ddl, PreparedChanges
from syncmgr.meta.codec import channel_json, channel_of
from syncmgr.pipeline import worker_process
from syncmgr.pipeline.messages import Limits, WorkerPlan
from syncmgr.pipeline.run import JobRun
from syncmgr.pipeline.run_options import Listeners, RunOptions
from syncmgr.pipeline.supervision import health
from syncmgr.pipeline.worker import worker
from syncmgr.pipeline.worker.worker import OpenSource, ReportTrouble
from tests.support import processes
from tests.support.fakes import (
    BatchSource,
    GivenChanges,
    MemoryLake,
    MemoryLedger,
    OpenedSource,
    ScriptedSource,
    SlowChanges,
    TornSource,
    make_batch,
    scripted_rows,
)
from tests.support.until import HANG_SECOND, until
from tests.unit.job.factories import make_channel, make_rules

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
        self.max_staged_bytes = self.max_backlog_bytes = 10**9
        self.finish_second = 2 * HANG_SECOND
        self.channel = make_channel(reads=("id", "version"))
        self.families: tuple[DatabasePattern, ...] = ()
        self.on_arrival: Callable[[Sequence[Table], Position], Mapping[Table, SyncError | None] | None] = lambda *_: {}

    def start(self, source: OpenSource) -> JobRun:
        options = RunOptions(
            job_id=1,
            name="demo.job1",
            channels=(self.channel,),
            rules=make_rules(),
            folder=self.folder,
            limits=self.limits,
            retry=lambda: Retry(times=3),
            max_backlog_bytes=lambda: self.max_backlog_bytes,
            finish_second=lambda: self.finish_second,
            families=self.families,
        )
        listeners = Listeners(
            on_trouble=self.troubles.append,
            on_end=lambda error, kind: self.ends.append((error, kind)),
            on_arrival=self.on_arrival,
        )
        self.run = JobRun(options, self.ledger, self.lake, self.pool, source, listeners)
        self.run.start()
        return self.run

    def limits(self) -> Limits:
        return Limits(
            thresholds=self.thresholds,
            position_interval_second=0.2,
            max_staged_bytes=self.max_staged_bytes,
            queue_batches=64,
            queue_bytes=10**9,
        )

    def run_through(self, source: OpenSource, transactions: int) -> None:
        """One life of the job: all that there is, or until an error."""
        self.ends.clear()
        run = self.start(source)
        until(lambda: self.ends or self.caught_up(transactions))
        run.finish()
        assert run.join(HANG_SECOND)

    def staged(self) -> set[str]:
        return {str(path) for path in self.folder.rglob("*.parquet")}

    def caught_up(self, transactions: int) -> bool:
        return self.ledger.last_epoch().end.offset == transactions and not self.ledger.intents()


META_DOWN = SyncError(Code.META_DOWN, reason="the connection was lost")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.pool.shutdown(wait=True)


worker_process.preload(__name__)


def workers() -> list[psutil.Process]:
    return processes.workers(os.getpid())


def test_every_transaction_reaches_the_lake_once(bench: Bench) -> None:
    """What the source wrote is in the lake, in order, and `_seq` is unique over epochs."""
    run = bench.start(ScriptedSource(transactions=300))
    until(lambda: bench.caught_up(300))
    run.finish()
    assert run.join(HANG_SECOND)
    assert bench.lake.rows == scripted_rows(300)
    assert bench.lake.sequence == sorted(set(bench.lake.sequence))
    assert bench.ends == [(None, FailType.UNKNOWN)]
    assert list(bench.folder.rglob("*.parquet")) == []


@dataclass(frozen=True)
class AskingSource(ScriptedSource):
    """Is asked twice while it is read: in second 100, and 10 after the newest that was kept in a life before."""

    def __call__(self, plan: WorkerPlan, trouble: ReportTrouble, keep: Callable[[int], None]) -> "OpenedAskingSource":
        return OpenedAskingSource(self, plan.start.offset, keep=keep, seconds=[100, plan.asked_until + 10])


@dataclass
class OpenedAskingSource(OpenedSource):
    """`seconds`: in which it is still to be asked."""

    keep: Callable[[int], None] = print
    seconds: list[int] = field(default_factory=list)

    def get(self, timeout: float) -> Batch | None:
        while self.seconds:
            self.keep(self.seconds.pop(0))
        return super().get(timeout)


def test_when_a_source_was_asked_outlives_the_worker(bench: Bench) -> None:
    """It is kept before the source goes on, and told to the next life; a source that asks nothing keeps nothing."""
    bench.run_through(AskingSource(transactions=5), 5)
    assert bench.ledger.asked == [100, 10]
    bench.run_through(AskingSource(transactions=9), 9)
    assert bench.ledger.asked == [100, 10, 100, 110]
    bench.run_through(ScriptedSource(transactions=12), 12)
    assert len(bench.ledger.asked) == 4


def test_rows_without_names_of_columns_are_remembered_until_somebody_has_compared_them(bench: Bench) -> None:
    """Whatever ends between: it is stored before the epoch that has them is begun, and the next worker is told."""
    rows, u = GivenChanges(((ChangeKind.INSERT, 1, 1),)), frozenset({("shop", "orders")})
    batches = (make_batch(rows, nameless=u), make_batch(rows, nameless=u))
    stored: list[bool] = []
    add_intent = bench.ledger.add_intent

    def noting(epoch: Epoch) -> None:
        stored.append(bench.ledger.described["token-1"].history.nameless)
        add_intent(epoch)

    bench.ledger.add_intent = noting  # type: ignore[method-assign]
    bench.run_through(BatchSource(batches), 2)
    assert set(stored) == {True}
    bench.channel = bench.ledger.described.pop("token-1")
    bench.ledger.add_intent = add_intent  # type: ignore[method-assign]
    bench.run_through(BatchSource((*batches, make_batch(rows, nameless=u))), 3)
    assert bench.ledger.described == {}, "nothing new"
    bench.run_through(BatchSource((*batches, make_batch(), make_batch(rows))), 4)
    assert not bench.ledger.described["token-1"].history.nameless


def test_columns_that_a_statement_has_changed_before_the_first_rows_are_remembered(bench: Bench) -> None:
    """It is stored before an epoch is behind the statement, and stays with the channel."""
    learned = Reshaped(added=True)
    bench.run_through(BatchSource((make_batch(GivenChanges(((ChangeKind.INSERT, 1, 1),), learned=learned)),)), 1)
    assert bench.ledger.described["token-1"].history.reshaped == learned
    assert (
        channel_of(json.loads(json.dumps(channel_json(bench.ledger.described["token-1"])))).history.reshaped == learned
    )


def test_a_source_waits_while_nobody_keeps_when_it_was_asked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the metadata are away the job runs anew, and asks again."""
    tries: list[int] = []

    def keep(second: int) -> None:
        tries.append(second)
        if len(tries) < 3:
            raise SyncError(Code.META_DOWN, reason="away")
        bench.ledger.asked.append(second)

    monkeypatch.setattr(bench.ledger, "keep_asked", keep)
    for _ in range(3):
        bench.run_through(AskingSource(transactions=5), 5)
    assert tries == [100, 100, 100, 10]
    assert bench.lake.rows == scripted_rows(5)


@pytest.mark.parametrize("step", ["add_intent", "commit_epoch"])
def test_an_answer_of_the_metadata_that_is_lost_begins_a_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """What was stored all the same is found by the next run, which begins once the metadata answer: this one would go
    by what it knew before.
    """
    store, lost, away = getattr(bench.ledger, step), [META_DOWN], list[SyncError]()

    def stores_and_is_lost(*args: object, **kwargs: object) -> None:
        store(*args, **kwargs)
        away.extend(lost)
        if lost:
            raise lost.pop()

    def hold() -> None:
        if away:
            raise away.pop()

    monkeypatch.setattr(bench.ledger, step, stores_and_is_lost)
    monkeypatch.setattr(bench.ledger, "hold", hold)
    run = bench.start(ScriptedSource(transactions=50))
    assert run.join(HANG_SECOND)
    assert bench.ends == [(None, FailType.UNKNOWN)]
    assert [error for error in bench.troubles if error is not None] == [META_DOWN] * 2
    bench.run_through(ScriptedSource(transactions=50), 50)
    assert bench.lake.rows == scripted_rows(50)


def test_a_killed_worker_loses_and_doubles_nothing(bench: Bench) -> None:
    """Workers die at random moments; the run starts new ones, and the lake equals the source."""
    bench.thresholds = Thresholds(interval_second=0.01, min_events=1, min_bytes=1, max_bytes=200)
    dice = random.Random(7)
    kills = 0

    def kill_sometimes(_: object) -> None:
        nonlocal kills
        if kills < 8 and dice.random() < 0.3:
            kills += 1
            processes.kill_workers(os.getpid())

    bench.lake.before_commit = kill_sometimes
    bench.lake.after_commit = kill_sometimes
    run = bench.start(ScriptedSource(transactions=400))
    until(lambda: bench.caught_up(400))
    run.finish()
    assert run.join(HANG_SECOND)
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
    until(lambda: bench.caught_up(50))
    run.finish()
    assert run.join(HANG_SECOND)
    assert bench.lake.rows == scripted_rows(50)
    assert bench.lake.sequence == sorted(set(bench.lake.sequence))
    assert [str(trouble) for trouble in bench.troubles if trouble] == [str(LOST)] * 3
    assert bench.troubles[-1] is None, "success clears the trouble"


def _raise_next(errors: Iterator[SyncError]) -> None:
    error = next(errors, None)
    if error is not None:
        raise error


def test_a_torn_transaction_is_committed_in_parts(bench: Bench) -> None:
    """A starved source is committed inside its transaction, with a position that says so; the rest follows, once."""
    ends = []
    bench.lake.after_commit = lambda _: ends.append(bench.ledger.last_epoch().end)
    run = bench.start(TornSource(transactions=20, torn_at=10))
    until(lambda: bench.caught_up(20))
    run.finish()
    assert run.join(HANG_SECOND)
    assert [end.whole for end in ends if end.ordinal] == [False]
    assert bench.ledger.learnt.keys() == {"token-1"}
    assert bench.lake.rows == scripted_rows(20)
    assert bench.lake.sequence == sorted(set(bench.lake.sequence))


def test_what_an_operator_must_mend_ends_the_run_with_whole_epochs(bench: Bench) -> None:
    """A bad value stops the job at once; every transaction before it is in the lake."""
    bad = SyncError(Code.SOURCE_VALUE, column="at", table="shop.orders", value="a zero date", reason="no such day")
    run = bench.start(ScriptedSource(transactions=99, fails_at=20, error=bad))
    assert run.join(HANG_SECOND)
    assert [(str(error), kind) for error, kind in bench.ends] == [(str(bad), FailType.SUBMIT_FAIL)]
    assert bench.lake.rows == scripted_rows(19)


def test_a_passing_trouble_pauses_after_max_retry(bench: Bench) -> None:
    """What stays broken is told each time, and after max_retry tries the run gives up with the cause."""
    bench.lake.before_commit = lambda _: _raise_next(iter([LOST]))
    run = bench.start(ScriptedSource(transactions=5))
    assert run.join(HANG_SECOND)
    assert len([error for error in bench.troubles if error is not None]) == 3  # None: the source was heard before
    assert [(str(error), kind) for error, kind in bench.ends] == [(str(LOST), FailType.RUN_FAIL)]


def test_a_commit_that_does_not_end_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has failed yet, and still Msg says what the job waits for; when it ends, Msg is empty again."""
    monkeypatch.setattr(health, "SLOW_SECOND", 0.2)
    released = threading.Event()
    bench.lake.before_commit = lambda _: released.wait(HANG_SECOND) and None
    run = bench.start(ScriptedSource(transactions=5))
    until(lambda: bench.troubles and bench.troubles[-1] is not None)
    trouble = bench.troubles[-1]
    assert trouble is not None
    assert trouble.code is Code.LAKE_SLOW
    released.set()
    until(lambda: bench.troubles[-1] is None)
    run.finish()
    assert run.join(HANG_SECOND)
    assert bench.lake.rows == scripted_rows(5)


def test_a_run_recovers_until_it_has_committed_what_was_left(bench: Bench) -> None:
    """Upkeep waits for that, so it must be true of the left epoch alone."""
    bench.lake.before_commit = lambda _: _raise_next(iter([LOST]))
    run = bench.start(ScriptedSource(transactions=5))
    until(bench.ledger.intents)
    run.abandon()
    assert run.join(HANG_SECOND)
    runs, recovering = queue.SimpleQueue[JobRun](), list[bool]()

    def look(_: object) -> None:
        second = runs.get(timeout=HANG_SECOND)
        recovering.append(second.recovers())
        runs.put(second)

    bench.lake.before_commit = look
    runs.put(bench.start(ScriptedSource(transactions=20)))
    until(lambda: bench.caught_up(20))
    last = runs.get()
    last.finish()
    assert last.join(HANG_SECOND)
    assert recovering[0]
    assert not any(recovering[1:])
    assert len(recovering) > 1


def test_an_orphan_that_still_writes_stops_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker of a frontend that was killed adds a file while they are swept: nobody is told that rights are to be
    mended, and the next life of the worker sweeps it.
    """
    orphan, swept = bench.folder / "orphan", Path.rmdir
    orphan.mkdir(parents=True)
    (orphan / "1-token-1-0.parquet").touch()

    def beside_it(folder: Path) -> None:
        (orphan / "2-token-1-0.parquet").touch()
        monkeypatch.setattr(Path, "rmdir", swept)
        folder.rmdir()

    monkeypatch.setattr(Path, "rmdir", beside_it)
    bench.run_through(ScriptedSource(transactions=20), 20)
    assert bench.lake.rows == scripted_rows(20)
    assert [trouble for trouble in bench.troubles if trouble] == []
    assert bench.ends == [(None, FailType.UNKNOWN)]
    assert [path.name for path in orphan.iterdir()] == ["2-token-1-0.parquet"]


def test_one_that_was_replaced_sweeps_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frontend that stood still, and whose metadata are another's by now, deletes no staged file of that one."""
    other = bench.folder / "other"
    other.mkdir(parents=True)
    (other / "1-token-1-0.parquet").touch()

    def replaced() -> None:
        raise SyncError(Code.META_OWNED, owner="the other one")

    monkeypatch.setattr(bench.ledger, "hold", replaced)
    run = bench.start(ScriptedSource(transactions=5))
    assert run.join(HANG_SECOND)
    assert [path.name for path in other.iterdir()] == ["1-token-1-0.parquet"]


def test_what_is_staged_while_it_reads_what_is_wanted_stays(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there is listed before the metadata say what of it is wanted: a file that came later may be."""
    other, intents, hold = bench.folder / "other", bench.ledger.intents, bench.ledger.hold
    staged = ["0-token-1-0.parquet"]
    other.mkdir(parents=True)
    (other / staged[0]).touch()

    def reading() -> object:
        staged.append(f"{len(staged)}-token-1-0.parquet")
        (other / staged[-1]).touch()
        return intents()

    def holding() -> None:
        monkeypatch.undo()
        hold()

    monkeypatch.setattr(bench.ledger, "intents", reading)
    monkeypatch.setattr(bench.ledger, "hold", holding)
    bench.run_through(ScriptedSource(transactions=5), 5)
    assert [path.name for path in other.iterdir()] == staged[-1:]


def test_the_folder_of_staged_rows_survives_a_power_failure(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker syncs the folders in which its own is named: files in one that nobody finds would be lost."""
    synced = list[str]()
    monkeypatch.setattr(worker, "fsync", synced.append)
    worker._make_folder(bench.folder / "job" / "life")
    assert synced == [str(bench.folder / "job"), str(bench.folder)]


def test_a_ddl_that_changes_rows_silently_stops_the_run(bench: Bench) -> None:
    """A TRUNCATE is not followed yet: the epoch before it is committed, then the job says what to do."""
    run = bench.start(ScriptedSource(transactions=50, ddl_after=10))
    assert run.join(HANG_SECOND)
    assert bench.lake.rows == scripted_rows(10)
    (error, _kind) = bench.ends[0]
    assert error is not None
    assert error.code is Code.SOURCE_DDL
    assert "TRUNCATE orders" in str(error)


NO_KEY = SyncError(Code.NO_SOURCE_KEY, tables="shop.t", cure="EXCLUDE it")
MADE = Ddl(
    table=("shop", "t"),
    statement="CREATE TABLE t (id INT)",
    rows_survive=True,
    followable=DdlStatement(text="CREATE TABLE t (id INT)", db="shop", modes=ORDINARY, moment=Moment(at=1)),
    behind=Position(offset=2),
)


def test_a_statement_of_which_nobody_can_say_whether_its_table_joins_is_met_again(bench: Bench) -> None:
    """The run ends in front of it, with no error; once it is said, the job goes on behind it, and that is noted."""
    answers: list[dict[Table, SyncError | None] | None] = [None, {("shop", "t"): NO_KEY}]
    reported: list[tuple[Sequence[Table], int]] = []

    def answer(tables: Sequence[Table], behind: Position) -> Mapping[Table, SyncError | None] | None:
        reported.append((tables, behind.offset))
        return answers.pop(0)

    bench.families, bench.on_arrival = (DatabasePattern(db="shop"),), answer
    source = BatchSource((make_batch(inserted(1)), make_batch(ddl=MADE), make_batch(inserted(3))))
    assert bench.start(source).join(HANG_SECOND)
    assert (bench.ends, bench.ledger.last_epoch().end.offset) == ([(None, FailType.UNKNOWN)], 1)
    assert bench.ledger.refused == []
    bench.run_through(source, 3)
    assert reported == [([("shop", "t")], 2)] * 2
    [record] = bench.ledger.refused
    assert (record.state, record.outcome) == (DdlState.REFUSED, f"not synced: {NO_KEY}")


def test_what_does_not_join_is_noted_once(bench: Bench) -> None:
    """Where another table of its statement joins, the next run meets the statement again, and says it then."""
    first: dict[Table, SyncError | None] = {("shop", "t"): NO_KEY, ("shop", "u"): None}
    answers = [first, {("shop", "t"): NO_KEY}]
    bench.families = (DatabasePattern(db="shop"),)
    said = DdlStatement(text="RENAME TABLE a.t TO t, a.u TO u", db="shop", modes=ORDINARY, moment=Moment(at=1))
    source = BatchSource(
        (make_batch(inserted(1)), make_batch(ddl=replace(MADE, followable=said)), make_batch(inserted(3)))
    )

    def answer(*_: object) -> Mapping[Table, SyncError | None]:
        if len(answers) == 2:
            bench.run.finish()
        return answers.pop(0)

    bench.on_arrival = answer
    assert bench.start(source).join(HANG_SECOND)
    bench.run_through(source, 3)
    assert sorted(record.table for record in bench.ledger.refused) == ["shop.t", "shop.u"]


def test_a_run_that_hears_its_source_clears_old_troubles(bench: Bench) -> None:
    """A job that resumed by itself shows no stale Msg, also where its source has nothing to say."""
    run = bench.start(ScriptedSource(transactions=0))
    until(lambda: bench.troubles == [None])
    run.abandon()
    assert run.join(HANG_SECOND)


def test_a_pause_does_not_wait_for_ever(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A worker that cannot end in time is killed; the next run reads again what it had not sent."""
    bench.finish_second = 0.3
    begun = tmp_path_factory.mktemp("slow") / "begun"
    run = bench.start(BatchSource((make_batch(inserted(1)), make_batch(SlowChanges(begun)))))
    until(begun.exists)
    run.finish()
    assert run.join(HANG_SECOND)
    assert workers() == []
    bench.run_through(BatchSource((make_batch(inserted(1)), make_batch(inserted(2)))), 2)
    assert bench.lake.rows == {1: 1, 2: 1}


def test_workers_come_from_one_process_that_has_one_thread(bench: Bench) -> None:
    """A fork of a process with threads may copy a lock that nobody will open."""
    bench.run_through(ScriptedSource(transactions=3), 3)
    (server,) = processes.fork_servers(os.getpid())
    assert server.num_threads() == 1
    bench.run_through(ScriptedSource(transactions=6), 6)
    assert processes.fork_servers(os.getpid()) == [server]


def test_a_killed_fork_server_loses_nothing(bench: Bench) -> None:
    """Its worker goes on or is replaced; the next comes from a new one."""
    run = bench.start(ScriptedSource(transactions=300))
    until(lambda: workers() != [])
    (server,) = processes.fork_servers(os.getpid())
    server.kill()
    until(lambda: bench.caught_up(300))
    run.finish()
    assert run.join(HANG_SECOND)
    assert bench.lake.rows == scripted_rows(300)
    bench.run_through(ScriptedSource(transactions=310), 310)
    assert bench.lake.rows == scripted_rows(310)


def test_a_fork_server_may_die_while_it_is_asked_for_a_worker(bench: Bench) -> None:
    """It has the request and does not answer any more: the job begins again, and does not stop for a person."""
    bench.run_through(ScriptedSource(transactions=3), 3)
    (server,) = processes.fork_servers(os.getpid())
    server.suspend()
    bench.ends.clear()
    run = bench.start(ScriptedSource(transactions=6))
    until(lambda: any(frame.f_code.co_name == "read_signed" for frame in sys._current_frames().values()))
    server.kill()
    until(lambda: bench.caught_up(6))
    run.finish()
    assert run.join(HANG_SECOND)
    assert [error for error, _ in bench.ends] == [None]
    assert bench.lake.rows == scripted_rows(6)


def test_a_fork_server_whose_socket_was_deleted_is_not_needed(bench: Bench) -> None:
    """Temporary files are cleaned: the next worker loads everything itself."""
    bench.run_through(ScriptedSource(transactions=3), 3)
    (server,) = processes.fork_servers(os.getpid())
    (socket,) = {c.laddr for c in server.net_connections("unix") if c.laddr}
    Path(socket).unlink()
    try:
        bench.run_through(ScriptedSource(transactions=6), 6)
        assert bench.lake.rows == scripted_rows(6)
    finally:
        server.kill()


def test_abandon_ends_at_once(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> None:
    """STOP does not wait for the source; no worker is left."""
    begun = tmp_path_factory.mktemp("slow") / "begun"
    run = bench.start(BatchSource((make_batch(inserted(1)), make_batch(SlowChanges(begun)))))
    until(begun.exists)
    run.abandon()
    assert run.join(HANG_SECOND)
    assert workers() == []


def test_commits_that_the_end_of_the_frontend_cancels_are_no_error(bench: Bench) -> None:
    """The job is taken up by the next start."""
    release = threading.Event()
    busy = [bench.pool.submit(release.wait, HANG_SECOND) for _ in range(2)]
    run = bench.start(ScriptedSource(transactions=6))
    until(lambda: bench.pool._work_queue.qsize() > 0, why="a commit that waits")
    run.abandon()
    bench.pool.shutdown(wait=False, cancel_futures=True)
    release.set()
    assert run.join(HANG_SECOND)
    assert [error for error, _ in bench.ends] == [None]
    assert all(each.result() for each in busy)


def test_reading_waits_when_too_much_is_staged(bench: Bench) -> None:
    """Past max_staged_bytes the worker stops reading until commits have caught up, and then goes on."""
    bench.max_staged_bytes = 300
    run = bench.start(ScriptedSource(transactions=60))
    until(lambda: bench.caught_up(60))
    run.finish()
    assert run.join(HANG_SECOND)
    assert bench.lake.rows == scripted_rows(60)
    assert len(bench.lake.epochs) > 10


def inserted(*ids: int) -> GivenChanges:
    return GivenChanges(tuple((ChangeKind.INSERT, number, 1) for number in ids))


def updated(number: int, version: int) -> GivenChanges:
    return GivenChanges(((ChangeKind.UPDATE, number, version),))


def prepared(xid: str, *changes: GivenChanges, **overrides: bool) -> Batch:
    return make_batch(prepared=(PreparedChanges(xid=xid, changes=changes, bytes=10 * len(changes)),), **overrides)


XA = (
    make_batch(inserted(1)),
    prepared("x", inserted(2, 4), updated(1, 7)),
    prepared("foreign"),
    make_batch(inserted(3)),
    prepared("y", inserted(99)),
    make_batch(committed="x"),
    make_batch(updated(1, 9), forgotten=("foreign",)),
    make_batch(forgotten=("y",)),
)
XA_ROWS = {1: 9, 2: 1, 3: 1, 4: 1}


@pytest.mark.parametrize("stop", range(1, len(XA)))
def test_prepared_rows_outlive_the_worker(bench: Bench, stop: int) -> None:
    """Whichever moment a job is stopped and started at, an XA COMMIT finds its rows, and a ROLLBACK leaves none."""
    bench.run_through(BatchSource(XA[:stop]), stop)
    waiting = bench.ledger.last_epoch().prepared
    assert bench.staged() == bench.ledger.last_epoch().prepared_files
    assert {xid: bool(one.files) for xid, one in waiting.items()} == {
        xid: rows
        for xid, rows, begin, end in (("x", True, 2, 6), ("foreign", False, 3, 7), ("y", True, 5, 8))
        if begin <= stop < end
    }
    assert 2 not in bench.lake.rows or stop >= 6
    bench.run_through(BatchSource(XA), len(XA))
    assert bench.lake.rows == XA_ROWS
    assert bench.lake.sequence == sorted(set(bench.lake.sequence))
    assert bench.ledger.last_epoch().prepared == {}
    assert bench.staged() == set()


def test_prepared_rows_outlive_kills(bench: Bench) -> None:
    """A worker that dies at any commit leaves what is prepared to the next one."""
    bench.thresholds = Thresholds(interval_second=0.01, min_events=1, min_bytes=1, max_bytes=1)
    bench.lake.after_commit = lambda _: processes.kill_workers(os.getpid())
    run = bench.start(BatchSource(XA))
    until(lambda: bench.ends or bench.caught_up(len(XA)))
    run.finish()
    assert run.join(HANG_SECOND)
    assert bench.lake.rows == XA_ROWS
    assert bench.staged() == set()


def test_a_prepared_transaction_larger_than_memory_allows_comes_whole(bench: Bench) -> None:
    """It spills into files, comes back in order, and its files go when it has ended."""
    parts = [inserted(*range(at, at + 30_000)) for at in range(0, 300_000, 30_000)]
    batches = [prepared("big", part, open=True) for part in parts]
    batches += [
        prepared("big"),
        make_batch(committed="big"),
        prepared("undone", *parts),
        make_batch(forgotten=("undone",)),
    ]
    bench.run_through(BatchSource(tuple(batches)), len(batches))
    assert len(bench.lake.rows) == 300_000
    assert bench.lake.sequence == sorted(set(bench.lake.sequence))
    assert bench.staged() == set()


def test_lost_files_of_a_prepared_transaction_are_told(bench: Bench) -> None:
    """Rows that were prepared and are gone from staging pause the job by name instead of being left out."""
    bench.run_through(BatchSource(XA[:2]), 2)
    for path in bench.staged():
        Path(path).unlink()
    bench.run_through(BatchSource(XA), len(XA))
    ((error, _),) = bench.ends
    assert error is not None
    assert error.code is Code.PREPARED_LOST
    assert 2 not in bench.lake.rows


@pytest.mark.parametrize("committed", [True, False])
def test_append_on_change_asks_of_what_is_committed(bench: Bench, *, committed: bool) -> None:
    """A prepared update stops a channel without a key only once it is committed."""
    bench.channel = make_channel(reads=("id", "version"), source_keys=(), keys=())
    last = make_batch(committed="x") if committed else make_batch(forgotten=("x",))
    bench.run_through(BatchSource((prepared("x", updated(1, 2)), last)), 2)
    assert [error.code for error, _ in bench.ends if error] == [Code.APPEND_CHANGE] * committed


def test_a_table_that_is_not_whole_pauses_before_anything_is_written(bench: Bench) -> None:
    """What a power failure left is looked at before the first commit, and the job says so."""
    facts = {"table": "demo.orders", "reason": "it is cut off", "location": "a", "previous": "b"}
    bench.lake.broken = SyncError(Code.TABLE_BROKEN, **facts)
    bench.run_through(ScriptedSource(transactions=5), 5)
    ((error, _),) = bench.ends
    assert error is bench.lake.broken
    assert bench.lake.rows == {}
    bench.lake.broken = None
    bench.run_through(ScriptedSource(transactions=5), 5)
    assert bench.lake.rows == scripted_rows(5)
