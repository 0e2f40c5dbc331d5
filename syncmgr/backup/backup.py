"""`syncmgr backup FOLDER`: a copy of one moment, while the frontend runs or not.

Owns: the order of its steps.
Must not know: how files name each other, how the copy is restored.

1. note     which files the tables have now: each gets a hard link in a folder of ours, which no expiry, no DROP
            TABLE and no removal of orphans reaches
2. moment   no commits: metadata and catalog are copied, staged files and each table's metadata get their hard links
3. note     the few files that were added between 1 and 2. If one was deleted before it had its link, again from 2 on
            Then each is examined: what could not be restored into other folders is refused
4. bring    all of them into FOLDER; copies are compared
5. check    all files that the tables in FOLDER name exist in full length; then backup.json is written
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from syncmgr import __version__
from syncmgr.backup import manifest
from syncmgr.backup.files import as_backup_errors, copied, empty_after_failure, link, place
from syncmgr.backup.manifest import LAKE, META, STAGING, Entry, Manifest
from syncmgr.backup.moment import copy_database, held, held_server
from syncmgr.backup.places import BACKUP_LOCK, SECRETS, Places, places
from syncmgr.backup.served_metadata import copy_out
from syncmgr.config.settings import Settings
from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.host.durable import sync_file_system
from syncmgr.host.folders import lock_of
from syncmgr.lake.opening import saved_tables
from syncmgr.lake.registry import FORMAT
from syncmgr.meta.database.engine import META_FILE
from syncmgr.meta.staged import staged_files

PINS: Final = ".backup"  # in lake_dir and staging_dir; what a killed backup leaves there is removed by the next one
ROUNDS: Final = 10
CONF: Final = "conf/fe.conf"


def back_up(settings: Settings, conf: Path, folder: Path, say: Callable[[str], None]) -> None:
    """Raises BACKUP_REFUSED, BACKUP_LACKS, BACKUP_FAILED."""
    here, folder = places(settings, Code.BACKUP_REFUSED), folder.absolute()
    with as_backup_errors("backup", folder):
        _refuse(here, folder)
        lock = lock_of(here.meta_dir / BACKUP_LOCK)
        if lock is None:
            raise SyncError(Code.BACKUP_REFUSED, reason=f"another backup of '{here.meta_dir}' is under way")
        with lock, _pins(here), empty_after_failure(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            Backup(here, folder, say).run({CONF: conf, **_secrets(here)})


def _refuse(here: Places, folder: Path) -> None:
    reason = None
    if here.meta_server is None and not here.meta_file.is_file():
        reason = f"'{here.meta_file}' is not there: no frontend has run with this fe.conf"
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        reason = f"'{folder}' is not an empty folder"
    elif any(folder.resolve().is_relative_to(own) for own in (here.meta_dir, here.lake_dir, here.staging_dir)):
        reason = f"'{folder}' is among the files to be saved"
    if reason is not None:
        raise SyncError(Code.BACKUP_REFUSED, reason=reason)


def _secrets(here: Places) -> dict[str, Path]:
    """The key of the passwords, and the console's certificate."""
    found = [here.meta_dir / name for name in SECRETS]
    files = [path for root in found for path in (root, *root.glob("*")) if path.is_file()]
    return {f"{META}/{path.relative_to(here.meta_dir)}": path for path in files}


@contextmanager
def _pins(here: Places) -> Iterator[None]:
    """Removes what an earlier backup has left, and what this one leaves."""
    folders = [here.lake_dir / PINS, here.staging_dir / PINS]
    try:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


