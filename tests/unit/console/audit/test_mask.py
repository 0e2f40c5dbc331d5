from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.console.audit.mask import STARS, mask
from syncsql import SqlSyntaxError, parse
from tests.support.typed_secrets import HEX, SECRET, TYPED

SHOWN: Final = [
    ("SELECT 1", "SELECT 1"),
    ('("mysql.password" = "geheim")', "(\"mysql.password\" = '********')"),
    ("('mysql.password'='ge''heim', 'x' = 'y')", "('mysql.password'='********', 'x' = 'y')"),
    ('(mysql.password = "ge\\"heim")', "(mysql.password = '********')"),
    ('("Mysql.PASSWORD" /* " */ = -- x\n "geheim")', '("Mysql.PASSWORD" /* " */ = -- x\n \'********\')'),
    ('("mysql.password" = "geh', "(\"mysql.password\" = '********'"),
    ("('a.password' = 'one', 'b.password' = 'two')", "('a.password' = '********', 'b.password' = '********')"),
    ("CREATE USER x IDENTIFIED BY 'geheim'", "CREATE USER x IDENTIFIED BY '********'"),
    ("CREATE USER x IDENTIFIED WITH p BY 'geheim'", "CREATE USER x IDENTIFIED WITH p BY '********'"),
    ("SET PASSWORD FOR root = 'geheim'; SELECT 'x'", "SET PASSWORD FOR root = '********'; SELECT 'x'"),
    ("SELECT password FROM t WHERE a = 'b'", "SELECT password FROM t WHERE a = 'b'"),
    ('("canal.password" = 123456)', "(\"canal.password\" = '********')"),
    ("(canal.password = hunter2, type = canal)", "(canal.password = '********', type = canal)"),
    ("(`canal`.`password`=-12.5e3,`x`=1)", "(`canal`.`password`='********',`x`=1)"),
    ("(canal.password = - /* a */ 12 /* b */)", "(canal.password = '********' /* b */)"),
    ("(canal.password = `hunter2`)", "(canal.password = '********')"),
    ("(canal.password = p@ss#w/*o*/rd, x = 'y')", "(canal.password = '********'"),
    ("(canal.password == hunter2)", "(canal.password ='********')"),
    ("(canal.password = hunt", "(canal.password = '********'"),
    ("(canal.password = , x = y)", "(canal.password = , x = y)"),
    ("SET PASSWORD FOR root = hunter2; SELECT x", "SET PASSWORD FOR root = '********'; SELECT x"),
    ("CREATE USER x IDENTIFIED BY hunter2", "CREATE USER x IDENTIFIED BY '********'"),
    ('("mysql.password" "geheim", "x" = "y")', '("mysql.password" \'********\', "x" = "y")'),
    ('(mysql.password "geheim")', "(mysql.password '********')"),
    ('("mysql.password": "geheim")', "(\"mysql.password\": '********')"),
    ('("mysql.password = "geheim", "x" = "y")', "(\"mysql.password = \"'********'"),
    ('(mysql.password" = "geheim", "x" = "y")', "(mysql.password\" = \"'********'"),
    ("/*!40101 SET PASSWORD = 'geheim' */", "/*!40101 SET PASSWORD = '********' */"),
    ("SET /*! PASSWORD */ = 'geheim'", "SET /*! PASSWORD */ = '********'"),
    ("CREATE USER x /*!80000 IDENTIFIED */ BY 'geheim'", "CREATE USER x /*!80000 IDENTIFIED */ BY '********'"),
    ("CREATE USER x IDENTIFIED BY /*! 'geheim' */", "CREATE USER x IDENTIFIED BY /*! '********' */"),
    ("CREATE USER x IDENTIFIED /*! BY 'gehe", "CREATE USER x IDENTIFIED /*! BY '********'"),
    ("/*!90000 it's */ SET PASSWORD = 'geheim'", "/*!90000 it's */ SET PASSWORD = '********'"),
    ("/* it's */ SET PASSWORD = 'geheim'", "/* it's */ SET PASSWORD = '********'"),
    ("SELECT 1 /* the password is geheim */", "SELECT 1 /* ******** */"),
    ("SELECT 1 # password: geheim\n, 2", "SELECT 1 -- ********\n, 2"),
    ("SELECT 1 -- password: geheim", "SELECT 1 -- ********"),
    ("SELECT 1 /* password geheim", "SELECT 1 /* ******** */"),
    ("SET PASSWORD = /* geheim */ 'x'", "SET PASSWORD = /* ******** */ '********'"),
    ('("mysql.pass\\word" = "geheim")', "(\"mysql.pass\\word\" = '********')"),
    ('("mysql.pasword" = "geheim")', "(\"mysql.pasword\" = '********')"),
    ('("mysql.passwrod" = "geheim")', "(\"mysql.passwrod\" = '********')"),
    ('("mysql.passwort" = "geheim")', "(\"mysql.passwort\" = '********')"),
    ('("mysql.pass" = "geheim", "x" = "y")', '("mysql.pass" = \'********\', "x" = "y")'),
    ('("mysql.pwd" = "geheim")', "(\"mysql.pwd\" = '********')"),
    ('("mysql.password" => "geheim")', "(\"mysql.password\" ='********')"),
    ('("mysql.password" = ("geheim"), "x" = "y")', '("mysql.password" = (\'********\'), "x" = "y")'),
    ('("mysql.password" = concat("ge", "heim"))', "(\"mysql.password\" = '********'('********', '********'))"),
    ('("mysql.password" = "ge" "heim")', "(\"mysql.password\" = '********' '********')"),
    ('("mysql.password" = _utf8mb4 "geheim")', "(\"mysql.password\" = '********')"),
    ("CREATE USER x IDENTIFED BY 'geheim'", "CREATE USER x IDENTIFED BY '********'"),
    ("CREATE USER x BY 'geheim'", "CREATE USER x BY '********'"),
    ("CREATE USER x BY geheim", "CREATE USER x BY '********'"),
    ("CREATE USER 'x'@'h' 'geheim'", "CREATE USER 'x'@'h' '********'"),
    ("ALTER USER IF EXISTS 'x'@'%' 'geheim'; SELECT 'x'", "ALTER USER IF EXISTS 'x'@'%' '********'; SELECT 'x'"),
    ("SET PASWORD FOR 'x'@'h' = 'geheim'", "SET PASWORD FOR '********'@'********' = '********'"),
    ("PREPARE s FROM 'SET PASSWORD = ''geheim'''", "PREPARE s FROM '********'"),
    ("EXECUTE IMMEDIATE \"SET PASSWORD = 'geheim'\"", "EXECUTE IMMEDIATE '********'"),
    ("SELECT '{\"password\": \"geheim\"}', 'b'", "SELECT '********', 'b'"),
    ("DROP USER 'x'@'h'", "DROP USER 'x'@'h'"),
    ("SELECT user(), 'b'", "SELECT user(), 'b'"),
    ("SELECT a FROM t WHERE password >= 5 AND b = 'c'", "SELECT a FROM t WHERE password >= 5 AND b = 'c'"),
    ("SELECT `password`, 'b' FROM t", "SELECT `password`, 'b' FROM t"),
    ("SELECT 'password', 'b'", "SELECT 'password', 'b'"),
]


