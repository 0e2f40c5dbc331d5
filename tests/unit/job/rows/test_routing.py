import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.rows.batch import OP, ChangeKind
from syncmgr.job.rows.routing import ColumnPlan, Image, change_table, split_updates
from syncmgr.job.types.cells import Bools, Ints

EVENTS = st.lists(st.sampled_from(["insert", "delete", "update", "move"]))


@given(EVENTS)
def test_updates_that_move_the_key_are_two_changes(events: list[str]) -> None:
    """Inserts and deletes stay, an update is its new image, and a moved one is a delete and then an insert."""
    images, wanted, changed = [], [], []
    for event in events:
        at = len(images)
        match event:
            case "insert":
                images.append(Image.INSERTED)
                wanted.append((at, ChangeKind.INSERT))
            case "delete":
                images.append(Image.DELETED)
                wanted.append((at, ChangeKind.DELETE))
            case _:
                images += [Image.BEFORE, Image.AFTER]
                changed.append(event == "move")
                if event == "move":
                    wanted += [(at, ChangeKind.DELETE), (at + 1, ChangeKind.INSERT)]
                else:
                    wanted.append((at + 1, ChangeKind.UPDATE))
    kept, kinds = split_updates(np.array(images, np.int8), np.array(changed, np.bool_))
    assert list(zip(kept.tolist(), kinds.tolist(), strict=True)) == wanted


def test_a_null_key_equals_a_null_key() -> None:
    """An update that leaves a NULL in the key is one change; one that sets or clears it is two."""
    images = np.array([Image.BEFORE, Image.AFTER] * 3, np.int8)
    keys = pa.array([None, None, None, 1, 1, None])

    def column(_place: int, kept: Ints | None, _idle: Bools | None) -> pa.Array:
        return keys if kept is None else keys.take(pa.array(kept))

    made = change_table(images, [ColumnPlan(name="k", key=True)], column)
    assert made["k"].to_pylist() == [None, None, 1, 1, None]
    assert made[OP].to_pylist() == [1, 2, 0, 2, 0]


def test_only_what_stands_beside_the_key_of_a_deleted_row_is_idle() -> None:
    """Columns of the key are decoded for every image; the others for what is kept, with the deletes marked."""
    seen: list[tuple[int, list[int] | None, list[bool] | None]] = []

    def column(place: int, kept: Ints | None, idle: Bools | None) -> pa.Array:
        seen.append((place, None if kept is None else kept.tolist(), None if idle is None else idle.tolist()))
        return pa.array([1] * (4 if kept is None else len(kept)))

    images = np.array([Image.DELETED, Image.BEFORE, Image.AFTER, Image.INSERTED], np.int8)
    change_table(images, [ColumnPlan(name="v", key=False), ColumnPlan(name="k", key=True)], column)
    assert seen == [(1, None, None), (0, [0, 2, 3], [True, False, False])]


def test_nothing_of_a_deleted_row_is_read_where_there_is_no_key() -> None:
    """A value in it that no type holds is no reason to stop."""
    seen: list[list[bool] | None] = []

    def column(_place: int, _kept: Ints | None, idle: Bools | None) -> pa.Array:
        seen.append(None if idle is None else idle.tolist())
        return pa.array([1, 1])

    change_table(np.array([Image.DELETED, Image.INSERTED], np.int8), [ColumnPlan(name="v", key=False)], column)
    assert seen == [[True, False]]


def test_only_inserts_are_read_where_other_changes_are_ignored() -> None:
    """A value that no type holds in a row that nobody takes is no reason to stop."""
    seen: list[list[bool] | None] = []

    def column(_place: int, kept: Ints | None, idle: Bools | None) -> pa.Array:
        seen.append(None if idle is None else idle.tolist())
        return pa.array([1] * (4 if kept is None else len(kept)))

    images = np.array([Image.DELETED, Image.BEFORE, Image.AFTER, Image.INSERTED], np.int8)
    change_table(images, [ColumnPlan(name="v", key=False)], column, inserts=True)
    assert seen == [[True, True, False]]
