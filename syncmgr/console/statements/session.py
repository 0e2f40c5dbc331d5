"""The statements of one connection.

Owns: from the text of a packet to the result of each statement in it, and the time that each may take.
Must not know: packets; what a statement does.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from typing import TypeVar

from syncmgr.console.audit.announcing import CHANGES_NOTHING, Asking, announce
from syncmgr.console.audit.mask import mask
from syncmgr.console.commands.client import INFO_SIZE, Client
from syncmgr.console.commands.running import Interrupt
from syncmgr.console.limits import Limits
from syncmgr.console.ports import Frontend
from syncmgr.console.registry import Registry
from syncmgr.console.statements.execution.context import Context
from syncmgr.console.statements.execution.table import EXECUTIONS
from syncmgr.console.statements.hints import (
    asked_again,
    asks_for_counts,
    is_short_show,
    nested_too_deeply,
    one_at_a_time,
    read,
    syntax,
    timeout_of,
    too_many,
)
from syncmgr.console.statements.nearest import with_nearest
from syncmgr.console.statements.show import metadata, show
from syncmgr.console.statements.variables import DIALECT
from syncmgr.console.wire.placeholders import placeholders
from syncmgr.console.wire.results import Column, Done, Result, Rows
from syncmgr.console.workers import Workers
from syncmgr.errors import Code, SyncError
from syncsql import (
    ExplainSelect,
    Name,
    NestedTooDeeplyError,
    Parsed,
    Select,
    ShowMeta,
    SqlSyntaxError,
    TooLargeError,
)

T = TypeVar("T")


class StatementSession:
    """Lives on the event loop; everything that blocks goes to the workers."""

    def __init__(
        self, client: Client, registry: Registry, *, frontend: Frontend, workers: Workers, limits: Limits
    ) -> None:
        self._context = Context(client, registry, frontend=frontend, workers=workers, limits=limits)
        self._client = client

    async def use(self, db: str) -> None:
        """Raises UNKNOWN_DATABASE."""
        await self._with_nearest(self._context.use(db))

    def greeted(self, attributes: Mapping[str, str]) -> None:
        """Of the connection: one may name the dialect of its SELECTs. Raises WRONG_VALUE."""
        if DIALECT in attributes:
            self._context.variables.set(DIALECT, attributes[DIALECT])

    async def _with_nearest(self, asked: Awaitable[T]) -> T:
        """The error about a name that does not exist suggests the one that may have been meant."""
        try:
            return await asked
        except SyncError as error:
            raise await self._context.slow(with_nearest, error, self._context.frontend) from error

    async def execute(self, sql: str, *, multi: bool) -> AsyncGenerator[tuple[Result, bool], None]:
        """Each statement's result, and whether more follow. All are parsed before the first runs."""
        since: float | None = self._client.since
        self._client.limit_time(self.statement_timeout(sql), since=since)
        parsed = await self._parse(sql, multi=multi)
        if not parsed:
            yield Done(), False  # only a comment: MySQL answers OK
        for left, each in reversed(list(enumerate(reversed(parsed)))):
            statement = each.statement
            self._context.remarks.begin(asks=asks_for_counts(each.text), keeps=isinstance(statement, ShowMeta))
            self._limit_time(each, since)
            self._announce(each)
            if since is None:
                await asyncio.sleep(0)  # others are answered between two statements of one packet
            since = None  # for those that follow, the time begins when they do
            yield await self._with_nearest(EXECUTIONS[type(statement)](self._context, statement)), left > 0

    async def _parse(self, sql: str, *, multi: bool) -> tuple[Parsed, ...]:
        most = self._context.limits.max_query
        try:
            parsed = asked_again(sql) if is_short_show(sql) else await self._context.read(read, sql, most)
        except TooLargeError as error:
            raise too_many(error) from error
        except NestedTooDeeplyError as error:
            raise nested_too_deeply(error) from error
        except SqlSyntaxError as error:
            raise syntax(error.reason, near=error.near, line=error.line, column=error.column) from error
        if not sql.strip(" \t\r\n;\0"):
            raise SyncError(Code.EMPTY_QUERY)
        if len(parsed) > 1 and not multi:
            raise one_at_a_time(sql, parsed)
        return parsed

    def _announce(self, parsed: Parsed) -> None:
        if isinstance(parsed.statement, CHANGES_NOTHING):
            return
        asking = Asking(
            connection=self._client.id,
            user=str(self._client.account),
            host=self._client.host,
            db=self._client.db,
            statement=mask(parsed.text[:INFO_SIZE]),
        )
        announce(parsed.statement, asking, self._context.house.audit)

    async def fields(self, table: str) -> Sequence[Column]:
        name, catalog = Name(name=table), self._context.frontend.catalog
        found = await self._context.slow(metadata.table, catalog, name, self._client.db)
        return [Column(name=column.name, table=found.name, db=found.db) for column in found.columns]

    async def placeholders(self, sql: str) -> tuple[int, ...]:
        return await self._context.read(placeholders, sql)

    def statement_timeout(self, text: str) -> float:
        return timeout_of(text) or self._context.variables.statement_timeout

    def query_timeout(self, text: str) -> tuple[float, Interrupt]:
        own, most = self.statement_timeout(text), self._context.limits.max_query_second
        return (most, Interrupt.CEILING) if most and not 0 < own <= most else (own, Interrupt.TIMEOUT)

    def _limit_time(self, parsed: Parsed, since: float | None) -> None:
        is_query = isinstance(parsed.statement, Select | ExplainSelect)
        time = self.query_timeout(parsed.text) if is_query else (self.statement_timeout(parsed.text),)
        self._client.limit_time(*time, since=since)

    def wait_timeout(self) -> float:
        return self._context.variables.wait_timeout

    def processlist(self) -> Rows:
        return show.processlist(self._context.seen_connections(), full=False).result()

    def kill(self, connection_id: int, *, query: bool) -> None:
        self._context.registry.kill(connection_id, query=query, of=self._context.others())

    def statistics(self) -> str:
        return self._context.registry.statistics()

    def failed(self, error: SyncError) -> None:
        self._context.remarks.fail(error)

    def reset(self) -> None:
        self._context.reset()
