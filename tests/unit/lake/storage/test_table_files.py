"""Files of tables, wherever they are."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.storage.copies import Copies
from syncmgr.lake.storage.table_files import TableFiles

IO = cast("Java", "the FileIO of a table")
FOLDER = "s3://bucket/t/data/one-1"


class MemoryStore:
    """What Java does, in a dict. `fails`: an upload gets no further than its first byte."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.downloads = 0
        self.fails = False

    def upload(self, io: Java, place: Path, location: str) -> None:
        assert io == IO
        if self.fails:
            self.objects[location] = b"half"
            raise ConnectionError
        self.objects[location] = place.read_bytes()

    def download(self, io: Java, location: str, place: Path) -> None:
        assert io == IO
        self.downloads += 1
        place.write_bytes(self.objects[location])

    def write(self, io: Java, location: str, content: bytes) -> None:
        assert io == IO
        self.objects[location] = content

    def part(self, io: Java, location: str, offset: int, length: int) -> bytes:
        assert io == IO
        return self.objects[location][offset : offset + length]

    def delete(self, io: Java, location: str) -> None:
        assert io == IO
        del self.objects[location]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[Copies]:
    own = Copies(tmp_path)
    yield own
    own.close()


@pytest.fixture
def files(store: MemoryStore, copies: Copies) -> TableFiles:
    return TableFiles(store, copies, spark_is_here=True)


def written(files: TableFiles, name: str = "a.parquet", content: bytes = b"rows") -> str:
    place = files.place(f"{FOLDER}/{name}")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return f"{FOLDER}/{name}"


def test_a_file_is_uploaded_once_and_read_from_its_copy(files: TableFiles, store: MemoryStore) -> None:
    """Its keys are read before the commit, and need no request."""
    location = written(files)
    files.upload(IO, location)
    del store.objects[location]
    files.upload(IO, location)
    assert not store.objects
    with files.whole(IO, location) as path:
        assert path.read_bytes() == b"rows"
    assert not store.downloads


def test_what_has_no_copy_is_downloaded_for_as_long_as_it_is_read(
    files: TableFiles, store: MemoryStore, copies: Copies
) -> None:
    """Of a big table one file at a time is on the disk."""
    store.objects[f"{FOLDER}/b.parquet"] = b"others"
    with files.reader(IO).whole(f"{FOLDER}/b.parquet") as path:
        assert path.read_bytes() == b"others"
        assert path.suffix == ".parquet"
    assert list(copies.folder.iterdir()) == []
    assert files.reader(IO).part(f"{FOLDER}/b.parquet", 1, 3) == b"the"


def test_a_folder_is_deleted_by_the_names_of_what_was_written(files: TableFiles, store: MemoryStore) -> None:
    """Nothing is listed, and nothing of another folder goes."""
    files.upload(IO, written(files))
    files.write(IO, f"{FOLDER}/v.puffin", b"vectors")
    store.objects[f"{FOLDER}0/c.parquet"] = store.objects[f"{FOLDER}/of-others"] = b""
    files.delete(FOLDER)
    assert set(store.objects) == {f"{FOLDER}0/c.parquet", f"{FOLDER}/of-others"}
    assert not files.place(FOLDER).exists()


def test_an_upload_that_failed_is_deleted_too(files: TableFiles, store: MemoryStore) -> None:
    """A store may have half of it."""
    store.fails = True
    with pytest.raises(ConnectionError):
        files.upload(IO, written(files))
    files.delete(FOLDER)
    assert not store.objects


def test_what_is_settled_stays(files: TableFiles, store: MemoryStore) -> None:
    """A table names it; its copy goes."""
    location = written(files)
    files.upload(IO, location)
    files.settled(FOLDER)
    files.delete(FOLDER)
    assert set(store.objects) == {location}
    assert not files.place(FOLDER).exists()


def test_what_may_be_named_is_known_without_its_copy(files: TableFiles, store: MemoryStore) -> None:
    """After an unknown answer the files stay until the next attempt finds out."""
    files.upload(IO, written(files))
    files.copies_gone(FOLDER)
    assert not files.place(FOLDER).exists()
    files.delete(FOLDER)
    assert not store.objects


def test_spark_writes_on_this_machine(files: TableFiles) -> None:
    """Into the copy of a folder elsewhere."""
    assert files.for_spark(FOLDER) == str(files.place(FOLDER))
    assert files.for_spark("file:/lake/t") == "file:/lake/t"


def test_what_tasks_of_other_machines_have_written_is_deleted_by_name(files: TableFiles, store: MemoryStore) -> None:
    """As what was uploaded; nothing else in the folder is touched."""
    store.objects |= {f"{FOLDER}/0/a.parquet": b"theirs", f"{FOLDER}/b.parquet": b"unknown"}
    files.note(IO, f"{FOLDER}/0/a.parquet")
    files.note(IO, "file:/lake/c.parquet")
    files.delete(FOLDER)
    assert set(store.objects) == {f"{FOLDER}/b.parquet"}


def test_where_spark_reads_a_file(files: TableFiles, store: MemoryStore) -> None:
    """In a copy; a local file where it is."""
    store.objects["s3://b/d.parquet"] = b"d"
    with files.for_reading(IO, ["s3://b/d.parquet", "file:/lake/e.parquet"]) as at:
        assert at["file:/lake/e.parquet"] == "file:/lake/e.parquet"
        assert Path(at["s3://b/d.parquet"]).is_file()


def test_a_file_of_the_local_disk_is_where_it_is(files: TableFiles, tmp_path: Path) -> None:
    """It is neither copied nor noted."""
    place = tmp_path / "lake" / "f.parquet"
    place.parent.mkdir()
    place.write_bytes(b"here")
    with files.whole(IO, f"file:{place}") as path:
        assert path == place
    files.settled(str(place.parent))
    files.copies_gone(str(place.parent))
    assert files.place(f"file:{place}") == place
    assert place.exists()
    shutil.rmtree(place.parent)
