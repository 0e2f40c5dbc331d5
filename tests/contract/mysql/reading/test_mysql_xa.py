"""XA transactions on real servers: what is prepared waits, what is committed comes once and in order."""

import random
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pymysql
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position
from syncmgr.sources.mysql import check
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.check import inspect_server
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.mysql_reader import Reader, address, database, latest, reached, reading
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed, on_servers
from tests.support.until import until

SMALL: Final = SourceOptions(limits=Limits(events=10), position_interval=0.02, retry=Retry(first=0.02), linger=0.0)
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02))
WANTED: Final = Subscription(columns=("id", "v"), keys=("id",))
UNKNOWN_XID: Final = 1397


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database with tables t (id, v) and other (id)."""
    with database(any_server) as name:
        any_server.run(
            f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))",
            f"CREATE TABLE {name}.other (id BIGINT PRIMARY KEY)",
        )
        try:
            yield name
        finally:
            roll_back_all(any_server)


def roll_back_all(server: MysqlServer) -> None:
    """What a test left behind would keep its database from being dropped."""
    for number, size, _, data in server.run("XA RECOVER" + " CONVERT XID" * (server.flavour == "mysql")):
        told = bytes.fromhex(data[2:]) if isinstance(data, str) else data
        server.run(f"XA ROLLBACK X'{told[:size].hex()}',X'{told[size:].hex()}',{number}")


def prepare(server: MysqlServer, xid: str, *statements: str) -> None:
    """One XA transaction, prepared, and its session gone."""
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        for statement in (f"XA START {xid}", *statements, f"XA END {xid}", f"XA PREPARE {xid}"):
            cursor.execute(statement)


def end(server: MysqlServer, how: str, xid: str) -> None:
    """COMMIT or ROLLBACK by another session, as soon as the one that prepared it is gone."""

    def ended() -> bool:
        try:
            server.run(f"XA {how} {xid}")
        except pymysql.err.MySQLError as error:
            if error.args[0] != UNKNOWN_XID:
                raise
            return False
        return True

    until(ended, why=f"XA {how} {xid}")


def now(server: MysqlServer) -> Position:
    """The server's end, whatever is prepared."""
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        try:
            cursor.execute("SHOW BINARY LOG STATUS")
        except pymysql.err.MySQLError:
            cursor.execute("SHOW MASTER STATUS")
        row = cursor.fetchone()
        cursor.execute("SELECT @@server_id" if server.flavour == "mariadb" else "SELECT @@server_uuid")
        return Position(file=row[0], offset=row[1], server=str(cursor.fetchone()[0]))


def in_source(server: MysqlServer, db: str) -> dict[int, str]:
    return {row[0]: row[1] for row in server.run(f"SELECT id, v FROM {db}.t")}


def found(reader: Reader, db: str) -> dict[int, str]:
    return {key: row["v"] for key, row in reader.state((db, "t")).items()}


def test_one_phase_is_as_any_other(any_server: MysqlServer, db: str) -> None:
    """XA COMMIT ... ONE PHASE brings its rows at once, also where it is larger than a batch."""
    with reading(any_server, {(db, "t"): WANTED}, options=SMALL) as reader:
        many = (f"INSERT INTO {db}.t VALUES ({number}, 'one')" for number in range(35))
        any_server.run("XA START 'a'", *many, "XA END 'a'", "XA COMMIT 'a' ONE PHASE")
        any_server.run("XA START 'b'", f"INSERT INTO {db}.t VALUES (99, 'b')", "XA END 'b'", "XA COMMIT 'b' ONE PHASE")
        reader.until(now(any_server))
        assert found(reader, db) == in_source(any_server, db)
        assert reader.prepared == {}


@crossed("size", [1, 35], always=[("mysql", 35), ("mariadb", 1)])
def test_prepared_rows_wait_for_their_commit(any_server: MysqlServer, db: str, size: int) -> None:
    """The position moves past the PREPARE, the rows come with the COMMIT, behind what was committed before them."""
    with reading(any_server, {(db, "t"): WANTED}, options=SMALL) as reader:
        any_server.run(f"INSERT INTO {db}.t VALUES (0, 'first')")
        prepare(any_server, "'x'", *(f"UPDATE {db}.t SET v = 'xa{n}' WHERE id = 0" for n in range(size)))
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'beside')")
        reader.until(now(any_server))
        assert found(reader, db) == {0: "first", 1: "beside"}
        assert len(reader.prepared["X'78',X'',1"]) == size
        end(any_server, "COMMIT", "'x'")
        any_server.run(f"UPDATE {db}.t SET v = 'last' WHERE id = 0")
        reader.until(now(any_server))
        assert [row["v"] for row in reader.rows((db, "t"))][-2:] == [f"xa{size - 1}", "last"]
        assert found(reader, db) == in_source(any_server, db)
        assert reader.prepared == {}


