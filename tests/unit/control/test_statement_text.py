from dataclasses import replace

import pytest

import syncsql
from syncmgr.control.statement_text import (
    lacked,
    moved,
    only,
    pattern_of,
    patterns,
    refuse_on_source,
    renamed,
    with_channels,
    without,
)
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import Shadow
from syncmgr.job.job_properties import DDL_PROPERTIES
from syncmgr.job.source import SourceDescription
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import SourceTable
from syncsql import AddTables, CreateSync, SetSource
from tests.support.memory_source.description import MemoryDescription
from tests.unit.job.factories import make_canal, make_channel, make_job, with_history

BINLOG = 'FROM BINLOG ("type" = "mysql", "mysql.host" = "db1", "mysql.user" = "repl", "mysql.password" = "***")'


def job_of(channels: str) -> SyncJob:
    """Its text as it is kept."""
    return make_job(statement=f"CREATE SYNC demo.job1 ({channels}) {BINLOG}")


def channels_of(job: SyncJob) -> list[str]:
    [parsed] = syncsql.parse(job.statement)
    assert isinstance(parsed.statement, CreateSync)
    return [channel.sql() for channel in parsed.statement.channels]


def test_a_job_that_is_renamed_prints_its_new_name() -> None:
    """The rest of its text stays, passwords masked."""
    job = renamed(job_of("FROM shop.orders INTO orders"), "it`s")
    assert job.name == "it`s"
    assert job.statement.startswith("CREATE SYNC `demo`.`it``s` (\n  FROM `shop`.`orders` INTO `orders`\n)")
    assert "***" in job.statement


@pytest.mark.parametrize("name", DDL_PROPERTIES)
@pytest.mark.parametrize(
    ("source", "kind"), [(make_canal(), "canal"), (MemoryDescription(folder="/f", start="snapshot"), "memory")]
)
def test_no_property_is_taken_that_its_source_cannot_follow(source: SourceDescription, kind: str, name: str) -> None:
    """One of DDL would be ignored in silence."""
    with pytest.raises(SyncError) as caught:
        refuse_on_source(source, {name: "pause"})
    assert caught.value.code is Code.PROPERTY_WRONG
    assert f"a job on {kind} goes on where its columns stay as they are" in str(caught.value)
    refuse_on_source(make_job().source, {name: "pause"})


def set_source(job: SyncJob, told: str) -> SyncJob:
    [parsed] = syncsql.parse(f"ALTER SYNC JOB job1 SET SOURCE ({told})")
    assert isinstance(parsed.statement, SetSource)
    return moved(job, parsed.statement)


def test_a_job_prints_its_new_source() -> None:
    """What was not named stays, and no password is in it."""
    job = set_source(job_of("FROM shop.orders INTO orders"), '"mysql.host" = "db2", "mysql.password" = "new one"')
    assert '"mysql.host" = "db2"' in job.statement
    assert '"mysql.user" = "repl"' in job.statement
    assert "new one" not in job.statement
    assert job.source.properties()["mysql.password"] == "new one"


def test_a_job_prints_one_way_to_its_canal() -> None:
    """CREATE SYNC would refuse both."""
    told = '"canal.server.ip" = "c1", "canal.server.port" = "1", "canal.destination" = "d", "canal.username" = ""'
    text = f'CREATE SYNC demo.job1 (FROM s.t INTO t (id)) FROM BINLOG ("type" = "canal", {told}, "canal.password" = "")'
    job = set_source(
        make_job(statement=text, source=make_canal()), '"canal.zk.servers" = "zk:2181", "canal.password" = "new"'
    )
    assert "canal.server" not in job.statement
    assert '"canal.zk.servers" = "zk:2181"' in job.statement
    assert '"canal.username" = ""' in job.statement


def test_what_joins_is_printed_behind_the_rest() -> None:
    """As it was written."""
    [parsed] = syncsql.parse("ALTER SYNC job1 ADD TABLE FROM shop.items INTO items (id) WHERE id > 7")
    assert isinstance(parsed.statement, AddTables)
    job = with_channels(job_of("FROM shop.orders INTO orders"), parsed.statement.channels)
    assert channels_of(job) == [
        "FROM `shop`.`orders` INTO `orders`",
        "FROM `shop`.`items` INTO `items` (`id`) WHERE `id` > 7",
    ]


