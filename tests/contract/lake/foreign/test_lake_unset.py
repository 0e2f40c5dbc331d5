"""Another engine removes what syncmgr keeps in a table's properties, right after a commit whose answer was lost, or
together with a change that they would have shown.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField, EmptyTable, FillField, RenameField
from syncmgr.job.epoch import LastCommit
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from tests.contract.lake.commit.test_lake_replaced_columns import refused, replaced
from tests.contract.lake.foreign.test_lake_foreign_settings import cured
from tests.contract.mysql_reader import database
from tests.contract.snapshot.test_snapshot_commit import Chunked
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of, coming_after

INS, UPD, DEL = ChangeKind
pytestmark = [pytest.mark.mysql, *SPARK]


@pytest.fixture
def db(mysql_server: MysqlServer) -> Iterator[str]:
    with database(mysql_server) as name:
        mysql_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v BIGINT)")
        mysql_server.run(f"INSERT INTO {name}.t VALUES {', '.join(f'({n}, {n * 2})' for n in range(100))}")
        mysql_server.run(f"ANALYZE TABLE {name}.t")
        yield name


def unset(table: LakeTable, *kinds: str) -> None:
    for kind in kinds:
        table.sql(f"ALTER TABLE {{table}} UNSET TBLPROPERTIES ('syncmgr.{kind}.{table.token}')")


@pytest.mark.parametrize("answered", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_a_chunk_whose_done_set_is_gone_is_not_doubled(
    mysql_server: MysqlServer, db: str, tables: Tables, answered: int
) -> None:
    """Its snapshot names it; what came before it is not forgotten either."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    last = None
    for number in source.plan.numbers[:answered]:
        last = target.lake.commit(source.commit(number, last=LastCommit(snapshot=last))).snapshot
    lost = source.commit(answered + 1, last=LastCommit(snapshot=last))
    rows = target.lake.commit(lost).rows
    unset(target, "chunks")
    again = target.lake.commit(lost)
    assert (again.passed_over, again.rows) == (True, rows)
    for number in source.plan.numbers[answered:]:
        last = target.lake.commit(source.commit(number, last=LastCommit(snapshot=again.snapshot))).snapshot
    target.lake.check_chunks(target.db, target.name, source.plan)
    assert target.rows() == [(n, n * 2) for n in range(100)]


