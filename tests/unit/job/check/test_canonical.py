from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from syncmgr.job.check.canonical import form, key_text
from syncmgr.job.types.schema import SourceColumn, TargetType


def column(kind: str, **facts: int | str | bool) -> SourceColumn:
    return SourceColumn(name="a`b", type=kind, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (column("int"), TargetType(name="DECIMAL", args=(12, 2))),  # 5 is no 5.00
        (column("decimal", precision=12, scale=2), TargetType(name="DECIMAL", args=(14, 4))),
        (column("double"), TargetType(name="FLOAT")),
        (column("datetime"), TargetType(name="TIMESTAMP")),
        (column("int"), TargetType(name="STRING")),
        (column("tinyint"), TargetType(name="BOOLEAN")),
    ],
)
def test_values_that_may_be_written_in_two_ways_have_no_common_text(source: SourceColumn, target: TargetType) -> None:
    assert form(source, "t", target) is None


def test_names_are_quoted_on_both_sides() -> None:
    found = form(column("bigint", unsigned=True), "c`d", TargetType(name="LARGEINT"))
    assert found is not None
    assert (found.source, found.lake) == ("CAST(CAST(`a``b` AS UNSIGNED) AS CHAR)", "CAST(`c``d` AS STRING)")


def test_what_may_be_longer_than_a_packet_is_compared_by_its_digest() -> None:
    found = form(column("longtext", charset="utf8mb4"), "t", TargetType(name="STRING"))
    assert found is not None
    assert found.source == "SHA2(CONVERT(`a``b` USING utf8mb4), 256)"


def test_a_text_shows_its_value() -> None:
    double, text = (
        form(column("double"), "t", TargetType(name="DOUBLE")),
        form(column("char"), "t", TargetType(name="STRING")),
    )
    assert double is not None
    assert text is not None
    assert str(double.shown("8000000000000000")) == "-0.0"
    assert text.shown("C3BC") == "ü"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-7, "-7"),
        (Decimal("1E+2"), "100"),
        ("ü", "C3BC"),
        (b"\x00\xff", "00FF"),
        (date(7, 1, 2), "0007-01-02"),
        (datetime(7, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "0007-01-02 03:04:05.000006"),
    ],
)
def test_the_key_of_a_staged_row_has_the_text_that_both_sides_give(value: object, text: str) -> None:
    assert key_text(value) == text


def test_what_is_no_key_is_not_taken_for_one() -> None:
    with pytest.raises(TypeError):
        key_text(1.5)
