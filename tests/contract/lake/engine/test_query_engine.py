"""The life of the JVM that answers queries, beside a lake that goes on."""

import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import psutil
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.queries import health
from syncmgr.lake.spark.queries.engine import QueryEngine
from syncmgr.lake.spark.queries.gateway import JavaFailedError
from syncmgr.lake.spark.queries.queries import Queries
from syncmgr.lake.spark.queries.query import Query
from syncmgr.lake.spark.queries.starved import CpuStarvation, cores, times_of
from tests.support.processes import connections_to
from tests.support.spark_session import SPARK, STORE_KEY, Tables
from tests.support.until import HANG_SECOND, until

pytestmark = SPARK
INS = ChangeKind.INSERT
PATTERN = "LIKE concat(repeat('%a', 60), 'b')"  # java.util.regex tries it forever, and hears no interrupt
ENDLESS_TASKS = f"SELECT count(*) FROM range(2) WHERE concat(repeat('a', 300), id) {PATTERN}"
ENDLESS_PLAN = f"SELECT repeat('a', 300) {PATTERN}"
COUNTED = "SELECT id % 3, count(*) FROM range(1e11) GROUP BY id % 3"
LONG = "SELECT count(*) FROM range(1e11) a JOIN range(10) b ON a.id < b.id"
FILLING = "SELECT count(DISTINCT id) FROM range(1e10)"  # each row goes through the files of a shuffle
TOO_BIG = "SELECT length(concat_ws('', collect_list(repeat('x', 1000000)))) FROM range(5000)"


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def asked(queries: Queries, sql: str, tag: str = "") -> list[tuple[object, ...]]:
    return rows(queries.query(sql, None, tag or uuid.uuid4().hex))


def rows(query: Query) -> list[tuple[object, ...]]:
    return [tuple(row) for batch in query.batches() for row in batch]


def error_of(asking: Future[object]) -> SyncError:
    error = asking.exception(HANG_SECOND)
    assert isinstance(error, SyncError)
    return error


def is_wedged(engine: QueryEngine, tag: str) -> bool:
    """In its tasks, or in the making of its plan."""
    found = [query for query in engine._queries if query.tag == tag and query._frame is not None and query.is_busy]
    stands = "CharPropertyGreedy.match"  # of java.util.regex
    return bool(found) and stands in stacks(engine)


