from dataclasses import replace
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import MOST_COMPUTED, ColumnItem, Condition, plan_channel
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.types.schema import SourceColumn, TargetColumn, TargetType
from tests.unit.job.factories import make_source_table, make_target

ID = SourceColumn(name="id", type="bigint", nullable=False, key=1)


def plan(**overrides: Any) -> Any:
    values: dict[str, Any] = {
        "token": "t",
        "source": make_source_table(),
        "unique_keys": [("id",)],
        "target": make_target(),
        "items": (),
        "where": None,
    }
    return plan_channel(**(values | overrides))


def test_without_a_list_all_columns_map_by_name() -> None:
    """Every source column goes into the target column of its name."""
    channel = plan()
    assert channel.columns == tuple(MappedColumn(target=n, expression=f"`{n}`") for n in ("id", "status", "amount"))
    assert (channel.keys, channel.source_keys, channel.reads) == (("id",), ("id",), ("id", "status", "amount"))


def test_a_list_maps_by_name_and_by_expression() -> None:
    """Only what is named or read by an expression or WHERE is staged; names match without case."""
    items = (ColumnItem(target="ID"), ColumnItem(target="status", expression="upper(amount)", reads=("amount",)))
    channel = plan(items=items, where=Condition(expression="status <> 'x'", reads=("STATUS",)))
    assert [column.expression for column in channel.columns] == ["`id`", "upper(amount)"]
    assert channel.reads == ("id", "status", "amount")
    assert channel.where == "status <> 'x'"


