"""The cure that messages name exists, and they name no other: on MySQL, MariaDB and canal, with and without GTIDs, with
and without a key, whatever the columns are now.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pymysql
import pytest

from syncmgr.errors import Code
from syncmgr.job.ddl.stopped_table import RESYNC
from tests.acceptance.altered import BINLOG, Altered
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.canal import CANAL_PASSWORD, USER, CanalServer
from tests.support.servers.mysql import FOLDS, MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

SOURCE = (
    "CREATE TABLE {name} (id BIGINT NOT NULL, a INT, gone VARCHAR(20){primary})"
    " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE)"
)
# Statements after which the target cannot be what the source is unless its rows are read.
STOPS = {
    "same": ("ALTER TABLE {name} TRUNCATE PARTITION p0",),
    "changed": (
        "ALTER TABLE {name} MODIFY a VARCHAR(20)",
        "ALTER TABLE {name} DROP COLUMN gone, ADD COLUMN came DECIMAL(8,2) DEFAULT 1.5, ADD u CHAR(36)",
    ),
}
NAMES = itertools.count()


@pytest.fixture(scope="module")
def servers(
    mysql_server: MysqlServer, mariadb_server: MysqlServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, MysqlServer]]:
    """By what is to be seen: `file` is a MySQL without GTIDs."""
    bare = MysqlServer(tmp_path_factory.mktemp("bare"), variables={"gtid-mode": "OFF"}).start()
    try:
        yield {"mysql": mysql_server, "mariadb": mariadb_server, "file": bare}
    finally:
        bare.stop()


def place_of(server: MysqlServer, start: str) -> str:
    """The position of the server, in the form of "start"."""
    if start == "gtid" and server.flavour == "mariadb":
        return str(server.run("SELECT @@global.gtid_binlog_pos")[0][0])
    if start == "gtid":
        return str(server.run("SELECT @@global.gtid_executed")[0][0]).replace("\n", "")
    if start == "file":
        file, offset = server.run("SHOW BINARY LOG STATUS")[0][:2]
        return f"{file}:{offset}"
    return start


class Job:
    """Of two tables, `t` and `other`, of which the first is stopped and brought back."""

    def __init__(
        self,
        server: MysqlServer,
        fe: FrontendProcess,
        *,
        key: bool,
        start: str = "snapshot",
        more: str = "",
        others: int = 10,
    ) -> None:
        """`others`: rows of the other table."""
        self.name = f"matrix{next(NAMES)}"
        self.server, self.fe, self.key = server, fe, key
        fe.sql(f"CREATE DATABASE {self.name}")
        server.run(f"CREATE DATABASE {self.name}")
        self.create("t")
        self.create("other")
        self.insert("t", 1, 200)
        self.insert("other", *range(100, 100 + others))
        server.run("FLUSH BINARY LOGS")
        properties = f'PROPERTIES ("tables_without_key" = "append", "append_on_change" = "append"{more})'
        channels = f"FROM {self.name}.t INTO {self.name}.*, FROM {self.name}.other INTO {self.name}.*"
        binlog = BINLOG.format(port=server.port, start=place_of(server, start))
        fe.sql(f"CREATE SYNC {self.name}.job1 ({channels}) {binlog} {properties}")

    def create(self, table: str) -> None:
        primary = ", PRIMARY KEY (id)" if self.key else ""
        self.server.run(SOURCE.format(name=f"{self.name}.{table}", primary=primary))

    def insert(self, table: str, *keys: int) -> None:
        self.server.run(*(f"INSERT INTO {self.name}.{table} (id) VALUES ({key})" for key in keys))

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        names = sorted(row[0] for row in self.server.run(f"SHOW COLUMNS FROM {self.name}.{table}"))
        return [tuple(names), *sorted(self.server.run(f"SELECT {', '.join(names)} FROM {self.name}.{table}"), key=repr)]

    def lake(self, table: str) -> list[tuple[Any, ...]]:
        names = sorted(row["Field"] for row in self.fe.sql(f"SHOW COLUMNS FROM {self.name}.{table}"))
        try:
            rows = self.fe.sql(f"SELECT {', '.join(names)} FROM {self.name}.{table}")
        except pymysql.err.MySQLError as error:
            if error.args[0] not in {Code.TABLE_CHANGED.number, Code.UNKNOWN_COLUMN.number}:
                raise
            return []  # the columns have changed since they were asked for
        return [tuple(names), *sorted((tuple(row.values()) for row in rows), key=repr)]

    def wait_until_equal(self, table: str) -> None:
        try:
            self.fe.await_rows(
                lambda: self.lake(table) == self.rows(table), why=f"{self.name}.{table} equal to its source"
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.rows(table)}\n{self.lake(table)}\n{self.job}") from error

    def wait_for_the_stop(self) -> None:
        try:
            until(lambda: RESYNC in str(self.job["Msg"]), why="the stop")
        except AssertionError as error:
            told = self.fe.sql("SELECT * FROM information_schema.sync_ddl")
            raise AssertionError(f"{error}\n{self.job}\n{told}") from error

    def states(self) -> dict[str, tuple[str, int | None]]:
        """State and error of each table."""
        tables = f"information_schema.sync_channels WHERE job_schema = '{self.name}'"
        sql = f"SELECT source_table, state, error FROM {tables}"
        return {row["source_table"]: (row["state"], row["error"]) for row in self.fe.sql(sql)}

    @property
    def job(self) -> dict[str, Any]:
        return self.fe.job(self.name)

    def alter(self, what: str) -> None:
        self.fe.sql(f"ALTER SYNC JOB {self.name}.job1 {what}")

    def offers(self) -> str:
        """All that says what to do."""
        job = self.job
        channels = f"information_schema.sync_channels WHERE job_schema = '{self.name}'"
        told = self.fe.sql(f"SELECT reason, advice FROM {channels}")
        return "\n".join(map(str, (job["Msg"], job["Status"], *(text for row in told for text in row.values()))))

    def refuses(self, *statements: str) -> None:
        """Each, typed now."""
        for statement in statements:
            with pytest.raises(pymysql.err.MySQLError):
                self.alter(statement)


TARGETS = {  # by what the columns of the source are
    "before": "id BIGINT NOT NULL, a INT, gone VARCHAR(20)",
    "same": "id BIGINT NOT NULL, a INT, gone VARCHAR(20)",
    "changed": "id BIGINT NOT NULL, a VARCHAR(20), came DECIMAL(8,2), u CHAR(36)",
}


class CanalJob(Job):
    """The same through a canal server that begins with it; `make`: a target, which is not made automatically for it."""

    def __init__(self, server: MysqlServer, fe: FrontendProcess, canal: CanalServer, *, key: bool) -> None:
        self.name = f"matrix{next(NAMES)}"
        self.server, self.fe, self.canal, self.key = server, fe, canal, key
        fe.sql(f"CREATE DATABASE {self.name}")
        server.run(f"CREATE DATABASE {self.name}")
        for table in ("t", "other"):
            self.create(table)
            self.make(table, "before")
        self.read()
        self.insert("t", 1, 200)
        self.insert("other", 100)

    def make(self, table: str, columns: str) -> None:
        key = "UNIQUE KEY(id)" if self.key else "DUPLICATE KEY(id)"
        self.fe.sql(f"CREATE TABLE {self.name}.{table} ({TARGETS[columns]}) {key}")

    def read(self) -> None:
        place = f'"canal.server.ip" = "127.0.0.1", "canal.server.port" = "{self.canal.port}"'
        login = f'"canal.username" = "{USER}", "canal.password" = "{CANAL_PASSWORD}"'
        channels = f"FROM {self.name}.t INTO t, FROM {self.name}.other INTO other"
        self.fe.sql(
            f'CREATE SYNC {self.name}.job1 ({channels}) FROM BINLOG ("type" = "canal", {place}, '
            f'"canal.destination" = "{self.canal.destination}", {login}) PROPERTIES ("append_on_change" = "append")'
        )

    def anew(self, columns: str) -> None:
        """As the advice says; the source is emptied, as the new targets are."""
        self.fe.sql(f"STOP SYNC JOB {self.name}.job1")
        self.canal.stop()
        shutil.rmtree(self.canal.folder / "data")
        for table, made in (("t", columns), ("other", "before")):
            self.server.run(f"DELETE FROM {self.name}.{table}")
            self.fe.sql(f"DROP TABLE {self.name}.{table}")
            self.make(table, made)
        self.canal.start()
        self.read()


@pytest.mark.parametrize(
    ("which", "key", "columns"),
    [
        ("mysql", "key", "changed"),
        pytest.param("mysql", "no key", "same", marks=pytest.mark.long),
        pytest.param("mariadb", "key", "same", marks=pytest.mark.long),
        pytest.param("mariadb", "no key", "changed", marks=pytest.mark.slow),
        pytest.param("file", "key", "changed", marks=pytest.mark.long),
        pytest.param("file", "no key", "same", marks=pytest.mark.slow),
        pytest.param("mysql", "key", "same", marks=pytest.mark.long),
        pytest.param("mysql", "no key", "changed", marks=pytest.mark.long),
        pytest.param("mariadb", "key", "changed", marks=pytest.mark.long),
        pytest.param("mariadb", "no key", "same", marks=pytest.mark.long),
        pytest.param("file", "key", "same", marks=pytest.mark.long),
        pytest.param("file", "no key", "changed", marks=pytest.mark.long),
    ],
)
def test_a_stopped_table_comes_back(
    servers: Mapping[str, MysqlServer], frontend: FrontendProcess, which: str, key: str, columns: str
) -> None:
    """The others go on meanwhile, Msg names the cure, and after it the target is the source, columns and rows."""
    t = Job(servers[which], frontend, key=key == "key")
    t.wait_until_equal("t")
    t.wait_until_equal("other")
    t.server.run(*(text.format(name=f"{t.name}.t") for text in STOPS[columns]))
    t.insert("t", 2, 201)
    t.wait_for_the_stop()
    assert t.job["State"] == "RUNNING"
    t.insert("other", 1)
    t.wait_until_equal("other")
    told = frontend.sql(f"SELECT state, outcome FROM information_schema.sync_ddl WHERE job_schema = '{t.name}'")
    assert [row["state"] for row in told] == ["STOPPED"]
    assert t.states() == {"t": ("STOPPED", Code.SOURCE_DDL.number), "other": ("STREAMING", None)}
    status = t.job["Status"]
    assert (list(status["stopped"]), status["needs_operator"]) == ([f"{t.name}.t"], True)
    offers = t.offers()
    assert not [refused for refused in ("SKIP DDL", "APPLY DDL", "RESUME", "ADD TABLE") if refused in offers], offers
    t.refuses("SKIP DDL", "APPLY DDL 'SELECT 1'", f"ADD TABLE FROM {t.name}.t INTO t")
    t.alter(f"RESYNC TABLE {t.name}.t")
    t.insert("t", 3, 202)
    t.wait_until_equal("t")
    t.insert("t", 4, 203)
    t.insert("other", 2)
    t.wait_until_equal("t")
    t.wait_until_equal("other")
    until(lambda: t.job["Msg"] is None, why="nothing to report")
    until(lambda: t.states() == {"t": ("STREAMING", None), "other": ("STREAMING", None)}, why="both tables streaming")
    status = t.job["Status"]
    assert (status["stopped"], status["behind"], status["needs_operator"]) == ({}, {}, False)
    t.fe.await_caught_up(t.name)
    told = frontend.sql(f"SELECT state FROM information_schema.sync_ddl WHERE job_schema = '{t.name}'")
    assert [row["state"] for row in told] == ["RESYNCED"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "key", "columns"),
    [
        ("mysql", "key", "changed"),
        pytest.param("file", "no key", "same", marks=pytest.mark.slow),
        pytest.param("mysql", "key", "same", marks=pytest.mark.long),
        pytest.param("mysql", "no key", "changed", marks=pytest.mark.long),
        pytest.param("mysql", "no key", "same", marks=pytest.mark.long),
        pytest.param("file", "key", "changed", marks=pytest.mark.long),
        pytest.param("file", "key", "same", marks=pytest.mark.long),
        pytest.param("file", "no key", "changed", marks=pytest.mark.long),
    ],
)
def test_a_job_on_canal_begins_anew(
    servers: Mapping[str, MysqlServer],
    frontend: FrontendProcess,
    canal: Callable[..., CanalServer],
    which: str,
    key: str,
    columns: str,
) -> None:
    """It has no rows to read again: it is paused, nothing that is said of it offers what would be refused, and what the
    advice says instead works as it is typed.
    """
    server = servers[which]
    t = CanalJob(server, frontend, canal(server, options=("--gtid",) if which == "mysql" else ()), key=key == "key")
    t.wait_until_equal("t")
    t.wait_until_equal("other")
    until(lambda: bool(t.job["Status"]["position"]["gtid"]) == (which == "mysql"), why="a position of that kind")
    t.server.run(*(text.format(name=f"{t.name}.t") for text in STOPS[columns]))
    t.insert("t", 2, 201)
    until(lambda: t.job["State"] == "PAUSED", why="the pause")
    job, offers = t.job, t.offers()
    assert (job["Status"]["error"], job["Status"]["needs_operator"]) == (Code.SOURCE_DDL.number, True), job
    for refused in ("RESYNC TABLE", "ADD TABLE", "DROP TABLE", "SKIP DDL", "APPLY DDL", "RESUME"):
        assert refused not in offers
    t.refuses(f"RESYNC TABLE {t.name}.t", f"ADD TABLE FROM {t.name}.t INTO t", "SKIP DDL", "APPLY DDL 'SELECT 1'")
    assert "STOP the job. Stop canal, delete the destination's cursor" in job["Status"]["advice"]
    t.anew(columns)
    t.insert("t", 3, 202)
    t.insert("other", 2)
    t.wait_until_equal("t")
    t.wait_until_equal("other")
    until(lambda: t.job["Msg"] is None, why="nothing to report")


@pytest.mark.parametrize(
    ("which", "key", "start"),
    [
        ("file", "no key", "latest"),
        pytest.param("mysql", "key", "gtid", marks=pytest.mark.slow),
        pytest.param("mysql", "no key", "file", marks=pytest.mark.slow),
        pytest.param("file", "key", "file", marks=pytest.mark.long),
        pytest.param("mysql", "key", "latest", marks=pytest.mark.long),
        pytest.param("mysql", "no key", "latest", marks=pytest.mark.long),
        pytest.param("mariadb", "key", "gtid", marks=pytest.mark.long),
        pytest.param("mariadb", "no key", "latest", marks=pytest.mark.long),
    ],
)
def test_a_table_that_joins_brings_its_rows(
    servers: Mapping[str, MysqlServer], frontend: FrontendProcess, which: str, key: str, start: str
) -> None:
    """Also in a job that began at the end of the binlog, or at a place in it."""
    t = Job(servers[which], frontend, key=key == "key", start=start)
    t.create("late")
    t.insert("late", 1, 2, 300)
    t.alter(f"ADD TABLE FROM {t.name}.late INTO {t.name}.*")
    t.insert("late", 3, 301)
    t.wait_until_equal("late")
    t.insert("late", 4)
    t.wait_until_equal("late")


@pytest.mark.parametrize("which", ["file", pytest.param("mysql", marks=pytest.mark.long)])
def test_a_job_of_one_table_is_mended_in_the_same_way(
    servers: Mapping[str, MysqlServer], frontend: FrontendProcess, which: str
) -> None:
    """The last table pauses the job; RESYNC TABLE and RESUME pass the statement, and bring what it did."""
    t = Job(servers[which], frontend, key=True)
    t.alter(f"DROP TABLE {t.name}.other")
    until(lambda: t.states().keys() == {"t"}, why="the end of the channel")  # with another one no table is the last
    t.wait_until_equal("t")
    t.server.run(STOPS["changed"][0].format(name=f"{t.name}.t"))
    t.insert("t", 5)
    until(lambda: t.job["State"] == "PAUSED", why="the pause")
    assert "RESYNC TABLE, SKIP DDL or APPLY DDL" in t.job["Msg"]
    t.alter(f"RESYNC TABLE {t.name}.t")
    frontend.sql(f"RESUME SYNC JOB {t.name}.job1")
    t.insert("t", 6)
    t.wait_until_equal("t")
    assert t.job["State"] == "RUNNING"


@pytest.mark.parametrize("which", ["mysql", pytest.param("file", marks=pytest.mark.long)])
def test_rows_that_change_unseen_are_read_anew_by_themselves(
    servers: Mapping[str, MysqlServer], frontend: FrontendProcess, which: str
) -> None:
    """Nothing stops at "on_rows_change" = "resync": the partition's rows are removed from the lake, too."""
    t = Job(servers[which], frontend, key=True)
    t.alter('SET ("on_rows_change" = "resync")')
    t.wait_until_equal("t")
    t.server.run(STOPS["same"][0].format(name=f"{t.name}.t"))
    t.insert("t", 7)
    t.wait_until_equal("t")
    assert t.job["State"] == "RUNNING"
    [told] = frontend.sql(f"SELECT state, outcome FROM information_schema.sync_ddl WHERE job_schema = '{t.name}'")
    assert told == {"state": "DONE", "outcome": "TRUNCATE PARTITION: its rows are read again"}


