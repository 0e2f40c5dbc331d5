"""Cells of one column in a buffer, before they have a type.

Owns: picking slices of a buffer into an Arrow array; the error of a value that Arrow cannot hold.
Must not know: how a value is encoded, where the buffer came from.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class UnholdableError(ValueError):
    """A value that the column's Arrow type cannot hold, or that cannot be represented exactly."""

    def __init__(self, shown: str, reason: str) -> None:
        super().__init__(f"{shown}: {reason}")
        self.shown = shown
        self.reason = reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Unheld:
    """Such a value, which is NULL in row number `row`. `shown`: the value as far as it can be shown."""

    row: int
    column: str
    shown: str
    reason: str


def validity(valid: Bools | None) -> pa.Buffer | None:
    """Arrow's bitmap, None if nothing is NULL."""
    if valid is None or valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def slices(data: NDArray[np.uint8], start: Ints, size: Ints, valid: Bools | None) -> pa.Array:
    """As binary: [begin, end, begin, end, ...] over the buffer is an array of which every other cell is a value.

    Those are monotonic if the cells are in stream order, and then Arrow picks the values by itself.
    """
    count = len(start)
    size = size if valid is None else np.where(valid, size, 0)
    edges = np.empty(2 * count + 1, np.int32)
    edges[0 : 2 * count : 2] = start
    edges[1 : 2 * count : 2] = start + size
    edges[2 * count] = edges[2 * count - 1] if count else 0
    both = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(edges), pa.py_buffer(data)])
    picked = both.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)))
    return pa.Array.from_buffers(pa.binary(), count, [validity(valid), *picked.buffers()[1:]])
