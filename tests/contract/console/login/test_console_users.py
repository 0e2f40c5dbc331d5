"""Users and what they may do: real clients against a console, its accounts in memory."""

import contextlib
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql._auth import scramble_caching_sha2

import syncsql
from syncmgr.errors import Code
from syncsql import CreateUser, Grant, GrantLevel, GrantScope, Identified, ShowGrants, UserName
from tests.unit.console.running import PASSWORD, Running, id_of, running

pytestmark = pytest.mark.usefixtures("cheap_passwords")

CREATE = 'CREATE SYNC demo.{name} (FROM shop.orders INTO orders) FROM BINLOG ("type" = "mysql")'

WHOLE = 'CREATE SYNC demo.all_of_it (FROM shop.* INTO demo.*) FROM BINLOG ("type" = "mysql")'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture
def console(folder: Path) -> Iterator[Running]:
    """A console with a user alice who has no grants, two jobs and a second table."""
    with running(folder, password=PASSWORD, drain_timeout=0.2) as it:
        it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
        it.ask("CREATE TABLE demo.people (id INT)")
        it.ask(CREATE.format(name="one"))
        it.ask(CREATE.format(name="two").replace("INTO orders", "INTO people"))
        yield it


def alice(it: Running, **options: Any) -> "pymysql.Connection[Any]":
    return it.connect(**{"user": "alice", "password": "wonder", **options})


def ask(it: Running, sql: str, **options: Any) -> tuple[tuple[Any, ...], ...]:
    """What alice is answered."""
    return it.ask(sql, **{"user": "alice", "password": "wonder", **options})


def refused(it: Running, sql: str, **options: Any) -> int:
    with pytest.raises(pymysql.err.MySQLError) as caught:
        ask(it, sql, **options)
    return int(caught.value.args[0])


@pytest.mark.parametrize("tls", [True, False])
def test_a_user_logs_in(console: Running, tls: bool) -> None:  # noqa: FBT001
    """In full the first time, under TLS or RSA; by the fast path from then on; and is who it is."""
    for _ in range(2):
        assert ask(console, "SELECT CURRENT_USER(), USER()", ssl_disabled=not tls) == (("alice@%", "alice@127.0.0.1"),)
    keys = console.console._listener._gate.keys
    assert len(keys._digests) == 1


def test_a_user_of_the_old_plugin(console: Running) -> None:
    """WITH mysql_native_password a client is switched to it; the other accounts keep theirs."""
    console.ask("CREATE USER old IDENTIFIED WITH mysql_native_password BY 'wonder'")
    assert console.ask("SELECT 42", user="old", password="wonder") == ((42,),)
    with pytest.raises(pymysql.err.OperationalError, match="1045"):
        console.connect(user="old", password="other")


@pytest.mark.parametrize(
    ("user", "password"), [("alice", "other"), ("alice", ""), ("Alice", "wonder"), ("nobody", "wonder"), ("", "wonder")]
)
def test_nobody_else_gets_in(console: Running, user: str, password: str) -> None:
    """A wrong or missing password, a name of other case, an unknown name: 1045."""
    with pytest.raises(pymysql.err.OperationalError) as caught:
        console.connect(user=user or "''", password=password)
    assert caught.value.args[0] == 1045


def test_hosts_decide(console: Running) -> None:
    """An account of other addresses is none; of two that fit, the more precise one is meant."""
    console.ask("CREATE USER 'bob'@'10.%' IDENTIFIED BY 'far'")
    with pytest.raises(pymysql.err.OperationalError):
        console.connect(user="bob", password="far")
    console.ask("CREATE USER 'bob'@'127.0.0.%' IDENTIFIED BY 'near'")
    assert console.ask("SELECT CURRENT_USER()", user="bob", password="near") == (("bob@127.0.0.%",),)


