import datetime as dt
import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.types.cells import UnholdableError
from syncmgr.job.types.column_type import source_column
from syncmgr.job.types.schema import arrow_type
from syncmgr.sources.canal.values.values import Texts, convert


def made(kind: str, *cells: str | None, charset: str | None = None, zone: str | None = "UTC", **facts: Any) -> pa.Array:
    column = source_column("c", kind, charset=charset)
    array = convert(column, Texts(array=pa.array(cells, pa.string()), **facts), zone)
    assert array.type == arrow_type(column)
    array.validate(full=True)
    return array


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("tinyint", "-128", -128),
        ("tinyint unsigned", "255", 255),
        ("mediumint unsigned", "16777215", 16777215),
        ("int(10) unsigned zerofill", "0000000042", 42),
        ("bigint unsigned", "18446744073709551615", 18446744073709551615),
        ("bit(64)", "18446744073709551615", 18446744073709551615),
        ("float", "1.6777216E7", 16777216.0),
        ("double", "1.7976931348623157E308", 1.7976931348623157e308),
        ("double", "4.9E-324", 5e-324),
        ("decimal(20,6)", "-12345.678900", Decimal("-12345.678900")),
        ("decimal(38,38)", "0." + "9" * 38, Decimal("0." + "9" * 38)),
        ("decimal(65,30)", "-0.5" + "0" * 26, "-0.5" + "0" * 29),
        ("decimal(65,3)", "12.0", "12.000"),
        ("decimal(10,2)", "12.0", Decimal("12.00")),
        ("decimal(65,0)", "9" * 65, "9" * 65),
        ("date", "9999-12-31", dt.date(9999, 12, 31)),
        ("datetime(6)", "0001-01-01 00:00:00.000001", dt.datetime.fromisoformat("0001-01-01 00:00:00.000001")),
        ("datetime(1)", "2024-02-29 23:59:59.9", dt.datetime.fromisoformat("2024-02-29 23:59:59.900000")),
        ("timestamp(3)", "2024-01-02 03:04:05.678", dt.datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=dt.UTC)),
        ("time", "-838:59:59", "-838:59:59"),
        ("time(6)", "-00:00:00.000001", "-00:00:00.000001"),
        ("year", "0000", 0),
        ("year(4)", "2155", 2155),
        ("varchar(20)", "héllo€😀", "héllo€😀"),
        ("char(5)", "", ""),
        ("binary(6)", "\x01\x02", b"\x01\x02\0\0\0\0"),
        ("binary(2)", "", b"\0\0"),
        ("varbinary(10)", "\xff\x00\xfe", b"\xff\x00\xfe"),
        ("blob", "\x00\xe2\x8c", b"\x00\xe2\x8c"),
        ("geometry", "\x00\x00\x00\x00\x01\xf0?", b"\x00\x00\x00\x00\x01\xf0?"),
        ("enum('a','b''c')", "2", "b'c"),
        ("enum('a','b''c')", "0", ""),
        ("set('x','y','z')", "5", "x,z"),
        ("set('x','y','z')", "0", ""),
        ("json", "", "null"),
        ("json", '{"a": 1.0E20}', '{"a": 1e20}'),
    ],
)
def test_a_text_is_its_value(kind: str, text: str, value: object) -> None:
    """Each type from canal's spelling, with a NULL before and the value again behind."""
    assert made(kind, None, text, text).to_pylist() == [None, value, value]
    assert made(kind).to_pylist() == []
    assert made(kind, None).to_pylist() == [None]


GOOD = {
    "tinyint": "1",
    "int": "-1",
    "date": "2024-01-01",
    "binary(2)": "\xff",
    "json": "{}",
    "blob": "\xe9",
    "text": "é",
}


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("tinyint", "128", "no tinyint"),
        ("int", "x", "no int"),
        ("int", "", "no int"),
        ("decimal(5,2)", "1.234", "no decimal"),
        ("decimal(65,2)", "1E3", "no decimal"),
        ("decimal(65,2)", "1.234", "no decimal"),
        ("date", "0000-00-00", "no such date"),
        ("date", "0000-01-01", "no such date"),
        ("date", "2024-05-00", "no such date"),
        ("datetime", "0000-00-00 00:00:00", "no such date"),
        ("datetime", "0000-01-01 00:00:00", "no such date"),
        ("timestamp(2)", "0000-00-00 00:00:00.00", "no such date"),
        ("time(3)", "12:34:56", "no time"),
        ("text", "caf\ufffd", "could not read"),
        ("blob", "\u0100", "no bytes"),
        ("binary(2)", "abc", "no binary"),
        ("enum('a','b')", "3", "2 labels"),
        ("enum('a','b')", "a", "no number"),
        ("set('x','y')", "4", "2 labels"),
        ("json", "JSON_SET(j, '$.a', 2)", "binlog_row_value_options"),
        ("json", '"2024-02-29 00:00:00.000000"', "DATE"),
        ("json", '"\\x"', "no JSON"),
    ],
)
def test_a_value_that_cannot_be_told_is_refused_or_idle(kind: str, text: str, why: str) -> None:
    """It is named where somebody looks, and NULL where nobody does; what stands beside it stays."""
    with pytest.raises(UnholdableError, match=why):
        made(kind, None, text)
    good = GOOD.get(kind)
    assert made(kind, text, good, text, idle=np.array([True, False, True])).is_valid().to_pylist() == [
        False,
        good is not None,
        False,
    ]


