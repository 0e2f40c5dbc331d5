"""DDL in the stream of real servers: where it stands, what is told of it, how reading goes on behind it."""

import re
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Final

import pymysql
import pytest

from mysqlddl.nodes import AlterTable
from mysqlddl.reading import UnclearError, read
from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.description import Shadow
from syncmgr.job.channel.patterns import DatabasePattern
from syncmgr.job.channel.table_pattern import PatternKind, TablePattern
from syncmgr.job.ddl.alteration import altered
from syncmgr.job.ddl.session_zone import SessionZone
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.position import Order, Position, compare
from syncmgr.job.rows.batch import OP, ChangeKind
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.messages import WorkerChannel
from syncmgr.sources.mysql.binlog.subscriptions import Subscription, subscriptions
from syncmgr.sources.mysql.source import SourceOptions
from tests.conftest import need_names, need_own_binlog
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.grammar.mysqlddl.shown import MODES, cases
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed, on_servers
from tests.support.until import until

pytestmark = pytest.mark.mysql
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02))
SYNTAX, EMPTY = 1064, 1065
NEVER_DONE: Final = frozenset({"-- nothing", "CREATE TABLE t", "SET STATEMENT x=1"})  # though a parser takes them
WANTED: Final = Subscription(columns=("id", "v"), keys=("id",))


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database with table t (id, v)."""
    with database(any_server) as name:
        any_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        yield name


def channel_of(table: SourceTable) -> WorkerChannel:
    return WorkerChannel(
        token="token",
        source=table,
        reads=tuple(column.name for column in table.columns),
        source_keys=("id",),
        append_on_change=AppendOnChange.ERROR,
    )


@ALIKE
def test_ddl_stands_between_two_batches(any_server: MysqlServer, db: str) -> None:
    """It ends the batch before itself and has a position behind itself; from either, all rows behind it are read."""
    need_names(any_server)  # nobody follows the statement
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(
            f"INSERT INTO {db}.t VALUES (1, 'old')",
            f"ALTER TABLE {db}.t ADD COLUMN w INT FIRST, ADD INDEX (v), MODIFY v VARCHAR(200)",
            f"INSERT INTO {db}.t VALUES (7, 2, 'new')",
            f"CREATE INDEX i ON {db}.t (w)",
            f"CREATE TABLE {db}.other (id INT)",
            f"CREATE TABLE {db}._t_new SELECT * FROM {db}.t",
            f"ALTER TABLE {db}.t DROP COLUMN w",
            f"INSERT INTO {db}.t VALUES (3, 'last')",
        )
        reader.until(latest(any_server))
        assert [row["v"] for row in reader.rows((db, "t"))] == ["old", "new", "last"]
        met = [(batch.end, batch.ddl) for batch in reader.batches if batch.ddl]
        assert [ddl.statement.split()[0] for _, ddl in met] == ["ALTER", "CREATE", "ALTER"]
        assert not any(batch.open for batch in reader.batches if batch.ddl)
    end, ddl = met[0]
    assert end is not None
    assert ddl.behind is not None
    assert compare(end, ddl.behind) is Order.BEFORE
    for again in (end, ddl.behind):
        with reading(any_server, {(db, "t"): WANTED}, again, options=QUICK) as reader:
            reader.until(latest(any_server))
            assert [row["v"] for row in reader.rows((db, "t"))] == ["new", "last"]


@ALIKE
def test_a_table_that_comes_with_its_rows_is_met_before_them(any_server: MysqlServer, db: str) -> None:
    """CREATE TABLE ... SELECT is one transaction: behind its DDL its rows are read, once, also from there on."""
    before = channel_of(facts(any_server, [(db, "t")]).tables[0])
    any_server.run(f"INSERT INTO {db}.t VALUES (1, 'old')", f"CREATE TABLE {db}.other SELECT * FROM {db}.t")
    start = latest(any_server)
    any_server.run(
        f"DROP TABLE {db}.t", f"CREATE TABLE {db}.t (PRIMARY KEY (id)) SELECT id + 1 AS id, v FROM {db}.other"
    )
    any_server.run(f"INSERT INTO {db}.t VALUES (3, 'last')")
    wanted = subscriptions([before], Position())
    with reading(any_server, wanted, start, options=QUICK) as reader:
        met = []
        for _ in range(2):
            until(lambda: reader.get() and reader.batches[-1].ddl)
            met.append(reader.batches[-1].ddl)
            reader.source.follow([before])
        reader.until(latest(any_server))
        assert [row["v"] for row in reader.rows((db, "t"))] == ["old", "last"]
        assert reader.batches[-1].end is not None
        assert reader.batches[-1].end.ordinal == 0
    behind = met[1].behind
    assert (behind.ordinal, behind.whole) == (1, False)
    assert compare(met[0].behind, behind) is Order.BEFORE
    with reading(any_server, wanted, behind, options=QUICK) as reader:
        reader.until(latest(any_server))
        assert [row["v"] for row in reader.rows((db, "t"))] == ["old", "last"]
        assert not any(batch.ddl for batch in reader.batches)


def test_an_alter_in_two_phases_stands_where_it_ends(any_server: MysqlServer, db: str) -> None:
    """MariaDB writes it when it begins and again when it is done, or has failed; it is met once, if it is done."""
    if any_server.flavour != "mariadb":
        pytest.skip("MariaDB's own")
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'twin'), (2, 'twin')")
        with closing(any_server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SET binlog_alter_two_phase = 1")
            with pytest.raises(pymysql.err.IntegrityError):
                cursor.execute(f"ALTER TABLE {db}.t ADD UNIQUE (v)")
            cursor.execute(f"ALTER TABLE {db}.t ADD COLUMN w INT, ALGORITHM=COPY")
        end = latest(any_server)
        reader.until(end)
        met = [batch.ddl for batch in reader.batches if batch.ddl]
        assert [ddl.statement for ddl in met] == [f"ALTER TABLE {db}.t ADD COLUMN w INT, ALGORITHM=COPY"]
    written = [row[2] for row in any_server.run(f"SHOW BINLOG EVENTS IN '{end.file}'") if "ALTER" in str(row[5])]
    assert len(written) >= 4, "the server wrote both phases"


def test_what_a_statement_depends_on_is_told(any_server: MysqlServer, db: str) -> None:
    """The session's sql_mode, time and zone, the database in use, and the table as its rows told it."""
    need_names(any_server)
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(
            f"INSERT INTO {db}.t VALUES (1, 'old')",
            f"USE {db}",
            "SET sql_mode = 'STRICT_ALL_TABLES,ANSI_QUOTES,NO_BACKSLASH_ESCAPES', time_zone = '+00:00'",
            "SET timestamp = 1700000000.25",
            'ALTER TABLE "t" ADD "w" DATETIME(6) DEFAULT NOW(6)',
        )
        any_server.run(f"ALTER TABLE {db}.t ADD x DATETIME DEFAULT NOW()")
        reader.until(latest(any_server))
        first, second = (batch.ddl.followable for batch in reader.batches if batch.ddl)
    assert first is not None
    assert second is not None
    assert (first.db, first.text) == (db, 'ALTER TABLE "t" ADD "w" DATETIME(6) DEFAULT NOW(6)')
    modes = first.modes
    assert (modes.ansi_quotes, modes.no_backslash, modes.strict) == (True, True, True)
    assert modes.mariadb == (any_server.flavour == "mariadb")
    assert (first.moment.at, first.moment.micros, first.moment.zone.name) == (1700000000, 250000, "+00:00")
    assert [column.name for column in first.seen[db, "t"].columns] == ["id", "v"]
    assert (second.modes.strict, second.modes.ansi_quotes) == (False, False)
    [(system,)] = any_server.run("SELECT @@system_time_zone")
    assert second.moment.zone == SessionZone(name="SYSTEM", system=system)


