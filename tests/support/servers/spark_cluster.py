"""A standalone Spark cluster of real processes: a master, and workers that do not see the disk of the frontend.

Owns: the processes and ports, the mount namespaces of the workers.
Must not know: what is run on it.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyspark

from syncmgr.lake.spark.java import java_home
from tests.support import jvm
from tests.support.servers.mysql import free_port
from tests.support.until import until

HOST: Final = "127.0.0.1"
EXECUTOR: Final = b"CoarseGrainedExecutorBackend"
WORKERS: Final = 2


def is_possible() -> bool:
    """Whether a process may be given a view of the disk of its own."""
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


class SparkCluster:
    """`hidden`: folders that are empty for the workers and their executors."""

    def __init__(self, folder: Path, hidden: Sequence[Path]) -> None:
        self.port = free_port()
        self._folder, self._hidden = folder, hidden
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def options(self) -> dict[str, str]:
        """Of a driver: small executors that start quickly."""
        quick = {"spark.executor.extraJavaOptions": jvm.ONE_COMPILER}
        return {
            "spark.master": self.url,
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.memory": "640m",
            "spark.executor.cores": "1",
            "spark.cores.max": str(WORKERS),
            **quick,
        }

    def start(self) -> "SparkCluster":
        self.start_master()
        for number in range(WORKERS):
            self._workers.append(self._worker(number))
        until(lambda: self._said("worker", "Successfully registered") == WORKERS, why="the workers of Spark")
        return self

    def start_master(self) -> None:
        command = ["org.apache.spark.deploy.master.Master", "-h", HOST, "-p", str(self.port), "--webui-port", "0"]
        before = self._said("master", "I have been elected leader")
        self._master = self._run("master", [_spark_class(), *command])
        until(lambda: self._said("master", "I have been elected leader") > before, why="the master of Spark")

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        hide = "".join(f"mount -t tmpfs tmpfs '{folder}' && " for folder in self._hidden)
        host = f"127.0.0.{number + 2}"  # a second attempt runs on another host only
        own = ["org.apache.spark.deploy.worker.Worker", "-h", host, "-c", "2", "-m", "2g", "--webui-port", "0"]
        own += ["-d", str(self._folder / f"work-{number}"), self.url]
        view = ["unshare", "-m", "sh", "-c", f'{hide}exec "$0" "$@"']
        return self._run(f"worker-{number}", [*view, _spark_class(), *own], host)

    def _run(self, name: str, command: Sequence[str], host: str = HOST) -> subprocess.Popen[bytes]:
        own = {"JAVA_HOME": str(java_home()), "SPARK_DAEMON_MEMORY": "192m", "SPARK_LOCAL_IP": host}
        own |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_DAEMON_JAVA_OPTS": jvm.ONE_COMPILER}
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, env={**os.environ, **own}, stdout=log, stderr=log, start_new_session=True)

    def _said(self, name: str, words: str) -> int:
        logs = self._folder.glob(f"{name}*.log")
        return sum(log.read_text(errors="replace").count(words) for log in logs)

    def executors(self) -> list[int]:
        """Process ids."""
        return [pid for worker in self._workers for pid in _group(worker.pid) if EXECUTOR in _command(pid)]

    def stop_master(self) -> None:
        assert self._master is not None
        _kill_group(self._master)

    def stop(self) -> None:
        for process in (*self._workers, self._master):
            if process is not None:
                _kill_group(process)


def _spark_class() -> str:
    return str(Path(pyspark.__file__).parent / "bin" / "spark-class")


def _group(leader: int) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if os.getpgid(pid) == leader:
                found.append(pid)
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
