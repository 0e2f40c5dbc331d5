"""Metadata that a database server keeps (meta_url), as a file of SQLite, and back.

Owns: the moment in which no frontend writes to it, the copy of every row, when a database of a server counts as empty.
Must not know: what the rows mean, why they are copied.

Each change of a frontend begins with a sign of life in the table of the owner; a lock on that table makes all of them
wait.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import JSON, Connection, Engine, MetaData, Table, create_engine, func, inspect, null, select, text

from syncmgr.meta.database import versions
from syncmgr.meta.database.engine import engine_of
from syncmgr.meta.tables import METADATA

ROWS: Final = 1000  # that are in memory at a time
VERSION: Final = "alembic_version"
_OF_MYSQL: Final = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION innodb_lock_wait_timeout = {}",
    "SELECT id FROM owner FOR UPDATE",
)
HOLD: Final[Mapping[str, Sequence[str]]] = {  # none of them starts the snapshot of the reads after it
    "postgresql": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET LOCAL lock_timeout = '{}s'",
        "LOCK TABLE owner IN EXCLUSIVE MODE",
    ),
    "mysql": _OF_MYSQL,
    "mariadb": _OF_MYSQL,
}


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    engine = engine_of(url)
    try:
        yield engine
    finally:
        engine.dispose()


def ours(engine: Engine) -> list[str]:
    """The tables of a database that are named like ours: it is empty if there are none."""
    return sorted({*METADATA.tables, VERSION}.intersection(inspect(engine).get_table_names()))


@contextmanager
def held(engine: Engine, wait_second: int) -> Iterator[Connection]:
    """Reads one moment, in which no frontend writes. Raises SQLAlchemy's OperationalError after `wait_second`."""
    with engine.connect() as connection, connection.begin():
        for statement in HOLD[engine.dialect.name]:
            connection.execute(text(statement.format(wait_second)))
        yield connection


def copy_out(connection: Connection, file: Path) -> None:
    """All rows, into a new file of SQLite of the same version."""
    file.unlink(missing_ok=True)
    engine = create_engine(f"sqlite:///{file}")
    try:
        versions.migrate(engine)
        with engine.begin() as target:
            _copy(connection, target)
    finally:
        engine.dispose()


def copy_in(file: Path, engine: Engine) -> None:
    """Copies all rows of a file, which is upgraded to this version, into an empty database."""
    source = create_engine(f"sqlite:///{file}")
    try:
        versions.refuse_newer(source)
        versions.migrate(source)
        versions.migrate(engine)
        with source.connect() as rows, engine.begin() as target:
            _copy(rows, target)
            if engine.dialect.name == "postgresql":
                _count_on(target)
    finally:
        source.dispose()


def clear(engine: Engine) -> None:
    METADATA.drop_all(engine)
    Table(VERSION, MetaData()).drop(engine, checkfirst=True)


def _copy(source: Connection, target: Connection) -> None:
    for table in _exact().sorted_tables:
        documents = [column for column in table.columns if isinstance(column.type, JSON)]
        missing = [column.is_(null()).label(f"no {column.name}") for column in documents]
        query = select(*table.columns, *missing).execution_options(yield_per=ROWS)
        for rows in source.execute(query).mappings().partitions():
            target.execute(table.insert(), [_values(table, dict(row)) for row in rows])


def _values(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """JSON's null is a value, not a missing one."""
    found = {column.name: row[column.name] for column in table.columns}
    return {
        name: JSON.NULL if row.get(f"no {name}") is False and value is None else value for name, value in found.items()
    }


def _exact() -> MetaData:
    """Tables of which a column of JSON takes None as NULL."""
    tables = MetaData()
    for table in METADATA.sorted_tables:
        for column in table.to_metadata(tables).columns:
            if isinstance(column.type, JSON):
                column.type = JSON(none_as_null=True)
    return tables


def _count_on(target: Connection) -> None:
    """Makes PostgreSQL's own numbers continue after rows that were inserted with theirs."""
    for table in METADATA.sorted_tables:
        for column in table.primary_key:
            if column.autoincrement is True:
                sequence = func.pg_get_serial_sequence(table.name, column.name)
                highest = select(func.coalesce(func.max(column), 0) + 1).scalar_subquery()
                target.execute(select(func.setval(sequence, highest, False)))
