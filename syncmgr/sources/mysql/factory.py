"""A job's description of a MySQL source -> the source.

Owns: which property and setting becomes which option.
Must not know: how the server is checked or read.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.patterns import Found, Pattern
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.job.property import wrong_property
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.source_history.retained import Retained
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql import new_server
from syncmgr.sources.mysql.address import Locking, MysqlAddress, connect, naming_failures
from syncmgr.sources.mysql.ahead import named_ahead
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscription import subscriptions
from syncmgr.sources.mysql.check import SourceFacts, inspect_server
from syncmgr.sources.mysql.description import MysqlDescription
from syncmgr.sources.mysql.retained_files import retained_on
from syncmgr.sources.mysql.server import exact_point
from syncmgr.sources.mysql.server.checked_server import CheckedMysql
from syncmgr.sources.mysql.server.list_tables import found_on
from syncmgr.sources.mysql.server.replica import start_at
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from syncmgr.sources.mysql.server.surroundings import Patience
from syncmgr.sources.mysql.source import MysqlSource, SourceOptions
from syncmgr.sources.port import Keep, StreamPlan, Trouble

T = TypeVar("T")
HEARTBEATS: Final = 4  # in one read timeout
START_LOGGING: Final = "start it with innodb_native_foreign_keys = OFF, "


def inspect(
    source: MysqlDescription,
    tables: Sequence[Table],
    *,
    connect_timeout: float,
    locking: Locking,
    locked: Locked = never,
) -> SourceFacts:
    """What CREATE SYNC must know of the server. Raises SyncError for anything that forbids the job."""
    addresses = _with(locking, _addresses(source, connect_timeout))
    for address in addresses:
        try:
            facts = inspect_server(address, tables, source.start, source.server_id, joins=source.joins, locked=locked)
        except SyncError as error:
            if error.code is not Code.SOURCE_UNREACHABLE or address is addresses[-1]:
                raise
            continue
        if len(addresses) > 1 and facts.why_not_shared is not None:
            raise wrong_property("mysql.host", source.host, facts.why_not_shared)
        if not source.accepts_unlogged:
            _refuse_unlogged(facts, address.label)
        read = _replica(source, connect_timeout)
        return facts if read is None else replace(facts, start=start_at(read, address, facts.tables, facts.server))
    raise AssertionError("the last one returned or raised")


def check_continues(
    source: MysqlDescription, start: Position, tables: Sequence[Table], *, server_id: int, connect_timeout: float
) -> None:
    """Whether a job that has read up to `start` can go on: with each server that can be reached, and at least one can.
    `server_id`: 0 if it may be that of the job already. Raises SyncError.
    """
    addresses = _addresses(source, connect_timeout)
    reached, unreachable = list[MysqlAddress](), list[SyncError]()
    for address in addresses:
        try:
            reason = new_server.check_continues(address, start, tables, server_id)
        except SyncError as error:
            if error.code is not Code.SOURCE_UNREACHABLE:
                raise
            unreachable.append(error)
            continue
        if len(addresses) > 1 and reason is not None:
            raise wrong_property("mysql.host", source.host, reason)
        reached.append(address)
    if not reached:
        raise unreachable[-1]
    read = _replica(source, connect_timeout)
    if read is not None:
        start_at(read, reached[0], (), start.server)


def retained(
    source: MysqlDescription, starts: Sequence[Position], *, connect_timeout: float, read_timeout: float
) -> list[Retained]:
    """Each place is one in the files of the server that was read up to there, if that is one of the source's.

    Raises SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED, SOURCE_GRANT_MISSING.
    """
    found = list[Retained]()
    addresses = _addresses(source, connect_timeout)
    for address in addresses:
        try:
            answer = retained_on(address, starts, read_timeout)
        except SyncError as error:
            if error.code is not Code.SOURCE_UNREACHABLE or (address is addresses[-1] and not found):
                raise
            continue
        pairs = zip(found, answer, strict=True) if found else ((each, each) for each in answer)
        found = [one if one.is_known else other for one, other in pairs]
    return found


def _refuse_unlogged(facts: SourceFacts, address: str) -> None:
    for table, cascades in zip(facts.tables, facts.cascades, strict=True):
        if cascades and not facts.logs_cascades:
            cure = START_LOGGING if facts.can_log_cascades else ""
            raise SyncError(Code.SOURCE_CASCADES, table=table.label, address=address, cure=cure)


def survey(source: MysqlDescription, patterns: Sequence[str], *, connect_timeout: float) -> dict[Table, Found]:
    """The tables of the databases that match one of these LIKE patterns.

    Raises SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED.
    """
    return _of_one(_addresses(source, connect_timeout), lambda address: found_on(address, patterns))


def check_exact(
    source: MysqlDescription, tables: Sequence[SourceTable], *, connect_timeout: float, locking: Locking
) -> None:
    """Whether tables without a key can be read at an exact point.

    Raises SNAPSHOT_REFUSED, SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED.
    """
    for table in tables if source.replica is not None else ():
        reason = (
            "it has no key, and its exact point in the binlog is known on the source alone; leave out snapshot.host"
        )
        raise SyncError(Code.SNAPSHOT_REFUSED, table=table.label, reason=reason)
    _of_one(
        _with(locking, _addresses(source, connect_timeout)), lambda address: exact_point.check_exact(address, tables)
    )


def _of_one(addresses: Sequence[MysqlAddress], ask: Callable[[MysqlAddress], T]) -> T:
    """The answer of the first server that can be reached."""
    for address in addresses:
        try:
            return ask(address)
        except SyncError as error:
            if error.code is not Code.SOURCE_UNREACHABLE or address is addresses[-1]:
                raise
    raise AssertionError("the last one returned or raised")


def snapshot(source: MysqlDescription, *, connect_timeout: float, locking: Locking, most_row: int) -> MysqlSnapshot:
    """The server that a snapshot queries. `most_row`: bytes of one."""
    addresses = _with(locking, _addresses(source, connect_timeout))
    return MysqlSnapshot(addresses, _replica(source, connect_timeout), most_row)


def checked(source: MysqlDescription, *, connect_timeout: float) -> CheckedMysql:
    """The server that a check queries."""
    return CheckedMysql(_addresses(source, connect_timeout), _replica(source, connect_timeout))


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenMysql:
    """Opens the source of a job; it travels to the worker's process. Times in seconds."""

    description: MysqlDescription
    server_id: int
    connect_timeout: float
    read_timeout: float
    schema_check: float
    patience: Patience
    retry: Retry
    limits: Limits

    def __call__(self, plan: StreamPlan, trouble: Trouble, keep: Keep, /) -> MysqlSource:
        options = SourceOptions(
            limits=self.limits,
            heartbeat=self.read_timeout / HEARTBEATS,
            read_timeout=self.read_timeout,
            schema_check=self.schema_check,
            patience=self.patience,
            retry=self.retry,
        )
        return MysqlSource(
            _addresses(self.description, self.connect_timeout),
            self.server_id,
            plan.start,
            subscriptions(plan.channels, plan.start),
            options=options,
            trouble=trouble,
            prepared={xid: bool(prepared.files) for xid, prepared in plan.prepared.items()},
            families=plan.families,
            keep=keep,
            asked_until=plan.asked_until,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Binlog:
    """What the binlogs of sources have besides what jobs read of them. Times in seconds."""

    connect_timeout: float
    read_timeout: float
    lookahead: float
    limits: Limits

    def end(self, source: MysqlDescription) -> Position:
        """Raises SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED, SOURCE_GRANT_MISSING."""
        return _of_one(_addresses(source, self.connect_timeout), _end)

    def named(self, source: MysqlDescription, start: Position, families: Sequence[Pattern]) -> frozenset[Table]:
        """The tables of the families that statements after a place create, as far as a look of `lookahead` sees."""
        options = SourceOptions(
            limits=self.limits,
            heartbeat=self.read_timeout / HEARTBEATS,
            read_timeout=self.read_timeout,
            position_interval=0.0,
            retry=Retry(times=0),
        )
        addresses, end = _addresses(source, self.connect_timeout), self.end(source)
        return named_ahead(addresses, start, end, families, options, second=self.lookahead)


def _end(address: MysqlAddress) -> Position:
    with closing(connect(address)) as connection, naming_failures(address):
        return Server(address, connection).latest()


def _addresses(source: MysqlDescription, connect_timeout: float) -> tuple[MysqlAddress, ...]:
    return tuple(_address(source, host, port, connect_timeout) for host, port in source.hosts)


def _with(locking: Locking, addresses: Sequence[MysqlAddress]) -> tuple[MysqlAddress, ...]:
    return tuple(replace(address, locking=locking) for address in addresses)


def _replica(source: MysqlDescription, connect_timeout: float) -> MysqlAddress | None:
    return None if source.replica is None else _address(source, *source.replica, connect_timeout)


def _address(source: MysqlDescription, host: str, port: int, connect_timeout: float) -> MysqlAddress:
    return MysqlAddress(
        host=host,
        port=port,
        user=source.user,
        password=source.password,
        tls=source.tls_of(host, port),
        connect_timeout=connect_timeout,
    )
