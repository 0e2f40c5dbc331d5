"""Who breaks things.

Owns: what may be broken, how often, and its figures.
Must not know: the tables, what is right.
"""

import contextlib
import random
import signal
import time
from collections.abc import Callable, Mapping
from typing import Final

import psutil
import pymysql

from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.small_disk import SmallDisk
from tests.support.until import until
from tests.torture.victims import DBS, Victims, signalled

ASK_SECOND: Final = 180.0
TIMED_SHARE: Final = 0.3
WAIT_SECOND: Final = 1.0  # between two deeds, on average
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

    def __init__(
        self,
        victims: Victims,
        mysql: MysqlServer,
        network: Proxy,
        staging: SmallDisk | None,
        dice: random.Random,
    ) -> None:
        """`network`: between the jobs and the server. `staging`: None where nothing may be mounted."""
        self._victims, self._fe = victims, victims.fe
        self._mysql, self._network, self._staging, self._dice = mysql, network, staging, dice
        self._table: SmallDisk | None = None
        self._kills: dict[Callable[[], object], float] = {
            self.kill_worker: 14,
            self.kill_frontend: 3,
            self.kill_frontend_twice: 1,
            self.kill_spark: 3,
            self.kill_spark_and_workers: 1,
        }
        self._others: dict[Callable[[], object], float] = {
            self.kill_mysql: 1,
            self.stop_mysql: 1,
            self.cut_connections: 4,
            self.pause_and_resume: 4,
            self.change_thresholds: 4,
            self.freeze_worker: 3,
            self.freeze_spark: 2,
            self.slow_network: 3,
            self.refuse_connections: 2,
            **({} if staging is None else {self.fill_staging: 3}),
        }

    def take(self, table: SmallDisk) -> None:
        """The disk of one table of the bank, to be filled."""
        self._table = table
        self._others[self.fill_table] = 3

    def also(self, deeds: Mapping[Callable[[], object], float]) -> None:
        """Breaks these, too; with the weight of each."""
        self._others |= deeds

    def act(self) -> None:
        """Waits some time, does one thing."""
        time.sleep(min(self._dice.expovariate(1 / WAIT_SECOND), 4 * WAIT_SECOND))
        self._do_one_of(self._kills | self._others)

    def break_something(self) -> None:
        """One thing that kills neither the frontend nor what belongs to it."""
        self._do_one_of(self._others)

    def _do_one_of(self, weights: dict[Callable[[], object], float]) -> None:
        deed = self._dice.choices(list(weights), weights=list(weights.values()))[0]
        deed()
        self._victims.figures.deeds[deed.__name__] += 1

    def ask(self, statement: str, db: str | None = None) -> None:
        """As an operator does who types it again where Spark has just died."""

        def answered() -> bool:
            with contextlib.suppress(pymysql.err.MySQLError):
                self._fe.sql(statement, db)
                return True
            return False

        until(answered, deadline=ASK_SECOND, why=statement)

    def kill_worker(self) -> None:
        self._victims.kill_workers()
        self._sometimes_wait("worker")

    def kill_frontend(self) -> None:
        self._victims.kill_frontend()
        self._sometimes_wait("frontend")

    def kill_frontend_twice(self) -> None:
        """The second time while it recovers from the first."""
        self._victims.kill_frontend()
        time.sleep(self._dice.uniform(0, 12))
        self._victims.kill_frontend()

    def kill_spark(self) -> None:
        self._victims.kill_spark()
        self._sometimes_wait("JVM")

    def kill_spark_and_workers(self) -> None:
        self._victims.kill_spark()
        self._victims.kill_workers()

    def kill_mysql(self) -> None:
        self._mysql.kill()
        self._victims.figures.kills["MySQL"] += 1
        time.sleep(self._dice.uniform(0, 2))
        self._mysql.start()

    def stop_mysql(self) -> None:
        self._mysql.stop()
        time.sleep(self._dice.uniform(0, 2))
        self._mysql.start()

    def cut_connections(self) -> None:
        self._mysql.end_sessions("command LIKE 'Binlog Dump%'")

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
        _freeze(self._fe.workers(), self._dice)

    def freeze_spark(self) -> None:
        _freeze(self._victims.spark(), self._dice)

    def slow_network(self) -> None:
        self._network.rate = self._dice.choice((2_000.0, 50_000.0, 500_000.0))
        time.sleep(self._dice.uniform(0.5, 4))
        self._network.rate = None

    def refuse_connections(self) -> None:
        self._network.refuses = True
        self._network.cut()
        time.sleep(self._dice.uniform(0.5, 4))
        self._network.refuses = False

    def fill_staging(self) -> None:
        """To the last byte, or nearly."""
        assert self._staging is not None
        self._staging.fill(leave=self._dice.choice((0, 4096, 200_000)))
        time.sleep(self._dice.uniform(0.5, 5))
        self._staging.free()

    def fill_table(self) -> None:
        """One table cannot be committed; the others of its job go on."""
        assert self._table is not None
        self._table.fill(leave=self._dice.choice((0, 3000)))
        time.sleep(self._dice.uniform(0.5, 8))
        self._table.free()

    def _sometimes_wait(self, kind: str) -> None:
        """Nothing else is broken until all is well again."""
        if self._dice.random() < TIMED_SHARE and all(self._is_running(db) for db in DBS):
            self._victims.recover(kind)

    def _is_running(self, db: str) -> bool:
        with contextlib.suppress(pymysql.err.MySQLError):
            return self._fe.job(db)["State"] in {"RUNNING", "PENDING"}
        return False


def _freeze(processes: list[psutil.Process], dice: random.Random) -> None:
    """One of them, for a moment."""
    if processes:
        process = dice.choice(processes)
        signalled(process, signal.SIGSTOP)
        time.sleep(dice.uniform(0.2, 2))
        signalled(process, signal.SIGCONT)
