"""REPAIR SYNC JOB: rows that a check has found wrong are read again.

Owns: what of a check can be repaired, and the way to the store.
Must not know: how rows are read, how they are compared after that.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from syncmgr.control.alter.part_of_rows import ResyncTargets, is_other, refusal
from syncmgr.control.checking.bracket import UnsteadyError
from syncmgr.control.checking.record import OVER, Check, CheckedTable, CheckState
from syncmgr.control.running.live_runs import LiveRuns
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.check.compared_table import compared_table
from syncmgr.job.check.repair import part_of, wrong_keys
from syncmgr.job.check.verdict import Key
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob
from syncmgr.meta.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Repair:
    """Of one table. `found`: what an earlier check has of it, at that `place`."""

    check: Check
    place: int
    channel: ChannelDescription
    keys: tuple[Key, ...]
    part: KeyRange

    @property
    def found(self) -> CheckedTable:
        return self.check.tables[self.place]


class Repairs:
    """Of stored jobs. Safe to use from any thread."""

    def __init__(self, store: Store, runs: LiveRuns, catalog: ResyncTargets) -> None:
        self._store, self._runs, self._catalog = store, runs, catalog

    def of(self, job: SyncJob, check: Check, token: str | None, most: int) -> list[Repair]:
        """What can be read again of the tables of a job that it has found different; `token`: of one of them alone.

        Blocks as long as the lake takes. Raises REPAIR_REFUSED, CHECK_REFUSED, RESYNC_WHERE.
        """
        if job.state is JobState.CANCELLED:
            raise SyncError(Code.ILLEGAL_TRANSITION, state=job.state.shown, event="repaired")
        repairs = list[Repair]()
        for place, found in enumerate(check.tables):
            if found.job.id != job.id or token not in {None, found.channel.token}:
                continue
            if found.state not in OVER:
                raise _refused(check, f"it still compares table '{found.channel.source.label}'")
            label = found.channel.source.label
            keys = wrong_keys(check.id, label, found.found, found.counts, most)
            if keys:
                repairs.append(self._repair(job, check, place, keys))
        if not repairs:
            raise _refused(check, "it has found no row that differs for certain")
        return repairs

    def _repair(self, job: SyncJob, check: Check, place: int, keys: tuple[Key, ...]) -> Repair:
        found = check.tables[place]
        label, before = found.channel.source.label, found.table
        channel = next((each for each in job.channels if each.token == found.channel.token), None)
        if channel is None or before is None:
            raise _refused(check, f"the job no longer reads table '{label}'")
        self._refuse_read(job, check, found)
        target = self._catalog.table(channel.target_db, channel.target)
        other = is_other(self._store, self._catalog, job, channel, target)
        reason = refusal(self._store, job, channel, target, other=other)
        if reason:
            raise _refused(check, f"not for table '{label}': {reason}")
        table = compared_table(channel, target)
        if table.key_sources != before.key_sources:
            raise _refused(check, f"the key of table '{label}' has changed since; check it again")
        return Repair(check=check, place=place, channel=channel, keys=keys, part=part_of(check.id, table, keys))

    def _refuse_read(self, job: SyncJob, check: Check, found: CheckedTable) -> None:
        token = found.channel.token
        waits = self._store.epochs.progress(job.id)[token].resyncing
        if waits or self.generation(job, token) != found.generation:
            raise _refused(check, f"rows of table '{found.channel.source.label}' were read again since; check it again")

    def generation(self, job: SyncJob, token: str) -> int | None:
        """How often rows of a channel were read again before; None: never."""
        load = self._store.loads.of(job.id).get(token)
        return None if load is None else load.generation

    def store(self, job: SyncJob, repairs: Sequence[Repair]) -> None:
        """The rows are read again by the next run of the job. Raises STALE_JOB, REPAIR_REFUSED, META_DOWN."""
        with self._runs.changing:
            now = self._store.jobs.by_id(job.id)
            if now is None or now.state is JobState.CANCELLED:
                raise SyncError(Code.STALE_JOB, job=job.name)
            forms = {channel.token: channel.mapping_fingerprint for channel in now.channels}
            for each in repairs:
                if forms.get(each.channel.token) != each.part.way:
                    raise SyncError(Code.STALE_JOB, job=job.name)
                self._refuse_read(now, each.check, each.found)
            with self._runs.unless_unanswered(job.id):
                parts = {each.channel.token: each.part for each in repairs}
                self._store.jobs.alter(now.resynced(), resyncing=parts)
            self._runs.renew(job.id)
        for each in repairs:
            log.info("job %s.%s: %s of %s are read again", job.db, job.name, each.part.text, each.channel.label)

    def await_read(self, job: SyncJob, token: str) -> None:
        """Raises UnsteadyError until the rows are in the target."""
        at, load = self._store.epochs.progress(job.id).get(token), self._store.loads.of(job.id).get(token)
        if at is not None and (at.resyncing or load is None or not load.caught_up):
            raise UnsteadyError("its rows are being read again")

    def ended(self, repair: Repair, after: CheckedTable) -> bool:
        """The rows were compared once more: whether the first check's table knows now which of them are right."""
        if after.state is not CheckState.DONE or after.figures.until is None:
            return False
        wrong = {each.key for each in after.found}
        right = dict.fromkeys((key for key in repair.keys if key not in wrong), after.figures.until)
        repair.found.repaired.update(right)
        after.repaired.update(right)
        return True


def _refused(check: Check, reason: str) -> SyncError:
    return SyncError(Code.REPAIR_REFUSED, check=check.id, reason=reason)
