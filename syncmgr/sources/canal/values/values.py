"""Cells of one column in canal's text -> an Arrow array, vectorised.

Owns: how canal spells the values of every column type, and which of them Arrow cannot hold.
Must not know: entries, rows, tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncmgr.job.source_history.logged import WHOLE_JSON
from syncmgr.job.types.cells import Bools, UnholdableError
from syncmgr.job.types.column_type import set_of
from syncmgr.job.types.schema import BYTES, GEOMETRY, MAX_DECIMAL_DIGITS, TEXT, SourceColumn, arrow_type
from syncmgr.sources.canal.values import json_text
from syncmgr.sources.canal.values.time_zone import to_utc

NO_CHARACTER: Final = "\ufffd"
NO_DATE: Final = "there is no such date"
PLAIN: Final = r"^-?\d+\.\d{1,%d}$"
SHOWN: Final = 64  # characters of a value in a message


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """n cells of one column, NULL where the source has NULL. `idle`: True where the value is never read.

    An unholdable value that is idle becomes NULL. `raw`: a text that canal sends as if it were bytes.
    """

    array: pa.Array  # string
    idle: Bools | None = None
    raw: bool = False

    def holding(self, bad: Bools, reason: str) -> pa.Array:
        """The cells without the bad ones, which must be idle. Raises UnholdableError for the first that is not."""
        seen = bad if self.idle is None else bad & ~self.idle
        if seen.any():
            shown: str = self.array[int(np.flatnonzero(seen)[0])].as_py()
            raise UnholdableError(shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}...", reason)
        if not bad.any():
            return self.array
        return self.array.take(pa.array(np.arange(len(bad)), mask=bad))  # the bad ones leave the buffer too


def convert(column: SourceColumn, texts: Texts, time_zone: str | None) -> pa.Array:
    """The cells in `schema.arrow_type(column)`. `time_zone`: of timestamps. Raises UnholdableError."""
    if column.type == "timestamp":
        assert time_zone is not None
        return _timestamp(texts, time_zone)
    return _converter(column)(column, texts)


Converter = Callable[[SourceColumn, Texts], pa.Array]


def _converter(column: SourceColumn) -> Converter:
    if column.type in TEXT:
        return _text
    if column.type in BYTES | GEOMETRY:
        return _padded if column.type == "binary" else _bytes
    return _BY_WORD.get(column.type, _number)


def _matching(array: pa.Array, pattern: str) -> Bools:
    """Which cells hold the pattern; a NULL does not."""
    found: Bools = pc.match_substring_regex(array, pattern).fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _matching_all(column: SourceColumn, texts: Texts, pattern: str) -> pa.Array:
    bad = ~_matching(texts.array, pattern) & texts.array.is_valid().to_numpy(zero_copy_only=False)
    return texts.holding(bad, f"it is no {column.text}")


def _cast(texts: Texts, kind: pa.DataType, reason: str) -> pa.Array:
    try:
        return texts.array.cast(kind)
    except pa.ArrowInvalid:
        bad = np.array([not _castable(value, kind) for value in texts.array], np.bool_)
        return texts.holding(bad, reason).cast(kind)


def _castable(value: pa.Scalar, kind: pa.DataType) -> bool:
    try:
        value.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _number(column: SourceColumn, texts: Texts) -> pa.Array:
    return _cast(texts, arrow_type(column), f"it is no {column.text}")


def _decimal(column: SourceColumn, texts: Texts) -> pa.Array:
    """Beyond Arrow's digits a text with all decimals, of which canal omits trailing zeros."""
    if column.precision <= MAX_DECIMAL_DIGITS:
        return _number(column, texts)
    scale = column.scale
    if not scale:
        return _matching_all(column, texts, r"^-?\d+$")
    parts = [value and value.split(".") for value in _matching_all(column, texts, PLAIN % scale).to_pylist()]
    return pa.array([part and f"{part[0]}.{part[1].ljust(scale, '0')}" for part in parts], pa.string())


def _since_year_one(texts: Texts, kind: pa.DataType) -> pa.Array:
    made = _cast(texts, kind, NO_DATE)
    before = _matching(texts.array, "^0000")
    return made if not before.any() else _cast(Texts(array=texts.holding(before, NO_DATE), idle=texts.idle), kind, "")


def _date(_column: SourceColumn, texts: Texts) -> pa.Array:
    return _since_year_one(texts, pa.date32())


def _datetime(_column: SourceColumn, texts: Texts) -> pa.Array:
    return _since_year_one(texts, pa.timestamp("us"))


def _timestamp(texts: Texts, time_zone: str) -> pa.Array:
    local = _since_year_one(texts, pa.timestamp("us"))
    made, unclear = to_utc(local, time_zone)
    if not unclear.any():
        return made
    texts.holding(unclear, f"that time came twice or never in {time_zone}; run canal's server in UTC")
    return pc.if_else(pa.array(~unclear), made, None)


def _time(column: SourceColumn, texts: Texts) -> pa.Array:
    fraction = rf"\.\d{{{column.precision}}}" if column.precision else ""
    return _matching_all(column, texts, rf"^-?\d{{2,3}}:[0-5]\d:[0-5]\d{fraction}$")


def _text(column: SourceColumn, texts: Texts) -> pa.Array:
    if texts.raw:
        try:
            return _bytes(column, texts).cast(pa.string())
        except pa.ArrowInvalid as error:
            raise UnholdableError("a text", "it is not UTF-8") from error
    if column.charset is not None:
        return texts.array
    bad = pc.match_substring(texts.array, NO_CHARACTER).fill_null(False).to_numpy(zero_copy_only=False)
    return texts.holding(bad, "canal could not read a character of it; convert the column to utf8mb4")


