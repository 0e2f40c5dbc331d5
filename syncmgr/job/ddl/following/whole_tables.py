"""Statements on whole tables: CREATE, DROP, TRUNCATE, and what is made along with them.

Owns: what happens to a target whose source table was created, dropped or emptied.
Must not know: clauses of ALTER TABLE, names that tables exchange.
"""

from collections.abc import Iterable
from dataclasses import replace

from mysqlddl import nodes
from syncmgr.job.channel.description import ChannelDescription, Shadow
from syncmgr.job.ddl.alteration import altered, renewed
from syncmgr.job.ddl.copies.copy_table import alike
from syncmgr.job.ddl.copies.migration_tool import is_copy, is_log
from syncmgr.job.ddl.copies.shadows import with_another, with_trigger, without_trigger
from syncmgr.job.ddl.creation import created_table
from syncmgr.job.ddl.following.following import Following, refuse_gone, table_of
from syncmgr.job.ddl.following.renaming import refuse_successor
from syncmgr.job.ddl.lake_change import DropTable, EmptyTable
from syncmgr.job.ddl.terms import RefusedError
from syncmgr.job.ddl_policy import Action, Kind
from syncmgr.job.job_properties import AppendOnChange


def create(job: Following, statement: nodes.CreateTable) -> None:
    """Before the columns are known to apply, it is the beginning of the table that the job reads."""
    job.share(statement.merged)
    if statement.temporary:
        return
    refuse_successor(job, statement.table)
    _copy(job, statement)
    for channel in job.of(statement.table):
        if statement.replaces and _is_before(job, channel):
            _empty_before(job, channel)
        elif channel.history.source_dropped or statement.replaces:
            _create_anew(job, channel, statement)
        elif table_of(channel) not in job.statement.unknown and not statement.if_not_exists:
            raise RefusedError("it creates the table, which already existed")


def _create_anew(job: Following, channel: ChannelDescription, statement: nodes.CreateTable) -> None:
    """Its rows were dropped with the former table; the target gets the columns of the new one."""
    statement, charset = created_table(statement, job.known(), job.is_named)
    job.refuse(Kind.CREATE_TABLE, "it creates the table again")
    job.refuse_unseen(cascades=statement.cascades)
    truncate(job, [channel], created=True)
    emptied = EmptyTable() in job.changes.get(channel.token, ())
    target = job.rules.describe(channel)
    terms = replace(job.terms(defaults=True), empty=True, emptied=emptied)
    is_copy_of_another = statement.like is not None  # whose columns the statement does not name
    generated, numbered = (None, None) if is_copy_of_another else ((), "")
    source = replace(channel.source, charset=charset, generated=generated, numbered=numbered)
    alteration = altered(source, renewed(channel.source, statement))
    alteration = replace(alteration, table=replace(alteration.table, unique=statement.unique))
    job.take(
        replace(channel, history=replace(channel.history, source_dropped=False, shadows=())), target, alteration, terms
    )


def _copy(job: Following, statement: nodes.CreateTable) -> None:
    """A copy for a tool to fill, or what the tool keeps next to it."""
    unseen = statement.cascades and job.misses_cascades
    if statement.select or statement.begins or unseen:
        return
    db, name = statement.table
    for token, channel in job.channels.items():
        log = is_log(statement.table, of=table_of(channel))
        original = job.names(channel, statement.like) if statement.like else alike(channel.source, statement)
        if log or (original and is_copy(statement.table, of=table_of(channel))):
            shadows = with_another(channel.history.shadows, Shadow(db=db, name=name, log=log))
            job.channels[token] = replace(channel, history=replace(channel.history, shadows=shadows))


def trigger(job: Following, statement: nodes.CreateTrigger | nodes.DropTrigger) -> None:
    """A trigger that changes rows on their way into a copy makes them differ from those of the table."""
    if isinstance(statement, nodes.CreateTrigger) and not statement.after:
        job.reshape(statement.table, lambda _: None)
    for token, channel in job.channels.items():
        match statement:
            case nodes.DropTrigger(name=name):
                shadows = without_trigger(channel.history.shadows, name)
            case _ if job.names(channel, statement.table):
                shadows = with_trigger(channel.history.shadows, statement, folds=job.statement.modes.folds)
            case _:
                continue
        job.channels[token] = replace(channel, history=replace(channel.history, shadows=shadows))


def drop(job: Following, channels: Iterable[ChannelDescription]) -> None:
    for channel in channels:
        job.at = table_of(channel)
        if _is_before(job, channel):
            _empty_before(job, channel)
            continue
        deed = job.refuse(Kind.DROP_TABLE, "it drops the table")
        job.channels[channel.token] = replace(channel, history=replace(channel.history, source_dropped=True))
        drops = deed is Action.APPLY and not channel.history.source_dropped
        outcome = _drop_target(job, channel) if drops else "the target keeps its rows"
        job.done.setdefault(channel.token, []).append(f"dropped in the source; {outcome}")


def _is_before(job: Following, channel: ChannelDescription) -> bool:
    """Whether the table of the job begins later, with the known columns: no policy is consulted. A copy that may yet
    replace it has its rows.
    """
    if channel.history.source_dropped or job.rules.forced or not channel.keys:
        return False
    return table_of(channel) in job.statement.unknown and not any(shadow.is_copy for shadow in channel.history.shadows)


def _empty_before(job: Following, channel: ChannelDescription) -> None:
    """Rows that were read again up to here may be deleted; those that exist follow in the binlog."""
    job.changes[channel.token] = (*job.changes.get(channel.token, ()), EmptyTable())
    job.done.setdefault(channel.token, []).append("emptied: the rows of the table as it is known follow")


def _drop_target(job: Following, channel: ChannelDescription) -> str:
    """In words. A copy of the table may yet replace it, and the rows of other channels belong to those."""
    if any(shadow.is_copy for shadow in channel.history.shadows):
        return "the target keeps its rows for a copy that may follow"
    if channel.part is not None:
        job.changes[channel.token] = (EmptyTable(),)
        return f"the rows of {channel.part.value} are deleted"
    target = job.rules.describe(channel)
    if set(target.writers) - {channel.token}:
        return "the target keeps its rows: another channel has written into it"
    job.channels[channel.token] = replace(channel, history=replace(channel.history, source_dropped=True, dropped=True))
    job.changes[channel.token] = (DropTable(uuid=target.uuid),)
    return "the target is dropped, too"


def truncate(job: Following, channels: Iterable[ChannelDescription], *, created: bool = False) -> None:
    """`created`: by the same statement."""
    for channel in channels:
        if _is_before(job, channel):
            _empty_before(job, channel)
            continue
        if not created:
            refuse_gone(job, channel)
        deed = job.refuse(Kind.TRUNCATE, "it empties the table")
        if not channel.keys and job.rules.append_on_change is AppendOnChange.ERROR:
            raise RefusedError('it empties the table, and "append_on_change" of a target without a key is error')
        if deed is Action.APPLY and channel.keys:
            job.changes[channel.token] = (*job.changes.get(channel.token, ()), EmptyTable())
            job.done[channel.token].append("emptied")
        else:
            job.done[channel.token].append("the target keeps its rows")
