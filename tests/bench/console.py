"""The console under many clients, and a large SELECT through it.

Run: python -m tests.bench.console 200. SHOW SYNC JOB by so many clients against SHOW STATUS of a MySQL server, in
turns; and the first row and all rows of a SELECT of a million rows against PySpark's own toLocalIterator.
Clients and servers share the machine: read the ratios.
"""

import argparse
import contextlib
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil
import pymysql

from tests.acceptance.frontend import FrontendProcess
from tests.servers import MysqlServer
from tests.spark_session import running_lake

SECONDS = 5.0
TURNS = 3
ROWS = 1_000_000
QUERY = b"\x03"


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
    """To the second EOF packet, or to the end of an error."""
    data, ends, at = bytearray(), 0, 0
    while ends < 2:
        data += bare.recv(1 << 16)
        while len(data) - at >= 5:
            size = int.from_bytes(data[at : at + 3], "little")
            if len(data) - at < 4 + size:
                break
            ends += data[at + 4] == 0xFE and size < 9
            at += 4 + size


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
            print(f"turn {turn}: console {ours}, MySQL {theirs}")
        print(f"memory: {memory_of_connections(fe, 400):.1f} KiB a connection")
        print(f"SELECT of {ROWS} rows through the console: {select(fe)}")


def select(fe: FrontendProcess) -> str:
    """Seconds to the first row and to the last, the first of several runs left out."""
    first, last = [], []
    for _ in range(TURNS + 1):
        with contextlib.closing(pymysql.connect(host="127.0.0.1", port=fe.port, user="root", ssl_disabled=True)) as it:
            started = time.monotonic()
            with it.cursor(pymysql.cursors.SSCursor) as cursor:
                cursor.execute(f"SELECT id, repeat('x', 60) AS pad FROM range({ROWS})")
                cursor.fetchone()
                first.append(time.monotonic() - started)
                sum(1 for _ in cursor)
                last.append(time.monotonic() - started)
    return f"first row {median(first[1:]):.3f} s, all {median(last[1:]):.3f} s"


def local_iterator(folder: Path) -> None:
    for lake in running_lake(folder):
        session = lake.upkeep_session()
        first, last = [], []
        for _ in range(TURNS + 1):
            started = time.monotonic()
            rows = session.sql(f"SELECT id, repeat('x', 60) AS pad FROM range({ROWS})").toLocalIterator()
            next(rows)
            first.append(time.monotonic() - started)
            sum(1 for _ in rows)
            last.append(time.monotonic() - started)
        print(f"toLocalIterator: first row {median(first[1:]):.3f} s, all {median(last[1:]):.3f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clients", type=int, nargs="?", default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        many_clients(arguments.clients, Path(name))
        local_iterator(Path(name) / "lake")
