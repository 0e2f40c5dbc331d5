"""A table whose columns and rows change, its target, and whether both are equal, for the tests of DDL."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pymysql

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer

STRICT = "SET sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'"
BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "{start}", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", '
    '"mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
COLUMNS = "a INT NOT NULL, b VARCHAR(20), d DECIMAL(8,2)"


class Altered:
    """A source table of some columns, its target with the same ones, and a job without a column list."""

    def __init__(
        self,
        name: str,
        mysql: MysqlServer,
        fe: FrontendProcess,
        *,
        tables: tuple[str, ...] = ("t",),
        rows: int = 0,
        properties: str = "",
    ) -> None:
        """`rows`: those that exist before the job, which then begins with a snapshot."""
        self.name = name
        self.mysql = mysql
        self.fe = fe
        self.run(f"CREATE DATABASE {name}")
        fe.sql(f"CREATE DATABASE {name}")
        for table in tables:
            self.create(table, rows)
        channels = ", ".join(f"FROM {name}.{table} INTO {table}" for table in tables)
        binlog = BINLOG.format(port=mysql.port, start="snapshot" if rows else "latest")
        fe.sql(f"CREATE SYNC {name}.job1 ({channels}) {binlog} {properties}")

    def create(self, table: str, rows: int, key: str = "UNIQUE KEY(id)") -> None:
        """In the source, with so many rows, and its target. `key`: of the target."""
        self.run(f"CREATE TABLE {self.name}.{table} (id BIGINT PRIMARY KEY, {COLUMNS})")
        for first in range(0, rows, 1000):
            values = ", ".join(f"({n}, {n}, 'row {n}', {n}.25)" for n in range(first, min(first + 1000, rows)))
            self.run(f"INSERT INTO {self.name}.{table} VALUES {values}")
        self.fe.sql(f"CREATE TABLE {self.name}.{table} (id BIGINT NOT NULL, {COLUMNS}) {key}")

    def run(self, *statements: str) -> None:
        self.mysql.run(STRICT, *statements)

    def source(self, table: str = "t") -> list[tuple[Any, ...]]:
        names = [row[0] for row in self.mysql.run(f"SHOW COLUMNS FROM {self.name}.{table}")]
        rows = self.mysql.run(f"SELECT * FROM {self.name}.{table} ORDER BY id")
        return [tuple(names), *rows]

    def lake(self, target: str = "t") -> list[tuple[Any, ...]]:
        names = [row["Field"] for row in self.fe.sql(f"SHOW COLUMNS FROM {self.name}.{target}")]
        try:
            rows = self.fe.sql(f"SELECT * FROM {self.name}.{target} ORDER BY id")
        except pymysql.err.MySQLError as error:
            if error.args[0] != Code.TABLE_CHANGED.number:
                raise
            return []  # it was planned before the change of schema
        return [tuple(names), *(tuple(row.values()) for row in rows)]

    def wait_until_equal(self, table: str = "t", target: str = "t") -> None:
        """Column by column and row by row; `table`: of the source."""
        expected = self.source(table)

        def equal() -> bool:
            assert self.fe.job(self.name)["State"] != "PAUSED", self.fe.job(self.name)["Msg"]
            return self.lake(target) == expected

        try:
            self.fe.await_rows(equal, why=f"{self.name} equal to its source")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{expected}\n{self.lake(target)}\n{self.fe.job(self.name)}") from error


class Changing:
    """A table whose columns and rows change at random; every change of its columns can be followed."""

    def __init__(self, table: str, run: Callable[..., object], rng: random.Random, keys: int = 1) -> None:
        self.table, self.run, self.rng = table, run, rng
        self.columns = {"a": "INT", "b": "VARCHAR(20)", "d": "DECIMAL(8,2)"}
        self.required = {"a"}
        self.names = (f"c{number}" for number in itertools.count())
        self.keys = itertools.count(keys)
        self.kept: frozenset[str] = frozenset()  # columns that no DDL touches

    def step(self) -> None:
        ddl = (self.add, self.add, self.drop, self.rename, self.widen, self.move, self.relax, self.index, self.truncate)
        dml = (self.insert, self.update, self.delete)
        self.rng.choice(ddl if self.rng.random() < 0.35 else dml)()

    def alter(self, clause: str) -> None:
        self.run(f"ALTER TABLE {self.table} {clause}")

    def add(self) -> None:
        name, kind = next(self.names), self.rng.choice(sorted(VALUES))
        default = self.rng.choice(
            ["", " NOT NULL", f" DEFAULT {self.value(kind)}", f" NOT NULL DEFAULT {self.value(kind)}"]
        )
        if kind in NO_DEFAULT or (kind in NO_ZERO and default == " NOT NULL"):
            default = ""
        place = self.rng.choice(["", " FIRST", " AFTER id"])
        self.alter(f"ADD COLUMN {name} {kind}{default}{place}")
        self.columns[name] = kind

    def drop(self) -> None:
        free = sorted(self.columns.keys() - self.kept)
        if len(free) > 2:
            name = self.rng.choice(free)
            again = self.rng.random() < 0.3
            kind = self.rng.choice(sorted(VALUES))
            self.alter(f"DROP COLUMN {name}" + (f", ADD COLUMN {name} {kind}" if again else ""))
            del self.columns[name]
            self.required -= {name}
            if again:
                self.columns[name] = kind

    def rename(self) -> None:
        free = sorted(self.columns.keys() - self.kept)
        if not free:
            return
        old, new = self.rng.choice(free), next(self.names)
        self.alter(f"RENAME COLUMN {old} TO {new}")
        self.columns[new] = self.columns.pop(old)
        if old in self.required:
            self.required = self.required - {old} | {new}

    def widen(self) -> None:
        wider = [(name, WIDER[kind]) for name, kind in self.columns.items() if kind in WIDER and name not in self.kept]
        if wider:
            name, kind = self.rng.choice(sorted(wider))
            self.alter(f"MODIFY {name} {kind}{' NOT NULL' if name in self.required else ''}")
            self.columns[name] = kind

    def move(self) -> None:
        name = self.rng.choice(sorted(self.columns))
        rest = " NOT NULL" if name in self.required else ""
        self.alter(f"MODIFY {name} {self.columns[name]}{rest} {self.rng.choice(['FIRST', 'AFTER id'])}")

    def relax(self) -> None:
        free = sorted(self.required - self.kept)
        if free:
            name = self.rng.choice(free)
            self.required = self.required - {name}
            self.alter(f"MODIFY {name} {self.columns[name]} NULL")

    def index(self) -> None:
        self.alter(f"ADD INDEX {next(self.names)} (id)")

    def truncate(self) -> None:
        if self.rng.random() < 0.3:
            self.run(f"TRUNCATE TABLE {self.table}")

    def insert(self) -> None:
        for _ in range(self.rng.randint(1, 5)):
            names = sorted(self.columns)
            values = ", ".join(self.value(self.columns[name]) for name in names)
            self.run(f"INSERT INTO {self.table} (id, {', '.join(names)}) VALUES ({next(self.keys)}, {values})")

    def update(self) -> None:
        name = self.rng.choice(sorted(self.columns))
        self.run(
            f"UPDATE {self.table} SET {name} = {self.value(self.columns[name])} WHERE id % 3 = {self.rng.randrange(3)}"
        )

    def delete(self) -> None:
        self.run(f"DELETE FROM {self.table} WHERE id % 7 = {self.rng.randrange(7)}")

    def value(self, kind: str) -> str:
        return self.rng.choice(VALUES[kind])


VALUES = {
    "SMALLINT": ["0", "-32768", "32767"],
    "INT": ["0", "-7", "2147483647"],
    "BIGINT": ["0", "5000000000"],
    "VARCHAR(20)": ["''", "'caf\u00e9'", "'it''s'"],
    "VARCHAR(60)": ["''", "'a longer text than twenty characters'"],
    "TEXT": ["''", "REPEAT('x', 100)"],
    "DECIMAL(8,2)": ["0", "-1.25", "999999.99"],
    "DECIMAL(16,2)": ["0", "99999999999999.99"],
    "DATE": ["'2024-02-29'", "'1970-01-01'"],
    "DATETIME(3)": ["'2024-02-29 01:02:03.456'", "'2000-01-01 00:00:00'"],
}
NO_DEFAULT = {"TEXT"}
NO_ZERO = {"DATE", "DATETIME(3)"}
WIDER = {
    "SMALLINT": "INT",
    "INT": "BIGINT",
    "VARCHAR(20)": "VARCHAR(60)",
    "VARCHAR(60)": "TEXT",
    "DECIMAL(8,2)": "DECIMAL(16,2)",
}
