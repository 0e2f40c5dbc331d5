"""The channels of a run, as they are now.

Owns: how reports of the worker and DDL change them, which of them are read, which stop alone.
Must not know: the worker's process, commits, retries.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import JobKind
from syncmgr.job.channel import channel_state
from syncmgr.job.channel.channel_state import Verdict, verdict
from syncmgr.job.channel.description import ChannelDescription, Reshaped
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.stopped_table import advised, concerned, stop_of, stopped_by
from syncmgr.job.freshness import of_table
from syncmgr.job.position import Position
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.committer import CommitLedger
from syncmgr.pipeline.messages import WorkerChannel
from syncmgr.pipeline.run_options import RunOptions
from syncmgr.pipeline.snapshot.none import NoSnapshot
from syncmgr.pipeline.snapshot.snapshot import Snapshot

log = logging.getLogger(__name__)


class Channels:
    """Of one run; only its thread changes them. `now`: each as the next row is read and written."""

    def __init__(
        self,
        options: RunOptions,
        ledger: CommitLedger,
        snapshot: Snapshot | NoSnapshot,
        synced_until: Callable[[], float],
    ) -> None:
        """`synced_until`: of the job, 0.0: not known."""
        self.now = options.channels
        self._options, self._ledger, self._snapshot = options, ledger, snapshot
        self._standings = snapshot.standings
        self._synced_until = synced_until

    def learn(self, token: str, learned_columns: SourceTable | Reshaped) -> None:
        """The next process, of the worker or of the frontend, checks the rows against the same columns."""
        for channel in [c for c in self.now if c.token == token]:
            match learned_columns:
                case SourceTable():
                    learned = replace(channel, source=learned_columns)
                    self._ledger.learn(token, learned_columns)
                case Reshaped():
                    learned = replace(channel, history=replace(channel.history, reshaped=learned_columns))
                    self._ledger.describe(learned)
            self.now = tuple(learned if c is channel else c for c in self.now)

    def doubt(self, tokens: Collection[str]) -> None:
        """What was never compared is compared in the next process, too."""
        changed = {
            c.token: replace(c, history=replace(c.history, nameless=c.token in tokens))
            for c in self.now
            if self.is_read(c)
        }
        for channel in [c for c in self.now if changed.get(c.token, c) != c]:
            self._ledger.describe(changed[channel.token])
        self.now = tuple(changed.get(c.token, c) for c in self.now)

    def follow(self, step: DdlStep) -> None:
        """After the commit of a statement."""
        self._become(tuple(step.channels.get(c.token, c) for c in self.now))

    def _become(self, channels: tuple[ChannelDescription, ...]) -> None:
        self.now = channels
        self._snapshot.read_as(channels)

    def overturn(self, error: SyncError) -> None:
        """A statement was not followed after all if the columns of the next rows disagree with it."""
        for channel in concerned(error, self.now) if error.code is Code.SOURCE_SCHEMA else ():
            self._ledger.overturn(channel.token, str(error))

    def leave_out(self, error: SyncError) -> bool:
        """Whether it stops one table alone: the others are read on, from after the last epoch."""
        channel = self.alone(error)
        if channel is None:
            return False
        now = time.time()
        stop = stop_of(error, since=now, synced_until=self._synced_until_of(channel))
        stopped = replace(channel, history=replace(channel.history, stopped=stop))
        self._ledger.describe(stopped)
        self._standings.change(channel.token, partial(channel_state.stopped, stop=stop, at=now))
        self._become(tuple(stopped if each is channel else each for each in self.now))
        log.warning("a table is not read any more", extra={"job": self._options.name, "error": str(error)})
        return True

    def _synced_until_of(self, channel: ChannelDescription) -> float | None:
        load = self._snapshot.load(channel.token)
        stale = None if load is None else load.stale
        waits = self._standings[channel.token].waits
        return of_table(channel, stale=stale, waits=waits, job=self._synced_until() or None)

    def alone(self, error: SyncError) -> ChannelDescription | None:
        """The one that it stops; None: it stops the job."""
        rules = self._options.rules
        return stopped_by(error, self.now, rules.stop) if self._options.leaves_out else None

    def advised(self, error: SyncError) -> SyncError:
        kind = JobKind(
            has_rows=self._options.leaves_out,
            has_others=len(self.now) > 1,
            runs=self.alone(error) is not None,
            shares=any(channel.part is not None for channel in self.now),
            appends=any(not channel.keys for channel in self.now),
        )
        return advised(error, kind)

    def is_read(self, channel: ChannelDescription) -> bool:
        return not channel.history.dropped and verdict(self._standings[channel.token], staged=False) is not Verdict.OMIT

    def has_begun(self, channel: ChannelDescription, at: Position) -> bool:
        """Whether what is directly before that place of the source's history is a change of this channel. What is
        before the point of a table without a key came with its rows, even a TRUNCATE.
        """
        after = self.points().get(channel.token, channel.history.after)
        return self.is_read(channel) and not replace(channel.history, after=after).skips(at)

    def are_consistent(self, end: Position) -> bool:
        """Until the binlog has delivered what the snapshot saw, the rows are no state of the source; nor with a table
        that is no longer read.
        """
        return self._snapshot.whole(end) and not any(channel.history.stopped for channel in self.now)

    def points(self) -> Mapping[str, Position]:
        """By token, where the changes of tables without a key begin."""
        return self._snapshot.points()

    def for_worker(self) -> tuple[WorkerChannel, ...]:
        read = [channel for channel in self.now if self.is_read(channel)]
        assert len({(c.source.db, c.source.name) for c in read}) == len(read), "each table has one channel"
        points = self.points()
        return tuple(WorkerChannel.of(c, self._options.rules, points.get(c.token, c.history.after)) for c in read)
