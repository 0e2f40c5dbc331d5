"""The commit of an epoch, exactly once.

Owns: the order of its steps.
Must not know: how a table is written, how an intent is stored, when an epoch is cut.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Verdict, held, verdict
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_step import DdlRecord
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch, LastCommit, StagedFile
from syncmgr.job.position import Position, has_passed
from syncmgr.job.types.schema import SourceTable
from syncmgr.lake.port import Commits
from syncmgr.pipeline.laggards import Laggards, ended, job_wide
from syncmgr.pipeline.standings import Standings
from syncmgr.pipeline.worker.segment import same_columns

GATHERED_BYTES: Final = 64 * 1024 * 1024  # staged files of one channel that are committed at once


class Progressed(Protocol):
    """How far a channel's table is."""

    @property
    def last(self) -> LastCommit: ...


class CommitLedger(Protocol):
    """What the commit stores, for one job."""

    def add_intent(self, epoch: Epoch) -> None: ...
    def commit_epoch(self, epoch: Epoch, committed: Mapping[str, ChannelCommitted], *, consistent: bool = True) -> None:
        """`consistent`: after it the tables have a state that the source had."""

    def progress(self) -> Mapping[str, Progressed]: ...
    def intents(self) -> list[Epoch]: ...
    def backlog(self) -> list[Epoch]: ...
    def commit_channel(self, number: int, token: str, outcome: ChannelCommitted) -> None: ...
    def gather(self, token: str, numbers: Sequence[int]) -> None: ...
    def last_epoch(self) -> Epoch | None: ...
    def hold(self) -> None:
        """Raises META_OWNED if another frontend has taken over."""

    def learn(self, token: str, source: SourceTable) -> None: ...
    def describe(self, channel: ChannelDescription) -> None: ...
    def refuse(self, record: DdlRecord) -> None: ...
    def note(self, record: DdlRecord) -> None: ...
    def overturn(self, token: str, reason: str) -> None:
        """A table stops since it is not what the newest statement on it was recorded to have made."""

    def settled(self, position: Position) -> DdlRecord | None: ...
    def keep_asked(self, second: int) -> None: ...
    def asked_until(self) -> int: ...


