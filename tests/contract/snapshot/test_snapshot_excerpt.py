"""A part of a table that is read again: which rows a condition means, and how they come into the lake."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pytest

from syncmgr.control.statement_text import excerpt as excerpt_by
from syncmgr.job.channel.channel_plan import ColumnItem, plan_channel
from syncmgr.job.channel.description import ChannelDescription, quoted
from syncmgr.job.channel.shard import Part
from syncmgr.job.epoch import ChannelCommit, LastCommit
from syncmgr.job.snapshot.key_range import MOST_PARTS, KeyRange, widened
from syncmgr.job.types.schema import TargetTable
from syncmgr.job.types.target import spark_cast
from syncmgr.lake.commit import commit as commit_module
from syncmgr.lake.commit import uncommitted_files
from syncmgr.lake.commit.key_scan import write_matching
from syncmgr.lake.lake import Lake
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from syncsql import ResyncTable, parse
from tests.contract.lake.commit.test_lake_shards import DEFINITION, Shard, expected
from tests.contract.lake.foreign.test_lake_changed import identified_by
from tests.contract.mysql_reader import address, database, facts
from tests.contract.snapshot.test_snapshot_commit import Chunked
from tests.contract.snapshot.test_snapshot_values import chunk_of
from tests.support.chunk_reads import rows_of
from tests.support.servers.mysql import MysqlServer
from tests.support.spark_session import SPARK, LakeTable, Tables, coming_after, in_pyiceberg

pytestmark = [pytest.mark.mysql, *SPARK]

INS, UPD, DEL = range(3)
AS_CHUNKS_READ: Final = "SET time_zone = '+00:00', sql_mode = ''"
# Of each column its type here and in the target, and constants of which its rows have some.
COLUMNS: Final = {
    "i": ("INT", "BIGINT", ("-5", "0", "3", "7", "3.5", "-2147483648", "99999999999")),
    "n": ("BIGINT UNSIGNED", "LARGEINT", ("0", "-1", "18446744073709551615", "9223372036854775808", "5")),
    "d": ("DECIMAL(12,3)", "DECIMAL(15,4)", ("1.5", "1.500", "-0.001", "0", "999999999.999", "1.4999")),
    "y": ("YEAR", "SMALLINT", ("0", "1", "70", "1970", "2024", "2155")),
    "f": ("BIT(5)", "INT", ("0", "1", "31")),
    "day": ("DATE", "DATE", ("'2024-02-29'", "'1000-01-01'", "DATE '9999-12-31'", "'1970-01-01'")),
    "m": ("DATETIME(3)", "DATETIME", ("'2024-02-29'", "'2024-02-29 12:00:00.5'", "TIMESTAMP '1969-12-31 23:59:59'")),
    "ts": ("TIMESTAMP(6)", "TIMESTAMP", ("'2024-03-31 01:30:00'", "'1969-12-31'", "'2038-01-19'", "'2099-01-01'")),
    "z": ("TIMESTAMP", "DATETIME", ("'2024-10-27 01:30:00'", "'2024-10-27'", "'1999-01-01 00:00:00.000001'")),
    "v": (
        "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "VARCHAR(20)",
        ("'a'", "'A'", "'a '", "'ä'", "''", "'b\\\\'", "'it''s'", "'\N{GRINNING FACE}'", "'5'"),
    ),
    "l": ("CHAR(9) CHARSET latin1 COLLATE latin1_german1_ci", "VARCHAR(9)", ("'a'", "'ä'", "'\N{EURO SIGN}'", "'Ω'")),
    "j": ("VARCHAR(9) CHARACTER SET sjis", "STRING", ("'a'", "'\\\\'", "'表'", "'~'", "'\N{GRINNING FACE}'")),
    "e": ("ENUM('a', 'B', '1', 'ä')", "VARCHAR(9)", ("'a'", "'b'", "'B'", "'1'", "'2'", "'ä'")),
    "b": ("VARBINARY(8)", "BINARY", ("X'00'", "X''", "0x61FF", "X'61'", "X'6100'")),
    "u": ("BINARY(4)", "BINARY", ("X'61000000'", "X'61'", "X'FFFFFFFF'")),
}  # fmt: skip
COMPARED_BY_COLLATION: Final = {"v", "l"}
ROWS: Final = 120
BUCKETS: Final = "DISTRIBUTED BY HASH(id) BUCKETS 4"


def conditions(dice: random.Random, count: int) -> Iterator[tuple[str, set[str]]]:
    """And the columns that each names."""
    for _ in range(count):
        one, other = _comparison(dice), _comparison(dice)
        text = dice.choice(
            ("{0}", "{0}", "NOT {0}", "{0} AND {1}", "{0} OR {1}", "NOT ({0} AND {1})", "{0} OR NOT {1}")
        )
        yield text.format(one[0], other[0]), {one[1], other[1]}


def _comparison(dice: random.Random) -> tuple[str, str]:
    name = dice.choice(tuple(COLUMNS))
    low, high = dice.choices(COLUMNS[name][2], k=2)
    forms = ("{0} = {1}", "{0} <> {1}", "{0} < {1}", "{1} >= {0}", "{0} > {1}", "{0} IN ({1}, {2})", "{0} IS NULL")
    form = dice.choice((*forms, "{0} BETWEEN {1} AND {2}", "{0} NOT IN ({1}, {2})", "{0} IS NOT NULL"))
    return "(" + form.format(f"`{name}`", low, high) + ")", name


def signed(rows: pa.Table) -> pa.Table:
    """With the types in which Spark reads them from files."""
    wider = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}
    return rows.cast(pa.schema([field.with_type(wider.get(field.type, field.type)) for field in rows.schema]))


def excerpt(channel: ChannelDescription, target: TargetTable, where: str) -> KeyRange:
    [parsed] = parse(f"ALTER SYNC JOB j RESYNC TABLE t WHERE {where}")
    assert isinstance(parsed.statement, ResyncTable)
    assert parsed.statement.where is not None
    return excerpt_by(channel, target, parsed.statement.where)


def test_the_server_gives_every_row_that_spark_means(any_server: MysqlServer, lake: Lake, tables: Tables) -> None:
    """Of every type of key; and no other row, but where a collation calls texts equal that differ."""
    dice = random.Random(11)
    keys = ", ".join(COLUMNS)
    wanted = [f"{name} {kind} NOT NULL" for name, (_, kind, _) in COLUMNS.items()]
    target = tables.make(f"({', '.join(wanted)}) UNIQUE KEY({keys})", tuple(COLUMNS), tuple(COLUMNS))
    with database(any_server) as db:
        made = [f"{name} {kind} NOT NULL, KEY ({name})" for name, (kind, _, _) in COLUMNS.items()]
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {', '.join(made)})")
        rows = [[re.sub("^[A-Z]+ ", "", dice.choice(values)) for _, _, values in COLUMNS.values()] for _ in range(ROWS)]
        values = ", ".join(f"({number}, {', '.join(row)})" for number, row in enumerate(rows))
        any_server.run(AS_CHUNKS_READ, f"INSERT IGNORE INTO {db}.t VALUES {values}")
        any_server.run(AS_CHUNKS_READ, f"UPDATE {db}.t SET ts = '2000-01-01' WHERE ts = 0")
        table = facts(any_server, [(db, "t")]).tables[0]
        described = tables.catalog.table(target.db, target.name)
        items = [ColumnItem(target=name) for name in COLUMNS]
        channel = plan_channel(
            token="t",
            source=table,
            unique_keys=[tuple(COLUMNS)],
            target=described,
            items=items,
            where=None,
            checked=True,
        )
        tried = [(excerpt(channel, described, text), names) for text, names in conditions(dice, 120)]
        casts = [f"{spark_cast(quoted(c.name), c.type)} AS {quoted(c.name)}" for c in described.columns]
        spark = lake.iceberg().spark
        frame = spark.createDataFrame(signed(rows_of(chunk_of(any_server, table)))).selectExpr("id", *casts)
        judged = spark.createDataFrame(frame.toArrow()).selectExpr(
            "id", *(f"({one.lake}) AS c{place}" for place, (one, _) in enumerate(tried))
        )
        found = [row.asDict() for row in judged.collect()]
        for place, (one, names) in enumerate(tried):
            meant = {row["id"] for row in found if row[f"c{place}"]}
            given = any_server.run(AS_CHUNKS_READ, f"SELECT id FROM {db}.t WHERE {one.source}")
            told = {row[0] for row in given}
            assert meant <= told, (one, [rows[number] for number in meant - told])
            assert meant == told or names & COMPARED_BY_COLLATION, (one, [rows[number] for number in told - meant])


@pytest.fixture
def db(mysql_server: MysqlServer) -> Iterator[str]:
    with database(mysql_server) as name:
        mysql_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v BIGINT)")
        mysql_server.run(f"INSERT INTO {name}.t VALUES {', '.join(f'({n}, {n * 2})' for n in range(100))}")
        yield name


class Anew:
    """A source table, its target, and the commits of parts of it."""

    def __init__(
        self, server: MysqlServer, db: str, tables: Tables, target: LakeTable, part: Part | None = None
    ) -> None:
        self.target = target
        self.chunked = Chunked(server, db, target)
        self.described = tables.catalog.table(target.db, target.name)
        constant = [] if part is None else [ColumnItem(target=part.column, constant=part.value)]
        self.channel = plan_channel(
            token=target.token,
            source=self.chunked.table,
            unique_keys=[target.keys[-1:]],
            target=self.described,
            items=[*(ColumnItem(target=name) for name in target.columns), *constant],
            where=None,
            shard=part is not None,
        )

    def anew(self, plan: str, where: str, **changes: object) -> ChannelCommit:
        one = excerpt(self.channel, self.described, where)
        last = LastCommit(snapshot=self.target.last_snapshot)
        commit = self.chunked.commit(1, **({"epoch": self.target.epoch, "last": last} | changes))
        assert commit.chunk is not None
        chunk = replace(commit.chunk, plan=plan, condition=f"({one.source})", replaces=True, excerpt=one)
        return replace(commit, chunk=chunk, columns=self.channel.columns)

    def apply(self, commit: ChannelCommit) -> int:
        done = self.target.apply(commit)
        assert not done.passed_over
        return done.rows


class Parted(Anew):
    """A source of rows (n, 2 n), below 100, and a target into which some of them went; others differ."""

    def __init__(self, server: MysqlServer, db: str, tables: Tables, target: LakeTable) -> None:
        super().__init__(server, db, tables, target)
        self.rows = {n: n * 2 for n in range(0, 100, 3)} | {n: -n for n in range(200, 260)}
        target.commit([(INS, *row) for row in self.rows.items()])
        self.rows |= {3: 7, 200: 8}
        target.commit([(UPD, 3, 7), (UPD, 200, 8), (DEL, 6, 0)])
        del self.rows[6]

    @property
    def expected(self) -> list[tuple[int, int]]:
        return sorted(self.rows.items())

    def source_has(self, low: int, high: int) -> None:
        """The rows of these keys are those of the source."""
        self.rows = {n: v for n, v in self.rows.items() if not low <= n <= high}
        self.rows |= {n: n * 2 for n in range(low, high + 1) if n < 100}


@pytest.mark.parametrize(
    ("place", "format_version", "indexed"),
    [
        ("", "3", True),
        (BUCKETS, "2", False),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in [(BUCKETS, "3", True), ("", "2", False), (BUCKETS, "2", True), (BUCKETS, "3", False)]
        ),
    ],
)
def test_a_part_takes_the_place_of_its_keys(
    mysql_server: MysqlServer, db: str, tables: Tables, place: str, format_version: str, *, indexed: bool
) -> None:
    """Rows of the condition that are wrong, missing or not the source's are mended in one commit, once; no other row
    changes. With an index nothing but vectors, or position deletes, is left, and it holds for what comes then.
    """
    properties = f'PROPERTIES ("format-version" = "{format_version}")'
    target = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place} {properties}")
    if not indexed:
        target.indexing.give_up(RuntimeError("the test wants none"))
    source = Parted(mysql_server, db, tables, target)
    commit = source.anew("first", "id BETWEEN 2 AND 49 OR id > 230")
    deletes = target.files(2)
    assert source.apply(commit) == 48
    source.source_has(2, 49)
    source.source_has(231, 1000)
    assert target.rows() == source.expected
    assert (target.files(2) > deletes) is not indexed
    if indexed:
        assert in_pyiceberg(target) == source.expected
    assert target.lake.commit(coming_after(commit, snapshot=target.last_snapshot)).passed_over
    target.commit([(UPD, 4, 1), (DEL, 5, 0), (INS, 300, 1), (UPD, 99, 9)])
    source.rows |= {4: 1, 300: 1, 99: 9}
    del source.rows[5]
    assert target.rows() == source.expected
    assert target.indexing.standing().missing == 0
    assert source.apply(source.anew("second", "NOT id < 90")) == 10
    source.source_has(90, 1000)
    assert target.rows() == source.expected
    assert source.apply(source.anew("third", "id = 1000")) == 0
    assert target.rows() == source.expected


def test_as_many_parts_as_are_joined_are_computed(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """By Spark, and by the server: of a job that is paused, one statement for each key."""
    target = tables.make()
    source = Parted(mysql_server, db, tables, target)
    joined: KeyRange | None = excerpt(source.channel, source.described, "id = 0")
    for number in range(1, MOST_PARTS):
        joined = widened(joined, excerpt(source.channel, source.described, f"id = {number}"))
    assert joined is not None
    commit = source.anew("first", "id = 0")
    assert commit.chunk is not None
    chunk = replace(commit.chunk, condition=f"({joined.source})", excerpt=joined)
    assert source.apply(replace(commit, chunk=chunk)) == 100
    source.source_has(0, MOST_PARTS - 1)
    assert target.rows() == source.expected


@pytest.mark.parametrize(
    "identifier",
    [
        pytest.param((), id="none"),
        pytest.param(("v",), id="another", marks=pytest.mark.slow),
        pytest.param(("id", "v"), id="more", marks=pytest.mark.slow),
    ],
)
def test_a_part_of_a_table_that_lost_its_identifier_fields(
    mysql_server: MysqlServer, db: str, tables: Tables, identifier: tuple[str, ...]
) -> None:
    """The rows that a part replaces are found by the key of the job, whatever another engine calls the table's key."""
    mysql_server.run(f"ALTER TABLE {db}.t MODIFY v BIGINT NOT NULL")
    target = tables.make("(id BIGINT NOT NULL, v BIGINT NOT NULL) UNIQUE KEY(id)")
    source = Parted(mysql_server, db, tables, target)
    identified_by(target, *identifier)
    assert source.apply(source.anew("first", "id BETWEEN 2 AND 49 OR id > 230")) == 48
    source.source_has(2, 49)
    source.source_has(231, 1000)
    assert target.rows() == source.expected


