"""A real frontend process on folders and a port of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pymysql
from pymysql.cursors import DictCursor

from syncmgr.crash import VARIABLE, CrashPoint
from syncmgr.lake.spark import launch
from tests.support import jvm, processes
from tests.support.connections import QuickConnection
from tests.support.servers.mysql import free_port
from tests.support.until import HANG_SECOND, until

ROOT = Path(__file__).parents[2]
DEATH_SECOND = 900.0
LOOK_SECOND = 2.0  # between two looks at rows of a lake to which nothing is committed
QUIET_LAG_SECOND = 10.0  # of a source that has nothing more: it grows between two heartbeats, which are 7.5 s apart


class FrontendProcess:
    """Start, kill and ask it, as an operator does."""

    def __init__(self, folder: Path, settings: Mapping[str, object] | None = None, *, module: str = "syncmgr") -> None:
        """`module`: what is started in place of the product, to run that with something more."""
        self.folder = folder
        self._module = module
        self.port = free_port()
        self.conf = folder / "conf" / "fe.conf"
        self.conf.parent.mkdir(parents=True, exist_ok=True)
        values: dict[str, object] = {"sync_commit_interval_second": 0.3, "position_commit_interval_second": 1}
        values["query_nice"] = 0  # otherwise a SELECT would queue after every other test on the machine
        values |= {
            "query_port": self.port,
            "http_port": 0,
            "jars_dir": jvm.jars_dir(folder),
            **jvm.flags(),
            **(settings or {}),
        }
        self.http_port = int(str(values["http_port"]))  # 0: none
        lines = (f"{name} = {value}\n" for name, value in values.items())
        self.conf.write_text("".join(lines))
        self.process: subprocess.Popen[bytes] | None = None
        self._armed = folder / "crash"
        self._armed.mkdir(exist_ok=True)

    def start(self) -> "FrontendProcess":
        self._launch()
        until(self._answers, why="the console's port")
        return self

    def try_to_start(self) -> "subprocess.CompletedProcess[str]":
        """A start that is refused, and what it said."""
        return subprocess.run(
            [sys.executable, "-m", "syncmgr", "--conf", str(self.conf)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            timeout=HANG_SECOND,
            text=True,
            check=False,
        )

    def kill_if_alive(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def arm(self, point: CrashPoint) -> None:
        """Whoever comes there next dies: a worker, or the frontend."""
        (self._armed / point).touch()

    def is_armed(self, point: CrashPoint) -> bool:
        """Whether no process has reached it yet."""
        return (self._armed / point).exists()

    def die_at(self, point: CrashPoint) -> None:
        """Start it, and wait until it has died there."""
        self.arm(point)
        self._launch()
        self.await_death(point)

    def await_death(self, point: CrashPoint) -> None:
        """Until it has died there, and its JVM and workers with it."""
        children: dict[int, psutil.Process] = {}

        def dead() -> bool:
            assert self.process is not None
            with contextlib.suppress(psutil.NoSuchProcess):
                found = psutil.Process(self.process.pid).children(recursive=True)
                children.update((child.pid, child) for child in found)
            return self.process.poll() is not None

        until(dead, deadline=DEATH_SECOND, why=f"death at '{point}'")
        assert self.process is not None
        assert self.process.returncode == -signal.SIGKILL, (self.folder / "fe.out").read_text()
        psutil.wait_procs(list(children.values()), timeout=HANG_SECOND)

    def _launch(self) -> None:
        with (self.folder / "fe.out").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self._module, "--conf", str(self.conf)],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, VARIABLE: str(self._armed)},
            )

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "fe.out").read_text()
        with contextlib.suppress(pymysql.err.OperationalError):
            self.connect().close()
            return True
        return False

    def connect(self, db: str | None = None, **options: Any) -> "pymysql.connections.Connection[DictCursor]":
        return QuickConnection(
            host="127.0.0.1",
            port=self.port,
            user="root",
            password="",
            database=db,
            cursorclass=DictCursor,
            read_timeout=int(HANG_SECOND),
            **options,
        )

    def sql(self, statement: str, db: str | None = None) -> list[dict[str, Any]]:
        with contextlib.closing(self.connect(db)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def job(self, db: str = "demo") -> dict[str, Any]:
        """The row of the newest job in SHOW SYNC JOB, where cancelled ones come last; Status as a value."""
        row = max(self.sql(f"SHOW SYNC JOB FROM {db}"), key=lambda each: int(each["JobId"]))
        return row | {"Status": json.loads(row["Status"])}

    def await_caught_up(self, db: str = "demo", *, deadline: float = HANG_SECOND) -> None:
        """Until the lake has all that the source of its last job had when this is called, by the source's clock."""
        begun = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        until(lambda: (self.job(db)["Status"]["synced_until"] or "") > begun, deadline=deadline, why=f"{db} caught up")

    def await_rows(self, condition: Callable[[], object], *, why: str, deadline: float = HANG_SECOND) -> None:
        """`until`, of what rows of the lake show. Each look is a query of Spark, so the next one waits for a commit."""
        seen: object = None
        again = 0.0

        def holds() -> object:
            nonlocal seen, again
            catalog, now = self._catalog(), time.monotonic()
            if catalog and catalog == seen and now < again:
                return False
            seen, again = catalog, now + LOOK_SECOND
            return condition()

        until(holds, deadline=deadline, why=why)

    def _catalog(self) -> list[tuple[int, int]]:
        """When its files were written last, and their sizes: every commit changes them. Empty where it is elsewhere."""
        found: list[tuple[int, int]] = []
        for name in (launch.CATALOG_FILE, f"{launch.CATALOG_FILE}-wal"):
            with contextlib.suppress(FileNotFoundError):
                file = (self.folder / "var" / "lake" / name).stat()
                found.append((file.st_mtime_ns, file.st_size))
        return found

    def kill(self, *, waits: bool = True) -> list[psutil.Process]:
        """Kill -9, as a power cut does it; its JVM and workers end by the loss of their pipes: they are returned."""
        assert self.process is not None
        children = psutil.Process(self.process.pid).children(recursive=True)
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if waits:
            psutil.wait_procs(children, timeout=HANG_SECOND)
        return children

    def workers(self) -> list[psutil.Process]:
        assert self.process is not None
        return processes.workers(self.process.pid)

    def kill_workers(self) -> None:
        assert self.process is not None
        processes.kill_workers(self.process.pid)

    def java(self) -> list[int]:
        """Process ids of the lake's JVM."""
        return self._jvms(launch.LAKE)

    def query_engine(self) -> list[int]:
        """Process ids of the JVM that answers queries; none before the first."""
        return self._jvms(launch.QUERIES)

    def _jvms(self, name: str) -> list[int]:
        assert self.process is not None
        return [child.pid for child in processes.jvms(self.process.pid, name)]

    def set(self, name: str, value: object) -> None:
        """From the next start on."""
        with self.conf.open("a") as conf:
            conf.write(f"{name} = {value}\n")

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(HANG_SECOND)
