"""The character sets a client may use.

Owns: MySQL's names and collation ids, and the Python codec of each.
Must not know: the caller.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError


@dataclass(frozen=True, kw_only=True, slots=True)
class Charset:
    """`collation` is the id of the default collation, `others` the ids of further ones that clients send at login."""

    name: str
    codec: str
    collation: int
    collation_name: str
    width: int
    others: tuple[int, ...] = ()

    def encode(self, text: str) -> bytes:
        """What the character set lacks becomes '?', as in MySQL."""
        return text.encode(self.codec, "replace")

    def decode(self, data: bytes) -> str:
        """Raises INVALID_TEXT with the first bytes that are invalid in this character set."""
        try:
            return data.decode(self.codec)
        except UnicodeDecodeError as error:
            wrong = data[error.start : error.start + 6].hex().upper()
            raise SyncError(Code.INVALID_TEXT, charset=self.name, text=wrong) from error


def _charset(name: str, codec: str, collation: int, collation_name: str, width: int, *others: int) -> Charset:
    return Charset(
        name=name, codec=codec, collation=collation, collation_name=collation_name, width=width, others=others
    )


UTF8MB4: Final = _charset("utf8mb4", "utf-8", 45, "utf8mb4_general_ci", 4)
BINARY_COLLATION: Final = 63
GREETING_COLLATION: Final = 255  # utf8mb4_0900_ai_ci, as MySQL 8 greets

CHARSETS: Final[Mapping[str, Charset]] = {
    row.name: row
    for row in (
        UTF8MB4,
        _charset("utf8mb3", "utf-8", 33, "utf8mb3_general_ci", 3, 83, *range(192, 216)),
        _charset("utf8", "utf-8", 33, "utf8mb3_general_ci", 3),
        _charset("latin1", "cp1252", 8, "latin1_swedish_ci", 1, 5, 15, 31, 47, 48, 49, 94),
        _charset("latin2", "iso8859_2", 9, "latin2_general_ci", 1),
        _charset("ascii", "ascii", 11, "ascii_general_ci", 1, 65),
        _charset("gbk", "gbk", 28, "gbk_chinese_ci", 2, 87),
        _charset("gb2312", "gb2312", 24, "gb2312_chinese_ci", 2, 86),
        _charset("gb18030", "gb18030", 248, "gb18030_chinese_ci", 4, 249, 250),
        _charset("big5", "big5", 1, "big5_chinese_ci", 2, 84),
        _charset("sjis", "shift_jis", 13, "sjis_japanese_ci", 2, 88),
        _charset("cp932", "cp932", 95, "cp932_japanese_ci", 2, 96),
        _charset("ujis", "euc_jp", 12, "ujis_japanese_ci", 3, 91),
        _charset("euckr", "euc_kr", 19, "euckr_korean_ci", 2, 85),
        _charset("koi8r", "koi8_r", 7, "koi8r_general_ci", 1, 74),
        _charset("cp1251", "cp1251", 51, "cp1251_general_ci", 1, 14, 23, 50, 52),
        # bytes as they are: statements are read, and results sent, as UTF-8
        _charset("binary", "utf-8", BINARY_COLLATION, "binary", 1),
    )
}

_BY_COLLATION: Final = {
    collation: charset
    for charset in CHARSETS.values()
    if charset.name != "utf8"
    for collation in (charset.collation, *charset.others)
}


def by_name(name: str) -> Charset:
    """Raises UNKNOWN_CHARSET."""
    try:
        return CHARSETS[name.lower()]
    except KeyError:
        raise SyncError(Code.UNKNOWN_CHARSET, charset=name) from None


def by_collation(collation: int) -> Charset:
    """An unknown id counts as one of utf8mb4, which has most of them, or of a newer server."""
    return _BY_COLLATION.get(collation, UTF8MB4)
