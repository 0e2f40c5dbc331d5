"""How long a frontend takes to start: this checkout, in turns with another one.

Run: python -m tests.bench.startup [CHECKOUT] [--times 5]

From the call until the console answers, and until a table is created, for which Spark and the catalog have to be ready.
Also the CPU seconds of frontend and JVM until then. Folders are empty, jars are there: the first start of each checkout
brings them and is not counted.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pymysql

from tests.support.servers.mysql import free_port
from tests.support.until import until

HERE: Final = Path(__file__).parents[2]
START_SECOND: Final = 300.0  # the first one brings the jars


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds."""

    console: float
    lake: float
    cpu: float


def started(checkout: Path, folder: Path) -> Start:
    """One frontend from its call to its end."""
    port = free_port()
    conf = folder / "conf" / "fe.conf"
    conf.parent.mkdir()
    conf.write_text(f"query_port = {port}\nhttp_port = 0\n")
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "syncmgr", "--conf", str(conf)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{checkout}:{checkout / 'grammar'}"},
    )
    try:
        until(lambda: _answers(port, "SELECT 1"), why="the console", deadline=START_SECOND, step=0.02)
        console = time.monotonic() - began
        until(lambda: _answers(port, "CREATE DATABASE d"), why="the lake", deadline=START_SECOND, step=0.02)
        _answers(port, "CREATE TABLE d.t (id INT NOT NULL) UNIQUE KEY(id)")
        return Start(console, time.monotonic() - began, _cpu(process.pid))
    finally:
        process.terminate()
        process.wait()


def _answers(port: int, statement: str) -> bool:
    try:
        with pymysql.connect(host="127.0.0.1", port=port, user="root", connect_timeout=60) as connection:
            connection.cursor().execute(statement)
    except pymysql.err.MySQLError:
        return False
    return True


def _cpu(pid: int) -> float:
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in family)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("checkout", type=Path, nargs="?", default=HERE)
    arguments.add_argument("--times", type=int, default=5)
    given = arguments.parse_args()
    found: dict[Path, list[Start]] = {given.checkout.resolve(): [], HERE: []}
    for turn in range(given.times + 1):
        for checkout, starts in found.items():
            with tempfile.TemporaryDirectory() as folder:
                start = started(checkout, Path(folder))
            if turn:
                starts.append(start)
    for checkout, starts in found.items():
        for what in ("console", "lake", "cpu"):
            figures = [getattr(start, what) for start in starts]
            print(f"{checkout} {what}: median {statistics.median(figures):.2f} s of {sorted(figures)}")


if __name__ == "__main__":
    main()
