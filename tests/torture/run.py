"""One run of the torture.

Owns: its order: create, break and check by turns, report.
Must not know: what is broken, what is right.
"""

import contextlib
import random
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pymysql

from tests.acceptance.frontend import FrontendProcess
from tests.support.lakes import RestLake, rest_lake
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.servers.spark_cluster import SparkCluster
from tests.support.small_disk import FILLER, NoMountError, SmallDisk
from tests.torture.adversary import Adversary
from tests.torture.engine import Engine, Operation
from tests.torture.figures import Figures, append, load
from tests.torture.foreign import Foreign
from tests.torture.killer import Killer
from tests.torture.lake_troubles import LakeTroubles
from tests.torture.operator import Operator
from tests.torture.verdict import check, quiet
from tests.torture.victims import DBS, Victims
from tests.torture.workload import TABLES, Workload, banking, open_the_bank, shopping, tables

CHECK_SECOND: Final = 30.0  # between two checks of a short run
CHECKS: Final = 6  # of a long one
EACH: Final = 25
AGAIN: Final = 0.7
PAUSE_SECOND: Final = 0.004
REST_SECOND: Final = 1.0
STAGING_MEBIBYTES: Final = 64
TABLE_MEBIBYTES: Final = 256
FILLED: Final = "vaults"  # the table of the bank whose disk is full now and then
BINLOG: Final = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}",'
    ' "mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
