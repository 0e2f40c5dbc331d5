"""Which data files of a fold are copied to the local disk at once."""

from syncmgr.lake.iceberg.snapshot_files import ContentFile
from syncmgr.lake.upkeep import fold


def file(path: str, size: int) -> ContentFile:
    return ContentFile(path=path, rows=1, bytes=size, sequence=1, text="{}")


def test_files_are_copied_as_far_as_there_is_room() -> None:
    """In their order, each once; one that is larger than the room comes alone, and what needs no copy comes at once."""
    sizes = {"s3://a": 4, "/b": 100, "s3://c": 6, "s3://d": 1, "s3://e": 30, "s3://f": 2, "/g": 100}
    data = [(number, file(path, size)) for number, (path, size) in enumerate(sizes.items())]
    found = [[each.path for _, each in part] for part in fold.parts(data, lambda path: path.startswith("s3:"), 10)]
    assert found == [["/b", "/g"], ["s3://a", "s3://c"], ["s3://d"], ["s3://e"], ["s3://f"]]
    assert list(fold.parts([], lambda _: True, 10)) == []
