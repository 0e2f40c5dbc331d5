"""One table of a job that cannot be committed, and the others that go on."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import Remedy
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_plan import DdlStatement
from syncmgr.job.ddl.ddl_step import DdlState
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl_policy import deeds_of
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch, StagedFile, Thresholds
from syncmgr.job.failure import FailType, remedy
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import OP, SEQ, Batch, ChangeKind, Ddl
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.committer import Committer
from syncmgr.pipeline.messages import Limits
from syncmgr.pipeline.run import JobRun
from syncmgr.pipeline.run_options import Listeners, RunOptions
from tests.support.fakes import BatchSource, GivenChanges, MemoryLake, MemoryLedger, make_batch
from tests.support.files import below
from tests.support.until import HANG_SECOND, until
from tests.unit.job.factories import make_channel, make_rules, make_source_table, with_history

TOKENS = ("good", "bad")
SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
FULL = SyncError(Code.LAKE_FULL, reason="No space left on device")
WRONG = SyncError(Code.SOURCE_VALUE, column="v", table="shop.bad", value="a zero date", reason="no such day")
REPLACED = SyncError(Code.TARGET_REPLACED, table="demo.bad", snapshot=1, epoch=2, remedy="stop the job")
STARTING = SyncError(Code.LAKE_STARTING, reason="Spark's JVM is gone")
PASSES = SyncError(Code.SOURCE_PROTOCOL, address="db1:3306", reason="a torn event")
GONE = SyncError(Code.NO_SUCH_TABLE, db="demo", table="bad")
UNREADABLE = SyncError(Code.LAKE_FAILED, reason="Failed to open input stream")
HARMED = SyncError(Code.TABLE_BROKEN, table="demo.bad", reason="a manifest is missing", location="a", previous="b")


def channel(token: str) -> ChannelDescription:
    source = make_source_table(name=token)
    return make_channel(token=token, source=source, target=token, reads=("id", "version"))


class Tables:
    """A lake of two tables, each of which may be broken."""

    def __init__(self) -> None:
        self.tables = {token: MemoryLake() for token in TOKENS}
        self.broken: dict[str, SyncError] = {}
        self.harmed: dict[str, SyncError] = {}
        self.held = threading.Event()
        self.held.set()
        self.altered: list[tuple[str, dict[int, int]]] = []  # token, and the rows that were there

    def give_up(self, chunk: ChunkRows) -> None: ...

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None: ...

    def check_integrity(self, db: str, table: str, *, replaced: bool = False) -> None:
        if table in self.harmed:
            raise self.harmed[table]

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        if commit.token in self.broken:
            raise self.broken[commit.token]
        return self.tables[commit.token].commit(commit)

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        self.altered.append((alter.token, dict(self.tables[alter.token].rows)))
        return self.tables[alter.token].alter(alter)


def run_options(folder: Path, **changes: Any) -> RunOptions:
    """Of a job of all tables, that commits as often as it can."""
    facts: dict[str, Any] = {
        "job_id": 1,
        "name": "demo.job1",
        "channels": tuple(map(channel, TOKENS)),
        "rules": make_rules(),
        "folder": folder,
        "limits": lambda: Limits(
            thresholds=Thresholds(interval_second=0.01, min_events=1, min_bytes=1, max_bytes=1),
            position_interval_second=0.2,
            max_staged_bytes=10**9,
            queue_batches=64,
            queue_bytes=10**9,
        ),
        "retry": lambda: Retry(times=3),
        "max_backlog_bytes": lambda: 10**9,
        "finish_second": lambda: HANG_SECOND,
    }
    return RunOptions(**(facts | changes))


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder, self.lake, self.ledger = folder, Tables(), MemoryLedger(TOKENS)
        self.pool = ThreadPoolExecutor(4)
        self.troubles: list[SyncError | None] = []
        self.ends: list[tuple[SyncError | None, FailType]] = []
        self.backlog_bytes = 10**9
        self.rules = make_rules()

    def start(self, transactions: int, given: tuple[Batch, ...] = (), *, leaves_out: bool = False) -> JobRun:
        """`given`: instead of so many transactions."""
        options = run_options(
            self.folder, rules=self.rules, max_backlog_bytes=lambda: self.backlog_bytes, leaves_out=leaves_out
        )
        listeners = Listeners(
            on_trouble=self.troubles.append, on_end=lambda error, kind: self.ends.append((error, kind))
        )
        run = JobRun(options, self.ledger, self.lake, self.pool, BatchSource(given or batches(transactions)), listeners)
        run.start()
        return run

    def rows(self, token: str) -> dict[int, int]:
        return self.lake.tables[token].rows

    def staged(self) -> list[Path]:
        return list(below(self.folder, "*.parquet"))

    def finish(self, run: JobRun) -> None:
        run.finish()
        assert run.join(HANG_SECOND)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.pool.shutdown(wait=True)


def batches(transactions: int) -> tuple[Batch, ...]:
    """Transaction n writes version n of row n % 7 into both tables."""
    return tuple(
        make_batch(*(GivenChanges(((ChangeKind.INSERT, n % 7, n),), table=("shop", token)) for token in TOKENS))
        for n in range(1, transactions + 1)
    )


def expected(transactions: int) -> dict[int, int]:
    return {n % 7: n for n in range(1, transactions + 1)}


def test_a_table_whose_files_go_while_the_job_runs_is_told(bench: Bench) -> None:
    """A commit that fails is followed by a look at the table's files, of which the run has seen all before: that some
    are missing needs a person, and is not retried as if it passed.
    """
    bad = bench.lake.tables["bad"]

    def harm(_: ChannelCommit) -> None:
        if bad.epochs:
            bench.lake.harmed["bad"] = HARMED
            raise UNREADABLE

    bad.before_commit = harm
    run = bench.start(40)
    until(lambda: [each.error for each in run.behind()] == [HARMED], why="its files are looked at")
    bad.before_commit = lambda _: None
    bench.lake.harmed.clear()
    until(lambda: bench.rows("bad") == expected(40) and not run.behind())
    bench.finish(run)


@pytest.mark.parametrize("error", [FULL, WRONG, REPLACED, GONE])
def test_a_table_that_cannot_be_committed_does_not_stop_its_sibling(bench: Bench, error: SyncError) -> None:
    """The others go on, Msg and Status name the table and the reason; mended, it applies what waited, in order."""
    bench.lake.broken["bad"] = error
    run = bench.start(40)
    until(lambda: bench.rows("good") == expected(40) and not bench.ledger.intents())
    assert bench.rows("bad") == {}
    (behind,) = run.behind()
    assert (behind.table, behind.error) == ("demo.bad", error)
    assert behind.epochs == len(bench.ledger.backlog())
    standings = run.standings()
    assert (standings["bad"].state, standings["bad"].error) == (ChannelState.BEHIND, error)
    assert standings["good"].state is ChannelState.STREAMING
    until(lambda: bench.troubles and bench.troubles[-1] is not None)
    trouble = bench.troubles[-1]
    assert trouble is not None
    assert trouble.code is Code.CHANNEL_BEHIND
    assert str(error) in str(trouble)
    assert bench.ends == []
    bench.lake.broken.clear()
    until(lambda: not run.behind())
    assert run.standings()["bad"].state is ChannelState.STREAMING
    assert bench.rows("bad") == expected(40)
    assert bench.lake.tables["bad"].sequence == sorted(set(bench.lake.tables["bad"].sequence))
    until(lambda: bench.troubles[-1] is None)
    bench.finish(run)
    assert bench.staged() == []
    assert bench.ends == [(None, FailType.UNKNOWN)]


def test_what_is_behind_outlives_the_run(bench: Bench) -> None:
    """Its rows stay staged through an end and a new start of the job, and are applied then."""
    bench.lake.broken["bad"] = FULL
    run = bench.start(20)
    until(lambda: bench.rows("good") == expected(20) and not bench.ledger.intents())
    bench.finish(run)
    kept = bench.staged()
    assert len(kept) == len(bench.ledger.backlog()) > 0
    bench.lake.broken.clear()
    run = bench.start(30)
    until(lambda: bench.rows("bad") == bench.rows("good") == expected(30))
    bench.finish(run)
    assert bench.staged() == []


@pytest.mark.parametrize(("error", "mended_by"), [(FULL, Remedy.RESUME), (WRONG, Remedy.OPERATOR)])
def test_too_much_behind_pauses_the_job(bench: Bench, error: SyncError, mended_by: Remedy) -> None:
    """Past max_channel_backlog_bytes; it resumes by itself only where the reason may pass. Nothing is lost."""
    bench.lake.broken["bad"] = error
    bench.backlog_bytes = 100
    run = bench.start(60)
    assert run.join(HANG_SECOND)
    ((end, _),) = bench.ends
    assert end is not None
    assert remedy(end.code) is mended_by
    assert "demo.bad" in str(end)
    assert str(error) in str(end)
    bench.lake.broken.clear()
    run = bench.start(60)
    until(lambda: bench.rows("bad") == bench.rows("good") == expected(60))
    bench.finish(run)


def test_a_job_whose_tables_are_all_behind_is_told_the_mildest_reason(bench: Bench) -> None:
    """Nothing goes on: the job pauses, and waits for nobody on account of one table while the other may mend itself."""
    bench.lake.broken.update(good=GONE, bad=PASSES)
    run = bench.start(5)
    assert run.join(HANG_SECOND)
    assert [error for error, _ in bench.ends] == [PASSES]


def test_what_concerns_every_table_leaves_none_behind(bench: Bench) -> None:
    """While Spark is away the whole epoch waits, so that it is a consistent point when it comes."""
    bench.lake.broken["bad"] = STARTING
    run = bench.start(5)
    until(lambda: bench.troubles and bench.troubles[-1] is STARTING)
    assert run.behind() == ()
    bench.lake.broken.clear()
    until(lambda: bench.rows("bad") == bench.rows("good") == expected(5))
    bench.finish(run)


def test_staged_rows_that_are_gone_are_told(bench: Bench) -> None:
    """A table whose waiting rows somebody deleted says so instead of trying forever."""
    bench.lake.broken["bad"] = SyncError(Code.LAKE_FAILED, reason="path does not exist")
    run = bench.start(5)
    until(lambda: bench.rows("good") == expected(5) and not bench.ledger.intents())
    for path in bench.staged():
        path.unlink(missing_ok=True)  # those of the other table go by themselves
    until(lambda: any(b.error and b.error.code is Code.STAGED_LOST for b in run.behind()))
    run.abandon()
    assert run.join(HANG_SECOND)


def truncated(token: str) -> Batch:
    """TRUNCATE behind the tenth transaction."""
    moment = Moment(at=1)
    said = DdlStatement(text=f"TRUNCATE {token}", db="shop", modes=Modes(), moment=moment)
    ddl = Ddl(table=("shop", token), statement=said.text, rows_survive=False, followable=said)
    return make_batch(ddl=replace(ddl, behind=Position(offset=11)))


@pytest.mark.parametrize(("token", "waits"), [("bad", True), ("good", False)])
def test_a_ddl_waits_for_its_own_tables_alone(bench: Bench, token: str, *, waits: bool) -> None:
    """All rows from before it are in the table that it changes; one that is behind does not hold up the others' DDL."""
    bench.lake.broken["bad"] = FULL
    rows = batches(20)
    run = bench.start(0, (*rows[:10], truncated(token), *rows[10:]))
    before = 10 if waits else 20
    until(lambda: bench.rows("good") == expected(before) and run.behind())
    assert bool(bench.lake.altered) is not waits
    bench.lake.broken.clear()
    until(lambda: bench.rows("bad") == bench.rows("good") == expected(20))
    assert bench.lake.altered == [(token, expected(10))]
    bench.finish(run)


