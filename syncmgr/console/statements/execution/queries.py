"""SELECT, and EXPLAIN of one.

Owns: what answers a query: the session itself, the metadata, or the query engine.
Must not know: how Spark runs one.
"""

from dataclasses import replace

from syncmgr.console.statements import time_zone
from syncmgr.console.statements.execution.context import Context
from syncmgr.console.statements.execution.dialect import SparkText, in_spark
from syncmgr.console.statements.local.evaluation import evaluated
from syncmgr.console.statements.local.local_select import question
from syncmgr.console.statements.local.sqlite_engine import rows_of
from syncmgr.console.statements.row_limit import first, has_limit, with_offsets
from syncmgr.console.statements.show import information_schema
from syncmgr.console.statements.show.information_schema import Present
from syncmgr.console.statements.time_travel import pinned, pins
from syncmgr.console.statements.variables import MYSQL
from syncmgr.console.statements.who import with_asker
from syncmgr.console.wire.results import Result, Rows, named
from syncmgr.console.workers import LONG_TEXT
from syncsql import ExplainSelect, Select


async def select(context: Context, statement: Select) -> Result:
    text, most = statement.text, context.variables.select_limit
    rows = await _selected(context, text)
    return rows if most is None or await context.read(has_limit, text) else first(rows, most)


async def explain(context: Context, statement: ExplainSelect) -> Result:
    """The plan of the text that Spark is given."""
    asked = await _in_spark(context, statement.select.text)
    shown = replace(statement, select=replace(statement.select, text=asked.sql))
    return await _ask_lake(context, shown.sql())


async def _selected(context: Context, text: str) -> Rows:
    asked = await context.read(question, text, context.facts())
    if asked is None:
        spark = await _in_spark(context, text)
        return named(await _ask_lake(context, spark.sql), spark.names)
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


async def _in_spark(context: Context, text: str) -> SparkText:
    """A text of the session's dialect."""
    text = await _at_points(context, await context.read(_with_account, text, context))
    if context.variables.dialect == MYSQL:
        by = context.read if len(text) > LONG_TEXT else context.slow  # it also asks the catalog
        found = await by(in_spark, text, context.frontend.catalog, context.facts())
        if found is not None:
            return found
    return SparkText(await context.read(with_offsets, text))


def _with_account(text: str, context: Context) -> str:
    account, user = context.client.account, f"{context.client.user}@{context.client.host}"
    return with_asker(text, account=f"{account.name}@{account.host}", client=user)


async def _at_points(context: Context, text: str) -> str:
    found, history = await context.read(pins, text, context.db), context.frontend.history
    if not found:
        return text
    return await context.quick(pinned, text, found, lambda at: history.snapshots(at.db, at.job, at.epoch))


async def _ask_lake(context: Context, sql: str) -> Rows:
    account = context.client.account
    zone, tag = time_zone.meant(context.variables.time_zone), context.next_query()
    queries, share = context.frontend.queries, context.client.share
    query = context.workers.query
    context.client.running.waits_for = lambda: context.house.queries.state
    return await query(str(account), queries, share, sql=sql, db=context.db, tag=tag, time_zone=zone)
