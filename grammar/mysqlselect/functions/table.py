"""All of MySQL's functions: those with an equal in Spark, and those that are refused.

Owns: the one table of both; the functions that choose one of their arguments.
Must not know: how a call is read.
"""

from collections.abc import Mapping
from typing import Final

from mysqlselect import comparing, conversions
from mysqlselect.functions import aggregates, json, numbers, texts, times
from mysqlselect.functions.call import ANY, Call, Function, function
from mysqlselect.types import Value


def first_of(values: list[Value]) -> Value:
    """COALESCE, IFNULL."""
    type_ = conversions.common_type([each.type for each in values])
    return Value(f"coalesce({', '.join(conversions.as_type(each, type_).sql for each in values)})", type_)


def chosen(condition: str, yes: Value, no: Value) -> Value:
    """IF."""
    type_ = conversions.common_type([yes.type, no.type])
    both = [conversions.as_type(each, type_).sql for each in (yes, no)]
    return Value(f"IF({condition}, {both[0]}, {both[1]})", type_)


def _nullif(call: Call) -> Value:
    found = call.arg(0)
    left, right = comparing.sides(found, call.arg(1))
    return Value(f"CASE WHEN {left} = {right} THEN NULL ELSE {found.sql} END", found.type, None, found.has_more_digits)


_CHOICES: Final[Mapping[str, Function]] = {
    "IFNULL": function(lambda call: first_of(call.args), 2),
    "COALESCE": function(lambda call: first_of(call.args), 1, ANY),
    "NULLIF": function(_nullif, 2),
    "IF": function(lambda call: chosen(conversions.condition(call.arg(0)).sql, call.arg(1), call.arg(2)), 3),
}
GROUPS: Final[Mapping[str, Mapping[str, Function]]] = {
    "texts": texts.TABLE,
    "numbers": numbers.TABLE,
    "times": times.TABLE,
    "JSON": json.TABLE,
    "choices": _CHOICES,
    "aggregates": {**aggregates.AGGREGATES, "GROUPING": aggregates.GROUPING},
    "windows": aggregates.OF_WINDOWS,
}
FUNCTIONS: Final[Mapping[str, Function]] = {name: each for group in GROUPS.values() for name, each in group.items()}
# MySQL has them, and Spark nothing that gives the same, or something else under the same name.
REFUSED: Final = frozenset(
    """
    ACOS ASIN ATAN ATAN2 COS COT SIN TAN ADDTIME AES_DECRYPT AES_ENCRYPT BENCHMARK BIT_AND BIT_COUNT
    BIT_OR BIT_XOR CHARSET COERCIBILITY COLLATION COMPRESS DEFAULT EXPORT_SET EXTRACTVALUE FORMAT_BYTES
    FORMAT_PICO_TIME FOUND_ROWS FROM_BASE64 GET_FORMAT GET_LOCK GTID_SUBSET GTID_SUBTRACT INET6_ATON
    INET6_NTOA INET_ATON INET_NTOA INTERVAL IS_FREE_LOCK IS_IPV4 IS_IPV6 IS_USED_LOCK IS_UUID JSON_ARRAY
    JSON_ARRAYAGG JSON_ARRAY_APPEND JSON_ARRAY_INSERT JSON_CONTAINS JSON_CONTAINS_PATH JSON_DEPTH
    JSON_INSERT JSON_KEYS JSON_MERGE JSON_MERGE_PATCH JSON_MERGE_PRESERVE JSON_OBJECT JSON_OBJECTAGG
    JSON_OVERLAPS JSON_PRETTY JSON_QUOTE JSON_REMOVE JSON_REPLACE JSON_SCHEMA_VALID JSON_SEARCH JSON_SET
    JSON_STORAGE_SIZE JSON_TABLE JSON_TYPE LAST_INSERT_ID LOAD_FILE MAKETIME MAKE_SET NAME_CONST
    PERIOD_ADD PERIOD_DIFF QUOTE RANDOM_BYTES RELEASE_LOCK ROW_COUNT SLEEP SOUNDEX STATEMENT_DIGEST
    STD STDDEV STDDEV_POP STDDEV_SAMP SUBTIME TIMEDIFF TIME_FORMAT TIME_TO_SEC TO_BASE64 TO_SECONDS
    UNCOMPRESS UNCOMPRESSED_LENGTH UPDATEXML UTC_TIME UUID_SHORT UUID_TO_BIN BIN_TO_UUID VALUES
    VARIANCE VAR_POP VAR_SAMP VECTOR_DIM WEIGHT_STRING ST_ASTEXT ST_X ST_Y ST_DISTANCE POINT
    """.split()  # noqa: SIM905 - a list of words reads better
)
