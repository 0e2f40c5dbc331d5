"""Which tables of a local lake are durably on its disk.

Owns: that one sync runs at a time, what it confirms, and which tables accept no commit after a failed one.
Must not know: what is written, how a table is set back.

Linux reports a lost write once to each descriptor, and never to one that was opened after another one got the report;
the next sync succeeds, although the pages are lost. So one descriptor stays open, and what was not confirmed when a
sync failed counts as lost for good: its table is closed until the catalog names metadata from before.
"""

import contextlib
import logging
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from syncmgr.errors import Code, SyncError
from syncmgr.host.durable import opened, sync_opened
from syncmgr.lake import lost_writes
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.lost_writes import NOTE, Lost
from syncmgr.lake.storage_errors import of_lake

log = logging.getLogger(__name__)
Name = tuple[str, str]  # database and table


@contextmanager
def lake_disk() -> Iterator[None]:
    """What an error of the local disk means to the operator."""
    try:
        yield
    except OSError as error:
        raise SyncError(of_lake(str(error)), reason=str(error)) from error


class Durability:
    """`pointer`: where the catalog says that a table's metadata are. `is_new`: whether nothing was ever committed to a
    table. From any thread.
    """

    def __init__(
        self,
        folder: Path,
        pointer: Callable[[str, str], Pointer],
        is_new: Callable[[str, str], bool],
        sync: Callable[[int, Path], None] = sync_opened,
    ) -> None:
        self._folder, self._pointer, self._is_new, self._sync = folder, pointer, is_new, sync
        self._descriptor: int | None = None
        self._syncing, self._lock = threading.Lock(), threading.RLock()
        self._numbers = count()
        self._writers: Counter[Name] = Counter()
        self._written: dict[Name, int] = {}  # with a separate number for each begin and end of a write
        self._confirmed: dict[Name, str] = {}
        self._lost: dict[Name, Lost] = {}
        self._reopened: set[Name] = set()  # lost, and new: the first commit that a sync confirms makes up for it
        self._unreadable: str | None = None  # what an earlier process noted

    def open(self) -> None:
        """Before anything is written. Raises OSError."""
        with self._lock:
            if self._descriptor is not None:
                return
            self._load()
            self._descriptor = opened(self._folder)

    def close(self) -> None:
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def writing(self, db: str, table: str) -> Iterator[Callable[[], None]]:
        """What is written to a table in this context is on the disk when it ends without an error; call its value if
        nothing was written.

        Raises WRITES_LOST if it is not, or if an earlier write to the table is not, or LAKE_DAMAGED if that is not
        known.
        """
        name, wrote = (db, table), True

        def nothing() -> None:
            nonlocal wrote
            wrote = False

        self._refuse_lost(name)
        if not self._is_confirmed(name):
            self._confirm(name, self._begun(name, writers=0))
        before = self._written.get(name)
        number = self._begun(name)
        try:
            yield nothing
        finally:
            number = self._ended(name, number, before, wrote=wrote)
        if wrote:
            self._confirm(name, number)

    @contextmanager
    def making(self, db: str, table: str) -> Iterator[None]:
        """As `writing`, for a table that does not exist yet. Raises WRITES_LOST, even if a commit would repair it."""
        name = db, table
        self._refuse_lost(name)
        number = self._begun(name)
        try:
            yield
        finally:  # if it fails, it is not known how far it got, or whether others write to an existing table
            number = self._ended(name, number, None, wrote=True)
        with self._syncing:
            if self._written.get(name, -1) >= number:
                self._sync_all()
        if name in self._lost and name not in self._reopened:
            raise _error(self._lost[name])

    def confirm(self) -> None:
        """What was written is on the disk. Raises the errors of a disk."""
        with self._syncing:
            error = self._sync_all()
        if error is not None:
            raise SyncError(of_lake(str(error)), reason=str(error)) from error

    @contextmanager
    def expiring(self, db: str, table: str) -> Iterator[Callable[[], None]]:
        """As `writing`, for an action that deletes files while others commit: it begins with a table that is on the
        disk, since earlier metadata may be needed again; call its value if something was written.
        """
        name, wrote = (db, table), False

        def something() -> None:
            nonlocal wrote
            wrote = True

        if name in self._written or not self._is_confirmed(name):
            self._confirm(name, self._begun(name, writers=0))
        try:
            yield something
        except BaseException:
            self._begun(name, writers=0)  # it is not known how far it got
            raise
        if wrote:
            self._confirm(name, self._begun(name, writers=0))

    def forget(self, db: str, table: str) -> None:
        """The table was dropped."""
        with self._lock:
            self._written.pop((db, table), None)
            self._confirmed.pop((db, table), None)
            self._reopened.discard((db, table))
            if self._lost.pop((db, table), None) is not None:
                self._save()

    def _is_confirmed(self, name: Name) -> bool:
        """Some metadata of the table that has the name now: it may have been recreated."""
        confirmed, location = self._confirmed.get(name), self._location(name)
        return confirmed is not None and (location is None or _same_table(location, confirmed))

    def _begun(self, name: Name, writers: int = 1) -> int:
        with self._lock:
            self._writers[name] += writers
            self._written[name] = next(self._numbers)
            return self._written[name]

    def _ended(self, name: Name, number: int, before: int | None, *, wrote: bool) -> int:
        with self._lock:
            self._writers[name] -= 1
            if wrote:
                self._written[name] = next(self._numbers)
            elif self._written.get(name) == number:
                self._written.pop(name) if before is None else self._written.update({name: before})
            return self._written.get(name, number)

    def _confirm(self, name: Name, number: int) -> None:
        """By a sync that begins from now on, even one for another table."""
        with self._syncing:
            if self._written.get(name, -1) >= number:
                self._sync_all()
        self._refuse_lost(name)

    def _sync_all(self) -> OSError | None:
        """One at a time, since an error is reported to only one call."""
        self.open()
        with self._lock:
            settled = {name: number for name, number in self._written.items() if not self._writers[name]}
        pointers = {name: self._read_pointer(name) for name in settled}
        assert self._descriptor is not None
        try:
            self._sync(self._descriptor, self._folder)
        except OSError as error:
            self._lose(error)
            return error
        with self._lock:
            for name, pointer in pointers.items():
                if pointer is not None and self._written.get(name) == settled[name]:
                    self._settle(name, pointer)
        return None

    def _settle(self, name: Name, pointer: Pointer) -> None:
        """What the disk has stored, except the first metadata of a table that was created while it lost writes."""
        if name in self._reopened:
            if pointer.previous is None:
                return
            self._reopened.discard(name)
            self._lost.pop(name, None)
            self._save()
        self._written.pop(name, None)
        self._confirmed[name] = pointer.location

    def _lose(self, error: OSError) -> None:
        with self._lock:
            self._reopened -= self._written.keys()
            lost = [name for name in self._written if name not in self._lost]
            for name in lost:
                before = self._confirmed[name] if self._is_confirmed(name) else self._previous(name)
                self._lost[name] = Lost(db=name[0], table=name[1], reason=str(error), before=before)
            self._save()
        log.error("the disk of the lake has lost writes: %s; tables that are not confirmed: %s", error, lost)

    def _load(self) -> None:
        """Written again, since the disk may have lost it, too, and may accept it by now."""
        try:
            found = lost_writes.read(self._folder)
        except FileNotFoundError:
            return
        except (ValueError, TypeError) as error:  # TypeError: another version wrote it
            self._unreadable = f"the disk has lost writes, and with them which ones: '{self._folder / NOTE}': {error}"
            return
        self._lost = {(each.db, each.table): each for each in found}
        self._save()

    def _save(self) -> None:
        """A kill must not lose the note; a disk that loses writes may not store it, which cannot be helped."""
        note = self._folder / NOTE
        try:
            if not self._lost:
                note.unlink(missing_ok=True)
                return
            with note.with_suffix(".new").open("w") as file:
                file.write(lost_writes.text(self._lost.values()))
                file.flush()
                with contextlib.suppress(OSError):
                    os.fsync(file.fileno())
            note.with_suffix(".new").replace(note)
        except OSError as error:
            log.warning("%s was not written: %s", note, error)

    def _refuse_lost(self, name: Name) -> None:
        """A table that was set back, or recreated under the name, counts as never written, unless there is a write to
        it under way: what that has lost is not named yet.
        """
        if self._unreadable is not None:
            raise SyncError(Code.LAKE_DAMAGED, reason=self._unreadable)
        lost = self._lost.get(name)
        if lost is None or name in self._reopened:
            return
        location = self._location_of(lost)
        if self._writers[name] or not (location is None or self._is_harmless(lost, location)):
            raise _error(lost)
        with self._lock:
            if not self._writers[name]:
                self._written.pop(name, None)
            if location is not None and lost.before is None:
                self._reopened.add(name)
            else:
                self._lost.pop(name, None)
                self._save()
            if location is not None and location == lost.before:
                self._confirmed[name] = location
        with self._syncing:
            self._sync_all()  # what it still reports was written before the table was set back

    def _location_of(self, lost: Lost) -> str | None:
        """None: it was dropped. Raises WRITES_LOST if that cannot be determined."""
        try:
            return self._pointer(lost.db, lost.table).location
        except sqlite3.Error as error:
            raise _error(lost) from error
        except SyncError as error:
            if error.code is Code.NO_SUCH_TABLE:
                return None
            raise

    def _is_harmless(self, lost: Lost, location: str) -> bool:
        """It was set back, or is another table, or the next commit writes all that was ever written to it."""
        if lost.before is None:
            return self._is_new(lost.db, lost.table)
        return location == lost.before or not _same_table(location, lost.before)

    def _location(self, name: Name) -> str | None:
        pointer = self._read_pointer(name)
        return None if pointer is None else pointer.location

    def _previous(self, name: Name) -> str | None:
        pointer = self._read_pointer(name)
        return None if pointer is None else pointer.previous

    def _read_pointer(self, name: Name) -> Pointer | None:
        try:
            return self._pointer(*name)
        except (SyncError, sqlite3.Error):
            return None


def _same_table(location: str, before: str | None) -> bool:
    """Each table has a folder of its own, even one with the name of a dropped table."""
    return before is None or location.rpartition("/")[0] == before.rpartition("/")[0]


def _error(lost: Lost) -> SyncError:
    label = f"{lost.db}.{lost.table}"
    cure = "drop the table and create it again"
    if lost.before is not None:
        manual = "docs/operations.md, A disk that loses writes"
        cure = f"set the catalog back to {lost.before}, the metadata that is on it ({manual})"
    return SyncError(Code.WRITES_LOST, table=label, reason=lost.reason, cure=cure)
