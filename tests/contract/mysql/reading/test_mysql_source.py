"""The MySQL source against real servers: boundaries, positions, lost connections, what it must refuse."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.position import GtidSet, Order, Position, compare
from syncmgr.job.rows.batch import OP
from syncmgr.job.tls import SslMode
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import SourceOptions
from tests.conftest import need_version
from tests.contract.mysql_reader import Reader, database, facts, latest, reached, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed
from tests.support.until import HANG_SECOND, until

SMALL: Final = SourceOptions(limits=Limits(events=10), position_interval=0.05, retry=Retry(first=0.02), linger=0.0)
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02))
WANTED: Final = Subscription(columns=("id", "v"), keys=("id",))
CHANGES: Final = (  # of each kind
    "INSERT INTO {t} (id, v) VALUES (1, '10'), (2, '20'), (3, '30')",
    "UPDATE {t} SET v = '11' WHERE id = 1",
    "DELETE FROM {t} WHERE id = 2",
    "REPLACE INTO {t} (id, v) VALUES (1, '5')",
    "INSERT INTO {t} (id, v) VALUES (3, '9') ON DUPLICATE KEY UPDATE v = '6'",
)


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database with table t (id, v)."""
    with database(any_server) as name:
        any_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        yield name


@contextmanager
def transaction(server: MysqlServer) -> Iterator[Any]:
    """A cursor; its statements are one transaction."""
    with closing(server.connect(autocommit=False)) as connection:
        with connection.cursor() as cursor:
            yield cursor
        connection.commit()


def kill_readers(server: MysqlServer) -> int:
    """Cut every dump connection of the server, as a network would; how many there were.

    They must read in the clear where others connect meanwhile: MySQL closes the socket of a killed connection while its
    thread may still write TLS to the number of that file, which by then may be another connection's.
    """
    return server.end_sessions("command LIKE 'Binlog Dump%'")


def state(server: MysqlServer, table: str) -> dict[int, str]:
    return {row[0]: row[1] for row in server.run(f"SELECT id, v FROM {table}")}


def found(reader: Reader, db: str) -> dict[int, str]:
    return {key: row["v"] for key, row in reader.state((db, "t")).items()}


@ALIKE
def test_batches_end_at_transactions(any_server: MysqlServer, db: str) -> None:
    """Where a boundary is in reach a batch ends there; only a transaction larger than a batch is open."""
    with reading(any_server, {(db, "t"): WANTED}, options=SMALL) as reader:
        for number in range(12):
            with transaction(any_server) as cursor:
                for part in range(3):
                    cursor.execute(f"INSERT INTO {db}.t VALUES ({number * 3 + part}, 'small')")
        with transaction(any_server) as cursor:
            for part in range(35):
                cursor.execute(f"INSERT INTO {db}.t VALUES ({1000 + part}, 'big')")
        reader.until(latest(any_server))
        assert found(reader, db) == state(any_server, f"{db}.t")
        assert max(batch.events for batch in reader.batches) <= 10
        for batch in reader.batches:
            assert batch.open == (batch.end is None)
            values = [row["v"] for part in batch.changes for row in part.decode().to_pylist()]
            assert batch.open <= (values == ["big"] * 10)
            assert values.count("small") % 3 == 0
        assert sum(batch.open for batch in reader.batches) == 3


