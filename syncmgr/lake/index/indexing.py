"""Whether the key index of a table may be used, and how it becomes valid again.

Owns: its states, its lock, when it is built, saved and given up.
Must not know: what a commit does with it, how places are found.
"""

import logging
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.puffin import BrokenVectorError
from syncmgr.lake.iceberg.snapshot_files import ContentFiles, contents_of
from syncmgr.lake.index.index import RolledBackError, TableIndex
from syncmgr.lake.index.index_store import IndexStore, picture
from syncmgr.lake.index.keys import UnindexableError, identifier, key_shape, seeded
from syncmgr.lake.spark.jvm import Java

if TYPE_CHECKING:
    from syncmgr.lake.iceberg.layout import Field

AT_ONCE_BYTES: Final = 16_000_000  # of new entries: a commit reads this many itself, a second of work at most
RETRY_SECOND: Final = 600.0
SAVE_SECOND: Final = 60.0

log = logging.getLogger(__name__)


class IndexState(StrEnum):
    """What SHOW says of an index."""

    READY = "ready"
    BUILDING = "building"
    OFF = "off"


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What SHOW says; `missing`: keys that were updated or deleted at the source and had no row here."""

    state: IndexState
    reason: str | None
    rows: int
    bytes: int
    snapshot: int | None
    equality_deletes: int
    missing: int


class IndexBudget:
    """The memory of all indexes together. `most`: bytes; 0: there are none."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._used: dict[int, int] = {}

    def claim(self, owner: object, size: int) -> None:
        """Raises UnindexableError if it does not fit."""
        with self._lock:
            others = sum(used for number, used in self._used.items() if number != id(owner))
            if others + size > self._most():
                self._used.pop(id(owner), None)
                raise UnindexableError(
                    f"it needs {size} bytes and key_index_max_bytes has {max(0, self._most() - others)} left"
                )
            self._used[id(owner)] = size

    def release(self, owner: object) -> None:
        with self._lock:
            self._used.pop(id(owner), None)


