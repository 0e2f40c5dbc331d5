"""Reading a real server's binlog through the product, for the tests of the MySQL source.

Owns: opening a source at the server's end, collecting until the server's end.
Must not know: what is asserted.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from syncmgr.errors import SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.patterns import DatabasePattern
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Order, Position, compare
from syncmgr.job.rows.batch import OP, Batch, TableChanges
from syncmgr.job.tls import SslMode, Tls
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.check import SourceFacts, inspect_server
from syncmgr.sources.mysql.server.tables import schema_of
from syncmgr.sources.mysql.source import MysqlSource, SourceOptions
from tests.support.servers.mysql import PASSWORD, MysqlServer, chosen_settings
from tests.support.until import HANG_SECOND

GET_SECOND: Final = 0.1
NAMELESS: Final = frozenset({"default", "minimal"})  # settings of servers whose binlog does not name columns
FIRST: Final = 4  # where the events of a file begin
HEAD: Final = 200  # where without GTIDs its head has ended, and no transaction yet
Row = dict[str, Any]


@dataclass
class Reader:
    """A source and what came out of it."""

    source: MysqlSource
    batches: list[Batch] = field(default_factory=list)
    troubles: list[SyncError | None] = field(default_factory=list)
    prepared: dict[str, list[Row]] = field(default_factory=dict)  # by xid, after `rows`
    kept: list[int] = field(default_factory=list)  # seconds in which the server has answered

    def until(self, end: Position) -> list[Batch]:
        """All batches up to a position; fails when it is not reached in time."""
        stop = time.monotonic() + HANG_SECOND
        while not (self.batches and self.batches[-1].end and reached(self.batches[-1].end, end)):
            if time.monotonic() > stop:
                raise AssertionError(f"{end} was not reached: {self.batches[-1:]} {self.troubles}")
            self.get()
        return self.batches

    def get(self, timeout: float = GET_SECOND) -> Batch | None:
        batch = self.source.get(timeout)
        if batch is not None:
            self.batches.append(batch)
        return batch

    def until_error(self) -> SyncError:
        """The error that ends the source."""
        stop = time.monotonic() + HANG_SECOND
        while time.monotonic() < stop:
            try:
                self.get()
            except SyncError as error:
                return error
        raise AssertionError("no error came")

    def rows(self, table: Table) -> list[Row]:
        """Every change row of a table that was committed, in order."""
        found: list[Row] = []
        self.prepared: dict[str, list[Row]] = {}
        for batch in self.batches:
            for xid in batch.forgotten:
                del self.prepared[xid]
            found += _rows_of(batch.changes, table)
            for part in batch.prepared:
                self.prepared.setdefault(part.xid, []).extend(_rows_of(part.changes, table))
            if batch.committed is not None:
                found += self.prepared.pop(batch.committed)
        return found

    def state(self, table: Table, key: str = "id") -> dict[Any, Row]:
        """What the changes make of an empty table."""
        return replay(self.rows(table), key)


def _rows_of(changes: Iterable[TableChanges], table: Table) -> list[Row]:
    return [row for part in changes if part.table == table for row in part.decode().to_pylist()]


def replay(rows: Sequence[Row], key: str = "id") -> dict[Any, Row]:
    state: dict[Any, Row] = {}
    for row in rows:
        plain = {name: value for name, value in row.items() if name != OP}
        if row[OP] == 2:
            del state[row[key]]
        else:
            assert (row[key] in state) == (row[OP] == 1), row
            state[row[key]] = plain
    return state


def reached(mine: Position, end: Position) -> bool:
    if mine.gtids and end.gtids:
        return compare(mine, end) in {Order.SAME, Order.AFTER}
    return (mine.file, mine.offset) >= (end.file, FIRST if end.offset < HEAD else end.offset)


def address(server: MysqlServer, **changes: Any) -> MysqlAddress:
    facts: dict[str, Any] = {"host": "127.0.0.1", "port": server.port, "user": "repl", "password": PASSWORD}
    return MysqlAddress(**{**facts, **changes})


def facts(server: MysqlServer, tables: Sequence[Table] = (), start: str = "latest") -> SourceFacts:
    server.settle()
    return inspect_server(address(server), tables, start, 0)


def latest(server: MysqlServer) -> Position:
    return facts(server).start


@contextmanager
def reading(
    server: MysqlServer,
    tables: Mapping[Table, Subscription],
    start: Position | None = None,
    *,
    options: SourceOptions | None = None,
    server_id: int = 4711,
    ssl: SslMode = "preferred",
    prepared: Mapping[str, bool] | None = None,
    families: Collection[DatabasePattern] = (),
    asked_until: int = 0,
    port: int | None = None,
) -> Iterator[Reader]:
    """A reader from `start`, else from the server's end. `asked_until`: what an earlier one has kept. `port`: of a
    proxy.
    """
    where = address(server, tls=Tls(mode=ssl), port=port or server.port)
    reader = Reader(None)  # type: ignore[arg-type]  # it wants to hear of troubles before it has a source
    reader.source = MysqlSource(
        [where],
        server_id,
        start or latest(server),
        described(server, tables),
        options=options or SourceOptions(position_interval=0.05, retry=Retry(first=0.05)),
        trouble=reader.troubles.append,
        prepared=prepared,
        families=families,
        keep=reader.kept.append,
        asked_until=asked_until,
    )
    try:
        yield reader
    finally:
        reader.source.close()
        reader.source.get(0)


def described(server: MysqlServer, tables: Mapping[Table, Subscription]) -> Mapping[Table, Subscription]:
    """As jobs have them, where a test leaves the columns to the binlog, which does not name them in some settings."""
    if chosen_settings() not in NAMELESS:
        return tables
    with closing(server.connect()) as connection:
        found = {name: schema_of(connection, name) for name, each in tables.items() if each.schema is None}
    return {name: replace(each, schema=each.schema or found[name]) for name, each in tables.items()}


@contextmanager
def database(server: MysqlServer) -> Iterator[str]:
    """A database of the test's own."""
    name = f"t_{uuid4().hex[:12]}"
    server.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    try:
        yield name
    finally:
        server.run(f"DROP DATABASE {name}")
