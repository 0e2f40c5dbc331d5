"""What every lake promises to the pipeline (`lake/port.py`): the one in memory, which most tests take, and Iceberg."""

from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.port import Commits
from tests.support.fakes import MemoryLake
from tests.support.spark_session import SPARK, LakeTable

INS, UPD, DEL = ChangeKind
COLUMNS = ("id", "version")


class MemoryTable(LakeTable):
    """The one table of a lake in memory."""

    @property
    def borne(self) -> int:
        return self.memory.epochs[-1] if self.memory.epochs else 0

    @property
    def memory(self) -> MemoryLake:
        assert isinstance(self.lake, MemoryLake)
        return self.lake

    def rows(self, columns: str = "*") -> list[tuple[object, ...]]:
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
