"""One DDL statement through a whole job: what each of its channels and targets becomes.

Owns: which channels a statement concerns, and that either all of them follow or none does.
Must not know: how a table of the lake is changed, when.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, assert_never

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription, PastDdl, Shadow
from syncmgr.job.ddl import ddl, older_statement
from syncmgr.job.ddl.alteration import Alteration, ImpossibleError, altered, composed, recomputed, renewed
from syncmgr.job.ddl.copies.copy_table import alike, refuse_lossy, refuse_refilled
from syncmgr.job.ddl.copies.migration_tool import is_copy, is_filled, is_log, is_set_aside
from syncmgr.job.ddl.copies.shadows import with_another, with_trigger, without_trigger
from syncmgr.job.ddl.creation import told
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState, DdlStep
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.evolution import evolve
from syncmgr.job.ddl.lake_change import DropTable, EmptyTable, LakeChange
from syncmgr.job.ddl.terms import RefusedError, Step, Terms
from syncmgr.job.ddl_policy import RULES, Action, Kind, OnDdl, OnDdlStop
from syncmgr.job.job_properties import AppendOnChange, OnValueError
from syncmgr.job.position import Position
from syncmgr.job.statement import nodes
from syncmgr.job.statement.nodes import Table
from syncmgr.job.statement.reading import Modes, UnclearError, read
from syncmgr.job.statement.temporary import renamed
from syncmgr.job.types.schema import SourceTable, TargetTable

SHOWN_STATEMENT: Final = 500
MAX_ALTERS: Final = 100
UNFILLED: Final = ", and the binlog does not show that a migration tool has filled it with all rows"


@dataclass(frozen=True, kw_only=True, slots=True)
class DdlStatement:
    """A statement in the binlog, with what of its session it depends on. `db`: the one in use.

    `seen`: tables as the rows before it told them. `unknown`: those whose stored schema is of a later place.
    `logs_cascades`: whether rows that a foreign key changes have events on that server. `own`: temporary tables of its
    session, which hide others of their names.
    """

    text: str
    db: str
    modes: Modes
    moment: Moment
    seen: Mapping[Table, SourceTable] = field(default_factory=dict)
    unknown: frozenset[Table] = frozenset()
    logs_cascades: bool = False
    own: frozenset[Table] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What a job says of DDL, of its targets, and of values that do not fit them (None: nothing).

    `describe` gives a target table. `forced`: nothing stops. `deeds`: what holds of one kind whatever the policy.
    `stop`: what a statement stops. `unlogged`: what foreign keys change may be missed.
    `held`: tables as which channels are known that a statement does not meet, since they are stopped.
    """

    policy: OnDdl
    append_on_change: AppendOnChange
    describe: Callable[[ChannelDescription], TargetTable]
    forced: bool = False
    deeds: Mapping[Kind, Action] = field(default_factory=dict)
    stop: OnDdlStop = OnDdlStop.TABLE
    unlogged: bool = False
    on_value_error: OnValueError | None = None
    held: frozenset[Table] = frozenset()

    def deed(self, kind: Kind) -> Action:
        """What is done with DDL of that kind."""
        return self.deeds.get(kind, RULES[kind][self.policy])

    @property
    def keeps_out(self) -> bool:
        """Whether rows that a target cannot hold are missing there."""
        return self.on_value_error is OnValueError.DEAD_LETTER


def plan_ddl(said: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules) -> DdlStep:
    """Raises SOURCE_DDL where a channel cannot follow; then none has."""
    following = _Following(said, channels, rules)
    try:
        following.run()
    except (RefusedError, ImpossibleError) as error:
        raise not_followed(following.at, str(error), said.text) from None
    return following.step()


def skip(said: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules) -> DdlStep:
    """What an operator wants passed over: no target changes; what is known of the sources' columns is kept up."""
    forced = replace(rules, policy=OnDdl.IGNORE, deeds={}, forced=True)
    try:
        step = plan_ddl(said, channels, forced)
    except SyncError as error:
        if error.code is not Code.SOURCE_DDL:
            raise
        step = DdlStep(statement=said.text, at=float(said.moment.at))
    tables = ddl.meant(said.text, said.db, [_table(channel) for channel in channels], said.modes)
    return replace(step, done={c.token: "skipped" for c in channels if _table(c) in tables})