class Committer:
    """Commits the epochs of one job, one after the other; a channel that cannot commit does not block the others."""

    def __init__(
        self,
        channels: tuple[ChannelDescription, ...],
        ledger: CommitLedger,
        lake: Commits,
        pool: Executor,
        *,
        ack: Callable[[Epoch], None],
        max_backlog_bytes: Callable[[], int],
        ending: Callable[[], bool],
        keeps_out: bool = False,
        standings: Standings | None = None,
        renews: Callable[[str], bool] = lambda _: False,
        points: Callable[[], Mapping[str, Position]] = dict,
        consistent: Callable[[Position], bool] = lambda _: True,
    ) -> None:
        """`max_backlog_bytes`: what may wait for one channel. `ending`: the run is to end, without waiting.

        `keeps_out`: rows that the targets cannot hold are kept out, so a change may not find its row.
        `standings`: of all channels; None: as their descriptions say.
        `renews`: whether all rows of a channel's table are about to be replaced. `points`: by token, where changes of
        tables without a key begin. `consistent`: whether the tables are a state of the source with an epoch up to a
        place.
        """
        self.read_as(channels)
        self._keeps_out = keeps_out
        self._unseen = set(self._channels)
        self._ledger = ledger
        self._lake = lake
        self._pool = pool
        self._ack = ack
        self._ending = ending
        self._standings = standings or Standings(channels)
        self._renews = renews
        self._points = points
        self._consistent = consistent
        labels = {channel.token: f"{channel.target_db}.{channel.target_label}" for channel in channels}
        self.laggards = Laggards(labels, self._submit, self._took, self._gathered, max_backlog_bytes, self._standings)
        self._recovered = False
        self._settled = False  # an earlier process knew its intents

    def recover(self) -> None:
        """Tries once what channels have not committed. Raises the mildest error if none can go on."""
        if not self._recovered:
            for epoch in self._ledger.backlog():
                for token in epoch.files:
                    self.laggards.add(token, epoch)
            self._recovered = True
        self.laggards.retry()
        self.laggards.make_room(self._ending, for_snapshots=False)  # which only go on after this

    def read_as(self, channels: tuple[ChannelDescription, ...]) -> None:
        """What the channels are from the next epoch on."""
        self._channels = {channel.token: channel for channel in channels}

    def commit(self, epoch: Epoch) -> None:
        """Commit one epoch. A crash after any step resumes at that step.

        1. store the intent      without it a restart reads the source again from the last epoch; rows of XA
                                 transactions that have ended since that one are not needed any more
        2. commit each channel   a table already marked with the epoch is skipped; one that cannot take it is left
                                 behind, with its staged rows
        3. store the epoch       from here on the position is safe; if no channel is behind, it is a consistent point
        4. ack the source        a lost ack is harmless: the position decides
        5. drop staged files     of the channels that have committed
        """
        passing(CrashPoint.EPOCH_STAGED)
        self.laggards.rejoin()
        before = self._ledger.last_epoch()
        # an intent of an earlier process may be whole by what was known before a RESYNC
        self._settled = before is None or (before.end.whole and self._consistent(before.end))
        self._ledger.add_intent(epoch)
        passing(CrashPoint.INTENT_STORED)
        if before is not None:
            drop(before.prepared_files - epoch.prepared_files)
        self.resume(epoch)

    def resume(self, epoch: Epoch) -> None:
        """The commit from step 2 on, for an intent that an earlier process stored."""
        committed, failed = self._commit_channels(epoch)
        passing(CrashPoint.CHANNELS_COMMITTED)
        self._ledger.commit_epoch(epoch, committed, consistent=self._consistent(epoch.end))
        passing(CrashPoint.EPOCH_STORED)
        for token in epoch.files.keys() - committed.keys():
            self.laggards.add(token, epoch, failed.get(token))
        self._ack(epoch)
        passing(CrashPoint.ACKED)
        drop(file.path for token in committed for file in epoch.files.get(token, ()))
        passing(CrashPoint.STAGED_FILES_DROPPED)

    def make_room(self) -> None:
        """Waits while too much is behind, once a statement of the previous epoch is followed: this may fail."""
        self.laggards.make_room(self._ending)

    def relieved(self, epoch: Epoch) -> Epoch:
        """An intent that an earlier process stored, without what RESYNC has handled since: RESYNC knows the statement's
        effect on the table, and may have found another target than the one it was decided for.
        """
        tokens = frozenset() if epoch.ddl is None else epoch.ddl.concerned - epoch.ddl.dropped
        return epoch.passing_over({t for t in tokens if self._channels[t].history.skips(epoch.end) and self._renews(t)})

    def _commit_channels(self, epoch: Epoch) -> tuple[dict[str, ChannelCommitted], dict[str, SyncError]]:
        """All channels that are not behind, in parallel; every one has ended when this returns or raises.

        Raises if the job cannot go on: for errors that concern every table, if no channel is left, and if a table could
        not follow a DDL statement, which no channel may defer.
        """
        futures = {token: self._begin(token, epoch) for token in epoch.files if self._may_commit(token, epoch)}
        if epoch.ddl is not None:
            futures |= {token: self._alter(token, epoch, changes) for token, changes in epoch.ddl.changes.items()}
        ended(futures.values())
        committed: dict[str, ChannelCommitted] = {}
        failed: dict[str, SyncError] = {}
        for token, future in futures.items():
            try:
                committed[token] = future.result()
            except SyncError as error:
                failed[token] = error
        known = {token: self._standings.obstacle(token) for token in epoch.files.keys() - futures.keys()}
        waiting = {token: error for token, error in known.items() if error is not None}
        errors = [*failed.values(), *waiting.values()]
        wide = next(iter(failed.values()), None) if epoch.ddl is not None else job_wide(errors)
        if wide is not None:
            raise wide
        self.laggards.refuse_standstill(waiting | failed)
        return committed, failed

    def _may_commit(self, token: str, epoch: Epoch) -> bool:
        skipped = self._channels[token].history.skips(epoch.end)
        return verdict(self._standings[token], staged=True, skipped=skipped) is Verdict.COMMIT

    def _submit(self, token: str, epoch: Epoch) -> Future[ChannelCommitted] | None:
        """A channel's oldest waiting epoch; None: it waits for rows."""
        return None if self._is_held(token, epoch.end) else self._begin(token, epoch)

    def _is_held(self, token: str, end: Position) -> bool:
        return held(self._standings[token], skipped=self._channels[token].history.skips(end))

    def _begin(self, token: str, epoch: Epoch) -> Future[ChannelCommitted]:
        progress = self._ledger.progress()[token]
        commit = self._channel_commit(token, epoch, self._files(token, epoch), progress)
        return self._pool.submit(self._commit_channel, commit)

    def _files(self, token: str, epoch: Epoch) -> tuple[StagedFile, ...]:
        """What was staged before the place from which a channel counts came with its rows; only the epoch is marked."""
        return () if self._came(token, epoch) else epoch.files[token]

    def _came(self, token: str, epoch: Epoch) -> bool:
        channel = self._channels[token]
        point = None if channel.keys else self._points().get(token)
        return channel.history.skips(epoch.end) or (point is not None and has_passed(point, epoch.end))

    def _commit_channel(self, commit: ChannelCommit) -> ChannelCommitted:
        """First examines what an earlier process left of the table, or after a failure anyone else: it may come from
        files that are gone, of the table or of the epoch. Before all rows are replaced, the token alone is written.
        """
        if commit.token in self._unseen:
            self._lake.check_integrity(commit.db, commit.table, replaced=commit.renews)
            if not commit.renews:
                self._unseen.discard(commit.token)
        try:
            return self._lake.commit(commit)
        except SyncError as error:
            if error.code is not Code.LAKE_FAILED:
                raise
            self._unseen.add(commit.token)
            gone = next((file.path for file in commit.files if not Path(file.path).exists()), None)
            if gone is None:
                raise
            table = f"{commit.db}.{commit.table}"
            raise SyncError(Code.STAGED_LOST, epoch=commit.epoch, table=table, path=gone) from error

    def _took(self, token: str, epoch: Epoch, outcome: ChannelCommitted) -> None:
        """A channel that was behind has committed an epoch."""
        passing(CrashPoint.LAGGARD_COMMITTED)
        self._ledger.commit_channel(epoch.number, token, outcome)
        passing(CrashPoint.LAGGARD_STORED)
        drop(file.path for file in epoch.files[token])

    def _gathered(self, token: str, epochs: Sequence[Epoch]) -> Epoch:
        """One commit takes the content of many epochs, or a table under steady load would never catch up.

        Stored before it is tried, while none of them was tried: so a table has either all of it or none. Their files
        have the same columns: a newer version of ours may stage a type differently. What came with the rows is not
        stored with what did not: the next process would commit it.
        """
        if not self._channels[token].keys or self._is_held(token, epochs[-1].end):
            return epochs[0]
        taken: list[Epoch] = []
        files: tuple[StagedFile, ...] = ()
        came = self._came(token, epochs[0])
        for epoch in epochs:
            staged = self._files(token, epoch)
            if taken and sum(file.bytes for file in (*files, *staged)) > GATHERED_BYTES:
                break
            if not same_columns((*files[:1], *staged)) or self._came(token, epoch) != came:
                break
            taken.append(epoch)
            files += staged
        if len(taken) > 1:
            self._ledger.gather(token, [epoch.number for epoch in taken])
        return replace(taken[-1], oldest_time=taken[0].since, files={**taken[-1].files, token: files})

    def _channel_commit(
        self,
        token: str,
        epoch: Epoch,
        files: tuple[StagedFile, ...],
        progress: Progressed,
    ) -> ChannelCommit:
        channel = self._channels[token]
        return ChannelCommit(
            token=token,
            epoch=epoch.number,
            fingerprint=epoch.fingerprint,
            db=channel.target_db,
            table=channel.target,
            files=files,
            columns=channel.columns,
            keys=channel.keys,
            where=channel.where,
            last=progress.last,
            settled=self._settled and not self._keeps_out and token not in self.laggards,
            part=channel.part,
            renews=not files and self._renews(token),
        )

    def caught_up(self, tokens: Collection[str]) -> bool:
        """Waits until all rows of these channels are committed; False: the run is to end. Raises the error for which
        one is behind.
        """
        while any(token in self.laggards for token in tokens):
            if self._ending():
                return False
            self.laggards.retry()
            self.laggards.refuse_behind(tokens)
        return True

    def _alter(self, token: str, epoch: Epoch, changes: tuple[LakeChange, ...]) -> Future[ChannelCommitted]:
        channel, progress = self._channels[token], self._ledger.progress()[token]
        alter = ChannelAlter(
            token=token,
            epoch=epoch.number,
            fingerprint=epoch.fingerprint,
            db=channel.target_db,
            table=channel.target,
            changes=changes,
            last=progress.last,
            part=channel.part,
        )
        return self._pool.submit(self._lake.alter, alter)


def drop(paths: Iterable[str]) -> None:
    """Delete staged files. A missing one was deleted before a crash."""
    for path in paths:
        Path(path).unlink(missing_ok=True)
