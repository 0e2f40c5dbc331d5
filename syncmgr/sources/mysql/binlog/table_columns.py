"""The columns of a table under one of its table maps, and which of them are decoded.

Owns: agreement of the table map with the known schema, and the errors if they do not agree.
Must not know: which table maps came before, transactions, how rows are decoded.
"""

from collections.abc import Collection, Iterable
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl import older_statement
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import SourceTable, arrow_type, has_arrow_type
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog.subscription import Subscription
from syncmgr.sources.mysql.values.decoder import WantedCells
from syncmgr.sources.mysql.values.schema import agreed, identified, refuse_unknown, source_table, without_hashes
from syncmgr.sources.mysql.values.table_map import TableMap
from syncmgr.sources.mysql.values.values import supported

MOMENTS: Final = frozenset({"time", "datetime", "timestamp"})
_OLD_MOMENTS: Final = frozenset({wire.TIME, wire.DATETIME, wire.TIMESTAMP})


def schema_of(table_map: TableMap, subscription: Subscription, *, mariadb: bool) -> SourceTable:
    """Raises SOURCE_SCHEMA."""
    if mariadb and subscription.schema is not None:
        _refuse_old_fractions(table_map, subscription.schema)
    if table_map.full:
        stored = subscription.schema if subscription.known_at is None else None
        logged = source_table(table_map)
        if mariadb:
            logged = without_hashes(logged, {*subscription.columns, *subscription.keys})
        if stored is not None and subscription.complete:
            refuse_unknown(table_map, logged, stored)
        if stored is None and subscription.schema is not None:
            _refuse_other_key(logged, subscription.schema, subscription.keys)
        return logged if stored is None else identified(logged, stored)
    if subscription.schema is None or subscription.known_at is not None:
        reason = "its column names are not in the binlog; SET GLOBAL binlog_row_metadata = FULL on the server"
        raise SyncError(Code.SOURCE_SCHEMA, table=table_map.label, reason=reason)
    return agreed(table_map, subscription.schema, mariadb=mariadb)


def _refuse_old_fractions(table_map: TableMap, known: SourceTable) -> None:
    """Their width depends on the fraction, so whatever is read after one would be read at a wrong place."""
    if len(known.columns) != len(table_map.fields):
        return
    for field, column in zip(table_map.fields, known.columns, strict=True):
        if field.code in _OLD_MOMENTS and column.type in MOMENTS and column.precision:
            reason = f"column '{column.name}' has fractions in the format of MariaDB 5.3"
            cure = f"SET GLOBAL mysql56_temporal_format = ON, ALTER TABLE {known.label} FORCE, then RESYNC TABLE"
            raise changed((known.db, known.name), f"{reason}; {cure}")


def _refuse_other_key(logged: SourceTable, later: SourceTable, keys: Collection[str]) -> None:
    """In rows older than the known schema."""
    if older_statement.has_other_key(logged, later, keys):
        reason = "rows of it came from a time at which its primary key was not within the target's key"
        raise changed((logged.db, logged.name), f"{reason}; RESYNC TABLE reads it as it is now")


def wanted_of(table_map: TableMap, schema: SourceTable, subscription: Subscription, address: str) -> list[WantedCells]:
    """Raises SOURCE_SCHEMA, SOURCE_UNSUPPORTED."""
    keys = {folded_name(name) for name in subscription.keys}
    return [
        _wanted(table_map, schema, name, address, key=folded_name(name) in keys)
        for name in dict.fromkeys((*subscription.columns, *subscription.keys))
    ]


def _wanted(table_map: TableMap, schema: SourceTable, name: str, address: str, *, key: bool) -> WantedCells:
    column = schema.column(name)
    if column is None:
        raise changed((table_map.db, table_map.name), f"column '{name}' is gone")
    place = schema.columns.index(column)
    if not supported(column, table_map.fields[place]):
        reason = f"column '{name}' of table '{table_map.label}' has a type or charset that the binlog does not report"
        raise SyncError(Code.SOURCE_UNSUPPORTED, address=address, reason=reason, table=table_map.label)
    return WantedCells(place=place, column=column, name=name, key=key)


def check_types(table: Table, wanted: Iterable[WantedCells], before: SourceTable | None) -> None:
    """What is staged must keep its types; DDL that changes them is followed before rows with the new ones arrive."""
    if before is None:
        return
    for one in wanted:
        old = before.column(one.name)
        if old is not None and (not has_arrow_type(old) or arrow_type(old) != arrow_type(one.column)):
            raise changed(table, f"column '{one.name}' was {old.text} and is {one.column.text}")


def changed(table: Table, what: str) -> SyncError:
    """A table differs from its known schema."""
    return SyncError(Code.SOURCE_SCHEMA, table=".".join(table), reason=what)
