"""Statements and logins of clients that do not speak MySQL's protocol.

Owns: how they enter the event loop of the console, and that they are connections like all others: counted, listed,
killed and audited.
Must not know: HTTP, what a statement does.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from syncmgr.accounts.user import Account
from syncmgr.console.commands.client import Client
from syncmgr.console.commands.port import Session
from syncmgr.console.commands.running import RunningCommand
from syncmgr.console.limits import Limits, too_long
from syncmgr.console.login.login import Gate
from syncmgr.console.login.password_login import PROTO, PasswordLogin
from syncmgr.console.memory import size_of
from syncmgr.console.registry import Registry
from syncmgr.console.wire.results import Column, Done, Row, Rows
from syncmgr.errors import Code, SyncError

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who calls, and from where. `cipher`: of its connection, name and version; None: it has no TLS."""

    account: Account
    user: str
    address: str
    port: int
    cipher: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a statement has returned. `more`: there are more rows than were wanted."""

    columns: tuple[Column, ...] = ()
    rows: Sequence[Row] = ()
    more: bool = False
    affected: int = 0


class NoWire:
    """What stands for the stream of such a client: its answers are no packets."""

    protocol: Final = PROTO
    pending: Final = 0
    algorithm: Final = None

    def __init__(self, cipher: tuple[str, str] | None) -> None:
        self.gone = asyncio.Event()
        self._cipher = cipher

    def put(self, _: bytes) -> None:
        raise AssertionError("no packet is sent to it")

    async def flush(self) -> None: ...

    def cipher(self) -> tuple[str, str] | None:
        return self._cipher

    def abort(self) -> None:
        self.gone.set()


class Call:
    """One statement as a connection of the registry."""

    def __init__(self, call_id: int, caller: Caller, limits: Limits, gate: Gate) -> None:
        peer = caller.address, caller.port
        self.client = Client(call_id, NoWire(caller.cipher), peer=peer, limits=limits, memory=gate.memory)
        self.client.account, self.client.user = caller.account, caller.user

    @property
    def id(self) -> int:
        return self.client.id

    @property
    def running(self) -> RunningCommand:
        return self.client.running

    def leave(self) -> None:
        """It does so after its only statement."""


class Calls:
    """Every coroutine may be awaited in any event loop; cancelling it ends what runs."""

    def __init__(
        self,
        gate: Gate,
        registry: Registry,
        session_for: Callable[[Client, Registry], Session],
        new_id: Callable[[], int],
    ) -> None:
        self._gate, self._registry, self._session_for, self._new_id = gate, registry, session_for, new_id
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way: set[asyncio.Task[Any]] = set()

    def open(self, under_way: set[asyncio.Task[Any]]) -> None:
        """In the event loop of the console; `under_way`: what it waits for at its end."""
        self._loop, self._under_way = asyncio.get_running_loop(), under_way

    def close(self) -> None:
        """Nobody enters any more."""
        self._loop = None

    async def log_in(self, name: str, password: str, *, address: str, is_direct: bool, is_secure: bool) -> Account:
        """Raises ACCESS_DENIED, LOGIN_REFUSED, SECURE_TRANSPORT, SHUTTING_DOWN, READ_TIMEOUT."""
        if self._gate.requires_tls() and not is_secure:
            raise SyncError(Code.SECURE_TRANSPORT)
        login = PasswordLogin(self._gate, host=address, is_direct=is_direct)
        return await self._inside(self._log_in(login, name, password))

    async def _log_in(self, login: PasswordLogin, name: str, password: str) -> Account:
        try:
            async with asyncio.timeout(self._gate.limits.connect_timeout):
                return await login.run(name, password)
        except TimeoutError:
            raise SyncError(Code.READ_TIMEOUT) from None

    async def run(self, caller: Caller, sql: str, *, db: str | None = None, most_rows: int) -> Answer:
        """One statement. Raises what it raises, TOO_MANY_CONNECTIONS, TOO_MANY_OF_USER, SHUTTING_DOWN."""
        if len(sql.encode(errors="replace")) > self._gate.limits.max_statement:
            raise too_long(self._gate.limits.max_statement)
        return await self._inside(self._run(caller, sql, db, most_rows))

    async def _inside(self, work: Coroutine[Any, Any, T]) -> T:
        loop = self._loop
        if loop is None or loop.is_closed():
            work.close()
            raise SyncError(Code.SHUTTING_DOWN)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._counted(work), loop))

    async def _counted(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None, "it was made for this"
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await work

    async def _run(self, caller: Caller, sql: str, db: str | None, most_rows: int) -> Answer:
        self._gate.admit(caller.account, True)
        call = Call(self._new_id(), caller, self._gate.limits, self._gate)
        client, found = call.client, list[Answer]()
        self._registry.connections[call.id] = call
        client.begins()
        client.show("Query", sql)
        session = self._session_for(client, self._registry)
        try:
            await client.running.run(self._answer(client, session, sql, db, most_rows, found.append))
        except SyncError as error:
            client.error = error.code.number
            raise
        except RecursionError:
            client.error = Code.NESTED_TOO_DEEPLY.number
            raise SyncError(Code.NESTED_TOO_DEEPLY) from None
        except asyncio.CancelledError:
            client.error = Code.INTERRUPTED.number
            raise
        except Exception as error:
            client.error = Code.INTERNAL.number
            log.exception("connection %d: a statement failed unexpectedly: %s", call.id, client.info)
            raise SyncError(Code.INTERNAL, message=f"Internal error: {type(error).__name__}: {error}") from error
        finally:
            client.audit()
            client.share.close()
            self._registry.remove(call)
        return found[0]

    async def _answer(
        self,
        client: Client,
        session: Session,
        sql: str,
        db: str | None,
        most_rows: int,
        put: Callable[[Answer], None],
    ) -> None:
        if db:
            await session.use(db)
        async with aclosing(session.execute(sql, multi=False)) as results:
            async for result, _ in results:
                put(result_of(result) if isinstance(result, Done) else await _gathered(client, result, most_rows))


def result_of(done: Done) -> Answer:
    return Answer(affected=done.affected)


async def _gathered(client: Client, result: Rows, most_rows: int) -> Answer:
    """Its first rows, in the memory that the connection may hold. Raises MEMORY_FULL."""
    rows, more = list[Row](), False
    async with aclosing(result.batches) as batches:
        async for batch in batches:
            more = _take(client, batch, rows, most_rows)
            if more:
                break
            await asyncio.sleep(0)  # others are answered in between
    client.answers.rows += len(rows)
    return Answer(columns=result.columns, rows=rows, more=more)


def _take(client: Client, batch: Iterable[Row], rows: list[Row], most_rows: int) -> bool:
    """Whether there are more rows than wanted."""
    for row in batch:
        if len(rows) >= most_rows:
            return True
        client.share.hold(size_of(*row))
        rows.append(row)
    return False
