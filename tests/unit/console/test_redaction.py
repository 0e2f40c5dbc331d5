import json

import pytest

from syncmgr.console.redaction import HIDDEN_JOB, HIDDEN_VALUE, naming_no_job, quotes_value, without_value
from syncmgr.errors import Code, SyncError

SECRET = "DE12\n', which the target cannot hold: \""
STATEMENT = f"INSERT INTO t VALUES ('{SECRET}')"


@pytest.mark.parametrize(
    "error",
    [
        SyncError(Code.SOURCE_VALUE, column="a", table="shop.t", value=SECRET, reason=f"id={SECRET}"),
        SyncError(Code.BAD_EXPRESSION, expression="CAST(b AS INT)", reason=f"it fails for a row: '{SECRET}' is none"),
        SyncError(Code.FOREIGN_CHANGE, table="shop.t", reason=f"its column a is int; RESYNC it; the value is {SECRET}"),
        SyncError(Code.SOURCE_NOT_ROW, value=f"not ROW in a session that wrote t ({STATEMENT})", address="h:1"),
        SyncError(Code.SOURCE_LATE, address="h:1", done="used t", statement=STATEMENT),
        SyncError(Code.SOURCE_UNSEEN, address="h:1", how="calls f", reason="why", statement=STATEMENT),
    ],
    ids=["value", "expression", "column", "not row", "late", "unseen"],
)
def test_what_quotes_a_row_is_cut(error: SyncError) -> None:
    """Alone, as the reason of another error, as one of several, and in Status; the beginning stays."""
    wrapped = SyncError(Code.TABLE_STOPPED, table="shop.t", reason=error)
    status = json.dumps({"behind": {"t": {"reason": f"{wrapped}; {wrapped}", "epochs": 3}}, "refused": [str(error)]})
    for text in (str(error), str(wrapped), status):
        cut = without_value(text)
        assert quotes_value(text)
        assert isinstance(cut, str)
        assert ("DE12" in cut, HIDDEN_VALUE in cut, cut[:20]) == (False, True, text[:20])
    assert json.loads(str(without_value(status)))["behind"]["t"]["epochs"] == 3


@pytest.mark.parametrize(
    "cell",
    [
        *(None, 7, "", "{", '{"a": 1}', "Cannot reach the MySQL server at h:1: refused"),
        str(SyncError(Code.BAD_EXPRESSION, expression="f(b)", reason="none of the functions that may be used")),
        str(SyncError(Code.FOREIGN_CHANGE, table="shop.t", reason="its column a is int, which holds no DATE")),
    ],
)
def test_any_other_cell_stays(cell: object) -> None:
    """Whatever its type."""
    assert not quotes_value(cell)
    assert without_value(cell) == cell


def test_a_job_that_is_hidden_has_no_name() -> None:
    """Others keep theirs, also if their names begin like it."""
    error = SyncError(Code.CANAL_IN_USE, destination="d", address="a", reader="sync job 'demo.one'")
    assert str(naming_no_job(error, {"demo.on"})) == str(error)
    assert HIDDEN_JOB in str(naming_no_job(error, {"demo.one"}))
    taken = SyncError(Code.TARGET_IN_USE, table="demo.one", job="demo.two", more="; more")
    told = naming_no_job(taken, {"demo.two", "demo.one"})
    assert (told.context, str(told)[-6:]) == ({"table": "demo.one", "job": HIDDEN_JOB}, "; more")
