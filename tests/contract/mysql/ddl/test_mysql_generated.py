"""Generated columns of real servers whose base columns change their types."""

from dataclasses import replace
from typing import Final

import pytest

from syncmgr.errors import Code
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_plan import Rules, plan_ddl
from syncmgr.job.ddl_policy import OnDdl, deeds_of
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.sources.mysql.description import described
from tests.contract.mysql.ddl.test_mysql_cascades import met, refusals
from tests.contract.mysql.ddl.test_mysql_ddl_corpus import target
from tests.contract.mysql_reader import database, facts
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import on_servers
from tests.unit.job.factories import make_channel

pytestmark = pytest.mark.mysql
COLUMNS: Final = (
    "id BIGINT PRIMARY KEY, `of dt` VARCHAR(40) AS (CONCAT(`DT`)) VIRTUAL, dt DATETIME,"
    " t VARCHAR(20) CHARACTER SET latin1, h VARCHAR(99) CHARACTER SET latin1 AS (HEX(t)) STORED,"
    " hh INT AS (LENGTH(h)) VIRTUAL, e ENUM('a', 'b') CHARACTER SET latin1, n INT AS (e + 0) STORED,"
    " f FLOAT, c VARCHAR(40) CHARACTER SET latin1 AS (CONCAT(f)) STORED, z INT"
)
ROW: Final = "INSERT INTO {db}.t (id, dt, t, e, f) VALUES (1, '2024-01-01', 0xe9, 'b', 0.1)"
CHANGED: Final = (
    "MODIFY dt DATETIME(6)",
    "CONVERT TO CHARACTER SET utf8mb4",
    "MODIFY t VARCHAR(20) CHARACTER SET utf8mb4",
    "MODIFY e ENUM('x', 'a', 'b') CHARACTER SET latin1",
    "MODIFY f DOUBLE",
)


def rules_of(channel: ChannelDescription) -> Rules:
    described = target(channel.source, channel.keys)
    return Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.APPEND, describe=lambda _: described)


@on_servers("mysql")
def test_what_the_server_computes_anew_stops_its_table(any_server: MysqlServer) -> None:
    """It changes in rows of which the binlog has nothing, while the values that it comes from stay the same."""
    for clauses in CHANGED:
        with database(any_server) as db:
            any_server.run(f"CREATE TABLE {db}.t ({COLUMNS})", ROW.format(db=db))
            generated = f"SELECT `of dt`, h, hh, n, c FROM {db}.t"
            before = any_server.run(generated)
            channel, said = met(any_server, db, ["ALTER TABLE {db}.t " + clauses])
            assert any_server.run(generated) != before
            rules = rules_of(channel)
            assert "is generated from one that it changes" in str(refusals(channel, said, rules))
            step = plan_ddl(said[0], [channel], replace(rules, deeds=deeds_of({"on_rows_change": "resync"})))
            assert step.resynced == {channel.token}


def test_what_depends_on_a_time_zone_is_warned_of(any_server: MysqlServer) -> None:
    """A VIRTUAL column over a TIMESTAMP is in the binlog as its writer sees it; a STORED one is the same for all."""
    columns = (
        "id INT PRIMARY KEY, ts TIMESTAMP NULL, dt DATETIME, h INT AS (HOUR(ts)) VIRTUAL, s INT AS (HOUR(ts)) STORED,"
        " n INT AS (IF(ts IS NULL, 1, NULL)) VIRTUAL, d INT AS (HOUR(dt)) VIRTUAL, over_h INT AS (h + 1) VIRTUAL"
    )
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t ({columns})")
        [table] = facts(any_server, [(db, "t")]).tables
    assert {each.name for each in table.generated or () if each.zoned} == {"h", "over_h"}
    source = described({"type": "mysql", "mysql.host": "127.0.0.1", "mysql.user": "repl", "mysql.password": "secret"})
    every = tuple(column.name for column in table.columns)
    channel = make_channel(source=table, reads=every)
    told = source.caveats(channel)
    assert [each.code for each in told] == [Code.SOURCE_ZONED] * 2
    assert f"Column 'h' of table '{db}.t'" in told[0].text
    assert source.caveats(replace(channel, reads=("id", "ts", "s", "n", "d"))) == ()


@on_servers("mariadb")
def test_what_no_column_is_generated_from_may_change(any_server: MysqlServer) -> None:
    """The server tells which columns an expression reads, and what it tells after a statement is what is known then."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t ({COLUMNS})", ROW.format(db=db))
        channel, said = met(any_server, db, ["ALTER TABLE {db}.t MODIFY z BIGINT, MODIFY n INT"])
        rules = rules_of(channel)
        after = plan_ddl(said[0], [channel], rules).channels[channel.token]
        assert after.source.generated == facts(any_server, [(db, "t")]).tables[0].generated
        told = {each.name: set(each.reads) for each in after.source.generated or ()}
        assert told == {"of dt": {"dt"}, "h": {"t", "of dt"}, "hh": {"h", "of dt"}, "c": {"f", "of dt"}}
