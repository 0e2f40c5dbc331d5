"""One run of a worker process, and the pipe to it.

Owns: start and end of the process, the order of its messages, what the loss of the pipe means.
Must not know: what is said, what is done about an end.
"""

import contextlib
import logging
import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from syncmgr.pipeline.messages import FromWorker, Progress, ToWorker, WorkerPlan
from syncmgr.pipeline.worker import chunk, worker

EXIT_SECOND: Final = 20.0  # between the end of a worker's pipe and that of its process
POLL_SECOND: Final = 0.5
FROZEN: Final = f"{worker.__name__.rpartition('.')[0]}.frozen"  # not loaded here
INBOX: Final = 64
# One process has loaded what a worker needs and forks each from itself: 0.01 s instead of 0.4 s.
FORK_SERVER: Final = multiprocessing.get_context("forkserver")
SPAWN: Final = multiprocessing.get_context("spawn")
# A fork of a process with threads would copy their locks, not them: those of numpy and pyarrow do not start.
THREADLESS: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}

log = logging.getLogger(__name__)


def preload(*modules: str) -> None:
    """Loads these before the first worker. They must start no thread."""
    os.environ.update(THREADLESS)
    FORK_SERVER.set_forkserver_preload([worker.__name__, chunk.__name__, *modules, FROZEN])


class WorkerLost(Exception):  # noqa: N818 - an outcome, not an error of ours
    """The process is gone; `status`: its exit status."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class WorkerProcess:
    """One worker process and its pipe. Raises WorkerLost if the fork server dies while it starts the process."""

    def __init__(
        self, plan: WorkerPlan, open_source: worker.OpenSource, on_progress: Callable[[Progress], None]
    ) -> None:
        self._connection, child = FORK_SERVER.Pipe()
        with child, _closed_unless_started(self._connection):
            self.process = started(worker.main, f"syncmgr-worker-{plan.job_id}", (plan, open_source, child))
        self._on_progress = on_progress
        self._sending = threading.Lock()
        self._over = False
        # One epoch staged after the one in commit, one more that a DDL or the end cuts early, and the errors of a
        # flapping # source during a long commit; past that the worker waits.
        self._inbox: queue.Queue[FromWorker | None] = queue.Queue(maxsize=INBOX)
        threading.Thread(target=self._read, name="worker-pipe", daemon=True).start()

    def _read(self) -> None:
        """Until the pipe ends, which None signals, whatever ended it."""
        try:
            with contextlib.suppress(EOFError, OSError):
                while True:
                    self._take(self._connection.recv())
        finally:
            self._put(None)

    def _take(self, message: FromWorker) -> None:
        if isinstance(message, Progress):
            if not self._over:  # what was true before the end says nothing about its cause
                self._on_progress(message)
        else:
            self._put(message)

    def _put(self, message: FromWorker | None) -> None:
        """Waits for room, but not for a process that has ended."""
        while not self._over:
            with contextlib.suppress(queue.Full):
                self._inbox.put(message, timeout=POLL_SECOND)
                return

    def receive(self, timeout: float) -> FromWorker | None:
        """The next message, None if none arrived. Raises WorkerLost when the process is gone."""
        try:
            message = self._inbox.get(timeout=timeout)
        except queue.Empty:
            return None
        if message is None:
            self.process.join(EXIT_SECOND)
            raise WorkerLost(self.process.exitcode)
        return message

    def send(self, message: ToWorker) -> None:
        """Does nothing if the worker is gone; `receive` reports that."""
        with contextlib.suppress(OSError), self._sending:
            self._connection.send(message)

    def end(self) -> None:
        """Kills the process without waiting. The server has collected the status of a dead one: its number may belong
        to another process by now.
        """
        if self.process.is_alive():
            self.process.kill()

    def kill(self) -> None:
        self._over = True
        self.end()
        self.process.join()
        _close(self._connection)


@contextlib.contextmanager
def _closed_unless_started(connection: Connection) -> Iterator[None]:
    """A fork server that dies may have forked the worker before it could answer: that one ends with its pipe."""
    try:
        yield
    except BaseException as error:
        _close(connection)
        if isinstance(error, (OSError, EOFError)):
            log.warning("no worker process was started: %r", error)
            raise WorkerLost(None) from error
        raise


def started(main: Callable[..., None], name: str, arguments: tuple[Any, ...]) -> BaseProcess:
    """A process of the frontend. A cleaner of temporary files may have deleted the fork server's socket: then it is one
    that loads everything itself. Raises OSError, EOFError if the fork server dies meanwhile.
    """
    process: BaseProcess = FORK_SERVER.Process(target=main, args=arguments, name=name, daemon=True)
    try:
        process.start()
    except (FileNotFoundError, ConnectionRefusedError):
        process = SPAWN.Process(target=main, args=arguments, name=name, daemon=True)
        process.start()
    return process


def _close(connection: Connection) -> None:
    with contextlib.suppress(OSError):
        connection.close()
