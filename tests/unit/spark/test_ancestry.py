"""What happened to a table since a channel's last commit."""

import pytest

from syncmgr.spark.ancestry import EPOCH_MARK, UPKEEP_MARK, Standing, standing
from syncmgr.spark.layout import Snapshot

OURS, OTHERS = "me:2", "you:9"


def history(*snapshots: tuple[int, dict[str, str], str]) -> list[Snapshot]:
    """Newest first; the oldest follows one that was expired."""
    return [
        Snapshot(id=number, parent=number - 1, operation=operation, marks=marks)
        for number, marks, operation in snapshots
    ]


@pytest.mark.parametrize(
    ("why", "snapshots", "expected"),
    [
        ("nothing since", [(5, {EPOCH_MARK: OURS}, "overwrite")], (False, False)),
        ("a fold", [(6, {UPKEEP_MARK: "fold"}, "delete"), (5, {}, "append")], (False, False)),
        ("a compaction", [(6, {}, "replace"), (5, {}, "append")], (False, False)),
        ("somebody's insert", [(6, {}, "append"), (5, {}, "append")], (False, True)),
        ("another job's epoch", [(6, {EPOCH_MARK: OTHERS}, "overwrite"), (5, {}, "append")], (False, True)),
        ("expired, our epoch is left", [(9, {EPOCH_MARK: OURS}, "append"), (8, {}, "replace")], (False, False)),
        ("rolled back to our older epoch", [(4, {EPOCH_MARK: "me:1"}, "append")], (True, False)),
        ("expired, none of ours is left", [(9, {}, "append")], (False, True)),
        ("emptied", [], (True, False)),
        ("begun anew", [(1, {}, "append")], (True, True)),
    ],
)
def test_standing(why: str, snapshots: list[tuple[int, dict[str, str], str]], expected: tuple[bool, bool]) -> None:
    """Rows that others wrote are told from upkeep, expiry from a table that was rolled back."""
    found = history(*snapshots)
    if why == "begun anew":
        found = [Snapshot(id=1, parent=None, operation="append", marks={})]
    replaced, foreign = expected
    assert Standing(replaced=replaced, foreign=foreign) == standing(found, token="me", epoch=2, last_snapshot=5), why


def test_before_the_first_commit() -> None:
    """Whatever is in the table then was written by others."""
    nothing = standing([], token="me", epoch=0, last_snapshot=None)
    rows = standing(history((1, {}, "append")), token="me", epoch=0, last_snapshot=None)
    assert (nothing.foreign, rows.foreign) == (False, True)
    assert not rows.replaced
