"""Which servers are named when a lake elsewhere fails."""

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.storage.servers import naming, servers


@pytest.mark.parametrize(
    ("catalog", "named"),
    [
        ({}, ""),
        ({"type": "rest", "uri": "https://catalog.example.com/api/catalog"}, "catalog catalog.example.com"),
        (
            {"uri": "http://127.0.0.1:8181", "s3.endpoint": "http://[::1]:9000/"},
            "catalog 127.0.0.1:8181, store [::1]:9000",
        ),
        ({"uri": "jdbc:postgresql://me:secret@db:5432/lake?password=secret"}, "catalog db:5432"),
        ({"uri": "jdbc:postgresql://a:1,b:2/lake"}, "catalog a:1,b:2"),
        ({"uri": "jdbc:mysql://db;password=secret"}, "catalog db"),
        ({"uri": "thrift://one:9083,thrift://two:9083"}, "catalog one:9083,two:9083"),
        ({"uri": "jdbc:postgresql://me:sec/ret@db:5432/lake"}, ""),
        ({"uri": "jdbc:postgresql://me:se?c@ret@db:5432/lake"}, ""),
        ({"uri": "jdbc:postgresql://db/lake?user=me@here"}, ""),
        ({"uri": "jdbc:sqlite:/a/b?password=secret"}, ""),
    ],
)
def test_hosts_alone_are_named(catalog: dict[str, str], named: str) -> None:
    """Neither a user nor a password, nor what comes after the host."""
    assert servers(catalog) == named


def test_a_failure_names_them() -> None:
    """Once, and only what the lake said itself; other errors are what they were."""
    with pytest.raises(SyncError, match=r"Read timed out \(catalog here:1\)$"), naming("catalog here:1"):
        raise SyncError(Code.LAKE_FAILED, reason="Read timed out")
    with pytest.raises(SyncError, match=r"Read timed out$"), naming(""):
        raise SyncError(Code.LAKE_FAILED, reason="Read timed out")
    full = SyncError(Code.LAKE_FULL, reason="it is full")
    with pytest.raises(SyncError) as caught, naming("catalog here:1"):
        raise full
    assert caught.value is full
