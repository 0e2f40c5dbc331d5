"""Statements, sources and targets besides the main job: what each promises to the person who types it."""

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import QUIET_LAG_SECOND, FrontendProcess
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

WRITING_SECOND: Final = 0.002  # between two transactions of a steady load


class Desk:
    """A database of the lake and one of the source under one name, and what is typed about them."""

    def __init__(self, name: str, server: MysqlServer, frontend: FrontendProcess) -> None:
        self.name = name
        self.server = server
        self.frontend = frontend
        self._connection = frontend.connect()
        server.run(f"CREATE DATABASE {name}")
        self.ask(f"CREATE DATABASE {name}")

    def ask(self, statement: str) -> list[dict[str, Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def rows(self, select: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.ask(select)]

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.server.run(f"USE {self.name}", *statements)

    def table(self, name: str, columns: str, key: str) -> None:
        """A table of the lake."""
        self.ask(f"CREATE TABLE {self.name}.{name} ({columns}) {key}")

    def sync(self, job: str, channels: str, properties: str = "", words: str = "CREATE SYNC", **source: str) -> None:
        given = {"type": "mysql", "mysql.host": "127.0.0.1", "mysql.port": str(self.server.port)}
        given |= {"mysql.user": "repl", "mysql.password": PASSWORD} | source
        binlog = ", ".join(f'"{key}" = "{value}"' for key, value in given.items())
        self.ask(f"{words} {self.name}.{job} ({channels}) FROM BINLOG ({binlog}) {properties}")

    def job(self, name: str = "job1") -> dict[str, Any]:
        [row] = self.ask(f"SHOW SYNC JOB FROM {self.name} WHERE JobName = '{name}' AND State <> 'CANCELLED'")
        return row | {"Status": json.loads(row["Status"])}

    def wait_for(self, select: str, expected: list[tuple[Any, ...]]) -> None:
        until(lambda: self.rows(select) == expected, why=f"{expected} of {select}")

    def wait_for_state(self, state: str, job: str = "job1") -> None:
        until(lambda: self.job(job)["State"] == state, why=f"{job} {state}")

    def close(self) -> None:
        for row in self.ask(f"SHOW SYNC JOB FROM {self.name} WHERE State <> 'CANCELLED'"):
            self.ask(f"STOP SYNC JOB {self.name}.{row['JobName']}")
        self._connection.close()


@pytest.fixture
def desk(request: pytest.FixtureRequest, mysql_server: MysqlServer, frontend: FrontendProcess) -> Iterator[Desk]:
    made = Desk(f"d_{abs(hash(request.node.name)) % 10**8}", mysql_server, frontend)
    yield made
    made.close()


def test_a_text_with_a_variable_of_spark_is_that_text(desk: Desk) -> None:
    """In SELECT, an expression, WHERE and a name: otherwise it would show secrets, and leave rows out."""
    texts = ["${env:HOME}", "${system:user.home}", "${spark.app.name}"]
    assert desk.rows(f"SELECT '{texts[0]}', '{texts[1]}', '{texts[2]}' FROM range(1)") == [tuple(texts)]
    name = f"`{desk.name}`.`{texts[0]}`"
    desk.run(f"CREATE TABLE {name} (id INT PRIMARY KEY, v VARCHAR(99))")
    for target, rest in (("`${env:HOME}`", ""), ("made", f" (id, v = CONCAT(v, '{texts[0]}')) WHERE v = '{texts[0]}'")):
        desk.table(target, "id INT, v VARCHAR(200)", "UNIQUE KEY(id)")
        desk.sync(f"of_{len(rest)}", f"FROM {name} INTO {target}{rest}")
    desk.run(*(f"INSERT INTO {name} VALUES ({number}, '{text}')" for number, text in enumerate(texts)))
    desk.wait_for(f"SELECT v FROM {name} ORDER BY id", [(text,) for text in texts])
    desk.wait_for(f"SELECT id, v FROM {desk.name}.made", [(0, texts[0] * 2)])


def test_show_sync_job_filters_orders_and_limits(desk: Desk) -> None:
    """LIKE matches the job's name, WHERE any of the twelve columns, ORDER BY and LIMIT work as in MySQL."""
    for name in ("alpha", "beta", "gamma"):
        desk.run(f"CREATE TABLE {name} (id INT PRIMARY KEY)")
        desk.table(name, "id INT NOT NULL", "UNIQUE KEY(id)")
        desk.sync(f"job_{name}", f"FROM {desk.name}.{name} INTO {name}")
    desk.ask(f"PAUSE SYNC JOB {desk.name}.job_beta")

    def names(rest: str) -> list[str]:
        return [row["JobName"] for row in desk.ask(f"SHOW SYNC JOB FROM {desk.name} {rest}")]

    assert names("") == ["job_alpha", "job_beta", "job_gamma"]
    assert names("LIKE '%a_pha'") == ["job_alpha"]
    assert names("WHERE State = 'PAUSED'") == ["job_beta"]
    assert names("WHERE State = 'PAUSED' OR Channel LIKE '%->gamma'") == ["job_beta", "job_gamma"]
    assert names("ORDER BY JobName DESC") == ["job_gamma", "job_beta", "job_alpha"]
    assert names("ORDER BY JobId LIMIT 1") == ["job_alpha"]
    assert names("ORDER BY JobId LIMIT 1, 5") == ["job_beta", "job_gamma"]
    assert names("WHERE FinishTime IS NOT NULL") == []
    columns = "JobId JobName Type State Channel Status JobConfig CreateTime LastStartTime LastStopTime FinishTime Msg"
    assert list(desk.ask(f"SHOW SYNC JOB FROM {desk.name} LIMIT 1")[0]) == columns.split()


def test_show_create_sync_job_can_be_typed_again(desk: Desk) -> None:
    """The password is masked, and with the real one put back the text makes the same job."""
    desk.run("CREATE TABLE orders (id INT PRIMARY KEY, status VARCHAR(9), amount DECIMAL(9,2))")
    desk.table("orders", "id INT NOT NULL, status STRING, total DECIMAL(10,2)", "UNIQUE KEY(id)")
    channel = f"FROM {desk.name}.orders INTO orders (id, status, total = amount + 1) WHERE status <> 'x'"
    desk.sync("job1", channel, 'PROPERTIES ("max_retry" = "7")')
    [told] = desk.ask(f"SHOW CREATE SYNC JOB {desk.name}.job1")
    text = told["Create Sync Job"]
    assert PASSWORD not in text
    masked = '"mysql.password" = "******"'
    assert masked in text
    desk.ask(f"STOP SYNC JOB {desk.name}.job1")
    desk.ask(text.replace(masked, f'"mysql.password" = "{PASSWORD}"'))
    [again] = desk.ask(f"SHOW CREATE SYNC JOB {desk.name}.job1")
    assert again["Create Sync Job"] == text
    desk.run("INSERT INTO orders VALUES (1, 'new', 2.50), (2, 'x', 1)")
    desk.wait_for(f"SELECT * FROM {desk.name}.orders", [(1, "new", Decimal("3.50"))])


@pytest.mark.slow
def test_the_statement_of_doris_is_understood(desk: Desk) -> None:
    """The text of Doris' manual, with our source in it; IF NOT EXISTS of a job that exists is a note."""
    desk.run("CREATE TABLE tbl1 (id INT PRIMARY KEY, name VARCHAR(9))")
    desk.table("test_tbl", "id INT NOT NULL, name VARCHAR(9)", "UNIQUE KEY(id)")
    text = f"""
        CREATE SYNC {{words}}`{desk.name}`.`job1`
        (
         FROM `{desk.name}`.`tbl1` INTO `test_tbl` (id, name)
        )
        FROM BINLOG
        (
         "type" = "mysql",
         "mysql.host" = "127.0.0.1",
         "mysql.port" = "{desk.server.port}",
         "mysql.user" = "repl",
         "mysql.password" = "{PASSWORD}"
        );
    """
    desk.ask(text.format(words=""))
    desk.run("INSERT INTO tbl1 VALUES (1, 'one')")
    desk.wait_for(f"SELECT * FROM {desk.name}.test_tbl", [(1, "one")])
    with contextlib.closing(desk.frontend.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(text.format(words="JOB IF NOT EXISTS "))
        cursor.execute("SHOW WARNINGS")
        [warning] = cursor.fetchall()
    assert warning["Message"] == f"The sync job 'job1' in database '{desk.name}' already exists"
    assert len(desk.ask(f"SHOW SYNC JOB FROM {desk.name}")) == 1


def test_a_setting_takes_effect_on_a_running_job(desk: Desk) -> None:
    """A longer commit interval holds rows back, a shorter one lets them through, and SHOW shows the value."""
    key = "sync_commit_interval_second"
    desk.run("CREATE TABLE t (id INT PRIMARY KEY)")
    desk.table("t", "id INT NOT NULL", "UNIQUE KEY(id)")
    desk.sync("job1", f"FROM {desk.name}.t INTO t", start="latest")

    def has(*rows: int) -> bool:
        return desk.rows(f"SELECT id FROM {desk.name}.t ORDER BY id") == [(row,) for row in rows]

    desk.run("INSERT INTO t VALUES (1)")
    until(lambda: has(1), why="a row")
    [before] = desk.ask(f"SHOW FRONTEND CONFIG LIKE '{key}'")
    try:
        desk.ask(f'ADMIN SET FRONTEND CONFIG ("{key}" = "600")')
        [shown] = desk.ask(f"SHOW FRONTEND CONFIG LIKE '{key}'")
        assert (shown["Value"], shown["IsMutable"]) == ("600", "true")
        written = [1]

        def is_held_back() -> bool:
            """One that the worker reads before it has heard of the setting is not."""
            written.append(written[-1] + 1)
            desk.run(f"INSERT INTO t VALUES ({written[-1]})")
            lag = lambda: desk.job()["Status"]["lag_second"] or 0.0  # noqa: E731 - a name for what is awaited
            until(lambda: has(*written) or lag() > QUIET_LAG_SECOND, why="a row, or none")
            return not has(*written)

        until(is_held_back, why="a row held back")
        assert has(*written[:-1])
    finally:
        desk.ask(f'ADMIN SET FRONTEND CONFIG ("{key}" = "{before["Value"]}")')
    until(lambda: has(*written), why="the row that was held back")


def test_mariadb_is_a_source(mariadb_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Changes of a MariaDB server arrive, and the job's position is its GTID."""
    desk = Desk("from_mariadb", mariadb_server, frontend)
    desk.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), at DATETIME(6))")
    desk.table("t", "id INT NOT NULL, name STRING, at DATETIME(6)", "UNIQUE KEY(id)")
    desk.sync("job1", "FROM from_mariadb.t INTO t")
    desk.run("INSERT INTO t VALUES (1, 'a', '2026-01-01 00:00:00.5'), (2, 'b', NULL)", "DELETE FROM t WHERE id = 2")
    desk.run("UPDATE t SET name = 'caf\u00e9' WHERE id = 1")
    desk.wait_for("SELECT id, name, date_format(at, '%s.%f') FROM from_mariadb.t", [(1, "caf\u00e9", "00.500000")])
    domain, server, sequence = desk.job()["Status"]["position"]["gtid"].split("-")
    assert (domain, server) == ("0", "1")
    assert int(sequence) > 0
    desk.close()


def test_a_job_starts_where_it_is_told(desk: Desk) -> None:
    """`earliest` brings every row, a GTID set and file:position those after them, `latest` only new ones; the default
    gets the existing rows.
    """
    desk.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    [status] = desk.run("SHOW BINARY LOG STATUS")
    desk.run("INSERT INTO t VALUES (2)")
    starts = {"earliest": "earliest", "gtid": status[4].replace("\n", ""), "place": f"{status[0]}:{status[1]}"}
    desk.table("everything", "id INT NOT NULL", "UNIQUE KEY(id)")
    desk.sync("job_all", f"FROM {desk.name}.t INTO everything")
    for name, start in (starts | {"latest": "latest"}).items():
        desk.table(name, "id INT NOT NULL", "UNIQUE KEY(id)")
        desk.sync(f"job_{name}", f"FROM {desk.name}.t INTO {name}", start=start)
    desk.run("INSERT INTO t VALUES (3)")
    expected = {"earliest": [(1,), (2,), (3,)], "gtid": [(2,), (3,)], "place": [(2,), (3,)], "latest": [(3,)]}
    expected["everything"] = expected["earliest"]
    for name, rows in expected.items():
        desk.wait_for(f"SELECT id FROM {desk.name}.{name} ORDER BY id", rows)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "expected"), [("append", ["a", "b"]), ("ignore", ["a"])])
