"""Real clients against a real frontend: the matrix of docs/clients.md is what these tests have seen.

Each client is a program of `clients/` in its own language, which writes one line of JSON a check. A client that this
machine does not have is skipped (tests/bin/install-clients has them). RECORD_CLIENTS=1 rewrites the matrix.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.support import installed
from tests.support.until import PATIENCE

pytestmark = [pytest.mark.spark]

FOLDER: Final = Path(__file__).parent / "clients"
INSTALLED: Final = Path(os.environ.get("SYNCMGR_CLIENTS", installed.FOLDER / "clients"))
RECORD: Final = FOLDER / "matrix.json"
PROGRAM_SECOND: Final = 900 * PATIENCE
DATABASE: Final = "clients"


@dataclass(frozen=True, kw_only=True)
class Client:
    """How a client is run, and what it needs; `environment` in addition to that of the test."""

    name: str
    command: tuple[str, ...]
    needs: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)


def program(name: str) -> str:
    return str(FOLDER / name)


def has(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


def there(pattern: str) -> Callable[[], bool]:
    return lambda: any(INSTALLED.glob(pattern))


def runs(*command: str) -> Callable[[], bool]:
    def works() -> bool:
        found = shutil.which(command[0]) is not None
        return found and subprocess.run(command, capture_output=True, check=False).returncode == 0

    return works


def python(name: str, file: str, package: str) -> Client:
    path = {"PYTHONPATH": str(INSTALLED / "python")}
    return Client(
        name=name, command=(sys.executable, program(file), name), needs=there(f"python/{package}*"), environment=path
    )


def php(extension: str) -> Client:
    needs = runs(
        "php", "-r", f"exit(extension_loaded('{extension}_mysql') || extension_loaded('{extension}') ? 0 : 1);"
    )
    return Client(name=f"PHP {extension}", command=("php", program("client.php"), extension), needs=needs)


def java(name: str, scheme: str, jar: str) -> Client:
    command = ("java", "-cp", str(INSTALLED / "java" / "*"), "-Xmx256m", program("Client.java"), scheme)
    return Client(name=name, command=command, needs=there(f"java/{jar}*.jar"))


CLIENTS: Final = (
    Client(name="mysql", command=(sys.executable, program("command_line.py"), "mysql"), needs=has("mysql")),
    Client(name="mariadb", command=(sys.executable, program("command_line.py"), "mariadb"), needs=has("mariadb")),
    Client(name="PyMySQL", command=(sys.executable, program("dbapi.py"), "pymysql"), needs=lambda: True),
    python("mysql-connector-python", "dbapi.py", "mysql"),
    Client(
        name="mysqlclient",
        command=("/usr/bin/python3", program("dbapi.py"), "mysqlclient"),
        needs=runs("/usr/bin/python3", "-c", "import MySQLdb"),
    ),
    Client(name="SQLAlchemy", command=(sys.executable, program("alchemy.py")), needs=lambda: True),
    python("aiomysql", "awaiting.py", "aiomysql"),
    python("asyncmy", "awaiting.py", "asyncmy"),
    java("MySQL Connector/J", "mysql", "mysql-connector-j"),
    java("MariaDB Connector/J", "mariadb", "mariadb-java-client"),
    Client(
        name="mysql2 (node)",
        command=("node", program("client.js")),
        needs=there("node/node_modules/mysql2/package.json"),
        environment={"NODE_PATH": str(INSTALLED / "node" / "node_modules")},
    ),
    Client(name="go-sql-driver", command=(str(INSTALLED / "go" / "client"),), needs=there("go/client")),
    php("mysqli"),
    php("pdo"),
)


@pytest.fixture(scope="module")
def environment(frontend: FrontendProcess) -> Iterator[dict[str, str]]:
    """A database with one table, and how a client reaches it."""
    frontend.sql(f"CREATE DATABASE {DATABASE}")
    frontend.sql("CREATE TABLE orders (id BIGINT NOT NULL, status VARCHAR(16)) UNIQUE KEY(id)", DATABASE)
    where = {"PORT": str(frontend.port), "DATABASE": DATABASE, "VALUES": (FOLDER / "values.sql").read_text()}
    yield {f"CONSOLE_{name}": text for name, text in where.items()}
    frontend.sql(f"DROP DATABASE {DATABASE} FORCE")


@pytest.fixture
def user(frontend: FrontendProcess, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """One for each client, so that each logs in in full; it may read that database and nothing else."""
    name = f"client{CLIENTS.index(request.getfixturevalue('client'))}"
    frontend.sql(f"CREATE USER {name} IDENTIFIED BY 'pass word'")
    frontend.sql(f"GRANT SELECT_PRIV ON {DATABASE}.* TO {name}")
    yield {"CONSOLE_USER": name, "CONSOLE_PASSWORD": "pass word"}
    frontend.sql(f"DROP USER {name}")


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client(client: Client, environment: Mapping[str, str], user: Mapping[str, str]) -> None:
    """Whatever a client offers works as with MySQL: every check of its program comes out as it must."""
    if not client.needs():
        pytest.skip(f"{client.name} is not installed")
    done = subprocess.run(
        client.command,
        env={**os.environ, **environment, **user, **client.environment},
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECOND,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stderr
    outcomes = {line["check"]: line["outcome"] for line in lines if "check" in line}
    wrong = {check: outcome for check, outcome in outcomes.items() if outcome != "ok"}
    assert not wrong, "\n".join(f"{check}: {outcome}" for check, outcome in wrong.items())
    compare(client.name, re.findall(r"\d+(?:\.\d+)+", lines[0]["version"])[-1], list(outcomes))


def compare(name: str, version: str, checks: list[str]) -> None:
    """What the documentation says of a client is what was just seen."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if os.environ.get("RECORD_CLIENTS"):
        record[name] = {"version": version, "checks": checks}
        ordered = {client.name: record[client.name] for client in CLIENTS if client.name in record}
        RECORD.write_text(json.dumps(ordered, indent=1) + "\n")
        return
    assert checks == record[name]["checks"], "the record is stale: run with RECORD_CLIENTS=1, then docs/generate.py"
