"""Every column type through a real canal server, against the mysql source on the same binlog."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import OP
from syncmgr.job.types.schema import SourceTable, arrow_type
from syncmgr.sources.canal import packet
from syncmgr.sources.canal.connector import Connector
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.values.canal_text import refusal
from syncmgr.sources.canal.values.entry import EntryRows, EntryTable, column_headers
from syncmgr.sources.canal.values.schema import source_table_of
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from tests.conftest import need_canal, need_follower
from tests.contract.canal_reader import endpoint
from tests.contract.mysql.reading.test_mysql_values import COMMON, MYSQL_ONLY, columns, fill
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.support.servers.canal import CanalServer
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import SERVERS, some_slow
from tests.support.until import HANG_SECOND

GET_MILLISECOND: Final = 100
ROWS: Final = {entry_pb2.INSERT, entry_pb2.UPDATE, entry_pb2.DELETE}
PUT_IN_BY_FUNCTIONS: Final = ("CAST(", "x'", "b'")  # values in JSON that are no JSON

# what the mysql source's own test leaves out, and spellings that canal might take otherwise
MORE: Final = {
    "INT(10) UNSIGNED ZEROFILL": ["42", "4294967295"],
    "BOOLEAN": ["TRUE", "FALSE"],
    "DOUBLE UNSIGNED": ["1e20", "0.0001"],
    "FLOAT(7,3)": ["1.1", "1024.5"],
    "FLOAT": ["16777216", "1.1", "3.4e-38"],
    "DECIMAL(40,2) UNSIGNED": ["12", "0", "12.5"],
    "TEXT(100)": ["'é'"],
    "LONG VARCHAR": ["'é'"],
    "NCHAR(5)": ["'é'"],
    "CHAR(5) CHARACTER SET binary": ["'a'"],
    "SET('binary','text','unsigned')": ["'binary,unsigned'"],
    "SET('','a','b')": ["3", "7"],
    "ENUM('c''d','e\"f','n\nl','tab\t',')','日本')": ["'c''d'", "'n\nl'", "')'", "'日本'"],
}


UNICODE: Final = ("utf8mb4", "utf8mb3", "ascii", "binary")
OTHER_CHARSETS: Final = frozenset(
    kind
    for kind in COMMON
    if " CHARACTER SET " in kind and not kind.endswith(UNICODE) and not kind.startswith("ENUM")  # labels are no values
)


def types_of(server: MysqlServer) -> dict[str, list[str]]:
    """Every type that both flavours have, and JSON that came as JSON."""
    every = {**COMMON, **MORE}
    if server.flavour == "mysql":
        every["JSON"] = [each for each in MYSQL_ONLY["JSON"] if not any(word in each for word in PUT_IN_BY_FUNCTIONS)]
    return every


@dataclass(frozen=True, slots=True)
class Chain:
    """A server and the canal behind it."""

    mysql: MysqlServer
    canal: CanalServer


@pytest.fixture(scope="module", params=some_slow(SERVERS, always=["mysql"]))
def chain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    """Each flavour in turn, with one canal for all tests here."""
    need_canal()
    mysql: MysqlServer = request.getfixturevalue(f"{request.param}_server")
    need_follower(mysql)
    canal = CanalServer(tmp_path_factory.mktemp("canal"), mysql).start()
    yield Chain(mysql, canal)
    canal.stop()


class Both:
    """A table `t` in a database of its own, whose changes are read through both sources."""

    def __init__(self, chain: Chain, db: str, defined: str) -> None:
        server = chain.mysql
        self.table = (db, "t")
        self.name = f"{db}.t"
        server.run(f"CREATE TABLE {db}.mark (n INT)", f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {defined})")
        known = facts(server, [self.table])
        self.schema = known.tables[0]
        self._server = server
        self._start = known.start
        self._changes: list[bytes] = []
        self._connector = Connector(endpoint(chain.canal), rf"{db}\..*")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.schema.columns)

    def run(self, *statements: str) -> None:
        self._server.run("SET NAMES utf8mb4, time_zone = '+00:00'", *statements)

    def theirs(self) -> pa.Table:
        """What the mysql source makes of all that was run."""
        wanted = Subscription(columns=self.names, keys=("id",), schema=self.schema)
        with reading(self._server, {self.table: wanted}, self._start) as reader:
            reader.until(latest(self._server))
            return pa.concat_tables([each.decode() for batch in reader.batches for each in batch.changes])

    def changes(self) -> list[bytes]:
        """The RowChange messages of all that was run; a row of another table tells that no more will come."""
        self._server.run(f"INSERT INTO {self.table[0]}.mark VALUES (1)")
        stop = time.monotonic() + HANG_SECOND
        while not self._met_mark(stop):
            assert time.monotonic() < stop, f"canal told only {len(self._changes)} entries"
        return self._changes

    def _met_mark(self, stop: float) -> bool:
        self._connector.ask(4096, GET_MILLISECOND)
        delivery = self._connector.receive(stop)
        assert delivery is not None
        entries = [entry for entry in map(packet.entry, delivery.entries) if self._ours(entry.header)]
        self._changes += [entry.storeValue for entry in entries if entry.header.tableName == "t"]
        if delivery.batch_id > 0:
            self._connector.acknowledge(delivery.batch_id)
        return any(entry.header.tableName == "mark" for entry in entries)

    def _ours(self, header: entry_pb2.Header) -> bool:
        """An earlier reader may have left entries behind, whatever the filter is now."""
        return header.schemaName == self.table[0] and header.eventType in ROWS

    def ours(self, *names: str, schema: SourceTable | None = None, zone: str = "UTC") -> pa.Table:
        """What canal's entries of all that was run become."""
        table = EntryTable(schema=schema or self.schema, columns=names or self.names, keys=("id",), time_zone=zone)
        return EntryRows(table, self.changes()).decode()

    def told(self) -> SourceTable:
        """The table by canal's own words."""
        return source_table_of(self.table, column_headers(self.changes()[0]))

    def close(self) -> None:
        self._connector.close()


