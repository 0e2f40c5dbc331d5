"""Chunks that are being committed, and how they are given up.

Owns: the Spark job group of each, and what its end means once it was given up.
Must not know: why it is given up, what a chunk is for.
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.lake.spark.jvm import JAVA_ERRORS, begin_job_group, cancel_job_group, end_job_group

Key = tuple[str, int]  # the chunk's plan and number


class ChunkReads:
    """Those of one lake. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: dict[Key, tuple[SparkSession, str]] = {}
        self._given_up: set[str] = set()

    @contextmanager
    def reading(self, session: SparkSession, chunk: ChunkRows) -> Iterator[None]:
        """Around all Spark jobs of a chunk, in the thread that runs them. Raises INTERRUPTED if it was given up before
        it was in the lake.
        """
        key, group = (chunk.plan, chunk.number), uuid.uuid4().hex
        with self._lock:
            self._groups[key] = session, group
        begin_job_group(session, group, "snapshot")
        try:
            yield
        except (SyncError, *JAVA_ERRORS) as error:
            if group in self._given_up:
                raise SyncError(Code.INTERRUPTED) from error
            raise
        finally:
            end_job_group(session)
            with self._lock:
                self._groups.pop(key, None)
                self._given_up.discard(group)

    def give_up(self, chunk: ChunkRows) -> None:
        """Its read and its Spark jobs end, and no new ones begin; a commit under way goes on. To be repeated until it
        has ended: Spark misses a group whose stage is submitted at that moment, and a read may begin after it.
        """
        with self._lock:
            session, group = self._groups.get((chunk.plan, chunk.number), (None, ""))
            if session is None:
                return
            self._given_up.add(group)
        chunk.reader.give_up(chunk)
        try:
            cancel_job_group(session, group)
        except JAVA_ERRORS:  # the JVM is gone, and the reading with it
            return