def test_a_password_changes(console: Running) -> None:
    """One's own by SET PASSWORD, another's by an admin; the old one, and its digest in memory, open nothing more."""
    ask(console, "SET PASSWORD = 'second'")
    with pytest.raises(pymysql.err.OperationalError):
        alice(console)
    assert ask(console, "SELECT 42", password="second") == ((42,),)
    console.ask("ALTER USER alice IDENTIFIED BY 'third'")
    assert ask(console, "SELECT 42", password="third") == ((42,),)
    assert refused(console, "SET PASSWORD FOR root = 'x'", password="third") == 1227


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("CREATE USER alice IDENTIFIED BY 'x'", 1396),
        ("CREATE USER root IDENTIFIED BY 'x'", Code.ROOT_IN_CONF.number),
        ("CREATE USER bob", Code.PASSWORD_NEEDED.number),
        ("CREATE USER bob IDENTIFIED WITH sha256_password BY 'x'", 1524),
        ("ALTER USER nobody IDENTIFIED BY 'x'", 1396),
        ("ALTER USER root IDENTIFIED BY 'x'", Code.ROOT_IN_CONF.number),
        ("DROP USER nobody", 1396),
        ("DROP USER root", Code.ROOT_IN_CONF.number),
        ("SET PASSWORD = 'x'", Code.ROOT_IN_CONF.number),
        ("GRANT SELECT ON demo.* TO root", Code.ROOT_IN_CONF.number),
        ("GRANT SELECT ON demo.* TO nobody", 1396),
        ("GRANT ADMIN_PRIV ON demo.* TO alice", Code.BAD_GRANT.number),
        ("GRANT SELECT ON JOB demo.one TO alice", Code.BAD_GRANT.number),
        ("REVOKE SELECT ON demo.* FROM alice", 1141),
        ("SHOW GRANTS FOR nobody", 1141),
    ],
)
def test_what_an_admin_cannot_do(console: Running, sql: str, number: int) -> None:
    """MySQL's error numbers where it has one; nothing has changed behind them."""
    with pytest.raises(pymysql.err.MySQLError) as caught:
        console.ask(sql)
    assert caught.value.args[0] == number
    assert [row[0] for row in console.ask("SHOW ALL GRANTS")] == ["'root'@'%'"]


def test_a_user_without_grants_sees_nothing(console: Running) -> None:
    """No database, table or job is there, whatever is asked."""
    assert ask(console, "SHOW DATABASES") == (("information_schema",),)
    assert ask(console, "SHOW SYNC JOB") == ()
    assert ask(console, "SELECT schema_name FROM information_schema.schemata") == (("information_schema",),)
    assert ask(console, "SELECT * FROM information_schema.columns WHERE table_schema <> 'information_schema'") == ()
    assert refused(console, "USE demo") == refused(console, "USE nothing") == 1049
    assert refused(console, "DESCRIBE demo.orders") == refused(console, "DESCRIBE demo.nothing") == 1142
    assert refused(console, "SELECT * FROM demo.orders") == refused(console, "SELECT * FROM demo.nothing") == 1142
    assert refused(console, "SHOW SYNC JOB FROM demo") == refused(console, "SHOW SYNC JOB FROM nothing") == 1049
    unknown = Code.UNKNOWN_JOB.number
    assert refused(console, "SHOW CREATE SYNC JOB demo.one") == unknown
    assert refused(console, "PAUSE SYNC JOB demo.one") == unknown


def test_a_right_that_lacks_on_a_job_is_told_of_that_job(console: Running) -> None:
    """Not of a table of its name."""
    console.ask("GRANT SELECT_PRIV ON demo.* TO alice")
    with pytest.raises(pymysql.err.OperationalError) as caught:
        ask(console, "PAUSE SYNC JOB demo.one")
    said = "LOAD command denied to user 'alice'@'127.0.0.1' for sync job 'one'"
    assert caught.value.args == (1142, said)


UNREACHED = [
    ("SELECT * FROM range(1)", 1227),
    ("SELECT upper('a') LIKE concat('%', 'A')", 1227),
    ("SELECT 1 FROM range(2) r JOIN demo.orders o ON true", 1142),
    ("EXPLAIN SELECT * FROM `demo`.`orders`", 1142),
    ("WITH c AS (SELECT id FROM orders) SELECT * FROM c", 1142),
    ("SELECT 1 +", 1227),
]


