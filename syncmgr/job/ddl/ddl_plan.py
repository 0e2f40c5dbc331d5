"""One DDL statement applied to a whole job: what each of its channels and targets becomes.

Owns: which channels a statement concerns, and that either all of them follow or none does.
Must not know: how a table of the lake is changed, when.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, assert_never

from mysqlddl import nodes
from mysqlddl.nodes import Table
from mysqlddl.reading import UnclearError, read
from mysqlddl.temporary import renamed
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl import ddl
from syncmgr.job.ddl.alteration import ImpossibleError
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState, DdlStep
from syncmgr.job.ddl.following.altering import alter
from syncmgr.job.ddl.following.ddl_statement import DOUBTFUL, DdlStatement, Rules, not_followed, shown
from syncmgr.job.ddl.following.following import Following, table_of
from syncmgr.job.ddl.following.renaming import refuse_left, rename
from syncmgr.job.ddl.following.whole_tables import create, drop, trigger, truncate
from syncmgr.job.ddl.terms import RefusedError
from syncmgr.job.ddl_policy import Action, Kind, OnDdl
from syncmgr.job.position import Position
from syncmgr.job.source import Caveat

JOINS: Final = "joins the job, its rows first"
# Of a table that matches a pattern: why it does not join, or what it joins with.
JoinOutcome = SyncError | Caveat | None


def plan_ddl(statement: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules) -> DdlStep:
    """Raises SOURCE_DDL if a channel cannot follow; then none has."""
    following = Following(statement, channels, rules)
    try:
        _run(following)
    except (RefusedError, ImpossibleError) as error:
        reason = DOUBTFUL if statement.doubtful else str(error)
        raise not_followed(following.at, reason, statement.text, following.unrenewable) from None
    step = following.step()
    changed = step.concerned | step.resynced if statement.doubtful else ()
    for token in sorted(changed):  # otherwise it makes no difference which of the two it was about
        raise not_followed(table_of(following.before[token]), DOUBTFUL, statement.text)
    return step


def skip(statement: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules) -> DdlStep:
    """A statement that an operator wants skipped: no target changes; the known columns of the sources are updated."""
    forced = replace(rules, policy=OnDdl.IGNORE, deeds={}, forced=True)
    try:
        step = plan_ddl(statement, () if statement.doubtful else channels, forced)
    except SyncError as error:
        if error.code is not Code.SOURCE_DDL:
            raise
        step = DdlStep(statement=statement.text, at=float(statement.moment.at))
    tables = ddl.meant(statement.text, statement.db, [table_of(channel) for channel in channels], statement.modes)
    step = _there(step, [channel for channel in channels if table_of(channel) in tables and _may_create(statement)])
    return replace(step, done={c.token: "skipped" for c in channels if table_of(c) in tables})


def settle(
    record: DdlRecord | None, statement: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules
) -> DdlStep:
    """By the policy, or by the operator's decision if there is one. Raises SOURCE_DDL."""
    if record is None:
        return plan_ddl(statement, channels, rules)
    if record.instead is None:
        return skip(statement, channels, rules)
    return _apply(record.instead, statement, channels, rules)


def _apply(text: str, statement: DdlStatement, channels: Sequence[ChannelDescription], rules: Rules) -> DdlStep:
    """The operator's statement decides what the target becomes, whatever the policy, starting from its present
    columns.
    """
    modes = replace(statement.modes, ansi_quotes=False, no_backslash=False, strict=True)
    meant = replace(statement, text=text, modes=modes, unknown=frozenset(), doubtful=False)
    known = [replace(channel, history=replace(channel.history, source_dropped=False)) for channel in channels]
    step = plan_ddl(meant, known, replace(rules, policy=OnDdl.EVOLVE, deeds={}))
    step = _there(step, [channel for channel in channels if channel.token in step.done])
    if not step.done:
        tables = ddl.meant(statement.text, statement.db, [table_of(channel) for channel in channels], statement.modes)
        raise not_followed((*tables, ("", ""))[0], f"{shown(text)} is about no table of the job", statement.text)
    done = {token: f"{shown(text)} was applied instead: {what}" for token, what in step.done.items()}
    return replace(step, statement=statement.text, done=done)


