"""ALTER SYNC while the job runs: tables join and leave it, its name changes, and the other tables go on."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pymysql
import pytest

from syncmgr.crash import CrashPoint
from syncmgr.errors import Code
from tests.acceptance.altered import BINLOG, COLUMNS, Altered
from tests.acceptance.frontend import FrontendProcess
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

ROWS = 1000
SMALL = 'PROPERTIES ("snapshot_chunk_rows" = "200")'


@contextmanager
def writing(t: Altered, *tables: str) -> Iterator[None]:
    """Keys come, change, move and go in all of these tables, for as long as it takes."""
    ended = threading.Event()
    writer = threading.Thread(target=_write, args=(t, tables, ended))
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


def _write(t: Altered, tables: tuple[str, ...], ended: threading.Event) -> None:
    dice = random.Random(7)
    while not ended.wait(0.05):
        for table in tables:
            key = dice.randrange(ROWS)
            t.run(
                f"REPLACE INTO {t.name}.{table} VALUES ({key}, {dice.randrange(99)}, 'again', 1.5)",
                f"UPDATE {t.name}.{table} SET a = a + 1 WHERE id % 97 = {key % 97}",
                f"UPDATE IGNORE {t.name}.{table} SET id = id + {ROWS} WHERE id = {dice.randrange(ROWS)}",
                f"DELETE FROM {t.name}.{table} WHERE id = {dice.randrange(ROWS)}",
            )


def added(t: Altered, table: str) -> None:
    t.fe.sql(f"ALTER SYNC JOB {t.name}.job1 ADD TABLE FROM {t.name}.{table} INTO {table}")


def streams(t: Altered, table: str) -> None:
    """Waits until its rows are in the target and the binlog has passed their end."""

    def there() -> bool:
        return bool(t.fe.job(t.name)["Status"]["snapshot"].get(table, {}).get("phase") == "streaming")

    try:
        until(there, why=f"the rows of {table}")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{t.fe.job(t.name)}") from error


@pytest.mark.long
def test_a_table_joins_while_the_others_stream(any_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Its rows arrive along with the others' changes, none of which waits for it; in the end all are equal to the
    source.
    """
    t = Altered(f"joining_{any_server.flavour}", any_server, frontend, rows=50, properties=SMALL)
    t.wait_until_equal()
    t.create("late", ROWS)
    with writing(t, "t", "late"):
        added(t, "late")
        streams(t, "late")
    t.wait_until_equal()
    t.wait_until_equal("late", "late")
    shown = frontend.sql(f"SHOW CREATE SYNC JOB {t.name}.job1")[0]["Create Sync Job"]
    assert f"FROM `{t.name}`.`late` INTO `late`" in shown
    with pytest.raises(pymysql.err.MySQLError, match="is already the target") as raised:
        added(t, "late")
    assert raised.value.args[0] == Code.TARGET_IN_USE.number


