"""Two values side by side, as MySQL compares them.

Owns: in which type two values are compared.
Must not know: operators, sqlglot.
"""

import json

from mysqlselect import conversions
from mysqlselect.types import NUMBERS, TIMES, Kind, NotSupportedRefusal, Value, quoted


def sides(left: Value, right: Value) -> tuple[str, str]:
    """Both in Spark's words, so that Spark compares them as MySQL would. Raises Refusal."""
    kinds = {left.kind, right.kind}
    if kinds & {Kind.UNKNOWN, Kind.NULL} or len(kinds) == 1:
        return left.sql, right.sql
    if kinds <= NUMBERS:
        return _numbers(left, right)
    if kinds & TIMES:
        return _times(left, right)
    if Kind.JSON in kinds:
        return _json(left, right)
    if Kind.BYTES in kinds and Kind.TEXT in kinds:
        return _bytes(left), _bytes(right)
    return _of_text_and_number(left, right)


def _numbers(left: Value, right: Value) -> tuple[str, str]:
    return conversions.number(left).sql, conversions.number(right).sql


def _bytes(value: Value) -> str:
    return value.sql if value.kind is Kind.BYTES else f"CAST({value.sql} AS BINARY)"


def _of_text_and_number(left: Value, right: Value) -> tuple[str, str]:
    for one, other in ((left, right), (right, left)):
        whole = conversions.whole_constant(one) if one.kind is Kind.TEXT else None
        if whole is not None and other.kind in {Kind.INT, Kind.BOOL}:
            plain = conversions.number(other).sql
            return (str(whole), plain) if one is left else (plain, str(whole))
    return conversions.double(left).sql, conversions.double(right).sql


def _times(left: Value, right: Value) -> tuple[str, str]:
    if not {left.kind, right.kind} <= {*TIMES, Kind.TEXT, Kind.INT}:
        raise NotSupportedRefusal(f"a comparison of {left.kind} with {right.kind}")
    if any(each.kind is Kind.INT and each.constant is None for each in (left, right)):
        return _numbers(left, right)
    return conversions.time(left, strict=True).sql, conversions.time(right, strict=True).sql


def _json(left: Value, right: Value) -> tuple[str, str]:
    """JSON and a literal: a text is equal to the JSON text, a number to the JSON number."""
    found, literal = (left, right) if left.kind is Kind.JSON else (right, left)
    if not isinstance(literal.constant, str) or literal.kind is not Kind.TEXT:
        raise NotSupportedRefusal("a comparison of JSON with something else than a text in quotes; use ->>")
    pair = found.sql, quoted(json.dumps(literal.constant, ensure_ascii=False))
    return pair if found is left else (pair[1], pair[0])
