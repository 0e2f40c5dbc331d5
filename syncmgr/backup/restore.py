"""`syncmgr restore FOLDER`: a backup becomes the folders of a frontend that does not run.

Owns: the order of its steps. An interrupted restore is marked, and no frontend starts on it.
Must not know: how a backup is made.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from syncmgr.backup import manifest, served_metadata
from syncmgr.backup.files import as_backup_errors, copied
from syncmgr.backup.manifest import LAKE, META, STAGING, Manifest
from syncmgr.backup.places import Places, places
from syncmgr.config.settings import Settings
from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.host.durable import sync_file_system
from syncmgr.host.folders import RESTORING, locked, make_writable, refuse_unfinished
from syncmgr.host.moved_folder import Move
from syncmgr.lake.opening import saved_tables
from syncmgr.lake.port import SavedTables
from syncmgr.lake.registry import FORMAT
from syncmgr.meta.database.engine import META_FILE, refuse_unfit
from syncmgr.meta.staged import make_foreign

ROOT: Final = 0


def restore(settings: Settings, folder: Path, say: Callable[[str], None]) -> None:
    """Raises RESTORE_REFUSED, RESTORE_UNFINISHED, META_IN_USE, NOT_WRITABLE, BACKUP_*."""
    here, folder = places(settings, Code.RESTORE_REFUSED), folder.absolute()
    saved = manifest.read(folder)
    for each in (here.meta_dir, here.lake_dir, here.staging_dir, here.meta_file.parent):
        make_writable(each)
    with as_backup_errors("restore", folder), locked(here.meta_dir):
        refuse_unfinished(here.meta_dir)
        there = here.occupied()
        if there is not None:
            reason = f"'{there}' is there already; move what is in meta_dir, lake_dir and staging_dir elsewhere first"
            raise SyncError(Code.RESTORE_REFUSED, reason=reason)
        _refuse_full(here)
        manifest.compare(folder, saved)
        mark = here.meta_dir / RESTORING
        mark.touch()
        try:
            Restore(here, folder, saved, say).run()
        except BaseException:
            _undo(here)
            mark.unlink()
            raise
        mark.unlink()


def _refuse_full(here: Places) -> None:
    """Raises RESTORE_REFUSED if the database of a server has metadata, META_CHARSET or META_PACKET if it cannot hold
    them.
    """
    if here.meta_server is None:
        return
    with served_metadata.opened(here.meta_server) as engine:
        refuse_unfit(engine)
        there = served_metadata.ours(engine)
    if there:
        reason = f"the database of meta_url has table '{there[0]}'; name an empty one, or drop what is there"
        raise SyncError(Code.RESTORE_REFUSED, reason=reason)


def _undo(here: Places) -> None:
    """Everything was empty before. The mark stays until nothing else is left: this may be interrupted, too."""
    if here.meta_server is not None:
        with served_metadata.opened(here.meta_server) as engine:
            served_metadata.clear(engine)
    while (path := here.occupied(RESTORING)) is not None:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


class Restore:
    """One restore into folders that are empty."""

    def __init__(self, here: Places, folder: Path, saved: Manifest, say: Callable[[str], None]) -> None:
        self._here, self._folder, self._saved, self._say = here, folder, saved, say
        self._meta = here.meta_file

    def run(self) -> None:
        for name in self._saved.files:
            target = self._target(name)
            if target is not None:
                self._copy(name, target)
        self._drop_views()
        lake = Move(old=Path(self._saved.lake_dir), new=self._here.lake_dir)
        staging = Move(old=Path(self._saved.staging_dir), new=self._here.staging_dir)
        if lake.old != lake.new:
            self._move(lake)
        tables = self._check()
        make_foreign(self._meta, None if staging.old == staging.new else lambda path: _moved(staging, path))
        if self._here.meta_server is not None:
            with served_metadata.opened(self._here.meta_server) as engine:
                served_metadata.copy_in(self._meta, engine)
            self._meta.unlink()
        for each in {self._here.lake_dir, self._here.staging_dir, self._here.meta_dir, self._meta.parent}:
            sync_file_system(each)
        passing(CrashPoint.RESTORE_COPIED)
        self._say(f"restored {len(self._saved.files)} files, compared; the files of {tables} tables are there")
        if os.geteuid() == ROOT:
            folders = f"'{self._here.meta_dir}', '{self._here.lake_dir}' and '{self._here.staging_dir}'"
            self._say(f"they belong to root, who has run this: a frontend of another user needs chown -R of {folders}")

    def _target(self, name: str) -> Path | None:
        """None: it is for people, like fe.conf."""
        root, _, path = name.partition("/")
        if name == f"{META}/{META_FILE}":
            return self._meta
        roots = {META: self._here.meta_dir, LAKE: self._here.lake_dir, STAGING: self._here.staging_dir}
        return roots[root] / path if root in roots else None

    def _copy(self, name: str, target: Path) -> None:
        found = copied(self._folder / name, target)
        if found != self._saved.files[name]:
            reason = f"'{name}' was changed while it was read"
            raise SyncError(Code.BACKUP_BROKEN, folder=self._folder, reason=reason)

    def _drop_views(self) -> None:
        """Their data are in files that no backup has."""
        gone = self._tables().drop_views(self._here.catalog) if self._here.catalog.exists() else []
        if gone:
            self._say(f"views of other engines are not in a backup, create them again: {', '.join(gone)}")

    def _move(self, move: Move) -> None:
        """Rewrites the paths in the tables' files to the new folder."""
        self._say(f"paths are rewritten from {move.old} to {move.new}")
        catalog = self._here.catalog
        if not catalog.exists():
            return
        saved = saved_tables(FORMAT, move.old, lambda path: move.new / path)
        saved.move(catalog, move.new, lambda name: _movable(name, move))

    def _check(self) -> int:
        """How many tables there are. Raises BACKUP_LACKS if one names a file that is missing, or not in full length."""
        catalog = self._here.catalog
        if not catalog.exists():
            return 0
        try:
            self._tables().files(catalog)
        except FileNotFoundError as error:
            raise SyncError(Code.BACKUP_LACKS, path=error.filename, what="a table", reason="it is not there") from error
        return self._tables().count(catalog)

    def _tables(self) -> SavedTables:
        return saved_tables(FORMAT, self._here.lake_dir, lambda path: self._here.lake_dir / path)


@contextmanager
def _movable(location: str, move: Move) -> Iterator[None]:
    """Errors in the paths of a file, or in its format, for the operator. Raises RESTORE_REFUSED."""
    try:
        yield
    except ValueError as error:
        reason = f"'{location}' cannot be rewritten from {move.old} to {move.new}: {error}"
        cure = (
            f"restore with lake_dir = {move.old} in fe.conf, where nothing is rewritten, or fix the table and save it"
        )
        raise SyncError(Code.RESTORE_REFUSED, reason=f"{reason}; {cure} again") from error


def _moved(staging: Move, path: str) -> str:
    """What is elsewhere is no longer wanted: the backup would have refused it."""
    return staging.moved(path) if path.startswith(f"{staging.old}/") else path
