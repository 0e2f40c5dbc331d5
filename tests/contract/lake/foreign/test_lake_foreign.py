"""Somebody else commits to a table between two calls of a commit of ours, and Iceberg lets both pass; or a catalog says
that it has refused what it has taken.
"""

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField, EmptyTable, FillField
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.commit.vectors import Deletion
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.upkeep.compaction import Compaction, RewriteCommit
from syncmgr.lake.upkeep.fold import Fold
from tests.contract.index_state import entries, held, rebuilt
from tests.support.slow import some_slow
from tests.support.spark_session import (
    FOREIGN_ROW,
    SPARK,
    LakeTable,
    Tables,
    changes_of,
    coming_after,
    in_pyiceberg,
    partitioned_by,
    rewrite,
)

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def before(monkeypatch: pytest.MonkeyPatch, owner: type, method: str, work: Callable[[], Any]) -> None:
    """Somebody works right before the next call of a method; a Spark that has just started warms up beside the test."""
    real, thread = getattr(owner, method), threading.get_ident()

    def after_work(self: object, *arguments: object, **options: object) -> object:
        if threading.get_ident() != thread:
            return real(self, *arguments, **options)
        monkeypatch.setattr(owner, method, real)
        work()
        return real(self, *arguments, **options)

    monkeypatch.setattr(owner, method, after_work)


def assert_followed(table: LakeTable) -> None:
    """The index knows of every row; one that is stale and takes itself for ready does not."""
    assert entries(held(table)) == entries(rebuilt(table))