class Indexing:
    """The index of one table. The holder of `lock` may use it and commit to the table; `follow_up` takes it itself."""

    def __init__(
        self, folder: Path, budget: IndexBudget, name: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`folder`: of all indexes. `name`: of the table; two tables of one UUID, as another engine registers them,
        have an index each.
        """
        self._name = name
        self.lock = threading.RLock()
        self._folder, self._budget, self._clock = folder, budget, clock
        self._index: TableIndex | None = None
        self._store: IndexStore | None = None
        self._table = ""
        self._state = IndexState.BUILDING
        self._reason: str | None = None
        self._off_until = 0.0
        self._identifier: tuple[Field, ...] | None = None  # of the table as last seen
        self._saved: tuple[float, int | None] = clock(), None
        self._missing = 0
        self._aside = False

    def usable(self, iceberg: Iceberg, table: Java) -> TableIndex | None:
        """The index, valid for the table's current snapshot; None: equality deletes have to be used."""
        if self._aside or self._rests(iceberg, table):
            return None
        if self._state is IndexState.BUILDING and self._index is not None:
            return None  # the builder works on it without the lock
        try:
            index = self._opened(iceberg, table)
        except UnindexableError as error:
            self.give_up(error)
            return None
        if self._holds(index, table):
            return index
        table.refresh()  # loaded without the lock, it may be older than a commit that the index has seen
        return index if self._holds(index, table) else self._brought(index, contents_of(iceberg, table))

    def _rests(self, iceberg: Iceberg, table: Java) -> bool:
        """Whether it was given up a short time ago, for a table that had the same key."""
        off = self._state is IndexState.OFF and self._clock() < self._off_until
        return off and self._identifier in {None, identifier(iceberg.layout(table))}

    def _holds(self, index: TableIndex, table: Java) -> bool:
        snapshot = table.currentSnapshot()
        current = None if snapshot is None else int(snapshot.snapshotId())
        is_there = index.snapshot == current and index.place == str(table.location())
        return self._state is IndexState.READY and not index.lost and is_there

    def _brought(self, index: TableIndex, contents: ContentFiles) -> TableIndex | None:
        """The index at these contents, if that costs little."""
        if index.distance(contents) * index.shape.row_bytes > AT_ONCE_BYTES:
            self._state = IndexState.BUILDING
            return None
        with self._undone_if_it_fails():
            self._follow(index, contents)
        return self._index

    @contextmanager
    def _undone_if_it_fails(self) -> Iterator[None]:
        """A half-changed index must never be used: it would miss rows that must vanish."""
        try:
            yield
        except RolledBackError:
            self._begin_anew()
        except (UnindexableError, OverflowError, BrokenVectorError, OSError, pa.ArrowException) as error:
            self.give_up(error)
        except BaseException:
            self._begin_anew()
            raise

    def _opened(self, iceberg: Iceberg, table: Java) -> TableIndex:
        """The index of exactly this table, as it was saved, or an empty one."""
        name = str(table.uuid())
        if name != self._table:
            self._index, self._table, self._state = None, name, IndexState.BUILDING
            self._store = IndexStore(self._folder_of(name), name)
        layout = iceberg.layout(table)
        self._identifier = identifier(layout)
        shape = key_shape(layout)
        if self._index is None or self._index.shape != shape:
            assert self._store is not None
            self._index = self._store.load(shape) or TableIndex(seeded(shape))
        return self._index

    def _folder_of(self, uuid: str) -> Path:
        """An earlier version had one for all tables of a UUID."""
        own, earlier = self._folder / f"{uuid}-{zlib.crc32(self._name.encode()):08x}", self._folder / uuid
        if not own.exists():
            with suppress(OSError):  # there is none, or the other table has it
                earlier.rename(own)
        return own

    def _follow(self, index: TableIndex, contents: ContentFiles) -> None:
        size = index.nbytes + index.distance(contents) * index.shape.row_bytes
        self._budget.claim(self, size)
        index.follow(contents)
        self._state, self._reason = IndexState.READY, None

    @contextmanager
    def moving(self, missing: int) -> Iterator[None]:
        """While the index takes in a commit. `missing`: keys that should have had a row but had none."""
        self._missing += missing
        if missing:
            log.info("%s keys of table %s were changed at the source and had no row here", missing, self._table)
        with self._undone_if_it_fails():
            yield
            assert self._index is not None
            self._budget.claim(self, self._index.nbytes)

    def lost(self) -> None:
        """A commit whose outcome is unknown: the next one checks the table."""
        if self._index is not None and self._state is IndexState.READY:
            self._index.lose()

    def give_up(self, error: Exception) -> None:
        """No index for some time; the epochs write equality deletes."""
        with self.lock:
            if (self._state, self._reason) != (IndexState.OFF, str(error)):
                log.warning("no key index for table %s: %s", self._table, error)
            self._begin_anew()
            self._state, self._reason = IndexState.OFF, str(error)
            self._off_until = self._clock() + RETRY_SECOND

    def _begin_anew(self) -> None:
        with self.lock:
            self._index, self._state = None, IndexState.BUILDING
            self._budget.release(self)
            if self._store is not None:
                self._store.drop()

    def drop(self) -> None:
        """The table is gone."""
        self._begin_anew()

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """While another engine rewrites files, and would yield to vectors on them: epochs write equality deletes."""
        with self.lock:
            self._aside = True
        try:
            yield
        finally:
            self._aside = False

    def why_not(self) -> str:
        """Why no index is in force, for a message."""
        return self._reason or ("files are being rewritten" if self._aside else "it is being built")

    @property
    def comes(self) -> bool:
        """Whether one will be in force without anybody's doing."""
        return not self._reason

    @property
    def is_behind(self) -> bool:
        """Whether `follow_up` has something to do."""
        return self._state is IndexState.BUILDING and self._index is not None

    def follow_up(self, iceberg: Iceberg, load: Callable[[], Java]) -> None:
        """Builds the index while commits go on with equality deletes, and the last step under the lock."""
        index = self._index
        if index is None or self._state is not IndexState.BUILDING:
            return
        with self._undone_if_it_fails():
            self._build(index, iceberg, load)

    def _build(self, index: TableIndex, iceberg: Iceberg, load: Callable[[], Java]) -> None:
        contents = contents_of(iceberg, load())
        while index.distance(contents) * index.shape.row_bytes > AT_ONCE_BYTES:
            self._budget.claim(self, index.nbytes + index.distance(contents) * index.shape.row_bytes)
            index.follow(contents)
            contents = contents_of(iceberg, load())
        with self.lock:
            contents = contents_of(iceberg, load())
            if self._index is index:  # the table was not dropped meanwhile
                self._follow(index, contents)

    def save(self, *, now: bool = False) -> None:
        """Writes the index to disk if it moved and that is some time ago, or `now`. Raises OSError."""
        with self.lock:
            index, (at, snapshot) = self._index, self._saved
            if index is None or self._state is not IndexState.READY or index.snapshot in {None, snapshot}:
                return
            if not now and self._clock() - at < SAVE_SECOND:
                return
            taken, store = picture(index), self._store
        assert store is not None
        store.save(taken, index.shape)
        self._saved = self._clock(), taken.snapshot

    def standing(self, equality_deletes: int = 0) -> Standing:
        index = self._index
        return Standing(
            state=self._state,
            reason=self._reason,
            rows=0 if index is None else len(index.keys),
            bytes=0 if index is None else index.nbytes,
            snapshot=None if index is None else index.snapshot,
            equality_deletes=equality_deletes,
            missing=self._missing,
        )
