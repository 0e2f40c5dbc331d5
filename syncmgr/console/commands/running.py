"""The running command: at most one at a time per connection.

Owns: its task, its time limit, what interrupts it.
Must not know: what a command does, how its client is answered.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from enum import Enum

from syncmgr.console.wire.port import Wire
from syncmgr.console.wire.stream import ConnectionLost
from syncmgr.errors import Code, SyncError


class Interrupt(Enum):
    """Why a command is cancelled: the error that its client gets, and whether its connection ends too."""

    QUERY = Code.INTERRUPTED, False, ""
    TIMEOUT = Code.TIMED_OUT, False, ""
    CEILING = Code.TIMED_OUT, False, " (max_query_second in conf/fe.conf; ask for less at a time)"
    CONNECTION = Code.INTERRUPTED, True, ""
    SHUTDOWN = Code.SHUTTING_DOWN, True, ""

    @property
    def error(self) -> SyncError:
        code, _, more = self.value
        return SyncError(code, more=more)

    @property
    def ends_connection(self) -> bool:
        return self.value[1]


def _nothing() -> str:
    return ""


class RunningCommand:
    """A command runs in a task of its own, so that an interrupt cancels it and nothing else."""

    def __init__(self, stream: Wire) -> None:
        self._stream = stream
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.interrupted: Interrupt | None = None  # why the last one was, or the connection
        self.waits_for: Callable[[], str] = _nothing  # asked by each PROCESSLIST; set by whoever makes it wait

    @property
    def idle(self) -> bool:
        return self._task is None

    @property
    def ends_connection(self) -> bool:
        """Whether what interrupted the last command ends its connection."""
        return self.interrupted is not None and self.interrupted.ends_connection

    def interrupt(self, why: Interrupt) -> None:
        """Cancel the running command. An idle connection is left alone, or ended if the reason says so."""
        if self._task is not None:
            self.interrupted = why
            self._task.cancel()
        elif why.ends_connection:
            self.interrupted = why
            self._stream.abort()

    def limit_time(self, seconds: float, why: Interrupt = Interrupt.TIMEOUT, *, since: float | None = None) -> None:
        """The running command is interrupted after this long from now, or from `since` on; 0: never."""
        if self._timer is not None:
            self._timer.cancel()
        past = 0.0 if since is None else time.monotonic() - since
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds - past, self.interrupt, why) if seconds else None

    async def run(self, command: Coroutine[object, object, None]) -> None:
        """Raises what the command raises, the error of the interrupt, ConnectionLost when its client goes away."""
        self.interrupted = None
        self._task = asyncio.create_task(command)
        try:
            await self._watch(self._task)
        except asyncio.CancelledError:
            if self.interrupted is None:
                raise
            raise self.interrupted.error from None
        finally:
            self._task, self.waits_for = None, _nothing
            self.limit_time(0)

    async def _watch(self, task: asyncio.Task[None]) -> None:
        """Wait for a command, and cancel it if its client goes away."""
        gone = asyncio.create_task(self._stream.gone.wait())
        try:
            await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and self.interrupted is None:
                task.cancel()
                await asyncio.wait((task,))
                raise ConnectionLost("the client went away during a command")
            await task
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            gone.cancel()
