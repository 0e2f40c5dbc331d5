"""A table of Iceberg that no catalog has, by which Spark writes and reads files that no table names yet.

Owns: its metadata, and how Spark finds it by a name.
Must not know: commits, rows, which table of a catalog the files are for.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import VOID, Field, Layout
from syncmgr.lake.iceberg.partition_files import PART
from syncmgr.lake.spark.jvm import Java

FORMAT: Final = 2  # in which files have no ids of rows: those of a new file are made by the commit that names it
LAST_PARTITION_FIELD: Final = 999  # if there is none


def bare_metadata(
    fields: Sequence[Field], layout: Layout, folder: str, properties: Mapping[str, str]
) -> dict[str, Any]:
    """In the JSON of Iceberg's specification: some columns of a layout, by their ids, and its partition spec, field by
    field. A partition field of another column is NULL. No column is required: who computes one refuses NULL.
    """
    ids = {field.id for field in fields}
    columns = [{"id": each.id, "name": each.name, "required": False, "type": each.type} for each in fields]
    parts = [
        {
            "name": f"{PART}{place}",
            "field-id": part.id,
            "transform": part.transform if part.source_id in ids else VOID,
            "source-id": part.source_id if part.source_id in ids else fields[0].id,
        }
        for place, part in enumerate(layout.partition)
    ]
    return {
        "format-version": FORMAT,
        "table-uuid": str(uuid.uuid4()),
        "location": folder,
        "last-sequence-number": 0,
        "last-updated-ms": 0,
        "last-column-id": max(ids),
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": columns}],
        "default-spec-id": layout.spec_id,
        "partition-specs": [{"spec-id": layout.spec_id, "fields": parts}],
        "last-partition-id": max((LAST_PARTITION_FIELD, *(part.id for part in layout.partition))),
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": dict(properties),
        "snapshots": [],
    }


@contextmanager
def findable(iceberg: Iceberg, io: Java, metadata: Mapping[str, Any]) -> Iterator[tuple[str, Java]]:
    """The name by which Spark loads such a table meanwhile, and the table. `io`: by which its files are reached."""
    package = iceberg.jvm.org.apache.iceberg
    name = str(uuid.uuid4())
    parsed = package.TableMetadataParser.fromJson(json.dumps(metadata))
    places = package.LocationProviders.locationsFor(metadata["location"], parsed.properties())
    table = package.BaseTable(package.StaticTableOperations(parsed, io, places), name)
    known = package.spark.SparkTableCache.get()
    known.add(name, table)
    try:
        yield name, table
    finally:
        known.remove(name)
