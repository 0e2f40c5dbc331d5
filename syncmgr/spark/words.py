"""What Spark's errors mean, in MySQL's codes.

Owns: the table from Spark's error conditions to ours, and how a message is cleaned of stack and query text.
Must not know: py4j; it judges texts.
"""

import re
from collections.abc import Mapping
from typing import Final

from syncmgr.errors import Code, SyncError

_TOLD: Final = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] (.*?)(?=\s*SQLSTATE: |\n== |\n\tat |\Z)", re.DOTALL)
_POSITION: Final = re.compile(r"\(line (\d+), pos (\d+)\)")
_PART: Final = re.compile(r"`((?:[^`]|``)*)`")
_CANCELLED: Final = "SPARK_JOB_CANCELLED"
_PLAIN: Final = {_CANCELLED: Code.INTERRUPTED, "INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS": Code.TABLE_CHANGED}


def told(text: str) -> tuple[str, str]:
    """Error condition ("" where there is none) and message without SQLSTATE, query text and stack."""
    found = _TOLD.findall(text)
    if not found:
        return "", text.split("\n", 1)[0]
    condition, message = found[-1]
    return condition, " ".join(message.split())


def query_error(text: str, parameters: Mapping[str, str], db: str | None) -> SyncError:
    """The error of a query that Spark refused or failed."""
    condition, message = told(text)
    match condition.partition(".")[0]:
        case "TABLE_OR_VIEW_NOT_FOUND":
            parts = identifier(parameters.get("relationName", ""))
            if len(parts) == 1 and db is None:
                return SyncError(Code.NO_DATABASE)
            schema = parts[-2] if len(parts) > 1 else db or ""
            return SyncError(Code.NO_SUCH_TABLE, db=schema, table=parts[-1] if parts else "")
        case "UNRESOLVED_COLUMN":
            column = ".".join(identifier(parameters.get("objectName", "")))
            return SyncError(Code.UNKNOWN_COLUMN, column=column, where="field list")
        case "SCHEMA_NOT_FOUND":
            parts = identifier(parameters.get("schemaName", ""))
            return SyncError(Code.UNKNOWN_DATABASE, db=parts[-1] if parts else db)
        case "PARSE_SYNTAX_ERROR" | "PARSE_EMPTY_STATEMENT":
            return _syntax(text, parameters)
        case plain if plain in _PLAIN:
            return SyncError(_PLAIN[plain])
        case "":
            return SyncError(Code.QUERY_FAILED, reason=message)
        case _:
            return SyncError(Code.QUERY_FAILED, reason=f"{condition}: {message}")


def _syntax(text: str, parameters: Mapping[str, str]) -> SyncError:
    place = _POSITION.search(text)
    line, column = (int(place[1]), int(place[2]) + 1) if place else (1, 1)
    near = parameters.get("error", "").strip("'")
    return SyncError(Code.SYNTAX, reason="Spark cannot read it", near=near, line=line, column=column)


def identifier(text: str) -> list[str]:
    """The parts of a quoted identifier, `a`.`b`."""
    return [part.replace("``", "`") for part in _PART.findall(text)]
