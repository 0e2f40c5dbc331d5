"""What other readers of binlogs lose without a word, each shown not to be lost here.

The eighteen cases are those that were seen in the reader that serves as our oracle elsewhere.
"""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest

from syncmgr.errors import Code
from syncmgr.job.backoff import Retry
from syncmgr.job.position import GtidSet, Position
from syncmgr.job.rows.batch import OP
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import SourceOptions
from tests.conftest import need_version
from tests.contract.mysql.reading.test_mysql_source import kill_readers
from tests.contract.mysql_reader import Reader, database, facts, latest, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed
from tests.support.until import HANG_SECOND, until

QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02))
SMALL: Final = SourceOptions(limits=Limits(events=10), position_interval=0.05, retry=Retry(first=0.02))


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    with database(any_server) as name:
        yield name


def wanted(db: str, *columns: str) -> dict[tuple[str, str], Subscription]:
    return {(db, "t"): Subscription(columns=("id", *columns), keys=("id",))}


def rows_of(server: MysqlServer, db: str, definition: str, *statements: str, full: bool = True) -> list[dict[str, Any]]:
    """What table t of this definition gives for these statements, below FULL metadata by the schema of now."""
    server.run(f"CREATE TABLE {db}.t ({definition})")
    known = facts(server, [(db, "t")])
    [table] = known.tables
    subscription = Subscription(columns=tuple(c.name for c in table.columns), keys=("id",), schema=table)
    with (
        server.global_variable("binlog_row_metadata", "'FULL'" if full else "'MINIMAL'"),
        reading(server, {(db, "t"): subscription}, known.start, options=QUICK) as reader,
    ):
        server.run("SET NAMES utf8mb4", "SET sql_mode = ''", *statements)
        reader.until(latest(server))
        return reader.rows((db, "t"))


def ids(reader: Reader, db: str) -> list[int]:
    return [row["id"] for row in reader.rows((db, "t"))]


@crossed("number", [1, 2], always=[("mysql", 1), ("mariadb", 2)])
def test_01_02_compressed_rows(any_server: MysqlServer, db: str, number: int) -> None:
    """Of compressed transactions (MySQL) and compressed events (MariaDB) every row comes."""
    option = "binlog_transaction_compression" if any_server.flavour == "mysql" else "log_bin_compress"
    with any_server.global_variable(option, "ON"):
        insert = f"INSERT INTO {db}.t VALUES ({number}, REPEAT('x', 5000)), ({number + 10}, NULL)"
        rows = rows_of(any_server, db, "id INT PRIMARY KEY, v TEXT", insert, f"DELETE FROM {db}.t WHERE v IS NULL")
    assert [(row["id"], row["v"], row[OP]) for row in rows] == [
        (number, "x" * 5000, 0),
        (number + 10, None, 0),
        (number + 10, None, 2),
    ]


def test_03_a_lost_connection(any_server: MysqlServer, db: str) -> None:
    """By GTID it goes on where it was, not where it began."""
    any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY)")
    with reading(any_server, wanted(db), options=QUICK, ssl="disabled") as reader:
        for number in range(40):
            any_server.run(f"INSERT INTO {db}.t VALUES ({number})")
            if number == 20:
                until(lambda: reader.get() and ids(reader, db))
                kill_readers(any_server)
        reader.until(latest(any_server))
        assert ids(reader, db) == list(range(40))


def test_04_a_start_by_file(any_server: MysqlServer, db: str) -> None:
    """Of both kinds of server it begins there, not at the oldest log."""
    any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY)", f"INSERT INTO {db}.t VALUES (1)")
    now = latest(any_server)
    any_server.run(f"INSERT INTO {db}.t VALUES (2)")
    start = Position(file=now.file, offset=now.offset, server=now.server)
    with reading(any_server, wanted(db), start, options=QUICK) as reader:
        reader.until(latest(any_server))
        assert ids(reader, db) == [2]


def test_05_tagged_gtids(tagging_server: MysqlServer) -> None:
    """A transaction with a tag comes, and counts in the position."""
    need_version(tagging_server, (8, 3))
    with database(tagging_server) as db:
        tagging_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY)")
        with reading(tagging_server, wanted(db), options=QUICK) as reader:
            tagging_server.run("SET gtid_next = 'AUTOMATIC:blue'", f"INSERT INTO {db}.t VALUES (1)")
            reader.until(latest(tagging_server))
            assert ids(reader, db) == [1]
            assert ":blue:" in reader.batches[-1].end.gtids  # type: ignore[union-attr]


