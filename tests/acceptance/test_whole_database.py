"""A whole database in one statement: its targets are made, its rows come, its changes follow."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest

from syncmgr.crash import CrashPoint
from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import on_servers
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

THOUSAND_SECOND = 1200.0
AT_ONCE = 50  # tables of one query
BINLOG = (
    'FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", "mysql.user" = "root", '
    '"mysql.password" = "", "mysql.ssl" = "disabled")'
)
TYPES = {  # of the second column, and an expression of id that fills it
    "tiny": ("TINYINT UNSIGNED", "id % 250"),
    "big": ("BIGINT UNSIGNED", "18446744073709551615 - id"),
    "money": ("DECIMAL(20,4)", "id / 7"),
    "real8": ("DOUBLE", "id / 3"),
    "words": ("VARCHAR(40) COMMENT 'some words'", "CONCAT('ä', id)"),
    "long_words": ("LONGTEXT", "REPEAT(id, 9)"),
    "days": ("DATE", "'2024-01-01' + INTERVAL id DAY"),
    "moments": ("DATETIME(6)", "'2024-01-01 00:00:00.000001' + INTERVAL id SECOND"),
    "labels": ("ENUM('a','b')", "ELT(id % 2 + 1, 'a', 'b')"),
    "raw": ("VARBINARY(20)", "LEFT(UNHEX(SHA2(id, 256)), 20)"),
}
ROWS = 30


class Whole:
    """Twenty tables of a database, one without a key and two that are not wanted."""

    def __init__(self, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self.mysql, self.fe = mysql, fe
        self.tables = [f"{name}_{part}" for name in TYPES for part in "ab"]
        mysql.run("CREATE DATABASE fleet")
        for table in self.tables:
            kind, value = TYPES[table[:-2]]
            mysql.run(f"CREATE TABLE fleet.{table} (id INT PRIMARY KEY, v {kind}) COMMENT 'the table of {table}'")
            rows = (f"({number}, {value.replace('id', str(number))})" for number in range(ROWS))
            mysql.run(f"INSERT INTO fleet.{table} VALUES {', '.join(rows)}")
        for table in ("log", "tmp_1", "tmp_2"):
            mysql.run(f"CREATE TABLE fleet.{table} (line VARCHAR(40))")
        mysql.run(f"INSERT INTO fleet.log VALUES {', '.join(['(0)'] * ROWS)}")
        fe.sql("CREATE DATABASE fleet")

    def statement(self, verb: str, without_key: str = "append") -> str:
        binlog, properties = BINLOG.format(port=self.mysql.port), f'PROPERTIES ("tables_without_key" = "{without_key}")'
        return (
            f"{verb} SYNC fleet.job1 (FROM fleet.* INTO fleet.* EXCLUDE (LIKE 'fleet.tmp\\_%')) {binlog} {properties}"
        )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lines of the log, each once, and other rows."""
        ended = threading.Event()
        writer = threading.Thread(target=self._write, args=(ended,))
        writer.start()
        try:
            yield
        finally:
            ended.set()
            writer.join()

    def _write(self, ended: threading.Event) -> None:
        number = 0
        while not ended.wait(0.02):
            number += 1
            table = self.tables[number % len(self.tables)]
            self.mysql.run(
                f"INSERT INTO fleet.log VALUES ('line {number}')",
                f"UPDATE fleet.{table} SET id = {number} + 1000 WHERE id = {number % ROWS}",
            )

    def log_is_equal(self) -> bool:
        """As often as it was written."""
        expected = Counter(row[0] for row in self.mysql.run("SELECT line FROM fleet.log"))
        return Counter(row["line"] for row in self.fe.sql("SELECT line FROM fleet.log")) == expected

    def differing(self) -> list[str]:
        return [table for table in self.tables if self._rows(table) != self.mysql.run(self._query(table))]

    def _query(self, table: str) -> str:
        return f"SELECT id, v FROM fleet.{table} ORDER BY id"

    def _rows(self, table: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.fe.sql(self._query(table))]


