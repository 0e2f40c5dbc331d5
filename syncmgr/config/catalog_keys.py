"""The catalog of the lake as fe.conf describes it: `catalog_type`, `catalog_uri`, `catalog_warehouse` and `catalog.*`.

Owns: what each type of catalog needs, and the keys of Spark that these keys stand for.
Must not know: how Spark is started, which jars it loads.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from syncmgr.config.spark_keys import CATALOG, HELD, names_catalog
from syncmgr.host.private import is_secret

PREFIX: Final = "catalog."
EMBEDDED: Final = "embedded"
URI: Final = "catalog_uri"
WAREHOUSE: Final = "catalog_warehouse"
OWN_KEYS: Final[Mapping[str, str]] = {"type": "catalog_type", "uri": URI, "warehouse": WAREHOUSE}
FILE_IO: Final[Mapping[str, str]] = {  # by the scheme of the warehouse
    "s3": "org.apache.iceberg.aws.s3.S3FileIO",
    "gs": "org.apache.iceberg.gcp.gcs.GCSFileIO",
    "abfs": "org.apache.iceberg.azure.adlsv2.ADLSFileIO",
    "abfss": "org.apache.iceberg.azure.adlsv2.ADLSFileIO",
}
# Iceberg's clients wait without end for a catalog that is silent, and repeat a commit whose answer was lost.
REST: Final[Mapping[str, str]] = {
    "rest.client.max-retries": "1",
    "rest.client.connection-timeout-ms": "10000",
    "rest.client.socket-timeout-ms": "30000",
}
_PASSWORD: Final = re.compile(r"//[^/?]*:[^/?@]*@|[?&;](password|passwd|pwd)=", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogType:
    """`needs`: those of our keys that must be set. `scheme`: with which its URI begins. `given`: what it gets unless
    fe.conf says something else.
    """

    needs: tuple[str, ...]
    scheme: str = ""
    given: Mapping[str, str] = field(default_factory=dict)


TYPES: Final[Mapping[str, CatalogType]] = {
    "rest": CatalogType(needs=(URI,), scheme="http", given=REST),
    "jdbc": CatalogType(needs=(URI, WAREHOUSE), scheme="jdbc:", given={"jdbc.schema-version": "V1"}),
    "glue": CatalogType(needs=(WAREHOUSE,)),
    "hive": CatalogType(needs=(URI, WAREHOUSE), scheme="thrift://"),
}


def key_fault(key: str) -> str | None:
    """Why `catalog.` and something must not be set."""
    name = key.removeprefix(PREFIX)
    if name in OWN_KEYS:
        return f"set {OWN_KEYS[name]} instead"
    held, why = HELD.get(f"{CATALOG}.{name}", (None, ""))
    return held and f"it is always {held}, else {why}; leave it out"


def faults(own: Mapping[str, str], rest: Mapping[str, str], spark: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with these keys together. `own`: ours, those that are set; `rest`: `catalog.*`."""
    kind = own.get("catalog_type", EMBEDDED)
    direct = next((key for key in sorted(spark) if names_catalog(key) and key not in HELD), None)
    if kind == EMBEDDED:
        beside = [key for key in (URI, WAREHOUSE, *rest) if key in own or key in rest]
        if beside:
            yield f"key '{beside[0]}' needs a catalog_type: {', '.join(TYPES)}; the embedded catalog takes none"
        return
    if direct is not None:
        yield f"key '{direct}' and catalog_type describe one catalog: leave one of them out"
    for key in TYPES[kind].needs:
        if key not in own:
            yield f"catalog_type = {kind} needs {key}"
    scheme, uri = TYPES[kind].scheme, own.get(URI)
    if uri is not None and _PASSWORD.search(uri):
        yield f"{URI} has a password in it, and is shown: set catalog.jdbc.user and catalog.jdbc.password instead"
    elif uri is not None and not uri.startswith(scheme):
        yield f"{URI} = {uri}: that of catalog_type = {kind} begins with {scheme}"


def spark_keys(own: Mapping[str, str], rest: Mapping[str, str]) -> dict[str, str]:
    """What they stand for; nothing for the embedded catalog."""
    kind = own.get("catalog_type", EMBEDDED)
    if kind == EMBEDDED:
        return {}
    described = {name: own[key] for name, key in OWN_KEYS.items() if key in own}
    scheme = own.get(WAREHOUSE, "").partition(":")[0]
    files = {"io-impl": FILE_IO[scheme]} if scheme in FILE_IO else {}
    named = {key.removeprefix(PREFIX): value for key, value in rest.items()}
    common = {"io.manifest.cache-enabled": "true"}
    return {
        f"{CATALOG}.{name}": value
        for name, value in {**common, **files, **TYPES[kind].given, **named, **described}.items()
    }


def secrets(rest: Mapping[str, str]) -> list[str]:
    """Those of `catalog.*` that are set to secrets."""
    return sorted(key for key, value in rest.items() if value and is_secret(key))
