"""Cells of one column in the binlog's own encoding -> an Arrow array, vectorised.

Owns: the encoding of every column type, and which values Arrow cannot hold.
Must not know: events, rows, tables.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncmgr.job.types import identifier
from syncmgr.job.types.cells import Bools, Ints, slices, validity
from syncmgr.job.types.charset import LOOKS_LIKE_ANOTHER
from syncmgr.job.types.column_type import set_of
from syncmgr.job.types.schema import (
    GEOMETRY,
    IDENTIFIERS,
    MAX_DECIMAL_DIGITS,
    TEXT,
    SourceColumn,
    arrow_type,
    has_arrow_type,
)
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.inflation import inflated_column, inflated_size
from syncmgr.sources.mysql.values import charsets, dates, json_column, json_text
from syncmgr.sources.mysql.values.cells import PADDING, Cells, array, buffers, of_labels
from syncmgr.sources.mysql.values.table_map import DIGIT_BYTES, Field
from syncmgr.sources.mysql.wire import OversizeError

MOST_INFLATED: Final = 2**31 - 1 - PADDING  # bytes of the cells of a column; Arrow's offsets reach no farther
INT64_DIGITS: Final = 18
SHOWN: Final = 32  # bytes of what is not text


def convert(column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    """The cells in `schema.arrow_type(column)`. Raises UnholdableError, MalformedEventError."""
    if field.code in {wire.BLOB_COMPRESSED, wire.VARCHAR_COMPRESSED}:
        cells = _inflated(cells)
    return _converter(column)(column, field, cells)


def supported(column: SourceColumn, field: Field) -> bool:
    """Whether the column can be decoded at all."""
    if column.type == "unknown":
        return False
    if column.type in GEOMETRY and field.code != wire.GEOMETRY:
        return False
    if column.charset is not None and not charsets.known(column.charset):
        return False
    return has_arrow_type(column)


Converter = Callable[[SourceColumn, Field, Cells], pa.Array]


def _converter(column: SourceColumn) -> Converter:
    if column.type == "binary":
        return _padded
    return _BY_WORD.get(column.type) or (_text if column.type in TEXT else _bytes)


_INTS: Final = {"tinyint": "1", "smallint": "2", "int": "4", "bigint": "8"}


def _integer(column: SourceColumn, _field: Field, cells: Cells) -> pa.Array:
    if column.type == "mediumint":
        values = cells.little(3)
        if not column.unsigned:
            values -= (values >> 23) << 24
        return array(arrow_type(column), values.astype(np.uint32 if column.unsigned else np.int32), cells.valid)
    dtype = f"<{'u' if column.unsigned else 'i'}{_INTS[column.type]}"
    return array(arrow_type(column), cells.read(dtype), cells.valid)


def _float(_column: SourceColumn, _field: Field, cells: Cells) -> pa.Array:
    return array(pa.float32(), cells.read("<f4"), cells.valid)


def _double(_column: SourceColumn, _field: Field, cells: Cells) -> pa.Array:
    return array(pa.float64(), cells.read("<f8"), cells.valid)


def _bit(_column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    values = cells.read(">u8") >> np.uint64(8 * (8 - field.width))
    return array(pa.uint64(), values.astype(np.uint64), cells.valid)


def _year(_column: SourceColumn, _field: Field, cells: Cells) -> pa.Array:
    stored = cells.read("u1").astype(np.int16)
    return array(pa.int16(), np.where(stored == 0, 0, stored + 1900).astype(np.int16), cells.valid)


def _decimal(column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    if column.precision > MAX_DECIMAL_DIGITS:
        return _decimal_text(column, field, cells)
    negative = cells.read("u1") < 0x80
    groups = list(_digit_groups(column, cells, negative))
    if column.precision <= INT64_DIGITS:
        value = np.zeros(len(cells), np.int64)
        for digits, group in groups:
            value = value * 10**digits + group
        value = np.where(negative, -value, value)
        words = np.column_stack([value, value >> 63])
    else:
        words = _wide(groups, negative, len(cells))
    return pa.Array.from_buffers(arrow_type(column), len(cells), buffers(words, cells.valid))


def _digit_groups(column: SourceColumn, cells: Cells, negative: Bools) -> Iterable[tuple[int, Ints]]:
    """(decimal digits, their value) from the left. The sign bit is inverted, and so are all bits of a negative one."""
    whole, scale = column.precision - column.scale, column.scale
    counts = [whole % 9, *[9] * (whole // 9), *[9] * (scale // 9), scale % 9]
    at = 0
    for digits in filter(None, counts):
        width = DIGIT_BYTES[digits]
        group = cells.big(width, at)
        if at == 0:
            group ^= 0x80 << (8 * (width - 1))
        yield digits, np.where(negative, group ^ ((1 << (8 * width)) - 1), group)
        at += width


def _wide(groups: Iterable[tuple[int, Ints]], negative: Bools, count: int) -> NDArray[np.uint64]:
    """Up to 38 digits in four limbs of 32 bits, lowest first -> two's complement in two words."""
    limbs = [np.zeros(count, np.uint64) for _ in range(4)]
    low = np.uint64(0xFFFFFFFF)
    for digits, group in groups:
        carry = group.astype(np.uint64)
        for place, limb in enumerate(limbs):
            total = limb * np.uint64(10**digits) + carry
            limbs[place], carry = total & low, total >> np.uint64(32)
    lower = limbs[0] | limbs[1] << np.uint64(32)
    upper = limbs[2] | limbs[3] << np.uint64(32)
    minus_lower = ~lower + np.uint64(1)
    minus_upper = ~upper + (lower == 0).astype(np.uint64)
    return np.column_stack([np.where(negative, minus_lower, lower), np.where(negative, minus_upper, upper)])


