"""Reading a real canal server through the product, for the tests of the canal source.

Owns: opening a source on a destination, collecting until a condition.
Must not know: what is asserted.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from syncmgr.errors import SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.description import Listed
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.messages import WorkerChannel
from syncmgr.sources.canal.cluster import Cluster, OneServer
from syncmgr.sources.canal.connector import Endpoint
from syncmgr.sources.canal.factory import table_filter
from syncmgr.sources.canal.source import CanalSource, Locator, SourceOptions
from syncmgr.sources.canal.table_reader import LearnedTable
from tests.contract.mysql_reader import Row, replay
from tests.support.servers.canal import CANAL_PASSWORD, USER, CanalServer, ZooKeeper
from tests.support.until import HANG_SECOND

GET_SECOND: Final = 0.1
QUICK: Final = SourceOptions(retry=Retry(first=0.05))


def channel(table: Table, columns: str = "id BIGINT, v STRING", key: str = "id") -> WorkerChannel:
    """Of a column list with its target types; no key: rows are appended."""
    places = tuple(Listed(name=part.split()[0], type=part.split()[1]) for part in columns.split(", "))
    return WorkerChannel(
        token=".".join(table),
        source=SourceTable(db=table[0], name=table[1], columns=()),
        reads=tuple(place.name for place in places),
        source_keys=(key,) if key else (),
        append_on_change=AppendOnChange.ERROR,
        places=places,
    )


@dataclass
class Reader:
    """A source and what came out of it. Batches are decoded as they come, as the consumer does it."""

    source: CanalSource
    batches: list[Batch] = field(default_factory=list)
    troubles: list[SyncError | None] = field(default_factory=list)
    changes: list[tuple[Table, list[Row]]] = field(default_factory=list)
    learned: dict[Table, SourceTable] = field(default_factory=dict)
    acks: bool = True

    def get(self, timeout: float = GET_SECOND) -> Batch | None:
        batch = self.source.get(timeout)
        if batch is not None:
            self.batches.append(batch)
            for each in batch.changes:
                self.changes.append((each.table, each.decode().to_pylist()))
                if isinstance(each.learned, SourceTable):
                    self.learned[each.table] = each.learned
            if self.acks and batch.end is not None:
                self.source.ack(batch.end)
        return batch

    def until(self, condition: Callable[[], object]) -> None:
        stop = time.monotonic() + HANG_SECOND
        while not condition():
            if time.monotonic() > stop:
                raise AssertionError(f"it did not come true: {self.changes[-2:]} {self.batches[-2:]} {self.troubles}")
            self.get()

    def until_nothing_more(self) -> None:
        """Canal is asked once more, and has nothing."""
        begin = time.time()
        self.until(lambda: self.source.caught_up_at() > begin)

    def until_error(self) -> SyncError:
        """The error that ends the source, or that its rows raise."""
        stop = time.monotonic() + HANG_SECOND
        while time.monotonic() < stop:
            try:
                self.get()
            except SyncError as error:
                return error
        raise AssertionError("no error came")

    def rows(self, table: Table) -> list[Row]:
        return [row for of, rows in self.changes if of == table for row in rows]

    def state(self, table: Table, key: str = "id") -> dict[Any, Row]:
        return replay(self.rows(table), key)

    @property
    def end(self) -> Position:
        """Where a new source would go on."""
        return next((batch.end for batch in reversed(self.batches) if batch.end is not None), Position())


def endpoint(server: CanalServer | None, **changes: Any) -> Endpoint:
    facts: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": server.port if server else 0,
        "destination": server.destination if server else "example",
        "user": USER,
        "password": CANAL_PASSWORD,
        "connect_timeout": 5.0,
        "read_timeout": 10.0,
    }
    return Endpoint(**(facts | changes))


@contextmanager
def reading(
    server: CanalServer | ZooKeeper,
    channels: Sequence[WorkerChannel],
    start: Position | None = None,
    *,
    options: SourceOptions = QUICK,
    acks: bool = True,
    owner: str = "job-1",
    **changes: Any,
) -> Iterator[Reader]:
    """A reader on a server, or on the active one of a cluster."""
    locator: Locator
    if isinstance(server, ZooKeeper):
        locator = Cluster(server.address, endpoint(None, **changes), owner)
    else:
        locator = OneServer(endpoint(server, **changes))
    truths = [LearnedTable(each, time_zone="UTC", address="canal") for each in channels]
    reader = Reader(None, acks=acks)  # type: ignore[arg-type]  # it wants to hear of troubles before it has a source
    reader.source = CanalSource(
        locator,
        table_filter([truth.table for truth in truths]),
        start or Position(),
        {truth.table: truth for truth in truths},
        label="canal/example",
        options=options,
        trouble=reader.troubles.append,
    )
    try:
        yield reader
    finally:
        reader.source.close()
        reader.source.get(0)
