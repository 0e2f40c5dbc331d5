"""Statements that wait for a source: they hold up no others, have an end, and can be ended."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import pymysql
import pytest

from syncmgr.console.ports import Allowed
from syncmgr.errors import Code, Diagnostic
from syncmgr.sources import cancellation
from syncmgr.sources.canal import factory as canal_opening
from syncmgr.sources.canal.description import CanalDescription
from syncmgr.sources.mysql import factory as mysql_opening
from syncmgr.sources.mysql.description import MysqlDescription
from syncsql import CreateSync
from tests.support.servers.hostile import CAPABILITIES, TLS, HostileServer, Talk, answering, greeting
from tests.support.until import HANG_SECOND, PROMPT_SECOND, until
from tests.unit.console.frontend import FakeJobs
from tests.unit.console.running import Running, id_of, running

THREADS: Final = 4
SOURCE_THREADS: Final = 4
CREATE: Final = 'CREATE SYNC demo.{name} (FROM shop.orders INTO orders (id)) FROM BINLOG ("type" = "mysql")'
INTERRUPTED: Final = Code.INTERRUPTED.number


@dataclass
class SlowJobs(FakeJobs):
    """CREATE SYNC does what `ask` does first. `begun`: of which jobs, in their order."""

    ask: Callable[[], object] = lambda: None
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def create(
        self,
        node: CreateSync,
        db: str | None,
        creator: str | None = None,
        *,
        bounded: bool = False,
        allowed: Allowed = lambda: None,
    ) -> tuple[Diagnostic, ...]:
        self.begun.append(node.job.name)
        try:
            self.ask()
            cancellation.is_storing()
        finally:
            self.ended.append(node.job.name)
        return super().create(node, db, allowed=allowed)


@pytest.fixture
def jobs() -> SlowJobs:
    return SlowJobs()


@pytest.fixture
def console(tmp_path: Path, jobs: SlowJobs) -> Iterator[Running]:
    with running(tmp_path, threads=THREADS, source_threads=SOURCE_THREADS) as it:
        it.frontend.jobs = jobs
        for user in ("ldr", "other"):
            it.ask(f"CREATE USER {user} IDENTIFIED BY 'x'")
            it.ask(f"GRANT LOAD_PRIV ON demo.* TO {user}")
        yield it


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as it:
        yield it


def create(console: Running, user: str, name: str, pool: ThreadPoolExecutor) -> "Future[object]":
    return pool.submit(console.ask, CREATE.format(name=name), user=user, password="x")


def test_a_silent_source_holds_up_no_other_statement(
    console: Running, jobs: SlowJobs, pool: ThreadPoolExecutor
) -> None:
    """As many CREATE SYNC as there are threads of all kinds wait for a source: what asks the catalog is answered
    meanwhile, a login into a database too, and so is the hint at a name that was meant.
    """
    go_on = threading.Event()
    jobs.ask = lambda: go_on.wait(HANG_SECOND)
    try:
        asked = [create(console, "ldr", f"j{n}", pool) for n in range(2 * THREADS + SOURCE_THREADS)]
        until(lambda: len(jobs.begun) >= SOURCE_THREADS // 2, why="those that may ask at one time")
        with console.connect(database="demo", read_timeout=PROMPT_SECOND) as connection, connection.cursor() as cursor:
            for sql in ("SHOW DATABASES", "USE demo", "DESC orders", "SHOW TABLES", "SHOW SYNC JOB FROM empty"):
                cursor.execute(sql)
            with pytest.raises(pymysql.err.ProgrammingError, match="did you mean"):
                cursor.execute("DESC ordrs")
    finally:
        go_on.set()
    for each in asked:
        each.result(HANG_SECOND)
    assert len(jobs.nodes) == len(asked)


def test_an_account_asks_sources_in_half_of_the_threads(
    console: Running, jobs: SlowJobs, pool: ThreadPoolExecutor
) -> None:
    """Those of another account begin beside it; what waits is taken up when one of its own ends."""
    go_on = threading.Event()
    jobs.ask = lambda: go_on.wait(HANG_SECOND)
    try:
        asked = [create(console, "ldr", f"a{n}", pool) for n in range(SOURCE_THREADS)]
        half = SOURCE_THREADS // 2
        waiting = console.console._workers._turns_at_sources._waiting
        until(lambda: len(waiting.get("'ldr'@'%'", ())) == half, why="those that have no turn")
        assert len(jobs.begun) == half
        asked += [create(console, "other", f"b{n}", pool) for n in range(half)]
        until(lambda: len(jobs.begun) == SOURCE_THREADS, why="those of the other account")
        assert sum(name.startswith("b") for name in jobs.begun) == half
    finally:
        go_on.set()
    for each in asked:
        each.result(HANG_SECOND)


class Hostile:
    """Somebody who keeps whoever asks waiting; `ends`: how many of those that came have gone."""

    def __init__(self, script: Callable[[Talk], None]) -> None:
        self._script = script
        self.came, self.ends = 0, 0
        self._server = HostileServer(self._serve)
        self.port = self._server.port

    def _serve(self, talk: Talk) -> None:
        self.came += 1
        try:
            self._script(talk)
        finally:
            self.ends += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()


def trickle(talk: Talk, _question: bytes = b"") -> None:
    """An answer of 64 bytes, of which one comes now and then."""
    talk.raw(b"\x40\0\0\1")
    while True:
        talk.raw(b"x")
        time.sleep(0.02)


def silent_at_tls(talk: Talk) -> None:
    """It has TLS, and never says a word of it."""
    talk.send(greeting(capabilities=CAPABILITIES | TLS))
    talk.until_gone()


def survey(port: int) -> object:
    there = MysqlDescription(
        host="127.0.0.1", port=port, user="repl", password="p", server_id=0, start="snapshot", ssl="preferred"
    )
    return mysql_opening.survey(there, ["shop"], connect_timeout=HANG_SECOND)


def subscribe(port: int) -> object:
    there = CanalDescription(
        host="127.0.0.1",
        port=port,
        zk_servers="",
        destination="d",
        user="canal",
        password="canal",
        batch_size=1,
        debug=False,
        time_zone=None,
    )
    return canal_opening.inspect(there, [("shop", "orders")], connect_timeout=HANG_SECOND)


HOSTILE: Final[dict[str, tuple[Callable[[Talk], None], Callable[[int], object]]]] = {
    "mysql answers": (answering(trickle, after=b"stats_expiry"), survey),
    "mysql tls": (silent_at_tls, survey),
    "canal": (Talk.until_gone, subscribe),
}


@pytest.fixture(params=HOSTILE.values(), ids=HOSTILE.keys())
def hostile(request: pytest.FixtureRequest, jobs: SlowJobs) -> Iterator[Hostile]:
    script, ask = request.param
    with Hostile(script) as server:
        jobs.ask = lambda: ask(server.port)
        yield server


def is_over(hostile: Hostile, jobs: SlowJobs) -> None:
    """The thread has ended, its sockets too, and nothing was made."""
    until(lambda: jobs.ended, deadline=30.0, why="the end of the thread")
    until(lambda: hostile.ends == hostile.came, deadline=30.0, why="the end of its connections")
    assert not jobs.nodes


def test_kill_ends_what_waits_for_a_source(
    console: Running, jobs: SlowJobs, hostile: Hostile, pool: ThreadPoolExecutor
) -> None:
    """At once: the statement, its thread and its socket; its connection goes on."""
    with console.connect(user="ldr", password="x") as connection, connection.cursor() as cursor:
        asked = pool.submit(cursor.execute, CREATE.format(name="j"))
        until(lambda: hostile.came, why="the question")
        console.ask(f"KILL QUERY {id_of(connection)}")
        with pytest.raises(pymysql.err.OperationalError) as caught:
            asked.result(HANG_SECOND)
        assert caught.value.args[0] == INTERRUPTED
        is_over(hostile, jobs)
        connection.ping(reconnect=False)


def test_a_client_that_leaves_ends_what_waits_for_a_source(console: Running, jobs: SlowJobs, hostile: Hostile) -> None:
    """As KILL does."""
    with console.raw() as client:
        client.log_in()
        client.sequence = -1
        client.write(b"\x03" + CREATE.format(name="j").encode())
        until(lambda: hostile.came, why="the question")
    is_over(hostile, jobs)


def test_a_statement_that_waits_for_a_source_has_an_end(tmp_path: Path, jobs: SlowJobs, hostile: Hostile) -> None:
    """By a setting, and is told so."""
    with running(tmp_path, source_second=0.5) as console:
        console.frontend.jobs = jobs
        with pytest.raises(pymysql.err.OperationalError) as caught:
            console.ask(CREATE.format(name="j"))
        assert caught.value.args[0] == Code.SOURCE_WAITED.number
        assert "after 0.5 seconds (source_statement_second)" in caught.value.args[1]
        is_over(hostile, jobs)


def test_what_has_its_answers_may_still_be_killed(tmp_path: Path, jobs: SlowJobs, pool: ThreadPoolExecutor) -> None:
    """While it makes the targets of very many tables: no time limit ends that, and whoever started it can."""
    begun, go_on = threading.Event(), threading.Event()

    def change() -> None:
        cancellation.has_answers()
        begun.set()
        go_on.wait(HANG_SECOND)
        cancellation.check()

    jobs.ask = change
    second = 1.0
    with running(tmp_path, source_second=second) as console:
        console.frontend.jobs = jobs
        with console.connect() as connection, connection.cursor() as cursor:
            asked = pool.submit(cursor.execute, CREATE.format(name="j"))
            assert begun.wait(HANG_SECOND)
            with pytest.raises(TimeoutError):
                asked.result(1.5 * second)
            console.ask(f"KILL QUERY {id_of(connection)}")
            with pytest.raises(pymysql.err.OperationalError) as caught:
                asked.result(HANG_SECOND)
            assert caught.value.args[0] == INTERRUPTED
        go_on.set()
        until(lambda: jobs.ended, why="the end of its thread")
        assert not jobs.nodes


def test_what_is_stored_is_finished(tmp_path: Path, jobs: SlowJobs, pool: ThreadPoolExecutor) -> None:
    """Whatever KILL and time say meanwhile: what is begun in the metadata is not torn."""
    begun, go_on = threading.Event(), threading.Event()

    def change() -> None:
        cancellation.is_storing()
        begun.set()
        go_on.wait(HANG_SECOND)

    jobs.ask = change
    second = 1.0  # in which it is begun
    with running(tmp_path, source_second=second) as console:
        console.frontend.jobs = jobs
        with console.connect() as connection, connection.cursor() as cursor:
            asked = pool.submit(cursor.execute, CREATE.format(name="j"))
            assert begun.wait(HANG_SECOND)
            with pytest.raises(TimeoutError):
                asked.result(1.5 * second)
            console.ask(f"KILL QUERY {id_of(connection)}")
            with pytest.raises(pymysql.err.OperationalError) as caught:
                asked.result(HANG_SECOND)
            assert caught.value.args[0] == INTERRUPTED
        go_on.set()
        until(lambda: ("demo", "j") in jobs.nodes, why="the job")