def _bytes(_column: SourceColumn, texts: Texts) -> pa.Array:
    """Canal treats each byte as a character of ISO-8859-1: in UTF-8 those from 0x80 on are C2 or C3 and one more
    byte.
    """
    array = texts.array
    data, offsets = _buffer(array)
    if not (data & 0x80).any():
        return array.cast(pa.binary())
    beyond = data > 0xC3
    if beyond.any():
        cells = np.searchsorted(offsets, np.flatnonzero(beyond), side="right") - 1
        bad = np.zeros(len(array), np.bool_)
        bad[cells] = True
        return _bytes(_column, Texts(array=texts.holding(bad, "these are no bytes"), idle=texts.idle))
    lead = data >= 0xC2
    high = np.concatenate([[False], data[:-1] == 0xC3])
    places = np.concatenate([[0], np.cumsum(~lead)]).astype(np.int32)
    made = (data + np.where(high, 0x40, 0).astype(np.uint8))[~lead]
    buffers = [_validity(array), pa.py_buffer(places[offsets]), pa.py_buffer(made)]
    return pa.Array.from_buffers(pa.binary(), len(array), buffers)


def _buffer(array: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """All bytes of the cells, and where each cell begins in them; one more offset for the end."""
    _, offsets_buffer, data = array.buffers()
    if not len(array) or data is None:
        return np.zeros(0, np.uint8), np.zeros(len(array) + 1, np.int32)
    offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]], offsets - offsets[0]


def _validity(array: pa.Array) -> pa.Buffer | None:
    return array.is_valid().buffers()[1] if array.null_count else None


def _padded(column: SourceColumn, texts: Texts) -> pa.Array:
    """BINARY(n) travels without its trailing zero bytes."""
    length = column.length
    made = _bytes(column, texts)
    data, offsets = _buffer(made)
    size = np.diff(offsets)
    if (size > length).any():
        shorter = texts.holding(size > length, f"it is no {column.text}")
        return _padded(column, Texts(array=shorter, idle=texts.idle))
    if not len(made) or (size == length).all():
        return made
    columns = np.arange(length)
    places = np.minimum(offsets[:-1, None] + columns, max(len(data) - 1, 0))
    source = data if len(data) else np.zeros(1, np.uint8)
    rows = np.where(columns < size[:, None], source[places], 0).astype(np.uint8)
    ends = np.arange(len(made) + 1, dtype=np.int32) * np.int32(length)
    return pa.Array.from_buffers(pa.binary(), len(made), [_validity(made), pa.py_buffer(ends), pa.py_buffer(rows)])


def _numbers(column: SourceColumn, texts: Texts) -> tuple[pa.Array, NDArray[np.uint64]]:
    made = _cast(texts, pa.uint64(), f"it is no number of a label of {column.text}")
    return made, made.fill_null(0).to_numpy(zero_copy_only=False)


def _enum(column: SourceColumn, texts: Texts) -> pa.Array:
    """0 is the empty string that MySQL stores for an invalid label."""
    made, numbers = _numbers(column, texts)
    known = len(column.members)
    return _labels(texts, made, numbers > known, known, numbers, ["", *column.members])


def _set(column: SourceColumn, texts: Texts) -> pa.Array:
    made, bits = _numbers(column, texts)
    known = len(column.members)
    beyond = bits >> np.uint64(known) != 0 if known < 64 else np.zeros(len(bits), np.bool_)
    different, of = np.unique(bits, return_inverse=True)
    labels = [set_of(m for i, m in enumerate(column.members) if int(value) >> i & 1) for value in different]
    return _labels(texts, made, beyond, known, of.reshape(-1), labels)


def _labels(
    texts: Texts, made: pa.Array, beyond: Bools, known: int, places: NDArray[Any], labels: list[str]
) -> pa.Array:
    texts.holding(beyond, f"its type has {known} labels")
    nothing = ~made.is_valid().to_numpy(zero_copy_only=False) | beyond
    chosen = pa.array(np.where(nothing, 0, places).astype(np.int32), mask=nothing)
    return pa.array(labels, pa.string()).take(chosen)


def _json(_column: SourceColumn, texts: Texts) -> pa.Array:
    """Most documents are written as in MySQL; canal writes nothing for the one that MySQL stores empty."""
    array = pc.if_else(pc.equal(texts.array, ""), "null", texts.array)
    whole = _matching(array, json_text.BEGINS) | array.is_null().to_numpy(zero_copy_only=False)
    array = Texts(array=array, idle=texts.idle).holding(~whole, f"it is no whole document; {WHOLE_JSON}")
    doubtful = np.flatnonzero(_matching(array, json_text.DOUBTFUL))
    if not len(doubtful):
        return array
    values = array.to_pylist()
    for cell in doubtful.tolist():
        idle = texts.idle is not None and bool(texts.idle[cell])
        values[cell] = _document(values[cell], idle=idle)
    return pa.array(values, pa.string())


def _document(text: str, *, idle: bool) -> str | None:
    try:
        return json_text.mysql_text(text)
    except json_text.UnclearError as error:
        shown, reason = error.shown, "in JSON canal writes a DATE like a DATETIME at midnight"
    except ValueError:
        shown, reason = text[:SHOWN], "it is no JSON"
    if idle:
        return None
    raise UnholdableError(shown, reason)


_BY_WORD: Final[dict[str, Converter]] = {
    "decimal": _decimal,
    "date": _date,
    "datetime": _datetime,
    "time": _time,
    "enum": _enum,
    "set": _set,
    "json": _json,
}
