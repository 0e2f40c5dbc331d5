"""Cells of one column in the binlog's own encoding, and how Arrow arrays are made of what they hold.

Owns: where cells are, how numbers are read from them, what happens to those that Arrow cannot hold.
Must not know: the encoding of any type, events, rows, tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncmgr.job.types.cells import Bools, Ints, UnholdableError, validity

PADDING: Final = 64  # bytes after the last event: a NULL at its end may be read as if it were a value of 30 bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Cells:
    """n cells of one column. `start`: where in `data` each begins; `size`: bytes of each, None if all are equal.

    `valid`: False where NULL, None if nothing is NULL. `idle`: True where the value is never read (the columns of a
    deleted row besides its key): an unholdable value there is NULL. `exact`: a text must be recoverable from the
    result. `data` is padded by PADDING bytes. `unheld`: receives the place, the text and the reason of each unholdable
    value, which is then NULL; None: the first is an error.
    """

    data: NDArray[np.uint8]
    start: Ints
    size: Ints | None
    valid: Bools | None
    idle: Bools | None = None
    exact: bool = False
    unheld: list[tuple[int, str, str]] | None = None

    def __len__(self) -> int:
        return len(self.start)

    def read(self, dtype: str, shift: int = 0) -> NDArray[Any]:
        """One number of `dtype` at each cell's begin."""
        kind = np.dtype(dtype)
        count = max(len(self.data) - kind.itemsize + 1, 0)
        every = np.ndarray((count,), kind, self.data.data, 0, (1,))
        return every[self.start + shift]

    def big(self, width: int, shift: int = 0) -> Ints:
        """An unsigned big-endian number of up to 7 bytes."""
        return (self.read(">u8", shift) >> np.uint64(8 * (8 - width))).astype(np.int64)

    def little(self, width: int) -> Ints:
        """An unsigned little-endian number of up to 7 bytes."""
        return (self.read("<u8") & np.uint64((1 << (8 * width)) - 1)).astype(np.int64)

    def holding(self, bad: Bools, show: Callable[[int], str], reason: str) -> Bools | None:
        """The validity without unholdable cells. Raises UnholdableError for the first that is read."""
        if self.valid is not None:
            bad = bad & self.valid
        if not bad.any():
            return self.valid
        seen = bad if self.idle is None else bad & ~self.idle
        places = np.flatnonzero(seen).tolist()
        if places and self.unheld is None:
            raise UnholdableError(show(places[0]), reason)
        if self.unheld is not None:
            self.unheld.extend((place, show(place), reason) for place in places)
        return ~bad if self.valid is None else self.valid & ~bad


def array(kind: pa.DataType, values: NDArray[Any], valid: Bools | None) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), buffers(values, valid))


def buffers(values: NDArray[Any], valid: Bools | None) -> list[Any]:
    return [validity(valid), pa.py_buffer(np.ascontiguousarray(values))]


def of_labels(of: NDArray[Any], labels: pa.Array, valid: Bools | None) -> pa.Array:
    places = pa.array(of.astype(np.int32).reshape(-1), mask=None if valid is None else ~valid)
    return labels.take(places)