@crossed("size", [1, 35], always=[("mysql", 35), ("mariadb", 1)])
def test_rolled_back_rows_never_come(any_server: MysqlServer, db: str, size: int) -> None:
    """XA ROLLBACK drops what was prepared, whether it was delivered before or not."""
    with reading(any_server, {(db, "t"): WANTED}, options=SMALL) as reader:
        for seen in (True, False):
            prepare(any_server, "'x'", *(f"INSERT INTO {db}.t VALUES ({n}, 'gone')" for n in range(size)))
            if seen:
                reader.until(now(any_server))
                assert reader.rows((db, "t")) == []
                assert list(reader.prepared) == ["X'78',X'',1"]
            end(any_server, "ROLLBACK", "'x'")
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'after')")
        reader.until(now(any_server))
        assert found(reader, db) == {1: "after"}
        assert reader.prepared == {}


def test_any_xid_is_known_again(any_server: MysqlServer, db: str) -> None:
    """Binary parts, quotes, branches and big format ids: the end of each finds its beginning."""
    xids = ["X'00ff41'", "'it''s','\\\\b'", "'a','b',2147483647", "'a','c',0", f"'{'g' * 64}','{'b' * 64}',9"]
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        for number, xid in enumerate(xids):
            prepare(any_server, xid, f"INSERT INTO {db}.t VALUES ({number}, 'x')")
        reader.until(now(any_server))
        assert reader.rows((db, "t")) == []
        assert len(reader.prepared) == len(xids)
        for xid in xids:
            end(any_server, "COMMIT", xid)
        reader.until(now(any_server))
        assert sorted(found(reader, db)) == list(range(len(xids)))


