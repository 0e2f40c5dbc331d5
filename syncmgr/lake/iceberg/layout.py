"""Tables of Iceberg as values: columns, partition spec, snapshots.

Owns: their shape, and how Iceberg's JSON is read.
Must not know: Java, Spark.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from syncmgr.job.types.folding import folded_name

FORMAT_VERSION: Final = "format-version"  # Iceberg accepts it as a property and stores it elsewhere
PREVIOUS_VERSIONS: Final = "write.metadata.previous-versions-max"
KEPT_VERSIONS: Final = 20  # of older metadata: they tell an expiry of snapshots from a rollback
UUID: Final = "uuid"  # a word that Iceberg does not accept as a property
JsonValue = bool | int | float | str  # of one column, as Iceberg's specification writes it
VOID: Final = "void"
FIRST_PARTITION_FIELD: Final = 1000  # where a spec of format v1 has no ids
ROWS: Final = "syncmgr.rows"  # reported, and never stored: by the current snapshot's own count
BYTES: Final = "syncmgr.bytes"  # the same of its files
CHANGES: Final = "syncmgr.changes"  # reported, and never stored: how often the table was changed since it was created


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A column of an Iceberg table: `type` is Iceberg's word for it, "decimal(12, 2)".

    `initial`: what rows of files without it show, in the JSON of Iceberg's specification; None: NULL.
    """

    id: int
    name: str
    type: str
    required: bool
    doc: str = ""
    initial: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionField:
    """`transform` is Iceberg's word: "identity", "bucket[4]", "day"; "void": there is none any more, in a table that
    was of format v1 when it was removed. `id`: by which files name their value.
    """

    name: str
    transform: str
    source_id: int
    id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Schema and partition spec of a table, as one of its metadata versions has them."""

    schema_id: int
    spec_id: int
    fields: tuple[Field, ...]
    partition: tuple[PartitionField, ...]
    identifier: tuple[int, ...] = ()

    @property
    def divisions(self) -> tuple[PartitionField, ...]:
        """The fields of the partition spec that decide where a row lies."""
        return tuple(part for part in self.partition if part.transform != VOID)

    def field(self, name: str) -> Field | None:
        folded = folded_name(name)
        return next((f for f in self.fields if folded_name(f.name) == folded), None)

    def by_id(self, field_id: int) -> Field | None:
        """A column; None for a field inside of one, or one that was dropped."""
        return next((f for f in self.fields if f.id == field_id), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """`marks`: what we wrote into its summary. `sequence`: the higher, the later it was committed."""

    id: int
    parent: int | None
    operation: str
    marks: Mapping[str, str]
    sequence: int = 0


def layout_of(schema: Mapping[str, Any], spec: Mapping[str, Any]) -> Layout:
    """From a schema and a partition spec as Iceberg's specification writes them in JSON."""
    fields = tuple(
        Field(
            id=f["id"],
            name=f["name"],
            type=f["type"] if isinstance(f["type"], str) else json.dumps(f["type"]),
            required=f["required"],
            doc=f.get("doc", ""),
            initial=json.dumps(f["initial-default"]) if "initial-default" in f else None,
        )
        for f in schema["fields"]
    )
    partition = tuple(
        PartitionField(
            name=f["name"],
            transform=f["transform"],
            source_id=f["source-id"],
            id=f.get("field-id", FIRST_PARTITION_FIELD + place),
        )
        for place, f in enumerate(spec["fields"])
    )
    return Layout(
        schema_id=schema["schema-id"],
        spec_id=spec["spec-id"],
        fields=fields,
        partition=partition,
        identifier=tuple(schema.get("identifier-field-ids", ())),
    )


def size_of(summary: Mapping[str, Any] | None) -> dict[str, str]:
    """ROWS and BYTES by the summary of the current snapshot, None: there is none. Rows that only an equality delete
    removes count as if they were there; a writer that counts nothing gives none of both.
    """
    if summary is None:
        return {ROWS: "0", BYTES: "0"}
    records, size = summary.get("total-records"), summary.get("total-files-size")
    if records is None or size is None:
        return {}
    deleted = int(summary.get("total-position-deletes") or 0)
    return {ROWS: str(max(int(records) - deleted, 0)), BYTES: str(int(size))}
