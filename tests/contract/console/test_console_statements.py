"""What statements do through the console: PyMySQL against a frontend in memory."""

import datetime as dt
import logging
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import FIELD_TYPE

from syncmgr.errors import Code
from syncmgr.job.show_sync import SHOW_COLUMNS
from tests.support.until import until
from tests.unit.console.frontend import TYPED
from tests.unit.console.running import Running, id_of, running

CREATE = """CREATE SYNC {name} (FROM shop.orders INTO orders)
FROM BINLOG ("type" = "mysql", "mysql.password" = "geheim")"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture
def console(folder: Path) -> Iterator[Running]:
    with running(folder) as it:
        yield it


@pytest.fixture
def cursor(console: Running) -> Iterator["pymysql.cursors.Cursor"]:
    with console.connect(database="demo") as connection, connection.cursor() as it:
        yield it


def names(cursor: "pymysql.cursors.Cursor") -> list[str]:
    return [column[0] for column in cursor.description or ()]


def refused(cursor: "pymysql.cursors.Cursor", sql: str) -> tuple[int, str]:
    """The error of a statement; the connection must go on after it."""
    with pytest.raises(pymysql.err.MySQLError) as caught:
        cursor.execute(sql)
    cursor.execute("SELECT 42")
    assert cursor.fetchall() == ((42,),)
    number, text = caught.value.args
    return number, text


def test_a_job_from_create_to_stop(cursor: "pymysql.cursors.Cursor") -> None:
    """The statements about jobs reach jobs.py with the database in use, and SHOW has Doris' columns."""
    cursor.execute(CREATE.format(name="job1"))
    states = []
    for verb in ("PAUSE", "RESUME", "STOP"):
        cursor.execute(f"{verb} SYNC JOB job1")
        cursor.execute("SHOW SYNC JOB FROM demo")
        states.append(cursor.fetchall()[0][3])
    assert states == ["PAUSED", "PENDING", "CANCELLED"]
    assert names(cursor) == list(SHOW_COLUMNS)


def test_show_sync_job_of_every_database(console: Running) -> None:
    """Without FROM the jobs of the database in use are shown, of all databases where none is in use."""
    console.ask(CREATE.format(name="demo.one"))
    console.ask(CREATE.format(name="empty.two"))
    assert [row[1] for row in console.ask("SHOW SYNC JOB")] == ["one", "two"]
    assert [row[1] for row in console.ask("SHOW SYNC JOB", database="empty")] == ["two"]
    assert console.ask("SHOW SYNC JOB FROM demo WHERE State = 'RUNNING'") == ()


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", ["b", "a", "c"]),
        ("LIKE 'A'", ["a"]),
        ("WHERE JobId > 10001", ["a", "c"]),
        ("WHERE jobname = 'a' OR State = 'PAUSED'", ["b", "a"]),
        ("WHERE FinishTime IS NULL ORDER BY JobName", ["a", "b", "c"]),
        ("ORDER BY State DESC, JobName DESC", ["c", "a", "b"]),
        ("ORDER BY JobId DESC LIMIT 1, 1", ["a"]),
        ("LIMIT 2", ["b", "a"]),
    ],
)
def test_show_sync_job_is_filtered(cursor: "pymysql.cursors.Cursor", clauses: str, expected: list[str]) -> None:
    """LIKE looks at the name without case, WHERE at any column, numbers compare as numbers."""
    for name in "bac":
        cursor.execute(CREATE.format(name=name))
    cursor.execute("PAUSE SYNC JOB b")
    cursor.execute(f"SHOW SYNC JOB {clauses}")
    assert [row[1] for row in cursor.fetchall()] == expected


IF_EXISTS = [
    ("CREATE DATABASE IF NOT EXISTS {0}", 1007, "Can't create database '{0}'; database exists", 1),
    ("DROP DATABASE IF EXISTS {0}", 1008, "Can't drop database '{0}'; database doesn't exist", 0),
    ("CREATE TABLE IF NOT EXISTS {0} (id INT)", 1050, "Table '{0}' already exists", 0),
    ("DROP TABLE IF EXISTS {0}", 1051, "Unknown table 'demo.{0}'", 0),
    (
        "CREATE SYNC IF NOT EXISTS {0} (FROM shop.orders INTO orders) FROM BINLOG ('type' = 'mysql')",
        Code.JOB_EXISTS.number,
        "The sync job '{0}' in database 'demo' already exists",
        0,
    ),
]


