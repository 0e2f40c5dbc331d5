"""A server that keeps names of tables in lower case, whatever a statement calls them."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl_plan import Rules, plan_ddl
from syncmgr.job.ddl_policy import OnDdl
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.position import Position
from syncmgr.sources.mysql import factory
from syncmgr.sources.mysql.address import Locking
from syncmgr.sources.mysql.binlog.nameless import Nameless
from syncmgr.sources.mysql.binlog.subscriptions import subscriptions
from syncmgr.sources.mysql.binlog.unlogged_alter import UnloggedAlters
from syncmgr.sources.mysql.description import described
from tests.contract.mysql.ddl.test_mysql_ddl_corpus import QUICK, planned, statements, target, worker
from tests.contract.mysql_reader import address, database, facts, latest, reading
from tests.support.servers.mysql import FOLDS, PASSWORD, Flavour, MysqlServer
from tests.support.slow import SERVERS, some_slow
from tests.support.until import until

pytestmark = pytest.mark.mysql


@pytest.fixture(scope="module", params=some_slow(SERVERS, always=["mysql"]))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    flavour: Flavour = request.param
    server = MysqlServer(tmp_path_factory.mktemp("folding") / flavour, flavour, {FOLDS: "1"}).start()
    yield server
    server.stop()


@pytest.fixture
def db(server: MysqlServer) -> Iterator[str]:
    with database(server) as name:
        server.run(f"CREATE TABLE {name}.T1 (id INT PRIMARY KEY, v INT)", f"INSERT INTO {name}.t1 VALUES (1, 1)")
        yield name


RENAMES = [
    ("RENAME TABLE {db}.t1 TO {db}.Orders", "INSERT INTO {db}.Orders VALUES (2, 2)", "Orders"),
    ("ALTER TABLE {up}.T1 RENAME TO {up}.OrD2", "INSERT INTO {up}.ORD2 VALUES (2, 2)", "ord2"),
    ("RENAME TABLE {db}.t1 TO {db}.Tx, {db}.tX TO {db}.T1", "INSERT INTO {db}.t1 VALUES (2, 2)", "t1"),
    ("ALTER TABLE {db}.T1 ADD w INT", "INSERT INTO {up}.T1 VALUES (2, 2, 2)", "t1"),
    ("RENAME TABLE {db}.t1 TO {db}.`ΟΔΟΣ`", "INSERT INTO {db}.`ΟΔΟΣ` VALUES (2, 2)", "οδοσ"),
    ("RENAME TABLE {db}.t1 TO {db}.`İST`", "INSERT INTO {db}.`İST` VALUES (2, 2)", "ist"),
]


@pytest.mark.parametrize(
    ("rename", "insert", "table"), RENAMES, ids=["rename", "alter", "away and back", "add", "sigma", "dotted i"]
)
def test_rows_are_read_whatever_a_statement_calls_their_table(
    server: MysqlServer, db: str, rename: str, insert: str, table: str
) -> None:
    """The statement's spelling is nowhere but in its text: the next row is of the table that it has changed."""
    known = facts(server, [(db, "t1")])
    channel = planned(known.tables[0])
    describe = target(channel.source, channel.keys)
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.APPEND, describe=lambda _: describe)
    names = {"db": db, "up": db.upper()}
    with reading(server, subscriptions([worker(channel)], known.start), known.start, options=QUICK) as reader:
        server.run(rename.format(**names), insert.format(**names))
        for ddl in statements(reader, latest(server)):
            if ddl is None:
                break
            assert ddl.followable is not None
            channel = plan_ddl(ddl.followable, [channel], rules).channels.get(channel.token, channel)
            reader.source.follow([worker(channel)])
    assert (channel.source.db, channel.source.name) == (db, table.lower() if table.isascii() else table)
    assert [row["id"] for batch in reader.batches for each in batch.changes for row in each.decode().to_pylist()] == [2]


def test_a_table_that_was_stored_with_capitals_stops(server: MysqlServer, db: str) -> None:
    """As versions before stored it after a RENAME, which then read no row of it: RESYNC brings those that are missing.

    It stores the server's name, by which the table is read.
    """
    known = facts(server, [(db, "T1")])
    stored = worker(planned(known.tables[0]))
    spelt = replace(stored, source=replace(stored.source, name="T1"))
    with reading(server, subscriptions([spelt], Position()), known.start, options=QUICK) as reader:
        error = reader.until_error()
    assert error.code is Code.SOURCE_SCHEMA
    assert error.context["table"] == f"{db}.T1"
    assert "RESYNC TABLE reads all of it" in str(error)
    with reading(server, subscriptions([stored], Position()), known.start, options=QUICK) as reader:
        server.run(f"INSERT INTO {db}.t1 VALUES (2, 2)")
        reader.until(latest(server))
        assert [row["id"] for row in reader.rows((db, "t1"))] == [2]


def test_an_alter_in_no_binlog_is_found_whatever_the_table_is_called(server: MysqlServer, db: str) -> None:
    """The server answers by its own names for it."""
    known = facts(server, [(db, "t1")]).tables[0]
    table = db.upper(), "T1"
    alters = UnloggedAlters(0.0, lambda: {table: known}, Nameless([table]))
    alters.begin(named=False)
    server.run("SET SESSION sql_log_bin = OFF", f"ALTER TABLE {db}.t1 ADD x INT FIRST")
    with pytest.raises(SyncError, match=r"its columns are \(x, id, v\)"):
        until(lambda: alters.look(address(server), latest(server)))


def test_a_statement_may_spell_a_table_as_it_likes(server: MysqlServer, db: str) -> None:
    """CREATE SYNC finds it, and knows it by the server's own name."""
    told = {"type": "mysql", "mysql.host": "127.0.0.1", "mysql.port": str(server.port), "mysql.user": "repl"}
    source = described({**told, "mysql.password": PASSWORD})
    found = factory.inspect(source, [(db.upper(), "T1")], connect_timeout=10.0, locking=Locking())
    assert (found.tables[0].db, found.tables[0].name) == (db, "t1")
    with pytest.raises(SyncError) as caught:
        factory.inspect(source, [(db, "t2")], connect_timeout=10.0, locking=Locking())
    assert caught.value.code is Code.SOURCE_UNKNOWN_TABLE


def test_a_statement_on_a_table_of_a_like_name_changes_nothing(server: MysqlServer, db: str) -> None:
    """For the server `ß` and `ss` are two names, whatever a search for texts takes them for."""
    server.run(*(f"CREATE TABLE {db}.`{name}` (id INT PRIMARY KEY, v INT)" for name in ("straße", "strasse")))
    known = facts(server, [(db, "straße")])
    channel = planned(known.tables[0])
    with reading(server, subscriptions([worker(channel)], known.start), known.start, options=QUICK) as reader:
        server.run(f"INSERT INTO {db}.`straße` VALUES (1, 1)", f"TRUNCATE TABLE {db}.strasse")
        reader.until(latest(server))
    assert not any(batch.ddl for batch in reader.batches)
