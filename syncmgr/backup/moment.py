"""One moment of the metadata and the catalog, while a frontend writes to both.

Owns: the hold of both databases, and their copies.
Must not know: what is in them.

The catalog is a file of SQLite, and so are the metadata, or a server has them (meta_url). A writer to a file waits for
its write lock, and every frontend that writes to a server for the table of the owner. While this process has both locks
there is no epoch, no intent and no commit of a table: copies made then are what a kill -9 would have left at that
moment, from which every start recovers. A frontend waits for its turn for 30 seconds; the lock of a process that dies
is released.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from syncmgr.backup import served_metadata
from syncmgr.errors import Code, SyncError
from syncmgr.meta.database import versions

BUSY_SECOND: Final = 10.0  # for each of both, well below the patience of a frontend


@contextmanager
def held(*files: Path) -> Iterator[None]:
    """No writes to these databases meanwhile. Raises BACKUP_REFUSED."""
    with ExitStack() as stack:
        for file in files:
            holder = stack.enter_context(closing(sqlite3.connect(_uri(file, "rw"), uri=True, timeout=BUSY_SECOND)))
            holder.isolation_level = None
            try:
                holder.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise SyncError(Code.BACKUP_REFUSED, reason=f"'{file}': {error}") from error
        yield


@contextmanager
def held_server(url: str) -> Iterator[Connection]:
    """No frontend writes to this database meanwhile. Raises BACKUP_REFUSED."""
    with served_metadata.opened(url) as engine:
        if not served_metadata.ours(engine):
            raise SyncError(Code.BACKUP_REFUSED, reason="meta_url: no frontend has run with this fe.conf")
        if not versions.is_current(engine):
            reason = "meta_url: another version of syncmgr has made these tables; make the backup by that one"
            raise SyncError(Code.BACKUP_REFUSED, reason=reason)
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(served_metadata.held(engine, int(BUSY_SECOND)))
            except OperationalError as error:
                raise SyncError(Code.BACKUP_REFUSED, reason=f"meta_url: {str(error).splitlines()[0]}") from error
            yield connection


def copy_database(file: Path, to: Path) -> None:
    """What is committed, as one file without a separate log."""
    to.unlink(missing_ok=True)
    with closing(sqlite3.connect(_uri(file, "ro"), uri=True)) as source, closing(sqlite3.connect(to)) as copy:
        copy.execute("PRAGMA synchronous=OFF")  # all is synced at the end
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")


def _uri(file: Path, mode: str) -> str:
    return f"{file.absolute().as_uri()}?mode={mode}"
