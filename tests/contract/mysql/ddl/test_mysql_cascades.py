"""Foreign keys that come by DDL, and what the server logs of the rows that they change."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

from syncmgr.errors import SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_plan import DdlStatement, Rules, plan_ddl
from syncmgr.job.ddl_policy import OnDdl, deeds_of
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.position import Position
from syncmgr.sources.mysql.binlog.subscriptions import subscriptions
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.mysql.ddl.test_mysql_ddl_corpus import planned, target, worker
from tests.contract.mysql_reader import database, facts, reading
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import some_slow
from tests.support.until import until

pytestmark = pytest.mark.mysql
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02))
UNSEEN: Final = "what the foreign key changes is not in the binlog"
WAYS: Final = {
    "a clause": ["ALTER TABLE {db}.t ADD p BIGINT, ADD FOREIGN KEY (p) REFERENCES {db}.parent (id) ON DELETE CASCADE"],
    "beside a column": ["ALTER TABLE {db}.t ADD p BIGINT REFERENCES {db}.parent (id) ON DELETE CASCADE"],
    "of a new table": [
        "DROP TABLE {db}.t",
        (
            "CREATE TABLE {db}.t"
            " (id BIGINT PRIMARY KEY, p BIGINT, FOREIGN KEY (p) REFERENCES {db}.parent (id) ON UPDATE CASCADE)"
        ),
    ],
    "beside a column of a new table": [
        "DROP TABLE {db}.t",
        "CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, p BIGINT REFERENCES {db}.parent (id) ON DELETE SET NULL)",
    ],
}


@pytest.fixture(scope="module")
def native_mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """A MySQL whose engine cascades unseen, as all did before 9.6."""
    options = {"loose-innodb-native-foreign-keys": "ON"}
    server = MysqlServer(tmp_path_factory.mktemp("native"), "mysql", options)
    yield server.start()
    server.stop()


@pytest.fixture(params=["mysql_server", "native_mysql", "mariadb_server"])
def server(request: pytest.FixtureRequest) -> MysqlServer:
    """Each of them in turn."""
    found: MysqlServer = request.getfixturevalue(request.param)
    return found


def met(server: MysqlServer, db: str, statements: list[str]) -> tuple[ChannelDescription, list[DdlStatement]]:
    """The table's channel, and its statements as the stream brings them."""
    channel = planned(facts(server, [(db, "t")]).tables[0])
    said = []
    with reading(server, subscriptions([worker(channel)], Position()), options=QUICK) as reader:
        for statement in statements:
            server.run("SET sql_mode = 'STRICT_ALL_TABLES'", statement.format(db=db))
            until(lambda: reader.get() and reader.batches[-1].ddl)
            ddl = reader.batches[-1].ddl
            assert ddl is not None
            assert ddl.followable is not None
            said.append(ddl.followable)
            reader.source.follow([worker(channel)])
    return channel, said


def refusals(channel: ChannelDescription, said: list[DdlStatement], rules: Rules) -> list[object]:
    """Why one of the statements, after each other, is not followed."""
    try:
        for each in said:
            channel = plan_ddl(each, [channel], rules).channels.get(channel.token, channel)
    except SyncError as error:
        return [error.context["reason"]]
    return []


@pytest.mark.parametrize(
    ("server", "way"),
    some_slow(
        itertools.product(["mysql_server", "native_mysql", "mariadb_server"], WAYS),
        always=[
            *itertools.product(["mysql_server"], WAYS),
            ("native_mysql", "a clause"),
            ("mariadb_server", "a clause"),
        ],
    ),
    indirect=["server"],
)
def test_a_key_that_cascades_unseen_stops_its_table(server: MysqlServer, way: str) -> None:
    """However it comes: where the rows that it really changes are not logged, unless the job's text accepts that."""
    with database(server) as db:
        server.run(f"CREATE TABLE {db}.parent (id BIGINT PRIMARY KEY)", f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY)")
        channel, said = met(server, db, WAYS[way])
        described = target(channel.source, channel.keys)
        rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.APPEND, describe=lambda _: described)
        logs = dict(server.run("SHOW VARIABLES LIKE 'innodb_native_foreign_keys'"))
        is_made = "FOREIGN KEY" in server.run(f"SHOW CREATE TABLE {db}.t")[0][1]
        stops = is_made and "OFF" not in logs.values()
        assert refusals(channel, said, rules) == [UNSEEN] * stops
        assert refusals(channel, said, replace(rules, deeds=deeds_of({"on_rows_change": "resync"}))) == [UNSEEN] * stops
        assert refusals(channel, said, replace(rules, unlogged=True)) == []
