"""An object store of S3's protocol: moto, which keeps its objects in memory.

Owns: its process and port, one bucket.
Must not know: what is stored in it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import requests

from tests.support.servers.mysql import free_port
from tests.support.until import HANG_SECOND, until

BUCKET: Final = "lake"
SECRET: Final = "sesame-of-the-store"
PROGRAM: Final = "moto_server"


def program() -> str | None:
    return shutil.which(PROGRAM, path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")


class ObjectStore:
    """`log`: a line for each request."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.log = folder / "requests.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "ObjectStore":
        with self.log.open("ab") as log:
            command = [str(program()), "-H", "127.0.0.1", "-p", str(self.port)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until(self._answers, why="the object store")
        assert requests.put(f"{self.endpoint}/{BUCKET}", timeout=HANG_SECOND).ok
        return self

    def stop(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def requests(self) -> list[str]:
        """Since its start: method and path of each."""
        words = (line.partition('] "')[2] for line in self.log.read_text(errors="replace").splitlines())
        return [line.rpartition(" HTTP")[0] for line in words if line]

    def settings(self, prefix: str) -> dict[str, str]:
        """What an Iceberg catalog, whose settings begin with `prefix`, needs for it."""
        given = {
            "s3.endpoint": self.endpoint,
            "s3.path-style-access": "true",
            "s3.access-key-id": "somebody",
            "s3.secret-access-key": SECRET,
            "client.region": "us-east-1",
        }
        return {f"{prefix}{key}": value for key, value in given.items()}

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.endpoint}/moto-api/", timeout=5).ok
        except (requests.ConnectionError, requests.Timeout):
            return False
