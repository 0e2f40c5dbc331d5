"""Chunks of a snapshot in the lake: each exactly once, with the index at their heels."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.ddl.lake_change import AddField
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, LastCommit
from syncmgr.job.job_properties import OnValueError
from syncmgr.job.rows.dead_letter import DeadLetterBounds
from syncmgr.job.rows.value_error import Bound, ValueRules
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.commit import rows
from syncmgr.pipeline.snapshot.chunk_processes import ChunkProcesses
from syncmgr.sources.mysql.chunk.chunks import MysqlChunks
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from tests.contract.mysql_reader import address, database, facts
from tests.contract.snapshot.test_snapshot_values import chunk_of
from tests.support.chunk_reads import ReadHere
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed, on_servers
from tests.support.spark_session import SPARK, LakeTable, Tables, coming_after
from tests.support.until import until

pytestmark = [pytest.mark.mysql, *SPARK]

INS, UPD, DEL = range(3)


@pytest.fixture
def db(mysql_server: MysqlServer) -> Iterator[str]:
    with database(mysql_server) as name:
        fill(mysql_server, name)
        yield name


def fill(server: MysqlServer, db: str) -> None:
    server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, v BIGINT, at DATE)")
    values = ", ".join(f"({n}, {n * 2}, '2024-02-29')" for n in range(100))
    server.run(f"INSERT INTO {db}.t VALUES {values}", f"ANALYZE TABLE {db}.t")


class Chunked:
    """A source table, its plan, and a target."""

    def __init__(self, server: MysqlServer, db: str, target: LakeTable) -> None:
        self.server, self.target = server, target
        self.table = facts(server, [(db, "t")]).tables[0]
        self.plan = MysqlSnapshot([address(server)]).plan(self.table, ("id",), 10)
        self.values: ValueRules | None = None

    def commit(self, number: int, **changes: Any) -> ChannelCommit:
        chunk = replace(
            chunk_of(self.server, self.table, self.plan.condition(number)),
            plan=self.plan.id,
            number=number,
            columns=tuple(self.target.columns),
            values=self.values,
            keys=self.target.keys,
            dead_letters=DeadLetterBounds(count=10, bytes=10**6),
        )
        commit = ChannelCommit(
            token=self.target.token,
            epoch=0,
            fingerprint="",
            db=self.target.db,
            table=self.target.name,
            files=(),
            columns=tuple(MappedColumn(target=name, expression=f"`{name}`") for name in self.target.columns),
            keys=self.target.keys,
            where=None,
            last=LastCommit(epoch=0, snapshot=None),
            settled=False,
            chunk=chunk,
        )
        return replace(commit, **changes)


@pytest.mark.parametrize("place", [pytest.param("", marks=pytest.mark.long), "DISTRIBUTED BY HASH(id) BUCKETS 4"])
def test_chunks_side_by_side_are_there_once(mysql_server: MysqlServer, db: str, tables: Tables, place: str) -> None:
    """In any order, a second time, on partitions: every row once, no delete, and an index that holds."""
    target = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    source = Chunked(mysql_server, db, target)
    assert source.plan.count >= 10
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(target.lake.commit, map(source.commit, reversed(source.plan.numbers))))
    assert sum(one.rows for one in done) == 100
    assert not any(one.passed_over for one in done)
    again = target.lake.commit(source.commit(1))
    assert (again.passed_over, again.rows) == (True, done[-1].rows)
    assert target.rows() == [(n, n * 2) for n in range(100)]
    assert target.files(2) == target.files(1) == 0
    target.last_snapshot = done[-1].snapshot
    target.commit([(UPD, 1, 5), (DEL, 2, 4), (INS, 200, 1)])
    expected = {n: n * 2 for n in range(100)} | {1: 5, 200: 1}
    del expected[2]
    assert target.rows() == sorted(expected.items())
    assert (target.indexing.standing().state, target.indexing.standing().missing) == ("ready", 0)
    assert target.files(2) == 0


def test_where_and_expressions_hold_for_a_snapshot(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """They mean what Spark says, as for every change."""
    target = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
    source = Chunked(mysql_server, db, target)
    columns = (MappedColumn(target="id", expression="`id`"), MappedColumn(target="v", expression="`v` + 1"))
    for number in source.plan.numbers:
        target.lake.commit(source.commit(number, where="id % 2 = 0", columns=columns))
    assert target.rows() == [(n, n * 2 + 1) for n in range(0, 100, 2)]


def test_only_what_is_computed_needs_spark(
    mysql_server: MysqlServer, db: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows go from the source into data files as they are; those of an expression or a WHERE take a detour."""
    target = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
    source = Chunked(mysql_server, db, target)
    written, write = list[int](), rows.write

    def noted(spark: Any, channel: ChannelCommit, *rest: Any) -> None:
        assert channel.chunk is not None
        written.append(channel.chunk.number)
        write(spark, channel, *rest)

    monkeypatch.setattr(rows, "write", noted)
    for number in (1, 2, 3):
        target.lake.commit(source.commit(number, **({"where": "v < 0"} if number == 2 else {})))
    assert written == [2]
    assert [row[0] for row in target.rows()] == [*range(10), *range(20, 30)]


