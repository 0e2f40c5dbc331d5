"""What another engine adds to a target: columns of any type, and what makes the source's own columns indispensable."""

import itertools
import re

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    FillField,
    LakeChange,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.job.epoch import ChannelAlter
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.index.indexing import IndexState
from syncmgr.lake.upkeep.fold import Fold
from tests.contract.index_state import entries, held, rebuilt
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of, in_pyiceberg, rewrite

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
BIGINT = TargetType(name="BIGINT")
COLUMNS = "(id BIGINT NOT NULL, v BIGINT, b BIGINT NOT NULL) UNIQUE KEY(id)"


def refused(table: LakeTable, alter: ChannelAlter) -> str:
    """What the error says."""
    with pytest.raises(SyncError) as caught:
        table.lake.alter(alter)
    assert caught.value.code is Code.FOREIGN_CHANGE
    assert f"{table.db}.{table.name}" in str(caught.value)
    assert set() == table.stray_files()
    return str(caught.value)


def typed(table: LakeTable, message: str) -> None:
    """The statements of a message, as another engine runs them."""
    for statement in message.partition("type in Spark: ")[2].split("; "):
        table.lake.iceberg().spark.sql(statement).collect()


DEPENDENT = [
    pytest.param("ADD PARTITION FIELD b", id="partition"),
    pytest.param("ADD PARTITION FIELD bucket(4, b) AS `my field`", id="named partition"),
    pytest.param("SET IDENTIFIER FIELDS id, b", id="identifier"),
]


@pytest.mark.parametrize(
    ("work", "version"),
    some_slow(
        (pytest.param(*work.values, version, id=f"{work.id}, v{version}") for work in DEPENDENT for version in (2, 3)),
        always=["partition, v3", "named partition, v2", "identifier, v3"],
    ),
)
def test_a_column_that_something_of_another_engine_depends_on(tables: Tables, work: str, version: int) -> None:
    """That the source drops it is refused with the statement that removes what depends on it, after which the table
    goes on.
    """
    table = tables.make(f'{COLUMNS} PROPERTIES ("format-version" = "{version}")', ("id", "v", "b"))
    table.commit([(INS, 1, 1, 1), (INS, 2, 2, 2)])
    table.sql(f"ALTER TABLE {{table}} {work}")
    table.commit([(INS, key, key, key % 2) for key in range(3, 9)])
    table.commit([(DEL, 3, 0, 0)])
    alter = changes_of(table, DropField(name="b"))
    typed(table, refused(table, alter))
    table.last_snapshot = table.lake.alter(alter).snapshot or table.last_snapshot
    table.columns = ("id", "v")
    table.commit([(UPD, 1, 10), (DEL, 4, 0), (INS, 9, 9)])
    expected = {2: 2, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 1: 10}
    assert table.rows() == sorted(expected.items())
    assert entries(held(table)) == entries(rebuilt(table))
    table.commit([(DEL, 5, 0), (UPD, 6, 60)])
    del expected[5]
    expected[6] = 60
    assert table.rows() == sorted(expected.items())
    rewrite(table)
    table.commit([(UPD, 2, 20)])
    assert table.rows() == sorted((expected | {2: 20}).items())
    assert entries(held(table)) == entries(rebuilt(table))


def test_a_sort_order_gives_way_to_a_dropped_column(tables: Tables) -> None:
    """What another engine has ordered by the column is ordered by the others from then on."""
    table = tables.make(COLUMNS, ("id", "v", "b"))
    table.commit([(INS, 1, 1, 1), (INS, 2, 2, 2)])
    table.sql("ALTER TABLE {table} WRITE ORDERED BY v DESC NULLS LAST, bucket(4, b), truncate(id, 10)")
    table.lake.alter(changes_of(table, DropField(name="b")))
    order = str(table.lake.iceberg().load(table.db, table.name).sortOrder().toString())
    assert re.sub(r"\s+", " ", order) == "[ identity(2) DESC NULLS LAST truncate[10](1) ASC NULLS FIRST ]"
    table.columns = ("id", "v")
    table.commit([(UPD, 1, 10), (INS, 4, 4)])
    assert table.rows() == [(1, 10), (2, 2), (4, 4)]
    table.sql("ALTER TABLE {table} WRITE ORDERED BY v")
    table.lake.alter(changes_of(table, DropField(name="v")))
    assert not table.lake.iceberg().load(table.db, table.name).sortOrder().isSorted()


