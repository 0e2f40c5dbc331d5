"""Runs the first epoch ahead of time: a JVM that has loaded and compiled nothing takes seconds for it.

Owns: a scratch table outside of the catalog, and the dummy epochs that go into it.
Must not know: real tables.
"""

import tempfile
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit, LastCommit, StagedFile
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.lake.commit.commit import Commit
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Field
from syncmgr.lake.index.indexing import IndexBudget, Indexing
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.storage.copies import Copies

EPOCHS: Final = 3
ROWS: Final = 2000
MOST_INDEX_BYTES: Final = 1_000_000
COLUMNS: Final = (
    Field(id=1, name="id", type="long", required=True),
    Field(id=2, name="words", type="string", required=False),
    Field(id=3, name="amount", type="decimal(12, 2)", required=False),
    Field(id=4, name="at", type="timestamptz", required=False),
)


class Scratch(Iceberg):
    """An Iceberg catalog of one table, which no catalog names."""

    def use(self, table: Java) -> None:
        self._table = table

    def load(self, db: str, table: str) -> Java:  # noqa: ARG002 - there is only one
        self._table.refresh()
        return self._table


def warm_up(iceberg: Iceberg) -> None:
    """Commits some epochs to a table that is deleted again. Raises whatever a commit raises."""
    with tempfile.TemporaryDirectory(prefix="syncmgr-warm-") as folder:
        scratch = Scratch(iceberg.spark, Copies(Path(folder) / "copies"))
        scratch.use(iceberg.scratch_table(COLUMNS, [1], f"{folder}/table"))
        snapshot, indexing = None, Indexing(Path(folder) / "index", IndexBudget(lambda: MOST_INDEX_BYTES))
        for epoch in range(1, EPOCHS + 1):
            commit = ChannelCommit(
                token="warm",  # noqa: S106 - a name, not a secret
                epoch=epoch,
                fingerprint="",
                db="scratch",
                table="scratch",
                files=(_segment(Path(folder) / f"{epoch}.parquet"),),
                columns=tuple(MappedColumn(target=c.name, expression=f"`{c.name}`") for c in COLUMNS),
                keys=("id",),
                where="id >= 0",
                last=LastCommit(epoch=epoch - 1, snapshot=snapshot),
            )
            snapshot = Commit(scratch, commit, [], indexing).run().snapshot


def _segment(path: Path) -> StagedFile:
    numbers = range(ROWS)
    rows = pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "words": pa.array([f"word {number}" for number in numbers]),
            "amount": pa.array(numbers, pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(12, 2)),
            "at": pa.array(numbers, pa.timestamp("us", "UTC")),
            OP: pa.array([number % len(ChangeKind) for number in numbers], pa.int8()),
            SEQ: pa.array(numbers, pa.int64()),
        },
    )
    pq.write_table(rows, path, compression="zstd", store_schema=False)
    return StagedFile(path=str(path), rows=ROWS, bytes=path.stat().st_size)
