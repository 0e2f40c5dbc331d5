"""Channels that cannot commit while the other channels of their job go on.

Owns: what waits for each of them, when it is retried, when it is too much, what the log says of that.
Must not know: how a channel commits, what makes an epoch count.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from syncmgr.errors import Code, SyncError
from syncmgr.errors.concern import Phase, is_of_one_table
from syncmgr.job.advice.treatment import Remedy
from syncmgr.job.backoff import COMMIT, Series
from syncmgr.job.channel import channel_state
from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.failure import mildest, remedy
from syncmgr.pipeline.standings import Standings

log = logging.getLogger(__name__)

OPEN_SECOND: Final = 0.5  # how often to check whether the rows of a table are there
Submit = Callable[[str, Epoch], Future[ChannelCommitted] | None]
Took = Callable[[str, Epoch, ChannelCommitted], None]
Gather = Callable[[str, Sequence[Epoch]], Epoch]


def ended(futures: Iterable[Future[Any]]) -> None:
    """Waits until each has ended. Python's own `wait` is not notified of one that was cancelled by the end of its
    pool.
    """
    for future in futures:
        with suppress(CancelledError):
            future.exception()


@dataclass(frozen=True, kw_only=True, slots=True)
class Behind:
    """A channel that is behind. `since`: source time of its oldest row that waits, unix seconds."""

    token: str
    table: str
    epochs: int
    bytes: int
    since: float
    error: SyncError | None  # None: it is catching up


@dataclass(slots=True)
class Laggard:
    """One channel and its epochs, oldest first. `moved`: this process knows that none of the waiting ones was tried."""

    token: str
    table: str
    epochs: deque[Epoch] = field(default_factory=deque)
    series: Series = field(default_factory=Series)
    retry_at: float = 0.0  # monotonic
    future: Future[ChannelCommitted] | None = None
    moved: bool = False

    @property
    def bytes(self) -> int:
        return sum(file.bytes for epoch in tuple(self.epochs) for file in epoch.files[self.token])

    def shown(self, error: SyncError | None) -> Behind | None:
        epochs = tuple(self.epochs)
        if not epochs:
            return None
        since = epochs[0].since
        return Behind(
            token=self.token, table=self.table, epochs=len(epochs), bytes=self.bytes, since=since, error=error
        )


class Laggards:
    """Belongs to the thread of the job's run, except `shown` and `trouble`."""

    def __init__(
        self,
        tables: Mapping[str, str],
        submit: Submit,
        took: Took,
        gather: Gather,
        limit: Callable[[], int],
        standings: Standings,
    ) -> None:
        """`tables`: of every channel of the job, its label by token. `submit` begins the commit of one channel and one
        epoch, unless rows come before it; `took` is called once it is committed. `gather`: merges waiting epochs of a
        channel into one that has the files of all up to it. `limit`: bytes that may wait for one channel.
        """
        self._tables = tables
        self._submit = submit
        self._took = took
        self._gather = gather
        self._limit = limit
        self._standings = standings
        self._by_token: dict[str, Laggard] = {}

    def __contains__(self, token: object) -> bool:
        return token in self._by_token

    def shown(self) -> tuple[Behind, ...]:
        """May be called from any thread."""
        shown = (laggard.shown(self._why(laggard)) for laggard in list(self._by_token.values()))
        return tuple(behind for behind in shown if behind is not None)

    def trouble(self) -> SyncError | None:
        """What Msg says while the job goes on without some table; None: nothing stands still. That rows are still being
        read is reported only if nothing else is.
        """
        errors = [(behind, behind.error) for behind in self.shown() if behind.error is not None]
        if not errors:
            return None
        stuck, error = min(errors, key=lambda each: each[1].code is Code.SNAPSHOT_OPEN)
        if error.code is Code.SNAPSHOT_OPEN:
            return error
        facts = {"table": stuck.table, "epochs": stuck.epochs, "bytes": stuck.bytes, "reason": error}
        return SyncError(Code.CHANNEL_BEHIND, **facts)

    def add(self, token: str, epoch: Epoch, error: SyncError | None = None) -> None:
        """An epoch that this channel has not committed; `error`: why, if that is new."""
        laggard = self._by_token.setdefault(token, Laggard(token, self._tables[token]))
        laggard.epochs.append(epoch)
        self._standings.change(token, partial(channel_state.waited, since=epoch.since))
        if error is not None:
            self._failed(laggard, error)

    def refuse_standstill(self, failed: Mapping[str, SyncError]) -> None:
        """Raises the mildest error if no channel of the job could go on without those of `failed`; not if all wait for
        their rows, while what follows is staged.
        """
        errors = {token: error for token in self._by_token if (error := self._standings.obstacle(token)) is not None}
        errors |= failed
        waits = all(error.code is Code.SNAPSHOT_OPEN for error in errors.values())
        if not waits and len(errors) == len(self._tables):
            raise mildest(errors.values())

    def refuse_behind(self, tokens: Collection[str]) -> None:
        """Raises the error for which one of these channels is behind."""
        for token in tokens:
            error = self._standings.obstacle(token) if token in self._by_token else None
            if error is not None:
                raise error

    def retry(self) -> None:
        """Try each at once and wait for that. Raises what stops the whole job."""
        for laggard in list(self._by_token.values()):
            self._begin(laggard)
        ended([laggard.future for laggard in self._by_token.values() if laggard.future is not None])
        self.tend()
        self.refuse_standstill({})

    def tend(self) -> None:
        """Collect what has ended, begin what is due. Returns at once; raises what stops the whole job."""
        for laggard in list(self._by_token.values()):
            if laggard.future is not None and laggard.future.done():
                self._take(laggard, laggard.future)
            if laggard.future is None and laggard.epochs and time.monotonic() >= laggard.retry_at:
                self._begin(laggard)

    def rejoin(self) -> None:
        """Waits for those that move and have one epoch left: under steady load they would stay one behind forever."""
        last = [each for each in self._by_token.values() if self._why(each) is None and len(each.epochs) == 1]
        for laggard in last:
            self._begin(laggard)
        ended([laggard.future for laggard in last if laggard.future is not None])
        self.tend()

    def make_room(self, ending: Callable[[], bool], *, for_snapshots: bool = True) -> None:
        """Waits while too much is behind and catches up. Raises BACKLOG_WAITS, BACKLOG_STUCK if it does not.

        `for_snapshots`: also for what waits for rows that are being read.
        """
        while (full := self._full(for_snapshots=for_snapshots)) is not None and not ending():
            error = self._why(full)
            if error is not None and error.code is Code.SNAPSHOT_OPEN:
                time.sleep(OPEN_SECOND)
                self.tend()
                continue
            if error is not None:
                raise self._too_much(full, error)
            self._begin(full)
            ended([] if full.future is None else [full.future])
            self.tend()

    def settle(self) -> None:
        """Waits until no commit is under way. Their results count; what failed is retried later."""
        for laggard in list(self._by_token.values()):
            if laggard.future is not None and laggard.future.exception() is None:
                self._take(laggard, laggard.future)

    def _full(self, *, for_snapshots: bool) -> Laggard | None:
        waits = (each for each in self._by_token.values() if channel_state.comes(self._standings[each.token]))
        over = (each for each in waits if each.bytes > self._limit())
        return next((each for each in over if for_snapshots or not self._is_open(each)), None)

    def _why(self, laggard: Laggard) -> SyncError | None:
        return self._standings.obstacle(laggard.token)

    def _is_open(self, laggard: Laggard) -> bool:
        """Whether it waits for the rows of its table."""
        error = self._why(laggard)
        return error is not None and error.code is Code.SNAPSHOT_OPEN

    def _too_much(self, laggard: Laggard, error: SyncError) -> SyncError:
        passing = remedy(error.code) in {Remedy.RETRY, Remedy.RESUME}
        code = Code.BACKLOG_WAITS if passing else Code.BACKLOG_STUCK
        return SyncError(code, table=laggard.table, bytes=laggard.bytes, limit=self._limit(), reason=error)

    def _begin(self, laggard: Laggard) -> None:
        if laggard.future is not None:
            return
        if len(laggard.epochs) > 1 and laggard.moved and self._why(laggard) is None:
            gathered = self._gather(laggard.token, tuple(laggard.epochs))
            later = (epoch for epoch in laggard.epochs if epoch.number > gathered.number)
            laggard.epochs = deque((gathered, *later))
        laggard.future = self._submit(laggard.token, laggard.epochs[0])
        error = self._why(laggard)
        if laggard.future is None and error is not None and job_wide([error]):
            raise error

    def _take(self, laggard: Laggard, future: Future[ChannelCommitted]) -> None:
        laggard.future = None
        try:
            outcome = future.result()
        except SyncError as error:
            laggard.moved = False  # it may nevertheless have been committed
            if job_wide([error]):
                raise
            self._failed(laggard, error)
            return
        self._took(laggard.token, laggard.epochs[0], outcome)
        laggard.epochs.popleft()
        laggard.moved = True
        laggard.series, laggard.retry_at = Series(), 0.0
        if self._standings[laggard.token].error is not None:
            log.info("table %s takes commits again; %d epochs wait", laggard.table, len(laggard.epochs))
        waits = laggard.epochs[0].since if laggard.epochs else None
        if not laggard.epochs:
            del self._by_token[laggard.token]
        self._standings.change(laggard.token, partial(channel_state.moved, waits=waits, at=time.time()))

    def _failed(self, laggard: Laggard, error: SyncError) -> None:
        now, before = time.monotonic(), self._standings[laggard.token]
        if before.error is None or before.error.code is not error.code:
            log.warning("table %s is behind, and is retried: %s", laggard.table, error)
        if not channel_state.outdated(before):
            self._standings.change(laggard.token, partial(channel_state.failed, error=error, at=time.time()))
        laggard.series = laggard.series.failed(now)
        laggard.retry_at = now + laggard.series.wait(COMMIT)


def job_wide(errors: Iterable[SyncError]) -> SyncError | None:
    """The first that concerns every table of a job."""
    return next((error for error in errors if not is_of_one_table(error.code, Phase.COMMIT)), None)
