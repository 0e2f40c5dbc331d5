"""More than fits: Spark away for minutes, a transaction larger than memory, a job of many tables.

Run: python -m tests.bench.pressure outage|transaction|channels [--size N]

outage: Spark's JVM stands still for SIZE minutes (10) while 500 changes a second come; transaction: one of SIZE
megabytes (1000) of binlog; channels: one job of SIZE tables (200). Each prints the peak memory of the frontend and
its worker (without the JVM), the staged bytes, and how long it took to catch up; each compares rows at the end.
"""

import argparse
import contextlib
import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import psutil

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG, caught_up, executed
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

CATCH_UP_SECOND = 900.0
STEP_SECOND = 0.2
MEGABYTE = 2**20


class Watch(threading.Thread):
    """Peak memory of the frontend and its workers, and peak of what is staged."""

    def __init__(self, fe: FrontendProcess) -> None:
        super().__init__(daemon=True)
        assert fe.process is not None
        self._root = psutil.Process(fe.process.pid)
        self._staging = fe.folder / "var" / "staging"
        self._ended = threading.Event()
        self.memory = self.staged = 0

    def run(self) -> None:
        while not self._ended.wait(STEP_SECOND):
            with contextlib.suppress(psutil.NoSuchProcess, FileNotFoundError):
                ours = [child for child in self._root.children(recursive=True) if child.name() != "java"]
                self.memory = max(self.memory, sum(each.memory_info().rss for each in [self._root, *ours]))
                self.staged = max(self.staged, sum(file.stat().st_size for file in self._staging.rglob("*.parquet")))

    def stop(self) -> str:
        self._ended.set()
        return f"at most {self.memory / MEGABYTE:.0f} MiB of memory, {self.staged / MEGABYTE:.1f} MiB staged"


def create(mysql: MysqlServer, fe: FrontendProcess, tables: list[str]) -> None:
    mysql.run(
        "CREATE DATABASE press",
        *(f"CREATE TABLE press.{name} (id BIGINT PRIMARY KEY, v VARCHAR(2000))" for name in tables),
    )
    fe.sql("CREATE DATABASE press")
    for name in tables:
        fe.sql(f"CREATE TABLE press.{name} (id BIGINT NOT NULL, v VARCHAR(2000)) UNIQUE KEY(id)")
    channels = ", ".join(f"FROM press.{name} INTO {name}" for name in tables)
    fe.sql(f"CREATE SYNC press.job1 ({channels}) {BINLOG.format(port=mysql.port)}")


def catch_up(mysql: MysqlServer, fe: FrontendProcess, tables: list[str]) -> float:
    """Seconds until every row is as at the source."""
    began = time.monotonic()
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        end = executed(cursor)
    until(lambda: caught_up(fe, end, "press"), deadline=CATCH_UP_SECOND, why="the end")
    took = time.monotonic() - began
    for name in tables:
        sql = f"SELECT count(*), sum(crc32(v)), sum(id) FROM press.{name}"
        ours = [tuple(map(int, row.values())) for row in fe.sql(sql)]
        assert ours == [tuple(map(int, row)) for row in mysql.run(sql)], name
    return took


def outage(mysql: MysqlServer, fe: FrontendProcess, minutes: int) -> None:
    create(mysql, fe, ["t"])
    (java,) = fe.java()
    watch, ended = Watch(fe), threading.Event()

    def write() -> None:
        number = 0
        while not ended.wait(0.02):
            number += 10
            values = ", ".join(f"({(number + n) % 50_000}, '{number:0>200}')" for n in range(10))
            mysql.run(f"REPLACE INTO press.t VALUES {values}")

    writer = threading.Thread(target=write)
    writer.start()
    watch.start()
    os.kill(java, signal.SIGSTOP)
    time.sleep(minutes * 60)
    os.kill(java, signal.SIGCONT)
    ended.set()
    writer.join()
    print(f"Spark away for {minutes} min: caught up in {catch_up(mysql, fe, ['t']):.1f} s, {watch.stop()}")


def transaction(mysql: MysqlServer, fe: FrontendProcess, megabytes: int) -> None:
    create(mysql, fe, ["t"])
    watch = Watch(fe)
    watch.start()
    with contextlib.closing(mysql.connect(autocommit=False)) as connection, connection.cursor() as cursor:
        for number in range(megabytes):
            values = ", ".join(f"({number * 1000 + n}, REPEAT(SHA2({number * n}, 256), 16))" for n in range(1000))
            cursor.execute(f"INSERT INTO press.t VALUES {values}")
        connection.commit()
    print(f"A transaction of {megabytes} MB: {catch_up(mysql, fe, ['t']):.1f} s, {watch.stop()}")


def channels(mysql: MysqlServer, fe: FrontendProcess, count: int) -> None:
    tables = [f"t{number}" for number in range(count)]
    create(mysql, fe, tables)
    watch = Watch(fe)
    watch.start()
    for round_ in range(20):
        mysql.run(*(f"REPLACE INTO press.{name} VALUES (1, 'round {round_}'), ({round_}, 'x')" for name in tables))
    print(f"{count} tables in one job: {catch_up(mysql, fe, tables):.1f} s, {watch.stop()}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    kinds = {"outage": (outage, 10), "transaction": (transaction, 1000), "channels": (channels, 200)}
    arguments.add_argument("kind", choices=list(kinds))
    arguments.add_argument("--size", type=int)
    options = arguments.parse_args()
    run, size = kinds[options.kind]
    with tempfile.TemporaryDirectory() as place:
        mysql = MysqlServer(Path(place) / "mysql", "mysql", {"max-binlog-cache-size": "16G"}).start()
        fe = FrontendProcess(Path(place) / "fe", {"sync_commit_interval_second": 1}).start()
        try:
            run(mysql, fe, options.size or size)
        finally:
            fe.stop()
            mysql.stop()


if __name__ == "__main__":
    main()
