"""The statements about sync jobs.

Owns: which of them may wait for a source, which are answered together.
Must not know: how jobs run.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from syncmgr.console.statements import job_changes
from syncmgr.console.statements.execution.context import Context
from syncmgr.console.statements.job_changes import JobChange
from syncmgr.console.statements.show import metadata
from syncmgr.console.statements.show.show import listing
from syncmgr.console.table_columns import TABLES
from syncmgr.console.wire.results import Result
from syncmgr.job.metrics.status_row import STATUS_COLUMNS, TABLES_COLUMNS, status_row
from syncmgr.job.show_sync import EXPLAIN_COLUMNS, SHOW_COLUMNS, WantedRows
from syncsql import ExplainSync, ShowCreateSync, ShowSync, ShowSyncStatus, ShowSyncTables

ALL_OF_THEM: Final = ""  # the key of the turn if those who may see everything are answered together


async def change(context: Context, statement: JobChange) -> Result:
    run = context.ask if job_changes.asks_source(statement) else context.quick
    return context.done(await run(job_changes.change, statement, context.frontend.jobs, context.db))


async def explain(context: Context, statement: ExplainSync) -> Result:
    return listing(EXPLAIN_COLUMNS, await context.ask(context.frontend.jobs.explain, statement, context.db)).result()


async def show_create(context: Context, statement: ShowCreateSync) -> Result:
    text = await context.quick(context.frontend.jobs.create_text, statement.job, context.db)
    return listing(("Job", "Create Sync Job"), [(statement.job.name, text)]).result()


async def show(context: Context, statement: ShowSync) -> Result:
    rows = await _jobs_of(context, statement.db or context.db)
    if statement.db is not None and not rows:
        # only now is the lake queried, which may still be starting
        await _check_database(context, statement.db)
    return await context.shown(listing(SHOW_COLUMNS, rows, like="JobName"), statement.filter, statement)


async def show_status(context: Context, statement: ShowSyncStatus) -> Result:
    samples = await context.quick(context.frontend.jobs.samples, statement.db or context.db)
    if statement.db is not None and not samples:
        await _check_database(context, statement.db)
    shown = listing(STATUS_COLUMNS, map(status_row, samples), like="Job")
    return await context.shown(shown, statement.filter, statement)


async def show_tables(context: Context, statement: ShowSyncTables) -> Result:
    """Of the job that has the name now. Raises NO_DATABASE, UNKNOWN_JOB."""
    db, name = statement.job.db or context.db, statement.job.name
    await context.quick(context.frontend.jobs.create_text, statement.job, context.db)
    wanted = WantedRows(job=lambda _, *label: label == (db, name))
    rows = await context.quick(context.frontend.history.rows, "sync_channels", wanted)
    return await context.filtered(listing(TABLES_COLUMNS, _table_rows(rows), like="Target"), statement.filter)


def _table_rows(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Those of sync_channels, of the newest job."""
    names = TABLES["sync_channels"]
    facts = [dict(zip(names, row, strict=True)) for row in rows]
    newest = max((each["JOB_ID"] for each in facts), default=None)
    return [
        (
            f"{each['SOURCE_SCHEMA']}.{each['SOURCE_TABLE']}",
            f"{each['TARGET_SCHEMA']}.{each['TARGET_TABLE']}",
            *(each[name] for name in ("STATE", "SINCE", "ERROR", "REASON", "ADVICE")),
        )
        for each in facts
        if each["JOB_ID"] == newest
    ]


async def _jobs_of(context: Context, db: str | None) -> list[tuple[str | None, ...]]:
    """Users who may see everything are answered together."""
    if not context.frontend.access.rights.is_admin:
        return await context.quick(context.frontend.jobs.show, db)
    workers = context.workers
    return await workers.shown.ask(db, partial(workers.quick, ALL_OF_THEM, context.house.jobs.show, db))


async def _check_database(context: Context, db: str) -> None:
    if not context.frontend.access.rights.is_admin:
        return await context.slow(metadata.check_database, context.frontend.catalog, db)
    workers = context.workers
    return await workers.known.ask(
        db, partial(workers.slow, ALL_OF_THEM, metadata.check_database, context.house.catalog, db)
    )
