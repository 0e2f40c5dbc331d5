"""Properties of a table that syncmgr depends on, after another engine has set one.

Owns: what the operator does about it.
Must not know: what they mean.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import literal
from syncmgr.lake.cures import in_catalog
from syncmgr.lake.iceberg.transactions import LONGEST_WAIT_SECOND, MAX_WAIT, MIN_WAIT, bad_retries, waits_long

UNREADABLE: Final = ("NumberFormatException", "timeout value is negative")  # Java's words
BLAMED: Final = {  # in Iceberg's words: a property by its value, or by its name
    "number": re.compile('For input string: "(.*?)"', re.DOTALL),
    "class": re.compile(r"implementation (\S+) of interface org\.apache\.iceberg\."),
    "property": re.compile("Property '([^']+)' has been deprecated"),
}
OURS: Final = "syncmgr."
READ_BY_ICEBERG: Final = ("write.", "commit.", "read.", "history.")
GC_ENABLED: Final = "gc.enabled"


@contextmanager
def as_written(db: str, table: str, key: str) -> Iterator[None]:
    """Around the reading of a property. Raises FOREIGN_CHANGE if that raises ValueError."""
    try:
        yield
    except ValueError as error:
        cure = f"ALTER TABLE {in_catalog((db, table))} UNSET TBLPROPERTIES ({literal(key)})"
        reason = f"its property {key} is not as syncmgr wrote it; type in Spark: {cure}"
        raise SyncError(Code.FOREIGN_CHANGE, table=f"{db}.{table}", reason=reason) from error


def refuse_unreadable(text: str, db: str, table: str, properties: Callable[[], Mapping[str, str]]) -> None:
    """`text`: of an error of Iceberg. Raises FOREIGN_CHANGE if that is about the value of one of its own properties, or
    it cannot read how often it is to repeat a commit.
    """
    blamed_for = {what: match[1] for what, pattern in BLAMED.items() if (match := pattern.search(text)) is not None}
    if not blamed_for and not any(word in text for word in UNREADABLE):
        return
    found = properties()
    _refuse_bad(db, table, found.get)
    for what, blamed in blamed_for.items():
        bad = sorted(key for key, value in found.items() if blamed in {key, value} and _is_read(key, blamed))
        if bad:
            raise _unset(db, table, bad, f"{', '.join(bad)} = {found[bad[0]]!r} is no {what} that Iceberg takes")


def _is_read(key: str, blamed: str) -> bool:
    """Whether Iceberg may have read that property: many have no value at all."""
    return key.startswith(READ_BY_ICEBERG) if not blamed else not key.startswith(OURS)


def _refuse_bad(db: str, table: str, properties: Callable[[str], str | None]) -> None:
    bad = bad_retries(properties)
    if bad:
        raise _unset(db, table, bad, f"{bad[0]} = {properties(bad[0])!r} is no number that Iceberg takes")


def refuse_long_waits(db: str, table: str, properties: Callable[[str], str | None]) -> None:
    """The same for work that only Iceberg repeats, and that would hold up that of other tables."""
    _refuse_bad(db, table, properties)
    if waits_long(properties):
        reason = f"{MIN_WAIT} and {MAX_WAIT} make each commit that meets another wait for more than"
        raise _unset(db, table, [MIN_WAIT, MAX_WAIT], f"{reason} {LONGEST_WAIT_SECOND:g} s")


def refuse_no_removal(db: str, table: str, properties: Callable[[str], str | None]) -> None:
    """Raises FOREIGN_CHANGE if nothing of the table may be removed, which Iceberg only says when it is asked to."""
    value = properties(GC_ENABLED)
    if value is not None and value.lower() != "true":
        reason = f"{GC_ENABLED} = {value!r} keeps all of its old snapshots and the files that no snapshot names"
        raise _unset(db, table, [GC_ENABLED], reason)


def _unset(db: str, table: str, keys: list[str], reason: str) -> SyncError:
    cure = f"ALTER TABLE {in_catalog((db, table))} UNSET TBLPROPERTIES ({', '.join(map(literal, keys))})"
    return SyncError(Code.FOREIGN_CHANGE, table=f"{db}.{table}", reason=f"{reason}; type in Spark: {cure}")
