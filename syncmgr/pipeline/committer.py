"""The commit of an epoch, exactly once.

Owns: the order of its steps.
Must not know: how a table is written, how an intent is stored, when an epoch is cut.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future, wait
from pathlib import Path
from typing import Protocol

from syncmgr.crash import CrashPoint, passing
from syncmgr.job.description import ChannelDescription
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, Epoch, StagedFile
from syncmgr.job.schema import SourceTable


class Progressed(Protocol):
    """How far a channel's table is."""

    @property
    def key_may_exist(self) -> bool: ...
    @property
    def last_snapshot(self) -> int | None: ...


class Ledger(Protocol):
    """What the commit writes down, for one job."""

    def add_intent(self, epoch: Epoch) -> None: ...
    def commit_epoch(self, epoch: Epoch, committed: Mapping[str, ChannelCommitted]) -> None: ...
    def progress(self) -> Mapping[str, Progressed]: ...
    def intents(self) -> list[Epoch]: ...
    def last_epoch(self) -> Epoch | None: ...
    def learn(self, token: str, source: SourceTable) -> None: ...


class Lake(Protocol):
    """Commits one channel of one epoch; a table that bears the epoch already is passed over."""

    def check_whole(self, db: str, table: str) -> None:
        """Raises TABLE_BROKEN where a table cannot be read as it is."""

    def commit(self, commit: ChannelCommit) -> ChannelCommitted: ...


class Committer:
    """Commits the epochs of one job, one after the other."""

    def __init__(
        self,
        channels: tuple[ChannelDescription, ...],
        ledger: Ledger,
        lake: Lake,
        pool: Executor,
        ack: Callable[[Epoch], None],
    ) -> None:
        self._channels = {channel.token: channel for channel in channels}
        self._unseen = channels
        self._ledger = ledger
        self._lake = lake
        self._pool = pool
        self._ack = ack

    def commit(self, epoch: Epoch) -> None:
        """Commit one epoch. A crash after any step resumes at that step.

        1. store the intent      without it a restart reads the source again from the last epoch; rows of XA
                                 transactions that have ended since that one are not needed any more
        2. commit each channel   a table that already bears the epoch is passed over
        3. store the epoch       from here on the position is safe: a consistent point over all tables
        4. ack the source        a lost ack is harmless: the position decides
        5. drop staged files
        """
        passing(CrashPoint.EPOCH_STAGED)
        before = self._ledger.last_epoch()
        self._ledger.add_intent(epoch)
        passing(CrashPoint.INTENT_STORED)
        if before is not None:
            drop(before.prepared_files - epoch.prepared_files)
        self.resume(epoch)

    def resume(self, epoch: Epoch) -> None:
        """The commit from step 2 on, for an intent that an earlier life stored."""
        self._look()
        committed = self._commit_channels(epoch)
        passing(CrashPoint.CHANNELS_COMMITTED)
        self._ledger.commit_epoch(epoch, committed)
        passing(CrashPoint.EPOCH_STORED)
        self._ack(epoch)
        passing(CrashPoint.ACKED)
        drop(file.path for segment in epoch.files.values() for file in segment)
        passing(CrashPoint.STAGED_FILES_DROPPED)

    def _look(self) -> None:
        """Before the first commit: what an earlier life left of the tables."""
        for channel in self._unseen:
            self._lake.check_whole(channel.target_db, channel.target)
        self._unseen = ()

    def _commit_channels(self, epoch: Epoch) -> dict[str, ChannelCommitted]:
        """All channels side by side; every one has ended when this returns or raises the first error."""
        progress = self._ledger.progress()
        futures: dict[str, Future[ChannelCommitted]] = {
            token: self._pool.submit(self._lake.commit, self._channel_commit(token, epoch, files, progress[token]))
            for token, files in epoch.files.items()
        }
        wait(futures.values())
        return {token: future.result() for token, future in futures.items()}

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
            key_may_exist=progress.key_may_exist,
            last_snapshot=progress.last_snapshot,
        )


def drop(paths: Iterable[str]) -> None:
    """Delete staged files. One that is gone already was dropped before a crash."""
    for path in paths:
        Path(path).unlink(missing_ok=True)
