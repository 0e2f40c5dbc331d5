"""Commits of epochs into real Iceberg tables."""

import datetime as dt
import random
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelAlter, LastCommit
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.iceberg.ancestry import token_property
from syncmgr.lake.upkeep.fold import Fold
from tests.support import stored
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables, coming_after

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def fold(table: LakeTable) -> None:
    Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()


def replayed(model: dict[Any, Any], changes: list[tuple[Any, ...]]) -> None:
    """What a MySQL replica would make of the changes."""
    for op, key, value in changes:
        if op == DEL:
            model.pop(key, None)
        else:
            model[key] = value


def random_changes(rng: random.Random, model: dict[int, int], count: int) -> list[tuple[int, int, int]]:
    """Changes as a binlog would have them: inserts of new keys, updates and deletes of those that are there."""
    state = dict(model)
    changes: list[tuple[int, int, int]] = []
    for number in range(count):
        key = rng.randrange(count)
        op = rng.choice([UPD, UPD, DEL]) if key in state else INS
        changes.append((op, key, number))
        replayed(state, [changes[-1]])
    return changes


@pytest.mark.parametrize(
    "place",
    some_slow(
        ["", "DISTRIBUTED BY HASH(id) BUCKETS 4", "PARTITION BY (truncate(10, id), bucket(2, id))"],
        always=["", "PARTITION BY (truncate(10, id), bucket(2, id))"],
    ),
)
def test_epochs_make_the_table_equal_to_its_source(tables: Tables, place: str) -> None:
    """Whatever a binlog holds, after each epoch the table has the rows of the source, however it is partitioned."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    rng, model = random.Random(1), dict[int, int]()
    for _ in range(3):
        changes = random_changes(rng, model, 30)
        replayed(model, changes)
        table.commit(changes[:10], changes[10:])
        assert sorted(model.items()) == table.rows()


def test_a_second_commit_is_passed_over(tables: Tables) -> None:
    """An epoch that a table bears is not committed again, and its snapshot is told."""
    table = tables.make()
    commit = table.prepared([(INS, 1, 1)])
    first = table.lake.commit(commit)
    second = table.lake.commit(commit)
    assert (first.passed_over, second.passed_over) == (False, True)
    assert first.snapshot == second.snapshot
    assert table.rows() == [(1, 1)]


def test_an_older_epoch_is_fenced(tables: Tables) -> None:
    """A table that bears a later epoch refuses an earlier one, and nothing is left behind."""
    table = tables.make()
    late = table.prepared([(INS, 1, 1)])
    table.commit([(INS, 2, 2)])
    with pytest.raises(SyncError) as caught:
        table.lake.commit(late)
    assert caught.value.code is Code.FENCED
    assert set() == table.stray_files()


def test_a_table_that_was_rolled_back_is_noticed(tables: Tables) -> None:
    """A table whose history lost the channel's last commit takes no more."""
    table = tables.make()
    first = table.commit([(INS, 1, 1)]).snapshot
    table.commit([(INS, 2, 2)])
    name = f"{table.db}.{table.name}"
    table.sql(f"CALL lake.system.rollback_to_snapshot('{name}', {first})")
    with pytest.raises(SyncError) as caught:
        table.commit([(INS, 3, 3)])
    assert caught.value.code is Code.TARGET_REPLACED
    assert set() == table.stray_files()


def test_a_foreign_commit_is_met_with_deletes(tables: Tables) -> None:
    """After somebody else wrote a row, an insert of the same key still leaves one row of it."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.sql("INSERT INTO {table} VALUES (2, 0)")
    table.commit([(INS, 2, 2)])
    assert table.rows() == [(1, 1), (2, 2)]


def test_foreign_rows_before_the_first_epoch_are_met(tables: Tables) -> None:
    """So do rows that came before the channel's first commit."""
    table = tables.make()
    table.sql("INSERT INTO {table} VALUES (1, 0)")
    table.commit([(INS, 1, 1)])
    assert table.rows() == [(1, 1)]


