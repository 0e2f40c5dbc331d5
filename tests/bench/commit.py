"""Epoch commit against the size of the table: the same 20,000 changes into 1M, 10M and 50M rows.

Run: python -m tests.bench.commit [EPOCHS] [CHANGES]. Prints how long the key index of each takes to build and to load,
its memory, and seconds and the JVM's CPU seconds per epoch; the ratios to the smallest table aim at 1.2.
"""

import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.control.catalog import Catalog
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit, LastCommit, StagedFile
from syncmgr.job.rows.batch import OP, SEQ
from syncmgr.lake.index.indexing import IndexBudget, Indexing
from syncmgr.lake.lake import Lake
from tests.support.spark_session import indexing_of, new_lake, statement

SIZES = (1_000_000, 10_000_000, 50_000_000)
UPKEEP_EPOCHS = 8  # as often as a frontend with a commit a second has small files to join
COLUMNS = ("id", "c1", "c2", "c4")
TABLE = "CREATE TABLE {name} (id BIGINT NOT NULL, c1 INT, c2 VARCHAR(40), c4 TIMESTAMP) UNIQUE KEY(id)"


def segment(folder: Path, epoch: int, size: int, changes: int) -> StagedFile:
    """Half updates and deletes of random ids, half new ids."""
    rng = np.random.default_rng(epoch)
    old = rng.integers(0, size, changes // 2)
    new = np.arange(changes // 2) + size + epoch * changes
    numbers = np.arange(changes)
    kinds = np.where(numbers >= changes // 2, 0, np.where(numbers % 10 == 0, 2, 1))
    rows = pa.table(
        {
            "id": np.concatenate([old, new]),
            "c1": pa.array(np.full(changes, epoch), pa.int32()),
            "c2": pa.array([f"new-{number}" for number in numbers]),
            "c4": pa.array(numbers, pa.timestamp("us", "UTC")),
            OP: pa.array(kinds, pa.int8()),
            SEQ: pa.array(numbers + epoch * changes, pa.int64()),
        },
    )
    path = folder / f"{uuid.uuid4().hex}.parquet"
    pq.write_table(rows, path, compression="zstd", store_schema=False)
    return StagedFile(path=str(path), rows=changes, bytes=path.stat().st_size)


def filled(lake: Lake, catalog: Catalog, size: int) -> str:
    """A table of `size` rows."""
    name = f"rows_{size}"
    catalog.create_table(statement(TABLE.format(name=name)), "bench")
    lake.iceberg().spark.range(0, size, 1, 4).selectExpr(
        "id",
        "CAST(id % 1000 AS INT) AS c1",
        "concat('name-', id) AS c2",
        "timestamp_micros(id * 1000) AS c4",
    ).writeTo(f"lake.bench.{name}").append()
    return name


def prepared(name: str, epoch: int, file: StagedFile, last: int | None, where: str | None = None) -> ChannelCommit:
    """The next epoch of that table; `last`: the snapshot of the one before."""
    return ChannelCommit(
        token=name,
        epoch=epoch,
        fingerprint="",
        db="bench",
        table=name,
        files=(file,),
        columns=tuple(MappedColumn(target=column, expression=f"`{column}`") for column in COLUMNS),
        keys=("id",),
        where=where,
        last=LastCommit(epoch=epoch - 1, snapshot=last),
    )


def measured(
    lake: Lake, folder: Path, sizes: dict[str, int], epochs: int, changes: int
) -> dict[str, tuple[float, float]]:
    """Median seconds and mean CPU seconds of an epoch by table, in turn, the first third left out."""
    assert lake.pid is not None
    jvm = psutil.Process(lake.pid)
    seconds: dict[str, list[float]] = {name: [] for name in sizes}
    cpu: dict[str, list[float]] = {name: [] for name in sizes}
    last: dict[str, int | None] = dict.fromkeys(sizes)
    for epoch in range(1, epochs + 1):
        for name, size in sizes.items():
            commit = prepared(name, epoch, segment(folder, epoch, size, changes), last[name])
            began, used = time.monotonic(), sum(jvm.cpu_times()[:2])
            last[name] = lake.commit(commit).snapshot
            seconds[name].append(time.monotonic() - began)
            cpu[name].append(sum(jvm.cpu_times()[:2]) - used)
            assert lake.index("bench", name).state == "ready"
            if epoch % UPKEEP_EPOCHS == 0:
                lake.upkeep("bench", name)
    warm = epochs // 3
    return {name: (statistics.median(seconds[name][warm:]), statistics.mean(cpu[name][warm:])) for name in sizes}


def indexed(lake: Lake, name: str) -> None:
    """Builds the index of a table, saves it, and loads it again as the next start does."""
    iceberg = lake.iceberg()
    table = iceberg.load("bench", name)
    index = indexing_of(lake, "bench", name)
    began = time.monotonic()
    with index.lock:
        index.usable(iceberg, table)
    index.follow_up(iceberg, lambda: iceberg.load("bench", name))
    built = time.monotonic() - began
    index.save(now=True)
    again = Indexing(lake._indexes.folder, IndexBudget(lambda: 2**40), f"bench.{name}")
    began = time.monotonic()
    with again.lock:
        assert again.usable(iceberg, iceberg.load("bench", name)) is not None
    loaded, standing = time.monotonic() - began, index.standing()
    print(
        f"{standing.rows:>9} rows: index built in {built:.2f} s, loaded in {loaded:.2f} s,"
        f" {standing.bytes / standing.rows:.1f} bytes a row",
        flush=True,
    )


def main(epochs: int = 30, changes: int = 20_000) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lake = new_lake(folder)
        lake.start()
        lake.ready()
        catalog = Catalog(lake.tables, lambda _db, _table: None)
        catalog.create_database("bench", if_not_exists=False)
        sizes = {filled(lake, catalog, size): size for size in SIZES}
        for table in sizes:
            indexed(lake, table)
        found = measured(lake, folder, sizes, epochs, changes)
        for table, (seconds, cpu) in found.items():
            print(f"{sizes[table]:>9} rows: {seconds:.3f} s, {cpu:.2f} CPU s an epoch of {changes} changes")
        smallest = next(iter(found.values()))[0]
        for table, (seconds, _) in found.items():
            print(f"{sizes[table]:>9} rows against {SIZES[0]}: {seconds / smallest:.2f}")
        assert lake.pid is not None
        print(f"JVM: {psutil.Process(lake.pid).memory_info().rss / 1e6:.0f} MB")
        lake.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
