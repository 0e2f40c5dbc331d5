"""Tables of an embedded catalog that are being dropped: their files go once the catalog has forgotten them for good.

Owns: the note of each, by which the next start finds files whose table nobody names any more; which files stay, since
another table has them, too.
Must not know: who drops a table, how the disk is asked.
"""

import json
import logging
import os
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from syncmgr.errors import SyncError
from syncmgr.lake.iceberg import metadata_file
from syncmgr.lake.iceberg.catalog_reader import Pointer, RowName
from syncmgr.lake.iceberg.iceberg import Iceberg, passing_over_missing
from syncmgr.lake.spark.jvm import JAVA_ERRORS, words
from syncmgr.lake.storage_errors import of_lake

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Drops:
    """`folder`: of the notes. `sync`: returns when what was written is on the disk. `tables`: all that the catalog file
    has.
    """

    folder: Path
    sync: Callable[[], None]
    tables: Callable[[], Mapping[RowName, Pointer]]

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

    def shared_with(self, uuid: str, metadata: str) -> str | None:
        """The label of a table that has, or may have, the files of one that the catalog has forgotten. Raises the
        errors of a disk.
        """
        try:
            return sharing(self.tables(), uuid, metadata)
        except (OSError, sqlite3.Error) as error:
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


def sharing(tables: Mapping[RowName, Pointer], uuid: str, metadata: str) -> str | None:
    """The label of a table that has the files of the one with this uuid and metadata: the same table under another
    name, wherever its newest files are. One that cannot be read has them if its metadata are in the same folder.
    """
    for name, pointer in tables.items():
        try:
            is_same = metadata_file.uuid(Path(pointer.location.removeprefix("file:"))) == uuid
        except (OSError, ValueError):
            is_same = _folder(pointer.location) == _folder(metadata)
        if is_same:
            return name.label
    return None


def finish(iceberg: Iceberg, drops: Drops) -> None:
    """What earlier drops have left is deleted."""
    for uuid, metadata in drops.left().items():
        try:
            if drops.shared_with(uuid, metadata) is None:  # else it was not dropped, or is back
                drops.confirm()
                _delete(iceberg, metadata)
                logger.info("the files of a dropped table are deleted: %s", metadata)
            drops.end(uuid)
        except (SyncError, OSError, *JAVA_ERRORS) as error:
            logger.warning("files of a dropped table are left: %s: %s", metadata, words(error))


def _delete(iceberg: Iceberg, metadata: str) -> None:
    """What the metadata name."""
    package = iceberg.jvm.org.apache.iceberg
    io = package.hadoop.HadoopFileIO(iceberg.hadoop)
    with passing_over_missing():
        package.CatalogUtil.dropTableData(io, package.TableMetadataParser.read(io, metadata))


def _folder(metadata: str) -> str:
    """Each table has one of its own."""
    return metadata.removeprefix("file:").rpartition("/")[0]
