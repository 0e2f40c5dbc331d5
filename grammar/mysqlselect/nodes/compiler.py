"""What the translation of one node needs of the rest.

Owns: the table of nodes, what is refused, and what is left to Spark.
Must not know: any node.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from mysqlselect import conversions
from mysqlselect.functions import table
from mysqlselect.functions.call import Call
from mysqlselect.scopes import Scope, Shape
from mysqlselect.types import UNKNOWN, ForSparkError, NotSupportedRefusal, UnknownFunctionRefusal, Value

Nested = Callable[[exp.Expr, Scope], tuple[str, Shape | None]]
Asked = Callable[[exp.Expr], str | int | None]

# What MySQL's grammar has not: the text is Spark's.
_OF_SPARK: Final = (
    *(exp.Bracket, exp.Lambda, exp.Dot, exp.Array, exp.Map, exp.Struct, exp.Slice, exp.Kwarg, exp.Placeholder),
    *(exp.Star, exp.Lateral, exp.Unnest, exp.Explode, exp.Distinct, exp.TryCast, exp.Filter, exp.WithinGroup),
    *(exp.AtTimeZone, exp.IgnoreNulls, exp.JSONBExtract, exp.ArgMax, exp.ArgMin, exp.Overlay, exp.Interval),
)


@dataclass(frozen=True, slots=True)
class Node:
    """`parts`: the arguments that are understood; a node that has others is refused."""

    translate: Callable[["Compiler", exp.Expr], Value]
    parts: frozenset[str]


def node(translate: Callable[["Compiler", exp.Expr], Value], *parts: str) -> Node:
    return Node(translate, frozenset(parts))


@dataclass(frozen=True, slots=True)
class Compiler:
    """Of one SELECT. `nested` translates a subquery; `asked` answers what a session knows."""

    nodes: Mapping[type[exp.Expr], Node]
    scope: Scope
    nested: Nested
    asked: Asked

    def value(self, of: exp.Expr) -> Value:
        """Raises Refusal, ForSparkError."""
        if isinstance(of, _OF_SPARK):
            raise ForSparkError
        found = self.nodes.get(type(of))
        if found is None or any(part not in found.parts for part, value in of.args.items() if value):
            raise NotSupportedRefusal(of.sql("mysql", comments=False)[:80])
        return found.translate(self, of)

    def condition(self, of: exp.Expr) -> str:
        return conversions.condition(self.value(of)).sql

    def call(self, name: str, arguments: Sequence[exp.Expr] = (), *, distinct: bool = False) -> Value:
        """A function. One that MySQL has not is Spark's."""
        if name in table.FUNCTIONS:
            return table.FUNCTIONS[name].of(Call(name, tuple(arguments), self.value, distinct))
        if name in table.REFUSED:
            raise UnknownFunctionRefusal(name)
        found = ", ".join(self.value(each).sql for each in arguments)
        return Value(f"{name}({'DISTINCT ' if distinct else ''}{found})", UNKNOWN)

    def order_by(self, order: exp.Expr) -> str:
        keys = [f"{self.value(each.this).sql}{' DESC' if each.args.get('desc') else ''}" for each in order.expressions]
        return f"ORDER BY {', '.join(keys)}"
