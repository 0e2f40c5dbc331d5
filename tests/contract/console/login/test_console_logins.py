"""Whoever reaches the port without getting in: silence, slowness and wrong logins cost the others nothing."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pymysql
import pytest
from pymysql._auth import scramble_caching_sha2

from syncmgr.console.login import keys
from syncmgr.console.login.throttle import Throttle
from tests.support.until import HANG_SECOND, until
from tests.unit.console.running import PASSWORD, Running, running

TOO_MANY = b"\xff\x10\x04"  # 1040
TOO_MANY_OF_USER = b"\xff\xb3\x04"  # 1203


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture
def console(folder: Path) -> Iterator[Running]:
    """Ten logins at a time, four of an address; two more for addresses that are known."""
    limits = {"max_logins": 10, "max_logins_per_address": 4, "reserved_logins": 2}
    with running(folder, password=PASSWORD, drain_timeout=0.2, **limits) as it:
        it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
        yield it


def elsewhere(number: int) -> str:
    return f"127.0.1.{number}"


def test_silence_holds_no_place(console: Running) -> None:
    """However many connect and say nothing, from one address or from many: the next one gets in at once."""
    with ExitStack() as stack:
        for number in range(60):
            for source in ("127.0.0.1", elsewhere(number)):
                stack.enter_context(console.raw(source=source)).greet()
        until(lambda: len(console.connections) <= 12, why="the end of the longest silent")
        assert console.ask("SELECT 42") == ((42,),)
        assert console.ask("SELECT 42", user="alice", password="wonder", ssl_disabled=False) == ((42,),)


def test_the_longest_silence_goes_first(console: Running) -> None:
    """Of the address that is full, else of the one with the most: whoever has only just come stays."""
    with ExitStack() as stack:
        silent = [stack.enter_context(console.raw()) for _ in range(5)]
        for raw in silent:
            raw.greet()
        assert silent[0].read() == b""
        silent[-1].write(silent[-1].hello(b"", user="alice"))
        assert silent[-1].read()[:3] == b"\xff\x15\x04"


def test_who_has_spoken_keeps_its_place(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all of an address wait for a verdict, one more is refused there with 1040, and nowhere else."""
    waiting: list[str] = []
    monkeypatch.setattr(Throttle, "delay", lambda _, name, *__, **___: waiting.append(name) or HANG_SECOND)
    with ExitStack() as stack:
        for _ in range(4):
            raw = stack.enter_context(console.raw(source=elsewhere(1)))
            raw.greet()
            raw.write(raw.hello(b"\x01" * 32, user="alice"))
        until(lambda: len(waiting) == 4, why="four logins that wait")
        assert stack.enter_context(console.raw(source=elsewhere(1))).read()[:3] == TOO_MANY
        monkeypatch.undo()
        assert console.ask("SELECT 42") == ((42,),)


