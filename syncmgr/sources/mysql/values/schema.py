"""What a table is, according to the binlog.

Owns: the source schema that follows from a table map, or must agree with it.
Must not know: the event's layout, rows, connections.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.charset import MAX_BYTES
from syncmgr.job.types.column_type import YEAR_OF_TWO_DIGITS
from syncmgr.job.types.schema import BYTES, IDENTIFIERS, TEXT, SourceColumn, SourceTable
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.values import charsets
from syncmgr.sources.mysql.values.collations import CHARSET_OF
from syncmgr.sources.mysql.values.table_map import CHARACTER, LABELLED, NUMERIC, Field, TableMap

WORDS: Final = {
    wire.TINY: "tinyint",
    wire.SHORT: "smallint",
    wire.INT24: "mediumint",
    wire.LONG: "int",
    wire.LONGLONG: "bigint",
    wire.FLOAT: "float",
    wire.DOUBLE: "double",
    wire.NEWDECIMAL: "decimal",
    wire.DATE: "date",
    wire.NEWDATE: "date",
    wire.DATETIME: "datetime",
    wire.DATETIME2: "datetime",
    wire.TIMESTAMP: "timestamp",
    wire.TIMESTAMP2: "timestamp",
    wire.TIME: "time",
    wire.TIME2: "time",
    wire.YEAR: "year",
    wire.BIT: "bit",
    wire.ENUM: "enum",
    wire.SET: "set",
    wire.JSON: "json",
    wire.GEOMETRY: "geometry",
    wire.VECTOR: "vector",
}
STRING_WORDS: Final = {  # of bytes, of text
    wire.STRING: ("binary", "char"),
    wire.VARCHAR: ("varbinary", "varchar"),
    wire.VAR_STRING: ("varbinary", "varchar"),
    wire.BLOB: ("blob", "text"),
    wire.VARCHAR_COMPRESSED: ("varbinary", "varchar"),
    wire.BLOB_COMPRESSED: ("blob", "text"),
}
BLOB_WORDS: Final = ("", "tiny", "", "medium", "long")  # by bytes of the length
BLOBS: Final = frozenset({wire.BLOB, wire.BLOB_COMPRESSED})
HIDDEN: Final = re.compile(r"!hidden!.*|my_row_id|row_start|row_end")  # the servers' own columns
HASH: Final = re.compile(r"DB_ROW_HASH_\d+")  # of a long unique key of MariaDB, after all other columns
COMPRESSED_HEADER: Final = 1  # byte by which a compressed column is longer than declared


def source_table(table: TableMap) -> SourceTable:
    """The schema that a FULL table map describes. A column that it cannot describe has the type word "unknown"."""
    columns = tuple(_source_column(f) for f in table.fields)
    return SourceTable(db=table.db, name=table.name, columns=columns)


def without_hashes(logged: SourceTable, wanted: Collection[str]) -> SourceTable:
    """Without the columns that MariaDB has for long unique keys and never shows: new ones come before them.

    A wanted one is the table's own.
    """
    columns = logged.columns
    while columns and HASH.fullmatch(columns[-1].name) and columns[-1].name not in wanted:
        columns = columns[:-1]
    return replace(logged, columns=columns)


def _source_column(made: Field) -> SourceColumn:
    assert made.name is not None
    charset = None if made.collation is None else CHARSET_OF.get(made.collation)
    if charset is not None and made.code in LABELLED and not charsets.known(charset):
        charset = None
    base = SourceColumn(name=made.name, type=_word(made, charset), nullable=made.nullable, key=made.key)
    match made.code:
        case wire.NEWDECIMAL:
            base = replace(base, precision=made.digits[0], scale=made.digits[1], unsigned=bool(made.unsigned))
        case code if code in NUMERIC:
            base = replace(base, unsigned=bool(made.unsigned))
        case wire.DATETIME2 | wire.TIMESTAMP2 | wire.TIME2:
            base = replace(base, precision=made.meta)
        case wire.BIT:
            base = replace(base, length=made.meta)
        case wire.ENUM | wire.SET if made.members is not None and charset is not None:
            base = _labelled(base, made.members, charset)
        case code if code in CHARACTER - BLOBS and charset is not None:
            size = made.meta - (COMPRESSED_HEADER if code == wire.VARCHAR_COMPRESSED else 0)
            base = replace(base, length=size // MAX_BYTES[charset], charset=None if charset == "binary" else charset)
        case wire.BLOB | wire.BLOB_COMPRESSED if charset != "binary":
            base = replace(base, charset=charset)
    return base


def _labelled(base: SourceColumn, members: Iterable[bytes], charset: str) -> SourceColumn:
    """CONVERT TO CHARACTER SET leaves the bytes of labels as they were, which may not be text in the new one."""
    try:
        labels = tuple(charsets.decode_label(charset, member) for member in members)
    except charsets.UndecodableError:
        return replace(base, type="unknown")
    return replace(base, members=labels, charset=charset)


def _word(made: Field, charset: str | None) -> str:
    """MySQL's type word, or "unknown", which nothing accepts."""
    if charset is None and made.code in LABELLED | CHARACTER:
        return "unknown"
    known = WORDS.get(made.code)
    if known is not None:
        return known
    size = BLOB_WORDS[made.meta] if made.code in BLOBS else ""
    of_bytes, of_text = STRING_WORDS.get(made.code, ("unknown", "unknown"))
    return size + (of_bytes if charset == "binary" else of_text)


