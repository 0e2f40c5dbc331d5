"""From a target to a table of Iceberg and back, without one."""

import pytest

import syncsql
from syncmgr.control.catalog import defined, statement_of
from syncmgr.job.types import table_rules
from syncmgr.lake.iceberg.layout import Layout, PartitionField
from syncmgr.lake.target.target_table import described, fields_of, identifier_of, properties_of

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
            PartitionField(
                name="p", transform=f"{t.kind}[{t.width}]" if t.width else t.kind, source_id=ids[t.column], id=1000
            )
            for t in transforms
        ),
        identifier=identifier_of(table),
    )
    assert table == described("d", "t", layout, properties_of(table))
    assert table == defined(parsed(statement_of(table).sql()), "d")


def test_a_described_table_has_what_its_format_and_version_imply() -> None:
    """Names that readers have for themselves; in v2 no column shows a value in rows from before it."""
    table = defined(parsed(STATEMENTS[0]), "d")
    layout = Layout(schema_id=0, spec_id=0, fields=fields_of(table), partition=(), identifier=identifier_of(table))
    found = [described("d", "t", layout, {**properties_of(table), "format-version": v}) for v in ("2", "3")]
    assert [each.lacks_defaults for each in found] == ["a table of format v2", ""]
    assert all("_pos" in each.reserved_columns for each in (*found, table))