@pytest.mark.parametrize(("sql", "shown"), SHOWN)
def test_secrets_are_masked(sql: str, shown: str) -> None:
    """Every literal that is a password is replaced, however it is written, also in a statement that fails since it is
    mistyped; and nothing else, except comments that seem to have one.
    """
    assert mask(sql) == shown


KEY: Final = st.sampled_from(['"mysql.password"', "'canal.password'", "canal.password", "`canal`.`password`"])
GAP: Final = st.sampled_from(["", " ", "\n", " /* it's */ ", ' -- "\n'])
BARE: Final = st.one_of(
    st.from_regex(r"geheim\w{0,9}", fullmatch=True),
    st.decimals(min_value=100000, allow_nan=False, allow_infinity=False, places=3).map(lambda it: f"{it:f}"),
    st.integers(min_value=100000).map(str),
)
VALUE: Final = st.one_of(BARE, BARE.map(lambda it: f'"{it}"'), BARE.map(lambda it: f"'{it}'"))


@given(KEY, GAP, GAP, st.sampled_from(["", "-", "- "]), VALUE, GAP)
def test_no_property_shows_its_secret(key: str, one: str, two: str, sign: str, value: str, end: str) -> None:
    """However the grammar lets it be written: with quotes, as a word or as a number; the rest stays as it is."""
    head, rest = f'CREATE SYNC j (FROM a.b INTO c) FROM BINLOG ("type" = mysql, {key}{one}={two}', ', x = "y", z = 5)'
    shown = mask(f"{head}{sign}{value}{end}{rest}")
    assert value.strip("\"'") not in shown
    assert shown.startswith(f"{head}{STARS}")
    assert shown.endswith(rest)