@pytest.mark.parametrize(
    ("which", "start"),
    [
        ("file", "snapshot"),
        pytest.param("mysql", "gtid", marks=pytest.mark.slow),
        pytest.param("file", "file", marks=pytest.mark.long),
    ],
)
def test_a_statement_on_a_quiet_table_is_followed(
    servers: Mapping[str, MysqlServer], frontend: FrontendProcess, which: str, start: str
) -> None:
    """Wherever the job began, and after each restart: it is the table of CREATE SYNC that is altered."""
    server = servers[which]
    t = Job(server, frontend, key=True, start=start)
    if start == "snapshot":
        t.wait_until_equal("t")
    server.run(f"ALTER TABLE {t.name}.t DROP COLUMN gone")
    told = f"SELECT outcome FROM information_schema.sync_ddl WHERE job_schema = '{t.name}'"
    until(lambda: frontend.sql(told), why="the first statement")
    for statement in ("PAUSE", "RESUME"):
        frontend.sql(f"{statement} SYNC JOB {t.name}.job1")
    server.run(f"ALTER TABLE {t.name}.t RENAME COLUMN a TO b")
    try:
        until(lambda: len(frontend.sql(told)) == 2, why="the second statement")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{t.job}") from error
    outcomes = [row["outcome"] for row in frontend.sql(told)]
    assert outcomes == ["dropped column 'gone'", "renamed column 'a' to 'b'"]
    t.insert("t", 9)
    t.fe.await_rows(lambda: (9, None) in t.lake("t") or (None, 9) in t.lake("t"), why="the row")
    assert t.job["State"] == "RUNNING"


