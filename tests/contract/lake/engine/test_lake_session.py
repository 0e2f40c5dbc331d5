"""The life of the Spark session. Runs last of the lake's tests: it kills the JVM that they share."""

import os
import signal

import psutil
from pyspark import SparkContext

from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.lake import Lake
from tests.support.processes import connections_to
from tests.support.spark_session import SPARK, START_SECOND, STORE_KEY, Tables
from tests.support.until import PATIENCE, PROMPT_SECOND, until

INS = ChangeKind.INSERT
pytestmark = SPARK


def test_secrets_reach_hadoop_and_are_no_properties_of_java(lake: Lake) -> None:
    """A key of an object store comes through, whatever is in it, and whoever reads Java's properties finds none."""
    spark = lake._session.current()
    ((name, value),) = STORE_KEY.items()
    assert spark._jsc.hadoopConfiguration().get(name.removeprefix("spark.hadoop.")) == value
    properties = spark._jvm.System.getProperties()
    assert "spark.sql.extensions" in properties
    assert name not in properties


def test_the_lake_comes_back_when_its_jvm_dies(tables: Tables) -> None:
    """Noticed while nobody asks for it; SHOW still answers; then commits go on, though the next JVM dies while it
    starts. No connection to the old one stays open.
    """
    lake = tables.lake
    port = SparkContext._gateway.java_parameters.port
    assert connections_to(port)
    table = tables.make()
    table.commit([(INS, 1, 1)])
    pid = lake.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(
        lambda: lake.state != "ready" or lake.pid != pid, deadline=PROMPT_SECOND / PATIENCE, why="the loss of the JVM"
    )
    assert [table.name] == tables.catalog.tables(tables.db)
    assert tables.catalog.table(tables.db, table.name).columns[0].name == "id"
    until(lambda: lake.pid not in {None, pid}, why="the next JVM")
    assert lake.pid is not None
    os.kill(lake.pid, signal.SIGKILL)
    lake.ready(START_SECOND)
    assert not psutil.pid_exists(pid)
    table.commit([(INS, 2, 2)])
    assert table.rows() == [(1, 1), (2, 2)]
    assert not connections_to(port)


def test_the_jvm_stays_small(lake: Lake) -> None:
    """What a small commit needs is far below the bound that the whole house has."""
    assert lake.pid is not None
    assert psutil.Process(lake.pid).memory_info().rss < 1_300_000_000
