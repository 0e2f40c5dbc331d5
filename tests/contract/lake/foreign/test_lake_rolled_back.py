"""Somebody rolls a table back: before the job knows that its last commit is in, or before snapshots are expired."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import EmptyTable, FillField, LakeChange
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.iceberg.ancestry import FILES_MARK
from tests.support.spark_session import FOREIGN_ROW, SPARK, LakeTable, Tables, changes_of, coming_after, rewrite

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def rolled_back(table: LakeTable, snapshot: int | None) -> None:
    table.sql(f"CALL lake.system.rollback_to_snapshot('{table.db}.{table.name}', {snapshot})")


@pytest.mark.parametrize(
    "indexed", [pytest.param(True, id="indexed"), pytest.param(False, id="not indexed", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("cut_off", [False, True], ids=["whole history", "expired history"])
def test_an_epoch_that_was_rolled_back_before_its_answer(tables: Tables, *, cut_off: bool, indexed: bool) -> None:
    """The token outlives a roll-back: an epoch whose rows have gone is not passed over, nor is anything behind it."""
    table = tables.make()
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, 1, 1)])
    table.commit([(INS, 2, 2)])
    died = table.prepared([(INS, 3, 3)])
    table.lake.commit(died)
    rolled_back(table, table.last_snapshot)
    if cut_off:
        table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")
    for _ in range(2):
        with pytest.raises(SyncError, match="of epoch 3") as caught:
            table.apply(died)
        assert caught.value.code is Code.TARGET_REPLACED
    assert table.rows() == [(1, 1), (2, 2)]


@pytest.mark.parametrize("change", [EmptyTable(), FillField(name="v", value="7")])
def test_a_statement_that_was_rolled_back_before_its_answer(tables: Tables, change: LakeChange) -> None:
    """So is a statement that has changed rows; one that has not leaves nothing that could go."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    died, before = changes_of(table, change), table.last_snapshot
    table.lake.alter(died)
    assert table.lake.alter(died).passed_over
    rolled_back(table, before)
    with pytest.raises(SyncError) as caught:
        table.lake.alter(died)
    assert caught.value.code is Code.TARGET_REPLACED
    assert table.rows() == [(1, 1)]


@pytest.mark.parametrize("change", [EmptyTable(), FillField(name="v", value="7")])
def test_a_statement_on_a_table_that_was_empty_is_passed_over(tables: Tables, change: LakeChange) -> None:
    """It has left no snapshot, and none is missed, whoever comes behind it."""
    table = tables.make()
    died = changes_of(table, change)
    table.lake.alter(died)
    table.sql(FOREIGN_ROW)
    assert table.lake.alter(died).passed_over


def test_an_epoch_whose_snapshot_was_expired_is_passed_over(tables: Tables) -> None:
    """A history that was cut off does not tell that anything was rolled back."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    died = table.prepared([(INS, 2, 2)])
    table.lake.commit(died)
    rewrite(table)
    table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")
    assert table.apply(died).passed_over
    table.commit([(INS, 3, 3)])
    assert table.rows() == [(1, 1), (2, 2), (3, 3)]


def test_a_table_that_was_rolled_back_rewritten_and_expired(tables: Tables) -> None:
    """Where the expiry has cut the history off, the older metadata of the table tell what went before."""
    table = tables.make()
    first = table.commit([(INS, 1, 1)]).snapshot
    table.commit([(INS, 2, 2)])
    rolled_back(table, first)
    rewrite(table)
    table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")
    with pytest.raises(SyncError) as caught:
        table.commit([(INS, 3, 3)])
    assert caught.value.code is Code.TARGET_REPLACED
    assert table.rows() == [(1, 1)]


def test_a_roll_back_behind_an_epoch_whose_snapshot_alone_was_expired(tables: Tables) -> None:
    """The epoch was passed over by what older metadata tell, and a tag has kept the snapshot before it: whoever makes
    that the current one has taken the epoch's rows away.
    """
    table = tables.make()
    first = table.commit([(INS, 1, 1)]).snapshot
    table.sql(f"ALTER TABLE {{table}} CREATE TAG kept AS OF VERSION {first}")
    died = table.prepared([(INS, 2, 2)])
    second = table.lake.commit(died).snapshot
    table.sql(FOREIGN_ROW)
    name = f"{table.db}.{table.name}"
    table.sql(f"CALL lake.system.expire_snapshots(table => '{name}', snapshot_ids => ARRAY({second}))")
    assert table.apply(died).passed_over
    table.sql(f"CALL lake.system.set_current_snapshot('{name}', {first})")
    with pytest.raises(SyncError) as caught:
        table.commit([(INS, 3, 3)])
    assert caught.value.code is Code.TARGET_REPLACED


def test_a_roll_back_is_noticed_though_the_history_before_is_lost(tables: Tables) -> None:
    """The snapshot of the last commit is still in the table, and no longer in its history; older metadata have gone."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.sql(FOREIGN_ROW)
    table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")
    for number in range(22):
        table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('x' = '{number}')")
    foreign = table.lake.iceberg().load(table.db, table.name).currentSnapshot().snapshotId()
    table.commit([(INS, 2, 2)])
    rolled_back(table, foreign)
    with pytest.raises(SyncError) as caught:
        table.commit([(INS, 3, 3)])
    assert caught.value.code is Code.TARGET_REPLACED


