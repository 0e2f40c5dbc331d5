"""Tables that match a job's patterns and that it does not have yet.

Owns: the order in which they are planned, and why some cannot join.
Must not know: what is stored, the runs of jobs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from syncmgr.control.statement_text import databases, only, pattern_of, patterns
from syncmgr.control.sync_request import Plan, Survey, Table
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.joining import Filling, filling, turns
from syncmgr.job.failure import may_pass
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import TargetTable
from syncmgr.meta.channels import Joining
from syncsql import Shards, Tables

PlanOf = Callable[[tuple[Tables | Shards, ...]], Plan]


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrivals:
    """`refused`: why tables cannot join. `waits`: tables that can once another one of their target has joined. `there`:
    all that match the job's patterns and that it does not have yet.
    """

    plans: tuple[Plan, ...]
    refused: Mapping[Table, SyncError]
    waits: frozenset[Table] = frozenset()
    there: frozenset[Table] = frozenset()

    @property
    def joining(self) -> Joining:
        """Their changes count from the place at which they were examined; what is before it comes with their rows."""
        channels = (
            replace(channel, history=replace(channel.history, after=plan.inspected.start))
            for plan in self.plans
            for channel in plan.channels
        )
        return Joining(channels=tuple(channels), loading=frozenset().union(*(plan.loading for plan in self.plans)))

    @property
    def made(self) -> tuple[TargetTable, ...]:
        """Targets that do not exist yet, each once."""
        return tuple({table.label: table for plan in self.plans for table in plan.made}.values())

    @property
    def tables(self) -> frozenset[Table]:
        """Those that join."""
        return frozenset(table for plan in self.plans for table in _tables(plan))


def unseen(job: SyncJob, survey: Survey) -> frozenset[Table]:
    """The tables that exist by now, match a job's patterns, and are not in the job yet. Blocks."""
    wanted = patterns(job)
    there = survey(job.source, sorted({databases(each) for each in wanted}))
    synced = {(channel.source.db, channel.source.name) for channel in job.channels}
    return frozenset(t for t in there.keys() - synced if any(pattern_of(each).has(t) for each in wanted))


def arrivals(job: SyncJob, named: Collection[Table], survey: Survey, plan: PlanOf) -> Arrivals:
    """For those of the named tables that exist, match a job's patterns, and are not in the job yet. Any other may be a
    table of the job under a name that it gets further on in the binlog. Blocks. Raises transient errors.
    """
    wanted, there = patterns(job), unseen(job, survey)
    named_there = sorted(there & frozenset(named))
    meant = {t: [only(each, t) for each in wanted if pattern_of(each).has(t)] for t in named_there}
    twice = {t: SyncError(Code.DUPLICATE_MAPPING, table=".".join(t)) for t, nodes in meant.items() if len(nodes) > 1}
    coming = {table: nodes[0] for table, nodes in meant.items() if len(nodes) == 1}
    planned, refused = _in_turn(job, coming, plan)
    plans = tuple(_alike(planned))
    waits = {table for one in planned if one not in plans for table in _tables(one)}
    return Arrivals(plans=plans, refused=twice | refused, waits=frozenset(waits), there=there)


def _in_turn(
    job: SyncJob, coming: Mapping[Table, Tables | Shards], plan: PlanOf
) -> tuple[list[Plan], dict[Table, SyncError]]:
    """A table joins if none before it fills its target, nor a simultaneous one that can join."""
    plans: list[Plan] = []
    refused: dict[Table, SyncError] = {}
    taken = [filling(channel) for channel in job.channels]
    while coming:
        turn = turns(taken, {table: _wish(job, node, table) for table, node in coming.items()})
        found, wrong = _plans({table: coming[table] for table in turn.first}, plan)
        plans += found
        refused |= {**turn.refused, **wrong}
        taken += map(filling, _channels(found))
        coming = {table: coming[table] for table in turn.later}
    return plans, refused


def _wish(job: SyncJob, node: Tables | Shards, table: Table) -> Filling:
    if isinstance(node, Tables):
        return Filling(target=(node.target_db, table[1]))
    return Filling(target=(node.target.db or job.db, node.target.name), part=table[0])


def _plans(new: Mapping[Table, Tables | Shards], plan: PlanOf) -> tuple[list[Plan], dict[Table, SyncError]]:
    """All at once, and if that fails, one by one."""
    if not new:
        return [], {}
    try:
        return [plan(tuple(new.values()))], {}
    except SyncError as error:
        if may_pass(error.code):
            raise
        if len(new) == 1:
            return [], dict.fromkeys(new, error)
    found = [_plans({table: one}, plan) for table, one in new.items()]
    refused = {table: error for _, errors in found for table, error in errors.items()}
    return [one for plans, _ in found for one in plans], refused


def _alike(plans: Iterable[Plan]) -> Iterator[Plan]:
    """Those that make the same target; the first one determines what."""
    made: dict[str, TargetTable] = {}
    for plan in plans:
        if all(made.setdefault(table.label, table) == table for table in plan.made):
            yield plan


def _channels(plans: Iterable[Plan]) -> Iterator[ChannelDescription]:
    return (channel for plan in plans for channel in plan.channels)


def _tables(plan: Plan) -> Iterator[Table]:
    return ((channel.source.db, channel.source.name) for channel in plan.channels)
