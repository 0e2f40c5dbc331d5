"""A filled table into an empty lake: rows a second, CPU seconds, peak memory, and the reads right after.

Run: python -m tests.bench.snapshot [--rows 4000000] [--connections 4]

The time runs from CREATE SYNC to the end of the phase "snapshot". A second table of the same rows follows, for which
the JVM is warm.
"""

import argparse
import tempfile
import time
from pathlib import Path

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG, COLUMNS, SQL, Meter, load
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

SNAPSHOT = BINLOG.replace('"latest"', '"snapshot"')
DONE_SECOND = 600.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=4_000_000)
    arguments.add_argument("--connections", type=int, default=4)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        mysql = MysqlServer(folder / "mysql", "mysql").start()
        fe = FrontendProcess(folder / "fe").start()
        try:
            with mysql.connect() as source, source.cursor() as cursor:
                cursor.execute("CREATE DATABASE bench")
                cursor.execute(f"CREATE TABLE bench.t ({COLUMNS.format(key='PRIMARY KEY')})")
                load(cursor, options.rows)
                cursor.execute("ANALYZE TABLE bench.t")
            fe.sql("CREATE DATABASE bench")
            for table in ("t", "again"):
                measure(mysql, fe, table, options.connections)
            for what, sql in SQL.items():
                started = time.monotonic()
                found = fe.sql(sql, "bench")[0]
                print(f"{what} in {time.monotonic() - started:.2f} s: {found}")
            print("MySQL says", mysql.run("SELECT count(*), sum(c1) FROM bench.t"))
            print("index:", fe.job("bench")["Status"]["index"])
        finally:
            fe.stop()
            mysql.stop()


def measure(mysql: MysqlServer, fe: FrontendProcess, table: str, connections: int) -> None:
    fe.sql(f"CREATE TABLE bench.{table} ({COLUMNS.format(key='NOT NULL')}) UNIQUE KEY(id)")
    assert fe.process is not None
    meter = Meter(fe.process.pid)
    meter.sample()
    before = dict(meter.cpu)
    meter.start()
    started = time.monotonic()
    properties = f'PROPERTIES ("snapshot_max_connections" = "{connections}")'
    fe.sql(f"CREATE SYNC bench.{table} (FROM bench.t INTO {table}) {SNAPSHOT.format(port=mysql.port)} {properties}")

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