def test_upkeep_between_two_epochs(tables: Tables) -> None:
    """A fold of ours and a compaction of anybody leave a channel in peace."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.commit([(UPD, 1, 3)])
    fold(table)
    table.sql(f"CALL lake.system.rewrite_data_files('{table.db}.{table.name}', options => map('rewrite-all','true'))")
    table.commit([(UPD, 2, 4)])
    assert table.rows() == [(1, 3), (2, 4)]


def test_composite_keys(tables: Tables) -> None:
    """A key of several columns is one key; a change of the key comes as a delete and an insert."""
    table = tables.make(
        "(a BIGINT NOT NULL, b VARCHAR(9) NOT NULL, v BIGINT) UNIQUE KEY(a, b) DISTRIBUTED BY HASH(b) BUCKETS 3",
        ("a", "b", "v"),
        ("a", "b"),
        types={"b": pa.string()},
    )
    table.commit([(INS, 1, "x", 1), (INS, 1, "y", 2), (INS, 2, "x", 3)])
    table.commit([(UPD, 1, "y", 4), (DEL, 2, "x", 3), (DEL, 1, "x", 1), (INS, 3, "x", 1)])
    assert table.rows() == [(1, "y", 4), (3, "x", 1)]


def test_where_is_judged_on_the_last_image(tables: Tables) -> None:
    """A row whose last image is not TRUE for WHERE vanishes; NULL is not TRUE; a delete needs no WHERE."""
    table = tables.make(where="v > 10")
    table.commit([(INS, 1, 20), (INS, 2, 5), (INS, 3, None), (INS, 4, 30), (INS, 5, 40)])
    assert table.rows() == [(1, 20), (4, 30), (5, 40)]
    table.commit([(UPD, 1, 5), (UPD, 2, 15), (UPD, 4, 1), (UPD, 4, 31), (DEL, 5, 0)])
    assert table.rows() == [(2, 15), (4, 31)]


def test_expressions_fill_columns(tables: Tables) -> None:
    """A target column may be computed from any columns of the source row."""
    table = tables.make(
        "(id BIGINT NOT NULL, total BIGINT, label STRING) UNIQUE KEY(id)",
        ("id", "a", "b"),
        expressions={"id": "`id`", "total": "a + b", "label": "concat('n', a)"},
    )
    table.commit([(INS, 1, 2, 3), (INS, 2, None, 3)])
    assert table.rows() == [(1, 5, "n2"), (2, None, None)]


def test_inserts_alone_are_a_plain_append(tables: Tables) -> None:
    """With the index new keys leave nothing to delete; a key that the epoch changes again comes out right."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2), (UPD, 2, 3), (INS, 4, 4), (DEL, 4, 4)])
    assert table.files(2) == 0
    assert table.rows() == [(1, 1), (2, 3)]
    table.commit([(UPD, 1, 5), (DEL, 2, 3), (INS, 2, 6), (INS, 9, 9)])
    assert table.rows() == [(1, 5), (2, 6), (9, 9)]


def test_a_table_without_a_key_is_appended_to(tables: Tables) -> None:
    """Rows that look the same all stay."""
    table = tables.make("(id BIGINT, v BIGINT)", keys=(), where="v > 0")
    table.commit([(INS, 1, 1), (INS, 1, 1), (INS, 2, 0)])
    table.commit([(INS, 1, 1)])
    assert table.rows() == [(1, 1)] * 3
    assert table.files(2) == 0


@pytest.mark.parametrize("changes", [[], [[(INS, 1, 1), (DEL, 1, 1)]]])
def test_an_epoch_of_nothing_is_remembered(tables: Tables, changes: list[list[tuple[int, ...]]]) -> None:
    """Where nothing is left to write the table bears the epoch all the same."""
    table = tables.make()
    commit = table.prepared(*changes)
    table.apply(commit)
    assert table.lake.commit(commit).passed_over
    assert table.rows() == []