@pytest.fixture
def whole(mysql_server: MysqlServer, frontend: FrontendProcess) -> Callable[[], Whole]:
    return lambda: Whole(mysql_server, frontend)


def test_one_statement_takes_a_whole_database(whole: Callable[[], Whole]) -> None:
    """Explained first, which makes nothing; then every table that is not excluded is in the lake, and is followed."""
    w = whole()
    told = w.fe.sql(w.statement("EXPLAIN"))
    assert {row["Outcome"] for row in told} == {"ok"}
    made = {row["Source"] for row in told if row["Value"] == "is created"}
    assert made == {f"fleet.{table}" for table in (*w.tables, "log")}
    columns = next(row["Value"] for row in told if row["Source"] == "fleet.big_a" and row["Item"] == "columns")
    assert columns == "id INT = int, v LARGEINT = bigint unsigned"

    with pytest.raises(pymysql.err.MySQLError, match="EXCLUDE") as raised:
        w.fe.sql(w.statement("CREATE", "refuse"))
    assert raised.value.args[0] == Code.NO_SOURCE_KEY.number
    assert w.fe.sql("SHOW TABLES FROM fleet") == []

    with w.writing():
        w.fe.sql(w.statement("CREATE"))
        sql = "SELECT DISTINCT phase FROM information_schema.sync_snapshots WHERE job_schema = 'fleet'"
        until(lambda: w.fe.sql(sql) == [{"phase": "streaming"}], why="the end of the snapshot")
    until(lambda: not w.differing(), why="twenty equal tables")
    until(w.log_is_equal, why="an equal log")

    assert "FROM `fleet`.* INTO `fleet`.* EXCLUDE" in w.fe.sql("SHOW CREATE SYNC JOB fleet.job1")[0]["Create Sync Job"]
    assert [row["Tables_in_fleet"] for row in w.fe.sql("SHOW TABLES FROM fleet")] == sorted([*w.tables, "log"])
    text = w.fe.sql("SHOW CREATE TABLE fleet.words_a")[0]["Create Table"]
    assert "some words" in text
    assert "the table of words_a" in text


