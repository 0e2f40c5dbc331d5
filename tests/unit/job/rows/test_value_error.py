"""What on_value_error makes of rows."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import FILE, OFFSET, OP, WHEN, ChangeKind
from syncmgr.job.rows.value_error import Bound, DeadLetter, OnValueError, ValueRules, settled
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.schema import TargetType

SMALLINT = TargetType(name="SMALLINT")
RULES = ValueRules(
    policy=OnValueError.DEAD_LETTER,
    bounds=(Bound(column="id", nullable=False, key=True), Bound(column="n", nullable=True, type=SMALLINT)),
)
NEW, UPD, DEL = ChangeKind.INSERT, ChangeKind.UPDATE, ChangeKind.DELETE


def rows(*given: tuple[ChangeKind, int | None, int | None]) -> pa.Table:
    kinds, ids, numbers = zip(*given, strict=True)
    size = len(given)
    made = {"id": pa.array(ids, pa.int64()), "n": pa.array(numbers, pa.int64()), OP: pa.array(kinds, pa.int8())}
    return pa.table({**made, WHEN: [7] * size, FILE: ["binlog.1"] * size, OFFSET: range(100, 100 + size)})


def apply(table: pa.Table, *unheld: Unheld, **changes: Any) -> tuple[list[tuple[Any, ...]], tuple[DeadLetter, ...]]:
    kept, letters = settled(table, unheld, replace(RULES, **changes), token="t", table="shop.t")
    assert kept.column_names == ["id", "n", OP]
    return [tuple(row.values()) for row in kept.to_pylist()], letters


def test_rows_that_fit_pass() -> None:
    """Nothing is taken out and nothing is told."""
    assert apply(rows((NEW, 1, 5), (DEL, 2, 99_999))) == ([(1, 5, NEW), (2, 99_999, DEL)], ())


@pytest.mark.parametrize("kind", [NEW, UPD])
def test_a_dead_row_is_deleted(kind: ChangeKind) -> None:
    """As long as its last image cannot be held, the target has none of it; the letter tells the image."""
    kept, [letter] = apply(rows((NEW, 1, 5), (kind, 2, 99_999)))
    assert kept == [(1, 5, NEW), (2, 99_999, DEL)]
    assert (letter.token, letter.change, letter.column, letter.value) == ("t", kind.name, "n", "99999")
    assert json.loads(letter.row) == {"id": "2", "n": "99999"}
    assert (letter.at, letter.file, letter.offset) == (7.0, "binlog.1", 101)
    assert "SMALLINT" in letter.reason


def test_a_key_that_cannot_be_held_was_never_there() -> None:
    """Its inserts are told and left out, its deletes are left out alone."""
    bad = [Unheld(row=row, column="id", shown="?", reason="why") for row in (0, 1)]
    kept, letters = apply(rows((NEW, None, 1), (DEL, None, 1), (NEW, 3, 1)), *bad)
    assert kept == [(3, 1, NEW)]
    assert [letter.change for letter in letters] == ["INSERT"]


def test_one_letter_for_a_row() -> None:
    """It names every column that cannot be held."""
    bad = Unheld(row=0, column="id", shown="?", reason="why")
    _, [letter] = apply(rows((NEW, None, 99_999)), bad)
    assert letter.reason == "id: why; n: SMALLINT does not hold it"
    assert json.loads(letter.row) == {"id": "?", "n": "99999"}


def test_nothing_is_appended_of_a_dead_row() -> None:
    """Without a key an insert is left out; an update is no row to append, yet still a change."""
    assert apply(rows((NEW, 1, 99_999), (UPD, 2, 99_999), (NEW, 3, 3)), upserts=False)[0] == [
        (2, 99_999, DEL),
        (3, 3, NEW),
    ]


def test_a_deleted_row_of_a_target_without_a_key_stops_nothing() -> None:
    """None of its values is ever appended."""
    stopping = {"policy": OnValueError.STOP, "upserts": False}
    assert apply(rows((NEW, 1, 5), (DEL, 2, 99_999)), **stopping) == ([(1, 5, NEW), (2, 99_999, DEL)], ())


def test_null_takes_the_place_of_a_value() -> None:
    """Where the target allows it; the row stays."""
    assert apply(rows((UPD, 1, 99_999), (NEW, 2, 2)), policy=OnValueError.NULL) == ([(1, None, UPD), (2, 2, NEW)], ())


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ((Bound(column="n", nullable=False, type=SMALLINT),), "it is NOT NULL"),
        ((Bound(column="n", nullable=True, key=True, type=SMALLINT),), "it is in the key"),
    ],
)
def test_null_is_refused_where_it_cannot_stand(bounds: tuple[Bound, ...], reason: str) -> None:
    """The error names the value and why NULL is none."""
    with pytest.raises(SyncError, match=reason) as caught:
        apply(rows((UPD, 1, 99_999)), policy=OnValueError.NULL, bounds=bounds)
    assert caught.value.code is Code.SOURCE_VALUE


def test_stop_stops_at_a_value_beyond() -> None:
    """With the column, the value and the type."""
    with pytest.raises(SyncError, match=r"'n' of table 'shop\.t' holds 99999"):
        apply(rows((UPD, 1, 99_999)), policy=OnValueError.STOP)


@pytest.mark.parametrize("policy", OnValueError)
def test_only_inserts_are_judged_where_other_changes_are_ignored(policy: OnValueError) -> None:
    """A target without a key that ignores updates takes none of their values."""
    given = rows((NEW, 1, 5), (UPD, 2, 99_999), (DEL, 3, 99_999))
    rules = ValueRules(policy=policy, bounds=(RULES.bounds[1],), upserts=False, inserts=True)
    kept, letters = settled(given, (), rules, token="t", table="shop.t")
    assert (kept["n"].to_pylist(), letters) == ([5, 99_999, 99_999], ())