def test_a_chunk_whose_done_set_was_set_back_is_not_doubled(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """Whoever copies the properties of a table and sets them later gives it those of an earlier moment."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    last = target.lake.commit(source.commit(1)).snapshot
    before = f"{source.plan.id}:1"
    second = source.commit(2, last=LastCommit(snapshot=last))
    target.lake.commit(second)
    target.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('syncmgr.chunks.{target.token}' = '{before}')")
    assert target.lake.commit(second).passed_over
    assert len(target.rows()) == 20


@pytest.mark.parametrize(
    ("value", "replaces"),
    some_slow(
        itertools.product(["abc", "[]", "1-x:y", "one-x:1", ":"], [False, True]),
        always=[("abc", False), ("1-x:y", True), (":", False)],
    ),
)
def test_a_done_set_is_not_guessed(
    mysql_server: MysqlServer, db: str, tables: Tables, value: str, *, replaces: bool
) -> None:
    """The table stops, and once the property is away, as the message says, the chunk is known to be in."""
    target = tables.make()
    commit = Chunked(mysql_server, db, target).commit(1)
    assert commit.chunk is not None
    commit = replace(commit, chunk=replace(commit.chunk, plan="1-a", replaces=replaces))
    target.lake.commit(commit)
    target.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('syncmgr.chunks.{target.token}' = '{value}')")
    cured(target, lambda: target.lake.commit(commit))
    assert target.lake.commit(commit).passed_over
    assert len(target.rows()) == 10


def test_rows_of_others_that_a_chunk_has_found_are_replaced(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """Also by a later chunk, though the property that tells of them is gone."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    first, second, *others = source.plan.numbers
    last = target.lake.commit(source.commit(first)).snapshot
    target.sql("INSERT INTO {table} VALUES (98, -1)")
    last = target.lake.commit(source.commit(second, last=LastCommit(snapshot=last))).snapshot
    unset(target, "others", "chunks")
    for number in others:
        last = target.lake.commit(source.commit(number, last=LastCommit(snapshot=last))).snapshot
    assert target.rows() == [(n, n * 2) for n in range(100)]


@pytest.mark.parametrize(
    ("keys", "kinds"),
    some_slow(
        itertools.product([("id",), ()], [("token",), ("token", "fingerprint")]),
        always=[((), ("token", "fingerprint")), (("id",), ("token",))],
    ),
)
def test_an_epoch_whose_token_is_gone_is_not_doubled(
    tables: Tables, keys: tuple[str, ...], kinds: tuple[str, ...]
) -> None:
    """The first of a channel, and a later one; the next one marks the table again."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) {'UNIQUE KEY(id)' if keys else ''}", keys=keys)
    for number in (1, 2):
        commit = table.prepared([(INS, number, number)])
        done = table.lake.commit(commit)
        unset(table, *kinds)
        again = table.lake.commit(commit)
        assert (again.passed_over, again.snapshot) == (True, done.snapshot)
        table.last_snapshot = done.snapshot
        after = coming_after(table.prepared([(INS, number + 10, 0)]), epoch=table.epoch - 1)
        assert not table.apply(after).passed_over
    assert table.rows() == [(1, 1), (2, 2), (11, 0), (12, 0)]


def test_a_statement_whose_token_is_gone_is_not_made_twice(tables: Tables) -> None:
    """Names that were exchanged stay so."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT, w BIGINT) UNIQUE KEY(id)", ("id", "v", "w"))
    table.sql("INSERT INTO {table} VALUES (1, 2, 3)")
    exchange = RenameField(old="v", new="w"), RenameField(old="w", new="v")
    alter = replace(changes_of(table, *exchange), fingerprint="of the exchange")
    assert not table.lake.alter(alter).passed_over
    unset(table, "token")
    assert table.lake.alter(alter).passed_over
    assert table.in_spark("id, v, w") == [(1, 3, 2)]
    emptying = coming_after(replace(changes_of(table, EmptyTable()), fingerprint="of the emptying"), epoch=1)
    with pytest.raises(SyncError) as caught:
        table.lake.alter(emptying)
    assert caught.value.code is Code.TARGET_SET_BACK  # no snapshot shows that the exchange is there


def test_an_emptied_table_whose_token_is_gone_is_not_emptied_twice(tables: Tables) -> None:
    """Its snapshot names the statement."""
    table = tables.make()
    table.sql("INSERT INTO {table} VALUES (1, 2)")
    alter = replace(changes_of(table, EmptyTable()), fingerprint="f")
    done = table.lake.alter(alter)
    unset(table, "token", "fingerprint")
    table.sql("INSERT INTO {table} VALUES (7, 7)")
    assert table.lake.alter(alter) == replace(done, passed_over=True)
    assert table.rows() == [(7, 7)]


def rows_only(_: LakeTable) -> None:
    pass


def no_rows(table: LakeTable) -> None:
    table.commit()


def statement(table: LakeTable) -> None:
    """It rewrites all rows, in a snapshot of ours."""
    bigint = TargetType(name="BIGINT")
    table.lake.alter(changes_of(table, AddField(name="x", type=bigint), FillField(name="x", value="7")))


def emptied(text: str) -> Callable[[LakeTable], None]:
    def set_back(table: LakeTable) -> None:
        table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('syncmgr.columns.{table.token}' = '{text}')")

    return set_back


SET_BACK = '{{"id": 1}}'


def removed(table: LakeTable) -> None:
    unset(table, "columns")


