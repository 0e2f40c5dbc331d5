"""The worker process of a run, while there is one.

Owns: which one it is, and what is sent to it from which thread.
Must not know: what it reports, when one is started, and why.
"""

import threading
from collections.abc import Callable

from syncmgr.job.epoch import Epoch
from syncmgr.pipeline.messages import Committed, Finish, FromWorker, Progress, ToWorker, WorkerPlan
from syncmgr.pipeline.worker import worker
from syncmgr.pipeline.worker_process import POLL_SECOND, WorkerProcess


class CurrentWorker:
    """Of one run, whose thread starts it, receives from it and kills it. `send`, `finish` and `end` may be called from
    any.
    """

    def __init__(self, open_source: worker.OpenSource, on_gone: Callable[[], None]) -> None:
        """`on_gone`: nothing that it reported is valid any more."""
        self._open_source, self._on_gone = open_source, on_gone
        self._process: WorkerProcess | None = None

    def start(self, plan: WorkerPlan, on_progress: Callable[[Progress], None]) -> None:
        """`on_progress`: called from the thread of the pipe."""
        self._process = WorkerProcess(plan, self._open_source, on_progress)

    def receive(self) -> FromWorker | None:
        """The next message, None if none arrived for a while. Raises WorkerLost."""
        assert self._process is not None
        return self._process.receive(POLL_SECOND)

    def send(self, message: ToWorker) -> None:
        """Does nothing if there is none."""
        process = self._process
        if process is not None:
            process.send(message)

    def ack(self, epoch: Epoch) -> None:
        """An epoch is in the lake."""
        self.send(Committed(number=epoch.number, end=epoch.end))

    def finish(self) -> None:
        """Asks it to stage what it has read, and end. Returns at once."""
        process = self._process
        if process is not None:
            threading.Thread(target=process.send, args=(Finish(),), name="finish", daemon=True).start()

    def end(self) -> None:
        """Returns at once; `receive` reports the end."""
        process = self._process
        if process is not None:
            process.end()

    def kill(self) -> None:
        """It is gone when this returns."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
        self._on_gone()
