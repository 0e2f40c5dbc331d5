"""A prepared SELECT on a connection, and its answer as rows.

Owns: the commands, what the server has described, how long it may be silent, what ends an answer.
Must not know: what is selected, what the rows mean.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pymysql import err
from pymysql.constants import COMMAND, FLAG
from pymysql.protocol import FieldDescriptorPacket

from syncmgr.errors import Code, SyncError
from syncmgr.sources.mysql.address import Connection
from syncmgr.sources.mysql.chunk.row_buffer import ERROR, RowBuffer, Rows
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError

_EXECUTE: Final = struct.Struct("<IBI")  # the statement's number, no cursor, once
_STATEMENT: Final = struct.Struct("<xIHH")  # its number, columns, parameters


@dataclass(frozen=True, slots=True)
class SentColumn:
    """What the server says of a column of an answer: `code`: its type."""

    code: int
    unsigned: bool


class PreparedSelect:
    """Used by one thread. All raise pymysql's errors and those of BoundedConnection."""

    def __init__(self, connection: Connection, sql: str, most_row: int) -> None:
        """`most_row`: bytes of one row."""
        self._connection = connection
        self._most_row = most_row
        self._number, count = self._prepared(sql)
        self.columns = self._executed(count)

    def _prepared(self, sql: str) -> tuple[int, int]:
        """The statement's number, and how many columns it has."""
        answer = self._connection.command(COMMAND.COM_STMT_PREPARE, sql.encode())
        number, count, _ = _STATEMENT.unpack_from(answer.get_all_data())  # type: ignore[no-untyped-call]
        self._described(count)
        return number, count

    def _executed(self, count: int) -> tuple[SentColumn, ...]:
        answer = self._connection.command(COMMAND.COM_STMT_EXECUTE, _EXECUTE.pack(self._number, 0, 1))
        found = answer.read_length_encoded_integer()
        if found != count:
            raise ValueError(f"{found} columns instead of {count}")
        return self._described(count)

    def _described(self, count: int) -> tuple[SentColumn, ...]:
        columns = []
        for _ in range(count):
            field: Any = self._connection.packet(FieldDescriptorPacket)
            columns.append(SentColumn(field.type_code, bool(field.flags & FLAG.UNSIGNED)))
        if not self._connection.packet().is_eof_packet():
            raise ValueError("more columns than it says")
        return tuple(columns)

    def rows(self) -> Iterator[Rows]:
        """All of the answer, which is read as the rows are taken; each of these is valid until the next."""
        buffer = RowBuffer(self._most_row)
        try:
            while buffer.last is None:
                while buffer.last is None and (room := buffer.room):
                    buffer.received(self._connection.receive_into(room))
                yield buffer.take()
        except OversizeError as error:
            raise self._connection.too_large(str(error)) from None
        except MalformedEventError as error:
            self._connection.drop()
            raise SyncError(Code.SOURCE_ANSWER, address=self._connection.label, reason=str(error)) from None
        if buffer.last[0] == ERROR:
            err.raise_mysql_exception(buffer.last)
