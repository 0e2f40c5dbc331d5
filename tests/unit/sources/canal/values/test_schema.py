import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.sources.canal.values.schema import ColumnHeader, check_zone, source_table_of


def header(name: str, kind: str, *, key: bool = False) -> ColumnHeader:
    return ColumnHeader(name=name, type=kind, sql_type=0, key=key)


def test_a_table_is_what_canal_says_of_it() -> None:
    """Names, types, signs, labels and key; nothing is said of charsets and NULL."""
    table = source_table_of(
        ("d", "t"),
        [header("b", "int(10) unsigned", key=True), header("e", "enum('x')"), header("a", "char(3)", key=True)],
    )
    assert table.label == "d.t"
    assert [(c.name, c.text, c.key, c.charset, c.nullable) for c in table.columns] == [
        ("b", "int unsigned", 1, None, True),
        ("e", "enum('x')", 0, None, True),
        ("a", "char(3)", 2, None, True),
    ]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "+8", "", "+15:00", "utc+8"])
def test_an_unknown_zone_is_told_at_once(zone: str) -> None:
    """Before any row comes."""
    with pytest.raises(SyncError) as caught:
        check_zone(zone)
    assert caught.value.code is Code.PROPERTY_WRONG
