"""An ALTER TABLE that its session did not log, on a server whose binlog has no names of columns."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from typing import Any, Final

import pytest

from mysqlddl.nodes import AlterTable
from mysqlddl.reading import Modes, read
from syncmgr.errors import Code
from syncmgr.job.ddl.alteration import altered
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import OP
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql.binlog import unlogged_alter
from syncmgr.sources.mysql.binlog.subscriptions import Subscription, subscriptions
from syncmgr.sources.mysql.server.tables import schemas_of
from syncmgr.sources.mysql.source import SourceOptions
from tests.conftest import need_own_binlog
from tests.contract.mysql.ddl.test_mysql_ddl import QUICK, channel_of
from tests.contract.mysql_reader import Reader, database, facts, latest, reading
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed, on_servers
from tests.support.until import until

pytestmark = pytest.mark.mysql
SWAP: Final = "MODIFY b INT AFTER id"
Swapped = tuple[Mapping[Table, Subscription], Position]
OFTEN = SourceOptions(schema_check=0.1, linger=QUICK.linger, retry=QUICK.retry)


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database with table t (id, v)."""
    with database(any_server) as name:
        any_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        yield name


def alter_unlogged(server: MysqlServer, statement: str) -> None:
    need_own_binlog(server)
    server.run("SET sql_log_bin = 0", statement)


