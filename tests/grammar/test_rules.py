import itertools
import re
from collections.abc import Iterator

import pytest
from hypothesis import settings
from lark import Lark
from lark.exceptions import LarkError

from syncsql import SqlSyntaxError, parse
from syncsql.reading.reserved import RESERVED
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
WORDS_OF_THE_RULES = set(re.findall(r"\b[A-Z_]+\b", RULES_TEXT))
THOROUGH = settings.default.max_examples > 500  # the profile's word for a long run: every token of every case
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


def mutants(sql: str, seen: set[tuple[str, ...]]) -> Iterator[str]:
    """Each token left out, doubled, swapped with the next, replaced by others.

    `seen`: kinds of tokens with those beside them, that were changed in statements before; they are passed over.
    Of the replacements each place gets a half by turns; a thorough run passes over nothing.
    """
    for statement in statements(sql):
        words = [_source(statement.source, token) for token in statement.tokens]
        kinds = ["", *(_kind(token) for token in statement.tokens), ""]
        for at in range(len(words)):
            spot = (*kinds[1:3], "/", *kinds[at : at + 3])
            if spot in seen and not THOROUGH:
                continue
            seen.add(spot)
            yield _joined(words[:at], words[at + 1 :])
            yield _joined(words[: at + 1], words[at:])
            yield _joined(words[:at], reversed(words[at : at + 2]), words[at + 2 :])
            for other in REPLACEMENTS if THOROUGH else REPLACEMENTS[at % 2 :: 2]:
                yield _joined(words[:at], [other], words[at + 1 :])


def _kind(token: Token) -> str:
    """Words of the rules and signs are of their own kind each, since the parsers tell them apart."""
    text = token.text.upper()
    own = token.kind is Kind.SIGN or (token.kind is Kind.WORD and text in WORDS_OF_THE_RULES)
    return text if own else token.kind


def _source(source: str, token: Token) -> str:
    return source[token.start : token.end]


def _joined(*parts: object) -> str:
    return " ".join(itertools.chain(*parts))  # type: ignore[arg-type]


def mutants_of_cases() -> Iterator[object]:
    seen: set[tuple[str, ...]] = set()
    for case in CASES:
        if case.accepted and (changed := set(mutants(case.sql, seen))):
            yield pytest.param(changed, id=str(case))


@pytest.mark.parametrize("changed", list(mutants_of_cases()))
def test_rules_and_parser_judge_mutants_alike(changed: set[str]) -> None:
    """Whatever one wrong token makes of a statement, formal rules and parser give the same verdict. Of tokens of one
    kind between two of the same kinds one is changed, in a thorough run each.
    """
    for mutant in changed:
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