@contextmanager
def read_twice(chain: Chain, defined: str) -> Iterator[Both]:
    """It is dropped when canal has passed it."""
    with database(chain.mysql) as db:
        both = Both(chain, db, defined)
        try:
            yield both
        finally:
            both.close()


def assert_equal(ours: pa.Table, theirs: pa.Table, kinds: Sequence[str]) -> None:
    """Column by column, so that a failure names the type."""
    assert ours.schema == theirs.schema
    for name, kind in zip(ours.column_names, ["id", *kinds, OP], strict=True):
        for mine, other in zip(ours[name].to_pylist(), theirs[name].to_pylist(), strict=True):
            assert mine == other, kind
    assert ours.equals(theirs)


def stopped(both: Both) -> SyncError:
    with pytest.raises(SyncError) as caught:
        both.ours()
    return caught.value


def test_every_type_is_the_same_through_both_sources(chain: Chain) -> None:
    """Inserts, updates, moved keys and deletes of all types, with and without NULLs, are equal Arrow tables.

    By the schema that MySQL tells as by the one that canal tells.
    """
    types = {kind: literals for kind, literals in types_of(chain.mysql).items() if kind not in OTHER_CHARSETS}
    with read_twice(chain, columns(types)) as both:
        fill(chain.mysql, both.name, types, nulls=True)
        both.run(
            f"UPDATE {both.name} SET c0 = 5 WHERE id % 3 = 0",
            f"UPDATE {both.name} SET id = id + 1000 WHERE id % 5 = 1",
            f"UPDATE {both.name} SET c0 = NULL, c6 = 7",
            f"DELETE FROM {both.name} WHERE id % 4 = 2",
        )
        theirs = both.theirs()
        assert set(theirs[OP].to_pylist()) == {0, 1, 2}
        told = both.told()
        for schema in (both.schema, told):
            assert [refusal(column, "UTC") for column in schema.columns] == [None] * len(schema.columns)
            assert_equal(both.ours(schema=schema), theirs, list(types))
        assert [(c.name, c.key) for c in told.columns] == [(c.name, c.key) for c in both.schema.columns]
        assert [arrow_type(c) for c in told.columns] == [arrow_type(c) for c in both.schema.columns]


