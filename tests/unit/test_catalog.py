"""From CREATE TABLE to an Iceberg table and back, without one."""

import pytest

import syncsql
from syncmgr.catalog import defined, described, fields_of, properties_of, statement_of
from syncmgr.errors import Code, SyncError
from syncmgr.job import target
from syncmgr.spark.layout import Layout, PartitionField

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
    target.check(table)
    fields = fields_of(table)
    ids = {field.name: field.id for field in fields}
    transforms = [target.parse_transform(text) for text in table.partition]
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
        target.check(defined(parsed("CREATE TABLE t (id INT NULL) UNIQUE KEY(id)"), "d"))


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
