"""Changes of schema in real Iceberg tables: once, at their place, with old and new rows right in every file."""

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import plan_channel
from syncmgr.job.ddl.ddl_plan import DdlStatement, Rules, plan_ddl
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    DropTable,
    EmptyTable,
    FillField,
    LakeChange,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.job.ddl_policy import OnDdl, deeds_of
from syncmgr.job.epoch import ChannelAlter, ChannelCommitted, LastCommit
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetType
from syncmgr.lake.commit.alter import Alter
from syncmgr.lake.commit.commit import Commit
from syncmgr.lake.cures import in_catalog
from syncmgr.lake.iceberg.java_api import listed
from syncmgr.lake.iceberg.transactions import MOST_SCHEMAS
from syncmgr.lake.index.indexing import IndexBudget, Indexing
from syncmgr.lake.upkeep.compaction import Compaction
from syncmgr.lake.upkeep.fold import Fold
from tests.support import stored
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Pausing, Rival, Tables

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
MANY = 26  # files that are worth a compaction


def kind(name: str, *args: int) -> TargetType:
    return TargetType(name=name, args=args)


def altering(table: LakeTable, *changes: LakeChange) -> ChannelAlter:
    """The next epoch, one of DDL."""
    table.epoch += 1
    return ChannelAlter(
        token=table.token,
        epoch=table.epoch,
        fingerprint=f"epoch {table.epoch}",
        db=table.db,
        table=table.name,
        changes=changes,
        last=LastCommit(epoch=table.borne, snapshot=table.last_snapshot),
    )


def alter(table: LakeTable, *changes: LakeChange) -> ChannelCommitted:
    done = table.lake.alter(altering(table, *changes))
    table.last_snapshot = done.snapshot if done.snapshot is not None else table.last_snapshot
    return done


ADDED = (  # type, what is told of it, what rows from before show
    ("TINYINT", "7", 7),
    ("BIGINT", "5000000000", 5_000_000_000),
    ("FLOAT", "1.5", 1.5),
    ("DOUBLE", "-2.25", -2.25),
    ("STRING", '"caf\\u00e9"', "caf\u00e9"),
    ("BINARY", '"00FF"', b"\x00\xff"),
    ("DATE", '"2024-02-29"', dt.date(2024, 2, 29)),
    ("DATETIME", '"2024-02-29T01:02:03.500000"', dt.datetime(2024, 2, 29, 1, 2, 3, 500000)),  # noqa: DTZ001 - it has none
    ("TIMESTAMP", '"2024-02-29T01:02:03.500000+00:00"', dt.datetime(2024, 2, 29, 1, 2, 3, 500000, dt.UTC)),
)


