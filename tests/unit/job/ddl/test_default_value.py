import json
from dataclasses import replace

import pytest

from mysqlddl.nodes import AddColumn, AlterTable
from mysqlddl.reading import Modes, read
from syncmgr.job.ddl.default_value import Moment, UnknowableError, initial
from syncmgr.job.ddl.session_zone import SessionZone

STRICT = Modes(strict=True)
MOMENT = Moment(at=1_700_000_000, micros=123456, zone=SessionZone(name="Europe/Berlin"))


def value(definition: str, moment: Moment | None = MOMENT, modes: Modes = STRICT) -> object:
    """What rows from before show, as Iceberg's JSON has it."""
    statement = read(f"ALTER TABLE t ADD c {definition}", "shop", modes)
    assert isinstance(statement, AlterTable)
    [clause] = statement.clauses
    assert isinstance(clause, AddColumn)
    found = initial(clause.definition, moment)
    return None if found is None else json.loads(found)


@pytest.mark.parametrize(
    ("definition", "shown"),
    [
        ("DOUBLE(10,2) DEFAULT 1.239", 1.24),
        ("DOUBLE(10,2) DEFAULT 0.125", 0.12),
        ("DOUBLE(10,2) DEFAULT -1.005", -1.0),
        ("FLOAT(10,1) DEFAULT 0.25", 0.20000000298023224),
        ("DATETIME DEFAULT CURRENT_TIMESTAMP", "2023-11-14T23:13:20.000000"),
        ("DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3)", "2023-11-14T23:13:20.123000"),
        ("DATETIME(6) DEFAULT NOW()", "2023-11-14T23:13:20.123456"),
        ("DATETIME(6) DEFAULT NOW(3)", "2023-11-14T23:13:20.123000"),
        ("DATETIME(6) DEFAULT (NOW())", "2023-11-14T23:13:20.000000"),
        ("TIMESTAMP DEFAULT '2024-07-01 12:00'", "2024-07-01T10:00:00.000000+00:00"),
        ("DATETIME DEFAULT '2024-1-2'", "2024-01-02T00:00:00.000000"),
        ("DATETIME(2) DEFAULT ('2024-01-02 3:4:5.5')", "2024-01-02T03:04:05.500000"),
        ("DATE DEFAULT '2024-1-2'", "2024-01-02"),
        ("TIME DEFAULT '1:02:03'", "01:02:03"),
        ("TIME DEFAULT '11:12'", "11:12:00"),
        ("TIME DEFAULT '-0:00:00'", "00:00:00"),
        ("TIME(1) DEFAULT '-838:59:58.5'", "-838:59:58.5"),
        ("YEAR DEFAULT 24", 2024),
        ("YEAR DEFAULT '70'", 1970),
        ("YEAR DEFAULT 0", 0),
        ("YEAR DEFAULT '0'", 2000),
        ("YEAR DEFAULT '0000'", 0),
        ("JSON DEFAULT ('{ }')", "{}"),
        ("UUID DEFAULT 'ABCDEF00ABCDEF00ABCDEF00ABCDEF00'", "abcdef00-abcd-ef00-abcd-ef00abcdef00"),
        ("INET6 DEFAULT '2001:DB8::0'", "2001:db8::"),
        ("INET6 DEFAULT '1:2:3:0:5:6:7:8'", "1:2:3::5:6:7:8"),
        ("INET6 DEFAULT '::ffff:0102:0304'", "::ffff:1.2.3.4"),
        ("INET4 DEFAULT '10.0.0.1'", "10.0.0.1"),
        ("JSON DEFAULT (JSON_ARRAY())", "[]"),
        ("""JSON DEFAULT ('{"bb":[1,null],"a":"x"}')""", '{"a": "x", "bb": [1, null]}'),
        ("VARCHAR(9) DEFAULT ('a' 'b')", "ab"),
        ("VARCHAR(9) DEFAULT _latin1'abc'", "abc"),
        ("INT DEFAULT ((7))", 7),
        ("INT DEFAULT (1 - 2 * 3 + 60 * 60)", 3595),
        ("INT DEFAULT (NULL)", None),
    ],
)
def test_a_default_that_is_the_same_in_all_rows(definition: str, shown: object) -> None:
    """As the server has it; the same texts are tried on real ones by test_mysql_ddl_values."""
    assert value(definition) == shown