@pytest.mark.parametrize(("statement", "number", "words", "affected"), IF_EXISTS)
def test_what_if_exists_forgives_is_a_note(
    cursor: "pymysql.cursors.Cursor", statement: str, number: int, words: str, affected: int
) -> None:
    """As MySQL does: counted with the OK, and told by SHOW WARNINGS until the next statement."""
    statement, words = statement.format("made"), words.format("made")
    if statement.startswith("CREATE"):
        cursor.execute(statement)
        assert cursor.warning_count == 0
        cursor.execute("SHOW WARNINGS")
        assert cursor.fetchall() == ()
    assert cursor.execute(statement) == affected
    assert cursor.warning_count == 1
    cursor.execute("SHOW COUNT(*) WARNINGS")
    assert cursor.fetchall() == ((1,),)
    cursor.execute("SHOW WARNINGS")
    assert cursor.fetchall() == (("Note", number, words),)
    cursor.execute("SELECT 1")
    cursor.execute("SHOW WARNINGS")
    assert cursor.fetchall() == ()


def test_no_password_is_shown(console: Running, caplog: pytest.LogCaptureFixture) -> None:
    """The text of a statement shows in PROCESSLIST and in the log without its passwords."""
    before = len(console.frontend.queries.started)
    secret = "SELECT 'mysql.password' = 'geheim' FROM wait"
    with console.connect() as victim:
        victim._execute_command(3, secret)  # type: ignore[attr-defined]  # the answer is not waited for
        until(lambda: len(console.frontend.queries.started) > before)
        shown = console.ask("SHOW FULL PROCESSLIST")
        assert any(row[7] == "SELECT 'mysql.password' = '********' FROM wait" for row in shown)
        assert "geheim" not in str(console.ask("SELECT INFO FROM information_schema.processlist"))
        console.ask(f"KILL {id_of(victim)}")
        victim._force_close()  # type: ignore[attr-defined]
    with caplog.at_level(logging.DEBUG), pytest.raises(pymysql.err.MySQLError):
        console.ask("SELECT 'password' = 'geheim' FROM bug")
    assert "a statement failed unexpectedly" in caplog.text
    assert not any("geheim" in str(record.__dict__) for record in caplog.records)


def test_the_processlist_says_what_a_statement_waits_for(console: Running) -> None:
    """A query: for the lake or the engine, as long as these start; nothing once it has ended."""
    queries = console.frontend.queries

    def state() -> str:
        shown = console.ask("SELECT STATE, INFO FROM information_schema.processlist")
        return next(str(row[0]) for row in shown if row[1] == "SELECT * FROM wait")

    with console.connect() as victim:
        victim._execute_command(3, "SELECT * FROM wait")  # type: ignore[attr-defined]  # the answer is not waited for
        until(lambda: bool(queries.started))
        assert state() == "executing"
        queries.state = "Waiting for the lake: Spark is starting"
        assert state() == queries.state
        console.ask(f"KILL QUERY {id_of(victim)}")
        until(lambda: not any(row[6] for row in console.ask("SHOW PROCESSLIST")), why="nothing is waited for")
        victim._force_close()  # type: ignore[attr-defined]


def test_alerts_are_rows_for_operators_alone(console: Running) -> None:
    """They name jobs of everyone; another account finds the table empty, as its SHOW ALERTS is refused."""
    query = "SELECT ALERT_ID, EVENT, JOB, STATE FROM information_schema.sync_alerts WHERE STATE = 'firing'"
    assert console.ask(query) == ((1, "job.lagging", "demo.shop", "firing"),)
    console.ask("CREATE USER reader IDENTIFIED BY 'x'")
    console.ask("GRANT SELECT_PRIV ON *.* TO reader")
    with console.connect(user="reader", password="x") as connection, connection.cursor() as cursor:
        cursor.execute(query)
        assert cursor.fetchall() == ()
        assert refused(cursor, "SHOW ALERTS")[0] == Code.PRIVILEGE_NEEDED.number


def test_show_warnings_tells_the_last_error(cursor: "pymysql.cursors.Cursor") -> None:
    """Once more what the client was told, until the next statement; SHOW ERRORS tells errors alone."""
    words = "Unknown column 'nothing' in 'field list'"
    with pytest.raises(pymysql.err.OperationalError):
        cursor.execute("SELECT nothing")
    for sql in ("SHOW WARNINGS", "SHOW ERRORS"):
        cursor.execute(sql)
        assert cursor.fetchall() == (("Error", 1054, words),)
    cursor.execute("SHOW COUNT(*) ERRORS")
    assert cursor.fetchall() == ((1,),)
    cursor.execute("CREATE DATABASE IF NOT EXISTS demo")
    cursor.execute("SHOW ERRORS")
    assert cursor.fetchall() == ()
    cursor.execute("SHOW COUNT(*) WARNINGS")
    assert cursor.fetchall() == ((1,),)


