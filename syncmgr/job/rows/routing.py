"""Which row images become change rows.

Owns: the rule that an update of the key is a delete and an insert, and that only the key of a deleted row is read.
Must not know: how an image is encoded, where it came from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncmgr.job.rows.batch import OP, ChangeKind
from syncmgr.job.types.cells import Bools, Ints


class Image(IntEnum):
    """What a row image shows; an update has a BEFORE and, right after it, an AFTER."""

    INSERTED = 0
    BEFORE = 1
    AFTER = 2
    DELETED = 3


def split_updates(
    images: NDArray[np.int8],
    key_changed: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """The images to keep, in order, and the ChangeKind of each.

    `images`: an Image per row image. `key_changed`: one per update, in order. An update that moved its key is a
    DELETE of the old image and then an INSERT of the new one; any other update is its new image alone.
    """
    kinds = np.full(len(images), ChangeKind.INSERT, np.int8)
    kinds[images == Image.DELETED] = ChangeKind.DELETE
    keep = np.ones(len(images), np.bool_)
    before = np.flatnonzero(images == Image.BEFORE)
    keep[before] = key_changed
    kinds[before] = ChangeKind.DELETE
    kinds[before + 1] = np.where(key_changed, ChangeKind.INSERT, ChangeKind.UPDATE)
    kept = np.flatnonzero(keep)
    return kept, kinds[kept]


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnPlan:
    """A column of the change rows, and whether it belongs to the target's key."""

    name: str
    key: bool


def change_table(
    images: NDArray[np.int8],
    columns: Sequence[ColumnPlan],
    decode: Callable[[int, Ints | None, Bools | None], pa.Array],
    *,
    inserts: bool = False,
) -> pa.Table:
    """The change rows of row images: `columns` in their order, and `_op`. `inserts`: nothing is read of others.

    `decode(column, kept, idle)`: that column of the images `kept` (None: of all); where `idle`, the value is never
    read.
    """
    updated = np.flatnonzero(images == Image.BEFORE)
    arrays = {place: decode(place, None, None) for place, column in enumerate(columns) if column.key}
    changed = np.zeros(len(updated), np.bool_)
    for key in arrays.values():
        if len(updated):
            changed |= _differ(key, updated)
    kept, kinds = split_updates(images, changed)
    everything = len(kept) == len(images)
    # without a key nothing is deleted, whatever append_on_change says
    idle = kinds != ChangeKind.INSERT if inserts else kinds == ChangeKind.DELETE
    for place in range(len(columns)):
        if place not in arrays:
            arrays[place] = decode(place, None if everything else kept, idle)
        elif not everything:
            arrays[place] = arrays[place].take(pa.array(kept))
    return pa.table({**{column.name: arrays[place] for place, column in enumerate(columns)}, OP: pa.array(kinds)})


def _differ(key: pa.Array, before: Ints) -> Bools:
    """Which updates moved the key. A NULL in a key equals a NULL."""
    old, new = key.take(pa.array(before)), key.take(pa.array(before + 1))
    same = pc.equal(old, new).fill_null(False).to_numpy(zero_copy_only=False)
    if key.null_count:
        both = pc.and_(old.is_null(), new.is_null()).to_numpy(zero_copy_only=False)
        same = same | both
    return ~same  # type: ignore[no-any-return]
