import json

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.job_properties import OnValueError
from syncmgr.job.rows.value_error import Bound, ValueRules
from syncmgr.job.snapshot.chunk_rows import ReadRows
from syncmgr.job.snapshot.chunk_values import ChunkRules
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.schema import TargetType

ROWS = pa.table({"id": [1, 2, 3], "v": [10, 20_000, 30], "at": pa.array([None, None, None], pa.date32())})
NO_DATE = Unheld(row=2, column="at", shown="0000-00-00", reason="there is no such date")
BOUNDS = (
    Bound(column="id", nullable=False, key=True),
    Bound(column="v", nullable=True, type=TargetType(name="SMALLINT")),
    Bound(column="at", nullable=True),
)


def rules(policy: OnValueError, keys: tuple[str, ...] = ("id",)) -> ChunkRules:
    return ChunkRules(token="t", table="lake.t", values=ValueRules(policy=policy, bounds=BOUNDS), keys=keys)


@pytest.mark.parametrize("policy", OnValueError)
def test_rows_that_the_target_holds_go_on_as_they_are(policy: OnValueError) -> None:
    """Not even copied."""
    rows, dead = rules(policy).settled(ReadRows(rows=ROWS), 7.0)
    assert rows is ROWS
    assert dead == ()


@pytest.mark.parametrize(
    ("keys", "value"), [(("id",), "0000-00-00 in the row with id = 3"), (("at",), "0000-00-00"), ((), "0000-00-00")]
)
def test_a_job_that_stops_names_the_row(keys: tuple[str, ...], value: str) -> None:
    """By the other columns of its key."""
    with pytest.raises(SyncError) as caught:
        rules(OnValueError.STOP, keys).settled(ReadRows(rows=ROWS, unheld=(NO_DATE,)), 7.0)
    assert caught.value.code is Code.SOURCE_VALUE
    assert caught.value.context == {
        "column": "at",
        "table": "lake.t",
        "value": value,
        "reason": "there is no such date",
    }


def test_null_stands_for_what_is_not_held() -> None:
    """Also for what only the target does not hold."""
    wide = ROWS.set_column(1, "v", pa.array([10, 40_000, 30]))
    rows, dead = rules(OnValueError.NULL).settled(ReadRows(rows=wide, unheld=(NO_DATE,)), 7.0)
    assert rows.to_pylist() == [
        {"id": 1, "v": 10, "at": None},
        {"id": 2, "v": None, "at": None},
        {"id": 3, "v": 30, "at": None},
    ]
    assert dead == ()


def test_dead_letters_are_left_out() -> None:
    """With the moment at which they were met, and no place in a binlog."""
    rows, [letter] = rules(OnValueError.DEAD_LETTER).settled(ReadRows(rows=ROWS, unheld=(NO_DATE,)), 7.0)
    assert rows.to_pydict() == {"id": [1, 2], "v": [10, 20_000], "at": [None, None]}
    assert (letter.token, letter.change, letter.column, letter.value) == ("t", "INSERT", "at", "0000-00-00")
    assert (letter.at, letter.file, letter.offset) == (7.0, "", 0)
    assert json.loads(letter.row) == {"id": "3", "v": "30", "at": "0000-00-00"}
