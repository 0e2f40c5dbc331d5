"""Logins and statements that reach a real console without MySQL's protocol, from another event loop."""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from syncmgr.accounts.user import Account, Privilege, job
from syncmgr.console.calls import Answer, Caller
from syncmgr.errors import Code, SyncError
from tests.support.until import until
from tests.unit.console.running import PASSWORD, Running, id_of, running

T = TypeVar("T")

pytestmark = pytest.mark.usefixtures("cheap_passwords")
ADA = Account(name="ada")
SOMEWHERE = "192.0.2.7"


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, password=PASSWORD, max_login_failures=3, max_connections=8, reserved_connections=2) as it:
        it.frontend.users.create(ADA, password="engine", plugin=None, if_not_exists=False)
        yield it


def done(work: Coroutine[Any, Any, T]) -> T:
    async def whole() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(whole())


def log_in(console: Running, user: str, password: str, *, address: str = "127.0.0.1", **how: bool) -> Account:
    given = {"is_direct": True, "is_secure": False} | how
    return done(console.console.calls.log_in(user, password, address=address, **given))


def ran(console: Running, sql: str, account: Account = ADA, *, most_rows: int = 100, **options: Any) -> Answer:
    caller = Caller(account=account, user=account.name, address="127.0.0.1", port=5)
    return done(console.console.calls.run(caller, sql, most_rows=most_rows, **options))


def refused(work: Any, *given: Any, **options: Any) -> Code:
    with pytest.raises(SyncError) as caught:
        work(*given, **options)
    return caught.value.code


@pytest.mark.parametrize("plugin", ["caching_sha2_password", "mysql_native_password"])
def test_accounts_of_the_console_log_in(console: Running, plugin: str) -> None:
    """By name, address and password, whatever the plugin; a new password counts at once."""
    console.frontend.users.alter(ADA, password="engine", plugin=plugin, if_exists=False)
    assert log_in(console, "ada", "engine", address=SOMEWHERE) == ADA
    assert log_in(console, "root", PASSWORD) == Account(name="root")
    console.frontend.users.alter(ADA, password="other", plugin=None, if_exists=False)
    assert refused(log_in, console, "ada", "engine") is Code.ACCESS_DENIED
    for user, password in (("ada", ""), ("nobody", "engine"), ("root", ""), ("ada", "00" * 20)):
        assert refused(log_in, console, user, password) is Code.ACCESS_DENIED, user


def test_guesses_are_refused_together_with_those_of_the_console(console: Running) -> None:
    """One count for both doors: after three wrong passwords the right one is not checked either."""
    for _ in range(3):
        assert refused(log_in, console, "ada", "wrong") is Code.ACCESS_DENIED
    assert refused(log_in, console, "ada", "engine") is Code.LOGIN_REFUSED
    with pytest.raises(Exception, match="3955"):
        console.connect(user="ada", password="engine")


def test_guesses_at_once_are_no_more_than_guesses_in_a_row(console: Running) -> None:
    """Of many that are sent together, as many are checked as of many that follow each other."""

    async def all_of_them() -> list[object]:
        calls = console.console.calls
        one = [
            calls.log_in("ada", f"guess{n}", address="127.0.0.1", is_direct=True, is_secure=False) for n in range(20)
        ]
        return list(await asyncio.gather(*one, return_exceptions=True))

    codes = [each.code for each in done(all_of_them()) if isinstance(each, SyncError)]
    assert codes.count(Code.ACCESS_DENIED) == 3
    assert codes.count(Code.LOGIN_REFUSED) == 17


def test_root_without_a_password_is_of_this_machine(tmp_path: Path) -> None:
    """As over MySQL's protocol: from loopback alone, and not through whoever passes requests on."""
    with running(tmp_path) as console:
        assert log_in(console, "root", "").name == "root"
        assert refused(log_in, console, "root", "", address=SOMEWHERE) is Code.ACCESS_DENIED
        assert refused(log_in, console, "root", "", is_direct=False) is Code.ACCESS_DENIED
        assert refused(log_in, console, "root", "guess") is Code.ACCESS_DENIED


def test_tls_is_wanted_where_the_console_wants_it(console: Running) -> None:
    """No password is read without it."""
    console.frontend.tls_only = True
    assert refused(log_in, console, "ada", "engine") is Code.SECURE_TRANSPORT
    assert log_in(console, "ada", "engine", is_secure=True) == ADA