@crossed("metadata", ["FULL", "MINIMAL"], always=[("mysql", "FULL"), ("mariadb", "MINIMAL")])
def test_rows_behind_a_followed_ddl_have_its_columns(any_server: MysqlServer, db: str, metadata: str) -> None:
    """Whether the binlog tells names or not: the schema behind the statement is that of the statement."""
    known = facts(any_server, [(db, "t")])
    before = channel_of(known.tables[0])
    with (
        any_server.global_variable("binlog_row_metadata", f"'{metadata}'"),
        reading(any_server, subscriptions([before], Position()), known.start, options=QUICK) as reader,
    ):
        statement = f"ALTER TABLE {db}.t RENAME COLUMN v TO name, ADD kind ENUM('x','y') AFTER id, ADD n VARCHAR(9)"
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'old')", statement)
        any_server.run(f"INSERT INTO {db}.t VALUES (2, 'y', 'caf\u00e9', '\u00e9')")
        until(lambda: reader.get() and reader.batches[-1].ddl)
        ddl = reader.batches[-1].ddl
        assert ddl is not None
        assert ddl.followable is not None
        parsed = read(ddl.followable.text, "", ddl.followable.modes)
        assert isinstance(parsed, AlterTable)
        reader.source.follow([channel_of(altered(known.tables[0], parsed.clauses).table)])
        reader.until(latest(any_server))
        rows = [{k: v for k, v in row.items() if k != OP} for row in reader.rows((db, "t"))]
        assert rows == [{"id": 1, "v": "old"}, {"id": 2, "kind": "y", "name": "caf\u00e9", "n": "\u00e9"}]


