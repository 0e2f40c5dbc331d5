"""Who breaks things.

Owns: what may be broken, how often, and its figures.
Must not know: the tables, what is right.
"""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from typing import Final

import psutil
import pymysql

from tests.acceptance.frontend import FrontendProcess
from tests.servers import MysqlServer
from tests.until import until

ASK_SECOND: Final = 60.0
WAIT_SECOND: Final = 2.0  # between two deeds, on average
DBS: Final = ("bank", "shop")
THRESHOLDS: Final = {
    "sync_commit_interval_second": (0.05, 0.3, 1, 3),
    "min_sync_commit_size": (1, 100, 10_000),
    "min_bytes_sync_commit": (1, 15 * 2**20),
    "max_bytes_sync_commit": (1, 100_000, 64 * 2**20),
    "position_commit_interval_second": (0.1, 1),
    "source_queue_batches": (1, 64),
    "consistent_point_keep_second": (60, 900),
}


class Adversary:
    """Breaks one thing after the other; `dice` decides which and when, the machine how far everything else is then."""

    def __init__(self, fe: FrontendProcess, mysql: MysqlServer, dice: random.Random) -> None:
        self._fe, self._mysql, self._dice = fe, mysql, dice
        self.deeds: Counter[str] = Counter()
        self.kills: Counter[str] = Counter()  # of processes that were there to be killed
        self.ports: list[float] = []  # seconds from a kill of the frontend to its open port
        self._weights = {
            self.kill_worker: 10,
            self.kill_frontend: 3,
            self.kill_frontend_twice: 1,
            self.kill_spark: 2,
            self.kill_mysql: 1,
            self.stop_mysql: 1,
            self.cut_connections: 4,
            self.pause_and_resume: 4,
            self.change_thresholds: 4,
            self.freeze_worker: 3,
            self.freeze_spark: 2,
        }

    def act(self) -> str:
        """Waits some time, does one thing, tells which."""
        deed = self._dice.choices(list(self._weights), weights=list(self._weights.values()))[0]
        time.sleep(min(self._dice.expovariate(1 / WAIT_SECOND), 4 * WAIT_SECOND))
        deed()
        self.deeds[deed.__name__] += 1
        return deed.__name__

    def ask(self, statement: str, db: str | None = None) -> None:
        """As an operator does who types it again where Spark has just died."""

        def answered() -> bool:
            with contextlib.suppress(pymysql.err.MySQLError):
                self._fe.sql(statement, db)
                return True
            return False

        until(answered, deadline=ASK_SECOND, why=statement)

    # -- what it does

    def kill_worker(self) -> None:
        """Any of them, with a second one sometimes."""
        workers = self._fe.workers()
        for worker in self._dice.sample(workers, min(len(workers), self._dice.choice((1, 1, 2)))):
            self.kills["worker"] += _signalled(worker, signal.SIGKILL)

    def kill_frontend(self) -> None:
        self._fe.kill()
        self.kills["frontend"] += 1
        began = time.monotonic()
        self._fe.start()
        self.ports.append(time.monotonic() - began)

    def kill_frontend_twice(self) -> None:
        """The second time while it recovers from the first."""
        self.kill_frontend()
        time.sleep(self._dice.uniform(0, 12))
        self.kill_frontend()

    def kill_spark(self) -> None:
        for java in self._spark():
            self.kills["JVM"] += _signalled(java, signal.SIGKILL)

    def kill_mysql(self) -> None:
        self._mysql.kill()
        self.kills["MySQL"] += 1
        time.sleep(self._dice.uniform(0, 2))
        self._mysql.start()

    def stop_mysql(self) -> None:
        self._mysql.stop()
        time.sleep(self._dice.uniform(0, 2))
        self._mysql.start()

    def cut_connections(self) -> None:
        threads = "SELECT processlist_id FROM performance_schema.threads WHERE processlist_command LIKE 'Binlog Dump%'"
        for (number,) in self._mysql.run(threads):
            with contextlib.suppress(pymysql.err.OperationalError):  # it has gone by itself
                self._mysql.run(f"KILL {number}")

    def pause_and_resume(self) -> None:
        """A job that an error has paused is resumed too."""
        db = self._dice.choice(DBS)
        with contextlib.suppress(pymysql.err.MySQLError):
            self._fe.sql(f"PAUSE SYNC JOB {db}.job1")
        time.sleep(self._dice.uniform(0, 2))
        if self._fe.job(db)["State"] == "PAUSED":
            self.ask(f"RESUME SYNC JOB {db}.job1")

    def change_thresholds(self) -> None:
        name = self._dice.choice(list(THRESHOLDS))
        self.ask(f'ADMIN SET FRONTEND CONFIG ("{name}" = "{self._dice.choice(THRESHOLDS[name])}")')

    def freeze_worker(self) -> None:
        self._freeze(self._fe.workers())

    def freeze_spark(self) -> None:
        self._freeze(self._spark())

    def _freeze(self, processes: list[psutil.Process]) -> None:
        if processes:
            process = self._dice.choice(processes)
            _signalled(process, signal.SIGSTOP)
            time.sleep(self._dice.uniform(0.2, 2))
            _signalled(process, signal.SIGCONT)

    def _spark(self) -> list[psutil.Process]:
        assert self._fe.process is not None
        return [child for child in psutil.Process(self._fe.process.pid).children() if child.name() == "java"]


def _signalled(process: psutil.Process, number: signal.Signals) -> bool:
    """False for one that has gone by itself."""
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True
