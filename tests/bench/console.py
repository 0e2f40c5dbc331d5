"""The console under many clients, and a large SELECT through it.

Run: python -m tests.bench.console 200. SHOW SYNC JOB by so many clients against SHOW STATUS of a MySQL server, in
turns; the first row and all rows of a SELECT of a million rows against PySpark's own toLocalIterator; and ten million
rows, with the memory that they take. `--only` leaves out the rest. Clients and servers share the machine: read the
ratios.
"""

import argparse
import contextlib
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil
import pymysql

from syncmgr.lake.lake import Lake
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.spark_session import running_lake

SECONDS = 5.0
TURNS = 3
ROWS = 1_000_000
MANY_ROWS = 10_000_000
PARTITIONS = 20  # of the many
QUERY = b"\x03"
COLUMN_PACKETS = 4  # before the rows of two columns


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Of one turn; times in milliseconds."""

    statements: float
    p50: float
    p99: float


def asked(port: int, sql: bytes, clients: int, results: Any) -> None:
    """One process of clients: how long each of their statements took."""
    took: list[float] = []
    threads = [threading.Thread(target=ask_on, args=(port, sql, took)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(took)


def ask_on(port: int, sql: bytes, took: list[float]) -> None:
    """Bare frames: a driver's own work in Python would be most of what is measured."""
    with pymysql.connect(host="127.0.0.1", port=port, user="root", ssl_disabled=True) as connection:
        bare: socket.socket = connection._sock  # type: ignore[attr-defined]
        packet = struct.pack("<I", len(sql) + 1) + QUERY + sql
        end = time.monotonic() + SECONDS
        while (started := time.monotonic()) < end:
            bare.sendall(packet)
            read_result(bare)
            took.append((time.monotonic() - started) * 1000)


def read_result(bare: socket.socket) -> None:
    """To the second EOF packet."""
    for _ in parts(bare):
        pass


def parts(bare: socket.socket) -> Iterator[int]:
    """Packets of a result by now, as they come, up to its second EOF packet. The first is followed by the rows."""
    data, ends, at, packets = bytearray(), 0, 0, 0
    while ends < 2:
        del data[:at]
        at = 0
        part = bare.recv(1 << 20)
        if not part:
            raise ConnectionError("the server hung up")
        data += part
        while len(data) - at >= 5:
            size = int.from_bytes(data[at : at + 3], "little")
            if len(data) - at < 4 + size:
                break
            if data[at + 4] == 0xFF:
                raise ConnectionError(data[at + 7 : at + 4 + size].decode())
            ends += data[at + 4] == 0xFE and size < 9
            at += 4 + size
            packets += 1
        yield packets


