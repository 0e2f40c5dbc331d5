"""Chunks are read in processes of their own, beside the frontend.

Owns: start and end of these processes, what the loss of one means, the files in which rows wait for Spark.
Must not know: which kind of source is read, what becomes of the rows.
"""

import logging
import shutil
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

import pyarrow as pa

from syncmgr.errors import Code, SyncError
from syncmgr.job.snapshot.chunk_rows import ChunkRead, ChunkRows, RowSink, SourceReader
from syncmgr.job.snapshot.chunk_values import ChunkRules
from syncmgr.pipeline.worker import chunk as chunk_process
from syncmgr.pipeline.worker.segment import Segment, disk_error
from syncmgr.pipeline.worker_process import FORK_SERVER, started

FOLDER: Final = "chunks"  # in a job's staging folder; in it one for each read
EXIT_SECOND: Final = 20.0  # between the answer of a process and its end

log = logging.getLogger(__name__)


class StagedRows:
    """A RowSink of files that Spark reads. `folder` is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segment: Segment | None = None

    def append(self, rows: pa.Table) -> None:
        """Raises DISK_FULL, NOT_WRITABLE."""
        if self._segment is None:
            self._segment = Segment(self._folder, "chunk")
        if len(rows):
            self._segment.append(rows)

    def close(self) -> tuple[str, ...]:
        return () if self._segment is None else tuple(file.path for file in self._segment.close())


class ChunkProcesses:
    """The ChunkReader of a job. From any thread."""

    def __init__(self, source: SourceReader, folder: Path) -> None:
        """`folder`: the job's own, for staged rows; what an earlier process has left there is deleted."""
        self._source = source
        self._folder = folder / FOLDER
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int], BaseProcess] = {}  # by plan and number
        self._given_up = set[tuple[str, int]]()
        shutil.rmtree(self._folder, ignore_errors=True)

    def read(self, chunk: ChunkRows, sink: RowSink | None) -> ChunkRead:
        """As the port's; LAKE_FAILED if the process dies."""
        task = chunk_process.ChunkTask(
            rows=self._source.rows(chunk),
            sink=sink,
            rules=ChunkRules.of(chunk),
            dead_letters=chunk.dead_letters,
        )
        key = chunk.plan, chunk.number
        connection, child = FORK_SERVER.Pipe()
        with connection:
            with child:
                process = _started(f"syncmgr-chunk-{chunk.plan}-{chunk.number}", task, child)
            with self._lock:
                self._running[key] = process
            try:
                answer: chunk_process.Answer = connection.recv()
            except (EOFError, OSError):
                answer = self._lost(key, process)
            finally:
                with self._lock:
                    self._running.pop(key)
                    self._given_up.discard(key)
        process.join(EXIT_SECOND)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _lost(self, key: tuple[str, int], process: BaseProcess) -> SyncError:
        process.join(EXIT_SECOND)
        if key in self._given_up:
            return SyncError(Code.INTERRUPTED)
        reason = f"the process that read rows of a table ended with status {process.exitcode}"
        return SyncError(Code.LAKE_FAILED, reason=reason)

    @contextmanager
    def staged(self, chunk: ChunkRows) -> Iterator[ChunkRead]:
        """As the port's. Raises DISK_FULL, NOT_WRITABLE, too."""
        folder = self._folder / uuid.uuid4().hex
        try:
            yield self._staged(chunk, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _staged(self, chunk: ChunkRows, folder: Path) -> ChunkRead:
        try:
            folder.mkdir(parents=True)
            return self.read(chunk, StagedRows(folder))
        except OSError as error:
            raise disk_error(error, folder) from error

    def give_up(self, chunk: ChunkRows) -> None:
        key = chunk.plan, chunk.number
        with self._lock:
            process = self._running.get(key)
            if process is not None:
                self._given_up.add(key)
        if process is not None and process.is_alive():
            process.kill()


def _started(name: str, task: chunk_process.ChunkTask, child: object) -> BaseProcess:
    try:
        return started(chunk_process.main, name, (task, child))
    except (OSError, EOFError) as error:
        log.warning("no process to read rows was started: %r", error)
        raise SyncError(Code.LAKE_FAILED, reason=f"no process to read rows was started: {error!r}") from error
