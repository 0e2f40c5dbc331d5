"""How much a server of the metadata accepts at once.

Owns: that nothing larger is sent: MySQL and MariaDB would end the connection, which looks like an outage, and would do
so again at each retry. PostgreSQL has no such limit below that of its values.
Must not know: what is stored, how the database is opened.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, cast

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DisconnectionError

from syncmgr.errors import Code, SyncError

LIMITED: Final = frozenset({"mysql", "mariadb"})
LEAST: Final = 16 << 20  # the default of MariaDB; statements of max_statement_bytes, with all their quotes, fit
MOST: Final = 1 << 30  # that a server can be set to
SESSION: Final = "SELECT @@max_allowed_packet"
GLOBAL: Final = "SELECT @@GLOBAL.max_allowed_packet"
KEY: Final = "max_allowed_packet"
AROUND: Final = 1024  # bytes of a packet that are not of the statement, and more
LONGEST: Final = 8  # bytes that a character may become: four, each with a backslash


def refuse_small(engine: Engine) -> None:
    """Raises META_PACKET if a server accepts less than what may have to be stored."""
    if engine.dialect.name not in LIMITED:
        return
    with engine.connect() as connection:
        limit = int(connection.execute(text(SESSION)).scalar_one())
    if limit < LEAST:
        raise _refused(limit, f"up to {LEAST} have to be stored", LEAST)


def watch(engine: Engine) -> None:
    """Anything too large raises META_PACKET, and is not sent."""
    watch = _Watch()
    event.listen(engine, "connect", watch.learn)
    event.listen(engine, "checkout", watch.renew)
    event.listen(engine, "before_cursor_execute", watch.refuse_large)


class _Watch:
    """Of one engine. A connection keeps the limit from when it was made, whatever is set later."""

    def __init__(self) -> None:
        self._refused = 0  # bytes of the largest that was

    def learn(self, connection: Any, record: Any) -> None:  # noqa: ANN401 - a driver's own connection
        record.info[KEY] = _asked(connection, SESSION)

    def renew(self, connection: Any, record: Any, _proxy: object) -> None:  # noqa: ANN401 - see above
        """One that was made before the limit was raised is replaced."""
        if record.info[KEY] <= self._refused < _asked(connection, GLOBAL):
            raise DisconnectionError

    def refuse_large(
        self,
        connection: Connection,
        cursor: Any,  # noqa: ANN401 - a driver's own cursor
        statement: str,
        parameters: object,
        _context: object,
        executemany: bool,  # noqa: FBT001 - as SQLAlchemy calls it
    ) -> None:
        limit = connection.info[KEY]
        for row in cast("Sequence[object]", parameters) if executemany else [parameters]:
            if LONGEST * (len(statement) + sum(map(_length, _values(row)))) + AROUND < limit:
                continue
            size = len(cursor.mogrify(statement, row).encode(errors="surrogateescape")) + AROUND
            if size >= limit:
                self._refused = max(self._refused, size)
                raise _refused(limit, f"{size} were to be stored", size)


def _asked(connection: Any, question: str) -> int:  # noqa: ANN401 - a driver's own connection
    with closing(connection.cursor()) as cursor:
        cursor.execute(question)
        return int(cursor.fetchone()[0])


def _values(row: object) -> Iterator[object]:
    yield from row.values() if isinstance(row, Mapping) else cast("Sequence[object]", row or ())


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | bytes) else AROUND // LONGEST


def _refused(limit: int, reason: str, size: int) -> SyncError:
    least = LEAST if size <= LEAST else min(MOST, 1 << size.bit_length())
    explained = (
        f"its max_allowed_packet is {limit} bytes, and {reason}; type there: SET GLOBAL max_allowed_packet = {least}; "
        "and write that into the server's configuration, too, for its next start"
    )
    return SyncError(Code.META_PACKET, reason=explained)