@pytest.mark.parametrize(("sql", "number"), UNREACHED)
def test_who_may_read_nothing_reaches_no_lake(console: Running, sql: str, number: int) -> None:
    """Not even to compute something from nothing: whatever a text could do to Spark, Spark does not see it. What needs
    no lake is answered, and with SELECT_PRIV on any table the engine is asked.
    """
    asked = len(console.frontend.queries.asked)
    console.ask("GRANT LOAD_PRIV ON demo.* TO alice")
    assert refused(console, sql) == number
    assert ask(console, "SELECT 1, @@version, user()")[0][0] == 1
    assert console.frontend.queries.asked[asked:] == []
    console.ask("GRANT SELECT ON demo.other TO alice")
    with contextlib.suppress(pymysql.err.MySQLError):
        ask(console, sql)
    assert len(console.frontend.queries.asked) == asked + 1


def told(console: Running, sql: str) -> str:
    with alice(console) as connection, connection.cursor() as cursor, pytest.raises(pymysql.err.MySQLError) as caught:
        cursor.execute(sql)
    return str(caught.value.args[1])


SLIPS = [  # and what to be let see, so that the name is told
    ("USE deno", "demo", "SELECT ON demo.orders"),
    ("PAUSE SYNC JOB demo.onee", "one", "LOAD_PRIV ON JOB demo.one"),
    ("DESCRIBE demo.peoples", "people", "SELECT ON demo.*"),
    ("DROP TABLE demo.peoples", "people", "DROP ON demo.*"),
    ("SHOW TABLES FROM deno", "demo", "SELECT ON demo.orders"),
]


@pytest.mark.parametrize(("sql", "name", "grant"), SLIPS)
def test_a_slip_is_told_the_name_that_was_meant_if_that_may_be_seen(
    console: Running, sql: str, name: str, grant: str
) -> None:
    """A database, table or job that the account has no grant for is not named, however near the slip was."""
    assert "did you mean" not in told(console, sql)
    console.ask(f"GRANT {grant} TO alice")
    assert told(console, sql).endswith(f"; did you mean '{name}'?")


def test_a_grant_for_one_table_names_no_other(console: Running) -> None:
    """Where a database is seen for the sake of one table, its other tables and jobs stay hidden."""
    console.ask("GRANT ALL ON demo.orders TO alice")
    console.ask("GRANT ALL ON demo.peoples TO alice")
    console.ask("GRANT LOAD_PRIV ON JOB demo.two TO alice")
    for sql in ("DESCRIBE demo.peoples", "DROP TABLE demo.peoples", "STOP SYNC JOB demo.onee"):
        assert "did you mean" not in told(console, sql)


CHANGES = [
    ("CREATE DATABASE new", 1044),
    ("DROP DATABASE demo FORCE", 1044),
    ("CREATE TABLE demo.new (id INT)", 1142),
    ("DROP TABLE demo.people", 1142),
    (CREATE.format(name="three"), 1044),
    (CREATE.replace("CREATE", "EXPLAIN").format(name="three"), 1044),
    (WHOLE, 1044),
    ("CREATE USER bob IDENTIFIED BY 'x'", 1227),
    ("ALTER USER root IDENTIFIED BY 'x'", 1227),
    ("DROP USER alice", 1227),
    ("GRANT ADMIN_PRIV ON *.* TO alice", 1227),
    ("REVOKE SELECT ON demo.* FROM alice", 1227),
    ("SHOW GRANTS FOR root", 1227),
    ("SHOW FRONTEND CONFIG", 1227),
    ("SHOW FRONTENDS", 1227),
    ('ADMIN SET FRONTEND CONFIG ("sync_commit_interval_second" = "1")', 1227),
]


@pytest.mark.parametrize(("sql", "number"), CHANGES)
def test_a_user_who_may_only_read_changes_nothing(console: Running, sql: str, number: int) -> None:
    """SELECT_PRIV on everything lets read, and nothing else."""
    console.ask("GRANT SELECT_PRIV ON *.* TO alice")
    assert len(ask(console, "SELECT * FROM demo.orders")) == 3
    assert refused(console, sql) == number


