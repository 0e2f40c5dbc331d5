from dataclasses import replace

import pytest

from mysqlddl.nodes import AlterTable, CreateTable
from mysqlddl.reading import read
from mysqlddl.words import Modes
from syncmgr.job.ddl.alteration import ImpossibleError, altered, renewed
from syncmgr.job.types.schema import SourceColumn, SourceTable

TABLE = SourceTable(
    db="shop",
    name="t",
    columns=(
        SourceColumn(name="id", type="int", nullable=False, key=1),
        SourceColumn(name="a", type="varchar", length=9, charset="latin1"),
        SourceColumn(name="b", type="text"),
        SourceColumn(name="c", type="enum", members=("x",)),
    ),
)


def through(charset: str | None, *texts: str) -> SourceTable:
    """What they make of a table whose texts have that charset where none is said."""
    table = replace(TABLE, charset=charset)
    for text in texts:
        statement = read(text, "shop")
        match statement:
            case AlterTable(clauses=clauses):
                table = altered(table, clauses).table
            case CreateTable():
                table = altered(replace(table, charset=statement.charset), renewed(table, statement)).table
    return table


def shown(table: SourceTable) -> list[str]:
    return [f"{column.name} {column.type} {column.charset}" for column in table.columns]


@pytest.mark.parametrize(
    ("clauses", "order"),
    [
        ("ADD d INT AFTER b, MODIFY b TEXT AFTER id", "id b a d c"),
        ("MODIFY a VARCHAR(9) AFTER b, ADD d INT AFTER a", "id b a d c"),
        ("ADD d INT AFTER a, MODIFY a VARCHAR(9) AFTER c, ADD e INT AFTER a", "id d b c a e"),
        ("MODIFY c ENUM('x') FIRST, MODIFY b TEXT FIRST", "b c id a"),
        ("CHANGE b z TEXT AFTER c, ADD d INT AFTER z", "id a c z d"),
    ],
)
def test_a_column_that_moves_stands_where_it_stood_until_then(clauses: str, order: str) -> None:
    """AFTER may name one that a later clause moves."""
    table = through("latin1", f"ALTER TABLE t {clauses}")
    assert " ".join(column.name for column in table.columns) == order


@pytest.mark.parametrize(
    ("clauses", "columns"),
    [
        ("MODIFY a BIGINT, ADD COLUMN IF NOT EXISTS a INT", "id a b c"),
        ("ADD COLUMN IF NOT EXISTS d INT, ADD COLUMN IF NOT EXISTS D TEXT", "id a b c d"),
        ("CHANGE a a2 INT, ADD COLUMN IF NOT EXISTS a INT", "id a2 b c"),
        ("CHANGE a a2 INT, ADD COLUMN IF NOT EXISTS a2 TEXT", "id a2 b c"),
        ("RENAME COLUMN a TO a2, ADD COLUMN IF NOT EXISTS a INT", "id a2 b c"),
        ("DROP a, ADD COLUMN IF NOT EXISTS a INT", "id b c"),
    ],
)
def test_if_not_exists_means_the_table_as_it_was(clauses: str, columns: str) -> None:
    """And what clauses before it define, as a MariaDB does it."""
    table = through("latin1", f"ALTER TABLE t {clauses}")
    assert " ".join(column.name for column in table.columns) == columns


def test_a_place_after_no_column_is_impossible() -> None:
    """Nor after one that is named otherwise behind the statement."""
    for clauses in ("ADD d INT AFTER z", "CHANGE b z TEXT AFTER c, ADD d INT AFTER b"):
        with pytest.raises(ImpossibleError, match="was not known"):
            through("latin1", f"ALTER TABLE t {clauses}")


def test_texts_of_a_table_of_bytes_are_bytes() -> None:
    """Where no charset is said of them; labels are texts all the same."""
    clauses = "ADD d CHAR(3), ADD e VARCHAR(20), ADD f MEDIUMTEXT, ADD g TEXT(100), ADD h ENUM('y'), ADD i TEXT ASCII"
    made = through(None, "CREATE TABLE t (id INT, a VARCHAR(9)) CHARSET=binary", f"ALTER TABLE t {clauses}")
    types = ["int", "varbinary", "binary", "varbinary", "mediumblob", "tinyblob", "enum", "text"]
    assert [column.type for column in made.columns] == types