def test_new_keys_beside_a_rewrite(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that somebody rewrote during a commit of new keys alone are found by the next update and delete."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(10)])
    before(monkeypatch, Iceberg, "finish", lambda: rewrite(table))
    table.commit([(INS, 10, 0)])
    assert_followed(table)
    table.commit([(UPD, 5, 9), (UPD, 6, 9), (DEL, 7, 0)])
    expected = {key: 0 for key in range(11) if key != 7} | {5: 9, 6: 9}
    assert table.rows() == sorted(expected.items())
    assert table.indexing.standing().missing == 0


def test_changes_of_one_file_beside_rows_that_leave_another(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole file that somebody deleted during a commit to another one is forgotten."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(10)])
    table.commit([(INS, key, 0) for key in range(100, 110)])
    before(monkeypatch, Iceberg, "finish", lambda: table.sql("DELETE FROM {table} WHERE id < 50"))
    table.commit([(UPD, 100, 1)])
    assert_followed(table)
    table.commit([(INS, 3, 3), (UPD, 101, 2)])
    assert table.rows() == [(3, 3), (100, 1), (101, 2), *((key, 0) for key in range(102, 110))]


def own_compaction(table: LakeTable) -> object:
    return Compaction(table.lake.iceberg(), table.db, table.name, table.indexing).run()


def own_fold(table: LakeTable) -> object:
    return Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()


UPKEEP = [(own_compaction, RewriteCommit, "commit"), (own_fold, Deletion, "add_to")]


@pytest.mark.parametrize(("work", "owner", "method"), UPKEEP)
def test_a_foreign_row_beside_our_own_upkeep(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, work: Callable[[LakeTable], object], owner: type, method: str
) -> None:
    """A row that somebody inserts during our compaction or fold is met by the source's changes of its key."""
    table = tables.make()
    for key in range(9):
        table.commit([(INS, key, 0)])
    if work is own_fold:
        table.indexing.give_up(ValueError("switched off by the test"))
        table.commit([(UPD, 1, 1)])
        table.indexing._off_until = 0.0
    kept = table.rows()
    before(monkeypatch, owner, method, lambda: table.sql(FOREIGN_ROW))
    assert work(table)
    assert table.rows() == [*kept, (500, -1)]
    assert_followed(table)
    table.commit([(INS, 500, 1)])
    assert table.rows() == [*kept, (500, 1)]
    table.commit([(DEL, 500, 0)])
    assert table.rows() == kept


def test_a_compaction_after_a_fold_beside_a_foreign_row(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold that the index has to look for leaves nothing behind that stops the commits after a compaction."""
    table = tables.make()
    for key in range(9):
        table.commit([(INS, key, 0), (INS, 100 + key, 0)])
    table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(UPD, 1, 1)])
    table.indexing._off_until = 0.0
    kept = table.rows()
    before(monkeypatch, Deletion, "add_to", lambda: table.sql(FOREIGN_ROW))
    assert own_fold(table)
    assert own_compaction(table)
    table.commit([(DEL, 500, 0), (UPD, 0, 0)])
    assert table.rows() == kept
    assert_followed(table)


def test_others_get_through_beside_a_job(tables: Tables) -> None:
    """Beside a job that commits new rows every second others rewrite all files and insert rows of their own, and the
    source's changes meet every row afterwards.
    """
    table = tables.make()
    stop, failed, keys = threading.Event(), list[BaseException](), list[int]()

    def job() -> None:
        while not stop.wait(1.0):
            try:
                table.commit([(INS, len(keys), 0)])
            except BaseException as error:
                failed.append(error)
                raise
            keys.append(len(keys))

    table.commit([(INS, 1000, 0)])
    worker = threading.Thread(target=job)
    worker.start()
    try:
        for number in range(4):
            rewrite(table)
            table.sql(f"INSERT INTO {{table}} VALUES ({2000 + number}, -1)")
    finally:
        stop.set()
        worker.join()
    assert not failed
    assert_followed(table)
    known = [*keys, 1000, *range(2000, 2004)]
    table.commit([(UPD, key, 1) for key in known])
    assert table.rows() == [(key, 1) for key in sorted(known)]
    assert table.indexing.standing().missing == 0


def test_a_rewrite_into_another_partition_spec(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no index tells the old rows, somebody who moves them to other partitions during the commit is met."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 4")
    table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, key, 0) for key in range(8)])

    def moved() -> None:
        partitioned_by(table, "-id:4", "id:8")
        rewrite(table)

    before(monkeypatch, Iceberg, "finish", moved)
    table.commit([(UPD, 1, 1), (DEL, 2, 0), (INS, 8, 0)])
    assert table.rows() == sorted(({key: 0 for key in range(9) if key != 2} | {1: 1}).items())
    before(monkeypatch, Iceberg, "finish", lambda: rewrite(table))
    table.commit([(UPD, 3, 1)])
    assert table.rows() == sorted(({key: 0 for key in range(9) if key != 2} | {1: 1, 3: 1}).items())


def lost_answer(table: LakeTable) -> None:
    """Somebody inserts the key, and the frontend dies between its next commit and the answer."""
    table.sql(FOREIGN_ROW)
    died = table.prepared([(INS, 1, 1)])
    table.lake.commit(died)
    table.apply(died)


def expired(table: LakeTable) -> None:
    """Somebody inserts the key, rewrites all files, and expires what was before."""
    table.sql(FOREIGN_ROW)
    rewrite(table)
    table.sql("CALL lake.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2999-01-01')")


def filled(table: LakeTable) -> None:
    """Somebody inserts the key, and a statement then writes all rows anew."""
    table.sql(FOREIGN_ROW)
    changes = (AddField(name="w", type=TargetType(name="BIGINT")), FillField(name="w", value="7"))
    table.last_snapshot = table.lake.alter(changes_of(table, *changes)).snapshot


def read_again(table: LakeTable) -> None:
    """The same row comes in an epoch that was gathered of one that is in and one that is not."""
    table.lake.commit(table.prepared([(INS, 500, 1)]))


@pytest.mark.parametrize(
    "how", some_slow([lost_answer, expired, filled, read_again], always=[(lost_answer,), (expired,)])
)
def test_a_key_that_is_there_already(tables: Tables, how: Callable[[LakeTable], None]) -> None:
    """An insert of a key that the table has, whoever brought it and whatever came since, leaves one row of it."""
    table = tables.make()
    table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, 0, 0)])
    how(table)
    table.commit([(INS, 500, 1)], [(INS, 501, 1)])
    assert [row for row in table.in_spark("id, v") if row[0] >= 500] == [(500, 1), (501, 1)]


def refused(table: LakeTable) -> Py4JJavaError:
    """What a catalog says whose answer was lost, and which was asked again."""
    jvm = table.lake.iceberg().jvm
    conflict = jvm.org.apache.iceberg.exceptions.CommitFailedException("told by the test", None)
    return Py4JJavaError("refused", conflict)


def lying(monkeypatch: pytest.MonkeyPatch, table: LakeTable, owner: type, method: str, more: object = None) -> None:
    """The next call does its work, and then says that it was refused. `more`: what somebody does in between."""
    real, thread = getattr(owner, method), threading.get_ident()

    def lie(self: object, *arguments: object, **options: object) -> object:
        if threading.get_ident() != thread:
            return real(self, *arguments, **options)
        monkeypatch.setattr(owner, method, real)
        real(self, *arguments, **options)
        if callable(more):
            more()
        raise refused(table)

    monkeypatch.setattr(owner, method, lie)


@pytest.mark.parametrize(
    ("version", "indexed"),
    some_slow(itertools.product([2, 3], [True, False]), always=[(2, False), (3, True)]),
)
def test_a_commit_that_was_refused_and_is_in(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, version: int, *, indexed: bool
) -> None:
    """The token in the table says that the epoch is there, and no file that the table names is deleted."""
    table = tables.make(f'(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "{version}")')
    table.commit([(INS, key, 0) for key in range(10)])
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    lying(monkeypatch, table, Iceberg, "finish")
    assert table.commit([(UPD, 1, 1), (DEL, 2, 0), (INS, 10, 1)]).passed_over
    expected = {key: 0 for key in range(10) if key != 2} | {1: 1, 10: 1}
    assert table.rows() == sorted(expected.items())
    table.commit([(UPD, 3, 3)])
    assert table.rows() == sorted((expected | {3: 3}).items())


def test_a_newer_epoch_behind_a_commit_that_was_refused_and_is_in(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has been replaced between its commit and the answer leaves the files of its commit where they are."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(10)])
    late = table.prepared([(UPD, 1, 1)])
    newer = coming_after(table.prepared([(UPD, 2, 2)]), epoch=late.epoch)
    lying(monkeypatch, table, Iceberg, "finish", lambda: table.apply(newer))
    with pytest.raises(SyncError) as caught:
        table.lake.commit(late)
    assert caught.value.code is Code.FENCED
    assert table.rows() == sorted((dict.fromkeys(range(10), 0) | {1: 1, 2: 2}).items())


@pytest.mark.parametrize(
    ("work", "owner", "method"), [(own_compaction, RewriteCommit, "commit"), (own_fold, Iceberg, "add")]
)
def test_upkeep_that_was_refused_and_is_in(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, work: Callable[[LakeTable], object], owner: type, method: str
) -> None:
    """What a fold or compaction has written stays where the table names it, and the index finds it."""
    table = tables.make()
    for key in range(9):
        table.commit([(INS, key, 0), (INS, 100 + key, 0)])
    if work is own_fold:
        table.indexing.give_up(ValueError("switched off by the test"))
        table.commit([(UPD, 1, 1)])
        table.indexing._off_until = 0.0
    expected = table.rows()
    lying(monkeypatch, table, owner, method)
    with pytest.raises(Py4JJavaError):
        work(table)
    assert table.in_spark() == expected == in_pyiceberg(table)
    assert_followed(table)
    table.commit([(DEL, 0, 0)])
    assert table.rows() == expected[1:]


@pytest.mark.parametrize(("work", "owner", "method"), UPKEEP)
def test_upkeep_that_was_refused_leaves_nothing(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, work: Callable[[LakeTable], object], owner: type, method: str
) -> None:
    """Files of a fold or compaction that gave way to somebody who changed the same rows are deleted."""
    table = tables.make('(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "3")')
    for key in range(9):
        table.commit([(INS, key, 0), (INS, 100 + key, 0)])
    if work is own_fold:
        table.indexing.give_up(ValueError("switched off by the test"))
        table.commit([(UPD, 1, 1), (UPD, 2, 1)])
        table.indexing._off_until = 0.0
    before(monkeypatch, owner, method, lambda: table.sql("DELETE FROM {table} WHERE id = 101"))
    with pytest.raises(Py4JJavaError):
        work(table)
    assert set() == table.stray_files()
    assert_followed(table)


@pytest.mark.parametrize("is_in", [False, True], ids=["refused", "refused and in"])
def test_a_statement_that_was_refused_leaves_nothing(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, *, is_in: bool
) -> None:
    """Rows that were written anew for a commit that gave way are deleted, and those stay that the table names."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(3)])
    change = changes_of(table, FillField(name="v", value="7"))
    if is_in:
        lying(monkeypatch, table, Iceberg, "commit")
    else:
        before(monkeypatch, Iceberg, "commit", lambda: table.sql(FOREIGN_ROW))
    assert table.lake.alter(change).passed_over is is_in
    assert table.rows() == [(0, 7), (1, 7), (2, 7), *([] if is_in else [(500, 7)])]
    assert set() == table.stray_files()


@pytest.mark.parametrize("changes", [(), ([(INS, 1, 1)],)], ids=["no rows", "no rows that count"])
def test_an_epoch_without_files_sets_no_token_back(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, changes: tuple[list[tuple[int, ...]], ...]
) -> None:
    """Whoever stands still right before the commit of an epoch that writes nothing, while another one commits it and
    the next one, comes too late.
    """
    table = tables.make(where="v > 5")
    table.commit([(INS, 100, 100)])
    late, following = table.prepared(*changes), table.prepared(*changes)

    def others() -> None:
        table.apply(late)
        table.apply(coming_after(following, epoch=late.epoch))

    before(monkeypatch, Iceberg, "finish", others)
    with pytest.raises(SyncError) as caught:
        table.lake.commit(late)
    assert caught.value.code is Code.FENCED
    assert table.borne == following.epoch
    assert table.rows() == [(100, 100)]


@pytest.mark.parametrize("filled", [False, True], ids=["never filled", "emptied"])
def test_a_statement_that_changes_no_row_sets_no_token_back(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, *, filled: bool
) -> None:
    """So does whoever stands still before a TRUNCATE of a table without rows."""
    table = tables.make()
    if filled:
        table.commit([(INS, 1, 1)])
        table.commit([(DEL, 1, 1)])
    late, following = changes_of(table, EmptyTable()), table.prepared()

    def others() -> None:
        snapshot = table.lake.alter(late).snapshot
        table.apply(coming_after(following, epoch=late.epoch, snapshot=snapshot or late.last.snapshot))

    before(monkeypatch, Iceberg, "commit", others)
    with pytest.raises(SyncError) as caught:
        table.lake.alter(late)
    assert caught.value.code is Code.FENCED
    assert table.borne == following.epoch


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "not indexed"])
def test_a_table_that_is_replaced_during_a_commit(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, *, indexed: bool
) -> None:
    """It keeps its uuid and has no snapshot, against which Iceberg would validate nothing: the epoch must not land
    there, where the next one would find it and go on.
    """
    table = tables.make()
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    anew = "CREATE OR REPLACE TABLE {table} (id BIGINT NOT NULL, v BIGINT) USING iceberg"
    before(monkeypatch, Iceberg, "finish", lambda: table.sql(anew))
    with pytest.raises(SyncError) as caught:
        table.commit([(INS, 3, 3)])
    assert caught.value.code is Code.TARGET_REPLACED
    assert table.rows() == []
