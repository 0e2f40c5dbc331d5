"""What every lake promises to the pipeline (`lake/port.py`): the one in memory, which most tests take, and Iceberg."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField, CommentField, DropTable, EmptyTable
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, LastCommit
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkRows, OpenRows, ReadRows
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetType
from syncmgr.lake.port import Chunks, Commits
from tests.support.chunk_reads import ReadHere
from tests.support.fakes import MemoryLake
from tests.support.spark_session import SPARK, LakeTable, changes_of

INS, UPD, DEL = ChangeKind
COLUMNS = ("id", "version")


class MemoryTable(LakeTable):
    """The one table of a lake in memory."""

    @property
    def borne(self) -> int:
        return self.memory.epochs[-1] if self.memory.epochs else 0

    @property
    def uuid(self) -> str:
        return self.memory.uuid

    @property
    def memory(self) -> MemoryLake:
        assert isinstance(self.lake, MemoryLake)
        return self.lake

    def rows(self) -> list[tuple[object, ...]]:
        return sorted(self.memory.rows.items())


def in_memory(_request: pytest.FixtureRequest, folder: Path) -> LakeTable:
    return MemoryTable(lake=MemoryLake(), folder=folder, db="demo", name="t", columns=COLUMNS, keys=("id",))  # type: ignore[arg-type]


def in_iceberg(request: pytest.FixtureRequest, _folder: Path) -> LakeTable:
    made: LakeTable = request.getfixturevalue("tables").make(
        "(id BIGINT NOT NULL, version BIGINT) UNIQUE KEY(id)", columns=COLUMNS
    )
    return made


@pytest.fixture(params=[in_memory, pytest.param(in_iceberg, marks=SPARK)])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LakeTable:
    made: LakeTable = request.param(request, tmp_path)
    return made


@pytest.fixture
def commits(table: LakeTable) -> Commits:
    return table.lake


def test_the_last_change_of_a_key_counts(table: LakeTable, commits: Commits) -> None:
    """In the order of `_seq`, over all segments of an epoch and over epochs."""
    commits.check_integrity(table.db, table.name)
    table.commit([(INS, 1, 1), (INS, 2, 1), (UPD, 1, 2)], [(DEL, 2, 1), (INS, 3, 1)])
    assert table.rows() == [(1, 2), (3, 1)]
    table.commit([(UPD, 3, 2), (DEL, 1, 2), (INS, 2, 5)])
    assert table.rows() == [(2, 5), (3, 2)]


def test_an_epoch_is_in_once(table: LakeTable, commits: Commits) -> None:
    """Who brings it again is told so, and nothing changes, though he has the rows at hand."""
    commit = table.prepared([(INS, 1, 1)])
    done = commits.commit(commit)
    assert not done.passed_over
    assert done.snapshot is not None
    table.last_snapshot = done.snapshot
    assert commits.commit(commit).passed_over
    assert table.rows() == [(1, 1)]
    table.commit([(UPD, 1, 2)])
    assert table.rows() == [(1, 2)]


def test_an_epoch_without_rows_is_borne(table: LakeTable, commits: Commits) -> None:
    """So that a job may pass over what was lost, and comes to the same place again after a crash."""
    table.commit([(INS, 1, 1)])
    commit = replace(table.prepared(), files=())
    assert not commits.commit(commit).passed_over
    assert commits.commit(commit).passed_over
    assert table.rows() == [(1, 1)]


def test_no_key_is_left_of_what_was_deleted_anew(table: LakeTable, commits: Commits) -> None:
    """A delete of a row that is not there, and an insert of one that is, are what a new reading brings."""
    table.commit([(DEL, 7, 0), (INS, 1, 1)])
    commit = table.prepared([(INS, 1, 2), (DEL, 8, 0)])
    commits.commit(commit)
    assert table.rows() == [(1, 2)]


SOURCE = SourceTable(
    db="shop",
    name="t",
    columns=(
        SourceColumn(name="id", type="bigint", nullable=False, key=1),
        SourceColumn(name="version", type="bigint"),
    ),
)


@dataclass(frozen=True)
class Existing:
    """The rows of a source table, of which each chunk reads ten."""

    count: int

    def rows(self, chunk: ChunkRows) -> OpenRows:
        ids = pa.array(range((chunk.number - 1) * 10, min(chunk.number * 10, self.count)), pa.int64())
        return lambda: iter([ReadRows(rows=pa.table([ids, ids], names=chunk.columns))])


def chunk(table: LakeTable, number: int, **changes: Any) -> ChannelCommit:
    rows = ChunkRows(
        plan="plan",
        number=number,
        reader=ReadHere(Existing(25)),
        table=SOURCE,
        columns=COLUMNS,
        condition="",
        keys=("id",),
    )
    return replace(table.prepared(), epoch=0, last=LastCommit(), settled=False, chunk=replace(rows, **changes))


@pytest.fixture
def chunks(table: LakeTable) -> Chunks:
    return table.lake


def test_a_chunk_is_in_once(table: LakeTable, chunks: Chunks) -> None:
    """In any order, and whoever brings it again is told how many rows it had."""
    done = [chunks.commit(chunk(table, number)) for number in (3, 1, 2)]
    assert [(one.rows, one.passed_over) for one in done] == [(5, False), (10, False), (10, False)]
    again = chunks.commit(chunk(table, 3))
    assert (again.rows, again.passed_over) == (5, True)
    assert table.rows() == [(number, number) for number in range(25)]
    chunks.check_chunks(table.db, table.name, ChunkPlan(id="plan", key=("id",), bounds=((10,), (20,)), rows=25))


def test_changes_follow_the_chunks(table: LakeTable, chunks: Chunks) -> None:
    """And from then on no chunk of an earlier reading comes."""
    done = chunks.commit(chunk(table, 1))
    table.epoch, table.last_snapshot = 0, done.snapshot
    table.commit([(UPD, 3, 7), (DEL, 4, 4), (INS, 30, 1)])
    expected = {number: number for number in range(10)} | {3: 7, 30: 1}
    del expected[4]
    assert table.rows() == sorted(expected.items())
    with pytest.raises(SyncError) as refused:
        chunks.commit(chunk(table, 2))
    assert refused.value.code is Code.FENCED


def test_a_chunk_may_take_the_place_of_all_rows(table: LakeTable, chunks: Chunks) -> None:
    """Of those that were there before, none stays."""
    table.commit([(INS, 1, 9), (INS, 100, 9)])
    last = LastCommit(epoch=table.borne)
    chunks.commit(replace(chunk(table, 1, replaces=True), epoch=last.epoch, last=last, settled=True))
    assert table.rows() == [(number, number) for number in range(10)]


def test_a_chunk_that_nobody_reads_is_given_up_without_effect(table: LakeTable, chunks: Chunks) -> None:
    """One that is in the lake stays there, and another one comes as before."""
    first = chunk(table, 1)
    chunks.commit(first)
    assert first.chunk is not None
    chunks.give_up(first.chunk)
    assert chunks.commit(first).passed_over
    chunks.commit(chunk(table, 2))
    assert len(table.rows()) == 20


def test_a_statement_is_in_once(table: LakeTable, commits: Commits) -> None:
    """Who brings it again is told so; rows stay as they are, and rows of the next epoch follow."""
    table.commit([(INS, 1, 1)])
    change = changes_of(table, AddField(name="note", type=TargetType(name="INT")), CommentField(name="id", comment="x"))
    assert commits.alter(change) == ChannelCommitted(snapshot=None)
    assert commits.alter(change) == ChannelCommitted(snapshot=None, passed_over=True)
    assert table.borne == change.epoch
    table.commit([(UPD, 1, 2)])
    assert [row[:2] for row in table.rows()] == [(1, 2)]


def test_an_emptied_table_has_only_later_rows(table: LakeTable, commits: Commits) -> None:
    """The rows that come again after a crash find it empty, or with what came after the statement, once."""
    table.commit([(INS, 1, 1), (INS, 2, 1)])
    change = changes_of(table, EmptyTable())
    done = commits.alter(change)
    assert table.rows() == []
    assert done.snapshot is not None
    table.last_snapshot = done.snapshot
    again = commits.alter(change)
    assert (again.snapshot, again.passed_over) == (done.snapshot, True)
    table.commit([(INS, 2, 7)])
    assert table.rows() == [(2, 7)]


def test_a_statement_of_an_earlier_epoch_is_fenced(table: LakeTable, commits: Commits) -> None:
    """Another frontend has gone on by then: it is not done to later rows."""
    table.commit([(INS, 1, 1)])
    change = changes_of(table, EmptyTable())
    commits.alter(change)
    table.commit([(INS, 2, 1)])
    with pytest.raises(SyncError) as refused:
        commits.alter(change)
    assert refused.value.code is Code.FENCED
    assert refused.value.context["found"] == table.borne
    assert table.rows() == [(2, 1)]


def test_a_table_is_dropped_once_and_no_other_of_its_name(table: LakeTable, commits: Commits) -> None:
    """By its uuid: one that has the name by now stays; afterwards there is none for rows."""
    table.commit([(INS, 1, 1)])
    other, its_own = (changes_of(table, DropTable(uuid=uuid)) for uuid in ("another", table.uuid))
    late = table.prepared([(INS, 2, 1)])
    assert commits.alter(other) == ChannelCommitted(snapshot=None, passed_over=True)
    assert table.rows() == [(1, 1)]
    assert commits.alter(its_own) == ChannelCommitted(snapshot=None)
    assert commits.alter(its_own) == ChannelCommitted(snapshot=None, passed_over=True)
    with pytest.raises(SyncError) as refused:
        commits.commit(late)
    assert refused.value.code is Code.NO_SUCH_TABLE
