"""Canal to Arrow against canal's own delivery limit and the mysql source: python -m tests.bench.canal [rows].

One binlog, once of single-row statements and once of bulk inserts. Each run reads it from a fresh canal server, the
product and a reader that only takes bytes in turns; prints the medians of 5, and ends with status 1 where the product
reaches less than 0.85 of the limit.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from syncmgr.job.epoch import Thresholds
from syncmgr.job.position import Position
from syncmgr.pipeline.messages import Limits
from syncmgr.pipeline.worker.receiver import Receiver
from syncmgr.sources.canal.connector import Connector
from syncmgr.sources.canal.factory import table_filter
from syncmgr.sources.canal.source import GET_MILLISECOND, MAX_FETCH
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.port import SourceStream
from tests.contract import canal_reader, mysql_reader
from tests.contract.canal_reader import channel, endpoint
from tests.support.servers.canal import CanalServer
from tests.support.servers.mysql import MysqlServer

RATIO: Final = 0.85
RUNS: Final = 5
TABLE: Final = ("bench", "orders")
COLUMNS: Final = "id BIGINT, customer INT, status VARCHAR(16), amount DECIMAL(12,2), at DATETIME(6), note STRING"
LIMITS: Final = Limits(
    thresholds=Thresholds(interval_second=10, min_events=10_000, min_bytes=15 << 20, max_bytes=64 << 20),
    position_interval_second=10,
    max_staged_bytes=1 << 30,
    queue_batches=64,
    queue_bytes=64 << 20,
)
Read = Callable[[], int]


def fill(server: MysqlServer, rows: int, *, bulk: bool) -> Position:
    """Where the binlog of so many new rows begins."""
    server.run("DROP TABLE IF EXISTS bench.orders")
    server.run(
        "CREATE TABLE bench.orders (id BIGINT PRIMARY KEY, customer INT NOT NULL, status VARCHAR(16),"
        " amount DECIMAL(12,2), at DATETIME(6), note VARCHAR(60))",
        "FLUSH BINARY LOGS",
    )
    start = mysql_reader.latest(server)
    size = 1000 if bulk else 100
    with server.connect(autocommit=False) as connection, connection.cursor() as cursor:
        for base in range(0, rows, size):
            values = [
                f"({n}, {n % 1000}, 'new', {n}.25, NOW(6), REPEAT('x', {n % 60}))" for n in range(base, base + size)
            ]
            for text in [", ".join(values)] if bulk else values:
                cursor.execute(f"INSERT INTO bench.orders VALUES {text}")
            connection.commit()
    return start


def taken(source: SourceStream, rows: int) -> int:
    """Reads and decodes in two threads, as a worker does."""
    receiver = Receiver(source, lambda: LIMITS)
    receiver.start()
    done = 0
    while done < rows:
        batch = receiver.take(1.0)
        if batch is None:
            continue
        done += sum(len(changes.decode()) for changes in batch.changes)
        if batch.end is not None:
            source.ack(batch.end)
    receiver.stop()
    return done


def product(canal: CanalServer, rows: int) -> int:
    with canal_reader.reading(canal, [channel(TABLE, COLUMNS)]) as reader:
        return taken(reader.source, rows)


def bytes_only(canal: CanalServer, size: int) -> int:
    """Until so many bytes of entries have come; nothing in them is looked at."""
    connector = Connector(endpoint(canal), table_filter([TABLE]))
    done = 0
    connector.ask(MAX_FETCH, GET_MILLISECOND)
    while done < size:
        delivery = connector.receive(time.monotonic() + 1)
        if delivery is None:
            continue
        connector.ask(MAX_FETCH, GET_MILLISECOND)
        if delivery.batch_id > 0:
            connector.acknowledge(delivery.batch_id)
            done += sum(map(len, delivery.entries))
    connector.close()
    return done


def direct(mysql: MysqlServer, start: Position, rows: int) -> int:
    wanted = {TABLE: Subscription(columns=tuple(part.split()[0] for part in COLUMNS.split(", ")), keys=("id",))}
    with mysql_reader.reading(mysql, wanted, start, ssl="disabled") as reader:
        return taken(reader.source, rows)


def timed(read: Read) -> tuple[float, float]:
    """Seconds, and CPU seconds of this process."""
    wall, cpu = time.monotonic(), time.process_time()
    read()
    return time.monotonic() - wall, time.process_time() - cpu


def through_canal(
    mysql: MysqlServer, start: Position, folder: Path, read: Callable[[CanalServer], int]
) -> tuple[float, float]:
    at = ("--start", f"{start.file}:{start.offset}", "--meta", "memory")
    server = CanalServer(folder, mysql, options=at).start()
    try:
        return timed(lambda: read(server))
    finally:
        server.kill()


def measure(mysql: MysqlServer, folder: Path, rows: int, *, bulk: bool) -> float:
    start = fill(mysql, rows, bulk=bulk)
    size = entries_size(mysql, start, folder / "size", rows)
    ours, limit, source = [], [], []
    for run in range(RUNS):
        ours.append(through_canal(mysql, start, folder / f"p{run}", lambda canal: product(canal, rows)))
        limit.append(through_canal(mysql, start, folder / f"b{run}", lambda canal: bytes_only(canal, size)))
        source.append(timed(lambda: direct(mysql, start, rows)))
    ratio = median(seconds for seconds, _ in limit) / median(seconds for seconds, _ in ours)
    print(f"{'bulk inserts' if bulk else 'single-row statements'}, {rows:,} rows, {size / 2**20:.0f} MiB of entries")
    for name, runs in (("canal to Arrow", ours), ("canal, bytes only", limit), ("mysql to Arrow", source)):
        wall, cpu = median(seconds for seconds, _ in runs), median(seconds for _, seconds in runs)
        print(f"  {name}: {rows / wall:,.0f} rows/s, {wall:.2f} s, {cpu:.2f} CPU s")
    print(f"  of canal's limit: {ratio:.2f}", flush=True)
    return ratio


def entries_size(mysql: MysqlServer, start: Position, folder: Path, rows: int) -> int:
    """Bytes that canal sends for the rows."""
    sizes: list[int] = []

    def read(canal: CanalServer) -> int:
        with canal_reader.reading(canal, [channel(TABLE, COLUMNS)]) as reader:
            feed = reader.source._sorter.feed
            reader.source._sorter.feed = lambda number, entries: (
                sizes.append(sum(map(len, entries))),
                feed(number, entries),
            )[1]
            return taken(reader.source, rows)

    through_canal(mysql, start, folder, read)
    return sum(sizes)


def main() -> int:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as folder:
        mysql = MysqlServer(Path(folder) / "mysql").start()
        try:
            mysql.run("CREATE DATABASE bench")
            ratios = [measure(mysql, Path(folder) / name, rows, bulk=name == "bulk") for name in ("single", "bulk")]
        finally:
            mysql.stop()
    return 0 if min(ratios) >= RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
