"""Where the lake of a bench's frontend is, by the options of its command line.

Owns: --lake, --delay and --cluster, and the servers that they need; when the frontend answers what needs Spark.
Must not know: what is measured.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import pymysql

from tests.acceptance.frontend import FrontendProcess
from tests.support.lakes import LOCAL, jdbc_lake, rest_lake
from tests.support.servers.spark_cluster import SparkCluster

ELSEWHERE: Final = {"s3-jdbc": jdbc_lake, "s3-rest": rest_lake}


def add_options(arguments: argparse.ArgumentParser, *, cluster: bool = False) -> None:
    """`cluster`: whether it may be asked for."""
    arguments.add_argument("--lake", choices=(LOCAL, *ELSEWHERE), default=LOCAL)
    arguments.add_argument("--delay", type=float, default=0.0, metavar="SECOND", help="of each request to the store")
    arguments.set_defaults(cluster=False)
    if cluster:
        arguments.add_argument("--cluster", action="store_true", help="Spark's tasks run in two executors")


@contextmanager
def placed(options: argparse.Namespace, folder: Path) -> Iterator[Mapping[str, str]]:
    """The settings by which the frontend in `folder` / "fe" reaches that lake; executors do not see that folder."""
    with ExitStack() as running:
        settings: dict[str, str] = {}
        if options.lake != LOCAL:
            far = running.enter_context(ELSEWHERE[options.lake](folder, troubled=True))
            assert far.way is not None
            far.way.delay = options.delay
            settings |= far.settings
        if options.cluster:
            hidden, own = folder / "fe", running.enter_context(tempfile.TemporaryDirectory(prefix="syncmgr-cluster-"))
            hidden.mkdir()
            cluster = SparkCluster(Path(own), [hidden])
            running.callback(cluster.stop)
            settings |= cluster.start().options()
        yield settings


def made(fe: FrontendProcess, db: str) -> bool:
    """A statement that needs Spark waits for its start only so long."""
    with suppress(pymysql.err.MySQLError):
        fe.sql(f"CREATE DATABASE IF NOT EXISTS {db}")
        return True
    return False
