"""MariaDB's UUID, INET6 and INET4 -> the text that the server prints for them.

Owns: that text, and which UUID is ambiguous.
Must not know: columns, Arrow.
"""

import struct
from typing import Final
from uuid import UUID

UNCLEAR: Final = "the order of its bytes is not known"
V4_WORD: Final = 6  # of an INET6, where an embedded IPv4 address may begin
MAPPED: Final = 0xFFFF  # the word before such an address


def is_unclear(word: str, value: bytes) -> bool:
    """MariaDB may store a UUID with its groups reversed, so that it sorts by its time; one of no known kind looks like
    that.
    """
    return word == "uuid" and value[6] >= 0x80 and 0 < value[8] < 0x60


def text(word: str, value: bytes) -> str:
    """`word`: the type. Raises ValueError for a wrong number of bytes."""
    match word:
        case "uuid":
            return str(UUID(bytes=value))
        case "inet4":
            return ".".join(map(str, value))
        case _:
            return _inet6(value)


def _inet6(value: bytes) -> str:
    """The first of the longest runs of zeros is left out, even a single zero, unlike in other printers."""
    words = struct.unpack(">8H", value)
    begin, size = _gap(words)
    mapped = size == V4_WORD or (size == V4_WORD - 1 and words[V4_WORD - 1] == MAPPED)
    behind = [f"{word:x}" for word in words[begin + size :]]
    if begin == 0 and mapped:
        behind[-2:] = [text("inet4", value[-4:])]
    if not size:
        return ":".join(behind)
    return ":".join(f"{word:x}" for word in words[:begin]) + "::" + ":".join(behind)


def _gap(words: tuple[int, ...]) -> tuple[int, int]:
    """Where the first of the longest runs of zeros begins, and its length."""
    found, begin = (0, 0), 0
    for place, word in enumerate(words):
        if word:
            begin = place + 1
        elif place + 1 - begin > found[1]:
            found = begin, place + 1 - begin
    return found
