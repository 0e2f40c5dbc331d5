"""Variables, help, CREATE TABLE's print and listening addresses: small tables and pure functions."""

import datetime as dt

import pytest

import syncsql as sql
from syncmgr.accounts.user import Privilege
from syncmgr.config.settings import SETTINGS
from syncmgr.console.limits import Limits
from syncmgr.console.listener import listening_hosts
from syncmgr.console.statements.execution.table import EXECUTIONS
from syncmgr.console.statements.help import CLAUSES, TOPICS, answer
from syncmgr.console.statements.help_topics import Topic
from syncmgr.console.statements.show.create_text import create_text
from syncmgr.console.statements.time_zone import clock
from syncmgr.console.statements.variables import Variables
from syncmgr.errors import Code, SyncError
from syncmgr.job.job_properties import JOB_PROPERTIES
from syncmgr.lake.registry import FORMAT
from syncmgr.sources.registry import KINDS
from syncsql import CreateTable, parse


def test_variables_are_remembered() -> None:
    """A session's values hide the defaults until they are reset, whatever the case of the name."""
    variables = Variables(Limits(max_packet=7), port=9030)
    assert variables.set("SQL_Mode", "ANSI") == variables["sql_mode"] == "ANSI"
    assert variables.set("sql_mode", None) == "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES"
    assert (variables["max_allowed_packet"], variables["port"]) == (7, 9030)
    variables.set("autocommit", "0")
    assert dict(variables.rows())["autocommit"] == "OFF"
    variables.reset()
    assert variables["autocommit"] == "ON"


def test_times() -> None:
    """max_execution_time is in milliseconds; wait_timeout may be shortened, not lengthened."""
    variables = Variables(Limits(wait_timeout=100.5), port=1)
    assert (variables.statement_timeout, variables.wait_timeout) == (0, 100.5)
    variables.set("max_execution_time", "1500")
    variables.set("wait_timeout", "50")
    assert (variables.statement_timeout, variables.wait_timeout) == (1.5, 50)
    variables.set("wait_timeout", "5000")
    assert variables.wait_timeout == 100.5


@pytest.mark.parametrize(
    ("text", "shown", "hour"),
    [
        ("system", "SYSTEM", "10:00"),
        ("utc", "UTC", "10:00"),
        ("-0:00", "+00:00", "10:00"),
        ("+5:30", "+05:30", "15:30"),
        ("-13:59", "-13:59", "20:01"),
        ("+14:00", "+14:00", "00:00"),
        ("europe/berlin", "Europe/Berlin", "11:00"),
    ],
)
def test_time_zones(text: str, shown: str, hour: str) -> None:
    """Offsets and names as MySQL takes and shows them, and the time of day there."""
    variables = Variables(Limits(), port=1)
    assert variables.set("time_zone", text) == variables.time_zone == shown
    assert clock(dt.datetime(2026, 11, 21, 10, tzinfo=dt.UTC), shown).strftime("%H:%M") == hour


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("nothing", "1", Code.UNKNOWN_VARIABLE),
        ("nothing", None, Code.UNKNOWN_VARIABLE),
        ("version", "1", Code.READ_ONLY_VARIABLE),
        ("version", None, Code.READ_ONLY_VARIABLE),
        ("wait_timeout", "x", Code.WRONG_TYPE),
        ("wait_timeout", "0", Code.WRONG_VALUE),
        ("max_execution_time", "-1", Code.WRONG_VALUE),
        ("autocommit", "maybe", Code.WRONG_VALUE),
        ("time_zone", "Mars/Olympus", Code.UNKNOWN_TIME_ZONE),
        ("time_zone", "../../etc/passwd", Code.UNKNOWN_TIME_ZONE),
        ("time_zone", "+14:01", Code.UNKNOWN_TIME_ZONE),
        ("time_zone", "-14:00", Code.UNKNOWN_TIME_ZONE),
        ("time_zone", "+1:5", Code.UNKNOWN_TIME_ZONE),
    ],
)
def test_bad_variables(name: str, value: str | None, code: Code) -> None:
    """Each mistake in SET has MySQL's error."""
    with pytest.raises(SyncError) as caught:
        Variables(Limits(), port=1).set(name, value)
    assert caught.value.code is code


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_examples_of_help_parse(topic: Topic) -> None:
    """What help shows as an example is a statement of the language, and its topic is found by name."""
    assert len(parse(topic.example)) == 1
    columns, [row] = answer(topic.name.lower())
    assert (columns, row[0]) == (("name", "description", "example"), topic.name)


