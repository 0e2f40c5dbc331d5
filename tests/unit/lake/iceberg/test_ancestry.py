"""What happened to a table since a channel's last commit."""

import pytest

from syncmgr.job.channel.shard import Part
from syncmgr.lake.iceberg.ancestry import (
    DATA_FILES,
    EPOCH_MARK,
    PART_MARK,
    UPKEEP_MARK,
    has_gone,
    has_others_rows,
    is_replaced,
)
from syncmgr.lake.iceberg.layout import Snapshot

OURS, OTHERS = "me:2", "you:9"
FIRST = Snapshot(id=1, parent=None, operation="append", marks={})


def history(*snapshots: tuple[int, dict[str, str], str]) -> list[Snapshot]:
    """Newest first; the oldest follows one that was expired."""
    return [
        Snapshot(id=number, parent=number - 1, operation=operation, marks=marks)
        for number, marks, operation in snapshots
    ]


@pytest.mark.parametrize(
    ("why", "snapshots", "replaced", "others"),
    [
        ("nothing since", history((5, {EPOCH_MARK: OURS}, "overwrite")), False, False),
        ("a fold", history((6, {UPKEEP_MARK: "fold"}, "delete"), (5, {}, "append")), False, False),
        ("a compaction", history((6, {}, "replace"), (5, {}, "append")), False, False),
        ("somebody's insert", history((6, {}, "append"), (5, {}, "append")), False, True),
        ("another job's epoch", history((6, {EPOCH_MARK: OTHERS}, "overwrite"), (5, {}, "append")), False, True),
        ("another part", history((6, {PART_MARK: "theirs"}, "append"), (5, {}, "append")), False, False),
        ("expired, ours is left", history((9, {EPOCH_MARK: OURS}, "append"), (8, {}, "replace")), False, True),
        ("expired, a rewrite is left", history((9, {}, "replace")), False, True),
        ("rolled back to our older epoch", history((4, {EPOCH_MARK: "me:1"}, "append")), True, True),
        ("expired, none of ours is left", history((9, {}, "append")), False, True),
        ("emptied since", history((9, {DATA_FILES: "0"}, "delete"), (8, {}, "append")), False, False),
        ("without a snapshot", [], True, False),
        ("begun anew", [FIRST], True, True),
        (
            "rolled back to before a chunk of our epoch",
            [Snapshot(id=1, parent=None, operation="append", marks={EPOCH_MARK: OURS})],
            True,
            False,
        ),
    ],
)
def test_since_the_last_commit(why: str, snapshots: list[Snapshot], *, replaced: bool, others: bool) -> None:
    """Rows that others may have written are told from upkeep, expiry from a table that was rolled back."""
    part = Part(column="db", value="mine")
    assert is_replaced(snapshots, token="me", epoch=2, last_snapshot=5) is replaced, why
    assert has_others_rows(snapshots, token="me", last_snapshot=5, part=part) is others, why


def test_before_the_first_commit() -> None:
    """Whatever is in the table then was written by others; nothing of ours can have gone."""
    assert not has_others_rows([], token="me", last_snapshot=None)
    assert has_others_rows([FIRST], token="me", last_snapshot=None)
    assert not is_replaced([FIRST], token="me", epoch=0, last_snapshot=None)


@pytest.mark.parametrize(
    ("why", "snapshots", "gone"),
    [
        ("it is there", history((6, {}, "replace"), (5, {EPOCH_MARK: OURS}, "append")), False),
        ("an older one of ours is the newest", history((6, {}, "replace"), (4, {EPOCH_MARK: "me:1"}, "append")), True),
        ("expired, none of ours is left", history((9, {EPOCH_MARK: OTHERS}, "append")), False),
        ("known from its beginning", [FIRST], True),
        ("without a snapshot", [], True),
    ],
)
def test_an_epoch_that_the_token_tells(why: str, snapshots: list[Snapshot], *, gone: bool) -> None:
    """Its snapshot has been rolled back where the history is known without it; one that was cut off does not tell."""
    assert has_gone(snapshots, token="me", epoch=2) is gone, why
