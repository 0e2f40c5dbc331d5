import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.rows.append_policy import appendable
from syncmgr.job.rows.batch import ChangeKind

ROWS = pa.table({"id": [1, 2, 3], "_op": pa.array([0, 1, 2], pa.int8())})


@pytest.mark.parametrize(("policy", "expected"), [(AppendOnChange.APPEND, [1, 2]), (AppendOnChange.IGNORE, [1])])
def test_a_policy_decides(policy: AppendOnChange, expected: list[int]) -> None:
    """`append` keeps the new image of an update, `ignore` keeps inserts only; what is left are inserts."""
    kept = appendable(ROWS, policy, "shop.log")
    assert kept["id"].to_pylist() == expected
    assert set(kept["_op"].to_pylist()) == {0}


def test_by_default_a_change_stops_the_table() -> None:
    """An update of a table without a key is never dropped silently."""
    with pytest.raises(SyncError, match=r"target of 'shop.log' has no key, and its source had an update") as raised:
        appendable(ROWS, AppendOnChange.ERROR, "shop.log")
    assert raised.value.code is Code.APPEND_CHANGE


@pytest.mark.parametrize(("kind", "words"), [(ChangeKind.UPDATE, "an update"), (ChangeKind.DELETE, "a delete")])
def test_the_change_that_stops_a_table_is_named(kind: ChangeKind, words: str) -> None:
    """The operator learns what the source did."""
    rows = pa.table({"id": [1, 2], "_op": pa.array([ChangeKind.INSERT, kind], pa.int8())})
    with pytest.raises(SyncError, match=f"its source had {words};"):
        appendable(rows, AppendOnChange.ERROR, "shop.log")


def test_inserts_pass_untouched() -> None:
    """The common case costs nothing."""
    inserts = ROWS.slice(0, 1)
    assert appendable(inserts, AppendOnChange.ERROR, "shop.log") is inserts
