"""From CREATE TABLE to an Iceberg table and back, without one."""

import pytest

import syncsql
from syncmgr.control.catalog import defined, described, fields_of, ignored, properties_of, statement_of
from syncmgr.errors import Code, SyncError
from syncmgr.job.types import table_rules
from syncmgr.lake.iceberg.layout import Layout, PartitionField

STATEMENTS = [
    "CREATE TABLE d.t (id BIGINT NOT NULL, v INT) UNIQUE KEY(id)",
    "CREATE TABLE d.t (id BIGINT, b INT NOT NULL) UNIQUE KEY(b, id) DISTRIBUTED BY HASH(id) BUCKETS 4",
    "CREATE TABLE d.t (a VARCHAR(9), b DATETIME(3), c TINYINT) DUPLICATE KEY(a) PARTITION BY (day(b), a)",
    "CREATE TABLE d.t (a JSON COMMENT 'x') COMMENT 'y' PROPERTIES ('write.target-file-size-bytes' = '2000000')",
]


def parsed(sql: str) -> syncsql.CreateTable:
    [found] = syncsql.parse(sql)
    assert isinstance(found.statement, syncsql.CreateTable)
    return found.statement


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_table_comes_back_from_the_lake(sql: str) -> None:
    """Its columns, keys, partitions, comments and properties, and its statement makes it once more."""
    table = defined(parsed(sql), "d")
    table_rules.check(table)
    fields = fields_of(table)
    ids = {field.name: field.id for field in fields}
    transforms = [table_rules.parse_transform(text) for text in table.partition]
    layout = Layout(
        schema_id=0,
        spec_id=0,
        fields=fields,
        partition=tuple(
            PartitionField(name="p", transform=f"{t.kind}[{t.width}]" if t.width else t.kind, source_id=ids[t.column])
            for t in transforms
        ),
        identifier=tuple(ids[key] for key in table.keys),
    )
    assert table == described("d", "t", layout, properties_of(table, ids))
    assert table == defined(parsed(statement_of(table).sql()), "d")


def test_key_columns_take_no_null() -> None:
    """Unless the statement says NULL, which is refused."""
    assert not defined(parsed("CREATE TABLE t (id INT) UNIQUE KEY(id)"), "d").columns[0].nullable
    with pytest.raises(SyncError):
        table_rules.check(defined(parsed("CREATE TABLE t (id INT NULL) UNIQUE KEY(id)"), "d"))


@pytest.mark.parametrize("sql", ["CREATE TABLE t (id INT DEFAULT '5')", "CREATE TABLE t (id INT) ENGINE = mysql"])
def test_what_the_lake_has_not(sql: str) -> None:
    """A default that nobody would apply, an engine that is not there."""
    with pytest.raises(SyncError) as caught:
        defined(parsed(sql), "d")
    assert caught.value.code is Code.NOT_SUPPORTED


def test_one_bucket_places_nothing() -> None:
    """Nor does AUTO or RANDOM."""
    for clause in ("HASH(id) BUCKETS 1", "HASH(id) BUCKETS AUTO", "RANDOM BUCKETS 4"):
        assert defined(parsed(f"CREATE TABLE t (id INT) DISTRIBUTED BY {clause}"), "d").partition == ()


def test_the_primary_key_of_mysql() -> None:
    """It is a UNIQUE KEY, wherever it stands, and its columns take no NULL."""
    for sql in ("(id INT PRIMARY KEY, v INT)", "(id INT, v INT, PRIMARY KEY (id))", "(id INT, v INT) UNIQUE KEY(id)"):
        table = defined(parsed(f"CREATE TABLE t {sql}"), "d")
        assert table.keys == ("id",)
        assert [column.nullable for column in table.columns] == [False, True]


def test_what_mysql_says_besides_is_told() -> None:
    """One warning for each part that does nothing; UTF-8 is what text is, so there is nothing to say of it."""
    options = "ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC"
    sql = f"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY) {options}"
    assert [(each.level, each.code, each.text) for each in ignored(parsed(sql))] == [
        ("Warning", Code.OPTION_IGNORED, "ENGINE = InnoDB is ignored: tables are Iceberg's"),
        ("Warning", Code.OPTION_IGNORED, "AUTO_INCREMENT = 5 is ignored: values come from the source"),
        ("Warning", Code.OPTION_IGNORED, "COLLATE = utf8mb4_bin is ignored: text compares by its bytes"),
        ("Warning", Code.OPTION_IGNORED, "ROW_FORMAT = DYNAMIC is ignored: data files are Parquet"),
        ("Warning", Code.OPTION_IGNORED, "AUTO_INCREMENT of column 'id' is ignored: values come from the source"),
    ]
    assert len([*ignored(parsed("CREATE TABLE t (id INT) CHARSET=latin1"))]) == 1
    assert not [*ignored(parsed("CREATE TABLE t (id INT) ENGINE=iceberg"))]
