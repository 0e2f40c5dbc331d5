"""Upkeep and expiry of the targets of all live jobs.

Owns: whose turn it is, which targets wait for what a crash has left, which errors are logged.
Must not know: what is done to a table.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.host.log_files import Lasting
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.lake.port import Upkeep
from syncmgr.meta.store import Store

UPKEEP: Final = "upkeep"
EXPIRY: Final = "expiry"

log = logging.getLogger(__name__)


class TargetUpkeep:
    """`recovers`: whether a job has yet to commit what an earlier process of the frontend left. `keep_second`: how long
    consistent points are kept.
    """

    def __init__(
        self, lake: Upkeep, store: Store, recovers: Callable[[JobId], bool], keep_second: Callable[[], float]
    ) -> None:
        self._lake, self._store, self._recovers, self._keep_second = lake, store, recovers, keep_second
        self._troubles = {kind: Lasting(log) for kind in (UPKEEP, EXPIRY)}
        self._failing: dict[str, dict[tuple[str, str], str]] = {UPKEEP: {}, EXPIRY: {}}

    def failure(self, db: str, table: str) -> str | None:
        """Why the last upkeep or expiry of a target failed; None: neither did. From any thread."""
        found = [f"{kind}: {failing[db, table]}" for kind, failing in self._failing.items() if (db, table) in failing]
        return "; ".join(found) or None

    def upkeep(self) -> None:
        """What a crash has left is committed first: upkeep would delay it."""

        def of(job: SyncJob, channel: ChannelDescription) -> None:
            if not self._recovers(job.id):
                self._lake.upkeep(channel.target_db, channel.target)

        self._each_target(UPKEEP, of)

    def expire(self) -> None:
        """Snapshots that no consistent point needs."""

        def of(job: SyncJob, channel: ChannelDescription) -> None:
            target = channel.target_db, channel.target
            tokens = [each.token for each in job.channels if (each.target_db, each.target) == target]
            self._lake.expire(*target, self._store.epochs.kept(job.id, tokens, time.time() - self._keep_second()))

        self._each_target(EXPIRY, of)

    def _each_target(self, kind: str, do: Callable[[SyncJob, ChannelDescription], None]) -> None:
        """One tick: every target of a live job, with the channel that fills it longest. An error is logged, once, and
        the next tick tries again; even an unexpected one does not affect other tables.
        """
        if not self._lake.serves:
            return  # Spark itself logs why
        found = dict[tuple[str, str], str]()
        try:
            jobs = self._store.jobs.all(live=True)
        except SyncError as error:
            if error.code is not Code.META_DOWN:
                raise
            return  # the lease logs when that begins and when it ends
        for job in jobs:
            for target, channel in {(each.target_db, each.target): each for each in reversed(job.channels)}.items():
                try:
                    do(job, channel)
                except SyncError as error:
                    if error.code in {Code.LAKE_STARTING, Code.META_DOWN}:
                        return  # the same for every table; Spark itself, and the lease, log when it is over
                    found[target] = str(error)
                except Exception as error:
                    log.exception("%s of %s.%s", kind, *target)
                    found[target] = repr(error)
        self._failing[kind] = found
        self._troubles[kind].report({f"{kind} of {db}.{table}": text for (db, table), text in found.items()})