SIGNS: Final = "\0\x01\x1a\n\r\t'\"\\\x7f\x80\x9f\u2028\ufeff%aZ09 é日😀"
OCTETS: Final = (0, 0, 0x20, 0x7F, 0x80, 0xBF, 0xC2, 0xC3, 0xC4, 0xFF)
RANDOM_ROWS: Final = 400


def text(r: random.Random) -> str:
    return "".join(r.choices(SIGNS, k=r.choice([0, 1, 2, 5, 19])))


def octets(r: random.Random, most: int) -> bytes:
    return bytes(r.choices(OCTETS, k=r.choice([0, 1, most, r.randint(0, most)])))


def digits(r: random.Random, precision: int, scale: int) -> str:
    number = str(r.choice([0, 1, r.randrange(10 ** r.randint(1, precision))])).rjust(scale + 1, "0")
    return f"{r.choice(['', '-'])}{number[:-scale]}.{number[-scale:]}"


def clock(r: random.Random, hours: int, fraction: int) -> str:
    seconds = f"{r.randrange(hours):02}:{r.randrange(60):02}:{r.choice([0, r.randrange(60)]):02}"
    return f"{seconds}.{r.choice([0, 1, r.randrange(10**fraction)]):0{fraction}}" if fraction else seconds


def moment(r: random.Random, years: Sequence[int], fraction: int) -> str:
    return f"{r.choice(years):04}-{r.randint(1, 12):02}-{r.randint(1, 28):02} {clock(r, 24, fraction)}"


