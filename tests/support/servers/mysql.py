"""Private MySQL and MariaDB servers for tests.

Owns: one server process in one folder: its start, stop, death and settings; the data folder that each begins with.
Must not know: pytest, what is tested.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import pymysql

from tests.support import installed
from tests.support.until import HANG_SECOND

Flavour = Literal["mysql", "mariadb"]

PASSWORD: Final = "secret"
FOLDS: Final = "lower-case-table-names"  # a MySQL keeps it in its data folder
TEMPLATES: Final = installed.FOLDER / "data"
TEMPLATE_VARIABLES: Final[Mapping[Flavour, Mapping[str, str]]] = {
    "mysql": {"loose-innodb-redo-log-capacity": "8M"},  # each server copies it
    "mariadb": {"innodb-log-file-size": "8M"},
}
PORTS: Final = (15_000, 32_000)  # below those that Linux gives to clients
NEEDED: Final[Mapping[Flavour, Mapping[str, str]]] = {  # of a source, and what makes it quick
    flavour: {
        "server-id": "1",
        "log-bin": "binlog",
        "innodb-flush-log-at-trx-commit": "0",
        "sync-binlog": "0",
        "innodb-buffer-pool-size": "128M",
        "sql-mode": "",  # sessions of tests write what others would refuse; a job's session has its own
        **more,
    }
    for flavour, more in {
        "mysql": {"performance-schema": "OFF"},  # half the CPU time of a start; MariaDB's own
        "mariadb": {"binlog-format": "ROW"},
    }.items()
}
GTIDS: Final[Mapping[Flavour, Mapping[str, str]]] = {  # without which none can `follow` another
    "mysql": {"gtid-mode": "ON", "enforce-gtid-consistency": "ON"},
    "mariadb": {},
}
CHOSEN: Final[Mapping[Flavour, Mapping[str, str]]] = {
    flavour: {**gtids, "binlog-row-metadata": "FULL"} for flavour, gtids in GTIDS.items()
}
NO_GTIDS: Final = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}
SETTINGS: Final[Mapping[str, Mapping[Flavour, Mapping[str, str]]]] = {  # by SYNCMGR_TEST_SETTINGS
    "chosen": CHOSEN,
    "default": {"mysql": {}, "mariadb": {}},
    "minimal": {flavour: {**chosen, "binlog-row-metadata": "MINIMAL"} for flavour, chosen in CHOSEN.items()},
    "no-gtids": {**CHOSEN, "mysql": {**CHOSEN["mysql"], **NO_GTIDS}},
    "replica": CHOSEN,  # that are read as replicas: see replica_server.py
}


def chosen_settings() -> str:
    """The name of those of the run."""
    return os.environ.get("SYNCMGR_TEST_SETTINGS", "chosen")


def settings(flavour: Flavour) -> Mapping[str, str]:
    """Those with which every server of the run starts."""
    return {**NEEDED[flavour], **SETTINGS[chosen_settings()][flavour]}


def free_port() -> int:
    """One that no other run of these tests gets, until this process ends: it keeps the port's number for UDP.

    It is not one that the kernel gives to clients, which might take it while its server is down.
    """
    while True:
        port = random.randrange(*PORTS)
        with socket.socket() as served, socket.socket(type=socket.SOCK_DGRAM) as kept, contextlib.suppress(OSError):
            served.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            for probe in (kept, served):
                probe.bind(("127.0.0.1", port))
            kept.detach()
            return port


def binary(flavour: Flavour) -> str | None:
    """The server's program, None if it is not installed."""
    name = "mysqld" if flavour == "mysql" else "mariadbd"
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/libexec")