def test_a_column_of_the_name_of_one_that_the_source_adds(tables: Tables) -> None:
    """It is refused with the statement that gives it another name, after which the table goes on; another case of
    letters is the same name.
    """
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.sql("ALTER TABLE {table} ADD COLUMN W BIGINT")
    table.sql("UPDATE {table} SET W = 5")
    alter = changes_of(table, AddField(name="w", type=BIGINT))
    message = refused(table, alter)
    table.sql("ALTER TABLE {table} RENAME COLUMN W TO theirs")
    assert "RENAME COLUMN `W` TO" in message
    table.lake.alter(alter)
    table.columns = ("id", "v", "w")
    table.commit([(INS, 2, 2, 2)])
    assert table.in_spark("id, v, theirs, w") == [(1, 1, 5, None), (2, 2, None, 2)]


THEIRS = [
    "STRUCT<a: INT, b: STRING>",
    "MAP<STRING, INT>",
    "ARRAY<STRUCT<x: DATE>>",
    "VARIANT",
]
VALUES = {
    "STRUCT<a: INT, b: STRING>": "named_struct('a', 1, 'b', 'x')",
    "MAP<STRING, INT>": "map('k', 1)",
    "ARRAY<STRUCT<x: DATE>>": "array(named_struct('x', DATE '2020-01-01'))",
    "VARIANT": "parse_json('1')",
}


@pytest.mark.parametrize(
    ("kind", "indexed", "by_spark"),
    some_slow(
        itertools.product(THEIRS, [True, False], [False, True]),
        always=[(kind, number % 2 == 0, number % 4 > 1) for number, kind in enumerate(THEIRS)],
    ),
)
def test_a_column_of_a_type_that_we_do_not_have(tables: Tables, kind: str, *, indexed: bool, by_spark: bool) -> None:
    """It keeps its values in rows that stay, and is NULL in new ones and in those that the source changes; a compaction
    and a fold leave it as it is.
    """
    table = tables.make(expressions={"id": "`id`", "v": "abs(`v`)"} if by_spark else {})
    table.commit([(INS, 1, 1), (INS, 2, 2), (INS, 3, 3)])
    table.sql(f"ALTER TABLE {{table}} ADD COLUMN theirs {kind}")
    table.sql(f"INSERT INTO {{table}} VALUES (500, -1, {VALUES[kind]})")
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, 4, 4), (UPD, 1, 10), (DEL, 2, 0)])
    seen = [(1, 10, True), (3, 3, True), (4, 4, True), (500, -1, False)]
    assert table.in_spark("id, v, theirs IS NULL") == seen
    assert table.in_spark("id, v") == [row[:2] for row in seen]
    if not indexed:
        fold = Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing)
        assert fold.run()
    rewrite(table)
    assert table.in_spark("id, v, theirs IS NULL") == seen
    if indexed:
        assert table.indexing.standing().state is IndexState.READY


def test_a_fill_beside_a_column_that_we_do_not_have(tables: Tables) -> None:
    """A statement that writes all rows anew would lose its values: it is refused with the statement that removes the
    column.
    """
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.sql("ALTER TABLE {table} ADD COLUMN theirs STRUCT<a: INT>")
    alter = changes_of(table, AddField(name="w", type=BIGINT), FillField(name="w", value="7"))
    typed(table, refused(table, alter))
    table.lake.alter(alter)
    assert table.rows() == [(1, 1, 7)]