YEARS: Final = (1, 99, 1582, 1899, 1970, 2024, 9999)
AT_RANDOM: Final[dict[str, Callable[[random.Random], object]]] = {
    **dict.fromkeys(("VARCHAR(60)", "CHAR(20)", "TEXT", "LONGTEXT"), text),
    **{kind: lambda r: octets(r, 40) for kind in ("VARBINARY(60)", "VARBINARY(300)", "BLOB", "BINARY(255)")},
    "BINARY(7)": lambda r: octets(r, 7),
    "BINARY(1)": lambda r: octets(r, 1),
    "DOUBLE": lambda r: r.uniform(-1, 1) * 10.0 ** r.randint(-300, 300),
    "FLOAT": lambda r: r.uniform(-1, 1) * 10.0 ** r.randint(-30, 30),
    "DECIMAL(20,6)": lambda r: digits(r, 20, 6),
    "DECIMAL(38,30)": lambda r: digits(r, 38, 30),
    "DECIMAL(60,20)": lambda r: digits(r, 60, 20),
    "TIME": lambda r: r.choice(["", "-"]) + clock(r, 838, 0),
    "TIME(2)": lambda r: r.choice(["", "-"]) + clock(r, 838, 2),
    "TIME(6)": lambda r: r.choice(["", "-"]) + clock(r, 838, 6),
    "DATETIME": lambda r: moment(r, YEARS, 0),
    "DATETIME(4)": lambda r: moment(r, YEARS, 4),
    "DATETIME(6)": lambda r: moment(r, YEARS, 6),
    "TIMESTAMP(3) NULL": lambda r: moment(r, range(1971, 2037), 3),
    "TIMESTAMP(6) NULL": lambda r: moment(r, range(1971, 2037), 6),
    "BIT(33)": lambda r: r.choice([0, 2**33 - 1, r.randrange(2**33)]),
    "BIGINT UNSIGNED": lambda r: r.choice([0, 2**63, 2**64 - 1, r.randrange(2**64)]),
    "MEDIUMINT UNSIGNED": lambda r: r.choice([2**24 - 1, 2**23, r.randrange(2**24)]),
    "SET('a','b','c','d','e','f','g','h','i')": lambda r: r.randrange(512),
}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_values_at_random_are_the_same_through_both_sources(chain: Chain, seed: int) -> None:
    """Characters that programs stumble over, bytes, digits and times: rows that are inserted, changed and deleted."""
    r = random.Random(seed)
    rows = [
        [number, *(None if r.random() < 0.1 else made(r) for made in AT_RANDOM.values())]
        for number in range(RANDOM_ROWS)
    ]
    with read_twice(chain, columns(dict.fromkeys(AT_RANDOM, ()))) as both:
        with chain.mysql.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET NAMES utf8mb4, time_zone = '+00:00'")
            cursor.executemany(f"INSERT INTO {both.name} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)
        both.run(f"UPDATE {both.name} SET c0 = CONCAT('x', LEFT(c0, 5)), c4 = c6 WHERE id % 3 = 0 AND LENGTH(c6) < 60")
        both.run(f"DELETE FROM {both.name} WHERE id % 7 = 0")
        theirs = both.theirs()
        for schema in (both.schema, both.told()):
            assert_equal(both.ours(schema=schema), theirs, list(AT_RANDOM))


def test_another_charset_is_refused_and_what_is_not_read_stops_the_table(chain: Chain) -> None:
    """Where the charset is known the column is refused; where it is not, a character that canal could not read."""
    types = {kind: literals for kind, literals in types_of(chain.mysql).items() if kind in OTHER_CHARSETS}
    place = list(types).index("VARCHAR(20) CHARACTER SET latin1")
    with read_twice(chain, columns(types)) as both:
        for column in both.schema.columns[1:]:
            assert "its charset is" in (refusal(column, "UTC") or "")
        both.run(f"INSERT INTO {both.name} (id, c{place}) VALUES (1, 'plain')")
        told = both.told()
        assert both.ours(f"c{place}", schema=told).to_pylist() == [{f"c{place}": "plain", "id": 1, OP: 0}]
        both.run(f"INSERT INTO {both.name} (id, c{place}) VALUES (2, 'déjà')")
        with pytest.raises(SyncError, match="utf8mb4") as caught:
            both.ours(f"c{place}", schema=told)
        assert caught.value.code is Code.SOURCE_VALUE


def test_timestamps_come_in_the_zone_of_canals_server(
    mysql_server: MysqlServer, canal: Callable[..., CanalServer]
) -> None:
    """JoinOutcome the zone, they are the same points of time; the summer times that Shanghai had, too."""
    chain = Chain(mysql_server, canal(options=["--tz", "Asia/Shanghai"]))
    with read_twice(chain, "a TIMESTAMP NULL, b TIMESTAMP(6) NULL") as both:
        both.run(
            f"INSERT INTO {both.name} VALUES (1, '1970-01-01 00:00:01', '2038-01-19 03:14:07.999999'),"
            " (2, '1988-07-01 12:00:00', '2024-07-01 12:00:00.5'), (3, NULL, NULL)"
        )
        assert_equal(both.ours(zone="Asia/Shanghai"), both.theirs(), ["TIMESTAMP"] * 2)
        assert both.ours(zone="UTC")["b"][1].as_py().hour == 20


@pytest.mark.parametrize(
    ("kind", "literal", "shown"),
    [
        ("DATE", "'0000-00-00'", "0000-00-00"),
        ("DATE", "'2024-05-00'", "2024-05-00"),
        ("DATETIME(3)", "'0000-00-00'", "0000-00-00 00:00:00.000"),
        ("TIMESTAMP NULL", "'0000-00-00'", "0000-00-00 00:00:00"),
    ],
)
def test_a_value_that_arrow_cannot_hold_is_an_error_or_is_deleted(
    chain: Chain, kind: str, literal: str, shown: str
) -> None:
    """As through the mysql source: it names its column; the row may be deleted."""
    with read_twice(chain, f"v {kind}") as both:
        both.run(f"INSERT INTO {both.name} VALUES (1, {literal})", f"DELETE FROM {both.name}")
        error = stopped(both)
        assert error.code is Code.SOURCE_VALUE
        assert (error.context["column"], error.context["value"]) == ("v", shown)
        table = EntryTable(schema=both.schema, columns=("id", "v"), keys=("id",), time_zone="UTC")
        assert EntryRows(table, both.changes()[1:]).decode().to_pylist() == [{"id": 1, "v": None, OP: 2}]


@pytest.mark.parametrize("chain", ["mysql"], indirect=True)
@pytest.mark.parametrize("made", ["JSON_OBJECT('d', DATE'2024-02-29')", "JSON_ARRAY(TIMESTAMP'2024-02-29 00:00:00')"])
def test_a_date_in_json_is_not_guessed(chain: Chain, made: str) -> None:
    """Canal writes a DATE and a DATETIME at midnight alike; MySQL does not."""
    with read_twice(chain, "v JSON") as both:
        both.run(f"INSERT INTO {both.name} VALUES (1, {made})")
        error = stopped(both)
        assert error.code is Code.SOURCE_VALUE
        assert "DATE" in str(error)


@pytest.mark.parametrize("chain", ["mysql"], indirect=True)
def test_part_of_a_document_stops_the_table(chain: Chain) -> None:
    """Canal tells a partial update as the expression that makes it."""
    with read_twice(chain, "v JSON") as both:
        both.run(f"INSERT INTO {both.name} VALUES (1, JSON_OBJECT('a', 1, 'b', REPEAT('x', 100)))")
        both.run("SET binlog_row_value_options = 'PARTIAL_JSON'", f"UPDATE {both.name} SET v = JSON_SET(v, '$.a', 2)")
        error = stopped(both)
        assert error.code is Code.SOURCE_VALUE
        assert "binlog_row_value_options" in str(error)


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_a_session_that_leaves_columns_out_stops_the_table(chain: Chain, image: str) -> None:
    """What is not there is not taken for NULL."""
    with read_twice(chain, "n INT, v TEXT") as both:
        both.run(f"SET binlog_row_image = {image}", f"INSERT INTO {both.name} VALUES (1, 1, 'x')")
        both.run(f"SET binlog_row_image = {image}", f"UPDATE {both.name} SET n = 2")
        error = stopped(both)
        assert error.code is Code.SOURCE_SCHEMA
        assert "binlog_row_image" in str(error)


def test_an_alter_that_keeps_values_goes_on_and_another_stops(chain: Chain) -> None:
    """A column is found by name and may grow; another type stops the table with both printed."""
    with read_twice(chain, "v VARCHAR(10), n INT") as both:
        both.run(f"INSERT INTO {both.name} VALUES (1, 'a', 1)")
        both.changes()
        both.run(f"ALTER TABLE {both.name} ADD COLUMN w INT FIRST, MODIFY v VARCHAR(300)")
        both.run(f"INSERT INTO {both.name} VALUES (9, 2, 'b', 2)")
        assert [(row["id"], row["v"], row["n"]) for row in both.ours().to_pylist()] == [(1, "a", 1), (2, "b", 2)]
        both.run(f"ALTER TABLE {both.name} MODIFY n VARCHAR(10)", f"INSERT INTO {both.name} VALUES (9, 3, 'c', 'd')")
        error = stopped(both)
        assert error.code is Code.SOURCE_SCHEMA
        assert "column 'n' was int and canal says varchar(10)" in str(error)