def test_a_target_without_key_appends(desk: Desk, policy: str, expected: list[str]) -> None:
    """`append` adds the new image of an update, `ignore` leaves it out; a delete takes nothing away."""
    desk.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))")
    desk.table("t", "id INT, name STRING", "DUPLICATE KEY(id)")
    desk.sync("job1", f"FROM {desk.name}.t INTO t", f'PROPERTIES ("append_on_change" = "{policy}")', start="latest")
    desk.run(
        "INSERT INTO t VALUES (1, 'a')", "UPDATE t SET name = 'b'", "DELETE FROM t", "INSERT INTO t VALUES (2, 'z')"
    )
    rows = [(1, name) for name in expected] + [(2, "z")]
    desk.wait_for(f"SELECT * FROM {desk.name}.t ORDER BY id, name", rows)


@pytest.mark.slow
def test_a_target_without_key_refuses_changes_by_default(desk: Desk) -> None:
    """The job pauses with what to do, and goes on no further than it can."""
    desk.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))")
    desk.table("t", "id INT, name STRING", "DUPLICATE KEY(id)")
    desk.sync("job1", f"FROM {desk.name}.t INTO t", start="latest")
    desk.run("INSERT INTO t VALUES (1, 'a')")
    desk.wait_for(f"SELECT * FROM {desk.name}.t", [(1, "a")])
    desk.run("DELETE FROM t")
    desk.wait_for_state("PAUSED")
    message = desk.job()["Msg"]
    assert f"The target of '{desk.name}.t' has no key, and its source had a delete" in message
    assert f"(error {Code.APPEND_CHANGE.number})" in message
    assert desk.rows(f"SELECT * FROM {desk.name}.t") == [(1, "a")]


