"""Rows of MySQL's binary protocol -> the cells of each column, all rows of a buffer in lockstep.

Owns: the layout of such rows.
Must not know: connections, what a cell means.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from syncmgr.job.types.cells import Bools, Ints
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.chunk.row_buffer import Rows
from syncmgr.sources.mysql.values.cells import Cells
from syncmgr.sources.mysql.wire import MalformedEventError

FIXED: Final = {
    wire.TINY: 1,
    wire.SHORT: 2,
    wire.YEAR: 2,
    wire.INT24: 4,
    wire.LONG: 4,
    wire.LONGLONG: 8,
    wire.FLOAT: 4,
    wire.DOUBLE: 8,
}
MOMENTS: Final = frozenset({wire.DATE, wire.DATETIME, wire.TIMESTAMP})  # their size is one byte
SIZED: Final = frozenset(
    {0, wire.VARCHAR, wire.VAR_STRING, wire.STRING, wire.NEWDECIMAL, wire.JSON, wire.GEOMETRY, wire.VECTOR}
    | {wire.TINY_BLOB, wire.BLOB, wire.MEDIUM_BLOB, wire.LONG_BLOB, wire.BIT, wire.ENUM, wire.SET}
)  # 0 is the decimal of old
FIRST_BIT: Final = 2  # of the bitmap of NULLs
SHORT_SIZE: Final = 251  # from which on a size takes more than its first byte
MOST_SIZE: Final = 2**31
_WIDTHS: Final = np.array([0, 2, 3, 8, 0])  # bytes of a size after its first one, from 251 on; 0: it is none
_MASKS: Final = np.array([2 ** (8 * width) - 1 for width in range(9)], np.uint64)


def is_known(code: int) -> bool:
    return code in FIXED or code in MOMENTS or code in SIZED


def row_cells(rows: Rows, codes: Sequence[int]) -> list[Cells]:
    """Of each column; `codes`: their types, as the server has described them. Raises MalformedEventError."""
    try:
        return _cells(rows, codes)
    except IndexError as error:  # a cursor left the buffer
        raise MalformedEventError("a row that reaches past its packet") from error


def _cells(rows: Rows, codes: Sequence[int]) -> list[Cells]:
    data, bitmap = rows.data, rows.begins + 1
    size = (len(codes) + FIRST_BIT + 7) // 8
    at, nulls, found = bitmap + size, _Nulls(rows, bitmap), list[Cells]()
    for place, code in enumerate(codes):
        null, start, sizes = nulls.of(place), at, None
        if code in FIXED:
            at = at + FIXED[code] if null is None else at + np.where(null, 0, FIXED[code])
        else:
            start, sizes = (at + 1, data[at].astype(np.int64)) if code in MOMENTS else _sized(rows, at, null)
            if null is not None:
                start, sizes = np.where(null, at, start), np.where(null, 0, sizes)
            at = start + sizes
            if (at > rows.ends).any():
                raise MalformedEventError("a row that reaches past its packet")
        found.append(Cells(data=data, start=start, size=sizes, valid=None if null is None else ~null))
    if (at != rows.ends).any():
        raise MalformedEventError("a row that does not end where its packet does")
    return found


class _Nulls:
    """The bitmaps of all rows, a byte at a time."""

    def __init__(self, rows: Rows, bitmap: Ints) -> None:
        self._rows, self._bitmap = rows, bitmap
        self._place, self._bytes, self._any = -1, np.zeros(0, np.uint8), False

    def of(self, column: int) -> Bools | None:
        """Where it is NULL; None: nowhere."""
        place, bit = divmod(column + FIRST_BIT, 8)
        if place != self._place:
            self._place, self._bytes = place, self._rows.data[self._bitmap + place]
            self._any = bool(self._bytes.any())
        if not self._any:
            return None
        null: Bools = self._bytes >> bit & 1 == 1
        return null if null.any() else None


def _sized(rows: Rows, at: Ints, null: Bools | None) -> tuple[Ints, Ints]:
    """Where each cell begins, and its size."""
    sizes, start = rows.data[at].astype(np.int64), at + 1
    wide = sizes >= SHORT_SIZE if null is None else (sizes >= SHORT_SIZE) & ~null
    if wide.any():
        places = np.flatnonzero(wide)
        first, begin = sizes[places], start[places]
        width = _WIDTHS[first - SHORT_SIZE]
        stated = Cells(data=rows.data, start=begin, size=None, valid=None).read("<u8") & _MASKS[width]
        if not width.all() or (stated >= MOST_SIZE).any():
            raise MalformedEventError("a bad length in a row")
        sizes[places], start[places] = stated.astype(np.int64), begin + width
    return start, sizes