def identified(logged: SourceTable, stored: SourceTable) -> SourceTable:
    """`logged` by a table map, completed by what it does not contain but is stored."""
    known = ((column, stored.column(column.name)) for column in logged.columns)
    return replace(
        logged,
        columns=tuple(c if of is None else _identified(c, of) for c, of in known),
        unique=stored.unique,
        generated=stored.generated,
        numbered=stored.numbered,
    )


def _identified(column: SourceColumn, known: SourceColumn) -> SourceColumn:
    """MariaDB's uuid, inet6 and inet4 appear as bytes, the digits of FLOAT(M,D) and DOUBLE(M,D) not at all."""
    if column.type == "binary" and known.type in IDENTIFIERS and column.length == IDENTIFIERS[known.type]:
        return replace(column, type=known.type, length=0)
    if column.type in {"float", "double"} and column.type == known.type:
        return replace(column, precision=known.precision, scale=known.scale)
    return column


def agreed(table: TableMap, stored: SourceTable, *, mariadb: bool) -> SourceTable:
    """`stored`, if it can be the schema of these rows, with their charsets. Raises SOURCE_SCHEMA if it cannot.

    Which TEXT or BLOB a column is may follow from a charset that no statement named; each value contains its own
    length.
    """
    fields, more = table.fields[: len(stored.columns)], table.fields[len(stored.columns) :]
    hashes = mariadb and all(made.code == wire.LONGLONG for made in more)  # of long unique keys, which it never shows
    if len(fields) != len(stored.columns) or (more and not hashes):
        listed = ", ".join(_word(made, CHARSET_OF.get(made.collation or 0)) for made in table.fields)
        facts = f"the binlog has {len(table.fields)} columns ({listed}), the table {len(stored.columns)}"
        raise disagreement(table, f"{facts} ({_listed(stored)})")
    stored = replace(stored, columns=tuple(map(_with_charset, fields, stored.columns)))
    for made, column in zip(fields, stored.columns, strict=True):
        if column.type in TEXT and column.charset is None:
            facts = f"no statement names the charset of column '{column.name}', and the binlog does not say it"
            raise disagreement(table, facts)
        reason = _contradiction(made, column)
        if reason:
            raise disagreement(table, f"column '{column.name}' is {column.text}, but the binlog {reason}")
    return stored