@pytest.mark.parametrize(("more", "taken"), [(0, True), (1, False)])
def test_what_is_computed_of_a_table_has_a_bounded_length(more: int, *, taken: bool) -> None:
    """It is stored with the job, and whoever may create jobs creates any number of them."""
    half = "'" + "x" * (MOST_COMPUTED // 2 - 2) + "'"
    items = (ColumnItem(target="id"), ColumnItem(target="status", expression=half), ColumnItem(target="amount"))
    where = Condition(expression=half + " " * more, reads=())
    if taken:
        assert plan(items=items, where=where).where == where.expression
        return
    with pytest.raises(SyncError, match=f"{MOST_COMPUTED + 1} characters together") as raised:
        plan(items=items, where=where)
    assert raised.value.code is Code.BAD_EXPRESSION


@pytest.mark.parametrize(
    ("why", "changes", "code", "message"),
    [
        ("a target column that is not there", {"items": (ColumnItem(target="idd"),)}, Code.UNKNOWN_COLUMN, "'idd'"),
        (
            "a source column that is not there",
            {
                "source": make_source_table(columns=(ID,)),
                "items": (ColumnItem(target="id"), ColumnItem(target="status")),
            },
            Code.SOURCE_UNKNOWN_COLUMN,
            "has no column 'status'",
        ),
        (
            "a column twice",
            {"items": (ColumnItem(target="id"), ColumnItem(target="ID"))},
            Code.DUPLICATE_COLUMN,
            "'id'",
        ),
        ("a key that is left out", {"items": (ColumnItem(target="status"),)}, Code.NO_CHANNEL_KEY, "key column 'id'"),
        (
            "a key that is computed",
            {"items": (ColumnItem(target="id", expression="id + 1", reads=("id",)),)},
            Code.NO_CHANNEL_KEY,
            "cannot be an expression",
        ),
        (
            "a key that does not cover the source's",
            {"unique_keys": [("id", "status")]},
            Code.NO_CHANNEL_KEY,
            "(id, status)",
        ),
        (
            "a source column of a name that staged rows have",
            {
                "source": make_source_table(columns=(ID, SourceColumn(name="_Op", type="int"))),
                "items": (
                    ColumnItem(target="id"),
                    ColumnItem(target="status", expression="_op + 1", reads=("_op",)),
                    ColumnItem(target="amount", expression="1"),
                ),
            },
            Code.BAD_TABLE,
            "its column '_Op' cannot be read, since staged rows have one of that name; leave it out",
        ),
        ("a source without a key", {"unique_keys": []}, Code.NO_CHANNEL_KEY, "use DUPLICATE KEY"),
        (
            "a type that does not fit",
            {
                "target": make_target(
                    columns=(
                        TargetColumn(name="id", type=TargetType(name="INT"), nullable=False),
                        *make_target().columns[1:],
                    ),
                ),
            },
            Code.TYPE_DOES_NOT_FIT,
            "Source column 'shop.orders.id' (bigint) does not fit target column 'id' (INT)",
        ),
        (
            "a NOT NULL column that nothing fills",
            {
                "target": make_target(
                    columns=(
                        *make_target().columns,
                        TargetColumn(name="extra", type=TargetType(name="INT"), nullable=False),
                    ),
                ),
            },
            Code.COLUMN_NOT_COVERED,
            "'extra'",
        ),
    ],
)
def test_what_cannot_be_synced_is_refused(why: str, changes: dict[str, Any], code: Code, message: str) -> None:
    """CREATE SYNC finds what would fail later, and says which column and why."""
    with pytest.raises(SyncError) as raised:
        plan(**changes)
    assert raised.value.code is code, why
    assert message in str(raised.value), why


def test_all_misfits_of_a_table_are_told_at_once() -> None:
    """One error has every column that does not fit, is not filled or may be NULL, and what is wrong with the key."""
    narrow = [
        TargetColumn(name="id", type=TargetType(name="INT"), nullable=False),
        TargetColumn(name="status", type=TargetType(name="DATE"), nullable=False),
        TargetColumn(name="amount", type=TargetType(name="INT")),
        TargetColumn(name="extra", type=TargetType(name="INT"), nullable=False),
    ]
    with pytest.raises(SyncError) as raised:
        plan(target=make_target(columns=tuple(narrow)), unique_keys=[("id", "status")])
    assert raised.value.code is Code.TYPE_DOES_NOT_FIT
    told = str(raised.value).split("; ")
    for words in (
        "'shop.orders.id' (bigint) does not fit target column 'id' (INT)",
        "target column 'status' (DATE)",
        "target column 'amount' (INT)",
        "must include all columns of a primary or NOT NULL unique key of shop.orders: (id, status)",
        "'status' (DATE NOT NULL): the source column may be NULL",
        "Target column 'extra' of table 'demo.orders' is NOT NULL",
    ):
        assert len([each for each in told if words in each]) == 1, (words, told)


def test_all_wrong_names_of_a_column_list_are_told_at_once() -> None:
    """Before anything is said of types, which nobody knows of a column that is not there."""
    items = (ColumnItem(target="idd"), ColumnItem(target="statos"), ColumnItem(target="amount"))
    with pytest.raises(SyncError) as raised:
        plan(items=items)
    assert str(raised.value) == "Unknown column 'idd' in 'demo.orders'; Unknown column 'statos' in 'demo.orders'"


def test_a_key_that_is_left_out_is_told_once() -> None:
    """Not as a column that is NOT NULL, too."""
    with pytest.raises(SyncError) as raised:
        plan(items=(ColumnItem(target="status"),))
    assert "NOT NULL" not in str(raised.value)


def test_an_expression_keeps_within_a_narrow_target() -> None:
    """Iceberg has no TINYINT: the cast is what refuses 300 in one."""
    narrow = TargetColumn(name="status", type=TargetType(name="TINYINT"))
    target = make_target(columns=(make_target().columns[0], narrow))
    items = (ColumnItem(target="id"), ColumnItem(target="status", expression="amount * 2", reads=("amount",)))
    expected = MappedColumn(target="status", expression="CAST(CAST(amount * 2 AS TINYINT) AS INT)")
    assert plan(target=target, items=items).columns[1] == expected


def test_an_append_target_needs_no_key() -> None:
    """A table without a UNIQUE KEY takes rows of a source without a key."""
    channel = plan(target=make_target(keys=()), unique_keys=[])
    assert (channel.keys, channel.source_keys) == ((), ())


def test_a_source_column_of_a_name_that_the_table_format_has_is_refused() -> None:
    """Whichever names these are: the target has them from its format."""
    source = make_source_table(columns=(ID, SourceColumn(name="_Place", type="int")))
    columns = tuple(TargetColumn(name=name, type=TargetType(name="BIGINT"), nullable=False) for name in ("id", "v"))
    items = (ColumnItem(target="id"), ColumnItem(target="v", expression="_place + 1", reads=("_place",)))
    target = make_target(columns=columns, reserved_columns=frozenset({"_place"}))
    with pytest.raises(SyncError, match="'_Place' cannot be read"):
        plan(source=source, target=target, items=items)
    assert plan(source=source, target=replace(target, reserved_columns=frozenset()), items=items).reads == (
        "id",
        "_Place",
    )


@pytest.mark.parametrize(("kind", "members"), [("enum", ("", "x")), ("set", ("x", ""))])
def test_a_label_without_a_text_makes_no_key(kind: str, members: tuple[str, ...]) -> None:
    """The servers tell it apart from a value of no label, and both are the same text; it may stand beside a key."""
    label = SourceColumn(name="e", type=kind, members=members, nullable=False)
    source = make_source_table(columns=(*make_source_table().columns, label))
    held = TargetColumn(name="e", type=TargetType(name="STRING"), nullable=False)
    target = make_target(columns=(*make_target().columns, held))
    with pytest.raises(SyncError, match="'' is a label of column 'e'") as caught:
        plan(source=source, target=replace(target, keys=("id", "e")), unique_keys=[("id", "e")])
    assert caught.value.code is Code.NO_CHANNEL_KEY
    assert plan(source=source, target=replace(target, keys=("id",)), unique_keys=[("id", "e"), ("id",)]).keys == ("id",)
