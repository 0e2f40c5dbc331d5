"""Several channels of one real Iceberg table: each changes the rows of its own part alone."""

import random
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn, literal
from syncmgr.job.channel.shard import Part
from syncmgr.job.ddl.lake_change import AddField, EmptyTable, FillField, LakeChange
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, LastCommit
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.commit import rows
from tests.contract.lake.foreign.test_lake_foreign_settings import cured
from tests.support.spark_session import SPARK, LakeTable, Tables, in_pyiceberg, rewrite

INS, UPD, DEL = ChangeKind
pytestmark = SPARK

DEFINITION = "(db VARCHAR(64) NOT NULL, id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(db, id) PARTITION BY (db)"
NAMES = ("one", "it's two", "ünf")


class Shard:
    """One channel of a table that it shares."""

    def __init__(self, table: LakeTable, name: str) -> None:
        self.table, self.part = replace(table, token=f"{table.name}-{name}"), Part(column="db", value=name)
        self.rows: dict[int, int | None] = {}

    def apply(self, *changes: tuple[object, ...]) -> ChannelCommitted:
        done = self.table.apply(self.commit(*changes))
        for kind, key, value in changes:
            self.rows.pop(key, None) if kind == DEL else self.rows.update({key: value})  # type: ignore[call-overload]
        return done

    def commit(self, *changes: tuple[object, ...]) -> ChannelCommit:
        commit = self.table.prepared(changes)
        constant = MappedColumn(target="db", expression=literal(self.part.value), constant=self.part.value)
        return replace(commit, columns=(*commit.columns, constant), keys=("db", "id"), part=self.part)

    def alter(self, *changes: LakeChange) -> ChannelCommitted:
        self.table.epoch += 1
        alter = ChannelAlter(
            token=self.table.token,
            epoch=self.table.epoch,
            fingerprint=f"epoch {self.table.epoch}",
            db=self.table.db,
            table=self.table.name,
            changes=changes,
            last=LastCommit(epoch=self.table.borne, snapshot=self.table.last_snapshot),
            part=self.part,
        )
        done = self.table.lake.alter(alter)
        assert self.table.lake.alter(alter).passed_over
        self.table.last_snapshot = done.snapshot or self.table.last_snapshot
        return done


def expected(shards: list[Shard]) -> list[tuple[object, ...]]:
    return sorted((shard.part.value, key, value) for shard in shards for key, value in shard.rows.items())