NOON = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)  # noqa: DTZ001 - a DATETIME has no zone
TYPES: list[tuple[str, pa.DataType, list[Any]]] = [
    ("TINYINT", pa.int8(), [-128, 127]),
    ("SMALLINT", pa.uint8(), [0, 255]),
    ("SMALLINT", pa.int16(), [-32768, 32767]),
    ("INT", pa.uint16(), [0, 65535]),
    ("INT", pa.int32(), [-(2**31), 2**31 - 1]),
    ("BIGINT", pa.uint32(), [0, 2**32 - 1]),
    ("BIGINT", pa.int64(), [-(2**63), 2**63 - 1]),
    ("LARGEINT", pa.uint64(), [Decimal(0), Decimal(2**64 - 1)]),
    ("FLOAT", pa.float32(), [-1.5, 3.4e38]),
    ("DOUBLE", pa.float64(), [-1.5, 1.7e308]),
    ("DECIMAL(12,2)", pa.decimal128(12, 2), [Decimal("-9999999999.99"), Decimal("0.01")]),
    ("DECIMAL(38,10)", pa.decimal128(38, 10), [Decimal("1234567890123456789012345678.0123456789")]),
    ("DATE", pa.date32(), [dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(9999, 12, 31)]),
    ("DATETIME", pa.timestamp("us"), [NOON, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]),  # noqa: DTZ001
    ("TIMESTAMP", pa.timestamp("us", "UTC"), [NOON, dt.datetime(1970, 1, 1, 0, 0, 1)]),  # noqa: DTZ001
    ("DATETIME", pa.timestamp("us", "UTC"), [NOON]),
    ("STRING", pa.string(), ["", "héllo 🐬", "it's \\ \0"]),
    ("STRING", pa.uint64(), ["18446744073709551615"]),
    ("STRING", pa.decimal128(20, 10), ["0.0000000100"]),
    ("JSON", pa.string(), ['{"a": 1}']),
    ("BINARY", pa.binary(), [b"", b"\x00\xff"]),
]


def test_every_type_arrives_as_it_left(tables: Tables) -> None:
    """Each Arrow type of a segment, at the ends of its range and NULL, reads back as the same value."""
    names = [f"c{place}" for place in range(len(TYPES))]
    columns = ", ".join(f"{name} {word}" for name, (word, _, _) in zip(names, TYPES, strict=True))
    table = tables.make(
        f"(id BIGINT NOT NULL, {columns}) UNIQUE KEY(id)",
        ["id", *names],
        types={name: kind for name, (_, kind, _) in zip(names, TYPES, strict=True)},
    )
    expected, sent = [], []
    for row in range(4):
        values = [found[row] if row < len(found) else None for _, _, found in TYPES]
        expected.append((row, *values))
        sent.append((INS, row, *(as_sent(value, kind) for value, (_, kind, _) in zip(values, TYPES, strict=True))))
    table.commit(sent)
    assert expected == [tuple(pytest.approx(v) if isinstance(v, float) else v for v in r) for r in table.rows()]