@pytest.mark.parametrize(
    ("sql", "number", "text"),
    [
        ("SELEC 1", 1064, "unknown statement; did you mean SELECT? near 'SELEC' at line 1, column 1"),
        ("PAUSE SYNC JOB\n  job1 now", 1064, "near 'now' at line 2, column 8"),
        ("SELECT 'open", 1064, "unterminated string"),
        ("", 1065, "Query was empty"),
        (" ;; ", 1065, "Query was empty"),
        ("USE nowhere", 1049, "Unknown database 'nowhere'"),
        ("SHOW TABLES FROM nowhere", 1049, "Unknown database 'nowhere'"),
        ("SHOW SYNC JOB FROM nowhere", 1049, "Unknown database 'nowhere'"),
        ("DESC nothing", 1146, "Table 'demo.nothing' doesn't exist"),
        ("SHOW SYNC JOB WHERE nothing = 1", 1054, "Unknown column 'nothing' in 'where clause'"),
        ("SHOW SYNC JOB ORDER BY nothing", 1054, "Unknown column 'nothing' in 'order clause'"),
        ("PAUSE SYNC JOB nothing", Code.UNKNOWN_JOB.number, "Unknown sync job 'nothing' in database 'demo'"),
        ("SELECT nothing", 1054, "Unknown column 'nothing' in 'field list'"),
        ("SELECT @@nothing", 1193, "Unknown system variable 'nothing'"),
        ("SET nothing = 1", 1193, "Unknown system variable 'nothing'"),
        ("SET version = 'mine'", 1238, "Variable 'version' is a read only variable"),
        ("SET wait_timeout = 'long'", 1232, "Incorrect argument type to variable 'wait_timeout'"),
        ("SET autocommit = 7", 1231, "Variable 'autocommit' can't be set to the value of '7'"),
        ("SET NAMES klingon", 1115, "Unknown character set: 'klingon'"),
        ("SET GLOBAL autocommit = 1", 1235, "use ADMIN SET FRONTEND CONFIG"),
        ("SELECT * FROM information_schema.nothing", 1109, "Unknown table 'NOTHING' in information_schema"),
        ("SELECT nothing FROM information_schema.tables", 1054, "Unknown column 'nothing'"),
        ("ADMIN SET FRONTEND CONFIG ('nothing' = '1')", Code.UNKNOWN_CONFIG.number, "Unknown config 'nothing'"),
        ("SELECT * FROM broken", Code.QUERY_FAILED.number, "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM odd", 1235, "column 'x' of type made_up"),
        ("SELECT * FROM bug", 1105, "Internal error: KeyError: 'bug'"),
        ("INSERT INTO orders VALUES (1)", 1064, "rows come from sync jobs alone"),
    ],
)
def test_bad_input(cursor: "pymysql.cursors.Cursor", sql: str, number: int, text: str) -> None:
    """Every mistake is MySQL's error where MySQL has one, and leaves the connection usable."""
    assert refused(cursor, sql)[0] == number
    assert text in refused(cursor, sql)[1]


def test_no_database_is_told(console: Running) -> None:
    """Statements that need a database say so where none is in use."""
    with console.connect() as connection, connection.cursor() as cursor:
        assert refused(cursor, "SHOW TABLES") == (1046, "No database selected")
        assert refused(cursor, "PAUSE SYNC JOB job1") == (1046, "No database selected")
    with pytest.raises(pymysql.err.OperationalError, match="Unknown database 'nowhere'"):
        console.connect(database="nowhere")


def test_databases_and_tables(cursor: "pymysql.cursors.Cursor") -> None:
    """Databases and tables are made, shown, described and dropped."""
    cursor.execute("CREATE DATABASE shop")
    cursor.execute("USE shop")
    cursor.execute("CREATE TABLE t (id INT NOT NULL, name VARCHAR(9)) UNIQUE KEY (id)")
    cursor.execute("SHOW TABLES")
    assert (names(cursor), cursor.fetchall()) == (["Tables_in_shop"], (("t",),))
    cursor.execute("DESC t")
    assert cursor.fetchall() == (("id", "int", "NO", "PRI", None, ""), ("name", "varchar(9)", "YES", "", None, ""))
    cursor.execute("SHOW CREATE TABLE t")
    assert cursor.fetchall()[0][1].startswith("CREATE TABLE `t` (")
    cursor.execute("DROP TABLE t")
    cursor.execute("DROP DATABASE shop")
    cursor.execute("SELECT DATABASE()")
    assert cursor.fetchall() == ((None,),)


