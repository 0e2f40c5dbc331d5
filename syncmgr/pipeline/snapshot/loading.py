"""The rows of some tables: planned, read, checked, and the upper bound of their read.

Owns: the order of these steps, each of which a crash resumes.
Must not know: which tables come when, how chunks are read.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Final

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel import channel_state
from syncmgr.job.channel.channel_state import may_be_followed
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.failure import mildest
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import Load, plan_id
from syncmgr.lake.port import Chunks
from syncmgr.pipeline.snapshot.chunk_processes import ChunkProcesses
from syncmgr.pipeline.snapshot.chunk_reading import ChunkReading
from syncmgr.pipeline.snapshot.handover import Ending
from syncmgr.pipeline.snapshot.isolated import isolated
from syncmgr.pipeline.snapshot.port import SnapshotLedger, SnapshotOptions
from syncmgr.pipeline.standings import Standings
from syncmgr.sources.port import SnapshotSource

SLOW_SECOND: Final = 10  # a chunk may take this long if rows per second are bounded


class Loading:
    """`uppers`: by token, the place up to which changes may already be in the rows read; those read here are added."""

    def __init__(
        self,
        options: SnapshotOptions,
        channels: Mapping[str, ChannelDescription],
        source: SnapshotSource,
        ledger: SnapshotLedger,
        lake: Chunks,
        *,
        chunks: ChunkReading,
        standings: Standings,
        uppers: dict[str, Position],
    ) -> None:
        self._options, self._channels = options, channels
        self._source, self._ledger, self._lake = source, ledger, lake
        self._chunks, self._standings, self._uppers = chunks, standings, uppers
        chunks.begin_anew = self._begin_anew
        chunks.on_failed = lambda token, error: self.fail({token: self._why(token, error)})

    def _begin_anew(self, token: str) -> None:
        self._ledger.begin_loads({token: self._ledger.loads()[token].excerpt})
        self._standings.change(token, channel_state.renewing)

    def replaces(self, token: str) -> bool:
        """Whether the rows that are read replace the existing ones."""
        rows = self._standings[token].rows
        return rows is not None and rows.replaces

    def bring(self, tokens: AbstractSet[str], ending: Ending) -> None:
        failed: dict[str, SyncError] = {}
        wanted = [channel for token, channel in self._channels.items() if token in tokens]
        self._settle(wanted, failed)
        self._read(wanted, failed, ending)
        if ending.is_set() or self._chunks.gives_up:
            return
        for channel in self._without(wanted, failed):
            with isolated(channel, failed):
                self._source.check_same([(channel.source, channel.reads)])
                self._check_chunks(channel)
        self._chunks.held.check()
        done = [channel.token for channel in self._without(wanted, failed)]
        if done:
            self._end(done)
        failed = {token: self._why(token, error) for token, error in failed.items()}
        for token in tokens - failed.keys():
            self._standings.change(token, channel_state.mended)
        self.fail(failed)
        if not done:
            raise mildest(failed.values())

    def _read(self, wanted: Sequence[ChannelDescription], failed: dict[str, SyncError], ending: Ending) -> None:
        """Once more those whose load has begun again."""
        while wanted and not (ending.is_set() or self._chunks.gives_up):
            self._plan(wanted, failed, ending)
            self.fail({token: self._why(token, error) for token, error in failed.items()})  # the others may take hours
            self._chunks.read(wanted, failed, ending)
            loads = self._ledger.loads()
            wanted = [channel for channel in self._without(wanted, failed) if loads[channel.token].plan is None]

    def _check_chunks(self, channel: ChannelDescription) -> None:
        """A rollback keeps the done-set, and a chunk that was under way would hide the rollback."""
        load = self._ledger.loads()[channel.token]
        assert load.plan is not None, "its chunks are read"
        self._lake.check_chunks(channel.target_db, channel.target, load.plan)

    def fail(self, failures: Mapping[str, SyncError]) -> None:
        for token, error in failures.items():
            self._standings.change(token, partial(channel_state.failed, error=error, at=time.time()))

    def _why(self, token: str, error: SyncError) -> SyncError:
        """A read may have failed because a column, or a table, is missing."""
        channel = self._channels[token]
        if error.code is not Code.SNAPSHOT_BROKEN or not channel.keys:
            return error
        try:
            self._source.check_same([(channel.source, channel.reads)])
        except SyncError as differs:
            return differs if may_be_followed(differs) else error
        return error

    def _end(self, tokens: Collection[str]) -> None:
        upper = self._source.end()
        self._ledger.end_loads(tokens, upper)
        passing(CrashPoint.SNAPSHOT_STORED)
        self._uppers |= dict.fromkeys(tokens, upper)
        for token in tokens:
            self._standings.change(token, partial(channel_state.read, at=time.time()))

    def _without(
        self, channels: Sequence[ChannelDescription], failed: Mapping[str, SyncError]
    ) -> list[ChannelDescription]:
        return [channel for channel in channels if channel.token not in failed]

    def _settle(self, channels: Sequence[ChannelDescription], failed: dict[str, SyncError]) -> None:
        """First examines what an earlier process left of the tables. All rows come from one server, as does their upper
        bound.
        """
        loads = self._ledger.loads()
        for channel in channels:
            replaced = self.replaces(channel.token) and loads[channel.token].excerpt is None
            with isolated(channel, failed):
                self._lake.check_integrity(channel.target_db, channel.target, replaced=replaced)
        start = self._chunks.held.start
        reader = self._source.settle(start)
        for channel in self._without(channels, failed):
            if channel.history.after is not None or self.replaces(channel.token):
                with isolated(channel, failed):
                    for place in {start, channel.history.after or start}:
                        self._source.await_seen(channel.source, place)
        self._chunks.reader = ChunkProcesses(reader, self._options.folder)
        self._chunks.held.check()

    def _plan(self, channels: Sequence[ChannelDescription], failed: dict[str, SyncError], ending: Ending) -> None:
        loads = self._ledger.loads()
        for channel in self._without(channels, failed):
            if not ending.is_set():
                with isolated(channel, failed):
                    self._plan_one(channel, loads[channel.token])

    def _plan_one(self, channel: ChannelDescription, load: Load) -> None:
        """What was read in another way, by an earlier process or before a statement, does not count."""
        anew, made, excerpt = load.replaces, load.plan is not None, load.excerpt
        if (load.plan is not None and anew and load.plan.way != channel.mapping_fingerprint) or (
            excerpt and not excerpt.fits(channel)
        ):
            self._ledger.begin_loads({channel.token: None})
            made, excerpt, load = False, None, self._ledger.loads()[channel.token]
        if not made:
            key, where = () if anew else channel.source_keys, "" if excerpt is None else excerpt.source
            plan = self._source.plan(channel.source, key, self._chunk_rows(), where)
            plan = replace(
                plan,
                id=plan_id(load.generation, plan.id),
                replaces=anew,
                way=channel.mapping_fingerprint,
                excerpt=excerpt,
            )
            self._ledger.plan_load(channel.token, plan)
            passing(CrashPoint.PLAN_STORED)

    def _chunk_rows(self) -> int:
        """A slow read needs small ones: it waits between them."""
        rows, slow = self._options.chunk_rows(), self._options.rows_per_second() * SLOW_SECOND
        return min(rows, slow) if slow else rows
