"""How changes travel: every kind of statement, and servers whose options change what is in the binlog."""

import itertools
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.sources.mysql import factory
from syncmgr.sources.mysql.address import Locking
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.description import MysqlDescription
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.mysql_reader import Reader, database, facts, latest, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import PASSWORD, MysqlServer, binary
from tests.support.slow import SERVERS, on_servers, some_slow
from tests.support.until import HANG_SECOND

WANTED: Final = Subscription(columns=("id", "v"), keys=("id",))
QUICK: Final = SourceOptions(position_interval=0.05)
SMALL: Final = SourceOptions(limits=Limits(events=10), position_interval=0.05)


def description(server: MysqlServer, **changes: object) -> MysqlDescription:
    told = {"host": "127.0.0.1", "port": server.port, "user": "repl", "password": PASSWORD, "server_id": 0}
    return MysqlDescription(**{**told, "ssl": "preferred", "start": "latest", **changes})  # type: ignore[arg-type]


def selected(server: MysqlServer, table: str) -> dict[int, str]:
    return {row[0]: row[1] for row in server.run(f"SELECT id, v FROM {table}")}


def found(reader: Reader, db: str, table: str = "t") -> dict[int, str]:
    return {key: row["v"] for key, row in reader.state((db, table)).items()}


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database with table t (id, v) and an equal u."""
    with database(any_server) as name:
        for table in ("t", "u"):
            any_server.run(f"CREATE TABLE {name}.{table} (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        yield name


STATEMENTS: Final = {
    "REPLACE": ["REPLACE INTO {db}.t VALUES (1, 'new'), (9, 'nine')", "REPLACE INTO {db}.t VALUES (1, 'newer')"],
    "ON DUPLICATE KEY": [
        "INSERT INTO {db}.t VALUES (1, 'x'), (8, 'y') ON DUPLICATE KEY UPDATE v = CONCAT(VALUES(v), 'd')",
        "INSERT INTO {db}.t VALUES (2, 'x') ON DUPLICATE KEY UPDATE id = 22",
    ],
    "IGNORE": ["INSERT IGNORE INTO {db}.t VALUES (1, 'lost'), (7, 'kept')"],
    "multi-table UPDATE": ["UPDATE {db}.t JOIN {db}.u USING (id) SET t.v = CONCAT(u.v, 'j'), u.v = 'seen'"],
    "multi-table DELETE": ["DELETE {db}.t, {db}.u FROM {db}.t JOIN {db}.u USING (id) WHERE t.id < 3"],
    "INSERT SELECT": ["INSERT INTO {db}.t SELECT id + 100, v FROM {db}.u"],
    "DELETE all": ["DELETE FROM {db}.t"],
    "key swap": ["UPDATE {db}.t SET id = id + 1 ORDER BY id DESC"],
    "no change": ["UPDATE {db}.t SET v = v"],
    "trigger": [
        "CREATE TRIGGER {db}.g AFTER INSERT ON {db}.u FOR EACH ROW UPDATE {db}.t SET v = NEW.v WHERE id = 1",
        "INSERT INTO {db}.u VALUES (50, 'by trigger')",
    ],
    "temporary": [
        "CREATE TEMPORARY TABLE {db}.tmp AS SELECT id + 500 id, v FROM {db}.t",
        "INSERT INTO {db}.t SELECT * FROM {db}.tmp",
    ],
}


@pytest.mark.parametrize("what", STATEMENTS)
@ALIKE
def test_every_kind_of_statement_arrives(any_server: MysqlServer, db: str, what: str) -> None:
    """What a statement did to two tables is what its events do."""
    tables = {(db, "t"): WANTED, (db, "u"): WANTED}
    with reading(any_server, tables, options=QUICK) as reader:
        for table in ("t", "u"):
            any_server.run(f"INSERT INTO {db}.{table} VALUES (1, 'one'), (2, 'two'), (3, NULL)")
        any_server.run(*(statement.format(db=db) for statement in STATEMENTS[what]))
        reader.until(latest(any_server))
        assert found(reader, db) == selected(any_server, f"{db}.t")
        assert found(reader, db, "u") == selected(any_server, f"{db}.u")


def test_loaded_files_arrive(any_server: MysqlServer, db: str, tmp_path: Path) -> None:
    """LOAD DATA comes row by row, also where it is larger than a batch."""
    file = tmp_path / "rows.csv"
    file.write_text("".join(f"{number},row {number}\n" for number in range(20_000)))
    with (
        any_server.global_variable("local_infile", "ON"),
        reading(any_server, {(db, "t"): WANTED}, options=SMALL) as reader,
    ):
        with closing(any_server.connect(local_infile=True)) as connection, connection.cursor() as cursor:
            cursor.execute(f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE {db}.t FIELDS TERMINATED BY ','")
        reader.until(latest(any_server))
        assert found(reader, db) == selected(any_server, f"{db}.t")
        assert len(found(reader, db)) == 20_000


def test_what_is_kept_out_of_the_binlog_does_not_arrive(any_server: MysqlServer, db: str) -> None:
    """Rows written with sql_log_bin = 0 are not told to any replica; those around them are."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(f"INSERT INTO {db}.t VALUES (1, 'told')")
        any_server.run("SET sql_log_bin = 0", f"INSERT INTO {db}.t VALUES (2, 'hidden')")
        any_server.run(f"INSERT INTO {db}.t VALUES (3, 'told')")
        reader.until(latest(any_server))
        assert sorted(found(reader, db)) == [1, 3]


