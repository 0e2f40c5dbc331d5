"""How long after its MySQL commit a change is visible in the lake.

Run: python -m tests.bench.freshness [--interval 1.0] [--second 30] [--snapshot ROWS] [--lake s3-rest [--delay 0.02]]

2,000 changes a second in transactions of 10. A transaction is visible once the job's committed position includes it:
the position is stored right after the table's commit, and asking for it costs next to nothing, unlike a query.
With --snapshot the same is measured again while another job brings the rows of a filled table. With --lake s3-rest the
table is in moto behind a REST catalog; each request to moto takes `--delay` seconds in addition.
"""

import argparse
import contextlib
import json
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pymysql.cursors import DictCursor

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG, COLUMNS, Meter, load
from tests.bench.places import add_options, made, placed
from tests.bench.snapshot import SNAPSHOT
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

RATE = 200  # transactions a second
SIZE = 10  # changes of one
POLL_SECOND = 0.02
WARM_SECOND = 15.0  # not counted


def write(mysql: MysqlServer, stop: threading.Event, committed: dict[int, float]) -> None:
    """One transaction every 1/RATE s, numbered; `committed`: when each was."""
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        number, due = 0, time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            number, due = number + 1, due + 1 / RATE
            values = ", ".join(f"({number % 1000 * SIZE + n}, {number})" for n in range(SIZE))
            cursor.execute(f"REPLACE INTO fresh.t (id, number) VALUES {values}")
            committed[number] = time.time()


def measure(mysql: MysqlServer, fe: FrontendProcess, second: float, rows: int) -> None:
    if rows:
        fill(mysql, fe, rows)
    mysql.run("CREATE DATABASE fresh", "CREATE TABLE fresh.t (id BIGINT PRIMARY KEY, number BIGINT)")
    until(lambda: made(fe, "fresh"), deadline=120, why="Spark")
    fe.sql("CREATE TABLE fresh.t (id BIGINT NOT NULL, number BIGINT) UNIQUE KEY(id)")
    fe.sql(f"CREATE SYNC fresh.job1 (FROM fresh.t INTO t) {BINLOG.format(port=mysql.port)}")
    base = transactions(mysql.run("SELECT @@gtid_executed")[0][0])
    committed: dict[int, float] = {}
    stop = threading.Event()
    writer = threading.Thread(target=write, args=(mysql, stop, committed))
    writer.start()
    until(lambda: fe.job("fresh")["Status"]["commits"] > 3, deadline=60, why="the first commits")
    threading.Event().wait(WARM_SECOND)
    end = time.time() + second
    report(watch(fe, committed, base, lambda: time.time() < end))
    if rows:
        fe.sql(f"CREATE SYNC bench.job1 (FROM bench.t INTO t) {SNAPSHOT.format(port=mysql.port)}")
        started = time.time()
        report(watch(fe, committed, base, lambda: loads(fe)))
        print(f"beside the snapshot of {rows} rows, which took {time.time() - started:.1f} s", flush=True)
    stop.set()
    writer.join()


def fill(mysql: MysqlServer, fe: FrontendProcess, rows: int) -> None:
    """A table whose rows come by a snapshot."""
    with mysql.connect() as source, source.cursor() as cursor:
        cursor.execute("CREATE DATABASE bench")
        cursor.execute(f"CREATE TABLE bench.t ({COLUMNS.format(key='PRIMARY KEY')})")
        load(cursor, rows)
        cursor.execute("ANALYZE TABLE bench.t")
    fe.sql("CREATE DATABASE bench")
    fe.sql(f"CREATE TABLE bench.t ({COLUMNS.format(key='NOT NULL')}) UNIQUE KEY(id)")


def loads(fe: FrontendProcess) -> bool:
    return bool(fe.job("bench")["Status"]["snapshot"]["t"]["phase"] == "snapshot")


def transactions(gtids: str) -> int:
    """How many transactions of one server a set holds from its first on: "uuid:1-7" is 7."""
    return int(gtids.rpartition(":")[2].rpartition("-")[2] or 0)


def watch(fe: FrontendProcess, committed: dict[int, float], base: int, goes_on: Callable[[], bool]) -> list[float]:
    """The age of every transaction at the moment at which the committed position included it."""
    assert fe.process is not None
    meter = Meter(fe.process.pid)
    meter.sample()
    before, started = dict(meter.cpu), time.time()
    ages: list[float] = []
    with contextlib.closing(fe.connect()) as connection, connection.cursor() as cursor:
        newest = reached(cursor) - base
        while goes_on():
            threading.Event().wait(POLL_SECOND)
            at, now = time.time(), reached(cursor) - base
            ages += [at - committed[number] for number in range(newest + 1, now + 1)]
            newest = now
    meter.sample()
    used = sum(seconds - before.get(pid, 0.0) for pid, seconds in meter.cpu.items())
    print(f"{used / (time.time() - started):.2f} of a core", flush=True)
    return ages


def reached(cursor: DictCursor, db: str = "fresh") -> int:
    cursor.execute(f"SHOW SYNC JOB FROM {db}")
    row = cursor.fetchone()
    assert row is not None
    return transactions(json.loads(row["Status"])["position"]["gtid"])


def report(ages: list[float]) -> None:
    ages.sort()
    p50, p99 = ages[len(ages) // 2], ages[len(ages) * 99 // 100]
    print(f"{len(ages)} transactions: p50 {p50:.2f} s, p99 {p99:.2f} s", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--interval", type=float, default=1.0)
    arguments.add_argument("--second", type=float, default=30.0)
    arguments.add_argument("--snapshot", type=int, default=0, metavar="ROWS")
    add_options(arguments)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place, placed(options, Path(place)) as settings:
        mysql = MysqlServer(Path(place) / "mysql", "mysql")
        mysql.start()
        own = {"sync_commit_interval_second": options.interval}
        fe = FrontendProcess(Path(place) / "fe", {**own, **settings}).start()
        try:
            measure(mysql, fe, options.second, options.snapshot)
        finally:
            fe.stop()
            mysql.stop()


if __name__ == "__main__":
    main()