def test_every_type_of_the_lake(cursor: "pymysql.cursors.Cursor") -> None:
    """Each Spark type arrives as MySQL's nearest one, with its value unchanged."""
    cursor.execute("SELECT * FROM typed")
    assert names(cursor) == [name for (name, _, _), _ in TYPED]
    [row] = cursor.fetchall()
    expected = [value for _, value in TYPED]
    expected[0], expected[5], expected[14] = 1, 0.1, "[1, null]"
    expected[12] = dt.datetime(2026, 11, 21, 10, 0, 0, 5)  # noqa: DTZ001 - MySQL's types have no zone
    assert list(row) == expected
    types: dict[str, Any] = {column[0]: column[1] for column in cursor.description or ()}
    assert types["a decimal"] == FIELD_TYPE.NEWDECIMAL
    assert types["a bigint"] == FIELD_TYPE.LONGLONG
    assert types["some bytes"] == FIELD_TYPE.BLOB


def test_select_reaches_the_lake_as_it_is(console: Running) -> None:
    """In Spark's dialect the text of a SELECT is passed on unchanged, with the database in use and a tag of its own."""
    sql = "SELECT /*+ hint */ `a`, 'b' FROM t\n WHERE x = \"y\""
    assert console.ask(sql, database="demo") == ((sql,),)
    console.ask("EXPLAIN SELECT 1 FROM t")
    asked = console.frontend.queries.asked
    assert asked[0][:2] == (sql, "demo")
    assert len({tag for _, _, tag in asked}) == len(asked) == 2


def test_select_in_the_words_of_mysql(tmp_path: Path) -> None:
    """It is the default: the lake gets the same in Spark's words, and the column has the name that MySQL gives it."""
    with running(tmp_path, dialect="mysql") as console, console.connect(database="demo") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT SQL_NO_CACHE COUNT( * ) FROM `t` WHERE name = 5 LIMIT 2, 3")
        assert names(cursor) == ["COUNT( * )"]
        assert cursor.fetchall() == (("SELECT count(*) FROM `t` WHERE (`name` = 5) LIMIT 3 OFFSET 2",),)
        assert refused(cursor, "SELECT SOUNDEX(name) FROM t")[0] == 1305
        assert refused(cursor, "SELECT name << 1 FROM t")[0] == 1235
        assert refused(cursor, "SELECT name FROM t WHERE")[0] == 1064


def test_the_dialect_of_a_session(tmp_path: Path) -> None:
    """SET changes it, and so does an attribute of the connection; the setting is the default."""
    mysql, spark = (("SELECT `a` FROM `t`",),), (("SELECT a FROM t",),)
    with running(tmp_path, dialect="mysql") as console, console.connect(database="demo") as connection:
        cursor = connection.cursor()
        for statement, answer in (
            ("SELECT 1", mysql),
            ("SET sql_dialect = 'Spark'", spark),
            ("SET sql_dialect = DEFAULT", mysql),
        ):
            cursor.execute(statement)
            cursor.execute("SELECT a FROM t")
            assert cursor.fetchall() == answer
        assert refused(cursor, "SET sql_dialect = 'oracle'")[0] == 1231
        named = console.connect(database="demo", defer_connect=True)
        named._connect_attrs["sql_dialect"] = "spark"  # type: ignore[attr-defined]  # PyMySQL has no option for it
        with named:
            named.connect()
            asked = named.cursor()
            asked.execute("SELECT a FROM t")
            assert asked.fetchall() == spark


def test_several_statements_at_a_time(cursor: "pymysql.cursors.Cursor") -> None:
    """Each statement has its own result, streamed ones too; the first error ends the row."""
    cursor.execute("SELECT 1; SELECT * FROM thousand; USE empty; SELECT nothing; SELECT 5")
    results = [cursor.fetchall()]
    assert cursor.nextset()
    results.append(cursor.fetchall())
    assert results == [((1,),), ((7,),) * 1000]
    assert cursor.nextset()
    with pytest.raises(pymysql.err.OperationalError, match="1054"):
        cursor.nextset()


