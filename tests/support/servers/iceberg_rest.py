"""Iceberg's own REST catalog server, a fixture of its tests, on a database and an object store.

Owns: its jars, process and port.
Must not know: which tables it has.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyspark
import requests

from syncmgr.lake.spark.jars import AWS, POSTGRESQL
from syncmgr.lake.spark.java import java_home
from tests.support import jvm
from tests.support.installed import FOLDER
from tests.support.installed import JARS as INSTALLED
from tests.support.servers.mysql import free_port
from tests.support.until import HANG_SECOND, until

JARS: Final = FOLDER / "rest"
MAIN: Final = "org.apache.iceberg.rest.RESTCatalogServer"
OF_SPARK: Final = (
    "avro-1*",
    "commons-codec*",
    "guava*",
    "hadoop-client*",
    "httpc*",
    "jackson-*",
    "jcl-over-slf4j*",
    "slf4j-api*",
    "RoaringBitmap*",
    "caffeine*",
)


class RestCatalog:
    """`settings`: of its own catalog, by Iceberg's names."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.port = free_port()
        self._folder, self._settings = folder, settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "RestCatalog":
        spark = Path(pyspark.__file__).parent / "jars"
        ours = (INSTALLED / package.file for package in (AWS, POSTGRESQL))
        jars = [*JARS.glob("*.jar"), *ours, *(jar for pattern in OF_SPARK for jar in spark.glob(pattern))]
        own = {f"CATALOG_{_variable(key)}": value for key, value in self._settings.items()}
        environment = {**jvm.environment(), **own, "CATALOG_REST_PORT": str(self.port), "REST_PORT": str(self.port)}
        command = [str(java_home() / "bin" / "java"), "-Xmx256m", "-XX:+UseSerialGC", "-cp", ":".join(map(str, jars))]
        with (self._folder / "rest.log").open("ab") as log:
            self._process = subprocess.Popen([*command, MAIN], env=environment, stdout=log, stderr=log)
        until(self._answers, why="the REST catalog")
        self._warm_up()
        return self

    def _warm_up(self) -> None:
        """Its first table takes seconds: connections to its database and to the store, classes of both. One that was
        started before has it.
        """
        field = {"id": 1, "name": "id", "type": "long", "required": True}
        table = {"name": "t", "schema": {"type": "struct", "fields": [field]}}
        for path, body in (("namespaces", {"namespace": ["warm_up"]}), ("namespaces/warm_up/tables", table)):
            answer = requests.post(f"{self.uri}/v1/{path}", json=body, timeout=HANG_SECOND)
            assert answer.ok or answer.status_code == requests.codes.conflict, answer.text

    def stop(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.uri}/v1/config", timeout=5).ok
        except (requests.ConnectionError, requests.Timeout):
            return False


def _variable(key: str) -> str:
    """As the server reads it back: two underscores are a dash, one is a dot."""
    return key.replace("-", "__").replace(".", "_").upper()


def is_installed() -> bool:
    return any(JARS.glob("iceberg-open-api*.jar"))
