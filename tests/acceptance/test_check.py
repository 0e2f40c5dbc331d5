"""CHECK says whether a target equals its source, while both move, and is never wrong."""

import contextlib
import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.altered import BINLOG
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

ON_MYSQL = pytest.mark.parametrize(
    "any_server", ["mysql", pytest.param("mariadb", marks=pytest.mark.slow)], indirect=True
)  # what the type test holds on both
OVER = {"DONE", "FAILED", "STOPPED"}
COLUMNS = {
    "i": ("INT ZEROFILL", "7", "8"),
    "s": ("SMALLINT", "-7", "8"),
    "bu": ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551614"),
    "de": ("DECIMAL(20,9)", "-12345678901.123456789", "-12345678901.123456788"),
    "ds": ("DECIMAL(20,9)", "0.000000001", "0"),
    "dl": ("DECIMAL(65,30)", "-0.5", "0.5"),
    "f": ("FLOAT", "1.1", "1.2"),
    "d": ("DOUBLE", "'-0.0'", "0e0"),
    "d2": ("DOUBLE", "2.2250738585072014e-308", "0.1"),
    "b1": ("BIT(1)", "1", "0"),
    "b64": ("BIT(64)", "0xFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFE"),
    "y": ("YEAR", "1901", "2155"),
    "da": ("DATE", "'1000-01-01'", "'9999-12-31'"),
    "dt": ("DATETIME", "'0001-01-01 00:00:00'", "'2024-01-01 10:00:00'"),
    "dt6": ("DATETIME(6)", "'1582-10-10 00:00:00.000001'", "'1582-10-10 00:00:00.000002'"),
    "ts3": ("TIMESTAMP(3) NULL", "'2038-01-19 03:14:07.999'", "'2038-01-19 03:14:07.998'"),
    "t": ("TIME(6)", "'-838:59:59.000000'", "'838:59:59'"),
    "c": ("CHAR(20) CHARACTER SET latin1", "'a  '", "'A'"),
    "v": ("VARCHAR(40) CHARACTER SET utf8mb4", "'a  😀'", "'a 😀'"),
    "g": ("VARCHAR(40) CHARACTER SET gbk", "'数据'", "'数'"),
    "n": ("VARCHAR(40)", "NULL", "''"),
    "w": ("VARCHAR(40)", "'N'", "NULL"),
    "tx": ("TEXT CHARACTER SET utf8mb4", "REPEAT('ü', 9000)", "REPEAT('ü', 9001)"),
    "e": ("ENUM('a','b c','ü') CHARACTER SET utf8mb4", "'ü'", "'a'"),
    "se": ("SET('x','y','z')", "'x,z'", "''"),
    "j": ("JSON", '\'{"b": 1.0, "a": [1e20, null, "é"]}\'', "'[0.1, -0.0]'"),
    "bi": ("BINARY(8)", "'ab\\0'", "'ab'"),
    "vb": ("VARBINARY(20)", "X'00FF00'", "X'00FF'"),
    "bl": ("LONGBLOB", "REPEAT(X'00FF', 5000)", "''"),
    "ge": ("POINT", "POINT(1.5, -2)", "POINT(0, 0)"),
}
SAME = {  # both texts are one value: the server fills it up, or has no -0
    "mysql": {"bi"},
    "mariadb": {"bi", "d"},
}


