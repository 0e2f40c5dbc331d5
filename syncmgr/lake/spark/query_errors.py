"""What Spark's errors mean, in MySQL's codes.

Owns: the table from Spark's error conditions to ours, and how a message is cleaned of stack, query text and passwords.
Must not know: py4j; it judges texts.
"""

import re
from collections.abc import Mapping
from typing import Final

from syncmgr.errors import Code, SyncError

STARS: Final = "********"
LONGEST_HEAD, LONGEST_TAIL = 8 << 10, 4 << 10  # characters of a message: what it is about, and its SQLSTATE

# In a URI, which Iceberg quotes if its catalog cannot be reached; bounded, so that no text takes long.
_PASSWORD: Final = re.compile(
    r"([?&;,(]\w{0,40}(?:password|passwd|pwd|secret|token|credential)\w{0,40}=)[^&;\s]*"
    r"|(//[^/?\s:@]{0,200}:)[^/?\s@]{0,200}(?=@)",
    re.IGNORECASE,
)
_TOLD: Final = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] (.*?)(?=SQLSTATE: |\n== |\n\tat |\Z)", re.DOTALL)
_POSITION: Final = re.compile(r"\(line (\d+), pos (\d+)\)")
_PART: Final = re.compile(r"`((?:[^`]|``)*)`")
_CANCELLED: Final = "SPARK_JOB_CANCELLED"
_SETTING: Final = re.compile(r" If necessary,? set \"?spark\.[^ ]* .*")  # those cannot be set through the console
_REASONED: Final = {
    "AMBIGUOUS_REFERENCE": Code.AMBIGUOUS_COLUMN,
    "ARITHMETIC_OVERFLOW": Code.OUT_OF_RANGE,
    "CANNOT_PARSE_TIMESTAMP": Code.WRONG_TEXT_OF_VALUE,
    "CAST_INVALID_INPUT": Code.WRONG_TEXT_OF_VALUE,
    "CAST_OVERFLOW": Code.OUT_OF_RANGE,
    "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION": Code.OUT_OF_RANGE,
    "DIVIDE_BY_ZERO": Code.DIVISION_BY_ZERO,
    "INVALID_TYPED_LITERAL": Code.WRONG_TEXT_OF_VALUE,
    "INVALID_WHERE_CONDITION": Code.AGGREGATE_MISPLACED,
    "MISSING_AGGREGATION": Code.NOT_GROUPED,
    "MISSING_GROUP_BY": Code.MIXED_WITH_AGGREGATE,
    "NESTED_AGGREGATE_FUNCTION": Code.AGGREGATE_MISPLACED,
    "NUMERIC_VALUE_OUT_OF_RANGE": Code.OUT_OF_RANGE,
    "NUM_COLUMNS_MISMATCH": Code.COLUMNS_DIFFER,
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": Code.MORE_THAN_ONE_ROW,
    "WRONG_NUM_ARGS": Code.WRONG_PARAMETER_COUNT,
}
_CAUSE: Final = re.compile(
    r"^(?:Caused by: )?(?:[a-z]\w*\.)+[A-Z][\w$]*: *(\S.*)$", re.MULTILINE
)  # its class is ours to know
_BOUND: Final = re.compile(r"\bjava\.lang\.(OutOfMemoryError|StackOverflowError)\b")
_SNAPSHOT_GONE: Final = re.compile(r"\bCannot find snapshot with (?:ID|id) (\d+)")
_BOUNDS: Final = {"OutOfMemoryError": Code.QUERY_TOO_BIG, "StackOverflowError": Code.NESTED_TOO_DEEPLY}
_PLAIN: Final = {
    _CANCELLED: Code.INTERRUPTED,
    "FAILED_TO_PARSE_TOO_COMPLEX": Code.NESTED_TOO_DEEPLY,
    "INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS": Code.TABLE_CHANGED,
    "UNABLE_TO_ACQUIRE_MEMORY": Code.QUERY_TOO_BIG,
}


