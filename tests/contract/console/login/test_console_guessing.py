"""Guessing passwords: a client that speaks bytes, against a console with accounts of both plugins."""

import asyncio
import contextlib
import json
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pymysql
import pytest
from pymysql._auth import scramble_caching_sha2, scramble_native_password

from syncmgr.accounts.secret import opens
from syncmgr.console.login import keys
from syncmgr.console.login.throttle import Throttle
from syncmgr.console.wire.protocol import NATIVE, SHA2
from tests.support.until import HANG_SECOND, until
from tests.unit.console.running import PASSWORD, Running, running

REFUSED = 3955


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture
def console(folder: Path) -> Iterator[Running]:
    """With alice and, of the old plugin, otto."""
    with running(folder, password=PASSWORD, max_login_failures=6, login_refuse_second=1000) as it:
        it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
        it.ask("CREATE USER otto IDENTIFIED WITH mysql_native_password BY 'wonder'")
        yield it


@pytest.fixture
def no_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Throttle, "delay", lambda *_, **__: 0.0)


def guess(it: Running, user: str, password: str) -> bytes:
    """The answer to the fast path, after which the guesser hangs up."""
    with it.raw() as raw:
        nonce = raw.greet()
        raw.write(raw.hello(scramble_caching_sha2(password.encode(), nonce), user=user))
        return raw.read()


def failures(it: Running, user: str) -> int:
    counts = it.console._listener._gate.throttle._pairs
    return counts._of[user, "127.0.0.1"].failures if (user, "127.0.0.1") in counts._of else 0


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [json.loads(record.message) for record in caplog.records if record.name == "syncmgr.audit"]


def code(attempt: Callable[[], object]) -> int:
    with pytest.raises(pymysql.err.OperationalError) as caught:
        attempt()
    return int(caught.value.args[0])


def can_log_in(it: Running, user: str) -> bool:
    """Raises where the answer is neither yes nor "refused for a time"."""
    try:
        it.connect(user=user, password="wonder").close()
    except pymysql.err.OperationalError as error:
        if error.args[0] != REFUSED:
            raise
        return False
    return True


@pytest.mark.usefixtures("no_delays")
@pytest.mark.parametrize("user", ["root", "alice", "nobody"])
def test_the_fast_path_is_no_oracle(console: Running, caplog: pytest.LogCaptureFixture, user: str) -> None:
    """Who hangs up behind "full authentication" has failed, and is in the audit; soon the right one is refused, too."""
    caplog.set_level(logging.INFO, logger="syncmgr.audit")
    ring = console.console._listener._gate.keys
    if user == "nobody":
        user = next(name for name in map(str, range(100)) if ring._plugin_of_nobody(name) == SHA2)
    for number in range(6):
        assert guess(console, user, "wrong") == b"\x01\x04"
        until(lambda count=number + 1: failures(console, user) == count, why="the failure")  # type: ignore[misc]
    assert code(lambda: console.connect(user=user, password=PASSWORD)) == REFUSED
    assert guess(console, user, PASSWORD)[:3] == b"\xff\x73\x0f"
    gave_up = [line for line in lines(caplog) if line.get("gave_up")]
    assert [(line["user"], line["error"]) for line in gave_up] == [(user, 1045)] * 6
    assert sum(line["error"] == REFUSED for line in lines(caplog) if line.get("event") == "login") == 2
    assert console.ask("SELECT 42", user="otto", password="wonder") == ((42,),)


@pytest.mark.usefixtures("no_delays")
def test_wrong_passwords_refuse_for_a_time(console: Running) -> None:
    """By either plugin, of whatever name; the error is MySQL's, and says how long."""
    for user in ("otto", "nobody"):
        for _ in range(6):
            assert code(lambda name=user: console.connect(user=name, password="wrong")) == 1045  # type: ignore[misc]
        with pytest.raises(pymysql.err.OperationalError, match="blocked for 1000 seconds due to 6 consecutive"):
            console.connect(user=user, password="wonder")