def test_a_statement_that_nobody_can_read_stops_one_table(bench: Bench) -> None:
    """It is told, the others are read on from behind it, and no epoch is a consistent point any more."""
    said = DdlStatement(text="ALTER TABLE bad NOVELTY", db="shop", modes=Modes(), moment=Moment(at=1))
    rows = batches(20)
    ddl = Ddl(
        table=("shop", "bad"), statement=said.text, rows_survive=False, followable=said, behind=Position(offset=11)
    )
    run = bench.start(0, (*rows[:10], make_batch(ddl=ddl), *map(of_good, rows[10:])), leaves_out=True)
    until(lambda: bench.rows("good") == {n % 7: n for n in range(14, 21)})
    assert run.standings()["bad"].state is ChannelState.STOPPED
    bench.finish(run)
    assert bench.ends == [(None, FailType.UNKNOWN)]
    assert bench.rows("bad") == {n % 7: n for n in range(4, 11)}
    stop = bench.ledger.described["bad"].history.stopped
    assert stop is not None
    assert "cannot be read" in stop.reason
    assert (stop.error, stop.since is None) == (Code.SOURCE_DDL.number, False)
    assert [record.state for record in bench.ledger.refused] == [DdlState.STOPPED]
    assert not bench.ledger.last_epoch().end.whole
    assert any(trouble is not None and trouble.code is Code.TABLE_STOPPED for trouble in bench.troubles)