def test_the_hidden_column_of_a_long_key_has_no_place(any_server: MysqlServer, db: str) -> None:
    """A MariaDB tells it with its name and never shows it: what follows a statement is counted without it, also by rows
    that have lost their names.
    """
    if any_server.flavour != "mariadb":
        pytest.skip("MySQL has no long unique keys")
    any_server.run(f"CREATE TABLE {db}.u (id INT PRIMARY KEY, v TEXT, UNIQUE (v))")
    before = channel_of(facts(any_server, [(db, "u")]).tables[0])
    with any_server.global_variable("binlog_row_metadata", "'FULL'"):
        start = latest(any_server)
        with reading(any_server, subscriptions([before], Position()), start, options=QUICK) as reader:
            any_server.run(f"INSERT INTO {db}.u VALUES (1, 'a')", f"ALTER TABLE {db}.u ADD n BIGINT UNSIGNED")
            any_server.run("SET GLOBAL binlog_row_metadata = 'MINIMAL'")
            any_server.run(f"INSERT INTO {db}.u VALUES (2, 'b', 7)")
            until(lambda: reader.get() and reader.batches[-1].ddl)
            ddl = reader.batches[-1].ddl
            assert ddl is not None
            assert ddl.followable is not None
            said = ddl.followable
            parsed = read(said.text, "", said.modes)
            assert isinstance(parsed, AlterTable)
            told = said.seen[db, "u"]
            reader.source.follow([channel_of(altered(told, parsed.clauses).table)])
            reader.until(latest(any_server))
    assert reader.rows((db, "u"))[-1] == {"id": 2, "v": "b", "n": 7, OP: ChangeKind.INSERT}
    assert [column.name for column in told.columns] == ["id", "v"]


def test_rows_that_contradict_what_was_followed_stop_the_source(any_server: MysqlServer, db: str) -> None:
    """Both types are told."""
    need_names(any_server)
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(
            f"INSERT INTO {db}.t VALUES (1, '1')",
            f"ALTER TABLE {db}.t MODIFY v INT",
            f"INSERT INTO {db}.t (id) VALUES (2)",
        )
        error = reader.until_error()
        assert error.code is Code.SOURCE_SCHEMA
        assert "column 'v' was varchar(100) and is int" in str(error)
        assert [row["v"] for row in reader.rows((db, "t"))] == ["1"]


def test_rows_under_a_name_that_was_left_stop_the_table(mariadb_server: MysqlServer) -> None:
    """MariaDB logs RENAME of a temporary table alone, like any other: the table that the job reads kept its name."""
    need_own_binlog(mariadb_server)
    with database(mariadb_server) as db:
        mariadb_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        known = facts(mariadb_server, [(db, "t")])
        before = channel_of(known.tables[0])
        with reading(mariadb_server, subscriptions([before], Position()), known.start, options=QUICK) as reader:
            mariadb_server.run(f"USE {db}", "CREATE TEMPORARY TABLE t (id INT)", "RENAME TABLE t TO t9")
            until(lambda: reader.get() and reader.batches[-1].ddl)
            left = Shadow(db=db, name="t", left=True)
            reader.source.follow([replace(before, source=replace(before.source, name="t9"), shadows=(left,))])
            mariadb_server.run(f"INSERT INTO {db}.t VALUES (1, 'lost')")
            error = reader.until_error()
            assert error.code is Code.SOURCE_SCHEMA
            assert error.context["table"] == f"{db}.t9"
            assert f"RESYNC TABLE {db}.t reads {db}.t again" in str(error)


