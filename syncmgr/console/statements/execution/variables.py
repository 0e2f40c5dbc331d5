"""SET, and the statements of transactions, which are accepted.

Owns: what a variable's new value affects.
Must not know: which variables there are, how they are kept.
"""

import asyncio
from typing import Final, assert_never

from syncmgr.console.limits import KiB, too_long
from syncmgr.console.statements.execution.context import Context
from syncmgr.console.statements.local.evaluation import evaluated
from syncmgr.console.statements.local.local_select import question
from syncmgr.console.statements.user_variables import Value
from syncmgr.console.wire.charset import by_name
from syncmgr.console.wire.results import Done, Result
from syncmgr.errors import Code, SyncError
from syncsql import (
    Scope,
    Set,
    SetCharacterSet,
    SetItem,
    SetNames,
    SetTransaction,
    SetUserVariable,
    SetValue,
    SetVariable,
    Transaction,
    ValueKind,
)

MAX_SET_EXPRESSION: Final = 4 * KiB
MOST_DIGITS: Final = 65  # of a number, as a DECIMAL of MySQL has


async def assign(context: Context, statement: Set) -> Result:
    for item in statement.items:
        await _set(context, item)
    return Done()


async def transaction(_context: Context, _statement: Transaction) -> Result:
    return Done()


async def _set(context: Context, item: SetItem) -> None:
    match item:
        case SetVariable():
            await _set_variable(context, item)
        case SetUserVariable():
            context.user_variables.has_room()
            context.user_variables.set(item.name.lower(), await _value(context, item.value))
        case SetNames() | SetCharacterSet():
            _set_names(context, item)
        case SetTransaction():
            pass  # every query reads one snapshot, whatever is requested
        case _:
            assert_never(item)


async def _set_variable(context: Context, item: SetVariable) -> None:
    if item.scope is not Scope.SESSION:
        raise SyncError(Code.NOT_SUPPORTED, what=f"SET {item.scope}; use ADMIN SET FRONTEND CONFIG")
    name = item.name.lower()
    is_default = item.value.kind is ValueKind.WORD and item.value.text.upper() == "DEFAULT"
    value = None if is_default else await _value(context, item.value)
    if name == "character_set_results" and value is None:
        value = "utf8mb4"
    if name.startswith("character_set_") and value is not None:
        by_name(str(value))
    _take_effect(context, name, context.variables.set(name, None if value is None else str(value)))


def _take_effect(context: Context, name: str, value: int | str) -> None:
    client = context.client
    client.answers.changes.variable(name, value)
    match name:
        case "autocommit":
            client.answers.autocommit = value == "ON"
        case "character_set_client":
            client.charset = by_name(str(value))
        case "character_set_results":
            client.answers.charset = by_name(str(value))
        case _:
            pass  # it is stored, and shown


def _set_names(context: Context, item: SetNames | SetCharacterSet) -> None:
    charset = by_name(item.charset or "utf8mb4")
    context.client.speak(charset)
    for name in ("character_set_client", "character_set_connection", "character_set_results"):
        context.variables.set(name, charset.name)
        context.client.answers.changes.variable(name, charset.name)
    if isinstance(item, SetNames) and item.collation is not None:
        context.variables.set("collation_connection", item.collation)


async def _value(context: Context, value: SetValue) -> Value:
    match value.kind:
        case ValueKind.STRING:
            return value.text
        case ValueKind.NUMBER:
            return _number(value.text)
        case ValueKind.WORD:
            return {"NULL": None, "TRUE": 1, "FALSE": 0}.get(value.text.upper(), value.text)
        case ValueKind.EXPRESSION:
            return await _expression(context, value.text)
        case _:
            assert_never(value.kind)


def _number(text: str) -> Value:
    if len(text) > MOST_DIGITS + 1:
        raise SyncError(Code.NOT_SUPPORTED, what=f"a number of more than {MOST_DIGITS} digits")
    return int(text) if text.lstrip("+-").isdecimal() else text


async def _expression(context: Context, text: str) -> Value:
    if len(text) > MAX_SET_EXPRESSION:
        raise too_long(MAX_SET_EXPRESSION)
    asked = question(f"SELECT {text}", context.facts())
    if asked is None or asked.tables:
        raise SyncError(Code.NOT_SUPPORTED, what=f"SET to the expression {text[:60]}")
    _, [[value]] = await context.read(evaluated, asked.sql, asked.names)
    await asyncio.sleep(0)  # others are answered between two expressions of one SET
    return value if isinstance(value, int | None) else str(value)
