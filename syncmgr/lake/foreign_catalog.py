"""A catalog that is not our own: what it says of a table, and whether it has kept what a commit wrote.

Owns: that the files of a new snapshot are there, wherever something else than us may have deleted them.
Must not know: what is committed, how a disk is synced.

A catalog that reports a conflict although it has committed makes Iceberg delete the new manifests. Through S3 what
commits cannot delete; other FileIOs cannot be told that, and a table that names missing files takes no further commit.

A replica or a cache of it may answer with what a table was before its last commit. Nothing is committed to that, since
the catalog compares; but it looks as if somebody had set the table back, which would end its channel.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from syncmgr.errors import Code, SyncError
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.java_api import listed
from syncmgr.lake.spark.jvm import Java, asked
from syncmgr.lake.spark.launch import DELETES

OLD_SECOND: Final = 10.0
LOOK_SECOND: Final = 0.5
SET_BACK: Final = frozenset({Code.TARGET_SET_BACK, Code.TARGET_REPLACED})

Done = TypeVar("Done")


def unless_old(iceberg: Iceberg, work: Callable[[], Done]) -> Done:
    """Work that finds a table set back is done again, until it no longer finds that, or has found it for as long as
    answers may be old. Raises what it raises.
    """
    end = time.monotonic() + (OLD_SECOND if iceberg.may_be_old else 0)
    while True:
        try:
            return work()
        except SyncError as error:
            if error.code not in SET_BACK or time.monotonic() >= end:
                raise
        time.sleep(LOOK_SECOND)


class ForeignCatalog:
    """From any thread."""

    def __init__(self, iceberg: Callable[[], Iceberg]) -> None:
        self._iceberg = iceberg

    def pointer(self, db: str, table: str) -> Pointer:
        """Raises NO_SUCH_TABLE, LAKE_STARTING, LAKE_FAILED."""
        with asked():
            current = self._iceberg().load(db, table).operations().current()
            previous = listed(current.previousFiles())
            last = str(previous[-1].file()) if previous else None
            return Pointer(location=str(current.metadataFileLocation()), previous=last)

    def is_new(self, db: str, table: str) -> bool:
        """Whether nothing was ever committed to it. Raises as `pointer`."""
        with asked():
            return not listed(self._iceberg().load(db, table).operations().current().snapshots())

    @contextmanager
    def writing(self, db: str, table: str) -> Iterator[Callable[[], None]]:
        """Around a write to a table; call its value if nothing was written. Raises TABLE_BROKEN, NO_SUCH_TABLE."""
        wrote = True

        def nothing() -> None:
            nonlocal wrote
            wrote = False

        yield nothing
        if wrote:
            with asked():
                self._check(db, table)

    def _check(self, db: str, table: str) -> None:
        try:
            loaded = self._iceberg().load(db, table)
        except SyncError as error:
            if error.code is Code.NO_SUCH_TABLE:
                return  # the write was its end
            raise
        snapshot, io = loaded.currentSnapshot(), loaded.io()
        if snapshot is None or _keeps(io, str(snapshot.manifestListLocation())):
            return
        missing = next((file for file in _own_files(snapshot, io) if not io.newInputFile(file).exists()), None)
        if missing is not None:
            reason = f"{missing} is gone: the catalog has reported that a commit failed which it had accepted"
            pointer = self.pointer(db, table)
            where = {"location": pointer.location, "previous": pointer.previous or "unknown"}
            raise SyncError(Code.TABLE_BROKEN, table=f"{db}.{table}", reason=reason, **where)


def _keeps(io: Java, location: str) -> bool:
    """Whether what commits has deleted nothing, since it cannot."""
    return location.startswith("s3:") and io.properties().get(DELETES) == "false"


def _own_files(snapshot: Java, io: Java) -> Iterator[str]:
    """The manifest list, and the manifests that came with the snapshot."""
    yield str(snapshot.manifestListLocation())
    for manifest in listed(snapshot.allManifests(io)):
        if int(manifest.snapshotId()) == int(snapshot.snapshotId()):
            yield str(manifest.path())
