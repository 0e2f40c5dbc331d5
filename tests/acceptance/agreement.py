"""CHECK at the end of other tests: it must say of their tables what they have found themselves.

Owns: what counts as the same verdict.
Must not know: how those tests compare.
"""

from collections.abc import Collection
from typing import Any, Final

from tests.acceptance.frontend import FrontendProcess
from tests.support.until import until

OVER: Final = frozenset({"DONE", "FAILED", "STOPPED"})
SECOND: Final = 600.0
REFUSED: Final = "cannot be compared with its source"


def differing(fe: FrontendProcess, job: str, mixed: Collection[str] = ()) -> list[dict[str, Any]]:
    """The tables of a job at rest that CHECK does not find equal, out of those that can be compared. `mixed`: targets
    that another engine inserts rows into, which no source has.
    """
    [begun] = fe.sql(f"CHECK SYNC JOB {job}")
    question = f"SELECT * FROM information_schema.sync_checks WHERE CHECK_ID = {begun['CheckId']}"
    until(lambda: all(row["STATE"] in OVER for row in fe.sql(question)), deadline=SECOND, why=f"check of {job}")
    return [row for row in fe.sql(question) if not _is_equal(row, mixed)]


def _is_equal(row: dict[str, Any], mixed: Collection[str]) -> bool:
    if row["STATE"] == "FAILED" and REFUSED in row["REASON"]:
        return True
    lost = row["MISSING"] or row["DIFFERENT"] or row["UNSETTLED"]
    return row["STATE"] == "DONE" and (row["RESULT"] == "EQUAL" or (row["TARGET_TABLE"] in mixed and not lost))