def _decimal_text(column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    data, width = cells.data.tobytes(), field.width
    valid = np.ones(len(cells), np.bool_) if cells.valid is None else cells.valid
    texts = [
        json_text.decimal_text(data[at : at + width], column.precision, column.scale) if known else None
        for at, known in zip(cells.start.tolist(), valid.tolist(), strict=True)
    ]
    return pa.array(texts, pa.string())


def _slices(cells: Cells) -> pa.Array:
    assert cells.size is not None
    return slices(cells.data, cells.start, cells.size, cells.valid)


def _bytes(_column: SourceColumn, _field: Field, cells: Cells) -> pa.Array:
    return _slices(cells)


def _padded(_column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    """BINARY(n) travels without its trailing zero bytes."""
    assert cells.size is not None
    if not len(cells) or (cells.size == field.meta).all():
        return _slices(cells)
    columns = np.arange(field.meta)
    places = np.minimum(cells.start[:, None] + columns, len(cells.data) - 1)
    rows = np.where(columns < cells.size[:, None], cells.data[places], 0).astype(np.uint8)
    offsets = np.arange(len(cells) + 1, dtype=np.int32) * np.int32(field.meta)
    return pa.Array.from_buffers(
        pa.binary(), len(cells), [validity(cells.valid), pa.py_buffer(offsets), pa.py_buffer(rows)]
    )


def _identifier(column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    values = _padded(column, field, cells).to_pylist()
    bad = np.array([value is not None and identifier.is_unclear(column.type, value) for value in values], np.bool_)
    valid = cells.holding(bad, lambda i: values[i].hex(), identifier.UNCLEAR)
    kept = values if valid is None else [value if good else None for value, good in zip(values, valid, strict=True)]
    return pa.array([None if value is None else identifier.text(column.type, value) for value in kept], pa.string())


def _inflated(cells: Cells) -> Cells:
    """Of MariaDB's COMPRESSED columns."""
    stored = _slices(cells).to_pylist()
    size = sum(inflated_size(value) for value in stored if value)
    if size > MOST_INFLATED:
        raise OversizeError(f"a batch with {size} bytes in a COMPRESSED column; {MOST_INFLATED} are taken")
    inflated = [inflated_column(value) if value else value for value in stored]
    whole = pa.array(inflated, pa.binary()).fill_null(b"")
    offsets = np.frombuffer(whole.buffers()[1], np.int32)[: len(inflated) + 1].astype(np.int64)
    data = np.frombuffer(b"".join(value or b"" for value in inflated) + bytes(PADDING), np.uint8)
    return replace(cells, data=data, start=offsets[:-1], size=np.diff(offsets))


def _text(column: SourceColumn, _field: Field, cells: Cells) -> pa.Array:
    assert column.charset is not None
    raw = _slices(cells)
    try:
        return charsets.decode(column.charset, raw, exact=cells.exact)
    except charsets.UndecodableError:
        return charsets.decode(column.charset, _texts_only(column.charset, raw, cells), exact=cells.exact)


def _texts_only(charset: str, raw: pa.Array, cells: Cells) -> pa.Array:
    """Without what is not text, or, where that matters, does not convert back from Unicode."""
    values = raw.to_pylist()
    bad = np.array([value is not None and not charsets.is_text(charset, value) for value in values])
    valid = cells.holding(bad, partial(_bytes_shown, values), f"they are no {charset} text")
    if cells.exact:
        bad = np.array([value is not None and not charsets.is_text(charset, value, exact=True) for value in values])
        like_another = LOOKS_LIKE_ANOTHER.format(charset=charset)
        valid = replace(cells, valid=valid).holding(bad, partial(_bytes_shown, values), like_another)
    assert valid is not None, "some are bad"
    return pa.array([value if good else None for value, good in zip(values, valid, strict=True)], pa.binary())


def _bytes_shown(values: Sequence[bytes], place: int) -> str:
    return f"the bytes {values[place][:SHOWN].hex()}"


def _json(_column: SourceColumn, _field: Field, cells: Cells) -> pa.Array:
    assert cells.size is not None
    return json_column.texts(cells.data, cells.start, cells.size, cells.valid)


def _enum(column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    """0 is the empty string that MySQL stores for an invalid label."""
    numbers = cells.little(field.width)
    known = len(column.members)
    valid = cells.holding(numbers > known, lambda i: f"label {numbers[i]}", f"its type has {known} labels")
    return of_labels(np.minimum(numbers, known), pa.array(["", *column.members], pa.string()), valid)


def _set(column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    bits = cells.read("<u8") & np.uint64((1 << (8 * field.width)) - 1)
    known = len(column.members)
    beyond = bits >> np.uint64(known) != 0 if known < 64 else np.zeros(len(cells), np.bool_)
    valid = cells.holding(beyond, lambda i: f"bits {bits[i]:b}", f"its type has {known} labels")
    different, of = np.unique(bits, return_inverse=True)
    labels = [set_of(m for i, m in enumerate(column.members) if int(value) >> i & 1) for value in different]
    return of_labels(of, pa.array(labels, pa.string()), valid)


_BY_WORD: Final[dict[str, Converter]] = {
    "tinyint": _integer,
    "smallint": _integer,
    "mediumint": _integer,
    "int": _integer,
    "bigint": _integer,
    "float": _float,
    "double": _double,
    "decimal": _decimal,
    "bit": _bit,
    "year": _year,
    "date": dates.date,
    "datetime": dates.datetime,
    "timestamp": dates.timestamp,
    "time": dates.time,
    "enum": _enum,
    "set": _set,
    "json": _json,
    **dict.fromkeys(IDENTIFIERS, _identifier),
}