def refuse_unknown(table: TableMap, logged: SourceTable, stored: SourceTable) -> None:
    """Raises SOURCE_SCHEMA if a table map has an unknown column, as after an ALTER TABLE that was not logged."""
    unknown = [c.name for c in logged.columns if stored.column(c.name) is None and not HIDDEN.fullmatch(c.name)]
    if unknown:
        facts = f"the binlog has ({_listed(logged)}), the job knows ({_listed(stored)})"
        reason = f"{facts}: column '{unknown[0]}' came without a statement in the binlog"
        raise SyncError(Code.SOURCE_SCHEMA, table=table.label, reason=reason)


def _listed(table: SourceTable) -> str:
    return ", ".join(f"{column.name} {column.text}" for column in table.columns)


def _with_charset(made: Field, column: SourceColumn) -> SourceColumn:
    """DDL that names no charset uses the table's own, which only the binlog shows."""
    if column.charset is not None or column.type not in TEXT or made.collation is None:
        return column
    return replace(column, charset=CHARSET_OF.get(made.collation))


def disagreement(table: TableMap, facts: str) -> SyncError:
    reason = f"{facts}; set binlog_row_metadata=FULL on the server, or create the job again"
    return SyncError(Code.SOURCE_SCHEMA, table=table.label, reason=reason)


def _contradiction(made: Field, column: SourceColumn) -> str:
    """Why a column cannot be this one, "" if nothing contradicts it."""
    if made.code not in _codes(column):
        return f"has type {made.code}"
    if made.unsigned is not None and made.code in NUMERIC and made.unsigned != column.unsigned:
        return "says " + ("unsigned" if made.unsigned else "signed")
    if made.collation is not None and made.code in CHARACTER:
        logged = CHARSET_OF.get(made.collation)
        if logged != (column.charset or "binary"):
            return f"says charset {logged}"
    return _size_contradiction(made, column)


def _size_contradiction(made: Field, column: SourceColumn) -> str:
    match column.type:
        case "decimal":
            wrong = made.digits != (column.precision, column.scale)
        case "datetime" | "timestamp" | "time":
            wrong = made.meta != column.precision
        case "char" | "varchar" | "binary" | "varbinary":
            header = COMPRESSED_HEADER if made.code == wire.VARCHAR_COMPRESSED else 0
            wrong = made.meta != column.length * MAX_BYTES.get(column.charset or "binary", 0) + header
        case "bit":
            wrong = made.meta != column.length
        case word if word in IDENTIFIERS:
            wrong = made.meta != IDENTIFIERS[word]
        case "enum":
            wrong = made.meta != (1 if len(column.members) < 256 else 2)
        case "set":
            wrong = made.meta != _set_bytes(len(column.members))
        case _:
            wrong = False
    return "has another size" if wrong else ""


def _set_bytes(members: int) -> int:
    used = (members + 7) // 8
    return used if used <= 4 else 8


_BY_WORD: Final = {word: frozenset(c for c, w in WORDS.items() if w == word) for word in WORDS.values()} | {
    "vector": frozenset({wire.VECTOR, wire.VARCHAR}),  # MariaDB's are bytes of variable length
    YEAR_OF_TWO_DIGITS: frozenset({wire.YEAR}),  # of which a job reads none, but the columns beside it
}


def _codes(column: SourceColumn) -> frozenset[int]:
    if column.type in _BY_WORD:
        return _BY_WORD[column.type]
    match column.type:
        case "char" | "binary":
            return frozenset({wire.STRING})
        case "varchar" | "varbinary":
            return frozenset({wire.VARCHAR, wire.VAR_STRING, wire.VARCHAR_COMPRESSED})
        case word if word in TEXT or word in BYTES:
            return frozenset({wire.BLOB, wire.BLOB_COMPRESSED})
        case _:  # the geometries, and what only MariaDB has
            return frozenset({wire.GEOMETRY, wire.STRING})
