import itertools
import re
from collections.abc import Iterator

import pytest
from lark import Lark
from lark.exceptions import LarkError

from syncsql import SqlSyntaxError, parse
from syncsql.cursor import RESERVED
from syncsql.tokens import Kind, Token, expand_conditional_comments, statements
from tests.grammar.corpus import GRAMMAR, Case, cases, in_the_rules

RULES_TEXT = (GRAMMAR / "sync_job.lark").read_text()
RULES = Lark(RULES_TEXT, parser="lalr")

# What the parser refuses beyond the rules: names given twice, numbers out of range, expressions.
BEYOND_THE_RULES = re.compile(
    r"is given twice|cannot be empty|is too large|expected a number from|the scale cannot|"
    r"invalid (condition|expression)|too deeply nested|not allowed here|stands alone here|"
    r"cannot be used in an expression|only tables of|has no dot between"
)
REPLACEMENTS = ("(", ")", ",", ".", "=", "5", "'text'", "`name`", "name", "FROM", "JOB", "SYNC", "WHERE", "NOT", ";")


def rules_accept(sql: str) -> bool:
    try:
        RULES.parse(expand_conditional_comments(sql))
    except (LarkError, SqlSyntaxError):
        return False
    return True


def parsers_verdict(sql: str) -> bool | None:
    """None where the rules say nothing about it."""
    try:
        parsed = parse(sql)
    except SqlSyntaxError as error:
        return None if BEYOND_THE_RULES.search(error.reason) else False
    return True if in_the_rules(parsed) else None


def is_ours(case: Case) -> bool:
    if not case.accepted:
        return case.file not in {"query", "set", "driver"}
    return in_the_rules(parse(case.sql))


CASES = [case for case in cases() if is_ours(case)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rules_judge_the_corpus_as_the_parser_does(case: Case) -> None:
    """The formal rules accept every accepted case, and refuse every case that is refused for its syntax."""
    if case.accepted or not BEYOND_THE_RULES.search(case.outcome):
        assert case.accepted == rules_accept(case.sql)


def mutants(sql: str) -> Iterator[str]:
    """Each token left out, doubled, swapped with the next, replaced by others."""
    for statement in statements(sql):
        words = [_source(statement.source, token) for token in statement.tokens]
        for at in range(len(words)):
            yield _joined(words[:at], words[at + 1 :])
            yield _joined(words[: at + 1], words[at:])
            yield _joined(words[:at], reversed(words[at : at + 2]), words[at + 2 :])
            for other in REPLACEMENTS:
                yield _joined(words[:at], [other], words[at + 1 :])


def _source(source: str, token: Token) -> str:
    return source[token.start : token.end]


def _joined(*parts: object) -> str:
    return " ".join(itertools.chain(*parts))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", [case for case in CASES if case.accepted], ids=str)
def test_rules_and_parser_judge_mutants_alike(case: Case) -> None:
    """Whatever one wrong token makes of a statement, formal rules and parser give the same verdict."""
    for mutant in set(mutants(case.sql)):
        verdict = parsers_verdict(mutant)
        if verdict is not None:
            assert verdict == rules_accept(mutant), mutant


def test_rules_and_parser_reserve_the_same_words() -> None:
    """The words that need backticks as names are the same in the rules and in the parser."""
    (name,) = re.findall(r"^NAME: /\(\?!\(\?:(.*?)\|\\d\+", RULES_TEXT, re.MULTILINE)
    (reserved,) = re.findall(r"^RESERVED: /\(\?:(.*?)\)\\b/i", RULES_TEXT, re.MULTILINE)
    assert set(name.split("|")) == RESERVED
    assert {*reserved.split("|"), "ORDER", "LIMIT"} == RESERVED


def test_tokens_of_a_statement_cover_its_text() -> None:
    """Nothing but blanks and comments lies between two tokens, so a mutant differs by its token alone."""
    (statement,) = statements("PAUSE /* a */ SYNC `b c`.'d' -- e")
    assert [token.kind for token in statement.tokens] == [Kind.WORD, Kind.WORD, Kind.NAME, Kind.SIGN, Kind.STRING]
    assert [token.text for token in statement.tokens] == ["PAUSE", "SYNC", "b c", ".", "d"]
