"""What a server shows of a table: its columns and its keys.

Owns: the queries to information_schema, and how an answer becomes a SourceTable.
Must not know: jobs, binlogs, what is done with a table.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from mysqlddl.table.charsets import charset_of
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.types.charset import of_today
from syncmgr.job.types.column_type import YEAR_OF_TWO_DIGITS, labels
from syncmgr.job.types.mysql_type import Brackets, brackets
from syncmgr.job.types.schema import (
    LABELLED,
    MOST_TABLE_SIZE,
    GeneratedColumn,
    SourceColumn,
    SourceTable,
    UniqueKey,
    has_default,
    read_by,
)
from syncmgr.job.types.zoned import zoned
from syncmgr.sources.mysql.address import Connection, query

PRIMARY: Final = "PRIMARY"
LONGEST_NAME: Final = 255  # characters; a server's own limit is 64
_CASCADE: Final = re.compile(
    r"^ *+CONSTRAINT (?>.*? FOREIGN KEY ).*? ON (?:DELETE|UPDATE) (?:CASCADE|SET )", re.MULTILINE
)

_COLUMN: Final = (
    "COLUMN_NAME name, DATA_TYPE word, COLUMN_TYPE full, CHARACTER_MAXIMUM_LENGTH length, NUMERIC_PRECISION digits,"
    " NUMERIC_SCALE scale, DATETIME_PRECISION fraction, CHARACTER_SET_NAME charset, IS_NULLABLE nullable,"
    " GENERATION_EXPRESSION expression, EXTRA extra"
)


def schema_of(connection: Connection, table: Table) -> SourceTable | None:
    """Under the name that the server has for it; None if there is no such table. Raises SOURCE_TOO_LARGE, pymysql's
    errors.
    """
    rows = query(
        connection,
        f"SELECT TABLE_SCHEMA db, TABLE_NAME tab, {_COLUMN} FROM information_schema.COLUMNS"  # noqa: S608 - a constant
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
        *table,
    )
    if not rows:
        return None
    keys = _keys(connection, table)
    primary = next((key.columns for key in keys if key.name == PRIMARY), ())
    places = {name: place for place, name in enumerate(primary, 1)}
    columns = tuple(source_column(row, places.get(row["name"], 0)) for row in rows)
    [row] = query(
        connection,
        "SELECT TABLE_COLLATION collation FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        *table,
    ) or [{"collation": None}]
    charset = None if row["collation"] is None else charset_of(row["collation"])
    unique = tuple(key for key in keys if key.name != PRIMARY)
    names = [column.name for column in columns]
    dependent = _zoned(rows)
    generated = tuple(
        GeneratedColumn(
            name=row["name"],
            reads=read_by(row["expression"], [n for n in names if n != row["name"]]),
            defaults=has_default(row["expression"]),
            zoned=row["name"] in dependent,
        )
        for row in rows
        if row["expression"]
    )
    db, name = rows[0]["db"], rows[0]["tab"]
    refuse_long_names(connection, (db, name, *names, *(key.name for key in keys)))
    numbered = next((row["name"] for row in rows if "auto_increment" in row["extra"].lower()), "")
    found = SourceTable(db=db, name=name, columns=columns, charset=charset, unique=unique)
    if found.size > MOST_TABLE_SIZE:
        what = f"columns and labels of table {found.label} with {found.size} characters; {MOST_TABLE_SIZE} are taken"
        raise connection.too_large(what)
    return replace(found, generated=generated, numbered=numbered)


def refuse_long_names(connection: Connection, names: Iterable[str]) -> None:
    """Of objects, which the metadata keep. Raises SOURCE_TOO_LARGE."""
    longest = max(map(len, names), default=0)
    if longest > LONGEST_NAME:
        raise connection.too_large(f"a name of {longest} characters; {LONGEST_NAME} are taken")


def _zoned(rows: Iterable[dict[str, Any]]) -> frozenset[str]:
    """The VIRTUAL columns whose values may depend on the time zone of a session."""
    virtual = {row["name"]: row["expression"] for row in rows if "virtual" in row["extra"].lower()}
    return zoned(virtual, [row["name"] for row in rows if row["word"].lower() == "timestamp"])


def schemas_of(connection: Connection, tables: Sequence[Table]) -> dict[Table, SourceTable]:
    """Those that exist, without their keys and charsets, by one query."""
    if not tables:
        return {}
    rows = query(
        connection,
        f"SELECT TABLE_SCHEMA db, TABLE_NAME tab, {_COLUMN} FROM information_schema.COLUMNS"  # noqa: S608 - a constant
        " WHERE (TABLE_SCHEMA, TABLE_NAME) IN %s ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION",
        tuple(tables),
    )
    columns: dict[Table, list[SourceColumn]] = {}
    for row in rows:
        columns.setdefault((row["db"], row["tab"]), []).append(source_column(row, 0))
    return {table: SourceTable(db=table[0], name=table[1], columns=tuple(found)) for table, found in columns.items()}


def unique_keys(connection: Connection, table: Table) -> tuple[tuple[str, ...], ...]:
    """The columns of its primary and other unique keys over NOT NULL columns; the primary key comes first."""
    rows = _rows_of_keys(connection, table)
    unfit = {row["name"] for row in rows if row["nullable"] == "YES" or row["col"] is None}
    keys = [key for key in _grouped(rows) if key.name not in unfit]
    return tuple(key.columns for key in sorted(keys, key=lambda key: (key.name != PRIMARY, key.name)))


def _keys(connection: Connection, table: Table) -> tuple[UniqueKey, ...]:
    """All unique indexes, the primary one too."""
    return _grouped(_rows_of_keys(connection, table))


def _rows_of_keys(connection: Connection, table: Table) -> list[dict[str, Any]]:
    return query(
        connection,
        "SELECT INDEX_NAME name, COLUMN_NAME col, NULLABLE nullable FROM information_schema.STATISTICS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND NON_UNIQUE = 0 ORDER BY INDEX_NAME, SEQ_IN_INDEX",
        *table,
    )


def _grouped(rows: Iterable[dict[str, Any]]) -> tuple[UniqueKey, ...]:
    keys: dict[str, tuple[str, ...]] = {}
    for row in rows:
        keys[row["name"]] = (*keys.get(row["name"], ()), row["col"] or "")
    return tuple(UniqueKey(name=name, columns=columns) for name, columns in keys.items())


def cascades(connection: Connection, table: Table) -> bool:
    """Whether a foreign key changes its rows besides the statements on it.

    Of its definition: MariaDB shows the constraints in information_schema only to users who may write.
    """
    definition = query(connection, f"SHOW CREATE TABLE {quoted(table)}")[0]["Create Table"]
    return _CASCADE.search(definition) is not None


def old_fractions(connection: Connection, table: Table) -> list[str]:
    """Its columns of MariaDB that have fractions of a second in the format before 10.1: their width in the binlog
    depends on the fraction, which is nowhere in it.
    """
    rows = query(
        connection,
        "SELECT COLUMN_NAME name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
        " AND COLUMN_TYPE LIKE '%%mariadb-5.3%%' AND DATETIME_PRECISION > 0 ORDER BY ORDINAL_POSITION",
        *table,
    )
    return [row["name"] for row in rows]


def source_column(row: dict[str, Any], key: int) -> SourceColumn:
    """A column as information_schema describes it; sizes that the type does not have are 0, as in a table map."""
    word = YEAR_OF_TWO_DIGITS if row["full"].lower() == YEAR_OF_TWO_DIGITS else row["word"].lower()
    fraction = row["fraction"] if brackets(word) is Brackets.FRACTION else None
    has_digits = word == "decimal" or (brackets(word) is Brackets.DIGITS and row["scale"] is not None)
    return SourceColumn(
        name=row["name"],
        type="geomcollection" if word == "geometrycollection" else word,
        unsigned="unsigned" in row["full"].lower() and word not in LABELLED,
        precision=int(row["digits"] if has_digits else fraction or 0),
        scale=int(row["scale"] if has_digits else 0),
        length=int(_length(word, row) or 0),
        charset=of_today(row["charset"]) or ("binary" if word in LABELLED else None),  # it names none of bytes
        members=labels(row["full"]) if word in LABELLED else (),
        nullable=row["nullable"] == "YES",
        key=key,
    )


def _length(word: str, row: dict[str, Any]) -> int | None:
    if brackets(word) is not Brackets.LENGTH:
        return None
    size: int | None = row["digits" if word == "bit" else "length"]
    return size


def quoted(names: Sequence[str]) -> str:
    """A table, or another named object, in a statement."""
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)
