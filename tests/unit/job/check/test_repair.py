"""Which rows REPAIR reads again, and the condition that means them on both sides."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.check.canonical import key_text
from syncmgr.job.check.compared_table import compared_table
from syncmgr.job.check.repair import MOST_COMPOUND, part_of, wrong_keys
from syncmgr.job.check.verdict import Found, Key, Kind
from syncmgr.job.types.schema import SourceColumn, TargetColumn, TargetType
from tests.unit.job.factories import make_channel, make_source_table, make_target

COUNTS = dict.fromkeys(Kind, 0)


def found(kind: Kind, *keys: str) -> list[Found]:
    return [Found(key=(key,), kind=kind) for key in keys]


def wrong(rows: list[Found], most: int = 10, **counts: int) -> tuple[Key, ...]:
    told = COUNTS | {each: sum(row.kind is each for row in rows) for each in Kind}
    return wrong_keys(7, "shop.orders", rows, told | {Kind(name): count for name, count in counts.items()}, most)


def test_all_that_differ_for_certain_are_read_again() -> None:
    """A key that was on its way is not one of them."""
    rows = [
        *found(Kind.MISSING, "1"),
        *found(Kind.UNSETTLED, "2"),
        *found(Kind.EXTRA, "3"),
        *found(Kind.DIFFERENT, "4"),
    ]
    assert wrong(rows) == (("1",), ("3",), ("4",))
    assert wrong(found(Kind.UNSETTLED, "2")) == ()


@pytest.mark.parametrize(
    ("counts", "most", "reason"),
    [({"MISSING": 11}, 10, "repair_max_rows = 10"), ({"MISSING": 11}, 20, '"keep_rows" = "11"')],
)
def test_rows_that_are_too_many_or_unknown_are_refused_with_a_way_out(
    counts: dict[str, int], most: int, reason: str
) -> None:
    with pytest.raises(SyncError, match=reason) as raised:
        wrong(found(Kind.MISSING, "1"), most, **counts)
    assert raised.value.code is Code.REPAIR_REFUSED
    assert "RESYNC TABLE shop.orders reads all rows" in str(raised.value)


ODD: tuple[tuple[dict[str, Any], tuple[str, tuple[int, ...]], object, str, str], ...] = (
    (
        {"type": "varchar", "length": 40, "charset": "utf8mb4"},
        ("VARCHAR", (160,)),
        "it's \"\\' ü",
        "`k` IN (CAST(X'6974277320225c2720c3bc' AS STRING))",
        "`k` IN (_utf8mb4 X'6974277320225c2720c3bc')",
    ),
    (
        {"type": "varbinary", "length": 9},
        ("BINARY", ()),
        b"\x00\xff'\\",
        "`k` IN (X'00FF275C')",
        "`k` IN (X'00FF275C')",
    ),
    (
        {"type": "decimal", "precision": 12, "scale": 4},
        ("DECIMAL", (12, 4)),
        Decimal("-0.0100"),
        "`k` IN (-0.01)",
        "`k` IN (-0.01)",
    ),
    (
        {"type": "datetime"},
        ("DATETIME", (6,)),
        datetime.fromisoformat("0001-02-03 04:05:06.000007"),
        "`k` IN (TIMESTAMP_NTZ'0001-02-03 04:05:06.000007')",
        "`k` IN (TIMESTAMP'0001-02-03 04:05:06.000007')",
    ),
    ({"type": "date"}, ("DATE", ()), date(1, 1, 1), "`k` IN (DATE'0001-01-01')", "`k` IN (DATE'0001-01-01')"),
    (
        {"type": "bigint", "unsigned": True},
        ("LARGEINT", ()),
        (1 << 64) - 1,
        "`k` IN (18446744073709551615)",
        "`k` IN (18446744073709551615)",
    ),
)


@pytest.mark.parametrize(("column", "target", "value", "here", "there"), ODD)
def test_no_character_of_a_key_is_read_as_another(
    column: dict[str, Any], target: tuple[str, tuple[int, ...]], value: object, here: str, there: str
) -> None:
    """Each type of key, with what is special in a literal of it."""
    table = keyed(
        [SourceColumn(name="k", nullable=False, key=1, **column)], [TargetType(name=target[0], args=target[1])]
    )
    part = part_of(7, table, [(key_text(value),)])
    assert (part.lake, part.source) == (here, there)
    assert part.text == "the 1 keys that check 7 has found"


def keyed(sources: list[SourceColumn], targets: list[TargetType]) -> Any:
    names = tuple(each.name for each in sources)
    columns = tuple(
        TargetColumn(name=name, type=kind, nullable=False) for name, kind in zip(names, targets, strict=True)
    )
    channel = make_channel(
        source=make_source_table(columns=tuple(sources)),
        columns=tuple(MappedColumn(target=name, expression=f"`{name}`") for name in names),
        keys=names,
        source_keys=names,
        reads=names,
    )
    return compared_table(channel, make_target(columns=columns, keys=names))


def test_keys_of_several_columns_are_conditions_side_by_side_and_only_so_many() -> None:
    number = TargetType(name="BIGINT")
    columns = [SourceColumn(name=name, type="bigint", nullable=False, key=at) for at, name in enumerate("ab", 1)]
    table = keyed(columns, [number, number])
    two = part_of(7, table, [("1", "-2"), ("3", "4")])
    assert two.lake == "((`a` IN (1)) AND (`b` IN (-2))) OR ((`a` IN (3)) AND (`b` IN (4)))"
    assert two.source == two.lake
    part_of(7, table, [(str(key), "1") for key in range(MOST_COMPOUND)])
    with pytest.raises(SyncError, match="too many for one condition") as raised:
        part_of(7, table, [(str(key), "1") for key in range(MOST_COMPOUND + 1)])
    assert raised.value.code is Code.REPAIR_REFUSED


def test_keys_that_are_long_texts_are_refused_where_their_condition_is_too_long() -> None:
    text = SourceColumn(name="k", type="varchar", length=255, charset="utf8mb4", nullable=False, key=1)
    table = keyed([text], [TargetType(name="VARCHAR", args=(1020,))])
    keys = [(f"{key:0255d}".encode().hex().upper(),) for key in range(1000)]
    with pytest.raises(SyncError, match="too many for one condition"):
        part_of(7, table, keys)
