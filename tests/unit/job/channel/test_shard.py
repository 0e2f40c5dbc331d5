from dataclasses import replace

import pytest

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import ColumnItem, plan_channel
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.patterns import Found, namesakes, sharded, target_of
from syncmgr.job.channel.shard import DATABASE, Part
from syncmgr.job.channel.table_pattern import PatternKind, TablePattern
from syncmgr.job.ddl.ddl_plan import DdlStatement, Rules, plan_ddl
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.lake_change import AddField, EmptyTable, FillField, LakeChange, RelaxField, RetypeField
from syncmgr.job.ddl_policy import OnDdl, deeds_of
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.types.schema import SourceTable, TargetColumn, TargetTable, TargetType
from tests.unit.job.factories import make_source_table

ORDERS = make_source_table(db="shop_1")
TARGET = replace(
    sharded(target_of(ORDERS, [("id",)], Found(db="shop_1", name="orders"), "demo", frozenset())), name="all_orders"
)


SHOPS = TablePattern(kind=PatternKind.LIKE, text=r"shop\_%.orders")


def shard(
    *items: ColumnItem, target: TargetTable = TARGET, source: SourceTable = ORDERS, token: str = "token"
) -> ChannelDescription:
    return plan_channel(
        token=token, source=source, unique_keys=[("id",)], target=target, items=items, where=None, shard=True
    )


def followed(
    text: str, *channels: ChannelDescription, target: TargetTable = TARGET, **deeds: str
) -> ChannelDescription:
    return _step(text, channels, target, deeds)[0]


def changes(text: str, *channels: ChannelDescription, target: TargetTable = TARGET, **deeds: str) -> list[LakeChange]:
    return _step(text, channels, target, deeds)[1]


def _step(
    text: str, channels: tuple[ChannelDescription, ...], target: TargetTable, deeds: dict[str, str]
) -> tuple[ChannelDescription, list[LakeChange]]:
    said = DdlStatement(
        text=text,
        db="shop_1",
        modes=Modes(strict=True, mariadb=False),
        moment=Moment(at=1),
    )
    rules = Rules(
        policy=OnDdl.EVOLVE,
        append_on_change=AppendOnChange.ERROR,
        describe=lambda _: target,
        deeds=deeds_of(deeds),
    )
    one = channels[0] if channels else shard()
    step = plan_ddl(said, channels or (one,), rules)
    return step.channels.get(one.token, one), list(step.changes.get(one.token, ()))


def test_a_made_target_tells_the_databases_apart() -> None:
    """First in its key, and cut by it; the rows of one database are those with its name."""
    assert TARGET.keys == (DATABASE, "id")
    assert TARGET.partition == (DATABASE,)
    channel = shard()
    assert channel.part == Part(column=DATABASE, value="shop_1")
    assert channel.source_keys == ("id",)
    assert channel.takes_new_columns


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (replace(TARGET, columns=TARGET.columns[1:], keys=("id",), partition=()), "has no column 'source_database'"),
        (replace(TARGET, keys=("id",)), "keys could meet"),
        (replace(TARGET, partition=()), r"PARTITION BY \(source_database\)"),
        (replace(TARGET, partition=("bucket(4, source_database)",)), "PARTITION BY"),
        (
            replace(
                TARGET,
                columns=(
                    TargetColumn(name=DATABASE, type=TargetType(name="CHAR", args=(5,)), nullable=False),
                    *TARGET.columns[1:],
                ),
            ),
            "does not hold 'shop_1'",
        ),
    ],
)
def test_a_target_in_which_rows_would_meet_is_refused(target: TargetTable, reason: str) -> None:
    """With what is missing."""
    with pytest.raises(SyncError, match=reason) as raised:
        shard(target=target)
    assert raised.value.code is Code.SHARDS_REFUSED


def test_a_column_list_names_the_column() -> None:
    """Whatever it is called; a quote in the name of a database is one in the literal."""
    source = make_source_table(db="shop's \\1")
    items = (ColumnItem(target="id"), ColumnItem(target=DATABASE, constant=source.db))
    channel = shard(*items, source=source)
    assert channel.columns[1].expression == "'shop\\'s \\\\1'"
    assert not channel.takes_new_columns


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (("shop_1", "orders"), True),
        (("shop_1", "Orders"), False),
        (("shopx1", "orders"), False),
        (("shop_9", "orders"), False),
        (("shop_81", "orders"), False),
        (("shop_1", "x.orders"), False),
        (("mysql", "orders"), False),
    ],
)
def test_a_rule_means_the_tables_of_one_name(table: tuple[str, str], *, expected: bool) -> None:
    """In databases that match, but for those that are excluded and the server's own."""
    out = TablePattern(kind=PatternKind.REGEXP, text=r"^shop_8\d*\.")
    assert namesakes(SHOPS, exclude=(("shop_9", "orders"), out)).has(table) is expected
    assert not namesakes(TablePattern(kind=PatternKind.LIKE, text="%.orders")).has(("sys", "orders"))


