"""A copy of the embedded catalog that no frontend has opened.

Owns: the rows of Iceberg's JDBC catalog that name files.
Must not know: what the files hold.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from syncmgr.lake.iceberg.catalog_reader import Pointer


def pointers(file: Path) -> dict[str, Pointer]:
    """Of every table, by its label; none where the catalog has not been used yet."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        if not _has(connection, "iceberg_tables"):
            return {}
        rows = connection.execute(
            "SELECT table_namespace, table_name, metadata_location, previous_metadata_location FROM iceberg_tables"
        ).fetchall()
    return {f"{db}.{name}": Pointer(location=location, previous=previous) for db, name, location, previous in rows}


def move(file: Path, moved: Callable[[str], str]) -> None:
    """Every location is another from now on."""
    with closing(sqlite3.connect(file)) as connection, connection:
        if not _has(connection, "iceberg_tables"):
            return
        for column in ("metadata_location", "previous_metadata_location"):
            named = f"SELECT rowid, {column} FROM iceberg_tables WHERE {column} IS NOT NULL"  # noqa: S608 - one of two
            for row, location in connection.execute(named).fetchall():
                change = f"UPDATE iceberg_tables SET {column} = ? WHERE rowid = ?"  # noqa: S608 - one of two
                connection.execute(change, (moved(location), row))
        spaces = "SELECT rowid, property_value FROM iceberg_namespace_properties WHERE property_key = 'location'"
        for row, location in connection.execute(spaces).fetchall():
            change = "UPDATE iceberg_namespace_properties SET property_value = ? WHERE rowid = ?"
            connection.execute(change, (moved(location), row))


def _has(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None
