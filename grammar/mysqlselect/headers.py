"""The names of a result's columns, as MySQL gives them.

Owns: the text of each item of a SELECT.
Must not know: what an item means.
"""

from collections.abc import Sequence
from typing import Final

from sqlglot import TokenType, exp
from sqlglot.tokenizer_core import Token

from mysqlselect.parser import MODIFIERS

_ENDS: Final = {
    TokenType.FROM,
    TokenType.LIMIT,
    TokenType.WHERE,
    TokenType.ORDER_BY,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.UNION,
    TokenType.SEMICOLON,
    TokenType.WINDOW,
    TokenType.EXCEPT,
    TokenType.INTERSECT,
}
_MODIFIERS: Final = {*MODIFIERS, "ALL", "DISTINCT", "DISTINCTROW"}
_STEPS: Final = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


def spans(tokens: Sequence[Token], text: str) -> list[str]:
    """The text of each item of the first SELECT that is not in WITH."""
    start = _after_hints(tokens, _first_item(tokens), text)
    found: list[str] = []
    depth = 0
    begun: int | None = None
    end = 0
    for token in tokens[start:]:
        if depth == 0 and (token.token_type in _ENDS or token.token_type is TokenType.R_PAREN):
            break
        if depth == 0 and token.token_type is TokenType.COMMA and begun is not None:
            found.append(text[begun:end])
            begun = None
            continue
        depth += _STEPS.get(token.token_type, 0)
        if begun is None and not found and depth == 0 and token.text.upper() in _MODIFIERS:
            continue
        begun = token.start if begun is None else begun
        end = token.end + 1
    return found if begun is None else [*found, text[begun:end]]


def _after_hints(tokens: Sequence[Token], start: int, text: str) -> int:
    if start == len(tokens) or tokens[start].token_type is not TokenType.HINT:
        return start
    end = text.find("*/", tokens[start].start)
    return next((place for place in range(start, len(tokens)) if tokens[place].start > end + 1), len(tokens))


def _first_item(tokens: Sequence[Token]) -> int:
    """The place after the first SELECT: after those of WITH, which are in brackets, or inside of the query's own."""
    depth = 0
    starts_with = bool(tokens) and tokens[0].token_type is TokenType.WITH
    for place, token in enumerate(tokens):
        depth += _STEPS.get(token.token_type, 0)
        if token.token_type is TokenType.SELECT and not (starts_with and depth):
            return place + 1
    return len(tokens)


def header(item: exp.Expr, span: str) -> str:
    """An alias, the name of a column, or the text as typed."""
    if isinstance(item, exp.Alias):
        return str(item.alias)
    if isinstance(item, exp.Column) or (isinstance(item, exp.Literal) and item.is_string):
        return str(item.name)
    return span
