"""Functions of texts.

Owns: their table.
Must not know: numbers and times.
"""

import re
from collections.abc import Mapping
from typing import Final

from mysqlselect import comparing, conversions
from mysqlselect.functions.call import ANY, Call, Function, function, of_numbers, of_texts
from mysqlselect.types import BOOL, BYTES, INT, TEXT, Kind, NotSupportedRefusal, Value, quoted


def _concat(call: Call) -> Value:
    return Value(f"concat({', '.join(map(call.text, range(len(call))))})", TEXT)


def _concat_ws(call: Call) -> Value:
    return Value(f"concat_ws({', '.join(map(call.text, range(len(call))))})", TEXT)


def _side(name: str) -> Function:
    return function(lambda call: Value(f"{name}({call.text(0)}, {call.whole(1)})", TEXT), 2)


def substring(text: str, start: Value, length: str | None) -> Value:
    """MySQL's position 0 is nowhere, and so is one before the beginning."""
    constant = conversions.whole_constant(start)
    at = str(constant) if constant is not None else f"CAST({conversions.integer(start).sql} AS INT)"
    cut = f"substring({text}, {at}{', ' + length if length is not None else ''})"
    if constant is not None and constant > 0:
        return Value(cut, TEXT)
    outside = f"{at} = 0 OR {at} < -char_length({text})"
    return Value(f"CASE WHEN {text} IS NULL THEN NULL WHEN {outside} THEN '' ELSE {cut} END", TEXT)


def _substring(call: Call) -> Value:
    return substring(call.text(0), call.arg(1), call.whole(2) if len(call) > 2 else None)


def _locate(call: Call) -> Value:
    start = f", {call.whole(2)}" if len(call) > 2 else ""
    return Value(f"locate({call.text(0)}, {call.text(1)}{start})", INT)


def _pad(name: str) -> Function:
    def build(call: Call) -> Value:
        length = call.whole(1)
        return Value(f"IF({length} < 0, NULL, {name}({call.text(0)}, {length}, {call.text(2)}))", TEXT)

    return function(build, 3)


def _repeat(call: Call) -> Value:
    return Value(f"repeat({call.text(0)}, {call.whole(1)})", TEXT)


def _space(call: Call) -> Value:
    return Value(f"repeat(' ', {call.whole(0)})", TEXT)


def _hex(call: Call) -> Value:
    found = call.arg(0)
    if found.kind in {Kind.INT, Kind.BOOL, Kind.DECIMAL, Kind.DOUBLE}:
        return Value(f"hex({conversions.integer(found).sql})", TEXT)
    return Value(f"hex({_bytes(found)})", TEXT)


def _bytes(value: Value) -> str:
    return value.sql if value.kind is Kind.BYTES else f"CAST({conversions.text(value).sql} AS BINARY)"


def _digest(template: str, least: int = 1) -> Function:
    def build(call: Call) -> Value:
        rest = [call.whole(place) for place in range(1, len(call))]
        return Value(template.format(_bytes(call.arg(0)), *rest), TEXT)

    return function(build, least)


def _length(call: Call) -> Value:
    return Value(f"octet_length({_bytes(call.arg(0))})", INT)


def _field(call: Call) -> Value:
    """FIELD compares all as texts, all as numbers, or all as DOUBLE."""
    wanted, *others = call.args
    cases = []
    for place, each in enumerate(others, 1):
        left, right = comparing.sides(wanted, each)
        cases.append(f"WHEN {left} = {right} THEN {place}")
    return Value(f"CASE {' '.join(cases)} ELSE 0 END", INT)


def _elt(call: Call) -> Value:
    cases = " ".join(f"WHEN {place} THEN {call.text(place)}" for place in range(1, len(call)))
    return Value(f"CASE {conversions.integer(call.arg(0)).sql} {cases} END", TEXT)


def _strcmp(call: Call) -> Value:
    left, right = call.text(0), call.text(1)
    cases = f"WHEN {left} < {right} THEN -1 WHEN {left} = {right} THEN 0 WHEN {left} > {right} THEN 1"
    return Value(f"CASE {cases} END", INT)


def _insert(call: Call) -> Value:
    text, at, length, new = call.text(0), call.whole(1), call.whole(2), call.text(3)
    outside = f"{at} < 1 OR {at} > char_length({text})"
    rest = f"IF({length} < 0, '', substring({text}, {at} + {length}))"
    changed = f"concat(left({text}, {at} - 1), {new}, {rest})"
    return Value(f"CASE WHEN {new} IS NULL THEN NULL WHEN {outside} THEN {text} ELSE {changed} END", TEXT)


def _format(call: Call) -> Value:
    """With commas, rounded as ROUND does."""
    digits, found = call.constant_number(1, 0), conversions.number(call.arg(0))
    if digits < 0 or digits > 12:
        raise NotSupportedRefusal("FORMAT with that many digits")
    return Value(f"format_number(round(CAST({found.sql} AS DECIMAL(38,{digits + 6})), {digits}), {digits})", TEXT)


def _ord(call: Call) -> Value:
    return Value(f"conv(hex(CAST(left({call.text(0)}, 1) AS BINARY)), 16, 10)", INT)


