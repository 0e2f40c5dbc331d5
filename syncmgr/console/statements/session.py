"""What a client's statements do.

Owns: the state of a session, and which part of the house each statement is for.
Must not know: packets; how jobs, the catalog or the lake do their work.
"""

import asyncio
import datetime as dt
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import Concatenate, Final, ParamSpec, TypeVar, assert_never

from syncmgr.accounts.user import Account
from syncmgr.console.audit.announcing import CHANGES_NOTHING, Asking, announce
from syncmgr.console.audit.mask import mask
from syncmgr.console.authorization import Access, Authorized
from syncmgr.console.commands.client import INFO_SIZE, Client
from syncmgr.console.commands.running import Interrupt
from syncmgr.console.limits import KiB, Limits, too_long
from syncmgr.console.memory import size_of
from syncmgr.console.ports import Frontend
from syncmgr.console.registry import Registry
from syncmgr.console.statements import accounts, job_changes, time_zone
from syncmgr.console.statements import help as help_topics
from syncmgr.console.statements.accounts import UserStatement
from syncmgr.console.statements.diagnostics import Remarks
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
from syncmgr.console.statements.job_changes import JobChange
from syncmgr.console.statements.local.local_select import LocalSelect, SessionFacts, question
from syncmgr.console.statements.local.sqlite_engine import SqliteEngine, rows_of
from syncmgr.console.statements.nearest import with_nearest
from syncmgr.console.statements.row_limit import first, has_limit, with_offsets
from syncmgr.console.statements.show import information_schema, metadata, show
from syncmgr.console.statements.show.information_schema import Present
from syncmgr.console.statements.show.show import CONSTANT, Listing, filtered, listing
from syncmgr.console.statements.time_travel import pinned, pins
from syncmgr.console.statements.variables import Variables
from syncmgr.console.statements.who import with_asker
from syncmgr.console.wire.charset import by_name
from syncmgr.console.wire.placeholders import placeholders
from syncmgr.console.wire.results import Column, Done, Result, Row, Rows
from syncmgr.console.workers import Workers
from syncmgr.errors import Code, Remark, SyncError
from syncmgr.job.show_sync import EXPLAIN_COLUMNS, SHOW_COLUMNS
from syncsql import (
    AdminSetFrontendConfig,
    AlterUser,
    CreateDatabase,
    CreateTable,
    CreateUser,
    DescribeTable,
    DropDatabase,
    DropTable,
    DropUser,
    ExplainSelect,
    ExplainSync,
    Filter,
    Grant,
    Help,
    Kill,
    MetaKind,
    Name,
    NestedTooDeeplyError,
    Parsed,
    Revoke,
    Scope,
    Select,
    Set,
    SetCharacterSet,
    SetItem,
    SetNames,
    SetPassword,
    SetTransaction,
    SetUserVariable,
    SetValue,
    SetVariable,
    ShowColumns,
    ShowCreateDatabase,
    ShowCreateSync,
    ShowCreateTable,
    ShowDatabases,
    ShowFrontendConfig,
    ShowGrants,
    ShowMeta,
    ShowProcesslist,
    ShowSync,
    ShowTables,
    SqlSyntaxError,
    Statement,
    TooLargeError,
    Transaction,
    Use,
    ValueKind,
)

P = ParamSpec("P")
T = TypeVar("T")

MAX_USER_VARIABLES: Final = 1000
MAX_SET_EXPRESSION: Final = 4 * KiB
CONFIG_COLUMNS: Final = ("Key", "Value", "Type", "IsMutable", "MasterOnly", "Comment")

JobStatement = JobChange | ExplainSync | ShowSync | ShowCreateSync
LakeStatement = CreateDatabase | DropDatabase | CreateTable | DropTable | Use | Select | ExplainSelect
CatalogQuestion = ShowDatabases | ShowCreateDatabase | ShowTables | ShowCreateTable | ShowColumns | DescribeTable
ServerStatement = ShowProcesslist | Kill | ShowFrontendConfig | AdminSetFrontendConfig | Help