@pytest.mark.parametrize("day", ["0000-00-00", "0000-01-01"])
def test_a_value_that_is_no_date_is_named_with_its_row(
    mysql_server: MysqlServer, db: str, tables: Tables, day: str
) -> None:
    """As the binlog names it, in our own words, and with the key of its row; Spark would take the year 0."""
    target = tables.make("(id BIGINT NOT NULL, v BIGINT, at DATE) UNIQUE KEY(id)", columns=("id", "v", "at"))
    mysql_server.run("SET sql_mode = ''", f"UPDATE {db}.t SET at = '{day}' WHERE id = 2")
    source = Chunked(mysql_server, db, target)
    with pytest.raises(SyncError) as caught:
        target.lake.commit(source.commit(1))
    assert str(caught.value) == (
        f"Column 'at' of table '{target.db}.{target.name}' holds {day} in the row with id = 2, "
        "which the target cannot hold: there is no such date"
    )


def test_rows_that_somebody_else_wrote_are_replaced(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """A chunk deletes its keys where another writer may have put them."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    target.sql("INSERT INTO {table} VALUES (1, 0), (1000, 7)")
    for number in source.plan.numbers:
        target.lake.commit(source.commit(number))
    assert target.rows() == [*((n, n * 2) for n in range(100)), (1000, 7)]


@pytest.mark.parametrize(
    "indexed", [pytest.param(True, id="indexed"), pytest.param(False, id="not indexed", marks=pytest.mark.long)]
)
def test_a_row_that_somebody_else_writes_between_chunks_is_replaced(
    mysql_server: MysqlServer, db: str, tables: Tables, *, indexed: bool
) -> None:
    """Also where the chunk that brings its key is not the next one, and where what told of it was expired."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    first, second, *others = source.plan.numbers
    if not indexed:
        target.indexing.give_up(ValueError("switched off by the test"))
    last = target.lake.commit(source.commit(first)).snapshot
    target.sql("INSERT INTO {table} VALUES (98, -1)")
    last = target.lake.commit(source.commit(second, last=LastCommit(snapshot=last))).snapshot
    target.sql("INSERT INTO {table} VALUES (99, -1)")
    target.sql(
        f"CALL lake.system.rewrite_data_files('{target.db}.{target.name}', options => map('rewrite-all','true'))"
    )
    target.sql("CALL lake.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2999-01-01')")
    for number in others:
        last = target.lake.commit(source.commit(number, last=LastCommit(snapshot=last))).snapshot
    assert target.rows() == [(n, n * 2) for n in range(100)]


def test_rows_that_somebody_else_has_deleted_cost_nothing(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """Into a table that is empty again chunks bring rows alone."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    target.indexing.give_up(ValueError("switched off by the test"))
    target.sql("INSERT INTO {table} VALUES (98, -1)")
    target.sql("DELETE FROM {table}")
    target.lake.commit(source.commit(1))
    assert target.files(2) == 0


def test_a_chunk_behind_the_binlog_is_fenced(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """Once a change from the binlog is in a table, no chunk of an earlier look at it may come."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    target.commit([(DEL, 1, 0)])
    with pytest.raises(SyncError) as raised:
        target.lake.commit(source.commit(1))
    assert raised.value.code is Code.FENCED
    other = replace(source.commit(1), epoch=1)
    target.lake.commit(other)
    assert other.chunk is not None
    with pytest.raises(SyncError) as raised:
        target.lake.commit(replace(other, chunk=replace(other.chunk, plan="another", number=2)))
    assert raised.value.code is Code.OTHER_HISTORY


@pytest.mark.parametrize("place", ["", pytest.param("DISTRIBUTED BY HASH(id) BUCKETS 4", marks=pytest.mark.long)])
def test_one_chunk_takes_the_place_of_all_rows(mysql_server: MysqlServer, db: str, tables: Tables, place: str) -> None:
    """In one commit, once, whatever deletes the table had; the index follows, and the next look may do so again."""
    target = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    target.commit([(INS, number, 7) for number in (1, 2, 1000)])
    target.commit([(UPD, 1, 8), (DEL, 2, 0)])
    source = Chunked(mysql_server, db, target)

    def anew(plan: str) -> ChannelCommit:
        commit = source.commit(1, epoch=2, last=LastCommit(snapshot=target.last_snapshot))
        assert commit.chunk is not None
        return replace(commit, chunk=replace(commit.chunk, plan=plan, condition="", replaces=True))

    done = target.lake.commit(anew("first"))
    assert (done.rows, done.passed_over) == (100, False)
    assert target.rows() == [(n, n * 2) for n in range(100)]
    assert target.lake.commit(anew("first")).passed_over
    target.last_snapshot = done.snapshot
    target.commit([(UPD, 1, 5), (DEL, 2, 4), (INS, 200, 1)])
    assert target.rows() == sorted(({n: n * 2 for n in range(100) if n != 2} | {1: 5, 200: 1}).items())
    assert target.indexing.standing().missing == 0
    mysql_server.run(f"DELETE FROM {db}.t WHERE id > 4")
    commit = anew("second")
    assert target.lake.commit(replace(commit, epoch=3)).rows == 5
    assert target.rows() == [(n, n * 2) for n in range(5)]


def test_an_epoch_without_rows_is_borne_by_a_table_that_lacks_columns(
    mysql_server: MysqlServer, db: str, tables: Tables
) -> None:
    """Once; the chunk behind it brings the columns, and all rows."""
    target = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
    target.sql("INSERT INTO {table} VALUES (1, 0), (1000, 7)")
    source = Chunked(mysql_server, db, target)
    columns = tuple(MappedColumn(target=name, expression=f"`{name}`") for name in ("id", "v", "at"))
    chunk = source.commit(1, columns=columns)
    epoch = replace(chunk, epoch=1, fingerprint="f", chunk=None)
    assert [target.lake.commit(epoch).passed_over for _ in range(2)] == [False, True]
    assert target.rows() == [(1, 0), (1000, 7)]
    assert chunk.chunk is not None
    added = (AddField(name="at", type=TargetType(name="DATE")),)
    rows = replace(chunk.chunk, plan="q", replaces=True, condition="", columns=("id", "v", "at"), changes=added)
    with pytest.raises(SyncError) as fenced:
        target.lake.commit(replace(chunk, chunk=rows))
    assert fenced.value.code is Code.FENCED
    done = target.lake.commit(replace(coming_after(chunk, epoch=1), epoch=1, chunk=rows))
    assert (done.passed_over, done.rows) == (False, 100)
    assert target.rows() == [(n, n * 2, date(2024, 2, 29)) for n in range(100)]


@pytest.mark.parametrize("expires", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_roll_back_between_chunks_is_noticed(
    mysql_server: MysqlServer, db: str, tables: Tables, *, expires: bool
) -> None:
    """Though the table says that all are done, and the last one came after it; empty ones are known, too. Snapshots
    that another engine expires since are read in older metadata.
    """
    mysql_server.run(f"DELETE FROM {db}.t WHERE id BETWEEN 20 AND 39")
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    first, *rest, last = source.plan.numbers
    before = target.lake.commit(source.commit(first)).snapshot
    for number in rest:
        target.lake.commit(source.commit(number))
    target.lake.commit(source.commit(last))
    target.lake.check_chunks(target.db, target.name, source.plan)
    target.sql(f"CALL lake.system.rollback_to_snapshot('{target.db}.{target.name}', {before})")
    target.sql("INSERT INTO {table} VALUES (1000, 7)")
    if expires:
        older = "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1"
        target.sql(f"CALL lake.system.expire_snapshots(table => '{target.db}.{target.name}', {older})")
    with pytest.raises(SyncError) as caught:
        target.lake.check_chunks(target.db, target.name, source.plan)
    assert caught.value.code is Code.TARGET_REPLACED


@pytest.mark.parametrize("last_comes", [False, True], ids=["all are in", "one comes after it"])
def test_a_roll_back_between_chunks_is_noticed_though_the_history_is_lost(
    mysql_server: MysqlServer, db: str, tables: Tables, *, last_comes: bool
) -> None:
    """Another engine has expired the chunks that were rolled back, and no older metadata list them any more."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    first, second, *rest, last = source.plan.numbers
    target.lake.commit(source.commit(first))
    before = target.lake.commit(source.commit(second)).snapshot
    for number in rest:
        target.lake.commit(source.commit(number))
    if not last_comes:
        target.lake.commit(source.commit(last))
    target.sql(f"CALL lake.system.rollback_to_snapshot('{target.db}.{target.name}', {before})")
    forgotten(target)
    comes = source.commit(last)

    def whole() -> None:
        if last_comes:
            target.lake.commit(comes)
        target.lake.check_chunks(target.db, target.name, source.plan)

    with pytest.raises(SyncError) as caught:
        whole()
    assert caught.value.code is Code.TARGET_REPLACED


def test_chunks_are_all_there_though_the_history_is_lost(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """An expiry of another engine between chunks stops nothing."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    first, second, *others = source.plan.numbers
    target.lake.commit(source.commit(first))
    target.lake.commit(source.commit(second))
    forgotten(target)
    for number in others:
        target.lake.commit(source.commit(number))
    forgotten(target)
    target.lake.check_chunks(target.db, target.name, source.plan)
    assert target.rows() == [(n, n * 2) for n in range(100)]


def forgotten(target: LakeTable) -> None:
    """Another engine expires every snapshot but the current one, and the metadata that listed them go, too."""
    target.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")
    for number in range(22):
        target.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('x' = '{number}')")


@pytest.mark.parametrize("how", ["rolled back", "set back", "made anew"])
def test_a_table_that_is_another_is_renewed(mysql_server: MysqlServer, db: str, tables: Tables, how: str) -> None:
    """Which nothing else is committed to: a chunk that takes the place of all rows makes it the channel's again, and so
    does, before it, an epoch of which nothing is wanted.
    """
    target = tables.make()
    first = target.commit([(INS, 1, 1)]).snapshot
    before = location(tables, target)
    target.commit([(INS, 1000, 7)])
    source = Chunked(mysql_server, db, target)
    if how == "rolled back":
        target.sql(f"CALL lake.system.rollback_to_snapshot('{target.db}.{target.name}', {first})")
    else:
        target.sql("DROP TABLE {table}")
    if how == "made anew":
        tables.make(name=target.name)
    if how == "set back":
        target.sql(f"CALL lake.system.register_table('{target.db}.{target.name}', '{before}')")
    chunk = source.commit(1, epoch=2, last=LastCommit(epoch=2, snapshot=target.last_snapshot))
    assert chunk.chunk is not None
    rows = replace(chunk.chunk, plan="q", replaces=True, condition="")
    epoch = replace(chunk, epoch=3, fingerprint="f", chunk=None)
    for refused in (replace(chunk, chunk=rows), epoch):
        with pytest.raises(SyncError) as caught:
            target.lake.commit(refused)
        assert caught.value.code in {Code.TARGET_REPLACED, Code.TARGET_SET_BACK}

    assert target.lake.commit(replace(chunk, chunk=rows, renews=True)).rows == 100
    assert target.rows() == [(n, n * 2) for n in range(100)]
    again = replace(rows, plan="r")
    assert not target.lake.commit(replace(epoch, renews=True)).passed_over
    assert target.lake.commit(replace(coming_after(chunk, epoch=3), epoch=3, chunk=again, renews=True)).rows == 100


def test_a_reading_that_was_overtaken_changes_nothing(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """A frontend that was replaced may still bring the chunk of the reading before the last RESYNC."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    chunk = source.commit(1)
    assert chunk.chunk is not None
    overtaken, newest = (
        replace(chunk, chunk=replace(chunk.chunk, plan=plan, replaces=True, condition=condition))
        for plan, condition in (("9-q", "id < 50"), ("10-r", ""))
    )
    assert target.lake.commit(overtaken).rows == 50
    assert target.lake.commit(newest).rows == 100
    with pytest.raises(SyncError) as caught:
        target.lake.commit(overtaken)
    assert caught.value.code is Code.OTHER_HISTORY
    assert target.lake.commit(newest).passed_over
    assert target.rows() == [(n, n * 2) for n in range(100)]


def location(tables: Tables, target: LakeTable) -> str:
    iceberg = tables.lake.iceberg()
    return str(iceberg.load(target.db, target.name).operations().current().metadataFileLocation())


def test_a_limit_of_the_server_cuts_no_chunk(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """`sql_select_limit` is a guard on many servers; all rows of a chunk come nonetheless."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    with mysql_server.global_variable("sql_select_limit", "3"):
        assert target.lake.commit(source.commit(1)).rows == 10


@on_servers("mysql")
def test_a_guard_of_the_server_ends_no_chunk(any_server: MysqlServer, tables: Tables) -> None:
    """A chunk takes longer, and reads more, than what some allow for people's queries."""
    target = tables.make()
    guard = ("max_statement_time", "0.01") if any_server.flavour == "mariadb" else ("max_execution_time", "10")
    with database(any_server) as db:
        fill(any_server, db)
        source = Chunked(any_server, db, target)
        with any_server.global_variable(*guard), any_server.global_variable("max_join_size", "1"):
            commit = source.commit(1)
            assert commit.chunk is not None
            slow = replace(commit.chunk, condition=f"{commit.chunk.condition} AND SLEEP(0.01) = 0")
            assert target.lake.commit(replace(commit, chunk=slow)).rows == 10


def test_a_chunk_that_is_given_up_is_not_in(mysql_server: MysqlServer, db: str, tables: Tables, tmp_path: Path) -> None:
    """While the source keeps it waiting: its commit ends at once, nothing of it is left, and it comes another time."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    commit = source.commit(1)
    assert commit.chunk is not None
    reader = ChunkProcesses(MysqlChunks(address(mysql_server)), tmp_path)
    commit = replace(commit, chunk=replace(commit.chunk, reader=reader))
    assert commit.chunk is not None
    slow = replace(commit, chunk=replace(commit.chunk, condition=f"{commit.chunk.condition} AND SLEEP(3) = 0"))
    target.lake.give_up(commit.chunk)  # of what is not being read: nothing
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(target.lake.commit, slow)
        until(lambda: "User sleep" in str(mysql_server.run("SHOW PROCESSLIST")), why="its SELECT")
        until(lambda: given_up(target, commit, reading), why="its end")
        with pytest.raises(SyncError) as caught:
            reading.result(0)
        assert caught.value.code is Code.INTERRUPTED
    end_sleeping(mysql_server)
    assert target.rows() == []
    assert target.lake.commit(commit).rows == 10
    until(lambda: target.stray_files() == set(), why="no file of the first reading")


def end_sleeping(server: MysqlServer) -> None:
    """Its tables could not be dropped before."""
    asleep = "SELECT id FROM information_schema.processlist WHERE info LIKE '%SLEEP(3)%' AND id <> CONNECTION_ID()"
    server.run(*(f"KILL {row[0]}" for row in server.run(asleep)))


def given_up(target: LakeTable, commit: ChannelCommit, reading: "Future[ChannelCommitted]") -> bool:
    assert commit.chunk is not None
    target.lake.give_up(commit.chunk)
    return reading.done()


def test_an_empty_chunk_is_remembered(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """A table without rows stays empty, and its one chunk is done."""
    mysql_server.run(f"DELETE FROM {db}.t")
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    assert target.lake.commit(source.commit(1)).rows == 0
    assert target.lake.commit(source.commit(1)).passed_over
    assert target.rows() == []
    assert target.lake.tables.is_empty(target.db, target.name)


def test_a_date_that_is_none_is_told(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """As from the binlog: by the column's name, and nothing is left behind."""
    mysql_server.run("SET sql_mode = ''", f"UPDATE {db}.t SET at = '2024-00-00' WHERE id = 7")
    target = tables.make("(id BIGINT NOT NULL, at DATE) UNIQUE KEY(id)", ("id", "at"))
    source = Chunked(mysql_server, db, target)
    with pytest.raises(SyncError, match=r"Column 'at' of table .*2024-00-00") as raised:
        target.lake.commit(source.commit(1))
    assert raised.value.code is Code.SOURCE_VALUE
    assert set() == target.stray_files()


TWICE = {  # bytes that are a text of their own, and some that look like another, or like none
    "cp932": ("FBFC", "EEE0"),
    "sjis": ("815F", "5C"),
    "ujis": ("5C", "A1C0"),
    "big5": ("A440", "A15A"),
    "armscii8": ("29", "A4"),
    "tis620": ("A1", "DB"),
    "cp1250": ("C1", "81"),
}


@crossed("kind", ["VARCHAR", "CHAR"], always=[("mysql", "VARCHAR")])
def test_keys_that_look_alike_are_told(any_server: MysqlServer, tables: Tables, kind: str) -> None:
    """As from the binlog: two codes of one character are two rows of the server, and were two of one UNIQUE KEY."""
    for charset, (kept, refused) in TWICE.items():
        with database(any_server) as db:
            columns = f"id {kind}(9) CHARACTER SET {charset} COLLATE {charset}_bin PRIMARY KEY, v BIGINT"
            any_server.run(f"CREATE TABLE {db}.t ({columns})", f"INSERT INTO {db}.t VALUES (0x{kept}, 1), ('', 0)")
            text = any_server.run(f"SELECT CONVERT(id USING utf8mb4) FROM {db}.t WHERE v = 1")[0][0]
            source, target = alike(any_server, db, tables)
            commit = source.commit(1)
            assert target.lake.commit(commit).rows == 2
            assert target.rows() == [("", 0), (text, 1)]

            any_server.run(f"INSERT INTO {db}.t VALUES (0x{refused}, 2)")
            for policy in (OnValueError.STOP, OnValueError.NULL):
                source, target = alike(any_server, db, tables, policy)
                with pytest.raises(SyncError) as caught:
                    target.lake.commit(source.commit(1))
                assert caught.value.code is Code.SOURCE_VALUE
                reason = f"in {charset} these bytes are no character, or the one of other bytes"
                assert f"holds the bytes {refused.lower()}, which the target cannot hold: {reason}" in str(caught.value)
                assert "then RESYNC TABLE" in str(caught.value)

            source, target = alike(any_server, db, tables, OnValueError.DEAD_LETTER)
            done = target.lake.commit(source.commit(1))
            assert target.rows() == [("", 0), (text, 1)]
            assert [(one.column, one.value) for one in done.dead] == [("id", f"the bytes {refused.lower()}")]


def alike(
    server: MysqlServer, db: str, tables: Tables, policy: OnValueError = OnValueError.STOP
) -> tuple[Chunked, LakeTable]:
    """The source in one chunk, and a target of its own."""
    target = tables.make("(id VARCHAR(20) NOT NULL, v BIGINT) UNIQUE KEY(id)", ("id", "v"))
    source = Chunked(server, db, target)
    source.values = ValueRules(policy=policy, bounds=(Bound(column="id", nullable=False, key=True),))
    return source, target


def test_a_source_that_does_not_give_its_rows_is_told(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """Gone, forbidden, away: each has its own error."""
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    commit = source.commit(1)
    assert commit.chunk is not None
    cases = (
        ({"password": "wrong"}, Code.SOURCE_ACCESS_DENIED),
        ({"port": 1}, Code.SOURCE_UNREACHABLE),
        ({}, Code.SNAPSHOT_BROKEN),
    )
    mysql_server.run(f"RENAME TABLE {db}.t TO {db}.u")
    for changes, code in cases:
        broken = replace(commit.chunk, reader=ReadHere(MysqlChunks(replace(address(mysql_server), **changes))))
        with pytest.raises(SyncError) as raised:
            target.lake.commit(replace(commit, chunk=broken))
        assert raised.value.code is code, str(raised.value)
    assert target.rows() == []


def test_a_reading_takes_back_an_epoch_that_was_rolled_back_before_its_answer(
    mysql_server: MysqlServer, db: str, tables: Tables
) -> None:
    """RESYNC is the cure that its error names: the table bears an epoch that the job has yet to commit again, and does
    so after the rows are there.
    """
    target = tables.make()
    source = Chunked(mysql_server, db, target)
    target.commit([(INS, 1, 1)])
    before = target.last_snapshot
    died = target.prepared([(INS, 1000, 7)])
    target.lake.commit(died)
    target.sql(f"CALL lake.system.rollback_to_snapshot('{target.db}.{target.name}', {before})")
    whole = ChunkPlan(id="1-renewal", key=("id",), bounds=(), rows=100, replaces=True)
    commit = source.commit(1, epoch=1, last=LastCommit(epoch=1, snapshot=before), renews=True)
    assert commit.chunk is not None
    chunk = replace(commit.chunk, plan=whole.id, condition="", replaces=True)
    with pytest.raises(SyncError) as caught:
        target.lake.commit(replace(commit, chunk=chunk))
    assert caught.value.code is Code.FENCED
    done = target.lake.commit(replace(commit, chunk=chunk, unanswered=died.epoch))
    assert target.rows() == [(n, n * 2) for n in range(100)]
    again = target.lake.commit(replace(coming_after(died, snapshot=done.snapshot), settled=False))
    assert not again.passed_over
    assert target.rows() == [*((n, n * 2) for n in range(100)), (1000, 7)]
