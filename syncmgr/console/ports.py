"""What the console needs from the rest of the program.

Owns: the ports, as the console sees them. All of them block; the console calls them from its threads, many at a time.
Must not know: who implements them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from syncmgr.accounts.user import Account, Privilege, Rights, Scope
from syncmgr.errors import Diagnostic
from syncmgr.job.metrics.sample import JobSample
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.types.schema import TargetTable
from syncsql import (
    AddTables,
    AlterTable,
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

Refuse = Callable[[tuple[str, str] | None], None]
Allowed = Callable[[], None]  # raises if the caller may no longer do what it has asked for


class Jobs(Protocol):
    """Sync jobs. A name without database means the one in use, `db`; without both it is NO_DATABASE. What waits for a
    source calls `allowed` before it changes anything.
    """

    def create(
        self, node: CreateSync, db: str | None, creator: str | None = None, *, bounded: bool = False, allowed: Allowed
    ) -> tuple[Diagnostic, ...]:
        """Further remarks for the client. `creator`: the account that has it; `bounded`: it may have only so many, and
        name only files of their databases.
        """
        ...

    def explain(self, node: ExplainSync, db: str | None, *, bounded: bool = False) -> list[tuple[str, ...]]:
        """What CREATE SYNC would do: Source, Target, Item, Value, Outcome. `bounded`: as in `create`."""
        ...

    def pause(self, name: Name, db: str | None) -> None: ...

    def resume(self, name: Name, db: str | None) -> None: ...

    def stop(self, name: Name, db: str | None) -> tuple[Diagnostic, ...]: ...

    def alter(self, node: JobAlteration, db: str | None, allowed: Allowed) -> None: ...

    def set_source(self, node: SetSource, db: str | None, allowed: Allowed, *, bounded: bool = False) -> None:
        """`bounded`: as in `create`."""
        ...

    def add_tables(self, node: AddTables, db: str | None, allowed: Allowed) -> tuple[Diagnostic, ...]: ...

    def show(self, db: str | None, ids: Collection[str] | None = None) -> list[tuple[str | None, ...]]:
        """The rows of SHOW SYNC JOB, of one database or of all of them if `db` is None, and of these JobIds alone."""
        ...

    def samples(self, db: str | None, ids: Collection[str] | None = None) -> Sequence[JobSample]:
        """The same jobs in figures."""
        ...

    def names(self, db: str | None) -> dict[str, tuple[str, str]]:
        """Database and name of each of these jobs, by its JobId."""
        ...

    def targets(self, ids: Collection[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        """Database and table of the targets of these jobs, by JobId."""
        ...

    def create_text(self, name: Name, db: str | None) -> str:
        """The CREATE SYNC of a job, its passwords masked."""
        ...


class Checks(Protocol):
    """Whether targets equal their sources. A check goes on by itself once it has begun."""

    def start(self, node: CheckSync, db: str | None) -> int:
        """Its id."""
        ...

    def start_targets(self, names: Sequence[Name], db: str | None) -> int: ...

    def stop(self, check_id: int) -> None: ...

    def repair(self, node: RepairSync, db: str | None) -> int:
        """The id of the check that follows it."""
        ...

    def outcome(self, check_id: int) -> list[tuple[str, str, str, str]] | None:
        """Table, Op, Msg_type, Msg_text; None: it is not over."""
        ...

    def jobs_of(self, check_id: int) -> Collection[tuple[str, str]]:
        """Database and name. Raises NO_SUCH_CHECK."""
        ...

    def jobs_of_targets(self, names: Sequence[Name], db: str | None) -> Collection[tuple[str, str]]: ...


class Catalog(Protocol):
    """Databases and tables of the lake. A change returns what its IF [NOT] EXISTS forgave."""

    def databases(self) -> list[str]: ...

    def create_database(self, name: str, *, if_not_exists: bool) -> tuple[Diagnostic, ...]: ...

    def drop_database(self, name: str, *, if_exists: bool, force: bool) -> tuple[Diagnostic, ...]: ...

    def tables(self, db: str) -> list[str]: ...

    def table(self, db: str, name: str) -> TargetTable: ...

    def create_table(self, node: CreateTable, db: str | None) -> tuple[Diagnostic, ...]: ...

    def alter_table(self, node: AlterTable, db: str | None) -> tuple[Diagnostic, ...]: ...
    def enable_feature(self, node: EnableFeature, db: str | None) -> tuple[Diagnostic, ...]: ...

    def drop_table(self, node: DropTable, db: str | None) -> tuple[Diagnostic, ...]: ...

    def create_table_text(self, db: str, name: str) -> str: ...


class History(Protocol):
    """What jobs have done."""

    def rows(self, table: str, wanted: WantedRows) -> Iterable[tuple[object, ...]]:
        """Of a sync_* table of information_schema: id, database and name of the job, then the rest."""
        ...

    def snapshots(self, db: str, name: str, epoch: int | None) -> Mapping[tuple[str, str], int]:
        """The snapshot of each of a job's tables at a consistent point, at the newest one if `epoch` is None.

        Raises UNKNOWN_JOB, NO_SUCH_POINT.
        """
        ...


class User(Protocol):
    """An account as stored; `secret` has the form of accounts/secret.py."""

    @property
    def account(self) -> Account: ...

    @property
    def plugin(self) -> str: ...

    @property
    def secret(self) -> str: ...


class Users(Protocol):
    """Accounts and what they may do. `find`, `rights`, `accounts` and `plugins` do not block."""

    def find(self, name: str, address: str) -> User | None:
        """The account of a client with that name and address; root is not among them."""
        ...

    def rights(self, account: Account) -> Rights: ...

    def accounts(self) -> Sequence[Account]: ...

    def plugins(self) -> Sequence[str]:
        """That of each account."""
        ...

    def create(
        self, account: Account, *, password: str | None, plugin: str | None, if_not_exists: bool
    ) -> tuple[Diagnostic, ...]: ...

    def alter(
        self, account: Account, *, password: str | None, plugin: str | None, if_exists: bool
    ) -> tuple[Diagnostic, ...]: ...

    def drop(self, account: Account, *, if_exists: bool) -> tuple[Diagnostic, ...]: ...

    def grant(self, account: Account, privileges: Sequence[Privilege], scope: Scope) -> None: ...

    def revoke(self, account: Account, privileges: Sequence[Privilege], scope: Scope) -> None: ...


class Query(Protocol):
    """A SELECT that runs in the lake."""

    @property
    def columns(self) -> Sequence[tuple[str, str, bool]]:
        """Name, type as Spark's simpleString, nullable."""
        ...

    @property
    def held(self) -> int:
        """Bytes of memory that are held for the last returned batch."""
        ...

    def batches(self) -> Iterator[Sequence[tuple[object, ...]]]:
        """The rows as Python values; the next batch is read on demand."""
        ...

    def cancel(self) -> None:
        """From another thread: batches() ends soon, by an error or not. Harmless after the end."""
        ...


