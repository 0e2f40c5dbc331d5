import datetime as dt
import time

import pytest

from syncmgr.accounts.user import Account
from syncmgr.console.statements.local.local_select import SessionFacts, question
from syncmgr.console.wire.protocol import VERSION
from syncmgr.errors import Code, SyncError


def asker(**overrides: object) -> SessionFacts:
    values: dict[str, object] = {
        "connection_id": 7,
        "user": "root",
        "account": Account(name="root"),
        "host": "h",
        "db": "demo",
        "now": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "variable": {"autocommit": "ON", "sql_mode": "ANSI"}.__getitem__,
        "user_variable": {"x": 5}.get,
    }
    return SessionFacts(**(values | overrides))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t",
        "SELECT id FROM db.t LIMIT 1",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "SELECT 1 UNION SELECT 2",
        "VALUES (1)",
        "SELECT 1 / 2",
        "SELECT 1.5",
        "SELECT 99999999999999999999",
        "SELECT NOW() - 300",
        "SELECT -(NOW()), 1",
        "SELECT '12abc' + 1",
        "SELECT 'a' LIKE 'A'",
        "SELECT UPPER('ä')",
        "SELECT explode(array(1, 2))",
        "SELECT * FROM information_schema.tables, demo.t",
        "SELECT * FROM (SELECT 1 AS a)",
        "SELECT current_catalog",
        "SELECT DATE_ADD()",
        "SELECT 1 FROM dual WHERE 'a' = 'A'",
        "SELECT :colon:",
        "SELECT '" + "x" * 30_000 + "'",
        "SELECT " + "DATE(" * 90 + "1" + ")" * 90,
    ],
)
def test_the_lake_is_asked(sql: str) -> None:
    """Whatever has a table, or could mean another thing in SQLite, is the lake's."""
    assert question(sql, asker()) is None


@pytest.mark.parametrize(
    ("sql", "lite", "names"),
    [
        ("SELECT 1", "SELECT 1", ("1",)),
        ("select  'a' ,-1 as b limit 1", "SELECT 'a', -1 AS b LIMIT 1", ("a", "b")),
        ("SELECT database(), Connection_Id()", "SELECT 'demo', 7", ("database()", "Connection_Id()")),
        ("SELECT user(), current_user", "SELECT 'root@h', 'root@%'", ("user()", "current_user")),
        ("SELECT version(), @@autocommit", f"SELECT '{VERSION}', 1", ("version()", "@@autocommit")),
        ("SELECT @x, @y, now()", "SELECT 5, NULL, '2026-01-02 03:04:05'", ("@x", "@y", "now()")),
        ("SELECT now(6), curtime(), curdate()", "SELECT '2026-01-02 03:04:05', '03:04:05', '2026-01-02'", ()),
        ("SELECT CONCAT('a', 1), COALESCE(NULL, 2)", None, ("CONCAT('a', 1)", "COALESCE(NULL, 2)")),
        ("SELECT 1 + 2 - 3 FROM dual", "SELECT 1 + 2 - 3", ("1 + 2 - 3",)),
        ("SELECT NULL a FROM DUAL WHERE 1 = 0", "SELECT NULL AS a WHERE 1 = 0", ("a",)),
    ],
)
def test_small_talk_is_told(sql: str, lite: str | None, names: tuple[str, ...]) -> None:
    """What the asker could mean is put in as literals; columns are named by their text."""
    asked = question(sql, asker())
    assert asked is not None
    assert not names or asked.names == names
    assert lite is None or asked.sql == lite


COLUMNS = (("TABLE_NAME", "field list"), ("TABLE_SCHEMA", "where clause"))


def test_information_schema_is_named() -> None:
    """The question tells which tables it reads, which columns and where, and which database alone it is about."""
    asked = question(
        "SELECT TABLE_NAME AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'demo' AND n > 'a'", asker()
    )
    assert asked is not None
    assert (asked.tables, asked.columns, asked.db) == (frozenset({"tables"}), COLUMNS, "demo")
    asked = question("SELECT 1 FROM schemata s WHERE TABLE_SCHEMA = 'a' OR 1", asker(db="information_schema"))
    assert asked is not None
    assert (asked.tables, asked.db) == (frozenset({"schemata"}), None)


def test_variables_do_not_blow_up_a_statement() -> None:
    """What a long value is made into is computed while nobody else is answered, as often as it is named."""
    values = {"x": "y" * 30_000, "long": "y" * 3_000_000}
    for named in (", ".join(["@x"] * 3), "COALESCE(1, @long)"):
        with pytest.raises(SyncError) as caught:
            question(f"SELECT {named}", asker(user_variable=values.get))
        assert caught.value.code is Code.QUERY_FAILED
    assert question("SELECT @x, @x", asker(user_variable=values.get)) is not None


MANY = 3_000
OF_TABLES = "SELECT 1 FROM information_schema.tables"


@pytest.mark.parametrize(
    "sql",
    [
        OF_TABLES + ", b" * MANY,
        "WITH a AS (SELECT 1)" + ", a AS (SELECT 1)" * MANY + OF_TABLES,
        OF_TABLES + " WHERE 1" + " AND a = 1" * MANY * 2,
        "SELECT job_id IN ('1'" + ", '1'" * MANY * 4 + ") FROM information_schema.sync_jobs",
        "SELECT 1 FROM information_schema.sync_epochs WHERE commit_time IN (now()" + ", now()" * MANY * 4 + ")",
        "SELECT a -> '$.b'" + ", a -> '$.b'" * MANY * 2 + " FROM information_schema.sync_jobs",
    ],
    ids=["tables", "with", "and", "numbers", "times", "json"],
)
def test_its_parts_take_time_by_their_number(sql: str) -> None:
    """Whoever asks: a text of 4 KB is looked at where all clients are answered, a longer one has all of Python."""
    begun = time.process_time()
    question(sql, asker())
    assert time.process_time() - begun < 8
