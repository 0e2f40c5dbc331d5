"""Which keys the commits of a run touch while somebody watches a table.

Owns: the keys of the epochs that are being committed, for those who compare the table meanwhile.
Must not know: who watches, what follows, how rows are committed.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.job.check.canonical import key_text
from syncmgr.job.check.verdict import Key, Touched
from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position
from syncmgr.job.sync_job import JobId

MOST_KEYS: Final = 1_000_000  # of one watch; beyond that any key counts as touched


class Watch:
    """Of one table."""

    def __init__(self, token: str, columns: Sequence[str]) -> None:
        self.token = token
        self._columns = list(columns)
        self._keys = set[Key]()
        self._everything = False
        self.altered = False  # a statement has changed the table

    @property
    def touched(self) -> Touched:
        return Touched(keys=frozenset(self._keys), everything=self._everything)

    def sees(self, epoch: Epoch) -> None:
        """Before any of it is in the table, or while its staged files are still there."""
        if epoch.ddl is not None and self.token in epoch.ddl.concerned | epoch.ddl.changes.keys():
            self.altered = self._everything = True
        for file in epoch.files.get(self.token, ()):
            if self._everything:
                return
            try:
                self._add(pq.read_table(file.path, columns=self._columns))
            except (OSError, pa.ArrowException, KeyError, TypeError):
                self._everything = True

    def _add(self, rows: pa.Table) -> None:
        columns = [[key_text(value) for value in rows.column(name).to_pylist()] for name in self._columns]
        self._keys.update(zip(*columns, strict=True))
        self._everything = len(self._keys) > MOST_KEYS


class Witness:
    """Of one run, whose thread commits; others watch. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: list[Watch] = []
        self._epoch: Epoch | None = None
        self._committed: Position | None = None

    @contextmanager
    def watching(self, token: str, columns: Sequence[str]) -> Iterator[Watch]:
        """Has the keys of what is being committed now, and of everything that is committed inside, before it is in the
        table. `columns`: of the source, that the key consists of.
        """
        watch = Watch(token, columns)
        with self._lock:
            if self._epoch is not None:
                watch.sees(self._epoch)
            self._watches.append(watch)
        try:
            yield watch
        finally:
            with self._lock:
                self._watches.remove(watch)

    @contextmanager
    def committing(self, epoch: Epoch) -> Iterator[None]:
        """Around the commit, by whose end it is stored; also if that fails, since it may be in the table."""
        with self._lock:
            for watch in self._watches:
                watch.sees(epoch)
            self._epoch = epoch
        yield
        with self._lock:
            self._epoch, self._committed = None, epoch.end

    def committed(self, stored: Callable[[], Position | None]) -> Position | None:
        """The place up to which everything is committed; None: it is not known while the first epoch of the run is
        committed. `stored`: the end of the last epoch.
        """
        with self._lock:  # none begins meanwhile
            return stored() if self._epoch is None and self._committed is None else self._committed


class Witnesses:
    """Of the runs that are alive: one for each life of a job."""

    def __init__(self) -> None:
        self._of: dict[JobId, Witness] = {}

    def begin(self, job_id: JobId) -> Witness:
        """Of a new run."""
        made = self._of[job_id] = Witness()
        return made

    def of(self, job_id: JobId) -> Witness | None:
        """Of the last run; None: it has had none."""
        return self._of.get(job_id)
