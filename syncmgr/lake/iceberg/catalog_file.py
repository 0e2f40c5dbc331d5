"""A copy of the embedded catalog that is not open in any frontend.

Owns: the rows of Iceberg's JDBC catalog that name files.
Must not know: what the files hold.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from syncmgr.lake.iceberg.catalog_reader import IS_TABLE, Pointer, RowName

NAMED: Final = "catalog_name, table_namespace, table_name"
PLACES: Final = "FROM iceberg_namespace_properties WHERE property_key = 'location'"


def pointers(file: Path) -> dict[RowName, Pointer]:
    """Of every table, those of other engines included; none if the catalog has not been used yet."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        if not _has(connection, "iceberg_tables"):
            return {}
        named = f"{NAMED}, metadata_location, previous_metadata_location"
        which = IS_TABLE if _has_types(connection) else "TRUE"
        rows = connection.execute(f"SELECT {named} FROM iceberg_tables WHERE {which}").fetchall()  # noqa: S608 - constants
    return {RowName(*name): Pointer(location=location, previous=previous) for *name, location, previous in rows}


def databases(file: Path) -> list[tuple[str, str]]:
    """Where engines have put databases; the same may be in several catalogs of the file."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        if not _has(connection, "iceberg_namespace_properties"):
            return []
        return list(connection.execute(f"SELECT namespace, property_value {PLACES}").fetchall())


def drop_views(file: Path) -> list[str]:
    """Their labels: those of other engines, whose files are not in the backup."""
    with closing(sqlite3.connect(file)) as connection, connection:
        if not (_has(connection, "iceberg_tables") and _has_types(connection)):
            return []
        which = f"FROM iceberg_tables WHERE NOT {IS_TABLE}"
        found = connection.execute(f"SELECT {NAMED} {which} ORDER BY 2, 3, 1").fetchall()
        connection.execute(f"DELETE {which}")
    return [RowName(*name).label for name in found]


def move(file: Path, moved: Callable[[str], str]) -> None:
    """Every location is changed."""
    with closing(sqlite3.connect(file)) as connection, connection:
        if not _has(connection, "iceberg_tables"):
            return
        for column in ("metadata_location", "previous_metadata_location"):
            named = f"SELECT rowid, {column} FROM iceberg_tables WHERE {column} IS NOT NULL"  # noqa: S608 - one of two
            for row, location in connection.execute(named).fetchall():
                change = f"UPDATE iceberg_tables SET {column} = ? WHERE rowid = ?"  # noqa: S608 - one of two
                connection.execute(change, (moved(location), row))
        spaces = connection.execute(f"SELECT rowid, property_value {PLACES}").fetchall()
        for row, location in spaces:
            change = "UPDATE iceberg_namespace_properties SET property_value = ? WHERE rowid = ?"
            connection.execute(change, (moved(location), row))


def _has(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _has_types(connection: sqlite3.Connection) -> bool:
    """A catalog that no engine with views has opened does not distinguish tables from views: it has no views."""
    columns = connection.execute("SELECT name FROM pragma_table_info('iceberg_tables')").fetchall()
    return ("iceberg_type",) in columns
