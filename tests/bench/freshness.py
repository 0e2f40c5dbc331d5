"""How long after its MySQL commit a change is visible in the lake.

Run: python -m tests.bench.freshness [--interval 1.0] [--second 30]

2,000 changes a second in transactions of 10; each transaction writes the time of its commit into its rows.
A reader asks the table's newest snapshot again and again: what it sees for the first time is as old as it is then.
"""

import argparse
import contextlib
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG, Meter
from tests.servers import MysqlServer
from tests.until import until

RATE = 200  # transactions a second
SIZE = 10  # changes of one
WARM_SECOND = 10.0  # not counted


def write(mysql: MysqlServer, stop: threading.Event, committed: dict[int, float]) -> None:
    """One transaction every 1/RATE s, numbered; `committed`: when each was."""
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        number, due = 0, time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            number, due = number + 1, due + 1 / RATE
            values = ", ".join(f"({number % 1000 * SIZE + n}, {number})" for n in range(SIZE))
            cursor.execute(f"REPLACE INTO fresh.t (id, number) VALUES {values}")
            committed[number] = time.time()


def visible(folder: Path) -> tuple[int, int]:
    """Snapshot time in ms and newest committed transaction, as the catalog file tells any reader."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))
    snapshot = catalog.load_table("fresh.t").current_snapshot()
    return (0, 0) if snapshot is None else (snapshot.timestamp_ms, snapshot.snapshot_id)


def measure(mysql: MysqlServer, fe: FrontendProcess, second: float) -> None:
    mysql.run("CREATE DATABASE fresh", "CREATE TABLE fresh.t (id BIGINT PRIMARY KEY, number BIGINT)")
    fe.sql("CREATE DATABASE fresh")
    fe.sql("CREATE TABLE fresh.t (id BIGINT NOT NULL, number BIGINT) UNIQUE KEY(id)")
    fe.sql(f"CREATE SYNC fresh.job1 (FROM fresh.t INTO t) {BINLOG.format(port=mysql.port)}")
    committed: dict[int, float] = {}
    stop = threading.Event()
    writer = threading.Thread(target=write, args=(mysql, stop, committed))
    writer.start()
    until(lambda: fe.job("fresh")["Status"]["commits"] > 3, deadline=60, why="the first commits")
    threading.Event().wait(WARM_SECOND)
    ages = watch(fe, committed, second)
    stop.set()
    writer.join()
    report(ages)


def watch(fe: FrontendProcess, committed: dict[int, float], second: float) -> list[float]:
    """The age of every transaction at the moment at which its snapshot was in the catalog."""
    folder = fe.folder / "var" / "lake"
    assert fe.process is not None
    meter = Meter(fe.process.pid)
    meter.start()
    started, seen, ages = time.time(), visible(folder), list[float]()
    newest = _newest(fe)
    while time.time() - started < second:
        before = seen
        until(lambda before=before: visible(folder) != before, deadline=30, why="the next commit")
        at, seen = time.time(), visible(folder)
        reached = _newest(fe)
        ages += [at - committed[number] for number in range(newest + 1, reached + 1)]
        newest = reached
    meter.stop()
    print(f"{sum(meter.cpu.values()) / (time.time() - started):.2f} of a core since its start", flush=True)
    return ages


def _newest(fe: FrontendProcess) -> int:
    row: dict[str, Any] = fe.sql("SELECT max(number) AS n FROM fresh.t")[0]
    return int(row["n"] or 0)


def report(ages: list[float]) -> None:
    ages.sort()
    p50, p99 = ages[len(ages) // 2], ages[len(ages) * 99 // 100]
    print(f"{len(ages)} transactions: p50 {p50:.2f} s, p99 {p99:.2f} s", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--interval", type=float, default=1.0)
    arguments.add_argument("--second", type=float, default=30.0)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        mysql = MysqlServer(Path(place) / "mysql", "mysql")
        mysql.start()
        fe = FrontendProcess(Path(place) / "fe", {"sync_commit_interval_second": options.interval}).start()
        try:
            measure(mysql, fe, options.second)
        finally:
            fe.stop()
            mysql.stop()


if __name__ == "__main__":
    main()
