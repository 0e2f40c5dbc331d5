"""What a text costs sqlglot is bounded, whatever its words may mean."""

from contextlib import suppress

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from syncsql import BoundedParser, NestedTooDeeplyError, parse
from syncsql.bounded import AT_LEAST, PER_TOKEN, WentBackTooFarError
from syncsql.expression import DEEPEST

# each is a type as well as a function, for sqlglot at least
DOUBLE = (
    *("DATE", "TIMESTAMP", "CHAR", "YEAR", "STRUCT", "DECIMAL"),
    *("INT", "ENUM", "OBJECT", "BINARY", "TIME", "DATETIME"),
)
OPENINGS = (*(f"{word}(" for word in DOUBLE), "(", "f(", "1, ", "CAST(", "a IN (", "[", "<", "{")
DEEP = 100  # brackets, as many as any text may have in one another


class Counting(BoundedParser):
    """Counts the words that it reads, each as often as it reads it."""

    most = 0

    def _advance(self, times: int = 1) -> None:
        self.most -= max(times, 0)
        assert self.most >= 0, "words are read over and over"
        super()._advance(times)


def reads(text: str) -> None:
    parser, raw = Counting(), sqlglot.tokenize(text, read="mysql")
    parser.most = AT_LEAST + (PER_TOKEN + 2) * len(raw)
    with suppress(RecursionError, sqlglot.ParseError):
        parser.query(raw, text)


@pytest.mark.parametrize("word", DOUBLE)
def test_words_with_two_meanings_are_not_read_for_ever(word: str) -> None:
    """However deeply they are nested, with or without their ends: twenty took an hour, in the thread that answers all
    clients.
    """
    for depth in (20, DEEP):
        for middle in ("1", "SELECT 1"):
            reads(f"SELECT {word}(" + f"{word}(" * (depth - 1) + middle + ")" * depth)
            reads(f"SELECT {word}(" + f"{word}(" * (depth - 1) + middle)


@given(st.lists(st.sampled_from(OPENINGS)))
def test_no_mixture_of_them_is_read_for_ever(openings: list[str]) -> None:
    reads("SELECT " + "".join(openings) + "1" + ")" * sum(each.endswith("(") for each in openings))


@pytest.mark.parametrize("word", DOUBLE)
def test_an_expression_of_them_is_refused(word: str) -> None:
    """In a job and in a filter of SHOW alike, with its place."""
    expression = f"{word}(" * DEEPEST + "x" + ")" * DEEPEST
    for text in (f"SHOW SYNC JOB WHERE {expression}", f"CREATE SYNC j (FROM a.b INTO c WHERE {expression})"):
        with pytest.raises(NestedTooDeeplyError) as caught:
            parse(text)
        assert caught.value.column > 10


def test_what_people_type_is_far_from_the_bound() -> None:
    """A few of them in one another, and any number next to each other."""
    parser = BoundedParser()
    nested = "SELECT DATE(TIMESTAMP(DATE(CONCAT(YEAR(DATE(a)), '-', CHAR(65)))))"
    flat = "SELECT " + ", ".join(f"DATE(c{number})" for number in range(500))
    for text in (nested, flat):
        parser.query(sqlglot.tokenize(text, read="mysql"), text)


def test_the_bound_is_of_one_text() -> None:
    """One that was refused leaves the next one its own."""
    parser, deep = BoundedParser(), "SELECT " + "DATE(" * 30 + "1" + ")" * 30
    with pytest.raises(WentBackTooFarError):
        parser.query(sqlglot.tokenize(deep, read="mysql"), deep)
    assert parser.query(sqlglot.tokenize("SELECT DATE(1)", read="mysql"), "SELECT DATE(1)") is not None
