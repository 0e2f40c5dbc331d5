"""Tables of one name in many databases, all of whose rows go into one target.

Owns: the column that distinguishes them, and why a target cannot take them.
Must not know: channels, statements, how rows are written.
"""

from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import TargetColumn, TargetTable, TargetType

DATABASE: Final = "source_database"  # in targets that are made, and if no column list names another
COLUMN: Final = TargetColumn(
    name=DATABASE, type=TargetType(name="VARCHAR", args=(64,)), nullable=False, comment="database of the source"
)
_TEXTS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """The rows of a target that are one channel's own: those that have `value` in `column`."""

    column: str
    value: str


def check_apart(target: TargetTable, column: str, database: str, table: str) -> None:
    """Whether the rows of a database can be distinguished from those of others, found and replaced together.

    `table`: of the source. Raises SHARDS_REFUSED.
    """
    reason = _reason(target, column, database)
    if reason is not None:
        raise SyncError(Code.SHARDS_REFUSED, table=table, target=target.label, reason=reason)


def _reason(target: TargetTable, column: str, database: str) -> str | None:
    found = target.column(column)
    if found is None:
        return f"it has no column '{column}' to tell them apart; name one that is there by column = DATABASE()"
    if found.type.name not in _TEXTS or (found.type.args and found.type.args[0] < len(database)):
        return f"column '{found.name}' {found.type.text} does not hold '{database}'"
    if target.keys and found.name not in target.keys:
        return f"their keys could meet, since column '{found.name}' is not in its UNIQUE KEY"
    if found.name not in target.partition:
        return f"it is not cut by column '{found.name}'; create it with PARTITION BY ({found.name})"
    return None
