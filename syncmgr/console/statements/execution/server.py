"""The statements about the frontend itself: connections, settings, status, users, HELP.

Owns: what each of them calls, and on which port.
Must not know: how accounts and settings are kept.
"""

import asyncio
import datetime as dt
from typing import Final

from syncmgr.console.statements import accounts
from syncmgr.console.statements import help as help_topics
from syncmgr.console.statements.accounts import UserStatement
from syncmgr.console.statements.execution.context import Context
from syncmgr.console.statements.show import metadata, show
from syncmgr.console.statements.show.show import CONSTANT, Listing, listing
from syncmgr.console.wire.results import Done, Result
from syncsql import (
    AdminSetFrontendConfig,
    AdminTestAlert,
    DropUser,
    Help,
    Kill,
    MetaKind,
    Name,
    ShowFrontendConfig,
    ShowGrants,
    ShowMeta,
    ShowProcesslist,
)

CONFIG_COLUMNS: Final = ("Key", "Value", "Type", "IsMutable", "MasterOnly", "Comment")
ALERT_COLUMNS: Final = (
    *("Id", "Event", "Job", "Subject", "State", "Text", "Advice"),
    *("FiredAt", "ResolvedAt", "SentAt", "Failure"),
)
NAME_AND_VALUE: Final = ("Variable_name", "Value")


async def change_users(context: Context, statement: UserStatement) -> Result:
    users, own = context.frontend.users, context.client.account
    remarks = await context.quick(accounts.change, statement, users, own)
    if isinstance(statement, DropUser):  # a later account of that name is not theirs
        context.registry.end_all(accounts.account_of(statement.user), but=context.client.id)
    return context.done(remarks)


async def show_grants(context: Context, statement: ShowGrants) -> Result:
    return accounts.show_grants(statement, context.frontend.users, context.client.account).result()


async def show_processlist(context: Context, statement: ShowProcesslist) -> Result:
    return show.processlist(context.seen_connections(), full=statement.full).result()


async def kill(context: Context, statement: Kill) -> Result:
    context.registry.kill(statement.id, query=statement.query, of=context.others())
    await asyncio.sleep(0)  # if a connection has ended itself, that is its answer
    return Done()


async def show_config(context: Context, statement: ShowFrontendConfig) -> Result:
    rows = await context.quick(context.frontend.config.show)
    return await context.filtered(listing(CONFIG_COLUMNS, rows), statement.filter)


async def set_config(context: Context, statement: AdminSetFrontendConfig) -> Result:
    await context.quick(context.frontend.config.set, {each.key: each.value for each in statement.settings})
    return Done()


async def send_test_alert(context: Context, _statement: AdminTestAlert) -> Result:
    context.frontend.access.need_operator()
    await context.slow(context.house.alerts.test)
    return Done()


async def show_help(_context: Context, statement: Help) -> Result:
    return listing(*help_topics.answer(statement.topic)).result()


async def show_meta(context: Context, statement: ShowMeta) -> Result:
    return await context.shown(await _meta(context, statement), statement.filter, statement)


async def _meta(context: Context, statement: ShowMeta) -> Listing:
    catalog, slow = context.frontend.catalog, context.slow
    match statement.kind:
        case MetaKind.VARIABLES:
            return listing(NAME_AND_VALUE, context.variables.rows())
        case MetaKind.STATUS:
            return listing(NAME_AND_VALUE, _status(context))
        case MetaKind.FRONTENDS:
            return _frontends(context)
        case MetaKind.ALERTS:
            context.frontend.access.need_operator()
            return listing(ALERT_COLUMNS, await context.quick(context.house.alerts.rows))
        case MetaKind.WARNINGS | MetaKind.COUNT_WARNINGS | MetaKind.ERRORS | MetaKind.COUNT_ERRORS as kind:
            return show.remarks(kind, context.remarks.current)
        case MetaKind.INDEX:
            name = Name(name=str(statement.table), db=statement.db)
            return show.index(await slow(metadata.table, catalog, name, context.db))
        case MetaKind.TABLE_STATUS:
            return await slow(metadata.table_status, catalog, metadata.named(statement.db, context.db))
        case kind:
            return CONSTANT[kind]()


def _frontends(context: Context) -> Listing:
    context.frontend.access.need_operator()
    started = context.facts().now - dt.timedelta(seconds=context.registry.uptime)
    return show.frontend(context.registry.port, started=started)


def _status(context: Context) -> list[tuple[str, str]]:
    client, registry = context.client, context.registry
    cipher, version = client.answers.stream.cipher() or ("", "")
    algorithm = client.answers.stream.algorithm
    return [
        *_audit_status(context),
        ("Compression", "OFF" if algorithm is None else "ON"),
        ("Compression_algorithm", "" if algorithm is None else algorithm.name),
        ("Connection_memory", str(client.share.held)),
        ("Global_connection_memory", str(client.share.of_all)),
        ("Queries", str(registry.questions)),
        ("Questions", str(client.commands)),
        ("Ssl_cipher", cipher),
        ("Ssl_version", version),
        ("Threads_connected", str(len(registry.connections))),
        ("Uptime", str(registry.uptime)),
    ]


def _audit_status(context: Context) -> list[tuple[str, str]]:
    """For operators, and their alerts."""
    if not context.frontend.access.rights.is_operator:
        return []
    audit = context.house.audit
    state = "OFF" if not audit.is_on else "FAILING" if audit.trouble else "OK"
    return [("Audit_error", audit.trouble), ("Audit_lines_lost", str(audit.lost)), ("Audit_state", state)]
