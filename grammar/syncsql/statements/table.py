"""The statements about databases and tables.

Owns: their values and their canonical print.
Must not know: how they are parsed, what the lake makes of them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

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
from syncsql.statements.filter import EVERY_ROW, Filter


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateDatabase:
    """CREATE DATABASE|SCHEMA [IF NOT EXISTS] db"""

    name: str
    if_not_exists: bool = False

    def sql(self) -> str:
        return f"CREATE DATABASE{words((self.if_not_exists, 'IF NOT EXISTS'))} {quote_name(self.name)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DropDatabase:
    """DROP DATABASE|SCHEMA [IF EXISTS] db [FORCE]"""

    name: str
    if_exists: bool = False
    force: bool = False

    def sql(self) -> str:
        return f"DROP DATABASE{words((self.if_exists, 'IF EXISTS'))} {quote_name(self.name)}" + words(
            (self.force, "FORCE")
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowDatabases:
    """SHOW DATABASES|SCHEMAS [LIKE 'pattern' | WHERE condition]"""

    filter: Filter = EVERY_ROW

    def sql(self) -> str:
        return "SHOW DATABASES" + self.filter.sql()


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowCreateDatabase:
    """SHOW CREATE DATABASE|SCHEMA [IF NOT EXISTS] db"""

    name: str
    if_not_exists: bool = False

    def sql(self) -> str:
        return f"SHOW CREATE DATABASE{words((self.if_not_exists, 'IF NOT EXISTS'))} {quote_name(self.name)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class EnableFeature:
    """ALTER TABLE [db.]table ENABLE FEATURE 'feature'"""

    table: Name
    feature: str

    def sql(self) -> str:
        return f"ALTER TABLE {self.table.sql()} ENABLE FEATURE {quote_string(self.feature)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """USE db"""

    db: str

    def sql(self) -> str:
        return f"USE {quote_name(self.db)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DataType:
    """A column type under its one canonical name: DECIMAL(10, 2), DATETIME(6), VARCHAR(16), INT.

    args are the numbers in brackets: none, or length, precision and scale, digits of a second, or the width in which
    MySQL's clients would show an integer.
    """

    name: str
    args: tuple[int, ...] = ()

    def sql(self) -> str:
        return self.name + (f"({', '.join(map(str, self.args))})" if self.args else "")


class DefaultKind(StrEnum):
    """What a DEFAULT is."""

    STRING = "STRING"
    NUMBER = "NUMBER"  # text has the sign
    BOOLEAN = "BOOLEAN"  # text is TRUE or FALSE
    NULL = "NULL"
    NOW = "NOW"  # CURRENT_TIMESTAMP; text is "" or the digits of a second


@dataclass(frozen=True, kw_only=True, slots=True)
class Default:
    """DEFAULT value"""

    kind: DefaultKind
    text: str = ""

    def sql(self) -> str:
        match self.kind:
            case DefaultKind.STRING:
                return quote_string(self.text)
            case DefaultKind.NUMBER | DefaultKind.BOOLEAN:
                return self.text
            case DefaultKind.NULL:
                return "NULL"
            case DefaultKind.NOW:
                return f"CURRENT_TIMESTAMP({self.text})" if self.text else "CURRENT_TIMESTAMP"
            case _:
                assert_never(self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnDefinition:
    """nullable is None if neither NULL nor NOT NULL was given. auto_increment is MySQL's word, and has no effect."""

    name: str
    type: DataType
    nullable: bool | None = None
    default: Default | None = None
    auto_increment: bool = False
    comment: str | None = None

    def sql(self) -> str:
        text = f"{quote_name(self.name)} {self.type.sql()}"
        text += words((self.nullable is True, "NULL"), (self.nullable is False, "NOT NULL"))
        text += clause("DEFAULT", printed(self.default)) + words((self.auto_increment, "AUTO_INCREMENT"))
        return text + clause("COMMENT", self.comment if self.comment is None else quote_string(self.comment))


class KeyKind(StrEnum):
    """UNIQUE keys upsert, DUPLICATE ones append."""

    UNIQUE = "UNIQUE"
    DUPLICATE = "DUPLICATE"


@dataclass(frozen=True, kw_only=True, slots=True)
class TableKey:
    """UNIQUE|DUPLICATE KEY (column, ...)"""

    kind: KeyKind
    columns: tuple[str, ...]

    def sql(self) -> str:
        return f"{self.kind} KEY {quote_names(self.columns)}"


class TransformKind(StrEnum):
    """How a column becomes a partition."""

    IDENTITY = "IDENTITY"
    BUCKET = "BUCKET"
    TRUNCATE = "TRUNCATE"
    YEAR = "YEAR"
    MONTH = "MONTH"
    DAY = "DAY"
    HOUR = "HOUR"


