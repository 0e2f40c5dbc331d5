"""A table that another engine has put on a file system that Spark does not know: one without a jar, or misspelt.

Owns: how that is recognized, and what the operator does about it.
Must not know: what was to be done with the table, epochs, jobs.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import literal
from syncmgr.lake.cures import Name, in_catalog
from syncmgr.lake.iceberg import metadata_file
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.spark.jvm import JAVA_ERRORS, text_of
from syncmgr.lake.storage.locations import is_local

UNKNOWN: Final = re.compile(
    r'No FileSystem for scheme:? "?[\w.+-]+"?|Class [\w.$]+FileSystem not found'
)  # Hadoop's words


def elsewhere(pointer: Callable[[str, str], Pointer], db: str, table: str) -> str | None:
    """Where an embedded catalog says that the metadata of a table are; None: on the local disk, or it cannot say."""
    try:
        location = pointer(db, table).location
    except (SyncError, sqlite3.Error):
        return None
    return None if is_local(location) else location


@contextmanager
def known_storage(name: Name, pointer: Callable[[str, str], Pointer] | None) -> Iterator[None]:
    """Around calls into Spark about one table. `pointer`: where an embedded catalog says that its metadata are.

    Raises FOREIGN_CHANGE instead of an error of Java that such a file system causes.
    """
    try:
        yield
    except (SyncError, *JAVA_ERRORS) as error:
        cause = error.__cause__ if isinstance(error, SyncError) else error
        found = UNKNOWN.search(text_of(cause)) if isinstance(cause, JAVA_ERRORS) else None
        if found is None:
            raise
        now, before = (None, None) if pointer is None else _places(pointer(*name))
        raise _refusal(name, found[0], now, before) from error


def _refusal(name: Name, word: str, now: str | None, before: str | None) -> SyncError:
    where = "files of it are" if now is None else f"its location is {now}, which is"
    back = "SET LOCATION to where it was" if before is None else f"SET LOCATION {literal(before)}"
    reason = (
        f"{where} on a file system that Spark does not know ({word}): add its jar to spark.jars.packages in "
        "conf/fe.conf and restart the frontend; or, where the metadata are there, too, in an engine that knows it, "
        f"type in Spark: ALTER TABLE {in_catalog(name)} {back}"
    )
    return SyncError(Code.FOREIGN_CHANGE, table=".".join(name), reason=reason)


def _places(pointer: Pointer) -> tuple[str, str | None]:
    """Where the table is now, and where on the local disk it was before that."""
    now = _location(pointer.location) or pointer.location.rpartition("/metadata/")[0]
    files = [pointer.location, *([] if pointer.previous is None else [pointer.previous])]
    earlier = (_location(file) for each in files for file in (each, *_log(each)))
    return now, next((place for place in earlier if place not in {None, now} and is_local(str(place))), None)


def _log(metadata: str) -> list[str]:
    """The metadata before these, newest first."""
    entries = _read(metadata).get("metadata-log", ())
    return [str(entry["metadata-file"]) for entry in reversed(entries)]


def _location(metadata: str) -> str | None:
    place = _read(metadata).get("location")
    return None if place is None else str(place)


def _read(metadata: str) -> dict[str, Any]:
    """Nothing if they cannot be read from here."""
    try:
        return metadata_file.read(Path(metadata.removeprefix("file:"))) if is_local(metadata) else {}
    except (OSError, ValueError):
        return {}
