import pytest

from syncmgr.console.mask import mask


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
    ],
)
def test_secrets_are_masked(sql: str, shown: str) -> None:
    """Every literal that is a password is replaced, however it is written, and nothing else."""
    assert mask(sql) == shown


def test_masking_is_fast() -> None:
    """A text made to confuse the pattern takes no time to speak of."""
    assert mask("password" * 500 + " " * 4000) != ""
    assert mask("identified " * 400).startswith("identified")
    assert mask('"password" = "' + "\\" * 4000).endswith("'********'")
