"""Comparisons, and choices by them.

Owns: their table.
Must not know: functions; in which type two values are compared.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from mysqlselect import comparing, conversions, literals
from mysqlselect.functions import table, texts
from mysqlselect.nodes.compiler import Compiler, Node, node
from mysqlselect.types import BOOL, NULL, ForSparkError, NotSupportedRefusal, Type, Value

_SIGNS: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}


def _compared(by: Compiler, of: exp.Expr) -> Value:
    return _pair(by, _SIGNS[type(of)], of.this, of.expression)


def _pair(by: Compiler, sign: str, left: exp.Expr, right: exp.Expr) -> Value:
    if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple) and sign in {"=", "<=>"}:
        pairs = list(zip(left.expressions, right.expressions, strict=True))
        return Value(f"({' AND '.join(_pair(by, sign, *pair).sql for pair in pairs)})", BOOL)
    if isinstance(right, exp.Any) and sign == "=":
        return _in_query(by, by.value(left), right.this)
    one, other = comparing.sides(by.value(left), by.value(right))
    return Value(f"({one} {sign} {other})", BOOL)


def _between(by: Compiler, of: exp.Expr) -> Value:
    low = _pair(by, ">=", of.this, of.args["low"])
    high = _pair(by, "<=", of.this, of.args["high"])
    return Value(f"({low.sql} AND {high.sql})", BOOL)


def _among(by: Compiler, of: exp.Expr) -> Value:
    query = of.args.get("query")
    if query is not None and isinstance(of.this, exp.Tuple):
        return _row_in_query(by, of.this, query)
    if query is not None:
        return _in_query(by, by.value(of.this), query)
    if isinstance(of.this, exp.Tuple):
        return _any_of([_pair(by, "=", of.this, each).sql for each in of.expressions])
    found = by.value(of.this)
    pairs = [comparing.sides(found, by.value(each)) for each in of.expressions]
    left = {one for one, _ in pairs}
    if len(left) == 1:
        return Value(f"({left.pop()} IN ({', '.join(other for _, other in pairs)}))", BOOL)
    return _any_of([f"({one} = {other})" for one, other in pairs])


def _any_of(tests: Sequence[str]) -> Value:
    return Value(f"({' OR '.join(tests)})", BOOL)


def _row_in_query(by: Compiler, row: exp.Expr, query: exp.Expr) -> Value:
    left = [by.value(each) for each in row.expressions]
    sql, shape = by.nested(query.this, by.scope)
    pairs = list(zip(left, shape or (), strict=False))
    if len(pairs) != len(left) or any(_is_other(one, type_) for one, (_, type_) in pairs):
        raise NotSupportedRefusal("(...) IN (SELECT ...) of values of other types")
    return Value(f"(({', '.join(each.sql for each in left)}) IN ({sql}))", BOOL)


def _is_other(left: Value, type_: Type) -> bool:
    """Whether Spark would compare it in another type than MySQL."""
    return comparing.sides(left, Value("`c`", type_)) != (left.sql, "`c`")


def _in_query(by: Compiler, left: Value, query: exp.Expr) -> Value:
    sql, shape = by.nested(query.this if isinstance(query, exp.Subquery) else query, by.scope)
    if shape and _is_other(left, shape[0][1]):
        raise NotSupportedRefusal("IN (SELECT ...) of values of other types")
    return Value(f"({left.sql} IN ({sql}))", BOOL)


def _like(by: Compiler, of: exp.Expr, escape: str = "\\") -> Value:
    text, pattern = conversions.text(by.value(of.this)).sql, by.value(of.expression)
    if isinstance(pattern.constant, str):
        wanted = literals.like(pattern.constant, escape)
    elif escape != "\\":
        raise NotSupportedRefusal("LIKE with ESCAPE and a pattern that is not a literal")
    else:
        wanted = conversions.text(pattern).sql
    return Value(f"({text}{' NOT' if of.args.get('negate') else ''} LIKE {wanted})", BOOL)


def _escaped(by: Compiler, of: exp.Expr) -> Value:
    if not isinstance(of.this, exp.Like):
        raise ForSparkError
    return _like(by, of.this, of.expression.name)


def _regexp(by: Compiler, of: exp.Expr) -> Value:
    return texts.regexp(conversions.text(by.value(of.this)).sql, by.value(of.expression))


def _is(by: Compiler, of: exp.Expr) -> Value:
    if isinstance(of.expression, exp.Null):
        return Value(f"({by.value(of.this).sql} IS NULL)", BOOL)
    if not isinstance(of.expression, exp.Boolean):
        raise ForSparkError
    return Value(f"({by.condition(of.this)} IS {'TRUE' if of.expression.this else 'FALSE'})", BOOL)


def _case(by: Compiler, of: exp.Expr) -> Value:
    whens = [(_when(by, of.this, each.this), by.value(each.args["true"])) for each in of.args["ifs"]]
    default = of.args.get("default")
    rest = Value("NULL", NULL) if default is None else by.value(default)
    type_ = conversions.common_type([*(found.type for _, found in whens), rest.type])
    cases = [f"WHEN {test} THEN {conversions.as_type(found, type_).sql}" for test, found in whens]
    return Value(f"CASE {' '.join(cases)} ELSE {conversions.as_type(rest, type_).sql} END", type_)


def _when(by: Compiler, of: exp.Expr | None, test: exp.Expr) -> str:
    return by.condition(test) if of is None else _pair(by, "=", of, test).sql


def _if(by: Compiler, of: exp.Expr) -> Value:
    no = of.args.get("false")
    other = Value("NULL", NULL) if no is None else by.value(no)
    return table.chosen(by.condition(of.this), by.value(of.args["true"]), other)


_PAIR: Final = ("this", "expression")
TABLE: Final[Mapping[type[exp.Expr], Node]] = {
    **dict.fromkeys(_SIGNS, node(_compared, *_PAIR)),
    exp.Between: node(_between, "this", "low", "high"),
    exp.In: node(_among, "this", "expressions", "query"),
    exp.Like: node(_like, *_PAIR, "negate"),
    exp.Escape: node(_escaped, *_PAIR),
    exp.RegexpLike: node(_regexp, *_PAIR),
    exp.Is: node(_is, *_PAIR),
    exp.Case: node(_case, "this", "ifs", "default"),
    exp.If: node(_if, "this", "true", "false"),
}
