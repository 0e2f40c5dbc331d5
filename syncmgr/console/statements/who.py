"""The caller's identity in a query of the lake.

Owns: USER(), CURRENT_USER() and the like as texts of the account: Spark would return the user who runs the frontend.
Must not know: sessions, how an account is found.
"""

import re
from collections.abc import Mapping
from typing import Final

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

from syncmgr.console.wire.prepared import literal

_LIKELY: Final = re.compile(r"\bcurrent_user\b|\b(?:session_|system_)?user\s*\(", re.IGNORECASE)
_QUOTED: Final = {TokenType.STRING, TokenType.IDENTIFIER}
_BRACKETS: Final = [TokenType.L_PAREN, TokenType.R_PAREN]
WITHOUT_BRACKETS: Final = "CURRENT_USER"  # a word that does not name a column unless it is quoted


def with_asker(text: str, *, account: str, client: str) -> str:
    """`account`: what CURRENT_USER() gives, `client`: USER() and the others."""
    if not _LIKELY.search(text):
        return text
    accounts = {"CURRENT_USER": account, "USER": client, "SESSION_USER": client, "SYSTEM_USER": client}
    tokens = _tokens(text)
    pieces: list[str] = []
    done = 0
    for place, token in enumerate(tokens):
        length = _length(tokens, place, accounts)
        if length:
            pieces += [text[done : token.start], literal(accounts[token.text.upper()])]
            done = tokens[place + length - 1].end + 1
    return "".join([*pieces, text[done:]])


def _length(tokens: list[Token], place: int, accounts: Mapping[str, str]) -> int:
    """The number of tokens of the function at this place; 0: there is none."""
    token = tokens[place]
    if token.token_type in _QUOTED or token.text.upper() not in accounts or _is(tokens, place - 1, TokenType.DOT):
        return 0
    if [each.token_type for each in tokens[place + 1 : place + 3]] == _BRACKETS:
        return 3
    other = _is(tokens, place + 1, TokenType.DOT) or _is(tokens, place + 1, TokenType.L_PAREN)
    named = _is(tokens, place - 1, TokenType.ALIAS)
    return int(token.text.upper() == WITHOUT_BRACKETS and not other and not named)


def _is(tokens: list[Token], place: int, kind: TokenType) -> bool:
    return 0 <= place < len(tokens) and tokens[place].token_type is kind


def _tokens(text: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, read="mysql")
    except TokenError:
        return []  # Spark reports the error