@pytest.mark.slow
def test_composite_keys_are_upserted(desk: Desk) -> None:
    """Every column of the key counts, in another order than the source's and after updates of a part of it."""
    desk.run("CREATE TABLE t (a INT, b VARCHAR(9), v INT, PRIMARY KEY (a, b))")
    desk.table("t", "b VARCHAR(9) NOT NULL, a INT NOT NULL, v INT", "UNIQUE KEY(b, a) DISTRIBUTED BY HASH(b) BUCKETS 3")
    desk.sync("job1", f"FROM {desk.name}.t INTO t (a, b, v)")
    desk.run("INSERT INTO t VALUES (1,'x',1), (1,'y',2), (2,'x',3)", "UPDATE t SET v = 20 WHERE a = 1 AND b = 'y'")
    desk.run("UPDATE t SET a = 9 WHERE a = 2", "DELETE FROM t WHERE a = 1 AND b = 'x'")
    desk.wait_for(f"SELECT a, b, v FROM {desk.name}.t ORDER BY a, b", [(1, "y", 20), (9, "x", 3)])


def test_columns_that_are_two_to_the_server_are_two_in_the_lake(desk: Desk) -> None:
    """A sharp s is not two of them: each is found by its own name, in the key too."""
    desk.run("CREATE TABLE t (`straße` INT, strasse INT, v INT, PRIMARY KEY (`straße`, strasse))")
    desk.table("t", "`straße` INT, strasse INT, v INT", "UNIQUE KEY(`straße`, strasse)")
    desk.sync("job1", f"FROM {desk.name}.t INTO t")
    desk.run("INSERT INTO t VALUES (1, 2, 0), (2, 1, 0)", "UPDATE t SET v = 9 WHERE strasse = 1")
    desk.wait_for(f"SELECT `straße`, strasse, v FROM {desk.name}.t ORDER BY v", [(1, 2, 0), (2, 1, 9)])
    assert [row[3] for row in desk.rows(f"DESC {desk.name}.t")] == ["PRI", "PRI", ""]