def test_what_waited_for_a_reading_that_failed_never_comes_over_a_later_one(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """Rows that were staged before the table stopped again are older than those that bring it back."""
    name = "overtaken"
    mysql_server.run(
        f"CREATE DATABASE {name}",
        f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, x INT NOT NULL, y VARCHAR(30), d DATE)",
        f"CREATE TABLE {name}.o (id BIGINT PRIMARY KEY)",
        f"INSERT INTO {name}.t VALUES (1, 1, '1', NULL)",
    )
    frontend.sql(f"CREATE DATABASE {name}")
    frontend.sql(f"CREATE TABLE {name}.t (id BIGINT NOT NULL, x INT NOT NULL, y VARCHAR(30), d DATE) UNIQUE KEY(id)")
    frontend.sql(f"CREATE TABLE {name}.o (id BIGINT NOT NULL) UNIQUE KEY(id)")
    binlog = BINLOG.format(port=mysql_server.port, start="snapshot")
    frontend.sql(f"CREATE SYNC {name}.job1 (FROM {name}.t INTO t, FROM {name}.o INTO o) {binlog}")
    resync = f"ALTER SYNC JOB {name}.job1 RESYNC TABLE {name}.t"

    def lake() -> list[tuple[Any, ...]]:
        try:
            return [tuple(row.values()) for row in frontend.sql(f"SELECT id, y FROM {name}.t ORDER BY id")]
        except pymysql.err.MySQLError:
            return []

    frontend.await_rows(lambda: lake() == [(1, "1")], why="the first rows")
    mysql_server.run(f"INSERT INTO {name}.t VALUES (2, 2, '2', '0000-00-00')")
    until(lambda: "is no longer read" in str(frontend.job(name)["Msg"]), why="the stop")
    frontend.sql(resync)
    until(lambda: "0000-00-00" in str(frontend.job(name)["Msg"]), why="a reading that fails")
    mysql_server.run(f"INSERT INTO {name}.t VALUES (3, 1, 'old', NULL), (5, 5, 'ghost', NULL)")
    until(lambda: any(t["epochs"] for t in frontend.job(name)["Status"]["behind"].values()), why="rows that wait")
    mysql_server.run(f"ALTER TABLE {name}.t MODIFY y CHAR(30), DROP COLUMN x, ADD COLUMN z INT")
    reason = f"SELECT reason FROM information_schema.sync_channels WHERE job_schema = '{name}' AND target_table = 't'"
    until(lambda: "A DDL statement" in str(frontend.sql(reason)), why="the statement, which stops the table")
    mysql_server.run(
        f"UPDATE {name}.t SET y = 'new' WHERE id = 3",
        f"DELETE FROM {name}.t WHERE id = 5",
        f"UPDATE {name}.t SET d = NULL WHERE id = 2",
        f"INSERT INTO {name}.o VALUES (1)",
    )
    frontend.sql(resync)
    mysql_server.run(f"INSERT INTO {name}.t VALUES (9, '9', NULL, 9)")
    expected = [(1, "1"), (2, "2"), (3, "new"), (9, "9")]
    frontend.await_rows(lambda: lake() == expected, why="the rows")
    until(lambda: not frontend.job(name)["Status"]["behind"], why="nothing that waits")
    until(lambda: frontend.job(name)["Msg"] is None, why="nothing to report")
    assert lake() == expected