@on_servers("mysql")
@pytest.mark.parametrize(
    "statement", ["TRUNCATE TABLE {t}", "DROP TABLE {t}", "RENAME TABLE {t} TO {t}_2", "DROP DATABASE {db}"]
)
def test_ddl_that_changes_rows_unseen_is_told(any_server: MysqlServer, statement: str) -> None:
    """TRUNCATE, DROP and RENAME come right behind the last transaction."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
            any_server.run(f"INSERT INTO {db}.t VALUES (1, '1')")
            before = latest(any_server)
            any_server.run(statement.format(t=f"{db}.t", db=db), f"CREATE DATABASE IF NOT EXISTS {db}")
            until(lambda: reader.get() and reader.batches[-1].ddl)
            batch = reader.batches[-1]
            assert batch.ddl is not None
            assert batch.ddl.table == (db, "t")
            assert batch.end is not None
            assert compare(batch.end, before) is Order.SAME


SQL_MODES = {
    "plain": "",
    "mariadb": "",
    "ansi": "ANSI_QUOTES",
    "no backslash": "NO_BACKSLASH_ESCAPES",
    "short reals": "REAL_AS_FLOAT",
    "oracle": "ORACLE",
}


def test_what_a_server_takes_is_understood(any_server: MysqlServer, db: str) -> None:
    """No text of the corpus that gets past the server's own parser is unclear to ours."""
    misread, taken = [], 0
    with closing(any_server.connect(database=db)) as connection, connection.cursor() as cursor:
        for case in cases():
            foreign = case.modes in {"mariadb", "oracle"} and any_server.flavour != "mariadb"
            if foreign or case.file == "other" or case.sql in NEVER_DONE or re.search("DATABASE|SCHEMA", case.sql):
                continue
            cursor.execute(f"SET sql_mode = '{SQL_MODES[case.modes]}'")
            try:
                cursor.execute(case.sql)
            except pymysql.err.MySQLError as error:
                if error.args[0] in {SYNTAX, EMPTY}:
                    continue
            taken += 1
            modes = replace(MODES[case.modes], mariadb=any_server.flavour == "mariadb")
            try:
                read(case.sql, db, modes)
            except UnclearError:
                misread.append(case.sql)
    assert misread == []
    assert taken > 100


def test_a_table_that_comes_is_told(any_server: MysqlServer, db: str) -> None:
    """Made, or renamed to where a family means it, or the copy of one; what no family means passes unseen."""
    family = DatabasePattern(db=db, exclude=(TablePattern(kind=PatternKind.LIKE, text=f"{db}.tmp%"),))
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK, families=[family]) as reader:
        any_server.run(
            f"CREATE TABLE {db}.tmp_u (id INT)",
            f"CREATE TEMPORARY TABLE {db}.w (id INT)",
            f"CREATE TABLE {db}._t_gho (id INT)",
            f"CREATE TABLE {db}.v (id INT)",
            f"RENAME TABLE {db}.tmp_u TO {db}.u",
            f"DROP TABLE {db}.u",
            f"INSERT INTO {db}.t VALUES (1, 'last')",
        )
        reader.until(latest(any_server))
        met = [batch.ddl for batch in reader.batches if batch.ddl]
        assert [ddl.table[1] for ddl in met] == ["t", "v", "u"]
        assert all(ddl.followable is not None and ddl.behind is not None for ddl in met)


def test_a_table_that_was_created_unlogged_is_told_once(any_server: MysqlServer, db: str) -> None:
    """By its first rows or by an ALTER, if a family means it, however often its rows change."""
    family = DatabasePattern(db=db, exclude=(TablePattern(kind=PatternKind.LIKE, text=f"{db}.tmp%"),))
    names = ("rows", "altered", "quiet", "tmp_u", "_t_gho")
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK, families=[family]) as reader:
        any_server.run("SET sql_log_bin = 0", *(f"CREATE TABLE {db}.`{name}` (id INT PRIMARY KEY)" for name in names))
        any_server.run(
            *(f"INSERT INTO {db}.`{name}` VALUES ({n})" for n in range(3) for name in ("rows", "tmp_u", "_t_gho")),
            f"ALTER TABLE {db}.altered ADD COLUMN v INT",
            f"INSERT INTO {db}.altered VALUES (1, 1)",
            f"ALTER TABLE {db}.t ADD COLUMN w INT",
        )
        until(lambda: (reader.get(), any(batch.ddl for batch in reader.batches))[1], why="a statement that is followed")
        reader.source.follow(())
        any_server.run(f"INSERT INTO {db}.`rows` VALUES (9)", f"INSERT INTO {db}.altered VALUES (9, 9)")
        reader.until(latest(any_server))
        told = [name for batch in reader.batches for _, name in sorted(batch.unlogged_tables)]
        assert sorted(told) == ["altered", "rows"]


