"""Where the lake of a run is: the variable SYNCMGR_TEST_LAKE takes the contract tests to another one.

Owns: the servers that a lake needs, and the settings by which it reaches them.
Must not know: what is tested.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from syncmgr.config.catalog_keys import PREFIX, spark_keys
from tests.support.servers.iceberg_rest import RestCatalog
from tests.support.servers.lying_catalog import SILENCE_SECOND, LyingCatalog
from tests.support.servers.object_store import BUCKET, ObjectStore
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.spark_cluster import SparkCluster

VARIABLE: Final = "SYNCMGR_TEST_LAKE"
Place = Callable[[Path], AbstractContextManager[Mapping[str, str]]]


@contextmanager
def on_local_disk(folder: Path) -> Iterator[Mapping[str, str]]:
    yield {}


@contextmanager
def on_s3_by_jdbc(folder: Path) -> Iterator[Mapping[str, str]]:
    """Objects in S3, the catalog in PostgreSQL."""
    store, catalog = ObjectStore(folder).start(), PostgresServer().start()
    try:
        yield spark_keys(
            {
                "catalog_type": "jdbc",
                "catalog_uri": f"jdbc:postgresql://127.0.0.1:{catalog.port}/postgres",
                "catalog_warehouse": f"s3://{BUCKET}/warehouse",
            },
            {"catalog.jdbc.user": "postgres", **store.settings("catalog.")},
        )
    finally:
        store.stop()
        catalog.stop()


@dataclass(frozen=True, kw_only=True, slots=True)
class RestLake:
    """Objects in S3, a REST catalog that keeps its own in PostgreSQL, and a proxy before it. `settings`: of a frontend;
    `options`: what they are for Spark.
    """

    store: ObjectStore
    catalog: RestCatalog
    proxy: LyingCatalog
    settings: Mapping[str, str]

    @property
    def options(self) -> Mapping[str, str]:
        own = {key: value for key, value in self.settings.items() if not key.startswith(PREFIX)}
        return spark_keys(own, {key: value for key, value in self.settings.items() if key.startswith(PREFIX)})


@contextmanager
def rest_lake(folder: Path) -> Iterator[RestLake]:
    with ExitStack() as running:
        store, database = ObjectStore(folder), PostgresServer()
        for server in (store, database):
            running.callback(server.start().stop)
        behind = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:postgresql://127.0.0.1:{database.port}/postgres",
            "jdbc.user": "postgres",
            "jdbc.schema-version": "V1",
            "warehouse": f"s3://{BUCKET}/warehouse",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            **store.settings(""),
        }
        catalog = RestCatalog(folder, behind).start()
        running.callback(catalog.stop)
        proxy = LyingCatalog(catalog.uri)
        running.callback(proxy.stop)
        settings = {
            "catalog_type": "rest",
            "catalog_uri": proxy.uri,
            "catalog_warehouse": behind["warehouse"],
            **store.settings(PREFIX),
            f"{PREFIX}rest.client.socket-timeout-ms": str(int(SILENCE_SECOND * 600)),
        }
        yield RestLake(store=store, catalog=catalog, proxy=proxy, settings=settings)


@contextmanager
def on_s3_by_rest(folder: Path) -> Iterator[Mapping[str, str]]:
    with rest_lake(folder) as lake:
        yield lake.options


@contextmanager
def on_cluster(folder: Path) -> Iterator[Mapping[str, str]]:
    """The same, with Spark's tasks in executors that do not see the frontend's folder."""
    with on_s3_by_jdbc(folder) as options, TemporaryDirectory(prefix="syncmgr-cluster-") as own:
        cluster = SparkCluster(Path(own), [folder])
        try:
            yield {**options, **cluster.start().options()}
        finally:
            cluster.stop()


LAKES: Final[Mapping[str, Place]] = {
    "local": on_local_disk,
    "s3-jdbc": on_s3_by_jdbc,
    "s3-rest": on_s3_by_rest,
    "cluster": on_cluster,
}


def chosen() -> Place:
    return LAKES[os.environ.get(VARIABLE, "local")]
