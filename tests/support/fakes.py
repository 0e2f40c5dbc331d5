"""In-memory doubles of the pipeline's ports. Each keeps the promises of the real one."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription, Reshaped
from syncmgr.job.ddl.ddl_step import DdlRecord
from syncmgr.job.ddl.lake_change import DropTable, EmptyTable
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch, LastCommit
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import OP, SEQ, Batch, ChangeKind, Ddl, TableChanges
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.messages import WorkerPlan
from syncmgr.pipeline.worker.worker import ReportTrouble
from tests.support.chunk_reads import rows_of
from tests.support.until import HANG_SECOND


@dataclass(frozen=True)
class ScriptedSource:
    """Opens a source whose n-th transaction is known, so every position determines what must be in the lake.

    Transaction n (from 1) inserts row n and, from the second on, updates row n - 1. It is picklable.
    """

    transactions: int
    fails_at: int | None = None
    error: SyncError | None = None
    ddl_after: int | None = None
    table: tuple[str, str] = ("shop", "orders")

    def __call__(self, plan: WorkerPlan, trouble: ReportTrouble, _keep: Callable[[int], None]) -> "OpenedSource":
        return OpenedSource(self, plan.start.offset)


@dataclass
class OpenedSource:
    script: ScriptedSource
    at: int
    closed: threading.Event = field(default_factory=threading.Event)
    acked: list[Position] = field(default_factory=list)

    def get(self, timeout: float) -> Batch | None:
        if self.at >= self.script.transactions:
            self.closed.wait(timeout)
            return None
        number = self.at + 1
        if number == self.script.fails_at:
            assert self.script.error is not None
            raise self.script.error
        self.at = number
        ddl = Ddl(table=self.script.table, statement="TRUNCATE orders", rows_survive=False)
        return Batch(
            changes=(ScriptedChanges(self.script.table, number),),
            end=Position(offset=number),
            open=False,
            events=2,
            bytes=100,
            source_time=time.time(),
            first_time=time.time(),
            ddl=ddl if number == self.script.ddl_after else None,
        )

    def ack(self, end: Position) -> None:
        self.acked.append(end)

    def idle(self) -> bool:
        return self.at >= self.script.transactions

    def caught_up_at(self) -> float:
        return time.time() if self.idle() else 0.0

    def heard_at(self) -> float:
        return time.time()

    def server(self) -> str:
        return "db1:3306"

    def close(self) -> None:
        self.closed.set()


@dataclass(frozen=True)
class BatchSource:
    """Opens a source that gives these batches; the n-th (from 1) ends at offset n if it is whole. It is picklable."""

    batches: tuple[Batch, ...]

    def __call__(self, plan: WorkerPlan, trouble: ReportTrouble, _keep: Callable[[int], None]) -> "OpenedBatches":
        return OpenedBatches(self.batches, plan.start.offset)


@dataclass
class OpenedBatches:
    batches: tuple[Batch, ...]
    at: int
    closed: threading.Event = field(default_factory=threading.Event)

    def get(self, timeout: float) -> Batch | None:
        if self.idle():
            self.closed.wait(timeout)
            return None
        self.at += 1
        batch = self.batches[self.at - 1]
        end = Position(offset=self.at - (batch.ddl is not None))  # a DDL follows it
        return replace(batch, end=None if batch.open else end, source_time=time.time(), first_time=time.time())

    def ack(self, end: Position) -> None:
        """Nothing is kept for it."""

    def follow(self, channels: object) -> None:
        """The batches after a DDL are given unchanged."""

    def idle(self) -> bool:
        return self.at >= len(self.batches)

    def caught_up_at(self) -> float:
        return time.time() if self.idle() else 0.0

    def heard_at(self) -> float:
        return time.time()

    def server(self) -> str:
        return ""

    def close(self) -> None:
        self.closed.set()


def make_batch(*changes: TableChanges, **overrides: Any) -> Batch:
    facts = {"end": None, "open": False, "events": len(changes), "bytes": 10 * len(changes), "source_time": 0.0}
    return Batch(changes=changes, **(facts | overrides))


@dataclass
class GivenChanges:
    """Change rows as (kind, id, version)."""

    rows: tuple[tuple[ChangeKind, int, int], ...]
    table: tuple[str, str] = ("shop", "orders")
    learned: SourceTable | Reshaped | None = None

    def decode(self, _unheld: object = None, **_which: bool) -> pa.Table:
        kinds, ids, versions = zip(*self.rows, strict=True)
        return pa.table(
            {"id": pa.array(ids, pa.int64()), "version": pa.array(versions, pa.int64()), OP: pa.array(kinds, pa.int8())}
        )


@dataclass
class SlowChanges:
    """Rows whose decoding does not end; `begun` is made when it begins."""

    begun: Path
    table: tuple[str, str] = ("shop", "orders")
    learned: SourceTable | None = None

    def decode(self, _unheld: object = None, **_which: bool) -> pa.Table:
        self.begun.touch()
        threading.Event().wait(2 * HANG_SECOND)
        raise AssertionError("nobody waited for it")


@dataclass(frozen=True)
class TornSource(ScriptedSource):
    """Splits transaction `torn_at`: its first row comes with a position inside it, the rest when that was acked.

    Its first batch shows the table's columns.
    """

    torn_at: int = 1

    def __call__(self, plan: WorkerPlan, trouble: ReportTrouble, _keep: Callable[[int], None]) -> "OpenedTornSource":
        source = OpenedTornSource(self, plan.start.offset)
        source.inside = source.resumed_inside = plan.start.ordinal > 0
        return source


@dataclass
class OpenedTornSource(OpenedSource):
    script: TornSource
    inside: bool = False  # the first row of the split transaction was handed on
    resumed_inside: bool = False  # in an earlier process, in which it was acked

    def get(self, timeout: float) -> Batch | None:
        if self.at + 1 != self.script.torn_at:
            return super().get(timeout)
        number, torn = self.at + 1, Position(offset=self.at, ordinal=1, whole=False)
        changes = ScriptedChanges(self.script.table, number, half=1 if self.inside else 0)
        if not self.inside:
            self.inside = True
            changes.learned = SourceTable(db="shop", name="orders", columns=())
            return replace(self._batch(changes), end=torn, open=True, starved=True)
        if not self.resumed_inside and torn not in self.acked[-1:]:
            self.closed.wait(timeout)
            return None
        self.at = number
        return replace(self._batch(changes), end=Position(offset=number))

    def _batch(self, changes: "ScriptedChanges") -> Batch:
        now = time.time()
        return Batch(changes=(changes,), end=None, open=False, events=1, bytes=50, source_time=now, first_time=now)


@dataclass
class ScriptedChanges:
    table: tuple[str, str]
    number: int
    learned: SourceTable | None = None
    half: int | None = None  # one of its two rows

    def decode(self, _unheld: object = None, **_which: bool) -> pa.Table:
        ids = [self.number, self.number - 1] if self.number > 1 else [self.number]
        kinds = [ChangeKind.INSERT, ChangeKind.UPDATE][: len(ids)]
        if self.half is not None:
            ids, kinds = ids[self.half : self.half + 1], kinds[self.half : self.half + 1]
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "version": pa.array([self.number] * len(ids), pa.int64()),
                OP: pa.array(kinds, pa.int8()),
            },
        )


def scripted_rows(transactions: int) -> dict[int, int]:
    """Id -> version after that many transactions."""
    return {n: min(n + 1, transactions) for n in range(1, transactions + 1)}


class MemoryLake:
    """Upserts by `id`; has a token like a table, so a second commit of an epoch is skipped."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.uuid = "memory"
        self.is_dropped = False
        self.epochs: list[int] = []
        self.emptied: set[int] = set()  # epochs
        self.sequence: list[int] = []
        self.chunks: dict[tuple[str, int], int] = {}  # plan and number: rows
        self.broken: SyncError | None = None
        self.before_commit: Callable[[ChannelCommit], None] = lambda _: None
        self.after_commit: Callable[[ChannelCommit], None] = lambda _: None

    def give_up(self, chunk: ChunkRows) -> None: ...

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None: ...

    def check_integrity(self, db: str, table: str, *, replaced: bool = False) -> None:
        if self.broken is not None:
            raise self.broken

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        """Its columns stay: it holds rows of two, and a channel of these reads and writes no other."""
        dropped = next((change for change in alter.changes if isinstance(change, DropTable)), None)
        if dropped is not None:
            passed_over = self.is_dropped or dropped.uuid != self.uuid
            self.is_dropped = self.is_dropped or not passed_over
            return ChannelCommitted(snapshot=None, passed_over=passed_over)
        last = self.epochs[-1] if self.epochs else 0
        if last > alter.epoch:
            raise SyncError(Code.FENCED, table=alter.table, found=last, epoch=alter.epoch)
        if last < alter.epoch:
            self.epochs.append(alter.epoch)
            if any(isinstance(change, EmptyTable) for change in alter.changes):
                self.rows.clear()
                self.emptied.add(alter.epoch)
        snapshot = alter.epoch if alter.epoch in self.emptied else None
        return ChannelCommitted(snapshot=snapshot, passed_over=last == alter.epoch)

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        self.before_commit(commit)
        if self.is_dropped:
            raise SyncError(Code.NO_SUCH_TABLE, db=commit.db, table=commit.table)
        if commit.chunk is not None:
            return self._commit_chunk(commit, commit.chunk)
        if self.epochs and self.epochs[-1] >= commit.epoch:
            return ChannelCommitted(snapshot=None, passed_over=True)
        for file in commit.files:
            rows = pq.read_table(file.path)
            self._apply(rows)
        self.epochs.append(commit.epoch)
        self.after_commit(commit)
        return ChannelCommitted(snapshot=commit.epoch)

    def _commit_chunk(self, commit: ChannelCommit, chunk: ChunkRows) -> ChannelCommitted:
        if self.epochs and self.epochs[-1] > commit.epoch:
            raise SyncError(Code.FENCED, table=commit.table, found=self.epochs[-1], epoch=commit.epoch)
        this = chunk.plan, chunk.number
        if this in self.chunks:
            return ChannelCommitted(snapshot=None, passed_over=True, rows=self.chunks[this])
        read = [tuple(row.values()) for row in rows_of(chunk).to_pylist()]
        if chunk.replaces:
            self.rows.clear()
        self.rows.update(read)
        self.chunks[this] = len(read)
        return ChannelCommitted(snapshot=len(self.chunks), rows=len(read))

    def _apply(self, rows: pa.Table) -> None:
        for row in rows.sort_by(SEQ).to_pylist():
            self.sequence.append(row[SEQ])
            if row[OP] == ChangeKind.DELETE:
                self.rows.pop(row["id"], None)
            else:
                self.rows[row["id"]] = row["version"]


