"""Text of every MySQL charset -> Unicode, a column at a time.

Owns: how each charset is decoded; exactly as MySQL would, or not at all.
Must not know: columns, events, who is to blame.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncmgr.mysql.charset_tables import TABLES

UTF8: Final = frozenset({"utf8mb4", "utf8mb3", "utf8"})
MULTI_BYTE: Final = {
    "big5": "big5",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "sjis": "shift_jis",
    "ucs2": "utf-16-be",
    "ujis": "euc_jp",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
}
NO_CHARACTER: Final = "\ufffd"

# Where MySQL and Python's codec part, or only MySQL knows the character: MySQL's reading.
_OVERRIDES: Final[Mapping[str, Mapping[bytes, str]]] = {
    "big5": dict.fromkeys(
        (b"\xa1\x5a", b"\xa1\xc3", b"\xa1\xc5", b"\xa1\xfe", b"\xa2\x40", b"\xa2\xcc", b"\xa2\xce"), "\ufffd"
    ),
    "eucjpms": {
        b"\xa1\xc1": "\uff5e",
        b"\xa1\xc2": "\u2225",
        b"\xa1\xdd": "\uff0d",
        b"\xa1\xf1": "\uffe0",
        b"\xa1\xf2": "\uffe1",
        b"\xa2\xcc": "\uffe2",
        b"\x8f\xa2\xb7": "\uff5e",
        b"\x8f\xa2\xc3": "\uffe4",
    },
    "gb18030": {b"\xa8\xbc": "\u1e3f"},
    "sjis": {b"\x81\x5f": "\\"},
    "ujis": {b"\xa1\xc0": "\\"},
}


class UndecodableError(ValueError):
    """Bytes that are no text of their charset. `cell`: which value of the column, counted from 0."""

    def __init__(self, cell: int) -> None:
        super().__init__(f"cell {cell}")
        self.cell = cell


def known(charset: str) -> bool:
    return charset in UTF8 or charset in TABLES or charset in MULTI_BYTE


def decode_label(charset: str, label: bytes) -> str:
    """A label of an enum or set. Raises UndecodableError."""
    cells = decode(charset, pa.array([label], pa.binary()))
    text: str = cells[0].as_py()
    return text


def decode(charset: str, cells: pa.Array) -> pa.Array:
    """From binary to string. Raises UndecodableError for the first cell that is no text, KeyError for no charset."""
    if charset in UTF8:
        return _utf8(cells)
    if charset in TABLES:
        return _single_byte(cells, charset)
    return _multi_byte(cells, charset, MULTI_BYTE[charset])


def _utf8(cells: pa.Array) -> pa.Array:
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        return _one_by_one(cells, lambda value: value.decode())


def _multi_byte(cells: pa.Array, charset: str, codec: str) -> pa.Array:
    overrides = _OVERRIDES.get(charset, {})

    def text(value: bytes) -> str:
        if any(piece in value for piece in overrides):
            return _character_by_character(value, codec, overrides)
        return value.decode(codec)

    return _one_by_one(cells, text)


def _one_by_one(cells: pa.Array, text: Callable[[bytes], str]) -> pa.Array:
    made: list[str | None] = []
    for number, value in enumerate(cells.to_pylist()):
        try:
            made.append(None if value is None else text(value))
        except UnicodeDecodeError as error:
            raise UndecodableError(number) from error
    return pa.array(made, pa.string())


def _character_by_character(value: bytes, codec: str, overrides: Mapping[bytes, str]) -> str:
    made, at = [], 0
    while at < len(value):
        for size in range(1, 5):
            piece = value[at : at + size]
            character = overrides.get(piece) or _character(piece, codec)
            if character is not None:
                made.append(character)
                at += size
                break
        else:
            raise UnicodeDecodeError(codec, value, at, at + 1, "no character")
    return "".join(made)


def _character(piece: bytes, codec: str) -> str | None:
    try:
        return piece.decode(codec)
    except UnicodeDecodeError:
        return None


@cache
def _table(charset: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8], bool]:
    """For each byte: its UTF-8 bytes in a row of three, and how many those are; and whether ASCII stays itself."""
    table = TABLES[charset]
    encoded = [b"" if character == NO_CHARACTER else character.encode() for character in table]
    rows = np.frombuffer(b"".join(piece.ljust(3, b"\0") for piece in encoded), np.uint8).reshape(256, 3)
    return rows, np.array([len(piece) for piece in encoded], np.uint8), table[:128].encode() == bytes(range(128))


def _single_byte(cells: pa.Array, charset: str) -> pa.Array:
    """The whole column's bytes through one table; new offsets by a running sum."""
    if not len(cells):
        return cells.cast(pa.string())
    rows, sizes, ascii_stays = _table(charset)
    validity, offsets_buffer, data = cells.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    raw = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if data is not None else np.zeros(0, np.uint8)
    if cells.offset == 0 and ascii_stays and not (raw & 0x80).any():
        return pa.Array.from_buffers(pa.string(), len(cells), cells.buffers(), cells.null_count)
    widths = sizes[raw]
    ends = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
    starts = offsets - offsets[0]
    _refuse_nothing(widths, starts)
    text = rows[raw][np.arange(3) < widths[:, None]]
    if cells.offset or ends[-1] > np.iinfo(np.int32).max:
        return _one_by_one(cells, lambda value: _translated(value, charset))
    buffers = [validity, pa.py_buffer(ends[starts].astype(np.int32)), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), len(cells), buffers, cells.null_count)


def _refuse_nothing(widths: NDArray[np.uint8], starts: NDArray[np.int32]) -> None:
    nothing = np.flatnonzero(widths == 0)
    if len(nothing):
        raise UndecodableError(int(np.searchsorted(starts, nothing[0], side="right")) - 1)


def _translated(value: bytes, charset: str) -> str:
    table = TABLES[charset]
    return "".join(table[byte] for byte in value)
