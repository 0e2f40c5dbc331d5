"""A filled table into an empty lake: rows a second, CPU seconds, peak memory, and the reads right after.

Run: python -m tests.bench.snapshot [--rows 4000000] [--connections 4] [--lake s3-rest [--delay 0.02] [--cluster]]
         [--computed]

The time runs from CREATE SYNC to the end of the phase "snapshot". A second table of the same rows follows, for which
the JVM is warm. With --computed the rows have an expression, so that Spark writes them. CPU and memory of executors are
not counted.
"""

import argparse
import tempfile
import time
from pathlib import Path

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG, COLUMNS, SQL, Meter, load
from tests.bench.places import add_options, made, placed
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

SNAPSHOT = BINLOG.replace('"latest"', '"snapshot"')
DONE_SECOND = 600.0
COMPUTED = " (id, c1, c2, c3, c4, c5, c6 = upper(c6))"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=4_000_000)
    arguments.add_argument("--connections", type=int, default=4)
    arguments.add_argument("--computed", action="store_true", help="Spark computes a column")
    add_options(arguments, cluster=True)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place, placed(options, Path(place)) as settings:
        folder = Path(place)
        mysql = MysqlServer(folder / "mysql", "mysql").start()
        fe = FrontendProcess(folder / "fe", settings).start()
        try:
            with mysql.connect() as source, source.cursor() as cursor:
                cursor.execute("CREATE DATABASE bench")
                cursor.execute(f"CREATE TABLE bench.t ({COLUMNS.format(key='PRIMARY KEY')})")
                load(cursor, options.rows)
                cursor.execute("ANALYZE TABLE bench.t")
            until(lambda: made(fe, "bench"), deadline=120, why="Spark")
            for table in ("t", "again"):
                measure(mysql, fe, table, options.connections, COMPUTED if options.computed else "")
            for what, sql in SQL.items():
                started = time.monotonic()
                found = fe.sql(sql, "bench")[0]
                print(f"{what} in {time.monotonic() - started:.2f} s: {found}")
            print("MySQL says", mysql.run("SELECT count(*), sum(c1) FROM bench.t"))
            print("index:", fe.job("bench")["Status"]["index"])
        finally:
            fe.stop()
            mysql.stop()


def measure(mysql: MysqlServer, fe: FrontendProcess, table: str, connections: int, columns: str) -> None:
    fe.sql(f"CREATE TABLE bench.{table} ({COLUMNS.format(key='NOT NULL')}) UNIQUE KEY(id)")
    assert fe.process is not None
    meter = Meter(fe.process.pid)
    meter.sample()
    before = dict(meter.cpu)
    meter.start()
    started = time.monotonic()
    source = SNAPSHOT.format(port=mysql.port)
    properties = f'PROPERTIES ("snapshot_max_connections" = "{connections}")'
    fe.sql(f"CREATE SYNC bench.{table} (FROM bench.t INTO {table}{columns}) {source} {properties}")

    def ended() -> bool:
        load = fe.job("bench")["Status"]["snapshot"][table]
        return bool(load["phase"] != "snapshot")

    until(ended, deadline=DONE_SECOND, why="the end of the snapshot")
    took = time.monotonic() - started
    meter.stop()
    used = sum(seconds - before.get(pid, 0.0) for pid, seconds in meter.cpu.items())
    rows = fe.job("bench")["Status"]["snapshot"][table]["rows"]
    print(
        f"{rows} rows in {took:.1f} s: {rows / took:.0f} rows/s, {used:.1f} CPU s, {meter.peak / 2**20:.0f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    main()
