"""Which values survive a change of their column's type.

Owns: the rules, type by type; when in doubt: none.
Must not know: statements, targets, what happens to a job.
"""

from collections.abc import Callable, Sequence
from typing import Final

from syncmgr.job.types.charset import (
    ALL_OF_UNICODE,
    EVERYWHERE,
    LIKE_ASCII,
    is_exchanged,
    max_bytes,
    may_exchange,
)
from syncmgr.job.types.column_type import room
from syncmgr.job.types.schema import (
    BYTES,
    GEOMETRY,
    INTEGER_BITS,
    LABELLED,
    MAX_DECIMAL_DIGITS,
    TEXT,
    SourceColumn,
    arrow_type,
)

UNICODE: Final = "utf8mb4"  # it contains every character of every charset
SHORT: Final = frozenset({"char", "varchar"})
_REALS: Final = frozenset({"float", "double"})
_PADDED: Final = frozenset({"binary", "vector"})  # types whose length is that of each value


def keeps_values(old: SourceColumn, new: SourceColumn) -> bool:
    """Whether every value that a column held is still the same, and travels in the same form, after its type became
    `new`.
    """
    return arrow_type(old) == arrow_type(new) and kept(old, new, strict=False)


def has_other_texts(before: SourceColumn, now: SourceColumn) -> bool:
    """Whether values that stay what they are have another text than before."""
    if (before.type, now.type) == ("decimal", "decimal"):
        return before.scale != now.scale
    return (before.type, now.type) == ("float", "double")


def kept(before: SourceColumn, now: SourceColumn, *, strict: bool, pads: bool = False) -> bool:
    """Whether every value stays what it was. In strict mode a value that does not fit fails the statement.

    `pads`: PAD_CHAR_TO_FULL_LENGTH, under which a char is read with spaces up to its length.
    """
    if pads and before.type == "char" != now.type:
        return False
    for rule in _RULES:
        found = rule(before, now, strict)
        if found is not None:
            return found
    return _alike(before, now)


def _integers(before: SourceColumn, now: SourceColumn, strict: bool) -> bool | None:  # noqa: FBT001 - a row of a table
    if before.type not in INTEGER_BITS or now.type not in INTEGER_BITS:
        return None
    return strict or (_range(now)[0] <= _range(before)[0] and _range(before)[1] <= _range(now)[1])


def _range(column: SourceColumn) -> tuple[int, int]:
    bits = INTEGER_BITS[column.type]
    return (0, 2**bits - 1) if column.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _decimals(before: SourceColumn, now: SourceColumn, strict: bool) -> bool | None:  # noqa: FBT001 - the same
    if (before.type, now.type) != ("decimal", "decimal"):
        return None
    if max(before.precision, now.precision) > MAX_DECIMAL_DIGITS and now.scale != before.scale:
        return False  # their texts show the digits
    signed = before.unsigned or not now.unsigned
    return now.scale >= before.scale and (strict or (_whole(now) >= _whole(before) and signed))


def _reals(before: SourceColumn, now: SourceColumn, strict: bool) -> bool | None:  # noqa: FBT001 - the same
    """FLOAT(M,D) rounds to D digits and has M - D before them; rounding a float again as a double changes it."""
    if {before.type, now.type} - _REALS or (before.type, now.type) == ("double", "float"):
        return None
    signed = before.unsigned or not now.unsigned
    if not now.precision:
        return strict or signed
    if before.type != now.type or not before.precision or now.scale < before.scale:
        return False
    return strict or (_whole(now) >= _whole(before) and signed)


def _whole(column: SourceColumn) -> int:
    """Digits before the point."""
    return column.precision - column.scale


def _texts(before: SourceColumn, now: SourceColumn, strict: bool) -> bool | None:  # noqa: FBT001 - the same
    """In strict mode no character is lost, but a few are exchanged, and trailing spaces are lost: of what is truncated,
    and of what becomes a char.
    """
    if before.type not in TEXT or now.type not in TEXT:
        return None
    if now.type == "char" != before.type:
        return False
    if not strict and now.charset not in {before.charset, UNICODE}:
        return False
    if may_exchange(before.charset, now.charset):
        return False
    return _has_room(before, now, grows=not strict and now.charset != before.charset)


def _has_room(before: SourceColumn, now: SourceColumn, *, grows: bool) -> bool:
    """`grows`: each byte of a text may become a longer character, and what is then too long is truncated."""
    match before.type in SHORT, now.type in SHORT:
        case True, True:
            return now.length >= before.length
        case True, False:
            return room(now.type) >= before.length * max_bytes(now.charset)
        case False, True:
            return now.length >= room(before.type)
        case _:
            growth = max_bytes(now.charset) if grows else 1
            return now.type == "longtext" or room(now.type) >= room(before.type) * growth


def _octets(before: SourceColumn, now: SourceColumn, _strict: bool) -> bool | None:  # noqa: FBT001 - the same
    """A binary is padded with zeros, so one of another length has other values."""
    if before.type not in BYTES or now.type not in BYTES:
        return None
    if now.type in _PADDED or before.type == "vector":
        return before.type == now.type and before.length == now.length
    return _bytes_of(now) >= _bytes_of(before)


def _bytes_of(column: SourceColumn) -> int:
    return column.length if column.type in {"binary", "varbinary"} else room(column.type)


def _labels(before: SourceColumn, now: SourceColumn, strict: bool) -> bool | None:  # noqa: FBT001 - the same
    """Values are converted as texts; if the session is not strict, one of several similar labels is chosen."""
    if before.type not in LABELLED:
        return None
    if now.type in TEXT:
        exchanged = any(is_exchanged(label, now.charset) for label in before.members)
        return strict and not exchanged and _takes_text(now, _longest(before))
    if now.type != before.type or not (now.charset == before.charset or _spells(now)):
        return False
    if now.members[: len(before.members)] == before.members:
        return True
    return strict and (set(before.members) <= set(now.members) if now.type == "enum" else _in_order(before, now))


def _spells(column: SourceColumn) -> bool:
    """Whether its charset has all characters of its labels for certain: even in strict mode others become ?."""
    ascii_alone = column.charset in LIKE_ASCII and all(member.isascii() for member in column.members)
    everywhere = column.charset != "binary" and all(EVERYWHERE.fullmatch(member) for member in column.members)
    return ascii_alone or everywhere or column.charset in ALL_OF_UNICODE


def _longest(column: SourceColumn) -> int:
    """Characters of its longest value."""
    sizes = [len(member) for member in column.members]
    return sum(sizes) + len(sizes) - 1 if column.type == "set" else max(sizes, default=0)


def _takes_text(column: SourceColumn, characters: int) -> bool:
    if column.type in SHORT:
        return column.length >= characters
    return room(column.type) >= characters * max_bytes(column.charset)


def _in_order(before: SourceColumn, now: SourceColumn) -> bool:
    """Whether the labels of a set stay in it, in the same order, in which its values list them."""
    wanted: Sequence[str] = [member for member in now.members if member in before.members]
    return tuple(wanted) == before.members


def _alike(before: SourceColumn, now: SourceColumn) -> bool:
    if {before.type, now.type} <= GEOMETRY:
        return True
    if (before.type, before.unsigned, before.charset) != (now.type, now.unsigned, now.charset):
        return False
    if before.type == "time":
        return before.precision == now.precision  # its text shows the digits
    return now.precision >= before.precision and now.length >= before.length


_RULES: Final[tuple[Callable[[SourceColumn, SourceColumn, bool], bool | None], ...]] = (
    _integers,
    _decimals,
    _reals,
    _texts,
    _octets,
    _labels,
)