def test_foreign_ones_pass(any_server: MysqlServer, db: str) -> None:
    """An XA transaction without rows of subscribed tables is known at its end, and nothing more."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        prepare(any_server, "'f'", f"INSERT INTO {db}.other VALUES (1)")
        reader.until(now(any_server))
        end(any_server, "COMMIT", "'f'")
        prepare(any_server, "'g'", f"INSERT INTO {db}.other VALUES (2)")
        end(any_server, "COMMIT", "'g'")
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')")
        reader.until(now(any_server))
        assert found(reader, db) == {1: "x"}
        assert reader.prepared == {}
        assert not any(batch.committed for batch in reader.batches)


@pytest.mark.parametrize("cut", [True, False])
def test_a_reader_begins_between_prepare_and_commit(any_server: MysqlServer, db: str, *, cut: bool) -> None:
    """After a lost connection, and in a new process that was told what is open, the COMMIT finds its rows."""
    start = now(any_server)
    prepare(any_server, "'x'", *(f"INSERT INTO {db}.t VALUES ({n}, 'xa')" for n in range(25)))
    prepare(any_server, "'f'", f"INSERT INTO {db}.other VALUES (1)")
    with reading(any_server, {(db, "t"): WANTED}, start, options=SMALL) as reader:
        reader.until(now(any_server))
        assert reader.rows((db, "t")) == []
        known, at = {xid: bool(rows) for xid, rows in reader.prepared.items()}, reader.batches[-1].end
        if cut:
            reader.source._disconnect()
            reader.source._router.restart()
            end(any_server, "COMMIT", "'x'")
            end(any_server, "COMMIT", "'f'")
            reader.until(now(any_server))
            assert found(reader, db) == in_source(any_server, db)
            return
    with reading(any_server, {(db, "t"): WANTED}, at, options=SMALL, prepared=known) as again:
        end(any_server, "COMMIT", "'x'")
        end(any_server, "COMMIT", "'f'")
        again.until(now(any_server))
        assert [batch.committed for batch in again.batches if batch.committed] == ["X'78',X'',1"]
        assert [xid for batch in again.batches for xid in batch.forgotten] == ["X'66',X'',1"]


@pytest.mark.parametrize("size", [1, 30], ids=["waiting", "delivered"])
def test_rows_count_where_they_are_committed(any_server: MysqlServer, db: str, size: int) -> None:
    """Of a table that joins: what was committed up to its place came with its rows, whenever it was prepared."""
    start = now(any_server)
    for first, xid in ((0, "old"), (1000, "new")):
        keys = range(first, first + size)
        prepare(any_server, f"'{xid}'", *(f"INSERT INTO {db}.t VALUES ({key}, '{xid}')" for key in keys))
    end(any_server, "COMMIT", "'old'")
    after = now(any_server)
    end(any_server, "COMMIT", "'new'")
    last = now(any_server)
    joined = Subscription(columns=("id", "v"), keys=("id",), after=after)
    with reading(any_server, {(db, "t"): joined}, start, options=SMALL) as reader:
        until(lambda: reader.get() and any(b.end and reached(b.end, last) for b in reader.batches))
    passed = [(db, "t") in batch.passed for batch in reader.batches if batch.committed]
    plain = [row["v"] for batch in reader.batches for part in batch.changes for row in part.decode().to_pylist()]
    assert (passed, plain) in (([True, False], []), ([], ["new"]))


def test_a_commit_whose_prepare_was_not_seen_ends_the_source(any_server: MysqlServer, db: str) -> None:
    """What lies before the start cannot be had, so it is an error by name; a rollback of such is nothing."""
    prepare(any_server, "'early'", f"INSERT INTO {db}.t VALUES (1, 'x')")
    prepare(any_server, "'undone'", f"INSERT INTO {db}.t VALUES (2, 'x')")
    with reading(any_server, {(db, "t"): WANTED}, now(any_server), options=QUICK) as reader:
        end(any_server, "ROLLBACK", "'undone'")
        any_server.run(f"INSERT INTO {db}.t VALUES (3, 'x')")
        end(any_server, "COMMIT", "'early'")
        error = reader.until_error()
        assert error.code is Code.SOURCE_XA
        assert "X'6561726c79',X'',1" in str(error)
        assert found(reader, db) == {3: "x"}


def test_compressed_ones(any_server: MysqlServer, db: str) -> None:
    """Prepared and one-phase transactions come out of compressed events alike."""
    name = "binlog_transaction_compression" if any_server.flavour == "mysql" else "log_bin_compress"
    with any_server.global_variable(name, "ON"), reading(any_server, {(db, "t"): WANTED}, options=SMALL) as reader:
        many = [f"INSERT INTO {db}.t VALUES ({n}, '{'x' * 90}')" for n in range(35)]
        prepare(any_server, "'x'", *many)
        any_server.run("XA START 'y'", f"INSERT INTO {db}.t VALUES (99, 'y')", "XA END 'y'", "XA COMMIT 'y' ONE PHASE")
        reader.until(now(any_server))
        assert found(reader, db) == {99: "y"}
        end(any_server, "COMMIT", "'x'")
        reader.until(now(any_server))
        assert found(reader, db) == in_source(any_server, db)


class Restarted:
    """Reads on in new sources, each from what a frontend would have stored of the one before."""

    def __init__(self, server: MysqlServer, db: str) -> None:
        self.server = server
        self.table = db, "t"
        self.all = Reader(None)  # type: ignore[arg-type]  # only its rows are asked for
        self.at = now(server)

    def read(self, *, gets: int, cuts: int, to_the_end: bool) -> None:
        """One life. What an open batch brought at its end is lost with it."""
        self.all.rows(self.table)
        known = {xid: bool(rows) for xid, rows in self.all.prepared.items()}
        with reading(self.server, {self.table: WANTED}, self.at, options=SMALL, prepared=known) as reader:
            for number in range(gets):
                reader.get()
                if number < cuts:
                    reader.source._disconnect()
                    reader.source._router.restart()
            if to_the_end and not reached(self.at, now(self.server)):
                reader.until(now(self.server))
            while reader.batches and reader.batches[-1].open:
                reader.batches.pop()
        self.all.batches += reader.batches
        self.at = next((batch.end for batch in reversed(reader.batches) if batch.end), self.at)


@on_servers("mysql")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_any_mixture_read_in_any_pieces_equals_the_source(any_server: MysqlServer, db: str, seed: int) -> None:
    """XA and ordinary transactions side by side, with lost connections and new processes in between."""
    dice, reader = random.Random(seed), Restarted(any_server, db)
    prepared: dict[str, int] = {}
    for number in range(60):
        xid, first = f"'x{number % 7}'", number * 100
        match dice.randrange(5):
            case 0 | 1 if xid not in prepared:
                table, values = dice.choice([("t", "({n}, 'xa')"), ("t", "({n}, 'xa')"), ("other", "({n})")])
                keys = range(first, first + dice.choice([1, 3, 15]))
                prepare(any_server, xid, *(f"INSERT INTO {db}.{table} VALUES {values.format(n=n)}" for n in keys))
                prepared[xid] = first
            case 2 if prepared:
                xid = dice.choice(list(prepared))
                end(any_server, dice.choice(["COMMIT", "ROLLBACK", "COMMIT"]), xid)
                any_server.run(f"UPDATE {db}.t SET v = 'later' WHERE id = {prepared.pop(xid)}")
            case 3:
                reader.read(gets=dice.randrange(4), cuts=dice.randrange(3), to_the_end=dice.random() < 0.6)
            case _:
                any_server.run(f"INSERT INTO {db}.t VALUES ({first + 50}, 'plain')")
    for xid in prepared:
        end(any_server, "COMMIT", xid)
    reader.read(gets=0, cuts=0, to_the_end=True)
    assert found(reader.all, db) == in_source(any_server, db)
    assert reader.all.prepared == {}


def test_a_start_waits_for_prepared_transactions(any_server: MysqlServer, db: str) -> None:
    """CREATE SYNC at latest begins behind the end of every XA transaction that was prepared before."""
    prepare(any_server, "'slow'", f"INSERT INTO {db}.t VALUES (1, 'x')")
    ending = threading.Timer(0.5, end, (any_server, "COMMIT", "'slow'"))
    ending.start()
    start = inspect_server(address(any_server, user="root", password=""), [(db, "t")], "latest", 0).start
    ending.join()
    assert start == latest(any_server)


def test_a_start_does_not_wait_for_ever(any_server: MysqlServer, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the transactions that hold it up are named, so that somebody can end them."""
    monkeypatch.setattr(check, "XA_SECOND", 0.2)
    prepare(any_server, "'op''en','b',3", f"INSERT INTO {db}.t VALUES (1, 'x')")
    with pytest.raises(SyncError) as caught:
        inspect_server(address(any_server, user="root", password=""), [(db, "t")], "latest", 0)
    assert caught.value.code is Code.SOURCE_XA_OPEN
    named = "X'6f7027656e',X'62',3"
    assert named in str(caught.value)
    any_server.run(f"XA ROLLBACK {named}")


