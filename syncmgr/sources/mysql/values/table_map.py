"""TABLE_MAP events: which columns the rows after them have.

Owns: the event's layout and its optional metadata.
Must not know: rows, connections, the schema that follows.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from syncmgr.job.types.schema import MAX_COLUMNS
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.wire import Cursor, MalformedEventError

FIXED: Final = {
    wire.TINY: 1,
    wire.SHORT: 2,
    wire.INT24: 3,
    wire.LONG: 4,
    wire.LONGLONG: 8,
    wire.FLOAT: 4,
    wire.DOUBLE: 8,
    wire.YEAR: 1,
    wire.DATE: 3,
    wire.NEWDATE: 3,
    wire.TIME: 3,
    wire.DATETIME: 8,
    wire.TIMESTAMP: 4,
}
DIGIT_BYTES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # of so many decimal digits
PREFIXED: Final = frozenset({wire.BLOB, wire.JSON, wire.GEOMETRY, wire.VECTOR, wire.BLOB_COMPRESSED})
ONE_BYTE_META: Final = PREFIXED | {wire.DOUBLE, wire.FLOAT, wire.TIMESTAMP2, wire.DATETIME2, wire.TIME2}
NUMERIC: Final = frozenset(
    {wire.TINY, wire.SHORT, wire.INT24, wire.LONG, wire.LONGLONG, wire.NEWDECIMAL, wire.FLOAT, wire.DOUBLE},
)
CHARACTER: Final = frozenset(
    {wire.STRING, wire.VARCHAR, wire.VAR_STRING, wire.BLOB, wire.VARCHAR_COMPRESSED, wire.BLOB_COMPRESSED}
)
LABELLED: Final = frozenset({wire.ENUM, wire.SET})
COLLATED: Final = CHARACTER | {wire.VECTOR}  # what the charsets are of


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One column as the event describes it. What the metadata leaves out is None.

    `meta`: bytes of a string, of a length, of an enum; bits of bit; digits of a fraction. `digits`: those of a decimal,
    in all and after the point.
    """

    code: int
    meta: int = 0
    digits: tuple[int, int] = (0, 0)
    nullable: bool = True
    unsigned: bool | None = None
    collation: int | None = None
    members: tuple[bytes, ...] | None = None
    name: str | None = None
    key: int = 0

    @property
    def width(self) -> int:
        """Bytes of a value, 0 if each contains its own length."""
        match self.code:
            case wire.NEWDECIMAL:
                whole, scale = self.digits[0] - self.digits[1], self.digits[1]
                return (whole // 9 + scale // 9) * 4 + DIGIT_BYTES[whole % 9] + DIGIT_BYTES[scale % 9]
            case wire.DATETIME2:
                return 5 + (self.meta + 1) // 2
            case wire.TIMESTAMP2:
                return 4 + (self.meta + 1) // 2
            case wire.TIME2:
                return 3 + (self.meta + 1) // 2
            case wire.BIT:
                return (self.meta + 7) // 8
            case wire.ENUM | wire.SET:
                return self.meta
            case code:
                return FIXED.get(code, 0)

    @property
    def prefix(self) -> int:
        """Bytes of the length before a value without a fixed width."""
        if self.code in PREFIXED:
            return self.meta
        return 2 if self.meta > 255 else 1


@dataclass(frozen=True, kw_only=True, slots=True)
class TableMap:
    """A table as it is for the rows after the event. Equal events give the same object, so identity is equality."""

    db: str
    name: str
    fields: tuple[Field, ...]
    full: bool = field(default=False)  # binlog_row_metadata=FULL: names are included

    @property
    def label(self) -> str:
        return f"{self.db}.{self.name}"


def parse(body: bytes, *, mariadb: bool) -> TableMap:
    """`body` is the event after header, table id and flags, without checksum. Raises MalformedEventError.

    `mariadb`: who wrote it; MariaDB also includes a charset of geometries, and nothing in the event says so.
    """
    cursor = Cursor(body)
    db = cursor.text(cursor.uint(1))
    cursor.take(1)
    name = cursor.text(cursor.uint(1))
    cursor.take(1)
    count = cursor.lenenc()
    if count > MAX_COLUMNS:
        raise MalformedEventError(f"a table map of {count} columns")
    codes = cursor.take(count)
    metas = cursor.inner(cursor.lenenc())
    fields = [_field(code, metas) for code in codes]
    if metas.left:
        raise MalformedEventError(f"the table map of {db}.{name} has metadata left over")
    nullable = cursor.take((len(fields) + 7) // 8)
    fields = [replace(f, nullable=bool(nullable[i >> 3] >> (i & 7) & 1)) for i, f in enumerate(fields)]
    _read_optional(cursor, fields, _BLOCKS | _CHARSETS[mariadb])
    return TableMap(db=db, name=name, fields=tuple(fields), full=all(f.name is not None for f in fields))


def _field(code: int, metas: Cursor) -> Field:
    if code in {wire.VARCHAR, wire.VAR_STRING, wire.VARCHAR_COMPRESSED}:
        return Field(code=code, meta=metas.uint(2))
    if code == wire.STRING:
        return _string_field(metas.uint(1), metas.uint(1))
    if code in ONE_BYTE_META:
        return _checked(Field(code=code, meta=metas.uint(1)))
    if code == wire.NEWDECIMAL:
        precision, scale = metas.uint(1), metas.uint(1)
        if not 0 < precision <= 65 or scale > min(precision, 38):
            raise MalformedEventError("a decimal that MySQL does not have")
        return Field(code=code, digits=(precision, scale))
    if code == wire.BIT:
        rest, whole = metas.uint(1), metas.uint(1)
        return _checked(Field(code=code, meta=rest + whole * 8))
    if code in FIXED:
        return Field(code=code)
    raise MalformedEventError(f"unknown column type {code}")


def _string_field(real: int, low: int) -> Field:
    """CHAR, ENUM and SET share a code; CHAR's ninth and tenth bit of length hide in the real type's byte."""
    if real in LABELLED:
        return _checked(Field(code=real, meta=low))
    return Field(code=wire.STRING, meta=low | ((real & 0x30) ^ 0x30) << 4)


def _checked(made: Field) -> Field:
    most = {
        wire.BIT: range(1, 65),
        wire.ENUM: range(1, 3),
        wire.SET: range(1, 9),
        wire.FLOAT: range(4, 5),
        wire.DOUBLE: range(8, 9),
    }.get(made.code, range(1, 5) if made.code in PREFIXED else range(7))
    if made.meta not in most:
        raise MalformedEventError(f"column type {made.code} with metadata {made.meta}")
    return made


def _places(fields: list[Field], codes: Iterable[int]) -> list[int]:
    wanted = frozenset(codes)
    return [i for i, f in enumerate(fields) if f.code in wanted]


Reader = Callable[[Cursor, list[Field]], None]


def _read_optional(cursor: Cursor, fields: list[Field], blocks: Mapping[int, Reader]) -> None:
    """Blocks of type, length, value; a block of an unknown type contains nothing that we need."""
    while cursor.left:
        kind = cursor.uint(1)
        block = cursor.inner(cursor.lenenc())
        read = blocks.get(kind)
        if read is not None:
            try:
                read(block, fields)
            except IndexError as error:
                raise MalformedEventError("table map metadata of a column that is not there") from error


def _read_signs(block: Cursor, fields: list[Field]) -> None:
    """One bit for each number, YEAR among them; that of a YEAR is set, or the server does not count it."""
    bits = block.take(block.left)
    places = _places(fields, NUMERIC | {wire.YEAR})
    years = [i for i, place in enumerate(places) if fields[place].code == wire.YEAR]
    if len(bits) != (len(places) + 7) // 8 or not all(_bit(bits, i) for i in years):
        places = _places(fields, NUMERIC)
    for i, place in enumerate(places):
        fields[place] = replace(fields[place], unsigned=_bit(bits, i))


def _bit(bits: bytes, place: int) -> bool:
    return bool(bits[place >> 3] & (0x80 >> (place & 7)))


def _read_default_charset(codes: frozenset[int]) -> Reader:
    def read(block: Cursor, fields: list[Field]) -> None:
        places = _places(fields, codes)
        default = block.lenenc()
        for place in places:
            fields[place] = replace(fields[place], collation=default)
        while block.left:
            place = places[block.lenenc()]
            fields[place] = replace(fields[place], collation=block.lenenc())

    return read


def _read_charsets(codes: frozenset[int]) -> Reader:
    def read(block: Cursor, fields: list[Field]) -> None:
        for place in _places(fields, codes):
            fields[place] = replace(fields[place], collation=block.lenenc())

    return read


def _read_names(block: Cursor, fields: list[Field]) -> None:
    for place, made in enumerate(fields):
        fields[place] = replace(made, name=block.text(block.lenenc()))


def _read_members(code: int) -> Reader:
    def read(block: Cursor, fields: list[Field]) -> None:
        for place in _places(fields, {code}):
            members = tuple(block.take(block.lenenc()) for _ in range(block.lenenc()))
            fields[place] = replace(fields[place], members=members)

    return read


def _read_key(*, prefixed: bool) -> Reader:
    def read(block: Cursor, fields: list[Field]) -> None:
        number = 0
        while block.left:
            number += 1
            place = block.lenenc()
            fields[place] = replace(fields[place], key=number)
            if prefixed:
                block.lenenc()

    return read


_BLOCKS: Final[dict[int, Reader]] = {
    1: _read_signs,
    4: _read_names,
    5: _read_members(wire.SET),
    6: _read_members(wire.ENUM),
    8: _read_key(prefixed=False),
    9: _read_key(prefixed=True),
    10: _read_default_charset(LABELLED),
    11: _read_charsets(LABELLED),
}
_CHARSETS: Final[dict[bool, dict[int, Reader]]] = {
    mariadb: {2: _read_default_charset(codes), 3: _read_charsets(codes)}
    for mariadb, codes in {False: COLLATED, True: COLLATED | {wire.GEOMETRY}}.items()
}