@pytest.mark.slow
def test_two_tables_of_one_job_stop_at_one_transaction(desk: Desk) -> None:
    """However a pause falls among transactions over both tables, both hold the same transactions."""
    for name in ("orders", "items"):
        desk.run(f"CREATE TABLE {name} (id INT PRIMARY KEY, n INT)")
        desk.table(name, "id INT NOT NULL, n INT", "UNIQUE KEY(id)")
    channels = f"FROM {desk.name}.orders INTO orders, FROM {desk.name}.items INTO items"
    desk.sync("job1", channels, start="latest")
    done = threading.Event()

    def load() -> None:
        with contextlib.closing(desk.server.connect(database=desk.name)) as connection, connection.cursor() as cursor:
            for n in itertools.count():
                if done.wait(WRITING_SECOND):
                    return
                cursor.execute("BEGIN")
                cursor.execute(f"INSERT INTO orders VALUES ({n}, {n})")
                cursor.execute(f"REPLACE INTO items VALUES ({n % 50}, {n})")
                cursor.execute("COMMIT")

    writer = threading.Thread(target=load)
    writer.start()
    try:
        for _ in range(2):
            desk.wait_for_state("RUNNING")
            commits = desk.job()["Status"]["commits"]
            until(lambda: desk.job()["Status"]["commits"] > commits + 1)  # noqa: B023
            desk.ask(f"PAUSE SYNC JOB {desk.name}.job1")
            until(lambda: desk.job()["Status"]["server"] is None, why="the last commit")
            [both] = desk.rows(
                f"SELECT (SELECT max(n) FROM {desk.name}.orders) AS a, (SELECT max(n) FROM {desk.name}.items) AS b,"
                f" (SELECT count(*) FROM {desk.name}.orders) AS c"
            )
            assert both == (both[0], both[0], both[0] + 1)
            desk.ask(f"RESUME SYNC JOB {desk.name}.job1")
    finally:
        done.set()
        writer.join()


