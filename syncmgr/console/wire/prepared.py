"""Prepared statements of one connection.

Owns: their ids, their parameters as the binary protocol sends them, the literals that stand for these in SQL.
Must not know: what a statement means; the session finds the places of its parameters.
"""

import struct
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Final

from syncmgr.console.limits import MAX_STATEMENT, Limits, MiB, too_long
from syncmgr.console.memory import Share, size_of
from syncmgr.console.wire.charset import Charset
from syncmgr.console.wire.cursor import Cursor
from syncmgr.console.wire.packet import ProtocolError, Reader
from syncmgr.console.wire.placeholders import MOST
from syncmgr.console.wire.protocol import FieldType
from syncmgr.errors import Code, SyncError

Value = str | bytes | int | float | Decimal | None

MAX_DIGITS: Final = 1000  # of a DECIMAL that is bound; a column has 65 at most
_INTEGERS: Final = {
    FieldType.TINY: 1,
    FieldType.SHORT: 2,
    FieldType.YEAR: 2,
    FieldType.LONG: 4,
    FieldType.INT24: 4,
    FieldType.LONGLONG: 8,
}
_DATES: Final = {FieldType.DATE, FieldType.DATETIME, FieldType.TIMESTAMP}
_NUMERALS: Final = {FieldType.DECIMAL, FieldType.NEWDECIMAL}
_TEXTS: Final = {
    FieldType.VARCHAR,
    FieldType.VAR_STRING,
    FieldType.STRING,
    FieldType.JSON,
    FieldType.ENUM,
    FieldType.SET,
}
_BYTES: Final = {
    FieldType.TINY_BLOB,
    FieldType.MEDIUM_BLOB,
    FieldType.LONG_BLOB,
    FieldType.BLOB,
    FieldType.GEOMETRY,
    FieldType.BIT,
}
_UNSIGNED: Final = 0x80
PLACE_BYTES: Final = 128  # of a parameter: its place, its type
CURSOR_BYTES: Final = 1 * MiB  # of an open cursor: the batch of rows that its client is fetching


@dataclass(kw_only=True, slots=True)
class PreparedStatement:
    """`places`: offsets of the parameters in `sql`. `types` are kept from the last EXECUTE that sent them."""

    id: int
    sql: str
    places: tuple[int, ...]
    types: list[tuple[FieldType, bool]] | None = None
    long_data: dict[int, bytearray] = field(default_factory=dict)
    too_long: bool = False
    cursor: Cursor | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes, without data sent ahead and the cursor."""
        return size_of(self.sql) + PLACE_BYTES * len(self.places)

    def answer(self) -> bytes:
        """The answer to PREPARE; the columns are sent when the statement runs."""
        return b"\0" + struct.pack("<IHHBH", self.id, 0, len(self.places), 0, 0)

    def bind(self, reader: Reader, charset: Charset, *, limit: int = MAX_STATEMENT) -> str:
        """The statement with its parameters as literals. `reader` is positioned after the flags of an EXECUTE."""
        if self.too_long:
            raise too_long(limit)
        reader.take(4)  # the iteration count, always 1
        literals = [literal(value) for value in self._values(reader, charset)] if self.places else []
        parts = []
        start = 0
        for place, text in zip(self.places, literals, strict=True):
            parts += [self.sql[start:place], text]
            start = place + 1
        text = "".join(parts) + self.sql[start:]
        if len(text) > limit:
            raise too_long(limit)
        return text

    def _values(self, reader: Reader, charset: Charset) -> list[Value]:
        count = len(self.places)
        nulls = reader.take((count + 7) // 8)
        if reader.uint(1):
            self.types = [_parameter_type(reader) for _ in range(count)]
        if self.types is None:
            raise SyncError(Code.WRONG_ARGUMENTS, what="EXECUTE")
        values: list[Value] = []
        for index, (kind, unsigned) in enumerate(self.types):
            if index in self.long_data:
                data = bytes(self.long_data[index])
                values.append(data if kind in _BYTES else charset.decode(data))
            elif nulls[index // 8] >> index % 8 & 1:
                values.append(None)
            else:
                values.append(read_value(reader, kind, charset, unsigned=unsigned))
        return values


def _parameter_type(reader: Reader) -> tuple[FieldType, bool]:
    code, flags = reader.uint(1), reader.uint(1)
    try:
        return FieldType(code), bool(flags & _UNSIGNED)
    except ValueError:
        raise SyncError(Code.NOT_SUPPORTED, what=f"parameter type {code}") from None


def read_value(reader: Reader, kind: FieldType, charset: Charset, *, unsigned: bool) -> Value:
    """One parameter. Raises ProtocolError if the packet ends too early."""
    if kind in _INTEGERS:
        return int.from_bytes(reader.take(_INTEGERS[kind]), "little", signed=not unsigned)
    if kind is FieldType.FLOAT:
        return float(struct.unpack("<f", reader.take(4))[0])
    if kind is FieldType.DOUBLE:
        return float(struct.unpack("<d", reader.take(8))[0])
    if kind in _DATES:
        return _date(Reader(reader.take(reader.uint(1))))
    if kind is FieldType.TIME:
        return _time(Reader(reader.take(reader.uint(1))))
    if kind is FieldType.NULL:
        return None
    data = reader.lenenc_bytes()
    if kind in _NUMERALS:
        return _decimal(charset.decode(data))
    return _text_or_bytes(data, charset) if kind in _TEXTS or kind is FieldType.BLOB else data


def _text_or_bytes(data: bytes, charset: Charset) -> Value:
    """Some clients bind bytes as text, and others text as BLOB: what is not text stays bytes."""
    try:
        return charset.decode(data)
    except SyncError:
        return data


def _decimal(text: str) -> Decimal:
    """Raises WRONG_ARGUMENTS, also for more digits than any column has, since it is written out."""
    try:
        number = Decimal(text) if len(text) <= MAX_DIGITS else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or abs(number.adjusted()) > MAX_DIGITS:
        raise SyncError(Code.WRONG_ARGUMENTS, what="EXECUTE")
    return number


def _date(reader: Reader) -> str:
    if not reader.left:
        return "0000-00-00"
    text = f"{reader.uint(2):04}-{reader.uint(1):02}-{reader.uint(1):02}"
    if reader.left:
        text += f" {reader.uint(1):02}:{reader.uint(1):02}:{reader.uint(1):02}"
    return text + (f".{reader.uint(4):06}" if reader.left else "")


def _time(reader: Reader) -> str:
    if not reader.left:
        return "00:00:00"
    sign = "-" if reader.uint(1) else ""
    hours = reader.uint(4) * 24 + reader.uint(1)
    text = f"{sign}{hours:02}:{reader.uint(1):02}:{reader.uint(1):02}"
    return text + (f".{reader.uint(4):06}" if reader.left else "")


def literal(value: Value) -> str:
    """A literal that MySQL's grammar and Spark's parse as the same value."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case Decimal():
            return format(value, "f")
        case _:
            return repr(value)


