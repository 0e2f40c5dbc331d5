"""A table on a file system that Spark does not know."""

import json
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from syncmgr.errors import Code, SyncError
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.unknown_storage import known_storage

WORDS = [
    'UnsupportedFileSystemException: No FileSystem for scheme "s3x"',
    "RuntimeException: ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
]


def written(path: Path, location: str, *log: Path) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"location": location, "metadata-log": [{"metadata-file": str(each)} for each in log]}))
    return f"file:{path}"


def fail(words: str, *, wrapped: bool) -> None:
    if wrapped:
        raise SyncError(Code.LAKE_FAILED, reason="of a layer below") from Py4JError(f"Trace: {words}")
    raise Py4JError(f"Trace: {words}")


def refused(words: str, pointer: Pointer, *, wrapped: bool = False) -> SyncError:
    with pytest.raises(SyncError) as caught, known_storage(("d", "t"), lambda _db, _table: pointer):
        fail(words, wrapped=wrapped)
    return caught.value


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_both_places_are_named(tmp_path: Path, words: str, *, wrapped: bool) -> None:
    """With the statement that brings the table back, whichever of its metadata are on the local disk."""
    home, away = f"file:{tmp_path}/t", "s3x://bucket/t"
    first = tmp_path / "metadata" / "1.metadata.json"
    before = written(first, home)
    moved = written(tmp_path / "metadata" / "2.metadata.json", away, first)
    later = written(tmp_path / "metadata" / "3.metadata.json", away, first, Path(moved.removeprefix("file:")))
    for pointer in (
        Pointer(location=moved, previous=before),
        Pointer(location=later, previous=moved),
        Pointer(location=f"{away}/metadata/9.metadata.json", previous=before),
        Pointer(location=f"{away}/metadata/9.metadata.json", previous=moved),
    ):
        error = refused(words, pointer, wrapped=wrapped)
        assert error.code is Code.FOREIGN_CHANGE
        assert away in str(error)
        assert f"type in Spark: ALTER TABLE lake.`d`.`t` SET LOCATION '{home}'" in str(error)


def test_a_place_that_nobody_knows_is_not_guessed(tmp_path: Path) -> None:
    """Where no metadata on the local disk name it."""
    pointer = Pointer(location="s3x://bucket/t/metadata/2.metadata.json", previous=str(tmp_path / "none.json"))
    assert "SET LOCATION to where it was" in str(refused(WORDS[0], pointer))


@pytest.mark.parametrize("wrapped", [False, True])
def test_other_errors_stay(*, wrapped: bool) -> None:
    """Also those of syncmgr that no call into Java has caused."""
    with pytest.raises((SyncError, Py4JError)) as caught, known_storage(("d", "t"), None):
        fail("something else", wrapped=wrapped)
    assert not isinstance(caught.value, SyncError) or caught.value.code is Code.LAKE_FAILED
