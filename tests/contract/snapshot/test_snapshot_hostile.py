"""What somebody in the place of a MySQL server can do to the snapshot's driver."""

from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.job.tls import Tls
from syncmgr.lake.lake import Lake
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.jdbc import ASKS_FILE, DRIVER, options
from tests.support.servers.hostile import SECRET, HostileServer, Thief
from tests.support.spark_session import SPARK

pytestmark = SPARK
ADDRESS = MysqlAddress(host="127.0.0.1", port=0, user="repl", password="p", tls=Tls(mode="disabled"))


def test_the_snapshot_gives_no_file(lake: Lake, tmp_path: Path) -> None:
    """Its driver is another one: a server that asks it for a file hears nothing of it, and what the driver says then
    is what the error of the job is known by.
    """
    (tmp_path / "secret").write_bytes(SECRET)
    thief = Thief(tmp_path / "secret", b"select")
    lake._driver.load(lake.iceberg().spark, DRIVER)
    with HostileServer(thief.script) as server:
        told = options(replace(ADDRESS, port=server.port))
        with pytest.raises(Exception, match=ASKS_FILE):
            lake.iceberg().spark.read.format("jdbc").options(**told).option(
                "dbtable", "(SELECT 1 a) c"
            ).load().collect()
    assert not any(SECRET in packet for packet in thief.got)