def load(port: int, sql: bytes, clients: int) -> Figures:
    context = get_context("spawn")
    results = context.Queue()
    sizes = [clients // 2, clients - clients // 2]
    workers = [context.Process(target=asked, args=(port, sql, size, results)) for size in sizes if size]
    for worker in workers:
        worker.start()
    took = [each for _ in workers for each in results.get()]
    for worker in workers:
        worker.join()
    return Figures(statements=len(took) / SECONDS, p50=median(took), p99=quantiles(took, n=100)[98])


def memory_of_connections(fe: FrontendProcess, count: int) -> float:
    """KiB of the frontend for each connection that is open and idle."""
    assert fe.process is not None
    frontend = psutil.Process(fe.process.pid)
    before = frontend.memory_info().rss
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(contextlib.closing(fe.connect(ssl_disabled=True)))
        return (frontend.memory_info().rss - before) / count / 1024


@contextlib.contextmanager
def servers(folder: Path) -> Iterator[tuple[FrontendProcess, MysqlServer]]:
    fe, mysql = FrontendProcess(folder / "fe"), MysqlServer(folder / "mysql", variables={"max-connections": "1000"})
    mysql.start()
    fe.start()
    try:
        yield fe, mysql
    finally:
        fe.stop()
        mysql.stop()


def many_clients(clients: int, folder: Path) -> None:
    with servers(folder) as (fe, mysql):
        fe.sql("CREATE DATABASE bench")
        for turn in range(TURNS):
            ours = load(fe.port, b"SHOW SYNC JOB FROM bench", clients)
            theirs = load(mysql.port, b"SHOW STATUS LIKE 'Uptime'", clients)
            print(f"turn {turn}: console {ours}, MySQL {theirs}", flush=True)
        print(f"memory: {memory_of_connections(fe, 400):.1f} KiB a connection", flush=True)


def long_results(folder: Path) -> None:
    fe = FrontendProcess(folder / "fe").start()
    try:
        print(f"SELECT of {ROWS} rows, read by PyMySQL: {times(lambda: select(fe))}", flush=True)
        print(f"... read as bytes: {times(lambda: select_bare(fe, asked_rows(ROWS)))}", flush=True)
        assert fe.process is not None
        cost = Cost(fe.process.pid)
        first, last = select_bare(fe, asked_rows(MANY_ROWS, PARTITIONS), cost.note)
        print(f"{MANY_ROWS} rows: first row {first:.3f} s, all {last:.3f} s; {cost}", flush=True)
    finally:
        fe.stop()


def asked_rows(rows: int, partitions: int | None = None) -> str:
    shape = f"0, {rows}, 1, {partitions}" if partitions else str(rows)
    return f"SELECT id, repeat('x', 60) AS pad FROM range({shape})"


class Cost:
    """What a result takes: MiB of a frontend and of its children before and at their peak, CPU seconds of each."""

    def __init__(self, pid: int) -> None:
        self._frontend = psutil.Process(pid)
        self._before = self._peak = self._memory()
        self._started = self._cpu()

    def _memory(self) -> tuple[float, float]:
        children = sum(child.memory_info().rss for child in self._frontend.children(recursive=True))
        return self._frontend.memory_info().rss / 2**20, children / 2**20

    def _cpu(self) -> tuple[float, float]:
        children = [child.cpu_times() for child in self._frontend.children(recursive=True)]
        own = self._frontend.cpu_times()
        return own.user + own.system, sum(each.user + each.system for each in children)

    def note(self) -> None:
        own, children = self._memory()
        self._peak = max(self._peak[0], own), max(self._peak[1], children)

    def __str__(self) -> str:
        (own, spark), (own_peak, spark_peak) = self._before, self._peak
        used, spark_used = (now - before for now, before in zip(self._cpu(), self._started, strict=True))
        return (
            f"frontend {own:.0f} to {own_peak:.0f} MiB, {used:.1f} s of CPU,"
            f" Spark {spark:.0f} to {spark_peak:.0f} MiB, {spark_used:.1f} s"
        )


def times(run: Callable[[], tuple[float, float]]) -> str:
    """The first of several runs left out."""
    runs = [run() for _ in range(TURNS + 1)][1:]
    first, last = (median(each) for each in zip(*runs, strict=True))
    return f"first row {first:.3f} s, all {last:.3f} s"


def select(fe: FrontendProcess) -> tuple[float, float]:
    """Seconds to the first row and to the last."""
    with contextlib.closing(pymysql.connect(host="127.0.0.1", port=fe.port, user="root", ssl_disabled=True)) as it:
        started = time.monotonic()
        with it.cursor(pymysql.cursors.SSCursor) as cursor:
            cursor.execute(asked_rows(ROWS))
            cursor.fetchone()
            first = time.monotonic() - started
            sum(1 for _ in cursor)
            return first, time.monotonic() - started


def select_bare(fe: FrontendProcess, sql: str, note: Callable[[], None] | None = None) -> tuple[float, float]:
    """The same without a driver's work; `note` is called now and then."""
    with contextlib.closing(pymysql.connect(host="127.0.0.1", port=fe.port, user="root", ssl_disabled=True)) as it:
        bare: socket.socket = it._sock  # type: ignore[attr-defined]
        packet = struct.pack("<I", len(sql) + 1) + QUERY + sql.encode()
        started = noted = time.monotonic()
        bare.sendall(packet)
        first = 0.0
        for packets in parts(bare):
            now = time.monotonic()
            if not first and packets > COLUMN_PACKETS:
                first = now - started
            if note is not None and now - noted > 0.2:
                note()
                noted = now
        return first, time.monotonic() - started


def local_iterator(folder: Path) -> None:
    for lake in running_lake(folder):
        print(f"toLocalIterator: {times(partial(iterated, lake))}", flush=True)


def iterated(lake: Lake) -> tuple[float, float]:
    started = time.monotonic()
    rows = lake.upkeep_session().sql(asked_rows(ROWS)).toLocalIterator()
    next(rows)
    first = time.monotonic() - started
    sum(1 for _ in rows)
    return first, time.monotonic() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clients", type=int, nargs="?", default=200)
    parser.add_argument("--only", choices=["clients", "rows"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.only != "rows":
            many_clients(arguments.clients, Path(name) / "clients")
        if arguments.only != "clients":
            long_results(Path(name) / "rows")
            local_iterator(Path(name) / "lake")
