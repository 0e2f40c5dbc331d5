"""How the metadata database is opened.

Owns: the options of its connections, where the one of a folder is, which character sets preserve every name.
Must not know: what is in it.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import NoSuchModuleError

from syncmgr.errors import Code, SyncError
from syncmgr.meta.database import packets
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
# Without a driver SQLAlchemy takes others, which are not among our dependencies.
OWN_DRIVERS: Final[Mapping[str, str]] = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
OFFERED: Final = (
    "write mysql+pymysql:// or mariadb+pymysql://, or postgresql+psycopg:// after pip install 'syncmgr[postgresql]', "
    "or leave meta_url out, so that the metadata is in SQLite"
)
ODD_PORT: Final = "its port is no number; a password has %40 for @, %3A for : and %2F for /"
TIMEOUTS: Final[Mapping[str, tuple[str, ...]]] = {"pymysql": ("connect_timeout", "read_timeout", "write_timeout")}


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / META_FILE}"


def engine_of(url: str, timeout: float | None = None) -> Engine:
    """Of an SQLAlchemy URL. `timeout`: seconds that a server may take to answer, if its driver supports such a limit;
    None: as long as the driver allows.

    Raises META_FAILED for a driver that is missing and a port that is none, SQLAlchemy's errors for what else is wrong.
    """
    made = parsed(url)
    made = made.set(drivername=OWN_DRIVERS.get(made.drivername, made.drivername))
    is_file = made.get_backend_name() == "sqlite"
    known = () if timeout is None else TIMEOUTS.get(made.get_driver_name(), ())
    limits = {name: timeout for name in known if name not in made.query}
    with _naming_drivers(made.drivername):
        engine = create_engine(made, pool_pre_ping=not is_file, connect_args=limits)  # no server could have closed it
    if is_file:
        event.listen(engine, "connect", _set_pragmas)
    elif engine.dialect.name in packets.LIMITED:
        event.listen(engine, "connect", _be_strict)
        packets.watch(engine)
    return engine


def parsed(url: str) -> URL:
    """Raises META_FAILED for a port that is no number: what stands there may be the rest of a password."""
    try:
        return make_url(url)
    except ValueError:
        raise SyncError(Code.META_FAILED, where="meta_url", reason=ODD_PORT) from None


@contextmanager
def _naming_drivers(name: str) -> Iterator[None]:
    try:
        yield
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        reason = f"it begins with {name}://, for which no driver is installed; {OFFERED}"
        raise SyncError(Code.META_FAILED, where="meta_url", reason=reason) from error


def refuse_unfit(engine: Engine) -> None:
    """Raises META_CHARSET, META_PACKET if a server would not preserve everything stored; each says what to type."""
    _refuse_charset(engine)
    packets.refuse_small(engine)


def _refuse_charset(engine: Engine) -> None:
    """Raises META_CHARSET if a database, its tables or its connections cannot hold every name; says what to type."""
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
    """A text that is too long is refused, not truncated."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@sql_mode, ''), 'STRICT_ALL_TABLES')")


def _set_pragmas(connection: Any, _record: object) -> None:  # noqa: ANN401 - a driver's own connection
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")
