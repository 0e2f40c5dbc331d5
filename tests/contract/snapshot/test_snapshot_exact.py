"""The rows of a table without a key, and the place in the binlog that goes on from just there."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pymysql
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.job.snapshot.handshake import opening
from syncmgr.sources.mysql.address import Locking, MysqlAddress, connect, query
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.server import exact_point
from syncmgr.sources.mysql.server.exact_point import check_exact
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from tests.contract.mysql.reading.test_mysql_xa import end, prepare
from tests.contract.mysql_reader import address, database, facts, latest, reading
from tests.contract.snapshot.test_snapshot_values import chunk_of
from tests.support.chunk_reads import rows_of
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed, on_servers
from tests.support.until import HANG_SECOND, until

pytestmark = pytest.mark.mysql


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    with database(any_server) as name:
        any_server.run(f"CREATE TABLE {name}.t (v INT)", f"CREATE TABLE {name}.other (v INT)")
        yield name


def root(server: MysqlServer) -> MysqlAddress:
    return address(server, user="root", password="")


def opened(server: MysqlServer, name: str) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
    """A session that has said what comes before the first row."""
    connection = pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True)
    with connection.cursor() as cursor:
        for statement in opening(name):
            cursor.execute(statement)
    return connection


def read(server: MysqlServer, db: str, name: str) -> list[int]:
    with opened(server, name) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT v FROM {db}.t")
        return [row[0] for row in cursor.fetchall()]


def write(server: MysqlServer, db: str, ended: threading.Event) -> None:
    number = 0
    while not ended.is_set():
        number += 1
        server.run(f"INSERT INTO {db}.t VALUES ({number})", f"INSERT INTO {db}.other VALUES ({number})")


@crossed("attempt", range(3), always=[("mysql", 0), ("mariadb", 1)])
def test_rows_and_changes_meet_at_the_point(any_server: MysqlServer, db: str, attempt: int) -> None:
    """Under writes: what was read and what the binlog has after the point are all rows, each once."""
    start, table = facts(any_server, [(db, "t")], "latest"), (db, "t")
    name, ended = f"{uuid4().hex[:11]}{attempt}", threading.Event()
    with ThreadPoolExecutor(2) as pool:
        pool.submit(write, any_server, db, ended)
        try:
            until(lambda: any_server.run(f"SELECT count(*) FROM {db}.t")[0][0] > 20)
            with MysqlSnapshot([root(any_server)]).exact(start.tables[0], name, ()) as point:
                rows: Future[list[int]] = pool.submit(read, any_server, db, name)
                at = point.find(rows.done)
                assert at is not None
                point.release()
                found = rows.result(HANG_SECOND)
            seen = any_server.run(f"SELECT max(v) FROM {db}.t")[0][0]
            until(lambda: any_server.run(f"SELECT max(v) FROM {db}.t")[0][0] > seen + 20)
        finally:
            ended.set()
    wanted = Subscription(columns=("v",), after=at)
    with reading(any_server, {table: wanted}, start.start) as reader:
        reader.until(latest(any_server))
        behind = [row["v"] for row in reader.rows(table)]
    assert len(found) >= 20
    assert len(behind) >= 20
    assert Counter(found + behind) == Counter(row[0] for row in any_server.run(f"SELECT v FROM {db}.t"))


def test_a_reader_without_a_point_fails(any_server: MysqlServer) -> None:
    """Where the other side has died nobody knows where the binlog goes on: no row is read."""
    with pytest.raises(pymysql.err.MySQLError, match="out of range"):
        opened(any_server, uuid4().hex[:12])


def test_a_chunk_without_a_point_reads_nothing(any_server: MysqlServer, db: str) -> None:
    """The statements before its first row count one by one."""
    any_server.run(f"INSERT INTO {db}.t VALUES (1)")
    chunk = chunk_of(any_server, facts(any_server, [(db, "t")]).tables[0])
    with pytest.raises(SyncError, match="out of range"):
        rows_of(replace(chunk, exact=True, plan=uuid4().hex[:12]))


def test_a_second_reader_of_one_point_fails(any_server: MysqlServer, db: str) -> None:
    """Its view would begin elsewhere."""
    name, table = uuid4().hex[:12], facts(any_server, [(db, "t")]).tables[0]
    with ThreadPoolExecutor(1) as pool, MysqlSnapshot([root(any_server)]).exact(table, name, ()) as point:
        first = pool.submit(opened, any_server, name)
        assert point.find(first.done) is not None
        point.release()
        first.result(HANG_SECOND).close()
        with pytest.raises(pymysql.err.MySQLError, match="out of range"):
            opened(any_server, name)


def test_rows_that_were_prepared_before_the_table_joined_are_waited_for(any_server: MysqlServer, db: str) -> None:
    """They were read without it, so that their commit brings nothing: MySQL keeps the table locked until then, and on
    MariaDB, which does not, nothing is read before they have ended. Others are none of its.
    """
    table = facts(any_server, [(db, "t")]).tables[0]
    place = replace(root(any_server), locking=Locking(wait=1, tries=1))
    xid = "X'6a6f696e',X'',1"
    prepare(any_server, "'join'", f"INSERT INTO {db}.t VALUES (1)")
    try:
        name = uuid4().hex[:12]
        with (
            pytest.raises(SyncError) as raised,
            ThreadPoolExecutor(1) as pool,
            MysqlSnapshot([place]).exact(table, name, {xid}) as point,
        ):
            point.find(pool.submit(opened, any_server, name).done)
        assert raised.value.code is Code.SNAPSHOT_WAITS
        with MysqlSnapshot([place]).exact(table, uuid4().hex[:12], {"X'6f74686572',X'',1"}) as point:
            assert point.find(lambda: True) is None
    finally:
        end(any_server, "ROLLBACK", "'join'")
    with MysqlSnapshot([place]).exact(table, uuid4().hex[:12], {xid}) as point:
        assert point.find(lambda: True) is None


def test_nobody_has_to_read(any_server: MysqlServer, db: str) -> None:
    """The rows may be in the lake already, which whoever commits sees before reading."""
    table = facts(any_server, [(db, "t")]).tables[0]
    with MysqlSnapshot([root(any_server)]).exact(table, uuid4().hex[:12], ()) as point:
        assert point.find(lambda: True) is None


@on_servers("mysql")
def test_a_lock_is_given_up(any_server: MysqlServer, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After as many tries as were told, in each of which it waits for so long."""
    table, asked = facts(any_server, [(db, "t")]).tables[0], list[str]()

    def noted(connection: Any, text: str, *args: Any) -> Any:
        asked.append(text)
        return query(connection, text, *args)

    monkeypatch.setattr(exact_point, "query", noted)
    monkeypatch.setattr(exact_point, "PAUSE_SECOND", 0.01)
    place = replace(root(any_server), locking=Locking(wait=2, tries=3))
    with closing(any_server.connect()) as writer, closing(connect(place)) as connection:
        writer.begin()
        writer.cursor().execute(f"INSERT INTO {db}.t VALUES (1)")
        with pytest.raises(SyncError, match="cannot be locked for its snapshot: a transaction keeps it locked"):
            exact_point.lock(place, connection, table, "")
        writer.rollback()
        exact_point.lock(place, connection, table, "")
    wait, taken = "SET SESSION lock_wait_timeout = 2", f"LOCK TABLES `{db}`.`t` READ"
    assert asked == [wait, taken, taken, taken, wait, taken]


