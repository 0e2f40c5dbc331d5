"""Keys of Spark that fe.conf may not set to anything else, since values and rows depend on them.

Owns: which keys, what they are, why.
Must not know: how Spark is started.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

CATALOG: Final = "spark.sql.catalog.lake"

HEAP: Final = "spark.driver.memory"
UNITS: Final[Mapping[str, int]] = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
LEAST_HEAP: Final = 512 << 20  # Spark ends below 450 MiB, of which the collector takes a part
MASTER: Final = "spark.master"
DEPLOY: Final = "spark.submit.deployMode"
STANDALONE: Final = "spark://"
_SERVER: Final = r"(\[[0-9a-fA-F:]+\]|[^\s,:/\[\]]+):[1-9][0-9]{0,4}"
_STANDALONE: Final = re.compile(f"{STANDALONE}{_SERVER}(,{_SERVER})*")
_SIZE: Final = re.compile(r"(?P<count>[1-9][0-9]{0,11})(?P<unit>[kmgtKMGT])")

# The value of each in the sessions of the frontend, and what another one would do to values.
HELD: Final[Mapping[str, tuple[str, str]]] = {
    "spark.sql.session.timeZone": ("UTC", "expressions and WHERE would compute other times"),
    "spark.sql.ansi.enabled": ("true", "a value that does not fit would be cut or become NULL without an error"),
    "spark.sql.ansi.doubleQuotedIdentifiers": ("false", "a text in double quotes would be a column"),
    "spark.sql.storeAssignmentPolicy": ("ANSI", "a value that does not fit would be cut without an error"),
    "spark.sql.timestampType": ("TIMESTAMP_LTZ", "expressions would compute other times"),
    "spark.sql.caseSensitive": ("false", "a column would not be found by another case"),
    "spark.sql.parquet.outputTimestampType": ("TIMESTAMP_MICROS", "files would hold times without bounds"),
    "spark.sql.parquet.fieldId.read.ignoreMissing": ("false", "columns that a file lacks would be NULL"),
    "spark.sql.files.ignoreCorruptFiles": ("false", "rows of a damaged file would be left out"),
    "spark.sql.files.ignoreMissingFiles": ("false", "rows of a file that is gone would be left out"),
    "spark.sql.decimalOperations.allowPrecisionLoss": ("true", "expressions would compute other decimals"),
    "spark.sql.mapKeyDedupPolicy": ("EXCEPTION", "expressions would drop values without an error"),
    "spark.sql.parser.escapedStringLiterals": ("false", "a backslash in a text would mean another text"),
    "spark.sql.parser.quotedRegexColumnNames": ("false", "a name in backticks would be a pattern"),
    "spark.sql.variable.substitute": ("false", "whoever may ask a query could read secrets of the process"),
    "spark.sql.runSQLOnFiles": ("false", "whoever may ask a query could read files of the machine"),
    f"{CATALOG}.cache-enabled": ("false", "a commit would not see what another has done"),
}
NEVER: Final[Mapping[str, str]] = {
    "spark.wap.": "commits would go where no reader looks",
    "spark.sql.legacy.": "values would be computed as by an old version",
}
KINDS: Final = (CATALOG, f"{CATALOG}.type", f"{CATALOG}.catalog-impl")


def fault(key: str, value: str) -> str | None:
    """Why a key must not have this value."""
    if key == HEAP:
        return _heap_fault(value)
    if key == MASTER and value.startswith(STANDALONE) and not _STANDALONE.fullmatch(value):
        return "a standalone cluster is spark://host:port, of several masters spark://host:port,host:port"
    if key == DEPLOY and value != "client":
        return "the driver is a child of the frontend: it is always client; leave it out"
    held, why = HELD.get(key, (value, ""))
    if value.casefold() != held.casefold():
        return f"it is always {held}, else {why}; leave it out"
    never = next((why for begin, why in NEVER.items() if key.startswith(begin)), None)
    return never and f"it may not be set: {never}; leave it out"


def _heap_fault(value: str) -> str | None:
    """The JVM gets it as -Xmx, and without a unit it would be bytes."""
    found = _SIZE.fullmatch(value)
    if found is not None and int(found["count"]) * UNITS[found["unit"].lower()] >= LEAST_HEAP:
        return None
    return "it must be a size with a unit, k, m, g or t, such as 2048m or 4g, and at least 512m"


def cluster_fault(keys: Mapping[str, str], *, embedded: bool) -> str | None:
    """Why Spark's tasks could not run on other machines. `embedded`: the tables are in a folder of this one."""
    master = keys.get(MASTER, "local")
    if master.startswith("local") or not embedded or any(names_catalog(key) and key not in HELD for key in keys):
        return None
    return f"key '{MASTER}' = {master} needs a catalog_type and a catalog_warehouse: executors see no lake_dir"


def names_catalog(key: str) -> bool:
    """Whether a key belongs to the lake's catalog, not to another one with the same prefix."""
    return key == CATALOG or key.startswith(f"{CATALOG}.")


def catalog_fault(keys: Collection[str]) -> str | None:
    """Why these neither define a catalog of the operator's own, nor leave the embedded one alone."""
    own = sorted(key for key in keys if names_catalog(key) and key not in HELD)
    if not own or any(kind in own for kind in KINDS):
        return None
    return (
        f"key '{own[0]}' changes the embedded catalog: leave it out, or describe a catalog of your own by"
        f" {CATALOG}.type or {CATALOG}.catalog-impl, uri and warehouse"
    )
