"""What every lake promises of its databases and tables (`lake/port.py`): the one in memory, and Iceberg."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.targets.target_change import NewPlace, TargetAlteration, TargetChange
from syncmgr.job.types.schema import TargetColumn, TargetTable, TargetType
from syncmgr.lake.port import LakeTables
from tests.support.memory_tables import databases
from tests.support.spark_session import SPARK
from tests.unit.job.factories import make_target


@dataclass
class Place:
    """A database of a lake."""

    lake: LakeTables
    db: str

    def target(self, name: str = "orders", **changes: object) -> TargetTable:
        return make_target(db=self.db, name=name, **changes)


def in_memory(_request: pytest.FixtureRequest) -> Place:
    return Place(databases("demo"), "demo")


def in_iceberg(request: pytest.FixtureRequest) -> Place:
    tables = request.getfixturevalue("tables")
    return Place(tables.lake.tables, tables.db)


@pytest.fixture(params=[in_memory, pytest.param(in_iceberg, marks=SPARK)])
def place(request: pytest.FixtureRequest) -> Place:
    made: Place = request.param(request)
    return made


def code_of(call: Callable[..., object], *arguments: object) -> Code:
    with pytest.raises(SyncError) as caught:
        call(*arguments)
    return caught.value.code


KINDS = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT", "FLOAT", "DOUBLE"),
    *("DATE", "DATETIME", "TIMESTAMP", "STRING", "JSON", "BINARY"),
)
TARGETS = [
    {},
    {"keys": (), "duplicate_key": ("status",), "comment": 'it\'s "the" comment'},
    {"partition": ("bucket(4, id)",), "properties": (("write.parquet.compression-codec", "snappy"),)},
    {"keys": (), "columns": tuple(TargetColumn(name=f"c_{n}", type=TargetType(name=n), comment=n) for n in KINDS)},
]


@pytest.mark.parametrize("changes", TARGETS, ids=["keyed", "without a key", "placed", "all types"])
def test_a_target_is_described_as_it_was_created(place: Place, changes: dict[str, object]) -> None:
    """Columns, keys, partitions, comments and properties, and that nothing has written to it."""
    wanted = place.target(**changes)
    uuid = place.lake.create_table(wanted, for_job=False)
    assert place.lake.describe(place.db, "orders") == replace(wanted, uuid=uuid, is_unused=True)
    assert place.lake.is_empty(place.db, "orders")
    assert place.lake.snapshots(place.db, "orders") == frozenset()
    assert place.lake.writers(place.db, "orders", 300.0) == frozenset()


def test_what_a_job_made_is_spare_until_it_is_used(place: Place) -> None:
    """A table of CREATE TABLE never is."""
    place.lake.create_table(place.target(), for_job=True)
    place.lake.create_table(place.target("lines"), for_job=False)
    assert [place.lake.describe(place.db, name).is_spare for name in ("orders", "lines")] == [True, False]


def test_a_table_is_altered_as_decided(place: Place) -> None:
    """On the table as it is: columns with their order, types, comments, the table's comment and properties. What the
    decision refuses changes nothing.
    """
    made = place.target(keys=(), columns=(column("id"), column("n", comment="a number"), column("old")))
    uuid = place.lake.create_table(made, for_job=False)

    def change(rules: TargetAlteration) -> None:
        rules.add(column("note", "STRING", comment="by us"), NewPlace(after="id"))
        rules.drop("old")
        rules.modify("n", TargetType(name="BIGINT"), nullable=None, comment="wide", place=NewPlace(after=None))
        rules.comment_table("all of them")
        rules.set_properties({"write.target-file-size-bytes": "2097152"}, ())

    seen: list[TargetTable] = []

    def decide(table: TargetTable) -> TargetChange:
        seen.append(table)
        rules = TargetAlteration(table, {})
        change(rules)
        return rules.change()

    place.lake.alter_table(place.db, "orders", decide)
    assert [table.uuid for table in seen] == [uuid]
    found = place.lake.describe(place.db, "orders")
    wide = column("n", "BIGINT", comment="wide")
    assert found.columns == (wide, column("id"), column("note", "STRING", comment="by us"))
    assert (found.comment, found.properties) == ("all of them", (("write.target-file-size-bytes", "2097152"),))
    assert code_of(place.lake.alter_table, place.db, "orders", decide) is Code.DUPLICATE_COLUMN
    assert place.lake.describe(place.db, "orders") == found


@pytest.mark.parametrize("place", [pytest.param(in_iceberg, marks=SPARK)], indirect=True)
def test_a_commit_that_comes_first_is_kept(place: Place, request: pytest.FixtureRequest) -> None:
    """The change is decided anew on the table that it left, and made once."""
    place.lake.create_table(place.target(), for_job=False)
    iceberg = request.getfixturevalue("tables").lake.iceberg()
    decided: list[str] = []

    def decide(table: TargetTable) -> TargetChange:
        if not decided:
            iceberg.load(place.db, "orders").updateProperties().set("comment", "of another").commit()
        decided.append(table.comment)
        rules = TargetAlteration(table, {})
        rules.add(column("note", "STRING"), None)
        return rules.change()

    place.lake.alter_table(place.db, "orders", decide)
    assert decided == ["", "of another"]
    found = place.lake.describe(place.db, "orders")
    assert (found.comment, [each.name for each in found.columns][-1]) == ("of another", "note")


def column(name: str, kind: str = "INT", comment: str = "") -> TargetColumn:
    return TargetColumn(name=name, type=TargetType(name=kind), comment=comment)


def test_a_name_that_is_taken_is_refused(place: Place) -> None:
    """Two statements may make the same target at once: the second one is told what is wrong, and the first one's
    table stays.
    """
    target = place.target("taken")
    uuid = place.lake.create_table(target, for_job=True)
    assert code_of(lambda: place.lake.create_table(target, for_job=True)) is Code.TABLE_EXISTS
    assert place.lake.describe(place.db, "taken").uuid == uuid


def test_a_table_that_was_dropped_is_gone(place: Place) -> None:
    """One made anew under its name is another."""
    first = place.lake.create_table(place.target(), for_job=False)
    assert place.lake.tables(place.db) == ["orders"]
    place.lake.drop_table(place.db, "orders")
    assert place.lake.tables(place.db) == []
    assert code_of(place.lake.describe, place.db, "orders") is Code.NO_SUCH_TABLE
    assert code_of(place.lake.snapshots, place.db, "orders") is Code.NO_SUCH_TABLE
    assert place.lake.create_table(place.target(), for_job=False) != first


def test_databases_come_and_go(place: Place) -> None:
    """Each has its own tables."""
    other = f"{place.db}_other"
    place.lake.ready()
    place.lake.create_namespace(other)
    place.lake.create_table(place.target(), for_job=False)
    assert {place.db, other} <= set(place.lake.namespaces())
    assert (place.lake.tables(other), place.lake.views(other)) == ([], [])
    place.lake.drop_namespace(other)
    assert other not in place.lake.namespaces()