# What the server has shown to a replica outlives its own kill: what it gave to the operating system is enough.
DURABLE: Final = {"innodb-flush-log-at-trx-commit": "2"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a run is to do. Times in seconds."""

    seed: int
    seconds: float
    kills: Mapping[str, int] = field(default_factory=dict)  # by kind, one after the other; none: anything at random
    each: int = EACH  # kills between two comparisons
    again: float = AGAIN  # so often the next kill comes in the recovery from the one before
    figures: Path | None = None  # a line is appended after each comparison
    held: float = 0.0  # so long everything is left as it is after a failure
    pause: float = PAUSE_SECOND  # between two transactions
    rests: Path | None = None  # while this file exists, nobody acts or writes: others measure on this machine
    settings: Mapping[str, str] = field(default_factory=dict)  # further lines of fe.conf
    engine: bool = False  # whether another engine works on the tables of the shop
    version: int = 3  # of Iceberg's format, of all tables
    elsewhere: bool = False  # whether the lake is in S3 behind a REST catalog, and both have trouble
    cluster: bool = False  # whether Spark's tasks run in executors of a cluster, which are killed


class Torture:
    """Servers in a folder of their own; `run` starts and ends them."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder, self._plan = folder, plan
        self._dice = random.Random(plan.seed)
        self._mysql = MysqlServer(folder / "mysql", "mysql", DURABLE)
        self._network = Proxy(self._mysql.port)
        self._staging = _small_disk(folder / "staging", STAGING_MEBIBYTES)
        self._disks = [] if self._staging is None else [self._staging]
        self._servers = contextlib.ExitStack()
        self._lake = self._elsewhere() if plan.elsewhere else None
        self._cluster = self._executors() if plan.cluster else None
        settings = {} if self._lake is None else {**self._lake.settings}
        settings |= {} if self._cluster is None else self._cluster.options()
        self._fe = FrontendProcess(folder / "fe", {"staging_dir": folder / "staging", **settings, **plan.settings})
        self._workloads = [Workload(self._mysql, self._dice.random(), work, plan.pause) for work in (banking, shopping)]
        self._operator = Operator(self._fe, self._count)
        self._victims = Victims(self._fe, self._mysql, self._fork(), self._operator.look)
        self._adversary = Adversary(self._victims, self._mysql, self._network, self._staging, self._fork())
        self._killer = self._new_killer() if plan.kills else None
        self._engine: Engine | None = None
        self._foreign: Foreign | None = None
        self._made = 0
        self.total = Figures()

    def _new_killer(self) -> Killer:
        return Killer(self._victims, self._adversary, self._fork(), self._plan.kills, self._plan.again)

    def _elsewhere(self) -> RestLake:
        folder = self._folder / "elsewhere"
        folder.mkdir(parents=True)
        return self._servers.enter_context(rest_lake(folder, troubled=True))

    def _executors(self) -> SparkCluster:
        """They do not see the frontend's folder."""
        own, hidden = self._folder / "cluster", self._folder / "fe"
        for folder in (own, hidden):
            folder.mkdir(parents=True, exist_ok=True)
        cluster = SparkCluster(own, [hidden])
        self._servers.callback(cluster.stop)
        return cluster.start()

    def _fork(self) -> random.Random:
        return random.Random(self._dice.random())

    def _count(self, deed: str) -> None:
        self._victims.figures.deeds[deed] += 1

    def _count_foreign(self, operation: Operation) -> None:
        figures = self._victims.figures
        figures.deeds[operation.words] += 1
        figures.foreign[operation.outcome] += 1
        figures.expired += operation.expired

    def run(self) -> None:
        """Raises AssertionError where the lake is wrong, with the seed and the folder, which stays."""
        self._mysql.start()
        self._fe.start()
        try:
            self._create()
            if self._plan.engine:
                self._bring_engine()
            self._torture()
        except (AssertionError, pymysql.err.MySQLError, RuntimeError) as error:
            self._secure(f"seed {self._plan.seed}, {self._folder}: {error}")
            raise AssertionError(f"seed {self._plan.seed}, {self._folder}: {error}") from error
        finally:
            self._end()

    def _end(self) -> None:
        for workload in self._workloads:
            with contextlib.suppress(RuntimeError):  # it was not started
                workload.stop()
        self._send_engine_away()
        if self._killer is None:
            self._fe.stop()
        self._fe.kill_if_alive()
        self._mysql.stop()
        self._network.close()
        for disk in self._disks:
            disk.unmount()
        self._servers.close()

    def _bring_engine(self) -> None:
        self._engine = Engine(self._folder / "fe" / "var" / "lake", self._fork())
        self._operator.knows(self._engine)
        self._foreign = Foreign(self._engine, self._fork(), self._count_foreign)
        self._foreign.start()

    def _send_engine_away(self) -> None:
        if self._foreign is not None:
            self._foreign.stop()
        if self._engine is not None:
            self._engine.stop()
        self._foreign = self._engine = None

    @property
    def _turns(self) -> list[threading.Lock]:
        """Who holds all of them sees nobody write."""
        foreign = [] if self._foreign is None else [self._foreign.turn]
        return [*(workload.turn for workload in self._workloads), *foreign]

    def _secure(self, what: str) -> None:
        """Nothing that could explain it is swept away."""
        self._send_engine_away()
        self._victims.figures.wrong.append(what)
        self._note()
        print(what, flush=True)
        time.sleep(self._plan.held)
        self._fe.kill_if_alive()
        if self._staging is not None:
            shutil.copytree(self._staging.folder, self._folder / "staged", ignore=shutil.ignore_patterns(FILLER))

    def _create(self) -> None:
        for db in DBS:
            self._mysql.run(f"CREATE DATABASE {db}")
            self._adversary.ask(f"CREATE DATABASE IF NOT EXISTS {db}")
        for table in TABLES:
            self._mysql.run(f"CREATE TABLE {table.path} {table.source}")
            properties = f'PROPERTIES ("format-version" = "{self._plan.version}")'
            self._fe.sql(f"CREATE TABLE {table.path} {table.target} {properties}")
        self._mount_table()
        for db in DBS:
            channels = ", ".join(f"FROM {table.path} INTO {table.name}" for table in tables(db))
            self._fe.sql(f"CREATE SYNC {db}.job1 ({channels}) {BINLOG.format(port=self._network.port)}")
        with contextlib.closing(self._mysql.connect()) as connection, connection.cursor() as cursor:
            open_the_bank(cursor)
        for workload in self._workloads:
            workload.start()

    def _mount_table(self) -> None:
        if self._lake is not None:
            troubles = LakeTroubles(self._lake, self._cluster, lambda: self._victims.figures.kills, self._fork())
            self._adversary.also(troubles.deeds())
            if self._killer is not None:
                self._killer.also(troubles.kills())
            return
        (place,) = (self._folder / "fe" / "var" / "lake").rglob(f"bank/{FILLED}-*")
        disk = _small_disk(place / "data", TABLE_MEBIBYTES)
        if disk is not None:
            self._disks.append(disk)
            self._adversary.take(disk)

    def _torture(self) -> None:
        end = time.monotonic() + self._plan.seconds
        while time.monotonic() < end and not self._has_done():
            is_due = self._period(end)
            while not is_due() and not self._has_done():
                self._rest()
                (self._killer or self._adversary).act()
                self._operator.look()
            self._check()

    def _rest(self) -> None:
        with quiet(*self._turns):
            while self._plan.rests is not None and self._plan.rests.exists():
                time.sleep(REST_SECOND)

    def _has_done(self) -> bool:
        return self._killer is not None and self._killer.has_done

    def _period(self, end: float) -> Callable[[], bool]:
        """Whether it is time to compare."""
        if self._killer is not None:
            return lambda: self._victims.figures.kills.total() >= self._plan.each or time.monotonic() > end
        until = min(end, time.monotonic() + max(CHECK_SECOND, self._plan.seconds / CHECKS))
        return lambda: time.monotonic() > until

    def _check(self) -> None:
        began = time.monotonic()
        assert all(workload.is_alive() for workload in self._workloads), "a workload has died"
        assert self._foreign is None or self._foreign.is_alive(), "the foreign engine has died"
        with quiet(*self._turns):
            figures = self._victims.figures
            if self._engine is not None:
                self._engine.name_keys()
            figures.rows, figures.points = check(self._fe, self._mysql, self._operator, self._dice)
            self._operator.all_is_right()
            figures.checks = 1
            self._note()
        print(f"compared in {time.monotonic() - began:.1f} s: {self.total.told()}", flush=True)

    def _note(self) -> None:
        """What was measured since the last time."""
        figures, self._victims.figures = self._victims.figures, Figures()
        made = sum(workload.transactions for workload in self._workloads)
        figures.transactions, self._made = made - self._made, made
        figures.loads.append(load())
        if self._plan.figures is not None:
            append(self._plan.figures, self._plan.seed, figures)
        self.total.add(figures)


def _small_disk(folder: Path, mebibytes: int) -> SmallDisk | None:
    try:
        return SmallDisk(folder, mebibytes)
    except NoMountError as error:
        print(f"{folder} is never full: {error}", flush=True)
        return None