@pytest.mark.usefixtures("no_delays")
def test_the_right_password_is_right_again_after_a_refusal(folder: Path) -> None:
    """As soon as the time is over, of either plugin, though all failures are still counted: one more refuses again."""
    with running(folder, password=PASSWORD, max_login_failures=6, login_refuse_second=4) as it:
        it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
        for _ in range(6):
            assert code(lambda: it.connect(user="alice", password="wrong")) == 1045
        assert code(lambda: it.connect(user="alice", password="wonder")) == REFUSED
        until(lambda: guess(it, "alice", "wrong") == b"\x01\x04", why="the end of the refusal")
        assert code(lambda: it.connect(user="alice", password="wonder")) == REFUSED
        until(lambda: can_log_in(it, "alice"), why="the end of the second refusal")


@pytest.mark.usefixtures("no_delays")
def test_who_lets_his_time_run_out_has_failed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """He knows that his scramble was wrong while the password that he then sends is being looked at."""

    async def never(*_: object) -> bool:
        await asyncio.sleep(HANG_SECOND)
        return False

    with running(folder, password=PASSWORD, max_login_failures=2, login_refuse_second=1000, connect_timeout=3) as it:
        it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
        monkeypatch.setattr(keys.StoredKey, "confirm", never)
        for number in range(2):
            with it.raw() as raw:
                raw.write(raw.hello(scramble_caching_sha2(b"wrong", raw.greet()), user="alice"))
                assert raw.read() == b"\x01\x04"
                raw.write(b"\x02")
                raw.read()
                raw.write(b"x" * 256)
                until(lambda count=number + 1: failures(it, "alice") == count, why="the failure")  # type: ignore[misc]
        assert guess(it, "alice", "wonder")[:3] == b"\xff\x73\x0f"


