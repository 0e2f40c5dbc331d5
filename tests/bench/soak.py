"""A table under small epochs for a long time: does it stay as fast to read as a fresh copy, and as few files?

Run: python -m tests.bench.soak [--minutes 30] [--interval 1.0]

2,000 changes a second of random rows of 1,000,000, in transactions of 10, one commit a second. At the end count(*) with
a sum and a query of one row are timed through the console while changes still come, and some seconds after the last
one; then the frontend is stopped, and they are timed as the table is and after rewrite_data_files.
"""

import argparse
import contextlib
import random
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG, Meter, caught_up, executed
from tests.bench.reading import REPEATS, compare
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

IDS = 1_000_000
RATE = 200  # transactions a second
SIZE = 10  # changes of one
REST_SECOND = 25  # an idle table is made one clean file
SQL = {"count and sum": "SELECT count(*), sum(number) FROM t", "one row": "SELECT * FROM t WHERE id = 777777"}


def write(mysql: MysqlServer, stop: threading.Event) -> None:
    dice = random.Random(5)
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        number, due = 0, time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            number, due = number + 1, due + 1 / RATE
            values = ", ".join(f"({dice.randrange(IDS)}, {number}, 'change {number}')" for _ in range(SIZE))
            cursor.execute(f"REPLACE INTO soak.t VALUES {values}")


def made_of(folder: Path) -> dict[str, int]:
    """What the table is made of, as another reader of the catalog sees it."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))
    try:
        table = catalog.load_table(("soak", "t"))
    finally:
        catalog.engine.dispose()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    names = ("total-data-files", "total-delete-files", "total-equality-deletes", "total-position-deletes")
    return {name: int(snapshot.summary[name] or 0) for name in names} | {"snapshots": len(table.snapshots())}


def watch(fe: FrontendProcess, folder: Path, minutes: float) -> None:
    assert fe.process is not None
    meter, started = Meter(fe.process.pid), time.monotonic()
    meter.start()
    while time.monotonic() - started < minutes * 60:
        before = sum(meter.cpu.values())
        threading.Event().wait(60)
        status: dict[str, Any] = fe.job("soak")["Status"]
        used = (sum(meter.cpu.values()) - before) / 60
        print(
            f"{(time.monotonic() - started) / 60:.0f} min: lag {status['lag_second']} s, {status['commits']} commits,"
            f" {used:.2f} of a core, {meter.peak / 2**20:.0f} MiB, {status['index']['t']['state']},"
            f" {made_of(folder)}",
            flush=True,
        )
    meter.stop()


def ask(fe: FrontendProcess, when: str) -> None:
    for what, sql in SQL.items():
        took = []
        for _ in range(REPEATS + 1):
            started = time.monotonic()
            fe.sql(sql, "soak")
            took.append(time.monotonic() - started)
        print(f"{what} through the console {when}: {median(took[1:]):.3f} s", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=30.0)
    arguments.add_argument("--interval", type=float, default=1.0)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        mysql = MysqlServer(folder / "mysql", "mysql")
        mysql.start()
        fe = FrontendProcess(folder / "fe", {"sync_commit_interval_second": options.interval}).start()
        try:
            soak(mysql, fe, folder / "fe" / "var" / "lake", options.minutes)
        finally:
            fe.stop()
            mysql.stop()
        compare(folder / "fe" / "var", "soak", SQL)


def soak(mysql: MysqlServer, fe: FrontendProcess, lake_dir: Path, minutes: float) -> None:
    mysql.run("CREATE DATABASE soak", "CREATE TABLE soak.t (id BIGINT PRIMARY KEY, number BIGINT, words VARCHAR(60))")
    fe.sql("CREATE DATABASE soak")
    fe.sql("CREATE TABLE soak.t (id BIGINT NOT NULL, number BIGINT, words VARCHAR(60)) UNIQUE KEY(id)")
    fe.sql(f"CREATE SYNC soak.job1 (FROM soak.t INTO t) {BINLOG.format(port=mysql.port)}")
    stop = threading.Event()
    writer = threading.Thread(target=write, args=(mysql, stop))
    writer.start()
    watch(fe, lake_dir, minutes)
    ask(fe, "while changes come")
    stop.set()
    writer.join()
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        end = executed(cursor)
        until(lambda: caught_up(fe, end, "soak"), deadline=60, why="the last change in the lake")
        cursor.execute("SELECT count(*), sum(number) FROM soak.t")
        threading.Event().wait(REST_SECOND)
        ask(fe, "at rest")
        print("at rest", made_of(lake_dir))
        print("MySQL says", cursor.fetchone(), "the lake says", fe.sql("SELECT count(*), sum(number) FROM soak.t"))


if __name__ == "__main__":
    main()
