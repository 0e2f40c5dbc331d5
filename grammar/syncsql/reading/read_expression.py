"""An expression in a statement: where it ends, and its text.

Owns: brackets, and the words and signs that end it.
Must not know: what an expression means.
"""

from syncsql.expression import Expression, parse_expression
from syncsql.reading.cursor import Cursor
from syncsql.tokens import Kind, Token


def read_expression(
    at: Cursor,
    what: str,
    *,
    until: frozenset[str] = frozenset(),
    comma_ends: bool = True,
    long_lists: bool = True,
) -> Expression:
    """The tokens up to a comma, a closing bracket or one of the words, all outside brackets. `long_lists`: of values,
    as a table may need; each takes a hundred times its size while it is parsed.
    """
    taken = read_balanced(at, until=until, comma_ends=comma_ends)
    if not taken:
        raise at.error(f"expected {'an' if what[0] in 'aeiou' else 'a'} {what}")
    return parse_expression(at.source, at.raw(taken[0], taken[-1]), what=what, long_lists=long_lists)


def read_balanced(at: Cursor, *, until: frozenset[str] = frozenset(), comma_ends: bool = True) -> list[Token]:
    """Take those tokens; an opening bracket that is never closed is an error."""
    taken: list[Token] = []
    opened: list[Token] = []
    while (token := at.peek()) is not None:
        sign = token.text if token.kind is Kind.SIGN else ""
        if not opened and (sign == ")" or (sign == "," and comma_ends) or at.word() in until):
            break
        if sign == "(":
            opened.append(token)
        elif sign == ")":
            opened.pop()
        taken.append(token)
        at.take_token()
    if opened:
        raise at.error("this bracket is never closed", opened[-1])
    return taken


def source_text(at: Cursor, tokens: list[Token]) -> str:
    """The source from the first of these tokens to the last; "" without tokens."""
    return at.source[tokens[0].start : tokens[-1].end] if tokens else ""
