"""ALTER TABLE applied to the channels of its tables.

Owns: which of its clauses concern which channel, and which change rows unseen.
Must not know: what a clause makes of a target.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from mysqlddl import nodes
from syncmgr.job.channel.description import ChannelDescription, PastDdl, Shadow
from syncmgr.job.ddl import ddl, older_statement
from syncmgr.job.ddl.alteration import altered
from syncmgr.job.ddl.following.following import Following, refuse_gone, shows_defaults, table_of, with_unlogged
from syncmgr.job.ddl.following.renaming import rename
from syncmgr.job.ddl.terms import RefusedError

MAX_ALTERS: Final = 100
MAX_ALTERS_TEXT: Final = 1 << 20  # characters of all of them, which are stored with the channel


def alter(job: Following, statement: nodes.AlterTable) -> None:
    others = [c.other for c in statement.clauses if isinstance(c, nodes.RowsChange) and c.other is not None]
    for channel in [c for table in (statement.table, *others) for c in job.of(table)]:
        refuse_gone(job, channel)
        loud = [c.what for c in statement.clauses if isinstance(c, nodes.RowsChange)]
        loud += ["ALTER IGNORE"] * statement.ignore
        if loud:
            job.lose_sight(channel.token, loud[0], f"{loud[0]} changes rows without saying which")
    for clause in statement.clauses:
        if isinstance(clause, nodes.MergeTables):
            job.share(clause.tables)
    for channel in job.of(statement.table):
        _evolve(job, channel, statement.clauses)
        job.refuse_unseen(cascades=any(map(ddl.cascades, statement.clauses)))
    loses = statement.ignore or any(isinstance(clause, nodes.RowsChange) for clause in statement.clauses)
    job.reshape(statement.table, partial(_altered_shadow, job, loses=loses))
    renames = [c.table for c in statement.clauses if isinstance(c, nodes.RenameTo)]
    if renames:
        rename(job, [(statement.table, renames[-1])])


def _altered_shadow(job: Following, shadow: Shadow, *, loses: bool) -> Shadow | None:
    """A copy whose rows are no longer copies is none, nor is one that is altered without end."""
    spoken = PastDdl(text=job.statement.text, db=job.statement.db, modes=job.statement.modes)
    alters = (*shadow.alters, spoken)
    is_endless = len(alters) > MAX_ALTERS or sum(len(each.text) for each in alters) > MAX_ALTERS_TEXT
    return None if loses or is_endless else replace(shadow, alters=alters)


def _evolve(job: Following, channel: ChannelDescription, clauses: Sequence[nodes.Clause]) -> None:
    if table_of(channel) in job.statement.unknown:
        _pass_by(job, channel, clauses)
        return
    table = job.statement.seen.get(table_of(channel))
    if table is not None:
        channel = replace(channel, source=with_unlogged(table, channel.source))
    target = job.rules.describe(channel)
    terms = job.terms(defaults=shows_defaults(channel, target))
    alteration = altered(channel.source, tuple(clauses))
    job.take(channel, target, alteration, terms)
    job.refuse_recomputed(channel, alteration)


def _pass_by(job: Following, channel: ChannelDescription, clauses: Sequence[nodes.Clause]) -> None:
    """A statement older than the known schema: it must not matter, or an operator takes responsibility for it."""
    if job.rules.forced:
        return
    read_ones = (*channel.reads, *channel.source_keys)
    why = older_statement.matters(clauses, channel.source, read_ones)
    seen = job.statement.seen.get(table_of(channel))
    if why is None and (seen is not None or channel.token in job.rules.describe(channel).writers):
        why = older_statement.loses(clauses, channel.source, seen, read_ones, job.statement.modes)
        why = why or older_statement.makes_key(clauses, channel.source, seen, channel.source_keys)
    if why is not None:
        raise RefusedError(why)
