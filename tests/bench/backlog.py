"""A backlog of changes onto a big table: changes per second, CPU seconds, peak memory, and the reads right after.

Run: python -m tests.bench.backlog [--rows 4000000] [--changes 1000000] [--lake s3-rest [--delay 0.02]]

Transactions of 100 changes: 50 one-row updates of random ids, one insert of 40 rows, one delete of 10.
The job first brings the table itself through the binlog, is paused, and the time runs from RESUME to caught up.
"""

import argparse
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from tests.acceptance.frontend import FrontendProcess
from tests.bench.places import add_options, made, placed
from tests.bench.reading import compare
from tests.support.lakes import of_spark
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}",'
    ' "mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
COLUMNS = "id BIGINT {key}, c1 INT, c2 VARCHAR(40), c3 DECIMAL(12,2), c4 DATETIME, c5 BIGINT, c6 VARCHAR(60)"
ROW = "{id}, {id} % 1000, CONCAT('name-', {id}), {id} / 7, '2026-01-01', {id} * 3, CONCAT('text of row ', {id})"
SQL = {"count and sum": "SELECT count(*) AS n, sum(c1) AS s FROM t", "one row": "SELECT * FROM t WHERE id = 123456"}
LOAD = 100_000  # rows of one loading transaction


class Meter(threading.Thread):
    """CPU seconds and peak memory of the frontend and everything below it."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self.peak = 0
        self.cpu: dict[int, float] = {}

    def run(self) -> None:
        while not self._ended.wait(0.2):
            self.sample()

    def sample(self) -> None:
        total = 0
        for process in [self._root, *self._root.children(recursive=True)]:
            try:
                total += process.memory_info().rss
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            self.cpu[process.pid] = times.user + times.system
        self.peak = max(self.peak, total)

    def stop(self) -> None:
        self.sample()
        self._ended.set()


def load(cursor: Any, rows: int) -> None:
    cursor.execute("SET SESSION cte_max_recursion_depth = 1000000")
    for first in range(1, rows + 1, LOAD):
        last = min(first + LOAD - 1, rows)
        cursor.execute(
            f"INSERT INTO bench.t WITH RECURSIVE r AS (SELECT {first} n UNION ALL SELECT n + 1 FROM r WHERE n < {last})"
            f" SELECT {ROW.format(id='n')} FROM r",
        )
        cursor.execute("COMMIT")


def change(cursor: Any, rows: int, changes: int) -> None:
    dice, fresh = random.Random(3), rows + 1
    for _ in range(changes // 100):
        cursor.execute("BEGIN")
        for _ in range(50):
            cursor.execute(f"UPDATE bench.t SET c1 = c1 + 1, c6 = 'changed' WHERE id = {dice.randrange(1, rows + 1)}")
        values = ", ".join(f"({ROW.format(id=fresh + n)})" for n in range(40))
        cursor.execute(f"INSERT INTO bench.t VALUES {values}")
        cursor.execute(f"DELETE FROM bench.t WHERE id >= {fresh} AND id < {fresh + 10}")
        cursor.execute("COMMIT")
        fresh += 40


def caught_up(fe: FrontendProcess, gtid: str, db: str = "bench") -> bool:
    status = fe.job(db)["Status"]
    return bool(status["position"]["gtid"] == gtid)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=4_000_000)
    arguments.add_argument("--changes", type=int, default=1_000_000)
    arguments.add_argument("--at-once", action="store_true", help="compare the table as the last commit left it")
    add_options(arguments)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place, placed(options, Path(place)) as settings:
        folder = Path(place)
        mysql = MysqlServer(folder / "mysql", "mysql")
        mysql.start()
        fe = FrontendProcess(folder / "fe", {"sync_commit_interval_second": 1, **settings}).start()
        try:
            measure(mysql, fe, options.rows, options.changes)
            if not options.at_once:
                read(fe)
        finally:
            fe.stop()
            mysql.stop()
        compare(folder / "fe" / "var", "bench", SQL, of_spark(settings))


def executed(cursor: Any) -> str:
    cursor.execute("SELECT @@gtid_executed")
    return str(cursor.fetchone()[0]).replace("\n", "")


def measure(mysql: MysqlServer, fe: FrontendProcess, rows: int, changes: int) -> None:
    source = mysql.connect()
    cursor = source.cursor()
    cursor.execute("CREATE DATABASE bench")
    cursor.execute(f"CREATE TABLE bench.t ({COLUMNS.format(key='PRIMARY KEY')})")
    until(lambda: made(fe, "bench"), deadline=120, why="Spark")
    fe.sql(f"CREATE TABLE bench.t ({COLUMNS.format(key='NOT NULL')}) UNIQUE KEY(id)")
    fe.sql(f"CREATE SYNC bench.job1 (FROM bench.t INTO t) {BINLOG.format(port=mysql.port)}")
    started = time.monotonic()
    load(cursor, rows)
    until(lambda: caught_up(fe, executed(cursor)), deadline=900, why="the table itself in the lake")
    print(f"{rows} rows written and synced in {time.monotonic() - started:.1f} s", flush=True)
    fe.sql("PAUSE SYNC JOB bench.job1")
    change(cursor, rows, changes)
    end = executed(cursor)
    before = fe.job("bench")["Status"]["consumed_rows"]
    assert fe.process is not None
    meter = Meter(fe.process.pid)
    meter.sample()
    cpu = dict(meter.cpu)
    meter.start()
    started = time.monotonic()
    fe.sql("RESUME SYNC JOB bench.job1")
    until(lambda: caught_up(fe, end), deadline=900, why="the backlog in the lake")
    took = time.monotonic() - started
    meter.stop()
    used = sum(seconds - cpu.get(pid, 0.0) for pid, seconds in meter.cpu.items())
    moved = fe.job("bench")["Status"]["consumed_rows"] - before
    print(
        f"{moved} changes in {took:.1f} s: {moved / took:.0f} changes/s, {used:.1f} CPU s, {meter.peak / 2**20:.0f} MiB"
    )
    print("index:", fe.job("bench")["Status"]["index"])
    cursor.execute("SELECT count(*), sum(c1) FROM bench.t")
    print("MySQL says", cursor.fetchone())


def read(fe: FrontendProcess) -> None:
    """Through the console, while upkeep begins."""
    for what, sql in SQL.items():
        for _ in range(2):
            started = time.monotonic()
            found = fe.sql(sql, "bench")[0]
            print(f"{what} in {time.monotonic() - started:.2f} s: {found}")


if __name__ == "__main__":
    main()
