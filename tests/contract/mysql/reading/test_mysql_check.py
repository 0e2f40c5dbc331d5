"""What CREATE SYNC asks a server, and what each bad answer is called."""

import contextlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Order, Position, compare
from syncmgr.job.types.derived_type import derived
from syncmgr.job.types.fitting import Fit, fit
from syncmgr.job.types.schema import SourceColumn, TargetType
from syncmgr.sources.mysql.address import connect, naming_failures, query
from syncmgr.sources.mysql.binlog.dump.stream import BinlogStream, StreamOptions
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.check import Locked, inspect_server, never
from syncmgr.sources.mysql.server.exact_point import check_exact
from syncmgr.sources.mysql.server.list_tables import found_on
from tests.contract.mysql_reader import address, database, facts, latest, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import PASSWORD, MysqlServer, binary, free_port
from tests.support.until import until


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    with database(any_server) as name:
        any_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        yield name


def refused(server: MysqlServer, db: str, start: str = "latest", **who: object) -> SyncError:
    with pytest.raises(SyncError) as caught:
        inspect_server(address(server, **who), [(db, "t")], start, 0)
    return caught.value


def test_a_question_that_waits_for_a_lock_ends(any_server: MysqlServer, db: str) -> None:
    """It says for how long it has waited, and no session of ours stays at the server; as soon as the one that has the
    table locked has ended, as the advice says, it is answered.
    """
    asks = replace(address(any_server), query_timeout=3.0)
    holder = any_server.connect()
    with contextlib.closing(connect(asks)) as connection:
        with holder, holder.cursor() as cursor:
            cursor.execute(f"LOCK TABLES {db}.t WRITE")
            with pytest.raises(SyncError) as caught, naming_failures(asks):
                query(connection, f"SELECT * FROM {db}.t")
            assert caught.value.code is Code.SOURCE_LOCKED
            assert "waited 1 seconds for a lock" in str(caught.value)
            waiting = "SELECT count(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for%lock%'"
            assert any_server.run(waiting) == [(0,)]
        assert query(connection, f"SELECT * FROM {db}.t") == []


def test_a_table_as_the_server_tells_it(any_server: MysqlServer, db: str) -> None:
    """Types, sizes, signs, charsets, labels and keys come as the table was made."""
    any_server.run(
        f"CREATE TABLE {db}.u (a INT UNSIGNED NOT NULL, b VARCHAR(7) CHARACTER SET latin1, c DECIMAL(20,3) NOT NULL,"
        " d ENUM('x','it''s','b\\\\s', 'unsigned'), e DATETIME(4), f BIT(9), g BINARY(3), h TEXT, i POINT,"
        " PRIMARY KEY (c, a), UNIQUE KEY n (b), UNIQUE KEY k (a))",
    )
    known = facts(any_server, [(db, "u")])
    charset = known.tables[0].columns[7].charset
    assert known.tables[0].columns == (
        SourceColumn(name="a", type="int", unsigned=True, nullable=False, key=2),
        SourceColumn(name="b", type="varchar", length=7, charset="latin1"),
        SourceColumn(name="c", type="decimal", precision=20, scale=3, nullable=False, key=1),
        SourceColumn(name="d", type="enum", members=("x", "it's", "b\\s", "unsigned"), charset=charset),
        SourceColumn(name="e", type="datetime", precision=4),
        SourceColumn(name="f", type="bit", length=9),
        SourceColumn(name="g", type="binary", length=3),
        SourceColumn(name="h", type="text", charset="utf8mb4"),
        SourceColumn(name="i", type="point"),
    )
    assert known.unique_keys == ((("c", "a"), ("a",)),)
    assert known.cascades == (False,)


@ALIKE
def test_cascading_foreign_keys_are_told(any_server: MysqlServer, db: str) -> None:
    """A table that a foreign key changes beside its own statements is marked."""
    any_server.run(
        f"CREATE TABLE {db}.child (id INT PRIMARY KEY, p BIGINT,"
        f" FOREIGN KEY (p) REFERENCES {db}.t (id) ON DELETE CASCADE)",
    )
    assert facts(any_server, [(db, "t"), (db, "child")]).cascades == (False, True)
    any_server.run(f"DROP TABLE {db}.child")