def test_rows_from_before_show_what_mysql_shows(tables: Tables) -> None:
    """Whatever the type, decimals of all sizes too, with a default and without one, in files that lack the column."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    added = [AddField(name=f"c_{word}", type=kind(word), initial=text) for word, text, _ in ADDED]
    nulls = [AddField(name=f"n_{word}", type=kind(word)) for word, _, _ in ADDED]
    decimals = [(5, 2), (12, 2), (20, 4), (38, 0)]
    for precision, scale in decimals:
        decimal = kind("DECIMAL", precision, scale)
        added.append(AddField(name=f"c_{precision}", type=decimal, initial=f'"{Decimal(1).scaleb(-scale):f}"'))
        nulls.append(AddField(name=f"n_{precision}", type=decimal))
    alter(table, *added, *nulls)
    expected: tuple[Any, ...] = (*(value for _, _, value in ADDED), *(Decimal(1).scaleb(-s) for _, s in decimals))
    nothing = (None,) * len(expected)
    names = ", ".join(f"`{change.name}`" for change in [*added, *nulls])
    shown = [_without_zone(row) for row in table.in_spark(f"id, {names}")]
    assert shown == [(key, *map(_plain, expected), *nothing) for key in (1, 2)]
    table.commit([(UPD, 1, 10), (INS, 3, 3)])  # new files have every column
    rows = [_without_zone(row) for row in table.in_spark(f"id, v, {names}")]
    assert rows[1] == (2, 2, *map(_plain, expected), *nothing)
    assert rows[0] == (1, 10, *nothing, *nothing)
    assert table.in_spark("count(*)")[0] == (3,)
    assert table.in_spark("c_5, n_20") == [(None, None), (None, None), (Decimal("0.01"), None)]


def test_the_metadata_of_a_table_do_not_grow_with_each_change(tables: Tables) -> None:
    """Schemas that no snapshot was written with are removed: every commit reads all of them, in the JVM of all jobs, so
    a source that altered a wide table endlessly would stop everyone. Those of snapshots stay, and so do their rows.
    """
    if stored.is_of_rest(tables.lake):
        pytest.skip("not every REST catalog can be told to remove schemas, so there they stay")
    table = tables.make()
    table.commit([(INS, 1, 1)])
    first = table.last_snapshot
    alter(table, RenameField(old="v", new="w"))
    schemas = []
    for number in range(6):
        alter(table, CommentField(name="w", comment=f"{'x' * (MOST_SCHEMAS // 3)}{number}"))
        metadata = table.lake.iceberg().load(table.db, table.name).operations().current()
        schemas.append({int(each.schemaId()) for each in listed(metadata.schemas())})
    assert max(map(len, schemas)) <= 5
    assert 0 in schemas[-1]
    assert table.in_spark("id, w") == [(1, 1)]
    (then,) = (
        table.lake.iceberg()
        .spark.sql(f"SELECT * FROM {in_catalog((table.db, table.name))} VERSION AS OF {first}")
        .collect()
    )
    assert then.asDict() == {"id": 1, "v": 1}


def _without_zone(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(_plain, row))


def _plain(value: object) -> object:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.parametrize("place", some_slow(["", "DISTRIBUTED BY HASH(id) BUCKETS 4"], always=[""]))
def test_a_table_of_v2_is_written_anew_with_what_mysql_shows(tables: Tables, place: str) -> None:
    """Whatever the type, beside other changes of the statement, once, and without the rows that were deleted."""
    table = tables.make(f'(id INT NOT NULL, v INT) UNIQUE KEY(id) {place} PROPERTIES ("format-version" = "2")')
    table.types = {"id": pa.int32(), "v": pa.int32()}
    fills = [FillField(name=f"c_{word}", value=text) for word, text, _ in ADDED]
    added = [AddField(name=f"c_{word}", type=kind(word)) for word, _, _ in ADDED]
    empty = alter(table, AddField(name="e", type=kind("INT")), FillField(name="e", value="1"))
    assert (empty.snapshot is None) is not stored.is_of_rest(table.lake)
    table.commit([(INS, key, key) for key in range(1, 5)])
    table.commit([(UPD, 1, 10), (DEL, 2, None)])
    decimal, odd = kind("DECIMAL", 20, 4), "it's a \\ \u00e9"
    more = [AddField(name="d", type=decimal), AddField(name="s", type=kind("STRING"))]
    texts = [FillField(name="d", value='"1.5000"'), FillField(name="s", value=json.dumps(odd))]
    change = altering(
        table, RenameField(old="v", new="w"), *added, *more, MoveField(name="s", after=None), *fills, *texts
    )
    done = table.lake.alter(change)
    assert done.snapshot is not None
    assert table.lake.alter(change).passed_over
    table.last_snapshot = done.snapshot
    names = ", ".join(f"`{change.name}`" for change in added)
    shown = (*(_plain(value) for _, _, value in ADDED), Decimal("1.5000"), odd)
    rows = [_without_zone(row) for row in table.in_spark(f"id, w, e, {names}, d, s")]
    assert rows == [(key, value, None, *shown) for key, value in ((1, 10), (3, 3), (4, 4))]
    table.columns, table.types = ("id", "w"), {"id": pa.int32(), "w": pa.int32()}
    table.commit([(UPD, 3, 30), (DEL, 4, None), (INS, 9, 9)])
    rows = [_without_zone(row) for row in table.in_spark("id, w, d, s")]
    assert rows == [(1, 10, Decimal("1.5000"), odd), (3, 30, None, None), (9, 9, None, None)]


@pytest.mark.parametrize(
    "place", some_slow(["", "DISTRIBUTED BY HASH(id) BUCKETS 4"], always=["DISTRIBUTED BY HASH(id) BUCKETS 4"])
)
def test_epochs_go_on_behind_every_change(tables: Tables, place: str) -> None:
    """Keys of old files are found behind each change, vectors and all; folds and compactions keep every value."""
    table = tables.make(f"(id INT NOT NULL, v INT, w DECIMAL(8,2) NOT NULL) UNIQUE KEY(id) {place}", ("id", "v", "w"))
    table.types = {"id": pa.int32(), "v": pa.int32(), "w": pa.decimal128(8, 2)}
    one = Decimal("1.00")
    table.commit([(INS, key, key, one) for key in range(1, 9)])
    alter(table, AddField(name="x", type=kind("INT"), initial="7"), RelaxField(name="w"))
    table.columns, table.types = ("id", "v", "w", "x"), table.types | {"x": pa.int32()}
    table.commit([(UPD, 1, 10, None, 70), (DEL, 2, None, None, None), (INS, 9, 9, one, None)])
    assert table.in_spark("id, v, w, x")[:3] == [(1, 10, None, 70), (3, 3, one, 7), (4, 4, one, 7)]
    alter(
        table, RenameField(old="x", new="v"), RenameField(old="v", new="x"), RetypeField(name="x", type=kind("BIGINT"))
    )
    table.columns = ("id", "x", "w", "v")
    table.types = table.types | {"x": pa.int64(), "v": pa.int32()}
    table.commit([(UPD, 3, 5_000_000_000, one, 1), (DEL, 4, None, None, None)])
    alter(table, DropField(name="w"), AddField(name="w", type=kind("DECIMAL", 12, 4), initial='"2.5000"'))
    table.types = table.types | {"w": pa.decimal128(12, 4)}
    alter(table, MoveField(name="w", after=None), CommentField(name="w", comment="moved"))
    table.commit([(UPD, 5, 50, Decimal("0.0001"), 51)])
    expected = [
        (1, 10, Decimal("2.5000"), 70),
        (3, 5_000_000_000, Decimal("2.5000"), 1),
        (5, 50, Decimal("0.0001"), 51),
        *((key, key, Decimal("2.5000"), 7) for key in (6, 7, 8)),
        (9, 9, Decimal("2.5000"), None),
    ]
    assert table.in_spark("id, x, w, v") == expected
    assert table.files(2) == 0
    Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()
    compact(table)
    assert table.in_spark("id, x, w, v") == expected
    table.commit([(UPD, 6, 60, Decimal("1.0000"), 61), (DEL, 7, None, None, None)])
    expected[3:5] = [(6, 60, Decimal("1.0000"), 61)]
    assert table.in_spark("id, x, w, v") == expected
    found = tables.catalog.table(table.db, table.name)
    assert [(c.name, c.type.text, c.comment) for c in found.columns] == [
        ("w", "DECIMAL(12,4)", "moved"),
        ("id", "INT", ""),
        ("x", "BIGINT", ""),
        ("v", "INT", ""),
    ]


def test_copied_rows_keep_what_they_show(tables: Tables) -> None:
    """Compaction writes the value of an added column into the files where it was not."""
    table = tables.make()
    for key in range(MANY):
        table.commit([(INS, key, key)])
    alter(
        table, AddField(name="x", type=kind("DECIMAL", 12, 2), initial='"1.50"'), AddField(name="y", type=kind("INT"))
    )
    alter(table, DropField(name="v"), AddField(name="v", type=kind("STRING"), initial='"new"'))
    table.columns, table.types = ("id", "x"), {"x": pa.decimal128(12, 2)}
    table.commit([(UPD, 1, Decimal("2.00"))])
    expected = [(0, Decimal("1.50"), None, "new"), (1, Decimal("2.00"), None, None)]
    assert table.in_spark("id, x, y, v")[:2] == expected
    before = table.files(0)
    rewritten = Compaction(table.lake.iceberg(), table.db, table.name, table.indexing).run()
    assert rewritten
    assert table.files(0) < before
    assert table.in_spark("id, x, y, v")[:2] == expected
    table.commit([(DEL, 0, None)])
    assert table.in_spark("id, x, y, v")[:1] == expected[1:]


def compact(table: LakeTable) -> None:
    table.lake.iceberg().spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{table.db}.{table.name}',"
        " options => map('rewrite-all', 'true'))"
    ).collect()


def test_a_key_column_is_renamed_and_widened(tables: Tables) -> None:
    """The rows of old files are still found by it."""
    table = tables.make("(id INT NOT NULL, v INT) UNIQUE KEY(id)")
    table.types = {"id": pa.int32(), "v": pa.int32()}
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    alter(table, RenameField(old="id", new="number"), RetypeField(name="number", type=kind("BIGINT")))
    table.columns, table.keys = ("number", "v"), ("number",)
    table.types = {"number": pa.int64(), "v": pa.int32()}
    table.commit([(UPD, 1, 10), (DEL, 2, None), (INS, 5_000_000_000, 3)])
    assert table.rows() == [(1, 10), (5_000_000_000, 3)]


def test_a_truncate_leaves_no_row_and_no_index_entry(tables: Tables) -> None:
    """Rows behind it come as into a new table; also where nothing was in it."""
    table = tables.make()
    assert (alter(table, EmptyTable()).snapshot is None) is not stored.is_of_rest(table.lake)
    table.commit([(INS, key, key) for key in range(5)])
    table.commit([(UPD, 1, 10), (DEL, 2, None)])
    done = alter(table, EmptyTable())
    assert done.snapshot is not None
    assert table.rows() == []
    table.commit([(INS, 1, 11), (INS, 7, 7)])
    table.commit([(UPD, 7, 70)])
    assert table.rows() == [(1, 11), (7, 70)]


def test_a_second_change_is_passed_over(tables: Tables) -> None:
    """A table that bears the epoch is left alone, whatever the change; one that bears a later one fences."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    change = altering(table, DropField(name="v"), AddField(name="v", type=kind("BIGINT"), initial="5"))
    assert [table.lake.alter(change).passed_over for _ in range(3)] == [False, True, True]
    assert table.rows() == [(1, 5)]
    table.commit([(INS, 2, 2)])
    with pytest.raises(SyncError) as caught:
        table.lake.alter(change)
    assert caught.value.code is Code.FENCED
    emptied = altering(table, EmptyTable())
    first, second = table.lake.alter(emptied), table.lake.alter(emptied)
    assert first.snapshot == second.snapshot


