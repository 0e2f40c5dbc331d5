"""A column of MySQL's binary JSON -> the texts that MySQL prints, all documents of a batch at once.

Owns: the walk from level to level of nesting, in which the values of one kind of all documents are one array.
Must not know: columns' types, events. Few values, and bytes that MySQL would not write like that, are left to
json_text.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncmgr.job.types.cells import Bools, Ints, slices
from syncmgr.job.types.number_text import double_text
from syncmgr.sources.mysql.values import json_text
from syncmgr.sources.mysql.values.json_text import (
    DOUBLE,
    INT16,
    INT32,
    INT64,
    LARGE_ARRAY,
    LARGE_OBJECT,
    LITERAL,
    LITERALS,
    MAX_DEPTH,
    SMALL_ARRAY,
    SMALL_OBJECT,
    STRING,
    UINT16,
    UINT32,
    UINT64,
)
from syncmgr.sources.mysql.wire import MalformedEventError

FEW: Final = 64  # values for which one at a time is as fast
LENGTH_BYTES: Final = 5  # of a string, at most
HEADER, ENTRY = 4, 3  # bytes that a container and each of its entries take, at least

_NUMBERS: Final = {INT16: "<i2", UINT16: "<u2", INT32: "<i4", UINT32: "<u4", INT64: "<i8", UINT64: "<u8"}
_WIDTH: Final = {SMALL_OBJECT: 2, SMALL_ARRAY: 2, LARGE_OBJECT: 4, LARGE_ARRAY: 4}  # bytes of counts and places
_UNSIGNED: Final = {2: "<u2", 4: "<u4"}
_INLINE: Final = {
    2: np.isin(np.arange(256), [LITERAL, INT16, UINT16]),
    4: np.isin(np.arange(256), [LITERAL, INT16, UINT16, INT32, UINT32]),
}
_ESCAPED: Final = np.isin(np.arange(256), [*range(32), ord('"'), ord("\\")])


class _OddError(ValueError):
    """MySQL would not have written these bytes like that; they may still mean something."""


def texts(data: NDArray[np.uint8], start: Ints, size: Ints, valid: Bools | None) -> pa.Array:
    """The documents that begin at `start`, NULL where not `valid`. `data` is padded; see json_text.text for the rest.

    Raises MalformedEventError.
    """
    present = np.flatnonzero(size > 0 if valid is None else valid & (size > 0))
    if len(present) < FEW:
        return _one_by_one(data, start, size, valid)
    try:
        words = _Documents(data, start[present], size[present]).texts()
    except (_OddError, MalformedEventError, IndexError, pa.ArrowInvalid):
        return _one_by_one(data, start, size, valid)
    if len(present) == len(start):
        return words
    place = np.full(len(start), len(present), np.int32)  # that of the text of an empty document
    place[present] = np.arange(len(present))
    whole = pa.concat_arrays([words, pa.array([json_text.text(b"")], pa.string())])
    return whole.take(pa.array(place, mask=None if valid is None else ~valid))


def _one_by_one(data: NDArray[np.uint8], start: Ints, size: Ints, valid: Bools | None) -> pa.Array:
    make = json_text.text
    values = slices(data, start, size, valid).to_pylist()
    return pa.array([None if value is None else make(value) for value in values], pa.string())


class _Documents:
    """Some documents, none empty. All places are those in `data`; `doc`: the document of each value.

    What they hold is charged to each, so that parts that point at each other cannot make it grow without bound: bytes
    that MySQL wrote are charged once, and never more than there are.
    """

    def __init__(self, data: NDArray[np.uint8], start: Ints, size: Ints) -> None:
        self._data = data
        self._start = start
        self._stop = start + size
        self._left = size.astype(np.float64)

    def texts(self) -> pa.Array:
        kinds = self._data[self._start]
        return self._values(kinds, self._start + 1, np.arange(len(self._start)), 0)

    def _values(self, kinds: NDArray[np.uint8], at: Ints, doc: Ints, depth: int) -> pa.Array:
        """Values that begin `at`, all at one depth of nesting."""
        if len(kinds) < FEW:
            return self._few(kinds, at, doc, depth)
        first = int(kinds[0])
        if (kinds == first).all():
            return self._alike(first, at, doc, depth)
        groups = [np.flatnonzero(kinds == kind) for kind in np.flatnonzero(np.bincount(kinds))]
        words = pa.concat_arrays([self._values(kinds[some], at[some], doc[some], depth) for some in groups])
        place = np.empty(len(kinds), np.int32)
        place[np.concatenate(groups)] = np.arange(len(kinds))
        return words.take(pa.array(place))

    def _few(self, kinds: NDArray[np.uint8], at: Ints, doc: Ints, depth: int) -> pa.Array:
        words, of, data, start = [], -1, b"", 0
        for kind, place, number in zip(kinds.tolist(), at.tolist(), doc.tolist(), strict=True):
            if number != of:
                of, start = number, int(self._start[number])
                data = self._data[start : self._stop[number]].tobytes()
            word, held = json_text.part(kind, data, place - start, depth)
            self._left[number] -= held
            words.append(word)
        self._check_charges()
        return pa.array(words, pa.string())

    def _alike(self, kind: int, at: Ints, doc: Ints, depth: int) -> pa.Array:
        if kind in _WIDTH:
            return self._containers(kind, at, doc, depth)
        if kind == STRING:
            return self._strings(at, doc)
        if kind in _NUMBERS:
            return pa.array(self._numbers(_NUMBERS[kind], at, doc)).cast(pa.string())
        if kind == DOUBLE:
            return self._doubles(at, doc)
        if kind == LITERAL:
            self._check_ends(at + 1, doc)
            return pa.array(LITERALS, pa.string()).take(pa.array(self._data[at]))
        return self._few(np.full(len(at), kind, np.uint8), at, doc, depth)

    def _numbers(self, dtype: str, at: Ints, doc: Ints) -> NDArray[Any]:
        self._check_ends(at + np.dtype(dtype).itemsize, doc)
        return self._read(dtype, at)

    def _doubles(self, at: Ints, doc: Ints) -> pa.Array:
        values = self._numbers("<f8", at, doc)
        if not np.isfinite(values).all():
            raise _OddError
        different, of = np.unique(values.view(np.int64), return_inverse=True)
        words = pa.array([double_text(value) for value in different.view(np.float64).tolist()], pa.string())
        return words.take(pa.array(of.astype(np.int32)))

    def _strings(self, at: Ints, doc: Ints) -> pa.Array:
        """Each begins with its length, seven bits per byte, lowest first."""
        size, begin, more = np.zeros(len(at), np.int64), at, np.ones(len(at), np.bool_)
        for place in range(LENGTH_BYTES):
            byte = self._data[at + place].astype(np.int64)
            size |= np.where(more, (byte & 0x7F) << (7 * place), 0)
            begin = begin + more
            more = more & (byte > 0x7F)
            if not more.any():
                return self._quoted(begin, size, doc)
        raise _OddError

    def _quoted(self, begin: Ints, size: Ints, doc: Ints) -> pa.Array:
        self._check_ends(begin + size, doc)
        self._charge(doc, size)
        if (begin[1:] < begin[:-1] + size[:-1]).any():
            raise _OddError  # not consecutive
        words = slices(self._data, begin, size, None).cast(pa.string())
        quoted = pc.binary_join_element_wise('"', words, '"', "")
        _, offsets, letters = words.buffers()
        escaped = _ESCAPED[np.frombuffer(letters, np.uint8)[: size.sum()]] if letters is not None else np.zeros(0)
        if not escaped.any():
            return quoted
        ends = np.frombuffer(offsets, np.int32)[1 : len(words) + 1]
        some = np.unique(np.searchsorted(ends, np.flatnonzero(escaped), side="right"))
        mask = np.zeros(len(words), np.bool_)
        mask[some] = True
        made = [json_text.quote(word) for word in words.take(pa.array(some)).to_pylist()]
        return pc.replace_with_mask(quoted, pa.array(mask), pa.array(made, pa.string()))

    def _containers(self, kind: int, at: Ints, doc: Ints, depth: int) -> pa.Array:
        if depth > MAX_DEPTH:
            raise _OddError
        width, is_object = _WIDTH[kind], kind in {SMALL_OBJECT, LARGE_OBJECT}
        self._check_ends(at + 2 * width, doc)
        count = self._read(_UNSIGNED[width], at).astype(np.int64)
        self._check_ends(at + self._read(_UNSIGNED[width], at + width), doc)
        self._charge(doc, HEADER + ENTRY * count)
        keys = at + 2 * width
        entries = keys + count * (width + 2) if is_object else keys
        self._check_ends(entries + count * (width + 1), doc)
        first = np.concatenate([[0], np.cumsum(count)])
        nth = np.arange(first[-1])
        base, of = np.repeat(at, count), np.repeat(doc, count)
        entry = np.repeat(entries - first[:-1] * (width + 1), count) + nth * (width + 1)
        words = self._entries(width, entry, base, of, depth)
        if is_object:
            key = np.repeat(keys - first[:-1] * (width + 2), count) + nth * (width + 2)
            begin = base + self._read(_UNSIGNED[width], key)
            names = self._quoted(begin, self._read("<u2", key + width).astype(np.int64), of)
            words = pc.binary_join_element_wise(names, words, ": ")
        lists = pa.ListArray.from_arrays(pa.array(first.astype(np.int32)), words)
        opening, closing = "{}" if is_object else "[]"
        return pc.binary_join_element_wise(opening, pc.binary_join(lists, ", "), closing, "")

    def _entries(self, width: int, entry: Ints, base: Ints, doc: Ints, depth: int) -> pa.Array:
        kinds = self._data[entry]
        offsets = self._read(_UNSIGNED[width], entry + 1).astype(np.int64)
        return self._values(kinds, np.where(_INLINE[width][kinds], entry + 1, base + offsets), doc, depth + 1)

    def _read(self, dtype: str, at: Ints) -> NDArray[Any]:
        kind = np.dtype(dtype)
        every = np.ndarray((len(self._data) - kind.itemsize + 1,), kind, self._data.data, 0, (1,))
        return every[at]

    def _check_ends(self, end: Ints, doc: Ints) -> None:
        if (end > self._stop[doc]).any():
            raise _OddError

    def _charge(self, doc: Ints, held: Ints) -> None:
        self._left -= np.bincount(doc, held, len(self._left))
        self._check_charges()

    def _check_charges(self) -> None:
        if (self._left < 0).any():
            raise _OddError