@on_servers("mysql")
@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        ("MODIFY b INT AFTER id", r"its columns are \(id, b, a, e\), the job knows \(id, a, b, e\)"),
        ("MODIFY e ENUM('new', 'x', 'y')", r"column 'e' is enum\('new','x','y'\), the job knows enum\('x','y'\)"),
    ],
)
def test_an_alter_that_is_not_logged_stops_the_table(any_server: MysqlServer, db: str, alter: str, reason: str) -> None:
    """Also where the count and the types of the columns stay, and no row comes."""
    any_server.run(f"CREATE TABLE {db}.u (id INT PRIMARY KEY, a INT, b INT, e ENUM('x', 'y'))")
    known = facts(any_server, [(db, "u")])
    wanted = {(db, "u"): Subscription(columns=("id", "a", "b", "e"), keys=("id",), schema=known.tables[0])}
    with ExitStack() as stack:
        stack.enter_context(any_server.global_variable("binlog_row_metadata", "'MINIMAL'"))
        reader = stack.enter_context(reading(any_server, wanted, known.start, options=OFTEN))
        any_server.run(f"INSERT INTO {db}.u VALUES (1, 10, 100, 'x')")
        reader.until(latest(any_server))
        alter_unlogged(any_server, f"ALTER TABLE {db}.u {alter}")
        error = reader.until_error()
    assert error.code is Code.SOURCE_SCHEMA
    assert error.context["table"] == f"{db}.u"
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(str(error))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the server was asked, time by time."""
    asked: list[object] = []

    def counted(*args: Any) -> dict[Table, SourceTable]:
        asked.append(args)
        return schemas_of(*args)

    monkeypatch.setattr(unlogged_alter, "schemas_of", counted)
    return asked


@on_servers("mysql")
def test_an_alter_that_is_logged_explains_itself(any_server: MysqlServer, db: str, asked: list[object]) -> None:
    """However often the server is asked before the statement is met, and after it."""
    known = facts(any_server, [(db, "t")])
    before = channel_of(known.tables[0])
    with (
        any_server.global_variable("binlog_row_metadata", "'MINIMAL'"),
        reading(any_server, subscriptions([before], known.start), known.start, options=OFTEN) as reader,
    ):
        until(lambda: reader.get() or len(asked) > 2)
        statement = f"ALTER TABLE {db}.t ADD c INT AFTER id"
        any_server.run(statement, f"INSERT INTO {db}.t VALUES (1, 2, 'x')")
        until(lambda: reader.get() and reader.batches[-1].ddl)
        parsed = read(statement, db, Modes(mariadb=any_server.flavour == "mariadb"))
        assert isinstance(parsed, AlterTable)
        reader.source.follow([channel_of(altered(known.tables[0], parsed.clauses).table)])
        reader.until(latest(any_server))
        met = len(asked)
        until(lambda: reader.get() or len(asked) > met + 2)
        assert reader.rows((db, "t")) == [{"id": 1, "c": 2, "v": "x", OP: 0}]


@pytest.fixture
def swapped(any_server: MysqlServer, db: str) -> Iterator[Swapped]:
    """Table u (id, a, b), whose a and b an ALTER may exchange, as a job knows it; the binlog has names of columns."""
    any_server.run(f"CREATE TABLE {db}.u (id INT PRIMARY KEY, a INT, b INT)")
    known = facts(any_server, [(db, "u")])
    wanted = {(db, "u"): Subscription(columns=("id", "a", "b"), keys=("id",), schema=known.tables[0])}
    with any_server.global_variable("binlog_row_metadata", "'FULL'"):
        yield wanted, known.start


def stops(reader: Reader, table: str) -> None:
    error = reader.until_error()
    assert error.code is Code.SOURCE_SCHEMA
    assert error.context["table"] == table
    assert "the job knows (id, a, b), and no statement in the binlog says so" in str(error)


@on_servers("mysql")
def test_names_that_the_binlog_loses_while_it_is_read(any_server: MysqlServer, db: str, swapped: Swapped) -> None:
    """What the server was set to when the connection began says nothing of the rows that come later."""
    wanted, start = swapped
    with reading(any_server, wanted, start, options=OFTEN) as reader:
        any_server.run(f"INSERT INTO {db}.u VALUES (1, 10, 100)")
        reader.until(latest(any_server))
        with any_server.global_variable("binlog_row_metadata", "'MINIMAL'"):
            alter_unlogged(any_server, f"ALTER TABLE {db}.u {SWAP}")
            any_server.run(f"INSERT INTO {db}.u (id, a, b) VALUES (2, 20, 200)")
            stops(reader, f"{db}.u")


@on_servers("mariadb")
def test_names_that_the_binlog_lacked_while_nobody_read(any_server: MysqlServer, db: str, swapped: Swapped) -> None:
    """Rows of that time stay without names when the server writes them again."""
    wanted, start = swapped
    with any_server.global_variable("binlog_row_metadata", "'MINIMAL'"):
        alter_unlogged(any_server, f"ALTER TABLE {db}.u {SWAP}")
        any_server.run(f"INSERT INTO {db}.u (id, a, b) VALUES (2, 20, 200)")
    with reading(any_server, wanted, start, options=OFTEN) as reader:
        stops(reader, f"{db}.u")


@on_servers("mysql")
def test_an_alter_that_is_not_logged_needs_no_stop_where_rows_have_names(
    any_server: MysqlServer, db: str, swapped: Swapped, asked: list[object]
) -> None:
    """Also not where another table's rows have none."""
    wanted, start = swapped
    other = facts(any_server, [(db, "t")]).tables[0]
    wanted = {**wanted, (db, "t"): Subscription(columns=("id", "v"), keys=("id",), schema=other)}
    alter_unlogged(any_server, f"ALTER TABLE {db}.u {SWAP}")
    any_server.run(f"INSERT INTO {db}.u (id, a, b) VALUES (2, 20, 200)")
    with any_server.global_variable("binlog_row_metadata", "'MINIMAL'"):
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')")
    with reading(any_server, wanted, start, options=OFTEN) as reader:
        reader.until(latest(any_server))
        until(lambda: (reader.get(), asked and not reader.source._subscriptions.nameless.tables)[1])
        assert reader.rows((db, "u")) == [{"id": 2, "a": 20, "b": 200, OP: 0}]


SELDOM = SourceOptions(schema_check=10_000, linger=QUICK.linger, retry=QUICK.retry, position_interval=0.05)


def nameless(reader: Reader) -> frozenset[Table]:
    """What the reader says of tables that nobody has compared, behind all that has come."""
    return reader.batches[-1].nameless