def test_columns_change_while_the_first_rows_are_read(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """A wider column in the middle of a job's first snapshot: the statement is followed, and no new job is needed."""
    slow = 'PROPERTIES ("snapshot_chunk_rows" = "50", "snapshot_max_rows_per_second" = "100")'
    t = Altered("widening", mysql_server, frontend, rows=400, properties=slow)
    t.fe.await_rows(lambda: t.lake()[1:], why="the first chunk")
    t.run("ALTER TABLE widening.t MODIFY b VARCHAR(60)", "INSERT INTO widening.t VALUES (1000, 1, REPEAT('x', 50), 1)")
    frontend.sql('ALTER SYNC JOB widening.job1 SET ("snapshot_max_rows_per_second" = "0")')
    t.wait_until_equal()


def test_a_statement_stops_the_job_where_that_is_wanted(
    servers: Mapping[str, MysqlServer], frontend: FrontendProcess
) -> None:
    """No table goes on past it, and APPLY DDL settles it, also on a server without GTIDs."""
    t = Job(servers["file"], frontend, key=True)
    t.alter('SET ("on_ddl_stop" = "job")')
    t.wait_until_equal("t")
    t.server.run(STOPS["changed"][0].format(name=f"{t.name}.t"))
    until(lambda: t.job["State"] == "PAUSED", why="the pause")
    t.alter(f"APPLY DDL 'ALTER TABLE {t.name}.t DROP COLUMN a, ADD COLUMN a VARCHAR(20) AFTER id'")
    frontend.sql(f"RESUME SYNC JOB {t.name}.job1")
    t.insert("t", 8)
    t.wait_until_equal("t")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["file", pytest.param("mariadb", marks=pytest.mark.long)])