def test_several_statements_must_be_asked_for(console: Running) -> None:
    """A client that did not ask for multi-statements gets 1064 at the second one, and nothing has run."""
    with console.connect(multi=False) as connection, connection.cursor() as cursor:
        number, text = refused(cursor, "CREATE DATABASE evil;\n DROP DATABASE demo")
        assert (number, text[-45:]) == (1064, "near 'DROP DATABASE demo' at line 2, column 2")
    assert console.frontend.catalog.databases() == ["demo", "empty"]


@pytest.mark.parametrize(
    ("sql", "columns", "row"),
    [
        ("SELECT 1", ["1"], (1,)),
        ("select 'it''s', -5, NULL n", ["it's", "-5", "n"], ("it's", -5, None)),
        ("SELECT @@version_comment LIMIT 1", ["@@version_comment"], ("syncmgr: SQL sync jobs into the lake",)),
        ("SELECT @@session.autocommit, @@sql_mode m", None, (0, "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES")),
        ("SELECT DATABASE(), USER(), VERSION()", None, ("demo", "root@127.0.0.1", "8.0.36-syncmgr")),
        ("SELECT 1 FROM DUAL", ["1"], (1,)),
        ("/* ping */ SELECT 1;", ["1"], (1,)),
        ("SELECT CONCAT('a', 1, NULL)", None, (None,)),
        ("-- a comment\nSELECT 1", ["1"], (1,)),
        ("/*!40101 SELECT 1 */", None, (1,)),
    ],
)
def test_small_talk(cursor: "pymysql.cursors.Cursor", sql: str, columns: list[str] | None, row: tuple[Any]) -> None:
    """SELECT without a table is answered without the lake, its columns named as MySQL names them."""
    cursor.execute(sql)
    assert cursor.fetchall() == (row,)
    assert columns is None or names(cursor) == columns


@pytest.mark.parametrize("sql", ["SELECT 1 / 2", "SELECT 'a' = 'A'", "SELECT 1.5 + 1", "SELECT sequence(1, 3)"])
def test_what_is_not_certain_goes_to_the_lake(cursor: "pymysql.cursors.Cursor", sql: str) -> None:
    """Where SQLite could answer other than MySQL, the lake answers."""
    cursor.execute(sql)
    assert cursor.fetchall() == ((sql,),)


def test_variables(cursor: "pymysql.cursors.Cursor") -> None:
    """System and user variables are remembered for the session; autocommit shows in the status."""
    cursor.execute("SET @a = 5, @b = CONCAT('x', @a), @@session.sql_mode = 'ANSI', autocommit = OFF")
    cursor.execute("SELECT @a, @b, @@sql_mode, @@autocommit, @unset")
    assert cursor.fetchall() == ((5, "x5", "ANSI", 0, None),)
    cursor.execute("SET sql_mode = DEFAULT")
    cursor.execute("SHOW VARIABLES LIKE 'sql\\_mode'")
    assert cursor.fetchall() == (("sql_mode", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES"),)


def test_tools_want_fewer_rows(console: Running) -> None:
    """LIMIT with a comma is Spark's with an offset; sql_select_limit cuts what has no LIMIT, and ends its query."""
    with console.connect(database="demo") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM orders LIMIT 0, 1000")
        assert console.frontend.queries.asked[-1][0] == "SELECT * FROM orders LIMIT 1000 OFFSET 0"
        cursor.execute("SET SQL_SELECT_LIMIT=2")
        assert cursor.execute("SELECT * FROM thousand") == 2
        until(console.frontend.queries.started[-1].cancelled.is_set)
        assert cursor.execute("SELECT * FROM orders LIMIT 3") == 1  # the fake's own answer, whole
        cursor.execute("SET SQL_SELECT_LIMIT=DEFAULT")
        assert cursor.execute("SELECT @@sql_select_limit") == 1
        assert cursor.fetchall() == ((str(2**64 - 1),),)
        assert cursor.execute("SELECT * FROM thousand") == 1000


def test_the_time_zone_of_a_session(console: Running) -> None:
    """The lake is asked by its clock, NOW() tells it, another session keeps its own; a zone that is none is 1298."""
    with console.connect(database="demo") as connection, connection.cursor() as cursor:
        for zone, asked in (("SYSTEM", "UTC"), ("+8:00", "+08:00"), ("asia/shanghai", "Asia/Shanghai")):
            cursor.execute("SET time_zone = %s", (zone,))
            cursor.execute("SELECT * FROM orders")
            assert console.frontend.queries.time_zones[-1] == asked
        cursor.execute("SELECT timediff(NOW(), UTC_TIMESTAMP()), @@time_zone")
        [(apart, zone)] = cursor.fetchall()
        assert (str(apart), zone) == ("08:00:00", "Asia/Shanghai")
        console.ask("SELECT * FROM demo.orders")
        assert console.frontend.queries.time_zones[-1] == "UTC"
        with pytest.raises(pymysql.err.MySQLError, match="1298"):
            cursor.execute("SET time_zone = 'Mars/Olympus'")


@pytest.mark.parametrize("charset", ["utf8mb4", "utf8mb3", "latin1", "gbk", "cp1251", "sjis"])
def test_charsets(console: Running, charset: str) -> None:
    """A client writes and reads in its own character set."""
    text = {"gbk": "中文", "cp1251": "мир", "sjis": "日本"}.get(charset, "Größe")
    with console.connect(charset=charset) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT '{text}' AS x")
        assert cursor.fetchall() == ((text,),)


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SHOW DATABASES LIKE 'de%'", "Database"),
        ("SHOW STATUS WHERE Variable_name = 'Uptime'", "Variable_name"),
        ("SHOW COLLATION LIKE 'utf8mb4\\_0900\\_b%'", "Collation"),
        ("SHOW CHARACTER SET LIKE 'latin1'", "Charset"),
        ("SHOW ENGINES", "Engine"),
        ("SHOW GRANTS", "Grants for root@%"),
        ("SHOW INDEX FROM orders", "Table"),
        ("SHOW FULL COLUMNS FROM orders LIKE 'id'", "Field"),
        ("SHOW TABLE STATUS LIKE 'orders'", "Name"),
        ("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'", "Tables_in_demo"),
        ("SHOW CREATE DATABASE demo", "Database"),
        ("SHOW FRONTEND CONFIG LIKE 'sync%'", "Key"),
        ("SHOW FRONTENDS", "Name"),
        ("SHOW PROCESSLIST", "Id"),
        ("HELP 'PAUSE SYNC JOB'", "name"),
    ],
)
def test_one_row(cursor: "pymysql.cursors.Cursor", sql: str, column: str) -> None:
    """What drivers ask has MySQL's columns."""
    cursor.execute(sql)
    assert names(cursor)[0] == column
    assert len(cursor.fetchall()) == 1


