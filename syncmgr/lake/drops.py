"""Tables of an embedded catalog that are being dropped: their files go once the catalog has forgotten them for good.

Owns: the note of each, by which the next start finds files whose table nobody names any more.
Must not know: who drops a table, how the disk is asked.
"""

import json
import logging
import os
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError

from syncmgr.errors import SyncError
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.iceberg.iceberg import FILE_MISSING, Iceberg
from syncmgr.lake.spark.jvm import JAVA_ERRORS, java_class, words
from syncmgr.lake.storage_errors import of_lake

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Drops:
    """`folder`: of the notes. `sync`: returns when what was written is on the disk."""

    folder: Path
    sync: Callable[[], None]

    def confirm(self) -> None:
        """What was written is on the disk. Raises the errors of a disk."""
        self.sync()

    def begin(self, uuid: str, metadata: str) -> None:
        """Before the catalog forgets a table. Raises the errors of a disk."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / uuid).open("w", encoding="utf-8") as file:
                json.dump({"metadata": metadata}, file)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SyncError(of_lake(str(error)), reason=str(error)) from error

    def end(self, uuid: str) -> None:
        (self.folder / uuid).unlink(missing_ok=True)

    def left(self) -> dict[str, str]:
        """The metadata of the tables whose drop has not ended; a note that was never whole is none."""
        found = {}
        for note in self.folder.glob("*"):
            try:
                found[note.name] = str(json.loads(note.read_text(encoding="utf-8"))["metadata"])
            except (OSError, ValueError, KeyError, TypeError) as error:
                logger.warning("%s cannot be read, and files of a dropped table may be left: %s", note, error)
                note.unlink(missing_ok=True)
        return found


def finish(iceberg: Iceberg, drops: Drops, named: Callable[[], Collection[Pointer]]) -> None:
    """What earlier drops have left is deleted. `named`: the metadata of all tables that the catalog has."""
    for uuid, metadata in drops.left().items():
        try:
            there = {_folder(each.location) for each in named()}
            if _folder(metadata) not in there:  # else it was not dropped, or is back
                drops.confirm()
                _delete(iceberg, metadata)
                logger.info("the files of a dropped table are deleted: %s", metadata)
            drops.end(uuid)
        except (SyncError, OSError, sqlite3.Error, *JAVA_ERRORS) as error:
            logger.warning("files of a dropped table are left: %s: %s", metadata, words(error))


def _delete(iceberg: Iceberg, metadata: str) -> None:
    """What the metadata name; without them nothing does."""
    package = iceberg.jvm.org.apache.iceberg
    io = package.hadoop.HadoopFileIO(iceberg.hadoop)
    try:
        package.CatalogUtil.dropTableData(io, package.TableMetadataParser.read(io, metadata))
    except Py4JJavaError as error:
        if java_class(error) != FILE_MISSING:
            raise


def _folder(metadata: str) -> str:
    """Each table has one of its own."""
    return metadata.removeprefix("file:").rpartition("/")[0]
