"""Files that a table's snapshots do not name, and that belong to no other table either.

Owns: of which files that is certain.
Must not know: when they are looked for.
"""

import logging
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pyspark.sql import SparkSession

from syncmgr.errors import SyncError
from syncmgr.lake.cures import as_argument
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.java_api import listed
from syncmgr.lake.iceberg.table_metadata import METADATA
from syncmgr.lake.spark.jvm import JAVA_ERRORS, Java, words
from syncmgr.lake.spark.launch import CATALOG
from syncmgr.lake.storage.locations import is_local
from syncmgr.lake.upkeep.tasks import set_tasks

FOLDERS: Final = ("data/", "metadata/")  # where Iceberg puts the files of a table

logger = logging.getLogger(__name__)


def stamp(at: float) -> str:
    """Unix seconds as a literal of Spark's TIMESTAMP, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))


def remove_orphans(iceberg: Iceberg, session: SparkSession, db: str, table: str, before: float) -> int:
    """Deletes files that no snapshot names and that are older than `before` (unix seconds), unless another table may
    have files in the table's folder; returns how many.
    """
    loaded = iceberg.load(db, table)
    location = str(loaded.location())
    set_tasks(session, iceberg.current(loaded))
    found = _unnamed(session, db, table, before, by_prefix=not is_local(location))
    if not found:
        return 0
    others = _shared_with(iceberg, (db, table), loaded) or sharing(found, location)
    if others is not None:
        logger.warning("no orphans of %s.%s are removed: in %s may be files of %s", db, table, location, others)
        return 0
    certain = [path for path in found if _within(path, location).startswith(FOLDERS)]
    iceberg.remove(db, table, certain)
    return len(certain)


def _unnamed(session: SparkSession, db: str, table: str, before: float, *, by_prefix: bool) -> list[str]:
    """`by_prefix`: the storage has no folders, and Hadoop perhaps no way to it."""
    call = (
        f"CALL {CATALOG}.system.remove_orphan_files(table => {as_argument((db, table))}, "
        f"older_than => TIMESTAMP '{stamp(before)}', dry_run => true, prefix_listing => {str(by_prefix).lower()})"
    )
    return [str(row[0]) for row in session.sql(call).collect()]


def _shared_with(iceberg: Iceberg, name: tuple[str, str], table: Java) -> str | None:
    """Another table whose files may be in the folder of this one: of the catalog, or of another catalog that keeps its
    metadata there.
    """
    location = str(table.location())
    for other in _others(iceberg, name):
        try:
            theirs = iceberg.load(*other)
            places = [
                str(theirs.location()),
                str(theirs.operations().current().metadataFileLocation()),
                *configured_places(iceberg.properties(theirs)),
            ]
        except (SyncError, *JAVA_ERRORS) as error:
            return f"perhaps table {'.'.join(other)}, which cannot be read: {words(error)}"
        if any(overlap(location, place) for place in places):
            return f"table {'.'.join(other)}"
    stranger = next(_strange_metadata(iceberg, table), None)
    return None if stranger is None else f"the table of {stranger}"


def _others(iceberg: Iceberg, name: tuple[str, str]) -> Iterator[tuple[str, str]]:
    for db in iceberg.namespaces():
        yield from ((db, table) for table in iceberg.tables(db) if (db, table) != name)


def _strange_metadata(iceberg: Iceberg, table: Java) -> Iterator[str]:
    """Metadata files in the table's folder that are of another table, or of the same one in another catalog, where it
    has gone on by itself; its own are known, but for what failed, after which nothing comes.
    """
    found = {_plain(path): path for path in iceberg.metadata_files(table)}
    table.refresh()  # whatever was committed before is known now
    current = table.operations().current()
    own = {str(entry.file()) for entry in listed(current.previousFiles())} | {str(current.metadataFileLocation())}
    unknown = found.keys() - {_plain(path) for path in own}
    for place in unknown:
        try:
            uuid, before = iceberg.origin_of(table, found[place])
        except JAVA_ERRORS:  # it was never whole
            continue
        if uuid != iceberg.uuid(table) or _plain(before) in unknown:
            yield found[place]


def sharing(found: Iterable[str], location: str) -> str | None:
    """What shows that another table has a folder inside of `location`, among files that the table does not name."""
    inside = (path for path in found if path.endswith(METADATA) and not _within(path, location).startswith("metadata/"))
    stranger = next(inside, None)
    return None if stranger is None else f"the table of {stranger}"


def configured_places(properties: Mapping[str, str]) -> list[str]:
    """The folders outside of its own to which a table's properties send its files."""
    return [value for key, value in properties.items() if key.startswith("write.") and key.endswith(".path")]


def overlap(location: str, other: str) -> bool:
    """Whether one of two places is, or is inside of, the other."""
    one, two = (f"{_plain(place).rstrip('/')}/" for place in (location, other))
    return one.startswith(two) or two.startswith(one)


def _within(path: str, location: str) -> str:
    """A path inside of a folder; "" for one elsewhere."""
    folder = f"{_plain(location).rstrip('/')}/"
    return _plain(path).removeprefix(folder) if _plain(path).startswith(folder) else ""


def _plain(path: str) -> str:
    """Local paths are written with one slash, three, or without a scheme."""
    return re.sub("^file:/+", "/", path)
