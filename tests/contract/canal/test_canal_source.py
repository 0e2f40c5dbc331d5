"""The canal source against real servers: transactions, positions, lost connections, full rings, what it must refuse."""

import copy
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.sources.canal.connector import CanalLostError, Connector
from syncmgr.sources.canal.factory import inspect
from syncmgr.sources.canal.source import SourceOptions
from tests.contract.canal_reader import Reader, channel, endpoint, reading
from tests.contract.mysql_reader import database
from tests.support.alike import ALIKE
from tests.support.servers.canal import CANAL_PASSWORD, CanalServer
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.slow import crossed
from tests.support.until import HANG_SECOND, PROMPT_SECOND, until
from tests.unit.job.factories import make_canal

pytestmark = pytest.mark.mysql

Start = Callable[..., CanalServer]
SMALL_RING: Final = (
    *("--set", "canal.instance.memory.buffer.size=1024"),  # 1 MiB
    *("--set", "canal.instance.transaction.size=16"),  # entries that are put into it at once
)
PARALLEL: Final = ("--set", "canal.instance.parser.parallel=true")  # canal 1.1.7 reads compression only so
MANY: Final = 600
FIRST: Final = 9_999_999
PIECES: Final = 13  # of as many entries as canal puts into a small ring at once


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database with table t (id, v)."""
    with database(any_server) as name:
        any_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v TEXT)")
        yield name


@pytest.fixture
def mysql_db(mysql_server: MysqlServer) -> Iterator[str]:
    """The same on MySQL alone, for what the kind of server does not touch."""
    with database(mysql_server) as name:
        mysql_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v TEXT)")
        yield name


def fill(server: MysqlServer, db: str, start: int, stop: int) -> None:
    """One transaction for each row."""
    server.run(*(f"INSERT INTO {db}.t VALUES ({number}, 'v{number}')" for number in range(start, stop)))


def state(server: MysqlServer, db: str) -> dict[int, str]:
    return {row[0]: row[1] for row in server.run(f"SELECT id, v FROM {db}.t")}


def found(reader: Reader, db: str) -> dict[int, str]:
    return {key: row["v"] for key, row in reader.state((db, "t")).items()}


def until_equal(reader: Reader, server: MysqlServer, db: str) -> None:
    expected = state(server, db)
    reader.until(lambda: len(reader.rows((db, "t"))) >= len(expected) and found(reader, db) == expected)


def test_a_wrong_password_is_an_error(canal: Start, mysql_db: str) -> None:
    """Also from a server that says so and lets the reader pass all the same."""
    with reading(canal(), [channel((mysql_db, "t"))], password="wrong") as reader:
        error = reader.until_error()
        assert error.code is Code.CANAL_ACCESS_DENIED
        assert "refused user 'canal': auth failed for user:canal" in str(error)


@pytest.mark.slow
def test_a_server_without_users_takes_anybody(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """An empty user and password are no error of ours."""
    server = canal(open_to_all=True)
    with reading(server, [channel((mysql_db, "t"))], user="", password="") as reader:
        reader.get()
        fill(mysql_server, mysql_db, 0, 3)
        until_equal(reader, mysql_server, mysql_db)


def test_a_destination_that_is_not_there_is_told(canal: Start, mysql_db: str) -> None:
    """It is tried again, since it may be started; the trouble names it, and what canal said of it."""
    options = SourceOptions(retry=Retry(first=0.01, times=2))
    with reading(canal(), [channel((mysql_db, "t"))], destination="nope", options=options) as reader:
        error = reader.until_error()
        assert error.code is Code.CANAL_REFUSED
        assert "does not serve destination 'nope'" in str(error)
        assert len(reader.troubles) == 2


@pytest.mark.slow
def test_a_look_without_tables_leaves_the_reader_its_filter(
    canal: Start, mysql_server: MysqlServer, mysql_db: str
) -> None:
    """It tells whether canal is there, takes the password and serves the destination; whoever reads that loses no row
    by it.
    """
    server = canal()
    there = make_canal(host="127.0.0.1", port=server.port, destination=server.destination, password=CANAL_PASSWORD)
    with reading(server, [channel((mysql_db, "t"))]) as reader:
        reader.get()
        fill(mysql_server, mysql_db, 0, 3)
        until_equal(reader, mysql_server, mysql_db)
        assert inspect(there, [], connect_timeout=HANG_SECOND).tables == ()
        fill(mysql_server, mysql_db, 3, 6)
        until_equal(reader, mysql_server, mysql_db)
    assert inspect(there, [], connect_timeout=HANG_SECOND).tables == (), "also where nobody reads"
    with pytest.raises(SyncError, match="nowhere") as raised:
        inspect(replace(there, destination="nowhere"), [], connect_timeout=HANG_SECOND)
    assert raised.value.code is Code.CANAL_REFUSED
    with pytest.raises(SyncError, match="refused user 'canal'"):
        inspect(replace(there, password="wrong"), [], connect_timeout=HANG_SECOND)


@pytest.mark.slow
def test_an_error_in_place_of_a_batch_breaks_the_session(canal: Start) -> None:
    """Canal answers an ack only where it fails: the answer stands where a batch is due, and nothing fits any more."""
    connector = Connector(endpoint(canal()), "none")
    connector.acknowledge(4711)
    connector.ask(100, 100)
    with pytest.raises(CanalLostError, match="batchId:4711 is not exist"):
        connector.receive(time.monotonic() + HANG_SECOND)
    connector.close()


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n", b"\x00\x00\x00\x05\xff\xff\xff\xff\xff", b""])
def test_what_is_no_canal_server_is_told(said: bytes) -> None:
    """Whatever answers at the port: the reader tells it, tries again, and ends; it neither hangs nor grows."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(3):
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        options = SourceOptions(retry=Retry(first=0.01, times=2))
        fake = CanalServer.__new__(CanalServer)
        fake.port, fake.destination = listener.getsockname()[1], "example"
        with reading(fake, [channel(("d", "t"))], options=options) as reader:
            error = reader.until_error()
        thread.join()
    assert error.code in {Code.CANAL_PROTOCOL, Code.CANAL_UNREACHABLE}