def test_rows_that_come_beside_the_look_at_the_keys_are_seen(
    mysql_server: MysqlServer, db: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's row of the part, which came too late to be seen, refuses the commit, and goes with the next."""
    target = tables.make()
    source = Parted(mysql_server, db, tables, target)
    looks: list[str] = []

    def beside(*args: Any) -> None:
        write_matching(*args)
        if not looks:
            target.sql("INSERT INTO {table} VALUES (1, 0), (1000, 7)")
        looks.append("one")

    monkeypatch.setattr(uncommitted_files, "write_matching", beside)
    assert source.apply(source.anew("first", "id < 100")) == 100
    source.source_has(0, 99)
    source.rows[1000] = 7
    assert len(looks) == 2
    assert target.rows() == source.expected


def test_keys_that_are_too_many_to_be_held_go_by_equality_deletes(
    mysql_server: MysqlServer, db: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index sees them when it is used next."""
    target = tables.make()
    source = Parted(mysql_server, db, tables, target)
    monkeypatch.setattr(commit_module, "MOST_KEYS", 9)
    assert source.apply(source.anew("first", "id < 10")) == 10
    source.source_has(0, 9)
    assert target.files(2) == 1
    assert target.rows() == source.expected
    target.commit([(UPD, 4, 1), (DEL, 5, 0), (INS, 300, 1)])
    source.rows |= {4: 1, 300: 1}
    del source.rows[5]
    assert target.in_spark() == source.expected == in_pyiceberg(target)
    assert (target.files(2), target.indexing.standing().missing) == (0, 0)


def test_a_part_of_an_empty_table_is_added(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """And the condition of the channel holds."""
    target = tables.make()
    source = Parted(mysql_server, db, tables, tables.make())
    source.target = source.chunked.target = target
    commit = replace(source.anew("first", "id IN (1, 2, 3, 500)", epoch=0), where="id <> 2")
    assert source.apply(commit) == 2
    assert target.rows() == [(1, 2), (3, 6)]


def test_rows_that_the_server_gives_beside_those_meant_stay_out(mysql_server: MysqlServer, tables: Tables) -> None:
    """A collation calls equal what differs: neither such a row of the source comes, nor one of the target goes."""
    target = tables.make(
        "(k VARCHAR(9) NOT NULL, v BIGINT) UNIQUE KEY(k)", ("k", "v"), ("k",), types={"k": pa.string()}
    )
    target.commit([(INS, k, 9) for k in ("a", "A", "b")])
    with database(mysql_server) as db:
        kind = "VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        mysql_server.run(f"CREATE TABLE {db}.t (k {kind} PRIMARY KEY, v BIGINT)")
        mysql_server.run(f"INSERT INTO {db}.t VALUES ('A', 1), ('b', 2)")
        source = Anew(mysql_server, db, tables, target)
        assert source.apply(source.anew("plan", "k = 'a'")) == 0
    assert target.rows() == [("A", 9), ("b", 9)]


@pytest.mark.parametrize("indexed", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_part_of_one_shard_leaves_the_others(
    mysql_server: MysqlServer, db: str, tables: Tables, *, indexed: bool
) -> None:
    """They have the same keys in the same target."""
    table = tables.make(DEFINITION)
    shards = [Shard(table, name) for name in ("it's one", "two")]
    for shard in shards:
        shard.apply(*((INS, key, 7) for key in (1, 2, 200)))
    if not indexed:
        table.indexing.give_up(RuntimeError("the test wants none"))
    one = shards[0]
    source = Anew(mysql_server, db, tables, replace(one.table, keys=("db", "id")), one.part)
    commit = source.anew("plan", "id IN (2, 3, 200, 201)")
    assert source.apply(replace(commit, part=one.part)) == 2
    one.rows = {1: 7, 2: 4, 3: 6}
    assert table.in_spark("db, id, v") == sorted(expected(shards))


def test_the_rows_of_a_part_are_estimated(mysql_server: MysqlServer, db: str) -> None:
    """As few as the server expects of them."""
    mysql_server.run(f"ANALYZE TABLE {db}.t")
    table = facts(mysql_server, [(db, "t")]).tables[0]
    planned = MysqlSnapshot([address(mysql_server)]).plan(table, (), 10, "`id` < 10")
    assert (planned.count, planned.rows) == (1, 10)