@ALIKE
def test_tables_that_share_rows_are_refused(any_server: MysqlServer, db: str) -> None:
    """What is written through a MERGE table never comes by the name of the table that has the rows."""
    any_server.run(f"CREATE TABLE {db}.part (id INT PRIMARY KEY) ENGINE=MyISAM")
    assert facts(any_server, [(db, "part")]).tables[0].name == "part"
    any_server.run(f"CREATE TABLE {db}.other (id INT PRIMARY KEY) ENGINE=MyISAM")
    whole = f"CREATE TABLE {db}.whole (id INT NOT NULL, KEY (id)) ENGINE=MERGE"
    any_server.run(f"{whole} UNION=({db}.part, {db}.t)")
    assert facts(any_server, [(db, "part")]).tables, "it cannot be opened, so nobody writes through it"
    any_server.run(f"DROP TABLE {db}.whole", f"{whole} UNION=({db}.other, {db}.part)")
    for table, reason in (("part", f"DROP TABLE {db}.whole"), ("whole", "is a MERGE table")):
        with pytest.raises(SyncError, match=reason) as caught:
            facts(any_server, [(db, table)])
        assert caught.value.code is Code.SOURCE_UNSUPPORTED
    assert facts(any_server, [(db, "t")]).tables[0].name == "t"
    any_server.run(f"DROP TABLE {db}.whole, {db}.part, {db}.other")


def test_a_table_with_system_versions_is_refused_and_not_passed_over(any_server: MysqlServer, db: str) -> None:
    """A pattern finds it like any other table, so that CREATE SYNC says why it is not synced."""
    if any_server.flavour == "mysql":
        pytest.skip("MariaDB alone has them")
    any_server.run(
        f"CREATE TABLE {db}.past (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", f"CREATE VIEW {db}.v AS SELECT 1"
    )
    assert set(found_on(address(any_server), [db])) == {(db, "t"), (db, "past")}
    with pytest.raises(SyncError, match="past is system-versioned") as caught:
        facts(any_server, [(db, "past")])
    assert caught.value.code is Code.SOURCE_UNSUPPORTED


def test_old_fractions_are_refused(mariadb_server: MysqlServer) -> None:
    """Their width in the binlog depends on the fraction: rows would be read at wrong places, in silence. Where a table
    becomes such a one while it is read, it stops.
    """
    cure = "SET GLOBAL mysql56_temporal_format = ON"
    with database(mariadb_server) as db:
        mariadb_server.run(f"CREATE TABLE {db}.later (id INT PRIMARY KEY, v TIME(3))")
        start = facts(mariadb_server, [(db, "later")])
        known = Subscription(columns=("id",), keys=("id",), schema=start.tables[0])
        with mariadb_server.global_variable("mysql56_temporal_format", "OFF"):
            mariadb_server.run(f"CREATE TABLE {db}.old (id INT PRIMARY KEY, v TIME(3))")
            mariadb_server.run(f"CREATE TABLE {db}.whole (id INT PRIMARY KEY, v TIME)")
            with pytest.raises(SyncError, match=rf"{db}.old.v has fractions .* of MariaDB 5.3; {cure}") as caught:
                facts(mariadb_server, [(db, "old")])
            assert caught.value.code is Code.SOURCE_UNSUPPORTED
            facts(mariadb_server, [(db, "whole")])
            with reading(mariadb_server, {(db, "later"): known}, start.start) as reader:
                mariadb_server.run(f"ALTER TABLE {db}.later FORCE", f"INSERT INTO {db}.later VALUES (1, '10:11:12.5')")
                error = reader.until_error()
            assert (error.code, cure in str(error)) == (Code.SOURCE_SCHEMA, True)


def test_starts(any_server: MysqlServer, db: str) -> None:
    """latest, earliest, a GTID set and file:position all lead where they say."""
    now = latest(any_server)
    any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')")
    after = latest(any_server)
    assert compare(now, after) is Order.BEFORE
    oldest = any_server.run("SHOW BINARY LOGS")[0][0]
    earliest = facts(any_server, start="EARLIEST").start
    assert replace(earliest, created=0) == Position(file=oldest, offset=4, server=now.server)
    assert earliest.created
    by_file = facts(any_server, start=f"{now.file}:{now.offset}").start
    by_gtid = facts(any_server, start=now.gtids).start
    for start in (by_file, by_gtid):
        with reading(any_server, {(db, "t"): Subscription(columns=("id",))}, start) as reader:
            until(lambda: reader.get() and reader.rows((db, "t")))
            assert [row["id"] for row in reader.rows((db, "t"))] == [1]


@pytest.mark.parametrize("start", ["", "soon", "binlog:4", "1-2", "f00:1", "snap"])
@ALIKE
def test_a_start_that_is_none(any_server: MysqlServer, db: str, start: str) -> None:
    """Anything else is a wrong property that says what would be right."""
    assert refused(any_server, db, start).code is Code.PROPERTY_WRONG


