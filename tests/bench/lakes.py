"""An epoch of 20,000 changes by where the lake is: seconds, requests to the store and to the catalog; and a SELECT.

Run: python -m tests.bench.lakes [--epochs 15] [--rows 1000000] [--delay 0.02] [PLACE ...]

PLACE: local, s3-jdbc (moto, PostgreSQL), s3-rest (moto, Iceberg's REST server on PostgreSQL), cluster (the same with
two executors, and a WHERE, so that Spark computes); all of them without any. `--delay`: seconds that each request to
the store takes in addition, as in a region; the requests also go through a proxy in Python.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from syncmgr.control.catalog import Catalog
from syncmgr.lake.lake import Lake
from tests.bench.commit import filled, prepared, segment
from tests.support.lakes import JdbcLake, RestLake, jdbc_lake, rest_lake
from tests.support.servers.spark_cluster import SparkCluster
from tests.support.spark_session import new_lake

CHANGES: Final = 20_000
WARM: Final = 5  # epochs that are not counted
SELECTS: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """`asked`: requests to store and catalog until now; `slow`: seconds that each to the store takes in addition."""

    options: Mapping[str, str]
    asked: Callable[[], tuple[int, int]] = lambda: (0, 0)
    slow: Callable[[float], None] = lambda _second: None
    where: str | None = None  # of the channel; with one, Spark writes


@contextmanager
def local(folder: Path) -> Iterator[Place]:
    yield Place(options={})


@contextmanager
def s3_jdbc(folder: Path) -> Iterator[Place]:
    with jdbc_lake(folder, troubled=True) as lake:
        yield counted(lake, lambda: 0)


@contextmanager
def s3_rest(folder: Path) -> Iterator[Place]:
    with rest_lake(folder, troubled=True) as lake:
        yield counted(lake, lambda: lake.proxy.passed)


def counted(lake: JdbcLake | RestLake, catalog: Callable[[], int]) -> Place:
    """`catalog`: requests to it until now."""
    way = lake.way
    assert way is not None
    return Place(
        options=lake.options,
        asked=lambda: (way.passed, catalog()),
        slow=lambda second: setattr(way, "delay", second),
    )


@contextmanager
def cluster(folder: Path) -> Iterator[Place]:
    with s3_rest(folder) as place, tempfile.TemporaryDirectory(prefix="syncmgr-cluster-") as own:
        executors = SparkCluster(Path(own), [folder])
        try:
            options = {**place.options, **executors.start().options()}
            yield Place(options=options, asked=place.asked, slow=place.slow, where="`c1` >= 0")
        finally:
            executors.stop()


PLACES: Final = {"local": local, "s3-jdbc": s3_jdbc, "s3-rest": s3_rest, "cluster": cluster}


def measure(name: str, folder: Path, epochs: int, rows: int, delay: float) -> None:
    with PLACES[name](folder) as place:
        lake = new_lake(folder, options=place.options)
        lake.start()
        lake.ready()
        try:
            table = filled(lake, catalog_of(lake), rows)
            place.slow(delay)
            report(name, lake, folder, place, table, rows, epochs)
        finally:
            place.slow(0.0)
            lake.stop()


def catalog_of(lake: Lake) -> Catalog:
    catalog = Catalog(lake.tables, lambda _db, _table: None)
    catalog.create_database("bench", if_not_exists=False)
    return catalog


def report(name: str, lake: Lake, folder: Path, place: Place, table: str, rows: int, epochs: int) -> None:
    seconds, stores, catalogs = list[float](), list[int](), list[int]()
    last: int | None = None
    for epoch in range(1, WARM + epochs + 1):
        commit = prepared(table, epoch, segment(folder, epoch, rows, CHANGES), last, place.where)
        before, began = place.asked(), time.monotonic()
        last = lake.commit(commit).snapshot
        seconds.append(time.monotonic() - began)
        store, catalog = place.asked()
        stores.append(store - before[0])
        catalogs.append(catalog - before[1])
    assert lake.index("bench", table).state == "ready"
    print(
        f"{name}: an epoch of {CHANGES} changes {median(seconds[WARM:]):.3f} s,"
        f" {median(stores[WARM:]):.0f} requests to the store, {median(catalogs[WARM:]):.0f} to the catalog;"
        f" SELECT of {rows} rows {selected(lake, table):.2f} s",
        flush=True,
    )


def selected(lake: Lake, table: str) -> float:
    """All rows computed, none kept: the median of some, the first left out."""
    seconds = []
    for _ in range(SELECTS):
        began = time.monotonic()
        lake.iceberg().spark.sql(f"SELECT count(*), sum(c1), max(c2), max(c4) FROM lake.bench.{table}").collect()
        seconds.append(time.monotonic() - began)
    return median(seconds[1:])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("places", nargs="*", default=list(PLACES), metavar="PLACE")
    arguments.add_argument("--epochs", type=int, default=15)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--delay", type=float, default=0.0, metavar="SECOND")
    options = arguments.parse_args()
    for name in options.places:
        with tempfile.TemporaryDirectory(prefix="lakes-") as made:
            measure(name, Path(made), options.epochs, options.rows, options.delay)


if __name__ == "__main__":
    main()