def test_tables_without_transactions_arrive(any_server: MysqlServer, db: str) -> None:
    """A MyISAM table's changes count statement by statement."""
    any_server.run(f"CREATE TABLE {db}.m (id BIGINT PRIMARY KEY, v VARCHAR(9)) ENGINE = MyISAM")
    with reading(any_server, {(db, "m"): WANTED}, options=QUICK) as reader:
        any_server.run(f"INSERT INTO {db}.m VALUES (1, 'a'), (2, 'b')", f"UPDATE {db}.m SET v = 'c' WHERE id = 1")
        reader.until(latest(any_server))
        assert found(reader, db, "m") == selected(any_server, f"{db}.m")


@pytest.mark.parametrize("change", ["DELETE FROM {db}.t WHERE id = 1", "UPDATE {db}.t SET id = 10 WHERE id = 1"])
def test_logged_cascades_arrive(mysql_server: MysqlServer, change: str) -> None:
    """Where the server tells what a foreign key does, the child's rows follow."""
    if not mysql_server.run("SHOW VARIABLES LIKE 'innodb_native_foreign_keys'"):
        pytest.skip("the engine of this server cascades unseen")
    with database(mysql_server) as db:
        _parent_and_child(mysql_server, db)
        tables = {(db, "t"): WANTED, (db, "child"): WANTED}
        factory.inspect(description(mysql_server), list(tables), connect_timeout=HANG_SECOND, locking=Locking())
        with reading(mysql_server, tables, options=QUICK) as reader:
            mysql_server.run(f"INSERT INTO {db}.t VALUES (1, 'p'), (2, 'p')")
            mysql_server.run(f"INSERT INTO {db}.child VALUES (1, 'c', 1), (2, 'c', 2), (3, 'c', 1)")
            mysql_server.run(change.format(db=db))
            reader.until(latest(mysql_server))
            assert found(reader, db, "child") == selected(mysql_server, f"{db}.child")


