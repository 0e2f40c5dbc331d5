"""The statements about the connection and the server, and those that go to Spark as they are.

Owns: their values and their canonical print.
Must not know: how they are parsed, what a variable means.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from syncsql.names import Property, clause, print_properties, quote_name, quote_string, words
from syncsql.statements.filter import EVERY_ROW, Filter, Limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Select:
    """SELECT|WITH|VALUES ...; kept as typed."""

    text: str

    def sql(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainSelect:
    """EXPLAIN [EXTENDED|FORMATTED|COST|CODEGEN] SELECT ...; mode is None if none is named."""

    select: Select
    mode: str | None = None

    def sql(self) -> str:
        return f"EXPLAIN{words((self.mode is not None, str(self.mode)))} {self.select.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowProcesslist:
    """SHOW [FULL] PROCESSLIST"""

    full: bool = False

    def sql(self) -> str:
        return f"SHOW{words((self.full, 'FULL'))} PROCESSLIST"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kill:
    """KILL [CONNECTION|QUERY] id; query: end the statement that runs there, otherwise the connection."""

    id: int
    query: bool = False

    def sql(self) -> str:
        return f"KILL {'QUERY' if self.query else 'CONNECTION'} {self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowFrontendConfig:
    """[ADMIN] SHOW FRONTEND CONFIG [LIKE 'pattern' | WHERE condition]"""

    filter: Filter = EVERY_ROW

    def sql(self) -> str:
        return "SHOW FRONTEND CONFIG" + self.filter.sql()


@dataclass(frozen=True, kw_only=True, slots=True)
class AdminSetFrontendConfig:
    """ADMIN SET FRONTEND CONFIG ("key" = "value", ...)"""

    settings: tuple[Property, ...]

    def sql(self) -> str:
        return f"ADMIN SET FRONTEND CONFIG {print_properties(self.settings)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AdminTestAlert:
    """ADMIN TEST ALERT"""

    def sql(self) -> str:
        return "ADMIN TEST ALERT"


@dataclass(frozen=True, kw_only=True, slots=True)
class Help:
    """HELP [topic]; topic is None if all topics are requested, its blanks are single."""

    topic: str | None = None

    def sql(self) -> str:
        return "HELP" if self.topic is None else f"HELP {quote_string(self.topic)}"


class TransactionVerb(StrEnum):
    """The three verbs to which all others are reduced."""

    BEGIN = "BEGIN"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"


@dataclass(frozen=True, kw_only=True, slots=True)
class Transaction:
    """BEGIN|START TRANSACTION|COMMIT|ROLLBACK; what drivers send around statements: it changes nothing here."""

    verb: TransactionVerb

    def sql(self) -> str:
        return str(self.verb)


class ValueKind(StrEnum):
    """What follows the = of a SET."""

    STRING = "STRING"
    NUMBER = "NUMBER"  # text has the sign
    WORD = "WORD"  # ON, utf8mb4, NULL, DEFAULT, TRUE: text as typed
    EXPRESSION = "EXPRESSION"  # @@sql_mode, CONCAT(...): text as typed


@dataclass(frozen=True, kw_only=True, slots=True)
class SetValue:
    """What follows the = of a SET."""

    kind: ValueKind
    text: str

    def sql(self) -> str:
        return quote_string(self.text) if self.kind is ValueKind.STRING else self.text


class Scope(StrEnum):
    """Which value of a variable is meant."""

    SESSION = "SESSION"  # also if nothing or LOCAL was given
    GLOBAL = "GLOBAL"
    PERSIST = "PERSIST"
    PERSIST_ONLY = "PERSIST_ONLY"


@dataclass(frozen=True, kw_only=True, slots=True)
class SetVariable:
    """[scope] name = value"""

    scope: Scope
    name: str
    value: SetValue

    def sql(self) -> str:
        return f"{self.scope} {quote_name(self.name)} = {self.value.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SetUserVariable:
    """name without its @."""

    name: str
    value: SetValue

    def sql(self) -> str:
        return f"@{quote_name(self.name)} = {self.value.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SetNames:
    """charset is None for DEFAULT."""

    charset: str | None
    collation: str | None = None

    def sql(self) -> str:
        charset = "DEFAULT" if self.charset is None else quote_string(self.charset)
        collation = None if self.collation is None else quote_string(self.collation)
        return f"NAMES {charset}{clause('COLLATE', collation)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SetCharacterSet:
    """charset is None for DEFAULT."""

    charset: str | None

    def sql(self) -> str:
        return f"CHARACTER SET {'DEFAULT' if self.charset is None else quote_string(self.charset)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SetTransaction:
    """characteristics such as ISOLATION LEVEL READ COMMITTED or READ ONLY; scope None: the next transaction only."""

    characteristics: tuple[str, ...]
    scope: Scope | None = None

    def sql(self) -> str:
        return f"{'' if self.scope is None else f'{self.scope} '}TRANSACTION {', '.join(self.characteristics)}"


SetItem: TypeAlias = SetVariable | SetUserVariable | SetNames | SetCharacterSet | SetTransaction


@dataclass(frozen=True, kw_only=True, slots=True)
class Set:
    """SET item, ..."""

    items: tuple[SetItem, ...]

    def sql(self) -> str:
        return "SET " + ", ".join(item.sql() for item in self.items)


class MetaKind(StrEnum):
    """Queries of drivers and clients, by their words after SHOW."""

    VARIABLES = "VARIABLES"
    STATUS = "STATUS"
    WARNINGS = "WARNINGS"
    ERRORS = "ERRORS"
    COUNT_WARNINGS = "COUNT(*) WARNINGS"
    COUNT_ERRORS = "COUNT(*) ERRORS"
    ENGINES = "ENGINES"
    PLUGINS = "PLUGINS"
    FRONTENDS = "FRONTENDS"
    ALERTS = "ALERTS"
    PRIVILEGES = "PRIVILEGES"
    COLLATION = "COLLATION"
    CHARACTER_SET = "CHARACTER SET"
    INDEX = "INDEX"
    TABLE_STATUS = "TABLE STATUS"
    OPEN_TABLES = "OPEN TABLES"
    TRIGGERS = "TRIGGERS"
    EVENTS = "EVENTS"
    PROCEDURE_STATUS = "PROCEDURE STATUS"
    FUNCTION_STATUS = "FUNCTION STATUS"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowMeta:
    """SHOW [GLOBAL|SESSION] kind [FROM db] [LIKE 'pattern' | WHERE condition] [LIMIT n]; a query of a driver.

    scope is GLOBAL or SESSION (of VARIABLES and STATUS), table is set only for INDEX, db if one was named.
    """

    kind: MetaKind
    scope: Scope | None = None
    table: str | None = None
    db: str | None = None
    filter: Filter = EVERY_ROW
    limit: Limit | None = None

    def sql(self) -> str:
        text = f"SHOW{'' if self.scope is None else f' {self.scope}'} {self.kind}"
        text += clause("FROM", self.table and quote_name(self.table)) + clause("FROM", self.db and quote_name(self.db))
        text += self.filter.sql()
        return text + ("" if self.limit is None else self.limit.sql())
