import pytest

from syncsql import parse
from tests.grammar.corpus import Case, cases, outcome

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_has_its_outcome(case: Case) -> None:
    """Every text of the corpus becomes exactly the statements, or exactly the error, that stand below it."""
    assert case.outcome == outcome(case.sql)


@pytest.mark.parametrize("case", [case for case in CASES if case.accepted], ids=str)
def test_what_is_printed_parses_back(case: Case) -> None:
    """A statement prints a text that gives an equal statement, which prints the same text."""
    for parsed in parse(case.sql):
        printed = parsed.statement.sql()
        (again,) = parse(printed)
        assert parsed.statement == again.statement
        assert printed == again.statement.sql()


def test_the_corpus_is_large_and_has_no_case_twice() -> None:
    """At least 300 cases, good and bad, each with a title and a text of its own."""
    assert len(CASES) >= 300
    assert len(CASES) == len({str(case) for case in CASES})
    assert len(CASES) == len({case.sql for case in CASES})
    assert sum(case.accepted for case in CASES) >= 150
    assert sum(not case.accepted for case in CASES) >= 150