class Checked:
    """A source database, a job over some of its tables, and its checks."""

    def __init__(self, server: MysqlServer, fe: FrontendProcess, name: str) -> None:
        self.server, self.fe, self.name = server, fe, name
        server.run(f"CREATE DATABASE {name}")
        fe.sql(f"CREATE DATABASE {name}")

    def run(self, *statements: str) -> None:
        self.server.run(f"USE {self.name}", *statements)

    def unseen(self, *statements: str) -> None:
        """Not in the binlog, so that they never reach the target."""
        self.run("SET sql_log_bin = 0", *statements)

    def create_sync(self) -> None:
        binlog = BINLOG.format(port=self.server.port, start="snapshot")
        self.fe.sql(f"CREATE SYNC {self.name}.job1 (FROM {self.name}.* INTO {self.name}.*) {binlog}")
        self.fe.await_caught_up(self.name)

    def begin(self, options: str = "") -> int:
        [row] = self.fe.sql(f"CHECK SYNC JOB {self.name}.job1 {options}")
        return int(row["CheckId"])

    def rows(self, check: int) -> list[dict[str, Any]]:
        return self.fe.sql(f"SELECT * FROM information_schema.sync_checks WHERE CHECK_ID = {check}")

    def repair(self, check: int, more: str = "") -> dict[str, Any]:
        """The check that follows it, when it is over."""
        [row] = self.fe.sql(f"REPAIR SYNC JOB {self.name}.job1 CHECK {check} {more}")
        return self.ended(int(row["CheckId"]))

    def check(self, options: str = "") -> dict[str, Any]:
        return self.ended(self.begin(options))

    def ended(self, check: int) -> dict[str, Any]:
        """The last table, when it is over."""
        until(lambda: all(row["STATE"] in OVER for row in self.rows(check)), why=f"check {check} of {self.name}")
        return self.rows(check)[-1]

    def refused(self, statement: str) -> str:
        """The message of REPAIR_REFUSED."""
        with pytest.raises(pymysql.err.MySQLError) as raised:
            self.fe.sql(statement)
        assert raised.value.args[0] == Code.REPAIR_REFUSED.number
        return str(raised.value.args[1])

    def found(self, check: int) -> dict[int, tuple[str, str]]:
        """Kind and columns by id."""
        rows = self.fe.sql(f"SELECT * FROM information_schema.sync_check_rows WHERE CHECK_ID = {check}")
        return {json.loads(row["ROW_KEY"])["id"]: (row["KIND"], row["COLUMN_LIST"]) for row in rows}


@pytest.fixture
def checked(any_server: MysqlServer, frontend: FrontendProcess) -> Callable[[str], Checked]:
    return lambda name: Checked(any_server, frontend, f"{name}_{any_server.flavour}")


def test_every_type_is_equal_and_every_unseen_change_is_found(checked: Callable[[str], Checked]) -> None:
    """In each column of each type, with each kind of difference, on rows that came with the snapshot and later: exactly
    these rows, with their columns; and CHECK TABLE says so in MySQL's words.
    """
    it = checked("types")
    listed = ", ".join(f"`{name}` {kind}" for name, (kind, _, _) in COLUMNS.items())
    values = ", ".join(first for _, first, _ in COLUMNS.values())
    it.run(f"CREATE TABLE t (id INT PRIMARY KEY, {listed})", f"INSERT INTO t VALUES (1, {values})")
    it.create_sync()
    for row in range(2, len(COLUMNS) + 10):
        it.run(f"INSERT INTO t VALUES ({row}, {values})")
    it.run("INSERT INTO t (id) VALUES (1000)")
    equal = it.check()
    assert (equal["STATE"], equal["RESULT"]) == ("DONE", "EQUAL"), (equal, it.found(equal["CHECK_ID"]))
    assert equal["ROWS_SOURCE"] == equal["ROWS_TARGET"] == len(COLUMNS) + 10
    told = it.fe.sql(f"CHECK TABLE {it.name}.t")
    assert told == [{"Table": f"{it.name}.t", "Op": "check", "Msg_type": "status", "Msg_text": "OK"}]
    expected = {2000: ("MISSING", "*"), 1: ("EXTRA", "*")}
    for row, (name, (_, _, other)) in enumerate(COLUMNS.items(), 2):
        it.unseen(f"UPDATE t SET `{name}` = {other} WHERE id = {row}")
        if name not in SAME[it.server.flavour]:
            expected[row] = ("DIFFERENT", name)
    it.unseen("DELETE FROM t WHERE id = 1", "INSERT INTO t (id) VALUES (2000)")
    different = it.check()
    assert it.found(different["CHECK_ID"]) == expected
    counts = {kind: different[kind] for kind in ("MISSING", "EXTRA", "DIFFERENT", "UNSETTLED")}
    assert (different["RESULT"], counts) == (
        "DIFFERENT",
        {"MISSING": 1, "EXTRA": 1, "DIFFERENT": len(expected) - 2, "UNSETTLED": 0},
    )
    [row] = it.fe.sql(f"CHECK TABLE {it.name}.t")
    assert row["Msg_type"] == "error"
    assert row["Msg_text"].startswith("DIFFERENT: ")