@pytest.mark.parametrize("sql", ["SHOW PLUGINS", "SHOW TRIGGERS", "SHOW EVENTS", "SHOW ERRORS", "SHOW OPEN TABLES"])
def test_no_row(cursor: "pymysql.cursors.Cursor", sql: str) -> None:
    """What there is none of is an empty result, not an error."""
    cursor.execute(sql)
    assert cursor.fetchall() == ()


def test_what_many_ask_at_one_time_is_never_stale(console: Running) -> None:
    """While others ask for the jobs all the time, who has changed one sees it at once; who may not see any does not."""
    stop = threading.Event()

    def poll() -> None:
        with console.connect(database="demo") as connection, connection.cursor() as cursor:
            while not stop.is_set():
                cursor.execute("SHOW SYNC JOB")
                cursor.fetchall()

    pollers = [threading.Thread(target=poll) for _ in range(6)]
    for poller in pollers:
        poller.start()
    try:
        with console.connect(database="demo") as connection, connection.cursor() as cursor:
            for number in range(30):
                cursor.execute(CREATE.format(name=f"job{number}"))
                cursor.execute("SHOW SYNC JOB")
                assert len(cursor.fetchall()) == number + 1
                cursor.execute("SHOW SYNC JOB FROM empty")
                assert cursor.fetchall() == ()
                cursor.execute(f"PAUSE SYNC JOB job{number}")
                cursor.execute(f"SHOW SYNC JOB WHERE JobName = 'job{number}'")
                assert [row[SHOW_COLUMNS.index("State")] for row in cursor.fetchall()] == ["PAUSED"]
        console.ask("CREATE USER nobody IDENTIFIED BY 'x'")
        with pytest.raises(pymysql.err.OperationalError, match="1049"):
            console.ask("SHOW SYNC JOB FROM demo", user="nobody", password="x")
    finally:
        stop.set()
        for poller in pollers:
            poller.join()


