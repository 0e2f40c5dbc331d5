"""Where a snapshot begins on a MySQL without GTIDs: at the end of the binlog, once every SELECT shows what is there."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pymysql
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import OP
from syncmgr.sources.mysql.binlog.subscription import Subscription
from syncmgr.sources.mysql.wire import FIRST_OFFSET
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.support.servers.mysql import NO_GTIDS, MysqlServer
from tests.support.slow import on_servers
from tests.support.until import HANG_SECOND, until

pytestmark = pytest.mark.mysql

WRITERS = 3
STARTS = 12
KEYS = 40
DEADLOCK = 1213
Row = tuple[Any, Any]


@pytest.fixture(scope="module", params=["FULL", "MINIMAL"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """Where the job's user may lock tables."""
    settings = {**NO_GTIDS, "binlog-row-metadata": request.param}
    server = MysqlServer(tmp_path_factory.mktemp("without") / "mysql", "mysql", settings).start()
    server.run("GRANT LOCK TABLES ON *.* TO repl")
    yield server
    server.stop()


@pytest.fixture
def db(server: MysqlServer) -> Iterator[str]:
    """With table t (id, v), which was altered in the binlog file that is current."""
    with database(server) as name:
        made = (
            f"CREATE TABLE {name}.t (id INT PRIMARY KEY)",
            f"INSERT INTO {name}.t VALUES (1)",
            f"ALTER TABLE {name}.t ADD COLUMN v INT",
        )
        server.run(*made)
        yield name


def is_full(server: MysqlServer) -> bool:
    return bool(server.run("SELECT @@global.binlog_row_metadata")[0][0] == "FULL")


def begin(server: MysqlServer, db: str) -> Position:
    return facts(server, [(db, "t")], start="snapshot").start


def rows(server: MysqlServer, db: str) -> list[Row]:
    return [(key, value) for key, value in server.run(f"SELECT id, v FROM {db}.t ORDER BY id")]


def coordinate(position: Position) -> tuple[str, int]:
    return position.file, position.offset