@pytest.mark.slow
def test_types_that_need_a_wider_target(desk: Desk) -> None:
    """BIGINT UNSIGNED fits LARGEINT; JSON, ENUM, SET and TIME arrive as MySQL prints them."""
    desk.run(
        "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, doc JSON, word ENUM('small','big'), many SET('a','b','c'),"
        " took TIME(3), bits BIT(4), born YEAR)"
    )
    columns = "id LARGEINT NOT NULL, doc STRING, word STRING, many STRING, took STRING, bits INT, born INT"
    desk.table("t", columns, "UNIQUE KEY(id)")
    desk.sync("job1", f"FROM {desk.name}.t INTO t")
    desk.run(
        """INSERT INTO t VALUES (18446744073709551615, '{"b": [1, "x"], "a": null}', 'big', 'a,c', '-838:59:58.5',
        b'1010', 1999), (2, NULL, NULL, '', '00:00:01', NULL, NULL)"""
    )
    first = (2, None, None, "", "00:00:01.000", None, None)
    second = (18446744073709551615, '{"a": null, "b": [1, "x"]}', "big", "a,c", "-838:59:58.500", 10, 1999)
    desk.wait_for(f"SELECT * FROM {desk.name}.t ORDER BY id", [first, second])
    desk.table("small", "id BIGINT NOT NULL", "UNIQUE KEY(id)")
    with pytest.raises(pymysql.err.MySQLError, match=r"does not fit target column .*it reaches from 0"):
        desk.sync("job2", f"FROM {desk.name}.t INTO small (id)")


