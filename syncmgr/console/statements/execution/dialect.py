"""A SELECT of the lake in the dialect of its session.

Owns: the types of a table's columns as MySQL's rules need them, the errors of what has no equal in Spark.
Must not know: how MySQL's words are translated, how Spark runs a query.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

import mysqlselect
from mysqlselect import Kind, Refusal, Shape, Type
from syncmgr.console.ports import Catalog
from syncmgr.console.statements.local.local_select import SessionFacts
from syncmgr.console.wire.protocol import VERSION
from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import TargetType

_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), Kind.INT),
    **dict.fromkeys(("FLOAT", "DOUBLE"), Kind.DOUBLE),
    **dict.fromkeys(("CHAR", "VARCHAR", "STRING"), Kind.TEXT),
    **dict.fromkeys(("BINARY", "VARBINARY"), Kind.BYTES),
    "BOOLEAN": Kind.BOOL,
    "DATE": Kind.DATE,
    "DATETIME": Kind.DATETIME,
    "TIMESTAMP": Kind.TIMESTAMP,
    "JSON": Kind.TEXT,
}
_DIGITS: Final[Mapping[str, int]] = {
    "TINYINT": 3,
    "SMALLINT": 5,
    "INT": 10,
    "BIGINT": 19,
    "LARGEINT": 38,
    "FLOAT": mysqlselect.DIGITS_OF_FLOAT,
}


@dataclass(frozen=True, slots=True)
class SparkText:
    """`names`: of the result's columns; empty: as Spark names them."""

    sql: str
    names: tuple[str, ...] = ()


def type_of(kind: TargetType) -> Type:
    """Of a column of the lake."""
    if kind.name in {"DECIMAL", "LARGEINT"}:
        precision, scale = (*kind.args, *(_DIGITS["LARGEINT"], 0)[len(kind.args) :])
        return Type(Kind.DECIMAL, precision, scale)
    return Type(_KINDS.get(kind.name, Kind.UNKNOWN), _DIGITS.get(kind.name, 0))


def in_spark(text: str, catalog: Catalog, facts: SessionFacts) -> SparkText | None:
    """A SELECT of MySQL; None: it is none, and Spark's as typed. Blocks.

    Raises NOT_SUPPORTED, UNKNOWN_FUNCTION, WRONG_TEXT_OF_VALUE, WRONG_PARAMETER_COUNT, SYNTAX, NESTED_TOO_DEEPLY.
    """

    def columns_of(db: str | None, table: str) -> Shape | None:
        return _columns(catalog, db or facts.db, table)

    try:
        found = mysqlselect.translate(text, columns_of, lambda node: _told(node, facts))
    except Refusal as refusal:
        raise _error(refusal) from refusal
    except RecursionError:
        raise SyncError(Code.NESTED_TOO_DEEPLY, more="") from None
    return None if found is None else SparkText(found.sql, found.names)


def _columns(catalog: Catalog, db: str | None, table: str) -> Shape | None:
    """None: there is no such table, or none that this account sees, of which Spark's error says more."""
    if db is None:
        return None
    try:
        columns = catalog.table(db, table).columns
    except SyncError:
        return None
    return tuple((column.name, type_of(column.type)) for column in columns)


def _told(node: exp.Expr, facts: SessionFacts) -> str | int | None:
    """What a session knows. Raises UNKNOWN_VARIABLE."""
    match node:
        case exp.SessionParameter():
            return _switch(facts.variable(node.name))
        case exp.Parameter():
            return facts.user_variable(node.name.lower())
        case _:
            known: dict[str, str | int | None] = {"CONNECTION_ID": facts.connection_id, "VERSION": VERSION}
            return known.get(node.name.upper(), facts.db)


def _switch(value: int | str) -> int | str:
    return {"ON": 1, "OFF": 0}.get(value, value) if isinstance(value, str) else value


def _error(refusal: Refusal) -> SyncError:
    match refusal:
        case mysqlselect.UnknownFunctionRefusal():
            return SyncError(Code.UNKNOWN_FUNCTION, name=str(refusal))
        case mysqlselect.UnfinishedRefusal():
            return SyncError(Code.SYNTAX, reason=f"nothing follows {refusal}", near="", line=1, column=1)
        case mysqlselect.ParameterCountRefusal():
            return SyncError(Code.WRONG_PARAMETER_COUNT, reason=f"function {refusal}")
        case mysqlselect.WrongValueRefusal():
            return SyncError(Code.WRONG_TEXT_OF_VALUE, reason=f"Incorrect DATETIME value: '{refusal}'")
        case _:
            return SyncError(Code.NOT_SUPPORTED, what=f"in MySQL's dialect: {refusal}")
