from dataclasses import replace
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import ColumnItem, Condition
from syncmgr.job.channel.description import ChannelDescription, Listed, MappedColumn
from syncmgr.job.channel.positional import check_reported, plan_positional, source_names, without_columns
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetColumn, TargetType
from syncmgr.lake.target.target_types import iceberg_type
from tests.unit.job.factories import make_target

ID = SourceColumn(name="no", type="bigint", nullable=False, key=1)
STATUS = SourceColumn(name="state", type="varchar", length=16)
AMOUNT = SourceColumn(name="sum", type="decimal", precision=12, scale=2)


def plan(*names: str, **overrides: Any) -> ChannelDescription:
    values: dict[str, Any] = {
        "token": "t",
        "table": ("shop", "orders"),
        "target": make_target(),
        "items": tuple(ColumnItem(target=name) for name in names),
        "where": None,
    }
    return plan_positional(**(values | overrides))


def told(*columns: SourceColumn) -> SourceTable:
    return SourceTable(db="shop", name="orders", columns=columns)


def test_a_list_maps_by_place() -> None:
    """The first name is the first source column's, whatever that one is called; expressions follow the list."""
    channel = plan("status", "id")
    assert channel.places == (Listed(name="status", type="VARCHAR(16)"), Listed(name="id", type="BIGINT"))
    assert channel.columns == (
        MappedColumn(target="status", expression="`status`"),
        MappedColumn(target="id", expression="`id`"),
    )
    assert (channel.reads, channel.source_keys) == (("status", "id"), ("id",))
    assert source_names(channel.places, told(STATUS, ID)) == {"status": "state", "id": "no"}


def test_no_list_is_that_of_the_target() -> None:
    """As Doris does it: the target's columns in their order."""
    assert [place.name for place in plan().places] == ["id", "status", "amount"]


def test_a_name_that_the_target_lacks_passes_a_column_over() -> None:
    """Doris' way to leave a source column out; only a name that looks like a mistake is refused."""
    channel = plan("id", "dummy_column", "status", "amount")
    assert channel.places[1] == Listed(name="dummy_column")
    assert channel.reads == ("id", "status", "amount")
    with pytest.raises(SyncError, match="Unknown column 'statuss'"):
        plan("id", "statuss", "amount")


def test_expressions_and_where_read_the_list() -> None:
    """They name columns as the list does; what the list passes over has no type that could be checked."""
    note = ColumnItem(target="status", expression="CONCAT(amount, '!')", reads=("AMOUNT",))
    items = (ColumnItem(target="id"), ColumnItem(target="amount"), note)
    channel = plan(items=items, where=Condition(expression="`amount` > 0", reads=("amount",)))
    assert channel.columns[-1] == MappedColumn(target="status", expression="CONCAT(amount, '!')")
    assert [place.name for place in channel.places] == ["id", "amount"]
    with pytest.raises(SyncError, match="has no column 'x'; an expression reads names of the column list"):
        plan("id", "x", where=Condition(expression="x > 0", reads=("x",)))


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("status", "amount"), Code.NO_CHANNEL_KEY),
        (("id", "status", "ID"), Code.DUPLICATE_COLUMN),
    ],
)
def test_a_list_that_cannot_be_is_refused(names: tuple[str, ...], code: Code) -> None:
    """A key that nothing fills, a name that stands twice."""
    with pytest.raises(SyncError) as raised:
        plan(*names)
    assert raised.value.code is code


def test_a_not_null_column_must_be_filled() -> None:
    """Nothing would fill it later."""
    target = make_target()
    note = TargetColumn(name="note", type=TargetType(name="STRING"), nullable=False)
    with pytest.raises(SyncError, match="Target column 'note' of table"):
        plan("id", "status", target=replace(target, columns=(*target.columns, note)))


def test_nothing_is_known_before_the_first_rows() -> None:
    """A stored channel has no source columns until canal has told them."""
    assert without_columns(plan()).source.columns == ()
    assert [column.name for column in plan().source.columns] == ["id", "status", "amount"]


def test_a_list_must_name_every_source_column() -> None:
    """The error shows the columns that canal told and a list to write."""
    with pytest.raises(SyncError) as raised:
        source_names(plan("id", "amount").places, told(ID, STATUS, AMOUNT))
    assert raised.value.code is Code.SOURCE_SCHEMA
    assert "it has 3 columns (no, state, sum), and the column list names 2" in str(raised.value)
    assert "such as (id, amount, sum)" in str(raised.value)


@pytest.mark.parametrize(
    ("why", "columns", "code"),
    [
        ("a type that does not fit", (ID, replace(STATUS, length=17), AMOUNT), Code.TYPE_DOES_NOT_FIT),
        ("a key without the primary key", (replace(ID, key=0), replace(STATUS, key=1), AMOUNT), Code.NO_CHANNEL_KEY),
        ("no primary key", (replace(ID, key=0), STATUS, AMOUNT), Code.NO_CHANNEL_KEY),
    ],
)
def test_what_rows_tell_is_held_against_the_target(why: str, columns: tuple[SourceColumn, ...], code: Code) -> None:
    """The rules of CREATE SYNC hold, only later; two source rows never share a target key."""
    places = plan().places
    check_reported(places, ("id",), told(ID, STATUS, AMOUNT))
    with pytest.raises(SyncError) as raised:
        check_reported(places, ("id",), told(*columns))
    assert raised.value.code is code, why


def test_all_that_does_not_fit_is_told_at_once() -> None:
    """An operator who has to create the job again mends it in one round."""
    columns = (replace(ID, key=0), replace(STATUS, length=17), replace(AMOUNT, precision=30))
    with pytest.raises(SyncError) as raised:
        check_reported(plan().places, ("id",), told(*columns))
    assert raised.value.code is Code.NO_CHANNEL_KEY
    assert "has no primary key" in str(raised.value)
    assert [name in str(raised.value) for name in ("'shop.orders.state'", "'shop.orders.sum'")] == [True, True]


def test_rows_are_appended_without_a_key() -> None:
    """A target without a key needs none in the source."""
    check_reported(plan().places, (), told(replace(ID, key=0), STATUS, AMOUNT))


@pytest.mark.parametrize(
    "text",
    [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "LARGEINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "DATE",
        "DATETIME",
        "TIMESTAMP",
        "CHAR",
        "VARCHAR",
        "STRING",
        "JSON",
        "BINARY",
    ],
)
def test_every_target_type_has_a_source_type(text: str) -> None:
    """Spark can judge an expression over any column of a list."""
    kind = TargetType(name=text, args=(12, 2) if text == "DECIMAL" else ())
    target = replace(make_target(keys=()), columns=(TargetColumn(name="c", type=kind),))
    assert iceberg_type(kind)
    [column] = plan("c", target=target).source.columns
    assert column.name == "c"
