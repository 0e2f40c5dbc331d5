"""One run of the torture.

Owns: its order: create, break and check by turns, report.
Must not know: what is broken, what is right.
"""

import contextlib
import random
import time
from pathlib import Path
from typing import Final

from tests.acceptance.frontend import FrontendProcess
from tests.proxy import Proxy
from tests.servers import MysqlServer
from tests.small_disk import NoMountError, SmallDisk
from tests.torture.adversary import DBS, Adversary
from tests.torture.verdict import check, quiet, refuse_dead_ends
from tests.torture.workload import TABLES, Workload, banking, open_the_bank, shopping, tables

CHECK_SECOND: Final = 30.0  # between two checks of a short run
CHECKS: Final = 6  # of a long one
STAGING_MEBIBYTES: Final = 64
TABLE_MEBIBYTES: Final = 256
FILLED: Final = "vaults"  # the table of the bank whose disk is full now and then
BINLOG: Final = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}",'
    ' "mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
# What the server has shown to a replica outlives its own kill: what it gave to the operating system is enough.
DURABLE: Final = {"innodb-flush-log-at-trx-commit": "2"}


class Torture:
    """Servers in a folder of their own; `run` starts and ends them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._seed = folder, seed
        self._dice = random.Random(seed)
        self._mysql = MysqlServer(folder / "mysql", "mysql", DURABLE)
        self._network = Proxy(self._mysql.port)
        staging = _small_disk(folder / "staging", STAGING_MEBIBYTES)
        self._disks = [] if staging is None else [staging]
        self._fe = FrontendProcess(folder / "fe", {"staging_dir": folder / "staging"})
        self._workloads = [Workload(self._mysql, self._dice.random(), work) for work in (banking, shopping)]
        self.adversary = Adversary(self._fe, self._mysql, self._network, staging, random.Random(self._dice.random()))
        self._compared = self._checks = 0

    def run(self, seconds: float) -> None:
        """Raises AssertionError where the lake is wrong, with the seed and the folder, which stays."""
        self._mysql.start()
        self._fe.start()
        try:
            self._create()
            self._torture(seconds)
        except AssertionError as error:
            raise AssertionError(f"seed {self._seed}, {self._folder}, {dict(self.adversary.deeds)}: {error}") from error
        finally:
            for workload in self._workloads:
                with contextlib.suppress(RuntimeError):  # it was not started
                    workload.stop()
            self._fe.stop()
            self._mysql.stop()
            self._network.close()
            for disk in self._disks:
                disk.unmount()

    def _create(self) -> None:
        for db in DBS:
            self._mysql.run(f"CREATE DATABASE {db}")
            self._fe.sql(f"CREATE DATABASE {db}")
        for table in TABLES:
            self._mysql.run(f"CREATE TABLE {table.path} {table.source}")
            self._fe.sql(f"CREATE TABLE {table.path} {table.target}")
        self._mount_table()
        for db in DBS:
            channels = ", ".join(f"FROM {table.path} INTO {table.name}" for table in tables(db))
            self._fe.sql(f"CREATE SYNC {db}.job1 ({channels}) {BINLOG.format(port=self._network.port)}")
        with contextlib.closing(self._mysql.connect()) as connection, connection.cursor() as cursor:
            open_the_bank(cursor)
        for workload in self._workloads:
            workload.start()

    def _mount_table(self) -> None:
        (place,) = (self._folder / "fe" / "var" / "lake").rglob(f"bank/{FILLED}-*")
        disk = _small_disk(place / "data", TABLE_MEBIBYTES)
        if disk is not None:
            self._disks.append(disk)
            self.adversary.take(disk)

    def _torture(self, seconds: float) -> None:
        end, period = time.monotonic() + seconds, max(CHECK_SECOND, seconds / CHECKS)
        while time.monotonic() < end:
            until = min(end, time.monotonic() + period)
            while time.monotonic() < until:
                self.adversary.act()
                refuse_dead_ends(self._fe)
            self._check()

    def _check(self) -> None:
        began = time.monotonic()
        assert all(workload.is_alive() for workload in self._workloads), "a workload has died"
        with quiet(*(workload.turn for workload in self._workloads)):
            rows, points = check(self._fe, self._mysql, self._dice)
        self._compared, self._checks = self._compared + rows, self._checks + 1
        made = sum(workload.transactions for workload in self._workloads)
        print(
            f"{self._checks} checks, the last in {time.monotonic() - began:.1f} s: {dict(self.adversary.kills)} killed,"
            f" {made} transactions, {self._compared} rows compared, {points} points, {dict(self.adversary.deeds)},"
            f" the port open after {quantiles(self.adversary.ports)}, committing again after "
            f"{ {kind: quantiles(seconds) for kind, seconds in self.adversary.recoveries.items()} }",
            flush=True,
        )


def quantiles(seconds: list[float]) -> str:
    """Median, 99th percentile and number."""
    if not seconds:
        return "-"
    ordered = sorted(seconds)
    return f"{ordered[len(ordered) // 2]:.1f}/{ordered[int(len(ordered) * 0.99)]:.1f} s of {len(ordered)}"


def _small_disk(folder: Path, mebibytes: int) -> SmallDisk | None:
    try:
        return SmallDisk(folder, mebibytes)
    except NoMountError as error:
        print(f"{folder} is never full: {error}", flush=True)
        return None