def test_counts_of_warnings(cursor: "pymysql.cursors.Cursor") -> None:
    """@@warning_count and @@error_count are those of the last statement that did not ask for them."""
    cursor.execute("SELECT @@warning_count, @@error_count")
    assert cursor.fetchall() == ((0, 0),)
    cursor.execute("DROP TABLE IF EXISTS nothing")
    for _ in range(2):
        cursor.execute("SELECT @@warning_count, @@session.error_count")
        assert cursor.fetchall() == ((1, 0),)
    with pytest.raises(pymysql.err.MySQLError):
        cursor.execute("DROP TABLE nothing")
    cursor.execute("SELECT @@warning_count, @@error_count")
    assert cursor.fetchall() == ((1, 1),)
    cursor.execute("SELECT 42")
    cursor.execute("SELECT @@warning_count, @@error_count")
    assert cursor.fetchall() == ((0, 0),)


def test_keys_as_drivers_ask_for_them(cursor: "pymysql.cursors.Cursor") -> None:
    """The key of a table in each of the places where they look: columns in the key's own order, nothing else in it."""
    cursor.execute("CREATE TABLE keyed (a INT, b BIGINT, c INT, PRIMARY KEY (b, a))")
    where = "TABLE_SCHEMA = 'demo' AND TABLE_NAME = 'keyed'"
    cursor.execute(
        "SELECT NON_UNIQUE, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, COLLATION, NULLABLE, INDEX_SCHEMA, SUB_PART,"
        f" EXPRESSION FROM information_schema.STATISTICS WHERE {where} ORDER BY INDEX_NAME, SEQ_IN_INDEX"
    )
    head, tail = (0, "PRIMARY"), ("A", "", "demo", None, None)
    assert cursor.fetchall() == ((*head, 1, "b", *tail), (*head, 2, "a", *tail))
    cursor.execute(
        "SELECT CONSTRAINT_SCHEMA, CONSTRAINT_NAME, COLUMN_NAME, ORDINAL_POSITION, POSITION_IN_UNIQUE_CONSTRAINT,"
        f" REFERENCED_TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE {where} ORDER BY ORDINAL_POSITION"
    )
    assert cursor.fetchall() == (("demo", "PRIMARY", "b", 1, None, None), ("demo", "PRIMARY", "a", 2, None, None))
    cursor.execute(
        "SELECT tc.CONSTRAINT_TYPE, k.COLUMN_NAME FROM information_schema.TABLE_CONSTRAINTS tc JOIN"
        " information_schema.KEY_COLUMN_USAGE k USING (CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME)"
        " WHERE tc.TABLE_NAME = 'keyed' ORDER BY k.ORDINAL_POSITION"
    )
    assert cursor.fetchall() == (("PRIMARY KEY", "b"), ("PRIMARY KEY", "a"))
    cursor.execute(f"SELECT COLUMN_NAME, COLUMN_KEY FROM information_schema.COLUMNS WHERE {where}")
    assert cursor.fetchall() == (("a", "PRI"), ("b", "PRI"), ("c", ""))
    cursor.execute(
        "select index_name as `name`, group_concat(column_name order by seq_in_index desc separator '+') as `columns`,"
        " concat_ws('.', index_schema, null, substring_index(index_name, 'M', 1)) x, field(index_type, 'a', 'key') y"
        f" from information_schema.statistics where {where} group by index_name, index_type, index_schema"
    )
    assert cursor.fetchall() == (("PRIMARY", "a+b", "demo.PRI", 2),)
    cursor.execute("SHOW KEYS FROM keyed")
    columns = names(cursor)
    places = [columns.index(name) for name in ("Non_unique", "Key_name", "Seq_in_index", "Column_name")]
    assert [tuple(row[place] for place in places) for row in cursor.fetchall()] == [
        (0, "PRIMARY", 1, "b"),
        (0, "PRIMARY", 2, "a"),
    ]


def test_information_schema(cursor: "pymysql.cursors.Cursor") -> None:
    """Joins, filters and MySQL's habits work on information_schema."""
    cursor.execute(
        "SELECT c.COLUMN_NAME AS name, k.CONSTRAINT_NAME FROM information_schema.COLUMNS c "
        "LEFT JOIN information_schema.KEY_COLUMN_USAGE k USING (TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME) "
        "WHERE c.TABLE_SCHEMA = DATABASE() ORDER BY c.ORDINAL_POSITION"
    )
    assert cursor.fetchall() == (("id", "PRIMARY"), ("status", None), ("amount", None))
    cursor.execute(
        "SELECT TABLE_NAME, IF(TABLE_TYPE = 'BASE TABLE', 'TABLE', TABLE_TYPE) AS TYPE FROM "
        "information_schema.tables WHERE table_schema = 'demo' HAVING TYPE IN ('TABLE')"
    )
    assert cursor.fetchall() == (("orders", "TABLE"),)
    cursor.execute("USE information_schema")
    cursor.execute("SELECT count(*) FROM schemata")
    assert cursor.fetchall() == ((3,),)
    cursor.execute("SHOW TABLES LIKE 'schemata'")
    assert cursor.fetchall() == (("SCHEMATA",),)
    cursor.execute("DESC processlist")
    assert len(cursor.fetchall()) == 8


