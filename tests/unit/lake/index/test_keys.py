"""Where a file of the lake lies."""

from pathlib import Path

import pytest

from syncmgr.lake.index.keys import UnindexableError, local


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
    with pytest.raises(UnindexableError, match="in s3a:"):
        local("s3a://bucket/lake")