@contextlib.contextmanager
def writing(it: Checked, statement: Callable[[], str]) -> Iterator[None]:
    """Until its end, as fast as the server takes it."""
    over = threading.Event()

    def write() -> None:
        with contextlib.closing(it.server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(f"USE {it.name}")
            while not over.is_set():
                cursor.execute(statement())
                connection.commit()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@ON_MYSQL
def test_rows_on_their_way_are_not_called_different(checked: Callable[[str], Checked]) -> None:
    """Rows that change all the time between two values are never DIFFERENT, while rows that were changed unseen are
    found among them, in many chunks.
    """
    it = checked("moving")
    it.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(20))")
    it.run("INSERT INTO t VALUES " + ", ".join(f"({row}, 0, 'a{row}')" for row in range(2100)))
    it.create_sync()
    it.unseen("UPDATE t SET v = 7 WHERE id IN (2001, 2002)", "DELETE FROM t WHERE id = 2003")
    it.unseen("INSERT INTO t VALUES (5000, 1, 'z')", "UPDATE t SET s = 'A2004' WHERE id = 2004")
    expected = {
        **dict.fromkeys((2001, 2002), ("DIFFERENT", "v")),
        2003: ("EXTRA", "*"),
        2004: ("DIFFERENT", "s"),
        5000: ("MISSING", "*"),
    }

    def change() -> str:
        row = random.randrange(20, 2000)
        return random.choice(
            (
                f"UPDATE t SET v = v + 1 WHERE id = {row}",
                f"DELETE FROM t WHERE id = {row}",
                f"REPLACE INTO t VALUES ({row}, 0, 'b')",
            )
        )

    with writing(it, lambda: f"UPDATE t SET v = 1 - v WHERE id = {random.randrange(20)}"), writing(it, change):
        over = it.check('WITH ("chunk_rows" = "500")')
        found = it.found(over["CHECK_ID"])
        assert {key: what for key, what in found.items() if what[0] != "UNSETTLED"} == expected, over
    it.fe.await_caught_up(it.name)
    over = it.check()
    assert (it.found(over["CHECK_ID"]), over["UNSETTLED"]) == (expected, 0)


@ON_MYSQL
def test_a_quiet_server_is_compared_too(checked: Callable[[str], Checked]) -> None:
    """Its binlog ends with events that are in no transaction, after a new file was begun."""
    it = checked("quiet")
    it.run("CREATE TABLE t (id VARCHAR(20) PRIMARY KEY, v INT)", "INSERT INTO t VALUES ('é', 1), ('b', 2)")
    it.create_sync()
    it.run("FLUSH BINARY LOGS")
    assert it.check()["RESULT"] == "EQUAL"


@ON_MYSQL
def test_a_check_waits_for_its_job_and_ends_when_it_is_stopped(checked: Callable[[str], Checked]) -> None:
    """That of a paused job waits, and says why; STOP CHECK ends it."""
    it = checked("waiting")
    it.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    it.create_sync()
    it.fe.sql(f"PAUSE SYNC JOB {it.name}.job1")
    until(lambda: it.fe.job(it.name)["State"] == "PAUSED", why="paused")
    first, second = it.begin(), it.begin()
    until(lambda: [row["STATE"] for row in it.rows(first)] == ["WAITING"] and it.rows(first)[0]["REASON"], why="waits")
    it.fe.sql(f"STOP CHECK {first}")
    until(lambda: [row["STATE"] for row in it.rows(first)] == ["STOPPED"], why="stopped")
    it.fe.sql(f"RESUME SYNC JOB {it.name}.job1")
    until(lambda: [row["RESULT"] for row in it.rows(second)] == ["EQUAL"], why="resumed")
    with pytest.raises(pymysql.err.MySQLError) as raised:
        it.fe.sql("STOP CHECK 987654321")
    assert raised.value.args[0] == Code.NO_SUCH_CHECK.number


