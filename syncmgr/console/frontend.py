"""What the console needs of the rest of the house.

Owns: the ports, as the console sees them. All of them block; the console calls them from its threads, many at a time.
Must not know: who implements them.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from syncmgr.errors import Remark
from syncmgr.job.schema import TargetTable
from syncsql import CreateSync, CreateTable, DropTable, Name


class Jobs(Protocol):
    """Sync jobs. A name without database means the one in use, `db`; without both it is NO_DATABASE."""

    def create(self, node: CreateSync, db: str | None) -> tuple[Remark, ...]:
        """What the client is to be told besides."""
        ...

    def pause(self, name: Name, db: str | None) -> None: ...

    def resume(self, name: Name, db: str | None) -> None: ...

    def stop(self, name: Name, db: str | None) -> None: ...

    def show(self, db: str | None) -> list[tuple[str | None, ...]]:
        """The rows of SHOW SYNC JOB, of one database or of all of them if `db` is None."""
        ...

    def create_text(self, name: Name, db: str | None) -> str:
        """The CREATE SYNC of a job, its passwords masked."""
        ...


class Catalog(Protocol):
    """Databases and tables of the lake. A change returns what its IF [NOT] EXISTS forgave."""

    def databases(self) -> list[str]: ...

    def create_database(self, name: str, *, if_not_exists: bool) -> tuple[Remark, ...]: ...

    def drop_database(self, name: str, *, if_exists: bool, force: bool) -> tuple[Remark, ...]: ...

    def tables(self, db: str) -> list[str]: ...

    def table(self, db: str, name: str) -> TargetTable: ...

    def create_table(self, node: CreateTable, db: str | None) -> tuple[Remark, ...]: ...

    def drop_table(self, node: DropTable, db: str | None) -> tuple[Remark, ...]: ...

    def create_table_text(self, db: str, name: str) -> str: ...


class Query(Protocol):
    """A SELECT that runs in the lake."""

    @property
    def columns(self) -> Sequence[tuple[str, str, bool]]:
        """Name, type as Spark's simpleString, nullable."""
        ...

    def batches(self) -> Iterator[Sequence[tuple[object, ...]]]:
        """The rows as Python values; the next batch is read when it is asked for."""
        ...

    def cancel(self) -> None:
        """From another thread: batches() ends soon, by an error or not. Harmless after the end."""
        ...


class Lake(Protocol):
    """The engine behind SELECT."""

    def query(self, sql: str, db: str | None, tag: str) -> Query: ...


class Config(Protocol):
    """The settings of the frontend."""

    def show(self) -> Sequence[tuple[str, ...]]:
        """Key, Value, Type, IsMutable, MasterOnly, Comment."""
        ...

    def set(self, name: str, value: str) -> None: ...


class Frontend(Protocol):
    """All of it."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def catalog(self) -> Catalog: ...

    @property
    def lake(self) -> Lake: ...

    @property
    def config(self) -> Config: ...

    def root_password(self) -> str:
        """In clear; empty: none."""
        ...
