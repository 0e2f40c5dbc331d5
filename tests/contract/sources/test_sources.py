"""What every source promises, by the two real ones and the fake: one suite."""

import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Protocol, cast

import pytest

from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import SourceOptions
from syncmgr.sources.port import SourceStream
from tests.contract import canal_reader, mysql_reader
from tests.contract.mysql_reader import database
from tests.support.fakes import ScriptedSource
from tests.support.servers.canal import CanalServer
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND, PROMPT_SECOND, until

pytestmark = pytest.mark.mysql
PROMPT = SourceOptions(heartbeat=0.2, position_interval=0.05, retry=Retry(first=0.05))


class Bench(Protocol):
    """A source that can be opened anywhere. Transaction n (from 1) inserts row n."""

    def write(self, count: int) -> None:
        """So many transactions more."""

    def open(self, start: Position | None) -> SourceStream:
        """None: before the first transaction."""


class Scripted:
    def __init__(self) -> None:
        self._count = 0

    def write(self, count: int) -> None:
        self._count += count

    def open(self, start: Position | None) -> SourceStream:
        plan: Any = SimpleNamespace(start=start or Position())
        return ScriptedSource(transactions=self._count)(plan, lambda _: None, lambda _: None)


class Real:
    """A table of a MySQL server, read directly or through canal."""

    def __init__(self, mysql: MysqlServer, db: str, canal: CanalServer | None) -> None:
        self._mysql = mysql
        self._db = db
        self._canal = canal
        self._count = 0
        self._begin = mysql_reader.latest(mysql)
        self._leave: list[Callable[..., object]] = []

    def write(self, count: int) -> None:
        self._mysql.run(*(f"INSERT INTO {self._db}.t VALUES ({self._count + n + 1}, 'v')" for n in range(count)))
        self._count += count

    def open(self, start: Position | None) -> SourceStream:
        table = (self._db, "t")
        if self._canal is None:
            wanted = {table: Subscription(columns=("id", "v"), keys=("id",))}
            mysql = mysql_reader.reading(self._mysql, wanted, start or self._begin, options=PROMPT)
            reader: Any = mysql.__enter__()
            self._leave.append(mysql.__exit__)
        else:
            canal = canal_reader.reading(self._canal, [canal_reader.channel(table)], start)
            reader = canal.__enter__()
            self._leave.append(canal.__exit__)
        return cast("SourceStream", reader.source)

    def close(self) -> None:
        for leave in reversed(self._leave):
            leave(None, None, None)


@pytest.fixture(params=["fake", "mysql", "canal"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Each source in turn."""
    if request.param == "fake":
        yield Scripted()
        return
    mysql: MysqlServer = request.getfixturevalue("mysql_server")
    canal = request.getfixturevalue("canal")() if request.param == "canal" else None
    with database(mysql) as db:
        mysql.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v TEXT)")
        real = Real(mysql, db, canal)
        yield real
        real.close()


def read(source: SourceStream, rows: int) -> list[Batch]:
    """Batches until so many rows have come, each asserted to keep the promises of one."""
    batches: list[Batch] = []
    stop = time.monotonic() + HANG_SECOND
    while inserted(batches) < rows:
        assert time.monotonic() < stop, batches
        batch = source.get(0.2)
        if batch is not None:
            assert (batch.end is None) == batch.open
            batches.append(batch)
    return batches


def inserted(batches: list[Batch]) -> int:
    return sum(
        row["_op"] == 0 for batch in batches for changes in batch.changes for row in changes.decode().to_pylist()
    )


def test_every_end_is_a_place_to_go_on(bench: Bench) -> None:
    """A source that is opened at the end of any batch gives exactly what lies behind it."""
    bench.write(20)
    batches = read(bench.open(None), 20)
    bench.write(5)
    assert all(a.end != b.end for a, b in pairwise(batches))
    done = 0
    for batch in batches:
        done += inserted([batch])
        rest = read(bench.open(batch.end), 25 - done)
        assert inserted(rest) == 25 - done


def test_acks_take_nothing_away(bench: Bench) -> None:
    """Whatever is acked, what was not read yet comes, and nothing comes twice."""
    bench.write(10)
    source = bench.open(None)
    batches = read(source, 10)
    for batch in batches:
        assert batch.end is not None
        source.ack(batch.end)
    end = batches[-1].end
    source.get(0.3)
    bench.write(10)
    assert inserted(read(bench.open(end), 10)) == 10


def test_silence_is_told_as_such(bench: Bench) -> None:
    """With nothing to read, get returns in time, the source is in touch, says whom it reads, and soon is sure that
    there was nothing more.
    """
    bench.write(1)
    source = bench.open(None)
    read(source, 1)
    begin = time.time()
    until(lambda: source.get(0.2) is None and source.heard_at() > begin)
    until(lambda: source.get(0.2) is None and source.caught_up_at() > begin)
    assert source.caught_up_at() < time.time()
    assert ":" in source.server()


def test_close_ends_a_get(bench: Bench) -> None:
    """From another thread, at once; afterwards nothing comes."""
    source = bench.open(None)
    source.get(0.2)
    closing = threading.Timer(0.2, source.close)
    closing.start()
    begin = time.monotonic()
    while closing.is_alive():
        source.get(2 * HANG_SECOND)
    assert time.monotonic() - begin < PROMPT_SECOND
    assert source.get(0) is None
