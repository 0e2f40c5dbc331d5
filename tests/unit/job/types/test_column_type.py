import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.types.column_type import labels, source_column
from syncmgr.job.types.schema import arrow_type


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("int", "int"),
        ("int(11)", "int"),
        ("INT(10) UNSIGNED ZEROFILL", "int unsigned"),
        ("int unsigned", "int unsigned"),
        ("int zerofill", "int unsigned"),
        ("integer signed", "int"),
        ("BOOL", "tinyint"),
        ("tinyint(1)", "tinyint"),
        ("decimal(20,6)", "decimal(20,6)"),
        ("numeric(8)", "decimal(8,0)"),
        ("dec", "decimal(10,0)"),
        ("decimal(20, 6) unsigned", "decimal(20,6) unsigned"),
        ("float(7,3)", "float(7,3)"),
        ("float(24)", "float"),
        ("float(25)", "double"),
        ("double precision", "double"),
        ("datetime(3)", "datetime(3)"),
        ("timestamp", "timestamp"),
        ("time(6)", "time(6)"),
        ("year(4)", "year"),
        ("year(2)", "year(2)"),
        ("char", "char(1)"),
        ("varchar(20)", "varchar(20)"),
        ("binary(6)", "binary(6)"),
        ("bit", "bit(1)"),
        ("text(100)", "text"),
        ("geometrycollection", "geomcollection"),
        ("enum('a','b''c',')')", "enum('a','b''c',')')"),
        ("ENUM('unsigned', 'B')", "enum('unsigned','B')"),
        ("set('x','y')", "set('x','y')"),
    ],
)
def test_types_are_read_as_mysql_means_them(text: str, shown: str) -> None:
    """Display widths go, synonyms and default sizes are resolved, labels keep their case."""
    assert source_column("c", text).text == shown


@pytest.mark.parametrize(
    "text",
    ["", "xmltype", "varchar(10) /*M!100301 COMPRESSED*/", "char(5) binary", "enum()", "enum(a)", "int(x)", "int("],
)
def test_what_cannot_be_read_is_not_guessed(text: str) -> None:
    """Nothing is known of such a column: it has no Arrow type."""
    with pytest.raises(KeyError):
        arrow_type(source_column("c", text))


@pytest.mark.parametrize(
    "text", ["a " * 100_000 + "!", "a(" + ") a" * 100_000 + "!", "enum('" + "a','" * 100_000 + "!"]
)
def test_any_text_is_read_in_time_by_its_length(text: str) -> None:
    """A server may send it, and the frontend reads it: nobody else is answered meanwhile."""
    begun = time.process_time()
    assert source_column("c", text).text == text
    assert time.process_time() - begun < 5


@given(st.text(max_size=40))
def test_any_text_gives_a_column(text: str) -> None:
    """Whatever a source sends as a type is a column, and prints."""
    assert source_column("c", text).text is not None


@given(st.lists(st.text(min_size=1, max_size=5).filter(lambda label: "\\" not in label), min_size=1, max_size=4))
def test_labels_come_back(members: list[str]) -> None:
    """Labels with quotes, commas and line ends in them come out as they went in."""
    text = "enum(" + ",".join("'" + member.replace("'", "''") + "'" for member in members) + ")"
    assert list(labels(text)) == members
    assert list(source_column("c", text).members) == members
