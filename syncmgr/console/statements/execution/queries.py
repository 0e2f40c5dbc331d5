"""SELECT, and EXPLAIN of one.

Owns: what answers a query: the session itself, the metadata, or the query engine.
Must not know: how Spark runs one.
"""

from syncmgr.console.statements import time_zone
from syncmgr.console.statements.execution.context import Context
from syncmgr.console.statements.local.evaluation import evaluated
from syncmgr.console.statements.local.local_select import question
from syncmgr.console.statements.local.sqlite_engine import rows_of
from syncmgr.console.statements.row_limit import first, has_limit, with_offsets
from syncmgr.console.statements.show import information_schema
from syncmgr.console.statements.show.information_schema import Present
from syncmgr.console.statements.time_travel import pinned, pins
from syncmgr.console.statements.who import with_asker
from syncmgr.console.wire.results import Result, Rows
from syncsql import ExplainSelect, Select


async def select(context: Context, statement: Select) -> Result:
    text, most = statement.text, context.variables.select_limit
    rows = await _selected(context, text)
    return rows if most is None or await context.read(has_limit, text) else first(rows, most)


async def explain(context: Context, statement: ExplainSelect) -> Result:
    return await _ask_lake(context, await _at_points(context, statement.sql()))


async def _selected(context: Context, text: str) -> Rows:
    asked = await context.read(question, text, context.facts())
    if asked is None:
        return await _ask_lake(context, await _at_points(context, await context.read(with_offsets, text)))
    if asked.tables:
        house, slow = context.frontend, context.slow
        given, spill = (asked, house.catalog, house.history, _present(context)), context.limits.question_spill
        answered = await slow(information_schema.answer, *given, spill=spill)
        return rows_of(*answered)
    return rows_of(*await context.read(evaluated, asked.sql, asked.names))


def _present(context: Context) -> Present:
    return Present(
        processlist=context.seen_connections(),
        variables=context.variables.rows(),
        account=context.client.account,
        rights=context.frontend.access.rights,
        alerts=context.house.alerts.rows if context.frontend.access.rights.is_operator else tuple,
    )


async def _at_points(context: Context, text: str) -> str:
    found, history = await context.read(pins, text, context.db), context.frontend.history
    if not found:
        return text
    return await context.quick(pinned, text, found, lambda at: history.snapshots(at.db, at.job, at.epoch))


async def _ask_lake(context: Context, sql: str) -> Rows:
    account, user = context.client.account, f"{context.client.user}@{context.client.host}"
    sql = await context.read(with_asker, sql, account=f"{account.name}@{account.host}", client=user)
    zone, tag = time_zone.meant(context.variables.time_zone), context.next_query()
    queries, share = context.frontend.queries, context.client.share
    query = context.workers.query
    context.client.running.waits_for = lambda: context.house.queries.state
    return await query(str(account), queries, share, sql=sql, db=context.db, tag=tag, time_zone=zone)
