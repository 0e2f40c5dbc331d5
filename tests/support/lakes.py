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
from tests.support.servers import iceberg_rest
from tests.support.servers.iceberg_rest import RestCatalog
from tests.support.servers.lying_catalog import SILENCE_SECOND, LyingCatalog
from tests.support.servers.object_store import BUCKET, ObjectStore, program
from tests.support.servers.postgres import PostgresServer, is_installed
from tests.support.servers.spark_cluster import SparkCluster
from tests.support.servers.troubled import TroubledWay

VENDED: Final = "key-of-a-catalog"
VARIABLE: Final = "SYNCMGR_TEST_LAKE"
LOCAL: Final = "local"
Place = Callable[[Path], AbstractContextManager[Mapping[str, str]]]


@contextmanager
def on_local_disk(folder: Path) -> Iterator[Mapping[str, str]]:
    yield {}


@dataclass(frozen=True, kw_only=True, slots=True)
class JdbcLake:
    """Objects in S3, the catalog in PostgreSQL. `way`, `settings`: as in RestLake."""

    store: ObjectStore
    way: TroubledWay | None
    settings: Mapping[str, str]

    @property
    def options(self) -> Mapping[str, str]:
        return of_spark(self.settings)


def _store_and_database(
    running: ExitStack, folder: Path, *, troubled: bool
) -> tuple[ObjectStore, TroubledWay | None, PostgresServer]:
    """Until `running` ends; with a way to the store, where it may have trouble."""
    store, database = ObjectStore(folder), PostgresServer()
    for server in (store, database):
        running.callback(server.start().stop)
    way = TroubledWay(store.port) if troubled else None
    if way is not None:
        running.callback(way.stop)
    return store, way, database


@contextmanager
def jdbc_lake(folder: Path, *, troubled: bool = False) -> Iterator[JdbcLake]:
    with ExitStack() as running:
        store, way, catalog = _store_and_database(running, folder, troubled=troubled)
        settings = {
            "catalog_type": "jdbc",
            "catalog_uri": f"jdbc:postgresql://127.0.0.1:{catalog.port}/postgres",
            "catalog_warehouse": f"s3://{BUCKET}/warehouse",
            f"{PREFIX}jdbc.user": "postgres",
            **store.settings(PREFIX),
            **({} if way is None else {f"{PREFIX}s3.endpoint": way.uri}),
        }
        yield JdbcLake(store=store, way=way, settings=settings)


@contextmanager
def on_s3_by_jdbc(folder: Path) -> Iterator[Mapping[str, str]]:
    with jdbc_lake(folder) as lake:
        yield lake.options


@dataclass(frozen=True, kw_only=True, slots=True)
class RestLake:
    """Objects in S3, a REST catalog that keeps its own in PostgreSQL, and a proxy before it. `settings`: of a frontend;
    `options`: what they are for Spark; `way`: to the store, where it may have trouble.
    """

    store: ObjectStore
    way: TroubledWay | None
    catalog: RestCatalog
    proxy: LyingCatalog
    settings: Mapping[str, str]

    @property
    def options(self) -> Mapping[str, str]:
        return of_spark(self.settings)


def of_spark(settings: Mapping[str, str]) -> Mapping[str, str]:
    own = {key: value for key, value in settings.items() if not key.startswith(PREFIX)}
    return spark_keys(own, {key: value for key, value in settings.items() if key.startswith(PREFIX)})


def missing_for_rest() -> list[str]:
    """What such a lake needs and is not installed."""
    there = {"moto": program(), "PostgreSQL": is_installed(), "a REST catalog": iceberg_rest.is_installed()}
    return [name for name, found in there.items() if not found]


@contextmanager
def rest_lake(folder: Path, *, troubled: bool = False, vends: bool = False) -> Iterator[RestLake]:
    """`troubled`: the store may have trouble; the catalog is killed and started where that is wanted. `vends`: the
    catalog gives all that is needed for the store with each table, and a frontend has no settings for it.
    """
    with ExitStack() as running:
        store, way, database = _store_and_database(running, folder, troubled=troubled)
        place = {"s3.endpoint": store.endpoint if way is None else way.uri}
        behind = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:postgresql://127.0.0.1:{database.port}/postgres",
            "jdbc.user": "postgres",
            "jdbc.schema-version": "V1",
            "warehouse": f"s3://{BUCKET}/warehouse",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            **store.settings(""),
            **place,
        }
        catalog = RestCatalog(folder, behind)
        running.callback(catalog.stop)
        catalog.start()
        proxy = LyingCatalog(catalog.uri)
        running.callback(proxy.stop)
        to_store = {**store.settings(""), **place}
        proxy.vends = {**to_store, "s3.access-key-id": VENDED} if vends else {}
        settings = {
            "catalog_type": "rest",
            "catalog_uri": proxy.uri,
            "catalog_warehouse": behind["warehouse"],
            **{f"{PREFIX}{key}": value for key, value in to_store.items() if not vends},
            f"{PREFIX}rest.client.socket-timeout-ms": str(int(SILENCE_SECOND * 600)),
        }
        yield RestLake(store=store, way=way, catalog=catalog, proxy=proxy, settings=settings)


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


@contextmanager
def on_vended_credentials(folder: Path) -> Iterator[Mapping[str, str]]:
    with rest_lake(folder, vends=True) as lake:
        yield lake.options


@contextmanager
def on_glue(folder: Path) -> Iterator[Mapping[str, str]]:
    """Objects and catalog in moto."""
    store = ObjectStore(folder).start()
    try:
        own = {"catalog_type": "glue", "catalog_warehouse": f"s3://{BUCKET}/warehouse"}
        yield of_spark({**own, f"{PREFIX}glue.endpoint": store.endpoint, **store.settings(PREFIX)})
    finally:
        store.stop()


LAKES: Final[Mapping[str, Place]] = {
    LOCAL: on_local_disk,
    "s3-jdbc": on_s3_by_jdbc,
    "s3-rest": on_s3_by_rest,
    "s3-vended": on_vended_credentials,
    "glue": on_glue,
    "cluster": on_cluster,
}


def chosen() -> Place:
    return LAKES[os.environ.get(VARIABLE, LOCAL)]