@dataclass(frozen=True)
class OtherColumns:
    """Rows that are not those of the table as it is known."""

    table: tuple[str, str] = ("shop", "bad")
    told: SourceTable | None = None

    def decode(self, _unheld: object = None, **_which: bool) -> pa.Table:
        raise SyncError(Code.SOURCE_SCHEMA, table="shop.bad", reason="the binlog has 4 columns, the table 3")


@pytest.mark.parametrize("leaves_out", [True, False])
def test_rows_that_deny_a_statement_are_told_beside_it(bench: Bench, *, leaves_out: bool) -> None:
    """`sync_ddl` says no longer that it was followed, whether one table stops or the whole job."""
    wrong = replace(batches(1)[0], changes=(OtherColumns(),))
    run = bench.start(0, (*batches(3), wrong), leaves_out=leaves_out)
    until(lambda: bench.ledger.overturned == ["bad"])
    if leaves_out:
        until(lambda: run.standings()["bad"].state is ChannelState.STOPPED)
        bench.finish(run)
    else:
        until(lambda: bool(bench.ends))
        assert bench.ends[0][0].code is Code.SOURCE_SCHEMA


def test_a_dropped_target_ends_its_channel_alone(bench: Bench) -> None:
    """Also one that could not be committed: what waits for it is nobody's. The run ends, and the job goes on without
    the table.
    """
    bench.lake.broken["bad"] = WRONG
    bench.rules = replace(make_rules(), deeds=deeds_of({"on_drop_table": "drop"}))
    said = DdlStatement(text="DROP TABLE bad", db="shop", modes=Modes(), moment=Moment(at=1))
    ddl = Ddl(
        table=("shop", "bad"), statement=said.text, rows_survive=False, followable=said, behind=Position(offset=11)
    )
    run = bench.start(0, (*batches(10), make_batch(ddl=ddl), *map(of_good, batches(20)[10:])))
    assert run.join(HANG_SECOND)
    assert bench.ends == [(None, FailType.UNKNOWN)]
    assert bench.rows("good") == expected(10)
    assert bench.lake.altered == [("bad", {})]
    step = bench.ledger.stored[-1][0].ddl
    assert step is not None
    assert step.dropped == {"bad"}


