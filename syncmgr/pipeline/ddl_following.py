"""A statement of the source, reached by the worker, which waits until it is decided.

Owns: the order of the steps of following: judge, let new tables join, read again, commit.
Must not know: what a statement means, the worker's process, retries.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import held
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl import ddl
from syncmgr.job.ddl.ddl_plan import arrived, has_joined, refused, settle
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.following.ddl_statement import not_followed
from syncmgr.job.epoch import Epoch
from syncmgr.pipeline.channels import Channels
from syncmgr.pipeline.committer import CommitLedger, Committer
from syncmgr.pipeline.messages import DdlMet
from syncmgr.pipeline.run_options import Listeners, RunOptions
from syncmgr.pipeline.snapshot.none import NoSnapshot
from syncmgr.pipeline.snapshot.snapshot import Snapshot


class DdlFollowing:
    """Of one run, whose thread calls it."""

    def __init__(
        self,
        options: RunOptions,
        listeners: Listeners,
        ledger: CommitLedger,
        *,
        channels: Channels,
        snapshot: Snapshot | NoSnapshot,
        committer: Committer,
        commit: Callable[[Epoch], None],
        finish: Callable[[], None],
        ending: Callable[[], bool],
    ) -> None:
        """`commit`: of an epoch with the statement. `finish`: the run is `ending`, and the next one reads it again."""
        self._options, self._listeners, self._ledger = options, listeners, ledger
        self._channels, self._snapshot, self._committer = channels, snapshot, committer
        self._standings = snapshot.standings
        self._commit, self._finish, self._ending = commit, finish, ending

    def follow(self, met: DdlMet) -> bool:
        """Every epoch before the statement is in the lake; those after it are read and written by its result. Whether
        it was committed; otherwise the run ends.
        """
        step = self._decided(met)
        if self._joined(met, step):
            return False
        with self._snapshot.begun_anew(step, met.epoch.end) as followed:
            return self._follow_with(met, followed)

    def _decided(self, met: DdlMet) -> DdlStep:
        """Raises what stops the table or the job."""
        now = self._channels.now
        try:
            channels = [channel for channel in now if self._channels.has_begun(channel, met.epoch.end)]
            self._refuse_reshaped(met, channels)
            met_not = [channel for channel in now if channel not in channels and not channel.history.dropped]
            rules = replace(self._options.rules, held=frozenset((c.source.db, c.source.name) for c in met_not))
            return settle(self._ledger.settled(met.epoch.end), met.statement, channels, rules)
        except SyncError as error:
            if error.code is Code.SOURCE_DDL:
                self._refuse(met, error)
            raise

    def _refuse_reshaped(self, met: DdlMet, channels: Iterable[ChannelDescription]) -> None:
        """A target that gets other columns with its rows does not have them yet."""
        tables = {(c.source.db, c.source.name) for c in channels if self._snapshot.reshapes(c.token)}
        for table in ddl.meant(met.statement.text, met.statement.db, tables, met.statement.modes) if tables else ():
            raise not_followed(table, "its rows are being read again, with other columns", met.statement.text)

    def _refuse(self, met: DdlMet, error: SyncError) -> None:
        alone = self._channels.alone(error) is not None
        record = refused(met.statement, met.epoch.end, met.table, self._channels.advised(error), alone=alone)
        (self._ledger.note if alone else self._ledger.refuse)(record)

    def _joined(self, met: DdlMet, step: DdlStep) -> bool:
        """Whether tables that the statement made, or named, have joined the job, which ends this run. The next one
        reaches the statement again, so it may yet report why others do not.
        """
        statement, behind = met.statement, [step.channels.get(channel.token, channel) for channel in self._channels.now]
        synced = {statement.modes.folded((channel.source.db, channel.source.name)) for channel in behind}
        came = [table for table in ddl.arrivals(statement.text, statement.db, statement.modes) if table not in synced]
        came = [table for table in came if any(family.has(table) for family in self._options.families)]
        outcomes = self._listeners.on_arrival(came, met.epoch.end) if came else {}
        if outcomes is None:
            self._finish()
        ends = self._ending()
        for table, each in (outcomes or {}).items():
            if has_joined(each) or not ends:
                self._ledger.note(arrived(statement, met.epoch.end, table, each))
        return ends

    def _follow_with(self, met: DdlMet, step: DdlStep) -> bool:
        rows = {t: self._standings.obstacle(t) for t in step.concerned if held(self._standings[t], skipped=False)}
        waiting = {token: error for token, error in rows.items() if error is not None}
        for token in step.changes.keys() & waiting.keys() - step.dropped:
            raise waiting[token]
        if not self._committer.caught_up(step.concerned - waiting.keys() - step.dropped):
            return False
        passing(CrashPoint.DDL_DECIDED)
        self._commit(replace(met.epoch, ddl=step))
        passing(CrashPoint.DDL_STORED)
        return True
