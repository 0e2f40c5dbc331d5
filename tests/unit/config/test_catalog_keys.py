"""The catalog of the lake as fe.conf describes it."""

from pathlib import Path

import pytest

from syncmgr.config import settings
from syncmgr.config.settings import Settings
from syncmgr.errors import Code, SyncError

LAKE = "spark.sql.catalog.lake."
REST = "catalog_type = rest\ncatalog_uri = https://there\n"


def read(text: str) -> Settings:
    return settings.read_bytes(text.encode(), Path("/srv/syncmgr/conf/fe.conf"))


def test_a_rest_catalog() -> None:
    """Iceberg's client gives up, and repeats nothing; a setting of the operator wins."""
    found = read(
        f"{REST}catalog_warehouse = s3://b/w\ncatalog.token = t\ncatalog.rest.client.socket-timeout-ms = 1\n"
    ).spark
    assert found[f"{LAKE}type"] == "rest"
    assert found[f"{LAKE}uri"] == "https://there"
    assert found[f"{LAKE}warehouse"] == "s3://b/w"
    assert found[f"{LAKE}token"] == "t"
    assert found[f"{LAKE}rest.client.socket-timeout-ms"] == "1"
    assert found[f"{LAKE}rest.client.max-retries"] == "1"
    assert found[f"{LAKE}io-impl"].endswith("S3FileIO")


def test_the_embedded_catalog_needs_nothing() -> None:
    """And gets nothing."""
    assert read("").spark == {}
    assert read("catalog_type = embedded").spark == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("catalog_type = paper", "it must be one of embedded, rest, jdbc, glue, hive"),
        ("catalog_type = rest", "catalog_type = rest needs catalog_uri"),
        ("catalog_type = jdbc\ncatalog_uri = jdbc:postgresql://h/d", "catalog_type = jdbc needs catalog_warehouse"),
        ("catalog_type = glue", "catalog_type = glue needs catalog_warehouse"),
        ("catalog_uri = https://there", "key 'catalog_uri' needs a catalog_type"),
        ("catalog.token = t", "key 'catalog.token' needs a catalog_type"),
        (f"{REST}spark.sql.catalog.lake.token = t\nspark.sql.catalog.lake.type = rest", "describe one catalog"),
        (f"{REST}catalog.warehouse = w", "set catalog_warehouse instead"),
        (f"{REST}catalog.cache-enabled = true", "it is always false"),
        ("catalog_type = hive\ncatalog_uri = https://h\ncatalog_warehouse = s3://b", "begins with thrift://"),
        ("catalog_type = jdbc\ncatalog_uri = jdbc:mysql://h/d?user=u&password=hidden", "has a password in it"),
        ("catalog_type = jdbc\ncatalog_uri = jdbc:postgresql://u:hidden@h/d", "has a password in it"),
    ],
)
def test_half_of_a_catalog_is_refused(text: str, why: str) -> None:
    """At the start, with the key, and without a secret."""
    with pytest.raises(SyncError) as raised:
        read(text)
    assert raised.value.code is Code.BAD_CONFIG
    assert why in str(raised.value)
    assert "hidden" not in str(raised.value)


def test_secrets_of_a_catalog_are_named_and_not_shown() -> None:
    """Whether fe.conf may be read by others is checked for them, too."""
    found = read(f"{REST}catalog.credential = hidden")
    assert found.secrets() == ["catalog.credential"]
    assert "hidden" not in found.given()
    assert "hidden" not in str(found.rows())