def as_sent(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_integer(kind):
        return int(value)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    return value.replace(tzinfo=dt.UTC) if getattr(kind, "tz", None) else value


def test_a_value_that_does_not_fit_is_told(tables: Tables) -> None:
    """Nothing wraps: the commit fails with the column's name, and nothing is left behind."""
    table = tables.make("(id BIGINT NOT NULL, w BIGINT, v INT) UNIQUE KEY(id)", ("id", "w", "v"))
    with pytest.raises(SyncError, match=r"Column 'v' of table") as caught:
        table.commit([(INS, 1, 1, 2**31)])
    assert caught.value.code is Code.SOURCE_VALUE
    assert set() == table.stray_files()
    assert table.rows() == []


def test_a_value_that_does_not_fit_is_told_though_its_files_stay(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they cannot be deleted, as in a store that is away: another error would be tried again for ever."""
    table, asked = tables.make("(id BIGINT NOT NULL, v INT) UNIQUE KEY(id)"), list[str]()

    def refuse(path: str) -> None:
        asked.append(path)
        table.lake.iceberg().jvm.java.lang.Integer.parseInt("away")

    table.expressions = {"id": "`id`", "v": "CAST(`v` AS BIGINT) + 1"}
    monkeypatch.setattr(table.lake.iceberg(), "delete", refuse)
    with pytest.raises(SyncError, match=r"Column 'v' of table") as caught:
        table.commit([(INS, 1, 2**31)])
    assert caught.value.code is Code.SOURCE_VALUE
    assert asked


def test_null_in_a_column_that_takes_none_is_told(tables: Tables) -> None:
    """NOT NULL holds."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT NOT NULL) UNIQUE KEY(id)")
    with pytest.raises(SyncError, match=r"Column 'v' .* holds NULL"):
        table.commit([(INS, 1, None)])
    table.epoch -= 1
    table.commit([(INS, 1, 1), (DEL, 2, None)])
    assert table.rows() == [(1, 1)]


def test_a_column_that_nobody_fills(tables: Tables) -> None:
    """A nullable column is NULL, a NOT NULL one is refused by name."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)", ("id",))
    table.commit([(INS, 1)])
    assert table.rows() == [(1, None)]
    strict = tables.make("(id BIGINT NOT NULL, v BIGINT NOT NULL) UNIQUE KEY(id)", ("id",))
    with pytest.raises(SyncError) as caught:
        strict.commit([(INS, 1)])
    assert caught.value.code is Code.COLUMN_NOT_COVERED


def test_a_table_that_is_not_there(tables: Tables) -> None:
    """A dropped target is told by name."""
    table = tables.make()
    commit = table.prepared([(INS, 1, 1)])
    with pytest.raises(SyncError) as caught:
        table.lake.commit(replace(commit, table="nothing"))
    assert caught.value.code is Code.NO_SUCH_TABLE


def test_partition_values_of_any_text(tables: Tables) -> None:
    """A row finds its partition whatever its key holds, and so does its delete."""
    table = tables.make(
        "(region VARCHAR(20) NOT NULL, at DATETIME NOT NULL, v BIGINT) UNIQUE KEY(region, at) "
        "PARTITION BY (region, day(at))",
        ("region", "at", "v"),
        ("region", "at"),
        types={"region": pa.string(), "at": pa.timestamp("us")},
    )
    regions = ["a/b=c", "", "null", "ü %20", "'"]
    table.commit([(INS, region, NOON, 1) for region in regions])
    table.commit([(UPD, region, NOON, 2) for region in regions])
    assert sorted((region, NOON, 2) for region in regions) == table.rows()
    table.commit([(DEL, region, NOON, 2) for region in regions[1:]])
    assert [(regions[0], NOON, 2)] == table.rows()


def test_a_column_that_was_renamed_is_found_by_its_id(tables: Tables) -> None:
    """Files carry field ids, so a new name changes neither rows nor deletes."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.sql("ALTER TABLE {table} RENAME COLUMN id TO number")
    table.sql("ALTER TABLE {table} ALTER COLUMN v FIRST")
    table.expressions, table.keys = {"number": "`id`", "v": "`v`"}, ("number",)
    table.commit([(UPD, 1, 3)])
    assert table.in_spark("number, v") == [(1, 3), (2, 2)]
    table.lake.upkeep(table.db, table.name)
    assert table.in_spark("number, v") == [(1, 3), (2, 2)]


def test_a_lost_answer_is_asked_for_again(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit whose answer was lost counts once, and only the files that count stay."""
    table = tables.make()
    iceberg = table.lake.iceberg()
    finish = type(iceberg).finish
    commit = table.prepared([(INS, 1, 1)])

    def before(*_: object) -> int:
        raise ConnectionError

    def after(self: Any, transaction: Any) -> int:
        finish(self, transaction)
        raise ConnectionError

    for broken in (before, before, after):
        monkeypatch.setattr(type(iceberg), "finish", broken)
        with pytest.raises(SyncError) as caught:
            table.lake.commit(commit)
        assert caught.value.code is Code.LAKE_STARTING
    monkeypatch.undo()
    assert table.lake.commit(commit).passed_over
    assert table.rows() == [(1, 1)]
    assert set() == table.stray_files()


def test_the_token_outlives_its_snapshot(tables: Tables) -> None:
    """Expiry of every older snapshot neither forgets an epoch nor looks like a rollback."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    name, before = f"{table.db}.{table.name}", table.last_snapshot
    table.sql("INSERT INTO {table} VALUES (7, 7)")
    time_now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 60))
    table.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '{time_now}', 1)")
    assert (
        table.lake.iceberg().token(
            table.lake.iceberg().load(table.db, table.name),
            token_property(table.token),
        )
        == 1
    )
    assert before == table.last_snapshot
    table.commit([(INS, 2, 2)])
    assert table.rows() == [(1, 1), (2, 2), (7, 7)]


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "not indexed"])
def test_a_table_that_was_set_back_is_noticed(tables: Tables, *, indexed: bool) -> None:
    """A restored table lacks epochs that count: no commit, no change and no chunk goes on from there."""
    table = tables.make()
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    for key in (1, 2, 3):
        table.commit([(INS, key, key)])
    commit = coming_after(table.prepared([(INS, 4, 4)]), epoch=3)
    alter = ChannelAlter(
        token=table.token,
        epoch=4,
        fingerprint="",
        db=table.db,
        table=table.name,
        changes=(),
        last=LastCommit(epoch=3, snapshot=table.last_snapshot),
    )
    stored.set_back(table.lake.iceberg(), table.db, table.name)  # as after a restore
    for call in (lambda: table.lake.commit(commit), lambda: table.lake.alter(alter)):
        with pytest.raises(SyncError, match="has epoch 2 and had epoch 3 before") as caught:
            call()
        assert caught.value.code is Code.TARGET_SET_BACK
    assert table.rows() == [(1, 1), (2, 2)]


