from itertools import pairwise
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.check.compared_table import Rows, compared_table
from syncmgr.job.check.verdict import Found, Kind
from tests.unit.job.factories import make_channel, make_source_table, make_target

PLAIN = tuple(MappedColumn(target=name, expression=f"`{name}`") for name in ("status", "id", "amount"))


def plain(**overrides: Any) -> Any:
    return compared_table(make_channel(**({"columns": PLAIN} | overrides)), make_target())


def test_keys_come_first_on_both_sides() -> None:
    question = plain().texts(Rows())
    assert question.source.startswith("SELECT CAST(CAST(`id` AS SIGNED) AS CHAR) c0, HEX(CONVERT(`status`")
    assert question.lake.startswith("SELECT CAST(`id` AS STRING) c0, hex(CAST(`status`")
    assert question.source.endswith(" FROM `shop`.`orders`")
    assert question.lake.endswith(" FROM `demo`.`orders`")


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"keys": (), "source_keys": ()}, "no key"),
        ({"where": "`id` > 1"}, "WHERE"),
        ({"columns": (*PLAIN[:2], MappedColumn(target="amount", expression="`amount` * 2"))}, "'amount' is computed"),
        ({"columns": (*PLAIN[:2], MappedColumn(target="amount", expression="`status`"))}, "has no common text"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(overrides: dict[str, Any], reason: str) -> None:
    with pytest.raises(SyncError, match=reason) as raised:
        plain(**overrides)
    assert raised.value.code is Code.CHECK_REFUSED


def test_ranges_of_an_integer_meet_without_a_gap() -> None:
    table = plain()
    assert table.ranges_by == "id"
    ends = [None, "10", None]
    first, second = (table.between(low, high) for low, high in pairwise(ends))
    assert (first.lake, second.lake) == ("(`id` <= 10)", "(`id` > 10)")
    assert (first.source, second.source) == ("(`id` <= 10)", "(`id` > 10)")


def test_rows_of_other_shards_are_left_out() -> None:
    """Of all rows, of a range and of keys: others fill the same target."""
    columns = (*PLAIN, MappedColumn(target="from_db", expression="'shop'", constant="shop"))
    keys = {"keys": ("from_db", "id")}
    table = plain(columns=columns, **keys)
    for rows in (table.all_rows, table.between("1", "2"), table.of_keys([("7",)])):
        assert "`from_db` = 'shop'" in rows.lake
        assert "from_db" not in rows.source


def test_keys_of_several_columns_are_asked_for_one_by_one() -> None:
    source = make_source_table()
    table = plain(source=source, keys=("id", "status"), source_keys=("id", "status"))
    assert table.ranges_by is None
    [key] = [tuple(text) for text in [("61", "7")]]
    rows = table.of_keys([key])
    assert "`status` IN (CAST(X'61' AS STRING))" in rows.lake
    assert "`id` IN (7)" in rows.lake


def test_what_is_found_is_shown_by_the_names_of_the_target() -> None:
    table = plain()
    found = Found(key=("7",), kind=Kind.DIFFERENT, columns=(1,), source=("7", "6E", None), target=("7", None, "1.50"))
    assert table.shown_key(found.key) == {"id": 7}
    assert table.named(found) == "status"
    assert table.shown(found.source) == {"id": 7, "status": "n", "amount": None}
    assert table.named(Found(key=("7",), kind=Kind.EXTRA)) == "*"
