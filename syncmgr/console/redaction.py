"""Texts of jobs, as far as an account may read them.

Owns: which words of an error name a job, and what stands in place of them and of values of rows.
Must not know: rights; callers say what is hidden.
"""

import json
from collections.abc import Collection
from typing import Any, Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.quotation import quotation

HIDDEN_JOB: Final = "(one that you may not see)"
HIDDEN_VALUE: Final = "(shown to users with SELECT_PRIV on every target of the job)"
NAMING: Final = frozenset({Code.TARGET_IN_USE, Code.TABLE_BUSY, Code.COLUMN_BUSY, Code.CANAL_IN_USE})


def naming_no_job(error: SyncError, hidden: Collection[str]) -> SyncError:
    """The error without the names of these jobs, which are given as db.job."""
    context = dict(error.context)
    if context.get("job") in hidden:
        context["job"] = HIDDEN_JOB
    if isinstance(reader := context.get("reader"), str):
        context["reader"] = text_naming_no_job(reader, hidden)
    return SyncError(error.code, more=error.more, **context)


def text_naming_no_job(text: str, hidden: Collection[str]) -> str:
    for label in hidden:
        text = text.replace(f"job '{label}'", f"job '{HIDDEN_JOB}'")
    return text


def quotes_value(cell: object) -> bool:
    """Whether a cell of SHOW SYNC JOB or of a sync_* table has values of rows, as 20105, 20113, 20164 and 20170 do,
    20013 of a row, and 20238 of a value.
    """
    return isinstance(cell, str) and quotation(cell) is not None


def without_value(cell: object) -> object:
    """The cell without it; Status is JSON."""
    if not isinstance(cell, str) or not quotes_value(cell):
        return cell
    if cell.startswith("{"):
        try:
            return json.dumps(_cleared(json.loads(cell)), ensure_ascii=False)
        except ValueError:
            pass  # a text that looks like it
    return _cut(cell)


def _cut(text: str) -> str:
    at = quotation(text)
    return text if at is None else f"{text[:at]}{HIDDEN_VALUE}"


def _cleared(facts: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    match facts:
        case dict():
            return {name: _cleared(value) for name, value in facts.items()}
        case list():
            return [_cleared(value) for value in facts]
        case str():
            return _cut(facts)
        case _:
            return facts
