"""How the metadata database is opened.

Owns: the options of its connections, where the one of a folder lies, which character sets keep every name, and that
nothing is sent which a server does not take at once: MySQL and MariaDB would end the connection, which looks as an
outage does, and would again at each retry. PostgreSQL has no such limit below that of its values.
Must not know: what is in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, cast

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DisconnectionError

from syncmgr.errors import Code, SyncError
from syncmgr.meta.tables import METADATA

META_FILE: Final = "meta.db"
WIDE: Final = "utf8mb4"
NARROW: Final = """SELECT DISTINCT table_name FROM information_schema.columns
    WHERE table_schema = DATABASE() AND character_set_name <> :wide ORDER BY table_name"""
HELD: Final = """SELECT k.table_name, k.constraint_name, k.column_name,
    k.referenced_table_name, k.referenced_column_name
    FROM information_schema.key_column_usage k JOIN information_schema.columns c
    ON (c.table_schema, c.table_name, c.column_name) = (k.table_schema, k.table_name, k.column_name)
    WHERE k.table_schema = DATABASE() AND k.referenced_table_name IS NOT NULL AND c.character_set_name IS NOT NULL"""
TIMEOUTS: Final[Mapping[str, tuple[str, ...]]] = {"pymysql": ("connect_timeout", "read_timeout", "write_timeout")}

LEAST: Final = 16 << 20  # the default of MariaDB; statements of max_statement_bytes, with all their quotes, fit
MOST: Final = 1 << 30  # that a server can be set to
SESSION: Final = "SELECT @@max_allowed_packet"
GLOBAL: Final = "SELECT @@GLOBAL.max_allowed_packet"
KEY: Final = "max_allowed_packet"
AROUND: Final = 1024  # bytes of a packet that are not of the statement, and more
LONGEST: Final = 8  # bytes that a character may become: four, each with a backslash
MYSQL: Final = frozenset({"mysql", "mariadb"})


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / META_FILE}"


def engine_of(url: str, timeout: float | None = None) -> Engine:
    """Of an SQLAlchemy URL. `timeout`: seconds that a server may take to answer, where its driver knows such a limit;
    None: as long as the driver lets it.

    Raises what SQLAlchemy does for one that is wrong.
    """
    made = make_url(url)
    is_file = made.get_backend_name() == "sqlite"
    known = () if timeout is None else TIMEOUTS.get(made.get_driver_name(), ())
    limits = {name: timeout for name in known if name not in made.query}
    engine = create_engine(url, pool_pre_ping=not is_file, connect_args=limits)  # no server that could have closed it
    if is_file:
        event.listen(engine, "connect", _set_pragmas)
    elif engine.dialect.name in MYSQL:
        event.listen(engine, "connect", _be_strict)
        _watch_packets(engine)
    return engine


def refuse_unfit(engine: Engine) -> None:
    """Raises META_CHARSET, META_PACKET where a server would not keep all that is stored; each says what to type."""
    _refuse_charset(engine)
    _refuse_small_packets(engine)


def _refuse_charset(engine: Engine) -> None:
    """Raises META_CHARSET where a database, its tables or its connections cannot hold every name; says what to type."""
    with engine.connect() as connection:
        match engine.dialect.name:
            case "mysql" | "mariadb":
                reason = _narrow_mysql(connection)
            case "postgresql":
                reason = _narrow_postgresql(connection)
            case _:
                return
    if reason is not None:
        raise SyncError(Code.META_CHARSET, reason=reason)


def _narrow_mysql(connection: Connection) -> str | None:
    name, of_database, of_connection = connection.execute(
        text("SELECT DATABASE(), @@character_set_database, @@character_set_connection")
    ).one()
    if of_connection != WIDE:
        return f"meta_url connects with the character set {of_connection}; write charset={WIDE} there, or leave it out"
    tables = [table for (table,) in connection.execute(text(NARROW), {"wide": WIDE}) if table in METADATA.tables]
    if of_database == WIDE and not tables:
        return None
    held = [tuple(row) for row in connection.execute(text(HELD)) if tables]
    cure = [f"ALTER DATABASE `{name}` CHARACTER SET {WIDE}"]
    cure += [f"ALTER TABLE `{name}`.`{table}` DROP FOREIGN KEY `{key}`" for table, key, *_ in held]
    cure += [f"ALTER TABLE `{name}`.`{table}` CONVERT TO CHARACTER SET {WIDE}" for table in tables]
    cure += [
        f"ALTER TABLE `{name}`.`{table}` ADD CONSTRAINT `{key}` FOREIGN KEY (`{column}`) REFERENCES `{name}`.`{other}` "
        f"(`{there}`) ON DELETE CASCADE"
        for table, key, column, other, there in held
    ]
    return f"the database of meta_url has tables or a default of another character set than {WIDE}; {'; '.join(cure)}"


def _narrow_postgresql(connection: Connection) -> str | None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding == "UTF8":
        return None
    return (
        f"the database of meta_url has the encoding {encoding}; make another one by "
        "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0, and name it in meta_url"
    )


def _be_strict(connection: Any, _record: object) -> None:  # noqa: ANN401 - a driver's own connection
    """A text that is too long is refused, and not cut."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@sql_mode, ''), 'STRICT_ALL_TABLES')")


def _set_pragmas(connection: Any, _record: object) -> None:  # noqa: ANN401 - a driver's own connection
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")


# -- how much a server of MySQL or MariaDB takes at once


def _refuse_small_packets(engine: Engine) -> None:
    """Raises META_PACKET where a server takes less than what may have to be stored."""
    if engine.dialect.name not in MYSQL:
        return
    with engine.connect() as connection:
        limit = int(connection.execute(text(SESSION)).scalar_one())
    if limit < LEAST:
        raise _refused(limit, f"up to {LEAST} have to be stored", LEAST)


def _watch_packets(engine: Engine) -> None:
    """Whatever is too large raises META_PACKET, and is not sent."""
    watch = _Watch()
    event.listen(engine, "connect", watch.learn)
    event.listen(engine, "checkout", watch.renew)
    event.listen(engine, "before_cursor_execute", watch.refuse_large)


class _Watch:
    """Of one engine. A connection keeps the limit of when it was made, whatever is set later."""

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
    least = LEAST
    while least <= size and size > LEAST and least < MOST:
        least *= 2
    told = (
        f"its max_allowed_packet is {limit} bytes, and {reason}; type there: SET GLOBAL max_allowed_packet = {least}; "
        "and write that into the server's configuration, too, for its next start"
    )
    return SyncError(Code.META_PACKET, reason=told)
