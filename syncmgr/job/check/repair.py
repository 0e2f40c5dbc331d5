"""What REPAIR reads again of a table: the keys that a check has found wrong.

Owns: which keys these are, and the reasons for which they are not read again.
Must not know: connections, Spark's sessions, what is stored.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.check.compared_table import ComparedTable
from syncmgr.job.check.verdict import Found, Key, Kind
from syncmgr.job.snapshot.key_range import MOST_CHARACTERS, KeyRange

MOST_COMPOUND: Final = 1000  # keys of several columns, each of which is a condition of its own
WHOLE: Final = "ALTER SYNC JOB ... RESYNC TABLE {table} reads all rows"


def wrong_keys(
    check: int, label: str, found: Sequence[Found], counts: Mapping[Kind, int], most: int
) -> tuple[Key, ...]:
    """Of a table: those that differ for certain. `label`: of the table. `counts`: of all that were found, `found`: of
    them those that are known.

    Raises REPAIR_REFUSED.
    """
    keys = tuple(dict.fromkeys(each.key for each in found if each.kind is not Kind.UNSETTLED))
    total, whole = sum(count for kind, count in counts.items() if kind is not Kind.UNSETTLED), WHOLE.format(table=label)
    if total > most:
        reason = f"{total} rows of table '{label}' differ, more than repair_max_rows = {most}; {whole}"
        raise SyncError(Code.REPAIR_REFUSED, check=check, reason=reason)
    if total > len(keys):
        reason = (
            f"of the {total} rows of table '{label}' that differ only {len(keys)} are known; CHECK it again"
            f' WITH ("keep_rows" = "{total}"), or {whole}'
        )
        raise SyncError(Code.REPAIR_REFUSED, check=check, reason=reason)
    return keys


def part_of(check: int, table: ComparedTable, keys: Sequence[Key]) -> KeyRange:
    """The condition of these keys. Raises REPAIR_REFUSED, RESYNC_WHERE."""
    label = table.channel.source.label
    part = table.part_of(keys, f"the {len(keys)} keys that check {check} has found")
    is_long = len(part.lake) + len(part.source) > MOST_CHARACTERS
    if is_long or (len(table.key_sources) > 1 and len(keys) > MOST_COMPOUND):
        reason = f"the {len(keys)} keys of table '{label}' are too many for one condition; {WHOLE.format(table=label)}"
        raise SyncError(Code.REPAIR_REFUSED, check=check, reason=reason)
    return part
