"""The answers of commands that need no prepared statement.

Owns: COM_QUERY and its neighbours.
Must not know: SQL, logins.
"""

import asyncio
from contextlib import aclosing

from syncmgr.console.commands.client import Client
from syncmgr.console.commands.port import Session
from syncmgr.console.wire.packet import Reader
from syncmgr.console.wire.protocol import Capability, Option
from syncmgr.errors import Code, SyncError


async def init_db(client: Client, body: bytes, session: Session) -> None:
    client.command = "Init DB"
    await session.use(client.charset.decode(body))
    client.answers.put_ok()


async def query(client: Client, body: bytes, session: Session) -> None:
    sql = client.text(body)
    client.show("Query", sql)
    async with aclosing(session.execute(sql, multi=client.answers.can(Capability.MULTI_STATEMENTS))) as results:
        async for result, more in results:
            await client.answers.send(result, more)


async def ping(client: Client, _body: bytes, _session: Session) -> None:
    client.answers.put_ok()


async def field_list(client: Client, body: bytes, session: Session) -> None:
    client.command = "Field List"
    for column in await session.fields(client.charset.decode(Reader(body).until_nul())):
        client.answers.put_column(column, b"\xfb")
    client.answers.put_end()


async def statistics(client: Client, _body: bytes, session: Session) -> None:
    client.answers.stream.put(session.statistics().encode())


async def process_info(client: Client, _body: bytes, session: Session) -> None:
    await client.answers.send(session.processlist())


async def process_kill(client: Client, body: bytes, session: Session) -> None:
    number = Reader(body).uint(4)
    client.show("Kill", f"KILL {number}")
    session.kill(number, query=False)
    await asyncio.sleep(0)  # if a connection has ended itself, that is its answer
    client.answers.put_ok()


async def set_option(client: Client, body: bytes, _session: Session) -> None:
    match Reader(body).uint(2):
        case Option.MULTI_STATEMENTS_ON:
            client.answers.capabilities |= Capability.MULTI_STATEMENTS.value
        case Option.MULTI_STATEMENTS_OFF:
            client.answers.capabilities &= ~Capability.MULTI_STATEMENTS.value
        case _:
            raise SyncError(Code.UNKNOWN_COMMAND)
    client.answers.put_end()


async def reset_connection(client: Client, _body: bytes, session: Session) -> None:
    await forget(client, session)
    client.answers.put_ok()


async def forget(client: Client, session: Session) -> None:
    """What a session holds besides its account."""
    await client.prepared.clear()
    session.reset()
