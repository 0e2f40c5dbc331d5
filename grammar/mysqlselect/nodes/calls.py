"""Functions, also those with a syntax of their own; windows and subqueries.

Owns: their table.
Must not know: what a function gives.
"""

import re
from collections.abc import Mapping
from functools import reduce
from typing import Final

from sqlglot import exp

from mysqlselect import conversions, literals
from mysqlselect.functions import aggregates, json, times
from mysqlselect.nodes.compiler import Compiler, Node, node
from mysqlselect.nodes.operators import constant
from mysqlselect.types import BOOL, INT, TEXT, UNKNOWN, ForSparkError, NotSupportedRefusal, Value, named, quoted

_CLOCKS: Final[Mapping[type[exp.Expr], str]] = {
    exp.CurrentTimestamp: "NOW",
    exp.Localtime: "NOW",
    exp.Localtimestamp: "NOW",
    exp.CurrentDate: "CURDATE",
    exp.CurrentTime: "CURTIME",
}
_OF_SESSION: Final = frozenset({"DATABASE", "SCHEMA", "VERSION", "CONNECTION_ID", "USER", "SESSION_USER"})


def _function(by: Compiler, of: exp.Expr) -> Value:
    name = of.name.upper()
    if name in _OF_SESSION:
        return constant(by.asked(of))
    arguments = list(of.expressions)
    if arguments and isinstance(arguments[0], exp.Distinct):
        return by.call(name, arguments[0].expressions, distinct=True)
    return by.call(name, arguments)


def _cast(by: Compiler, of: exp.Expr) -> Value:
    found, kind = by.value(of.this), of.args["to"]
    if kind.this.name == "TIMESTAMPTZ" and isinstance(of.this, exp.Literal):  # TIMESTAMP '...'
        return conversions.moment(found)
    cast = literals.cast(found, kind)
    return Value(f"CAST({found.sql} AS {kind.sql('spark')})", UNKNOWN) if cast is None else cast


def _extract(by: Compiler, of: exp.Expr) -> Value:
    unit = of.name.upper()
    if unit == "WEEK":
        return by.call("WEEK", (of.expression,))
    if unit not in times.EXTRACTED:
        raise NotSupportedRefusal(f"EXTRACT of {unit}")
    return Value(times.EXTRACTED[unit].format(conversions.moment(by.value(of.expression)).sql), INT)


def _substring(by: Compiler, of: exp.Expr) -> Value:
    parts = [part for part in (of.this, of.args["start"], of.args.get("length")) if part is not None]
    return by.call("SUBSTRING", parts)


def _trim(by: Compiler, of: exp.Expr) -> Value:
    text, removed = conversions.text(by.value(of.this)).sql, of.args.get("expression")
    where = of.args.get("position") or "BOTH"
    if removed is None:
        return Value(f"trim({where} FROM {text})", TEXT)
    found = by.value(removed).constant
    if not isinstance(found, str) or not found:
        raise NotSupportedRefusal("TRIM of something else than a text in quotes")
    word = f"(?:{re.escape(found)})+"
    pattern = {"LEADING": f"^{word}", "TRAILING": f"{word}$"}.get(str(where), f"^{word}|{word}$")
    return Value(f"regexp_replace({text}, {quoted(pattern)}, '')", TEXT)


def _position(by: Compiler, of: exp.Expr) -> Value:
    return by.call("LOCATE", (of.args["substr"], of.this))


def _group_concat(by: Compiler, of: exp.Expr) -> Value:
    inner, order = of.this, ""
    if isinstance(inner, exp.Order):
        order = by.order_by(inner)
        inner = inner.this
    distinct = isinstance(inner, exp.Distinct)
    nodes = inner.expressions if isinstance(inner, exp.Distinct | exp.Concat) else [inner]
    separator = of.args.get("separator")
    words = literals.text(",").sql if separator is None else by.value(separator).sql
    parts = [by.value(each) for each in nodes]
    return aggregates.joined(parts, distinct=distinct, order=order, separator=words)


def _json_value(by: Compiler, of: exp.Expr) -> Value:
    return json.value(by.value(of.this), _path(of.args["path"]))


def _path(path: exp.Expr) -> str:
    """Of a JSON path, as typed."""
    if isinstance(path, exp.Literal):
        return str(path.name)
    if not isinstance(path, exp.JSONPath):
        raise ForSparkError
    return reduce(lambda text, part: text + _step(part), path.expressions, "")


def _step(part: exp.Expr) -> str:
    match part:
        case exp.JSONPathRoot():
            return "$"
        case exp.JSONPathKey() if isinstance(part.this, str):
            return f'."{part.this}"'
        case exp.JSONPathSubscript() if isinstance(part.this, int):
            return f"[{part.this}]"
        case _:
            raise NotSupportedRefusal("a JSON path with * or **")


def _subquery(by: Compiler, of: exp.Expr) -> Value:
    sql, shape = by.nested(of.this if isinstance(of, exp.Subquery) else of, by.scope)
    return Value(f"({sql})", shape[0][1] if shape else UNKNOWN)


def _exists(by: Compiler, of: exp.Expr) -> Value:
    return Value(f"EXISTS ({by.nested(of.this, by.scope)[0]})", BOOL)


def _window(by: Compiler, of: exp.Expr) -> Value:
    found = by.value(of.this)
    over = named(of.text("alias")) if of.args.get("alias") is not None else f"({_frame(by, of)})"
    return Value(f"{found.sql} OVER {over}", found.type, None, found.has_more_digits)


def _frame(by: Compiler, of: exp.Expr) -> str:
    parts = []
    if of.args.get("partition_by"):
        parts.append("PARTITION BY " + ", ".join(by.value(each).sql for each in of.args["partition_by"]))
    if of.args.get("order") is not None:
        parts.append(by.order_by(of.args["order"]))
    if of.args.get("spec") is not None:
        parts.append(of.args["spec"].sql("spark"))
    return " ".join(parts)


TABLE: Final[Mapping[type[exp.Expr], Node]] = {
    **{kind: node(lambda by, of: by.call(_CLOCKS[type(of)])) for kind in _CLOCKS},
    exp.Anonymous: node(_function, "this", "expressions"),
    exp.Ceil: node(lambda by, of: by.call("CEIL", (of.this,)), "this"),
    exp.Floor: node(lambda by, of: by.call("FLOOR", (of.this,)), "this"),
    exp.Cast: node(_cast, "this", "to", "_type"),
    exp.Extract: node(_extract, "this", "expression"),
    exp.Substring: node(_substring, "this", "start", "length"),
    exp.Trim: node(_trim, "this", "expression", "position"),
    exp.StrPosition: node(_position, "this", "substr"),
    exp.GroupConcat: node(_group_concat, "this", "separator"),
    exp.JSONExtract: node(lambda by, of: json.extracted(by.value(of.this), _path(of.expression)), "this", "expression"),
    exp.JSONExtractScalar: node(
        lambda by, of: json.unquoted(by.value(of.this), _path(of.expression)), "this", "expression"
    ),
    exp.JSONValue: node(_json_value, "this", "path"),
    exp.Subquery: node(_subquery, "this"),
    exp.Select: node(_subquery, *exp.Select.arg_types),
    exp.Exists: node(_exists, "this"),
    exp.RespectNulls: node(lambda by, of: by.value(of.this), "this"),
    exp.Window: node(_window, "this", "partition_by", "order", "spec", "alias", "over"),
}