def _parent_and_child(server: MysqlServer, db: str) -> None:
    server.run(
        f"CREATE TABLE IF NOT EXISTS {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))",
        f"CREATE TABLE {db}.child (id BIGINT PRIMARY KEY, v VARCHAR(9), p BIGINT,"
        f" FOREIGN KEY (p) REFERENCES {db}.t (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    )


def _refuses_unlogged(server: MysqlServer, db: str) -> None:
    _parent_and_child(server, db)
    inspect: Callable[..., object] = lambda **told: factory.inspect(  # noqa: E731
        description(server, **told), [(db, "t"), (db, "child")], connect_timeout=HANG_SECOND, locking=Locking()
    )
    with pytest.raises(SyncError) as caught:
        inspect()
    assert caught.value.code is Code.SOURCE_CASCADES
    assert caught.value.context["table"] == f"{db}.child"
    has_setting = bool(server.run("SHOW VARIABLES LIKE 'innodb_native_foreign_keys'"))
    assert ("innodb_native_foreign_keys" in str(caught.value)) == has_setting
    assert inspect(unlogged_cascades="accept")
    server.run(f"DROP TABLE {db}.child")


def test_unlogged_cascades_are_refused_by_mariadb(mariadb_server: MysqlServer) -> None:
    """MariaDB changes the child unseen: CREATE SYNC says so, unless that is accepted in so many words."""
    with database(mariadb_server) as db:
        _refuses_unlogged(mariadb_server, db)


@pytest.fixture(scope="module")
def plain_mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """A MySQL without GTIDs, whose engine cascades unseen, which writes small files, in the defaults of old servers."""
    options = {
        "gtid-mode": "OFF",
        "enforce-gtid-consistency": "OFF",
        "loose-innodb-native-foreign-keys": "ON",
        "binlog-row-metadata": "MINIMAL",
        "binlog-checksum": "NONE",
        "max-binlog-size": "4096",
    }
    server = MysqlServer(tmp_path_factory.mktemp("plain"), "mysql", options)
    yield server.start()
    server.stop()


def has_plugin(name: str) -> bool:
    """Whether it is beside the MariaDB server; Debian puts some into a package that starts a server of its own."""
    program = binary("mariadb")
    if program is None:
        return False
    told = subprocess.run([program, "--no-defaults", "--verbose", "--help"], capture_output=True, text=True, check=True)
    folder = next(line.split()[1] for line in told.stdout.splitlines() if line.startswith("plugin-dir "))
    return (Path(folder) / f"{name}.so").exists()


@pytest.fixture(scope="module")
def secret_mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """A MariaDB whose binlog lies encrypted, in small files, its rows compressed."""
    if not has_plugin("file_key_management"):
        pytest.skip("MariaDB's file_key_management is not installed")
    folder = tmp_path_factory.mktemp("secret")
    keys = folder / "keys"
    keys.write_text("1;" + "a1" * 32 + "\n")
    options = {
        "plugin-load-add": "file_key_management",
        "loose-file-key-management-filename": str(keys),
        "encrypt-binlog": "ON",
        "max-binlog-size": "4096",
        "log-bin-compress": "ON",
        "log-bin-compress-min-len": "10",
        "binlog-annotate-row-events": "ON",
    }
    server = MysqlServer(folder / "server", "mariadb", options)
    yield server.start()
    server.stop()


@pytest.fixture(params=["plain_mysql", "secret_mariadb"])
def odd_server(request: pytest.FixtureRequest) -> MysqlServer:
    """Each of both in turn."""
    server: MysqlServer = request.getfixturevalue(request.param)
    return server


@pytest.mark.parametrize("by_file", [True, False])
def test_odd_servers_lose_nothing(odd_server: MysqlServer, *, by_file: bool) -> None:
    """Anonymous transactions, small, compressed and encrypted files: rows arrive, and reading resumes anywhere."""
    with database(odd_server) as db:
        odd_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
        known = facts(odd_server, [(db, "t")])
        start = known.start
        if by_file:
            start = Position(file=start.file, offset=start.offset, server=start.server)
        wanted = Subscription(columns=("id", "v"), keys=("id",), schema=known.tables[0])
        for number in range(60):
            odd_server.run(f"INSERT INTO {db}.t VALUES ({number}, REPEAT('{number % 10}', 90)), ({number + 100}, NULL)")
            odd_server.run(f"UPDATE {db}.t SET id = id + 1000, v = 'u' WHERE id = {number - 1}")
        end = latest(odd_server)
        assert end.file != start.file
        with reading(odd_server, {(db, "t"): wanted}, start, options=SMALL) as reader:
            reader.until(end)
        assert found(reader, db) == selected(odd_server, f"{db}.t")
        middle = reader.batches[len(reader.batches) // 2]
        assert middle.end is not None
        before = reader.batches[: len(reader.batches) // 2 + 1]
        with reading(odd_server, {(db, "t"): wanted}, middle.end, options=SMALL) as again:
            again.until(end)
        again.batches = before + again.batches
        assert found(again, db) == selected(odd_server, f"{db}.t")


def test_unlogged_cascades_are_refused_by_native_foreign_keys(plain_mysql: MysqlServer) -> None:
    """A MySQL that lets its engine cascade is refused for such a child as the older ones are."""
    with database(plain_mysql) as db:
        _refuses_unlogged(plain_mysql, db)


@on_servers("mysql")
def test_a_big_event_of_any_server(any_server: MysqlServer) -> None:
    """A row that needs several packets arrives whole, compressed or not."""
    option = "binlog_transaction_compression" if any_server.flavour == "mysql" else "log_bin_compress"
    with (
        database(any_server) as db,
        any_server.global_variable("max_allowed_packet", str(1 << 27)),
        any_server.global_variable(option, "ON"),
    ):
        any_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v LONGTEXT)")
        with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
            big = random.Random(1).randbytes(18 * 1024 * 1024).hex()  # not even half of it can be compressed away
            with closing(any_server.connect()) as connection, connection.cursor() as cursor:
                cursor.execute(f"INSERT INTO {db}.t VALUES (1, %s), (2, 'small')", (big,))
            reader.until(latest(any_server))
            assert found(reader, db) == selected(any_server, f"{db}.t")
        any_server.run("FLUSH BINARY LOGS")  # MariaDB's SHOW BINLOG EVENTS cannot pass over such an event


CUT: Final = (  # changes of a session that leaves columns out
    "UPDATE {db}.t SET v = 'new' WHERE id = 1",
    "DELETE FROM {db}.t WHERE id = 1",
    "INSERT {db}.t SET id=5",
)


@pytest.mark.parametrize(
    ("any_server", "image", "change"),
    some_slow(
        itertools.product(SERVERS, ["MINIMAL", "NOBLOB"], CUT),
        always=[*itertools.product(["mysql"], ["MINIMAL", "NOBLOB"], CUT), ("mariadb", "MINIMAL", CUT[0])],
    ),
    indirect=["any_server"],
)
def test_a_session_with_cut_images_is_named(any_server: MysqlServer, image: str, change: str) -> None:
    """Rows that lack wanted columns end the source with the table's name; those that have them are exact."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v VARCHAR(9), w INT DEFAULT 7, b TEXT)")
        wanted = Subscription(columns=("id", "v", "w", "b"), keys=("id",))
        with reading(any_server, {(db, "t"): wanted}, options=QUICK) as reader:
            any_server.run(f"INSERT INTO {db}.t VALUES (1, 'x', 1, 'b')")
            reader.until(latest(any_server))
            any_server.run(f"SET SESSION binlog_row_image = {image}", change.format(db=db))
            reader.until(latest(any_server))
            error = refusal(reader, (db, "t"))
            if error is None:
                left = {key: tuple(row.values())[1:] for key, row in reader.state((db, "t")).items()}
                assert left == {row[0]: row[1:] for row in any_server.run(f"SELECT id, v, w, b FROM {db}.t")}
            else:
                assert error.code is Code.SOURCE_ROW_IMAGE
                assert f"{db}.t" in str(error)


def refusal(reader: Reader, table: tuple[str, str]) -> SyncError | None:
    try:
        reader.rows(table)
    except SyncError as error:
        return error
    return None
