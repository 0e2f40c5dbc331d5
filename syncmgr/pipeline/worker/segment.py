"""The staged change rows of one channel for one epoch: zstd Parquet files.

Owns: how rows become durable files of bounded size.
Must not know: epochs' rules, sources, the lake.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.errors import SyncError
from syncmgr.job.epoch import StagedFile
from syncmgr.job.raw_errors import of_staging

ROW_GROUP_BYTES: Final = 16 * 1024 * 1024
FILE_BYTES: Final = 256 * 1024 * 1024  # in memory, before compression


class Segment:
    """Rows go in, closed and fsynced files come out. One thread."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        group_bytes: int = ROW_GROUP_BYTES,
        files: tuple[StagedFile, ...] = (),
    ) -> None:
        """`group_bytes`: how much waits in memory. `files`: what an earlier segment left, to read on."""
        self._folder = folder
        self._group_bytes = group_bytes
        self._name = name
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = 0
        self._writer: pq.ParquetWriter | None = None
        self._path = ""
        self._rows = 0
        self._written_bytes = 0
        self._files = list(files)
        self._failure: SyncError | None = None  # rows are missing in its file: it must never count as closed

    def append(self, rows: pa.Table) -> None:
        """Raises DISK_FULL, NOT_WRITABLE."""
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= self._group_bytes:
            self._write()
        if self._written_bytes >= FILE_BYTES:
            self._close_file()

    def close(self) -> tuple[StagedFile, ...]:
        """The files, durable except for their folder's entries, which `sync_folder` makes durable."""
        self._write()
        self._close_file()
        return tuple(self._files)

    def read(self) -> Iterator[pa.Table]:
        """What was appended, in order, a row group at a time. Raises OSError, pa.ArrowException."""
        self._close_file()
        for file in self._files:
            with pq.ParquetFile(file.path) as parquet:
                yield from (parquet.read_row_group(number) for number in range(parquet.num_row_groups))
        yield from self._waiting

    def drop(self) -> None:
        """Its files are not needed."""
        self._close_file()
        for file in self._files:
            Path(file.path).unlink()

    def _write(self) -> None:
        self._refuse_broken()
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting).combine_chunks()
        self._waiting.clear()
        try:
            self._open(rows.schema).write_table(rows, row_group_size=len(rows))
        except OSError as error:
            raise self._broken(error) from error
        self._rows += len(rows)
        self._written_bytes += self._waiting_bytes
        self._waiting_bytes = 0

    def _open(self, schema: pa.Schema) -> pq.ParquetWriter:
        if self._writer is None:
            self._path = str(self._folder / f"{self._name}-{len(self._files)}.parquet")
            self._writer = pq.ParquetWriter(
                self._path,
                schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=False,  # rows are read once; dictionaries cost more than they save
                write_statistics=False,
                store_schema=False,
            )
        return self._writer

    def _close_file(self) -> None:
        self._refuse_broken()
        if self._writer is None:
            return
        try:
            self._writer.close()
            size = fsync(self._path)
        except OSError as error:
            raise self._broken(error) from error
        self._files.append(StagedFile(path=self._path, rows=self._rows, bytes=size))
        self._writer, self._rows, self._written_bytes = None, 0, 0

    def _broken(self, error: OSError) -> SyncError:
        self._failure = disk_error(error, self._folder)
        return self._failure

    def _refuse_broken(self) -> None:
        if self._failure is not None:
            raise self._failure


def same_columns(files: Iterable[StagedFile]) -> bool:
    """Whether one reader takes them all; False if one is missing."""
    try:
        schemas = [pq.read_schema(file.path) for file in files]
    except OSError:
        return False
    return all(schema.equals(schemas[0]) for schema in schemas)


def fsync(path: str) -> int:
    """Make a file (or a folder's entries) durable; its size in bytes."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Raises NOT_WRITABLE."""
    try:
        fsync(str(folder))
    except OSError as error:
        raise disk_error(error, folder) from error


def disk_error(error: OSError, folder: Path) -> SyncError:
    return SyncError(of_staging(error.errno), folder=folder, reason=error.strerror or str(error))
