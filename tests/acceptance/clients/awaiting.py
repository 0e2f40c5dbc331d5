"""Drivers of asyncio: aiomysql and asyncmy, which have one interface.

Owns: how they are asked for what the checks need. Run as `awaiting.py NAME`.
Must not know: the right answers.
"""

import asyncio
import importlib
import ssl
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from checks import DATABASE, HOST, MANY, ODD_TEXT, PASSWORD, PORT, SLOW, USER, VALUES, VALUES_ARE, equal, report

NAME = sys.argv[1]
driver = importlib.import_module(NAME)
errors = importlib.import_module("pymysql.err" if NAME == "aiomysql" else "asyncmy.errors")


@asynccontextmanager
async def cursor(**options: Any) -> Any:
    connection = await driver.connect(
        host=HOST, port=PORT, user=USER, password=PASSWORD, db=DATABASE, charset="utf8mb4", **options
    )
    try:
        async with connection.cursor() as it:
            yield it
    finally:
        connection.close()


async def ask(sql: str, parameters: Sequence[Any] = (), **options: Any) -> list[tuple[Any, ...]]:
    async with cursor(**options) as it:
        await it.execute(sql, tuple(parameters) or None)
        return [tuple(row) for row in await it.fetchall()]


async def login() -> None:
    [(user,)] = await ask("SELECT CURRENT_USER()")
    equal(user.split("@")[0], USER)


async def tls() -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    [(_, cipher)] = await ask("SHOW STATUS LIKE 'Ssl_cipher'", ssl=context)
    equal(bool(cipher), True)


async def values() -> None:
    equal(await ask(VALUES), [VALUES_ARE])


async def prepared() -> None:
    equal(await ask("SELECT %s, %s, %s", (ODD_TEXT, 42, None)), [(ODD_TEXT, 42, None)])


async def rows() -> None:
    equal([row[0] for row in await ask(MANY)], list(range(10_000)))


async def metadata() -> None:
    where = f"table_schema = '{DATABASE}'"
    equal(await ask(f"SELECT table_name FROM information_schema.tables WHERE {where}"), [("orders",)])


async def refusals() -> None:
    async with cursor() as it:
        for sql, number in (("SELEC 1", 1064), ("DESCRIBE nothing", 1146), ("USE nothing", 1049)):
            try:
                await it.execute(sql)
            except errors.MySQLError as error:
                equal(error.args[0], number)
            else:
                raise AssertionError(f"{sql} went through")
        await it.execute("SELECT 42")
        equal((await it.fetchall())[0][0], 42)


async def kill() -> None:
    async with cursor() as it:
        await it.execute("SELECT CONNECTION_ID()")
        [(connection_id,)] = await it.fetchall()
        running = asyncio.create_task(it.execute(SLOW))
        async with cursor() as other:
            while not running.done():  # a KILL may come before the query
                await asyncio.wait((running,), timeout=1)
                await other.execute(f"KILL QUERY {connection_id}")
        try:
            await running
        except errors.MySQLError as error:
            equal(error.args[0], 1317)
        else:
            raise AssertionError("the query went on to its end")


def at_once(check: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    async def run() -> None:
        await check()

    return lambda: asyncio.run(run())


CHECKS = {
    "login": login,
    "tls": tls,
    "values": values,
    "prepared": prepared,
    "many rows": rows,
    "metadata": metadata,
    "errors": refusals,
    "kill": kill,
}

if __name__ == "__main__":
    report(version(NAME), {name: at_once(check) for name, check in CHECKS.items()})