def test_a_table_that_is_newer_than_the_metadata_is_noticed(tables: Tables) -> None:
    """However far the numbers of the restored metadata have grown."""
    table = tables.make("(id BIGINT, v BIGINT)", keys=())
    for key in (1, 2, 3):
        table.commit([(INS, key, key)])
    for epoch, code in ((3, Code.OTHER_HISTORY), (2, Code.FENCED), (7, Code.OTHER_HISTORY)):
        late = coming_after(table.prepared([(INS, 9, 9)]), epoch=1)
        late = replace(late, epoch=epoch, fingerprint="another")
        with pytest.raises(SyncError) as caught:
            table.lake.commit(late)
        assert caught.value.code is code
    assert table.rows() == [(1, 1), (2, 2), (3, 3)]


def test_a_table_that_has_forgotten_the_job_is_noticed(tables: Tables) -> None:
    """It was created again under its name; if somebody took our properties away, its snapshots show the epoch."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    second = table.prepared([(INS, 2, 2)])
    table.sql(f"ALTER TABLE {{table}} UNSET TBLPROPERTIES ('{token_property(table.token)}')")
    table.apply(second)
    assert table.rows() == [(1, 1), (2, 2)]
    late = table.prepared([(INS, 3, 3)])
    table.sql("DROP TABLE {table}")
    tables.make(name=table.name)
    with pytest.raises(SyncError) as caught:
        table.lake.commit(late)
    assert caught.value.code is Code.TARGET_SET_BACK
    assert table.rows() == []


def test_another_history_under_the_same_number_is_refused(tables: Tables) -> None:
    """Metadata restored from before its last commit cuts other rows under the same number: they are not passed over."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    other = replace(table.prepared([(INS, 2, 2)]), epoch=1, fingerprint="another")
    with pytest.raises(SyncError, match="the metadata is older than the lake") as raised:
        table.apply(other)
    assert raised.value.code is Code.OTHER_HISTORY
    assert table.rows() == [(1, 1)]


def test_a_condition_that_fails_is_named(tables: Tables) -> None:
    """Where only WHERE computes, a value that it cannot take is told of WHERE, not of a column."""
    table = tables.make()
    commit = replace(table.prepared([(INS, 1, 1)]), where="CAST(concat('x', `v`) AS INT) = 1")
    with pytest.raises(SyncError, match="CAST") as raised:
        table.apply(commit)
    assert raised.value.code is Code.BAD_EXPRESSION
