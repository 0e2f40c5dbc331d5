"""What is known of MySQL's charsets without reading any text.

Owns: the maximum number of bytes per character, by charset, which charsets have some texts in common, in which no two
codes are the same text, and which characters the servers exchange for others without an error.
Must not know: columns, how a text is decoded.
"""

import re
from collections.abc import Iterable
from typing import Final

_NAMES: Final = {
    1: "armscii8 ascii binary cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 dec8 geostd8 greek hebrew hp8 keybcs2 koi8r"
    " koi8u latin1 latin2 latin5 latin7 macce macroman swe7 tis620",
    2: "big5 cp932 euckr gb2312 gbk sjis ucs2",
    3: "eucjpms ujis utf8mb3",
    4: "gb18030 utf16 utf16le utf32 utf8mb4",
}
MAX_BYTES: Final = {charset: size for size, names in _NAMES.items() for charset in names.split()}
WIDEST: Final = max(MAX_BYTES.values())


_OTHER_ASCII: Final = frozenset({"swe7", "ucs2", "utf16", "utf16le", "utf32"})
WIDE: Final = _OTHER_ASCII - {"swe7"}  # where each character has several bytes
LIKE_ASCII: Final = MAX_BYTES.keys() - _OTHER_ASCII - {"binary"}  # where a text of ASCII has the bytes of ASCII

EVERYWHERE: Final = re.compile(r"[ -?A-Z_a-z]*")  # characters that every charset has

ALL_OF_UNICODE: Final = frozenset({"utf8mb4", "utf16", "utf16le", "utf32"})

EXCHANGED: Final = {  # by the servers, in strict mode too, where a text gets that charset
    "cp932": re.compile("\u6661"),
    "tis620": re.compile("[\U00010000-\U0010ffff]"),
}
_ONE_BYTE: Final = frozenset(charset for charset, size in MAX_BYTES.items() if size == 1) - {"binary"}
WITHOUT: Final = {  # charsets that have none of those
    "cp932": _ONE_BYTE | {"cp932", "sjis", "euckr"},
    "tis620": MAX_BYTES.keys() - ALL_OF_UNICODE - {"gb18030", "binary"},
}

_ONE_TO_ONE: Final = "cp850 cp852 cp866 keybcs2 koi8r koi8u latin1 latin2 latin5 latin7 macce macroman ucs2 utf8mb3"
ONE_TO_ONE: Final = ALL_OF_UNICODE | {*_ONE_TO_ONE.split()}  # each code has a character, which comes back as that code
LOOKS_LIKE_ANOTHER: Final = (
    "in {charset} these bytes are no character, or the one of other bytes, so that two keys would look alike; "
    "ALTER TABLE ... CONVERT TO CHARACTER SET utf8mb4, then RESYNC TABLE"
)


def of_today(charset: str | None) -> str | None:
    """Under its present name: earlier servers say utf8."""
    return "utf8mb3" if charset == "utf8" else charset


def looks_like_another(charset: str | None) -> str | None:
    """Why some texts of a key are refused; None: all are accepted."""
    return None if of_today(charset) in {*ONE_TO_ONE, None} else LOOKS_LIKE_ANOTHER.format(charset=charset)


def max_bytes(charset: str | None) -> int:
    """For an unknown charset, as many as any has."""
    return WIDEST if charset is None else MAX_BYTES.get(charset, WIDEST)


def may_exchange(before: str | None, now: str | None) -> bool:
    """Whether a text of one charset may become another text in the other one, without an error."""
    return before != now and now in WITHOUT and before not in WITHOUT[now]


def is_exchanged(text: str, now: str | None) -> bool:
    """Whether the text itself does."""
    return now in EXCHANGED and EXCHANGED[now].search(text) is not None


def same_bytes(texts: Iterable[str], one: str | None, other: str | None) -> bool:
    """Whether texts have the same bytes in both charsets, for certain."""
    if None not in {one, other} and (one == other or (one, other) == ("utf8mb3", "utf8mb4")):
        return True
    return {one, other} <= LIKE_ASCII and all(text.isascii() for text in texts)
