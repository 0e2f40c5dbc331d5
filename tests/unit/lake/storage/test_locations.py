"""Where a location is on the local disk."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.lake.storage.locations import ON_DISK, copy_of, is_local, local


@pytest.mark.parametrize(
    ("location", "local"),
    [("/a/b", True), ("file:/a", True), ("FILE:///a", True), ("a/b:c", True), ("s3a://b", False), ("hdfs:/a", False)],
)
def test_what_is_on_the_local_disk(location: str, *, local: bool) -> None:
    """As Hadoop reads a path."""
    assert is_local(location) is local


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/lake/a b", "/lake/a b"),
        ("/lake/a:b", "/lake/a:b"),
        ("file:/lake/a b", "/lake/a b"),
        ("file:///lake/a", "/lake/a"),
        ("file://machine/lake/a", "/lake/a"),
        ("file:/lake/else%20where", "/lake/else%20where"),
        ("file:///lake/100%", "/lake/100%"),
        ("file:/lake/a?b#c;d", "/lake/a?b#c;d"),
    ],
)
def test_a_location_is_where_hadoop_looks(location: str, path: str) -> None:
    """What Arrow reads and writes is what Iceberg reads, which decodes nothing."""
    assert local(location) == Path(path)


def test_a_store_is_no_local_disk() -> None:
    """Nothing of it is read by its path."""
    with pytest.raises(ValueError, match="s3a://bucket/lake is not on a local disk"):
        local("s3a://bucket/lake")


def test_a_part_of_a_file_is_read_where_it_is(tmp_path: Path) -> None:
    """As a vector lies in a Puffin file."""
    path = tmp_path / "vectors"
    path.write_bytes(b"0123456789")
    assert ON_DISK.part(f"file:{path}", 3, 4) == b"3456"
    with ON_DISK.whole(str(path)) as found:
        assert found == path


@given(st.lists(st.text(st.sampled_from("a%./2E"), max_size=4), min_size=1, max_size=4).map("/".join), st.data())
def test_no_two_locations_have_one_copy(key: str, data: st.DataObject) -> None:
    """However odd their names are; and each copy is inside of the folder."""
    other = data.draw(st.lists(st.text(st.sampled_from("a%./2E"), max_size=4), min_size=1, max_size=4).map("/".join))
    root = Path("/copies")
    one, two = (copy_of(f"s3://bucket/{each}", root) for each in (key, other))
    assert (one == two) == (key == other)
    assert one.is_relative_to(root)
    assert ".." not in one.parts


def test_what_is_in_a_folder_is_in_its_copy() -> None:
    """Files are found below the copy of the folder for which they were written."""
    root = Path("/copies")
    assert copy_of("s3://b/t/data/x-1/a.parquet", root).is_relative_to(copy_of("s3://b/t/data/x-1", root))