@pytest.mark.parametrize(
    "definition",
    [
        "DOUBLE(4,2) DEFAULT 123.4",
        "DATETIME DEFAULT '2024-02-30'",
        "DATETIME DEFAULT '2024-01-02 03:04:05.5'",
        "DATETIME(3) DEFAULT (NOW(6))",
        "DATE DEFAULT '0000-00-00'",
        "TIME DEFAULT '839:00:00'",
        "TIMESTAMP DEFAULT '2039-01-01'",
        "TIMESTAMP DEFAULT '2024-10-27 02:30:00'",
        "YEAR DEFAULT 1900",
        "YEAR DEFAULT 24.5",
        "JSON DEFAULT ('[1.50]')",
        "JSON DEFAULT ('[')",
        "VARCHAR(9) DEFAULT _latin1'é'",
        "VARCHAR(9) CHARACTER SET latin1 DEFAULT X'e9'",
        "VARCHAR(9) DEFAULT (CONCAT('a', 'b'))",
        "INT DEFAULT (7 / 2)",
        "INT DEFAULT (1 + x)",
        "INT DEFAULT (9223372036854775807 + 1)",
        "DATE DEFAULT (CURRENT_DATE)",
    ],
)
def test_what_is_not_certain_is_not_guessed(definition: str) -> None:
    """The operator is told, and may have NULL there."""
    with pytest.raises(UnknowableError):
        value(definition)


@pytest.mark.parametrize("definition", ["DATETIME DEFAULT NOW()", "TIMESTAMP DEFAULT '2024-07-01 12:00:00'"])
def test_a_zone_that_nobody_knows_is_not_guessed(definition: str) -> None:
    """Neither where the server calls it by an abbreviation, nor where rows were copied in another session."""
    unknown = replace(MOMENT, zone=SessionZone(name="SYSTEM", system="CET"))
    with pytest.raises(UnknowableError, match="the server calls 'CET'"):
        value(definition, unknown)
    with pytest.raises(UnknowableError):
        value(definition, None)


@pytest.mark.parametrize(
    ("definition", "shown"),
    [
        ("VARCHAR(9) DEFAULT ''", None),
        ("TEXT DEFAULT ('')", None),
        ("VARBINARY(9) DEFAULT N''", None),
        ("ENUM('','x') DEFAULT '' ''", None),
        ("VARCHAR(9) DEFAULT '' 'a'", "a"),
        ("VARCHAR(9) DEFAULT x''", ""),
        ("CHAR(3) NOT NULL", ""),
        ("ENUM('','x') NOT NULL", ""),
    ],
)
def test_an_empty_text_may_be_null(definition: str, shown: object) -> None:
    """EMPTY_STRING_IS_NULL reads literals so, and neither hex nor what a column has without a default."""
    assert value(definition, modes=Modes(mariadb=True, empty_nulls=True)) == shown


@pytest.mark.parametrize(
    ("definition", "client", "connection", "shown"),
    [
        ("VARBINARY(9) DEFAULT 'a'", "utf8mb4", "utf8mb4", "61"),
        ("VARBINARY(9) DEFAULT 'a'", "utf8mb4", "latin1", "61"),
        ("VARBINARY(9) DEFAULT 'a'", "utf8mb4", "binary", "61"),
        ("VARBINARY(9) DEFAULT _latin1'a'", "utf8mb4", "utf16", "61"),
        ("VARBINARY(9) DEFAULT 'a' 'b'", "utf8mb4", "latin1", "6162"),
        ("VARBINARY(9) DEFAULT 'a' '@'", "latin1", "latin1", "6140"),
        ("VARCHAR(9) CHARACTER SET utf16 DEFAULT 'a'", "utf8mb4", "utf16", "a"),
        ("VARCHAR(9) CHARACTER SET latin1 DEFAULT 'a'", "binary", "binary", "a"),
        ("VARCHAR(9) CHARACTER SET utf8mb3 DEFAULT '\u00e9'", "binary", "binary", "\u00e9"),
        ("VARCHAR(9) DEFAULT '\u00e9'", "utf8mb4", "utf16", "\u00e9"),
        ("VARCHAR(9) DEFAULT '\u00e9'", "utf8mb4", "ucs2", "\u00e9"),
        ("VARCHAR(9) DEFAULT _utf8mb4'\u00e9'", "utf8mb4", "latin1", "\u00e9"),
        ("VARCHAR(9) DEFAULT 'a'", "swe7", "swe7", "a"),
    ],
)
def test_a_text_is_that_of_its_session(definition: str, client: str, connection: str, shown: object) -> None:
    """In a column of text whatever the connection's charset is, and as bytes where that has those of ASCII."""
    assert value(definition, modes=Modes(client=client, connection=connection)) == shown


