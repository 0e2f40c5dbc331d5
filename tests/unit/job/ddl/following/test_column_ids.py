"""Which columns of the lake a channel fills, and how its own statements change that."""

import pytest

from syncmgr.job.ddl.following.column_ids import (
    carried,
    columns_text,
    completed,
    ids_of,
    known_columns,
    recalled,
    replaced_column,
)
from syncmgr.job.ddl.lake_change import AddField, DropField, LakeChange, MoveField, RenameField
from syncmgr.job.types.schema import TargetType

KNOWN = {"id": 1, "v": 2, "w": 3}
BIGINT = TargetType(name="BIGINT")


@pytest.mark.parametrize(
    ("now", "changes", "column"),
    [
        (KNOWN, (), None),
        ({"id": 1, "v": 9, "w": 3}, (), "v"),
        ({"id": 1, "v": 3, "w": 2}, (), "v"),
        ({"id": 1, "w": 3}, (), None),
        ({**KNOWN, "x": 7}, (), None),
        ({"id": 1, "v": 9, "w": 3}, (AddField(name="V", type=BIGINT),), None),
        ({"id": 1, "v": 9, "w": 3}, (RenameField(old="w", new="v"),), None),
        ({"id": 1, "v": 9, "w": 3}, (DropField(name="w"),), "v"),
    ],
)
def test_which_column_was_replaced(now: dict[str, int], changes: tuple[LakeChange, ...], column: str | None) -> None:
    """One of the same name with another id, unless a statement of ours is about it; one that is missing is not."""
    assert replaced_column(KNOWN, now, changes) == column


@pytest.mark.parametrize(
    ("changes", "added", "after"),
    [
        ((), {}, KNOWN),
        ((MoveField(name="w", after="id"),), {}, KNOWN),
        ((DropField(name="V"),), {}, {"id": 1, "w": 3}),
        ((RenameField(old="v", new="w"), RenameField(old="W", new="v")), {}, {"id": 1, "w": 2, "v": 3}),
        ((DropField(name="v"), AddField(name="v", type=BIGINT)), {"v": 4}, {"id": 1, "w": 3, "v": 4}),
        ((DropField(name="v"), RenameField(old="w", new="v")), {}, {"id": 1, "v": 3}),
    ],
)
def test_what_our_own_statements_make_of_them(
    changes: tuple[LakeChange, ...], added: dict[str, int], after: dict[str, int]
) -> None:
    """Drops come first, then renames, all at once, then columns that are added."""
    assert carried(KNOWN, changes, {**KNOWN, **added}) == after


def test_how_they_are_kept() -> None:
    """As a text, the same for the same columns; none is known of a table without one."""
    assert known_columns(columns_text({"w": 3, "id": 1})) == {"id": 1, "w": 3}
    assert columns_text({"w": 3, "id": 1}) == columns_text({"id": 1, "w": 3})
    assert known_columns(None) == {}
    assert ids_of([("ID", 1), ("Wert", 2)]) == {"id": 1, "wert": 2}


@pytest.mark.parametrize("text", ["abc", "[1]", "null", "1", '{"v": "2"}', '{"v": 1.5}', '{"v": true}'])
def test_what_is_kept_is_not_guessed(text: str) -> None:
    """A text that `columns_text` cannot have written is none."""
    with pytest.raises(ValueError):
        known_columns(text)


@pytest.mark.parametrize(
    ("seen", "ever", "known"),
    [
        (KNOWN, [("v", 2), ("v", 9)], KNOWN),
        (KNOWN, [("x", 5), ("X", 4), ("v", 2)], {**KNOWN, "x": 4}),
        ({"id": 1, "v": 4}, [("w", 2), ("w", 5)], {"id": 1, "v": 4, "w": 5}),
        ({}, [("id", 1), ("v", 9), ("v", 2)], {"id": 1, "v": 2}),
    ],
)
def test_what_a_table_that_says_nothing_shows(
    seen: dict[str, int], ever: list[tuple[str, int]], known: dict[str, int]
) -> None:
    """Its columns at the last commit, and of what came later the first of each name; what was gone by then is not
    meant.
    """
    assert recalled(seen, ever) == known


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ({}, KNOWN),
        (KNOWN, KNOWN),
        ({"id": 1}, KNOWN),
        ({"id": 1, "v": 9}, {"id": 1, "v": 9, "w": 3}),
        ({"id": 1, "x": 2}, {"id": 1, "x": 2, "w": 3}),
    ],
)
def test_what_a_table_that_says_a_part_shows(told: dict[str, int], known: dict[str, int]) -> None:
    """What it does not say as at the last commit, unless it says another name of that column."""
    assert completed(told, KNOWN) == known
