"""A job goes on at another server of its list, or waits for one that lags, as is advised of both."""

from collections.abc import Iterator

import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.support.servers.mysql import GTIDS, MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.slow]

Pair = tuple[MysqlServer, MysqlServer]
LARGE = 3 << 20  # bytes of a transaction that is cut


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A server and its replica."""
    folder = tmp_path_factory.mktemp("pair")
    first, second = (MysqlServer(folder / n, variables={"server-id": n, **GTIDS["mysql"]}).start() for n in ("1", "2"))
    second.follow(first)
    yield first, second
    second.stop()
    first.stop()


class Moving(Patient):
    """Its job reads whichever server it reaches behind the proxies, the first one first."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess, *proxies: Proxy) -> None:
        super().__init__(name, mysql, fe)
        fe.sql(f"STOP SYNC JOB {name}.job1")
        hosts = ",".join(f"127.0.0.1:{proxy.port}" for proxy in proxies)
        login = '"mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled"'
        source = f'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "{hosts}", {login})'
        fe.sql(f"CREATE SYNC {name}.job1 (FROM {name}.t INTO t) {source}")

    def until_read_from(self, proxy: Proxy) -> None:
        until(lambda: self.job["Status"]["server"] == f"127.0.0.1:{proxy.port}", why="the server in Status")


def test_a_replica_that_lags_is_waited_for(pair: Pair, frontend: FrontendProcess) -> None:
    """20107: RESUME once it has caught up; nothing is lost, and nothing comes twice."""
    first, second = pair
    proxy = Proxy(first.port)
    t = Moving("advised_lags", first, frontend, proxy)
    t.until_well()
    second.run("STOP REPLICA")
    t.run("INSERT INTO advised_lags.t VALUES (1, 1, 'not there yet', 1)")
    t.wait_until_equal()
    proxy.target = second.port
    proxy.cut()
    advice = t.until_paused(Code.SOURCE_POSITION_LOST)
    assert advice.startswith("If the server is a replica that lags, RESUME once it has caught up. ")
    assert "which that server never executed" in t.job["Msg"]
    t.resume()
    t.until_paused(Code.SOURCE_POSITION_LOST)
    second.run("START REPLICA")
    until(lambda: second.run("SELECT id FROM advised_lags.t WHERE id = 1"), why="a replica that has caught up")
    t.resume()
    t.until_well()
    frontend.sql("STOP SYNC JOB advised_lags.job1")
    proxy.close()


def test_the_next_server_takes_over_in_a_transaction(pair: Pair, frontend: FrontendProcess) -> None:
    """20101, and `server` in Status: nothing is to be done, and the transaction that was cut comes once."""
    first, second = pair
    one, two = Proxy(first.port), Proxy(second.port)
    t = Moving("advised_next", first, frontend, one, two)
    t.until_well()
    t.until_read_from(one)
    passed: list[int] = []

    def cut(data: bytes) -> bytes:
        """In the middle of the transaction, for good."""
        passed.append(len(data))
        if sum(passed) > LARGE // 2:
            one.refuses = True
            one.cut()
        return data

    one.changes = cut
    rows = ", ".join(f"({n}, {n}, '{'x' * 20}', 1)" for n in range(10_000, 10_000 + LARGE // 40))
    t.run(f"INSERT INTO advised_next.t VALUES {rows}")
    t.until_read_from(two)
    t.until_well()
    frontend.sql("STOP SYNC JOB advised_next.job1")
    one.close()
    two.close()