def stacks(engine: QueryEngine) -> str:
    """Of all its threads."""
    threads = engine._gateway.jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    return "".join(str(each.toString()) for each in threads.dumpAllThreads(False, False))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql", [pytest.param(ENDLESS_TASKS, marks=pytest.mark.long, id="tasks"), pytest.param(ENDLESS_PLAN, id="plan")]
)
def test_an_engine_that_a_cancelled_query_keeps_is_replaced(
    queries: Queries, tables: Tables, pool: ThreadPoolExecutor, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself, whether the query hangs in its tasks or before it has any; who else was asking hears why, commits go
    on meanwhile, and the next query is answered by another JVM.
    """
    monkeypatch.setattr(health, "MOST_LINGER_SECOND", 2.0)
    table, before = tables.make(), tables.lake.pid
    asked(queries, "SELECT 1")
    wedged = queries.pid
    engine, tag = queries._engine, uuid.uuid4().hex
    assert engine is not None
    endless = pool.submit(asked, queries, sql, tag)
    until(lambda: is_wedged(engine, tag), why="the query")
    other = pool.submit(asked, queries, LONG)
    queries.cancel(tag)
    table.commit([(INS, 1, 1)])
    assert error_of(endless).code is Code.INTERRUPTED
    found = error_of(other)
    assert (found.code, "after it was cancelled" in str(found)) == (Code.QUERIES_ENDED, True)
    assert asked(queries, "SELECT count(*) FROM range(10)") == [(10,)]
    assert queries.pid not in {None, wedged}
    assert tables.lake.pid == before
    table.commit([(INS, 2, 2)])


def test_a_query_that_is_cancelled_and_ends_replaces_nothing(queries: Queries) -> None:
    """Nothing of it is left: no task, and nothing to look at."""
    query = queries.query(LONG, None, "ends")
    pid, engine = queries.pid, queries._engine
    assert engine is not None
    timer = threading.Timer(0.5, query.cancel)
    timer.start()
    with pytest.raises(SyncError):
        rows(query)
    timer.join()
    until(lambda: query not in engine._cancelled._queries, why="the end of it")
    assert not engine._cancelled._lingering
    assert queries.pid == pid


def test_what_begins_after_a_cancel_is_cancelled_too(
    queries: Queries, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark refuses later jobs of a cancelled group, but no stages that its adaptive execution submits."""
    monkeypatch.setattr(health, "MOST_LINGER_SECOND", 600.0)
    query = queries.query("SELECT 1", None, "late")
    query.cancel()
    engine = queries._engine
    assert engine is not None
    # a later look would cancel
    until(lambda: query not in engine._cancelled._queries, why="the look that finds nothing of it")
    session = engine._sessions.of(None, "UTC")

    def compute() -> None:
        engine._spark.begin_job_group("late")
        session.sql(COUNTED).java.count()

    computing = pool.submit(compute)
    until(query.look_for_tasks, why="its tasks")
    engine._cancelled.add(query)
    assert isinstance(computing.exception(HANG_SECOND), JavaFailedError)
    until(lambda: query not in engine._cancelled._queries, why="the end of it")


@pytest.mark.long
def test_a_query_that_needs_too_much_memory_ends_alone(queries: Queries, tables: Tables) -> None:
    """With its JVM, which is not that of the commits; the client hears that it may have been the memory."""
    lake = tables.lake.pid
    with pytest.raises(SyncError) as caught:
        asked(queries, TOO_BIG)
    assert caught.value.code in {Code.QUERIES_ENDED, Code.QUERY_TOO_BIG}
    assert "memory" in str(caught.value)
    tables.make().commit([(INS, 1, 1)])
    assert tables.lake.pid == lake
    assert asked(queries, "SELECT count(*) FROM range(10)") == [(10,)]


def test_queries_that_fill_the_disk_end(
    queries: Queries, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above query_spill_bytes they end with that name, their engine is replaced, and nothing stays on the disk."""
    asked(queries, "SELECT 1")
    engine = queries._engine
    assert engine is not None
    folders = engine._spilled.folders
    monkeypatch.setattr(queries, "_spill", 16 << 20)
    filling = pool.submit(asked, queries, FILLING)
    assert "queries have spilled" in str(error_of(filling))
    assert "query_spill_bytes" in str(error_of(filling))
    until(lambda: not any(folder.exists() for folder in folders), why="the sweep")
    assert asked(queries, "SELECT count(*) FROM range(10)") == [(10,)]


def test_an_engine_that_stands_still_is_replaced(
    queries: Queries, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heartbeat has a deadline, which needs no query to be found out."""
    asked(queries, "SELECT 1")
    frozen = queries.pid
    assert frozen is not None
    monkeypatch.setattr(health, "PULSE_SECOND", 0.1)
    os.kill(frozen, signal.SIGSTOP)
    monkeypatch.setattr(health, "MOST_PULSE_SECOND", 2.0)
    found = error_of(pool.submit(asked, queries, "SELECT 2"))
    assert (found.code, "has not answered" in str(found)) == (Code.QUERIES_ENDED, True)
    monkeypatch.undo()
    assert asked(queries, "SELECT 3") == [(3,)]
    assert not psutil.pid_exists(frozen)


def test_a_query_that_is_cancelled_before_the_engine_is_there(queries: Queries, pool: ThreadPoolExecutor) -> None:
    """It is not begun any more, whatever it would do to the engine for which it waited."""
    with queries._starting:  # as while another one starts it
        waiting = pool.submit(asked, queries, ENDLESS_PLAN, "early")
        until(lambda: "early" in queries._asked, why="the query")
        queries.cancel("early")
    assert error_of(waiting).code is Code.INTERRUPTED
    assert asked(queries, "SELECT 1") == [(1,)]


@pytest.mark.slow
def test_a_killed_engine_is_replaced(queries: Queries, pool: ThreadPoolExecutor) -> None:
    """A query that was running ends with one error; the next one is answered, and no connection of any thread to the
    old one stays open: whoever has the engine replaced again and again would take all of the frontend's files.
    """
    pool.submit(asked, queries, "SELECT 1").result(HANG_SECOND)
    query = queries.query(LONG, None, "lost")
    killed = queries.pid
    assert killed is not None
    gateway = queries._engine._gateway  # as a query that a client has not closed holds it
    port = gateway.java_parameters.port
    assert connections_to(port)
    os.kill(killed, signal.SIGKILL)
    with pytest.raises(SyncError) as caught:
        rows(query)
    assert caught.value.code is Code.QUERIES_ENDED
    until(lambda: queries.pid is None, why="the loss of the JVM")
    assert asked(queries, "SELECT 1") == [(1,)]
    until(lambda: not connections_to(port), why="the end of connections")


def test_the_engine_goes_behind_the_commits_and_writes_nothing(queries: Queries, lake: Lake) -> None:
    """At a lower priority, and with a catalog that is open for reading alone, whatever reaches its Spark."""
    asked(queries, "SELECT 1")
    engine = queries._engine
    assert engine is not None
    assert psutil.Process(queries.pid).nice() > psutil.Process(lake.pid).nice()
    session = engine._spark.new_session({}, None)
    with pytest.raises(JavaFailedError, match="SQL"):
        session.sql("CREATE NAMESPACE lake.made_by_a_query")


def test_secrets_are_no_properties_of_the_engine(queries: Queries) -> None:
    """Nor arguments of its process: whoever reads them finds no key of an object store."""
    asked(queries, "SELECT 1")
    engine = queries._engine
    assert engine is not None
    ((name, value),) = STORE_KEY.items()
    hadoop = engine._spark._context.hadoopConfiguration()
    assert hadoop.get(name.removeprefix("spark.hadoop.")) == value
    properties = str(engine._gateway.jvm.java.lang.System.getProperties().toString())
    assert "user.timezone" in properties
    assert (name in properties, value in properties) == (False, False)
    assert not any(value in argument for argument in psutil.Process(queries.pid).cmdline())


def test_an_engine_that_nobody_needs_ends(queries: Queries, monkeypatch: pytest.MonkeyPatch) -> None:
    """But not under a query that is read slowly."""
    slow = queries.query("SELECT * FROM range(0, 100000, 1, 4)", None, "slow").batches()
    next(slow)
    pid, engine = queries.pid, queries._engine
    assert engine is not None
    assert pid is not None
    monkeypatch.setattr(health, "IDLE_SECOND", 0.0)
    assert not health.is_idle(engine.vitals(), engine._used + 7200)
    assert sum(map(len, slow)) == 99_000
    until(lambda: queries.pid is None, why="its end")
    until(lambda: not psutil.pid_exists(pid), why="the end of its process")


def test_an_engine_that_has_no_core_is_not_taken_for_wedged() -> None:
    """The kernel says how long a process waits for a core that others have, and next to nothing of one that sleeps."""
    core = min(os.sched_getaffinity(0))
    busy = [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"]
    asleep = [sys.executable, "-c", "import time\nprint(flush=True)\ntime.sleep(900)"]
    processes = [subprocess.Popen(each, stdout=subprocess.PIPE) for each in (busy, busy, asleep)]
    try:
        assert processes[2].stdout is not None
        processes[2].stdout.readline()  # its start has waited for a core, too
        starved = [CpuStarvation(partial(times_of, process.pid), cores()) for process in processes]
        until(lambda: all(waits_over(each) > 0.5 for each in starved[:2]), why="their waits")
        assert waits_over(starved[2]) < 0.5
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def waits_over(starved: CpuStarvation) -> float:
    """Seconds since it was made."""
    starved.look()
    return starved.since(0.0)
