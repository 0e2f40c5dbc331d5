"""Texts that mean another time whenever they are computed."""

import pytest

from syncmgr.job.channel.expression_bounds import Node
from syncmgr.job.channel.expression_moments import NO_TEXT, momentary

V = Node(kind="AttributeReference", text="v", type="string")


def text(said: str) -> Node:
    return Node(kind="Literal", text=said, type="string")


def call(kind: str, *children: Node, type: str = "") -> Node:  # noqa: A002 - as in Node
    return Node(kind=kind, children=children, type=type)


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("said", ["now", "Today", " tomorrow", "YESTERDAY UTC", "\t\x00now "])
def test_a_text_that_means_the_present_is_refused(said: str, kind: str) -> None:
    """However it is typed, and wherever in the expression."""
    cast = call("Cast", text(said), type=kind)
    assert "another time" in str(momentary(call("And", call("IsNull", V), call("GreaterThan", V, cast))))


@pytest.mark.parametrize("kind", ["ParseToDate", "ParseToTimestamp"])
def test_a_function_that_casts_is_a_cast(kind: str) -> None:
    """Only with a format it reads no such texts."""
    assert momentary(call(kind, text("today"))) is not None
    assert momentary(call(kind, text("today"), text("yyyy"))) is None


def test_a_text_that_is_computed_without_a_row_is_refused() -> None:
    """What it says is not known before it is computed."""
    assert momentary(call("Cast", call("Concat", text("no"), text("w")), type="timestamp")) == NO_TEXT
    assert momentary(call("Cast", call("Cast", text("now"), type="string"), type="date")) == NO_TEXT


@pytest.mark.parametrize(
    "node",
    [
        text("today"),
        call("EqualTo", V, text("now")),
        call("Cast", V, type="date"),
        call("Cast", text("2024-01-01"), type="date"),
        call("Cast", text("nowhere"), type="date"),  # an error, always
        call("Cast", text("epoch"), type="timestamp"),
        call("Cast", call("Concat", text("2024-"), V), type="date"),
        call("Cast", call("MakeDate", text("1"), text("1"), text("1")), type="timestamp"),
        call("Cast", call("Cast", text("0"), type="integer"), type="timestamp"),
        call("Cast", Node(kind="Literal", text="0", type="integer"), type="timestamp"),
        call("Cast", text("today"), type="string"),
    ],
)
def test_what_is_always_the_same_is_taken(node: Node) -> None:
    """Dates from rows and literals, and such a text that stays a text."""
    assert momentary(node) is None