def test_close_ends_a_get_at_once(canal: Start, mysql_db: str) -> None:
    """PAUSE and STOP wait for nobody."""
    with reading(canal(), [channel((mysql_db, "t"))]) as reader:
        reader.get()
        threading.Timer(0.2, reader.source.close).start()
        begin = time.monotonic()
        assert reader.source.get(2 * HANG_SECOND) is None
        assert time.monotonic() - begin < PROMPT_SECOND


def test_a_server_that_is_away_is_waited_for(mysql_server: MysqlServer, mysql_db: str, canal: Start) -> None:
    """Each failure is told, and the reader goes on when canal is back; closing does not wait for it."""
    server = canal()
    server.kill()
    with reading(server, [channel((mysql_db, "t"))]) as reader:
        reader.until(lambda: reader.troubles)
        error = reader.troubles[0]
        assert error is not None
        assert error.code is Code.CANAL_UNREACHABLE
        server.start()
        reader.until(lambda: reader.troubles[-1] is None)
        fill(mysql_server, mysql_db, 0, 2)
        until_equal(reader, mysql_server, mysql_db)


@crossed("gtid", [False, True], always=[("mysql", True), ("mariadb", False)])
def test_every_change_arrives_in_its_transaction(canal: Start, any_server: MysqlServer, db: str, *, gtid: bool) -> None:
    """On both kinds of server, batches end at transactions, and the changes give the table."""
    if gtid and any_server.flavour == "mariadb":
        pytest.skip("canal finds no start in a MariaDB by GTID")
    with reading(canal(any_server, options=("--gtid",) if gtid else ()), [channel((db, "t"))]) as reader:
        reader.get()
        any_server.run(
            f"INSERT INTO {db}.t VALUES (1,'a'), (2,NULL), (3,'c')",
            f"UPDATE {db}.t SET v = CONCAT(v, '!') WHERE id <> 2",
            "BEGIN",
            f"UPDATE {db}.t SET id = 30 WHERE id = 3",
            f"DELETE FROM {db}.t WHERE id = 1",
            "COMMIT",
            f"CREATE TABLE {db}.other (id INT)",
            f"INSERT INTO {db}.other VALUES (1)",
            f"INSERT INTO {db}.t VALUES (9, 'last')",
        )
        until_equal(reader, any_server, db)
        assert not any(batch.open for batch in reader.batches)
        assert bool(reader.end.gtids) == gtid
        assert [column.name for column in reader.learned[db, "t"].columns] == ["id", "v"]