def test_a_table_without_a_key_joins_with_each_row_once(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Its target is appended to from an exact point on; its rows of before come, though the job began at the end of
    the binlog.
    """
    t = Altered("appending", mysql_server, frontend)
    t.run("INSERT INTO appending.t VALUES (1, 1, 'first', 1)")
    t.wait_until_equal()
    t.create("log", 10, key="DUPLICATE KEY(id)")
    ended = threading.Event()

    def write() -> None:
        number = 10
        while not ended.wait(0.05):
            number += 1
            t.run(f"INSERT INTO appending.log VALUES ({number}, 1, 'line', 1)")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        added(t, "log")
        streams(t, "log")
    finally:
        ended.set()
        writer.join()
    t.wait_until_equal("log", "log")


def test_a_table_leaves_and_its_target_stays(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """The others go on; what was committed stays, and another job may take the target. A renamed job is the same."""
    t = Altered("leaving", mysql_server, frontend, tables=("t", "u"), rows=5)
    t.wait_until_equal()
    t.wait_until_equal("u", "u")
    frontend.sql("ALTER SYNC JOB leaving.job1 RENAME TO job2")
    frontend.sql("ALTER SYNC JOB leaving.job2 DROP TABLE leaving.u")
    kept = t.lake("u")

    def free() -> bool:
        channels = "SELECT target_table FROM information_schema.sync_channels WHERE job_schema = 'leaving'"
        return [row["target_table"] for row in frontend.sql(channels)] == ["t"]

    until(free, why="the end of the channel")
    t.run("INSERT INTO leaving.u VALUES (100, 1, 'x', 1)", "INSERT INTO leaving.t VALUES (100, 1, 'x', 1)")
    t.wait_until_equal()
    assert t.lake("u") == kept
    shown = frontend.sql("SHOW CREATE SYNC JOB leaving.job2")[0]["Create Sync Job"]
    assert "`job2`" in shown
    assert "INTO `u`" not in shown
    assert frontend.job("leaving")["JobName"] == "job2"
    with pytest.raises(pymysql.err.MySQLError, match="STOP SYNC JOB"):
        frontend.sql("ALTER SYNC JOB leaving.job2 DROP TABLE t")
    with pytest.raises(pymysql.err.MySQLError, match=r"which are: leaving\.t"):
        frontend.sql("ALTER SYNC JOB leaving.job2 DROP TABLE u")
    frontend.sql("DROP TABLE leaving.u")


@pytest.mark.long
def test_a_table_joins_through_deaths(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Frontend and worker die while its rows are read; nothing is missing and nothing is duplicated."""
    t = Altered("joining_dying", mysql_server, frontend, rows=50, properties=SMALL)
    t.wait_until_equal()
    t.create("late", ROWS)
    with writing(t, "t", "late"):
        frontend.arm(CrashPoint.CHUNK_STORED)
        added(t, "late")
        frontend.await_death(CrashPoint.CHUNK_STORED)
        frontend.start()
        until(frontend.workers, why="workers")
        frontend.kill_workers()
        streams(t, "late")
    t.wait_until_equal()
    t.wait_until_equal("late", "late")


@ALIKE
def test_a_table_that_comes_later_joins_by_itself(any_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Made or renamed to where the job's pattern means it, a table is in the lake with all of its rows; what cannot be
    taken is told, and what is excluded or a migration tool's is left alone.
    """
    name = f"growing_{any_server.flavour}"
    any_server.run(f"CREATE DATABASE {name}", f"CREATE TABLE {name}.a (id INT PRIMARY KEY, v INT)")
    any_server.run(f"INSERT INTO {name}.a VALUES (1, 1)")
    frontend.sql(f"CREATE DATABASE {name}")
    binlog = BINLOG.format(port=any_server.port, start="snapshot")
    frontend.sql(f"CREATE SYNC {name}.job1 (FROM {name}.* INTO {name}.* EXCLUDE (LIKE '{name}.tmp\\_%')) {binlog}")

    def equal(table: str) -> bool:
        try:
            rows = frontend.sql(f"SELECT * FROM {name}.{table} ORDER BY id")
        except pymysql.err.MySQLError as error:
            if error.args[0] != Code.NO_SUCH_TABLE.number:
                raise
            return False
        return [tuple(row.values()) for row in rows] == any_server.run(f"SELECT * FROM {name}.{table} ORDER BY id")

    until(lambda: equal("a"), why="the first table")
    any_server.run(
        f"CREATE TABLE {name}.tmp_c (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO {name}.tmp_c VALUES (1, 10), (2, 20)",
        f"CREATE TABLE {name}.b (id INT PRIMARY KEY, w VARCHAR(9))",
        f"INSERT INTO {name}.b VALUES (1, 'one')",
        f"ALTER TABLE {name}.b ADD x INT NOT NULL DEFAULT 7",
        f"INSERT INTO {name}.b VALUES (2, 'two', 8)",
        f"CREATE TABLE {name}.log (line INT)",
        f"CREATE TABLE {name}._a_old (id INT PRIMARY KEY)",
        f"UPDATE {name}.a SET v = 2",
    )
    until(lambda: equal("a") and equal("b"), why="the new table")
    any_server.run(
        f"INSERT INTO {name}.b VALUES (3, 'three', 9)",
        f"RENAME TABLE {name}.tmp_c TO {name}.c",
        f"INSERT INTO {name}.c VALUES (3, 30)",
    )
    until(lambda: equal("a") and equal("b") and equal("c"), why="the renamed table")
    assert [row[f"Tables_in_{name}"] for row in frontend.sql(f"SHOW TABLES FROM {name}")] == ["a", "b", "c"]
    told = frontend.sql(f"SELECT table_name, outcome FROM information_schema.sync_ddl WHERE job_schema = '{name}'")
    outcomes = {row["table_name"]: row["outcome"] for row in told}
    assert outcomes[f"{name}.c"] == "joins the job, its rows first"
    assert "tables_without_key" in outcomes[f"{name}.log"]


def test_a_table_is_read_anew_while_its_old_rows_can_be_read(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """What the binlog did not contain is repaired in one commit, under writes; every read of the table has its rows."""
    t = Altered("resyncing", mysql_server, frontend, tables=("t", "u"), rows=ROWS)
    t.wait_until_equal()
    t.run("SET sql_log_bin = 0", "UPDATE resyncing.t SET b = 'unseen' WHERE id < 500")
    with writing(t, "t", "u"):
        frontend.sql("ALTER SYNC JOB resyncing.job1 RESYNC TABLE resyncing.t")

        def mended() -> bool:
            told = frontend.sql("SELECT count(*) AS n, count_if(b = 'unseen') AS mended FROM resyncing.t")[0]
            assert told["n"] > ROWS / 2, told
            return bool(told["mended"])

        until(mended, why="the rows that were changed unseen")
        streams(t, "t")
    t.wait_until_equal()
    t.wait_until_equal("u", "u")


@pytest.mark.slow
def test_a_part_of_a_table_is_read_anew(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Rows of the condition that were changed, deleted and added unseen are repaired, under writes and through a death
    after the commit; other unseen changes stay as they were.
    """
    t = Altered("parting", mysql_server, frontend, tables=("t", "u"), rows=ROWS)
    t.wait_until_equal()

    def unseen(first: int) -> None:
        t.run(
            "SET sql_log_bin = 0",
            f"UPDATE parting.t SET b = 'unseen' WHERE id BETWEEN {first} AND {first + 9}",
            f"DELETE FROM parting.t WHERE id BETWEEN {first + 10} AND {first + 19}",
            f"INSERT INTO parting.t VALUES ({-first}, 1, 'unseen', 1), ({first + 5000}, 1, 'unseen', 1)",
        )

    def missed() -> set[int]:
        """The keys whose rows differ."""
        return {int(row[0]) for row in set(t.source()[1:]) ^ set(t.lake()[1:])}

    resync = "ALTER SYNC JOB parting.job1 RESYNC TABLE parting.t"
    for where, reason in (("a > 1", "not in the key"), ("id LIKE '1%'", "only comparisons"), ("ids = 1", "mean 'id'")):
        with pytest.raises(pymysql.err.MySQLError, match=reason):
            frontend.sql(f"{resync} WHERE {where}")
    unseen(100)
    unseen(800)
    outside = missed() & {*range(800, 820), 5800, -100, -800}
    ended = threading.Event()
    condition = "id >= 0 AND NOT (id BETWEEN 700 AND 4999 OR id = 5800)"
    writer = threading.Thread(target=_write_below, args=(t, 700, ended))
    writer.start()
    try:
        frontend.sql(f"{resync} WHERE {condition}")
        t.fe.await_rows(lambda: "'unseen'" in str(t.lake()), why="rows that were changed unseen")
        streams(t, "t")
    finally:
        ended.set()
        writer.join()
    until(lambda: missed() == outside, why="no other row that differs")
    unseen(300)
    outside = missed() - {-300, 5300}
    frontend.arm(CrashPoint.TABLE_COMMITTED)
    frontend.sql(f"{resync} WHERE id IN (-300, 5300)")
    frontend.await_death(CrashPoint.TABLE_COMMITTED)
    frontend.start()
    streams(t, "t")
    until(lambda: missed() == outside, why="no other row that differs")
    sql = "SELECT where_condition FROM information_schema.sync_snapshots WHERE job_schema = 'parting'"
    assert {row["where_condition"] for row in frontend.sql(sql)} == {None, "`id` IN (-300, 5300)"}
    t.run("INSERT INTO parting.t VALUES (7000, 1, 'x', 1)", "UPDATE parting.t SET a = 0 WHERE id < 800")
    outside -= {*range(300, 310), -800, -100}
    until(lambda: missed() == outside, why="the changes behind it")


def _write_below(t: Altered, most: int, ended: threading.Event) -> None:
    """Keys come, change and go."""
    dice = random.Random(7)
    while not ended.wait(0.05):
        t.run(
            f"REPLACE INTO {t.name}.t VALUES ({dice.randrange(most)}, {dice.randrange(99)}, 'again', 1.5)",
            f"UPDATE {t.name}.t SET a = a + 1 WHERE id BETWEEN 0 AND {most - 1} AND id % 97 = {dice.randrange(97)}",
            f"DELETE FROM {t.name}.t WHERE id = {dice.randrange(most)}",
        )


@pytest.mark.slow
def test_a_table_whose_rows_are_cut_stops_alone_and_comes_back(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """A session that logs a part of each row affects one table: the others go on, Msg says so, RESYNC fixes it."""
    t = Altered("cutting", mysql_server, frontend, tables=("t", "u"), rows=20)
    t.wait_until_equal()
    t.run("SET SESSION binlog_row_image = MINIMAL", "UPDATE cutting.t SET b = 'cut' WHERE id = 1")
    t.run("UPDATE cutting.u SET b = 'whole' WHERE id = 1", "INSERT INTO cutting.t VALUES (100, 1, 'unread', 1)")
    t.wait_until_equal("u", "u")
    until(lambda: "'cutting.t' is no longer read" in str(frontend.job("cutting")["Msg"]), why="a Msg")
    frontend.sql("ALTER SYNC JOB cutting.job1 RESYNC TABLE cutting.t")
    t.wait_until_equal()
    t.run("UPDATE cutting.t SET b = 'whole' WHERE id = 2")
    t.wait_until_equal()
    until(lambda: frontend.job("cutting")["Msg"] is None, why="no Msg")


def test_a_statement_begins_the_reading_of_its_table_again(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """What is altered and emptied while it is read again, also before that was met in the binlog, has all of its rows
    and columns in the end; it is the only table of its job.
    """
    t = Altered("restarting", mysql_server, frontend, rows=ROWS)
    t.wait_until_equal()
    t.run("SET sql_log_bin = 0", "UPDATE restarting.t SET b = 'unseen' WHERE id < 500")
    frontend.sql("PAUSE SYNC JOB restarting.job1")
    until(lambda: frontend.job("restarting")["Status"]["server"] is None, why="the end of the reading")
    frontend.sql("ALTER SYNC JOB restarting.job1 RESYNC TABLE restarting.t")
    t.run(
        "UPDATE restarting.t SET a = -1 WHERE id % 7 = 0",
        "ALTER TABLE restarting.t ADD c INT NOT NULL DEFAULT 7, MODIFY a BIGINT NOT NULL",
        "UPDATE restarting.t SET a = 5000000000 WHERE id % 7 = 1",
        "ALTER TABLE restarting.t DROP COLUMN b",
        "DELETE FROM restarting.t WHERE id % 7 = 2",
    )
    frontend.sql("RESUME SYNC JOB restarting.job1")
    t.wait_until_equal()
    streams(t, "t")
    t.run("ALTER TABLE restarting.t ADD e INT", "UPDATE restarting.t SET e = id WHERE id % 7 = 3")
    frontend.sql("ALTER SYNC JOB restarting.job1 RESYNC TABLE restarting.t")
    t.run(
        "TRUNCATE TABLE restarting.t",
        "INSERT INTO restarting.t (id, a, e) VALUES (1, 1, 1)",
        "ALTER TABLE restarting.t RENAME COLUMN e TO f",
        "INSERT INTO restarting.t (id, a, f) VALUES (2, 2, 2)",
    )
    t.wait_until_equal()
    streams(t, "t")
    t.wait_until_equal()


@pytest.mark.slow
def test_a_table_that_was_altered_unlogged_stops_alone(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Its rows have a column unknown to the job: Msg has both shapes, the others go on, and it is restored."""
    t = Altered("unlogged", mysql_server, frontend, tables=("t", "u"), rows=5)
    t.wait_until_equal()
    t.run("SET sql_log_bin = 0", "ALTER TABLE unlogged.t ADD z INT", "UPDATE unlogged.t SET z = id")
    t.run("INSERT INTO unlogged.t VALUES (100, 1, 'x', 1, 7)", "INSERT INTO unlogged.u VALUES (100, 1, 'x', 1)")
    t.wait_until_equal("u", "u")
    until(lambda: "'unlogged.t' is no longer read" in str(frontend.job("unlogged")["Msg"]), why="a Msg")
    for shape in ("b varchar(20), d decimal(8,2))", "b varchar(20), d decimal(8,2), z int)"):
        assert shape in frontend.job("unlogged")["Msg"]
    frontend.sql("ALTER SYNC JOB unlogged.job1 RESYNC TABLE unlogged.t")
    t.wait_until_equal()
    until(lambda: frontend.job("unlogged")["Msg"] is None, why="no Msg")


AGAIN: Final = ("INSERT INTO {t} VALUES (7, 7, 'new', 7)", "ALTER TABLE {t} ADD z INT")


@pytest.mark.slow
@crossed(
    "statement",
    AGAIN,
    always=[("mysql", AGAIN[1])],
)
def test_a_table_that_was_created_again_unlogged_stops_alone(
    any_server: MysqlServer, frontend: FrontendProcess, statement: str
) -> None:
    """As by the dump of a server with GTIDs: its old rows do not stay beside the new ones, and RESYNC brings those."""
    name = f"recreated_{any_server.flavour}_{statement[:5].lower()}"
    t = Altered(name, any_server, frontend, tables=("t", "u"), rows=5)
    t.wait_until_equal()
    t.run(
        f"DROP TABLE {name}.t",
        "SET sql_log_bin = 0",
        f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, {COLUMNS})",
        f"INSERT INTO {name}.t VALUES (6, 6, 'unseen', 6)",
        "SET sql_log_bin = 1",
        statement.format(t=f"{name}.t"),
        f"INSERT INTO {name}.u VALUES (100, 1, 'x', 1)",
    )
    t.wait_until_equal("u", "u")
    until(lambda: f"'{name}.t' is no longer read" in str(frontend.job(name)["Msg"]), why="a Msg")
    assert "it was dropped, and nothing in the binlog has created it again" in frontend.job(name)["Msg"]
    assert "ALTER SYNC JOB ... RESYNC TABLE brings it back" in frontend.job(name)["Msg"]
    frontend.sql(f"ALTER SYNC JOB {name}.job1 RESYNC TABLE {name}.t")
    t.wait_until_equal()
    until(lambda: frontend.job(name)["Msg"] is None, why="no Msg")
    t.run(f"DROP TABLE {name}.t", f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, {COLUMNS})")
    t.run(f"INSERT INTO {name}.t VALUES (8, 8, 'logged', 8)")
    t.wait_until_equal()


@pytest.mark.slow
def test_a_table_leaves_and_joins_with_another_target(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Its new target has other columns; nothing of the old one comes back."""
    t = Altered("rejoining", mysql_server, frontend, tables=("t", "u"), rows=5)
    t.wait_until_equal()
    t.run("ALTER TABLE rejoining.t ADD z INT", "UPDATE rejoining.t SET z = id")
    frontend.sql("ALTER SYNC JOB rejoining.job1 DROP TABLE rejoining.t")
    channels = "SELECT target_table FROM information_schema.sync_channels WHERE job_schema = 'rejoining'"
    until(lambda: frontend.sql(channels) == [{"target_table": "u"}], why="the end of the channel")
    frontend.sql("DROP TABLE rejoining.t")
    frontend.sql(f"CREATE TABLE rejoining.t (id BIGINT NOT NULL, {COLUMNS}, z INT) UNIQUE KEY(id)")
    added(t, "t")
    t.wait_until_equal()
    until(lambda: frontend.job("rejoining")["Msg"] is None, why="no Msg")
