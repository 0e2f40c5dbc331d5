from hypothesis import given
from hypothesis import strategies as st

from syncmgr.console.login import throttle as rules
from syncmgr.console.login.throttle import Throttle, network

ROOT, HERE, THERE = "root", "192.0.2.1", "192.0.2.2"


def new(most_failures: int = 20) -> Throttle:
    return Throttle(most_failures=most_failures, refuse_second=60)


def fail(throttle: Throttle, name: str, host: str, times: int, *, now: float = 0.0) -> None:
    for _ in range(times):
        throttle.failed(name, host, now=now)


def test_verdicts_are_slowed() -> None:
    """Three failures are free, then the delay of the next verdict doubles up to five seconds, and is forgotten."""
    throttle = new()
    delays = []
    for _ in range(12):
        throttle.failed(ROOT, HERE, now=0)
        delays.append(throttle.delay(ROOT, HERE, now=0))
    assert delays == [0, 0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5, 5]
    assert throttle.delay(ROOT, THERE, now=0) == throttle.delay("other", HERE, now=0) == 0
    assert throttle.delay(ROOT, HERE, now=200) == 0


def test_many_failures_refuse_for_a_time() -> None:
    """At the last one that is allowed, for a minute, at that address alone; one more then refuses again."""
    throttle = new()
    fail(throttle, ROOT, HERE, 19)
    assert throttle.refused(ROOT, HERE, now=0) == 0
    throttle.failed(ROOT, HERE, now=1)
    assert throttle.refused(ROOT, HERE, now=2) == 59
    assert throttle.refused(ROOT, THERE, now=2) == throttle.refused("other", HERE, now=2) == 0
    assert throttle.refused(ROOT, HERE, now=62) == 0
    throttle.failed(ROOT, HERE, now=62)
    assert throttle.refused(ROOT, HERE, now=62) == 60


def test_nobody_is_refused_where_that_is_off() -> None:
    """max_login_failures = 0."""
    throttle = new(most_failures=0)
    fail(throttle, ROOT, HERE, 1000)
    assert throttle.refused(ROOT, HERE, now=0) == 0


def test_a_success_clears_its_own_failures_alone() -> None:
    """A guesser may have an account of his own at the same address: it takes back no failure of another."""
    throttle = new()
    fail(throttle, ROOT, HERE, 9)
    fail(throttle, "own", HERE, 9)
    throttle.succeeded("own", HERE)
    assert throttle.delay("own", HERE, now=0) == 0
    assert throttle.delay(ROOT, HERE, now=0) == 5


def test_an_address_that_tries_many_names_is_slowed() -> None:
    """One guess at each of many accounts; who has logged in from there before is not, and takes nothing back."""
    throttle = new()
    for number in range(30):
        throttle.failed(f"name{number}", HERE, now=0)
    throttle.succeeded("known", HERE)
    assert throttle.delay("another", HERE, now=0) == rules.LONGEST_OF_ADDRESS
    assert throttle.delay("known", HERE, now=0) == throttle.delay("another", THERE, now=0) == 0


def test_an_account_that_is_guessed_from_everywhere_has_one_line() -> None:
    """Verdicts come one after the other, half a second apart, but for addresses where it has logged in before."""
    throttle = new()
    throttle.succeeded(ROOT, THERE)
    for number in range(60):
        throttle.failed(ROOT, f"198.51.100.{number}", now=0)
    delays = [throttle.delay(ROOT, f"203.0.113.{number}", now=0) for number in range(4)]
    assert delays == [0.5, 1.0, 1.5, 2.0]
    assert throttle.delay(ROOT, THERE, now=0) == 0


def test_refusals_are_noted_ever_more_seldom() -> None:
    """The first, the second, the fourth: who knocks a thousand times leaves ten lines."""
    throttle = new()
    fail(throttle, ROOT, HERE, 20)
    assert sum(throttle.is_news(ROOT, HERE, now=1) for _ in range(1000)) == 10


def test_a_flood_of_names_forgets_no_guesser() -> None:
    """Counts are bounded, and those of one failure go before those of many."""
    throttle = new()
    fail(throttle, ROOT, HERE, 19)
    for number in range(rules.KEPT + 100):
        throttle.failed(str(number), THERE, now=0)
    assert len(throttle._pairs) == rules.KEPT
    assert throttle.delay(ROOT, HERE, now=0) == 5


def test_a_network_of_ipv6_is_one_client() -> None:
    """Each has 2**64 addresses; an IPv4 address is itself, however it is written."""
    assert network("2001:db8::1") == network("2001:db8::ffff:1") != network("2001:db8:0:1::1")
    assert network("::ffff:192.0.2.1") == network("192.0.2.1") == "192.0.2.1"


@given(host=st.text(max_size=20))
def test_any_text_may_be_an_address(host: str) -> None:
    """What the socket says is taken as it is."""
    assert network(host) is not None