class Backup:
    """One backup."""

    def __init__(self, here: Places, folder: Path, say: Callable[[str], None]) -> None:
        self._here, self._folder, self._say = here, folder, say
        self._meta, self._catalog = folder / META / META_FILE, folder / LAKE / here.catalog.name
        self._lake = saved_tables(FORMAT, here.lake_dir, self._pin_of_lake)

    def run(self, beside: Mapping[str, Path]) -> None:
        """`beside`: small files that are copied, by their path in the backup."""
        for path in (self._meta, self._catalog):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._note_early()
        at, tables, staged = self._moment()
        self._warn()
        passing(CrashPoint.BACKUP_NOTED)
        entries = {name: copied(path, self._folder / name) for name, path in beside.items()}
        entries |= self._bring(LAKE, self._here.lake_dir, tables)
        entries |= self._bring(STAGING, self._here.staging_dir, staged)
        entries |= self._note_lost()
        databases = [path for path in (self._meta, self._catalog) if path.exists()]
        entries |= {str(path.relative_to(self._folder)): manifest.entry_of(path) for path in databases}
        self._check()
        sync_file_system(self._folder)
        lake_dir, staging_dir = str(self._here.lake_dir), str(self._here.staging_dir)
        written = Manifest(version=__version__, at=at, lake_dir=lake_dir, staging_dir=staging_dir, files=entries)
        manifest.write(self._folder, written)
        sync_file_system(self._folder)
        length = sum(entry.bytes for entry in entries.values())
        self._say(f"{self._folder}: {len(entries)} files, {length} bytes, compared")

    def _warn(self) -> None:
        """Of what a restore into other folders would refuse; in its own place nothing is rewritten."""
        if self._catalog.exists():
            for each in self._lake.unmovable(self._catalog):
                self._say(f"warning: this backup can only be restored with lake_dir = {self._here.lake_dir}: {each}")

    def _note_early(self) -> None:
        """Files that disappear meanwhile do not matter, nor errors: everything is examined again."""
        if not self._here.catalog.exists():
            return
        copy_database(self._here.catalog, self._catalog)
        try:
            self._lake.files(self._catalog)
            self._lake.previous(self._catalog)
        except FileNotFoundError:
            return

    def _moment(self) -> tuple[float, set[Path], set[Path]]:
        """The time of the moment, and the files of tables and staging, below their folders."""
        for _ in range(ROUNDS):
            at, staged = self._hold()
            try:
                return at, self._tables(), staged
            except FileNotFoundError as error:  # expired before it had its hard link
                lost = error
        raise SyncError(Code.BACKUP_LACKS, path=lost.filename, what="a table", reason="it is not there")

    def _tables(self) -> set[Path]:
        """Raises FileNotFoundError."""
        if not self._catalog.exists():
            return set()
        named = self._lake.files(self._catalog) | self._lake.previous(self._catalog)
        return {self._lake.relative(location) for location in named}

    def _hold(self) -> tuple[float, set[Path]]:
        """The moment itself, and its staged files. Raises BACKUP_REFUSED, BACKUP_LACKS."""
        files = {self._here.meta_file: self._meta, self._here.catalog: self._catalog}
        there = {file: to for file, to in files.items() if file.exists()}
        begun = time.monotonic()
        with self._held_server() as server, held(*there):
            passing(CrashPoint.BACKUP_HELD)
            at = time.time()
            if server is not None:
                copy_out(server, self._meta)
            for file, to in there.items():
                copy_database(file, to)
            staged = {self._pin_staged(path) for path in staged_files(self._meta)}
            if self._catalog.exists():
                self._lake.take(self._catalog)
        self._say(f"commits were held for {time.monotonic() - begun:.2f} s")
        return at, staged

    def _held_server(self) -> AbstractContextManager[Connection | None]:
        url = self._here.meta_server
        return nullcontext() if url is None else held_server(url)

    def _pin_of_lake(self, path: Path) -> Path:
        return self._pin(self._here.lake_dir, path)

    def _pin_staged(self, name: str) -> Path:
        """Below staging_dir. Raises BACKUP_LACKS."""
        root = self._here.staging_dir
        try:
            path = Path(name).relative_to(root)
            self._pin(root, path)
        except (ValueError, FileNotFoundError) as error:
            raise SyncError(Code.BACKUP_LACKS, path=name, what="the staged rows", reason=error) from error
        return path

    def _pin(self, root: Path, path: Path) -> Path:
        """Gets its hard link. Raises FileNotFoundError, BACKUP_REFUSED."""
        pin = root / PINS / path
        try:
            link(root / path, pin)
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = f"'{root / path}' gets no second name (hard link): {error.strerror}; stop the frontend and copy"
            raise SyncError(Code.BACKUP_REFUSED, reason=f"{reason} meta_dir, lake_dir and staging_dir") from error
        return pin

    def _bring(self, name: str, root: Path, paths: Iterable[Path]) -> dict[str, Entry]:
        to = self._folder / name
        return {f"{name}/{path}": place(root / PINS / path, to / path) for path in sorted(paths)}

    def _note_lost(self) -> dict[str, Entry]:
        """As late as possible: the kernel may report by now what was written before the moment."""
        lost = self._lake.copy_lost(self._catalog, self._folder / LAKE) if self._catalog.exists() else None
        if lost is None:
            return {}
        note, tables = lost
        self._say(
            f"warning: the disk of the lake has lost writes (error 20236) of {', '.join(tables)}: their rows in this "
            "backup may be damaged, and they accept no commit where it is restored, until they are set back"
        )
        return {f"{LAKE}/{note.name}": manifest.entry_of(note)}

    def _check(self) -> None:
        """The copy is whole by itself."""
        if self._catalog.exists():
            saved_tables(FORMAT, self._here.lake_dir, lambda path: self._folder / LAKE / path).files(self._catalog)
