"""Files between the local disk and a FileIO of Iceberg, by py4j.

Owns: which calls of Java copy, write and delete one.
Must not know: which file, and why.
"""

from pathlib import Path
from typing import Final

from py4j.java_gateway import is_instance_of
from pyspark import SparkContext

from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.spark.launch import DELETES

WITH_CREDENTIALS: Final = "org.apache.iceberg.io.SupportsStorageCredentials"


class JvmFiles:
    """By one JVM, which reads and writes files of this machine as the frontend does. What passes py4j, which takes long
    for many bytes, are those of `write` and `part`.
    """

    def __init__(self, jvm: Java) -> None:
        self._jvm = jvm
        self._files: Java = jvm.java.nio.file.Files

    def upload(self, io: Java, place: Path, location: str) -> None:
        """Names have a UUID, so nobody else has one, and to look first would be a request."""
        out = io.newOutputFile(location).createOrOverwrite()
        try:
            self._files.copy(self._path(place), out)
        finally:
            out.close()

    def download(self, io: Java, location: str, place: Path) -> None:
        gateway = SparkContext._gateway  # noqa: SLF001 - py4j's own
        assert gateway is not None
        options = gateway.new_array(self._jvm.java.nio.file.CopyOption, 0)
        stream = io.newInputFile(location).newStream()
        try:
            self._files.copy(stream, self._path(place), options)
        finally:
            stream.close()

    def write(self, io: Java, location: str, content: bytes) -> None:
        """As `upload`."""
        out = io.newOutputFile(location).createOrOverwrite()
        try:
            out.write(content)
        finally:
            out.close()

    def part(self, io: Java, location: str, offset: int, length: int) -> bytes:
        stream = io.newInputFile(location).newStream()
        try:
            stream.seek(offset)
            return bytes(stream.readNBytes(length))
        finally:
            stream.close()

    def delete(self, io: Java, location: str) -> None:
        """Also where what commits cannot delete."""
        settings = io.properties()
        if settings.get(DELETES) != "false":
            io.deleteFile(location)
            return
        own = self._jvm.java.util.HashMap(settings)
        own.put(DELETES, "true")
        deleting = self._jvm.org.apache.iceberg.CatalogUtil.loadFileIO(io.getClass().getName(), own, None)
        if is_instance_of(SparkContext._gateway, io, WITH_CREDENTIALS):  # noqa: SLF001
            deleting.setCredentials(io.credentials())
        try:
            deleting.deleteFile(location)
        finally:
            deleting.close()

    def _path(self, place: Path) -> Java:
        return self._jvm.java.io.File(str(place)).toPath()