def test_a_whole_database_needs_tables_that_may_be_created(console: Running) -> None:
    """Its targets are made, so that LOAD_PRIV alone is not enough."""
    console.ask("GRANT LOAD_PRIV ON demo.* TO alice")
    assert refused(console, WHOLE) == 1044
    console.ask("GRANT CREATE_PRIV ON demo.* TO alice")
    assert not ask(console, WHOLE)


def test_who_may_alter_a_job_needs_the_targets_that_it_gets(console: Running) -> None:
    """The right on a job changes it; for a table that it is to write, or make, the rights of CREATE SYNC are needed."""
    console.ask("GRANT LOAD_PRIV ON JOB demo.one TO alice")
    assert not ask(console, "ALTER SYNC JOB demo.one RESYNC TABLE shop.orders")
    one, whole = "FROM shop.items INTO people", "FROM shop.* INTO demo.*"
    assert refused(console, f"ALTER SYNC JOB demo.one ADD TABLE {one}") == 1142
    console.ask("GRANT LOAD_PRIV ON demo.people TO alice")
    assert not ask(console, f"ALTER SYNC JOB demo.one ADD TABLE {one}")
    assert refused(console, f"ALTER SYNC JOB demo.one ADD TABLE {whole}") == 1044
    assert refused(console, f"ALTER SYNC JOB demo.two ADD TABLE {one}") == Code.UNKNOWN_JOB.number


@pytest.mark.parametrize(
    ("grant", "allowed"),
    [
        ("CREATE_PRIV ON new.*", ["CREATE DATABASE new", "CREATE TABLE new.t (id INT)", "USE new"]),
        ("CREATE_PRIV ON demo.new", ["CREATE TABLE demo.new (id INT)", "DESCRIBE demo.new"]),
        ("DROP_PRIV ON demo.*", ["DROP TABLE demo.people", "DROP DATABASE demo FORCE"]),
        ("LOAD_PRIV ON demo.*", [CREATE.format(name="three"), "PAUSE SYNC JOB demo.one", "STOP SYNC JOB demo.two"]),
        ("LOAD_PRIV ON JOB demo.one", ["PAUSE SYNC JOB demo.one", "SHOW CREATE SYNC JOB demo.one"]),
        (
            "NODE_PRIV ON *.*",
            ["SHOW FRONTENDS", 'ADMIN SET FRONTEND CONFIG ("query_port" = "1")'],
        ),
        ("ADMIN_PRIV ON *.*", ["CREATE USER bob IDENTIFIED BY 'x'", "GRANT ALL ON *.* TO bob", "DROP USER bob"]),
        ("ALL ON *.*", ["SHOW GRANTS FOR root", "DROP TABLE demo.people"]),
    ],
)
def test_a_grant_opens_what_it_says(console: Running, grant: str, allowed: list[str]) -> None:
    """At once, also for a connection that is open; REVOKE closes it again at once."""
    with alice(console) as connection, connection.cursor() as cursor:
        console.ask(f"GRANT {grant} TO alice")
        for sql in allowed:
            cursor.execute(sql)
        console.ask(f"REVOKE ALL ON {grant.partition(' ON ')[2]} FROM alice")
        with pytest.raises(pymysql.err.MySQLError):
            cursor.execute(allowed[0])


def test_a_grant_shows_what_is_in_it_alone(console: Running) -> None:
    """One table and one job of a database: the others are not there, in SHOW and in information_schema alike."""
    console.ask("GRANT SELECT ON demo.orders TO alice")
    console.ask("GRANT LOAD_PRIV ON JOB demo.one TO alice")
    assert ask(console, "SHOW DATABASES") == (("information_schema",), ("demo",))
    assert ask(console, "SHOW TABLES", database="demo") == (("orders",),)
    where = "WHERE table_schema = 'demo'"
    assert ask(console, f"SELECT table_name FROM information_schema.tables {where}") == (("orders",),)
    assert {row[0] for row in ask(console, f"SELECT table_name FROM information_schema.columns {where}")} == {"orders"}
    assert [row[1] for row in ask(console, "SHOW SYNC JOB FROM demo")] == ["one"]
    assert refused(console, "SELECT * FROM demo.people") == 1142
    assert refused(console, "STOP SYNC JOB demo.two") == Code.UNKNOWN_JOB.number


