"""JSON_EXTRACT and its like, of JSON that is kept as text.

Owns: MySQL's paths in Spark's, and the text of a JSON value as MySQL prints it.
Must not know: other functions.
"""

import re
from collections.abc import Mapping
from typing import Final

from mysqlselect import conversions
from mysqlselect.functions.call import Call, Function, function
from mysqlselect.types import BOOL, INT, JSON, TEXT, Kind, NotSupportedRefusal, Value, quoted

_STEP: Final = re.compile(r'\s*(?:\.\s*([A-Za-z_$][\w$]*)|\.\s*"([^"\\\'\]]+)"|\[\s*(\d+)\s*\])')
# What is between a comma or a colon outside of texts and the one before.
_SEPARATOR: Final = r'\G((?:"(?:[^"\\]|\\.)*"|[^",:])*+)([,:])'


def path_of(path: str) -> str:
    """In Spark's words. Raises NotSupportedRefusal."""
    if not path.strip().startswith("$"):
        raise NotSupportedRefusal(f"the JSON path {path[:60]}")
    rest, steps = path.strip()[1:], []
    while rest:
        found = _STEP.match(rest)
        if found is None:
            raise NotSupportedRefusal(f"the JSON path {path[:60]}")
        word, text, index = found.groups()
        steps.append(f"[{index}]" if index is not None else f"['{word or text}']")
        rest = rest[found.end() :]
    if "[0]" in steps:
        raise NotSupportedRefusal("a JSON path with [0], which MySQL also takes for a value that is no array")
    return "$" + "".join(steps)


def _parsed(document: Value) -> str:
    return f"parse_json({conversions.text(document).sql})"


def _found(document: Value, path: str) -> str:
    return f"variant_get({_parsed(document)}, {quoted(path)})"


def _kind(found: str) -> str:
    return f"schema_of_variant({found})"


def _is_nested(found: str) -> str:
    return f"({_kind(found)} LIKE 'OBJECT%' OR {_kind(found)} LIKE 'ARRAY%')"


def _spaced(compact: str) -> str:
    """With a space after each comma and colon, as MySQL prints it."""
    return f"regexp_replace({compact}, {quoted(_SEPARATOR)}, '$1$2 ')"


def extracted(document: Value, path: str) -> Value:
    """->. Raises NotSupportedRefusal."""
    own = path_of(path)
    found = _found(document, own)
    nested = _spaced(f"get_json_object({conversions.text(document).sql}, {quoted(own)})")
    sql = (
        f"CASE WHEN {found} IS NULL THEN NULL WHEN {_is_nested(found)} THEN {nested} ELSE {_scalar(document, own)} END"
    )
    return Value(sql, JSON)


def _scalar(document: Value, path: str) -> str:
    """As it was written, except for a text."""
    found, plain = _found(document, path), f"get_json_object({conversions.text(document).sql}, {quoted(path)})"
    cases = f"WHEN is_variant_null({found}) THEN 'null' WHEN {_kind(found)} = 'STRING' THEN to_json({found})"
    return f"CASE {cases} ELSE {plain} END"


def value(document: Value, path: str) -> Value:
    """JSON_VALUE: of a scalar alone. Raises NotSupportedRefusal."""
    own = path_of(path)
    plain = f"get_json_object({conversions.text(document).sql}, {quoted(own)})"
    return Value(f"IF({_is_nested(_found(document, own))}, NULL, {plain})", TEXT)


def unquoted(document: Value, path: str) -> Value:
    """->>. Raises NotSupportedRefusal."""
    own = path_of(path)
    found, text = _found(document, own), f"get_json_object({conversions.text(document).sql}, {quoted(own)})"
    cases = f"WHEN is_variant_null({found}) THEN 'null' WHEN {_is_nested(found)} THEN {_spaced(text)}"
    return Value(f"CASE WHEN {found} IS NULL THEN NULL {cases} ELSE {text} END", TEXT)


def _extract(call: Call) -> Value:
    return extracted(call.arg(0), call.constant(1, "a path"))


def _unquote(call: Call) -> Value:
    """Of a JSON text: a text without its quotes."""
    found = call.arg(0)
    if found.kind is not Kind.JSON:
        raise NotSupportedRefusal("JSON_UNQUOTE of something else than JSON_EXTRACT")
    sql = found.sql
    return Value(f"IF({sql} LIKE '\"%', get_json_object(concat('[', {sql}, ']'), '$[0]'), {sql})", TEXT)


def _valid(call: Call) -> Value:
    found = call.text(0)
    return Value(f"IF({found} IS NULL, NULL, try_parse_json({found}) IS NOT NULL)", BOOL)


def _length(call: Call) -> Value:
    found = _found(call.arg(0), path_of(call.constant(1, "a path")) if len(call) > 1 else "$")
    array = f"array_size(CAST({found} AS ARRAY<VARIANT>))"
    fields = f"size(CAST({found} AS MAP<STRING, VARIANT>))"
    cases = f"WHEN {_kind(found)} LIKE 'ARRAY%' THEN {array} WHEN {_kind(found)} LIKE 'OBJECT%' THEN {fields}"
    return Value(f"CASE WHEN {found} IS NULL THEN NULL {cases} ELSE 1 END", INT)


TABLE: Final[Mapping[str, Function]] = {
    "JSON_EXTRACT": function(_extract, 2),
    "JSON_UNQUOTE": function(_unquote, 1),
    "JSON_VALID": function(_valid, 1),
    "JSON_LENGTH": function(_length, 1, 2),
}
