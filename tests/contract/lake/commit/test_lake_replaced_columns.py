"""A column that another engine drops and adds again under its name is another one, whose older rows show NULL."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn, literal
from syncmgr.job.channel.shard import Part
from syncmgr.job.ddl.lake_change import AddField, DropField, FillField, LakeChange, RenameField
from syncmgr.job.epoch import ChannelCommit, LastCommit
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from tests.contract.lake.foreign.test_lake_foreign_settings import cured
from tests.contract.mysql_reader import database
from tests.contract.snapshot.test_snapshot_commit import Chunked
from tests.support.servers.mysql import MysqlServer
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of, rewrite

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
BIGINT = TargetType(name="BIGINT")
ADDED = (AddField(name="v", type=BIGINT),)
SHARDED = "(db VARCHAR(64) NOT NULL, id BIGINT NOT NULL) UNIQUE KEY(db, id) PARTITION BY (db)"


@pytest.fixture
def db(mysql_server: MysqlServer) -> Iterator[str]:
    with database(mysql_server) as name:
        mysql_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v BIGINT)")
        mysql_server.run(f"INSERT INTO {name}.t VALUES {', '.join(f'({n}, {n * 2})' for n in range(100))}")
        yield name


def read_of_shard(
    server: MysqlServer, db: str, target: LakeTable, name: str, changes: tuple[LakeChange, ...] = ()
) -> ChannelCommit:
    """All rows of a table as those of one part."""
    table = replace(target, token=f"{target.name}-{name}")
    commit = Chunked(server, db, table).commit(1, last=LastCommit(snapshot=target.last_snapshot))
    assert commit.chunk is not None
    chunk = replace(commit.chunk, plan=f"1-{name}", condition="", replaces=True, changes=changes, keys=("id",))
    columns = (*commit.columns, MappedColumn(target="db", expression=literal(name), constant=name))
    return replace(commit, columns=columns, part=Part(column="db", value=name), chunk=chunk)


def replaced(table: LakeTable, column: str = "v") -> None:
    table.sql(f"ALTER TABLE {{table}} DROP COLUMN {column}")
    table.sql(f"ALTER TABLE {{table}} ADD COLUMN {column} BIGINT")


def refused(table: LakeTable, commit: ChannelCommit) -> SyncError:
    with pytest.raises(SyncError) as caught:
        table.apply(commit)
    assert caught.value.code is Code.COLUMN_REPLACED
    assert set() == table.stray_files()
    return caught.value


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "not indexed"])
def test_a_column_that_was_replaced_stops_its_table(tables: Tables, *, indexed: bool) -> None:
    """No commit follows that would make the NULLs of the older rows look right; the error names the column."""
    table = tables.make()
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    replaced(table)
    error = refused(table, table.prepared([(UPD, 1, 10)]))
    assert "'v'" in str(error)
    assert f"{table.db}.{table.name}" in str(error)
    assert table.rows() == [(1, None), (2, None)]


def test_columns_that_were_exchanged_stop_their_table(tables: Tables) -> None:
    """Two columns that another engine gave each other's names: the older rows would have the values of the other."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT, w BIGINT) UNIQUE KEY(id)", ("id", "v", "w"))
    table.commit([(INS, 1, 1, 2)])
    for old, new in (("v", "x"), ("w", "v"), ("x", "w")):
        table.sql(f"ALTER TABLE {{table}} RENAME COLUMN {old} TO {new}")
    refused(table, table.prepared([(INS, 2, 1, 2)]))