class MysqlServer:
    """One server. root has no password; `repl` (password `secret`) may replicate and read everything."""

    def __init__(self, folder: Path, flavour: Flavour = "mysql", variables: Mapping[str, str] | None = None) -> None:
        self.flavour = flavour
        self.port = free_port()
        self._folder = folder
        self._data = folder / "data"
        self._log = folder / "server.log"
        self._variables = {**settings(flavour), **(variables or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "MysqlServer":
        """Returns when it accepts connections. Raises RuntimeError with the end of its log if it does not."""
        self.make_data()
        return self._launch()

    def make_data(self) -> Path:
        """Its data folder, before its first start if this creates it."""
        if not self._data.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            shutil.copytree(_template(self.flavour, self._variables.get(FOLDS)), self._data)
        return self._data

    def make_template(self) -> Path:
        """A data folder from which every server begins: with the users, without a binlog or identity."""
        self._initialise()
        self._launch()
        self._create_users()
        self.stop()
        for file in (*self._data.glob("binlog.*"), self._data / "auto.cnf"):
            file.unlink(missing_ok=True)
        return self._data

    def _launch(self) -> "MysqlServer":
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log)
        self._wait_until_up()
        return self

    def _initialise(self) -> None:
        if self.flavour == "mysql":
            program = [self._program, "--no-defaults", "--initialize-insecure", f"--datadir={self._data}"]
            program += [f"--{name}={value}" for name, value in self._variables.items() if name == FOLDS]
        else:
            program = [
                "mariadb-install-db",
                "--no-defaults",
                f"--datadir={self._data}",
                f"--tmpdir={self._folder}",
                "--skip-test-db",
            ]
            program += ["--auth-root-authentication-method=normal", *self._as_root]
        with self._log.open("ab") as log:
            subprocess.run(program, stdout=log, stderr=log, check=True)

    @property
    def _program(self) -> str:
        found = binary(self.flavour)
        if found is None:
            raise RuntimeError(f"no {self.flavour} server is installed")
        return found

    @property
    def _as_root(self) -> list[str]:
        return ["--user=root"] if os.getuid() == 0 else []

    def _command(self) -> list[str]:
        return [
            self._program,
            "--no-defaults",
            f"--datadir={self._data}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            f"--socket={self._folder / 'sock'}",
            f"--pid-file={self._folder / 'pid'}",
            f"--tmpdir={self._folder}",  # a MariaDB that starts deletes #sql* there, and others crash that still use it
            f"--secure-file-priv={self._folder}",  # Ubuntu's own is a folder that its core package does not make
            *([*self._as_root, "--loose-mysqlx=OFF"]),
            *(f"--{name}={value}" for name, value in self._variables.items()),
        ]

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + HANG_SECOND
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            with contextlib.suppress(pymysql.err.OperationalError):
                self.connect().close()
                return
            time.sleep(0.05)
        raise RuntimeError(f"the {self.flavour} server did not start:\n{self._log.read_text()[-2000:]}")

    def follow(self, source: "MysqlServer") -> None:
        """Become its replica, from its first transaction on. Both must have GTIDs."""
        where = f"_HOST = '127.0.0.1', {{0}}_PORT = {source.port}, {{0}}_USER = 'repl', {{0}}_PASSWORD = '{PASSWORD}'"
        if self.flavour == "mysql":
            how = "SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1"
            self.run(f"CHANGE REPLICATION SOURCE TO SOURCE{where.format('SOURCE')}, {how}", "START REPLICA")
        else:
            how = "MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1"
            self.run(f"CHANGE MASTER TO MASTER{where.format('MASTER')}, {how}", "START SLAVE")

    def _create_users(self) -> None:
        self.run(
            f"CREATE USER repl IDENTIFIED BY '{PASSWORD}'",
            f"GRANT {self._grants()} ON *.* TO repl",
            self._reset(),
        )

    def _grants(self) -> str:
        """MariaDB 10.5 split the right to see whether a server replicates from REPLICATION CLIENT."""
        more = ", SLAVE MONITOR" if self.flavour == "mariadb" and self.version() >= (10, 5) else ""
        return f"REPLICATION SLAVE, REPLICATION CLIENT, SELECT{more}"

    def _reset(self) -> str:
        """MySQL 8.2 renamed the statement."""
        version = self.run("SELECT VERSION()")[0][0]
        major, minor = (int(part) for part in version.split(".")[:2])
        renamed = self.flavour == "mysql" and (major, minor) >= (8, 2)
        return "RESET BINARY LOGS AND GTIDS" if renamed else "RESET MASTER"

    def connect(self, **options: Any) -> "pymysql.connections.Connection[Any]":
        """A connection as root, autocommit, without TLS unless told otherwise."""
        settings = {"user": "root", "autocommit": True, "ssl_disabled": True, "charset": "utf8mb4", **options}
        return pymysql.connect(host="127.0.0.1", port=self.port, **settings)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def end_sessions(self, condition: str) -> int:
        """Kill those whose row of the processlist matches it, like a failover; returns how many.

        One may have ended by itself before its turn: it is gone, as it should be.
        """
        rows = self.run(f"SELECT id FROM information_schema.processlist WHERE {condition}")
        for (number,) in rows:
            with contextlib.suppress(pymysql.err.OperationalError):
                self.run(f"KILL {number}")
        return len(rows)

    def settle(self) -> None:
        """Waits until what was written to it can be read: at once, except for a replica."""

    def version(self) -> tuple[int, int]:
        """Of both MariaDB and MySQL: `flavour` says which."""
        major, minor = str(self.run("SELECT VERSION()")[0][0]).split(".")[:2]
        return int(major), int(minor)

    @property
    def has_vectors(self) -> bool:
        """Of MySQL, from 9.0 on; MariaDB has others."""
        return self.flavour == "mysql" and self.version() >= (9, 0)

    @functools.cached_property
    def logs_generated(self) -> bool:
        """Whether row images have generated columns: in MariaDB from 11.8.9 on only those of plain inserts have them.

        Rows of the same columns have the same length whether they are inserted or deleted.
        """
        file, size = self.run("SHOW BINARY LOGS")[-1][:2]
        self.run(
            "CREATE DATABASE logs_generated",
            "CREATE TABLE logs_generated.t (id INT PRIMARY KEY, g INT AS (id) STORED)",
            "INSERT INTO logs_generated.t (id) VALUES (1)",
            "DELETE FROM logs_generated.t",
            "DROP DATABASE logs_generated",
        )
        events = self.run(f"SHOW BINLOG EVENTS IN '{file}' FROM {size}")
        inserted, deleted = (end - at for _, at, kind, _, end, _ in events if kind.startswith(("Write_", "Delete_")))
        return bool(inserted == deleted)

    @contextlib.contextmanager
    def global_variable(self, name: str, value: str) -> Iterator[None]:
        """Set for a while. The sessions opened inside see it."""
        before = self.run(f"SELECT @@global.{name}")[0][0]
        self.run(f"SET GLOBAL {name} = {value}")
        try:
            yield
        finally:
            shown = f"'{before}'" if isinstance(before, str) else before
            self.run(f"SET GLOBAL {name} = {shown}")

    def stop(self) -> None:
        """In order. Safe to call on a server that does not run."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(HANG_SECOND)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def kill(self) -> None:
        """As in a power cut, as far as the process goes."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def restart(self, variables: Mapping[str, str] | None = None) -> None:
        """On the same port, with further variables if given."""
        self.stop()
        self._variables.update(variables or {})
        self.start()


def _template(flavour: Flavour, folds: str | None) -> Path:
    """Created once per machine for each version of a server: initialising takes seconds, copying none."""
    program = binary(flavour)
    if program is None:
        raise RuntimeError(f"no {flavour} server is installed")
    version = subprocess.run([program, "--version"], capture_output=True, check=True).stdout
    variables = {**TEMPLATE_VARIABLES[flavour], **({FOLDS: folds} if folds else {})}
    key = hashlib.sha256(version + Path(__file__).read_bytes() + repr(variables).encode()).hexdigest()[:16]
    made = TEMPLATES / f"{flavour}-{key}"
    TEMPLATES.mkdir(parents=True, exist_ok=True)
    with (TEMPLATES / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            with tempfile.TemporaryDirectory(dir=TEMPLATES) as folder:
                MysqlServer(Path(folder), flavour, variables).make_template().rename(made)
    return made