def test_known_addresses_keep_a_door(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every place is taken by logins under way, an address from which somebody has logged in has some more."""
    delay, waiting = Throttle.delay, list[str]()

    def slow_for_strangers(self: Throttle, name: str, host: str, *, now: float) -> float:
        if host == "127.0.0.1":
            return delay(self, name, host, now=now)
        waiting.append(host)
        return HANG_SECOND

    monkeypatch.setattr(Throttle, "delay", slow_for_strangers)
    with ExitStack() as stack:
        for number in range(10):
            raw = stack.enter_context(console.raw(source=elsewhere(number)))
            raw.greet()
            raw.write(raw.hello(b"\x01" * 32, user="alice"))
        until(lambda: len(waiting) == 10, why="ten logins that wait")
        assert stack.enter_context(console.raw(source=elsewhere(99))).read()[:3] == TOO_MANY
        assert console.ask("SELECT 42") == ((42,),)


def test_password_checks_come_by_turns(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends many passwords from one address waits for his own; another address has its turn."""
    go_on, checked = threading.Event(), list[str]()

    def slow(password: str, kept: str) -> bool:
        checked.append(password)
        return go_on.wait(HANG_SECOND) and password == "wonder"

    monkeypatch.setattr(keys, "opens", slow)
    ring = console.console._listener._gate.keys

    def log_in(password: str, source: str) -> None:
        with suppress(pymysql.err.OperationalError):  # most are wrong
            console.connect(user="alice", password=password, bind_address=source).close()

    threads = []
    for number, (password, source) in enumerate([("wrong", elsewhere(1))] * 4 + [("wrong", elsewhere(2))] * 4):
        threads.append(threading.Thread(target=log_in, args=(f"{password}{number}", source)))
        threads[-1].start()
    until(lambda: len(checked) == 2 and sum(map(len, ring.checks._waiting.values())) == 6, why="six that wait")
    threads.append(threading.Thread(target=log_in, args=("wonder", "127.0.0.1")))
    threads[-1].start()
    until(lambda: "127.0.0.1" in ring.checks._waiting, why="the honest one")
    go_on.set()
    for thread in threads:
        thread.join(HANG_SECOND)
    assert checked.index("wonder") < 2 + 2 + 2  # two were under way, and each of the others had its turn


def test_operators_keep_connections(folder: Path) -> None:
    """The last connections are for root and other operators, who can KILL the rest."""
    with running(folder, password=PASSWORD, max_connections=4, reserved_connections=2, drain_timeout=0.2) as it:
        it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
        it.ask("CREATE USER bob IDENTIFIED BY 'wonder'")
        it.ask("CREATE USER olga IDENTIFIED BY 'wonder'")
        it.ask("GRANT NODE_PRIV ON *.* TO olga")
        with ExitStack() as stack:
            for user in ("alice", "bob"):
                stack.enter_context(it.connect(user=user, password="wonder"))
            with pytest.raises(pymysql.err.OperationalError, match="1040"):
                it.connect(user="alice", password="wonder")
            stack.enter_context(it.connect(user="olga", password="wonder"))
            victim, *_ = it.ask("SHOW PROCESSLIST")
            it.ask(f"KILL {victim[0]}")
            until(lambda: it.console._listener._registry.logged_in == 2, why="the end of the victim")
            stack.enter_context(it.connect())
            stack.enter_context(it.connect())
            with pytest.raises(pymysql.err.OperationalError, match="1040"):
                it.connect()
            stack.pop_all()


def test_one_account_leaves_connections_to_the_others(folder: Path) -> None:
    """It has half of those that are not reserved, also by a change of user; then 1203, which the audit has. Operators
    are not counted.
    """
    with running(folder, password=PASSWORD, max_connections=9, reserved_connections=1, drain_timeout=0.2) as it:
        for user in ("alice", "bob", "olga"):
            it.ask(f"CREATE USER {user} IDENTIFIED BY 'wonder'")
        it.ask("GRANT NODE_PRIV ON *.* TO olga")
        with ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(it.connect(user="alice", password="wonder"))
            with pytest.raises(pymysql.err.OperationalError, match=r"1203.*'alice' already has 4 connections"):
                it.connect(user="alice", password="wonder")
            stack.enter_context(it.connect(user="bob", password="wonder"))
            raw = stack.enter_context(it.raw())
            raw.write(raw.hello(scramble_caching_sha2(PASSWORD.encode(), raw.greet())))
            assert (raw.read(), raw.read()[:1]) == (b"\x01\x03", b"\0")
            raw.sequence = -1
            raw.write(b"\x11alice\0\0\0\x2d\0caching_sha2_password\0")
            raw.write(scramble_caching_sha2(b"wonder", raw.switched()))
            assert (raw.read(), raw.read()[:3]) == (b"\x01\x03", TOO_MANY_OF_USER)
            assert raw.read() == b""
            until(lambda: it.console._listener._registry.logged_in == 5, why="its end")
            for _ in range(4):
                stack.enter_context(it.connect(user="olga", password="wonder"))