@pytest.mark.slow
def test_a_source_may_tell_few_metadata(desk: Desk) -> None:
    """With binlog_row_metadata=MINIMAL, MySQL's default, names and signs come from the schema of CREATE SYNC."""
    with desk.server.global_variable("binlog_row_metadata", "'MINIMAL'"):
        desk.run("CREATE TABLE t (n TINYINT UNSIGNED, id INT PRIMARY KEY, word ENUM('x','y'), name VARCHAR(9))")
        desk.table("t", "id INT NOT NULL, n SMALLINT, word STRING, name STRING", "UNIQUE KEY(id)")
        desk.sync("job1", f"FROM {desk.name}.t INTO t")
        assert [row["Code"] for row in desk.ask("SHOW WARNINGS")] == [Code.SOURCE_UNNAMED.number]
        desk.run("INSERT INTO t VALUES (200, 1, 'y', '\u00fc')", "INSERT INTO t VALUES (255, 2, NULL, NULL)")
        desk.wait_for(
            f"SELECT id, n, word, name FROM {desk.name}.t ORDER BY id", [(1, 200, "y", "\u00fc"), (2, 255, None, None)]
        )
        desk.run("CREATE TABLE late (id INT PRIMARY KEY)")
        desk.ask(f"ALTER SYNC JOB {desk.name}.job1 ADD TABLE FROM {desk.name}.late INTO {desk.name}.*")
        assert [row["Code"] for row in desk.ask("SHOW WARNINGS")] == [Code.SOURCE_UNNAMED.number]


def test_select_joins_groups_and_calculates(desk: Desk) -> None:
    """Joins, aggregates, functions, windows and CTEs over synced tables."""
    desk.run("CREATE TABLE orders (id INT PRIMARY KEY, person INT, amount DECIMAL(9,2))")
    desk.run("CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20))")
    desk.table("orders", "id INT NOT NULL, person INT, amount DECIMAL(9,2)", "UNIQUE KEY(id)")
    desk.table("people", "id INT NOT NULL, name VARCHAR(20)", "UNIQUE KEY(id)")
    desk.sync("job1", f"FROM {desk.name}.orders INTO orders, FROM {desk.name}.people INTO people")
    desk.run("INSERT INTO people VALUES (1, 'Ada'), (2, 'Bob')")
    desk.run("INSERT INTO orders VALUES (1, 1, 10.50), (2, 1, 0.25), (3, 2, 7), (4, NULL, 1)")
    desk.wait_for(f"SELECT count(*) FROM {desk.name}.orders", [(4,)])
    desk.wait_for(f"SELECT count(*) FROM {desk.name}.people", [(2,)])
    grouped = (
        f"SELECT coalesce(upper(p.name), 'nobody') AS who, count(*) AS n, sum(o.amount) AS total"
        f" FROM {desk.name}.orders o LEFT JOIN {desk.name}.people p ON p.id = o.person"
        " GROUP BY 1 HAVING sum(o.amount) > 1 ORDER BY total DESC"
    )
    assert desk.rows(grouped) == [("ADA", 2, Decimal("10.75")), ("BOB", 1, Decimal("7.00"))]
    ranked = (
        f"WITH r AS (SELECT id, row_number() OVER (PARTITION BY person ORDER BY amount DESC) AS place"
        f" FROM {desk.name}.orders) SELECT id FROM r WHERE place = 1 ORDER BY id"
    )
    assert desk.rows(ranked) == [(1,), (3,), (4,)]


