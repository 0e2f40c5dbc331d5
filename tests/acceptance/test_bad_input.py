"""Everything a person can get wrong, typed into the real mysql client.

Each mistake is answered with MySQL's number, SQLSTATE and words, changes nothing, and leaves the connection usable.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import PASSWORD, MysqlServer, free_port
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

CLIENT: Final = shutil.which("mysql") or "mysql"
GOOD: Final = "(FROM bad_source.orders INTO spare (id, name))"
SYNC: Final = "CREATE SYNC bad.job1 "


def _job(channels: str = GOOD, properties: str = "", name: str = "bad.job1", **source: str | None) -> str:
    """CREATE SYNC with one thing changed; a keyword of None leaves a property of the source out."""
    given: dict[str, str | None] = {
        "type": "mysql",
        "mysql.host": "127.0.0.1",
        "mysql.port": "{port}",
        "mysql.user": "root",
        "mysql.password": "",
    }
    given |= {key.replace("__", "."): value for key, value in source.items()}
    binlog = ", ".join(f'"{key}" = "{value}"' for key, value in given.items() if value is not None)
    return f"CREATE SYNC {name} {channels} FROM BINLOG ({binlog}) {properties}"


def _column(expression: str) -> str:
    return _job(f"(FROM bad_source.orders INTO spare (id, name = {expression}))")


def _where(condition: str) -> str:
    return _job(f"(FROM bad_source.orders INTO spare (id, name) WHERE {condition})")


def _property(text: str) -> str:
    return _job(properties=f"PROPERTIES ({text})")


Case = tuple[str, Code, str]

NAMES: Final[list[Case]] = [
    ("USE nothing", Code.UNKNOWN_DATABASE, "Unknown database 'nothing'"),
    ("SHOW SYNC JOB FROM nothing", Code.UNKNOWN_DATABASE, "Unknown database 'nothing'"),
    ("SHOW TABLES FROM nothing", Code.UNKNOWN_DATABASE, "Unknown database 'nothing'"),
    ("SHOW TABLES", Code.NO_DATABASE, "No database selected"),
    ("CREATE DATABASE bad", Code.DATABASE_EXISTS, "Can't create database 'bad'; database exists"),
    ("DROP DATABASE nothing", Code.DROP_NO_DATABASE, "Can't drop database 'nothing'; database doesn't exist"),
    ("DROP DATABASE bad", Code.DATABASE_NOT_EMPTY, "still holds"),
    ("CREATE TABLE nothing.t (id INT)", Code.UNKNOWN_DATABASE, "Unknown database 'nothing'"),
    ("CREATE TABLE t (id INT)", Code.NO_DATABASE, "No database selected"),
    ("CREATE TABLE bad.spare (id INT)", Code.TABLE_EXISTS, "Table 'bad.spare' already exists"),
    ("DROP TABLE bad.nothing", Code.UNKNOWN_TABLE, "Unknown table 'bad.nothing'"),
    ("DESC bad.nothing", Code.NO_SUCH_TABLE, "Table 'bad.nothing' doesn't exist"),
    ("SHOW CREATE TABLE bad.nothing", Code.NO_SUCH_TABLE, "Table 'bad.nothing' doesn't exist"),
    ("SELECT * FROM bad.nothing", Code.NO_SUCH_TABLE, "Table 'bad.nothing' doesn't exist"),
    ("SELECT * FROM nothing.spare", Code.NO_SUCH_TABLE, "Table 'nothing.spare' doesn't exist"),
    ("USE bda", Code.UNKNOWN_DATABASE, "Unknown database 'bda'; did you mean 'bad'?"),
    ("DROP TABLE bad.spaer", Code.UNKNOWN_TABLE, "Unknown table 'bad.spaer'; did you mean 'spare'?"),
    ("SELECT * FROM bad.spaer", Code.NO_SUCH_TABLE, "Table 'bad.spaer' doesn't exist; did you mean 'spare'?"),
    ("SELECT * FROM bda.spare", Code.NO_SUCH_TABLE, "Table 'bda.spare' doesn't exist; did you mean 'bad'?"),
    ("SELECT nothing FROM bad.spare", Code.UNKNOWN_COLUMN, "Unknown column 'nothing' in 'field list'"),
    ("SHOW SYNC JOB WHERE nothing = 1", Code.UNKNOWN_COLUMN, "Unknown column 'nothing' in 'where clause'"),
    ("SHOW SYNC JOB ORDER BY nothing", Code.UNKNOWN_COLUMN, "Unknown column 'nothing' in 'order clause'"),
    ("KILL 999999", Code.NO_SUCH_THREAD, "Unknown thread id: 999999"),
]
TABLES: Final[list[Case]] = [
    ("CREATE TABLE bad.t (id FOO)", Code.SYNTAX, "unknown column type 'FOO' near 'FOO' at line 1, column 24"),
    ("CREATE TABLE bad.t (id INT, id INT)", Code.SYNTAX, "column 'id' is given twice"),
    ("CREATE TABLE bad.t (v DECIMAL(50, 2))", Code.SYNTAX, "expected a number from 1 to 38 near '50'"),
    (
        "CREATE TABLE bad.t (id INT) UNIQUE KEY(nothing)",
        Code.UNKNOWN_COLUMN,
        "Unknown column 'nothing' in 'UNIQUE KEY'",
    ),
    ("CREATE TABLE bad.t (id DOUBLE) UNIQUE KEY(id)", Code.BAD_TABLE, "key column 'id' cannot be DOUBLE"),
    ('CREATE TABLE bad.t (id INT) PROPERTIES ("nothing" = "1")', Code.PROPERTY_UNKNOWN, "Unknown property 'nothing'"),
    ("DROP TABLE bad.taken", Code.TABLE_BUSY, "Table 'bad.taken' is the target of sync job 'bad.live'"),
    ("DROP DATABASE bad FORCE", Code.TABLE_BUSY, "is the target of sync job 'bad."),
]
STATEMENTS: Final[list[Case]] = [
    ("SELEC 1", Code.SYNTAX, "unknown statement; did you mean SELECT? near 'SELEC' at line 1, column 1"),
    ("CRAETE DATABASE x", Code.SYNTAX, "unknown statement; did you mean CREATE? near 'CRAETE'"),
    ("SELECT 1 +\n", Code.SYNTAX, "near 'end of input' at line"),
    ("PAUSE\n  SYNC JB bad.live", Code.SYNTAX, "near 'bad' at line 2, column 11"),
    ("SHOW SYNC JOB LIKE", Code.SYNTAX, "expected a pattern near 'end of input'"),
    ("SHOW SYNC JOB LIMIT x", Code.SYNTAX, "expected a number of rows near 'x'"),
    ("INSERT INTO bad.spare VALUES (1)", Code.SYNTAX, "rows come from sync jobs alone"),
    ("DELETE FROM bad.spare", Code.SYNTAX, "rows come from sync jobs alone"),
    ("ALTER TABLE bad.spare CHANGE id x INT", Code.SYNTAX, "there is no CHANGE"),
    (
        "SELECT CAST('abc' AS INT) FROM bad.spare RIGHT JOIN (SELECT 1) t ON 1 = 1",
        Code.WRONG_TEXT_OF_VALUE,
        "cannot be cast",
    ),
    ('ADMIN SET FRONTEND CONFIG ("max_rety" = "1")', Code.UNKNOWN_CONFIG, "did you mean 'max_retry'?"),
    (
        'ADMIN SET FRONTEND CONFIG ("query_port" = "1")',
        Code.IMMUTABLE_CONFIG,
        "cannot be changed while the frontend runs",
    ),
    ('ADMIN SET FRONTEND CONFIG ("max_retry" = "x")', Code.WRONG_CONFIG, "it must be a whole number"),
    ('ADMIN SET FRONTEND CONFIG ("sync_commit_interval_second" = "0")', Code.WRONG_CONFIG, "it must be at least 0.05"),
]
JOBS: Final[list[Case]] = [
    ("PAUSE SYNC JOB job1", Code.NO_DATABASE, "No database selected"),
    ("PAUSE SYNC JOB nothing.job1", Code.UNKNOWN_DATABASE, "Unknown database 'nothing'"),
    ("PAUSE SYNC JOB bad.nothing", Code.UNKNOWN_JOB, "Unknown sync job 'nothing' in database 'bad'"),
    ("RESUME SYNC JOB bad.nothing", Code.UNKNOWN_JOB, "Unknown sync job 'nothing' in database 'bad'"),
    ("STOP SYNC JOB bad.nothing", Code.UNKNOWN_JOB, "Unknown sync job 'nothing' in database 'bad'"),
    ("SHOW CREATE SYNC JOB bad.nothing", Code.UNKNOWN_JOB, "Unknown sync job 'nothing' in database 'bad'"),
    ("PAUSE SYNC JOB bad.lvie", Code.UNKNOWN_JOB, "in database 'bad'; did you mean 'live'?"),
    ("PAUSE SYNC JOB bad.paused", Code.ILLEGAL_TRANSITION, "A PAUSED job cannot be paused"),
    ("RESUME SYNC JOB bad.live", Code.ILLEGAL_TRANSITION, "A RUNNING job cannot be resumed"),
    ("STOP SYNC JOB bad.gone", Code.ILLEGAL_TRANSITION, "A CANCELLED job cannot be stopped"),
    ("PAUSE SYNC JOB bad.gone", Code.ILLEGAL_TRANSITION, "A CANCELLED job cannot be paused"),
    ("RESUME SYNC JOB bad.gone", Code.ILLEGAL_TRANSITION, "A CANCELLED job cannot be resumed"),
]
CHANNELS: Final[list[Case]] = [
    (_job(name="nothing.job1"), Code.UNKNOWN_DATABASE, "Unknown database 'nothing'"),
    (_job(name="job1"), Code.NO_DATABASE, "No database selected"),
    (_job(name="bad.live"), Code.JOB_EXISTS, "The sync job 'live' in database 'bad' already exists"),
    (_job("()"), Code.SYNTAX, "expected FROM near ')'"),
    (SYNC + GOOD, Code.SYNTAX, "near 'end of input'"),
    (_job("(FROM orders INTO spare)"), Code.SYNTAX, "expected the source table as database.table"),
    (
        _job("(FROM bad_source.ordesr INTO spare)"),
        Code.SOURCE_UNKNOWN_TABLE,
        "did you mean 'orders'?",
    ),
    (
        _job("(FROM bad_sorce.orders INTO spare)"),
        Code.SOURCE_UNKNOWN_TABLE,
        "did you mean 'bad_source'?",
    ),
    (
        _job("(FROM bad_source.nothing INTO spare)"),
        Code.SOURCE_UNKNOWN_TABLE,
        "Source table 'bad_source.nothing' does not exist",
    ),
    (
        _job("(FROM nothing.orders INTO spare)"),
        Code.SOURCE_UNKNOWN_TABLE,
        "Source table 'nothing.orders' does not exist",
    ),
    (_job("(FROM bad_source.shown INTO spare)"), Code.SOURCE_UNSUPPORTED, "bad_source.shown is a view"),
    (_job("(FROM bad_source.orders INTO nothing)"), Code.NO_SUCH_TABLE, "Table 'bad.nothing' doesn't exist"),
    (_job("(FROM bad_source.orders INTO taken)"), Code.TARGET_IN_USE, "already the target of sync job 'bad.live'"),
    (_job("(FROM bad_source.orders INTO spare)"), Code.UNKNOWN_COLUMN, "Unknown column 'amount' in 'bad.spare'"),
    (_job("(FROM bad_source.orders INTO spare (id, nam))"), Code.UNKNOWN_COLUMN, "Unknown column 'nam' in 'bad.spare'"),
    (_job("(FROM bad_source.orders INTO spare (id, id))"), Code.SYNTAX, "column 'id' is given twice"),
    (
        _job("(FROM bad_source.orders INTO spare (name))"),
        Code.NO_CHANNEL_KEY,
        "key column 'id' is not in the channel's",
    ),
    (
        _job("(FROM bad_source.orders INTO spare (id = id + 1))"),
        Code.NO_CHANNEL_KEY,
        "key column 'id' cannot be an expression",
    ),
    (_job("(FROM bad_source.keyless INTO spare (id))"), Code.NO_CHANNEL_KEY, "which has none; use DUPLICATE KEY"),
    (_job("(FROM bad_source.nullable INTO spare (id))"), Code.NO_CHANNEL_KEY, "which has none; use DUPLICATE KEY"),
    (_job("(FROM bad_source.composite INTO spare (id))"), Code.NO_CHANNEL_KEY, "bad_source.composite: (id, place)"),
    (
        _job("(FROM bad_source.orders INTO strict (id))"),
        Code.COLUMN_NOT_COVERED,
        "'name' of table 'bad.strict' is NOT NULL",
    ),
    (_job("(FROM bad_source.orders INTO strict (id, name))"), Code.TYPE_DOES_NOT_FIT, "the source column may be NULL"),
    (
        _job("(FROM bad_source.orders INTO narrow (id, name))"),
        Code.TYPE_DOES_NOT_FIT,
        "does not fit target column 'id' (INT)",
    ),
    (
        _job("(FROM bad_source.orders INTO nearly (id, name))"),
        Code.TYPE_DOES_NOT_FIT,
        "target column 'id' (INT): it reaches",
    ),
    (
        _job("(FROM bad_source.orders INTO nearly (id, name))"),
        Code.TYPE_DOES_NOT_FIT,
        "target column 'name' (VARCHAR(10)): its text has up to 20",
    ),
    (
        _job("(FROM bad_source.orders INTO orders)"),
        Code.NO_SUCH_TABLE,
        "Table 'bad.orders' doesn't exist; FROM `bad_source`.`orders` INTO `bad`.* makes its target, `bad`.`orders`",
    ),
    (
        _job("(FROM bad_source.*  INTO bad.*)"),
        Code.NO_SOURCE_KEY,
        "No unique key that a target can have: bad_source.keyless, bad_source.nullable; EXCLUDE",
    ),
    (_job("(FROM bad_source.orders INTO narrow (name))"), Code.NO_CHANNEL_KEY, "key column 'id'"),
    (
        _job(f"{GOOD[:-1]}, FROM bad_source.orders INTO strict (id))"),
        Code.DUPLICATE_MAPPING,
        "'bad_source.orders' is named twice",
    ),
    (
        _job(f"{GOOD[:-1]}, FROM bad_source.composite INTO spare (id))"),
        Code.DUPLICATE_MAPPING,
        "'bad.spare' is named twice",
    ),
    (
        _job("(FROM bad_source.orders INTO spare PARTITION (p1) (id))"),
        Code.PARTITION_REFUSED,
        "PARTITION (p1) cannot be honoured",
    ),
]
EXPRESSIONS: Final[list[Case]] = [
    (_column("nam"), Code.SOURCE_UNKNOWN_COLUMN, "has no column 'nam'; did you mean 'name'?"),
    (_column("name +"), Code.SYNTAX, "near '+' at line 1, column"),
    (_column("nothing_known(name)"), Code.BAD_EXPRESSION, "it is none of the functions that an expression may use"),
    (_column("NOW()"), Code.SYNTAX, "the current time is not allowed here near 'NOW'"),
    (_column("RAND()"), Code.SYNTAX, "changes from call to call"),
    (_column("COUNT(*)"), Code.SYNTAX, "an aggregate function is not allowed here"),
    (_column("(SELECT 1)"), Code.SYNTAX, "a subquery is not allowed here"),
    (_column("@a"), Code.SYNTAX, "a variable is not allowed here"),
    (_column("JSON_EXTRACT(doc, '$.a')"), Code.SYNTAX, "which Spark has not; use ->> near 'JSON_EXTRACT("),
    (_where("nothing = 1"), Code.SOURCE_UNKNOWN_COLUMN, "Source table 'bad_source.orders' has no column 'nothing'"),
    (_where("SUM(amount) > 1"), Code.SYNTAX, "an aggregate function is not allowed here"),
    (_where("name LIKE '%a%b'"), Code.BAD_EXPRESSION, "write a LIKE '%b%' AND a LIKE '%c%'"),
    (_where("name = repeat(name, 2000000000)"), Code.BAD_EXPRESSION, "more than 100 times as long as its columns"),
    (_where("doc -> '$.a' = 1"), Code.SYNTAX, "which Spark has not; use ->>"),
    (_where(""), Code.SYNTAX, "expected a condition near ')'"),
]
PROPERTIES: Final[list[Case]] = [
    (_job(type=None), Code.PROPERTY_MISSING, "Property 'type' is missing in FROM BINLOG"),
    (_job(type="nothing"), Code.PROPERTY_WRONG, "Property 'type' cannot be 'nothing'"),
    (_job(mysql__host=None), Code.PROPERTY_MISSING, "Property 'mysql.host' is missing"),
    (_job(mysql__host=""), Code.PROPERTY_WRONG, "it must not be empty"),
    (_job(mysql__port="x"), Code.PROPERTY_WRONG, "it must be a whole number from 1 to 65535"),
    (_job(mysql__port="65536"), Code.PROPERTY_WRONG, "it must be a whole number from 1 to 65535"),
    (_job(mysql__pasword="x"), Code.PROPERTY_UNKNOWN, "did you mean 'mysql.password'?"),
    (_job(mysql__ssl="maybe"), Code.PROPERTY_WRONG, "it must be one of disabled, preferred, required"),
    (_job(mysql__server_id="1"), Code.SOURCE_SERVER_ID, "server id 1 is already used"),
    (_job(start="sometime"), Code.PROPERTY_WRONG, "neither snapshot, latest, earliest, a GTID set nor file:position"),
    (_job(start="0-1-5"), Code.PROPERTY_WRONG, "it is not a GTID set of this kind of server"),
    (SYNC + GOOD + ' FROM BINLOG ("type" = "mysql", "type" = "mysql")', Code.SYNTAX, "'type' is given twice"),
    (
        _property('"sync_comit_interval_second" = "1"'),
        Code.PROPERTY_UNKNOWN,
        "did you mean 'sync_commit_interval_second'?",
    ),
    (_property('"sync_commit_interval_second" = "x"'), Code.PROPERTY_WRONG, "it must be a number"),
    (_property('"append_on_change" = "x"'), Code.PROPERTY_WRONG, "it must be error, append or ignore"),
    (_property('"query_port" = "1"'), Code.PROPERTY_UNKNOWN, "Unknown property 'query_port' in PROPERTIES"),
    (_property('"max_retry" = "1", "max_retry" = "2"'), Code.SYNTAX, "'max_retry' is given twice"),
]
SOURCES: Final[list[Case]] = [
    (_job(mysql__port="1"), Code.SOURCE_UNREACHABLE, "Cannot reach the MySQL server at 127.0.0.1:1: "),
    (
        _job(mysql__user="repl", mysql__password="wrong"),
        Code.SOURCE_ACCESS_DENIED,
        "refused user 'repl': Access denied",
    ),
    (_job(mysql__user="bad_reader", mysql__password=PASSWORD), Code.SOURCE_GRANT_MISSING, "lacks REPLICATION CLIENT"),
    (_job(mysql__user="bad_client", mysql__password=PASSWORD), Code.SOURCE_GRANT_MISSING, "lacks REPLICATION SLAVE"),
    (
        _job(mysql__user="bad_replica", mysql__password=PASSWORD),
        Code.SOURCE_GRANT_MISSING,
        "lacks SELECT on bad_source.orders",
    ),
    (
        _job(mysql__user="bad_nobody", mysql__password=PASSWORD),
        Code.SOURCE_GRANT_MISSING,
        "run: GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'bad_nobody'@'%'; GRANT SELECT ON `bad_source`.",
    ),
    (
        _job(start="binlog.999999:4"),
        Code.SOURCE_POSITION_LOST,
        "The position binlog.999999:4 is no longer in the binlog",
    ),
]


class Ground:
    """One server, one frontend, and in them a little of everything."""

    def __init__(self, mysql: MysqlServer, frontend: FrontendProcess) -> None:
        self.mysql = mysql
        self.frontend = frontend
        self.before: object = None
        self._connection = frontend.connect()

    def type(self, text: str, *options: str) -> "subprocess.CompletedProcess[str]":
        """A text into the real mysql client."""
        host = ["-h127.0.0.1", f"-P{self.frontend.port}", "-uroot", "--force", "-N", *options]
        return subprocess.run(
            [CLIENT, *host], input=text, capture_output=True, text=True, timeout=HANG_SECOND, check=False
        )

    def fill(self) -> None:
        self.mysql.run(
            "CREATE DATABASE bad_source",
            "CREATE TABLE bad_source.orders (id BIGINT PRIMARY KEY, name VARCHAR(20), amount DECIMAL(10,2), doc JSON)",
            "CREATE TABLE bad_source.keyless (id BIGINT NOT NULL)",
            "CREATE TABLE bad_source.nullable (id BIGINT UNIQUE)",
            "CREATE TABLE bad_source.composite (id BIGINT, place INT, PRIMARY KEY (id, place))",
            "CREATE VIEW bad_source.shown AS SELECT id, name FROM bad_source.orders",
            "CREATE TABLE bad_source.other (id BIGINT PRIMARY KEY)",
        )
        for user, grants in (
            ("bad_reader", "SELECT, REPLICATION SLAVE"),
            ("bad_client", "SELECT, REPLICATION CLIENT"),
            ("bad_replica", "REPLICATION SLAVE, REPLICATION CLIENT"),
            ("bad_nobody", "USAGE"),
        ):
            self.mysql.run(f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}'", f"GRANT {grants} ON *.* TO {user}")
        self.frontend.sql("CREATE DATABASE bad")
        for table, columns in (
            ("spare", "id BIGINT NOT NULL, name VARCHAR(20)"),
            ("strict", "id BIGINT NOT NULL, name VARCHAR(20) NOT NULL"),
            ("narrow", "id INT NOT NULL, name VARCHAR(20)"),
            ("nearly", "id INT NOT NULL, name VARCHAR(10)"),
            *((name, "id BIGINT NOT NULL") for name in ("taken", "resting", "left_over")),
        ):
            self.frontend.sql(f"CREATE TABLE bad.{table} ({columns}) UNIQUE KEY(id)")
        for job, source, table in (
            ("live", "orders", "taken"),
            ("paused", "other", "resting"),
            ("gone", "other", "left_over"),
        ):
            channels = f"(FROM bad_source.{source} INTO {table} (id))"
            self.frontend.sql(self.filled(_job(channels, name=f"bad.{job}")))
        self.frontend.sql("PAUSE SYNC JOB bad.paused")
        self.frontend.sql("STOP SYNC JOB bad.gone")
        until(lambda: self.states()["live"] == "RUNNING", why="a running job")
        self.before = self.everything()

    def filled(self, text: str) -> str:
        return text.replace("{port}", str(self.mysql.port))

    def states(self) -> dict[str, str]:
        return {row["JobName"]: row["State"] for row in self.ask("SHOW SYNC JOB FROM bad")}

    def everything(self) -> object:
        """What a mistake could have changed."""
        ask = self.ask
        return self.states(), ask("SHOW DATABASES"), ask("SHOW TABLES FROM bad"), ask("SHOW FRONTEND CONFIG")

    def ask(self, statement: str) -> list[dict[str, Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())


@pytest.fixture(autouse=True)
def _ends_its_jobs() -> None:
    """In place of the one of all tests, which asks twice for the jobs: `ground` knows those that there are."""


@pytest.fixture(scope="module")
def ground(mysql_server: MysqlServer, frontend: FrontendProcess) -> Iterator[Ground]:
    made = Ground(mysql_server, frontend)
    made.fill()
    yield made
    for job in ("live", "paused"):
        frontend.sql(f"STOP SYNC JOB bad.{job}")


@pytest.mark.parametrize(
    ("statement", "code", "words"),
    [*NAMES, *TABLES, *STATEMENTS, *JOBS, *CHANNELS, *EXPRESSIONS, *PROPERTIES, *SOURCES],
)
def test_a_mistake_is_told_and_changes_nothing(ground: Ground, statement: str, code: Code, words: str) -> None:
    """The client shows number, SQLSTATE and words; the next statement of the connection works; nothing is changed."""
    done = ground.type(f"{ground.filled(statement)};\nSELECT 'still here';\n")
    assert re.match(rf"ERROR {code.number} \({code.sqlstate}\) at line \d+: ", done.stderr), done.stderr
    assert words in done.stderr
    assert done.stderr.count("ERROR") == 1
    assert done.stdout == "still here\n"
    assert ground.everything() == ground.before


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [("binlog_row_image", "MINIMAL", Code.SOURCE_ROW_IMAGE), ("binlog_format", "STATEMENT", Code.SOURCE_NOT_ROW)],
)
def test_a_source_with_the_wrong_settings_is_refused(ground: Ground, variable: str, value: str, code: Code) -> None:
    """CREATE SYNC names the setting that forbids the job."""
    with ground.mysql.global_variable(variable, f"'{value}'"):
        done = ground.type(ground.filled(_job()))
    assert done.stderr.startswith(f"ERROR {code.number} (HY000) at line 1: {variable} is {value} on the MySQL server")


def test_a_server_without_binlog_and_one_that_lost_it_are_refused(ground: Ground, tmp_path: Path) -> None:
    """A missing binlog is reported as such, and a purged position as one that no longer exists."""
    own = MysqlServer(tmp_path / "own", variables={"innodb-buffer-pool-size": "16M"}).start()
    try:
        own.run(
            "CREATE DATABASE bad_source", "CREATE TABLE bad_source.orders (id BIGINT PRIMARY KEY, name VARCHAR(20))"
        )
        first, now = own.run("SHOW BINARY LOGS")[0][0], "FLUSH BINARY LOGS"
        own.run(now, "INSERT INTO bad_source.orders VALUES (1, 'a')", now)
        last = own.run("SHOW BINARY LOGS")[-1][0]
        own.run(f"PURGE BINARY LOGS TO '{last}'")
        done = ground.type(_job(mysql__port=str(own.port), start=f"{first}:4"))
        lost = f"ERROR {Code.SOURCE_POSITION_LOST.number} (HY000) at line 1: The position {first}:4 is no longer"
        assert done.stderr.startswith(lost)
        own.restart({"skip-log-bin": "1"})
        done = ground.type(_job(mysql__port=str(own.port)))
        assert done.stderr.startswith(f"ERROR {Code.SOURCE_BINLOG_OFF.number} (HY000) at line 1: ")
    finally:
        own.stop()


def test_a_value_that_does_not_fit_pauses_the_job(ground: Ground) -> None:
    """The error of an expression on a row is reported in Msg, nothing of the row arrives, and STOP still works."""
    channels = "(FROM bad_source.composite INTO amounts (id, place, amount = LEFT(CONCAT('x', place), 20)))"
    ground.frontend.sql(
        "CREATE TABLE bad.amounts (id BIGINT NOT NULL, place INT NOT NULL, amount DECIMAL(10,2)) UNIQUE KEY(id, place)"
    )
    ground.frontend.sql(ground.filled(_job(channels, name="bad.unfit")))
    ground.mysql.run("INSERT INTO bad_source.composite VALUES (1, 2)")
    until(lambda: ground.states()["unfit"] == "PAUSED", why="the pause")
    job = next(row for row in ground.frontend.sql("SHOW SYNC JOB FROM bad") if row["JobName"] == "unfit")
    assert "'x2'" in job["Msg"]
    assert f"(error {Code.SOURCE_VALUE.number})" in job["Msg"]
    assert ground.frontend.sql("SELECT * FROM bad.amounts") == []
    ground.frontend.sql("STOP SYNC JOB bad.unfit")


def _started(folder: Path, conf: bytes) -> "subprocess.CompletedProcess[str]":
    """A frontend that is expected to refuse to start."""
    (folder / "conf").mkdir()
    (folder / "conf" / "fe.conf").write_bytes(conf)
    command = [sys.executable, "-m", "syncmgr", "--conf", "conf/fe.conf"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANG_SECOND, check=False)


def test_every_mistake_of_the_settings_is_told_with_its_line(tmp_path: Path) -> None:
    """An unknown key, a bad value, a bare word and a doubled key, all at once, and the frontend does not start."""
    done = _started(tmp_path, b"qury_port = 1\n# fine\nmax_retry = x\nword\nlog_level = INFO\nlog_level = DEBUG\n")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "conf/fe.conf: line 1: unknown key 'qury_port'; did you mean 'query_port'?",
        "conf/fe.conf: line 3: Config 'max_retry' cannot be 'x': it must be a whole number",
        "conf/fe.conf: line 4: expected 'key = value', found 'word'",
        "conf/fe.conf: line 6: key 'log_level' is set twice, first in line 5",
    ]
    assert not (tmp_path / "var").exists()


def test_settings_in_another_encoding_are_told(tmp_path: Path) -> None:
    """Latin-1 is not guessed at, and hides no other mistake."""
    done = _started(tmp_path, b"query_prt = 1\nroot_password = caf\xe9\n")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "conf/fe.conf: line 1: unknown key 'query_prt'; did you mean 'query_port'?",
        "conf/fe.conf: line 2: byte 20 is not UTF-8",
    ]


@pytest.mark.parametrize("folder", ["lake_dir", "staging_dir"])
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, folder: str) -> None:
    """One sentence that names the folder, and no start."""
    (tmp_path / "file").touch()
    done = _started(tmp_path, f"query_port = {free_port()}\n{folder} = file/{folder}\n".encode())
    place = tmp_path / "file" / folder
    assert (done.returncode, done.stderr) == (1, f"Folder '{place}' cannot be written: Not a directory\n")


def test_a_port_in_use_is_told(ground: Ground, tmp_path: Path) -> None:
    """One sentence that names the port, and no start."""
    done = _started(tmp_path, f"query_port = {ground.frontend.port}\n".encode())
    assert done.returncode == 1
    assert done.stderr.startswith(f"Port {ground.frontend.port} on 127.0.0.1 cannot be opened: Address already in use")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        pytest.param(
            "meta_url = nothing",
            "The metadata in meta_url cannot be opened: Could not parse SQLAlchemy URL",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "meta_url = mysql+pymysql://root:hidden@127.0.0.1:1/x",
            "The metadata in meta_url cannot be opened: ",
            marks=pytest.mark.slow,
        ),
        ("meta_dir = {meta}", "is in use by another frontend; stop that one first"),
        ("query_host = 0.0.0.0", "root has no password, so the console may listen on loopback only"),
    ],
)
def test_a_start_that_cannot_be_is_one_sentence(ground: Ground, tmp_path: Path, conf: str, words: str) -> None:
    """Metadata that cannot be opened or is taken, and a console that would be open to all. fe.log has it, too, unless
    the folders are another frontend's.
    """
    text = conf.replace("{meta}", str(ground.frontend.folder / "var" / "meta"))
    done = _started(tmp_path, f"query_port = {free_port()}\nhttp_port = 0\n{text}\n".encode())
    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "hidden" not in done.stderr
    if "meta_dir" not in conf:
        told = [line for line in (tmp_path / "log" / "fe.log").read_text().splitlines() if " not started: " in line]
        assert [line.partition(" not started: ")[2] for line in told] == done.stderr.splitlines()


WITHOUT_JAVA: Final = (
    "import sys, syncmgr.lake.spark.java as java; java.KNOWN_PLACES = ();"
    "from syncmgr.__main__ import main; sys.exit(main(['--conf', 'conf/fe.conf']))"
)


def test_without_java_the_console_opens_and_tells_what_is_missing(tmp_path: Path) -> None:
    """SHOW works; a statement that needs Spark says which Java is wanted; it stops in order."""
    port = free_port()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "fe.conf").write_text(f"query_port = {port}\nhttp_port = 0\n")
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": "/nothing"}
    process = subprocess.Popen([sys.executable, "-c", WITHOUT_JAVA], cwd=tmp_path, env=environment)
    try:
        until(lambda: _answers(port), why="the console's port")
        text = "SHOW SYNC JOB; SHOW DATABASES; CREATE DATABASE a; SELECT 1 FROM (SELECT 2) t; SELECT 'still here';"
        command = [CLIENT, "-h127.0.0.1", f"-P{port}", "-uroot", "-N", "--force"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=HANG_SECOND, check=False)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_SECOND) == 0
    told = f"ERROR {Code.JAVA_MISSING.number} (HY000) at line 1: Java 17 or 21 is needed and was not found: "
    assert [line[: len(told)] for line in done.stderr.splitlines()] == [told, told]
    assert done.stdout.split("\n") == ["information_schema", "still here", ""]


def _answers(port: int) -> bool:
    with contextlib.suppress(pymysql.err.OperationalError):
        pymysql.connect(host="127.0.0.1", port=port, user="root").close()
        return True
    return False