def settle(
    record: DdlRecord | None, said: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules
) -> DdlStep:
    """As the policy says, or, where an operator has decided, that. Raises SOURCE_DDL."""
    if record is None:
        return plan_ddl(said, channels, rules)
    if record.instead is None:
        return skip(said, channels, rules)
    return _apply(record.instead, said, channels, rules)


def _apply(text: str, said: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules) -> DdlStep:
    """What an operator wrote says what the target becomes, whatever the policy, and from the columns of now on."""
    modes = replace(said.modes, ansi_quotes=False, no_backslash=False, strict=True)
    meant = replace(said, text=text, modes=modes, unknown=frozenset())
    step = plan_ddl(meant, channels, replace(rules, policy=OnDdl.EVOLVE, deeds={}))
    if not step.done:
        tables = ddl.meant(said.text, said.db, [_table(channel) for channel in channels], said.modes)
        raise not_followed((*tables, ("", ""))[0], f"{shown(text)} is about no table of the job", said.text)
    done = {token: f"{shown(text)} was applied instead: {what}" for token, what in step.done.items()}
    return replace(step, statement=said.text, done=done)


def not_followed(table: Table, reason: str, statement: str) -> SyncError:
    """The error of a statement that stops its table or its job."""
    return SyncError(Code.SOURCE_DDL, table=".".join(table), reason=reason, statement=shown(statement))


def refused(said: DdlStatement, position: Position, table: Table, error: SyncError, *, alone: bool) -> DdlRecord:
    """The record of a statement that pauses the job, or stops the table `alone`; `position`: after it."""
    return DdlRecord(
        position=position,
        at=float(said.moment.at),
        table=str(error.context.get("table", ".".join(table))),
        statement=said.text,
        state=DdlState.STOPPED if alone else DdlState.PAUSED,
        outcome=str(error.context.get("reason", error)),
    )


def arrived(said: DdlStatement, position: Position, table: Table, error: SyncError | None) -> DdlRecord:
    """The record of a statement that made a table which a pattern means; `error`: why that does not join."""
    return replace(found_there(position, float(said.moment.at), table, error), statement=said.text)


def found_there(position: Position, at: float, table: Table, error: SyncError | None) -> DdlRecord:
    """The same of a table that was found by looking, at that second: no statement told it."""
    refusal = DdlState.GONE if error is not None and error.code is Code.NO_TABLE_MATCHES else DdlState.REFUSED
    return DdlRecord(
        position=position,
        at=at,
        table=".".join(table),
        statement="",
        state=DdlState.DONE if error is None else refusal,
        outcome="joins the job, its rows first" if error is None else f"not synced: {error}",
    )


def shown(statement: str) -> str:
    """Long ones are cut."""
    return statement if len(statement) <= SHOWN_STATEMENT else statement[:SHOWN_STATEMENT] + "..."