@dataclass
class MemoryProgress:
    last: LastCommit = field(default_factory=LastCommit)


class MemoryLedger:
    """Intents and epochs of one job in memory; survives the run like the real one survives the frontend."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self.stored: list[tuple[Epoch, bool]] = [(Epoch(number=0, end=Position(), last_seq=0), True)]
        self._progress = {token: MemoryProgress() for token in tokens}
        self.learnt: dict[str, SourceTable] = {}
        self.refused: list[DdlRecord] = []
        self.overturned: list[str] = []
        self.described: dict[str, ChannelDescription] = {}
        self.asked: list[int] = []

    def add_intent(self, epoch: Epoch) -> None:
        assert epoch.number == self.stored[-1][0].number + 1, "epochs follow each other without a gap"
        self.stored.append((epoch, False))

    def commit_epoch(self, epoch: Epoch, committed: Mapping[str, ChannelCommitted], *, consistent: bool = True) -> None:
        self._drop(epoch.number, committed)

    def commit_channel(self, number: int, token: str, outcome: ChannelCommitted) -> None:
        self._drop(number, (token,))

    def gather(self, token: str, numbers: Sequence[int]) -> None:
        gathered = tuple(f for epoch, _ in self.stored if epoch.number in numbers for f in epoch.files[token])
        for number in numbers:
            self._drop(number, (token,))
        self.stored = [
            (replace(epoch, files={**epoch.files, token: gathered}), done)
            if epoch.number == numbers[-1]
            else (epoch, done)
            for epoch, done in self.stored
        ]

    def _drop(self, number: int, tokens: Iterable[str]) -> None:
        gone = set(tokens)
        self.stored = [
            (replace(stored, files={t: f for t, f in stored.files.items() if t not in gone}), True)
            if stored.number == number
            else (stored, done)
            for stored, done in self.stored
        ]

    def backlog(self) -> list[Epoch]:
        return [epoch for epoch, done in self.stored if done and epoch.files]

    def hold(self) -> None:
        """It always is ours."""

    def progress(self) -> Mapping[str, Any]:
        return self._progress

    def intents(self) -> list[Epoch]:
        return [epoch for epoch, done in self.stored if not done]

    def learn(self, token: str, source: SourceTable) -> None:
        self.learnt[token] = source

    def describe(self, channel: ChannelDescription) -> None:
        self.described[channel.token] = channel

    def refuse(self, record: DdlRecord) -> None:
        self.refused.append(record)

    def overturn(self, token: str, reason: str) -> None:
        self.overturned.append(token)

    def note(self, record: DdlRecord) -> None:
        self.refused.append(record)

    def settled(self, position: Position) -> DdlRecord | None:
        return None

    def keep_asked(self, second: int) -> None:
        self.asked.append(second)

    def asked_until(self) -> int:
        return max(self.asked, default=0)

    def last_epoch(self) -> Epoch:
        return self.stored[-1][0]