def test_who_may_not_see_prepared_transactions_still_begins(mysql_server: MysqlServer) -> None:
    """MySQL tells them only to XA_RECOVER_ADMIN; without it the stream is the judge."""
    with database(mysql_server) as db:
        mysql_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        prepare(mysql_server, "'hidden'", f"INSERT INTO {db}.t VALUES (1, 'x')")
        start = latest(mysql_server)
        with reading(mysql_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
            end(mysql_server, "COMMIT", "'hidden'")
            assert reader.until_error().code is Code.SOURCE_XA


def test_rows_that_were_prepared_in_an_earlier_file_keep_their_place(any_server: MysqlServer, db: str) -> None:
    """Read at once: what was written before their commit comes before them, and what was written after it, after."""
    any_server.run(f"INSERT INTO {db}.t VALUES (1, 'old')")
    start = now(any_server)
    prepare(any_server, "'x'", f"UPDATE {db}.t SET v = 'xa' WHERE id = 1")
    any_server.run("FLUSH BINARY LOGS", f"INSERT INTO {db}.t VALUES (2, 'beside')")
    end(any_server, "COMMIT", "'x'")
    any_server.run(f"UPDATE {db}.t SET v = 'last' WHERE id = 1")
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        reader.until(now(any_server))
        assert {row["id"]: row["v"] for row in reader.rows((db, "t"))} == in_source(any_server, db)
