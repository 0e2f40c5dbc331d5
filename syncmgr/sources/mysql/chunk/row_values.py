"""Cells of MySQL's binary protocol -> an Arrow array in the type of a segment, vectorised.

Owns: which encoding each column type may have there, how it is read, which values Arrow cannot hold.
Must not know: connections, packets, rows.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from syncmgr.job.types.cells import Ints, UnholdableError, slices
from syncmgr.job.types.schema import INTEGER_BITS, SourceColumn, arrow_type
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.chunk.row_cells import FIXED, MOMENTS, SIZED
from syncmgr.sources.mysql.values import dates
from syncmgr.sources.mysql.values.cells import Cells, array
from syncmgr.sources.mysql.wire import MalformedEventError

SHOWN: Final = 32  # bytes of what is not text
INTEGERS: Final = frozenset(FIXED) - {wire.FLOAT, wire.DOUBLE}
_MOMENT: Final = {"date": wire.DATE, "datetime": wire.DATETIME, "timestamp": wire.TIMESTAMP}
_MOMENT_BYTES: Final = np.array([0, 4, 7, 11])  # without a time of day, without a fraction


class OtherTypeError(Exception):
    """The server sends a column in a type that is not the one the column had."""


def check_sent(column: SourceColumn, code: int) -> None:
    """Whether the server sends a selected column as what it is. Raises OtherTypeError."""
    match column.type:
        case "float" | "double":
            fits = code == wire.DOUBLE
        case word if word in _MOMENT:
            fits = code == _MOMENT[word]
        case word if word in INTEGER_BITS or word in {"year", "bit"}:
            fits = code in INTEGERS
        case _:
            fits = code in SIZED
    if not fits:
        raise OtherTypeError(f"the server sends column '{column.name}', which is {column.text}, as its type {code}")


def values(column: SourceColumn, code: int, cells: Cells, *, unsigned: bool) -> pa.Array:
    """In `schema.arrow_type`. `code` and `unsigned`: as the server has described it; see check_sent.

    Cells without a value that Arrow can hold are NULL, and put into `cells.unheld`. Raises UnholdableError for what no
    server sends.
    """
    if code in MOMENTS:
        return _moment(column, cells)
    kind = arrow_type(column)
    if code in FIXED:
        return _cast(_number(code, cells, unsigned=unsigned), kind)
    assert cells.size is not None
    raw = slices(cells.data, cells.start, cells.size, cells.valid)
    if pa.types.is_binary(kind):
        return raw
    return _text(raw) if pa.types.is_string(kind) else _cast(raw.view(pa.string()), kind)


def _number(code: int, cells: Cells, *, unsigned: bool) -> pa.Array:
    if code in {wire.FLOAT, wire.DOUBLE}:
        return array(pa.float64(), cells.read("<f8"), cells.valid)
    read = cells.read(f"<{'u' if unsigned or code == wire.YEAR else 'i'}{FIXED[code]}")
    return array(pa.from_numpy_dtype(read.dtype), read, cells.valid)


def _cast(found: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_float32(kind):
        return found.cast(kind, safe=False)  # a FLOAT, as a double: nothing is lost
    try:
        return found if found.type == kind else found.cast(kind)
    except pa.ArrowInvalid as error:
        raise UnholdableError("a value", f"it is no {kind}") from error


def _text(raw: pa.Array) -> pa.Array:
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        shown = next(value for value in raw.to_pylist() if value is not None and not _is_text(value))
        raise UnholdableError(f"the bytes {shown[:SHOWN].hex()}", "they are no utf8mb4 text") from None


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _moment(column: SourceColumn, cells: Cells) -> pa.Array:
    """Year 2, month, day, hour, minute, second, microsecond 4; from the right, what is 0 may be left out."""
    size = cells.size
    assert size is not None
    if not np.isin(size, _MOMENT_BYTES).all():
        raise MalformedEventError("a date of a bad length")
    word = cells.read("<u8")
    dated, timed = size >= 4, size >= 7
    year, month, day = (np.where(dated, _bits(word, at, bits), 0) for at, bits in ((0, 16), (16, 8), (24, 8)))
    hour, minute, second = (np.where(timed, _bits(word, at, 8), 0) for at in (32, 40, 48))
    micros = np.where(size == 11, cells.read("<u4", 7).astype(np.int64), 0)

    def shown(i: int) -> str:
        text = f"{year[i]:04d}-{month[i]:02d}-{day[i]:02d}"
        return text if column.type == "date" else f"{text} {hour[i]:02d}:{minute[i]:02d}:{second[i]:02d}"

    bad = dates.no_date(year, np.minimum(month, 15), day) | (hour > 23) | (minute > 59) | (second > 59)
    valid = cells.holding(bad | (micros > 999_999), shown, dates.NO_DATE)
    days = dates.days(year, month, day)
    if column.type == "date":
        return array(pa.date32(), days.astype(np.int32), valid)
    return array(arrow_type(column), (days * 86400 + hour * 3600 + minute * 60 + second) * 1_000_000 + micros, valid)


def _bits(word: Any, at: int, bits: int) -> Ints:  # noqa: ANN401 - numpy calls it so
    return (word >> np.uint64(at) & np.uint64((1 << bits) - 1)).astype(np.int64)  # type: ignore[no-any-return]
