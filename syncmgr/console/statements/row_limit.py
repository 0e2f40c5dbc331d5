"""How many rows a SELECT returns, in MySQL's terms.

Owns: `LIMIT offset, rows` in Spark's form, whether a SELECT has a LIMIT of its own, the first rows of a result.
Must not know: who wants fewer rows.
"""

import contextlib
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from itertools import islice
from typing import Final

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

from syncmgr.console.wire.results import Row, Rows

_LIKELY: Final = re.compile(r"\blimit\s+\d+\s*,", re.IGNORECASE)
_WITH_COMMA: Final = [TokenType.LIMIT, TokenType.NUMBER, TokenType.COMMA, TokenType.NUMBER]


def with_offsets(text: str) -> str:
    """`LIMIT 20, 10`, which many tools append to every SELECT, as `LIMIT 10 OFFSET 20`."""
    if not _LIKELY.search(text):
        return text
    tokens = _tokens(text)
    pieces: list[str] = []
    done = 0
    for place in range(len(tokens)):
        found = tokens[place : place + len(_WITH_COMMA)]
        if [token.token_type for token in found] == _WITH_COMMA:
            _, offset, _, rows = found
            pieces += [text[done : offset.start], f"{rows.text} OFFSET {offset.text}"]
            done = rows.end + 1
    return "".join([*pieces, text[done:]])


def has_limit(text: str) -> bool:
    """Of the whole, not of a subquery."""
    depth = 0
    for token in _tokens(text):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth == 0 and token.token_type is TokenType.LIMIT:
            return True
    return False


def _tokens(text: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, read="mysql")
    except TokenError:
        return []  # Spark reports the error


def first(rows: Rows, count: int) -> Rows:
    """No more than this many; the computation of the others is ended."""
    return replace(rows, batches=_first(rows.batches, count))


async def _first(batches: AsyncGenerator[Iterable[Row], None], count: int) -> AsyncGenerator[Iterable[Row], None]:
    async with contextlib.aclosing(batches):
        async for batch in batches:
            part = list(islice(batch, count))
            count -= len(part)
            yield part
            if count <= 0:
                return
