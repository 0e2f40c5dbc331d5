"""RENAME: which table a channel reads from then on, and whose rows have a synced name.

Owns: the outcome of names that are exchanged, what replaces a table, what is set aside.
Must not know: how a target is changed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from mysqlddl import nodes
from mysqlddl.nodes import Table
from mysqlddl.reading import read
from syncmgr.job.channel.description import ChannelDescription, Shadow
from syncmgr.job.ddl import ddl
from syncmgr.job.ddl.alteration import altered, composed
from syncmgr.job.ddl.copies.copy_table import refuse_lossy, refuse_refilled
from syncmgr.job.ddl.copies.migration_tool import is_copy, is_filled, is_set_aside
from syncmgr.job.ddl.copies.shadows import with_another
from syncmgr.job.ddl.following.following import Following, refuse_gone, shows_defaults, table_of
from syncmgr.job.ddl.terms import RefusedError
from syncmgr.job.ddl_policy import Kind

UNFILLED: Final = ", and the binlog does not show that a migration tool has filled it with all rows"


def rename(job: Following, pairs: Iterable[tuple[Table, Table]], *, if_exists: bool = False) -> None:
    """One pair after the other; a synced name that belongs to another table at the end stands for other rows.

    If another table of the job has taken a name, its owner is known even once that table is stopped or has left the
    job.
    """
    places = {table_of(channel): channel.token for channel in job.channels.values()}
    taken: dict[Table, Table] = {}
    for old, new in pairs:
        job.of(old)
        job.of(new)
        known = _alike(job, old, places)
        if if_exists and _is_passed_over(job, known, new, places):
            continue
        token = places.pop(known, None)
        if token is None:
            taken[new] = taken.pop(known, known)
        else:
            refuse_gone(job, job.channels[token])
            _refuse_held(job, known, new, places)
            places[new] = token
    now = {token: place for place, token in places.items()}
    swapped = {token for name, other in taken.items() for token in _take_over(job, name, other, now)}
    for place, token in places.items():
        if token not in swapped:
            _read_under(job, job.channels[token], place, places)
    for channel in job.channels.values():
        job.reshape(table_of(channel), lambda shadow: None if shadow.left else shadow)


def _is_passed_over(job: Following, old: Table, new: Table, places: Mapping[Table, str]) -> bool:
    """With IF EXISTS: a table that does not exist. MariaDB logs it anyway, even if the new name is in use."""
    if old in places:
        return job.channels[places[old]].history.source_dropped
    holder = places.get(_alike(job, new, places))
    if holder is None or table_of(job.channels[holder]) in job.statement.unknown:
        return False
    return not job.channels[holder].history.source_dropped


def _alike(job: Following, table: Table, tables: Iterable[Table]) -> Table:
    alike = (e for e in tables if job.same_name(e[0], table[0]) and job.same_name(e[1], table[1]))
    return next(alike, table)


def _refuse_held(job: Following, old: Table, new: Table, places: Collection[Table]) -> None:
    """Two channels would read one table. The one whose table was dropped stops first, since its target has other rows;
    a statement that is met again finds it stopped.
    """
    holder = _alike(job, new, places)
    if holder in places:
        job.at = holder
        raise RefusedError(f"table {'.'.join(old)} takes its name")
    if _alike(job, new, job.rules.held) in job.rules.held:
        job.at = old
        known = "which is the name of another table of the job; remove the unwanted one with DROP TABLE"
        raise RefusedError(f"it renames the table to {'.'.join(new)}, {known}")


def _take_over(job: Following, name: Table, other: Table, now: Mapping[str, Table]) -> Iterator[str]:
    """Another table has the name now: a shadow of the former owner, or an unrelated one. Returns the channels that
    stay.

    `now`: where the table of each channel is.
    """
    refuse_successor(job, name)
    job.reshape(other, lambda shadow: replace(shadow, db=name[0], name=name[1]))
    for token, before in job.before.items():
        if not job.names(before, name):
            continue
        job.at = table_of(before)
        job.done.setdefault(token, [])
        shadows = job.channels[token].history.shadows
        shadow = next((each for each in shadows if (each.db, each.name) == name and each.is_copy), None)
        aside = now.get(token, name) == name or is_set_aside(now[token], of=name)
        if shadow is None or not aside or not is_filled(shadow, other, shadows, of=name):
            job.refuse(Kind.SWAP_TABLE, f"table {'.'.join(other)} takes its name{UNFILLED * is_copy(other, of=name)}")
            job.channels[token] = replace(
                job.channels[token], history=replace(job.channels[token].history, source_dropped=False)
            )
        else:
            _swap(job, job.channels[token], shadow, other)
            yield token


def refuse_successor(job: Following, name: Table) -> None:
    """If one table left a name and another gets it, the operator says which of the two is meant."""
    if any(job.names(channel, name) for channel in job.channels.values()):
        return
    for token, channel in list(job.channels.items()):
        if any(shadow.left and (shadow.db, shadow.name) == name for shadow in channel.history.shadows):
            job.at = table_of(channel)
            here, there = ".".join(job.at), ".".join(name)
            ways = f"RESYNC TABLE {there} reads that one from here on, RESYNC TABLE {here} this one"
            job.refuse(Kind.SWAP_TABLE, f"another table gets the name {there}, which this one had; {ways}")
            job.done.setdefault(token, []).append(f"the new {'.'.join(name)} is not synced")
            job.reshape(name, lambda _: None)


def refuse_left(job: Following, name: Table) -> None:
    """What is done to a table by a name that it left is done to another one, or it never left it: MariaDB logs RENAME
    of a temporary table like any other.
    """
    if not job.statement.modes.mariadb or any(job.names(channel, name) for channel in job.channels.values()):
        return
    for channel in job.channels.values():
        if any(shadow.left and (shadow.db, shadow.name) == name for shadow in channel.history.shadows):
            job.at = table_of(channel)
            there = ".".join(name)
            why = "the name that this one had before a RENAME, so another table was renamed, such as a temporary one"
            job.refuse(Kind.SWAP_TABLE, f"it is about {there}, {why}; RESYNC TABLE {there} reads {there} again")


def _swap(job: Following, channel: ChannelDescription, shadow: Shadow, other: Table) -> None:
    """The rows are those of the shadow, which were copied; the change is what was done to the shadow's columns."""
    if table_of(channel) in job.statement.unknown:
        raise RefusedError(f"table {'.'.join(other)} takes its name, and its columns are not known this far back")
    alteration = altered(channel.source, ())
    for spoken in shadow.alters:
        parsed = read(spoken.text, spoken.db, spoken.modes)
        assert isinstance(parsed, nodes.AlterTable | nodes.ChangeIndex), "nothing else is kept"
        refuse_lossy(alteration.table, parsed.clauses, other)
        job.refuse_unseen(cascades=any(map(ddl.cascades, parsed.clauses)))
        alteration = composed(alteration, altered(alteration.table, parsed.clauses))
    refuse_refilled(alteration, other)
    target = job.rules.describe(channel)
    terms = replace(job.terms(defaults=shows_defaults(channel, target)), strict=False, moment=None)
    kept = tuple(each for each in channel.history.shadows if each != shadow)
    job.done[channel.token].append(f"its copy {'.'.join(other)} took its place")
    job.take(
        replace(channel, history=replace(channel.history, shadows=kept, source_dropped=False)),
        target,
        alteration,
        terms,
    )
    job.refuse_recomputed(channel, alteration)


def _read_under(job: Following, channel: ChannelDescription, place: Table, places: Collection[Table]) -> None:
    if table_of(channel) == place:
        return
    db, name = place
    job.at = table_of(channel)
    job.refuse(Kind.RENAME_TABLE, f"it renames the table to {db}.{name}")
    if channel.part is not None and db != channel.source.db:
        raise RefusedError(f"it moves the table to {db}, and its rows are those of {channel.part.value}")
    if is_set_aside(place, of=table_of(channel)) and table_of(channel) not in places:
        job.channels[channel.token] = replace(channel, history=replace(channel.history, source_dropped=True))
        job.done.setdefault(channel.token, []).append(f"set aside as {db}.{name}; its copy is to follow")
        return
    left = Shadow(db=channel.source.db, name=channel.source.name, left=True)
    shadows = with_another((each for each in channel.history.shadows if (each.db, each.name) != place), left)
    source = replace(channel.source, db=db, name=name)
    job.channels[channel.token] = replace(channel, source=source, history=replace(channel.history, shadows=shadows))
    job.done.setdefault(channel.token, []).append(f"read as {db}.{name} from here on")
