"""A request to a REST catalog that was given up, and repeated, reaches it later: what came in between stays.

`test_a_statement_that_arrives_late_is_refused` of test_remote_lake.py is in every run.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest

from syncmgr.job.ddl.lake_change import CommentField, RenameField
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.spark.jvm import JAVA_ERRORS
from tests.contract.lake.remote.unanswered import until_done
from tests.support.lakes import RestLake
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of

INS, UPD, DEL = ChangeKind
pytestmark = [*SPARK, pytest.mark.slow]
CONFLICT = 409


def rows(table: LakeTable) -> None:
    commit = table.prepared([(UPD, 1, 10)])
    until_done(lambda: table.apply(commit))


def nothing(table: LakeTable) -> None:
    commit = table.prepared()
    until_done(lambda: table.apply(commit))


def statement_without_changes(table: LakeTable) -> None:
    alter = changes_of(table)
    until_done(lambda: table.lake.alter(alter))


def rename_to_and_fro(table: LakeTable) -> None:
    """The late one finds the columns that it was made for."""
    first = changes_of(table, RenameField(old="v", new="w"))
    until_done(lambda: table.lake.alter(first))
    second = changes_of(table, RenameField(old="w", new="v"))
    until_done(lambda: table.lake.alter(second))


def comment(table: LakeTable) -> None:
    alter = changes_of(table, CommentField(name="v", comment="new"))
    until_done(lambda: table.lake.alter(alter))


def compaction(table: LakeTable) -> None:
    with suppress(*JAVA_ERRORS):
        table.lake.upkeep(table.db, table.name)


WORK = [rows, nothing, statement_without_changes, rename_to_and_fro, comment, compaction]


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_a_commit_that_arrives_late_is_refused(
    tables: Tables, rest: RestLake, work: Callable[[LakeTable], None]
) -> None:
    """Neither its rows nor its token, nor its columns come back, whatever was committed meanwhile, and so it goes
    on.
    """
    table = tables.make()
    for number in range(8):
        table.commit([(INS, number, number)])
    rest.proxy.late = "POST"
    work(table)
    assert rest.proxy.late is None
    table.commit([(INS, 100, 1)])
    wanted, borne = table.rows(), table.borne
    assert rest.proxy.deliver() == CONFLICT
    assert (table.rows(), table.borne) == (wanted, borne)
    table.commit([(INS, 101, 1)])
    assert table.rows() == [*wanted, (101, 1)]


def test_a_drop_that_arrives_late(tables: Tables, rest: RestLake) -> None:
    """It hits whatever has the name by then: the protocol has no way to name a table but that."""
    table = tables.make()
    rest.proxy.late = "DELETE"
    with suppress(*JAVA_ERRORS):
        until_done(lambda: tables.lake.tables.drop_table(table.db, table.name))
    assert tables.lake.tables.tables(table.db) == []
    again = tables.make(name=table.name)
    again.commit([(INS, 1, 1)])
    assert rest.proxy.deliver() < CONFLICT
    assert tables.lake.tables.tables(table.db) == []
