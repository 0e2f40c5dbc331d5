"""A frontend in memory, that keeps the promises of the console's ports."""

import datetime as dt
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from syncmgr.accounts.user import Account
from syncmgr.console.ports import Allowed, AuditFile, Frontend, Refuse
from syncmgr.control.catalog import defined, statement_of
from syncmgr.control.users import Users
from syncmgr.errors import Code, Diagnostic, SyncError, as_note
from syncmgr.job.metrics.sample import JobSample
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.types.schema import TargetColumn, TargetTable, TargetType
from syncmgr.meta.accounts import StoredUser
from syncsql import (
    AddTables,
    AlterTable,
    Channel,
    CheckSync,
    CreateSync,
    CreateTable,
    DropTable,
    EnableFeature,
    ExplainSync,
    JobAlteration,
    Name,
    RepairSync,
    SetSource,
)
from tests.support.until import HANG_SECOND

ORDERS = TargetTable(
    db="demo",
    name="orders",
    columns=(
        TargetColumn(name="id", type=TargetType(name="BIGINT"), nullable=False),
        TargetColumn(name="status", type=TargetType(name="VARCHAR", args=(16,)), comment="new, paid or sent"),
        TargetColumn(name="amount", type=TargetType(name="DECIMAL", args=(12, 2))),
    ),
    keys=("id",),
    reserved_columns=frozenset(),
)


