"""Column definitions: name, type, attributes.

Owns: how MySQL and MariaDB spell them.
Must not know: where a definition is.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mysqlddl.nodes import ColumnDefinition, Default, DefaultKind, Place
from mysqlddl.table.charsets import NATIONAL, charset_name, charset_of
from mysqlddl.table.constant import constant
from mysqlddl.table.keys import references
from mysqlddl.words import NAME, STRING, WORD, Token, Words, until
from syncmgr.job.types.column_type import of_bytes, of_text, sized, source_column
from syncmgr.job.types.schema import BYTES, LABELLED, TEXT, SourceColumn

_PHRASES: Final[Mapping[str, str]] = {  # types of more than one word, and what they mean
    "DOUBLE PRECISION": "double",
    "CHARACTER VARYING": "varchar",
    "CHAR VARYING": "varchar",
    "CHAR BYTE": "binary",
    "NATIONAL CHARACTER VARYING": "national varchar",
    "NATIONAL CHAR VARYING": "national varchar",
    "NATIONAL CHARACTER": "national char",
    "NATIONAL CHAR": "national char",
    "NATIONAL VARCHARACTER": "national varchar",
    "NATIONAL VARCHAR": "national varchar",
    "NCHAR VARYING": "national varchar",
    "NCHAR VARCHARACTER": "national varchar",
    "NCHAR VARCHAR": "national varchar",
    "NCHAR": "national char",
    "NVARCHAR": "national varchar",
    "LONG CHARACTER VARYING": "mediumtext",
    "LONG CHAR VARYING": "mediumtext",
    "LONG VARCHARACTER": "mediumtext",
    "LONG VARCHAR": "mediumtext",
    "LONG VARBINARY": "mediumblob",
    "LONG": "mediumtext",
    "SERIAL": "bigint unsigned",
    "REAL": "double",
    "GEOMETRYCOLLECTION": "geomcollection",
}
_SPELLED: Final = tuple(_PHRASES)
_SIGNS: Final = frozenset({"SIGNED", "UNSIGNED", "ZEROFILL"})
_ORACLE: Final[Mapping[str, str]] = {  # types that MariaDB's sql_mode ORACLE adds, or redefines
    "blob": "longblob",
    "clob": "longtext",
    "date": "datetime",
    "number": "decimal",
    "raw": "varbinary",
    "varchar2": "varchar",
}

# Attributes without meaning for the rows, and what follows each.
_ALONE: Final = (
    "VISIBLE",
    "VIRTUAL",
    "STORED",
    "PERSISTENT",
    "NOT SECONDARY",
    "NOT ENFORCED",
    "ENFORCED",
    "WITHOUT SYSTEM VERSIONING",
)
_WITH_VALUE: Final = (
    "COLUMN_FORMAT",
    "STORAGE",
    "SRID",
    "REF_SYSTEM_ID",
    "ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE_ATTRIBUTE",
)
_ATTRIBUTES: Final = frozenset(  # words with which an attribute begins, so that a default ends before them
    {
        *(each.split()[0] for each in (*_ALONE, *_WITH_VALUE)),
        "NULL",
        "NOT",
        "DEFAULT",
        "ON",
        "COMMENT",
        "AUTO_INCREMENT",
        "PRIMARY",
        "UNIQUE",
        "KEY",
        "GENERATED",
        "AS",
        "REFERENCES",
        "CONSTRAINT",
        "CHECK",
        "WITH",
        "INVISIBLE",
        "COMPRESSED",
        "FIRST",
        "AFTER",
        "CHARACTER",
        "CHARSET",
        "COLLATE",
    },
)


def definition(words: Words, name: str | None = None) -> ColumnDefinition:
    """A whole definition; `name`: if it was already read. Raises UnclearError."""
    name = words.name() if name is None else name
    column, serial = _type(words, name)
    found = ColumnDefinition(column=column, numbered=serial, unique=serial)
    timestamp = column.type == "timestamp"
    undeclared = words.modes.dates_nulls and timestamp
    if serial or undeclared:
        found = replace(found, column=replace(column, nullable=False))
    while (more := _attribute(words, found)) is not None:
        found = more
    found = replace(found, column=_with_charset(found.column))
    if not timestamp or found.column.nullable or found.computed:
        return found
    return replace(found, dated=undeclared or words.modes.mariadb, undeclared=undeclared)


def _with_charset(column: SourceColumn) -> SourceColumn:
    """With binary, texts become bytes. A type that is no text may have a charset stated, which means nothing."""
    column = of_bytes(column) if column.charset == "binary" else column
    if column.type not in TEXT | LABELLED:
        column = replace(column, charset=None)
    return sized(column, None) if column.type in BYTES else column


def place(words: Words) -> Place | None:
    """FIRST or AFTER name, if it is here."""
    if words.skip("FIRST"):
        return Place()
    return Place(after=words.name()) if words.skip("AFTER") else None


def _type(words: Words, name: str) -> tuple[SourceColumn, bool]:
    """The column of that type, nullable as yet; and whether it is SERIAL."""
    phrase = words.skip_phrase(_SPELLED)
    word = _PHRASES[phrase] if phrase else _type_word(words)
    word = "float" if phrase == "REAL" and words.modes.short_reals else word
    word = "datetime" if words.modes.maxdb and word == "timestamp" else word
    national = word.startswith("national ")
    arguments = _arguments(words)
    if words.modes.oracle:
        word = "double" if word == "number" and not arguments else _ORACLE.get(word, word)
    signs = []
    while sign := words.skip_any(_SIGNS):
        signs.append(sign.lower())
    text = word.removeprefix("national ") + arguments + "".join(f" {sign}" for sign in signs)
    if words.modes.mariadb and word == "json":
        return replace(source_column(name, "longtext"), charset="utf8mb4"), False
    column = source_column(name, text, charset=NATIONAL if national else None)
    return _sized(column, arguments), phrase == "SERIAL"


def _type_word(words: Words) -> str:
    if not words.token.word:
        raise words.unclear("a column type")
    return words.take().text.lower()


def _arguments(words: Words) -> str:
    """The brackets after a type; labels in them are respelled as in information_schema."""
    if not words.skip("("):
        return ""
    parts = []
    while not words.skip(")"):
        token = words.take()
        if token.kind == STRING:
            label = token.text.rstrip(" ").replace("\\", "\\\\").replace("'", "''")
            parts.append(f"'{label}'")
        else:
            parts.append(token.text)
    return "(" + "".join(parts) + ")"


def _sized(column: SourceColumn, arguments: str) -> SourceColumn:
    """With the length of BLOB(100) and TEXT(100), from which its size is still to be determined."""
    size = arguments.strip("()")
    return replace(column, length=int(size)) if column.type in {"blob", "text"} and size.isdecimal() else column


def _attribute(words: Words, found: ColumnDefinition) -> ColumnDefinition | None:
    """With one more attribute, None if there is none here."""
    for skip in (_nullability, _charset, _value, _key, _words_of_it, _expression, _check):
        more = skip(words, found)
        if more is not None:
            return more
    return found if _quiet(words) else None


def _nullability(words: Words, found: ColumnDefinition) -> ColumnDefinition | None:
    if words.skip("NOT", "NULL"):
        return replace(found, column=replace(found.column, nullable=False))
    return replace(found, column=replace(found.column, nullable=True)) if words.skip("NULL") else None


def _charset(words: Words, found: ColumnDefinition) -> ColumnDefinition | None:
    """COLLATE determines the charset, too: most collations begin with its name."""
    if words.skip("CHARACTER", "SET") or words.skip("CHARSET") or words.skip("CHAR", "SET"):
        words.skip("=")
        return replace(found, column=replace(found.column, charset=charset_name(words)))
    if words.skip("COLLATE"):
        words.skip("=")
        return replace(found, column=_collated(found.column, words.name().lower(), mariadb=words.modes.mariadb))
    if words.skip("ASCII"):
        return replace(found, column=replace(found.column, charset="latin1"))
    if words.skip("UNICODE"):
        return replace(found, column=replace(found.column, charset="ucs2"))
    if words.skip("BYTE"):
        return replace(found, column=replace(found.column, charset="binary"))
    return found if words.skip("BINARY") else None


def _collated(column: SourceColumn, collation: str, *, mariadb: bool) -> SourceColumn:
    """MariaDB makes texts of bytes that have another one than binary."""
    column = replace(column, charset=charset_of(collation) or column.charset)
    return of_text(column) if mariadb and collation != "binary" else column


def _value(words: Words, found: ColumnDefinition) -> ColumnDefinition | None:
    if words.skip("SERIAL", "DEFAULT", "VALUE"):
        column = replace(found.column, nullable=False)
        return replace(found, column=column, numbered=True, unique=True)
    if words.skip("DEFAULT"):
        return replace(found, default=default(words))
    if words.skip("ON", "UPDATE"):
        words.take()
        words.skip_brackets()
        return replace(found, updated=True)
    return replace(found, numbered=True) if words.skip("AUTO_INCREMENT") else None


def _key(words: Words, found: ColumnDefinition) -> ColumnDefinition | None:
    if words.skip("PRIMARY", "KEY") or words.skip("PRIMARY") or words.skip("KEY"):
        return replace(found, primary=True, column=replace(found.column, nullable=False))
    if words.skip("UNIQUE"):
        words.skip("KEY")
        return replace(found, unique=True)
    if words.skip("REFERENCES"):
        return replace(found, cascades=references(words) and words.modes.keys_beside)
    return None


def _words_of_it(words: Words, found: ColumnDefinition) -> ColumnDefinition | None:
    if words.skip("COMMENT"):
        return replace(found, comment=words.string())
    if words.skip("WITH", "SYSTEM", "VERSIONING"):
        return replace(found, versioned=True)
    return replace(found, invisible=True) if words.skip("INVISIBLE") else None


def _expression(words: Words, found: ColumnDefinition) -> ColumnDefinition | None:
    if not (words.skip("GENERATED", "ALWAYS", "AS") or words.skip("AS")):
        return None
    if words.sees("("):
        return replace(found, expression=words.brackets())
    words.expect("ROW")  # of a table with system versions
    return replace(found, expression=f"ROW {words.take().word}")


def _quiet(words: Words) -> bool:
    if words.skip_phrase(_ALONE):
        return True
    if words.skip_phrase(_WITH_VALUE):
        words.skip("=")
        words.take()
        return True
    if words.skip("COMPRESSED"):
        if words.skip("="):
            words.take()
        return True
    return _of_an_engine(words)


def _check(words: Words, found: ColumnDefinition) -> ColumnDefinition | None:
    if words.skip("CONSTRAINT"):
        if not words.sees("CHECK"):
            words.name()
        words.expect("CHECK")
    elif not words.skip("CHECK"):
        return None
    words.brackets()
    return replace(found, checked=True)


def _of_an_engine(words: Words) -> bool:
    """MariaDB's engines have attributes of their own: name = value."""
    if not words.modes.mariadb or words.token.kind not in {WORD, NAME} or words.ahead(1).word != "=":
        return False
    words.take()
    words.take()
    words.take()
    return True


def default(words: Words) -> Default:
    """What follows DEFAULT."""
    first = words.token
    tokens = [words.take_value(), *until(words, _begins_attribute)]
    found = constant(tokens, words.modes)
    return Default(kind=DefaultKind.EXPRESSION, text=words.text_from(first)) if found is None else found


def _begins_attribute(token: Token) -> bool:
    return token.word in _ATTRIBUTES