def of_good(batch: Batch) -> Batch:
    return replace(batch, changes=tuple(part for part in batch.changes if part.table[1] == "good"))


def staged_epoch(folder: Path, number: int, key: int, end: int) -> Epoch:
    """One update of the bad table."""
    path = folder / f"{number}.parquet"
    columns = {"id": pa.array([key], pa.int64()), "version": pa.array([number], pa.int64())}
    marks = {OP: pa.array([int(ChangeKind.UPDATE)], pa.int8()), SEQ: pa.array([number], pa.int64())}
    pq.write_table(pa.table(columns | marks), path)
    file = StagedFile(path=str(path), rows=1, bytes=path.stat().st_size)
    return Epoch(number=number, end=position(end), last_seq=number, files={"bad": (file,)})


def position(offset: int) -> Position:
    return Position(gtids=f"{SERVER}:1-{offset}", file="b.000001", offset=offset, server=SERVER)


def test_what_came_with_the_rows_is_never_gathered_with_what_did_not(tmp_path: Path) -> None:
    """Epochs 1 and 2 were staged before a RESYNC whose rows are newer; a kill in the commit of 3 and 4, gathered, must
    not bring them with these.
    """
    ledger, lake = MemoryLedger(TOKENS), Tables()
    ends = {1: 10, 2: 20, 3: 60, 4: 70}
    ledger.stored += [(staged_epoch(tmp_path, n, 7 if n < 3 else n, end), True) for n, end in ends.items()]
    lake.tables["bad"].rows[7] = 99
    channels = (channel("good"), with_history(channel("bad"), after=position(50)))

    def killed(commit: ChannelCommit) -> None:
        if commit.files:
            raise SyncError(Code.LAKE_FAILED, reason="the frontend is killed here")

    def life(pool: ThreadPoolExecutor, left: int) -> None:
        committer = Committer(
            channels, ledger, lake, pool, ack=lambda _: None, max_backlog_bytes=lambda: 10**9, ending=lambda: False
        )
        with contextlib.suppress(SyncError):
            committer.recover()

        def is_over() -> bool:
            committer.laggards.tend()
            return len(ledger.backlog()) == left

        until(is_over)
        committer.laggards.settle()

    with ThreadPoolExecutor(1) as pool:
        lake.tables["bad"].before_commit = killed
        life(pool, left=1)
        lake.tables["bad"].before_commit = lambda _: None
        life(pool, left=0)
    assert lake.tables["bad"].rows == {7: 99, 3: 3, 4: 4}
