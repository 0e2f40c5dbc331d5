import pytest

import syncsql
from syncmgr.control.present_text import present_text
from syncmgr.job.channel.description import ChannelDescription, MappedColumn
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import SourceTable
from syncsql import CreateSync
from tests.unit.job.factories import make_channel, make_job, with_history

BINLOG = 'FROM BINLOG ("type" = "mysql", "mysql.host" = "db1", "mysql.user" = "repl", "mysql.password" = "******")'


def read_as(source: str, target: str, columns: str = "id=id", *, gone: bool = False) -> ChannelDescription:
    """`columns`: target=source, or target:constant."""
    db, name = source.split(".")
    pairs = [each.partition("=") for each in columns.split() if "=" in each]
    constants = [each.partition(":") for each in columns.split() if ":" in each]
    mapped = [MappedColumn(target=to, expression=f"`{of}`") for to, _, of in pairs]
    mapped += [MappedColumn(target=to, expression=f"'{text}'", constant=text) for to, _, text in constants]
    table = SourceTable(db=db, name=name, columns=())
    made = make_channel(token=source, source=table, target=target, columns=tuple(mapped))
    return with_history(made, source_dropped=gone)


def job_of(said: str, *channels: ChannelDescription) -> SyncJob:
    return make_job(statement=f"CREATE SYNC demo.job1 ({said}) {BINLOG}", channels=channels)


def channels_of(text: str) -> list[str]:
    [parsed] = syncsql.parse(text)
    assert isinstance(parsed.statement, CreateSync)
    return [channel.sql() for channel in parsed.statement.channels]


SHARDS = r"FROM TABLES LIKE 'shop\_%.orders' INTO orders"


@pytest.mark.parametrize(
    ("said", "channels", "printed"),
    [
        pytest.param(
            "FROM shop.* INTO demo.*",
            [read_as("shop.later", "orders"), read_as("shop.lines", "lines")],
            ["FROM `shop`.* INTO `demo`.* EXCLUDE (`shop`.`later`)", "FROM `shop`.`later` INTO `demo`.`orders`"],
            id="within its pattern",
        ),
        pytest.param(
            "FROM shop.* INTO demo.*",
            [read_as("crm.orders", "orders"), read_as("shop._lines_old", "lines")],
            [
                "FROM `shop`.* INTO `demo`.*",
                "FROM `crm`.`orders` INTO `demo`.`orders`",
                "FROM `shop`.`_lines_old` INTO `demo`.`lines`",
            ],
            id="out of its pattern",
        ),
        pytest.param(
            "FROM shop.* INTO demo.*",
            [read_as("shop.b", "a"), read_as("shop.a", "b")],
            [
                "FROM `shop`.* INTO `demo`.* EXCLUDE (`shop`.`b`, `shop`.`a`)",
                "FROM `shop`.`b` INTO `demo`.`a`",
                "FROM `shop`.`a` INTO `demo`.`b`",
            ],
            id="exchanged",
        ),
        pytest.param(
            "FROM shop.orders INTO orders (id, total = price, twice = price * 2) WHERE id > 7, FROM shop.l INTO demo.*",
            [read_as("shop.later", "orders", "id=id total=cost"), read_as("shop.lines", "l")],
            [
                "FROM `shop`.`later` INTO `orders` (`id`, `total` = `cost`, `twice` = `price` * 2) WHERE `id` > 7",
                "FROM `shop`.`lines` INTO `demo`.`l`",
            ],
            id="named tables, and a column of a list",
        ),
        pytest.param(
            "FROM shop.* INTO demo.*",
            [read_as("shop.orders", "orders", "id=id total=cost")],
            [
                "FROM `shop`.* INTO `demo`.* EXCLUDE (`shop`.`orders`)",
                "FROM `shop`.`orders` INTO `demo`.`orders` (`id`, `total` = `cost`)",
            ],
            id="a column that kept its name in the target",
        ),
        pytest.param(
            SHARDS,
            [
                read_as("shop_1.orders", "orders", "db:shop_1 id=id total=cost"),
                read_as("shop_2.later", "orders", "db:shop_2 id=id"),
                read_as("shop_3.orders", "orders", "db:shop_3 id=id"),
            ],
            [
                r'FROM TABLES LIKE "shop\\_%.orders" INTO `orders` EXCLUDE (`shop_1`.`orders`)',
                r'FROM TABLES LIKE "shop\\_1.orders" INTO `orders` (`id`, `total` = `cost`, `db` = DATABASE())',
                r'FROM TABLES LIKE "shop\\_2.later" INTO `orders`',
            ],
            id="shards",
        ),
    ],
)
def test_a_job_prints_what_its_text_does_not_give(
    said: str, channels: list[ChannelDescription], printed: list[str]
) -> None:
    """Each table of the job, under its present name and with its present columns, goes into its own target again."""
    text = present_text(job_of(said, *channels))
    assert channels_of(text) == printed
    assert "******" in text
    assert present_text(make_job(statement=text, channels=tuple(channels))) == text


@pytest.mark.parametrize(
    ("said", "channels"),
    [
        ("FROM shop.* INTO demo.*", [read_as("shop.orders", "orders"), read_as("shop.gone", "lines", gone=True)]),
        ("FROM shop.orders INTO orders (id, `c` = `d`)", [read_as("shop.orders", "orders", "id=id c=d")]),
        ("FROM shop.orders INTO demo.*", [read_as("shop.orders", "orders", "ID=id")]),
        (SHARDS, [read_as("shop_1.orders", "orders", "db:shop_1 id=id")]),
    ],
)
def test_a_text_that_gives_them_all_stays(said: str, channels: list[ChannelDescription]) -> None:
    """Also of a table that was dropped at the source, which no statement can name."""
    job = job_of(said, *channels)
    assert present_text(job) == job.statement