class StatementSession:
    """One connection's statements. Lives on the event loop; everything that blocks goes to the workers."""

    def __init__(
        self, client: Client, registry: Registry, *, frontend: Frontend, workers: Workers, limits: Limits
    ) -> None:
        self._client = client
        self._registry = registry
        access = Access(who=lambda: client.account, host=client.host, rights_of=frontend.users.rights)
        self._frontend = Authorized(frontend, access)
        self._house = frontend  # for what an administrator alone asks
        self._workers = workers
        self._limits = limits
        self._variables = Variables(limits, port=registry.port)
        self._user_variables: dict[str, int | str | None] = {}
        self._remarks = Remarks()
        self._queries = itertools.count(1)

    # what the connection asks

    async def use(self, db: str) -> None:
        """Raises UNKNOWN_DATABASE."""
        await self._with_nearest(self._use(db))

    async def _with_nearest(self, asked: Awaitable[T]) -> T:
        """A name that is not there is told with the one that may have been meant."""
        try:
            return await asked
        except SyncError as error:
            raise await self._workers.slow(with_nearest, error, self._frontend) from error

    async def _use(self, db: str) -> None:
        await self._workers.slow(metadata.check_database, self._frontend.catalog, db)
        self._client.db = db
        self._client.changes.schema(db)

    async def execute(self, sql: str, *, multi: bool) -> AsyncGenerator[tuple[Result, bool], None]:
        """Each statement's result, and whether more follow. All are parsed before the first runs."""
        since: float | None = self._client.since
        self._client.limit_time(self.statement_timeout(sql), since=since)
        parsed = await self._parse(sql, multi=multi)
        if not parsed:
            yield Done(), False  # a comment alone: MySQL answers OK
        for left, each in reversed(list(enumerate(reversed(parsed)))):
            statement = each.statement
            self._remarks.begin(asks=asks_for_counts(each.text), keeps=isinstance(statement, ShowMeta))
            self._limit_time(each, since)
            self._announce(each)
            since = None  # of those that follow, the time begins when they do
            yield await self._with_nearest(self._run(statement)), left > 0

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
        announce(parsed.statement, asking, self._house.audit)

    async def fields(self, table: str) -> Sequence[Column]:
        found = await self._workers.slow(metadata.table, self._frontend.catalog, Name(name=table), self._client.db)
        return [Column(name=column.name, table=found.name, db=found.db) for column in found.columns]

    async def placeholders(self, sql: str) -> tuple[int, ...]:
        return await self._read(placeholders, sql)

    async def _read(self, call: Callable[Concatenate[str, P], T], text: str, *args: P.args, **kwargs: P.kwargs) -> T:
        """What is made of a text; every account has its turn."""
        return await self._workers.read(str(self._client.account), call, text, *args, **kwargs)

    def statement_timeout(self, text: str) -> float:
        return timeout_of(text) or self._variables.statement_timeout

    def query_timeout(self, text: str) -> tuple[float, Interrupt]:
        own, most = self.statement_timeout(text), self._limits.max_query_second
        return (most, Interrupt.CEILING) if most and not 0 < own <= most else (own, Interrupt.TIMEOUT)

    def _limit_time(self, parsed: Parsed, since: float | None) -> None:
        is_query = isinstance(parsed.statement, Select | ExplainSelect)
        time = self.query_timeout(parsed.text) if is_query else (self.statement_timeout(parsed.text),)
        self._client.limit_time(*time, since=since)

    def wait_timeout(self) -> float:
        return self._variables.wait_timeout

    def processlist(self) -> Rows:
        return show.processlist(self._seen_connections(), full=False).result()

    def _seen_connections(self) -> list[Row]:
        return self._registry.processlist(self._registry_of())

    def _registry_of(self) -> Account | None:
        """Whose connections may be seen and killed; None: everybody's."""
        access = self._frontend.access
        return None if access.rights.is_operator else access.account

    def kill(self, connection_id: int, *, query: bool) -> None:
        self._registry.kill(connection_id, query=query, of=self._registry_of())

    def statistics(self) -> str:
        return self._registry.statistics()

    def failed(self, error: SyncError) -> None:
        self._remarks.fail(error)

    def reset(self) -> None:
        self._variables.reset()
        self._client.share.give_back(sum(size_of(*each) for each in self._user_variables.items()))
        self._user_variables.clear()
        self._remarks.forget()
        self._client.autocommit = True
        self._client.changes.forget()

    # statements

    async def _parse(self, sql: str, *, multi: bool) -> tuple[Parsed, ...]:
        try:
            parsed = asked_again(sql) if is_short_show(sql) else await self._read(read, sql, self._limits.max_query)
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

    async def _run(self, statement: Statement) -> Result:
        if isinstance(statement, JobStatement):
            return await self._on_jobs(statement)
        if isinstance(statement, CatalogQuestion):
            return (await self._on_catalog(statement)).result()
        match statement:
            case CreateDatabase() | DropDatabase() | CreateTable() | DropTable() | Use() | Select() | ExplainSelect():
                return await self._on_lake(statement)
            case ShowProcesslist() | Kill() | ShowFrontendConfig() | AdminSetFrontendConfig() | Help():
                return await self._on_server(statement)
            case ShowMeta():
                return await self._show(await self._meta(statement), statement.filter, statement)
            case CreateUser() | AlterUser() | DropUser() | SetPassword() | Grant() | Revoke() | ShowGrants():
                return await self._on_users(statement)
            case Set() | Transaction():
                for item in statement.items if isinstance(statement, Set) else ():
                    self._set(item)
                return Done()
            case _:
                assert_never(statement)

    async def _on_users(self, statement: UserStatement | ShowGrants) -> Result:
        users, own = self._frontend.users, self._client.account
        if isinstance(statement, ShowGrants):
            return accounts.show_grants(statement, users, own).result()
        return self._done(await self._workers.quick(accounts.change, statement, users, own))

    async def _on_jobs(self, statement: JobStatement) -> Result:
        jobs, db, quick = self._frontend.jobs, self._client.db, self._workers.quick
        match statement:
            case ExplainSync():
                return listing(EXPLAIN_COLUMNS, await self._ask(jobs.explain, statement, db)).result()
            case ShowSync():
                return await self._show_sync(statement)
            case ShowCreateSync():
                text = await quick(jobs.create_text, statement.job, db)
                return listing(("Job", "Create Sync Job"), [(statement.job.name, text)]).result()
            case _:
                run = self._ask if job_changes.asks_source(statement) else quick
                return self._done(await run(job_changes.change, statement, jobs, db))

    async def _ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What waits for a source; every account has its turn."""
        return await self._workers.ask(str(self._client.account), call, *args, **kwargs)

    async def _show_sync(self, statement: ShowSync) -> Rows:
        rows = await self._jobs_of(statement.db or self._client.db)
        if statement.db is not None and not rows:
            # only now is the lake asked, which may still be starting
            await self._check_database(statement.db)
        return await self._show(listing(SHOW_COLUMNS, rows, like="JobName"), statement.filter, statement)

    async def _jobs_of(self, db: str | None) -> list[tuple[str | None, ...]]:
        """Who may see everything is answered together with the others who may."""
        if not self._frontend.access.rights.is_admin:
            return await self._workers.quick(self._frontend.jobs.show, db)
        return await self._workers.shown.ask(db, lambda: self._workers.quick(self._house.jobs.show, db))

    async def _check_database(self, db: str) -> None:
        if not self._frontend.access.rights.is_admin:
            return await self._workers.slow(metadata.check_database, self._frontend.catalog, db)
        check = partial(self._workers.slow, metadata.check_database, self._house.catalog, db)
        return await self._workers.known.ask(db, check)

    async def _on_lake(self, statement: LakeStatement) -> Result:
        catalog, slow = self._frontend.catalog, self._workers.slow
        match statement:
            case CreateDatabase():
                remarks = await slow(catalog.create_database, statement.name, if_not_exists=statement.if_not_exists)
                return self._done(remarks, affected=1)
            case DropDatabase():
                name, options = statement.name, {"if_exists": statement.if_exists, "force": statement.force}
                remarks = await slow(catalog.drop_database, name, **options)
                if self._client.db == name:
                    self._client.db = None
                    self._client.changes.schema("")
                return self._done(remarks)
            case CreateTable():
                return self._done(await slow(catalog.create_table, statement, self._client.db))
            case DropTable():
                return self._done(await slow(catalog.drop_table, statement, self._client.db))
            case Use():
                await self._use(statement.db)
            case Select():
                return await self._select(statement.text)
            case ExplainSelect():
                return await self._ask_lake(await self._at_points(statement.sql()))
            case _:
                assert_never(statement)
        return Done()

    def _done(self, remarks: tuple[Remark, ...], *, affected: int = 0) -> Done:
        """OK, with the count of what SHOW WARNINGS tells until the next statement."""
        self._remarks.tell(remarks)
        return Done(affected=affected, warnings=len(remarks))

    async def _on_catalog(self, statement: CatalogQuestion) -> Listing:
        catalog, db, slow = self._frontend.catalog, self._client.db, self._workers.slow
        match statement:
            case ShowDatabases():
                found = show.databases(await slow(catalog.databases))
                return await self._filtered(found, statement.filter)
            case ShowCreateDatabase():
                return await slow(metadata.create_database, catalog, statement.name)
            case ShowTables():
                found = await slow(metadata.tables, catalog, metadata.named(statement.db, db), full=statement.full)
                return await self._filtered(found, statement.filter)
            case ShowCreateTable():
                return await slow(metadata.create_table, catalog, statement.table, db)
            case ShowColumns():
                table = await slow(metadata.table, catalog, statement.table, db)
                return await self._filtered(show.columns(table, full=statement.full), statement.filter)
            case DescribeTable():
                return show.columns(await slow(metadata.table, catalog, statement.table, db), full=False)
            case _:
                assert_never(statement)

    async def _on_server(self, statement: ServerStatement) -> Result:
        config, quick = self._frontend.config, self._workers.quick
        match statement:
            case ShowProcesslist():
                return show.processlist(self._seen_connections(), full=statement.full).result()
            case Kill():
                self.kill(statement.id, query=statement.query)
                await asyncio.sleep(0)  # where a connection has ended itself, that is its answer
            case ShowFrontendConfig():
                shown = listing(CONFIG_COLUMNS, await quick(config.show))
                return (await self._filtered(shown, statement.filter)).result()
            case AdminSetFrontendConfig():
                for each in statement.settings:
                    await quick(config.set, each.key, each.value)
            case Help():
                return listing(*help_topics.answer(statement.topic)).result()
            case _:
                assert_never(statement)
        return Done()

    async def _show(self, shown: Listing, choice: Filter, statement: ShowSync | ShowMeta) -> Rows:
        order = statement.order_by if isinstance(statement, ShowSync) else ()
        if choice == show.EVERYTHING and not order and statement.limit is None:
            return shown.result()
        return (await self._workers.quick(filtered, shown, choice, order=order, limit=statement.limit)).result()

    async def _filtered(self, shown: Listing, choice: Filter) -> Listing:
        return shown if choice == show.EVERYTHING else await self._workers.quick(filtered, shown, choice)

    async def _meta(self, statement: ShowMeta) -> Listing:
        catalog, db, slow = self._frontend.catalog, self._client.db, self._workers.slow
        match statement.kind:
            case MetaKind.VARIABLES:
                return listing(("Variable_name", "Value"), self._variables.rows())
            case MetaKind.STATUS:
                return listing(("Variable_name", "Value"), self._status())
            case MetaKind.FRONTENDS:
                self._frontend.access.need_operator()
                clock = self._asker().now
                return show.frontend(self._registry.port, started=clock - dt.timedelta(seconds=self._registry.uptime))
            case MetaKind.WARNINGS | MetaKind.COUNT_WARNINGS | MetaKind.ERRORS | MetaKind.COUNT_ERRORS as kind:
                return show.remarks(kind, self._remarks.told)
            case MetaKind.INDEX:
                name = Name(name=str(statement.table), db=statement.db)
                return show.index(await slow(metadata.table, catalog, name, db))
            case MetaKind.TABLE_STATUS:
                return await slow(metadata.table_status, catalog, metadata.named(statement.db, db))
            case kind:
                return CONSTANT[kind]()

    def _status(self) -> list[tuple[str, str]]:
        cipher, version = self._client.stream.cipher() or ("", "")
        algorithm = self._client.stream.algorithm
        return [
            *self._audit_status(),
            ("Compression", "OFF" if algorithm is None else "ON"),
            ("Compression_algorithm", "" if algorithm is None else algorithm.name),
            ("Connection_memory", str(self._client.share.held)),
            ("Global_connection_memory", str(self._client.share.of_all)),
            ("Queries", str(self._registry.questions)),
            ("Questions", str(self._client.commands)),
            ("Ssl_cipher", cipher),
            ("Ssl_version", version),
            ("Threads_connected", str(len(self._registry.connections))),
            ("Uptime", str(self._registry.uptime)),
        ]

    def _audit_status(self) -> list[tuple[str, str]]:
        """For operators, and their alerts."""
        if not self._frontend.access.rights.is_operator:
            return []
        audit = self._house.audit
        state = "OFF" if not audit.is_on else "FAILING" if audit.trouble else "OK"
        return [("Audit_error", audit.trouble), ("Audit_lines_lost", str(audit.lost)), ("Audit_state", state)]

    # SELECT

    async def _select(self, text: str) -> Rows:
        rows, most = await self._selected(text), self._variables.select_limit
        return rows if most is None or await self._read(has_limit, text) else first(rows, most)

    async def _selected(self, text: str) -> Rows:
        asked = await self._read(question, text, self._asker())
        if asked is None:
            return await self._ask_lake(await self._at_points(await self._read(with_offsets, text)))
        if asked.tables:
            house, present = self._frontend, self._present()
            answered = await self._workers.slow(information_schema.answer, asked, house.catalog, house.history, present)
            return rows_of(*answered)
        return rows_of(*_at_once(asked))

    async def _at_points(self, text: str) -> str:
        found, history = await self._read(pins, text, self._client.db), self._frontend.history
        if not found:
            return text
        return await self._workers.quick(pinned, text, found, lambda at: history.snapshots(at.db, at.job, at.epoch))

    async def _ask_lake(self, sql: str) -> Rows:
        account, client = self._client.account, f"{self._client.user}@{self._client.host}"
        sql = await self._read(with_asker, sql, account=f"{account.name}@{account.host}", client=client)
        tag = f"console-{self._client.id}-{next(self._queries)}"
        db, zone = self._client.db, time_zone.meant(self._variables.time_zone)
        queries, share = self._frontend.queries, self._client.share
        return await self._workers.query(str(account), queries, share, sql=sql, db=db, tag=tag, time_zone=zone)

    def _asker(self) -> SessionFacts:
        return SessionFacts(
            connection_id=self._client.id,
            user=str(self._client.user),
            account=self._client.account,
            host=self._client.host,
            db=self._client.db,
            now=time_zone.clock(dt.datetime.now(dt.UTC), self._variables.time_zone),
            variable=self._variable,
            user_variable=self._user_variables.get,
        )

    def _variable(self, name: str) -> int | str:
        counts = self._remarks.counts()
        return counts[name.lower()] if name.lower() in counts else self._variables[name]

    def _present(self) -> Present:
        return Present(
            processlist=self._seen_connections(),
            variables=self._variables.rows(),
            account=self._client.account,
            rights=self._frontend.access.rights,
        )

    # SET

    def _set(self, item: SetItem) -> None:
        match item:
            case SetVariable():
                self._set_variable(item)
            case SetUserVariable():
                if len(self._user_variables) >= MAX_USER_VARIABLES:
                    raise SyncError(Code.NOT_SUPPORTED, what=f"more than {MAX_USER_VARIABLES} user variables")
                self._remember(item.name.lower(), self._value(item.value))
            case SetNames() | SetCharacterSet():
                self._set_names(item)
            case SetTransaction():
                pass  # every query reads one snapshot, whatever is asked for
            case _:
                assert_never(item)

    def _remember(self, name: str, value: int | str | None) -> None:
        """Raises MEMORY_FULL."""
        share = self._client.share
        if name in self._user_variables:
            share.give_back(size_of(name, self._user_variables.pop(name)))
        share.hold(size_of(name, value))
        self._user_variables[name] = value

    def _set_variable(self, item: SetVariable) -> None:
        if item.scope is not Scope.SESSION:
            raise SyncError(Code.NOT_SUPPORTED, what=f"SET {item.scope}; use ADMIN SET FRONTEND CONFIG")
        name = item.name.lower()
        is_default = item.value.kind is ValueKind.WORD and item.value.text.upper() == "DEFAULT"
        value = None if is_default else self._value(item.value)
        if name == "character_set_results" and value is None:
            value = "utf8mb4"
        if name.startswith("character_set_") and value is not None:
            by_name(str(value))
        self._take_effect(name, self._variables.set(name, None if value is None else str(value)))

    def _take_effect(self, name: str, value: int | str) -> None:
        self._client.changes.variable(name, value)
        match name:
            case "autocommit":
                self._client.autocommit = value == "ON"
            case "character_set_client":
                self._client.charset = by_name(str(value))
            case "character_set_results":
                self._client.result_charset = by_name(str(value))
            case _:
                pass  # it is remembered, and shown

    def _set_names(self, item: SetNames | SetCharacterSet) -> None:
        charset = by_name(item.charset or "utf8mb4")
        self._client.speak(charset)
        for name in ("character_set_client", "character_set_connection", "character_set_results"):
            self._variables.set(name, charset.name)
            self._client.changes.variable(name, charset.name)
        if isinstance(item, SetNames) and item.collation is not None:
            self._variables.set("collation_connection", item.collation)

    def _value(self, value: SetValue) -> int | str | None:
        match value.kind:
            case ValueKind.STRING:
                return value.text
            case ValueKind.NUMBER:
                return int(value.text) if value.text.lstrip("+-").isdecimal() else value.text
            case ValueKind.WORD:
                return {"NULL": None, "TRUE": 1, "FALSE": 0}.get(value.text.upper(), value.text)
            case ValueKind.EXPRESSION:
                return self._expression(value.text)
            case _:
                assert_never(value.kind)

    def _expression(self, text: str) -> int | str | None:
        if len(text) > MAX_SET_EXPRESSION:
            raise too_long(MAX_SET_EXPRESSION)
        asked = question(f"SELECT {text}", self._asker())
        if asked is None or asked.tables:
            raise SyncError(Code.NOT_SUPPORTED, what=f"SET to the expression {text[:60]}")
        _, [[value]] = _at_once(asked)
        return value if isinstance(value, int | None) else str(value)


def _at_once(asked: LocalSelect) -> tuple[Sequence[str], list[Row]]:
    with SqliteEngine() as lite:
        names, rows = lite.ask(asked.sql)
    return asked.names or names, rows