def short(text: str) -> str:
    """A message without the middle of a value in it, which may have any length: searching that would hold up everybody
    else. And without passwords.
    """
    if len(text) > LONGEST_HEAD + LONGEST_TAIL:
        text = f"{text[:LONGEST_HEAD]}...{text[-LONGEST_TAIL:]}"
    return _PASSWORD.sub(rf"\1\2{STARS}", text)


def condition_and_message(text: str) -> tuple[str, str]:
    """Error condition ("" if there is none) and message without SQLSTATE, query text and stack."""
    text = short(text)
    found = _TOLD.findall(text)
    if not found:
        return "", text.strip().split("\n", 1)[0]  # a message about an unparsable text begins with an empty line
    condition, message = found[-1]
    return condition, " ".join(message.split())


def query_error(text: str, parameters: Mapping[str, str], db: str | None) -> SyncError:
    """The error of a query that Spark refused or failed."""
    text = short(text)
    condition, message = condition_and_message(text)
    kind = condition.partition(".")[0]
    if kind in {"PARSE_SYNTAX_ERROR", "PARSE_EMPTY_STATEMENT"}:
        return _syntax(text, parameters)
    if kind in _PLAIN:
        return SyncError(_PLAIN[kind])
    found = _BOUND.search(text) if not condition else None  # after a condition it is a part of the user's text
    if found is not None:
        return SyncError(_BOUNDS[found[1]])
    gone = _SNAPSHOT_GONE.search(text) if not condition else None
    if gone is not None:
        reason = f"the table has no snapshot {gone[1]} any more: it was created again, or its snapshots were expired"
        return SyncError(Code.QUERY_FAILED, reason=reason)
    if kind in _REASONED:
        return SyncError(_REASONED[kind], reason=_SETTING.sub("", message))
    reason = f"{condition}: {message}" if condition else _cause(text) or message
    return _unknown(kind, parameters, db) or SyncError(Code.QUERY_FAILED, reason=reason)


def _cause(text: str) -> str | None:
    """What the innermost exception says that says anything, without its class; None: no class is named."""
    found = [message for message in _CAUSE.findall(text) if message != "null"]
    return found[-1] if found else None


def _unknown(kind: str, parameters: Mapping[str, str], db: str | None) -> SyncError | None:
    """Something that the query names does not exist."""
    match kind:
        case "TABLE_OR_VIEW_NOT_FOUND":
            parts = identifier(parameters.get("relationName", ""))
            if len(parts) == 1 and db is None:
                return SyncError(Code.NO_DATABASE)
            schema = parts[-2] if len(parts) > 1 else db or ""
            return SyncError(Code.NO_SUCH_TABLE, db=schema, table=parts[-1] if parts else "")
        case "UNRESOLVED_COLUMN":
            column = ".".join(identifier(parameters.get("objectName", "")))
            return SyncError(Code.UNKNOWN_COLUMN, column=column, where="field list")
        case "ORDER_BY_POS_OUT_OF_RANGE" | "GROUP_BY_POS_OUT_OF_RANGE":
            where = f"{kind.partition('_')[0].lower()} clause"
            return SyncError(Code.UNKNOWN_COLUMN, column=parameters.get("index", ""), where=where)
        case "UNRESOLVED_ROUTINE":
            return SyncError(Code.UNKNOWN_FUNCTION, name=".".join(identifier(parameters.get("routineName", ""))))
        case "SCHEMA_NOT_FOUND":
            parts = identifier(parameters.get("schemaName", ""))
            return SyncError(Code.UNKNOWN_DATABASE, db=parts[-1] if parts else db)
        case _:
            return None


def _syntax(text: str, parameters: Mapping[str, str]) -> SyncError:
    place = _POSITION.search(text)
    line, column = (int(place[1]), int(place[2]) + 1) if place else (1, 1)
    near = parameters.get("error", "").strip("'")
    return SyncError(Code.SYNTAX, reason="Spark cannot read it", near=near, line=line, column=column)


def identifier(text: str) -> list[str]:
    """The parts of a quoted identifier, `a`.`b`."""
    return [part.replace("``", "`") for part in _PART.findall(text)]
