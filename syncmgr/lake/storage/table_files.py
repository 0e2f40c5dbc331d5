"""Reads, writes and deletes files of tables, on the local disk or through the FileIO of their catalog.

Owns: the copies on the local disk of files that are elsewhere, from which those are uploaded and into which they are
downloaded, by Java alone: credentials, endpoints and encryption are the catalog's.
Must not know: what the files hold, which of them a table names.
"""

import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.storage.copies import Copies
from syncmgr.lake.storage.locations import ON_DISK, FileReader, copy_of, is_local, local


class JavaFiles(Protocol):
    """How Java moves a file. All raise its errors, and `write` if there is one already."""

    def upload(self, io: Java, place: Path, location: str) -> None: ...
    def download(self, io: Java, location: str, place: Path) -> None: ...
    def write(self, io: Java, location: str, content: bytes) -> None: ...
    def part(self, io: Java, location: str, offset: int, length: int) -> bytes: ...
    def delete(self, io: Java, location: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Reader:
    files: "TableFiles"
    io: Java

    def whole(self, location: str) -> AbstractContextManager[Path]:
        return self.files.whole(self.io, location)

    def part(self, location: str, offset: int, length: int) -> bytes:
        if is_local(location):
            return ON_DISK.part(location, offset, length)
        return self.files.part(self.io, location, offset, length)


class TableFiles:
    """Of one JVM. From any thread. `spark_is_here`: Spark's tasks have the local disk of this machine.

    An uploaded file is known until its folder is `settled`, or it is deleted; its copy is kept until then, or until
    `copies_gone`.
    """

    def __init__(self, java: JavaFiles, copies: Copies, *, spark_is_here: bool) -> None:
        self._java, self._copies, self.spark_is_here = java, copies, spark_is_here
        self.room = copies.room
        self._lock = threading.Lock()
        self._uploaded: dict[str, Java] = {}

    def place(self, location: str) -> Path:
        """Where the file or folder of a location, or its copy, is on the local disk."""
        return local(location) if is_local(location) else copy_of(location, self._copies.folder)

    def for_spark(self, folder: str) -> str:
        """The folder of this machine in which Spark writes what belongs into another one, and where it is listed."""
        return folder if is_local(folder) else str(self.place(folder))

    def upload(self, io: Java, location: str) -> None:
        """The copy of a file, unless that was done."""
        if location not in self._uploaded:
            self._note(io, location)
            self._java.upload(io, self.place(location), location)

    def write(self, io: Java, location: str, content: bytes) -> None:
        """A new file."""
        if not is_local(location):
            self._note(io, location)
        self._java.write(io, location, content)

    def note(self, io: Java, location: str) -> None:
        """A file that Spark's tasks have written."""
        if not is_local(location):
            self._note(io, location)

    def _note(self, io: Java, location: str) -> None:
        """Before it is there: what is uploaded in part is deleted, too."""
        with self._lock:
            self._uploaded[location] = io

    def reader(self, io: Java) -> FileReader:
        """Of the files of one table."""
        return _Reader(self, io)

    @contextmanager
    def whole(self, io: Java, location: str) -> Iterator[Path]:
        """A file of the local disk with its content."""
        place = self.place(location)
        if is_local(location) or place.is_file():
            yield place
            return
        fetched = self._copies.folder / f"{uuid.uuid4()}{place.suffix}"
        try:
            self._java.download(io, location, fetched)
            yield fetched
        finally:
            fetched.unlink(missing_ok=True)

    def fetches(self, location: str) -> bool:
        """Whether Spark reads a copy of a file."""
        return self.spark_is_here and not is_local(location)

    @contextmanager
    def for_reading(self, io: Java, locations: Sequence[str]) -> Iterator[Mapping[str, str]]:
        """Where Spark reads these files on this machine, by their locations."""
        with ExitStack() as copies:
            elsewhere = [each for each in locations if not is_local(each)]
            yield {each: each for each in locations} | {
                each: str(copies.enter_context(self.whole(io, each))) for each in elsewhere
            }

    def part(self, io: Java, location: str, offset: int, length: int) -> bytes:
        return self._java.part(io, location, offset, length)

    def delete(self, location: str) -> None:
        """A file elsewhere, or a folder, that this process has written: what it has not is not touched."""
        for file, io in self._taken(location).items():
            self._java.delete(io, file)
        self._remove_copies(location)

    def settled(self, folder: str) -> None:
        """What was uploaded to a folder is named by a table, or left there."""
        if not is_local(folder):
            self._taken(folder)
            self._remove_copies(folder)

    def copies_gone(self, folder: str) -> None:
        """What was uploaded to a folder is not read here any more."""
        if not is_local(folder):
            self._remove_copies(folder)

    def _taken(self, location: str) -> dict[str, Java]:
        with self._lock:
            found = [file for file in self._uploaded if file == location or file.startswith(f"{location}/")]
            return {file: self._uploaded.pop(file) for file in found}

    def _remove_copies(self, location: str) -> None:
        place = self.place(location)
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)