def test_a_table_is_dropped_once(tables: Tables) -> None:
    """However often it is tried; who has its name by then is another table, and one of a later epoch fences."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    found = tables.catalog.table(table.db, table.name)
    assert found.writers == (table.token,)
    change = altering(table, DropTable(uuid=found.uuid))
    assert [table.lake.alter(change).passed_over for _ in range(2)] == [False, True]
    assert table.name not in tables.catalog.tables(table.db)
    tables.catalog.make(found)
    assert table.lake.alter(change).passed_over
    again = tables.catalog.table(table.db, table.name)
    assert again.uuid != found.uuid
    table.last_snapshot = None
    table.epoch += 1
    table.commit([(INS, 2, 2)])
    with pytest.raises(SyncError) as caught:
        table.lake.alter(replace(change, changes=(DropTable(uuid=again.uuid),)))
    assert caught.value.code is Code.FENCED
    assert table.rows() == [(2, 2)]


@pytest.mark.parametrize("rivals", some_slow(["the same", "and the next epoch"], always=["and the next epoch"]))
def test_a_second_writer_changes_nothing_twice(tables: Tables, rivals: str) -> None:
    """Between every two calls another frontend makes the same change, and goes on: a column that was dropped and
    added stays the one that was added first, with the rows written into it.
    """
    at = 0
    while True:
        table = tables.make()
        table.commit([(INS, 1, 1)])
        change = altering(
            table, DropField(name="v"), AddField(name="v", type=kind("BIGINT"), initial="5"), EmptyTable()
        )

        def work(table: LakeTable = table, change: ChannelAlter = change) -> None:
            iceberg, indexing = table.lake.iceberg(), Indexing(tables.folder, IndexBudget(lambda: 2**30))
            table.last_snapshot = Alter(iceberg, change, indexing).run().snapshot
            if rivals == "and the next epoch":
                Commit(iceberg, table.prepared([(INS, 2, 2)]), [], indexing).run()

        rival = Rival(work)
        pausing = Pausing(table.lake.iceberg(), at, rival, table.indexing.lock)
        try:
            Alter(pausing, change, table.indexing).run()  # type: ignore[arg-type]
        except SyncError as error:
            assert error.code is Code.FENCED  # noqa: PT017 - only where the rival went on
        if pausing.thread is not None:
            pausing.thread.join()
        if not rival.ran:
            break
        if rival.error is not None:
            raise rival.error
        layout = table.lake.iceberg().layout(table.lake.iceberg().load(table.db, table.name))
        assert [field.id for field in layout.fields] == [1, 3]
        assert table.rows() == ([(2, 2)] if rivals == "and the next epoch" else [])
        at += 4
    assert at > 5


@pytest.mark.parametrize("version", ["3", "2"])
def test_a_type_that_changes_values_goes_on_in_a_column_of_its_own(tables: Tables, version: str) -> None:
    """Rows from before keep theirs in the old one, whatever is written behind the statement is in the new one."""
    properties = f'PROPERTIES ("format-version" = "{version}")'
    table = tables.make(f"(id BIGINT NOT NULL, b VARCHAR(20) NOT NULL) UNIQUE KEY(id) {properties}", ("id", "b"))
    table.types = {"b": pa.string()}
    text = SourceColumn(name="b", type="varchar", length=20, charset="utf8mb4", nullable=False)
    columns = (SourceColumn(name="id", type="bigint", nullable=False, key=1), text)
    channel = plan_channel(
        token=table.token,
        source=SourceTable(db="shop", name="t", columns=columns),
        unique_keys=[("id",)],
        target=tables.catalog.table(table.db, table.name),
        items=(),
        where=None,
    )
    rules = Rules(
        policy=OnDdl.EVOLVE,
        append_on_change=AppendOnChange.ERROR,
        describe=lambda channel: tables.catalog.table(channel.target_db, channel.target),
        deeds=deeds_of({"on_type_change": "new_column"}),
    )
    table.commit([(INS, 1, "5"), (INS, 2, "6"), (INS, 3, "7")])
    for definition, kind_of, rows in (
        ("INT NOT NULL", pa.int32(), [(UPD, 2, 60), (INS, 4, 40), (DEL, 3, None)]),
        ("DATE", pa.date32(), [(UPD, 1, dt.date(2024, 2, 29)), (INS, 5, None)]),
    ):
        statement = f"ALTER TABLE t MODIFY b {definition}"
        said = DdlStatement(text=statement, db="shop", modes=Modes(strict=True), moment=Moment(at=1))
        step = plan_ddl(said, [channel], rules)
        alter(table, *step.changes[table.token])
        channel = step.channels[table.token]
        table.expressions = {mapped.target: mapped.expression for mapped in channel.columns}
        table.types = {"b": kind_of}
        table.commit(rows)
    assert table.in_spark("id, b, b__2, b__3") == [
        (1, None, None, dt.date(2024, 2, 29)),
        (2, None, 60, None),
        (4, None, 40, None),
        (5, None, None, None),
    ]