SHARED = {  # statements on the page of another one, by what their page shows of them
    sql.AlterUser: ("CREATE USER", "ALTER USER"),
    sql.DropUser: ("CREATE USER", "DROP USER"),
    sql.SetPassword: ("CREATE USER", "SET PASSWORD"),
    sql.EnableFeature: ("ALTER TABLE", "ENABLE FEATURE"),
    sql.Revoke: ("GRANT", "REVOKE"),
    sql.ShowGrants: ("GRANT", "SHOW [ALL] GRANTS"),
    sql.ShowDatabases: ("SHOW", "SHOW DATABASES"),
    sql.ShowCreateTable: ("SHOW", "CREATE TABLE"),
    sql.ShowCreateDatabase: ("SHOW", "CREATE DATABASE"),
    sql.ShowProcesslist: ("SHOW", "PROCESSLIST"),
    sql.ShowColumns: ("SHOW", "COLUMNS FROM [db.]table"),
}


def test_each_statement_has_help() -> None:
    """An example on a page, or a line of the syntax on the page of another statement."""
    shown = {type(parse(topic.example)[0].statement) for topic in (*TOPICS, *CLAUSES)}
    assert shown | SHARED.keys() == EXECUTIONS.keys()
    pages = {topic.name: topic.syntax for topic in TOPICS}
    assert [words for page, words in SHARED.values() if words not in pages[page]] == []


NAMED = {
    "CREATE SYNC JOB": [
        *(each.name for kind in KINDS.values() for each in kind.properties),
        *(each.name for each in JOB_PROPERTIES),
        *(each.name for each in SETTINGS if each.job),
    ],
    "ALTER SYNC JOB": [each.name for each in JOB_PROPERTIES],
    "CREATE TABLE": list(FORMAT.properties),
    "GRANT": list(Privilege),
    "ADMIN SET FRONTEND CONFIG": [each.name for each in SETTINGS if each.mutable],
}


@pytest.mark.parametrize("topic", NAMED)
def test_help_names_whatever_a_statement_takes(topic: str) -> None:
    """Every property, setting and privilege of the tables that the statement itself is checked by, in plain text."""
    _, [(_, text, _)] = answer(topic)
    assert [name for name in NAMED[topic] if name not in text] == []
    assert "`" not in text
    assert "](" not in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (None, [topic.name for topic in TOPICS]),
        ("contents", [topic.name for topic in TOPICS]),
        ("% config %", ["SHOW FRONTEND CONFIG", "ADMIN SET FRONTEND CONFIG"]),
        (
            "table",
            [
                "ADD TABLE",
                "RESYNC TABLE",
                "CHECK TABLE",
                "SHOW SYNC JOB TABLES",
                "CREATE TABLE",
                "ALTER TABLE",
                "DROP TABLE",
            ],
        ),
        ("nothing", []),
    ],
)
def test_topics_are_searched(words: str | None, expected: list[str]) -> None:
    """Several topics, or none, come as a list of names."""
    columns, rows = answer(words)
    assert (columns, [row[0] for row in rows]) == (("name", "is_it_category"), expected)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (id BIGINT NOT NULL, s STRING COMMENT 'it''s \\\\ a\\n\\'new\\' line') UNIQUE KEY (id)",
        "CREATE TABLE `odd``name` (`a``b` DECIMAL(10, 2) NULL, d DATETIME(6), v VARCHAR(9) DEFAULT 'x')",
        """CREATE TABLE t (id INT) UNIQUE KEY (id) COMMENT 'x' PARTITION BY (DAY(id), id)
        DISTRIBUTED BY HASH (id) BUCKETS 4 PROPERTIES ('a' = 'b', 'c' = 'd')""",
    ],
)
def test_create_table_is_printed(sql: str) -> None:
    """What SHOW CREATE TABLE prints makes the same table: the key is a line among the columns, the options stand on the
    line of the bracket and the partitions on one of their own, as drivers look for them.
    """
    statement = parse(sql)[0].statement
    assert isinstance(statement, CreateTable)
    text = create_text(statement)
    assert parse(text)[0].statement == statement
    head, bracket, rest = text.partition("\n)")
    lines = head.split("\n")
    assert len(lines) == len(statement.columns) + 1 + (statement.key is not None)
    assert lines[-1].startswith("  PRIMARY KEY (`") == (statement.key is not None)
    assert bracket
    assert [line.startswith("PARTITION BY (") for line in rest.split("\n")[1:]] == [True] * bool(statement.partition_by)


@pytest.mark.parametrize(
    ("host", "has_password", "expected"),
    [
        ("", False, ("127.0.0.1", "::1")),
        ("", True, ("0.0.0.0", "::")),
        ("localhost", False, ("127.0.0.1", "::1")),
        ("127.0.0.5", False, ("127.0.0.5",)),
        ("::1", False, ("::1",)),
        ("10.0.0.1", True, ("10.0.0.1",)),
    ],
)
def test_listening_hosts(host: str, has_password: bool, expected: tuple[str, ...]) -> None:  # noqa: FBT001
    """Without a password nobody but this machine can connect."""
    assert listening_hosts(host, has_password=has_password) == expected


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_a_wide_address_needs_a_password(host: str) -> None:
    """An address that others can reach is refused while root has no password."""
    with pytest.raises(SyncError, match="root has no password") as caught:
        listening_hosts(host, has_password=False)
    assert caught.value.code is Code.WRONG_CONFIG
