"""Files that never change, on their way from one folder to another.

Owns: links and copies, and errors of the disk.
Must not know: what is in them.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from syncmgr.backup.manifest import Entry, entry_of
from syncmgr.errors import Code, SyncError


@contextmanager
def as_backup_errors(what: str, folder: Path) -> Iterator[None]:
    """Errors of a disk or a database, for the operator. `folder`: what is read and written, if the error names no file.
    Raises BACKUP_FAILED.
    """
    try:
        yield
    except (OSError, ImportError, sqlite3.Error, SQLAlchemyError) as error:
        raise SyncError(Code.BACKUP_FAILED, what=what, reason=_reason(error, folder)) from error


def _reason(error: Exception, folder: Path) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        cure = "; run it as the user of the frontend, who owns its folders"
        at = error.filename if error.filename2 is None else error.filename2
        return f"'{at}': {error.strerror}{cure if isinstance(error, PermissionError) else ''}"
    first = str(error).splitlines()[0]
    return f"{first} ('{folder}')" if isinstance(error, sqlite3.Error) else first


@contextmanager
def empty_after_failure(folder: Path) -> Iterator[None]:
    """Half a copy is of no use, fills the disk, and is in the way of the next one. It was empty, or was not there."""
    was_there = folder.exists()
    try:
        yield
    except BaseException:
        for path in folder.glob("*"):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        if not was_there and folder.exists():
            folder.rmdir()
        raise


def link(source: Path, target: Path) -> None:
    """A hard link. Raises FileNotFoundError, or OSError if the file system does not support it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        os.link(source, target)


def place(source: Path, target: Path) -> Entry:
    """By a hard link if possible, otherwise by a copy that is compared. Raises OSError."""
    try:
        link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        return copied(source, target)
    return entry_of(target)


def copied(source: Path, target: Path) -> Entry:
    """With its permissions, and never with more. Raises OSError, also if the copy is not what was read."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch(mode=0o600)
    shutil.copyfile(source, target)
    shutil.copymode(source, target)
    found = entry_of(target)
    if found != entry_of(source):
        raise OSError(f"the copy '{target}' differs from '{source}'")
    return found
