import dataclasses
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncsql import Expression, Filter, Name, ShowDatabases, Statement, parse
from tests.grammar.strategies import NODES_OF_STATEMENTS, any_expressions, of_node

# 41 nodes share a run; the profile says how thorough it is.
PER_NODE: Final = max(settings.default.max_examples // 5, 10)
statements: st.SearchStrategy[Statement] = st.one_of(*map(of_node, NODES_OF_STATEMENTS))


@pytest.mark.parametrize("node", NODES_OF_STATEMENTS, ids=lambda node: node.__name__)
def test_every_statement_prints_itself(node: type) -> None:
    """Whatever names, texts and numbers a statement holds, its print parses back to an equal statement, passwords
    included.
    """

    @settings(max_examples=PER_NODE, deadline=None)
    @given(statement=of_node(node))
    def prints_itself(statement: Statement) -> None:
        (parsed,) = parse(statement.sql())
        assert parsed.statement == statement
        assert parsed.text == statement.sql()

    prints_itself()


@settings(deadline=None)
@given(expression=any_expressions)
def test_every_expression_prints_itself(expression: Expression) -> None:
    """Its canonical text is read as the same expression, and prints the same again."""
    (parsed,) = parse(ShowDatabases(filter=Filter(where=expression)).sql())
    assert parsed.statement == ShowDatabases(filter=Filter(where=expression))


@settings(max_examples=PER_NODE, deadline=None)
@given(several=st.lists(statements, max_size=4))
def test_statements_between_semicolons_stay_apart(several: list[Statement]) -> None:
    """Statements joined by semicolons parse back one by one, whatever their strings and names hold."""
    text = " ;\n/* between */ ; ".join(statement.sql() for statement in several)
    assert [parsed.statement for parsed in parse(text)] == several


def test_a_node_of_which_nothing_is_known_is_named() -> None:
    """A new kind of field is not passed over without a word."""

    @dataclasses.dataclass(frozen=True)
    class New:
        job: Name
        since: complex

    with pytest.raises(TypeError, match=r"New\.since: nothing is known of fields of type .*complex"):
        of_node(New)
