"""For which snapshot a key index holds."""

import pytest

from syncmgr.lake.iceberg.layout import Field
from syncmgr.lake.index.index import TableIndex
from syncmgr.lake.index.keys import KeyShape

SHAPE = KeyShape(fields=(Field(id=1, name="id", type="long", required=True),))


def at(snapshot: int) -> TableIndex:
    index = TableIndex(SHAPE)
    index.advanced(None, snapshot, lambda: None)
    return index


def test_an_index_moves_with_a_commit() -> None:
    """It holds for a snapshot that follows the one for which it held."""
    index = at(4)
    index.advanced(4, 5, lambda: None)
    assert index.snapshot == 5


def test_an_index_stays_where_somebody_came_between() -> None:
    """A snapshot whose parent is another one leaves the index as it was, and holding for nothing."""
    index, moved = at(4), list[int]()
    index.advanced(7, 8, lambda: moved.append(1))
    assert (index.snapshot, moved) == (None, [])


def test_an_index_that_was_changed_in_part_holds_for_nothing() -> None:
    """Whoever looks while it moves, or after that has failed, finds none that holds."""
    index = at(4)

    def fail() -> None:
        assert index.snapshot is None
        raise OSError

    with pytest.raises(OSError):
        index.advanced(4, 5, fail)
    assert index.snapshot is None
