"""Which row images become change rows.

Owns: the rule that an update of the key is a delete and an insert.
Must not know: how an image is encoded, where it came from.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from syncmgr.job.batch import ChangeKind


class Image(IntEnum):
    """What a row image shows; an update has a BEFORE and, right behind it, an AFTER."""

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
