"""Which drivers open the database of meta_url."""

import re

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.meta.database.engine import engine_of


@pytest.mark.parametrize("kind", ["mysql", "mariadb", "mysql+pymysql"])
def test_mysql_is_opened_by_the_driver_that_is_there(kind: str) -> None:
    """Whoever names none gets the one that the jobs read by; nothing is connected yet."""
    assert engine_of(f"{kind}://u:p@127.0.0.1/db", 3.0).driver == "pymysql"


@pytest.mark.parametrize("kind", ["mysql+mysqldb", "nosql"])
def test_a_driver_that_is_missing_is_told_with_one_that_is_not(kind: str) -> None:
    """What to write, and what to install; no module of Python, no password."""
    with pytest.raises(SyncError, match=rf"{re.escape(kind)}://, for which no driver.*mysql\+pymysql://") as raised:
        engine_of(f"{kind}://u:hunter2@127.0.0.1/db")
    assert raised.value.code is Code.META_FAILED
    assert "hunter2" not in str(raised.value)


def test_the_rest_of_a_password_is_no_part_of_a_message() -> None:
    """What follows its @ and : is taken for the port; the message says how such a password is written."""
    with pytest.raises(SyncError, match="%40 for @") as caught:
        engine_of("mysql+pymysql://root:p@ss:geheim@db1/meta")
    assert caught.value.code is Code.META_FAILED
    assert "geheim" not in str(caught.value)
    assert caught.value.__suppress_context__
