import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.types.number_text import double_text
from syncmgr.sources.canal.values.json_text import UnclearError, mysql_text
from tests.unit.sources.canal.values.test_values import java_text, made

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    # ASCII escapes, controls, what canal escapes and MySQL does not, and beyond the BMP
    | st.text(st.sampled_from('a"\\/\n\r\t\b\f\x00\x1f\x7f\x80\xa0é€😀 E1:,{}[]'), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def canal(value: Any) -> str:
    """As canal's server prints it."""
    match value:
        case dict():
            return "{" + ", ".join(f"{canal(name)}: {canal(inner)}" for name, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(canal, value)) + "]"
        case str():
            return '"' + "".join(map(escaped, value)) + '"'
        case bool() | None:
            return json.dumps(value)
        case float():
            return java_text(value)
        case _:
            return str(value)


def escaped(character: str) -> str:
    plain = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\\": "\\\\", "\t": "\\t"}.get(character)
    if plain is not None:
        return plain
    return f"\\u{ord(character):04x}" if character < " " or "\x7f" <= character <= "\xa0" else character


def mysql(value: Any) -> str:
    """As MySQL prints it."""
    match value:
        case dict():
            return "{" + ", ".join(f"{mysql(name)}: {mysql(inner)}" for name, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(mysql, value)) + "]"
        case float():
            return double_text(value)
        case _:
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\x7f")


@given(VALUES)
def test_documents_are_as_mysql_prints_them(value: Any) -> None:
    """Numbers, escapes and order, of the document alone and in a column, where most are not looked into."""
    assert mysql_text(canal(value)) == mysql(value)
    assert made("json", canal(value)).to_pylist() == [mysql(value)]


@pytest.mark.parametrize(
    "text", ["12345678901234567890.50", "-12.50", "0.000000001000", "12", '"1.0E5"', '"a\\\\"', "100.0"]
)
def test_decimals_and_strings_stay(text: str) -> None:
    """A decimal keeps its digits, and what looks like a number in a string is a string."""
    assert mysql_text(text) == text


@pytest.mark.parametrize("text", ['"2024-02-29 00:00:00.000000"', '{"a": ["0000-00-00 00:00:00"]}'])
def test_a_midnight_may_have_been_a_date(text: str) -> None:
    """MySQL prints a DATE without a time, so this text means two things."""
    with pytest.raises(UnclearError):
        mysql_text(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"2024-02-29 00:00:00.000000": 1}',
        '"2024-02-29 00:00:00.000001"',
        '"2024-02-29 00:00:00"',
        '"at 2024-02-29 00:00:00.000000"',
    ],
)
def test_only_a_whole_midnight_string_is_unclear(text: str) -> None:
    """A name is always a string, and so is what canal never writes for a DATE."""
    assert mysql_text(text) == text
    assert made("json", text).to_pylist() == [text]


@given(st.text(alphabet='"\\ab{}[]:,1.E-u0', max_size=20))
def test_any_text_is_a_document_or_an_error(text: str) -> None:
    """What is cut in a string is told, whatever it is."""
    try:
        mysql_text(text)
    except ValueError:
        return


@pytest.mark.parametrize("text", ['"' + '\\"' * 200_000, "1" * 400_000, '{"a": ' + "1.1" * 100_000, '"\\'])
def test_a_text_that_is_no_document_is_read_in_time_by_its_length(text: str) -> None:
    """A source may send anything, and the worker answers nothing meanwhile."""
    begun = time.process_time()
    with contextlib.suppress(ValueError):
        assert mysql_text(text) == text
    assert time.process_time() - begun < 2