def test_a_wildcard_takes_no_dot_of_a_table() -> None:
    """shop%.orders means no table x.orders of a database shop."""
    assert not namesakes(TablePattern(kind=PatternKind.LIKE, text="shop%.orders")).has(("shop", "x.orders"))


def test_a_column_comes_to_the_target_once() -> None:
    """The first database brings it without a default, which is that of its own rows; the others fill it."""
    text = "ALTER TABLE orders ADD c INT NOT NULL DEFAULT 7"
    assert changes(text) == [AddField(name="c", type=TargetType(name="INT")), FillField(name="c", value="7")]
    wider = replace(TARGET, columns=(*TARGET.columns, TargetColumn(name="c", type=TargetType(name="INT"))))
    assert changes(text, target=wider) == [FillField(name="c", value="7")]
    assert "c" in followed(text, target=wider).reads
    assert changes("ALTER TABLE orders ADD c SMALLINT", target=wider) == []
    with pytest.raises(SyncError, match="has a column of that name"):
        followed("ALTER TABLE orders ADD c BIGINT", target=wider)


def test_a_column_stays_for_the_others() -> None:
    """Dropped, it is NULL from here on, and never filled again beside its old values; renamed, it is filled on."""
    dropped = followed("ALTER TABLE orders DROP amount")
    assert changes("ALTER TABLE orders DROP amount") == []
    with pytest.raises(SyncError, match="has a column of that name"):
        followed("ALTER TABLE orders ADD amount DECIMAL(12,2)", dropped)
    renamed = followed("ALTER TABLE orders RENAME COLUMN status TO state")
    assert changes("ALTER TABLE orders RENAME COLUMN status TO state") == []
    assert {column.target: column.expression for column in renamed.columns}["status"] == "`state`"
    assert renamed.part == shard().part
    assert renamed.keys == TARGET.keys


def test_a_wider_type_is_that_of_all() -> None:
    """As long as every value stays what it is; a column of its own for other values is none that the others have."""
    assert changes("ALTER TABLE orders MODIFY status VARCHAR(99)") == [
        RetypeField(name="status", type=TargetType(name="VARCHAR", args=(99,)))
    ]
    with pytest.raises(SyncError, match="no new column"):
        changes("ALTER TABLE orders MODIFY status INT", on_type_change="new_column")


def test_a_key_column_may_change_its_name() -> None:
    """The order of the target's key stays."""
    assert followed("ALTER TABLE orders CHANGE id no BIGINT NOT NULL").keys == (DATABASE, "id")


def test_whole_tables_are_those_of_one_database() -> None:
    """TRUNCATE and DROP TABLE empty its part; a table that goes to another database would take its rows along."""
    assert changes("TRUNCATE orders") == [EmptyTable()]
    assert changes("DROP TABLE orders", on_drop_table="drop") == [EmptyTable()]
    gone = followed("DROP TABLE orders", on_drop_table="drop")
    assert gone.history.source_dropped
    assert not gone.history.dropped
    with pytest.raises(SyncError, match="its rows are those of shop_1"):
        followed("RENAME TABLE orders TO other.orders")


def test_what_takes_null_takes_it_for_all() -> None:
    """A column that becomes NULL in one database."""
    strict = make_source_table(db="shop_1")
    columns = (strict.columns[0], replace(strict.columns[1], nullable=False), strict.columns[2])
    source = replace(strict, columns=columns)
    target = sharded(target_of(source, [("id",)], Found(db="shop_1", name="orders"), "demo", frozenset()))
    target = replace(
        target, columns=tuple(replace(c, nullable=False) if c.name == "status" else c for c in target.columns)
    )
    told = changes("ALTER TABLE orders MODIFY status VARCHAR(16)", shard(source=source, target=target), target=target)
    assert told == [RelaxField(name="status")]