@ON_MYSQL
def test_a_statement_and_a_pause_meanwhile_make_no_verdict_wrong(checked: Callable[[str], Checked]) -> None:
    """A table that a statement changes is compared again from its beginning, with its new columns; while its job is
    paused the check waits.
    """
    it = checked("altered")
    it.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    it.run("INSERT INTO t VALUES " + ", ".join(f"({row}, 0)" for row in range(1500)))
    it.create_sync()
    check = it.begin('WITH ("chunk_rows" = "100", "max_rows_per_second" = "200")')
    until(lambda: it.rows(check)[0]["CHUNKS_DONE"] > 2, why="the first rows are equal")
    it.run("ALTER TABLE t ADD COLUMN w INT")
    it.unseen("UPDATE t SET w = 5 WHERE id = 1")
    until(lambda: it.rows(check)[0]["CHUNKS_DONE"] < 2, why="it begins again")
    until(lambda: it.rows(check)[0]["CHUNKS_DONE"] > 2, why="it goes on")
    it.fe.sql(f"PAUSE SYNC JOB {it.name}.job1")
    until(lambda: it.rows(check)[0]["STATE"] == "WAITING", why="it waits")
    it.fe.sql(f"RESUME SYNC JOB {it.name}.job1")
    until(lambda: it.rows(check)[0]["STATE"] in OVER, why="the end")
    assert (it.rows(check)[0]["RESULT"], it.found(check)) == ("DIFFERENT", {1: ("DIFFERENT", "w")})


@ON_MYSQL
def test_a_check_ends_with_its_frontend_and_its_results_stay(checked: Callable[[str], Checked]) -> None:
    """After a kill -9 of the frontend a check that was over has its result and its rows; one that was not has failed,
    says why, and has no result; the next one is right.
    """
    it = checked("killed")
    it.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    it.create_sync()
    it.unseen("UPDATE t SET v = 3 WHERE id = 2")
    over = it.check()
    expected = {2: ("DIFFERENT", "v")}
    assert (over["RESULT"], it.found(over["CHECK_ID"])) == ("DIFFERENT", expected)
    it.fe.sql(f"PAUSE SYNC JOB {it.name}.job1")
    until(lambda: it.fe.job(it.name)["State"] == "PAUSED", why="paused")
    cut = it.begin()
    until(lambda: it.rows(cut)[0]["REASON"], why="waits")
    it.fe.kill()
    it.fe.start()
    assert (it.rows(over["CHECK_ID"]), it.found(over["CHECK_ID"])) == ([over], expected)
    [row] = it.rows(cut)
    assert (row["STATE"], row["RESULT"]) == ("FAILED", None)
    assert "the frontend ended meanwhile" in row["REASON"]
    it.fe.sql(f"RESUME SYNC JOB {it.name}.job1")
    again = it.check()
    assert again["CHECK_ID"] > cut
    assert (again["RESULT"], it.found(again["CHECK_ID"])) == ("DIFFERENT", expected)


@pytest.mark.slow
@ON_MYSQL
def test_the_end_of_a_worker_makes_no_verdict_wrong(checked: Callable[[str], Checked]) -> None:
    """While rows change and the worker is killed again and again, what differs for certain is found, and nothing else
    is called different.
    """
    it = checked("worker")
    it.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    it.run("INSERT INTO t VALUES " + ", ".join(f"({row}, 0)" for row in range(500)))
    it.create_sync()
    it.unseen("UPDATE t SET v = 7 WHERE id = 499")
    with writing(it, lambda: f"UPDATE t SET v = 1 - v WHERE id = {random.randrange(100)}"):
        for _ in range(3):
            check = it.begin('WITH ("chunk_rows" = "100", "rounds" = "30")')
            it.fe.kill_workers()
            until(lambda check=check: it.rows(check)[0]["STATE"] in OVER, why="the end")  # type: ignore[misc]
            found = {key: what for key, what in it.found(check).items() if what[0] != "UNSETTLED"}
            assert (it.rows(check)[0]["STATE"], found) == ("DONE", {499: ("DIFFERENT", "v")})


