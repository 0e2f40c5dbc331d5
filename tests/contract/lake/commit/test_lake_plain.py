"""Plain epochs are written without Spark: the table must not tell the difference."""

import datetime as dt
import itertools
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.commit import rows
from syncmgr.lake.storage.locations import local
from syncmgr.lake.storage.table_files import TableFiles
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables

INS, UPD, DEL = ChangeKind
pytestmark = SPARK

TYPES = {
    "id": pa.int64(),
    "small": pa.int8(),
    "wide": pa.uint64(),
    "number": pa.uint32(),
    "flag": pa.bool_(),
    "real4": pa.float32(),
    "real8": pa.float64(),
    "money": pa.decimal128(12, 2),
    "day": pa.date32(),
    "at": pa.timestamp("us"),
    "moment": pa.timestamp("us", "UTC"),
    "clock": pa.timestamp("us", "UTC"),
    "words": pa.string(),
    "bytes": pa.binary(),
}
COLUMNS = (
    "id BIGINT NOT NULL, small INT, wide DECIMAL(20,0), number BIGINT, flag BOOLEAN, real4 FLOAT, real8 DOUBLE,"
    " money DECIMAL(14,3), day DATE, at DATETIME, moment TIMESTAMP, clock DATETIME, words STRING, bytes VARBINARY(20)"
)


def image(dice: random.Random, key: int) -> tuple[object, ...]:
    """A row with a NULL here and there."""
    second = dt.timedelta(microseconds=dice.randrange(10**15))
    full = (
        dice.randrange(-128, 128),
        dice.randrange(2**64),
        dice.randrange(2**32),
        dice.random() < 0.5,
        dice.choice([0.0, -0.0, 1.5, 3.4028234663852886e38, 1e-45]),
        dice.uniform(-1e300, 1e300),
        Decimal(dice.randrange(-(10**12), 10**12)).scaleb(-2),
        dt.date(1, 1, 1) + dt.timedelta(days=dice.randrange(3_000_000)),
        dt.datetime(1000, 1, 1) + second,  # noqa: DTZ001 - MySQL's DATETIME has no zone
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + second,
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC) - second,
        dice.choice(["", "é\U0001f600", "a" * 500, "\x00b", " "]),
        dice.choice([b"", b"\xff\x00", bytes(range(256))]),
    )
    return (key, *(None if dice.random() < 0.1 else value for value in full))


def change_log(dice: random.Random, there: set[int], count: int) -> list[tuple[object, ...]]:
    changes: list[tuple[object, ...]] = []
    for _ in range(count):
        key = dice.randrange(40)
        kind = dice.choice([UPD, DEL]) if key in there else INS
        there.symmetric_difference_update({key} if kind != UPD else ())
        changes.append((kind, *image(dice, key)))
    return changes