class PreparedStatements:
    """The prepared statements of a connection, by id."""

    def __init__(self, limits: Limits, share: Share) -> None:
        self._limits = limits
        self._share = share
        self._statements: dict[int, PreparedStatement] = {}
        self._last_id = 0

    def add(self, sql: str, places: tuple[int, ...]) -> PreparedStatement:
        if len(self._statements) >= self._limits.max_prepared:
            raise SyncError(Code.TOO_MANY_PREPARED, limit=self._limits.max_prepared)
        if len(places) > MOST:
            raise SyncError(Code.NOT_SUPPORTED, what=f"more than {MOST} parameters")
        self._last_id += 1
        statement = PreparedStatement(id=self._last_id, sql=sql, places=places)
        self._share.hold(statement.size)
        self._statements[statement.id] = statement
        return statement

    def get(self, statement_id: int) -> PreparedStatement:
        try:
            return self._statements[statement_id]
        except KeyError:
            raise SyncError(Code.UNKNOWN_PREPARED, id=statement_id) from None

    def append(self, statement_id: int, index: int, data: bytes) -> None:
        """SEND_LONG_DATA. An error in it is reported at EXECUTE: this command has no answer."""
        statement = self._statements.get(statement_id)
        if statement is None:
            return
        if index >= len(statement.places):
            raise ProtocolError("data for a parameter that is not there")
        held = sum(map(len, statement.long_data.values()))
        if statement.too_long or held + len(data) > self._limits.max_statement or not self._share.holds(len(data)):
            self.lose(statement_id)
        else:
            statement.long_data.setdefault(index, bytearray()).extend(data)

    def lose(self, statement_id: int) -> None:
        """Data that is too long was sent, and dropped."""
        statement = self._statements.get(statement_id)
        if statement is not None:
            self.forget_data(statement)
            statement.too_long = True

    def forget_data(self, statement: PreparedStatement) -> None:
        """What was sent ahead for it."""
        self._share.give_back(sum(map(len, statement.long_data.values())))
        statement.long_data.clear()
        statement.too_long = False

    def has_room_for_cursor(self) -> bool:
        """Whether there is room for one more, which is then reserved."""
        return self.cursors < self._limits.max_cursors and self._share.holds(CURSOR_BYTES)

    async def close_cursor(self, statement: PreparedStatement) -> None:
        cursor, statement.cursor = statement.cursor, None
        if cursor is not None:
            self._share.give_back(CURSOR_BYTES)
            await cursor.close()

    @property
    def cursors(self) -> int:
        """How many are open."""
        return sum(statement.cursor is not None for statement in self._statements.values())

    async def remove(self, statement_id: int) -> None:
        statement = self._statements.pop(statement_id, None)
        if statement is not None:
            self.forget_data(statement)
            self._share.give_back(statement.size)
            await self.close_cursor(statement)

    async def clear(self) -> None:
        for statement_id in list(self._statements):
            await self.remove(statement_id)
