"""Many jobs whose host dies: what they take while it is silent, and when they go on.

Run: python -m tests.bench.dead_host [--jobs N] [--minutes N]

N jobs (500) of a table each read one server through a proxy; then the proxy passes nothing on for some minutes (7, two
more than max_retry_second). Each line has the workers, their own memory (Private_Dirty), that of the frontend, its
threads, the CPU of ten seconds in which nobody asks, and what SHOW SYNC JOB took, twenty times. Near the end of the
silence a job is paused and one is stopped; after it a row of each other table has to arrive.
"""

import argparse
import contextlib
import json
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import until

LOOKS = 20
STEP_SECOND = 30.0
QUIET_SECOND = 10.0
DEADLINE_SECOND = 1800.0
MEGABYTE = 2**20


class Figures:
    """What the frontend and its workers take now."""

    def __init__(self, fe: FrontendProcess) -> None:
        assert fe.process is not None
        self._fe = fe
        self._root = psutil.Process(fe.process.pid)

    def line(self, when: str) -> str:
        busy = self._busy()
        looks = []
        for _ in range(LOOKS):
            begun = time.monotonic()
            self._fe.sql("SHOW SYNC JOB FROM press")
            looks.append(time.monotonic() - begun)
        ours = [each for each in self._root.children(recursive=True) if each.name() != "java"]
        own = [_own(each) for each in ours]
        states = [job["State"] for job in self._fe.sql("SHOW SYNC JOB FROM press")]
        return (
            f"{when}: {len(ours)} processes, {sum(own) / MEGABYTE:.0f} MiB of their own;"
            f" frontend {self._root.memory_info().rss / MEGABYTE:.0f} MiB, {self._root.num_threads()} threads;"
            f" CPU {busy}; SHOW {statistics.median(looks):.2f} s, longest {max(looks):.2f} s; "
            + ", ".join(f"{states.count(each)} {each}" for each in sorted(set(states)))
        )

    def _busy(self) -> str:
        """Of a core: the frontend, its workers, and the JVM."""
        before = self._used()
        time.sleep(QUIET_SECOND)
        after = self._used()
        return " + ".join(f"{(after[kind] - before[kind]) / QUIET_SECOND:.2f}" for kind in before)

    def _used(self) -> dict[str, float]:
        used = {"frontend": _cpu(self._root), "workers": 0.0, "JVM": 0.0}
        for each in self._root.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                used["JVM" if each.name() == "java" else "workers"] += _cpu(each)
        return used


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _own(process: psutil.Process) -> int:
    try:
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except OSError:
        return 0  # it has ended
    [kilobytes] = [int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_Dirty")]
    return kilobytes * 1024


def run(mysql: MysqlServer, fe: FrontendProcess, count: int, minutes: float) -> None:
    proxy, figures = Proxy(mysql.port), Figures(fe)
    tables = [f"t{number}" for number in range(count)]
    mysql.run("CREATE DATABASE press", *(f"CREATE TABLE press.{name} (id BIGINT PRIMARY KEY)" for name in tables))
    fe.sql("CREATE DATABASE press")
    for name in tables:
        fe.sql(f"CREATE TABLE press.{name} (id BIGINT NOT NULL) UNIQUE KEY(id)")
        fe.sql(f"CREATE SYNC press.job_{name} (FROM press.{name} INTO {name}) {BINLOG.format(port=proxy.port)}")
    arrive(mysql, fe, tables, 1)
    print(figures.line("at rest"), flush=True)
    proxy.holds = lambda _: True
    begun = time.monotonic()
    while time.monotonic() < begun + minutes * 60:
        time.sleep(STEP_SECOND)
        print(figures.line(f"silent for {time.monotonic() - begun:.0f} s"), flush=True)
    for verb, name in (("PAUSE", tables.pop()), ("STOP", tables.pop())):
        asked = time.monotonic()
        fe.sql(f"{verb} SYNC JOB press.job_{name}")
        print(f"{verb} took {time.monotonic() - asked:.2f} s", flush=True)
    proxy.holds = lambda _: False
    proxy.cut()
    print(f"all had their row {arrive(mysql, fe, tables, 2):.1f} s after the host answered again")
    print(figures.line("after it"), flush=True)


def arrive(mysql: MysqlServer, fe: FrontendProcess, tables: list[str], row: int) -> float:
    begun = time.monotonic()
    mysql.run(*(f"INSERT INTO press.{name} VALUES ({row})" for name in tables))

    def there() -> bool:
        jobs = {
            job["JobName"]: json.loads(job["Status"])["consumed_rows"] for job in fe.sql("SHOW SYNC JOB FROM press")
        }
        return min(jobs[f"job_{name}"] for name in tables) >= row

    until(there, deadline=DEADLINE_SECOND, why="a row of each")
    return time.monotonic() - begun


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=500)
    arguments.add_argument("--minutes", type=float, default=7)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        mysql = MysqlServer(Path(place) / "mysql", "mysql", {"max-connections": "2000"}).start()
        fe = FrontendProcess(Path(place) / "fe", {"sync_commit_interval_second": 5}).start()
        try:
            run(mysql, fe, options.jobs, options.minutes)
        finally:
            fe.stop()
            mysql.stop()


if __name__ == "__main__":
    main()
