"""From a job's description to an open source.

Owns: what of a job's values the source needs, and how many failures in a row it may retry.
Must not know: connections, events, who reads the source.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from syncmgr.errors import SyncError
from syncmgr.job.description import SourceDescription
from syncmgr.job.position import Position
from syncmgr.job.schema import SourceTable
from syncmgr.mysql.address import MysqlAddress
from syncmgr.mysql.source import MysqlSource, SourceOptions
from syncmgr.mysql.subscriptions import Subscription

Trouble = Callable[[SyncError | None], None]


class Wanted(Protocol):
    """What is wanted of one table."""

    @property
    def source(self) -> SourceTable: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def source_keys(self) -> tuple[str, ...]: ...


class Plan(Protocol):
    """Where reading starts, and which tables."""

    @property
    def start(self) -> Position: ...
    @property
    def channels(self) -> Sequence[Wanted]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenMysql:
    """Opens the source of a job in its worker process; it crosses to it by value. Times in seconds."""

    description: SourceDescription
    server_id: int
    connect_timeout: float
    read_timeout: float
    max_retry: int

    def __call__(self, plan: Plan, trouble: Trouble) -> MysqlSource:
        return MysqlSource(
            address_of(self.description, connect_timeout=self.connect_timeout),
            self.server_id,
            plan.start,
            {(c.source.db, c.source.name): _subscription(c) for c in plan.channels},
            options=SourceOptions(
                # Two heartbeats may be lost before silence counts; often enough that lag is honest.
                heartbeat=min(2.0, self.read_timeout / 3),
                read_timeout=self.read_timeout,
            ),
            trouble=at_most(self.max_retry, trouble),
        )


def address_of(description: SourceDescription, *, connect_timeout: float) -> MysqlAddress:
    return MysqlAddress(
        host=description.host,
        port=description.port,
        user=description.user,
        password=description.password,
        ssl=description.ssl,
        connect_timeout=connect_timeout,
    )


def _subscription(channel: Wanted) -> Subscription:
    return Subscription(columns=channel.reads, keys=channel.source_keys, schema=channel.source)


def at_most(retries: int, tell: Trouble) -> Trouble:
    """Tells each trouble, and raises the one that is one too many in a row."""
    failures = 0

    def count(error: SyncError | None) -> None:
        nonlocal failures
        failures = 0 if error is None else failures + 1
        if error is not None and failures > retries:
            raise error
        tell(error)

    return count
