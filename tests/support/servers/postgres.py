"""A PostgreSQL server for the metadata.

Owns: its folder, process and port.
Must not know: what is stored in it.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.support.servers.mysql import free_port
from tests.support.until import HANG_SECOND

PROGRAMS: Final = ("initdb", "pg_ctl")
USER: Final = "postgres"


def program(name: str) -> str | None:
    """Debian keeps some of them out of PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or next((found for folder in folders if (found := shutil.which(name, path=folder))), None)


def is_installed() -> bool:
    return all(map(program, PROGRAMS))


class PostgresServer:
    """One server, whose superuser needs no password. It does not run as root."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="postgres"))
        self.port = free_port()
        if os.geteuid() == 0:
            shutil.chown(self._folder, USER, USER)

    def start(self) -> "PostgresServer":
        self._run("initdb", "--username", USER, "--auth", "trust", "--no-sync", "--encoding", "UTF8")
        options = f"-p {self.port} -k {self._folder} -c fsync=off -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "-o", options, "start")
        return self

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(self._folder)

    def url(self, driver: str) -> str:
        return f"postgresql+{driver}://{USER}@127.0.0.1:{self.port}/{USER}"

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(program(name)), "-D", str(self._folder / "data"), *arguments]
        user = USER if os.geteuid() == 0 else None
        done = subprocess.run(
            command,
            user=user,
            group=user,
            cwd=self._folder,
            timeout=HANG_SECOND,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{name}: exit status {done.returncode}")
