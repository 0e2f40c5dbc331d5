"""SELECT in MySQL's words: its equal in Spark SQL, or a refusal; never something that gives other rows."""

from collections.abc import Callable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import TokenError

from mysqlselect import headers
from mysqlselect.parser import parsed
from mysqlselect.query import Queries
from mysqlselect.scopes import ColumnsOf, Shape
from mysqlselect.types import (
    DIGITS_OF_FLOAT,
    ForSparkError,
    Kind,
    NotSupportedRefusal,
    ParameterCountRefusal,
    Refusal,
    Type,
    UnfinishedRefusal,
    UnknownFunctionRefusal,
    WrongValueRefusal,
)

__all__ = [
    "DIGITS_OF_FLOAT",
    "ColumnsOf",
    "Kind",
    "NotSupportedRefusal",
    "ParameterCountRefusal",
    "Refusal",
    "Shape",
    "Translation",
    "Type",
    "UnfinishedRefusal",
    "UnknownFunctionRefusal",
    "WrongValueRefusal",
    "translate",
]


@dataclass(frozen=True, slots=True)
class Translation:
    """`names`: the columns of the result as MySQL names them; empty: as Spark names them."""

    sql: str
    names: tuple[str, ...]


def translate(text: str, columns_of: ColumnsOf, asked: Callable[[exp.Expr], str | int | None]) -> Translation | None:
    """A SELECT of MySQL in Spark SQL. `asked`: what a session knows, such as @@name, @name and DATABASE().

    None: it is none of MySQL's, and for Spark as typed. Raises Refusal.
    """
    try:
        tokens = sqlglot.tokenize(text, read="mysql")
        tree = parsed(tokens, text)
        first = _first(tree)
        items = list(first.expressions)
        spans = headers.spans(tokens, text)
        sources = Queries(columns_of, asked)
        sql, result = sources.translated(tree)
    except (TokenError, ForSparkError):
        return None
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # sqlglot's tree of a text that is none
        raise NotSupportedRefusal("a text that is not complete") from error
    return Translation(sql, _names(items, spans, [item.columns for item in result.leaves[0]]))


def _first(tree: exp.Expr) -> exp.Select:
    while not isinstance(tree, exp.Select):
        tree = tree.this
    return tree


def _names(items: list[exp.Expr], spans: list[str], columns: list[Shape | None]) -> tuple[str, ...]:
    """Those of * are the columns'. Empty: a column has a name that only Spark knows."""
    if not len(items) == len(spans) == len(columns):
        return ()
    names: list[str] = []
    for item, span, given in zip(items, spans, columns, strict=True):
        if not item.is_star:
            names.append(headers.header(item, span))
        elif given is None or not all(name for name, _ in given):
            return ()
        else:
            names += (name for name, _ in given)
    return tuple(names)
