"""Which places of tables meet, and what shows that another table is inside of one."""

import pytest

from syncmgr.lake.upkeep.orphans import configured_places, overlap, sharing

HERE = "file:///lake/db/t-1"


@pytest.mark.parametrize(
    ("other", "meets"),
    [
        ("/lake/db/t-1", True),
        ("file:/lake/db/t-1/", True),
        ("/lake/db/t-1/data/inside", True),
        ("/lake/db", True),
        ("/lake/db/t-10", False),
        ("/lake/db/t-2", False),
        ("s3://lake/db/t-1", False),
    ],
)
def test_places_that_meet(other: str, *, meets: bool) -> None:
    """The same, or one inside of the other, however local paths are written."""
    assert overlap(HERE, other) is meets
    assert overlap(other, HERE) is meets


@pytest.mark.parametrize(
    ("path", "shares"),
    [
        ("/lake/db/t-1/metadata/00001-a.metadata.json", False),
        ("file:/lake/db/t-1/data/x.parquet", False),
        ("/lake/db/t-1/data/inside/metadata/v1.metadata.json", True),
        ("/lake/db/t-1/inside/metadata/v1.metadata.json", True),
    ],
)
def test_metadata_of_another_table(path: str, *, shares: bool) -> None:
    """Those of the table itself are in one folder."""
    assert (sharing([path], HERE) is not None) is shares


def test_places_that_properties_name() -> None:
    """Whichever of them Iceberg uses, now or later; no other property is a place."""
    paths = {
        "write.data.path": "/a",
        "write.metadata.path": "/b",
        "write.object-storage.path": "/c",
        "write.folder-storage.path": "/d",
    }
    assert configured_places({"write.format.default": "parquet", **paths, "their.path": "/e"}) == list(paths.values())