def test_a_long_query_can_be_killed(desk: Desk) -> None:
    """KILL QUERY ends a SELECT with MySQL's error within seconds, and its connection goes on."""
    long = "SELECT sum(hash(a.id, b.id, c.id)) FROM range(100000) a, range(100000) b, range(1000) c"
    with contextlib.closing(desk.frontend.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID() AS id")
        number = cursor.fetchall()[0]["id"]
        failed: list[tuple[Any, ...]] = []

        def ask() -> None:
            try:
                cursor.execute(long)
            except pymysql.err.MySQLError as error:
                failed.append(error.args)

        asking = threading.Thread(target=ask)
        asking.start()
        running = f"SELECT ID FROM information_schema.PROCESSLIST WHERE ID = {number} AND INFO LIKE '%hash(a.id%'"
        until(lambda: desk.ask(running), why="the query to run")
        desk.ask(f"KILL QUERY {number}")
        asking.join(HANG_SECOND)
        assert not asking.is_alive()
        assert failed == [(Code.INTERRUPTED.number, "Query execution was interrupted")]
        cursor.execute("SELECT 1 AS one")
        assert list(cursor.fetchall()) == [{"one": 1}]


@pytest.mark.slow
def test_a_hint_ends_a_long_query(desk: Desk) -> None:
    """MAX_EXECUTION_TIME ends a query in Spark with MySQL's error; the connection goes on, and so does Spark."""
    with pytest.raises(pymysql.err.OperationalError) as caught:
        desk.ask("SELECT /*+ MAX_EXECUTION_TIME(1000) */ count(*) FROM range(1000000000000) WHERE hash(id) = 1")
    assert caught.value.args[0] == Code.TIMED_OUT.number
    assert desk.rows("SELECT /*+ MAX_EXECUTION_TIME(60000) */ count(*) FROM range(10)") == [(10,)]


def test_a_target_in_the_words_of_mysql(desk: Desk) -> None:
    """PRIMARY KEY makes the key that distinguishes rows; each part without effect causes a warning."""
    words = "(id INT NOT NULL AUTO_INCREMENT, v VARCHAR(9), PRIMARY KEY (id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
    desk.run(f"CREATE TABLE orders {words}")
    desk.ask(f"CREATE TABLE {desk.name}.orders {words}")
    assert [row["Code"] for row in desk.ask("SHOW WARNINGS")] == [Code.OPTION_IGNORED.number] * 2
    desk.sync("job1", f"FROM {desk.name}.orders INTO orders")
    desk.run("INSERT INTO orders (v) VALUES ('a'), ('b')", "UPDATE orders SET v = 'c' WHERE id = 1")
    desk.wait_for(f"SELECT * FROM {desk.name}.orders ORDER BY id", [(1, "c"), (2, "b")])


def test_a_target_is_altered_while_its_job_runs(desk: Desk) -> None:
    """Columns that no job fills come, change and go, columns of the job grow, and every change of the source arrives;
    what the job fills is not taken from it.
    """
    desk.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 1)")
    desk.sync("job1", f"FROM {desk.name}.* INTO {desk.name}.*")
    desk.wait_for(f"SELECT id, n FROM {desk.name}.t", [(1, 1)])
    alter = f"ALTER TABLE {desk.name}.t"
    desk.ask(f"{alter} ADD COLUMN note VARCHAR(8) COMMENT 'by hand' AFTER id, MODIFY n BIGINT, COMMENT = 'all of them'")
    desk.run("INSERT INTO t VALUES (2, 2)", "UPDATE t SET n = 3 WHERE id = 1")
    desk.wait_for(f"SELECT * FROM {desk.name}.t ORDER BY id", [(1, None, 3), (2, None, 2)])
    desk.ask(f"{alter} RENAME COLUMN note TO remark, MODIFY COLUMN n COMMENT 'of the source'")
    desk.ask(f'{alter} MODIFY COLUMN remark STRING, SET ("write.target-file-size-bytes" = "2097152")')
    [shown] = desk.ask(f"SHOW CREATE TABLE {desk.name}.t")
    wanted = ("`remark` text", "`n` bigint", "of the source", "all of them", "2097152")
    assert [part for part in wanted if part not in shown["Create Table"]] == [], shown
    for clause in ("DROP COLUMN n", "RENAME COLUMN n TO m"):
        with pytest.raises(pymysql.err.MySQLError, match="fills it") as refused:
            desk.ask(f"{alter} {clause}")
        assert refused.value.args[0] == Code.COLUMN_BUSY.number
    desk.run("ALTER TABLE t ADD COLUMN v INT", "INSERT INTO t VALUES (3, 3, 3)", "DELETE FROM t WHERE id = 2")
    shown_columns = f"DESC {desk.name}.t"
    until(lambda: any(row["Field"] == "v" for row in desk.ask(shown_columns)), why="the new column of the source")
    desk.ask(f"{alter} DROP COLUMN remark")
    desk.run("UPDATE t SET v = 1 WHERE id = 1")
    desk.wait_for(f"SELECT id, n, v FROM {desk.name}.t ORDER BY id", [(1, 3, 1), (3, 3, 3)])
    assert [row["Field"] for row in desk.ask(shown_columns)] == ["id", "n", "v"]
    assert desk.job()["State"] == "RUNNING"