def test_a_table_begins_behind_a_place_of_its_own(any_server: MysqlServer, db: str) -> None:
    """Rows up to there are passed over, whatever columns the table had then; those of other tables are not."""
    any_server.run(f"CREATE TABLE {db}.late (id INT PRIMARY KEY, v INT)")
    start = latest(any_server)
    any_server.run(
        f"INSERT INTO {db}.late VALUES (1, 1)",
        f"INSERT INTO {db}.t VALUES (1, 'one')",
        f"ALTER TABLE {db}.late MODIFY v VARCHAR(9)",
        f"INSERT INTO {db}.late VALUES (2, 'two')",
    )
    known = facts(any_server, [(db, "late")])
    any_server.run(f"INSERT INTO {db}.late VALUES (3, 'three')", f"INSERT INTO {db}.t VALUES (2, 'two')")
    late = Subscription(columns=("id", "v"), keys=("id",), schema=known.tables[0], after=known.start)
    with reading(any_server, {(db, "t"): WANTED, (db, "late"): late}, start, options=QUICK) as reader:
        reader.until(latest(any_server))
        assert [row["v"] for row in reader.rows((db, "late"))] == ["three"]
        assert [row["v"] for row in reader.rows((db, "t"))] == ["one", "two"]


@crossed("metadata", ["FULL", "MINIMAL"], always=[("mysql", "FULL"), ("mariadb", "MINIMAL")])
def test_a_column_that_came_unlogged_stops_its_table(any_server: MysqlServer, db: str, metadata: str) -> None:
    """The rows behind it disagree with what the job knows of the table: both are told, and no column is left out."""
    need_own_binlog(any_server)
    any_server.run(f"CREATE TABLE {db}.u (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    known = channel_of(facts(any_server, [(db, "u")]).tables[0])
    with any_server.global_variable("binlog_row_metadata", f"'{metadata}'"):
        start = latest(any_server)
        any_server.run(
            f"INSERT INTO {db}.u VALUES (1, 'seen')",
            "SET sql_log_bin = 0",
            f"ALTER TABLE {db}.u ADD COLUMN w INT",
            "SET sql_log_bin = 1",
            f"INSERT INTO {db}.u VALUES (2, 'unseen', 3)",
        )
        wanted = subscriptions([replace(known, complete=True)], Position())
        with reading(any_server, wanted, start, options=QUICK) as reader, pytest.raises(SyncError) as caught:
            reader.until(latest(any_server))
    assert caught.value.code is Code.SOURCE_SCHEMA
    assert "(id bigint, v varchar(100))" in str(caught.value)
    told = "(id bigint, v varchar(100), w int)" if metadata == "FULL" else "(bigint, varchar, int)"
    assert told in str(caught.value)
    if metadata == "FULL":  # whose names tell which column is which
        with reading(any_server, subscriptions([known], Position()), start, options=QUICK) as reader:
            reader.until(latest(any_server))
            assert [row["v"] for row in reader.rows((db, "u"))] == ["seen", "unseen"]


@crossed("metadata", ["FULL", "MINIMAL"], always=[("mysql", "FULL"), ("mariadb", "MINIMAL")])
def test_rows_of_a_table_that_was_created_again_unlogged_stop_it(
    any_server: MysqlServer, db: str, metadata: str
) -> None:
    """It was dropped in the binlog, and its old rows would stay beside the new ones; one that comes back is read."""
    need_own_binlog(any_server)
    before = channel_of(facts(any_server, [(db, "t")]).tables[0])
    created = f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))"
    unlogged = ("SET sql_log_bin = 0", created, "SET sql_log_bin = 1")
    with (
        any_server.global_variable("binlog_row_metadata", f"'{metadata}'"),
        reading(any_server, subscriptions([before], Position()), options=QUICK) as reader,
    ):
        for gone, statements in ((True, [f"DROP TABLE {db}.t"]), (False, [created]), (True, [f"DROP TABLE {db}.t"])):
            any_server.run(f"INSERT INTO {db}.t VALUES (1, 'read')" if gone else "SET @a = 1", *statements)
            until(lambda: reader.get() and reader.batches[-1].ddl)
            reader.source.follow([replace(before, gone=gone)])
        assert [row["v"] for row in reader.rows((db, "t"))] == ["read", "read"]
        behind = reader.batches[-1].ddl.behind
        any_server.run(*unlogged, f"INSERT INTO {db}.t VALUES (2, 'new')")
        error = reader.until_error()
        assert len(reader.rows((db, "t"))) == 2
    with reading(any_server, subscriptions([replace(before, gone=True)], behind), behind, options=QUICK) as reader:
        again = reader.until_error()
    for each in (error, again):
        assert each.code is Code.SOURCE_SCHEMA
        assert each.context["table"] == f"{db}.t"
        assert "rows of it came, though it was dropped, and nothing in the binlog has created it again" in str(each)


