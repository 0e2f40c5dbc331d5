"""A target as a table of Iceberg, and back.

Owns: its fields and properties, which hold what Iceberg has no place for.
Must not know: statements, Java, Spark.
"""

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Final

from syncmgr.job.types import table_rules
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import TableSize, TargetColumn, TargetTable, TargetType
from syncmgr.job.types.target import parse_type
from syncmgr.lake.iceberg.ancestry import token_property
from syncmgr.lake.iceberg.layout import (
    BYTES,
    CHANGES,
    FORMAT_VERSION,
    KEPT_VERSIONS,
    PREVIOUS_VERSIONS,
    ROWS,
    UUID,
    Field,
    Layout,
    PartitionField,
)
from syncmgr.lake.target.own_properties import as_written
from syncmgr.lake.target.table_properties import PROPERTIES, RESERVED_COLUMNS
from syncmgr.lake.target.target_types import TYPES, from_iceberg, iceberg_type, kept_types

UNIQUE_KEY: Final = "syncmgr.unique-key"  # field ids in the order of the statement
DUPLICATE_KEY: Final = "syncmgr.duplicate-key"
COMMENT: Final = "comment"
BY_JOB: Final = "syncmgr.made-for-a-job"
REQUEST: Final = "syncmgr.created-on-request"  # which of them created it, if a catalog gave another answer
TOKEN: Final = token_property("")
CREATED: Final[Mapping[str, str]] = {
    FORMAT_VERSION: "3",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    "write.parquet.compression-codec": "zstd",
    "read.split.open-file-cost": "262144",  # the files of recent epochs go into one task, not a few into each
    "commit.manifest.min-count-to-merge": "16",  # each epoch adds two; a reader opens all of them
    "write.metadata.delete-after-commit.enabled": "true",  # each commit writes one; without it they pile up
    PREVIOUS_VERSIONS: str(KEPT_VERSIONS),
}


def fields_of(table: TargetTable) -> tuple[Field, ...]:
    """Iceberg's columns, ids in the order of the statement."""
    return tuple(
        Field(
            id=place,
            name=column.name,
            type=iceberg_type(column.type),
            required=not column.nullable,
            doc=column.comment,
        )
        for place, column in enumerate(table.columns, 1)
    )


def properties_of(table: TargetTable, *, for_job: bool = False) -> dict[str, str]:
    """Everything that Iceberg has no place for. `for_job`: made by a job, not by CREATE TABLE."""
    ids = _ids(table)

    def numbers(names: Iterable[str]) -> str:
        return ",".join(str(ids[folded_name(name)]) for name in names)

    types = {ids[folded_name(column.name)]: column.type.text for column in table.columns}
    found = dict(CREATED) | dict(table.properties) | {TYPES: json.dumps(types)}
    if table.keys:
        found[UNIQUE_KEY] = numbers(table.keys)
    if table.duplicate_key:
        found[DUPLICATE_KEY] = numbers(table.duplicate_key)
    if table.comment:
        found[COMMENT] = table.comment
    return found | {BY_JOB: "yes"} if for_job else found


def identifier_of(table: TargetTable) -> tuple[int, ...]:
    """The ids of its key columns."""
    ids = _ids(table)
    return tuple(ids[folded_name(key)] for key in table.keys)


def _ids(table: TargetTable) -> dict[str, int]:
    return {folded_name(field.name): field.id for field in fields_of(table)}


def folder_of(table: TargetTable) -> str:
    """A separate folder for every table: one that is dropped and recreated never meets its old files."""
    plain = [re.sub(r"[^A-Za-z0-9_]", "", part).lstrip("_") or "x" for part in (table.db, table.name)]
    return f"{plain[0]}/{plain[1]}-{uuid.uuid4().hex[:8]}"


def described(db: str, name: str, layout: Layout, properties: Mapping[str, str]) -> TargetTable:
    """The inverse of `fields_of` and `properties_of`; a table of another engine is described by the nearest types.
    Raises FOREIGN_CHANGE.
    """
    with as_written(db, name, TYPES):
        words = kept_types(properties.get(TYPES))
        types = {field.id: parse_type(words[str(field.id)]) for field in layout.fields if str(field.id) in words}
    names = {field.id: field.name for field in layout.fields}

    def columns(key: str, otherwise: Iterable[int]) -> tuple[str, ...]:
        with as_written(db, name, key):
            stored = [int(number) for number in properties[key].split(",")] if key in properties else otherwise
        return tuple(names[number] for number in stored if number in names)

    return TargetTable(
        db=db,
        name=name,
        columns=tuple(_described_column(field, types.get(field.id)) for field in layout.fields),
        keys=columns(UNIQUE_KEY, layout.identifier),
        duplicate_key=columns(DUPLICATE_KEY, ()),
        partition=tuple(_described_transform(part, names) for part in layout.divisions if part.source_id in names),
        comment=properties.get(COMMENT, ""),
        properties=tuple(
            (key, properties[key]) for key in PROPERTIES if properties.get(key, CREATED.get(key)) != CREATED.get(key)
        ),
        reserved_columns=RESERVED_COLUMNS,
        uuid=properties.get(UUID, ""),
        writers=tuple(key.removeprefix(TOKEN) for key in properties if key.startswith(TOKEN)),
        is_unused=properties.get(CHANGES) == "0",
        is_spare=properties.get(CHANGES) == "0" and BY_JOB in properties,
        lacks_defaults="a table of format v2" if properties.get(FORMAT_VERSION) == "2" else "",
        size=_size(properties),
    )


def _described_column(field: Field, kept: TargetType | None) -> TargetColumn:
    kind = kept or from_iceberg(field.type)
    if iceberg_type(kind) != field.type:  # its type was changed since
        kind = from_iceberg(field.type)
    return TargetColumn(name=field.name, type=kind, nullable=not field.required, comment=field.doc)


def _described_transform(part: PartitionField, names: Mapping[int, str]) -> str:
    kind, _, width = part.transform.rstrip("]").partition("[")
    return table_rules.Transform(kind=kind, column=names[part.source_id], width=int(width) if width else None).text


def _size(properties: Mapping[str, str]) -> TableSize | None:
    counted = {ROWS, BYTES} <= set(properties)
    return TableSize(rows=int(properties[ROWS]), bytes=int(properties[BYTES])) if counted else None