@dataclass(frozen=True, kw_only=True, slots=True)
class Transform:
    """One part of PARTITION BY; width is the number of buckets or the length to truncate to, otherwise None."""

    kind: TransformKind
    column: str
    width: int | None = None

    def sql(self) -> str:
        if self.kind is TransformKind.IDENTITY:
            return quote_name(self.column)
        width = "" if self.width is None else f"{self.width}, "
        return f"{self.kind}({width}{quote_name(self.column)})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """DISTRIBUTED BY HASH(columns), or RANDOM if there are none; buckets is None for AUTO."""

    columns: tuple[str, ...] = ()
    buckets: int | None = None

    def sql(self) -> str:
        how = f"HASH {quote_names(self.columns)}" if self.columns else "RANDOM"
        return f"DISTRIBUTED BY {how} BUCKETS {'AUTO' if self.buckets is None else self.buckets}"


class OptionKind(StrEnum):
    """Options of MySQL's tables that have no effect here, besides ENGINE and COMMENT."""

    CHARSET = "CHARSET"
    COLLATE = "COLLATE"
    AUTO_INCREMENT = "AUTO_INCREMENT"
    ROW_FORMAT = "ROW_FORMAT"


@dataclass(frozen=True, kw_only=True, slots=True)
class TableOption:
    """kind = value"""

    kind: OptionKind
    value: str

    def sql(self) -> str:
        value = self.value if self.kind is OptionKind.AUTO_INCREMENT else quote_name(self.value)
        return f"{self.kind} = {value}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateTable:
    """CREATE TABLE [IF NOT EXISTS] [db.]table (column, ...), MySQL's options, and Doris' clauses in their order.

    MySQL's PRIMARY KEY is a UNIQUE KEY.
    """

    table: Name
    columns: tuple[ColumnDefinition, ...]
    engine: str | None = None
    options: tuple[TableOption, ...] = ()
    key: TableKey | None = None
    comment: str | None = None
    partition_by: tuple[Transform, ...] = ()
    distribution: Distribution | None = None
    properties: tuple[Property, ...] = ()
    if_not_exists: bool = False

    def sql(self) -> str:
        columns = ",\n  ".join(column.sql() for column in self.columns)
        text = f"CREATE TABLE{words((self.if_not_exists, 'IF NOT EXISTS'))} {self.table.sql()} (\n  {columns}\n)"
        clauses = (
            self.engine and f"ENGINE = {quote_name(self.engine)}",
            *(option.sql() for option in self.options),
            self.key and self.key.sql(),
            None if self.comment is None else f"COMMENT {quote_string(self.comment)}",
            self.partition_by and f"PARTITION BY ({', '.join(each.sql() for each in self.partition_by)})",
            self.distribution and self.distribution.sql(),
            self.properties and f"PROPERTIES {print_properties(self.properties)}",
        )
        return "\n".join([text, *(str(each) for each in clauses if each)])


@dataclass(frozen=True, kw_only=True, slots=True)
class DropTable:
    """DROP TABLE [IF EXISTS] [db.]table [FORCE]"""

    table: Name
    if_exists: bool = False
    force: bool = False

    def sql(self) -> str:
        return f"DROP TABLE{words((self.if_exists, 'IF EXISTS'))} {self.table.sql()}" + words((self.force, "FORCE"))


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribeTable:
    """DESC|DESCRIBE|EXPLAIN [db.]table"""

    table: Name

    def sql(self) -> str:
        return f"DESCRIBE {self.table.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowTables:
    """SHOW [FULL] TABLES [FROM db] [LIKE 'pattern' | WHERE condition]"""

    full: bool = False
    db: str | None = None
    filter: Filter = EVERY_ROW

    def sql(self) -> str:
        from_db = clause("FROM", self.db and quote_name(self.db))
        return f"SHOW{words((self.full, 'FULL'))} TABLES{from_db}{self.filter.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowCreateTable:
    """SHOW CREATE TABLE [db.]table"""

    table: Name

    def sql(self) -> str:
        return f"SHOW CREATE TABLE {self.table.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowColumns:
    """SHOW [FULL] COLUMNS|FIELDS FROM [db.]table [FROM db] [LIKE 'pattern' | WHERE condition]"""

    table: Name
    full: bool = False
    filter: Filter = EVERY_ROW

    def sql(self) -> str:
        return f"SHOW{words((self.full, 'FULL'))} COLUMNS FROM {self.table.sql()}{self.filter.sql()}"