@pytest.mark.parametrize("name", ["p.q", "r/s", "order", "it`s", "plain"])
def test_what_a_table_that_could_not_join_is_told_is_taken_as_typed(name: str) -> None:
    """Whatever characters its name has: what ADD TABLE takes, and what DROP TABLE takes."""
    advice = lacked(job_of("FROM shop.* INTO demo.*"), [f"shop.{name}"])[f"shop.{name}"].advice
    statements = [part.partition("; or")[0].rstrip(".") for part in advice.split("ALTER SYNC JOB ... ")[1:]]
    assert [words.split()[0] for words in statements] == ["ADD", "DROP"]
    for words in statements:
        [parsed] = syncsql.parse(f"ALTER SYNC JOB job1 {words}")
        assert name in repr(parsed.statement)


def test_who_takes_the_name_of_a_stopped_table_is_brought_by_resync() -> None:
    """ADD TABLE would be refused, since the other one fills the target; so it does while that one is still read."""
    left = (Shadow(db="shop", name="lines", left=True),)
    old = make_channel(target="lines", shadows=left, stopped=Stop(reason="another table gets the name"))
    job = replace(job_of("FROM shop.* INTO demo.*"), channels=(old,))
    joining = lacked(job, ["shop.lines"])["shop.lines"]
    assert joining.advice.startswith("ALTER SYNC JOB ... RESYNC TABLE `shop`.`lines` reads it in place of `shop`.`")
    assert "ADD TABLE" not in joining.advice
    job = replace(job, channels=(with_history(old, stopped=None),))
    advice = lacked(job, ["shop.lines"])["shop.lines"].advice
    assert "RESYNC" not in advice
    assert "create a target of another name, and ALTER SYNC JOB ... ADD TABLE FROM `shop`.`lines` INTO" in advice


@pytest.mark.parametrize(
    ("channels", "source", "left"),
    [
        (
            "FROM shop.old INTO orders, FROM shop.lines INTO lines",
            "renamed_since",
            ["FROM `shop`.`lines` INTO `lines`"],
        ),
        ("FROM shop.* INTO demo.*", "orders", ["FROM `shop`.* INTO `demo`.* EXCLUDE (`shop`.`orders`)"]),
        (
            """FROM TABLES LIKE 'shop.o%' INTO demo.* EXCLUDE (LIKE 'shop.log%'),
            FROM TABLES LIKE 'shop.x%' INTO demo.*, FROM shop.* INTO crm.*""",
            "o_r%",
            [
                'FROM TABLES LIKE "shop.o%" INTO `demo`.* EXCLUDE (LIKE "shop.log%", `shop`.`o_r%`)',
                'FROM TABLES LIKE "shop.x%" INTO `demo`.*',
                "FROM `shop`.* INTO `crm`.*",
            ],
        ),
        (
            "FROM shop.orders INTO demo.*, FROM shop.orders_2 INTO demo.*",
            "orders",
            ["FROM `shop`.`orders_2` INTO `demo`.*"],
        ),
        (
            r"FROM TABLES REGEXP '^sho.\.orders$' INTO orders (id), FROM TABLES LIKE 'shop%.lines' INTO orders",
            "orders",
            [
                r'FROM TABLES REGEXP "^sho.\\.orders$" INTO `orders` (`id`) EXCLUDE (`shop`.`orders`)',
                'FROM TABLES LIKE "shop%.lines" INTO `orders`',
            ],
        ),
    ],
)
def test_what_leaves_is_not_meant_any_more(channels: str, source: str, left: list[str]) -> None:
    """A channel of its own goes from the text by its target, whatever its source is called by now; patterns exclude
    the source, and nothing else.
    """
    channel = make_channel(source=SourceTable(db="shop", name=source, columns=()))
    once = without(job_of(channels), channel)
    assert channels_of(once) == left
    if "EXCLUDE" in once.statement:
        assert channels_of(without(replace(once), channel)) == left


@pytest.mark.parametrize(
    ("channel", "table", "alone"),
    [
        ("FROM shop.* INTO demo.* EXCLUDE (log)", "o%", "FROM `shop`.`o%` INTO `demo`.*"),
        (
            "FROM TABLES LIKE '%.o.r' INTO demo.orders (id) EXCLUDE (LIKE 'x.y')",
            "o_r",
            r'FROM TABLES LIKE "shop.o\\_r" INTO `demo`.`orders` (`id`)',
        ),
    ],
)
def test_a_rule_for_one_of_its_tables_means_that_alone(channel: str, table: str, alone: str) -> None:
    """A table that comes later is planned by itself, whatever signs its name has."""
    [node] = patterns(job_of(channel))
    left = only(node, ("shop", table))
    assert left.sql() == alone
    assert pattern_of(left).has(("shop", table))
    assert not pattern_of(left).has(("shop", table.replace("_", "x").replace("%", "x")))