@pytest.fixture
def spark_writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables of the epochs that Spark wrote."""
    seen: list[str] = []
    write = rows.write

    def counted(*arguments: object) -> None:
        seen.append(arguments[1].table)  # type: ignore[attr-defined]
        write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "write", counted)
    return seen


def twins(tables: Tables, definition: str, keys: Sequence[str]) -> tuple[LakeTable, LakeTable]:
    """A table with a plain channel, and one whose channel has a condition that is always true."""
    plain = tables.make(definition, tuple(TYPES), tuple(keys), types=TYPES)
    return plain, tables.make(definition, tuple(TYPES), tuple(keys), types=TYPES, where="1 = 1")


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(("id",), id="integer key", marks=pytest.mark.long),
        pytest.param(("id", "words"), id="hashed key"),
        pytest.param((), id="no key", marks=pytest.mark.slow),
    ],
)
def test_both_ways_make_the_same_table(tables: Tables, spark_writes: list[str], keys: tuple[str, ...]) -> None:
    """Rows of every type, several changes of a key and several files: what Arrow writes is what Spark writes."""
    names = ", ".join(keys)
    columns = COLUMNS.replace("words STRING", "words STRING NOT NULL") if "words" in keys else COLUMNS
    definition = f"({columns}) UNIQUE KEY({names})" if keys else f"({columns}) DUPLICATE KEY(id)"
    by_arrow, by_spark = twins(tables, definition, keys)
    dice, there = random.Random(7), set[int]()
    for _ in range(4):
        changes = change_log(dice, there, 60)
        if "words" in keys:
            changes = [(*row[:-2], f"key {row[1]}", row[-1]) for row in changes]
        for table in (by_arrow, by_spark):
            table.commit(changes[:20], changes[20:])
    assert by_arrow.rows() == by_spark.rows()
    assert by_arrow.rows()
    assert by_arrow.name not in spark_writes
    assert spark_writes.count(by_spark.name) == 4


def test_bounds_are_written(tables: Tables) -> None:
    """Readers skip files by the bounds of their columns, whoever wrote them."""
    by_arrow, by_spark = twins(tables, f"({COLUMNS}) UNIQUE KEY(id)", ["id"])
    found = []
    for table in (by_arrow, by_spark):
        table.commit([(INS, *image(random.Random(3), key)) for key in range(9)])
        spark = table.lake.iceberg().spark
        bounds = spark.sql(f"SELECT readable_metrics FROM lake.{table.db}.{table.name}.files").collect()
        found.append(
            {
                name: (metric["lower_bound"], metric["upper_bound"], metric["null_value_count"])
                for [row] in bounds
                for name, metric in row.asDict(recursive=True).items()
            }
        )
    assert found[0] == found[1]


def test_null_in_a_column_that_has_none_is_refused(tables: Tables, spark_writes: list[str]) -> None:
    """NULL for a NOT NULL column stops the table with the column's name, and leaves no file behind."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT NOT NULL) UNIQUE KEY(id)")
    table.commit([(INS, 1, 1)])
    for bad in ((INS, 2, None), (INS, None, 2)):
        with pytest.raises(SyncError) as caught:
            table.commit([(INS, 3, 3), bad])
        assert caught.value.code is Code.SOURCE_VALUE
        table.epoch -= 1
    assert table.rows() == [(1, 1)]
    assert not table.stray_files()
    table.commit([(INS, 2, 2)])
    assert table.rows() == [(1, 1), (2, 2)]
    assert len(spark_writes) == 1  # where a key is NULL Spark says so


def test_many_rows_go_to_spark(tables: Tables, spark_writes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch that is too big for the frontend's memory is streamed by Spark."""
    monkeypatch.setattr("syncmgr.lake.commit.arrow_writer.MOST_BYTES", 2000)
    table = tables.make()
    table.commit([(INS, key, key) for key in range(10)])
    assert not spark_writes
    table.commit([(UPD, key, -key) for key in range(1000)])
    assert spark_writes == [table.name]
    assert table.rows() == sorted((key, -key) for key in range(1000))


def test_a_full_disk_is_told(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk says comes up as the lake's error, and the same epoch can be tried again."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    table = tables.make()
    table.commit([(INS, 1, 1)])
    epoch = table.prepared([(UPD, 1, 2)])
    with monkeypatch.context() as patch:
        patch.setattr("syncmgr.lake.commit.arrow_writer.writer", full)
        with pytest.raises(SyncError, match="No space left"):
            table.apply(epoch)
    table.apply(epoch)
    assert table.rows() == [(1, 2)]
    assert not table.stray_files()


@pytest.mark.parametrize(
    ("name", "indexed"),
    some_slow(
        itertools.product(["else where", "else%20where", "100%", "what?", "a#b"], [True, False]),
        always=[("else where", True), ("else%20where", False), ("a#b", False)],
    ),
)
def test_a_location_of_odd_letters(tables: Tables, tmp_path: Path, name: str, *, indexed: bool) -> None:
    """An epoch has its rows wherever another engine lets the table lie; nothing is written anywhere else."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.sql(f"ALTER TABLE {{table}} SET LOCATION 'file:{tmp_path}/{name}'")
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(UPD, 1, 10), (INS, 3, 3)])
    table.commit([(UPD, 3, 30), (DEL, 2, 2)])
    assert table.in_spark() == [(1, 10), (3, 30)]  # pyiceberg takes a # for the end of the path
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [name]


def test_rows_that_are_not_found_are_not_left_out(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch whose files lie elsewhere than Iceberg looks is not committed; it is when they are found."""
    table = tables.make()
    commit = table.prepared([(INS, 1, 1)])
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(TableFiles, "place", lambda _, folder: local(folder.replace("/data/", "/else/")))
        with pytest.raises(SyncError, match="0 rows were found there, and 1 were written") as caught:
            table.apply(commit)
    assert caught.value.code is Code.LAKE_FAILED
    assert table.rows() == []
    table.apply(commit)
    assert table.rows() == [(1, 1)]
