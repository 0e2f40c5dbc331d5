"""The statements about checks.

Owns: that CHECK TABLE waits for its end, and ends it when its client no longer waits.
Must not know: how a check runs.
"""

import asyncio
from typing import Final

from syncmgr.console.statements.execution.context import Context
from syncmgr.console.statements.show.show import listing
from syncmgr.console.wire.results import Result
from syncsql import CheckSync, CheckTables, RepairSync, StopCheck

LOOK_SECOND: Final = 0.2


async def check_job(context: Context, statement: CheckSync) -> Result:
    found = await context.slow(context.frontend.checks.start, statement, context.db)
    return listing(("CheckId",), [(str(found),)]).result()


async def check_tables(context: Context, statement: CheckTables) -> Result:
    checks = context.frontend.checks
    found = await context.slow(checks.start_targets, statement.tables, context.db)
    over = False
    try:
        while (rows := checks.outcome(found)) is None:  # noqa: ASYNC110 - it ends in a thread
            await asyncio.sleep(LOOK_SECOND)
        over = True
    finally:
        if not over:
            checks.stop(found)
    return listing(("Table", "Op", "Msg_type", "Msg_text"), rows).result()


async def repair_job(context: Context, statement: RepairSync) -> Result:
    found = await context.slow(context.frontend.checks.repair, statement, context.db)
    return listing(("CheckId",), [(str(found),)]).result()


async def stop_check(context: Context, statement: StopCheck) -> Result:
    await context.quick(context.frontend.checks.stop, statement.id)
    return context.done(())