def test_a_statement_has_the_rights_of_its_account(console: Running) -> None:
    """The same rows and the same refusals as over MySQL's protocol."""
    create = 'CREATE SYNC demo.job1 (FROM shop.t INTO demo.t) FROM BINLOG ("type" = "mysql", "mysql.host" = "db1")'
    ran(console, create, Account(name="root"))
    assert ran(console, "SHOW SYNC JOB").rows == []
    assert refused(ran, console, "PAUSE SYNC JOB demo.job1") is Code.UNKNOWN_JOB
    console.frontend.users.grant(ADA, [Privilege.LOAD], job("demo", "job1"))
    answer = ran(console, "SHOW SYNC JOB")
    assert [row[1] for row in answer.rows] == ["job1"]
    assert [column.name for column in answer.columns][:2] == ["JobId", "JobName"]
    assert ran(console, "PAUSE SYNC JOB job1", db="demo") == Answer()


def test_rows_are_bounded(console: Running) -> None:
    """So many as are wanted, and whether there are more."""
    answer = ran(console, "SHOW VARIABLES", most_rows=3)
    assert (len(answer.rows), answer.more) == (3, True)
    assert not ran(console, "SELECT 1", most_rows=1).more


def test_it_is_a_connection_like_all_others(console: Running, caplog: pytest.LogCaptureFixture) -> None:
    """Listed and killed by the console, counted, and in the audit with its protocol."""
    with caplog.at_level(logging.INFO, "syncmgr.audit"):
        rows = ran(console, "SHOW PROCESSLIST").rows
        log_in(console, "ada", "engine")
    assert [(row[1], row[7]) for row in rows] == [("ada", "SHOW PROCESSLIST")]
    lines = [json.loads(record.message) for record in caplog.records if record.name == "syncmgr.audit"]
    assert [(line["proto"], line["user"]) for line in lines] == [("http", str(ADA))] * 2
    assert console.connections == {}
    own = [console.connect(user="ada", password="engine") for _ in range(3)]
    assert refused(ran, console, "SELECT 1") is Code.TOO_MANY_OF_USER
    for each in own:
        assert id_of(each)
        each.close()
    until(lambda: not console.connections, why="they have left")


def test_it_can_be_ended(console: Running) -> None:
    """By KILL, and by whoever awaits it; its query ends, too."""
    caller = Caller(account=Account(name="root"), user="root", address="127.0.0.1", port=5)

    async def begun(end: Callable[[asyncio.Task[Answer]], object]) -> BaseException | None:
        task = asyncio.create_task(console.console.calls.run(caller, "SELECT * FROM demo.wait", most_rows=1))
        started = len(console.frontend.queries.started)
        await asyncio.to_thread(
            until, lambda: len(console.frontend.queries.started) > started, why="the query has begun"
        )
        await asyncio.to_thread(end, task)
        await asyncio.wait({task})
        return asyncio.CancelledError() if task.cancelled() else task.exception()

    def kill(_: object) -> None:
        [(number, *_)] = [row for row in console.ask("SHOW PROCESSLIST") if "wait" in str(row[7])]
        console.ask(f"KILL {number}")

    killed = done(begun(kill))
    assert isinstance(killed, SyncError)
    assert killed.code is Code.INTERRUPTED
    left = done(begun(lambda task: task.get_loop().call_soon_threadsafe(task.cancel)))
    assert isinstance(left, asyncio.CancelledError)
    for query in console.frontend.queries.started:
        assert query.cancelled.wait(60)
    until(lambda: not console.connections, why="both have ended")


def test_what_fails_unexpectedly_is_told(console: Running, caplog: pytest.LogCaptureFixture) -> None:
    """As an internal error, with the rest in the log."""
    assert refused(ran, console, "SELECT * FROM demo.bug", Account(name="root")) is Code.INTERNAL
    assert "a statement failed unexpectedly" in caplog.text
    assert refused(ran, console, "SELECT 1; SELECT 2") is Code.SYNTAX
    assert refused(ran, console, "SELECT 1 " + " " * (4 << 20)) is Code.STATEMENT_TOO_LARGE


def test_after_the_end_nobody_enters(tmp_path: Path) -> None:
    """And nobody waits."""
    with running(tmp_path) as console:
        pass
    assert refused(log_in, console, "root", "") is Code.SHUTTING_DOWN
