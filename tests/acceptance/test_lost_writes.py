"""A frontend whose lake is on a disk that loses writes."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.acceptance.test_restores import set_to
from tests.support.failing_disk import FailingDisk
from tests.support.servers.mysql import MysqlServer
from tests.support.small_disk import NoMountError

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

KIBIBYTE = 1 << 10
ROWS = 30_000
MANY = (
    "INSERT INTO lost.t WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows}) "
    "SELECT n + 1000, n, LEFT(SHA2(n, 256), 20), NULL FROM n"
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FailingDisk]:
    try:
        disk = FailingDisk(tmp_path / "var" / "lake", tmp_path / "behind", 64)
    except NoMountError as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    yield disk
    disk.unmount()


@pytest.mark.long  # which pages the kernel loses is its choice: if the catalog is among them, only a backup helps
def test_a_table_whose_writes_were_lost_is_set_back(
    mysql_server: MysqlServer, tmp_path: Path, disk: FailingDisk
) -> None:
    """20236: the kernel says it once, and neither another try nor a restart makes the rows count; set back to what the
    message names, the job writes them again, and they are on the disk.
    """
    fe = FrontendProcess(tmp_path).start()
    t = Patient("lost", mysql_server, fe)
    t.run("INSERT INTO lost.t VALUES (1, 1, 'first', 1)")
    t.wait_until_equal()
    disk.fail(leave=256 * KIBIBYTE)
    t.run(f"SET cte_max_recursion_depth = {ROWS}", MANY.format(rows=ROWS))
    advice = t.until_paused(Code.WRITES_LOST)
    assert advice == "Repair the disk. Set the catalog back as the message says, or restore a backup, then RESUME."
    disk.mend()
    t.resume()
    t.until_paused(Code.WRITES_LOST)
    assert fe.stop() == 0
    fe.start()
    t.resume()
    t.until_paused(Code.WRITES_LOST)
    before = re.search(r"set the catalog back to (\S+), the metadata", t.job["Msg"])
    assert before is not None
    assert fe.stop() == 0
    try:
        set_to(t.catalog, "lost", "t", before[1])
    except sqlite3.Error as error:
        pytest.skip(f"the kernel has lost pages of the catalog itself: {error}")
    disk.forget()
    fe.start()
    t.resume()
    t.until_well()
    disk.forget()
    t.wait_until_equal()
    fe.sql("STOP SYNC JOB lost.job1")
    assert fe.stop() == 0