@on_servers("mysql")
@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        ("MODIFY b INT AFTER id", "its columns are (id, b, a, e), the job knows (id, a, b, e)"),
        ("MODIFY e ENUM('new', 'x', 'y')", "column 'e' is enum('new','x','y'), the job knows enum('x','y')"),
        ("COMMENT 'the same columns'", ""),
    ],
)
def test_the_first_names_say_what_rows_without_were(
    any_server: MysqlServer, db: str, alter: str, reason: str, asked: list[object]
) -> None:
    """Whoever sets FULL before the next look hides nothing: rows of before may be in other columns."""
    any_server.run(f"CREATE TABLE {db}.u (id INT PRIMARY KEY, a INT, b INT, e ENUM('x', 'y'))")
    known = facts(any_server, [(db, "u")])
    wanted = {(db, "u"): Subscription(columns=("id", "a", "b", "e"), keys=("id",), schema=known.tables[0])}
    with ExitStack() as stack:
        with any_server.global_variable("binlog_row_metadata", "'MINIMAL'"):
            reader = stack.enter_context(reading(any_server, wanted, known.start, options=SELDOM))
            any_server.run(f"INSERT INTO {db}.u VALUES (1, 10, 100, 'x')")
            reader.until(latest(any_server))
            until(lambda: (reader.get(), asked)[1], why="the look at the beginning")
            alter_unlogged(any_server, f"ALTER TABLE {db}.u {alter}")
            any_server.run(f"INSERT INTO {db}.u (id, a, b, e) VALUES (2, 20, 200, 'x')")
            reader.until(latest(any_server))
        assert nameless(reader) == {(db, "u")}
        with any_server.global_variable("binlog_row_metadata", "'FULL'"):
            any_server.run(f"INSERT INTO {db}.u (id, a, b, e) VALUES (3, 30, 300, 'y')")
            if not reason:
                reader.until(latest(any_server))
                assert reader.rows((db, "u"))[-1] == {"id": 3, "a": 30, "b": 300, "e": "y", OP: 0}
                assert nameless(reader) == set()
                return
            error = reader.until_error()
    assert (error.code, error.context["table"]) == (Code.SOURCE_SCHEMA, f"{db}.u")
    assert reason in str(error)


@crossed("more", [True, False], always=[("mysql", True), ("mariadb", False)])
def test_the_next_reader_knows_of_rows_without_names(
    any_server: MysqlServer, db: str, swapped: Swapped, *, more: bool
) -> None:
    """One that ended before it looked is no excuse: neither where rows with names come, nor where none come."""
    wanted, start = swapped
    with (
        any_server.global_variable("binlog_row_metadata", "'MINIMAL'"),
        reading(any_server, wanted, start, options=SELDOM) as reader,
    ):
        any_server.run(f"INSERT INTO {db}.u VALUES (1, 10, 100)")
        reader.until(latest(any_server))
        alter_unlogged(any_server, f"ALTER TABLE {db}.u {SWAP}")
        any_server.run(f"INSERT INTO {db}.u (id, a, b) VALUES (2, 20, 200)")
        reader.until(latest(any_server))
        end = reader.batches[-1].end
    assert nameless(reader) == {(db, "u")}
    if more:
        any_server.run(f"INSERT INTO {db}.u (id, a, b) VALUES (3, 30, 300)")
    later = {table: replace(each, nameless=table in nameless(reader)) for table, each in wanted.items()}
    with reading(any_server, later, end, options=SELDOM) as reader:
        stops(reader, f"{db}.u")


@on_servers("mysql")
def test_one_look_after_the_names_came_is_enough(
    any_server: MysqlServer, db: str, swapped: Swapped, asked: list[object]
) -> None:
    """From then on an ALTER that is not logged does no harm, and stops nothing."""
    wanted, start = swapped
    later = {table: replace(each, nameless=True) for table, each in wanted.items()}
    with reading(any_server, later, start, options=OFTEN) as reader:
        numbers = count()

        def looked() -> bool:
            """A batch tells what was known when it was taken, so one is needed behind the look."""
            any_server.run(f"INSERT INTO {db}.t VALUES ({next(numbers)}, 'x')")
            return reader.get() is not None and not nameless(reader)

        until(looked, why="the look")
        looks = len(asked)
        alter_unlogged(any_server, f"ALTER TABLE {db}.u {SWAP}")
        any_server.run(f"INSERT INTO {db}.u (id, a, b) VALUES (2, 20, 200)")
        reader.until(latest(any_server))
        assert reader.rows((db, "u")) == [{"id": 2, "a": 20, "b": 200, OP: 0}]
        assert len(asked) == looks
