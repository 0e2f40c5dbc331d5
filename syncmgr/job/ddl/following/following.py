"""The channels of a job on their way through one statement.

Owns: which of them a name means; that nothing is done which the job's rules refuse; the result.
Must not know: what a statement does.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from mysqlddl.nodes import Table
from syncmgr.job.channel.description import RECREATED, ChannelDescription, Shadow
from syncmgr.job.ddl.alteration import Alteration, recomputed
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.evolution import evolve
from syncmgr.job.ddl.following.ddl_statement import DdlStatement, Rules
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.ddl.terms import RefusedError, Terms
from syncmgr.job.ddl_policy import Action, Kind
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import MOST_TABLE_SIZE, SourceTable, TargetTable


class Following:
    """The channels of a job, as far as the statement has been applied. `at`: the table in hand. `unrenewable`: why
    RESYNC does not restore the one that could not follow.
    """

    def __init__(self, statement: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules) -> None:
        self.statement = statement
        self.before = {channel.token: channel for channel in channels}
        self.rules = rules
        self.channels = dict(self.before)
        self.changes = dict[str, tuple[LakeChange, ...]]()
        self.done: dict[str, list[str]] = {}
        self.resynced: set[str] = set()
        self.at: Table = ("", "")
        self.unrenewable: str | None = None

    def step(self) -> DdlStep:
        return DdlStep(
            statement=self.statement.text,
            at=float(self.statement.moment.at),
            channels={token: c for token, c in self.channels.items() if _differs(c, self.before[token])},
            changes={token: changes for token, changes in self.changes.items() if changes},
            done={token: "; ".join(done) or "nothing to do" for token, done in self.done.items()},
            resynced=frozenset(self.resynced),
        )

    def of(self, table: Table) -> list[ChannelDescription]:
        """The channel of a source table, if there is one; the name under which it is read decides the case."""
        found = [c for c in self.channels.values() if self.same_name(c.source.db, table[0])]
        found = [c for c in found if self.same_name(c.source.name, table[1])]
        for channel in found:
            self.at = table_of(channel)
            self.done.setdefault(channel.token, [])
        return found

    def same_name(self, one: str, other: str) -> bool:
        return one == other or (self.statement.modes.folds and folded_name(one) == folded_name(other))

    def refuse(self, kind: Kind, why: str) -> Action:
        deed = self.terms(defaults=True).deed(kind)
        if deed is Action.PAUSE:
            raise RefusedError(why)
        return deed

    def terms(self, *, defaults: bool) -> Terms:
        statement = self.statement
        return Terms(
            policy=self.rules.policy,
            deeds=self.rules.deeds,
            strict=statement.modes.strict,
            pads=statement.modes.pads,
            keeps_zeros=statement.modes.keeps_zeros,
            moment=statement.moment,
            defaults=defaults,
            forced=self.rules.forced,
            checked=self.rules.on_value_error is not None,
        )

    def lose_sight(self, token: str, what: str, why: str) -> None:
        """Rows change without an event."""
        if self.refuse(Kind.ROWS, why) is Action.RESYNC:
            self.resynced.add(token)
            self.done[token].append(f"{what}: its rows are read again")
        else:
            self.done[token].append(f"{what}: rows kept")

    @property
    def misses_cascades(self) -> bool:
        """What cascades to a table is not in the binlog of MariaDB or of an older MySQL."""
        return not (self.statement.logs_cascades or self.rules.unlogged)

    def refuse_unseen(self, *, cascades: bool) -> None:
        unseen = "what the foreign key changes is not in the binlog"
        matters = cascades and self.misses_cascades
        if matters and self.refuse(Kind.ROWS, unseen) is Action.RESYNC:
            raise RefusedError(unseen)  # nor is what it will change

    def refuse_recomputed(self, channel: ChannelDescription, alteration: Alteration) -> None:
        """What the server recomputes is in no row event, although the columns that it derives from keep their
        values.
        """
        why = recomputed(alteration, channel.reads)
        if why is not None:
            self.lose_sight(channel.token, "generated columns", f"{why}, so that its values may change unseen")

    def share(self, tables: Iterable[Table]) -> None:
        """What is written through a MERGE table is in the binlog only under the name of the MERGE table."""
        unseen = "rows of this table that are written through a MERGE table are not in the binlog under its own name"
        for channel in [channel for table in tables for channel in self.of(table)]:
            if self.refuse(Kind.ROWS, unseen) is Action.RESYNC:
                raise RefusedError(unseen)  # nor is what will be written
            self.done[channel.token].append("part of a MERGE table: rows kept")

    def take(self, channel: ChannelDescription, target: TargetTable, alteration: Alteration, terms: Terms) -> None:
        try:
            step = evolve(channel, target, alteration, terms)
        except RefusedError:
            self.unrenewable = self.rules.unrenewable(channel, alteration.table, target)
            raise
        size = step.channel.source.size
        if size > MOST_TABLE_SIZE and size > channel.source.size:
            raise RefusedError(f"its columns and their labels have {size} characters, more than {MOST_TABLE_SIZE}")
        token = channel.token
        self.channels[token] = step.channel
        self.changes[token] = (*self.changes.get(token, ()), *step.changes)
        self.done[token] += step.done

    def known(self) -> Iterator[SourceTable]:
        """The tables whose columns are known here."""
        for channel in self.channels.values():
            stored = None if table_of(channel) in self.statement.unknown else channel.source
            table = self.statement.seen.get(table_of(channel)) or stored
            if table is not None and not channel.history.source_dropped:
                yield with_unlogged(table, channel.source)

    def names(self, channel: ChannelDescription, table: Table) -> bool:
        return self.is_named(channel.source, table)

    def is_named(self, source: SourceTable, table: Table) -> bool:
        return self.same_name(source.db, table[0]) and self.same_name(source.name, table[1])

    def reshape(self, table: Table, change: Callable[[Shadow], Shadow | None]) -> None:
        """Every shadow of that name becomes another, or none."""
        for token, channel in self.channels.items():
            shadows = [change(each) if (each.db, each.name) == table else each for each in channel.history.shadows]
            kept = tuple(each for each in shadows if each is not None)
            self.channels[token] = replace(channel, history=replace(channel.history, shadows=kept))


def shows_defaults(channel: ChannelDescription, target: TargetTable) -> bool:
    """What older rows have in a new column; those of other channels do not have it."""
    return channel.part is None and not target.lacks_defaults


def refuse_gone(job: Following, channel: ChannelDescription) -> None:
    """A statement on a dropped table shows that it was created again; an operator may have decided about it."""
    if channel.history.source_dropped and not job.rules.forced and table_of(channel) not in job.statement.unknown:
        job.at = table_of(channel)
        raise RefusedError(f"it applies to a table that exists, although {RECREATED}")


def _differs(now: ChannelDescription, before: ChannelDescription) -> bool:
    if now != before or now.source.unique != before.source.unique:  # which tables are not compared by
        return True
    return (now.source.generated, now.source.numbered) != (before.source.generated, before.source.numbered)


def with_unlogged(seen: SourceTable, known: SourceTable) -> SourceTable:
    """With what rows do not show."""
    seen = replace(seen, charset=known.charset, unique=known.unique)
    return replace(seen, generated=known.generated, numbered=known.numbered)


def table_of(channel: ChannelDescription) -> Table:
    return channel.source.db, channel.source.name
