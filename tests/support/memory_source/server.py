"""The folder as a server: its tables, its existing rows, and the changes after a place."""

import json
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import OP, Batch, ChangeKind
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkRows, ReadRows
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.schema import SourceColumn, SourceTable, arrow_type
from syncmgr.sources.port import Keep, StreamPlan, Table, Trouble

FILE = "changes.jsonl"
POLL_SECOND = 0.05

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """One row of a transaction, as its line has it."""

    table: Table
    kind: ChangeKind
    row: Row


class Folder:
    """Read again by each call; its writer appends whole lines."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def tables(self) -> dict[Table, SourceTable]:
        stored = json.loads((self._path / "tables.json").read_text())
        return {
            (each["db"], each["name"]): SourceTable(
                db=each["db"], name=each["name"], columns=tuple(SourceColumn(**column) for column in each["columns"])
            )
            for each in stored
        }

    def transactions(self, after: int = 0) -> list[list[Change]]:
        """A table that comes is one without rows."""
        return [
            [] if isinstance(each, dict) else [Change(tuple(table), ChangeKind(kind), row) for table, kind, row in each]
            for each in self._lines(after)
        ]

    def renamed(self, after: int) -> Iterator[tuple[Table | None, Table | None]]:
        """The tables that came, went or changed their names, each with its old name and its new one."""
        for each in self._lines(after):
            if isinstance(each, dict):
                old, new = each["table"]
                yield old and tuple(old), new and tuple(new)

    def _lines(self, after: int) -> list[Any]:
        return [json.loads(each) for each in (self._path / FILE).read_text().splitlines()[after:]]

    def end(self) -> Position:
        return Position(file=FILE, offset=len(self.transactions()), created=1)

    def rows(self, table: SourceTable) -> list[Row]:
        """Those that exist now, by key."""
        key = [column.name for column in table.columns if column.key]
        found: dict[tuple[Any, ...], Row] = {}
        for change in (change for each in self.transactions() for change in each):
            if change.table == (table.db, table.name):
                found.pop(tuple(change.row[name] for name in key), None)
                if change.kind is not ChangeKind.DELETE:
                    found[tuple(change.row[name] for name in key)] = change.row
        return list(found.values())


def columns_of(table: SourceTable, names: Sequence[str]) -> list[SourceColumn]:
    return [column for name in names for column in table.columns if column.name == name]


@dataclass(frozen=True)
class MemoryRows:
    """Those of one chunk."""

    folder: str
    table: SourceTable
    columns: tuple[SourceColumn, ...]

    def __call__(self) -> Iterator[ReadRows]:
        try:
            rows = Folder(self.folder).rows(self.table)
        except FileNotFoundError as error:
            raise SyncError(Code.SNAPSHOT_BROKEN, table=self.table.label, reason=str(error)) from error
        arrays = [pa.array([row[each.name] for row in rows], arrow_type(each)) for each in self.columns]
        yield ReadRows(rows=pa.table(arrays, names=[each.name for each in self.columns]))


@dataclass(frozen=True)
class MemoryChunks:
    folder: str

    def rows(self, chunk: ChunkRows) -> MemoryRows:
        return MemoryRows(self.folder, chunk.table, chunk.wanted)


@dataclass
class MemorySnapshot:
    folder: str

    def give_up(self) -> None:
        """Nothing here waits."""

    def settle(self, start: Position) -> MemoryChunks:
        assert start.file == FILE
        return MemoryChunks(self.folder)

    def await_seen(self, table: SourceTable, start: Position) -> None:
        """What is in the file shows."""

    def plan(self, table: SourceTable, key: Sequence[str], wanted_rows: int, where: str = "") -> ChunkPlan:
        assert not where, f"{wanted_rows} rows of {table.label}"
        return ChunkPlan(id="memory", key=tuple(key), bounds=(), rows=len(Folder(self.folder).rows(table)))

    def end(self) -> Position:
        return Folder(self.folder).end()

    def exact(self, table: SourceTable, name: str, known: Collection[str]) -> AbstractContextManager[Any]:
        raise AssertionError(f"{table.label} has a key: {name}, {known}")

    def check_same(self, tables: Sequence[tuple[SourceTable, Sequence[str]]]) -> None:
        there = Folder(self.folder).tables()
        assert all(there[table.db, table.name] == table for table, _ in tables)

    def check_held(self, start: Position) -> float | None:
        assert start.file == FILE
        return None


@dataclass
class MemoryChanges:
    """The rows of one table in a batch."""

    table: Table
    columns: list[SourceColumn]
    changes: list[Change]
    learned: None = None

    def decode(self, unheld: list[Unheld] | None = None, **_which: bool) -> pa.Table:
        assert unheld is None, "a job of this source checks no values"
        arrays = {
            each.name: pa.array([change.row[each.name] for change in self.changes], arrow_type(each))
            for each in self.columns
        }
        return pa.table({**arrays, OP: pa.array([change.kind for change in self.changes], pa.int8())})


@dataclass(frozen=True)
class OpenMemory:
    """Sent to the worker."""

    folder: str

    def __call__(self, plan: StreamPlan, trouble: Trouble, keep: Keep, /) -> "MemoryStream":
        del trouble, keep
        wanted = {(each.source.db, each.source.name): columns_of(each.source, each.reads) for each in plan.channels}
        return MemoryStream(Folder(self.folder), wanted, plan.start.offset)


@dataclass
class MemoryStream:
    folder: Folder
    wanted: Mapping[Table, list[SourceColumn]]
    at: int
    known: float = 0.0
    closed: threading.Event = field(default_factory=threading.Event)

    def get(self, timeout: float) -> Batch | None:
        before = time.time()
        found = self.folder.transactions(self.at)
        if not found:
            self.known = before
            self.closed.wait(min(timeout, POLL_SECOND))
            return None
        self.at += 1
        changes = tuple(self._changes(found[0]))
        end = Position(file=FILE, offset=self.at, created=1)
        events = sum(len(each.changes) for each in changes)
        return Batch(
            changes=changes,
            end=end,
            open=False,
            events=events,
            bytes=100 * events,
            source_time=before,
            first_time=before,
        )

    def _changes(self, transaction: Sequence[Change]) -> Iterator[MemoryChanges]:
        for table, columns in self.wanted.items():
            rows = [change for change in transaction if change.table == table]
            if rows:
                yield MemoryChanges(table, columns, rows)

    def ack(self, end: Position) -> None:
        """The file stays."""

    def follow(self, channels: object, /) -> None:
        raise AssertionError("there is no DDL")

    def heard_at(self) -> float:
        return time.time()

    def caught_up_at(self) -> float:
        return self.known

    def server(self) -> str:
        return ""

    def close(self) -> None:
        self.closed.set()