ODD = "a VARCHAR(40) CHARACTER SET utf8mb4, b VARBINARY(9), c DECIMAL(12,4), d DATETIME(6)"
KEYS = [
    *("'it''s', X'00FF27', -1.5000, '2024-02-29 23:59:59.999999'", "'back\\\\slash', X'5C', 0.0001, '0001-01-01'"),
    *("'a \"b\" `c`', X'', 99999999.9999, '9999-12-31 23:59:59.000001'", "'😀%_;--', X'2D2D', 0, '1999-01-01'"),
    "'', X'00', 7, '2024-01-01 00:00:00.5'",
]


@ON_MYSQL
def test_rows_that_differ_are_repaired(checked: Callable[[str], Checked]) -> None:
    """By one column or by four, whatever their keys are: exactly those that differ are replaced, inserted and deleted,
    in one commit for each table; the check after that finds them equal, and so does one of all rows. A check that has
    found nothing, or that was repaired already, is refused.
    """
    it = checked("repaired")
    it.run(f"CREATE TABLE odd ({ODD}, v INT, PRIMARY KEY (a, b, c, d))", "CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    it.run(*(f"INSERT INTO odd VALUES ({key}, 1)" for key in KEYS[:-1]))
    it.run("INSERT INTO t VALUES " + ", ".join(f"({row}, 0)" for row in range(1000)))
    it.create_sync()
    equal = it.check()["CHECK_ID"]
    assert "no row that differs" in it.refused(f"REPAIR SYNC JOB {it.name}.job1 CHECK {equal}")
    it.unseen("UPDATE odd SET v = 2", f"INSERT INTO odd VALUES ({KEYS[-1]}, 3)")
    it.unseen("UPDATE t SET v = 5 WHERE id IN (3, 500)", "DELETE FROM t WHERE id = 7", "INSERT INTO t VALUES (-9, 9)")
    check = it.check()["CHECK_ID"]
    assert [(row["RESULT"], row["REPAIRED"]) for row in it.rows(check)] == [("DIFFERENT", 0)] * 2
    before = _snapshots(it)
    after = it.repair(check)["CHECK_ID"]
    shown = [(row["STATE"], row["RESULT"], row["REPAIRS"], row["REPAIRED"]) for row in it.rows(after)]
    assert shown == [("DONE", "EQUAL", check, 5), ("DONE", "EQUAL", check, 4)]
    assert [row["REPAIRED"] for row in it.rows(check)] == [5, 4]
    [missing] = it.fe.sql(
        f"SELECT COUNT(*) n FROM information_schema.sync_check_rows WHERE CHECK_ID = {check} AND REPAIR_TIME IS NULL"
    )
    assert missing["n"] == 0
    assert {table: count - before[table] for table, count in _snapshots(it).items()} == {"odd": 1, "t": 1}
    again = it.rows(it.check()["CHECK_ID"])
    assert [(row["RESULT"], row["ROWS_TARGET"]) for row in again] == [("EQUAL", 5), ("EQUAL", 1000)]
    assert "read again since" in it.refused(f"REPAIR SYNC JOB {it.name}.job1 CHECK {check} TABLE t")
    it.fe.sql('ADMIN SET FRONTEND CONFIG ("repair_max_rows" = "3")')
    it.unseen("UPDATE t SET v = 6 WHERE id < 3", "UPDATE odd SET v = 7 WHERE c = 7")
    check = it.check()["CHECK_ID"]
    assert "RESYNC TABLE" in it.refused(f"REPAIR SYNC JOB {it.name}.job1 CHECK {check}")
    it.repair(check, "TABLE odd")
    assert [row["REPAIRED"] for row in it.rows(check)] == [1, 0]
    it.fe.sql('ADMIN SET FRONTEND CONFIG ("repair_max_rows" = "10000")')


def _snapshots(it: Checked) -> dict[str, int]:
    """How many each target has that changed rows."""
    return {
        table: it.fe.sql(
            f"SELECT COUNT(*) n FROM {it.name}.{table}.snapshots WHERE summary['changed-partition-count'] > 0"
        )[0]["n"]
        for table in ("odd", "t")
    }