def test_a_column_that_comes_back_under_its_name_goes_on(tables: Tables) -> None:
    """A rename for a moment changes nothing, and neither do columns of others, or another order."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.sql("ALTER TABLE {table} RENAME COLUMN v TO vv")
    table.sql("ALTER TABLE {table} RENAME COLUMN vv TO v")
    table.sql("ALTER TABLE {table} ADD COLUMN theirs BIGINT FIRST")
    table.commit([(INS, 2, 2)])
    replaced(table, "theirs")
    table.commit([(INS, 3, 3)])
    assert table.in_spark("id, v") == [(1, 1), (2, 2), (3, 3)]


def test_our_own_statements_replace_columns(tables: Tables) -> None:
    """Columns that the source drops, adds and renames are followed, whatever their ids, also if several tables fill the
    target.
    """
    table = tables.make("(id BIGINT NOT NULL, v BIGINT, w BIGINT) UNIQUE KEY(id)", ("id", "v", "w"))
    beside = replace(table, token="beside", columns=("id", "v", "w"))
    table.commit([(INS, 1, 1, 2)])
    beside.commit([(INS, 10, 1, 2)])
    table.last_snapshot = beside.last_snapshot
    table.lake.alter(changes_of(table, DropField(name="v"), AddField(name="v", type=BIGINT)))
    table.lake.alter(changes_of(table, RenameField(old="v", new="w"), RenameField(old="w", new="v")))
    table.commit([(INS, 2, 3, 4)])
    beside.last_snapshot = table.last_snapshot
    beside.commit([(INS, 20, 3, 4)])
    assert table.in_spark("id, v, w") == [(1, 2, None), (2, 3, 4), (10, 2, None), (20, 3, 4)]
    replaced(table, "w")
    refused(table, table.prepared([(INS, 3, 3, 3)]))
    refused(beside, beside.prepared([(INS, 30, 3, 3)]))


def test_an_epoch_without_rows_is_marked(tables: Tables) -> None:
    """What has no rows needs no columns: the table stops at the next row."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    replaced(table)
    table.commit()
    refused(table, table.prepared([(INS, 2, 2)]))
    changes = AddField(name="x", type=BIGINT), FillField(name="x", value="7")
    table.lake.alter(changes_of(replace(table, epoch=table.epoch - 1), *changes))
    table.epoch += 1
    assert table.in_spark("id, v, x") == [(1, None, 7)]
    refused(table, table.prepared([(INS, 2, 2)]))


MONEY = {"d": pa.decimal128(8, 2)}


@pytest.mark.parametrize(
    ("kind", "held", "lost"),
    [
        ("INT", "2.00", "2.75"),
        ("DECIMAL(8, 1)", "2.50", "2.75"),
        ("DECIMAL(12, 3)", "2.75", None),
        ("STRING", "2.75", None),
        ("DOUBLE", None, "2.75"),
    ],
)
def test_a_column_of_another_type_before_the_first_commit_takes_nothing_rounded(
    tables: Tables, kind: str, held: str | None, lost: str | None
) -> None:
    """No commit has kept which column it is: what the type holds goes in, and what it would round stops the table."""
    table = tables.make("(id BIGINT NOT NULL, d DECIMAL(8,2)) UNIQUE KEY(id)", ("id", "d"), types=MONEY)
    table.sql("ALTER TABLE {table} DROP COLUMN d")
    table.sql(f"ALTER TABLE {{table}} ADD COLUMN d {kind}")
    if lost is not None:
        commit = table.prepared([(INS, 1, Decimal("1.00")), (INS, 2, Decimal(lost))])
        with pytest.raises(SyncError, match="its column d is ") as caught:
            table.apply(commit)
        assert caught.value.code is Code.FOREIGN_CHANGE
        assert set() == table.stray_files()
        assert table.rows() == []
        table.epoch -= 1
    if held is not None:
        table.commit([(INS, 2, Decimal(held))])
        assert table.in_spark("id, CAST(d AS DOUBLE)") == [(2, float(held))]


def test_keys_that_another_engine_has_made_one(tables: Tables) -> None:
    """Two keys of the source that a type cannot tell apart are never one row."""
    table = tables.make()
    table.sql("CREATE OR REPLACE TABLE {table} (id DOUBLE, v BOOLEAN) USING iceberg")
    for row in ((INS, 2**53 + 1, 1), (INS, 2**63 - 1, 1), (DEL, 2**53 + 1, 1), (INS, 1, 2)):
        with pytest.raises(SyncError) as caught:
            table.apply(table.prepared([(INS, 2**53, 1), row]))
        assert caught.value.code is Code.FOREIGN_CHANGE
        table.epoch -= 1
    table.commit([(INS, 2**53, 1), (INS, 1, 0)])
    assert table.rows() == [(1.0, False), (2.0**53, True)]


