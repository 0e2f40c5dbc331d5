"""For which snapshot a key index holds, and what it keeps on disk."""

import json
from pathlib import Path

import pytest
from pyroaring import BitMap

from syncmgr.lake.iceberg.layout import Field
from syncmgr.lake.iceberg.snapshot_files import ContentFile, ContentFiles
from syncmgr.lake.index.index import IndexedFile, TableIndex, refuse_unknown_reach
from syncmgr.lake.index.index_store import IndexStore, picture
from syncmgr.lake.index.keys import KeyShape, UnindexableError

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


def data_file(name: str) -> IndexedFile:
    return IndexedFile(
        content=ContentFile(path=name, rows=3, bytes=10, sequence=1, text=json.dumps({})), dead=BitMap([0])
    )


def test_only_rows_that_are_alive_are_loaded_as_pending(tmp_path: Path) -> None:
    """What an earlier version saved of deletes that were settled by then, or whose file has gone, is left out."""
    index = at(4)
    index.files, index.numbers = {0: data_file("a"), 1: data_file("b")}, {"a": 0, "b": 1}
    index.pending = {0: BitMap([0, 2]), 1: BitMap([0]), 5: BitMap()}
    store = IndexStore(tmp_path, "uuid")
    store.save(picture(index), SHAPE)
    loaded = store.load(SHAPE)
    assert loaded is not None
    assert loaded.pending == {0: BitMap([2])}


def deletes(spec: int, *partition: int | None) -> ContentFile:
    return ContentFile(
        path="d", rows=1, bytes=1, sequence=2, text=json.dumps({"spec-id": spec, "partition": partition})
    )


@pytest.mark.parametrize(
    ("gone", "there", "known"),
    [
        (deletes(0), deletes(1, 7), True),
        (deletes(1, 7), deletes(1, 8), True),
        (deletes(1, None, 7), deletes(1, 8, 7), True),
        (deletes(1, None), deletes(1, None), True),
        (deletes(1, None), deletes(1, 8), False),
        (deletes(1, None), deletes(0), False),
    ],
)
def test_what_an_equality_delete_reaches(gone: ContentFile, there: ContentFile, *, known: bool) -> None:
    """Its own partition, or all; which of the two is not known of NULL alone, if there are others."""
    contents = ContentFiles(snapshot=1, data=(there,), equality=(gone,))
    if known:
        refuse_unknown_reach(contents)
        return
    with pytest.raises(UnindexableError):
        refuse_unknown_reach(contents)
