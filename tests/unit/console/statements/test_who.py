import time

import pytest

from syncmgr.console.statements.who import with_asker


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("SELECT current_user(), USER() FROM t", "SELECT 'a@%', 'a@::1' FROM t"),
        ("SELECT CURRENT_USER, session_user ( ) FROM t", "SELECT 'a@%', 'a@::1' FROM t"),
        ("SELECT * FROM t WHERE owner = current_user", "SELECT * FROM t WHERE owner = 'a@%'"),
        ("SELECT t.user, `current_user`, 'current_user()' FROM t", None),
        ("SELECT user FROM t", None),
        ("SELECT t.current_user, x AS current_user FROM t", None),
        ("SELECT user(1) FROM t", None),
        ("SELECT 'unclosed, current_user() FROM t", None),
    ],
)
def test_the_asker_stands_in_the_text(text: str, meant: str | None) -> None:
    """The functions alone, not columns, names or texts that are called so."""
    assert with_asker(text, account="a@%", client="a@::1") == (meant or text)


def test_a_name_cannot_leave_its_quotes() -> None:
    """Whatever an account is called, it stays a text."""
    assert with_asker("SELECT user() FROM t", account="", client="o'r\\x@h") == "SELECT 'o\\'r\\\\x@h' FROM t"


def test_many_askers_take_time_by_their_number() -> None:
    """Each is replaced in a text of its own length, and the text is copied once."""
    begun = time.process_time()
    text = with_asker("SELECT " + "user()," * 30_000 + "1 FROM t", account="a@%", client="a@" + "h" * 60)
    assert (text.count("h" * 60), time.process_time() - begun < 2) == (30_000, True)