def test_questions_of_a_paused_job_are_given_up(any_server: MysqlServer, db: str) -> None:
    """At once, though the server does not answer: a table that somebody has locked can be neither cut nor locked."""
    table = facts(any_server, [(db, "t")]).tables[0]
    snapshot = MysqlSnapshot([replace(root(any_server), locking=Locking(wait=3000, tries=20))])
    begin = Position(file="binlog.000001", offset=500)
    with (
        ThreadPoolExecutor(2) as pool,
        closing(any_server.connect()) as holder,
        snapshot.exact(table, uuid4().hex[:12], ()),
    ):
        holder.cursor().execute(f"LOCK TABLES {db}.t WRITE")
        try:
            asked = [pool.submit(snapshot.plan, table, (), 10), pool.submit(snapshot.await_seen, table, begin)]
            waiting = "SELECT count(*) FROM information_schema.processlist WHERE state LIKE '%metadata lock%'"
            until(lambda: any_server.run(waiting)[0][0] >= len(asked), why="two that wait")
            snapshot.give_up()
            for question in asked:
                with pytest.raises(SyncError) as raised:
                    question.result(HANG_SECOND)
                assert raised.value.code is Code.INTERRUPTED
        finally:
            holder.cursor().execute("UNLOCK TABLES")
    with pytest.raises(SyncError, match="interrupted"):
        snapshot.end()


def test_a_user_who_may_not_lock_is_refused(any_server: MysqlServer, db: str) -> None:
    """With the GRANT that is missing, for the tables of every database."""
    table = facts(any_server, [(db, "t")]).tables[0]
    user = f"u{uuid4().hex[:12]}"
    any_server.run(f"CREATE USER {user} IDENTIFIED BY ''", f"GRANT SELECT ON {db}.* TO {user}")
    try:
        any_server.run(f"CREATE DATABASE {db}_2", f"CREATE TABLE {db}_2.t (v INT)")
        any_server.run(f"GRANT SELECT ON {db}_2.* TO {user}")
        tables = [table, facts(any_server, [(f"{db}_2", "t")]).tables[0]]
        with pytest.raises(SyncError, match="GRANT LOCK TABLES ON ") as raised:
            check_exact(address(any_server, user=user, password=""), tables)
        assert raised.value.code is Code.SNAPSHOT_REFUSED
        grants = str(raised.value).split("run: ")[1].split("; ")
        assert len(grants) == 2
        any_server.run(*grants)
        check_exact(address(any_server, user=user, password=""), tables)
    finally:
        any_server.run(f"DROP USER {user}", f"DROP DATABASE IF EXISTS {db}_2")


def test_a_user_who_may_not_read_is_told_what_to_grant(any_server: MysqlServer, db: str) -> None:
    """Not that the engine, which is not shown without SELECT, has no consistent reading; and one visit is enough."""
    table = facts(any_server, [(db, "t")]).tables[0]
    user = f"u{uuid4().hex[:12]}"
    any_server.run(f"CREATE USER {user} IDENTIFIED BY ''")
    try:
        with pytest.raises(SyncError) as raised:
            check_exact(address(any_server, user=user, password=""), [table])
        assert raised.value.code is Code.SOURCE_GRANT_MISSING
        any_server.run(*str(raised.value).split("run: ")[1].split("; "))
        check_exact(address(any_server, user=user, password=""), [table])
    finally:
        any_server.run(f"DROP USER {user}")


def test_an_engine_without_views_is_refused(any_server: MysqlServer, db: str) -> None:
    """MyISAM shows rows that are written while it is read."""
    any_server.run(f"CREATE TABLE {db}.m (v INT) ENGINE = MyISAM")
    with pytest.raises(SyncError, match="MyISAM"):
        check_exact(root(any_server), [facts(any_server, [(db, "m")]).tables[0]])