def test_06_minimal_metadata(any_server: MysqlServer, db: str) -> None:
    """Signs, charsets, labels and names are right where the binlog does not tell them."""
    definition = (
        "id INT PRIMARY KEY, u BIGINT UNSIGNED, l VARCHAR(9) CHARACTER SET latin1, b VARBINARY(9),"
        " e ENUM('\u00e9','x') CHARACTER SET latin1"
    )
    insert = f"INSERT INTO {db}.t VALUES (1, 18446744073709551615, '\u00e9', x'e900ff', '\u00e9')"
    [row] = rows_of(any_server, db, definition, insert, full=False)
    assert row == {"id": 1, "u": 2**64 - 1, "l": "\u00e9", "b": b"\xe9\x00\xff", "e": "\u00e9", OP: 0}


def test_07_names_of_their_time(any_server: MysqlServer, db: str) -> None:
    """Rows before a RENAME COLUMN bear the name that they had, whatever the table says now."""
    any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v INT, w INT)")
    start = latest(any_server)
    any_server.run(f"INSERT INTO {db}.t VALUES (1, 10, 20)", f"ALTER TABLE {db}.t RENAME COLUMN v TO x, ADD v INT")
    with reading(any_server, wanted(db, "v", "w"), start, options=QUICK) as reader:
        until(lambda: reader.get() and reader.rows((db, "t")))
        assert reader.rows((db, "t")) == [{"id": 1, "v": 10, "w": 20, OP: 0}]


def test_08_partial_json(mysql_server: MysqlServer) -> None:
    """Two changes in one document are not one: such an update is refused by name."""
    with database(mysql_server) as db:
        mysql_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, j JSON)")
        mysql_server.run(f"""INSERT INTO {db}.t VALUES (1, '{{"a": 1, "b": 2, "c": "{"x" * 999}"}}')""")
        with reading(mysql_server, wanted(db, "j"), options=QUICK) as reader:
            change = f"UPDATE {db}.t SET j = JSON_SET(j, '$.a', 7, '$.b', 8)"
            mysql_server.run("SET SESSION binlog_row_value_options = PARTIAL_JSON", change)
            assert reader.until_error().code is Code.SOURCE_UNSUPPORTED


def test_09_vectors(mysql_server: MysqlServer) -> None:
    """A table with a VECTOR is read, its vector too."""
    need_version(mysql_server, (9, 0))
    with database(mysql_server) as db:
        insert = f"INSERT INTO {db}.t VALUES (1, TO_VECTOR('[1, 2]'), 'behind')"
        [row] = rows_of(mysql_server, db, "id INT PRIMARY KEY, v VECTOR(4), w VARCHAR(9)", insert)
        assert (row["v"], row["w"]) == (b"\0\0\x80\x3f\0\0\0\x40", "behind")


@pytest.mark.parametrize("charset", ["gbk", "utf8mb4", "ucs2", "cp1251", "sjis"])
@ALIKE
def test_10_labels_in_any_charset(any_server: MysqlServer, db: str, charset: str) -> None:
    """ENUM and SET values are the labels, not nothing."""
    labels = "('\u0430','\u0431')"
    definition = f"id INT PRIMARY KEY, e ENUM{labels} CHARACTER SET {charset}, s SET{labels} CHARACTER SET {charset}"
    insert = f"INSERT INTO {db}.t VALUES (1, '\u0431', '\u0430,\u0431')"
    any_server.run("SET NAMES utf8mb4")
    [row] = rows_of(any_server, db, definition, insert)
    assert (row["e"], row["s"]) == ("\u0431", "\u0430,\u0431")


def test_11_every_byte_of_latin1(any_server: MysqlServer, db: str) -> None:
    """All 256 are text, those that Windows leaves out too."""
    every = bytes(range(256)).hex()
    [row] = rows_of(
        any_server,
        db,
        "id INT PRIMARY KEY, v VARCHAR(256) CHARACTER SET latin1",
        f"INSERT INTO {db}.t VALUES (1, x'{every}')",
    )
    [(expected,)] = any_server.run(f"SELECT v FROM {db}.t")
    assert row["v"] == expected
    assert len(row["v"]) == 256


