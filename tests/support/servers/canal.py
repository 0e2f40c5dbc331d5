"""Private canal servers and a ZooKeeper for tests.

Owns: one server process in one folder: its start, stop and death.
Must not know: pytest, what is tested.
"""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.support import installed, jvm
from tests.support.servers.mysql import PASSWORD, MysqlServer, free_port
from tests.support.until import HANG_SECOND, until

HOME: Final = Path(os.environ.get("CANAL_HOME", installed.FOLDER / "canal"))
USER: Final = "canal"
CANAL_PASSWORD: Final = "canal"


def installed() -> bool:
    return (HOME / "bin" / "canal-server").exists()


def follows(mysql: MysqlServer) -> bool:
    """Whether canal 1.1.8 can: it knows neither the collations of a MariaDB from 11.8 on nor the positions of its
    rows.
    """
    return mysql.flavour == "mysql" or mysql.version() < (11, 8)


class _Server:
    """A process that prints one line when it is ready."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command = list(command)
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.said = ""

    def launch(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, env=jvm.environment())
        assert self._process.stdout is not None
        self.said = self._process.stdout.readline().strip()
        if not self.said.startswith("ready"):
            logs = "\n".join(path.read_text()[-2000:] for path in (self.folder / "logs").glob("*"))
            raise RuntimeError(f"{self._command[0]} did not start: {self.said}\n{logs}")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """In order. Safe to call on a server that does not run."""
        self._end(kill=False)

    def kill(self) -> None:
        """As in a power cut, as far as the process goes."""
        self._end(kill=True)

    def _end(self, *, kill: bool) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill() if kill else process.terminate()
        try:
            process.wait(HANG_SECOND)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


class ZooKeeper(_Server):
    """One ZooKeeper on a port of its own; its longest session is 20 ticks (milliseconds)."""

    def __init__(self, folder: Path, tick: int = 250) -> None:
        self.port = free_port()
        program = str(HOME / "bin" / "zk-server")
        super().__init__([program, "--port", str(self.port), "--dir", str(folder), "--tick", str(tick)], folder)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> "ZooKeeper":
        self.launch()
        return self


class CanalServer(_Server):
    """One canal server with one destination on a MySQL server; users log in as canal, canal, if they must."""

    def __init__(
        self,
        folder: Path,
        mysql: MysqlServer,
        *,
        destination: str = "example",
        options: Sequence[str] = (),
        zookeeper: ZooKeeper | None = None,
        open_to_all: bool = False,
    ) -> None:
        """`options`: further ones of the launcher. `open_to_all`: it knows no users."""
        self.port = free_port()
        self.destination = destination
        command = [
            *(str(HOME / "bin" / "canal-server"), "--home", str(folder), "--port", str(self.port)),
            *("--destination", f"{destination}=127.0.0.1:{mysql.port}:repl:{PASSWORD}"),
            *(() if open_to_all else ("--user", USER, "--password", CANAL_PASSWORD)),
            *("--wait", str(int(HANG_SECOND))),
            *("--set", "canal.instance.parser.parallel=false"),  # its ring of threads takes whole cores
            *(("--zk", zookeeper.address) if zookeeper else ()),
            *options,
        ]
        super().__init__(command, folder)

    def kill(self) -> None:
        """As in a power cut, as far as the process goes; but not while it writes its cursor, which it does in place:
        without one it begins at the end of the binlog.
        """
        if self._process is not None:
            until(self._stopped_beside_writing, why="a cursor that canal does not write")
        self._end(kill=True)

    def _stopped_beside_writing(self) -> bool:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        meta = self.folder / "data" / self.destination / "meta.dat"
        whole = not meta.exists() or meta.read_bytes().rstrip().endswith(b"}")
        if not whole:
            self._process.send_signal(signal.SIGCONT)
        return whole

    def start(self) -> "CanalServer":
        """Returns when it serves; what is committed from now on is delivered."""
        self.launch()
        return self

    def use_port(self, port: int) -> None:
        """Of a server that was stopped."""
        place = self._command.index("--port") + 1
        self._command[place] = str(port)
        self.port = port

    @property
    def active(self) -> bool:
        """Whether it serves the destination: one of a cluster may stand by."""
        return f"active={self.destination}" in self.said
