"""What a table is, according to canal.

Owns: column headers -> source columns; when an entry contradicts a schema.
Must not know: how a value is decoded, who asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.types.column_type import source_column
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.keeping import keeps_values
from syncmgr.job.types.schema import TEXT, SourceColumn, SourceTable, has_arrow_type
from syncmgr.sources.canal.values.time_zone import known_zone

BLOB: Final = 2004  # java.sql.Types


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnHeader:
    """What canal says of a column besides its value. `type`: MySQL's text; `sql_type`: java.sql.Types, of one value."""

    name: str
    type: str
    sql_type: int
    key: bool


def source_table_of(table: Table, headers: Sequence[ColumnHeader]) -> SourceTable:
    """The table as only canal describes it.

    Known: names, order, types with sign, sizes and labels, and which columns are the primary key. Not known: charset
    (None), nullability (taken as nullable), and the order inside a primary key (taken as that of the table).
    """
    keys = [header.name for header in headers if header.key]
    columns = tuple(
        source_column(header.name, header.type, key=keys.index(header.name) + 1 if header.key else 0)
        for header in headers
    )
    return SourceTable(db=table[0], name=table[1], columns=columns)


def check_zone(time_zone: str | None) -> None:
    """Raises PROPERTY_WRONG for an unknown zone; None: not given."""
    if time_zone is not None and not known_zone(time_zone):
        reason = "it is neither UTC, an offset such as +08:00 nor a name such as Asia/Shanghai"
        raise SyncError(Code.PROPERTY_WRONG, name="canal.time_zone", value=time_zone, reason=reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A wanted column in an entry: its place, and its type as the entry has it. `raw`: its text travels as bytes."""

    place: int
    header: ColumnHeader
    column: SourceColumn
    raw: bool


def found(stored: SourceTable, name: str, headers: Sequence[ColumnHeader]) -> Found:
    """Where a wanted column is in an entry. Raises SOURCE_SCHEMA if the entry contradicts the stored schema."""
    known = stored.column(name)
    if known is None:
        raise contradiction(stored, f"column '{name}' is not in the stored schema")
    folded = folded_name(name)
    place = next((i for i, header in enumerate(headers) if folded_name(header.name) == folded), None)
    if place is None:
        shown = ", ".join(header.name for header in headers)
        raise contradiction(
            stored,
            f"canal's rows come without column '{name}' (they have {shown}): it was dropped or renamed, canal filters"
            " it out, or binlog_row_image is not FULL in some session",
        )
    header = headers[place]
    described = replace(
        source_column(known.name, header.type),
        charset=known.charset,
        nullable=known.nullable,
        key=known.key,
    )
    if header.key != (known.key > 0) or not _agree(known, described):
        raise contradiction(
            stored,
            f"column '{name}' was {_shown(known.text, key=known.key > 0)}"
            f" and canal says {_shown(header.type or 'no type', key=header.key)}",
        )
    return Found(place=place, header=header, column=described, raw=described.type in TEXT and header.sql_type == BLOB)


def _agree(known: SourceColumn, described: SourceColumn) -> bool:
    """Whether both mean the same values; one may be wider, since canal may report today's type for yesterday's rows."""
    if not has_arrow_type(described) or not has_arrow_type(known):
        return False
    if "decimal" in {known.type, described.type} and known.scale != described.scale:
        return False
    return keeps_values(known, described) or keeps_values(described, known)


def _shown(text: str, *, key: bool) -> str:
    return f"{text} in the primary key" if key else text


def contradiction(table: SourceTable, facts: str) -> SyncError:
    return SyncError(Code.SOURCE_SCHEMA, table=table.label, reason=facts)