DROPPING = ' PROPERTIES ("on_drop_table" = "drop")'


@pytest.mark.parametrize(
    ("sql", "scope"),
    [
        (CREATE.format(name="three") + DROPPING, "demo.orders"),
        (CREATE.replace("CREATE", "EXPLAIN").format(name="three") + DROPPING, "demo.orders"),
        (WHOLE + DROPPING, "demo.*"),
        ('ALTER SYNC JOB demo.one SET ("on_drop_table" = "drop")', "demo.orders"),
        ('ALTER SYNC JOB demo.wide SET ("on_drop_table" = "drop")', "demo.*"),
        ("ALTER SYNC JOB demo.dropping ADD TABLE FROM shop.more INTO orders", "demo.orders"),
        ("ALTER SYNC JOB demo.dropping ADD TABLE FROM shop.* INTO demo.*", "demo.*"),
    ],
)
def test_a_job_drops_only_what_its_account_may_drop(console: Running, sql: str, scope: str) -> None:
    """What drops its targets with its source tables needs DROP_PRIV on them, at CREATE, SET and ADD TABLE; a job that
    keeps them does not.
    """
    console.ask(WHOLE.replace("all_of_it", "wide"))
    console.ask(CREATE.format(name="dropping").replace("INTO orders", "INTO people") + DROPPING)
    console.ask("GRANT LOAD_PRIV, CREATE_PRIV ON demo.* TO alice")
    console.ask("GRANT DROP_PRIV ON demo.people TO alice")
    with pytest.raises(pymysql.err.MySQLError, match=r"DROP command denied|Access denied") as caught:
        ask(console, sql)
    assert int(caught.value.args[0]) in {1044, 1142}
    assert caught.value.args[1].endswith('"on_drop_table" = "drop" needs what DROP TABLE of the job\'s targets needs')
    ask(console, sql.replace('"drop"', '"keep"').replace("demo.dropping", "demo.one"))
    console.ask(f"GRANT DROP_PRIV ON {scope} TO alice")
    ask(console, sql.replace("demo.three", "demo.four").replace("all_of_it", "all_of_them"))


@pytest.mark.parametrize(
    ("grant", "shown"),
    [
        ("LOAD_PRIV ON JOB demo.one", False),
        ("ALL ON demo.people", False),
        ("LOAD_PRIV ON demo.*", False),
        ("SELECT ON demo.orders", True),
        ("SELECT ON demo.*", True),
    ],
)
def test_a_dead_letter_shows_its_row_to_who_may_read_the_target(console: Running, *, grant: str, shown: bool) -> None:
    """Who sees the job alone is told that there is one, of which column and why, and not what the row has."""
    console.ask("GRANT LOAD_PRIV ON JOB demo.job1 TO alice")
    console.ask(f"GRANT {grant} TO alice")
    [told] = ask(console, "SELECT * FROM information_schema.sync_dead_letters")
    assert ("a secret" in str(told)) is shown
    assert told[4:10] == ("shop", "orders", "demo", "orders", "INSERT", "status")
    assert (told[10] is None, told[12] is None, told[11]) == (not shown, not shown, "it is too long")