@pytest.fixture
def spark_wrote(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """How many epochs of a table Spark wrote."""
    seen: list[str] = []
    write = rows.write
    monkeypatch.setattr(rows, "write", lambda *told: (seen.append(told[1].table), write(*told)))
    return seen.count


@pytest.mark.parametrize("version", [3, pytest.param(2, marks=pytest.mark.long)])
def test_shards_that_have_the_same_keys_do_not_meet(
    tables: Tables, spark_wrote: Callable[[str], int], version: int
) -> None:
    """Random changes in turns: each snapshot comes behind the one before, and with the index none needs Spark or an
    equality delete.
    """
    table = tables.make(f'{DEFINITION} PROPERTIES ("format-version" = "{version}")')
    shards, dice = [Shard(table, name) for name in NAMES], random.Random(version)
    sequences = []
    for _ in range(24):
        shard = dice.choice(shards)
        changes = []
        there = set(shard.rows)
        for key in dice.sample(range(30), 8):
            kind = dice.choice([UPD, DEL]) if key in there else INS
            changes.append((kind, key, dice.randrange(10**6)))
        done = shard.apply(*changes)
        sequences.append(done.sequence)
    assert sequences == sorted(set(sequences))
    assert table.in_spark("db, id, v") == expected(shards)
    assert spark_wrote(table.name) == table.files(2) == 0
    assert sorted(in_pyiceberg(table)) == expected(shards)
    assert table.indexing.standing().missing == 0


def test_what_is_done_to_a_part_leaves_the_others(tables: Tables) -> None:
    """Emptied, filled with a value, and changed again behind it, with deletes and the index in force."""
    table = tables.make(DEFINITION)
    one, two, three = shards = [Shard(table, name) for name in NAMES]
    for shard in shards:
        shard.apply(*((INS, number, number) for number in range(5)))
        shard.apply((DEL, 0, 0), (UPD, 1, 100))
    assert not table.lake.tables.is_empty(table.db, table.name, two.part)
    two.alter(EmptyTable())
    two.rows.clear()
    assert table.lake.tables.is_empty(table.db, table.name, two.part)
    assert table.in_spark("db, id, v") == expected(shards)
    two.apply((INS, 1, 7))
    one.apply((UPD, 2, 8), (DEL, 3, 0))
    assert table.in_spark("db, id, v") == expected(shards)

    one.alter(AddField(name="c", type=TargetType(name="INT")), FillField(name="c", value="5"))
    assert set(table.in_spark("db, c")) == {
        (one.part.value, 5),
        (two.part.value, None),
        (three.part.value, None),
    }
    three.alter(FillField(name="c", value="6"))
    assert set(table.in_spark("db, c")) == {(one.part.value, 5), (two.part.value, None), (three.part.value, 6)}
    for shard in shards:
        shard.apply((UPD, 1, 11), (INS, 50, 1))
    assert table.in_spark("db, id, v") == expected(shards)
    assert table.indexing.standing().missing == 0


def test_somebody_else_is_foreign_to_the_part_that_is_written(tables: Tables) -> None:
    """What another user writes into the table may have any key: it makes inserts look for theirs."""
    table = tables.make(DEFINITION)
    one, two = Shard(table, "one"), Shard(table, "two")
    one.apply((INS, 1, 1))
    two.apply((INS, 1, 1))
    table.sql("INSERT INTO {table} VALUES ('two', 9, 9)")
    two.apply((INS, 9, 10))
    assert table.in_spark("db, id, v") == expected([one, two])


def test_keys_of_strings_are_those_of_their_files(tables: Tables) -> None:
    """A constant in the key has the same number in an epoch as in the files that it left."""
    columns = "(db STRING NOT NULL, id VARCHAR(9) NOT NULL, v BIGINT) UNIQUE KEY(db, id) PARTITION BY (db)"
    table = tables.make(columns, ("id", "v"), types={"id": pa.string()})
    one = Shard(table, "it's \\ one")
    one.table.apply(one.commit((INS, "a", 1), (INS, "b", 2)))
    one.table.apply(one.commit((UPD, "a", 3), (DEL, "b", 0)))
    assert table.in_spark("db, id, v") == [("it's \\ one", "a", 3)]
    assert table.files(2) == 0


def mixed(table: LakeTable, *, comes_back: bool) -> None:
    """Another engine removes the partition field, and rewrites the files."""
    table.sql("ALTER TABLE {table} DROP PARTITION FIELD db")
    rewrite(table)
    if comes_back:
        table.sql("ALTER TABLE {table} ADD PARTITION FIELD db")


@pytest.mark.parametrize(
    ("change", "comes_back"),
    [
        pytest.param(EmptyTable(), False, id="emptied", marks=pytest.mark.slow),
        pytest.param(FillField(name="v", value="6"), True, id="filled, with a new one"),
        pytest.param(EmptyTable(), True, id="emptied, with a new one", marks=pytest.mark.slow),
        pytest.param(FillField(name="v", value="6"), False, id="filled", marks=pytest.mark.slow),
    ],
)
def test_a_part_whose_rows_share_files_with_others_is_not_replaced(
    tables: Tables, change: LakeChange, *, comes_back: bool
) -> None:
    """The table stops before a row is written, and goes on once the field is there and the files are rewritten."""
    table = tables.make(DEFINITION)
    one, two, _ = shards = [Shard(table, name) for name in NAMES]
    for shard in shards:
        shard.apply((INS, 1, 1), (INS, 2, 2))
    mixed(table, comes_back=comes_back)
    one.apply((UPD, 1, 5), (DEL, 2, 0), (INS, 3, 3))  # rows alone go on
    cured(table, lambda: two.alter(change))
    two.table.epoch -= 1
    assert table.stray_files() == set()
    two.alter(change)
    if isinstance(change, EmptyTable):
        two.rows.clear()
    else:
        two.rows = dict.fromkeys(two.rows, 6)
    assert table.in_spark("db, id, v") == expected(shards)
    for shard in shards:
        shard.apply((INS, 9, 9))
    assert table.in_spark("db, id, v") == expected(shards)


def test_a_part_that_has_files_of_its_own_is_replaced(tables: Tables) -> None:
    """Without the partition field, as long as no file has rows of two parts."""
    table = tables.make(DEFINITION)
    one, two = Shard(table, "one"), Shard(table, "two")
    one.apply((INS, 1, 1))
    two.apply((INS, 1, 1))
    table.sql("ALTER TABLE {table} DROP PARTITION FIELD db")
    one.apply((INS, 2, 2))
    two.apply((INS, 2, 2))
    two.alter(EmptyTable())
    two.rows.clear()
    assert table.in_spark("db, id, v") == expected([one, two])


def test_a_part_whose_column_was_renamed_is_not_replaced(tables: Tables) -> None:
    """The error names the column, as it does for rows."""
    table = tables.make(DEFINITION)
    one = Shard(table, "one")
    one.apply((INS, 1, 1))
    table.sql("ALTER TABLE {table} RENAME COLUMN db TO theirs")
    with pytest.raises(SyncError) as caught:
        one.alter(EmptyTable())
    assert caught.value.code is Code.UNKNOWN_COLUMN
