"""The worker process of one running job.

Owns: the process's threads and its pipe to the frontend.
Must not know: Spark, metadata, which kind of source it reads.
"""

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from syncmgr.errors import Code, SyncError
from syncmgr.pipeline.messages import (
    Asked,
    ChannelsAltered,
    Committed,
    Failed,
    Finish,
    Finished,
    FromWorker,
    Kept,
    Retune,
    SourceTrouble,
    ToWorker,
    WorkerPlan,
)
from syncmgr.pipeline.worker.consumer import Consumer, Inbox
from syncmgr.pipeline.worker.receiver import Receiver
from syncmgr.pipeline.worker.segment import disk_error, fsync
from syncmgr.sources.port import SourceStream

ReportTrouble = Callable[[SyncError | None], None]
# The last argument: Asked, from `get` alone.
OpenSource = Callable[[WorkerPlan, ReportTrouble, Callable[[int], None]], SourceStream]


class Pipe:
    """Sends from any thread. When the other end is gone, this process ends: only one may stage for the job."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, message: FromWorker) -> None:
        try:
            with self._lock:
                self._connection.send(message)
        except OSError:
            os._exit(1)

    def receive(self) -> ToWorker:
        try:
            message: ToWorker = self._connection.recv()
        except (EOFError, OSError):
            os._exit(1)
        return message


def main(plan: WorkerPlan, open_source: OpenSource, connection: Connection) -> None:
    """The process's whole life. Ends with Finished or Failed as the last message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the frontend, which ends us through the pipe
    pipe = Pipe(connection)
    try:
        _run(plan, open_source, pipe)
    except SyncError as error:
        pipe.send(Failed(error=error))
    except Exception as error:  # noqa: BLE001 - the top of the process: it becomes the job's Msg
        pipe.send(Failed(error=SyncError(Code.INTERNAL, message=f"the worker failed: {error!r}")))
    else:
        pipe.send(Finished())


def _run(plan: WorkerPlan, open_source: OpenSource, pipe: Pipe) -> None:
    _make_folder(Path(plan.folder))
    inbox = Inbox(plan.limits)
    source = open_source(
        plan, lambda error: pipe.send(SourceTrouble(error=error)), lambda second: _keep(pipe, inbox, second)
    )
    receiver = Receiver(source, lambda: inbox.limits)
    inbox.committed = plan.first_epoch - 1
    listener = threading.Thread(target=_listen, args=(pipe, inbox, source, receiver.wake), name="pipe", daemon=True)
    listener.start()
    receiver.start()
    try:
        Consumer(plan, receiver, inbox, pipe.send, source).run()
    finally:
        receiver.stop()


def _keep(pipe: Pipe, inbox: Inbox, second: int) -> None:
    """Waits as long as the frontend takes: the end of either ends this process."""
    pipe.send(Asked(second=second))
    inbox.kept.acquire()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for above in (folder.parent, folder.parent.parent):  # a synced file in a folder that cannot be found is lost
            fsync(str(above))
    except OSError as error:
        raise disk_error(error, folder) from error


def _listen(pipe: Pipe, inbox: Inbox, source: SourceStream, wake: Callable[[], None]) -> None:
    while True:
        match pipe.receive():
            case Committed(number=number, end=end):
                source.ack(end)
                inbox.committed = number
            case ChannelsAltered(channels=channels):
                inbox.altered.put(channels)
            case Kept():
                inbox.kept.release()
            case Retune(limits=limits):
                inbox.limits = limits
            case Finish():
                inbox.finish = True
        wake()