@ALIKE
def test_what_names_no_table_that_is_there_is_not_logged(any_server: MysqlServer, db: str) -> None:
    """But for DROP, and RENAME IF EXISTS of MariaDB: whatever else is logged shows that its table is there."""
    statements = ["ALTER TABLE {t} ADD w INT", "CREATE INDEX i ON {t} (v)", "DROP INDEX i ON {t}", "TRUNCATE TABLE {t}"]
    statements += ["RENAME TABLE {t} TO {t}2"]
    if any_server.flavour == "mariadb":
        statements += ["ALTER TABLE IF EXISTS {t} ADD w INT", "CREATE INDEX IF NOT EXISTS i ON {t} (v)"]
        statements += ["DROP INDEX IF EXISTS i ON {t}", "ALTER TABLE IF EXISTS {t} RENAME TO {t}2"]
    any_server.run(f"DROP TABLE {db}.t")
    start = latest(any_server)
    for statement in statements:
        with suppress(pymysql.err.MySQLError):
            any_server.run(statement.format(t=f"{db}.t"))
    logged = [row[5] for row in any_server.run(f"SHOW BINLOG EVENTS IN '{start.file}' FROM {start.offset}")]
    assert [text for text in logged if f"{db}.t" in text] == []


@pytest.mark.parametrize(
    "made",
    [
        "CREATE PROCEDURE {db}.p() START TRANSACTION",
        "CREATE EVENT {db}.e ON SCHEDULE EVERY 9 YEAR DISABLE DO START TRANSACTION",
    ],
)
@ALIKE
def test_a_routine_whose_text_ends_like_a_table_leaves_no_hole(any_server: MysqlServer, db: str, made: str) -> None:
    """No rows follow it, so its GTID is in the position as soon as it was read."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(made.format(db=db), f"INSERT INTO {db}.t VALUES (1, 'x')")
        reader.until(latest(any_server))
        end = reader.batches[-1].end
    assert end is not None
    assert end.gtids == latest(any_server).gtids


@crossed("explicit", ["ON", "OFF"], always=[("mysql", "OFF"), ("mariadb", "ON")])
def test_what_a_session_makes_of_a_timestamp_is_told(any_server: MysqlServer, db: str, explicit: str) -> None:
    """explicit_defaults_for_timestamp of the session; the value of old rows is that of the source."""
    any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')")
    before = facts(any_server, [(db, "t")]).tables[0]
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(
            f"SET SESSION explicit_defaults_for_timestamp = {explicit}",
            "SET time_zone = '+00:00', timestamp = 1700000000",
            f"ALTER TABLE {db}.t ADD c TIMESTAMP",
        )
        reader.until(latest(any_server))
        [said] = [batch.ddl.followable for batch in reader.batches if batch.ddl]
    assert said is not None
    assert said.modes.dates_nulls is (explicit == "OFF")
    statement = read(said.text, said.db, said.modes)
    assert isinstance(statement, AlterTable)
    made = altered(before, statement.clauses).table.column("c")
    assert made == facts(any_server, [(db, "t")]).tables[0].column("c")
    shown = any_server.run("SET time_zone = '+00:00'", f"SELECT CAST(c AS CHAR) FROM {db}.t")
    assert shown == [("2023-11-14 22:13:20" if explicit == "OFF" else None,)]


def test_columns_that_a_search_for_texts_takes_for_one_are_two(any_server: MysqlServer) -> None:
    """As they are for the server; also the one alone that is read has its own values."""
    need_names(any_server)
    sigma, mu = "\u03c3", "\u03bc"
    names = ("straße", "strasse", "ς", sigma, "\u00b5", mu)
    with database(any_server) as db:
        columns = ", ".join(f"`{name}` INT" for name in names)
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {columns})")
        wanted = Subscription(columns=("id", "strasse", sigma, mu), keys=("id",))
        with reading(any_server, {(db, "t"): wanted}) as reader:
            any_server.run(f"INSERT INTO {db}.t VALUES (1, 2, 3, 4, 5, 6, 7)")
            reader.until(latest(any_server))
            assert reader.rows((db, "t")) == [{"id": 1, "strasse": 3, sigma: 5, mu: 7, OP: 0}]
