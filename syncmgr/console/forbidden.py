"""A SELECT that is refused before anybody understands it.

Owns: which table it names, as far as its words tell.
Must not know: rights, what the words mean.
"""

from typing import Final

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

BEFORE_NAMES: Final = {TokenType.FROM, TokenType.JOIN}


def named_table(sql: str) -> str | None:
    """The last part of the first name after FROM or JOIN; None: there is none, or it is that of a function."""
    try:
        tokens = sqlglot.tokenize(sql, read="mysql")
    except TokenError:
        return None
    names = (_name(tokens, place + 1) for place, token in enumerate(tokens) if token.token_type in BEFORE_NAMES)
    return next(filter(None, names), None)


def _name(tokens: list[Token], place: int) -> str | None:
    while place + 2 < len(tokens) and tokens[place + 1].token_type is TokenType.DOT:
        place += 2
    rest = [token.token_type for token in tokens[place : place + 2]]
    if not rest or rest[0] is TokenType.L_PAREN or rest[1:] == [TokenType.L_PAREN]:
        return None
    return tokens[place].text
