"""Statements between the beginning of a snapshot's read and its upper bound, followed after all rows were read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

ROWS = 1200
SLOW = (
    'PROPERTIES ("snapshot_chunk_rows" = "100", "snapshot_max_connections" = "1", '
    '"snapshot_max_rows_per_second" = "150", "sync_commit_interval_second" = "1")'
)
LAST = 99_999


@dataclass(frozen=True)
class Case:
    """`tables`: by target, its source table after the statements. `columns`: of both."""

    statements: Sequence[str]
    tables: dict[str, str]
    columns: str = "id, a, b"


SWAPPED = Case(("ALTER TABLE {t} RENAME COLUMN a TO b, RENAME COLUMN b TO a",), {"t": "t", "u": "u"})
CASES = {
    "columns swap": SWAPPED,
    "a column leaves its name": Case(
        ("ALTER TABLE {t} RENAME COLUMN a TO z, ADD COLUMN a INT DEFAULT 7",), {"t": "t"}, columns="id, z, b, a"
    ),
    "tables swap": Case(("RENAME TABLE {t} TO {x}, {u} TO {t}, {x} TO {u}",), {"t": "u", "u": "t"}),
    "a table leaves its name": Case(("RENAME TABLE {t} TO {x}, {u} TO {t}",), {"t": "x", "u": "t"}),
    "a column comes": Case(("ALTER TABLE {t} ADD COLUMN c INT DEFAULT 7",), {"t": "t"}, columns="id, a, b, c"),
}


def begin(mysql: MysqlServer, frontend: FrontendProcess, db: str, properties: str) -> None:
    mysql.run(f"CREATE DATABASE {db}")
    frontend.sql(f"CREATE DATABASE {db}")
    for table, sign in (("t", 1), ("u", -1)):
        mysql.run(f"CREATE TABLE {db}.{table} (id INT PRIMARY KEY, a INT, b INT)")
        rows = ", ".join(f"({number}, {sign * number}, {sign * -number})" for number in range(ROWS))
        mysql.run(f"INSERT INTO {db}.{table} VALUES {rows}")
        frontend.sql(f"CREATE TABLE {db}.{table} (id INT NOT NULL, a INT, b INT) UNIQUE KEY(id)")
    frontend.sql(
        f"CREATE SYNC {db}.job1 (FROM {db}.t INTO t, FROM {db}.u INTO u) "
        f'FROM BINLOG ("type" = "mysql", "start" = "snapshot", "mysql.host" = "127.0.0.1", '
        f'"mysql.port" = "{mysql.port}", "mysql.user" = "repl", "mysql.password" = "secret") {properties}'
    )


def alter(mysql: MysqlServer, db: str, case: Case) -> None:
    names = {name: f"{db}.{name}" for name in ("t", "u", "x")}
    mysql.run(*(statement.format(**names) for statement in case.statements))
    mysql.run(*(f"INSERT INTO {db}.{source} (id) VALUES ({LAST})" for source in case.tables.values()))


def differences(mysql: MysqlServer, frontend: FrontendProcess, db: str, case: Case) -> list[tuple[str, int, int]]:
    """Of each target: its name, its rows, how many of the source's it has."""
    found = []
    for target, source in case.tables.items():
        wanted = {tuple(row) for row in mysql.run(f"SELECT {case.columns} FROM {db}.{source}")}
        rows = [tuple(row.values()) for row in frontend.sql(f"SELECT {case.columns} FROM {db}.{target}")]
        if len(rows) != len(wanted) or set(rows) != wanted:
            found.append((target, len(rows), len(wanted.intersection(rows))))
    return found


def is_streaming(frontend: FrontendProcess, db: str) -> Callable[[], bool]:
    def check() -> bool:
        job = frontend.job(db)
        assert job["State"] in {"PENDING", "RUNNING"}, job["Msg"]
        return {each["phase"] for each in job["Status"]["snapshot"].values()} == {"streaming"}

    return check


@pytest.mark.parametrize(
    "name",
    [
        "columns swap",
        pytest.param("tables swap", marks=pytest.mark.slow),
        *(pytest.param(name, marks=pytest.mark.long) for name in CASES if not name.endswith("swap")),
    ],
)
def test_a_statement_while_rows_are_read_is_not_done_twice(
    mysql_server: MysqlServer, frontend: FrontendProcess, name: str
) -> None:
    """Some rows are read before it and some after it, and it is followed when the binlog reaches it: all are right."""
    db, case = f"between_{list(CASES).index(name)}", CASES[name]
    begin(mysql_server, frontend, db, SLOW)
    loads = lambda: frontend.job(db)["Status"]["snapshot"]  # noqa: E731 - a name for what is awaited
    until(lambda: sum(load["chunks_done"] for load in loads().values()) >= 5, why="chunks of the first table")
    alter(mysql_server, db, case)
    frontend.sql(f'ALTER SYNC JOB {db}.job1 SET ("snapshot_max_rows_per_second" = "0")')
    until(is_streaming(frontend, db), why="all rows to be there")
    frontend.await_caught_up(db)
    assert differences(mysql_server, frontend, db, case) == []
    frontend.sql(f"STOP SYNC JOB {db}.job1")


def test_rows_that_resync_read_before_a_statement_is_reached_are_right(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """The rows come at once, as the statement has left them, while the binlog before it is still being read."""
    db = "between_resync"
    begin(mysql_server, frontend, db, 'PROPERTIES ("sync_commit_interval_second" = "1")')
    until(is_streaming(frontend, db), why="all rows to be there")
    frontend.await_caught_up(db)
    frontend.sql(f"PAUSE SYNC JOB {db}.job1")
    until(lambda: frontend.job(db)["Status"]["server"] is None, why="the end of the reading")
    long = f"UPDATE {db}.u SET a = a + 1"
    mysql_server.run(*(long for _ in range(300)))
    alter(mysql_server, db, SWAPPED)
    frontend.sql(f"ALTER SYNC JOB {db}.job1 RESYNC TABLE {db}.t")
    frontend.sql(f"RESUME SYNC JOB {db}.job1")
    until(is_streaming(frontend, db), why="all rows to be there")
    frontend.await_caught_up(db)
    assert differences(mysql_server, frontend, db, SWAPPED) == []
    frontend.sql(f"STOP SYNC JOB {db}.job1")