@pytest.mark.parametrize(
    ("definition", "client", "connection"),
    [
        ("VARBINARY(9) DEFAULT 'a'", "utf8mb4", "utf16"),
        ("BLOB DEFAULT ('a')", "utf8mb4", "ucs2"),
        ("BIT(40) DEFAULT 'a'", "utf8mb4", "utf32"),
        ("BIT(40) DEFAULT '\u00e9'", "utf8mb4", "utf8mb4"),
        ("VARCHAR(9) DEFAULT 'a' 'b'", "utf8mb4", "utf16"),
        ("VARCHAR(9) DEFAULT 'a' '\u00e9'", "latin1", "utf8mb4"),
        ("VARBINARY(9) DEFAULT 'a' '@'", "utf8mb4", "latin1"),
        ("VARCHAR(9) DEFAULT '\u00e9'", "utf8mb4", "latin1"),
        ("VARCHAR(9) DEFAULT '\U0001f600'", "utf8mb4", "ucs2"),
        ("VARCHAR(9) DEFAULT '['", "utf8mb4", "swe7"),
        ("VARCHAR(9) DEFAULT '['", "swe7", "swe7"),
        ("VARCHAR(9) DEFAULT '\u00e9'", "binary", "latin1"),
        ("VARCHAR(9) CHARACTER SET latin1 DEFAULT '\u00e9'", "utf8mb4", "binary"),
        ("VARCHAR(9) CHARACTER SET ucs2 DEFAULT 'ab'", "utf8mb4", "binary"),
        ("VARCHAR(9) CHARACTER SET ucs2 DEFAULT _binary'ab'", "utf8mb4", "utf8mb4"),
        ("VARCHAR(9) DEFAULT _utf8mb4'\u00e9'", "latin1", "utf8mb4"),
    ],
)
def test_a_text_that_its_session_changes_is_not_guessed(definition: str, client: str, connection: str) -> None:
    """Nor bytes of a text whose characters have other bytes there."""
    with pytest.raises(UnknowableError):
        value(definition, modes=Modes(client=client, connection=connection))


@pytest.mark.parametrize("charset", ["utf16", "utf16le", "ucs2", "utf32", "swe7", ""])
def test_bytes_are_texts_only_in_charsets_like_ascii(charset: str) -> None:
    """Others are not read; nor those of a charset that no statement names."""
    named = f"CHARACTER SET {charset}" * bool(charset)
    for bits in ("0x0041", "x'4e2d'", "b'01000001'"):
        with pytest.raises(UnknowableError, match="given as bytes"):
            value(f"VARCHAR(9) {named} DEFAULT {bits}")


def test_maxdb_makes_a_datetime_of_a_timestamp() -> None:
    """Also where a TIMESTAMP would be NOT NULL, or depend on the session's zone."""
    modes = Modes(mariadb=True, maxdb=True, dates_nulls=True)
    assert value("TIMESTAMP", modes=modes) is None
    assert value("TIMESTAMP(1) DEFAULT '2024-07-01 12:00'", modes=modes) == "2024-07-01T12:00:00.000000"
    with pytest.raises(UnknowableError, match="NOT NULL"):
        value("TIMESTAMP NOT NULL", modes=modes)