@pytest.mark.parametrize("kind", ["another channel's", pytest.param("a compaction", marks=pytest.mark.slow)])
def test_a_roll_back_to_the_oldest_snapshot_is_noticed_after_everything_else_was_expired(
    tables: Tables, kind: str
) -> None:
    """It is none of the channel, and older metadata list its parent no more: it was committed before the channel's last
    one, so that one cannot have been expired.
    """
    table = tables.make()
    for key in range(3):
        table.commit([(INS, key, 0)])
    if kind == "a compaction":
        rewrite(table)
    else:
        replace(table, token="other", epoch=0, last_snapshot=None, last_sequence=0).commit([(INS, 500, 0)])
    oldest = table.lake.iceberg().load(table.db, table.name).currentSnapshot().snapshotId()
    table.commit([(INS, 10, 0)])
    table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 2)")
    for number in range(22):
        table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('x' = '{number}')")
    table.commit([(INS, 11, 0)])
    rolled_back(table, oldest)
    table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")
    with pytest.raises(SyncError) as caught:
        table.commit([(INS, 12, 0)])
    assert caught.value.code is Code.TARGET_REPLACED


def cut_short(table: LakeTable, snapshot: int | None) -> None:
    """Rolled back behind a foreign commit, with neither snapshots nor older metadata that show it."""
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '1')")
    rolled_back(table, snapshot)
    table.sql(FOREIGN_ROW)
    table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")
    table.sql("INSERT INTO {table} VALUES (501, -1)")


@pytest.mark.parametrize("answered", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_roll_back_is_noticed_though_others_have_removed_what_shows_it(tables: Tables, *, answered: bool) -> None:
    """Whoever lowers the number of older metadata that are kept makes an expiry look like a rollback: where the last
    commit has no file in the table either, it stops, and the message says what to set; only RESYNC TABLE helps.
    """
    table = tables.make()
    first = table.commit([(INS, 1, 1)]).snapshot
    second = table.prepared([(INS, 2, 2)])
    done = table.lake.commit(second)
    table.last_snapshot = done.snapshot if answered else first
    cut_short(table, first)
    with pytest.raises(SyncError, match="previous-versions-max") as caught:
        table.apply(table.prepared([(INS, 3, 3)]) if answered else second)
    assert caught.value.code is Code.TARGET_REPLACED
    assert table.rows() == [(1, 1), (500, -1), (501, -1)]


def test_an_expiry_by_others_stops_no_table_whose_older_metadata_are_gone(tables: Tables) -> None:
    """The files of the last commit are in the table, also where only its deletes are left of it."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    for change in [(INS, 3, 3), (DEL, 2, 0)]:
        table.commit([change])
        cut_short(table, table.last_snapshot)
    table.commit([(INS, 4, 4)])
    foreign = [(500, -1), (501, -1)]
    assert table.rows() == sorted([(1, 1), (3, 3), (4, 4), *foreign, *foreign])


def test_rows_that_were_rolled_back_can_still_be_read(tables: Tables) -> None:
    """An epoch whose answer was lost is committed again, since another engine has removed every trace of it from the
    table's history and properties: its first snapshot keeps its files.
    """
    table = tables.make()
    before = table.commit([(INS, 1, 1)]).snapshot
    died = table.prepared([(INS, 2, 2)])
    lost = table.lake.commit(died).snapshot
    iceberg = table.lake.iceberg()
    [snapshot, *_] = iceberg.history(iceberg.load(table.db, table.name), (FILES_MARK,))
    location = iceberg.load(table.db, table.name).location()
    table.lake._strays.of(died).append(f"{location}/data/{snapshot.marks[FILES_MARK]}")
    rolled_back(table, before)
    for kind in ("token", "fingerprint"):
        table.sql(f"ALTER TABLE {{table}} UNSET TBLPROPERTIES ('syncmgr.{kind}.{table.token}')")
    again = coming_after(died, epoch=1)
    assert not table.apply(again).passed_over
    assert table.rows() == [(1, 1), (2, 2)]
    then = iceberg.spark.sql(f"SELECT * FROM lake.{table.db}.{table.name} VERSION AS OF {lost}").collect()
    assert sorted(map(tuple, then)) == [(1, 1), (2, 2)]


@contextmanager
def unread(table: LakeTable) -> Iterator[None]:
    """Older metadata are on a disk that answers with an error."""
    metadata = table.lake.iceberg().load(table.db, table.name).operations().current()
    older = [Path(str(entry.file()).removeprefix("file:")) for entry in list(metadata.previousFiles())]
    kept = {path: path.read_bytes() for path in older}
    for path in kept:
        path.unlink()
        path.symlink_to("/proc/self/mem")
    try:
        yield
    finally:
        for path, content in kept.items():
            path.unlink()
            path.write_bytes(content)


@pytest.mark.parametrize("rolls_back", [False, True])
def test_older_metadata_that_cannot_be_read_for_a_moment_tell_nothing(tables: Tables, *, rolls_back: bool) -> None:
    """A table whose history was expired is committed to once they can be read, and one that was rolled back stops."""
    table = tables.make()
    first = table.commit([(INS, 1, 1)]).snapshot
    table.commit([(INS, 2, 2)])
    if rolls_back:
        rolled_back(table, first)
    rewrite(table)
    table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")
    commit = table.prepared([(INS, 3, 3)])
    with unread(table), pytest.raises(SyncError) as caught:
        table.apply(commit)
    assert caught.value.code is Code.LAKE_FAILED
    if not rolls_back:
        table.apply(commit)
        assert table.rows() == [(1, 1), (2, 2), (3, 3)]
        return
    with pytest.raises(SyncError) as caught:
        table.apply(commit)
    assert caught.value.code is Code.TARGET_REPLACED