MARKS: Final = st.sampled_from(["", " ", "\n", "/* it's */", "/*!99999 it's */", "/*! */", "#'\n", " -- '\n", "/*x*/"])
TEXT: Final = st.sampled_from(["'geheim'", '"geheim"', "'ge''geheim'", "'\\'geheim'", "'*/geheim'", "'/*geheim'"])
PIECES: Final = st.sampled_from(
    [
        ("SET", "PASSWORD", "=", ...),
        ("SET", "PASSWORD", "FOR", "x", "@", "'h'", "=", ...),
        ("CREATE", "USER", "x", "IDENTIFIED", "BY", ...),
        ("CREATE", "USER", "IF", "NOT", "EXISTS", "'x'", "IDENTIFIED", "WITH", "mysql_native_password", "BY", ...),
        ("ALTER", "USER", "`x`", "IDENTIFIED", "BY", ...),
        (
            *[
                "CREATE",
                "SYNC",
                "j",
                "(",
                "FROM",
                "a.b",
                "INTO",
                "c",
                ")",
                "FROM",
                "BINLOG",
                "(",
                '"mysql.password"',
                "=",
            ],
            ...,
            ")",
        ),
        ("CREATE SYNC j ( FROM a.b INTO c ) FROM BINLOG (", "snapshot", ".", "`password`", "=", ..., ", x = 'y' )"),
    ]
)


@given(PIECES, TEXT, st.data())
def test_what_is_parsed_shows_no_secret(pieces: tuple[Any, ...], text: str, data: st.DataObject) -> None:
    """Whatever statement the grammar accepts, with comments and conditional comments anywhere in it: if it has a
    password, nothing of it is shown.
    """
    sql, is_open = "", False
    for piece in pieces:
        sql += f" {data.draw(MARKS)} "
        mark = data.draw(st.sampled_from(["", "/*!", "/*!40101 ", "*/"]))
        if (mark == "*/") is is_open and mark:
            sql, is_open = f"{sql}{mark} ", not is_open
        sql += text if piece is ... else piece
    sql += " */" * is_open
    try:
        parsed = parse(sql)
    except SqlSyntaxError:
        return
    assert "geheim" not in mask(sql), parsed


def test_masking_is_fast() -> None:
    """A text made to confuse the pattern takes no time to speak of."""
    assert mask("password" * 500 + " " * 4000) != ""
    assert mask("identified " * 400).startswith("identified")
    assert mask("password" + "!" * 200_000 + "'x'").endswith("'********'")
    assert mask("://a:" * 100_000) != ""
    assert mask('"password" = "' + "\\" * 4000).endswith("'********'")


@pytest.mark.parametrize("typed", TYPED)
def test_no_secret_is_shown_however_it_is_typed(typed: str) -> None:
    """As people and tools write it, and as they mistype it; `tests/acceptance/test_typed_secrets.py` types them at a
    frontend.
    """
    shown = mask(typed.replace(SECRET, "geheim").replace(HEX, "67656865696d"))
    assert "geheim" not in shown
    assert "67656865696d" not in shown