class _Following:
    def __init__(self, said: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules) -> None:
        self._said = said
        self._before = {channel.token: channel for channel in channels}
        self._rules = rules
        self._channels = dict(self._before)
        self._changes: dict[str, tuple[LakeChange, ...]] = {}
        self._done: dict[str, list[str]] = {}
        self._resynced: set[str] = set()
        self.at: Table = ("", "")  # the table in hand

    def step(self) -> DdlStep:
        return DdlStep(
            statement=self._said.text,
            at=float(self._said.moment.at),
            channels={token: c for token, c in self._channels.items() if _differs(c, self._before[token])},
            changes={token: changes for token, changes in self._changes.items() if changes},
            done={token: "; ".join(done) or "nothing to do" for token, done in self._done.items()},
            resynced=frozenset(self._resynced),
        )

    def run(self) -> None:
        try:
            statement = read(self._said.text, self._said.db, self._said.modes)
        except UnclearError as error:
            self._unread(error)
        else:
            self._follow(statement)

    def _unread(self, error: UnclearError) -> None:
        tables = [_table(channel) for channel in self._before.values()]
        for table in ddl.touched(self._said.text, self._said.db, tables):
            self.at = table
            if self._terms(defaults=True).deed(Kind.UNREAD) is Action.PAUSE:
                raise RefusedError(f"it cannot be read: {error}")

    def _follow(self, statement: nodes.Statement) -> None:  # noqa: C901 - one row per statement
        match statement:
            case nodes.AlterTable():
                self._alter(statement)
            case nodes.ChangeIndex(table=table, clauses=clauses):
                self._alter(nodes.AlterTable(table=table, clauses=clauses))
            case nodes.CreateTable():
                self._create(statement)
            case nodes.CreateTrigger() | nodes.DropTrigger():
                self._trigger(statement)
            case nodes.DropTables(tables=tables, temporary=temporary):
                self._drop([] if temporary else [c for t in tables for c in self._of(t)])
                for table in () if temporary else tables:
                    self._reshape(table, lambda _: None)
            case nodes.DropDatabase(name=name):
                self._drop([c for c in self._channels.values() if self._same_name(c.source.db, name)])
            case nodes.CreateDatabase(name=name, replaces=replaces):
                self._drop([c for c in self._channels.values() if replaces and self._same_name(c.source.db, name)])
            case nodes.RenameTables(pairs=pairs, if_exists=if_exists):
                self._rename(renamed(pairs, self._said.own, self._said.modes)[0], if_exists=if_exists)
            case nodes.TruncateTable(table=table):
                self._truncate(self._of(table))
            case nodes.Other():
                pass
            case _:
                assert_never(statement)

    def _of(self, table: Table) -> list[ChannelDescription]:
        """The channel of a source table, if there is one; under which name it is read tells the case."""
        found = [c for c in self._channels.values() if self._same_name(c.source.db, table[0])]
        found = [c for c in found if self._same_name(c.source.name, table[1])]
        for channel in found:
            self.at = _table(channel)
            self._done.setdefault(channel.token, [])
        return found

    def _same_name(self, one: str, other: str) -> bool:
        return one == other or (self._said.modes.folds and one.casefold() == other.casefold())

    def _refuse(self, kind: Kind, why: str) -> Action:
        deed = self._terms(defaults=True).deed(kind)
        if deed is Action.PAUSE:
            raise RefusedError(why)
        return deed

    def _terms(self, *, defaults: bool) -> Terms:
        said = self._said
        return Terms(
            policy=self._rules.policy,
            deeds=self._rules.deeds,
            strict=said.modes.strict,
            pads=said.modes.pads,
            moment=said.moment,
            defaults=defaults,
            forced=self._rules.forced,
            checked=self._rules.on_value_error is not None,
        )

    # -- ALTER TABLE

    def _alter(self, statement: nodes.AlterTable) -> None:
        others = [c.other for c in statement.clauses if isinstance(c, nodes.RowsChange) and c.other is not None]
        for channel in [c for table in (statement.table, *others) for c in self._of(table)]:
            loud = [c.what for c in statement.clauses if isinstance(c, nodes.RowsChange)]
            loud += ["ALTER IGNORE"] * statement.ignore
            if loud:
                self._lose_sight(channel.token, loud[0], f"{loud[0]} changes rows without saying which")
        for clause in statement.clauses:
            if isinstance(clause, nodes.MergeTables):
                self._share(clause.tables)
        for channel in self._of(statement.table):
            self._evolve(channel, statement.clauses)
            self._refuse_unseen(cascades=any(map(ddl.cascades, statement.clauses)))
        loses = statement.ignore or any(isinstance(clause, nodes.RowsChange) for clause in statement.clauses)
        self._reshape(statement.table, partial(self._altered_shadow, loses=loses))
        renames = [c.table for c in statement.clauses if isinstance(c, nodes.RenameTo)]
        if renames:
            self._rename([(statement.table, renames[-1])])

    def _lose_sight(self, token: str, what: str, why: str) -> None:
        """Rows change that are in no event."""
        if self._refuse(Kind.ROWS, why) is Action.RESYNC:
            self._resynced.add(token)
            self._done[token].append(f"{what}: its rows are read anew")
        else:
            self._done[token].append(f"{what}: rows kept")

    @property
    def _misses_cascades(self) -> bool:
        """What cascades to a table is in no binlog of MariaDB or of an older MySQL."""
        return not (self._said.logs_cascades or self._rules.unlogged)

    def _refuse_unseen(self, *, cascades: bool) -> None:
        unseen = "what the foreign key changes is not in the binlog"
        matters = cascades and self._misses_cascades
        if matters and self._refuse(Kind.ROWS, unseen) is Action.RESYNC:
            raise RefusedError(unseen)  # nor is what it will change

    def _refuse_recomputed(self, channel: ChannelDescription, alteration: Alteration) -> None:
        """What the server computes anew is in no row event, though the columns that it comes from keep their values."""
        why = recomputed(alteration, channel.reads)
        if why is not None:
            self._lose_sight(channel.token, "generated columns", f"{why}, so that its values may change unseen")

    def _share(self, tables: Iterable[Table]) -> None:
        """What is written through a MERGE table is in the binlog under that one's name alone."""
        unseen = "rows of this table that are written through a MERGE table are not in the binlog under its own name"
        for channel in [channel for table in tables for channel in self._of(table)]:
            if self._refuse(Kind.ROWS, unseen) is Action.RESYNC:
                raise RefusedError(unseen)  # nor is what will be written
            self._done[channel.token].append("part of a MERGE table: rows kept")

    def _altered_shadow(self, shadow: Shadow, *, loses: bool) -> Shadow | None:
        """One whose rows are no copies any more is none."""
        spoken = PastDdl(text=self._said.text, db=self._said.db, modes=self._said.modes)
        return None if loses or len(shadow.alters) >= MAX_ALTERS else replace(shadow, alters=(*shadow.alters, spoken))

    def _evolve(self, channel: ChannelDescription, clauses: Sequence[nodes.Clause]) -> None:
        if _table(channel) in self._said.unknown:
            self._pass_by(channel, clauses)
            return
        table = self._said.seen.get(_table(channel))
        if table is not None:
            channel = replace(channel, source=_with_untold(table, channel.source))
        target = self._rules.describe(channel)
        terms = self._terms(defaults=_shows_defaults(channel, target))
        alteration = altered(channel.source, tuple(clauses))
        self._take(evolve(channel, target, alteration, terms))
        self._refuse_recomputed(channel, alteration)

    def _pass_by(self, channel: ChannelDescription, clauses: Sequence[nodes.Clause]) -> None:
        """Of a statement older than the schema that is known: it must not matter, or an operator answers for it."""
        if self._rules.forced:
            return
        read_ones = (*channel.reads, *channel.source_keys)
        why = older_statement.matters(clauses, channel.source, read_ones)
        seen = self._said.seen.get(_table(channel))
        if why is None and (seen is not None or channel.token in self._rules.describe(channel).writers):
            why = older_statement.loses(clauses, channel.source, seen, read_ones, self._said.modes)
        if why is not None:
            raise RefusedError(why)

    def _take(self, step: Step) -> None:
        token = step.channel.token
        self._channels[token] = step.channel
        self._changes[token] = (*self._changes.get(token, ()), *step.changes)
        self._done[token] += step.done

    # -- whole tables

    def _create(self, statement: nodes.CreateTable) -> None:
        """Before the columns are known to hold, it is the beginning of the table that the job reads."""
        self._share(statement.merged)
        if statement.temporary:
            return
        self._refuse_successor(statement.table)
        self._copy(statement)
        for channel in self._of(statement.table):
            if channel.gone or statement.replaces:
                self._create_anew(channel, statement)
            elif _table(channel) not in self._said.unknown and not statement.if_not_exists:
                raise RefusedError("it creates the table, which was there")

    def _create_anew(self, channel: ChannelDescription, statement: nodes.CreateTable) -> None:
        """Its rows went with the table before it; the target gets the columns of the new one."""
        statement, charset = told(statement, self._known(), self._is_named)
        self._refuse(Kind.CREATE_TABLE, "it creates the table anew")
        self._refuse_unseen(cascades=statement.cascades)
        self._truncate([channel])
        emptied = EmptyTable() in self._changes.get(channel.token, ())
        target = self._rules.describe(channel)
        terms = replace(self._terms(defaults=True), empty=True, emptied=emptied)
        source = replace(channel.source, charset=charset, generated=None if statement.like else ())
        alteration = altered(source, renewed(channel.source, statement))
        alteration = replace(alteration, table=replace(alteration.table, unique=statement.unique))
        self._take(evolve(replace(channel, gone=False, shadows=()), target, alteration, terms))

    def _known(self) -> Iterator[SourceTable]:
        """The tables of which the columns are known here."""
        for channel in self._channels.values():
            stored = None if _table(channel) in self._said.unknown else channel.source
            table = self._said.seen.get(_table(channel)) or stored
            if table is not None and not channel.gone:
                yield _with_untold(table, channel.source)

    def _refuse_successor(self, name: Table) -> None:
        """Which of two tables is meant, where one left a name and another gets it, the operator says."""
        if any(self._names(channel, name) for channel in self._channels.values()):
            return
        for token, channel in list(self._channels.items()):
            if any(shadow.left and (shadow.db, shadow.name) == name for shadow in channel.shadows):
                self.at = _table(channel)
                here, there = ".".join(self.at), ".".join(name)
                ways = f"RESYNC TABLE {there} reads that one from here on, RESYNC TABLE {here} this one"
                self._refuse(Kind.SWAP_TABLE, f"another table gets the name {there}, which this one had; {ways}")
                self._done.setdefault(token, []).append(f"the new {'.'.join(name)} is not synced")
                self._reshape(name, lambda _: None)

    def _copy(self, statement: nodes.CreateTable) -> None:
        """A copy for a tool to fill, or what it keeps beside one."""
        unseen = statement.cascades and self._misses_cascades
        if statement.select or statement.begins or unseen:
            return
        db, name = statement.table
        for token, channel in self._channels.items():
            log = is_log(statement.table, of=_table(channel))
            original = self._names(channel, statement.like) if statement.like else alike(channel.source, statement)
            if log or (original and is_copy(statement.table, of=_table(channel))):
                shadows = with_another(channel.shadows, Shadow(db=db, name=name, log=log))
                self._channels[token] = replace(channel, shadows=shadows)

    def _trigger(self, statement: nodes.CreateTrigger | nodes.DropTrigger) -> None:
        """One that changes rows on their way into a copy makes them others than those of the table."""
        if isinstance(statement, nodes.CreateTrigger) and not statement.after:
            self._reshape(statement.table, lambda _: None)
        for token, channel in self._channels.items():
            match statement:
                case nodes.DropTrigger(name=name):
                    shadows = without_trigger(channel.shadows, name)
                case _ if self._names(channel, statement.table):
                    shadows = with_trigger(channel.shadows, statement, folds=self._said.modes.folds)
                case _:
                    continue
            self._channels[token] = replace(channel, shadows=shadows)

    def _names(self, channel: ChannelDescription, table: Table) -> bool:
        return self._is_named(channel.source, table)

    def _is_named(self, source: SourceTable, table: Table) -> bool:
        return self._same_name(source.db, table[0]) and self._same_name(source.name, table[1])

    def _reshape(self, table: Table, change: Callable[[Shadow], Shadow | None]) -> None:
        """Every shadow of that name becomes another, or none."""
        for token, channel in self._channels.items():
            shadows = [change(each) if (each.db, each.name) == table else each for each in channel.shadows]
            kept = tuple(each for each in shadows if each is not None)
            self._channels[token] = replace(channel, shadows=kept)

    def _drop(self, channels: Iterable[ChannelDescription]) -> None:
        for channel in channels:
            self.at = _table(channel)
            deed = self._refuse(Kind.DROP_TABLE, "it drops the table")
            self._channels[channel.token] = replace(channel, gone=True)
            drops = deed is Action.APPLY and not channel.gone
            told = self._drop_target(channel) if drops else "the target keeps its rows"
            self._done.setdefault(channel.token, []).append(f"dropped in the source; {told}")

    def _drop_target(self, channel: ChannelDescription) -> str:
        """In words. A copy of the table may yet take its place, and the rows of other channels are theirs."""
        if any(shadow.is_copy for shadow in channel.shadows):
            return "the target keeps its rows for a copy that may follow"
        if channel.part is not None:
            self._changes[channel.token] = (EmptyTable(),)
            return f"the rows of {channel.part.value} are deleted"
        target = self._rules.describe(channel)
        if set(target.writers) - {channel.token}:
            return "the target keeps its rows: another channel has written into it"
        self._channels[channel.token] = replace(channel, gone=True, dropped=True)
        self._changes[channel.token] = (DropTable(uuid=target.uuid),)
        return "the target is dropped, too"

    def _truncate(self, channels: Iterable[ChannelDescription]) -> None:
        for channel in channels:
            deed = self._refuse(Kind.TRUNCATE, "it empties the table")
            if not channel.keys and self._rules.append_on_change is AppendOnChange.ERROR:
                raise RefusedError('it empties the table, and "append_on_change" of a target without a key is error')
            if deed is Action.APPLY and channel.keys:
                self._changes[channel.token] = (*self._changes.get(channel.token, ()), EmptyTable())
                self._done[channel.token].append("emptied")
            else:
                self._done[channel.token].append("the target keeps its rows")

    def _rename(self, pairs: Iterable[tuple[Table, Table]], *, if_exists: bool = False) -> None:
        """One pair after the other; a synced name that another table has in the end stands for other rows."""
        places = {_table(channel): channel.token for channel in self._channels.values()}
        taken: dict[Table, Table] = {}
        for old, new in pairs:
            self._of(old)
            self._of(new)
            known = self._alike(old, places)
            if if_exists and self._is_passed_over(known, new, places):
                continue
            token = places.pop(known, None)
            if token is None:
                taken[new] = taken.pop(known, known)
            else:
                self._refuse_held(known, new, places)
                places[new] = token
        now = {token: place for place, token in places.items()}
        swapped = {token for name, other in taken.items() for token in self._take_over(name, other, now)}
        for place, token in places.items():
            if token not in swapped:
                self._read_under(self._channels[token], place, places)

    def _is_passed_over(self, old: Table, new: Table, places: Mapping[Table, str]) -> bool:
        """Of IF EXISTS: one that is not there. MariaDB logs it all the same, also where the new name is in use."""
        if old in places:
            return self._channels[places[old]].gone
        holder = places.get(self._alike(new, places))
        if holder is None or _table(self._channels[holder]) in self._said.unknown:
            return False
        return not self._channels[holder].gone

    def _alike(self, table: Table, tables: Iterable[Table]) -> Table:
        alike = (e for e in tables if self._same_name(e[0], table[0]) and self._same_name(e[1], table[1]))
        return next(alike, table)

    def _refuse_held(self, old: Table, new: Table, places: Collection[Table]) -> None:
        """Two channels would read one table. The one that was dropped stops first, whose target has other rows; a
        statement that is met again finds it stopped.
        """
        holder = self._alike(new, places)
        if holder in places:
            self.at = holder
            raise RefusedError(f"table {'.'.join(old)} takes its name")
        if self._alike(new, self._rules.held) in self._rules.held:
            self.at = old
            known = "as which another one of the job is known; DROP TABLE leaves out the one that is not wanted"
            raise RefusedError(f"it renames the table to {'.'.join(new)}, {known}")

    def _take_over(self, name: Table, other: Table, now: Mapping[str, Table]) -> Iterator[str]:
        """Another table has the name now: a shadow of the one that had it, or a stranger. The channels that stay.

        `now`: where the table of each channel is.
        """
        self._refuse_successor(name)
        self._reshape(other, lambda shadow: replace(shadow, db=name[0], name=name[1]))
        for token, before in self._before.items():
            if not self._names(before, name):
                continue
            self.at = _table(before)
            self._done.setdefault(token, [])
            shadows = self._channels[token].shadows
            shadow = next((each for each in shadows if (each.db, each.name) == name and each.is_copy), None)
            aside = now.get(token, name) == name or is_set_aside(now[token], of=name)
            if shadow is None or not aside or not is_filled(shadow, other, shadows, of=name):
                self._refuse(
                    Kind.SWAP_TABLE, f"table {'.'.join(other)} takes its name{UNFILLED * is_copy(other, of=name)}"
                )
            else:
                self._swap(self._channels[token], shadow, other)
                yield token

    def _swap(self, channel: ChannelDescription, shadow: Shadow, other: Table) -> None:
        """The rows are those of the shadow, which were copied; the change is what was done to the shadow's columns."""
        if _table(channel) in self._said.unknown:
            raise RefusedError(f"table {'.'.join(other)} takes its name, and its columns are not known this far back")
        alteration = altered(channel.source, ())
        for spoken in shadow.alters:
            parsed = read(spoken.text, spoken.db, spoken.modes)
            assert isinstance(parsed, nodes.AlterTable | nodes.ChangeIndex), "nothing else is kept"
            refuse_lossy(alteration.table, parsed.clauses, other)
            self._refuse_unseen(cascades=any(map(ddl.cascades, parsed.clauses)))
            alteration = composed(alteration, altered(alteration.table, parsed.clauses))
        refuse_refilled(alteration, other)
        target = self._rules.describe(channel)
        terms = replace(self._terms(defaults=_shows_defaults(channel, target)), strict=False, moment=None)
        kept = tuple(each for each in channel.shadows if each != shadow)
        self._done[channel.token].append(f"its copy {'.'.join(other)} took its place")
        self._take(evolve(replace(channel, shadows=kept, gone=False), target, alteration, terms))
        self._refuse_recomputed(channel, alteration)

    def _read_under(self, channel: ChannelDescription, place: Table, places: Collection[Table]) -> None:
        if _table(channel) == place:
            return
        db, name = place
        self.at = _table(channel)
        self._refuse(Kind.RENAME_TABLE, f"it renames the table to {db}.{name}")
        if channel.part is not None and db != channel.source.db:
            raise RefusedError(f"it moves the table to {db}, and its rows are those of {channel.part.value}")
        if is_set_aside(place, of=_table(channel)) and _table(channel) not in places:
            self._channels[channel.token] = replace(channel, gone=True)
            self._done.setdefault(channel.token, []).append(f"set aside as {db}.{name}; its copy is to follow")
            return
        left = Shadow(db=channel.source.db, name=channel.source.name, left=True)
        shadows = with_another((each for each in channel.shadows if (each.db, each.name) != place), left)
        source = replace(channel.source, db=db, name=name)
        self._channels[channel.token] = replace(channel, source=source, shadows=shadows)
        self._done.setdefault(channel.token, []).append(f"read as {db}.{name} from here on")


def _shows_defaults(channel: ChannelDescription, target: TargetTable) -> bool:
    """What rows from before have in a new column; those of other channels have not got it."""
    return channel.part is None and dict(target.properties).get("format-version", "3") != "2"


def _differs(now: ChannelDescription, before: ChannelDescription) -> bool:
    if now != before or now.source.unique != before.source.unique:  # which tables are not compared by
        return True
    return now.source.generated != before.source.generated


def _with_untold(seen: SourceTable, known: SourceTable) -> SourceTable:
    """With what rows do not tell."""
    return replace(seen, charset=known.charset, unique=known.unique, generated=known.generated)


def _table(channel: ChannelDescription) -> Table:
    return channel.source.db, channel.source.name