def test_positions_grow_and_can_be_resumed(any_server: MysqlServer, db: str) -> None:
    """A new source that starts at any delivered position continues exactly behind it."""
    with reading(any_server, {(db, "t"): WANTED}, options=SMALL) as reader:
        for number in range(30):
            any_server.run(f"INSERT INTO {db}.t VALUES ({number}, 'v{number}')")
        end = latest(any_server)
        reader.until(end)
    ends = [batch.end for batch in reader.batches if batch.end]
    assert all(compare(a, b) is Order.BEFORE for a, b in pairwise(ends) if a != b)
    for at in range(0, len(reader.batches), max(len(reader.batches) // 3, 1)):
        cut = reader.batches[at].end
        assert cut is not None
        before = [
            row["id"] for b in reader.batches[: at + 1] for part in b.changes for row in part.decode().to_pylist()
        ]
        with reading(any_server, {(db, "t"): WANTED}, cut, options=SMALL) as again:
            if not reached(cut, end):  # an end that was asked for has no GTIDs of MariaDB
                again.until(end)
        assert before + [row["id"] for row in again.rows((db, "t"))] == list(range(30))


def test_foreign_transactions_move_the_position(any_server: MysqlServer, db: str) -> None:
    """Changes of other tables come as empty batches, no more often than asked for."""
    any_server.run(f"CREATE TABLE {db}.other (id INT PRIMARY KEY)")
    options = SourceOptions(position_interval=0.5)
    begin = time.monotonic()
    with reading(any_server, {(db, "t"): WANTED}, options=options) as reader:
        for number in range(50):
            any_server.run(f"INSERT INTO {db}.other VALUES ({number})")
        reader.until(latest(any_server))
        assert len(reader.batches) <= (time.monotonic() - begin) / 0.5 + 1
        assert not any(batch.changes or batch.open for batch in reader.batches)
        assert reader.batches[-1].source_time > 0


def test_a_session_of_next_year_commits_now(any_server: MysqlServer, db: str) -> None:
    """What a session calls its time is not that at which the server committed; else all before it would seem read."""
    if any_server.flavour == "mariadb":
        pytest.skip("its binlog has no other time than that of the session")
    with reading(any_server, {(db, "t"): WANTED}) as reader:
        before = time.time()
        any_server.run("SET timestamp = UNIX_TIMESTAMP() + 365 * 86400", f"INSERT INTO {db}.t VALUES (1, 'a')")
        reader.until(latest(any_server))
        assert before - 1 <= reader.batches[-1].source_time <= time.time()


@ALIKE
def test_killed_connections_lose_and_double_nothing(any_server: MysqlServer, db: str) -> None:
    """While somebody cuts the connection over and over, every change arrives once."""
    done, kills = threading.Event(), [0]

    def write() -> None:
        with closing(any_server.connect()) as connection, connection.cursor() as cursor:
            for number in range(100_000):
                if kills[0] >= 5:
                    break
                cursor.execute(f"INSERT INTO {db}.t VALUES ({number}, 'a')")
                if number % 5 == 0:
                    cursor.execute(f"UPDATE {db}.t SET v = 'b' WHERE id > {number - 20}")
                if number % 7 == 0:
                    cursor.execute(f"UPDATE {db}.t SET id = id + 100000 WHERE id = {number}")
                if number % 11 == 0:
                    cursor.execute(f"DELETE FROM {db}.t WHERE id = {number - 1}")
        done.set()

    with reading(any_server, {(db, "t"): WANTED}, options=SMALL, ssl="disabled") as reader:
        writer = threading.Thread(target=write)
        writer.start()
        while not done.is_set():
            reader.get(0.05)
            kills[0] += kill_readers(any_server)
        writer.join()
        reader.until(latest(any_server))
        assert found(reader, db) == state(any_server, f"{db}.t")
        assert any(trouble is not None for trouble in reader.troubles)
        assert reader.troubles[-1] is None


@crossed("by_gtid", [True, False], always=[("mysql", True), ("mariadb", False)])
def test_a_cut_inside_a_transaction_resumes_there(any_server: MysqlServer, db: str, *, by_gtid: bool) -> None:
    """The part of an open transaction that was delivered comes neither twice nor is the rest lost."""
    start = latest(any_server)
    if not by_gtid:
        start = Position(file=start.file, offset=start.offset, server=start.server)
    with transaction(any_server) as cursor:
        for number in range(60):
            cursor.execute(f"INSERT INTO {db}.t VALUES ({number}, '{'x' * 90}')")
            cursor.execute(f"UPDATE {db}.t SET v = 'u' WHERE id = {number}")
    with reading(any_server, {(db, "t"): WANTED}, start, options=SMALL) as reader:
        for _ in range(2):
            until(lambda: (batch := reader.get()) and batch.open)
            reader.source._disconnect()
            reader.source._router.restart()
        reader.until(latest(any_server))
        assert [row["id"] for row in reader.rows((db, "t")) if row[OP] == 0] == list(range(60))
        assert found(reader, db) == state(any_server, f"{db}.t")


def test_a_restarted_server_loses_and_doubles_nothing(any_server: MysqlServer, db: str) -> None:
    """The source waits with back-off for a server that went down, says so, and goes on when it is back."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'before')")
        reader.until(latest(any_server))
        any_server.stop()
        until(lambda: reader.get() or reader.troubles)
        any_server.start()
        any_server.run(f"INSERT INTO {db}.t VALUES (2, 'after')", f"UPDATE {db}.t SET v = 'x'")
        reader.until(latest(any_server))
        assert found(reader, db) == {1: "x", 2: "x"}
        assert len(reader.rows((db, "t"))) == 4
        trouble = next(t for t in reader.troubles if t is not None)
        assert trouble.code is Code.SOURCE_UNREACHABLE


@ALIKE
def test_a_server_that_stays_away_ends_the_source(any_server: MysqlServer, db: str) -> None:
    """After max_retry failures in a row the last one is raised."""
    options = SourceOptions(retry=Retry(first=0.01, times=3))
    with reading(any_server, {(db, "t"): WANTED}, options=options) as reader:
        reader.get()
        any_server.stop()
        try:
            assert reader.until_error().code is Code.SOURCE_UNREACHABLE
            assert len(reader.troubles) == 3
        finally:
            any_server.start()


def test_files_are_followed_without_gtids(any_server: MysqlServer, db: str) -> None:
    """Rotations are followed by coordinate, and GTIDs are known from the next file's head on."""
    start = latest(any_server)
    with reading(
        any_server, {(db, "t"): WANTED}, Position(file=start.file, offset=start.offset), options=QUICK
    ) as reader:
        for number in range(3):
            any_server.run(f"INSERT INTO {db}.t VALUES ({number}, 'x')")
        reader.until(latest(any_server))
        assert reader.batches[-1].end.gtids == ""  # type: ignore[union-attr]
        any_server.run("FLUSH BINARY LOGS", f"INSERT INTO {db}.t VALUES (10, 'x')")
        end = latest(any_server)
        until(lambda: reader.get() and reader.batches[-1].end.file == end.file)  # type: ignore[union-attr]
        reader.until(end)
        assert compare(reader.batches[-1].end, end) is Order.SAME  # type: ignore[arg-type]
        assert reader.batches[-1].end.created > 0  # type: ignore[union-attr]
        assert sorted(found(reader, db)) == [0, 1, 2, 10]


def test_a_purged_position_is_told(any_server: MysqlServer, db: str) -> None:
    """A start that the server no longer has is SOURCE_POSITION_LOST, by GTID and by file."""
    start = latest(any_server)
    any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')", "FLUSH BINARY LOGS", f"INSERT INTO {db}.t VALUES (2, 'x')")
    any_server.run("FLUSH BINARY LOGS")
    last = latest(any_server).file

    def purged() -> bool:
        kill_readers(any_server)  # those of earlier tests still hold their files
        any_server.run(f"PURGE BINARY LOGS TO '{last}'")
        return len(any_server.run("SHOW BINARY LOGS")) == 1

    until(purged)
    for lost in (start, Position(file=start.file, offset=start.offset, server=start.server)):
        with reading(any_server, {(db, "t"): WANTED}, lost) as reader:
            assert reader.until_error().code is Code.SOURCE_POSITION_LOST
    elsewhere = Position(file=start.file, offset=4, server="another")
    with reading(any_server, {(db, "t"): WANTED}, elsewhere) as reader:
        assert reader.until_error().code is Code.SOURCE_POSITION_LOST


@ALIKE
def test_a_server_id_in_use_is_told(any_server: MysqlServer, db: str) -> None:
    """Two readers with one server id end in SOURCE_SERVER_ID instead of throwing each other out forever."""
    tables = {(db, "t"): WANTED}
    with reading(any_server, tables, options=QUICK) as one, reading(any_server, tables, options=QUICK) as two:
        caught: list[SyncError] = []

        def both() -> bool:
            for reader in (one, two):
                try:
                    reader.get(0.1)
                except SyncError as error:
                    caught.append(error)
            return bool(caught)

        if any_server.flavour == "mariadb":
            pytest.skip("MariaDB 10.11 lets both read")
        until(both)
        assert caught[0].code is Code.SOURCE_SERVER_ID


def test_a_schema_that_cannot_be_that_of_the_rows_is_refused(any_server: MysqlServer, db: str) -> None:
    """Below FULL a stored schema of another shape is SOURCE_SCHEMA, never a guess; without one there is no reading."""
    known = facts(any_server, [(db, "t")])
    any_server.run(f"CREATE TABLE {db}.u (id BIGINT PRIMARY KEY, v INT)")
    wrong = facts(any_server, [(db, "u")]).tables[0]
    start = latest(any_server)
    with any_server.global_variable("binlog_row_metadata", "'MINIMAL'"):
        any_server.run(f"INSERT INTO {db}.t VALUES (1, '1')")
    for stored, known_at in ((wrong, None), (known.tables[0], latest(any_server)), (None, None)):
        subscription = Subscription(columns=("id", "v"), keys=("id",), schema=stored, known_at=known_at)
        with reading(any_server, {(db, "t"): subscription}, start) as reader:
            assert reader.until_error().code is Code.SOURCE_SCHEMA


@ALIKE
def test_statements_in_place_of_rows_are_refused(any_server: MysqlServer, db: str) -> None:
    """A session that switched to STATEMENT is found at its first change of a synced table, and only there."""
    any_server.run(f"CREATE TABLE {db}.other (id INT PRIMARY KEY)", f"GRANT TRIGGER ON {db}.* TO repl")
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run("SET SESSION binlog_format = STATEMENT", f"INSERT INTO {db}.other VALUES (1)")
        reader.until(latest(any_server))
        any_server.run("SET SESSION binlog_format = STATEMENT", f"INSERT INTO {db}.t VALUES (1, 'x')")
        assert reader.until_error().code is Code.SOURCE_NOT_ROW


@ALIKE
def test_row_images_that_are_not_full_are_refused(any_server: MysqlServer, db: str) -> None:
    """An update that leaves out columns cannot be applied, so it is an error, not a NULL."""
    any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')", f"ALTER TABLE {db}.t ADD w INT")
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run("SET SESSION binlog_row_image = MINIMAL", f"UPDATE {db}.t SET w = 1")
        reader.until(latest(any_server))
        with pytest.raises(SyncError) as caught:
            reader.rows((db, "t"))
        assert caught.value.code is Code.SOURCE_ROW_IMAGE


@crossed("metadata", ["FULL", "MINIMAL"], always=[("mysql", "MINIMAL"), ("mariadb", "FULL")])
def test_columns_that_a_server_adds_of_its_own(any_server: MysqlServer, metadata: str) -> None:
    """What it keeps beside those of an index over an expression, or of a long unique key, is passed over."""
    own = "KEY ((id + 1))" if any_server.flavour == "mysql" else "UNIQUE (v)"
    with database(any_server) as db, any_server.global_variable("binlog_row_metadata", f"'{metadata}'"):
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v TEXT, {own})")
        known = facts(any_server, [(db, "t")])
        any_server.run(*(each.format(t=f"{db}.t") for each in CHANGES))
        wanted = Subscription(columns=("id", "v"), keys=("id",), schema=known.tables[0])
        with reading(any_server, {(db, "t"): wanted}, known.start, options=QUICK) as reader:
            reader.until(latest(any_server))
            assert found(reader, db) == state(any_server, f"{db}.t") == {1: "5", 3: "6"}


def test_generated_columns_that_row_images_leave_out(any_server: MysqlServer) -> None:
    """MariaDB does so from 11.8.9 on, whether they are stored or not: who wants one stops, all other values come."""
    generated = "s INT AS (v + 1) STORED, g VARCHAR(9) AS (CONCAT('v', v)) VIRTUAL"
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {generated}, v INT)")
        start = latest(any_server)
        any_server.run(*(each.format(t=f"{db}.t") for each in CHANGES))
        with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
            reader.until(latest(any_server))
            assert found(reader, db) == {1: 5, 3: 6}
        for name, values in {"s": {1: 6, 3: 7}, "g": {1: "v5", 3: "v6"}}.items():
            wanted = Subscription(columns=("id", "v", name), keys=("id",))
            with reading(any_server, {(db, "t"): wanted}, start, options=QUICK) as reader:
                reader.until(latest(any_server))
                if any_server.logs_generated:
                    assert {key: row[name] for key, row in reader.state((db, "t")).items()} == values
                    continue
                with pytest.raises(SyncError, match=f"rows lack {name}") as caught:
                    reader.rows((db, "t"))
                assert caught.value.code is Code.SOURCE_ROW_IMAGE


