"""The statements about sync jobs.

Owns: their values and their canonical print.
Must not know: how they are parsed, what a property means.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from syncsql.expression import Expression
from syncsql.names import (
    Name,
    Property,
    clause,
    print_properties,
    printed,
    quote_name,
    quote_names,
    quote_string,
    words,
)
from syncsql.pattern import TablePattern
from syncsql.statements.filter import EVERY_ROW, Filter, Limit, OrderItem


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionNames:
    """[TEMPORARY] PARTITION[S] (name, ...)"""

    names: tuple[str, ...]
    temporary: bool = False

    def sql(self) -> str:
        return f"{'TEMPORARY ' if self.temporary else ''}PARTITION {quote_names(self.names)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnMapping:
    """A target column and what fills it: the source column of that name, or an expression."""

    target: str
    expression: Expression | None = None

    def sql(self) -> str:
        return quote_name(self.target) + clause("=", printed(self.expression))


@dataclass(frozen=True, kw_only=True, slots=True)
class Channel:
    """One source table (db and name) into one target table; no columns means all of them."""

    source: Name
    target: Name
    partitions: PartitionNames | None = None
    columns: tuple[ColumnMapping, ...] = ()
    where: Expression | None = None

    def sql(self) -> str:
        text = f"FROM {self.source.sql()} INTO {self.target.sql()}"
        if self.partitions is not None:
            text += f" {self.partitions.sql()}"
        if self.columns:
            text += f" ({', '.join(column.sql() for column in self.columns)})"
        return text + clause("WHERE", printed(self.where))


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeDatabase:
    """db.*: every table of a database."""

    db: str

    def sql(self) -> str:
        return f"{quote_name(self.db)}.*"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tables:
    """FROM db.* | db.table | TABLES pattern INTO db.* [EXCLUDE (...)]: each table into the target of its own name.

    `exclude`: tables, each with its database, and patterns.
    """

    source: WholeDatabase | Name | TablePattern
    target_db: str
    exclude: tuple[Name | TablePattern, ...] = ()

    def sql(self) -> str:
        return f"FROM {_source(self.source)} INTO {quote_name(self.target_db)}.*{_excluding(self.exclude)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseColumn:
    """A target column that says which database of the source a row is from."""

    target: str

    def sql(self) -> str:
        return f"{quote_name(self.target)} = DATABASE()"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shards:
    """FROM TABLES pattern INTO table: tables of one name in many databases, all into one target.

    `exclude`: tables, each with its database, and patterns.
    """

    source: TablePattern
    target: Name
    columns: tuple[ColumnMapping | DatabaseColumn, ...] = ()
    exclude: tuple[Name | TablePattern, ...] = ()
    where: Expression | None = None

    def sql(self) -> str:
        text = f"FROM {_source(self.source)} INTO {self.target.sql()}"
        if self.columns:
            text += f" ({', '.join(column.sql() for column in self.columns)})"
        return text + _excluding(self.exclude) + clause("WHERE", printed(self.where))


def _source(source: WholeDatabase | Name | TablePattern) -> str:
    return f"TABLES {source.sql()}" if isinstance(source, TablePattern) else source.sql()


def _excluding(exclude: tuple[Name | TablePattern, ...]) -> str:
    return f" EXCLUDE ({', '.join(each.sql() for each in exclude)})" if exclude else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateSync:
    """CREATE SYNC [JOB] [IF NOT EXISTS] [db.]job (channel, ...) FROM BINLOG (...) [PROPERTIES (...)]"""

    job: Name
    channels: tuple[Channel | Tables | Shards, ...]
    binlog: tuple[Property, ...]
    properties: tuple[Property, ...] = ()
    if_not_exists: bool = False

    def sql(self) -> str:
        channels = ",\n  ".join(channel.sql() for channel in self.channels)
        head = f"CREATE SYNC{words((self.if_not_exists, 'IF NOT EXISTS'))} {self.job.sql()}"
        text = f"{head} (\n  {channels}\n)\nFROM BINLOG {print_properties(self.binlog)}"
        return text + (f"\nPROPERTIES {print_properties(self.properties)}" if self.properties else "")

    def masked(self) -> "CreateSync":
        """The same without passwords, for all that is shown or logged."""
        return replace(
            self,
            binlog=tuple(each.masked() for each in self.binlog),
            properties=tuple(each.masked() for each in self.properties),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainSync:
    """EXPLAIN SYNC [JOB] [IF NOT EXISTS] [db.]job (channel, ...) FROM BINLOG (...) [PROPERTIES (...)]"""

    sync: CreateSync

    def sql(self) -> str:
        return self.sync.sql().replace("CREATE", "EXPLAIN", 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class PauseSync:
    """PAUSE SYNC [JOB] [db.]job"""

    job: Name

    def sql(self) -> str:
        return f"PAUSE SYNC JOB {self.job.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResumeSync:
    """RESUME SYNC [JOB] [db.]job"""

    job: Name

    def sql(self) -> str:
        return f"RESUME SYNC JOB {self.job.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StopSync:
    """STOP SYNC [JOB] [db.]job"""

    job: Name

    def sql(self) -> str:
        return f"STOP SYNC JOB {self.job.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterSync:
    """ALTER SYNC [JOB] [db.]job SET (properties)"""

    job: Name
    properties: tuple[Property, ...]

    def sql(self) -> str:
        return f"ALTER SYNC JOB {self.job.sql()} SET {print_properties(self.properties)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SetSource:
    """ALTER SYNC [JOB] [db.]job SET SOURCE (properties)"""

    job: Name
    properties: tuple[Property, ...]

    def sql(self) -> str:
        return f"ALTER SYNC JOB {self.job.sql()} SET SOURCE {print_properties(self.properties)}"

    def masked(self) -> "SetSource":
        """The same without passwords, for all that is shown or logged."""
        return replace(self, properties=tuple(each.masked() for each in self.properties))


@dataclass(frozen=True, kw_only=True, slots=True)
class SettleDdl:
    """ALTER SYNC [JOB] [db.]job SKIP DDL | APPLY DDL 'statement'"""

    job: Name
    instead: str | None = None

    def sql(self) -> str:
        how = "SKIP DDL" if self.instead is None else f"APPLY DDL {quote_string(self.instead)}"
        return f"ALTER SYNC JOB {self.job.sql()} {how}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameSync:
    """ALTER SYNC [JOB] [db.]job RENAME TO job"""

    job: Name
    to: str

    def sql(self) -> str:
        return f"ALTER SYNC JOB {self.job.sql()} RENAME TO {quote_name(self.to)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AddTables:
    """ALTER SYNC [JOB] [db.]job ADD TABLE channel, ..."""

    job: Name
    channels: tuple[Channel | Tables | Shards, ...]

    def sql(self) -> str:
        channels = ",\n  ".join(channel.sql() for channel in self.channels)
        return f"ALTER SYNC JOB {self.job.sql()} ADD TABLE\n  {channels}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaveTable:
    """ALTER SYNC [JOB] [db.]job DROP TABLE [db.]table; the table is one of the source."""

    job: Name
    table: Name

    def sql(self) -> str:
        return f"ALTER SYNC JOB {self.job.sql()} DROP TABLE {self.table.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResyncTable:
    """ALTER SYNC [JOB] [db.]job RESYNC TABLE [db.]table [WHERE condition]; the table is one of the source."""

    job: Name
    table: Name
    where: Expression | None = None

    def sql(self) -> str:
        return f"ALTER SYNC JOB {self.job.sql()} RESYNC TABLE {self.table.sql()}" + clause("WHERE", printed(self.where))


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckSync:
    """CHECK SYNC [JOB] [db.]job [TABLE [db.]table, TABLE ...] [WITH (properties)]; the tables are those of the
    source.
    """

    job: Name
    tables: tuple[Name, ...] = ()
    properties: tuple[Property, ...] = ()

    def sql(self) -> str:
        tables = ", ".join(f"TABLE {table.sql()}" for table in self.tables)
        options = f" WITH {print_properties(self.properties)}" if self.properties else ""
        return f"CHECK SYNC JOB {self.job.sql()}" + (f" {tables}" if tables else "") + options


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckTables:
    """CHECK TABLE [db.]table, ...; the tables are targets."""

    tables: tuple[Name, ...]

    def sql(self) -> str:
        return f"CHECK TABLE {', '.join(table.sql() for table in self.tables)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StopCheck:
    """STOP CHECK id"""

    id: int

    def sql(self) -> str:
        return f"STOP CHECK {self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairSync:
    """REPAIR SYNC [JOB] [db.]job CHECK id [TABLE [db.]table]; the table is one of the source."""

    job: Name
    check: int
    table: Name | None = None

    def sql(self) -> str:
        table = clause("TABLE", None if self.table is None else self.table.sql())
        return f"REPAIR SYNC JOB {self.job.sql()} CHECK {self.check}{table}"


JobAlteration: TypeAlias = AlterSync | RenameSync | LeaveTable | ResyncTable | SettleDdl


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowSync:
    """SHOW SYNC JOB[S] [FROM db] [LIKE 'pattern'] [WHERE condition] [ORDER BY column [DESC], ...] [LIMIT n]"""

    db: str | None = None
    filter: Filter = EVERY_ROW
    order_by: tuple[OrderItem, ...] = ()
    limit: Limit | None = None

    def sql(self) -> str:
        return "SHOW SYNC JOB" + _choice(self.db, self.filter, self.order_by, self.limit)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowSyncStatus:
    """SHOW SYNC JOB[S] STATUS [FROM db] [LIKE 'pattern'] [WHERE condition] [ORDER BY column [DESC], ...] [LIMIT n]"""

    db: str | None = None
    filter: Filter = EVERY_ROW
    order_by: tuple[OrderItem, ...] = ()
    limit: Limit | None = None

    def sql(self) -> str:
        return "SHOW SYNC JOB STATUS" + _choice(self.db, self.filter, self.order_by, self.limit)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowSyncTables:
    """SHOW SYNC JOB TABLES FOR [db.]job [LIKE 'pattern' | WHERE condition]"""

    job: Name
    filter: Filter = EVERY_ROW

    def sql(self) -> str:
        return f"SHOW SYNC JOB TABLES FOR {self.job.sql()}{self.filter.sql()}"


def _choice(db: str | None, chosen: Filter, order_by: tuple[OrderItem, ...], limit: Limit | None) -> str:
    text = clause("FROM", db and quote_name(db)) + chosen.sql()
    if order_by:
        text += f" ORDER BY {', '.join(item.sql() for item in order_by)}"
    return text + ("" if limit is None else limit.sql())


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowCreateSync:
    """SHOW CREATE SYNC [JOB] [db.]job"""

    job: Name

    def sql(self) -> str:
        return f"SHOW CREATE SYNC JOB {self.job.sql()}"