@pytest.mark.usefixtures("no_delays")
def test_guesses_beside_each_other_get_no_more_verdicts(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait for theirs when the account is refused are refused, too, the right password among them."""
    waiting = Waiting()
    monkeypatch.setattr(Throttle, "delay", waiting)
    passwords = ["wrong"] * 9 + ["wonder"]
    with ThreadPoolExecutor(len(passwords)) as pool:
        guesses = [
            pool.submit(code, partial(console.connect, user="otto", password=password)) for password in passwords[:-1]
        ]
        until(lambda: waiting.count == len(passwords) - 1, why="those that wait")
        last = pool.submit(code, partial(console.connect, user="otto", password=passwords[-1]))
        codes = [guess.result(HANG_SECOND) for guess in guesses]
        assert (codes.count(1045), codes.count(REFUSED)) == (6, 3)
        assert last.result(HANG_SECOND) == REFUSED


@pytest.mark.usefixtures("no_delays")
@pytest.mark.parametrize("user", ["alice", "nobody"])
def test_the_fast_path_answers_no_more_guesses_beside_each_other(console: Running, user: str) -> None:
    """Who is told "full authentication" has learned that his guess was wrong: no more are told at one time than may
    fail, the right password waits with the others, and once those have left all are refused.
    """
    if user == "nobody":
        ring = console.console._listener._gate.keys
        user = next(name for name in map(str, range(100)) if ring._plugin_of_nobody(name) == SHA2)
    else:
        console.ask("SELECT 42", user="alice", password="wonder")  # the fast path knows it from now on
    with contextlib.ExitStack() as stack:
        told = []
        for number in range(10):
            raw = stack.enter_context(console.raw())
            password = b"wonder" if number == 9 else b"wrong"
            raw.write(raw.hello(scramble_caching_sha2(password, raw.greet()), user=user))
            told.append(raw)
        assert [raw.read() for raw in told[:6]] == [b"\x01\x04"] * 6
        for raw in told[6:]:
            raw.socket.settimeout(0.05)
            with pytest.raises(TimeoutError):
                raw.read()
            raw.socket.settimeout(HANG_SECOND)
        for raw in told[:6]:
            raw.socket.close()
        assert [raw.read()[:3] for raw in told[6:]] == [b"\xff\x73\x0f"] * 4


class Waiting:
    """The delay of verdicts: long enough for all to wait beside each other. `count`: of those that do."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *_: object, **__: object) -> float:
        self.count += 1
        return 3.0 + 0.01 * self.count


def test_the_right_password_takes_back_what_led_to_it(console: Running) -> None:
    """A first login in full, behind a scramble that could not be right yet, is no failure."""
    for _ in range(8):
        console.ask("SELECT 42", user="alice", password="wonder")
        console.console._listener._gate.keys._digests.clear()
    assert failures(console, "alice") == 0


def test_a_right_password_waits_as_long_as_a_wrong_one(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guesser who does not wait for the answer learns nothing: the verdict itself comes late."""
    asked: list[str] = []
    monkeypatch.setattr(Throttle, "delay", lambda _, name, *__, **___: asked.append(name) or HANG_SECOND)
    for user, plugin in (("root", "caching_sha2_password"), ("otto", NATIVE)):
        with console.raw() as raw:
            nonce = raw.greet()
            scramble = scramble_caching_sha2 if user == "root" else scramble_native_password
            raw.write(raw.hello(scramble(PASSWORD.encode(), nonce), user=user, plugin=plugin))
            if plugin == NATIVE:
                raw.write(scramble_native_password(b"wonder", raw.switched()))
            until(lambda name=user: name in asked, why="the wait")  # type: ignore[misc]
            raw.socket.settimeout(0.2)
            with pytest.raises(TimeoutError):
                raw.read()


def first_answer(it: Running, user: str) -> bytes:
    """What a name gets before its password matters, its nonce left out."""
    with it.raw() as raw:
        raw.greet()
        raw.write(raw.hello(b"\x01" * 32, user=user))
        return raw.read()[:22]


@pytest.mark.usefixtures("no_delays")
def test_unknown_names_look_like_accounts(folder: Path) -> None:
    """They are offered the plugins that accounts have, as often; each name always the same, also after a restart."""
    names = [f"name{number}" for number in range(40)]
    offered = []
    for _ in range(2):
        with running(folder, password=PASSWORD, max_login_failures=0) as it:
            assert {first_answer(it, name) for name in names} == {b"\x01\x04"}
            it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
            assert {first_answer(it, name) for name in names} == {b"\x01\x04"}
            it.ask("CREATE USER otto IDENTIFIED WITH mysql_native_password BY 'wonder'")
            offered.append([first_answer(it, name) for name in names])
            assert set(offered[-1]) == {first_answer(it, "alice"), first_answer(it, "otto")}
    assert offered[0] == offered[1]
    assert 5 < offered[0].count(b"\x01\x04") < 35


@pytest.mark.usefixtures("no_delays")
def test_unknown_names_cost_what_accounts_cost(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same checks of the same cost: one of a whole password where the plugin has one, none where it has none."""
    checked: list[str] = []
    monkeypatch.setattr(keys, "opens", lambda password, kept: checked.append(kept) or opens(password, kept))
    unknown = {first_answer(console, name): name for name in (f"name{number}" for number in range(40))}
    counts = {}
    for user in ("alice", "otto", unknown[first_answer(console, "alice")], unknown[first_answer(console, "otto")]):
        checked.clear()
        assert code(lambda name=user: console.connect(user=name, password="wrong")) == 1045  # type: ignore[misc]
        counts[user] = len(checked)
    assert list(counts.values()) == [1, 0, 1, 0]


def test_first_logins_beside_each_other_cost_one_check(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of thirty connects at once after a restart: nobody is slowed or refused, and few passwords are checked."""
    checked: list[str] = []
    monkeypatch.setattr(keys, "opens", lambda password, kept: checked.append(kept) or opens(password, kept))
    answers: list[object] = []

    def log_in() -> None:
        answers.append(console.ask("SELECT 42", user="alice", password="wonder"))

    threads = [threading.Thread(target=log_in) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECOND)
    assert answers == [((42,),)] * 30
    assert len(checked) <= 2 * keys.CHECKS_AT_ONCE


def test_names_of_any_length_take_no_memory(console: Running) -> None:
    """A client that is not logged in chooses them: what is remembered of a guess is as short as any account's name."""
    for number in range(3):
        assert guess(console, f"{number}" + "x" * 60_000, "x")[:1] in {b"\x01", b"\xfe"}
    throttle = console.console._listener._gate.throttle
    until(lambda: len(throttle._pairs) == 3, why="three guesses")
    assert all(len(name) <= 64 for name, _ in throttle._pairs._of)