def test_columns_that_change_while_the_first_snapshot_reads_another_table(
    servers: Mapping[str, MysqlServer], frontend: FrontendProcess, which: str
) -> None:
    """The statement that cannot be followed stops the table, which is not tried again meanwhile; RESYNC brings it."""
    slow = ', "snapshot_chunk_rows" = "10", "snapshot_max_rows_per_second" = "1", "snapshot_max_connections" = "1"'
    t = Job(servers[which], frontend, key=True, more=slow, others=200)
    t.wait_until_equal("t")
    assert t.job["Status"]["snapshot"]["other"]["phase"] == "snapshot"
    t.server.run(*(text.format(name=f"{t.name}.t") for text in STOPS["changed"]))
    t.insert("t", 2, 201)
    assert t.job["Status"]["snapshot"]["other"]["phase"] == "snapshot"
    t.alter('SET ("snapshot_max_rows_per_second" = "0")')
    t.wait_for_the_stop()
    until(lambda: t.job["Status"]["snapshot"]["t"]["phase"] == "stopped", why="its end")
    t.wait_until_equal("other")
    t.alter(f"RESYNC TABLE {t.name}.t")
    t.insert("t", 3)
    t.wait_until_equal("t")
    until(lambda: t.job["Msg"] is None, why="nothing to report")