def _there(step: DdlStep, channels: Sequence[ChannelDescription]) -> DdlStep:
    """Tables that were gone exist, by what an operator has decided about a statement on them."""
    found = {
        c.token: replace(c, history=replace(c.history, source_dropped=False))
        for c in channels
        if c.history.source_dropped and c.token not in step.channels
    }
    return replace(step, channels={**step.channels, **found})


def _may_create(statement: DdlStatement) -> bool:
    try:
        parsed = read(statement.text, statement.db, statement.modes)
    except UnclearError:
        return True
    return isinstance(parsed, nodes.CreateTable | nodes.RenameTables)


def refused(statement: DdlStatement, position: Position, table: Table, error: SyncError, *, alone: bool) -> DdlRecord:
    """The record of a statement that pauses the job, or stops the table `alone`; `position`: after it."""
    return DdlRecord(
        position=position,
        at=float(statement.moment.at),
        table=str(error.context.get("table", ".".join(table))),
        statement=statement.text,
        state=DdlState.STOPPED if alone else DdlState.PAUSED,
        outcome=str(error.context.get("reason", error)),
    )


def has_joined(outcome: JoinOutcome) -> bool:
    return not isinstance(outcome, SyncError)


def arrived(statement: DdlStatement, position: Position, table: Table, outcome: JoinOutcome) -> DdlRecord:
    """The record of a statement that made a table which matches a pattern."""
    return replace(found_there(position, float(statement.moment.at), table, outcome), statement=statement.text)


def found_there(position: Position, at: float, table: Table, joined: JoinOutcome) -> DdlRecord:
    """The same for a table that was found by a look at the server, at that second: no statement showed it."""
    match joined:
        case None:
            state, outcome = DdlState.DONE, JOINS
        case Caveat(code=code, text=text):
            state, outcome = DdlState.DONE, f"{JOINS}; warning {code.number}: {text}"
        case error:
            state = DdlState.GONE if error.code is Code.NO_TABLE_MATCHES else DdlState.REFUSED
            outcome = f"not synced: {error}"
    return DdlRecord(
        position=position,
        at=at,
        table=".".join(table),
        statement="",
        state=state,
        outcome=outcome,
    )


def _run(job: Following) -> None:
    try:
        statement = read(job.statement.text, job.statement.db, job.statement.modes)
    except UnclearError as error:
        _unread(job, error)
    else:
        _follow(job, statement)


def _unread(job: Following, error: UnclearError) -> None:
    tables = [table_of(channel) for channel in job.before.values()]
    for table in ddl.touched(job.statement.text, job.statement.db, tables):
        job.at = table
        if job.terms(defaults=True).deed(Kind.UNREAD) is Action.PAUSE:
            raise RefusedError(f"it cannot be read: {error}")


def _follow(job: Following, statement: nodes.Statement) -> None:  # noqa: C901 - one row per statement
    match statement:
        case nodes.AlterTable(table=table):
            refuse_left(job, table)
            alter(job, statement)
        case nodes.ChangeIndex(table=table, clauses=clauses):
            refuse_left(job, table)
            alter(job, nodes.AlterTable(table=table, clauses=clauses))
        case nodes.CreateTable():
            create(job, statement)
        case nodes.CreateTrigger() | nodes.DropTrigger():
            trigger(job, statement)
        case nodes.DropTables(tables=tables, temporary=temporary):
            drop(job, [] if temporary else [c for t in tables for c in job.of(t)])
            for table in () if temporary else tables:
                job.reshape(table, lambda shadow: shadow if shadow.left and job.statement.modes.mariadb else None)
        case nodes.DropDatabase(name=name):
            drop(job, [c for c in job.channels.values() if job.same_name(c.source.db, name)])
        case nodes.CreateDatabase(name=name, replaces=replaces):
            drop(job, [c for c in job.channels.values() if replaces and job.same_name(c.source.db, name)])
        case nodes.RenameTables(pairs=pairs, if_exists=if_exists):
            rename(job, renamed(pairs, job.statement.own, job.statement.modes)[0], if_exists=if_exists)
        case nodes.TruncateTable(table=table):
            refuse_left(job, table)
            truncate(job, job.of(table))
        case nodes.Other():
            pass
        case _:
            assert_never(statement)
