"""The filter that canal is asked to set."""

import re

import pytest

from syncmgr.sources.canal.factory import table_filter


@pytest.mark.parametrize(
    ("table", "lowered"),
    [
        (("shop", "Orders"), ["shop.orders"]),
        (("a-b", "c$d e"), ["a-b.c$d e"]),
        (("d", "a,b"), ["d.a,b"]),
        (("ΟΔΟΣ", "t"), ["οδοσ.t", "οδος.t"]),
        (("d", "οδοσ"), ["d.οδοσ", "d.οδος"]),
        (("d", "İST"), ["d.i\u0307st", "d.ist"]),
        (("d", "ist"), ["d.i\u0307st", "d.ist"]),
        (("d", "\u2c2f"), ["d.\u2c2f", "d.\u2c5f"]),
    ],
)
def test_a_name_is_met_however_java_lowers_it(table: tuple[str, str], lowered: list[str]) -> None:
    """Which depends on its version, on the name beside it, and on who has written the name."""
    made = table_filter([table])
    assert "," not in made
    assert all(re.fullmatch(made, each) for each in lowered)
    assert not re.fullmatch(made, "d.other")