@pytest.mark.mysql
def test_a_read_that_renews_a_table_rounds_nothing(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """Whatever its columns were before: a RESYNC replaces all rows by what the source has, or none."""
    target = tables.make()
    target.commit([(INS, 1000, 7)])
    replaced(target)
    target.sql("ALTER TABLE {table} DROP COLUMN v")
    target.sql("ALTER TABLE {table} ADD COLUMN v BOOLEAN")
    commit = Chunked(mysql_server, db, target).commit(
        1, epoch=1, last=LastCommit(epoch=1, snapshot=target.last_snapshot)
    )
    assert commit.chunk is not None
    commit = replace(commit, renews=True, chunk=replace(commit.chunk, plan="q", replaces=True, condition=""))
    with pytest.raises(SyncError, match="its column v is boolean") as caught:
        target.apply(commit)
    assert caught.value.code is Code.FOREIGN_CHANGE
    assert target.rows() == [(1000, None)]


@pytest.mark.mysql
def test_a_column_that_an_earlier_chunk_added_is_known(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """All chunks of a read add the same columns: those that the first one has added are not added by the others."""
    target = tables.make("(id BIGINT NOT NULL) UNIQUE KEY(id)", ("id",))
    source = Chunked(mysql_server, db, target)
    target.columns = ("id", "v")

    def chunk(number: int, last_snapshot: int | None) -> ChannelCommit:
        commit = source.commit(number, last=LastCommit(snapshot=last_snapshot))
        assert commit.chunk is not None
        return replace(commit, chunk=replace(commit.chunk, changes=ADDED))

    target.apply(chunk(1, None))
    target.apply(chunk(2, target.last_snapshot))
    values = target.in_spark("v")
    assert len(values) == 20
    assert (None,) not in values
    replaced(target)
    refused(target, chunk(3, target.last_snapshot))


@pytest.mark.mysql
def test_a_column_that_the_read_of_another_shard_added_is_known(
    mysql_server: MysqlServer, db: str, tables: Tables
) -> None:
    """Two reads that were planned with the same new column: the second one does not hide from the first that it was
    replaced.
    """
    target = tables.make(SHARDED, ("id", "v"), ("db", "id"))

    target.apply(read_of_shard(mysql_server, db, target, "one", ADDED))
    assert (None,) not in target.in_spark("v")
    replaced(target)
    target.apply(read_of_shard(mysql_server, db, target, "two", ADDED))
    again = read_of_shard(mysql_server, db, target, "one")
    assert again.chunk is not None
    refused(target, replace(again, chunk=replace(again.chunk, plan="2-one")))


@pytest.mark.mysql
def test_a_job_of_shards_that_is_created_again_knows_no_columns(
    mysql_server: MysqlServer, db: str, tables: Tables
) -> None:
    """Into a target that was emptied, whose column is another one since; also where only its own part is empty."""
    target = tables.make(SHARDED.replace("NULL)", "NULL, v BIGINT)", 1), ("id", "v"), ("db", "id"))
    for name in ("one", "two"):
        target.apply(read_of_shard(mysql_server, db, target, name))
    target.sql("DELETE FROM {table} WHERE db = 'one'")
    replaced(target)
    target.apply(replace(read_of_shard(mysql_server, db, target, "one"), token="created again", last=LastCommit()))
    assert target.in_spark("count(v)") == [(100,)]


@pytest.mark.mysql
def test_a_read_of_a_shard_waits_for_its_partition(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """It replaces the rows of its part alone, which must have files of their own: no row is read before that."""
    target = tables.make(SHARDED.replace("NULL)", "NULL, v BIGINT)", 1), ("id", "v"), ("db", "id"))
    for name in ("one", "two"):
        target.apply(read_of_shard(mysql_server, db, target, name))
    target.sql("ALTER TABLE {table} DROP PARTITION FIELD db")
    rewrite(target)
    commit = read_of_shard(mysql_server, db, target, "one")
    assert commit.chunk is not None
    commit = replace(commit, chunk=replace(commit.chunk, plan="2-one"))
    cured(target, lambda: target.apply(commit))
    target.apply(commit)
    assert target.in_spark("db, v") == [(name, n * 2) for name in ("one", "two") for n in range(100)]


@pytest.mark.mysql
def test_a_column_that_was_added_is_not_carried_again(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """A read of another job, whose changes are made already, leaves what the first job knows of the column."""
    target = tables.make()
    target.commit([(INS, 1000, 1)])
    replaced(target)
    other = replace(target, token="another job")
    commit = Chunked(mysql_server, db, other).commit(1)
    assert commit.chunk is not None
    other.apply(replace(commit, chunk=replace(commit.chunk, changes=ADDED)))
    target.last_snapshot = other.last_snapshot
    refused(target, target.prepared([(INS, 1001, 1)]))