def test_names_that_were_changed_back_are_found(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """A table that stopped under a name that it got is read again under the one that it had, or has again."""
    t = Job(mysql_server, frontend, key=True)
    t.wait_until_equal("t")
    old, new = f"{t.name}.old", f"{t.name}.new"
    t.server.run(
        f"RENAME TABLE {t.name}.t TO {old}", f"CREATE TABLE {new} LIKE {old}", f"RENAME TABLE {new} TO {t.name}.t"
    )
    until(lambda: t.states().get("old", ("",))[0] == "STOPPED", why="the stop")
    assert f"RESYNC TABLE {t.name}.t reads that one from here on, RESYNC TABLE {old} this one" in t.offers()
    t.server.run(f"RENAME TABLE {t.name}.t TO {new}, {old} TO {t.name}.t")
    with pytest.raises(pymysql.err.MySQLError, match=f"RESYNC TABLE {t.name}.t"):
        t.alter(f"RESYNC TABLE {old}")
    t.alter(f"RESYNC TABLE {t.name}.t")
    t.insert("t", 5, 205)
    t.wait_until_equal("t")
    until(lambda: t.states()["t"] == ("STREAMING", None), why="the table streaming")
    t.server.run(f"ALTER TABLE {t.name}.t DROP COLUMN gone")
    t.insert("t", 6)
    t.wait_until_equal("t")


@pytest.mark.long  # a server of its own; the contract tests hold what is read of it
def test_a_table_of_a_server_without_case_comes_back(frontend: FrontendProcess, tmp_path: Path) -> None:
    """Whatever statements of the source call it: it is stopped, read again under the server's name, and goes on."""
    server = MysqlServer(tmp_path / "folding", "mysql", {FOLDS: "1"}).start()

    def has(key: int) -> bool:
        return bool(frontend.sql(f"SELECT id FROM {t.name}.t WHERE id = {key}"))

    try:
        t = Job(server, frontend, key=True)
        t.wait_until_equal("t")
        server.run(f"ALTER TABLE {t.name.upper()}.T TRUNCATE PARTITION p0")
        t.wait_for_the_stop()
        t.alter(f"RESYNC TABLE {t.name}.t")
        server.run(f"INSERT INTO {t.name}.T (id) VALUES (3)")
        t.wait_until_equal("t")
        server.run(f"RENAME TABLE {t.name}.T TO {t.name}.Renamed", f"INSERT INTO {t.name}.RENAMED (id) VALUES (4)")
        until(
            lambda: 4 in [row["id"] for row in frontend.sql(f"SELECT id FROM {t.name}.t")], why="the row after RENAME"
        )
        t.alter(f"RESYNC TABLE {t.name}.renamed")
        server.run(f"INSERT INTO {t.name}.renamed (id) VALUES (5)")
        until(
            lambda: 5 in [row["id"] for row in frontend.sql(f"SELECT id FROM {t.name}.t")], why="the row after RESYNC"
        )
        frontend.sql(f"STOP SYNC JOB {t.name}.job1")
    finally:
        server.stop()