def test_admin_set_frontend_config(console: Running) -> None:
    """ADMIN SET FRONTEND CONFIG changes a setting for all."""
    console.ask('ADMIN SET FRONTEND CONFIG ("sync_commit_interval_second" = "1")')
    [row] = console.ask("SHOW FRONTEND CONFIG LIKE 'sync_commit_interval_second'")
    assert row[:2] == ("sync_commit_interval_second", "1")


def test_long_running_selects_stand_before_nothing_else(console: Running) -> None:
    """With every lake thread busy, statements about jobs and tables are answered at once, and logins are let in."""
    waiting = [console.connect() for _ in range(8)]  # twice the threads of this console
    for connection in waiting:
        connection._execute_command(3, "SELECT * FROM wait")  # type: ignore[attr-defined]
    until(lambda: len(console.frontend.queries.started) >= 4)
    console.frontend.jobs.create(_create_node(), "demo")
    with console.connect(database="demo") as connection, connection.cursor() as cursor:
        cursor.execute("PAUSE SYNC JOB demo.j")
        cursor.execute("SHOW SYNC JOB")
        assert [row[3] for row in cursor.fetchall()] == ["PAUSED"]
        cursor.execute("USE demo")
        cursor.execute("SHOW TABLES")
        assert cursor.fetchall() == (("orders",),)
        cursor.execute("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'demo'")
        assert cursor.fetchall() == ((1,),)
    for connection in waiting:
        connection._force_close()  # type: ignore[attr-defined]


def _create_node() -> Any:
    from syncsql import parse

    return parse(CREATE.format(name="j"))[0].statement


def test_decimals_keep_their_digits(cursor: "pymysql.cursors.Cursor") -> None:
    """A DECIMAL is shown with its scale, never in scientific notation."""
    cursor.execute("SELECT * FROM orders")
    assert cursor.fetchall()[0] == (1, "new", Decimal("9.50"))


def test_a_select_at_a_consistent_point(console: Running, cursor: "pymysql.cursors.Cursor") -> None:
    """A point reaches the lake as the table's snapshot there; one that is not kept is an error."""
    cursor.execute("SELECT * FROM orders FOR VERSION AS OF 'job1@7' WHERE 1 = 1")
    assert console.frontend.queries.asked[-1][0] == "SELECT * FROM orders FOR VERSION AS OF 42 WHERE 1 = 1"
    cursor.execute("EXPLAIN SELECT * FROM orders VERSION AS OF 'demo.job1@latest'")
    assert console.frontend.queries.asked[-1][0] == "EXPLAIN SELECT * FROM orders VERSION AS OF 42"
    assert refused(cursor, "SELECT * FROM orders VERSION AS OF 'job1@8'")[0] == Code.NO_SUCH_POINT.number
    assert refused(cursor, "SELECT * FROM orders VERSION AS OF 'job2@7'")[0] == Code.UNKNOWN_JOB.number


def test_consistent_points_are_listed(cursor: "pymysql.cursors.Cursor") -> None:
    """The sync_* tables of information_schema are like any of its tables."""
    cursor.execute("SELECT epoch, snapshot_id FROM information_schema.sync_points WHERE job_name = 'job1'")
    assert cursor.fetchall() == ((7, 42),)
    cursor.execute("SELECT count(*) FROM information_schema.sync_epochs")
    assert cursor.fetchall() == ((0,),)
    cursor.execute("DESCRIBE information_schema.sync_channels")
    assert len(cursor.fetchall()) == 16


def test_what_a_job_would_do_is_told_in_rows(cursor: "pymysql.cursors.Cursor") -> None:
    """EXPLAIN SYNC takes the text of CREATE SYNC and creates nothing."""
    cursor.execute('EXPLAIN SYNC demo.dry (FROM shop.orders INTO orders) FROM BINLOG ("type" = "mysql")')
    assert [each[0] for each in cursor.description] == ["Source", "Target", "Item", "Value", "Outcome"]
    assert cursor.fetchall() == (("shop.orders", "demo.orders", "check", "dry", "ok"),)
    cursor.execute("SHOW SYNC JOB FROM demo WHERE JobName = 'dry'")
    assert cursor.fetchall() == ()