@pytest.mark.parametrize(
    "kind",
    some_slow(["uuid", "time", "fixed[4]", "timestamp_ns", "timestamptz_ns"], always=["uuid", "time", "timestamp_ns"]),
)
def test_a_simple_column_of_a_type_that_we_do_not_have(tables: Tables, kind: str) -> None:
    """Those that Spark cannot make are no obstacle either."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    iceberg = table.lake.iceberg()
    update = iceberg.load(table.db, table.name).updateSchema()
    iceberg.add_column(update, "theirs", kind, "", None)
    update.commit()
    table.commit([(INS, 2, 2), (UPD, 1, 10)])
    if kind in {"uuid", "fixed[4]"}:  # Spark reads no table with a column of the others
        assert table.in_spark("id, v") == [(1, 10), (2, 2)]
    assert [row[:2] for row in in_pyiceberg(table)] == [(1, 10), (2, 2)]


LATE = [
    pytest.param((RetypeField(name="v", type=BIGINT),), "long", "id, v", id="type"),
    pytest.param((RenameField(old="v", new="w"),), "int", "id, w", id="name"),
    pytest.param((RelaxField(name="v"), CommentField(name="v", comment="c")), "int", "id, v", id="comment"),
    pytest.param((AddField(name="w", type=BIGINT), MoveField(name="w", after="v")), "int", "id, v", id="place"),
    pytest.param((DropField(name="v"),), None, "id, 1", id="dropped"),
]


@pytest.mark.parametrize(("changes", "kind", "columns"), LATE)
def test_a_column_that_another_engine_renames_before_a_statement(
    tables: Tables, changes: tuple[LakeChange, ...], kind: str | None, columns: str
) -> None:
    """The statement was decided before: it waits for the column's name, which the message gives it back."""
    table = tables.make("(id BIGINT NOT NULL, v INT) UNIQUE KEY(id)", types={"v": pa.int32()})
    table.commit([(INS, 1, 1)])
    alter = changes_of(table, *changes)
    table.sql("ALTER TABLE {table} RENAME COLUMN v TO theirs")
    typed(table, refused(table, alter))
    table.lake.alter(alter)
    assert table.in_spark(columns) == [(1, 1)]
    layout = table.lake.iceberg().layout(table.lake.iceberg().load(table.db, table.name))
    field = layout.field(columns.removeprefix("id, "))
    assert (None if field is None else field.type) == kind


@pytest.mark.parametrize(
    ("work", "change", "kind"),
    [
        ("ALTER COLUMN v TYPE BIGINT", RetypeField(name="v", type=TargetType(name="INT")), "long"),
        ("ALTER COLUMN v TYPE BIGINT", RetypeField(name="v", type=BIGINT), "long"),
        ("DROP COLUMN v", DropField(name="v"), None),
    ],
)
def test_what_another_engine_has_made_of_a_column_before_a_statement(
    tables: Tables, work: str, change: LakeChange, kind: str | None
) -> None:
    """A wider type holds what the source has, and a column that is away need not be dropped."""
    table = tables.make("(id BIGINT NOT NULL, v TINYINT) UNIQUE KEY(id)", types={"v": pa.int8()})
    table.commit([(INS, 1, 1)])
    alter = changes_of(table, change)
    table.sql(f"ALTER TABLE {{table}} {work}")
    table.lake.alter(alter)
    field = table.lake.iceberg().layout(table.lake.iceberg().load(table.db, table.name)).field("v")
    assert (None if field is None else field.type) == kind
    described = table.lake.tables.describe(table.db, table.name)
    assert [column.type.name for column in described.columns[1:]] == ([] if kind is None else ["BIGINT"])


def test_a_column_that_another_engine_has_made_of_another_type_before_a_statement(tables: Tables) -> None:
    """A type that cannot become the source's stops the table, and the message names both."""
    table = tables.make("(id BIGINT NOT NULL, v INT) UNIQUE KEY(id)", types={"v": pa.int32()})
    table.commit([(INS, 1, 1)])
    table.sql("ALTER TABLE {table} DROP COLUMN v")
    table.sql("ALTER TABLE {table} ADD COLUMN v STRING")
    message = refused(table, changes_of(table, RetypeField(name="v", type=BIGINT)))
    assert "makes column v BIGINT, and it is string by now" in message
