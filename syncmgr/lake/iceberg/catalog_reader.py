"""The embedded catalog file read without Spark: what SHOW needs while Spark starts, and afterwards too.

Owns: Iceberg's JDBC catalog tables and its metadata files, read only.
Must not know: how tables are made or changed.
"""

import contextlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from syncmgr.errors import Code, SyncError
from syncmgr.lake.iceberg import metadata_file
from syncmgr.lake.iceberg.layout import CHANGES, FORMAT_VERSION, UUID, Layout, Snapshot, layout_of, size_of
from syncmgr.lake.spark.launch import CATALOG

BUSY_SECOND: Final = 30.0
IS_TABLE: Final = "(iceberg_type IS NULL OR iceberg_type = 'TABLE')"  # the catalog's table of tables has views, too


class RowName(NamedTuple):
    """Of a table in the catalog file. `catalog`: several engines may have the file under names of their own."""

    catalog: str
    db: str
    table: str

    @property
    def label(self) -> str:
        """For messages."""
        label = f"{self.db}.`{self.table}`" if "." in self.table else f"{self.db}.{self.table}"
        return label if self.catalog == CATALOG else f"{label} of catalog {self.catalog}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointer:
    """Where the catalog says that a table's metadata is, and was before its last commit."""

    location: str
    previous: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogReader:
    """`file`: the SQLite file of the catalog; before the first start there is none, and the catalog is empty."""

    file: Path

    def namespaces(self) -> list[str]:
        sql = (
            "SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?1 "
            "UNION SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?1 ORDER BY 1"
        )
        return [str(row[0]) for row in self._rows(sql, CATALOG)]

    def tables(self, db: str) -> list[str]:
        return self._names(db, IS_TABLE)

    def views(self, db: str) -> list[str]:
        """Those of other engines: we create none."""
        return self._names(db, f"NOT {IS_TABLE}")

    def _names(self, db: str, which: str) -> list[str]:
        sql = (
            f"SELECT table_name FROM iceberg_tables WHERE {which} "  # noqa: S608 - one of two
            "AND catalog_name = ? AND table_namespace = ? ORDER BY 1"
        )
        return [str(row[0]) for row in self._rows(sql, CATALOG, db)]

    def describe(self, db: str, table: str) -> tuple[Layout, Mapping[str, str]]:
        """Current layout and properties. Raises NO_SUCH_TABLE."""
        metadata = self._metadata(db, table)
        schema = next(s for s in metadata["schemas"] if s["schema-id"] == metadata["current-schema-id"])
        spec = next(s for s in metadata["partition-specs"] if s["spec-id"] == metadata["default-spec-id"])
        facts = {
            FORMAT_VERSION: str(metadata["format-version"]),
            UUID: metadata["table-uuid"],
            CHANGES: _changes(metadata),
        }
        return layout_of(schema, spec), metadata.get("properties", {}) | facts | size_of(_current_summary(metadata))

    def snapshots(self, db: str, table: str) -> frozenset[int]:
        """None for a table that is not whole. Raises NO_SUCH_TABLE."""
        with contextlib.suppress(OSError, ValueError):
            return frozenset(snapshot["snapshot-id"] for snapshot in self._metadata(db, table).get("snapshots", ()))
        return frozenset()

    def history(self, db: str, table: str) -> list[Snapshot]:
        """The current snapshot and its ancestors, newest first, as far back as they were not expired. Raises
        NO_SUCH_TABLE.
        """
        metadata, found = self._metadata(db, table), list[Snapshot]()
        known = {each["snapshot-id"]: each for each in metadata.get("snapshots", ())}
        at = known.get(metadata.get("current-snapshot-id"))
        while at is not None:
            operation, parent = at.get("summary", {}).get("operation", ""), at.get("parent-snapshot-id")
            found.append(Snapshot(id=at["snapshot-id"], parent=parent, operation=operation, marks={}))
            at = known.get(parent)
        return found

    def is_new(self, db: str, table: str) -> bool:
        """Whether nothing was ever committed to it; False if its metadata cannot be read. Raises NO_SUCH_TABLE."""
        if self.pointer(db, table).previous is not None:
            return False
        try:
            return not self._metadata(db, table).get("snapshots", ())
        except (OSError, ValueError):
            return False

    def _metadata(self, db: str, table: str) -> dict[str, Any]:
        place = Path(self.pointer(db, table).location.removeprefix("file:"))
        return metadata_file.read(place)

    def pointer(self, db: str, table: str) -> Pointer:
        """Raises NO_SUCH_TABLE."""
        sql = (
            "SELECT metadata_location, previous_metadata_location FROM iceberg_tables "  # noqa: S608 - a constant
            f"WHERE {IS_TABLE} AND catalog_name = ? AND table_namespace = ? AND table_name = ?"
        )
        rows = self._rows(sql, CATALOG, db, table)
        if not rows:
            raise SyncError(Code.NO_SUCH_TABLE, db=db, table=table)
        return Pointer(location=str(rows[0][0]), previous=None if rows[0][1] is None else str(rows[0][1]))

    def _rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        if not self.file.is_file():
            return []
        uri = f"{self.file.as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECOND)) as connection:
            try:
                return connection.execute(sql, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):  # Spark's first start is about to create them
                    return []
                raise


def _current_summary(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    current = metadata.get("current-snapshot-id")
    snapshots = metadata.get("snapshots", ())
    return next((each.get("summary", {}) for each in snapshots if each["snapshot-id"] == current), None)


def _changes(metadata: Mapping[str, Any]) -> str:
    """A table may have been created with rows in it."""
    return str(len(metadata.get("metadata-log", ())) + len(metadata.get("snapshots", ())))