def test_show_grants(console: Running) -> None:
    """The statements that would make them: one's own, a user's, everybody's."""
    for grant in ("SELECT, LOAD_PRIV ON demo.*", "DROP ON demo.orders", "LOAD_PRIV ON JOB demo.one"):
        console.ask(f"GRANT {grant} TO alice")
    expected = (
        "GRANT LOAD_PRIV, SELECT_PRIV ON `demo`.* TO 'alice'@'%'",
        "GRANT LOAD_PRIV ON JOB `demo`.`one` TO 'alice'@'%'",
        "GRANT DROP_PRIV ON `demo`.`orders` TO 'alice'@'%'",
    )
    assert tuple(row[0] for row in ask(console, "SHOW GRANTS")) == expected
    assert tuple(row[0] for row in console.ask("SHOW GRANTS FOR alice")) == expected
    assert console.ask("SHOW GRANTS") == (("GRANT ADMIN_PRIV ON *.* TO 'root'@'%'",),)
    assert [row[0] for row in console.ask("SHOW ALL GRANTS")] == ["'root'@'%'", *["'alice'@'%'"] * 3]
    assert {row[0] for row in ask(console, "SHOW ALL GRANTS")} == {"'alice'@'%'"}
    schema = ask(console, "SELECT privilege_type FROM information_schema.schema_privileges ORDER BY 1")
    assert schema == (("LOAD_PRIV",), ("SELECT_PRIV",))


@pytest.mark.parametrize(
    "odd", ["it's", "a`b", "a``b", 'a"b', "a\\", "\\'; DROP", "two\nlines", "x'@'y", "` TO bob -- ", "%_"]
)
def test_a_grant_that_is_shown_makes_the_same_grant_when_it_is_typed(console: Running, odd: str) -> None:
    """Whatever quotes, backquotes and backslashes are in the names of an account, a database, a table and a job."""
    user, name = UserName(name=odd), odd.replace("\n", " ")
    scopes = [
        GrantScope(level=GrantLevel.DATABASE, db=name),
        GrantScope(level=GrantLevel.TABLE, db=name, name=name),
        GrantScope(level=GrantLevel.JOB, db=name, name=name),
    ]
    console.ask(CreateUser(user=user, identified=Identified(password="wonder")).sql())
    for scope in scopes:
        console.ask(Grant(privileges=("LOAD_PRIV",), on=scope, user=user).sql())
    shown = [row[0] for row in console.ask(ShowGrants(user=user).sql())]
    meant = [Grant(privileges=("LOAD_PRIV",), on=scope, user=user) for scope in scopes]
    read = [parsed.statement for text in shown for parsed in syncsql.parse(text)]
    assert sorted(map(str, read)) == sorted(map(str, meant))
    for text in shown:
        console.ask(text)
    assert [row[0] for row in console.ask(ShowGrants(user=user).sql())] == shown


def test_connections_of_others_are_not_there(console: Running) -> None:
    """A user sees and kills its own connections, an operator everybody's."""
    with console.connect() as root, alice(console) as own:
        shown = ask(console, "SHOW PROCESSLIST")
        assert {row[1] for row in shown} == {"alice"}
        assert refused(console, f"KILL {id_of(root)}") == 1094
        root.ping(reconnect=False)
        ask(console, f"KILL {id_of(own)}")
        console.ask("GRANT NODE_PRIV ON *.* TO alice")
        assert {row[1] for row in ask(console, "SHOW PROCESSLIST")} == {"alice", "root"}
        ask(console, f"KILL QUERY {id_of(root)}")
        own._force_close()  # type: ignore[attr-defined]


def test_a_dropped_user_may_nothing_more(console: Running) -> None:
    """A connection that is open ends: it gets nothing of what a later account of the same name may do. The one in which
    an administrator drops itself stays, without a right; so do those of others.
    """
    console.ask("CREATE USER bob IDENTIFIED BY 'x'")
    console.ask("GRANT ALL ON *.* TO alice")
    connection, own = alice(console), alice(console)
    with console.connect(user="bob", password="x") as bob, own.cursor() as cursor:
        cursor.execute("DROP USER alice")
        console.ask("CREATE USER alice IDENTIFIED BY 'new'")
        with pytest.raises(pymysql.err.MySQLError, match="1142"):
            cursor.execute("SELECT * FROM demo.orders")
        with pytest.raises(pymysql.err.OperationalError):
            connection.ping(reconnect=False)
        bob.ping(reconnect=False)
    with pytest.raises(pymysql.err.OperationalError):
        alice(console)


