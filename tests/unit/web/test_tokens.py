import base64
import json

import pytest

from syncmgr.accounts.user import Account
from syncmgr.web.tokens import LONGEST_SECOND, Session, Tokens

ADA = Account(name="ada", host="10.%")
LIFE = 100.0


class Kept(dict[Account, str]):
    """What passwords are checked against."""


@pytest.fixture
def kept() -> Kept:
    return Kept({ADA: "sealed"})


@pytest.fixture
def tokens(kept: Kept) -> Tokens:
    return Tokens(b"secret", kept.get, LIFE)


def begun(tokens: Tokens) -> tuple[Session, str]:
    session = tokens.begin(ADA, "ada", 1000.0)
    text = tokens.text(session)
    assert text is not None
    return session, text


def test_a_token_outlives_a_restart(tokens: Tokens, kept: Kept) -> None:
    """Whoever has the secret reads it; nobody else does."""
    session, text = begun(tokens)
    assert Tokens(b"secret", kept.get, LIFE).read(text, 1001.0) == session
    assert Tokens(b"other", kept.get, LIFE).read(text, 1001.0) is None


def test_it_ends_with_its_time(tokens: Tokens) -> None:
    """A used one is replaced, up to a week after the login."""
    session, text = begun(tokens)
    assert tokens.read(text, 1000.0 + LIFE) == session
    assert tokens.read(text, 1001.0 + LIFE) is None
    assert tokens.read(text, 900.0) is None
    assert not tokens.is_old(session, 1005.0)
    assert tokens.is_old(session, 1011.0)
    late = Session(account=ADA, user="ada", begun=1000.0, made=1000.0 + LONGEST_SECOND, key=session.key)
    renewed = tokens.text(late)
    assert renewed is not None
    assert tokens.read(renewed, late.made) == late
    assert tokens.read(renewed, late.made + 1) is None


def test_a_new_password_and_drop_user_end_it(tokens: Tokens, kept: Kept) -> None:
    """And so does a later account of the same name."""
    session, text = begun(tokens)
    kept[ADA] = "sealed anew"
    assert tokens.read(text, 1001.0) is None
    del kept[ADA]
    assert tokens.read(text, 1001.0) is None
    assert tokens.text(session) is None


def test_a_logout_ends_all_tokens_of_the_login(tokens: Tokens) -> None:
    """Those that replaced it, too; other logins of the account go on."""
    session, text = begun(tokens)
    other = begun(tokens)[1]
    tokens.end(session, 1001.0)
    assert tokens.read(text, 1002.0) is None
    assert tokens.has_ended(session)
    assert tokens.read(other, 1002.0) is not None


@pytest.mark.parametrize("part", ["name", "host", "user", "made", "nothing"])
def test_nobody_else_makes_one(tokens: Tokens, kept: Kept, part: str) -> None:
    """Whatever is changed in it, and whatever else is sent."""
    kept[Account(name="root")] = "of root"
    text = begun(tokens)[1]
    body, _, signed = text.partition(".")
    facts = json.loads(base64.urlsafe_b64decode(body + "=="))
    facts = {
        "name": ["root", *facts[1:]],
        "host": [facts[0], "%", *facts[2:]],
        "user": [*facts[:2], "root", *facts[3:]],
        "made": [*facts[:4], 1050.0, *facts[5:]],
        "nothing": 7,
    }[part]
    changed = base64.urlsafe_b64encode(json.dumps(facts).encode()).decode().rstrip("=")
    assert tokens.read(f"{changed}.{signed}", 1051.0) is None
    for other in ("", ".", body, f"{body}.", f"{body}.ä", "ä.x", f"{body}.{signed}x", "W10." + signed):
        assert tokens.read(other, 1001.0) is None, other


def test_the_token_of_requests_is_of_the_login(tokens: Tokens) -> None:
    """The same after a restart, another one for each login, and not the cookie."""
    session, text = begun(tokens)
    mine = tokens.of_requests(session)
    assert mine == tokens.of_requests(session)
    assert mine != tokens.of_requests(begun(tokens)[0])
    assert mine not in text
