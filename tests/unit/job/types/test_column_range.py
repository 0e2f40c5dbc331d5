"""What fits into what."""

import pytest

from syncmgr.job.types import column_range, target
from syncmgr.job.types.schema import SourceColumn, arrow_type
from tests.unit.job.types.test_target import WORDS

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


@pytest.mark.parametrize("word", WORDS)
def test_the_table_of_fits_is_total(word: str) -> None:
    """Every MySQL type either fits a target type or says why not; nothing is forgotten."""
    for source in MYSQL:
        column = SourceColumn(name="c", type=source, precision=6, length=5, members=("a",))
        arrow_type(column)
        reason = column_range.fits(column, target.parse_type(word))
        assert reason is None or len(reason) > 5, source


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
    (SourceColumn(name="c", type="year(2)"), "SMALLINT", False),
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
    assert expected is (column_range.fits(source, target.parse_type(word)) is None)