def test_a_change_of_user_changes_the_rights(console: Running) -> None:
    """COM_CHANGE_USER to a user without grants leaves nothing of root's; a wrong password ends the connection."""
    ask(console, "SELECT 42")  # from here on alice's scramble is enough
    for password, last in ((b"wonder", b"\0"), (b"other", b"\xff")):
        with console.raw() as raw:
            raw.write(raw.hello(scramble_caching_sha2(PASSWORD.encode(), raw.greet())))
            assert (raw.read(), raw.read()[:1]) == (b"\x01\x03", b"\0")
            assert raw.command(b"\x03SHOW FRONTEND CONFIG")[:1] == b"\x06"
            while raw.read()[:1] != b"\xfe":
                pass
            raw.sequence = -1
            raw.write(b"\x11alice\0\0\0\x2d\0caching_sha2_password\0")
            raw.write(scramble_caching_sha2(password, raw.switched()))
            if password == b"other":
                assert raw.read() == b"\x01\x04"  # the password in full, which is not sent
                raw.write(b"other\0")
            else:
                assert raw.read() == b"\x01\x03"
            assert raw.read()[:1] == last
            answer = raw.command(b"\x03SHOW FRONTEND CONFIG")
            assert answer[:3] == b"\xff\xcb\x04" if last == b"\0" else not answer


def test_tls_can_be_required(console: Running) -> None:
    """With require_secure_transport a client without TLS is refused before it says who it is."""
    console.frontend.tls_only = True
    with pytest.raises(pymysql.err.OperationalError) as caught:
        console.connect()
    assert caught.value.args[0] == 3159
    assert console.ask("SELECT 42", ssl_disabled=False) == ((42,),)


def test_statements_are_audited(console: Running, caplog: pytest.LogCaptureFixture) -> None:
    """Who, from where, what, how long, how many rows, which error; a secret never."""
    caplog.set_level(logging.INFO, logger="syncmgr.audit")
    console.ask("SELECT * FROM demo.orders", database="demo")
    refused(console, "SELECT * FROM demo.orders")
    console.ask("CREATE USER bob IDENTIFIED BY 'hidden'")
    with pytest.raises(pymysql.err.OperationalError):
        alice(console, password="other")
    lines = [json.loads(record.message) for record in caplog.records if record.name == "syncmgr.audit"]
    statements = [line for line in lines if "demo.orders" in line.get("statement", "")]
    found, denied = statements
    assert (found["user"], found["host"], found["db"], found["rows"], found["error"]) == (
        *("'root'@'%'", "127.0.0.1", "demo", 3, None),
    )
    assert found["second"] >= 0
    assert (denied["user"], denied["error"], denied["rows"]) == ("'alice'@'%'", 1142, 0)
    assert any(line.get("event") == "login" and line["error"] == 1045 for line in lines)
    assert not any("hidden" in record.message for record in caplog.records)


def test_a_query_of_the_lake_knows_its_asker(console: Running) -> None:
    """CURRENT_USER() beside a table is the account, as it is without one."""
    console.ask("GRANT SELECT ON demo.* TO alice")
    console.ask("GRANT SELECT ON demo.people TO alice")
    [(asked,)] = ask(console, "SELECT CURRENT_USER() = owner OR owner = user() FROM demo.people")
    assert asked == "SELECT 'alice@%' = owner OR owner = 'alice@127.0.0.1' FROM demo.people"


def test_a_job_counts_for_the_account_that_creates_it(console: Running) -> None:
    """And one that was created with ADMIN_PRIV is not bounded by that."""
    jobs = console.frontend.jobs
    assert jobs.creators == [("'root'@'%'", False)] * 2
    console.ask("GRANT LOAD_PRIV ON demo.* TO alice")
    ask(console, CREATE.format(name="three"))
    console.ask("GRANT ADMIN_PRIV ON *.* TO alice")
    ask(console, CREATE.format(name="four"))
    assert jobs.creators[2:] == [("'alice'@'%'", True), ("'alice'@'%'", False)]
