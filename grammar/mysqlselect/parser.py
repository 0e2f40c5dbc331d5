"""MySQL's text as a tree of sqlglot, in which each function has the name that was typed.

Owns: what sqlglot is kept from doing: it would give many functions other names and arguments.
Must not know: what a function means.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token

from mysqlselect.types import ForSparkError, UnfinishedRefusal
from syncsql import BoundedParser

MODIFIERS: Final = frozenset(
    """
    HIGH_PRIORITY SQL_NO_CACHE SQL_CACHE SQL_CALC_FOUND_ROWS SQL_BIG_RESULT SQL_SMALL_RESULT
    SQL_BUFFER_RESULT STRAIGHT_JOIN
    """.split()  # noqa: SIM905 - a list of words reads better
)


# After these something must follow; Spark takes some of them for an alias.
_UNFINISHED: Final = frozenset(
    {
        *(TokenType.WHERE, TokenType.HAVING, TokenType.ON, TokenType.AND, TokenType.OR, TokenType.NOT),
        *(TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.JOIN),
        *(TokenType.LEFT, TokenType.RIGHT, TokenType.USING, TokenType.COMMA),
    }
)


class _Parser(BoundedParser):
    FUNCTIONS: ClassVar = {}


def parsed(raw: list[Token], text: str) -> exp.Query:
    """The SELECT of a text. Raises ForSparkError if it is none of MySQL's, UnfinishedRefusal."""
    try:
        tree = _Parser().query(list(_without_modifiers(raw)), text)
    except (ParseError, TokenError, AttributeError, LookupError):  # the last two: sqlglot's own
        if raw and raw[-1].token_type in _UNFINISHED:
            raise UnfinishedRefusal(raw[-1].text) from None
        raise ForSparkError from None
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        raise ForSparkError
    return tree


def _without_modifiers(raw: list[Token]) -> Iterator[Token]:
    """They change no row. MySQL has them in any order, also before and after DISTINCT."""
    among_them = False
    for token in raw:
        word = token.text.upper()
        if among_them and word in MODIFIERS and token.token_type not in {TokenType.STRING, TokenType.IDENTIFIER}:
            continue
        among_them = token.token_type in {TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL}
        yield token
