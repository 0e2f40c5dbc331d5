"""What the commands of prepared statements answer.

Owns: COM_STMT_*.
Must not know: how a statement is bound to its values, SQL.
"""

import asyncio
from contextlib import aclosing
from functools import partial
from typing import Final

from syncmgr.console.commands.client import Client
from syncmgr.console.commands.port import Session
from syncmgr.console.wire.cursor import Cursor
from syncmgr.console.wire.packet import Reader
from syncmgr.console.wire.prepared import PreparedStatement
from syncmgr.console.wire.protocol import Capability, Status
from syncmgr.console.wire.results import Column, Done, Result, row_encoder
from syncmgr.errors import Code, SyncError

MANY: Final = 1000  # parameters, which take milliseconds
READ_ONLY_CURSOR: Final = 1  # of the flags of EXECUTE


async def prepare(client: Client, body: bytes, session: Session) -> None:
    sql = client.text(body)
    client.show("Prepare", sql)
    client.limit_time(session.statement_timeout(sql), since=client.since)
    statement = client.prepared.add(sql, await session.placeholders(sql))
    client.answers.stream.put(statement.answer())
    for number, _ in enumerate(statement.places, 1):
        client.answers.put_column(Column(name="?"))
        if number % MANY == 0:
            await asyncio.sleep(0)  # others are answered in between
    if statement.places and not client.answers.can(Capability.DEPRECATE_EOF):
        client.answers.put_end()


async def execute(client: Client, body: bytes, session: Session) -> None:
    reader = Reader(body)
    statement = client.prepared.get(reader.uint(4))
    await client.prepared.close_cursor(statement)
    client.show("Execute", statement.sql)
    wants_cursor = bool(reader.uint(1) & READ_ONLY_CURSOR)
    try:
        bind = partial(statement.bind, reader, client.charset, limit=client.answers.limits.max_statement)
        sql = await asyncio.to_thread(bind) if len(statement.places) > MANY else bind()
    finally:
        client.prepared.forget_data(statement)
    send = partial(_open_cursor, client, statement) if wants_cursor else client.answers.send_binary
    async with aclosing(session.execute(sql, multi=False)) as results:
        async for result, more in results:
            await send(result, more)


async def _open_cursor(client: Client, statement: PreparedStatement, result: Result, more: bool) -> None:  # noqa: FBT001 - the flag of the wire
    if isinstance(result, Done):
        client.answers.put_ok(result, more=more)
        return
    if not client.prepared.has_room_for_cursor():
        await client.answers.send_binary(result, more)
        return
    statement.cursor = Cursor(result, row_encoder(result.columns, client.answers.charset, binary=True))
    client.answers.put_columns(result)
    client.answers.put_end(Status.CURSOR_EXISTS)


async def fetch(client: Client, body: bytes, session: Session) -> None:
    reader = Reader(body)
    statement, count = client.prepared.get(reader.uint(4)), reader.uint(4)
    client.show("Fetch", statement.sql)
    if statement.cursor is None:
        raise SyncError(Code.NO_CURSOR, id=statement.id)
    try:
        client.limit_time(*session.query_timeout(statement.sql))
        ended = await _put_rows(client, statement.cursor, count)
    except BaseException:
        await client.prepared.close_cursor(statement)
        raise
    if ended:
        await client.prepared.close_cursor(statement)
    client.answers.put_end(Status.LAST_ROW_SENT if ended else Status.CURSOR_EXISTS)


async def _put_rows(client: Client, cursor: Cursor, count: int) -> bool:
    """Whether the rows have ended."""
    for _ in range(count):
        row = await cursor.next()
        if row is None:
            return True
        await client.answers.put_row(row)
    return False


async def send_long_data(client: Client, body: bytes, _session: Session) -> None:
    """Never answers, by the protocol."""
    reader = Reader(body)
    client.prepared.append(reader.uint(4), reader.uint(2), reader.rest())


async def close(client: Client, body: bytes, _session: Session) -> None:
    """Never answers."""
    await client.prepared.remove(Reader(body).uint(4))


async def reset(client: Client, body: bytes, _session: Session) -> None:
    statement = client.prepared.get(Reader(body).uint(4))
    client.prepared.forget_data(statement)
    await client.prepared.close_cursor(statement)
    client.answers.put_ok()
