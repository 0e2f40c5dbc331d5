"""How long it takes from a kill to the first commit, where little else is to be done.

Run: python -m tests.bench.recovery [--times 5]

Of a worker, of Spark's JVM, of the frontend, which is started again at once: a row is changed right behind the kill,
and the time runs until the job stands behind that change. Of the frontend also until its port is open.
"""

import argparse
import contextlib
import os
import signal
import statistics
import tempfile
import time
from pathlib import Path

import pymysql

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

RECOVERY_SECOND = 120.0
REST_SECOND = 5.0  # the new process has started for good


class Recovery:
    """One small table, and who dies."""

    def __init__(self, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self._mysql, self._fe = mysql, fe
        self.ports: list[float] = []
        self.kinds = {
            "worker": lambda: _kill([worker.pid for worker in fe.workers()]),
            "JVM": lambda: _kill(fe.java()),
            "frontend": self._kill_frontend,
        }

    def begin(self) -> None:
        self._mysql.run("CREATE DATABASE bench", "CREATE TABLE bench.t (id INT PRIMARY KEY, v INT)")
        self._mysql.run("INSERT INTO bench.t VALUES (1, 0)")
        self._fe.sql("CREATE DATABASE bench")
        self._fe.sql("CREATE TABLE bench.t (id INT NOT NULL, v INT) UNIQUE KEY(id)")
        self._fe.sql(f"CREATE SYNC bench.job1 (FROM bench.t INTO t) {BINLOG.format(port=self._mysql.port)}")
        self.change()

    def change(self) -> float:
        """Seconds until a change is committed."""
        began = time.monotonic()
        self._mysql.run("UPDATE bench.t SET v = v + 1")
        executed = str(self._mysql.run("SELECT @@gtid_executed")[0][0]).replace("\n", "")
        until(lambda: self._stands(executed), deadline=RECOVERY_SECOND, why="the commit of a change", step=0.02)
        return time.monotonic() - began

    def _stands(self, executed: str) -> bool:
        with contextlib.suppress(pymysql.err.MySQLError):
            return bool(self._fe.job("bench")["Status"]["position"]["gtid"] == executed)
        return False

    def _kill_frontend(self) -> None:
        self._fe.kill(waits=False)
        began = time.monotonic()
        self._fe.start()
        self.ports.append(time.monotonic() - began)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--times", type=int, default=5)
    times = arguments.parse_args().times
    with tempfile.TemporaryDirectory() as place:
        mysql = MysqlServer(Path(place) / "mysql", "mysql").start()
        fe = FrontendProcess(Path(place) / "fe").start()
        try:
            recovery = Recovery(mysql, fe)
            recovery.begin()
            for kind, kill in recovery.kinds.items():
                found = []
                for _ in range(times):
                    time.sleep(REST_SECOND)
                    began = time.monotonic()
                    kill()
                    recovery.change()
                    found.append(time.monotonic() - began)
                print(f"{kind}: first commit after p50 {statistics.median(found):.1f} s, longest {max(found):.1f} s")
            ports = recovery.ports
            print(f"frontend: port open after p50 {statistics.median(ports):.1f} s, longest {max(ports):.1f} s")
        finally:
            fe.stop()
            mysql.stop()


if __name__ == "__main__":
    main()
