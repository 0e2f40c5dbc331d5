"""Statements that stand in the binlog before the place at which the columns of their table are known."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl_plan import Rules, plan_ddl
from syncmgr.job.ddl.lake_change import EmptyTable, LakeChange
from syncmgr.job.ddl_policy import OnDdl
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.sources.mysql.binlog.subscription import subscriptions
from tests.conftest import need_names
from tests.contract.mysql.ddl.test_mysql_ddl_corpus import QUICK, planned, statements, target, worker
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import some_slow

pytestmark = pytest.mark.mysql
FIRST: Final = "INSERT INTO {db}.t VALUES (1, 'abcdefghij')"
CUT: Final = "ALTER TABLE {db}.t MODIFY v VARCHAR(5) CHARACTER SET utf8mb4"
GROWN: Final = "ALTER TABLE {db}.t MODIFY v VARCHAR(80) CHARACTER SET utf8mb4"
NOTED: Final = "ALTER TABLE {db}.t COMMENT = 'a table'"


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database without tables."""
    need_names(any_server)
    with database(any_server) as name:
        yield name


def outcome(server: MysqlServer, db: str, *texts: str, again: bool = False, by: tuple[str, ...] | None = None) -> str:
    """Of a job that is made after these statements, and reads the binlog from before them: why it stops, or "".

    `again`: it is started anew before each statement that it meets. `by`: the columns of the target's key.
    """
    at = latest(server)
    server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v VARCHAR(20))", *(text.format(db=db) for text in texts))
    known, end = facts(server, [(db, "t")]), latest(server)
    channel = planned(known.tables[0], by=by)
    described = replace(target(channel.source, channel.keys), writers=(channel.token,) if again else ())
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.APPEND, describe=lambda _: described)
    while True:
        wanted = subscriptions([replace(worker(channel), known_at=known.known_at)], at)
        with reading(server, wanted, at, options=QUICK) as reader:
            for ddl in statements(reader, end):
                if ddl is None:
                    return ""
                assert ddl.followable is not None
                try:
                    plan_ddl(ddl.followable, [channel], rules)
                except SyncError as error:
                    return str(error)
                assert ddl.behind is not None
                at = ddl.behind
                if again:
                    break
                reader.source.follow([replace(worker(channel), known_at=known.known_at)])


@pytest.mark.parametrize("again", some_slow([False, True], always=[True]))
@ALIKE
def test_an_older_modify_that_cuts_values_stops_the_table(any_server: MysqlServer, db: str, *, again: bool) -> None:
    """The rows before it were read with their values of then; no event says what became of them."""
    assert "may change" in outcome(any_server, db, FIRST, CUT, again=again)
    assert any_server.run(f"SELECT v FROM {db}.t") == [("abcde",)]


@ALIKE
def test_an_older_modify_that_keeps_values_is_passed(any_server: MysqlServer, db: str) -> None:
    """Whatever other statements stand between it and the rows; before the first row every one is."""
    assert outcome(any_server, db, CUT, FIRST, NOTED, GROWN, GROWN.replace("80", "90")) == ""
    assert any_server.run(f"SELECT v FROM {db}.t") == [("abcde",)]


@ALIKE
def test_rows_from_before_the_key_of_now_stop_the_table(any_server: MysqlServer, db: str) -> None:
    """Two of them had one key of the target; a DELETE of one would have taken the other."""
    texts = [
        "ALTER TABLE {db}.t DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)",
        "INSERT INTO {db}.t VALUES (1, 'a'), (1, 'b')",
        "DELETE FROM {db}.t WHERE v = 'a'",
        "ALTER TABLE {db}.t DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
    ]
    with pytest.raises(SyncError, match="primary key was not within the target's key") as caught:
        outcome(any_server, db, *texts)
    assert caught.value.code is Code.SOURCE_SCHEMA
    assert any_server.run(f"SELECT id, v FROM {db}.t") == [(1, "b")]


@pytest.mark.parametrize("again", some_slow([False, True], always=[True]))
@ALIKE
def test_rows_from_before_the_unique_key_of_now_stop_the_table(
    any_server: MysqlServer, db: str, *, again: bool
) -> None:
    """Two of them had one key of the target, which has one row; the other has gone by another key."""
    texts = [
        "INSERT INTO {db}.t VALUES (1, 'a'), (2, 'a')",
        "DELETE FROM {db}.t WHERE id = 2",
        "CREATE UNIQUE INDEX u ON {db}.t (v)",
    ]
    assert "makes a key of v" in outcome(any_server, db, *texts, again=again, by=("v",))
    assert any_server.run(f"SELECT id, v FROM {db}.t") == [(1, "a")]


@ALIKE
def test_an_older_table_of_the_name_leaves_the_columns_alone(any_server: MysqlServer, db: str) -> None:
    """Its rows go where it went; what the table of the job is was asked of the server after all that."""
    at = latest(any_server)
    made = f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v VARCHAR(20))"
    any_server.run(made, f"DROP TABLE {db}.t", f"CREATE TABLE {db}.t (id INT PRIMARY KEY)", f"DROP TABLE {db}.t", made)
    known, end = facts(any_server, [(db, "t")]), latest(any_server)
    channel = planned(known.tables[0])
    described = target(channel.source, channel.keys)
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.APPEND, describe=lambda _: described)
    changes: list[LakeChange] = []
    with reading(any_server, subscriptions([replace(worker(channel), known_at=known.known_at)], at), at) as reader:
        for ddl in statements(reader, end):
            if ddl is None:
                break
            assert ddl.followable is not None
            step = plan_ddl(ddl.followable, [channel], rules)
            changes += step.changes.get(channel.token, ())
            channel = step.channels.get(channel.token, channel)
            reader.source.follow([replace(worker(channel), known_at=known.known_at)])
    assert changes == [EmptyTable(), EmptyTable()]
    assert channel.reads == ("id", "v")
