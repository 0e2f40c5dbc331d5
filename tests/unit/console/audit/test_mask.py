from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.console.audit.mask import STARS, mask


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
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
        ("SELECT `password`, 'b' FROM t", "SELECT `password`, 'b' FROM t"),
        ("SELECT 'password', 'b'", "SELECT 'password', 'b'"),
    ],
)
def test_secrets_are_masked(sql: str, shown: str) -> None:
    """Every literal that is a password is replaced, however it is written, and nothing else."""
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


def test_masking_is_fast() -> None:
    """A text made to confuse the pattern takes no time to speak of."""
    assert mask("password" * 500 + " " * 4000) != ""
    assert mask("identified " * 400).startswith("identified")
    assert mask('"password" = "' + "\\" * 4000).endswith("'********'")
