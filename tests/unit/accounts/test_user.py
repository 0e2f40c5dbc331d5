import pytest

from syncmgr.accounts.user import (
    ALL_RIGHTS,
    GLOBAL,
    NO_RIGHTS,
    Account,
    Privilege,
    Rights,
    Scope,
    database,
    job,
    refusal,
    table,
)

P = Privilege


def rights(grants: dict[Scope, set[Privilege]]) -> Rights:
    return Rights(grants={scope: frozenset(held) for scope, held in grants.items()})


@pytest.mark.parametrize("privilege", list(P))
@pytest.mark.parametrize("scope", [GLOBAL, database("demo"), table("demo", "orders"), job("demo", "job1")])
def test_an_admin_may_everything_and_nobody_nothing(privilege: Privilege, scope: Scope) -> None:
    """ADMIN_PRIV includes every other privilege on everything; an account without grants may and sees nothing."""
    assert ALL_RIGHTS.may(privilege, scope)
    assert ALL_RIGHTS.sees(scope)
    assert not NO_RIGHTS.may(privilege, scope)
    assert not NO_RIGHTS.sees(scope)


def test_a_grant_holds_for_what_is_in_it() -> None:
    """Of a database for its tables and jobs, of a table or job for itself alone, and for its one privilege alone."""
    held = rights({database("demo"): {P.SELECT}, table("shop", "orders"): {P.LOAD}, job("shop", "job1"): {P.LOAD}})
    assert held.may(P.SELECT, table("demo", "orders"))
    assert held.may(P.SELECT, job("demo", "job1"))
    assert not held.may(P.DROP, table("demo", "orders"))
    assert held.may(P.LOAD, table("shop", "orders"))
    assert not held.may(P.LOAD, table("shop", "other"))
    assert not held.may(P.LOAD, database("shop"))
    assert not held.may(P.SELECT, GLOBAL)
    assert held.may(P.LOAD, job("shop", "job1"))
    assert not held.may(P.LOAD, job("shop", "job2"))


def test_a_privilege_is_held_somewhere() -> None:
    """By an admin always, else by a grant of it on anything that is left."""
    assert ALL_RIGHTS.may_somewhere(P.SELECT)
    assert not NO_RIGHTS.may_somewhere(P.SELECT)
    held = rights({table("shop", "orders"): {P.LOAD}, database("demo"): set()})
    assert held.may_somewhere(P.LOAD)
    assert not held.may_somewhere(P.SELECT)


def test_what_is_seen() -> None:
    """A database by any privilege on it or in it; a table or job by one on it or on its database."""
    held = rights({table("shop", "orders"): {P.ALTER}, job("other", "job1"): {P.LOAD}})
    assert held.sees(database("shop"))
    assert held.sees(table("shop", "orders"))
    assert not held.sees(table("shop", "people"))
    assert held.sees(database("other"))
    assert not held.sees(table("other", "orders"))
    assert not held.sees(database("third"))


def test_node_is_about_the_frontend_alone() -> None:
    """NODE_PRIV opens no data."""
    held = rights({GLOBAL: {P.NODE}})
    assert held.is_operator
    assert not held.is_admin
    assert not held.sees(database("demo"))


@pytest.mark.parametrize(
    ("host", "address", "expected"),
    [
        ("%", "10.0.0.1", True),
        ("localhost", "127.0.0.1", True),
        ("localhost", "::1", True),
        ("localhost", "10.0.0.1", False),
        ("10.0.%", "10.0.3.4", True),
        ("10.0.%", "10.1.3.4", False),
        ("10.0.0._", "10.0.0.7", True),
        ("10.0.0._", "10.0.0.77", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10x0x0x1", False),
    ],
)
def test_an_account_admits_addresses(host: str, address: str, expected: bool) -> None:  # noqa: FBT001
    """A host is a pattern of MySQL's, or localhost."""
    assert Account(name="a", host=host).admits(address) == expected


def test_the_most_precise_account_is_meant() -> None:
    """No pattern before a pattern, a longer beginning before a shorter."""
    hosts = ["%", "10.%", "10.0.%", "10.0.0.1"]
    assert sorted(hosts, key=lambda host: Account(name="a", host=host).precision) == hosts


@pytest.mark.parametrize(
    ("privilege", "scope", "refused"),
    [
        (P.ADMIN, GLOBAL, False),
        (P.ADMIN, database("demo"), True),
        (P.NODE, table("demo", "orders"), True),
        (P.LOAD, job("demo", "job1"), False),
        (P.SELECT, job("demo", "job1"), True),
        (P.SELECT, table("demo", "orders"), False),
    ],
)
def test_what_cannot_be_granted(privilege: Privilege, scope: Scope, refused: bool) -> None:  # noqa: FBT001
    """ADMIN_PRIV and NODE_PRIV are global, a job knows LOAD_PRIV alone."""
    assert (refusal(privilege, scope) is not None) == refused