@ALIKE
def test_positions_can_be_resumed(canal: Start, any_server: MysqlServer, db: str) -> None:
    """A new reader that starts at any position takes exactly what lies behind it, though canal delivers it all."""
    server = canal(any_server)
    with reading(server, [channel((db, "t"))], acks=False) as reader:
        reader.get()
        for start in range(0, 30, 10):
            fill(any_server, db, start, start + 10)
            until_equal(reader, any_server, db)
        ends = [batch.end for batch in reader.batches if batch.end is not None]
    counts = [len(batch.changes[0].decode()) if batch.changes else 0 for batch in reader.batches if batch.end]
    for at in range(0, len(ends), max(len(ends) // 3, 1)):
        with reading(server, [channel((db, "t"))], ends[at], acks=False) as again:
            expected = list(range(sum(counts[: at + 1]), 30))
            again.until(lambda r=again, e=expected: len(r.rows((db, "t"))) >= len(e))
            assert [row["id"] for row in again.rows((db, "t"))] == expected


@pytest.mark.slow
def test_a_long_transaction_is_one_batch(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """Canal cuts it in pieces; they are held until its END."""
    with reading(canal(), [channel((mysql_db, "t"))]) as reader:
        reader.get()
        rows = (f"INSERT INTO {mysql_db}.t VALUES ({number}, REPEAT('x', 1500))" for number in range(5000))
        mysql_server.run("BEGIN", *rows, "COMMIT")
        until_equal(reader, mysql_server, mysql_db)
        [batch] = [batch for batch in reader.batches if batch.events]
        assert (batch.events, batch.open) == (5000, False)


def test_a_ring_full_of_one_transaction_is_torn(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """Canal can give no more before it is acked: the parts come out marked, once each, and the END makes them whole."""
    with reading(canal(options=SMALL_RING), [channel((mysql_db, "t"))]) as reader:
        reader.get()
        rows = (f"INSERT INTO {mysql_db}.t VALUES ({number}, REPEAT('x', 10000))" for number in range(200))
        mysql_server.run("BEGIN", *rows, "COMMIT", f"INSERT INTO {mysql_db}.t VALUES (1000, 'behind')")
        until_equal(reader, mysql_server, mysql_db)
        torn = [batch for batch in reader.batches if batch.open]
        assert torn
        assert all(batch.end is not None and batch.end.ordinal and not batch.end.whole for batch in torn)
        assert reader.end.whole


def test_a_torn_transaction_survives_both_ends(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """Reader and canal die between its parts: canal begins the transaction anew, and every row comes out once."""
    server = canal(options=SMALL_RING)
    rows = (f"INSERT INTO {mysql_db}.t VALUES ({number}, REPEAT('x', 10000))" for number in range(200))
    with started(server, mysql_server, mysql_db) as first:
        mysql_server.run("BEGIN", *rows, "COMMIT")
        first.until(lambda: any(batch.open for batch in first.batches))
    server.kill()
    server.start()
    with reading(server, [channel((mysql_db, "t"))], first.end) as second:
        second.until(lambda: second.batches and not second.batches[-1].open)
    assert ids(first, mysql_db) + ids(second, mysql_db) == list(range(200))


@pytest.mark.slow
def test_a_ring_full_of_transactions_asks_for_a_commit(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """What was given must be committed before more comes: the source says so, once, and goes on after the acks."""
    with reading(canal(), [channel((mysql_db, "t"))], acks=False) as reader:
        reader.get()
        for start in range(0, MANY, 100):
            values = ", ".join(f"({number}, REPEAT('x', 60000))" for number in range(start, start + 100))
            mysql_server.run(f"INSERT INTO {mysql_db}.t VALUES {values}")
        reader.until(lambda: any(batch.starved for batch in reader.batches))
        assert len(reader.rows((mysql_db, "t"))) < MANY
        reader.acks = True
        reader.source.ack(reader.end)
        until_equal(reader, mysql_server, mysql_db)
        assert not any(batch.open for batch in reader.batches)


@pytest.mark.slow
def test_a_small_ring_is_not_held_by_the_kept_batch(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """The batch that is kept back may fill a ring; it is fetched again in smaller ones, and reading goes on."""
    with reading(canal(options=SMALL_RING), [channel((mysql_db, "t"))]) as reader:
        reader.get()
        for start in range(0, 80, 20):
            values = ", ".join(f"({number}, REPEAT('x', 30000))" for number in range(start, start + 20))
            mysql_server.run(f"INSERT INTO {mysql_db}.t VALUES {values}")
        until_equal(reader, mysql_server, mysql_db)


@ALIKE
def test_a_ddl_drops_nothing(canal: Start, any_server: MysqlServer, db: str) -> None:
    """What stands behind it in canal's batch comes too; it cuts the batch, and new columns do not disturb."""
    with reading(canal(any_server), [channel((db, "t"))]) as reader:
        reader.get()
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'a')")
        until_equal(reader, any_server, db)
        any_server.run(
            f"ALTER TABLE {db}.t ADD COLUMN extra INT FIRST",
            f"CREATE TABLE {db}.other (id INT)",
            f"INSERT INTO {db}.t (id, v) VALUES (2, 'b')",
            f"CREATE INDEX i ON {db}.t (extra)",
            f"INSERT INTO {db}.t (id, v) VALUES (3, 'c')",
        )
        until_equal(reader, any_server, db)
        met = [batch.ddl for batch in reader.batches if batch.ddl is not None]
        assert [each.table for each in met] == [(db, "t")] * len(met)
        assert all(each.rows_survive for each in met)
        any_server.run(f"TRUNCATE TABLE {db}.t")
        reader.until(lambda: reader.batches[-1].ddl is not None and not reader.batches[-1].ddl.rows_survive)


@pytest.mark.slow
def test_a_column_that_was_read_is_not_exchanged(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """Its old values are not what earlier rows said; the job stops with the statement."""
    with reading(canal(), [channel((mysql_db, "t"))]) as reader:
        reader.get()
        fill(mysql_server, mysql_db, 0, 1)
        until_equal(reader, mysql_server, mysql_db)
        mysql_server.run(
            f"ALTER TABLE {mysql_db}.t DROP COLUMN v, ADD COLUMN v TEXT DEFAULT ('new')",
            f"INSERT INTO {mysql_db}.t (id) VALUES (2)",
        )
        error = reader.until_error()
        assert error.code is Code.SOURCE_DDL
        assert "recomputes column 'v'" in str(error)


@pytest.mark.parametrize(
    ("clauses", "why"),
    [
        ("MODIFY v MEDIUMTEXT NOT NULL", "makes column 'v' NOT NULL in a session whose sql_mode is not known"),
        ("CONVERT TO CHARACTER SET latin1", "converts column 'v' to latin1"),
    ],
)
@ALIKE
def test_values_that_a_session_may_have_changed_stop_the_job(
    canal: Start, any_server: MysqlServer, db: str, clauses: str, why: str
) -> None:
    """Canal tells no sql_mode: NULL may be '' now, and a character a question mark, though no row says so."""
    with reading(canal(any_server), [channel((db, "t"))]) as reader:
        reader.get()
        any_server.run(f"INSERT INTO {db}.t VALUES (1, '\u65e5'), (2, NULL)")
        until_equal(reader, any_server, db)
        any_server.run(f"ALTER TABLE {db}.t ADD INDEX (v(5)), MODIFY v MEDIUMTEXT")
        any_server.run(f"INSERT INTO {db}.t VALUES (3, 'c')")
        until_equal(reader, any_server, db)
        any_server.run("SET sql_mode = ''", f"ALTER TABLE {db}.t {clauses}")
        error = reader.until_error()
        assert error.code is Code.SOURCE_DDL
        assert why in str(error)


def test_a_list_that_does_not_fit_is_told_by_the_first_rows(
    canal: Start, mysql_server: MysqlServer, mysql_db: str
) -> None:
    """Columns that the list does not name, types that do not fit, a key that is none."""
    table = (mysql_db, "t")
    server = canal()
    mysql_server.run(f"INSERT INTO {mysql_db}.t VALUES (1, 'a')")
    for columns, key, code in (
        ("id BIGINT", "id", Code.SOURCE_SCHEMA),
        ("id INT, v STRING", "id", Code.TYPE_DOES_NOT_FIT),
        ("id BIGINT, v STRING", "v", Code.NO_CHANNEL_KEY),
    ):
        with reading(server, [channel(table, columns, key)], acks=False) as reader:
            assert reader.until_error().code is code


def test_a_session_that_writes_no_rows_is_found(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """A statement in the binlog in place of its rows stops the job."""
    with reading(canal(), [channel((mysql_db, "t"))]) as reader:
        reader.get()
        mysql_server.run("SET SESSION binlog_format = STATEMENT", f"INSERT INTO {mysql_db}.t VALUES (1, 'x')")
        assert reader.until_error().code is Code.SOURCE_NOT_ROW


@pytest.mark.parametrize(
    ("made", "changed"),
    [
        ("CREATE VIEW {db}.w AS SELECT * FROM {db}.t", "UPDATE {db}.w SET v = 'unseen'"),
        (
            "CREATE TRIGGER {db}.g AFTER INSERT ON {db}.o FOR EACH ROW UPDATE {db}.t SET v = NEW.id",
            "INSERT INTO {db}.o VALUES (7)",
        ),
    ],
    ids=["view", "trigger"],
)
def test_a_statement_that_names_another_table_is_found(
    canal: Start, mysql_server: MysqlServer, mysql_db: str, made: str, changed: str
) -> None:
    """Whatever a statement in place of rows writes may lead to a table of the job."""
    mysql_server.run(f"CREATE TABLE {mysql_db}.o (id INT)", made.format(db=mysql_db))
    with reading(canal(), [channel((mysql_db, "t"))]) as reader:
        reader.get()
        mysql_server.run("SET SESSION binlog_format = STATEMENT", changed.format(db=mysql_db))
        mysql_server.run(f"INSERT INTO {mysql_db}.t VALUES (9, 'behind')")
        error = reader.until_error()
        assert error.code is Code.SOURCE_NOT_ROW
        assert "may lead to a table of the job" in str(error)


@ALIKE
def test_rows_of_an_xa_transaction_are_refused(canal: Start, any_server: MysqlServer, db: str) -> None:
    """Canal tells them when they are prepared; whether they hold is not known then. Of one that is larger than canal's
    ring none is handed on where its BEGIN says what it is; where the END alone does, a new reader finds it, too.
    """
    server = canal(any_server, options=SMALL_RING)
    with reading(server, [channel((db, "t"))]) as reader:
        reader.get()
        rows = (f"INSERT INTO {db}.t VALUES ({number}, REPEAT('x', 10000))" for number in range(200))
        any_server.run("XA START 'x'", *rows, "XA END 'x'", "XA PREPARE 'x'")
        try:
            assert reader.until_error().code is Code.CANAL_UNSUPPORTED
            assert reader.rows((db, "t")) == [] or any_server.flavour == "mariadb"
            with reading(server, [channel((db, "t"))], reader.end) as again:
                assert again.until_error().code is Code.CANAL_UNSUPPORTED
        finally:
            any_server.run("XA COMMIT 'x'")


@pytest.mark.slow
def test_compressed_transactions_are_told_apart(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """All of their entries share a coordinate; none is taken for another, also after a reconnect."""
    server = canal(options=PARALLEL)
    with reading(server, [channel((mysql_db, "t"))], acks=False) as reader:
        reader.get()
        for start in range(0, 60, 20):
            rows = (f"INSERT INTO {mysql_db}.t VALUES ({n}, REPEAT('x', 300))" for n in range(start, start + 20))
            mysql_server.run("SET SESSION binlog_transaction_compression = ON", "BEGIN", *rows, "COMMIT")
        until_equal(reader, mysql_server, mysql_db)
    with reading(server, [channel((mysql_db, "t"))], reader.end) as again:
        fill(mysql_server, mysql_db, 100, 101)
        again.until(lambda: again.rows((mysql_db, "t")))
        assert [row["id"] for row in again.rows((mysql_db, "t"))] == [100]


@contextmanager
def started(server: CanalServer, mysql: MysqlServer, db: str, key: str = "id") -> Iterator[Reader]:
    """A reader whose first rows, from FIRST on, were acked: before that canal has no cursor."""
    cursor = server.folder / "data" / server.destination / "meta.dat"
    with reading(server, [channel((db, "t"), key=key)]) as reader:
        reader.get()
        for number in range(FIRST, FIRST + 20):
            fill(mysql, db, number, number + 1)
            reader.until(lambda number=number: len(reader.rows((db, "t"))) > number - FIRST)
            stop = time.monotonic() + 2  # canal flushes it every second, and now and then forgets to
            while time.monotonic() < stop:
                reader.get()
                if cursor.exists() and b"postion" in cursor.read_bytes():
                    yield reader
                    return
    raise AssertionError("canal wrote no cursor")


def ids(reader: Reader, db: str) -> list[int]:
    """Without the first rows."""
    return [row["id"] for row in reader.rows((db, "t")) if row["id"] < FIRST]


@pytest.mark.slow
@pytest.mark.parametrize(
    "acks", [pytest.param(True, id="acked", marks=pytest.mark.long), pytest.param(False, id="between commit and ack")]
)
def test_a_killed_canal_loses_and_doubles_nothing(
    canal: Start, mysql_server: MysqlServer, mysql_db: str, *, acks: bool
) -> None:
    """Kill -9 while idle, under load and before the acks: canal delivers again, every row comes out once."""
    server = canal()
    with started(server, mysql_server, mysql_db) as reader:
        reader.acks = acks
        for round_ in range(3):
            fill(mysql_server, mysql_db, round_ * 100, round_ * 100 + 60)
            if round_ != 1:
                until_equal(reader, mysql_server, mysql_db)
            server.kill()
            fill(mysql_server, mysql_db, round_ * 100 + 60, round_ * 100 + 80)
            server.start()
        until_equal(reader, mysql_server, mysql_db)
        assert [trouble for trouble in reader.troubles if trouble is not None]
        assert reader.troubles[-1] is None


@pytest.mark.parametrize(
    "gtid", [pytest.param(False, id="coordinates", marks=pytest.mark.long), pytest.param(True, id="gtids")]
)
def test_a_canal_that_forgot_its_cursor_is_found(
    canal: Start, mysql_server: MysqlServer, mysql_db: str, *, gtid: bool
) -> None:
    """It goes on at the source's end: what was written meanwhile is missing, and the job says so and stops."""
    server = canal(options=("--gtid",) if gtid else ())
    with started(server, mysql_server, mysql_db) as reader:
        fill(mysql_server, mysql_db, 0, 20)
        until_equal(reader, mysql_server, mysql_db)
        reader.until_nothing_more()
        server.stop()
        shutil.rmtree(server.folder / "data")
        fill(mysql_server, mysql_db, 20, 40)
        server.start()
        fill(mysql_server, mysql_db, 40, 41)
        error = reader.until_error()
        assert error.code is Code.CANAL_POSITION_LOST


@pytest.mark.slow
def test_an_empty_answer_is_as_old_as_its_question(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """It is held back while a row is committed: that canal had nothing then is not claimed of the time of the row."""
    server, stalls = canal(), threading.Event()
    with closing(Proxy(server.port)) as proxy:
        proxy.holds = lambda _: stalls.is_set()
        with reading(server, [channel((mysql_db, "t"))], port=proxy.port) as reader:
            reader.until(reader.source.caught_up_at)
            proxy.held.clear()
            stalls.set()
            reader.until(proxy.held.is_set)
            known, committed = reader.source.caught_up_at(), time.time()
            fill(mysql_server, mysql_db, 0, 1)
            stalls.clear()
            until(lambda: reader.get(0.0) or reader.source.caught_up_at() > known)
            assert reader.source.caught_up_at() < committed
            until_equal(reader, mysql_server, mysql_db)
            reader.until(lambda: reader.source.caught_up_at() > committed)


@pytest.mark.slow
def test_a_canal_that_restarts_in_peace_raises_no_alarm(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """Restarts, foreign transactions and new readers in between: its cursor is where it was."""
    mysql_server.run(f"CREATE TABLE {mysql_db}.other (id BIGINT PRIMARY KEY)")
    server = canal()
    with started(server, mysql_server, mysql_db) as first:
        end = first.end
    for round_ in range(3):
        with reading(server, [channel((mysql_db, "t"))], end) as reader:
            reader.get()
            fill(mysql_server, mysql_db, round_ * 10, round_ * 10 + 5)
            mysql_server.run(*(f"INSERT INTO {mysql_db}.other VALUES ({round_ * 100 + n})" for n in range(20)))
            fill(mysql_server, mysql_db, round_ * 10 + 5, round_ * 10 + 10)
            reader.until(lambda reader=reader: len(reader.rows((mysql_db, "t"))) == 10)
            assert [row["id"] for row in reader.rows((mysql_db, "t"))] == list(range(round_ * 10, round_ * 10 + 10))
            end = reader.end
        server.stop()
        mysql_server.run(*(f"INSERT INTO {mysql_db}.other VALUES ({round_ * 100 + n})" for n in range(20, 40)))
        server.start()


@pytest.mark.slow
def test_readers_that_find_nothing_new_leave_the_kept_batch(
    canal: Start, mysql_server: MysqlServer, mysql_db: str
) -> None:
    """However many there are: each is given something that it knows, so none takes the cursor for lost."""
    mysql_server.run(f"CREATE TABLE {mysql_db}.other (id BIGINT PRIMARY KEY)")
    server = canal()
    with started(server, mysql_server, mysql_db) as first:
        for number in (20, 21):  # what comes first is acked at once
            fill(mysql_server, mysql_db, number, number + 1)
            first.until(lambda number=number: number in ids(first, mysql_db))
        first.until_nothing_more()
        end = first.end
    assert not end.acked
    for _ in range(3):
        with reading(server, [channel((mysql_db, "t"))], end) as reader:
            reader.until(lambda reader=reader: reader.source._last_batch)
            reader.until_nothing_more()
    mysql_server.run(*(f"INSERT INTO {mysql_db}.other VALUES ({n})" for n in range(20)))
    fill(mysql_server, mysql_db, 0, 5)
    with reading(server, [channel((mysql_db, "t"))], end) as reader:
        reader.until(lambda: len(reader.rows((mysql_db, "t"))) == 5)


@pytest.mark.slow
def test_a_source_that_restarts_behind_canal_is_read_on(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """MySQL goes down and comes back: canal reconnects by itself, and nothing is lost or doubled."""
    with reading(canal(), [channel((mysql_db, "t"))]) as reader:
        reader.get()
        fill(mysql_server, mysql_db, 0, 20)
        until_equal(reader, mysql_server, mysql_db)
        mysql_server.restart()
        fill(mysql_server, mysql_db, 20, 40)
        expected = state(mysql_server, mysql_db)
        reader.until(lambda: found(reader, mysql_db) == expected)  # canal waits 10 to 20 s


@pytest.mark.parametrize(
    ("gtid", "asks"),
    [
        pytest.param(False, True, id="coordinates, torn"),
        pytest.param(True, False, id="gtids, at once", marks=pytest.mark.slow),
        pytest.param(False, False, id="coordinates, at once", marks=pytest.mark.long),
        pytest.param(True, True, id="gtids, torn", marks=pytest.mark.long),
    ],
)
def test_a_transaction_that_canal_begins_to_read_anew_comes_once(
    canal: Start, mysql_server: MysqlServer, mysql_db: str, *, gtid: bool, asks: bool
) -> None:
    """Canal has delivered half of it when it loses MySQL. Who asks meanwhile gets that half, as torn."""
    with closing(Proxy(mysql_server.port)) as proxy:
        behind = copy.copy(mysql_server)
        behind.port = proxy.port
        with started(canal(behind, options=("--gtid",) if gtid else ()), mysql_server, mysql_db, key="") as reader:
            rows = (f"INSERT INTO {mysql_db}.t VALUES ({number}, REPEAT('x', 500))" for number in range(6000))
            proxy.rate = 150_000.0  # it takes 20 s, if nobody cuts it
            mysql_server.run("BEGIN", *rows, "COMMIT")
            reader.until(lambda: reader.source._sorter.open)
            proxy.cut()
            again = 0

            def count(data: bytes) -> bytes:
                nonlocal again
                again += len(data)
                return data

            proxy.rate, proxy.changes = None, count
            if not asks:
                until(lambda: again > 6000 * 500, why="the transaction once more")  # canal waits 10 to 20 s
            fill(mysql_server, mysql_db, 6000, 6001)
            reader.until(lambda: len(ids(reader, mysql_db)) >= 6001)
            assert ids(reader, mysql_db) == list(range(6001))
            assert [batch.end.whole for batch in reader.batches if batch.events > 1 and batch.end] == (
                [False, True] if asks else [True]
            )


def test_an_end_that_canal_leaves_out_is_not_where_a_new_connection_begins(
    canal: Start, mysql_server: MysqlServer, mysql_db: str
) -> None:
    """All rows of a torn transaction were handed on when the connection is lost, and canal tells no END where only
    other tables' rows stand beside it: what comes next ends it, and no position is without a place.
    """
    server = canal(options=SMALL_RING)
    mysql_server.run(f"CREATE TABLE {mysql_db}.other (id BIGINT PRIMARY KEY)")
    with (
        closing(Proxy(server.port)) as proxy,
        reading(server, [channel((mysql_db, "t"), key="")], port=proxy.port) as reader,
    ):
        reader.get()
        fill(mysql_server, mysql_db, 1000, 1001)
        reader.until(lambda: reader.rows((mysql_db, "t")))
        rows = ", ".join(f"({number}, REPEAT('x', 10000))" for number in range(PIECES * 16 - 1))  # and its BEGIN
        later = "SET timestamp = UNIX_TIMESTAMP() + 100"  # of two ENDs without rows within 5 s canal tells the first
        other = f"INSERT INTO {mysql_db}.other VALUES"
        whole = ("BEGIN", f"INSERT INTO {mysql_db}.t VALUES {rows}", f"{other} (1)", "COMMIT")
        mysql_server.run(later, f"{other} (0)", *whole)
        reader.until(lambda: len(reader.rows((mysql_db, "t"))) == PIECES * 16)
        if not reader.end.ordinal:
            pytest.skip("canal sent the END, as it does on a machine that is slow enough")
        proxy.cut()
        reader.until(lambda: reader.troubles and reader.troubles[-1] is None)
        mysql_server.run(f"ALTER TABLE {mysql_db}.t COMMENT 'x'")
        fill(mysql_server, mysql_db, 1001, 1002)
        reader.until(lambda: len(reader.rows((mysql_db, "t"))) > PIECES * 16)
        assert [row["id"] for row in reader.rows((mysql_db, "t"))] == [1000, *range(PIECES * 16 - 1), 1001]
        assert all(batch.end.file for batch in reader.batches if batch.end is not None)
        assert reader.end.whole


def test_a_second_reader_is_found(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """Nobody keeps it out without ZooKeeper: the numbers of the batches tell, and what it took comes again."""
    server = canal()
    with started(server, mysql_server, mysql_db) as reader:
        fill(mysql_server, mysql_db, 0, 5)
        until_equal(reader, mysql_server, mysql_db)
        thief = Connector(endpoint(server), "")
        fill(mysql_server, mysql_db, 5, 10)
        thief.ask(4096, 100)
        stolen = thief.receive(time.monotonic() + HANG_SECOND)
        assert stolen is not None
        fill(mysql_server, mysql_db, 10, 15)
        reader.until(lambda: len(ids(reader, mysql_db)) >= 15)
        thief.close()
        assert ids(reader, mysql_db) == list(range(15))


@pytest.mark.slow
def test_a_destination_that_was_stopped_is_waited_for(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """The server is there and does not serve it: the trouble says so until it does."""
    server = canal()
    with reading(server, [channel((mysql_db, "t"))]) as reader:
        reader.get()
        fill(mysql_server, mysql_db, 0, 5)
        until_equal(reader, mysql_server, mysql_db)
        server.stop()
        stand_in = CanalServer(server.folder.with_name("stand-in"), mysql_server, destination="other")
        stand_in.use_port(server.port)
        stand_in.start()
        try:
            reader.until(lambda: _codes(reader) & {Code.CANAL_REFUSED})
        finally:
            stand_in.stop()
        server.start()
        fill(mysql_server, mysql_db, 5, 9)
        until_equal(reader, mysql_server, mysql_db)


def _codes(reader: Reader) -> set[Code]:
    return {trouble.code for trouble in reader.troubles if isinstance(trouble, SyncError)}


def test_appended_rows_come_once(canal: Start, mysql_server: MysqlServer, mysql_db: str) -> None:
    """A target without a key has nothing that would hide a doubled row: kills double none."""
    server = canal()
    with started(server, mysql_server, mysql_db, key="") as reader:
        for round_ in range(2):
            fill(mysql_server, mysql_db, round_ * 50, round_ * 50 + 50)
            reader.get()
            server.kill()
            server.start()
        reader.until(lambda: len(ids(reader, mysql_db)) >= 100)
        assert ids(reader, mysql_db) == list(range(100))
