"""Partition fields that another engine adds: the partition of each file is the one its rows belong to."""

import itertools
import json
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField, FillField
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.commit.vectors import POSITIONS
from syncmgr.lake.iceberg.layout import JsonValue
from syncmgr.lake.index.keys import FIELD_ID
from syncmgr.lake.storage.locations import local
from syncmgr.lake.upkeep.fold import Fold
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of, in_pyiceberg

INS, UPD, DEL = ChangeKind
pytestmark = SPARK

AT = datetime(1969, 12, 31, 23, 59, 59, 123456)  # noqa: DTZ001 - it has no time zone
CASES = [
    pytest.param("STRING", "p", pa.string(), ["a", "", "__HIVE_DEFAULT_PARTITION__", "null", "ä/=%", None], id="text"),
    pytest.param("STRING", "truncate(2, p)", pa.string(), ["abc", "", None], id="truncated text"),
    pytest.param("STRING", "bucket(4, p)", pa.string(), ["abc", "", None], id="bucket"),
    pytest.param("BOOLEAN", "p", pa.bool_(), [True, False, None], id="boolean"),
    pytest.param("INT", "p", pa.int32(), [1, -1, None], id="int"),
    pytest.param("BIGINT", "p", pa.int64(), [1, 2**63 - 1, None], id="long"),
    pytest.param("BIGINT", "truncate(10, p)", pa.int64(), [-1, 25, None], id="truncated long"),
    pytest.param("FLOAT", "p", pa.float32(), [1.0, 0.25, None], id="float"),
    pytest.param("DOUBLE", "p", pa.float64(), [1.0, 1e300, None], id="double"),
    pytest.param("DECIMAL(20, 8)", "p", pa.decimal128(20, 8), [Decimal("0.00000001"), Decimal(5), None], id="decimal"),
    pytest.param("DATE", "p", pa.date32(), [date(2020, 2, 29), date(1969, 12, 31), date(9999, 1, 1), None], id="date"),
    *(
        pytest.param(
            "DATE", f"{of}(p)", pa.date32(), [date(2020, 2, 29), date(1969, 12, 31), None], id=f"{of} of dates"
        )
        for of in ("days", "months", "years")
    ),
    *(
        pytest.param("DATETIME(6)", of.format("p"), pa.timestamp("us"), [AT, datetime(2020, 2, 29), None], id=of)  # noqa: DTZ001
        for of in ("{}", "hours({})", "days({})", "months({})", "years({})", "bucket(4, {})")
    ),
    *(
        pytest.param(
            "TIMESTAMP(6)", of.format("p"), pa.timestamp("us", "UTC"), [AT.replace(tzinfo=UTC), None], id=f"zoned {of}"
        )
        for of in ("{}", "hours({})", "days({})", "months({})", "years({})")
    ),
    pytest.param("VARBINARY", "p", pa.binary(), [b"\xff\x00", b"", None], id="binary"),
    pytest.param("VARBINARY", "truncate(1, p)", pa.binary(), [b"\xff\x00", b"", None], id="truncated binary"),
]