def test_a_shown_value_is_cut() -> None:
    """A message never carries megabytes."""
    with pytest.raises(UnholdableError) as caught:
        made("blob", "\u0100" * 1000)
    assert len(caught.value.shown) < 100


def test_a_replaced_character_is_itself_where_the_charset_is_known() -> None:
    """U+FFFD is a character like others in a column that is known to be Unicode."""
    assert made("text", "\ufffd", charset="utf8mb4").to_pylist() == ["\ufffd"]


def test_text_that_canal_takes_for_bytes_is_text() -> None:
    """Canal knows TEXT by its bare name only; text(100) travels as a blob would."""
    raw = "中文é".encode().decode("latin1")
    assert made("text(100)", raw, None, raw=True).to_pylist() == ["中文é", None]
    with pytest.raises(UnholdableError, match="UTF-8"):
        made("text(100)", "\xff", raw=True)


@pytest.mark.parametrize(
    ("zone", "hour"), [("UTC", 12), ("+08:00", 4), ("-05:30", 17), ("Asia/Shanghai", 4), ("Europe/Berlin", 10)]
)
def test_timestamps_are_told_in_the_zone_of_the_server(zone: str, hour: int) -> None:
    """What canal's server writes as local time is one point of time."""
    found = made("timestamp", "2024-07-01 12:00:00", zone=zone)[0].as_py()
    assert found.hour == hour


def test_a_local_time_that_came_twice_is_not_guessed() -> None:
    """The hour that a clock is put back, or leaps over, names the zone; another zone has no such hour."""
    for text in ("2024-10-27 02:30:00", "2024-03-31 02:30:00"):
        with pytest.raises(UnholdableError, match="Europe/Berlin"):
            made("timestamp", text, zone="Europe/Berlin")
        assert made("timestamp", text, zone="Europe/Berlin", idle=np.array([True])).to_pylist() == [None]
        assert made("timestamp", text, zone="Asia/Tokyo").null_count == 0


@given(st.lists(st.none() | st.binary(max_size=40)))
def test_bytes_come_back(values: list[bytes | None]) -> None:
    """Every byte of every cell."""
    texts = [None if value is None else value.decode("latin1") for value in values]
    assert made("longblob", *texts).to_pylist() == values


@given(st.lists(st.none() | st.binary(max_size=7)))
def test_fixed_bytes_are_padded(values: list[bytes | None]) -> None:
    """BINARY(7) is seven bytes whatever zeros were left out."""
    texts = [None if value is None else value.rstrip(b"\0").decode("latin1") for value in values]
    assert made("binary(7)", *texts).to_pylist() == [None if v is None else v.ljust(7, b"\0") for v in values]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_doubles_are_exact(values: list[float]) -> None:
    """The same bits, the sign of zero among them."""
    found = made("double", *map(java_text, values)).to_pylist()
    assert [struct.pack("<d", v) for v in found] == [struct.pack("<d", v) for v in values]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_floats_are_exact(values: list[float]) -> None:
    """From Java's shortest text of a float, which is not the text of the same double."""
    found = made("float", *(java_text(np.float32(value)) for value in values)).to_pylist()
    assert found == values


def java_text(value: float) -> str:
    """As Java's Double.toString and Float.toString."""
    size = abs(float(value))
    if size == 0 or 1e-3 <= size < 1e7:
        text = np.format_float_positional(value, unique=True)
        return text + "0" if text.endswith(".") else text
    mantissa, _, exponent = np.format_float_scientific(value, unique=True).partition("e")
    return f"{mantissa}{'0' if mantissa.endswith('.') else ''}E{int(exponent)}"


@given(st.lists(st.decimals(-(10**25), 10**25, places=12)))
def test_decimals_are_exact(values: list[Decimal]) -> None:
    """All digits of a decimal that fits Arrow's."""
    assert made("decimal(38,12)", *(f"{value:f}" for value in values)).to_pylist() == values


@given(st.lists(st.datetimes()), st.integers(0, 6))
def test_moments_are_exact(values: list[dt.datetime], digits: int) -> None:
    """Years 1 to 9999 with every precision."""
    cut = [value.replace(microsecond=value.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits)) for value in values]
    texts = [f"{v:%Y}".zfill(4) + f"{v:-%m-%d %H:%M:%S}" + (f".{v:%f}"[: digits + 1] if digits else "") for v in cut]
    assert made(f"datetime({digits})", *texts).to_pylist() == cut


@given(st.lists(st.none() | st.integers(0, 2**64 - 1)))
def test_sets_of_64_labels(values: list[int | None]) -> None:
    """Every label has its bit."""
    kind = "set(" + ",".join(f"'m{i}'" for i in range(64)) + ")"
    found = made(kind, *(None if value is None else str(value) for value in values)).to_pylist()
    labels = [None if v is None else ",".join(f"m{i}" for i in range(64) if v >> i & 1) for v in values]
    assert found == labels


@given(st.sampled_from(["int", "double", "date", "timestamp", "time", "enum('a')", "set('a')", "json"]), st.data())
def test_any_text_is_a_value_or_a_typed_error(kind: str, data: st.DataObject) -> None:
    """Nothing that canal could send gives another exception."""
    texts = data.draw(st.lists(st.none() | st.text(max_size=12), min_size=1))
    try:
        found = made(kind, *texts)
    except UnholdableError:
        return
    assert len(found) == len(texts)


def test_infinity_is_no_number_of_mysql() -> None:
    """Shown only by what is no canal."""
    assert math.isinf(made("double", "Infinity")[0].as_py())