FORGETS = {"removed": removed, "emptied": emptied("{{}}"), "set back": emptied(SET_BACK)}


@pytest.mark.parametrize(
    ("forget", "between"),
    some_slow(
        (
            pytest.param(forget, between, id=f"{name}, {between.__name__}")
            for name, forget in FORGETS.items()
            for between in (rows_only, no_rows, statement)
        ),
        always=["removed, statement", "emptied, rows_only", "set back, no_rows"],
    ),
)
def test_a_column_that_was_replaced_is_noticed(
    tables: Tables, forget: Callable[[LakeTable], None], between: Callable[[LakeTable], None]
) -> None:
    """Whatever becomes of the property that tells of it, and whatever of ours without rows is committed first: no row
    follows until the table is read again, and then each does.
    """
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    forget(table)
    replaced(table)
    between(table)
    refused(table, table.prepared([(UPD, 1, 10)]))
    refused(table, table.prepared([(INS, 3, 3)]))


@pytest.mark.parametrize("forget", [removed, emptied(SET_BACK)], ids=["removed", "set back"])
def test_a_column_that_was_replaced_and_is_renamed_is_noticed(
    tables: Tables, forget: Callable[[LakeTable], None]
) -> None:
    """The statement says of the new name what was known of the old one."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    forget(table)
    replaced(table)
    table.lake.alter(changes_of(table, RenameField(old="v", new="w")))
    table.columns = ("id", "w")
    refused(table, table.prepared([(UPD, 1, 10)]))


@pytest.mark.parametrize("forget", [removed, emptied("{{}}")], ids=["removed", "emptied"])
def test_columns_that_are_what_they_were_go_on(tables: Tables, forget: Callable[[LakeTable], None]) -> None:
    """The next commit puts the property back, and it counts from then on."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    forget(table)
    table.sql("ALTER TABLE {table} ADD COLUMN theirs BIGINT FIRST")
    table.commit([(INS, 2, 2)])
    assert table.in_spark("id, v") == [(1, 1), (2, 2)]
    replaced(table)
    refused(table, table.prepared([(INS, 3, 3)]))


def test_a_column_of_a_statement_that_was_replaced_is_noticed(tables: Tables) -> None:
    """No row has followed it yet: its older rows would lose their default."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.lake.alter(changes_of(table, AddField(name="w", type=TargetType(name="BIGINT"), initial="5")))
    assert table.rows() == [(1, 1, 5)]
    removed(table)
    replaced(table, "w")
    table.columns = ("id", "v", "w")
    refused(table, table.prepared([(INS, 2, 2, 2)]))


def test_a_column_whose_last_commit_was_expired_is_noticed(tables: Tables) -> None:
    """The table's older metadata list the snapshot."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    removed(table)
    replaced(table)
    table.sql("INSERT INTO {table} VALUES (500, -1)")
    table.sql(
        f"CALL lake.system.expire_snapshots(table => '{table.db}.{table.name}', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1, clean_expired_metadata => true)"
    )
    refused(table, table.prepared([(INS, 3, 3)]))


def test_a_table_that_is_read_again_is_known(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """RESYNC TABLE, as the error says: all rows have their values, and the next change of the column is noticed."""
    target = tables.make()
    target.commit([(INS, 1000, 7)])
    removed(target)
    replaced(target)
    refused(target, target.prepared([(INS, 1001, 7)]))
    read = Chunked(mysql_server, db, target).commit(1, epoch=1, last=LastCommit(epoch=1, snapshot=target.last_snapshot))
    assert read.chunk is not None
    target.apply(replace(read, renews=True, chunk=replace(read.chunk, plan="1-q", replaces=True, condition="")))
    target.epoch = 1
    target.commit([(INS, 1001, 7)])
    assert target.rows() == [*((n, n * 2) for n in range(100)), (1001, 7)]
    removed(target)
    replaced(target)
    refused(target, target.prepared([(INS, 1002, 7)]))