def test_an_older_start_needs_full_metadata(any_server: MysqlServer, db: str) -> None:
    """Only at the end of the binlog is today's schema known to hold."""
    with any_server.global_variable("binlog_row_metadata", "'MINIMAL'"):
        assert facts(any_server, [(db, "t")]).full_metadata is False
        error = refused(any_server, db, "earliest")
    assert error.code is Code.PROPERTY_WRONG
    assert "binlog_row_metadata" in str(error)


def test_a_position_that_is_gone(any_server: MysqlServer, db: str) -> None:
    """A file that was never there, and a GTID set from elsewhere, are SOURCE_POSITION_LOST."""
    assert refused(any_server, db, "binlog.999999:4").code is Code.SOURCE_POSITION_LOST


def test_settings_that_do_not_do(any_server: MysqlServer, db: str) -> None:
    """Each setting that makes rows unreadable has its own error."""
    with any_server.global_variable("binlog_format", "'MIXED'"):
        assert refused(any_server, db).code is Code.SOURCE_NOT_ROW
    with any_server.global_variable("binlog_row_image", "'MINIMAL'"):
        assert refused(any_server, db).code is Code.SOURCE_ROW_IMAGE


def test_a_server_without_binlog(tmp_path: Path) -> None:
    """log_bin off is told by name."""
    if binary("mariadb") is None:
        pytest.skip("no mariadb server is installed")
    server = MysqlServer(tmp_path, "mariadb")
    server._variables.pop("log-bin")
    server._create_users = lambda: None  # type: ignore[method-assign]  # RESET MASTER needs a binlog
    server.start()
    try:
        with pytest.raises(SyncError) as caught:
            inspect_server(address(server, user="root", password=""), [], "latest", 0)
        assert caught.value.code is Code.SOURCE_BINLOG_OFF
    finally:
        server.stop()


@contextmanager
def poor_user(server: MysqlServer, *grants: str) -> Iterator[str]:
    """An account that may connect, and what it is granted."""
    name = f"u{uuid4().hex[:12]}"
    server.run(
        f"CREATE USER {name} IDENTIFIED BY '{PASSWORD}'", *(f"GRANT {each.format(user=name)}" for each in grants)
    )
    try:
        yield name
    finally:
        server.run(f"DROP USER {name}")


def granted(server: MysqlServer, error: SyncError) -> None:
    """As an operator would, from the message."""
    assert error.code is Code.SOURCE_GRANT_MISSING
    assert str(error).endswith(f"; run: {error.context['remedy']}")
    server.run(*str(error.context["remedy"]).split("; "))


def test_who_is_let_in(any_server: MysqlServer, db: str) -> None:
    """A wrong password and an unknown user are told apart from a user who lacks grants."""
    assert refused(any_server, db, password="wrong").code is Code.SOURCE_ACCESS_DENIED
    assert refused(any_server, db, user="nobody").code is Code.SOURCE_ACCESS_DENIED


def test_all_missing_grants_are_told_at_once(any_server: MysqlServer, db: str) -> None:
    """Whoever types the GRANT of the first message needs no other one; MySQL takes one statement for each level."""
    any_server.run(f"CREATE TABLE {db}.u (id INT PRIMARY KEY)")
    tables = [(db, "t"), (db, "u")]
    with poor_user(any_server) as user:
        with pytest.raises(SyncError) as caught:
            inspect_server(address(any_server, user=user), tables, "latest", 0)
        more = ", SLAVE MONITOR" if any_server.flavour == "mariadb" else ""  # log_slave_updates is OFF by default
        assert caught.value.context["grant"] == (
            f"REPLICATION SLAVE, REPLICATION CLIENT{more}, SELECT on {db}.t, SELECT on {db}.u"
        )
        assert caught.value.context["remedy"] == (
            f"GRANT REPLICATION SLAVE, REPLICATION CLIENT{more} ON *.* TO '{user}'@'%'; "
            f"GRANT SELECT ON `{db}`.`t` TO '{user}'@'%'; GRANT SELECT ON `{db}`.`u` TO '{user}'@'%'"
        )
        granted(any_server, caught.value)
        assert len(inspect_server(address(any_server, user=user), tables, "latest", 0).tables) == 2


