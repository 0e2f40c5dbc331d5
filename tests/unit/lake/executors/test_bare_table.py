"""The metadata of a table that no catalog has."""

from syncmgr.lake.executors.bare_table import bare_metadata
from syncmgr.lake.iceberg.layout import VOID, Field, Layout, PartitionField

ID = Field(id=3, name="id", type="long", required=True)
V = Field(id=7, name="v", type="string", required=False)
BUCKET = PartitionField(name="id_bucket", transform="bucket[4]", source_id=3, id=1000)
BY_V = PartitionField(name="v", transform="identity", source_id=7, id=1001)
LAYOUT = Layout(schema_id=2, spec_id=5, fields=(ID, V), partition=(BY_V, BUCKET), identifier=(3,))


def test_files_have_the_ids_and_the_partitions_of_the_table() -> None:
    """Field by field of its spec, so that a value of a partition is found at its place."""
    made = bare_metadata((ID, V), LAYOUT, "s3://b/t/data/new", {"write.data.path": "s3://b/t/data/new"})
    [schema], [spec] = made["schemas"], made["partition-specs"]
    assert [(field["id"], field["name"], field["required"]) for field in schema["fields"]] == [
        (3, "id", False),
        (7, "v", False),
    ]
    assert (spec["spec-id"], made["default-spec-id"]) == (5, 5)
    assert [(f["field-id"], f["transform"], f["source-id"]) for f in spec["fields"]] == [
        (1001, "identity", 7),
        (1000, "bucket[4]", 3),
    ]
    assert (made["last-column-id"], made["last-partition-id"]) == (7, 1001)


def test_what_is_not_written_decides_no_partition() -> None:
    """Files of keys have no other column."""
    [spec] = bare_metadata((ID,), LAYOUT, "s3://b/t/data/new", {})["partition-specs"]
    assert [(f["transform"], f["source-id"]) for f in spec["fields"]] == [(VOID, 3), ("bucket[4]", 3)]


def test_each_has_a_name_of_its_own() -> None:
    """Two writes of one table do not find each other's files."""
    one, two = (bare_metadata((ID,), LAYOUT, "s3://b/t/data/new", {}) for _ in range(2))
    assert one["table-uuid"] != two["table-uuid"]
