"""Another engine puts a table where this JVM has no file system: the table stops, with the statement that brings it
back, and no other one does.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from tests.contract.lake.files.test_lake_orphans import folder
from tests.contract.lake.foreign.test_lake_foreign_settings import cured
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
ONE_LOADING_SECOND = 60.0  # Iceberg waits 0.1, 0.4, 1.6 and then 5 seconds between 21 attempts
BIGINT = TargetType(name="BIGINT")
PLACES = ["s3x://bucket/t", "s3a://bucket/t"]  # a scheme that nobody has, and one whose jar is missing


def moved(table: LakeTable, place: str) -> None:
    """Its metadata stay on the local disk: without that our own JVM would refuse the statement."""
    table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('write.metadata.path' = 'file:{folder(table)}/metadata')")
    table.sql(f"ALTER TABLE {{table}} SET LOCATION '{place}'")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "not indexed"])
def test_a_table_that_was_put_elsewhere_stops(tables: Tables, place: str, *, indexed: bool) -> None:
    """Before anything is committed, as often as that is tried; other tables go on, and it does once it is back."""
    table, other = tables.make(), tables.make()
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    for each in (table, other):
        each.commit([(INS, 1, 1)])
    moved(table, place)
    commit = table.prepared([(UPD, 1, 2), (INS, 2, 2)])
    for _ in range(2):
        with pytest.raises(SyncError, match=place) as caught:
            table.apply(commit)
        assert caught.value.code is Code.FOREIGN_CHANGE
    other.commit([(INS, 2, 2)])
    cured(table, lambda: table.apply(commit))
    table.apply(commit)
    table.commit([(INS, 3, 3)])
    assert table.rows() == [(1, 2), (2, 2), (3, 3)]
    assert other.rows() == [(1, 1), (2, 2)]


@contextmanager
def pointing(table: LakeTable, location: str) -> Iterator[None]:
    """The catalog as an engine leaves it that has the file system: the metadata are there, too."""
    set_to = (
        "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? "
        "WHERE table_namespace = ? AND table_name = ?"
    )
    asked = (
        "SELECT metadata_location, previous_metadata_location FROM iceberg_tables "
        "WHERE table_namespace = ? AND table_name = ?"
    )
    name = table.db, table.name
    with closing(sqlite3.connect(table.lake.place.catalog_file)) as catalog:
        before = catalog.execute(asked, name).fetchone()
        with catalog:
            catalog.execute(set_to, (location, before[0], *name))
        yield
        with catalog:
            catalog.execute(set_to, (*before, *name))


@pytest.mark.parametrize("place", PLACES)
def test_a_table_whose_metadata_are_elsewhere_is_said(tables: Tables, place: str) -> None:
    """Whatever is done with it, the message names both places, at once: Iceberg would try each loading for more than a
    minute. Once the catalog has it back, it goes on.
    """
    table = tables.make()
    table.commit([(INS, 1, 1)])
    commit, lake, home = table.prepared([(INS, 2, 2)]), table.lake, folder(table)
    alter, name = replace(changes_of(table), changes=(AddField(name="w", type=BIGINT),)), (table.db, table.name)
    work: list[Callable[[], object]] = [
        lambda: lake.commit(commit),
        lambda: lake.alter(alter),
        lambda: lake.check_integrity(*name),
        lambda: lake.tables.describe(*name),
        lambda: lake.tables.is_empty(*name),
        lambda: lake.upkeep(*name),
        lambda: lake.tables.drop_table(*name),
    ]
    with pointing(table, f"{place}/metadata/00002-x.metadata.json"):
        for each in work:
            began = time.monotonic()
            with pytest.raises(SyncError, match=place) as caught:
                each()
            assert caught.value.code is Code.FOREIGN_CHANGE
            assert str(home) in str(caught.value)
            assert time.monotonic() - began < ONE_LOADING_SECOND
    table.apply(commit)
    assert table.rows() == [(1, 1), (2, 2)]
