"""Types, the rules of CREATE TABLE, and what fits into what."""

import itertools
from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.types import target
from syncmgr.job.types.schema import SourceColumn, TargetColumn, TargetTable, TargetType, arrow_type

WORDS = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "LARGEINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(12,2)",
    "DATE",
    "DATETIME",
    "TIMESTAMP",
    "CHAR(3)",
    "VARCHAR(16)",
    "STRING",
    "JSON",
    "BINARY",
]
MYSQL = [
    "tinyint",
    "smallint",
    "mediumint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal",
    "date",
    "datetime",
    "timestamp",
    "time",
    "year",
    "bit",
    "enum",
    "set",
    "json",
    "char",
    "varchar",
    "tinytext",
    "text",
    "mediumtext",
    "longtext",
    "binary",
    "varbinary",
    "tinyblob",
    "blob",
    "mediumblob",
    "longblob",
    "vector",
    "geometry",
    "uuid",
    "inet6",
    "inet4",
]


def table(**changes: object) -> TargetTable:
    columns = (
        TargetColumn(name="id", type=TargetType(name="BIGINT"), nullable=False),
        TargetColumn(name="at", type=TargetType(name="DATETIME"), nullable=False),
        TargetColumn(name="v", type=TargetType(name="DOUBLE")),
    )
    return replace(TargetTable(db="demo", name="t", columns=columns, keys=("id",)), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", WORDS)
def test_every_type_has_its_words(word: str) -> None:
    """Each type of CREATE TABLE reads back from its text, and has a word in Iceberg and in Spark."""
    kind = target.parse_type(word)
    assert word == kind.text
    assert target.iceberg_type(kind)
    assert target.spark_cast("x", kind).endswith(f"AS {target.spark_type(kind)})")


def test_a_smaller_integer_keeps_its_range() -> None:
    """Iceberg has no TINYINT, so the cast goes through Spark's, which fails where Iceberg would not."""
    assert target.spark_cast("x", TargetType(name="TINYINT")) == "CAST(CAST(x AS TINYINT) AS INT)"


@pytest.mark.parametrize(("source", "word"), list(itertools.product(MYSQL, WORDS)))
def test_the_table_of_fits_is_total(source: str, word: str) -> None:
    """Every MySQL type either fits a target type or says why not; nothing is forgotten."""
    column = SourceColumn(name="c", type=source, precision=6, length=5, members=("a",))
    arrow_type(column)
    reason = target.fits(column, target.parse_type(word))
    assert reason is None or len(reason) > 5


FITS = [
    (SourceColumn(name="c", type="bigint", unsigned=True), "LARGEINT", True),
    (SourceColumn(name="c", type="bigint", unsigned=True), "DECIMAL(20,0)", True),
    (SourceColumn(name="c", type="bigint", unsigned=True), "DECIMAL(19,0)", False),
    (SourceColumn(name="c", type="bigint", unsigned=True), "BIGINT", False),
    (SourceColumn(name="c", type="bigint", unsigned=True), "STRING", True),
    (SourceColumn(name="c", type="bigint", unsigned=True), "VARCHAR(20)", True),
    (SourceColumn(name="c", type="bigint"), "VARCHAR(19)", False),
    (SourceColumn(name="c", type="int", unsigned=True), "BIGINT", True),
    (SourceColumn(name="c", type="int", unsigned=True), "INT", False),
    (SourceColumn(name="c", type="int"), "DOUBLE", True),
    (SourceColumn(name="c", type="bigint"), "DOUBLE", False),
    (SourceColumn(name="c", type="mediumint"), "FLOAT", True),
    (SourceColumn(name="c", type="tinyint"), "BOOLEAN", False),
    (SourceColumn(name="c", type="bit", length=1), "BOOLEAN", True),
    (SourceColumn(name="c", type="bit", length=63), "BIGINT", True),
    (SourceColumn(name="c", type="bit", length=64), "BIGINT", False),
    (SourceColumn(name="c", type="year"), "SMALLINT", True),
    (SourceColumn(name="c", type="year"), "TINYINT", False),
    (SourceColumn(name="c", type="decimal", precision=12, scale=2), "DECIMAL(12,2)", True),
    (SourceColumn(name="c", type="decimal", precision=12, scale=2), "DECIMAL(12,3)", False),
    (SourceColumn(name="c", type="decimal", precision=12, scale=2), "DECIMAL(13,3)", True),
    (SourceColumn(name="c", type="decimal", precision=12, scale=2), "BIGINT", False),
    (SourceColumn(name="c", type="decimal", precision=9, scale=0), "INT", True),
    (SourceColumn(name="c", type="decimal", precision=10, scale=0), "INT", False),
    (SourceColumn(name="c", type="decimal", precision=65, scale=30), "STRING", True),
    (SourceColumn(name="c", type="decimal", precision=65, scale=30), "DECIMAL(38,10)", False),
    (SourceColumn(name="c", type="decimal", precision=4, scale=2), "VARCHAR(6)", True),
    (SourceColumn(name="c", type="decimal", precision=4, scale=2), "VARCHAR(5)", False),
    (SourceColumn(name="c", type="float"), "DOUBLE", True),
    (SourceColumn(name="c", type="double"), "FLOAT", False),
    (SourceColumn(name="c", type="date"), "DATETIME", True),
    (SourceColumn(name="c", type="date"), "TIMESTAMP", False),
    (SourceColumn(name="c", type="datetime", precision=6), "DATETIME", True),
    (SourceColumn(name="c", type="datetime", precision=6), "DATETIME(3)", False),
    (SourceColumn(name="c", type="datetime"), "TIMESTAMP", False),
    (SourceColumn(name="c", type="datetime"), "DATE", False),
    (SourceColumn(name="c", type="timestamp", precision=6), "TIMESTAMP", True),
    (SourceColumn(name="c", type="timestamp"), "DATETIME", True),
    (SourceColumn(name="c", type="time"), "DATETIME", False),
    (SourceColumn(name="c", type="time", precision=6), "VARCHAR(17)", True),
    (SourceColumn(name="c", type="time", precision=6), "VARCHAR(16)", False),
    (SourceColumn(name="c", type="varchar", length=16), "VARCHAR(16)", True),
    (SourceColumn(name="c", type="varchar", length=17), "VARCHAR(16)", False),
    (SourceColumn(name="c", type="varchar"), "VARCHAR(16)", False),
    (SourceColumn(name="c", type="varchar", length=17), "INT", False),
    (SourceColumn(name="c", type="char", length=3), "CHAR(3)", True),
    (SourceColumn(name="c", type="text"), "VARCHAR(65533)", False),
    (SourceColumn(name="c", type="longtext"), "STRING", True),
    (SourceColumn(name="c", type="json"), "JSON", True),
    (SourceColumn(name="c", type="json"), "VARCHAR(16)", False),
    (SourceColumn(name="c", type="enum", members=("a", "bcd")), "VARCHAR(3)", True),
    (SourceColumn(name="c", type="enum", members=("a", "bcd")), "VARCHAR(2)", False),
    (SourceColumn(name="c", type="enum"), "VARCHAR(9)", False),
    (SourceColumn(name="c", type="enum"), "STRING", True),
    (SourceColumn(name="c", type="set", members=("a", "b", "c")), "VARCHAR(5)", True),
    (SourceColumn(name="c", type="set", members=("a", "b", "c")), "VARCHAR(4)", False),
    (SourceColumn(name="c", type="varbinary", length=9), "BINARY(9)", True),
    (SourceColumn(name="c", type="varbinary", length=9), "BINARY(8)", False),
    (SourceColumn(name="c", type="blob"), "BINARY", True),
    (SourceColumn(name="c", type="blob"), "BINARY(8)", False),
    (SourceColumn(name="c", type="blob"), "STRING", False),
    (SourceColumn(name="c", type="point"), "BINARY", True),
    (SourceColumn(name="c", type="xmltype"), "STRING", False),
]


@pytest.mark.parametrize(("source", "word", "expected"), FITS)
def test_ranges_fit_or_not(source: SourceColumn, word: str, expected: bool) -> None:  # noqa: FBT001
    """The whole range fits or the column is refused: no value is ever cut."""
    assert expected is (target.fits(source, target.parse_type(word)) is None)


def test_a_good_table_is_accepted() -> None:
    """Keys anywhere in the column list, partitions on key columns."""
    target.check(table())
    target.check(table(keys=("at", "id"), partition=("day(at)", "bucket(4, id)")))
    target.check(table(keys=(), duplicate_key=("v",), partition=("hour(at)",)))
    target.check(table(properties=(("write.parquet.compression-codec", "zstd"),)))


BAD = [
    ({"columns": ()}, Code.BAD_TABLE),
    ({"name": "a/b"}, Code.BAD_NAME),
    ({"db": ".."}, Code.BAD_NAME),
    ({"keys": ("nope",)}, Code.UNKNOWN_COLUMN),
    ({"keys": ("id", "ID")}, Code.BAD_TABLE),
    ({"keys": ("v",)}, Code.BAD_TABLE),
    ({"duplicate_key": ("nope",), "keys": ()}, Code.UNKNOWN_COLUMN),
    ({"partition": ("day(at)",)}, Code.BAD_TABLE),
    ({"partition": ("day(id)",)}, Code.BAD_TABLE),
    ({"partition": ("at",), "keys": ("at",)}, Code.BAD_TABLE),
    ({"partition": ("bucket(4, nope)",)}, Code.UNKNOWN_COLUMN),
    ({"partition": ("bucket(4, id)", "bucket(8, id)")}, Code.BAD_TABLE),
    ({"partition": ("day(at)", "hour(at)"), "keys": ("at",)}, Code.BAD_TABLE),
    ({"properties": (("write.parquet.compression-code", "zstd"),)}, Code.PROPERTY_UNKNOWN),
    ({"properties": (("write.parquet.compression-codec", "rar"),)}, Code.PROPERTY_WRONG),
    ({"properties": (("write.target-file-size-bytes", "1"),)}, Code.PROPERTY_WRONG),
    ({"properties": (("write.target-file-size-bytes", "9999999"),) * 2}, Code.PROPERTY_TWICE),
]


@pytest.mark.parametrize(("changes", "code"), BAD)
def test_a_bad_table_is_refused(changes: dict[str, object], code: Code) -> None:
    """Each rule of CREATE TABLE has its own error."""
    with pytest.raises(SyncError) as caught:
        target.check(table(**changes))
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        (("id", "ID"), Code.DUPLICATE_COLUMN),
        (("id", "syncmgr_kind"), Code.BAD_TABLE),
        (("id", "_file"), Code.BAD_TABLE),
        (("id", "a\nb"), Code.BAD_NAME),
        (("id", "x" * 65), Code.BAD_NAME),
    ],
)
def test_bad_column_names_are_refused(columns: tuple[str, ...], code: Code) -> None:
    """Doubled, reserved, or with characters that no client shows."""
    made = tuple(TargetColumn(name=name, type=TargetType(name="INT"), nullable=False) for name in columns)
    with pytest.raises(SyncError) as caught:
        target.check(table(columns=made))
    assert caught.value.code is code


def test_a_nullable_key_is_refused() -> None:
    """Equality with NULL finds nothing, so a key column takes none."""
    made = (TargetColumn(name="id", type=TargetType(name="INT")),)
    with pytest.raises(SyncError, match="must be NOT NULL"):
        target.check(table(columns=made))


@pytest.mark.parametrize("text", ["region", "bucket(4, id)", "truncate(2, a, b)", "day(at)", "odd(name)"])
def test_transforms_read_back(text: str) -> None:
    """A transform's text parses to the same transform, whatever the column is called."""
    assert text == target.parse_transform(text).text


def test_foreign_types_have_the_nearest_word() -> None:
    """And what CREATE TABLE has no word for is refused."""
    assert target.from_iceberg("decimal(9, 2)") == TargetType(name="DECIMAL", args=(9, 2))
    assert target.from_iceberg("timestamptz") == TargetType(name="TIMESTAMP")
    with pytest.raises(SyncError):
        target.from_iceberg("uuid")
