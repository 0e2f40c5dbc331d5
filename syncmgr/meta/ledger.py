"""The intents and epochs of one job.

Owns: the job's share of the store, with its clock and its retention time.
Must not know: what is committed, or why.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState
from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import DeadLetterBounds
from syncmgr.job.snapshot.chunk import ChunkPlan, Load
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.sync_job import JobId
from syncmgr.job.types.schema import SourceTable
from syncmgr.meta.channels import ChannelProgress
from syncmgr.meta.job_dead_letters import JobDeadLetters
from syncmgr.meta.store import Store

log = logging.getLogger(__name__)


class JobLedger:
    """Intents and epochs of one job. `keep_second`: how long consistent points are kept."""

    def __init__(
        self,
        store: Store,
        job_id: JobId,
        keep_second: Callable[[], float],
        most_dead_letters: Callable[[], DeadLetterBounds] = DeadLetterBounds,
        name: str = "",
        labels: Mapping[str, str] = MappingProxyType({}),
        observe: Callable[[float | None, float, float], None] = lambda *_: None,
    ) -> None:
        """`name` of the job and `labels` of its source tables, by channel token: for the log. `observe`: gets, of
        each commit, when its intent was stored (None: by an earlier process), its source time, and when it was stored.
        """
        self._store = store
        self._job_id = job_id
        self._keep_second = keep_second
        self._name, self._labels = name, labels
        self._observe = observe
        self._intent: tuple[int, float] | None = None  # number and time of the last one
        self._dead_letters = JobDeadLetters(store.dead_letters, job_id, most_dead_letters, name, self._label)

    def add_intent(self, epoch: Epoch) -> None:
        """Raises DEAD_LETTERS_FULL."""
        dead = epoch.dead
        with self._dead_letters.reporting:
            if dead:
                last = self.last_epoch()
                dead = self._dead_letters.of_epoch(dead, None if last is None else last.end, self.loads())
            self._store.epochs.add_intent(self._job_id, replace(epoch, dead=dead))
        self._intent = epoch.number, time.time()
        self._dead_letters.report(dead)

    def _label(self, token: str) -> str:
        return self._labels.get(token, token)

    def commit_epoch(self, epoch: Epoch, committed: Mapping[str, ChannelCommitted], *, consistent: bool = True) -> None:
        now = time.time()
        since = now - self._keep_second()
        self._store.epochs.commit(self._job_id, epoch, committed, at=now, keep_since=since, consistent=consistent)
        number, intent_at = self._intent or (None, None)
        self._observe(intent_at if number == epoch.number else None, epoch.source_time, time.time())
        if epoch.ddl is not None:
            for token, done in epoch.ddl.done.items():
                log.info("job %s: %s: %s (%s)", self._name, self._label(token), done, epoch.ddl.statement)

    def hold(self) -> None:
        """Raises META_OWNED where another frontend has taken over."""
        self._store.database.hold()

    def progress(self) -> Mapping[str, ChannelProgress]:
        return self._store.epochs.progress(self._job_id)

    def intents(self) -> list[Epoch]:
        return self._store.epochs.intents(self._job_id)

    def backlog(self) -> list[Epoch]:
        return self._store.epochs.backlog(self._job_id)

    def commit_channel(self, number: int, token: str, outcome: ChannelCommitted) -> None:
        self._store.epochs.commit_channel(self._job_id, number, token, outcome)

    def gather(self, token: str, numbers: Sequence[int]) -> None:
        self._store.epochs.gather(self._job_id, token, numbers)

    def learn(self, token: str, source: SourceTable) -> None:
        self._store.jobs.learn(token, source)

    def describe(self, channel: ChannelDescription) -> None:
        self._store.jobs.describe(channel)

    def loads(self) -> Mapping[str, Load]:
        return self._store.loads.of(self._job_id)

    def begin_loads(self, excerpts: Mapping[str, KeyRange | None]) -> None:
        self._store.loads.begin_anew(excerpts)
        for token in excerpts:
            log.info("job %s: the rows of %s are read from the beginning", self._name, self._label(token))

    def plan_load(self, token: str, plan: ChunkPlan) -> None:
        self._store.loads.plan(token, plan)
        table = self._label(token)
        log.info("job %s: reads some %d rows of %s in %d chunks", self._name, plan.rows, table, plan.count)

    def add_chunk(self, token: str, number: int, committed: ChannelCommitted) -> None:
        """Raises DEAD_LETTERS_FULL."""
        with self._dead_letters.reporting:
            dead = self._dead_letters.of_chunk(committed.dead)
            self._store.loads.add_chunk(self._job_id, token, number, replace(committed, dead=dead))
        self._dead_letters.report(dead)

    def end_loads(self, tokens: Collection[str], upper: Position) -> None:
        self._store.loads.end(tokens, upper)
        for token in tokens:
            log.info("job %s: the rows of %s are there", self._name, self._label(token))

    def catch_up(self, tokens: Collection[str]) -> None:
        """A crash in between repeats both."""
        self._store.ddl.cure(self._job_id, tokens)
        self._store.loads.catch_up(self._job_id, tokens)

    def refuse(self, record: DdlRecord) -> None:
        self._store.ddl.refuse(self._job_id, record)
        _log_refused(self._name, record)

    def note(self, record: DdlRecord) -> None:
        self._store.ddl.note(self._job_id, record)
        _log_refused(self._name, record)

    def overturn(self, token: str, reason: str) -> None:
        self._store.ddl.overturn(self._job_id, token, reason)

    def settled(self, position: Position) -> DdlRecord | None:
        """What an operator wants done with the statement that ends there, if anything."""
        found = (r for r in self._store.ddl.of(self._job_id) if r.position == position)
        return next((record for record in found if record.state in {DdlState.SKIP, DdlState.APPLY}), None)

    def keep_asked(self, second: int) -> None:
        self._store.asked.keep(self._job_id, second)

    def asked_until(self) -> int:
        return self._store.asked.until(self._job_id)

    def last_epoch(self) -> Epoch | None:
        return self._store.epochs.last(self._job_id)


def _log_refused(job: str, record: DdlRecord) -> None:
    facts = job, record.table, record.state, record.outcome, record.statement
    log.warning("job %s: DDL on %s %s: %s (%s)", *facts)
