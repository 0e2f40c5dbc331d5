"""The intents and epochs of one job.

Owns: the job's share of the store, with its clock and its keeping time.
Must not know: what is committed, or why.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from syncmgr.errors import Code, SyncError
from syncmgr.job.chunk import ChunkPlan, Load
from syncmgr.job.ddl_step import DdlRecord, DdlState
from syncmgr.job.dead_letter import DeadLetter
from syncmgr.job.description import ChannelDescription
from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.excerpt import Excerpt
from syncmgr.job.position import Position
from syncmgr.job.schema import SourceTable
from syncmgr.job.sync_job import JobId
from syncmgr.meta.channels import ChannelProgress
from syncmgr.meta.store import Store


class JobLedger:
    """Intents and epochs of one job. `keep_second`: how long consistent points are kept."""

    def __init__(
        self,
        store: Store,
        job_id: JobId,
        keep_second: Callable[[], float],
        max_dead_letters: Callable[[], int] = lambda: 0,
    ) -> None:
        self._store = store
        self._job_id = job_id
        self._keep_second = keep_second
        self._max_dead_letters = max_dead_letters

    def add_intent(self, epoch: Epoch) -> None:
        """Raises DEAD_LETTERS_FULL."""
        self._refuse_too_many(epoch.dead)
        self._store.add_intent(self._job_id, epoch)

    def _refuse_too_many(self, dead: tuple[DeadLetter, ...]) -> None:
        most = self._max_dead_letters()
        if dead and (count := self._store.dead_letters.count(self._job_id) + len(dead)) > most:
            raise SyncError(Code.DEAD_LETTERS_FULL, count=count, limit=most, reason=dead[-1].text)

    def commit_epoch(self, epoch: Epoch, committed: Mapping[str, ChannelCommitted]) -> None:
        now = time.time()
        self._store.commit_epoch(self._job_id, epoch, committed, at=now, keep_since=now - self._keep_second())

    def hold(self) -> None:
        """Raises META_OWNED where another frontend has taken over."""
        self._store.hold()

    def progress(self) -> Mapping[str, ChannelProgress]:
        return self._store.progress(self._job_id)

    def intents(self) -> list[Epoch]:
        return self._store.intents(self._job_id)

    def backlog(self) -> list[Epoch]:
        return self._store.backlog(self._job_id)

    def commit_channel(self, number: int, token: str, outcome: ChannelCommitted) -> None:
        self._store.commit_channel(self._job_id, number, token, outcome)

    def gather(self, token: str, numbers: Sequence[int]) -> None:
        self._store.gather(self._job_id, token, numbers)

    def learn(self, token: str, source: SourceTable) -> None:
        self._store.learn(token, source)

    def describe(self, channel: ChannelDescription) -> None:
        self._store.describe(channel)

    def loads(self) -> Mapping[str, Load]:
        return self._store.loads.of(self._job_id)

    def begin_loads(self, excerpts: Mapping[str, Excerpt | None]) -> None:
        self._store.loads.begin_anew(excerpts)

    def plan_load(self, token: str, plan: ChunkPlan) -> None:
        self._store.loads.plan(token, plan)

    def add_chunk(self, token: str, number: int, committed: ChannelCommitted) -> None:
        """Raises DEAD_LETTERS_FULL."""
        self._refuse_too_many(committed.dead)
        self._store.loads.add_chunk(self._job_id, token, number, committed)

    def end_loads(self, tokens: Collection[str], upper: Position) -> None:
        self._store.loads.end(tokens, upper)

    def catch_up(self, tokens: Collection[str]) -> None:
        self._store.loads.catch_up(self._job_id, tokens)

    def refuse(self, record: DdlRecord) -> None:
        self._store.ddl.refuse(self._job_id, record)

    def note(self, record: DdlRecord) -> None:
        self._store.ddl.note(self._job_id, record)

    def settled(self, position: Position) -> DdlRecord | None:
        """What an operator wants done with the statement that ends there, if anything."""
        told = (r for r in self._store.ddl.of(self._job_id) if r.position == position)
        return next((record for record in told if record.state in {DdlState.SKIP, DdlState.APPLY}), None)

    def last_epoch(self) -> Epoch | None:
        return self._store.last_epoch(self._job_id)