def test_tables_are_read_at_a_consistent_point(desk: Desk) -> None:
    """Two tables as of one commit of their job, while later commits already exist; the points are listed."""
    for name in ("a", "b"):
        desk.run(f"CREATE TABLE {name} (id INT PRIMARY KEY)")
        desk.table(name, "id INT NOT NULL", "UNIQUE KEY(id)")
    desk.sync("job1", ", ".join(f"FROM {desk.name}.{name} INTO {name}" for name in "ab"), start="latest")
    count = f"SELECT (SELECT count(*) FROM {desk.name}.a {{0}}), (SELECT count(*) FROM {desk.name}.b {{0}})"
    for number in (1, 2):
        desk.run("BEGIN", f"INSERT INTO a VALUES ({number})", f"INSERT INTO b VALUES ({number})", "COMMIT")
        desk.wait_for(count.format(""), [(number, number)])
        of_job = f"WHERE JOB_SCHEMA = '{desk.name}' AND JOB_NAME = 'job1'"
        newest = f"VERSION AS OF '{desk.name}.job1@latest'"
        until(lambda: desk.rows(count.format(newest)) == [(number, number)])  # noqa: B023 - not kept
    both = f"SELECT EPOCH FROM information_schema.sync_points {of_job} GROUP BY EPOCH HAVING count(*) = 2 ORDER BY 1"
    first = desk.rows(both)[0][0]
    at_first = f"FOR VERSION AS OF '{desk.name}.job1@{first}'"
    assert desk.rows(count.format(at_first)) == [(1, 1)]
    assert desk.rows(count.format("")) == [(2, 2)]
    channels = desk.rows(f"SELECT TARGET_TABLE FROM information_schema.sync_channels {of_job} ORDER BY 1")
    assert channels == [("a",), ("b",)]
    states = desk.rows(f"SELECT DISTINCT STATE FROM information_schema.sync_epochs {of_job} AND EPOCH <= {first}")
    assert states == [("COMMITTED",)]
    figures = "STATE, NEEDS_OPERATOR, ERROR, LAG_SECOND < 100, CONSUMED_ROWS, SYNCED_UNTIL > NOW() - INTERVAL 1 HOUR"
    [of_job_now] = desk.rows(f"SELECT {figures} FROM information_schema.sync_jobs {of_job}")
    assert of_job_now == ("RUNNING", "NO", None, 1, 4, 1)
    with pytest.raises(pymysql.err.MySQLError, match=str(Code.NO_SUCH_POINT.number)):
        desk.ask(f"SELECT * FROM {desk.name}.a VERSION AS OF '{desk.name}.job1@99999'")


NAMES = ("a`b", "q'uote", 'dq"x', "-- c", "semi;drop table t", "\u202eright to left", "%", "x" * 64)


@pytest.mark.slow
def test_names_that_look_like_statements_are_names(desk: Desk) -> None:
    """Of tables and columns, in defaults, comments and ENUMs: each row is there, from the snapshot and the binlog."""

    def quoted(name: str, mark: str = "`") -> str:
        return mark + name.replace(mark, mark * 2) + mark

    for name in NAMES:
        column, text = quoted(name), quoted(name, "'")
        definition = f"id INT PRIMARY KEY, {column} VARCHAR(99) DEFAULT {text} COMMENT {text}, e ENUM('x', {text})"
        desk.run(
            f"CREATE TABLE {column} ({definition}) COMMENT {text}", f"INSERT INTO {column} (id, e) VALUES (1, {text})"
        )
        desk.table(column, f"id INT, {column} VARCHAR(99) COMMENT {text}, e STRING", "UNIQUE KEY(id)")
    channels = ", ".join(f"FROM {desk.name}.{quoted(name)} INTO {quoted(name)}" for name in NAMES)
    desk.sync("named", channels, start="snapshot")
    for name in NAMES:
        desk.wait_for(f"SELECT * FROM {desk.name}.{quoted(name)}", [(1, name, name)])
    for name in NAMES:
        desk.run(f"INSERT INTO {quoted(name)} (id, e) VALUES (2, 'x')")
    for name in NAMES:
        desk.wait_for(f"SELECT * FROM {desk.name}.{quoted(name)} ORDER BY id", [(1, name, name), (2, name, "x")])