def test_12_nothing_is_something_else(any_server: MysqlServer, db: str) -> None:
    """YEAR 0 is 0, JSON's null is no NULL, keys are text, and zero dates are told instead of being 1970."""
    kind = "JSON" if any_server.flavour == "mysql" else "TEXT"
    insert = f"""INSERT INTO {db}.t VALUES (1, 0, 'null'), (2, 2024, NULL), (3, NULL, '{{"k": null}}')"""
    rows = rows_of(any_server, db, f"id INT PRIMARY KEY, y YEAR, j {kind}", insert)
    assert [(row["y"], row["j"]) for row in rows] == [(0, "null"), (2024, None), (None, '{"k": null}')]
    assert json.loads(rows[2]["j"]) == {"k": None}


def test_13_what_only_mariadb_has(mariadb_server: MysqlServer) -> None:
    """Compressed columns are unpacked, and identifiers are the text that the server prints."""
    with database(mariadb_server) as db:
        columns = "id INT PRIMARY KEY, c TEXT COMPRESSED, u UUID, i INET6"
        values = "1, REPEAT('x', 999), '123e4567-e89b-12d3-a456-426655440000', '::1'"
        [row] = rows_of(mariadb_server, db, columns, f"INSERT INTO {db}.t VALUES ({values})")
        assert (row["c"], row["u"], row["i"]) == ("x" * 999, "123e4567-e89b-12d3-a456-426655440000", "::1")


def test_14_prepared_transactions(any_server: MysqlServer, db: str) -> None:
    """Rows of an XA transaction count at its COMMIT, and those of a rolled back one never."""
    any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY)")
    with reading(any_server, wanted(db), options=QUICK) as reader:
        for xid, number, end in (("a", 1, "ROLLBACK"), ("b", 2, "COMMIT")):
            begin = (f"XA START '{xid}'", f"INSERT INTO {db}.t VALUES ({number})", f"XA END '{xid}'")
            any_server.run(*begin, f"XA PREPARE '{xid}'", f"XA {end} '{xid}'")
        reader.until(latest(any_server))
        assert ids(reader, db) == [2]


def test_15_sets_of_gtids() -> None:
    """Intervals that meet or overlap become one, whatever the case of the uuid."""
    uuid = "3E11FA47-71CA-11E1-9E33-C80AA9429562"
    made = GtidSet.parse(f"{uuid}:1-5:4-9,{uuid.lower()}:10")
    assert str(made) == f"{uuid.lower()}:1-10"
    assert made == GtidSet.parse(f"{uuid}:1-10")


def test_16_without_checksums(any_server: MysqlServer, db: str) -> None:
    """The last bytes of a table map are read where no checksum stands behind them: the key is still the key."""
    with any_server.global_variable("binlog_checksum", "NONE"):
        statements = (f"INSERT INTO {db}.t VALUES (1, 2)", f"UPDATE {db}.t SET id = 5")
        rows = rows_of(any_server, db, "a INT, id BIGINT PRIMARY KEY", *statements)
    assert [(row["id"], row[OP]) for row in rows] == [(2, 0), (2, 2), (5, 0)]


@ALIKE
def test_17_many_small_events(any_server: MysqlServer, db: str) -> None:
    """A statement a row, thousands of them, within seconds: nothing waits for a table map to be parsed anew."""
    any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY)")
    with reading(any_server, wanted(db), options=QUICK) as reader:
        with closing(any_server.connect(autocommit=False)) as connection, connection.cursor() as cursor:
            for number in range(3000):
                cursor.execute(f"INSERT INTO {db}.t VALUES ({number})")
            connection.commit()
        begin = time.process_time()
        reader.until(latest(any_server))
        assert ids(reader, db) == list(range(3000))
        assert time.process_time() - begin < 10


def test_18_silence(any_server: MysqlServer, db: str) -> None:
    """An idle server is heard all the time; one that says nothing for longer is lost and asked again."""
    any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY)")
    options = SourceOptions(heartbeat=0.2, read_timeout=HANG_SECOND, retry=Retry(first=0.05), position_interval=0.05)
    with reading(any_server, wanted(db), options=options) as reader:
        reader.get()
        first = reader.source.heard_at()
        until(lambda: reader.get() or reader.source.heard_at() > first + 0.4)
        assert not any(reader.troubles)