@dataclass
class FakeJobs:
    """Jobs that change their state and do nothing else. `wait`: for a source."""

    rows: dict[tuple[str, str], list[str | None]] = field(default_factory=dict)
    nodes: dict[tuple[str, str], CreateSync] = field(default_factory=dict)
    creators: list[tuple[str | None, bool]] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(10001))
    wait: Callable[[], object] = lambda: None

    def create(
        self,
        node: CreateSync,
        db: str | None,
        creator: str | None = None,
        *,
        bounded: bool = False,
        allowed: Allowed = lambda: None,
    ) -> tuple[Diagnostic, ...]:
        self.wait()
        allowed()
        self.creators.append((creator, bounded))
        key = self._key(node.job, db)
        if key in self.nodes:
            return as_note(node.if_not_exists, SyncError(Code.JOB_EXISTS, job=key[1], db=key[0]))
        self.nodes[key] = node
        made = [str(next(self.ids)), key[1], "MYSQL", "PENDING", "channel", "{}", "config", "2026-11-21 10:00:00"]
        self.rows[key] = [*made, None, None, None, "X" * 5000]
        return ()

    def explain(self, node: ExplainSync, db: str | None, *, bounded: bool = False) -> list[tuple[str, ...]]:
        self.wait()
        _, name = self._key(node.sync.job, db)
        return [("shop.orders", "demo.orders", "check", name, "ok")]

    def pause(self, name: Name, db: str | None) -> None:
        self._become(name, db, "PAUSED")

    def alter(self, node: JobAlteration, db: str | None, allowed: Allowed) -> None:
        self.wait()
        allowed()
        self.rows[self._key(node.job, db)][6] = node.sql()

    def set_source(self, node: SetSource, db: str | None, allowed: Allowed, *, bounded: bool = False) -> None:
        self.wait()
        allowed()
        self.rows[self._key(node.job, db)][6] = node.masked().sql()

    def add_tables(self, node: AddTables, db: str | None, allowed: Allowed) -> tuple[Diagnostic, ...]:
        self.wait()
        allowed()
        self.rows[self._key(node.job, db)][6] = node.sql()
        return ()

    def resume(self, name: Name, db: str | None) -> None:
        self._become(name, db, "PENDING")

    def stop(self, name: Name, db: str | None) -> tuple[Diagnostic, ...]:
        self._become(name, db, "CANCELLED")
        return ()

    def show(self, db: str | None, ids: Collection[str] | None = None) -> list[tuple[str | None, ...]]:
        shown = [tuple(row) for key, row in list(self.rows.items()) if db is None or key[0] == db]
        return [row for row in shown if ids is None or row[0] in ids]

    def samples(self, db: str | None, ids: Collection[str] | None = None) -> list[JobSample]:
        return []

    def names(self, db: str | None) -> dict[str, tuple[str, str]]:
        return {str(row[0]): key for key, row in list(self.rows.items()) if db is None or key[0] == db}

    def targets(self, ids: Collection[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        named = {str(row[0]): self.nodes[key].channels for key, row in self.rows.items() if str(row[0]) in ids}
        return {
            job_id: tuple(
                (each.target.db or "demo", each.target.name) for each in channels if isinstance(each, Channel)
            )
            for job_id, channels in named.items()
        }

    def create_text(self, name: Name, db: str | None) -> str:
        return self.nodes[self._known(name, db)].masked().sql()

    def _become(self, name: Name, db: str | None, state: str) -> None:
        row = self.rows[self._known(name, db)]
        if row[3] == state:
            raise SyncError(Code.ILLEGAL_TRANSITION, state=state, event=state)
        row[3] = state

    def _known(self, name: Name, db: str | None) -> tuple[str, str]:
        key = self._key(name, db)
        if key not in self.nodes:
            raise SyncError(Code.UNKNOWN_JOB, job=key[1], db=key[0])
        return key

    def _key(self, name: Name, db: str | None) -> tuple[str, str]:
        found = name.db or db
        if found is None:
            raise SyncError(Code.NO_DATABASE)
        return found, name.name


@dataclass
class FakeChecks:
    """Checks of demo.job1, which never end before they are stopped, except those of demo.orders."""

    stopped: list[int] = field(default_factory=list)

    def start(self, node: CheckSync, db: str | None) -> int:
        return 7

    def start_targets(self, names: Sequence[Name], db: str | None) -> int:
        return 8 if names[0].name == "orders" else 9

    def stop(self, check_id: int) -> None:
        self.stopped.append(check_id)

    def repair(self, node: RepairSync, db: str | None) -> int:
        return 9

    def outcome(self, check_id: int) -> list[tuple[str, str, str, str]] | None:
        return [("demo.orders", "check", "status", "OK")] if check_id == 8 else None

    def jobs_of(self, check_id: int) -> Collection[tuple[str, str]]:
        if check_id not in {7, 8, 9}:
            raise SyncError(Code.NO_SUCH_CHECK, id=check_id)
        return [("demo", "job1")]

    def jobs_of_targets(self, names: Sequence[Name], db: str | None) -> Collection[tuple[str, str]]:
        return [("demo", "job1")]


@dataclass
class FakeHistory:
    """One consistent point, 7, of demo.job1 over one table, and one change that was kept out of it."""

    def rows(self, table: str, wanted: WantedRows | None = None) -> list[tuple[object, ...]]:
        at, target = "2026-11-21 10:00:00.000000", ("demo", "orders")
        job = (10001, "demo", "job1", 7)
        change = ("INSERT", "status", "a secret", "it is too long", '{"status": "a secret"}', at, "b.000001", 4)
        return {
            "sync_points": [(*job, at, *target, 42)],
            "sync_dead_letters": [(*job, "shop", "orders", *target, *change)],
        }.get(table, [])

    def snapshots(self, db: str, name: str, epoch: int | None) -> dict[tuple[str, str], int]:
        if (db, name) != ("demo", "job1"):
            raise SyncError(Code.UNKNOWN_JOB, job=name, db=db)
        if epoch not in {None, 7}:
            raise SyncError(Code.NO_SUCH_POINT, job=f"{db}.{name}", at=f" at epoch {epoch}")
        return {("demo", "orders"): 42}


@dataclass
class FakeCatalog:
    """Databases and tables in a dict."""

    dbs: dict[str, dict[str, TargetTable]] = field(default_factory=lambda: {"demo": {"orders": ORDERS}, "empty": {}})

    def databases(self) -> list[str]:
        return sorted(self.dbs)

    def create_database(self, name: str, *, if_not_exists: bool) -> tuple[Diagnostic, ...]:
        if name in self.dbs:
            return as_note(if_not_exists, SyncError(Code.DATABASE_EXISTS, db=name))
        self.dbs[name] = {}
        return ()

    def drop_database(self, name: str, *, if_exists: bool, force: bool) -> tuple[Diagnostic, ...]:
        if name not in self.dbs:
            return as_note(if_exists, SyncError(Code.DROP_NO_DATABASE, db=name))
        del self.dbs[name]
        return ()

    def tables(self, db: str) -> list[str]:
        return sorted(self._db(db))

    def table(self, db: str, name: str) -> TargetTable:
        if name not in self._db(db):
            raise SyncError(Code.NO_SUCH_TABLE, db=db, table=name)
        return self.dbs[db][name]

    def create_table(self, node: CreateTable, db: str | None) -> tuple[Diagnostic, ...]:
        db = node.table.db or db or ""
        if node.table.name in self._db(db):
            return as_note(node.if_not_exists, SyncError(Code.TABLE_EXISTS, table=node.table.name))
        self._db(db)[node.table.name] = defined(node, db)
        return ()

    def alter_table(self, node: AlterTable, db: str | None) -> tuple[Diagnostic, ...]:
        self.table(node.table.db or db or "", node.table.name)
        return ()

    def enable_feature(self, node: EnableFeature, db: str | None) -> tuple[Diagnostic, ...]:
        self.table(node.table.db or db or "", node.table.name)
        return ()

    def drop_table(self, node: DropTable, db: str | None) -> tuple[Diagnostic, ...]:
        tables, name = self._db(node.table.db or db or ""), node.table.name
        if name not in tables:
            return as_note(node.if_exists, SyncError(Code.UNKNOWN_TABLE, table=f"{node.table.db or db}.{name}"))
        del tables[name]
        return ()

    def create_table_text(self, db: str, name: str) -> str:
        return statement_of(self.table(db, name)).sql()

    def _db(self, db: str) -> dict[str, TargetTable]:
        if db not in self.dbs:
            raise SyncError(Code.UNKNOWN_DATABASE, db=db)
        return self.dbs[db]


TYPED = (
    (("a bool", "boolean", True), True),
    (("a tinyint", "tinyint", False), -1),
    (("a smallint", "smallint", True), 300),
    (("an int", "int", True), -70000),
    (("a bigint", "bigint", True), 1 << 40),
    (("a float", "float", True), 0.10000000149011612),
    (("a double", "double", True), 1.5),
    (("a decimal", "decimal(12,2)", True), Decimal("-123.40")),
    (("a string", "string", True), "Größe"),
    (("a varchar", "varchar(16)", True), ""),
    (("some bytes", "binary", True), b"\x00\xff"),
    (("a date", "date", True), dt.date(2026, 11, 21)),
    (("a timestamp", "timestamp", True), dt.datetime(2026, 11, 21, 10, 0, 0, 5, tzinfo=dt.UTC)),
    (("a datetime", "timestamp_ntz", True), dt.datetime(2026, 11, 21, 10, 0)),  # noqa: DTZ001 - it has no zone
    (("an array", "array<int>", True), [1, None]),
    (("nothing", "int", True), None),
)


@dataclass
class FakeQuery:
    """`row` is given `count` times, `batch` at a time; a query that waits ends by cancel() alone."""

    columns: Sequence[tuple[str, str, bool]]
    row: tuple[object, ...]
    count: int = 1
    batch: int = 1000
    waits: bool = False
    given: int = 0
    held: int = 0
    cancelled: threading.Event = field(default_factory=threading.Event)

    def batches(self) -> Iterator[Sequence[tuple[object, ...]]]:
        if self.waits and self.cancelled.wait(HANG_SECOND):
            raise SyncError(Code.QUERY_FAILED, reason="cancelled")
        while self.given < self.count and not self.cancelled.is_set():
            size = min(self.batch, self.count - self.given)
            self.given += size
            self.held = size * sum(len(cell) for cell in self.row if isinstance(cell, str))
            yield [self.row] * size

    def cancel(self) -> None:
        self.cancelled.set()


BIG = "x" * (17 * 1024 * 1024)
QUERIES = {
    "typed": FakeQuery(columns=[column for column, _ in TYPED], row=tuple(value for _, value in TYPED)),
    "wait": FakeQuery(columns=[("n", "int", True)], row=(1,), waits=True),
    "many": FakeQuery(columns=[("n", "bigint", True), ("pad", "string", True)], row=(1, "x" * 100), count=2_000_000),
    "wide": FakeQuery(columns=[("pad", "string", True)], row=("x" * (1 << 20),), count=300, batch=4),
    "thousand": FakeQuery(columns=[("n", "bigint", True)], row=(7,), count=1000, batch=10),
    "big": FakeQuery(columns=[("big", "string", True)], row=(BIG,)),
    "orders": FakeQuery(
        columns=[("id", "bigint", False), ("status", "string", True), ("amount", "decimal(12,2)", True)],
        row=(1, "new", Decimal("9.50")),
        count=3,
    ),
    "odd": FakeQuery(columns=[("x", "made_up", True)], row=(1,)),
}


@dataclass
class FakeQueries:
    """Answers by the last word of the query; what it does not know is echoed.

    `asked`: every sql, database and tag; `time_zones`: where each of them was asked.
    """

    asked: list[tuple[str, str | None, str]] = field(default_factory=list)
    time_zones: list[str] = field(default_factory=list)
    started: list[FakeQuery] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    lake_state: str = ""
    state: str = "executing"

    def query(self, sql: str, db: str | None, tag: str, refuse: Refuse | None = None, *, time_zone: str) -> FakeQuery:
        """The table read, where one must be allowed, is the last word as db.table."""
        self.asked.append((sql, db, tag))
        self.time_zones.append(time_zone)
        if refuse is not None:
            home, _, name = sql.rsplit(maxsplit=1)[-1].replace("`", "").rpartition(".")
            refuse((home or str(db), name))
        word = sql.rsplit(maxsplit=1)[-1].strip("`").rpartition(".")[2].strip("`")
        if word == "broken":
            raise SyncError(Code.QUERY_FAILED, reason="[TABLE_OR_VIEW_NOT_FOUND] broken")
        if word == "bug":
            raise KeyError("bug")
        echo = FakeQuery(columns=[("echo", "string", True)], row=(sql,))
        query = replace(QUERIES.get(word, echo), cancelled=threading.Event())
        self.started.append(query)
        return query

    def cancel(self, tag: str) -> None:
        self.cancelled.append(tag)


CONFIG = {"sync_commit_interval_second": "10", "query_port": "9030", "audit_log": "ON"}


@dataclass
class FakeConfig:
    """Three settings."""

    values: dict[str, str] = field(default_factory=CONFIG.copy)

    def show(self) -> Sequence[tuple[str, ...]]:
        return [
            (name, value, "float", str(name.startswith("sync")).lower(), "false", "A doc.")
            for name, value in self.values.items()
        ]

    def set(self, values: Mapping[str, str]) -> None:
        for name in set(values) - set(self.values):
            raise SyncError(Code.UNKNOWN_CONFIG, name=name, hint="")
        self.values.update(values)


@dataclass
class FakeAccounts:
    """Accounts in a dict."""

    users: dict[Account, StoredUser] = field(default_factory=dict)

    def all(self) -> list[StoredUser]:
        return list(self.users.values())

    def put(self, user: StoredUser) -> None:
        self.users[user.account] = user

    def drop(self, account: Account) -> None:
        del self.users[account]


class FakeAlerts:
    """One that fires; a test of them is not received."""

    def rows(self) -> list[tuple[str | None, ...]]:
        return [("1", "job.lagging", "demo.shop", "", "firing", "It is old", None, "2026-01-01 00:00:00", *[None] * 3)]

    def test(self) -> None:
        raise SyncError(Code.WEBHOOK_FAILED, reason="Connection refused")


@dataclass
class FakeAudit:
    """A file that is always written."""

    strict: bool = False
    is_on: bool = True
    lost: int = 0
    trouble: str = ""


@dataclass
class FakeFrontend:
    """All of them."""

    audit: AuditFile = field(default_factory=FakeAudit)
    alerts: FakeAlerts = field(default_factory=FakeAlerts)
    password: str = ""
    tls_only: bool = False
    jobs: FakeJobs = field(default_factory=FakeJobs)
    catalog: FakeCatalog = field(default_factory=FakeCatalog)
    history: FakeHistory = field(default_factory=FakeHistory)
    checks: FakeChecks = field(default_factory=FakeChecks)
    queries: FakeQueries = field(default_factory=FakeQueries)
    config: FakeConfig = field(default_factory=FakeConfig)
    users: Users = field(default_factory=lambda: Users(FakeAccounts()))

    def root_password(self) -> str:
        return self.password

    def requires_tls(self) -> bool:
        return self.tls_only


def check_ports(fake: FakeFrontend) -> Frontend:
    """The type checker's proof that the fake has the shape of the ports."""
    return fake
