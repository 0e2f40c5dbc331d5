"""Which tables are read, and what their columns are at this place of the stream.

Owns: the way from a table map to the columns to decode, and what an ALTER may change about them.
Must not know: where transactions end, how rows are decoded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl import Table, keeps_values
from syncmgr.job.schema import SourceColumn, SourceTable, arrow_type
from syncmgr.mysql.decoder import RowsDecoder, Wanted
from syncmgr.mysql.table_map import TableMap, agreed, parse, source_table
from syncmgr.mysql.values import supported
from syncmgr.mysql.wire import MalformedEventError

MAX_MAPS: Final = 4096
SHOWN_STATEMENT: Final = 500
ANEW: Final = "bring the target in line by STOP SYNC JOB, DROP TABLE, CREATE TABLE and CREATE SYNC"


@dataclass(frozen=True, kw_only=True, slots=True)
class Subscription:
    """What is wanted of one source table: columns to decode, and those that make the target's key.

    `schema`: the table as CREATE SYNC found it. `schema_holds`: from where reading began on, so that it may interpret
    rows whose metadata is below FULL.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    schema: SourceTable | None = None
    schema_holds: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Subscribed:
    """A subscribed table under one table map."""

    table: Table
    decoder: RowsDecoder


class Subscriptions:
    """Used by one thread. `full_metadata`: what the server writes now, for tables of which no rows came yet.

    `mariadb`: whether the server is one.
    """

    def __init__(self, tables: Mapping[Table, Subscription], address: str) -> None:
        self.tables = dict(tables)
        self.full_metadata = self.mariadb = False
        self._address = address
        self._by_map: dict[bytes, Subscribed | None] = {}
        self._seen: dict[Table, tuple[SourceTable, bool]] = {}  # schema and whether it came with FULL metadata
        self._altered: dict[Table, str] = {}

    def of(self, body: bytes) -> Subscribed | None:
        """The table of a table map's body, None if it is not wanted. Raises SyncError, MalformedEventError."""
        try:
            return self._by_map[body]
        except KeyError:
            pass
        if len(self._by_map) >= MAX_MAPS:
            self._by_map.clear()
        found = self._by_map[body] = self._resolve(body) if _name(body) in self.tables else None
        return found

    def _resolve(self, body: bytes) -> Subscribed:
        table_map = parse(body, mariadb=self.mariadb)
        table = table_map.db, table_map.name
        subscription = self.tables[table]
        schema = self._schema(table_map, subscription)
        keys = {name.casefold() for name in subscription.keys}
        wanted = [
            self._wanted(table_map, schema, name, key=name.casefold() in keys)
            for name in dict.fromkeys((*subscription.columns, *subscription.keys))
        ]
        self._check_against_known(table, wanted)
        self._seen[table] = schema, table_map.full
        self._altered.pop(table, None)
        return Subscribed(table, RowsDecoder(table_map, wanted, self._address))

    def _schema(self, table_map: TableMap, subscription: Subscription) -> SourceTable:
        table = table_map.db, table_map.name
        if table_map.full:
            return source_table(table_map)
        if table in self._altered:
            raise self._below_full(table, self._altered[table])
        if subscription.schema is None or not subscription.schema_holds:
            reason = "its column names are not in the binlog; SET GLOBAL binlog_row_metadata = FULL on the server"
            raise SyncError(Code.SOURCE_SCHEMA, table=table_map.label, reason=reason)
        return agreed(table_map, subscription.schema)

    def _wanted(self, table_map: TableMap, schema: SourceTable, name: str, *, key: bool) -> Wanted:
        table = table_map.db, table_map.name
        column = schema.column(name)
        if column is None:
            raise self._changed(table, f"column '{name}' is gone")
        place = schema.columns.index(column)
        if not supported(column, table_map.fields[place]):
            reason = f"column '{name}' of table '{table_map.label}' has a type or charset that the binlog does not tell"
            raise SyncError(Code.SOURCE_UNSUPPORTED, address=self._address, reason=reason)
        return Wanted(place=place, column=column, name=name, key=key)

    def _check_against_known(self, table: Table, wanted: list[Wanted]) -> None:
        """What is staged must keep its types; after an ALTER, the rows already synced must keep their values too."""
        before = self._seen[table][0] if table in self._seen else self.tables[table].schema
        if before is None:
            return
        strictly = table in self._altered
        for one in wanted:
            old = before.column(one.name)
            if old is not None and not _fits(old, one.column, strictly=strictly):
                raise self._changed(table, f"column '{one.name}' was {old.text} and is {one.column.text}")

    def _changed(self, table: Table, what: str) -> SyncError:
        statement = self._altered.get(table)
        if statement is None:
            return SyncError(Code.SOURCE_SCHEMA, table=".".join(table), reason=f"{what}; {ANEW}")
        return _not_followed(table, f"{what}; {ANEW}", statement)

    def altered(self, table: Table, statement: str, columns: frozenset[str]) -> None:
        """An ALTER that leaves the rows passed. Raises SOURCE_DDL where it cannot be followed."""
        subscription = self.tables[table]
        touched = [name for name in (*subscription.columns, *subscription.keys) if name.casefold() in columns]
        if touched:
            raise _not_followed(
                table, f"it adds, drops, renames or recomputes column '{touched[0]}'; {ANEW}", statement
            )
        if not (self._seen[table][1] if table in self._seen else self.full_metadata):
            raise self._below_full(table, statement)
        self._altered[table] = statement

    def _below_full(self, table: Table, statement: str) -> SyncError:
        reason = f"with binlog_row_metadata below FULL the binlog does not tell the columns behind it; {ANEW}"
        return _not_followed(table, reason, statement)


def _name(body: bytes) -> Table:
    """Database and table of a table map's body, without parsing the rest."""
    size = body[0]
    other = body[size + 2]
    try:
        return body[1 : size + 1].decode(), body[size + 3 : size + 3 + other].decode()
    except UnicodeDecodeError as error:
        raise MalformedEventError("a table name that is not UTF-8") from error


def _fits(old: SourceColumn, new: SourceColumn, *, strictly: bool) -> bool:
    return keeps_values(old, new) if strictly else arrow_type(old) == arrow_type(new)


def _not_followed(table: Table, reason: str, statement: str) -> SyncError:
    shown = statement if len(statement) <= SHOWN_STATEMENT else statement[:SHOWN_STATEMENT] + "..."
    return SyncError(Code.SOURCE_DDL, table=".".join(table), reason=reason, statement=shown)