class Queries(Protocol):
    """Answers SELECTs; `tag` is unique among all queries. Times are in `time_zone`.

    `refuse` is called for every table that the query reads before any of it is returned or computed, and raises for one
    that the caller may not read; with None for what is not a table of the lake. Without it everything may be read.
    """

    @property
    def lake_state(self) -> str:
        """What a call to the lake waits for; "": nothing."""
        ...

    @property
    def state(self) -> str:
        """What a query waits for."""
        ...

    def query(self, sql: str, db: str | None, tag: str, refuse: Refuse | None = None, *, time_zone: str) -> Query: ...

    def cancel(self, tag: str) -> None:
        """From another thread: `query` ends soon, by an error. Harmless before it has begun, and after the end."""
        ...


class QueriesOfAccount(Protocol):
    """The same, within the rights of one account."""

    def query(self, sql: str, db: str | None, tag: str, *, time_zone: str) -> Query: ...

    def cancel(self, tag: str) -> None: ...


class Config(Protocol):
    """The settings of the frontend."""

    def show(self) -> Sequence[tuple[str, ...]]:
        """Key, Value, Type, IsMutable, MasterOnly, Comment."""
        ...

    def set(self, values: Mapping[str, str]) -> None: ...


class AuditFile(Protocol):
    """Where the audit is written, synchronously, by the logger of console/audit/audit.py."""

    @property
    def strict(self) -> bool:
        """Whether nothing may be changed while it cannot be written."""
        ...

    @property
    def is_on(self) -> bool: ...

    @property
    def lost(self) -> int:
        """Lines that could not be written since the start."""
        ...

    @property
    def trouble(self) -> str:
        """Why the last line could not be written; empty: it was."""
        ...


class Alerts(Protocol):
    """What operators are notified of."""

    def rows(self) -> Sequence[tuple[str | None, ...]]:
        """Id, Event, Job, Subject, State, Text, Advice, FiredAt, ResolvedAt, SentAt, Failure: the newest first."""
        ...

    def test(self) -> None:
        """One message now. Raises NO_WEBHOOK, WEBHOOK_FAILED."""
        ...


class Frontend(Protocol):
    """All of it."""

    @property
    def alerts(self) -> Alerts: ...

    @property
    def audit(self) -> AuditFile: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def checks(self) -> Checks: ...

    @property
    def catalog(self) -> Catalog: ...

    @property
    def history(self) -> History: ...

    @property
    def queries(self) -> Queries: ...

    @property
    def config(self) -> Config: ...

    @property
    def users(self) -> Users: ...

    def root_password(self) -> str:
        """In clear; empty: none."""
        ...

    def requires_tls(self) -> bool:
        """Whether clients without TLS are refused."""
        ...