@contextmanager
def unshown(server: MysqlServer, statement: str) -> Iterator[Callable[[], None]]:
    """A transaction that is in the binlog and, as a server that waits for a replica has it, not in the engine yet; it
    ends when it is told to.
    """
    server.run("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")
    server.run("SET GLOBAL rpl_semi_sync_source_timeout = 3600000", "SET GLOBAL rpl_semi_sync_source_enabled = ON")
    before = coordinate(latest(server))
    writer = threading.Thread(target=server.run, args=(statement,))
    writer.start()

    def end() -> None:
        server.run("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
        writer.join(HANG_SECOND)

    try:
        until(lambda: coordinate(latest(server)) > before, why="a transaction in the binlog")
        yield end
    finally:
        end()
        server.run("UNINSTALL PLUGIN rpl_semi_sync_source")


def test_it_begins_at_the_end_of_the_binlog(server: MysqlServer, db: str) -> None:
    """So that nothing of before is read, neither statements nor rows whose columns nobody tells."""
    now = latest(server)
    found = facts(server, [(db, "t")], start="snapshot")
    assert coordinate(found.start) == coordinate(now)
    assert coordinate(found.known_at) == coordinate(now)
    assert found.start.offset > FIRST_OFFSET
    assert found.start.gtids == ""


def test_an_open_transaction_does_not_put_it_off(server: MysqlServer, db: str) -> None:
    """Nothing of it is in the binlog, from which it comes whole; and a writer of other tables locks none of ours."""
    server.run(f"CREATE TABLE {db}.other (id INT PRIMARY KEY)")
    with closing(server.connect(autocommit=False)) as writing, writing.cursor() as cursor:
        cursor.execute(f"INSERT INTO {db}.other VALUES (1)")
        assert coordinate(begin(server, db)) == coordinate(latest(server))
        writing.rollback()


def test_it_does_not_begin_behind_what_no_select_shows(server: MysqlServer, db: str) -> None:
    """With FULL metadata it begins with the file then, and else waits for the transaction to end."""
    found: list[Position] = []
    with unshown(server, f"INSERT INTO {db}.t VALUES (2, 2)") as end:
        hidden = coordinate(latest(server))
        assert rows(server, db) == [(1, None)]
        if is_full(server):
            assert coordinate(begin(server, db)) == (hidden[0], FIRST_OFFSET)
            return
        asking = threading.Thread(target=lambda: found.append(begin(server, db)))
        asking.start()
        waits = "SELECT 1 FROM information_schema.processlist WHERE user = 'repl' AND state LIKE '%metadata lock%'"
        until(lambda: server.run(waits), why="a snapshot that waits for the table")
        assert not found
        end()
        asking.join(HANG_SECOND)
    assert coordinate(found[0]) == hidden
    assert rows(server, db) == [(1, None), (2, 2)]


def test_without_the_grant_it_begins_with_the_file(server: MysqlServer, db: str) -> None:
    """For which it needs FULL metadata, since nobody knows the columns there; else both ways out are named."""
    server.run("REVOKE LOCK TABLES ON *.* FROM repl")
    try:
        if is_full(server):
            assert coordinate(begin(server, db)) == (latest(server).file, FIRST_OFFSET)
            return
        with pytest.raises(SyncError, match=r"GRANT LOCK TABLES.*FLUSH BINARY LOGS") as raised:
            begin(server, db)
        assert raised.value.code is Code.PROPERTY_WRONG
    finally:
        server.run("GRANT LOCK TABLES ON *.* TO repl")


def write(server: MysqlServer, db: str, seed: int, ending: threading.Event) -> None:
    """Transactions of a few rows, some of which stay open for a while, and some of which are rolled back. Now and then
    nobody writes: a table that always has a writer is never locked for reading.
    """
    r = random.Random(seed)
    with closing(server.connect(autocommit=False)) as writing, writing.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        while not ending.wait(r.choice([0, 0.02, 0.05])):
            with suppress_deadlocks():
                for key in sorted(r.sample(range(KEYS), r.randint(1, 4))):  # in order, so that there are few
                    replaces = f"REPLACE INTO {db}.t VALUES ({key}, {r.randrange(1000)})"
                    cursor.execute(r.choice([replaces, f"DELETE FROM {db}.t WHERE id = {key}"]))
                    ending.wait(r.choice([0, 0, 0, 0.01]))
                writing.rollback() if r.random() < 0.1 else writing.commit()


@contextmanager
def suppress_deadlocks() -> Iterator[None]:
    """The server has rolled the transaction back."""
    try:
        yield
    except pymysql.err.OperationalError as error:
        if error.args[0] != DEADLOCK:
            raise


def brought(server: MysqlServer, db: str, start: Position, read: list[Row], end: Position) -> list[Row]:
    """The rows that a SELECT has found, and every change from the start on, each of which deletes its key first."""
    state: dict[int, int | None] = dict(read)
    schema = facts(server, [(db, "t")]).tables[0]
    with reading(server, {(db, "t"): Subscription(columns=("id", "v"), keys=("id",), schema=schema)}, start) as reader:
        reader.until(end)
        assert not any(batch.ddl for batch in reader.batches)
        for row in reader.rows((db, "t")):
            state.pop(row["id"], None)
            if row[OP] != 2:
                state[row["id"]] = row["v"]
    return sorted(state.items())


@on_servers("MINIMAL", fixture="server", among=["FULL", "MINIMAL"])
def test_the_rows_and_the_binlog_from_there_are_the_table(server: MysqlServer, db: str) -> None:
    """Begun again and again while sessions write, whose transactions are open at that moment: none is missing."""
    ending, found = threading.Event(), list[tuple[Position, list[Row]]]()
    server.run("SET GLOBAL sync_binlog = 1", "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    writers = [threading.Thread(target=write, args=(server, db, seed, ending)) for seed in range(WRITERS)]
    for writer in writers:
        writer.start()

    def found_enough() -> bool:
        start = begin(server, db)
        if start.offset > FIRST_OFFSET:  # before that the table had no column v
            found.append((start, rows(server, db)))
        return len(found) >= STARTS

    try:
        until(found_enough, why="as many moments in which nobody wrote")
    finally:
        ending.set()
        for writer in writers:
            writer.join(HANG_SECOND)
    whole, end = rows(server, db), latest(server)
    for start, read in found:
        assert brought(server, db, start, read, end) == whole
