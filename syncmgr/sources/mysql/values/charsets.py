"""Text of every MySQL charset -> Unicode, a column at a time.

Owns: how each charset is decoded: as the server itself would, which writes `?` for a code that has no character.
Must not know: columns, events, who is to blame.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncmgr.sources.mysql.values.charset_tables import PRIVATE_ROWS, RUNS, TABLES

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
NO_TWINS: Final = (frozenset[str](), frozenset[bytes]())
SUBSTITUTES: Final = {"tis620": NO_CHARACTER}  # of a code without a character; "?" in every other charset

# Where MySQL and Python's codec differ, or only MySQL knows the character: MySQL's reading.
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
    "gb18030": {b"\xa8\xbc": "\u1e3f", b"\x81\x35\xf4\x37": "\ue7c7"},
    "sjis": {b"\x81\x5f": "\\"},
    "ujis": {b"\xa1\xc0": "\\"},
}

# Charsets in which several codes are one character, or some are U+FFFD. A character converts back to the first of its
# codes that does not begin with these bytes.
_YIELDING: Final[Mapping[str, bytes]] = {
    "big5": b"",
    "cp932": b"\xed\xee",
    "eucjpms": b"",
    "gb18030": b"",
    "sjis": b"\x5c",
    "ujis": b"",
}


# The form of a character, whether it exists or not. For the other charsets the codecs know all well-formed ones.
_EUC: Final = rb"[\x00-\x7f]|\x8e[\xa1-\xdf]|[\xa1-\xfe][\xa1-\xfe]|\x8f[\xa1-\xfe][\xa1-\xfe]"
_SJIS: Final = rb"[\x00-\x7f\xa1-\xdf]|[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]"
_SHAPES: Final[Mapping[str, re.Pattern[bytes]]] = {
    charset: re.compile(pattern, re.DOTALL)
    for charset, pattern in {
        "big5": rb"[\x00-\x7f]|[\xa1-\xf9][\x40-\x7e\xa1-\xfe]",
        "cp932": _SJIS,
        "eucjpms": _EUC,
        "euckr": rb"[\x00-\x7f]|[\x81-\xfe][\x41-\x5a\x61-\x7a\x81-\xfe]",
        "gb18030": rb"[\x00-\x7f]|[\x81-\xfe][\x40-\x7e\x80-\xfe]|[\x81-\xfe][0-9][\x81-\xfe][0-9]",
        "gb2312": rb"[\x00-\x7f]|[\xa1-\xf7][\xa1-\xfe]",
        "gbk": rb"[\x00-\x7f]|[\x81-\xfe][\x40-\x7e\x80-\xfe]",
        "sjis": _SJIS,
        "ujis": _EUC,
    }.items()
}


class UndecodableError(ValueError):
    """Bytes that are not text in their charset. `cell`: which value of the column, counted from 0."""

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


def is_text(charset: str, value: bytes, *, exact: bool = False) -> bool:
    """Whether one value can be decoded."""
    try:
        decode(charset, pa.array([value], pa.binary()), exact=exact)
    except UndecodableError:
        return False
    return True


def decode(charset: str, cells: pa.Array, *, exact: bool = False) -> pa.Array:
    """From binary to string. `exact`: a code without a character is not text, nor is one that its character does not
    convert back to, since two of them would look the same.

    Raises UndecodableError for the first cell that is not text, KeyError for an unknown charset.
    """
    if charset in UTF8:
        return _utf8(cells)
    if charset in TABLES:
        return _single_byte(cells, charset, exact=exact)
    if charset == "ucs2":
        return _one_by_one(cells, _ucs2)
    return _multi_byte(cells, charset, exact=exact)


def _utf8(cells: pa.Array) -> pa.Array:
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        return _one_by_one(cells, lambda value: value.decode())


def _ucs2(value: bytes) -> str:
    """It has no surrogates; two of them are not a character."""
    text = value.decode(MULTI_BYTE["ucs2"])
    if max(text, default="") > "\uffff":
        raise UnicodeDecodeError("ucs2", value, 0, len(value), "surrogates")
    return text


def _multi_byte(cells: pa.Array, charset: str, *, exact: bool) -> pa.Array:
    codec, overrides = MULTI_BYTE[charset], _OVERRIDES.get(charset, {})
    by_character = partial(_character_by_character, charset=charset, exact=exact)
    shared, _ = _twins(charset) if exact else NO_TWINS

    def text(value: bytes) -> str:
        if any(piece in value for piece in overrides):
            return by_character(value)
        try:
            made = value.decode(codec)
        except UnicodeDecodeError:
            return by_character(value)
        return made if shared.isdisjoint(made) else by_character(value)

    return _one_by_one(cells, text)


def _one_by_one(cells: pa.Array, text: Callable[[bytes], str]) -> pa.Array:
    made: list[str | None] = []
    for number, value in enumerate(cells.to_pylist()):
        try:
            made.append(None if value is None else text(value))
        except UnicodeDecodeError as error:
            raise UndecodableError(number) from error
    return pa.array(made, pa.string())


def _character_by_character(value: bytes, *, charset: str, exact: bool) -> str:
    shape, (_, twins) = _SHAPES.get(charset), _twins(charset) if exact else NO_TWINS
    made, at = [], 0
    while at < len(value):
        found = None if shape is None else shape.match(value, at)
        if found is None:
            raise UnicodeDecodeError(charset, value, at, at + 1, "no character")
        character = _character(found[0], charset)
        if exact and (character in {None, NO_CHARACTER} or found[0] in twins):
            raise UnicodeDecodeError(charset, value, at, found.end(), "a code that its character does not come back as")
        made.append("?" if character is None else character)
        at = found.end()
    return "".join(made)


@cache
def _beyond(charset: str) -> Mapping[bytes, str]:
    """What Python's codec does not know, or reads differently from MySQL."""
    runs = {**RUNS.get(charset, {}), **PRIVATE_ROWS.get(charset, {})}
    decoded = {
        (int(first, 16) + place).to_bytes(len(first) // 2, "big"): character
        for first, text in runs.items()
        for place, character in enumerate(text)
    }
    return {**decoded, **_OVERRIDES.get(charset, {})}


def _character(piece: bytes, charset: str) -> str | None:
    known = _beyond(charset).get(piece)
    if known is not None:
        return known
    try:
        return piece.decode(MULTI_BYTE[charset])
    except UnicodeDecodeError:
        return None


@cache
def _twins(charset: str) -> tuple[frozenset[str], frozenset[bytes]]:
    """The characters that have several codes, or may be a substitute, and the codes that do not convert back."""
    if charset not in _YIELDING:
        return NO_TWINS
    codes: dict[str, list[bytes]] = {}
    for code in _codes(_SHAPES[charset]):
        character = _character(code, charset)
        if character is not None:
            codes.setdefault(character, []).append(code)
    several = {character: found for character, found in codes.items() if len(found) > 1}
    twins = set[bytes]()
    for found in several.values():
        kept = min(found, key=lambda code: code[0] in _YIELDING[charset])
        twins.update(code for code in found if code != kept)
    return frozenset({NO_CHARACTER, *several}), frozenset(twins)


def _codes(shape: re.Pattern[bytes]) -> Iterator[bytes]:
    """All well-formed ones of up to two bytes, and those of EUC with three."""
    made = [bytes([byte]) for byte in range(256)]
    made += [bytes(pair) for pair in product(range(0x80, 256), range(256))]
    made += [b"\x8f" + bytes(pair) for pair in product(range(0xA1, 255), repeat=2)]
    return filter(shape.fullmatch, made)


@cache
def _table(charset: str, substitute: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8], bool]:
    """For each byte: its UTF-8 bytes in a row of three, and how many those are; and whether ASCII stays itself.

    Without a substitute a byte without a character becomes nothing, as does one whose character another byte has.
    """
    table = TABLES[charset]
    encoded = [(substitute if character == NO_CHARACTER else character).encode() for character in table]
    if not substitute:
        encoded = [piece if table.index(table[byte]) == byte else b"" for byte, piece in enumerate(encoded)]
    rows = np.frombuffer(b"".join(piece.ljust(3, b"\0") for piece in encoded), np.uint8).reshape(256, 3)
    return rows, np.array([len(piece) for piece in encoded], np.uint8), table[:128].encode() == bytes(range(128))


def _single_byte(cells: pa.Array, charset: str, *, exact: bool) -> pa.Array:
    """The whole column's bytes through one table; new offsets by a running sum."""
    substitute = "" if exact else SUBSTITUTES.get(charset, "?")
    if not len(cells):
        return cells.cast(pa.string())
    rows, sizes, ascii_stays = _table(charset, substitute)
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
        return _one_by_one(cells, lambda value: _translated(value, charset, substitute))
    buffers = [validity, pa.py_buffer(ends[starts].astype(np.int32)), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), len(cells), buffers, cells.null_count)


def _refuse_nothing(widths: NDArray[np.uint8], starts: NDArray[np.int32]) -> None:
    nothing = np.flatnonzero(widths == 0)
    if len(nothing):
        raise UndecodableError(int(np.searchsorted(starts, nothing[0], side="right")) - 1)


def _translated(value: bytes, charset: str, substitute: str) -> str:
    table = TABLES[charset]
    return "".join(table[byte] for byte in value).replace(NO_CHARACTER, substitute)
