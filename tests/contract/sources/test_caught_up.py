"""Up to which time of its server's clock a source says that it has all."""

import time
from collections.abc import Iterator
from contextlib import closing
from threading import Event, Thread
from typing import Final

import pytest

from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.mysql_reader import Reader, database, latest, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.slow import crossed
from tests.support.until import until

pytestmark = pytest.mark.mysql

WANTED: Final = Subscription(columns=("id",), keys=("id",))
HEARTBEAT: Final = 0.2
OPTIONS: Final = SourceOptions(heartbeat=HEARTBEAT, read_timeout=60.0, schema_check=3600.0, position_interval=0.05)


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """With one table."""
    with database(any_server) as name:
        any_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY)")
        yield name


def clock(server: MysqlServer) -> float:
    """What the server's shows."""
    return float(server.run("SELECT @@timestamp")[0][0])


def insert(server: MysqlServer, db: str, row: int) -> float:
    """It is committed after the moment that is returned."""
    before = clock(server)
    server.run(f"INSERT INTO {db}.t VALUES ({row})")
    return before


def catch_up(reader: Reader, until_time: float) -> None:
    def passed() -> bool:
        reader.get()
        return reader.source.caught_up_at() > until_time

    until(passed, why="the proof of the heartbeats")


@crossed("drips", [False, True], always=[("mysql", True), ("mariadb", False)])
def test_what_a_stalled_network_holds_back_is_not_claimed(any_server: MysqlServer, db: str, *, drips: bool) -> None:
    """A row is committed while nothing comes through; then heartbeats of before it come, in a bunch or as far from each
    other as if there had been no stall: until the row is there, no later moment is claimed.
    """
    stalls = Event()
    with closing(Proxy(any_server.port)) as proxy:
        proxy.holds = lambda _: stalls.is_set()
        with reading(any_server, {(db, "t"): WANTED}, options=OPTIONS, port=proxy.port) as reader:
            insert(any_server, db, 1)
            reader.until(latest(any_server))
            catch_up(reader, clock(any_server))
            proxy.unpaced = proxy.count  # on which the server is asked for its end: at that rate it would take seconds
            proxy.held.clear()
            stalls.set()
            until(proxy.held.is_set, why="a heartbeat that is held")
            proxy.chunk = 64 if drips else proxy.chunk
            proxy.rate = 64 / (1.5 * HEARTBEAT) if drips else None
            stalled = clock(any_server)
            until(lambda: clock(any_server) > stalled + 5 * HEARTBEAT, why="heartbeats before the row")
            committed = insert(any_server, db, 2)
            until(lambda: clock(any_server) > committed + 5 * HEARTBEAT, why="heartbeats after the row")
            stalls.clear()
            heard = set[float]()

            def the_row_is_there() -> bool:
                reader.get(HEARTBEAT / 4)
                there = sum(batch.events for batch in reader.batches) >= 2
                heard.add(there or reader.source.heard_at())
                assert there or reader.source.caught_up_at() < committed
                return there

            until(the_row_is_there, why="the row that was held")
            assert drips <= (len(heard) > 2), "heartbeats alone came before the row"
            assert reader.troubles == []
            proxy.rate = None
            catch_up(reader, committed)


@ALIKE
def test_rows_that_wait_for_company_are_not_claimed(any_server: MysqlServer, db: str) -> None:
    """What heartbeats prove while rows are held back for a fuller batch is said when that has been given."""
    options = SourceOptions(heartbeat=HEARTBEAT, read_timeout=60.0, linger=60.0)
    with reading(any_server, {(db, "t"): WANTED}, options=options) as reader:
        catch_up(reader, 0.0)
        batches = len(reader.batches)
        waits = Thread(target=reader.get, args=(8 * HEARTBEAT,))
        waits.start()
        committed = insert(any_server, db, 1)
        while waits.is_alive():
            assert reader.source.caught_up_at() < committed
            waits.join(HEARTBEAT / 10)
        assert [batch.events for batch in reader.batches[batches:]] == [1]
        catch_up(reader, committed)


@ALIKE
def test_what_is_claimed_is_of_the_clock_of_the_server(
    any_server: MysqlServer, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours may be an hour ahead."""
    ours = time.time
    monkeypatch.setattr(time, "time", lambda: ours() + 3600)
    with reading(any_server, {(db, "t"): WANTED}, options=OPTIONS) as reader:
        committed = insert(any_server, db, 1)
        catch_up(reader, committed)
        assert reader.source.heard_at() > committed + 3000
        assert reader.source.caught_up_at() <= clock(any_server)


@ALIKE
def test_a_session_that_has_set_its_time_is_not_believed(any_server: MysqlServer, db: str) -> None:
    """Rows of tomorrow make nothing newer than now."""
    with reading(any_server, {(db, "t"): WANTED}, options=OPTIONS) as reader:
        before = clock(any_server)
        any_server.run("SET timestamp = UNIX_TIMESTAMP() + 86400", f"INSERT INTO {db}.t VALUES (1)")
        reader.until(latest(any_server))
        catch_up(reader, before)
        assert reader.source.caught_up_at() <= clock(any_server)


def test_a_server_that_passes_over_what_was_read_is_not_quiet(mysql_server: MysqlServer) -> None:
    """It sends a heartbeat where it has passed over GTIDs that it is not asked for, and there is more to come."""
    with database(mysql_server) as db, closing(Proxy(mysql_server.port)) as proxy:
        mysql_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY)")
        mysql_server.run(*(f"INSERT INTO {db}.t VALUES ({number})" for number in range(10)))
        start = latest(mysql_server)
        insert(mysql_server, db, 10)
        proxy.chunk, proxy.rate = 64, 64 / 0.02  # packet by packet
        with reading(mysql_server, {(db, "t"): WANTED}, start, options=OPTIONS, port=proxy.port) as reader:
            while not any(batch.events for batch in reader.batches):
                assert reader.source.caught_up_at() == 0.0
                reader.get(0.001)
            proxy.rate = None
            catch_up(reader, clock(mysql_server))
