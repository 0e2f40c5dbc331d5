"""A SELECT that is refused before it is parsed.

Owns: which table it names, as far as its words tell.
Must not know: rights, what the words mean.
"""

from collections.abc import Iterator
from typing import Final

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

BEFORE_NAMES: Final = {TokenType.FROM, TokenType.JOIN}
BEHIND_NAMES: Final = {
    *(TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT),
    *(TokenType.ON, TokenType.USING, TokenType.SELECT),
}
EVERYBODYS: Final = "information_schema"


def named_table(sql: str) -> str | None:
    """The last part of the first name of a table that not every user may read; None: there is none, or it is that of a
    function.
    """
    try:
        tokens = sqlglot.tokenize(sql, read="mysql")
    except TokenError:
        return None
    names = (_name(tokens, place + 1) for place in _before_names(tokens))
    return next(filter(None, names), None)


def _before_names(tokens: list[Token]) -> Iterator[int]:
    """FROM, JOIN, and the commas between tables."""
    among_tables = False
    for place, token in enumerate(tokens):
        if token.token_type in BEFORE_NAMES or (among_tables and token.token_type is TokenType.COMMA):
            among_tables = True
            yield place
        elif token.token_type in BEHIND_NAMES:
            among_tables = False


def _name(tokens: list[Token], place: int) -> str | None:
    if place < len(tokens) and tokens[place].text.lower() == EVERYBODYS:
        return None
    while place + 2 < len(tokens) and tokens[place + 1].token_type is TokenType.DOT:
        place += 2
    rest = [token.token_type for token in tokens[place : place + 2]]
    if not rest or rest[0] is TokenType.L_PAREN or rest[1:] == [TokenType.L_PAREN]:
        return None
    return tokens[place].text
