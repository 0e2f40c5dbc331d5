"""The process that reads one chunk of a table.

Owns: its life: it ends with the chunk, or with its pipe.
Must not know: which kind of source it reads, where the rows go, Spark.
"""

import os
import signal
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.dead_letter import DeadLetter, DeadLetterBounds
from syncmgr.job.snapshot.chunk_rows import ChunkRead, OpenRows, RowSink
from syncmgr.job.snapshot.chunk_values import ChunkRules


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkTask:
    """`sink` None: only the rows that do not go on are wanted."""

    rows: OpenRows
    sink: RowSink | None
    rules: ChunkRules
    dead_letters: DeadLetterBounds

    def run(self) -> ChunkRead:
        """Raises the errors of the source and of the sink, SOURCE_VALUE, DEAD_LETTERS_FULL."""
        count, dead, size = 0, list[DeadLetter](), 0
        for read in self.rows():
            rows, letters = self.rules.settled(read, time.time())
            self.dead_letters.refuse_more(letters, kept=len(dead), kept_bytes=size)
            dead += letters
            size += sum(letter.bytes for letter in letters)
            count += len(rows)
            if self.sink is not None:
                self.sink.append(rows)
        files = () if self.sink is None else self.sink.close()
        return ChunkRead(rows=count, files=files, dead=tuple(dead))


Answer = ChunkRead | SyncError | OSError


def main(task: ChunkTask, connection: Connection) -> None:
    """The process's whole life. Its answer is its only message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the frontend, which ends us through the pipe
    threading.Thread(target=_end_with, args=(connection,), name="pipe", daemon=True).start()
    connection.send(_answer(task))


def _end_with(connection: Connection) -> None:
    """Nothing is ever received: the frontend is gone, or has given up."""
    try:
        connection.recv()
    except (EOFError, OSError):
        os._exit(1)


def _answer(task: ChunkTask) -> Answer:
    try:
        return task.run()
    except (SyncError, OSError) as error:
        return error.with_traceback(None)
    except Exception as error:  # noqa: BLE001 - the top of the process: it becomes the job's Msg
        return SyncError(Code.INTERNAL, message=f"the reader of a chunk failed: {error!r}")