@ALIKE
def test_savepoints_and_rollbacks(any_server: MysqlServer, db: str) -> None:
    """What was rolled back does not come; what was committed around it does."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        with transaction(any_server) as cursor:
            cursor.execute(f"INSERT INTO {db}.t VALUES (1, 'a')")
            cursor.execute("SAVEPOINT s")
            cursor.execute(f"INSERT INTO {db}.t VALUES (2, 'a')")
            cursor.execute("ROLLBACK TO SAVEPOINT s")
            cursor.execute(f"INSERT INTO {db}.t VALUES (3, 'a')")
        with closing(any_server.connect(autocommit=False)) as connection:
            connection.cursor().execute(f"INSERT INTO {db}.t VALUES (4, 'a')")
            connection.rollback()
        any_server.run(f"INSERT INTO {db}.t VALUES (5, 'a')")
        reader.until(latest(any_server))
        assert sorted(found(reader, db)) == [1, 3, 5]


@pytest.mark.parametrize("limits", [Limits(), Limits(events=1)], ids=["whole", "torn"])
@pytest.mark.parametrize(
    "end",
    [
        ["CREATE TEMPORARY TABLE {db}.e (id INT)", "DROP TEMPORARY TABLE {db}.e", "ROLLBACK"],
        ["SAVEPOINT s", "UPDATE {db}.n JOIN {db}.m USING (id) SET n.v = 2, m.v = 2", "ROLLBACK TO s", "COMMIT"],
    ],
    ids=["temporary", "savepoint"],
)
def test_a_rollback_that_is_logged_names_the_table(
    mariadb_server: MysqlServer, limits: Limits, end: Sequence[str]
) -> None:
    """MySQL logs none behind rows. Which of them stay is not known, so the table stops alone."""
    with database(mariadb_server) as db:
        mariadb_server.run(*(f"CREATE TABLE {db}.{name} (id BIGINT PRIMARY KEY, v VARCHAR(100))" for name in "tun"))
        mariadb_server.run(f"CREATE TABLE {db}.m (id BIGINT PRIMARY KEY, v INT) ENGINE = MyISAM")
        mariadb_server.run(*(f"INSERT INTO {db}.{name} VALUES (1, 1)" for name in "nm"))
        options = replace(QUICK, limits=limits)
        with reading(mariadb_server, {(db, "t"): WANTED, (db, "u"): WANTED}, options=options) as reader:
            mariadb_server.run(
                *(f"INSERT INTO {db}.u VALUES (1, 'a')", "BEGIN", f"INSERT INTO {db}.t VALUES (1, 'a')"),
                *(each.format(db=db) for each in end),
            )
            error = reader.until_error()
            assert error.code is Code.SOURCE_UNSUPPORTED
            assert "a ROLLBACK after rows" in str(error)
            assert error.context.get("table") == f"{db}.t"


@pytest.mark.parametrize("ssl", ["disabled", "preferred", "required"])
def test_tls(mysql_server: MysqlServer, ssl: SslMode) -> None:
    """The stream runs in the clear and over TLS, as asked for."""
    with database(mysql_server) as db:
        mysql_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        with reading(mysql_server, {(db, "t"): WANTED}, options=QUICK, ssl=ssl) as reader:
            mysql_server.run(f"INSERT INTO {db}.t VALUES (1, REPEAT('x', 100))")
            reader.until(latest(mysql_server))
            assert found(reader, db) == {1: "x" * 100}


def test_tls_that_the_server_lacks(mariadb_server: MysqlServer) -> None:
    """A server without TLS is refused where TLS is required, and told apart from a wrong password."""
    with reading(mariadb_server, {}, Position(), options=SourceOptions(retry=Retry(times=0)), ssl="required") as reader:
        error = reader.until_error()
        assert error.code is Code.SOURCE_TLS
        assert 'it takes no TLS, and "mysql.ssl" is required' in str(error)


@ALIKE
def test_checksums_may_be_off(any_server: MysqlServer, db: str) -> None:
    """A binlog without checksums, and the switch between both, read alike."""
    start = latest(any_server)
    any_server.run(f"INSERT INTO {db}.t VALUES (1, 'with')")
    with any_server.global_variable("binlog_checksum", "NONE"):
        any_server.run(f"INSERT INTO {db}.t VALUES (2, 'without')")
        with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
            reader.until(latest(any_server))
            assert sorted(found(reader, db)) == [1, 2]
    any_server.run(f"INSERT INTO {db}.t VALUES (3, 'again')")
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        reader.until(latest(any_server))
        assert sorted(found(reader, db)) == [1, 2, 3]


@ALIKE
def test_heartbeats_are_signs_of_life(any_server: MysqlServer, db: str) -> None:
    """An idle server is heard; one that froze is trouble within the read time-out, and read on when it thaws."""
    options = SourceOptions(heartbeat=0.2, read_timeout=10.0, retry=Retry(first=0.05), position_interval=0.05)
    with reading(any_server, {(db, "t"): WANTED}, options=options) as reader:
        reader.get()
        first = reader.source.heard_at()
        until(lambda: reader.get() or reader.source.heard_at() > first + 0.5)
        assert not any(reader.troubles)
        process = any_server._process
        assert process is not None
        os.kill(process.pid, signal.SIGSTOP)
        try:
            until(lambda: reader.get(0.05) or reader.troubles)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')")
        reader.until(latest(any_server))
        assert found(reader, db) == {1: "x"}


@ALIKE
def test_close_ends_a_waiting_get_at_once(any_server: MysqlServer, db: str) -> None:
    """A get that would wait for long returns None when another thread closes the source, whatever the server says."""
    silent = SourceOptions(heartbeat=3600, read_timeout=7200)
    with reading(any_server, {(db, "t"): WANTED}, options=silent) as reader:
        reader.get()
        ended: list[object] = []
        waiting = threading.Thread(target=lambda: ended.append(reader.source.get(2 * HANG_SECOND)))
        waiting.start()
        waiting.join(0.2)  # it waits for the server by then
        reader.source.close()
        waiting.join(HANG_SECOND)
        assert ended == [None]


def test_tagged_gtids(tagging_server: MysqlServer) -> None:
    """Tagged transactions are counted in the position, and reading resumes behind them."""
    need_version(tagging_server, (8, 3))
    with database(tagging_server) as db:
        tagging_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        with reading(tagging_server, {(db, "t"): WANTED}, options=QUICK) as reader:
            for number in range(4):
                tag = ":tag_1" if number % 2 else ""
                tagging_server.run(f"SET gtid_next = 'AUTOMATIC{tag}'", f"INSERT INTO {db}.t VALUES ({number}, 'x')")
            end = latest(tagging_server)
            reader.until(end)
            assert sorted(found(reader, db)) == [0, 1, 2, 3]
            last = reader.batches[-1].end
            assert last is not None
            assert ":tag_1:" in last.gtids
            assert GtidSet.parse(last.gtids) == GtidSet.parse(end.gtids)
        tagging_server.run(f"INSERT INTO {db}.t VALUES (9, 'x')")
        with reading(tagging_server, {(db, "t"): WANTED}, last, options=QUICK) as reader:
            reader.until(latest(tagging_server))
            assert [row["id"] for row in reader.rows((db, "t"))] == [9]


def test_a_compressed_transaction_larger_than_a_batch(mysql_server: MysqlServer) -> None:
    """It comes in open parts, like any other, and a cut inside it is mended."""
    with database(mysql_server) as db, mysql_server.global_variable("binlog_transaction_compression", "ON"):
        mysql_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        with reading(mysql_server, {(db, "t"): WANTED}, options=SMALL) as reader:
            with transaction(mysql_server) as cursor:
                for number in range(55):
                    cursor.execute(f"INSERT INTO {db}.t VALUES ({number}, '{'x' * 90}')")
            until(lambda: (batch := reader.get()) and batch.open)
            reader.source._disconnect()
            reader.source._router.restart()
            reader.until(latest(mysql_server))
            assert [row["id"] for row in reader.rows((db, "t"))] == list(range(55))
            assert sum(batch.open for batch in reader.batches) == 5


def test_partial_json_is_refused(mysql_server: MysqlServer) -> None:
    """PARTIAL_JSON events of a synced table name the setting to change."""
    with database(mysql_server) as db:
        mysql_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v JSON)")
        mysql_server.run(f"INSERT INTO {db}.t VALUES (1, JSON_OBJECT('a', 1, 'b', REPEAT('x', 1000)))")
        with reading(mysql_server, {(db, "t"): WANTED}, options=QUICK) as reader:
            mysql_server.run(
                "SET SESSION binlog_row_value_options = PARTIAL_JSON",
                f"UPDATE {db}.t SET v = JSON_SET(v, '$.a', 2)",
            )
            error = reader.until_error()
            assert error.code is Code.SOURCE_UNSUPPORTED
            assert f"updates of {db}.t; binlog_row_value_options must be" in str(error)


@ALIKE
def test_the_list_of_binlog_files_is_asked_for_once(any_server: MysqlServer, db: str) -> None:
    """At a connection, whose checks all go by it: a server with thousands of files opens each of them for an answer."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')")
        reader.until(latest(any_server))
    here = reader.batches[-1].end
    any_server.run("SET GLOBAL log_output = 'TABLE'", "TRUNCATE mysql.general_log", "SET GLOBAL general_log = ON")
    try:
        with reading(any_server, {(db, "t"): WANTED}, here, options=QUICK) as reader:
            any_server.run(f"INSERT INTO {db}.t VALUES (2, 'x')")
            reader.until(latest(any_server))
    finally:
        any_server.run("SET GLOBAL general_log = OFF", "SET GLOBAL log_output = 'FILE'")
    asked = any_server.run(
        "SELECT thread_id, COUNT(*) FROM mysql.general_log WHERE user_host LIKE 'repl%'"
        " AND CONVERT(argument USING utf8mb4) = 'SHOW BINARY LOGS' GROUP BY thread_id"
    )
    assert asked
    assert {times for _, times in asked} == {1}
