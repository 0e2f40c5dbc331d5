"""The commit of one epoch after the other, and what is known of it while it runs.

Owns: which epochs are marked as a state that the source had, what follows a commit, the clock of the one under way.
Must not know: the worker's process, retries, why a run ends.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import Epoch
from syncmgr.pipeline.channels import Channels
from syncmgr.pipeline.committer import CommitLedger, Committer
from syncmgr.pipeline.messages import Progress
from syncmgr.pipeline.snapshot.none import NoSnapshot
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from syncmgr.pipeline.supervision.health import Health
from syncmgr.pipeline.watermark import Watermark
from syncmgr.pipeline.witness import Witness

log = logging.getLogger(__name__)


class EpochCommits:
    """Of one run, whose thread calls it; `heard` comes from the thread of the worker's pipe."""

    def __init__(
        self,
        ledger: CommitLedger,
        committer: Committer,
        *,
        channels: Channels,
        snapshot: Snapshot | NoSnapshot,
        watermark: Watermark,
        health: Health,
        witness: Witness,
        finish: Callable[[], None],
        is_abandoned: Callable[[], bool],
    ) -> None:
        """`finish`: the run ends, and the next one begins with what the store has of a statement."""
        self._ledger, self._committer = ledger, committer
        self._channels, self._snapshot = channels, snapshot
        self._watermark, self._health, self._witness = watermark, health, witness
        self._finish, self._is_abandoned = finish, is_abandoned
        self._since = 0.0  # monotonic

    def commit(self, epoch: Epoch) -> None:
        """One that the worker has staged."""
        whole = self._channels.are_consistent(epoch.end)
        self._commit(epoch if whole else replace(epoch, end=replace(epoch.end, whole=False)), self._committer.commit)

    def finish_intents(self) -> None:
        """Those that an earlier process left."""
        if not self._is_abandoned():
            self._committer.recover()
        for epoch in self._ledger.intents():
            if self._is_abandoned():
                return
            self._commit(self._committer.relieved(epoch), self._committer.resume)

    def _commit(self, epoch: Epoch, step: Callable[[Epoch], None]) -> None:
        self._since = time.monotonic()
        epoch = self._watermark.commits(epoch)
        with self._witness.committing(epoch):
            step(epoch)
        if epoch.ddl is not None:
            self._channels.follow(epoch.ddl)
            self._committer.read_as(self._channels.now)
            if epoch.ddl.dropped or epoch.ddl.resynced:
                self._finish()
        self._committer.make_room()
        self._watermark.committed()
        took = time.monotonic() - self._since
        log.debug("committed", extra={"epoch": epoch.number, "rows": epoch.rows, "second": round(took, 3)})
        self.catch_up()
        self._health.mended()

    def settle(self) -> None:
        """At the end of the run: what waits for tables that are behind."""
        try:
            self._committer.laggards.settle()
        except SyncError as error:
            if error.code is not Code.META_DOWN:  # otherwise the next run finds what is stored
                raise

    def catch_up(self) -> None:
        """Tables whose snapshot the commits have passed."""
        if self._snapshot.is_catching_up:
            self._snapshot.committed(self.last().end, self._committer.laggards)

    def last(self) -> Epoch:
        last = self._ledger.last_epoch()
        assert last is not None, "epoch 0 holds the start position"
        return last

    def heard(self, progress: Progress) -> None:
        """The run's own thread waits for the commit; the worker's signs of life serve as its clock. If the source has
        nothing more, and everything is committed, any failure has passed: there may be no commit for long.
        """
        self._watermark.heard(progress)
        if progress.heard_at:
            self._health.heard()
        reading = self._watermark.reading()
        if reading is not None and reading.drained and reading.caught_up_at:
            self._health.mended()
        epoch = self._watermark.committing()
        if epoch is not None:
            self._health.committing(epoch.number, time.monotonic() - self._since)