@pytest.mark.slow
def test_a_name_with_a_percent_sign_is_one_name(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Its rows and changes come, and none of those of the tables that it would mean as a pattern."""
    mysql, fe = mysql_server, frontend
    for db, table in (("5%", "o_%"), ("5%", "o_1"), ("51", "o_%")):
        mysql.run(
            f"CREATE DATABASE IF NOT EXISTS `{db}`",
            f"CREATE TABLE `{db}`.`{table}` (id INT PRIMARY KEY)",
            f"INSERT INTO `{db}`.`{table}` VALUES (1)",
        )
    fe.sql("CREATE DATABASE percent")
    fe.sql("CREATE TABLE percent.one (id INT) UNIQUE KEY(id)")
    binlog = BINLOG.format(port=mysql.port)
    fe.sql(f"CREATE SYNC percent.job1 (FROM `5%`.`o_%` INTO one) {binlog}")
    fe.sql(f"CREATE SYNC percent.job2 (FROM `5%`.* INTO percent.* EXCLUDE (`o_%`)) {binlog}")
    mysql.run(
        *(f"INSERT INTO `{db}`.`{table}` VALUES (2)" for db, table in (("5%", "o_%"), ("5%", "o_1"), ("51", "o_%")))
    )

    def rows(table: str) -> int:
        try:
            return len(fe.sql(f"SELECT id FROM percent.{table}"))
        except pymysql.err.MySQLError:
            return 0

    until(lambda: (rows("one"), rows("o_1")) == (2, 2), why="two rows of each")
    with pytest.raises(pymysql.err.MySQLError, match=r"write FROM TABLES LIKE 'none_%\.o' INTO `one`") as raised:
        fe.sql(f"CREATE SYNC percent.job3 (FROM `none_%`.o INTO one) {binlog}")
    assert raised.value.args[0] == Code.NO_TABLE_MATCHES.number


@pytest.mark.slow
def test_a_table_joins_though_the_frontend_dies_behind_its_target(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """Even if it has another column by the next look: the unused target becomes what it is then."""
    mysql, fe = mysql_server, frontend

    def rows(table: str) -> list[dict[str, Any]]:
        try:
            return fe.sql(f"SELECT * FROM dying.{table}")
        except pymysql.err.MySQLError as error:
            if error.args[0] != Code.NO_SUCH_TABLE.number:
                raise
            return []

    mysql.run("CREATE DATABASE dying", "CREATE TABLE dying.a (id INT PRIMARY KEY)", "INSERT INTO dying.a VALUES (1)")
    fe.sql("CREATE DATABASE dying")
    fe.sql(f"CREATE SYNC dying.job1 (FROM dying.* INTO dying.*) {BINLOG.format(port=mysql.port)}")
    until(lambda: len(rows("a")) == 1, why="the first table")
    fe.arm(CrashPoint.TARGETS_MADE)
    mysql.run("CREATE TABLE dying.b (id INT PRIMARY KEY)")
    fe.await_death(CrashPoint.TARGETS_MADE)
    mysql.run("ALTER TABLE dying.b ADD v INT NOT NULL", "INSERT INTO dying.b VALUES (1, 10)")
    fe.start()
    until(lambda: rows("b") == [{"id": 1, "v": 10}], why="the table that has come")
    mysql.run("INSERT INTO dying.b VALUES (2, 20)", "INSERT INTO dying.a VALUES (2)")
    until(lambda: (len(rows("a")), len(rows("b"))) == (2, 2), why="the changes behind it")


@on_servers("mysql")
def test_a_job_that_lags_makes_of_new_names_what_a_replica_would(
    any_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """A table of the job exists under a name that it gets further on: it is not one of the new ones."""
    server, fe, db = any_server, frontend, f"lagging_{any_server.flavour}"
    server.run(f"CREATE DATABASE {db}", f"CREATE TABLE {db}.orders (id INT PRIMARY KEY, v INT)")
    server.run(f"INSERT INTO {db}.orders VALUES (1, 1)")
    fe.sql(f"CREATE DATABASE {db}")
    fe.sql(f"CREATE SYNC {db}.job1 (FROM {db}.* INTO {db}.*) {BINLOG.format(port=server.port)}")

    def lake(table: str) -> list[tuple[Any, ...]]:
        try:
            return [tuple(row.values()) for row in fe.sql(f"SELECT id, v FROM {db}.{table} ORDER BY id")]
        except pymysql.err.MySQLError as error:
            if error.args[0] != Code.NO_SUCH_TABLE.number:
                raise
            return []

    fe.await_rows(lambda: lake("orders") == [(1, 1)], why="the first rows")
    fe.sql(f"PAUSE SYNC JOB {db}.job1")
    until(lambda: fe.job(db)["Status"]["server"] is None, why="the end of the reading")
    server.run(
        *(f"CREATE TABLE {db}.new_{number} (id INT PRIMARY KEY, v INT)" for number in range(3)),
        *(f"INSERT INTO {db}.new_{number} VALUES ({number}, {number})" for number in range(3)),
        f"INSERT INTO {db}.orders VALUES (2, 2)",
        f"RENAME TABLE {db}.orders TO {db}.orders_2, {db}.new_2 TO {db}.newest",
        f"INSERT INTO {db}.orders_2 VALUES (3, 3)",
    )
    fe.sql(f"RESUME SYNC JOB {db}.job1")
    fe.await_rows(lambda: lake("orders") == [(1, 1), (2, 2), (3, 3)], why="the renamed table")
    fe.await_rows(
        lambda: [lake(t) for t in ("new_0", "new_1", "newest")] == [[(0, 0)], [(1, 1)], [(2, 2)]], why="new tables"
    )
    channels = fe.sql(f"SELECT source_table, state FROM information_schema.sync_channels WHERE job_schema = '{db}'")
    assert {row["source_table"] for row in channels} == {"orders_2", "new_0", "new_1", "newest"}
    assert [row["Tables_in_" + db] for row in fe.sql(f"SHOW TABLES FROM {db}")] == [
        "new_0",
        "new_1",
        "newest",
        "orders",
    ]
    until(lambda: fe.job(db)["Msg"] is None, why="nothing to report")
    told = f"SELECT outcome FROM information_schema.sync_ddl WHERE job_schema = '{db}' AND outcome LIKE 'joins%'"
    assert len(fe.sql(told)) == 1, "one run for all of them"


@pytest.mark.slow
@on_servers("mariadb")
def test_a_table_that_was_created_unlogged_joins_with_its_rows(
    any_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """Or is reported, if it cannot join; and what the message says to do brings it."""
    server, fe, db = any_server, frontend, f"unlogged_{any_server.flavour}"
    server.run(f"CREATE DATABASE {db}", f"CREATE TABLE {db}.a (id INT PRIMARY KEY)", f"INSERT INTO {db}.a VALUES (1)")
    fe.sql(f"CREATE DATABASE {db}")
    fe.sql(f"CREATE SYNC {db}.job1 (FROM {db}.* INTO {db}.*) {BINLOG.format(port=server.port)}")

    def lake(table: str) -> list[Any]:
        try:
            return [row["id"] for row in fe.sql(f"SELECT id FROM {db}.{table} ORDER BY id")]
        except pymysql.err.MySQLError as error:
            if error.args[0] != Code.NO_SUCH_TABLE.number:
                raise
            return []

    fe.await_rows(lambda: lake("a") == [1], why="the first rows")
    server.run(
        "SET sql_log_bin = 0",
        f"CREATE TABLE {db}.z (id INT PRIMARY KEY)",
        f"INSERT INTO {db}.z VALUES (1)",
        f"CREATE TABLE {db}.log (id INT)",
        f"CREATE TABLE {db}.gone (id INT PRIMARY KEY)",
    )
    server.run(*(f"INSERT INTO {db}.{table} VALUES (2)" for table in ("z", "log", "gone")), f"DROP TABLE {db}.gone")
    fe.await_rows(lambda: lake("z") == [1, 2], why="a table that no statement has created")
    until(lambda: fe.job(db)["Status"]["refused"].keys() == {f"{db}.log"}, why="one that cannot join")
    server.run(f"INSERT INTO {db}.z VALUES (3)", f"UPDATE {db}.z SET id = 10 WHERE id = 1")
    fe.await_rows(lambda: lake("z") == [2, 3, 10], why="its changes")
    added = re.search(r"ADD TABLE [^;]*", fe.job(db)["Status"]["refused"][f"{db}.log"]["advice"])
    assert added is not None
    server.run(f"ALTER TABLE {db}.log ADD PRIMARY KEY (id)")
    fe.sql(f"ALTER SYNC JOB {db}.job1 {added[0]}")
    fe.await_rows(lambda: lake("log") == [2], why="the rows of the table that was refused")


def test_a_table_that_cannot_join_calls_for_an_operator(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """An alert sees it until the advice was taken: ADD TABLE once it has a key, or DROP TABLE if it is not wanted."""

    def refused() -> dict[str, Any]:
        status = frontend.job("lacking")["Status"]
        assert status["needs_operator"] is bool(status["refused"])
        found: dict[str, Any] = status["refused"]
        return found

    def lines(table: str) -> list[Any]:
        return [row["line"] for row in frontend.sql(f"SELECT line FROM lacking.{table} ORDER BY line")]

    mysql_server.run("CREATE DATABASE lacking", "CREATE TABLE lacking.a (line INT PRIMARY KEY)")
    frontend.sql("CREATE DATABASE lacking")
    frontend.sql(f"CREATE SYNC lacking.job1 (FROM lacking.* INTO lacking.*) {BINLOG.format(port=mysql_server.port)}")
    mysql_server.run("CREATE TABLE lacking.log (line INT)", "INSERT INTO lacking.log VALUES (1)")
    until(lambda: refused().keys() == {"lacking.log"}, why="a table that cannot join")
    advice = refused()["lacking.log"]["advice"]
    added = re.search(r"ADD TABLE [^;]*", advice)
    assert added is not None, advice
    mysql_server.run("ALTER TABLE lacking.log ADD PRIMARY KEY (line)")
    frontend.sql(f"ALTER SYNC JOB lacking.job1 {added[0]}")
    assert refused() == {}
    until(lambda: lines("log") == [1], why="its rows")
    mysql_server.run("CREATE TABLE lacking.scratch (line INT)")
    until(lambda: refused().keys() == {"lacking.scratch"}, why="another")
    frontend.sql("ALTER SYNC JOB lacking.job1 DROP TABLE lacking.scratch")
    assert refused() == {}
    mysql_server.run("INSERT INTO lacking.scratch VALUES (1)", "INSERT INTO lacking.a VALUES (7)")
    until(lambda: lines("a") == [7], why="a row after that")
    frontend.sql("STOP SYNC JOB lacking.job1")


@pytest.mark.long
def test_one_statement_takes_a_thousand_tables(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Every row is in the lake, and then every change."""
    mysql, fe, tables = mysql_server, frontend, [f"t{number}" for number in range(1000)]
    mysql.run("CREATE DATABASE thousand")
    for table in tables:
        mysql.run(
            f"CREATE TABLE thousand.{table} (id INT PRIMARY KEY, v VARCHAR(20))",
            f"INSERT INTO thousand.{table} VALUES (1, '{table}'), (2, 'b'), (3, 'c')",
        )
    fe.sql("CREATE DATABASE thousand")
    fe.sql(f"CREATE SYNC thousand.job1 (FROM thousand.* INTO thousand.*) {BINLOG.format(port=mysql.port)}")
    sql = "SELECT DISTINCT phase FROM information_schema.sync_snapshots WHERE job_schema = 'thousand'"
    until(lambda: fe.sql(sql) == [{"phase": "streaming"}], deadline=THOUSAND_SECOND, why="the snapshot", step=1)
    assert _values(lambda union: [tuple(row.values()) for row in fe.sql(union)], tables) == _values(mysql.run, tables)
    for table in tables:
        mysql.run(
            f"UPDATE thousand.{table} SET v = '{table}!' WHERE id = 2", f"DELETE FROM thousand.{table} WHERE id = 3"
        )
    end = str(mysql.run("SELECT @@gtid_executed")[0][0]).replace("\n", "")
    until(lambda: _position(fe) == end, deadline=THOUSAND_SECOND, why="the changes", step=1)
    assert _values(lambda union: [tuple(row.values()) for row in fe.sql(union)], tables) == _values(mysql.run, tables)
    assert fe.job("thousand")["Msg"] is None
    fe.sql("STOP SYNC JOB thousand.job1")


def _position(fe: FrontendProcess) -> str:
    return str(fe.job("thousand")["Status"]["position"]["gtid"])


def _values(ask: Callable[[str], list[tuple[Any, ...]]], tables: list[str]) -> list[tuple[Any, ...]]:
    """Some tables at a time: one plan of a thousand takes long."""
    found = []
    for start in range(0, len(tables), AT_ONCE):
        parts = (f"SELECT '{table}' t, id, v FROM thousand.{table}" for table in tables[start : start + AT_ONCE])
        found += ask(" UNION ALL ".join(parts))
    return sorted(found)