def test_a_running_job_is_told_all_missing_grants_at_once(any_server: MysqlServer, db: str) -> None:
    """As CREATE SYNC is: whoever types the GRANT of the first message needs no other one."""
    more = ", SLAVE MONITOR" if any_server.flavour == "mariadb" else ""
    with poor_user(any_server) as user:
        who, options = address(any_server, user=user), StreamOptions(server_id=4723)
        with pytest.raises(SyncError) as caught:
            BinlogStream(who, options, latest(any_server))
        assert caught.value.context["grant"] == f"REPLICATION SLAVE, REPLICATION CLIENT{more}"
        granted(any_server, caught.value)
        BinlogStream(who, options, latest(any_server)).close()


def test_the_grant_to_lock_is_told_beside_the_others(any_server: MysqlServer, db: str) -> None:
    """Of the tables that will be locked alone, once for their database."""
    any_server.run(f"CREATE TABLE {db}.log (v INT)", f"CREATE TABLE {db}.audit (v INT)")
    tables = [(db, "t"), (db, "log"), (db, "audit")]
    with poor_user(any_server, f"SELECT ON {db}.* TO {{user}}") as user:

        def inspect(locked: Locked) -> None:
            inspect_server(address(any_server, user=user), tables, "latest", 0, locked=locked)

        with pytest.raises(SyncError) as caught:
            inspect(never)
        assert "LOCK TABLES" not in str(caught.value)
        with pytest.raises(SyncError) as caught:
            inspect(lambda _, schema, keys: schema is not None and not keys)
        assert str(caught.value.context["grant"]).endswith(f", LOCK TABLES on {db}")
        assert f"; GRANT LOCK TABLES ON `{db}`.* TO" in str(caught.value)
        granted(any_server, caught.value)
        inspect(lambda *_: True)
        schemas = [each for each in facts(any_server, tables).tables if each.name != "t"]
        check_exact(address(any_server, user=user), schemas)


@ALIKE
def test_tables_that_are_not_there(any_server: MysqlServer, db: str) -> None:
    """An unknown database or table is named; a view is no table."""
    any_server.run(f"CREATE VIEW {db}.w AS SELECT 1 a")
    for table in ((db, "none"), ("none", "t")):
        with pytest.raises(SyncError) as caught:
            facts(any_server, [table])
        assert caught.value.code is Code.SOURCE_UNKNOWN_TABLE
        assert caught.value.context["table"] == ".".join(table)
    with pytest.raises(SyncError) as caught:
        facts(any_server, [(db, "w")])
    assert caught.value.code is Code.SOURCE_UNSUPPORTED


def test_nobody_answers() -> None:
    """A closed port and a server that says nothing are both SOURCE_UNREACHABLE, within the time-out."""
    closed = MysqlServer(Path("/nowhere"))
    closed.port = free_port()
    with pytest.raises(SyncError) as caught:
        inspect_server(address(closed), [], "latest", 0)
    assert caught.value.code is Code.SOURCE_UNREACHABLE
    with socket.create_server(("127.0.0.1", 0)) as silent:
        closed.port = silent.getsockname()[1]
        with pytest.raises(SyncError) as caught:
            inspect_server(address(closed, connect_timeout=0.5, query_timeout=0.5), [], "latest", 0)
        assert caught.value.code is Code.SOURCE_UNREACHABLE


def test_a_server_id_in_use(mysql_server: MysqlServer) -> None:
    """The server's own id and that of a connected replica are refused."""
    with database(mysql_server) as db:
        mysql_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY)")
        for taken in (1, 4711):
            with reading(mysql_server, {(db, "t"): Subscription(columns=("id",))}) as reader:
                reader.get()
                with pytest.raises(SyncError) as caught:
                    inspect_server(address(mysql_server), [(db, "t")], "latest", taken)
                assert caught.value.code is Code.SOURCE_SERVER_ID


@pytest.mark.parametrize("kind", ["ENUM('a','b')", "SET('a','b')"])
def test_labels_that_are_bytes_are_told_before_a_row_comes(any_server: MysqlServer, kind: str) -> None:
    """The binlog has them as bytes, which no row of them could be read as: no target takes such a column."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, e {kind} CHARACTER SET binary, f {kind})")
        [table] = facts(any_server, [(db, "t")]).tables
    bytes_, text = table.columns[1:]
    assert (bytes_.charset, derived(bytes_)) == ("binary", None)
    how, why = fit(bytes_, TargetType(name="STRING"))
    assert (how, "MODIFY it to another charset at the source" in why) == (Fit.NEVER, True)
    assert derived(text) == TargetType(name="STRING")
