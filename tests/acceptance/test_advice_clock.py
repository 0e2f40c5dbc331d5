"""The clock of the machine is wrong, and is set right, as 20233 advises: nothing else has to be done."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from syncmgr.errors import Code
from tests.acceptance.altered import BINLOG
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.support.servers.hostile import HostileServer
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import until
from tests.support.wrong_clock import NoCompilerError, WrongClock

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

HOUR = 3600


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> WrongClock:
    try:
        return WrongClock(tmp_path_factory.mktemp("clock"))
    except NoCompilerError:
        pytest.skip("no clock can be wrong without a C compiler")


@pytest.fixture(scope="module")
def fe(clock: WrongClock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontendProcess]:
    """Its workers and its JVMs go by the same clock, the source does not."""
    frontend = FrontendProcess(tmp_path_factory.mktemp("fe"))
    command = [sys.executable, "-m", "syncmgr", "--conf", str(frontend.conf)]
    with (frontend.folder / "fe.out").open("ab") as output:
        frontend.process = subprocess.Popen(
            command, cwd=frontend.folder, env=clock.environment, stdout=output, stderr=subprocess.STDOUT
        )
    until(frontend._answers, why="the console's port")
    yield frontend
    assert frontend.stop() == 0


def test_a_clock_that_was_set_back_is_set_right(
    mysql_server: MysqlServer, fe: FrontendProcess, clock: WrongClock
) -> None:
    """20233: the message says by how much; the rows of meanwhile are committed once it is right."""
    t = Patient("clock_back", mysql_server, fe)
    t.until_well()
    clock.set(-HOUR)
    t.run("INSERT INTO clock_back.t VALUES (1, 1, 'meanwhile', 1)")
    assert t.until_told(Code.LAKE_CLOCK).startswith("Set the clock right if it is behind. ")
    assert t.job["Status"]["needs_operator"]
    said = re.search(
        r"The clock of this machine is (\d+) s behind the last commit of table 'clock_back.t'", t.job["Msg"]
    )
    assert said is not None
    assert HOUR - 120 < int(said[1]) <= HOUR
    clock.set(0)
    t.until_well()
    fe.sql("STOP SYNC JOB clock_back.job1")


def test_what_is_due_is_done_though_the_clock_was_set_back(
    mysql_server: MysqlServer, fe: FrontendProcess, clock: WrongClock
) -> None:
    """A job that resumes by itself does not wait until the clock shows again what it showed."""
    t = Patient("clock_due", mysql_server, fe)
    fe.sql("STOP SYNC JOB clock_due.job1")
    proxy = Proxy(mysql_server.port)
    fe.sql(f"CREATE SYNC clock_due.job1 (FROM clock_due.t INTO t) {BINLOG.format(port=proxy.port, start='latest')}")
    t.until_well()
    with HostileServer(lambda talk: talk.raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as stranger:
        proxy.target = stranger.port
        proxy.cut()
        t.until_paused(Code.SOURCE_ANSWER)
        clock.set(-HOUR)
        proxy.target = mysql_server.port
    try:
        t.until_resumed()
    finally:
        clock.set(0)
    t.until_well()
    fe.sql("STOP SYNC JOB clock_due.job1")
    proxy.close()