def without_zone(value: object) -> object:
    """As a query in UTC shows it."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@pytest.mark.parametrize(
    ("word", "term", "kind", "values"),
    some_slow(
        CASES,
        always=[
            "text",
            "truncated text",
            "bucket",
            "boolean",
            "truncated long",
            "decimal",
            "months of dates",
            "hours({})",
            "zoned days({})",
            "truncated binary",
        ],
    ),
)
def test_a_partition_field_that_another_engine_adds(
    tables: Tables, word: str, term: str, kind: pa.DataType, values: list[object]
) -> None:
    """Rows are found by their value, NULL and the empty text among them, and are where the other engine would write
    them.
    """
    table = tables.make(f"(id BIGINT NOT NULL, p {word}) UNIQUE KEY(id)", ("id", "p"), types={"p": kind})
    table.sql(f"ALTER TABLE {{table}} ADD PARTITION FIELD {term}")
    table.commit([(INS, key, value) for key, value in enumerate(values)])
    assert table.in_spark("id, p") == list(enumerate(map(without_zone, values)))
    spark, name = table.lake.iceberg().spark, f"lake.{table.db}.{table.name}"
    ours = spark.sql(f"SELECT DISTINCT partition FROM {name}.files").collect()
    missing = spark.sql(f"SELECT id FROM {name} WHERE p IS NULL").collect()
    assert [row[0] for row in missing] == [len(values) - 1]
    spark.sql(f"CREATE TABLE {name}_theirs AS SELECT * FROM {name} WHERE FALSE")
    spark.sql(f"ALTER TABLE {name}_theirs ADD PARTITION FIELD {term}")
    spark.sql(f"INSERT INTO {name}_theirs SELECT * FROM {name}")
    theirs = spark.sql(f"SELECT DISTINCT partition FROM {name}_theirs.files").collect()
    assert {str(row[0]) for row in ours} == {str(row[0]) for row in theirs}
    assert len(in_pyiceberg(table)) == len(values)
    table.commit([(UPD, key, None) for key in range(len(values))])
    assert table.in_spark("id, p") == [(key, None) for key in range(len(values))]


def test_a_value_whose_partition_is_beyond_its_type(tables: Tables) -> None:
    """No writer of Iceberg can have the row there: the table stops, and the message has the statement after which it
    goes on.
    """
    kind = {"p": pa.decimal128(12, 3)}
    table = tables.make("(id BIGINT NOT NULL, p DECIMAL(12,3)) UNIQUE KEY(id)", ("id", "p"), types=kind)
    table.sql("ALTER TABLE {table} ADD PARTITION FIELD truncate(50, p)")
    least = Decimal("-999999999.999")
    commit = table.prepared([(INS, 1, -least), (INS, 2, least)])
    with pytest.raises(SyncError, match="000, which decimal") as caught:
        table.apply(commit)
    assert caught.value.code is Code.FOREIGN_CHANGE
    assert set() == table.stray_files()
    table.sql(str(caught.value).partition("type in Spark: ")[2])
    table.apply(commit)
    assert table.rows() == [(1, -least), (2, least)]


def test_a_filled_column_beside_a_partition_of_null(tables: Tables) -> None:
    """A statement that writes all rows anew leaves NULL and the empty text what they were."""
    table = tables.make("(id BIGINT NOT NULL, p STRING) UNIQUE KEY(id)", ("id", "p"), types={"p": pa.string()})
    table.sql("ALTER TABLE {table} ADD PARTITION FIELD p")
    table.commit([(INS, 1, None), (INS, 2, ""), (INS, 3, "x")])
    changes = AddField(name="w", type=TargetType(name="BIGINT")), FillField(name="w", value="7")
    table.lake.alter(changes_of(table, *changes))
    assert table.in_spark("id, p, w") == [(1, None, 7), (2, "", 7), (3, "x", 7)]


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "not indexed"])
@pytest.mark.parametrize("drops", [False, True], ids=["kept", "dropped"])
def test_a_partition_field_that_was_removed_from_a_table_of_format_v1(
    tables: Tables, *, drops: bool, indexed: bool
) -> None:
    """What format v1 leaves in its place disturbs nothing, also after the column itself was dropped."""
    table = LakeTable(
        lake=tables.lake, folder=tables.folder, db=tables.db, name="old", columns=("id", "v"), keys=("id",)
    )
    table.sql(
        "CREATE TABLE {table} (id BIGINT NOT NULL, v BIGINT, b STRING) USING iceberg PARTITIONED BY (b)"
        " TBLPROPERTIES ('format-version' = '1')"
    )
    table.sql("ALTER TABLE {table} SET IDENTIFIER FIELDS id")
    table.sql("ALTER TABLE {table} DROP PARTITION FIELD b")
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '2')")
    if drops:
        table.sql("ALTER TABLE {table} DROP COLUMN b")
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.commit([(UPD, 1, 10), (DEL, 2, 0), (INS, 3, 3)])
    table.lake.alter(
        changes_of(table, AddField(name="w", type=TargetType(name="BIGINT")), FillField(name="w", value="7"))
    )
    assert table.in_spark("id, v, w") == [(1, 10, 7), (3, 3, 7)]
    assert tables.catalog.table(tables.db, "old").partition == ()


def deleted_by_another_engine(table: LakeTable, key: int, spec: int, partition: dict[int, JsonValue]) -> None:
    """An equality delete of a key, which reaches the rows of one partition of one spec; of all, if that has none."""
    iceberg = table.lake.iceberg()
    loaded = iceberg.load(table.db, table.name)
    folder = f"{loaded.location()}/data/theirs-{uuid.uuid4()}"
    local(folder).mkdir()
    ids = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata={FIELD_ID: b"1"})])
    pq.write_table(pa.table([[key]], schema=ids), local(folder) / "gone.parquet", store_schema=False)
    (file,) = iceberg.unplaced_files(loaded, folder)
    package = iceberg.jvm.org.apache.iceberg
    of = loaded.specs().get(spec)
    struct = package.SingleValueParser.fromJson(of.partitionType(), json.dumps(partition))
    builder = package.FileMetadata.deleteFileBuilder(of).ofEqualityDeletes(iceberg._ints([1])).withPartition(struct)
    builder = builder.withPath(file.location()).withFormat("parquet").withFileSizeInBytes(file.fileSizeInBytes())
    deletes = builder.withMetrics(iceberg.metrics_of(file)).build()
    loaded.newRowDelta().addDeletes(deletes).commit()


def followed(table: LakeTable) -> None:
    """By the index, which knows all rows."""


def built_anew(table: LakeTable) -> None:
    """By an index that knows no row."""
    table.indexing._begin_anew()


def folded(table: LakeTable) -> None:
    """Without an index."""
    table.indexing.give_up(ValueError("switched off by the test"))
    Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()
    table.indexing._off_until = 0.0


REACHES = [
    pytest.param(1, {1000: 7}, False, id="of another partition"),
    pytest.param(1, {1000: 1}, True, id="of the partition"),
    pytest.param(0, {}, True, id="of all partitions"),
    pytest.param(2, {1000: 1, 1001: 1}, False, id="of another spec"),
]


@pytest.mark.parametrize(
    ("how", "spec", "partition", "reaches"),
    some_slow(
        (
            pytest.param(how, *case.values, id=f"{how.__name__}, {case.id}")
            for how in (followed, built_anew, folded)
            for case in REACHES
        ),
        always=[
            "followed, of the partition",
            "followed, of another spec",
            "built_anew, of all partitions",
            "built_anew, of another partition",
            "folded, of the partition",
        ],
    ),
)
def test_an_equality_delete_of_another_engine(
    tables: Tables, spec: int, partition: dict[int, JsonValue], how: Callable[[LakeTable], None], *, reaches: bool
) -> None:
    """It deletes the rows that it deletes for Iceberg, and no other one of the same key."""
    table = tables.make()
    table.sql("ALTER TABLE {table} ADD PARTITION FIELD v")
    table.commit([(INS, 1, 1), (INS, 2, 1), (INS, 3, 3)])
    table.sql("ALTER TABLE {table} ADD PARTITION FIELD truncate(10, id)")
    deleted_by_another_engine(table, 1, spec, partition)
    seen = table.rows()
    assert seen == [*([] if reaches else [(1, 1)]), (2, 1), (3, 3)]
    how(table)
    table.commit([(INS, 4, 4)])
    assert table.rows() == [*seen, (4, 4)]
    table.commit([(UPD, 1, 10)])
    assert table.rows() == [(1, 10), (2, 1), (3, 3), (4, 4)]
    assert table.files(2) == 0


def struck_by_another_engine(table: LakeTable, spec: int, partition: dict[int, JsonValue], *files: str) -> None:
    """Position deletes of the first row of some files."""
    iceberg = table.lake.iceberg()
    loaded = iceberg.load(table.db, table.name)
    folder = f"{loaded.location()}/data/theirs-{uuid.uuid4()}"
    local(folder).mkdir()
    rows = pa.table([sorted(files), [0] * len(files)], schema=POSITIONS)
    pq.write_table(rows, local(folder) / "gone.parquet", store_schema=False)
    (file,) = iceberg.unplaced_files(loaded, folder)
    package, of = iceberg.jvm.org.apache.iceberg, loaded.specs().get(spec)
    struct = package.SingleValueParser.fromJson(of.partitionType(), json.dumps(partition))
    builder = package.FileMetadata.deleteFileBuilder(of).ofPositionDeletes().withPartition(struct)
    builder = builder.withPath(file.location()).withFormat("parquet").withFileSizeInBytes(file.fileSizeInBytes())
    loaded.newRowDelta().addDeletes(builder.withMetrics(iceberg.metrics_of(file)).build()).commit()


STRUCK = {
    "of another partition": (1, {1000: 3}),
    "of another spec": (2, {1000: 1, 1001: 0}),
    "of no partition": (0, {}),
}


@pytest.mark.parametrize(
    ("how", "spec", "partition"),
    some_slow(
        (
            pytest.param(how, *where, id=f"{how.__name__}, {name}")
            for how in (followed, built_anew)
            for name, where in STRUCK.items()
        ),
        always=["followed, of another partition", "built_anew, of another spec", "built_anew, of no partition"],
    ),
)
def test_position_deletes_of_another_engine(
    tables: Tables, spec: int, partition: dict[int, JsonValue], how: Callable[[LakeTable], None]
) -> None:
    """They delete rows of their own partition, as the specification says, and no other row that they name."""
    table = tables.make('(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "2")')
    table.sql("ALTER TABLE {table} ADD PARTITION FIELD v")
    table.commit([(INS, 1, 1), (INS, 2, 1), (INS, 3, 3)])
    table.sql("ALTER TABLE {table} ADD PARTITION FIELD truncate(10, id)")
    spark = table.lake.iceberg().spark
    listed = spark.sql(f"SELECT file_path FROM lake.{table.db}.{table.name}.files").collect()
    struck_by_another_engine(table, spec, partition, *(str(row[0]) for row in listed))
    seen = table.rows()
    assert seen == [(1, 1), (2, 1), *([] if partition == {1000: 3} else [(3, 3)])]
    how(table)
    table.commit([(UPD, 1, 10)])
    assert table.rows() == sorted([(1, 10), *seen[1:]])
    table.commit([(DEL, 1, 0), (DEL, 3, 0), (INS, 3, 30)])
    assert table.rows() == [(2, 1), (3, 30)]
    assert table.files(2) == 0


def test_position_deletes_about_which_readers_differ(tables: Tables) -> None:
    """Of one file, in another partition than it: Iceberg's own reader follows the name alone. The index is off, and
    says why.
    """
    table = tables.make('(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "2")')
    table.commit([(INS, 1, 1), (INS, 2, 1)])
    table.sql("ALTER TABLE {table} ADD PARTITION FIELD truncate(10, id)")
    spark = table.lake.iceberg().spark
    (row,) = spark.sql(f"SELECT file_path FROM lake.{table.db}.{table.name}.files").collect()
    struck_by_another_engine(table, 1, {1000: 0}, str(row[0]))
    built_anew(table)
    with pytest.raises(SyncError) as caught:
        table.commit([(UPD, 2, 5)])
    assert caught.value.code is Code.SPEC_CHANGED
    assert "position deletes of a file of another partition" in str(caught.value)


LONG_FIELDS = ("s", "truncate(200, s)", "s AS p, ADD PARTITION FIELD truncate(150, s)")
LONG = ["", "short", "x" * 100, "y" * 101, "z" * 122, "h" * 300, "ü" * 70, "a'b\\" * 40, "s" * 5000]


@pytest.mark.parametrize(
    ("field", "indexed"),
    some_slow(itertools.product(LONG_FIELDS, [True, False]), always=[(LONG_FIELDS[0], True), (LONG_FIELDS[1], False)]),
)
def test_a_partition_by_a_long_text(tables: Tables, field: str, *, indexed: bool) -> None:
    """Each row lies in the partition of its value, which Iceberg's own readers and rewrites find."""
    table = tables.make(
        "(id BIGINT NOT NULL, s STRING NOT NULL, v BIGINT) UNIQUE KEY(id, s)",
        ("id", "s", "v"),
        ("id", "s"),
        types={"s": pa.string()},
    )
    for each in field.split(", ADD PARTITION FIELD "):
        table.sql(f"ALTER TABLE {{table}} ADD PARTITION FIELD {each}")
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, number, text, 0) for number, text in enumerate(LONG)])
    table.commit([(UPD, number, text, number) for number, text in enumerate(LONG) if number % 3])
    table.commit([(DEL, 5, LONG[5], 0), (INS, 5, LONG[6], 50)])
    rows = {(number, text): number if number % 3 else 0 for number, text in enumerate(LONG)}
    del rows[5, LONG[5]]
    rows[5, LONG[6]] = 50
    wanted = sorted((number, text, v) for (number, text), v in rows.items())
    assert table.rows() == wanted
    if indexed:
        assert in_pyiceberg(table) == wanted
    for number, text, v in wanted:
        said = text.replace("\\", "\\\\").replace("'", "\\'")
        spark = table.lake.iceberg().spark
        found = spark.sql(f"SELECT v FROM lake.{table.db}.{table.name} WHERE s = '{said}' AND id = {number}")
        assert [row[0] for row in found.collect()] == [v]
    if indexed:
        table.lake.alter(
            changes_of(table, AddField(name="w", type=TargetType(name="INT")), FillField(name="w", value="7"))
        )
        assert table.rows() == [(*row, 7) for row in wanted]