def pattern_of(value: Value) -> str:
    """A regular expression that ICU and Java read alike. Raises NotSupportedRefusal."""
    constant = value.constant
    if not isinstance(constant, str):
        raise NotSupportedRefusal("a regular expression that is not a text in quotes")
    if re.search(r"\[[:.=]|\\[bBwWNXRG]|&&|--|~~|\[[^]]*\[", constant):
        raise NotSupportedRefusal("a regular expression with [:classes:], \\b, \\w, sets in sets and the like")
    if constant == "":
        raise NotSupportedRefusal("an empty regular expression")
    return constant


def regexp(text: str, pattern: Value, flags: str = "") -> Value:
    """REGEXP_LIKE. Raises NotSupportedRefusal."""
    if set(flags) - set("ci"):
        raise NotSupportedRefusal(f"REGEXP_LIKE with the match type {flags}")
    prefix = "(?iu)" if flags.endswith("i") else ""
    return Value(f"({text} RLIKE {quoted(prefix + pattern_of(pattern))})", BOOL)


def _regexp_like(call: Call) -> Value:
    return regexp(call.text(0), call.arg(1), call.constant(2, "a match type") if len(call) > 2 else "")


def _regexp_replace(call: Call) -> Value:
    new = call.constant(2, "a replacement")
    if "\\" in new or "$" in new:
        raise NotSupportedRefusal("REGEXP_REPLACE with groups in its replacement")
    return Value(f"regexp_replace({call.text(0)}, {quoted(pattern_of(call.arg(1)))}, {quoted(new)})", TEXT)


def _regexp_substr(call: Call) -> Value:
    return Value(f"regexp_substr({call.text(0)}, {quoted(pattern_of(call.arg(1)))})", TEXT)


def _regexp_instr(call: Call) -> Value:
    return Value(f"regexp_instr({call.text(0)}, {quoted(pattern_of(call.arg(1)))})", INT)


def _conv(call: Call) -> Value:
    return Value(f"conv({call.text(0)}, {call.whole(1)}, {call.whole(2)})", TEXT)


TABLE: Final[Mapping[str, Function]] = {
    "CONCAT": function(_concat, 1, ANY),
    "CONCAT_WS": function(_concat_ws, 2, ANY),
    "LEFT": _side("left"),
    "RIGHT": _side("right"),
    "SUBSTRING": function(_substring, 2, 3),
    "SUBSTR": function(_substring, 2, 3),
    "MID": function(_substring, 3),
    "SUBSTRING_INDEX": function(
        lambda call: Value(f"substring_index({call.text(0)}, {call.text(1)}, {call.whole(2)})", TEXT), 3
    ),
    "LOCATE": function(_locate, 2, 3),
    "INSTR": of_texts("locate({1}, {0})", INT, 2),
    "FIND_IN_SET": of_texts("find_in_set({0}, {1})", INT, 2),
    "FIELD": function(_field, 2, ANY),
    "ELT": function(_elt, 2, ANY),
    "UPPER": of_texts("upper({0})", TEXT, 1),
    "UCASE": of_texts("upper({0})", TEXT, 1),
    "LOWER": of_texts("lower({0})", TEXT, 1),
    "LCASE": of_texts("lower({0})", TEXT, 1),
    "LTRIM": of_texts("ltrim({0})", TEXT, 1),
    "RTRIM": of_texts("rtrim({0})", TEXT, 1),
    "LPAD": _pad("lpad"),
    "RPAD": _pad("rpad"),
    "REPEAT": function(_repeat, 2),
    "SPACE": function(_space, 1),
    "REPLACE": of_texts("replace({0}, {1}, {2})", TEXT, 3),
    "REVERSE": of_texts("reverse({0})", TEXT, 1),
    "INSERT": function(_insert, 4),
    "STRCMP": function(_strcmp, 2),
    "LENGTH": function(_length, 1),
    "OCTET_LENGTH": function(_length, 1),
    "CHAR_LENGTH": of_texts("char_length({0})", INT, 1),
    "CHARACTER_LENGTH": of_texts("char_length({0})", INT, 1),
    "BIT_LENGTH": function(lambda call: Value(f"(octet_length({_bytes(call.arg(0))}) * 8)", INT), 1),
    "ASCII": function(
        lambda call: Value(f"CAST(conv(substring(hex({_bytes(call.arg(0))}), 1, 2), 16, 10) AS INT)", INT), 1
    ),
    "ORD": function(lambda call: Value(f"CAST({_ord(call).sql} AS BIGINT)", INT), 1),
    "HEX": function(_hex, 1),
    "UNHEX": of_texts("unhex({0})", BYTES, 1),
    "BIN": function(lambda call: Value(f"bin({conversions.integer(call.arg(0)).sql})", TEXT), 1),
    "CONV": function(_conv, 3),
    "OCT": of_numbers("conv(CAST({0} AS BIGINT), 10, 8)", TEXT, 1),
    "MD5": _digest("md5({0})"),
    "SHA": _digest("sha1({0})"),
    "SHA1": _digest("sha1({0})"),
    "SHA2": _digest("sha2({0}, {1})", 2),
    "CRC32": function(lambda call: Value(f"crc32({_bytes(call.arg(0))})", INT), 1),
    "FORMAT": function(_format, 2),
    "REGEXP_LIKE": function(_regexp_like, 2, 3),
    "REGEXP_REPLACE": function(_regexp_replace, 3),
    "REGEXP_SUBSTR": function(_regexp_substr, 2),
    "REGEXP_INSTR": function(_regexp_instr, 2),
    "ISNULL": function(lambda call: Value(f"({call.arg(0).sql} IS NULL)", BOOL), 1),
}