@pytest.mark.parametrize(
    ("charset", "texts", "columns"),
    [
        ("utf8mb4", ["ADD d TEXT"], "b text utf8mb4, c enum utf8mb4, d text utf8mb4"),
        (None, ["ADD d TEXT"], "b text None, c enum None, d text None"),
        (
            "utf8mb4",
            ["ADD d TEXT, DEFAULT CHARSET latin1, MODIFY c ENUM('x')"],
            "b text utf8mb4, c enum latin1, d text latin1",
        ),
        (
            "utf8mb4",
            ["COLLATE latin1_bin", "ADD d TEXT", "CHARSET DEFAULT", "ADD e TEXT"],
            "b text utf8mb4, c enum utf8mb4, d text latin1, e text None",
        ),
        (None, ["CHARSET latin1", "ADD d TEXT"], "b text None, c enum None, d text None"),
    ],
)
def test_a_charset_that_is_not_said_is_that_of_the_table(charset: str | None, texts: list[str], columns: str) -> None:
    """Of its time: another one for the table is for columns to come, and is none where older ones would have it."""
    made = through(charset, *(f"ALTER TABLE t {text}" for text in texts))
    assert ", ".join(shown(made)[2:]) == columns


def test_a_table_that_is_created_anew_tells_its_charset() -> None:
    """By CHARSET or COLLATE; else it is the database's, which is not told."""
    for options, charset in (("CHARSET=utf8", "utf8mb3"), ("COLLATE latin1_bin", "latin1"), ("ENGINE=InnoDB", None)):
        made = through("ascii", f"CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9)) {options}")
        assert (made.charset, made.column("a")) == (charset, replace(TABLE.columns[1], charset=charset))


@pytest.mark.parametrize(
    ("clause", "mysql", "mariadb"),
    [
        ("MODIFY b TEXT NOT NULL", "mediumtext", "text"),
        ("MODIFY b TINYTEXT", "mediumtext", "tinytext"),
        ("MODIFY b TEXT(300)", "text", "text"),
        ("CHANGE b d TEXT CHARACTER SET latin1", "mediumtext", "text"),
        ("ADD d TEXT", "text", "text"),
        ("ADD d TEXT(30000)", "mediumtext", "mediumtext"),
        ("RENAME COLUMN b TO d", "mediumtext", "mediumtext"),
    ],
)
def test_a_text_that_is_defined_while_its_table_is_converted(clause: str, mysql: str, mariadb: str) -> None:
    """MySQL keeps the room that it had, unless it has a length; MariaDB takes what is said; so do both of a new one."""
    table = replace(TABLE, charset="latin1")
    for modes, kind in ((Modes(), mysql), (Modes(mariadb=True), mariadb)):
        statement = read(f"ALTER TABLE t {clause}, CONVERT TO CHARACTER SET utf8mb4", "shop", modes)
        assert isinstance(statement, AlterTable)
        made = altered(table, statement.clauses).table
        column = made.column("d") or made.column("b")
        assert column is not None
        assert (column.type, column.charset) == (kind, "utf8mb4")


def test_columns_are_told_apart_as_the_server_does() -> None:
    """`ß` and `ss` are two columns for MySQL, and so are the two small sigmas; a dotted I is an i."""
    names = ("straße", "strasse", "ς", "\u03c3", "ist")
    table = SourceTable(db="d", name="t", columns=tuple(SourceColumn(name=name, type="int") for name in names))
    assert [found.name for name in names if (found := table.column(name))] == list(names)
    parsed = read("ALTER TABLE t DROP strasse, DROP Σ, CHANGE `İst` x INT, MODIFY `STRAßE` BIGINT", "d")
    assert isinstance(parsed, AlterTable)
    left = altered(table, parsed.clauses).table
    assert [(column.name, column.type) for column in left.columns] == [("STRAßE", "bigint"), ("ς", "int"), ("x", "int")]
