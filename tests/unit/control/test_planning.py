from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from syncmgr.control.explain_sync import Explanation
from syncmgr.control.planning import Planner
from syncmgr.control.sync_request import SyncRequest
from syncmgr.control.wanted_tables import WantedTables
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.patterns import Found, sharded
from syncmgr.job.channel.table_pattern import matches
from syncmgr.job.job_properties import WithoutKey
from syncmgr.job.position import Position
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.types.schema import SourceTable, TargetTable
from syncmgr.sources.cancellation import Cancellation
from syncsql import Channel, ColumnMapping, Name, PatternKind, Shards, TablePattern, Tables, WholeDatabase
from tests.unit.job.factories import make_canal, make_source, make_source_table, make_target

Table = tuple[str, str]
START = Position(file="b.000001", offset=4)
UNKNOWN = SyncError(Code.SOURCE_UNKNOWN_TABLE, table="shop.gone", address="db1:3306", hint="")


@dataclass(frozen=True)
class Facts:
    tables: tuple[SourceTable, ...]
    unique_keys: tuple[tuple[tuple[str, ...], ...], ...]
    start: Position = START
    known_at: Position = START
    full_metadata: bool = True
    server_time: float = 1.0


@dataclass
class House:
    """A server of three tables, one without a key, and a lake of one."""

    targets: dict[str, TargetTable] = field(default_factory=lambda: {"orders": make_target()})
    sources: tuple[str, ...] = ("orders", "lines", "log")
    full: set[str] = field(default_factory=set)
    exact: list[str] = field(default_factory=list)
    ours: set[str] = field(default_factory=set)
    recent: set[str] = field(default_factory=set)
    keyless: set[str] = field(default_factory=lambda: {"log"})
    inspections: int = 0
    locked: set[str] = field(default_factory=set)
    lacking: str = ""
    described: list[str] = field(default_factory=list)
    on_described: Callable[[], object] = print

    def planner(self) -> Planner:
        wanted_tables = WantedTables(
            catalog=self,
            tables=self,
            job_of=lambda _, table: "other" if table == "taken" else None,
            is_ours=lambda token: token in self.ours,
            inspect=self.inspect,
            survey=self.survey,
        )
        return Planner(
            wanted_tables=wanted_tables,
            tables=self,
            inspect=self.inspect,
            check_exact=lambda _, tables: self.exact.extend(table.name for table in tables),
        )

    def explanation(self) -> Explanation:
        return Explanation(self.planner(), self.inspect, self.survey)

    def databases(self) -> list[str]:
        return ["demo"]

    def tables(self, db: str) -> list[str]:
        assert db == "demo"
        return list(self.targets)

    def table(self, db: str, name: str) -> TargetTable:
        self.described.append(name)
        self.on_described()
        if name not in self.targets:
            raise SyncError(Code.NO_SUCH_TABLE, db=db, table=name)
        return self.targets[name]

    def check_channel(self, channel: ChannelDescription) -> None:
        assert channel.target in self.targets, "Spark looks only at what is there"

    def writers(self, db: str, table: str, second: float) -> frozenset[str]:
        return frozenset(self.recent)

    def is_empty(self, db: str, table: str, part: Any = None) -> bool:
        assert db == "demo"
        return table not in self.full

    def inspect(self, _: Any, tables: Sequence[Table], locked: Locked = never) -> Facts:
        self.inspections += 1
        seen = {table: make_source_table(db=table[0], name=table[1]) for table in tables}
        told = {table: () if table[1] in self.keyless else (("id",),) for table in tables}
        self.locked = {table[1] for table in tables if locked(table, seen[table], told[table])}
        if self.lacking:
            grants = ", ".join([self.lacking, *(f"SELECT on {name}" for _, name in tables)])
            facts = {"user": "u", "account": "'u'@'%'", "address": "db1:3306", "remedy": "GRANT"}
            raise SyncError(Code.SOURCE_GRANT_MISSING, grant=grants, **facts)
        if any(name not in self.sources for _, name in tables):
            raise UNKNOWN
        keys = tuple(() if name in self.keyless else (("id",),) for _, name in tables)
        return Facts(tuple(make_source_table(db=db, name=name) for db, name in tables), keys)

    def survey(self, _: Any, patterns: Sequence[str]) -> Mapping[Table, Found]:
        return {
            (db, name): Found(db=db, name=name, rows=1000, bytes=10**6)
            for db in ("shop", "mall_1", "mall_2")
            for name in self.sources
            if any(matches(pattern, db) for pattern in patterns)
        }


def wanted(*channels: Channel | Tables, **changes: Any) -> SyncRequest:
    values: dict[str, Any] = {
        "db": "demo",
        "channels": channels,
        "source": make_source(start="snapshot"),
        "without_key": WithoutKey.REFUSE,
        "chunk_rows": 100,
    }
    return SyncRequest(**(values | changes))


def whole(*exclude: str) -> Tables:
    out = tuple(Name(db="shop", name=name) for name in exclude)
    return Tables(source=WholeDatabase(db="shop"), target_db="demo", exclude=out)


def test_only_missing_targets_are_made() -> None:
    """A target that is there is taken as it is, after its checks."""
    plan = House().planner().plan(wanted(whole("log")))
    assert [table.label for table in plan.made] == ["demo.lines"]
    assert [channel.label for channel in plan.channels] == ["shop.lines->lines", "shop.orders->orders"]


def test_a_table_without_a_key_is_refused_or_appended_to() -> None:
    """As the job says; appending asks whether an exact point can be had."""
    house = House()
    with pytest.raises(SyncError) as raised:
        house.planner().plan(wanted(whole()))
    assert raised.value.code is Code.NO_SOURCE_KEY
    plan = house.planner().plan(wanted(whole(), without_key=WithoutKey.APPEND))
    assert [table.keys for table in plan.made] == [("id",), ()]
    assert house.exact == ["log"]


def test_it_is_known_which_tables_will_be_locked() -> None:
    """Those whose target has, or will have, no key, where their rows are read: so that the grant is asked for early."""
    appended = wanted(whole(), without_key=WithoutKey.APPEND)
    house = House(targets={"lines": replace(make_target(name="lines"), keys=())})
    house.planner().plan(appended)
    assert house.locked == {"lines", "log"}
    house.planner().plan(replace(appended, source=make_source(start="latest")))
    assert house.locked == set()
    with pytest.raises(SyncError):
        house.planner().plan(wanted(whole()))
    assert house.locked == {"lines"}, "a table that is refused needs no grant"


def test_explaining_tells_the_grants_of_server_and_tables_at_once() -> None:
    """Whoever gives those of the server first is not sent back for those of the tables."""
    [row] = House(lacking="REPLICATION SLAVE").explanation().explain(wanted(whole("log")))
    assert row[2] == "source"
    assert "lacks REPLICATION SLAVE, SELECT on lines, SELECT on orders" in row[4]


def test_all_tables_without_a_key_are_named_at_once() -> None:
    """Whoever excludes one is not told of the next."""
    house = House(sources=("orders", "log", "audit"))
    house.keyless |= {"audit"}
    with pytest.raises(SyncError) as raised:
        house.planner().plan(wanted(whole()))
    assert str(raised.value).startswith("No unique key that a target can have: shop.audit, shop.log; EXCLUDE ")
    with pytest.raises(SyncError) as raised:
        house.planner().plan(wanted(whole(), source=make_source().joining))
    cure = 'ALTER SYNC JOB ... SET ("tables_without_key" = "append") first'
    assert cure in str(raised.value), "a running job has no PROPERTIES to write it into"


def test_who_names_a_target_that_is_not_there_hears_how_it_is_made() -> None:
    """With the very words, but where a column list, a WHERE or canal leaves its types to the user."""
    own = Channel(source=Name(db="shop", name="lines"), target=Name(name="new"))
    with pytest.raises(SyncError) as raised:
        House().planner().plan(wanted(own))
    assert raised.value.code is Code.NO_SUCH_TABLE
    how = "; FROM `shop`.`lines` INTO `demo`.* makes its target, `demo`.`lines`"
    assert str(raised.value) == f"Table 'demo.new' doesn't exist{how}"
    [row] = House().explanation().explain(wanted(own))
    assert how in row[-1]
    made = Tables(source=Name(db="shop", name="lines"), target_db="demo")
    assert [table.label for table in House().planner().plan(wanted(made)).made] == ["demo.lines"]
    for asked in (
        wanted(own, source=make_canal()),
        wanted(replace(own, columns=(ColumnMapping(target="id"),))),
    ):
        with pytest.raises(SyncError, match=r"doesn't exist$"):
            House().planner().plan(asked)


def test_a_target_of_another_job_is_no_way_to_make_one() -> None:
    """Advice that the next statement refuses is none."""
    own = Channel(source=Name(db="shop", name="taken"), target=Name(name="new"))
    with pytest.raises(SyncError, match=r"doesn't exist$"):
        House(sources=("taken",)).planner().plan(wanted(own))


def test_a_filled_target_is_refused() -> None:
    """What the source does not have any more would stay in it."""
    house = House(full={"orders"})
    with pytest.raises(SyncError, match="not empty") as raised:
        house.planner().plan(wanted(whole("log")))
    assert raised.value.code is Code.SNAPSHOT_REFUSED
    latest = wanted(whole("log"), source=make_source(start="latest"))
    assert [table.label for table in house.planner().plan(latest).made] == ["demo.lines"]


@pytest.mark.parametrize(
    ("ours", "recent", "refused"),
    [
        ({"mine"}, {"mine", "theirs"}, True),
        ({"mine"}, {"mine"}, False),
        (set(), set(), False),
        ({"mine", "theirs"}, {"theirs"}, False),
    ],
)
def test_a_target_of_another_frontend_is_refused(ours: set[str], recent: set[str], *, refused: bool) -> None:
    """As long as that commits; what it wrote long ago, and what jobs of ours wrote, hinders nobody."""
    house = House(ours=ours, recent=recent)
    house.targets["orders"] = replace(make_target(), writers=("mine", "theirs"))
    if not refused:
        assert house.planner().plan(wanted(whole("log"))).channels
        return
    with pytest.raises(SyncError) as raised:
        house.planner().plan(wanted(whole("log")))
    assert raised.value.code is Code.TARGET_OF_OTHERS


def test_a_table_is_meant_once() -> None:
    """A channel of its own beside a pattern that means it, too, is a slip."""
    own = Channel(source=Name(db="shop", name="orders"), target=Name(name="orders"))
    with pytest.raises(SyncError) as raised:
        House().planner().plan(wanted(whole("log"), own))
    assert raised.value.code is Code.DUPLICATE_MAPPING


def shards(table: str, target: str, databases: str = "mall_%") -> Shards:
    return Shards(source=like(f"{databases}.{table}"), target=Name(name=target))


def like(text: str) -> TablePattern:
    return TablePattern(kind=PatternKind.LIKE, text=text)


def test_shards_share_a_target_that_is_made_once() -> None:
    """Each is a channel of its own with a part of it; at once by one rule, or by several."""
    for rules in ([shards("lines", "all")], [shards("lines", "all", f"mall_{n}%") for n in (1, 2)]):
        plan = House().planner().plan(wanted(*rules))
        assert [table.label for table in plan.made] == ["demo.all"]
        assert [channel.target_label for channel in plan.channels] == ["all (mall_1)", "all (mall_2)"]
        assert plan.loading == {channel.token for channel in plan.channels}


@pytest.mark.parametrize(
    "other",
    [
        shards("orders", "all"),
        Channel(source=Name(db="shop", name="orders"), target=Name(name="all")),
    ],
)
def test_no_part_is_filled_twice(other: Channel | Shards) -> None:
    """By another table of the same databases, or by a table that fills the whole target."""
    for channels in ((shards("lines", "all"), other), (other, shards("lines", "all"))):
        house = House(targets={"all": sharded(make_target(name="all"))})
        with pytest.raises(SyncError) as raised:
            house.planner().plan(wanted(*channels))
        assert raised.value.code is Code.DUPLICATE_MAPPING


def channels_into(*targets: str) -> list[Channel]:
    """Of as many source tables."""
    return [
        Channel(source=Name(db="shop", name=f"t{number}"), target=Name(name=target))
        for number, target in enumerate(targets)
    ]


def test_a_target_is_described_once_for_a_statement() -> None:
    """And not at all for names that are wrong: 4,000 tables into one target held a thread for half a minute."""
    house = House()
    with pytest.raises(SyncError) as raised:
        house.planner().plan(wanted(*channels_into(*["orders"] * 4000)))
    assert (raised.value.code, house.described) == (Code.DUPLICATE_MAPPING, [])
    house = House(targets={"all": sharded(make_target(name="all"))})
    assert len(house.planner().plan(wanted(shards("lines", "all"))).channels) == 2
    assert house.described == ["all"]
    house = House(targets={"all": sharded(make_target(name="all"))}, lacking="REPLICATION SLAVE")
    hidden = Tables(source=Name(db="shop", name="hidden"), target_db="demo")
    with pytest.raises(SyncError) as raised:
        house.planner().plan(wanted(shards("lines", "all"), hidden))
    assert (raised.value.code, house.described) == (Code.SOURCE_GRANT_MISSING, ["all"])


def test_targets_are_no_longer_described_once_that_is_given_up() -> None:
    """KILL, a client that leaves, and source_statement_second end it between two of them."""
    names = [f"t{number}" for number in range(50)]
    house, asking = House(targets={name: make_target(name=name) for name in names}), Cancellation()
    house.on_described = asking.give_up
    with pytest.raises(SyncError) as raised, asking.here():
        house.planner().plan(wanted(*channels_into(*names)))
    assert (raised.value.code, house.described) == (Code.INTERRUPTED, ["t0"])


def test_a_shard_that_does_not_fit_is_named() -> None:
    """With the target and what is wrong."""
    house = House(targets={"all": sharded(make_target(name="all", columns=make_target().columns[:2]))})
    with pytest.raises(SyncError, match=r"mall_1\.lines.*'amount'") as raised:
        house.planner().plan(wanted(shards("lines", "all")))
    assert raised.value.code is Code.SHARDS_REFUSED
    house = House(targets={"all": sharded(make_target(name="all"))}, full={"all"})
    with pytest.raises(SyncError, match="rows of mall_1 from before"):
        house.planner().plan(wanted(shards("lines", "all")))


@pytest.mark.parametrize(
    ("channel", "hint"),
    [
        (
            Channel(source=Name(db="mall_%", name="or_ders"), target=Name(name="orders")),
            r"FROM TABLES LIKE 'mall_%.or\_ders' INTO `orders`",
        ),
        (
            Tables(source=Name(db="my_shop", name="o%"), target_db="demo"),
            r"FROM TABLES LIKE 'my\_shop.o%' INTO `demo`.*",
        ),
        (
            Tables(source=WholeDatabase(db="mall%"), target_db="demo"),
            "FROM database.* INTO `demo`.* for each database",
        ),
        (
            Tables(source=WholeDatabase(db="shop"), target_db="demo", exclude=(Name(db="shop", name="l%"),)),
            "EXCLUDE (LIKE 'shop.l%')",
        ),
        (
            Tables(
                source=WholeDatabase(db="shop"), target_db="demo", exclude=(Name(db="shop", name="user\\_secrets"),)
            ),
            "EXCLUDE (`shop`.`user_secrets`)",
        ),
        (
            Tables(source=Name(db="shop", name="a\\_\\%"), target_db="demo"),
            "FROM `shop`.`a_%` INTO `demo`.*",
        ),
    ],
)
def test_a_quoted_name_that_was_meant_as_a_pattern_is_refused(channel: Channel | Tables, hint: str) -> None:
    """Where the source has no such table, the error shows the pattern; before anything is said of targets."""
    for house in (House(), House(targets={})):
        with pytest.raises(SyncError) as raised:
            house.planner().plan(wanted(channel))
        assert raised.value.code is Code.NO_TABLE_MATCHES
        assert f"write {hint} if that is meant" in str(raised.value)


@pytest.mark.parametrize("db", ["mysql", "sys", "performance_schema", "information_schema"])
def test_the_servers_own_databases_are_refused(db: str) -> None:
    """Their rows change without events: the lake would be out of date without a word."""
    like = TablePattern(kind=PatternKind.LIKE, text=f"{db.replace('_', chr(92) + '_')}.%")
    one = Channel(source=Name(db=db, name="user"), target=Name(name="orders"))
    for channel in (one, *(Tables(source=each, target_db="demo") for each in (WholeDatabase(db=db), like))):
        with pytest.raises(SyncError, match="the server's own") as raised:
            House().planner().plan(wanted(channel))
        assert raised.value.code is Code.NOT_SUPPORTED


def test_a_table_with_a_percent_sign_in_its_name_is_taken() -> None:
    """A name in backticks is never a pattern."""
    house = House(sources=("50%", "501", "lines"))
    own = Channel(source=Name(db="shop", name="50%"), target=Name(name="orders"))
    assert [c.label for c in house.planner().plan(wanted(own)).channels] == ["shop.50%->orders"]
    rest = house.planner().plan(wanted(whole("50%")))
    assert [channel.source.name for channel in rest.channels] == ["501", "lines"]
    alone = Tables(source=Name(db="shop", name="50%"), target_db="demo")
    assert [channel.source.name for channel in house.planner().plan(wanted(alone)).channels] == ["50%"]


def test_a_slip_in_a_name_after_exclude_is_refused() -> None:
    """A table that should stay out would be synced."""
    rule = replace(shards("lines", "all"), exclude=(Name(db="mall_1", name="line"),))
    with pytest.raises(SyncError, match=r"EXCLUDE names mall_1\.line, which it does not mean") as raised:
        House().planner().plan(wanted(rule))
    assert raised.value.code is Code.BAD_PATTERN
    good = replace(rule, exclude=(Name(db="mall_1", name="lines"), Name(db="mall_7", name="lines")))
    assert [c.source.db for c in House().planner().plan(wanted(good)).channels] == ["mall_2"]


def test_a_name_after_exclude_in_another_case_is_refused() -> None:
    """It would leave nothing out, and say so nowhere."""
    with pytest.raises(SyncError, match=r"EXCLUDE names shop\.LOG, and the table is shop\.log; write it so") as raised:
        House().planner().plan(wanted(whole("LOG")))
    assert raised.value.code is Code.BAD_PATTERN


@pytest.mark.parametrize(
    "channel",
    [
        Tables(source=like("mall_%.lines"), target_db="demo"),
        Shards(source=like("mall_1.%"), target=Name(name="all")),
    ],
)
def test_a_pattern_that_is_not_offered_yet_is_refused(channel: Tables | Shards) -> None:
    """By MySQL's own number, in CREATE and in EXPLAIN."""
    with pytest.raises(SyncError, match="doesn't yet support") as raised:
        House().planner().plan(wanted(channel))
    assert raised.value.code is Code.NOT_SUPPORTED
    [row] = House().explanation().explain(wanted(channel))
    assert "(error 1235)" in row[-1]


def test_canal_has_no_patterns() -> None:
    """It tells no tables before their first rows."""
    with pytest.raises(SyncError, match="canal"):
        House().planner().plan(wanted(whole(), source=make_canal()))


def test_explaining_tells_each_table_and_each_check() -> None:
    """An error of one table does not hide the others; sizes are told where rows would be read."""
    house = House(full={"orders"})
    rows = house.explanation().explain(wanted(whole()))
    assert [(row[2], row[4]) for row in rows[:2]] == [("source", "ok"), ("start", "ok")]
    outcomes = {row[0]: row[4] for row in rows if row[2] == "check"}
    assert outcomes["shop.lines"] == "ok"
    assert "20032" in outcomes["shop.log"]
    assert "not empty" in outcomes["shop.orders"]
    told = {row[2]: row[3] for row in rows if row[0] == "shop.lines"}
    assert (told["target"], told["key"], told["rows"], told["chunks"]) == ("is created", "id", "about 1000", "about 10")
    assert told["columns"].startswith("id BIGINT = bigint, status VARCHAR(16) = varchar(16)")


def test_explaining_asks_for_all_tables_at_once() -> None:
    """Thousands of tables are asked for one by one only where one of them is wrong."""
    house = House()
    house.explanation().explain(wanted(whole()))
    assert house.inspections == 2
    gone = Channel(source=Name(db="shop", name="gone"), target=Name(name="orders"))
    rows = house.explanation().explain(wanted(whole("orders", "log"), gone))
    assert {row[0]: row[4][:12] for row in rows if row[2] == "check"} == {
        "shop.lines": "ok",
        "shop.gone": "Source table",
    }


def test_explaining_a_job_on_canal() -> None:
    """By place, as CREATE SYNC would do it."""
    columns = Channel(source=Name(db="shop", name="orders"), target=Name(name="orders"))
    rows = House().explanation().explain(wanted(columns, source=make_canal()))
    assert rows[0][2] == "source"


def test_explaining_a_job_on_canal_asks_for_no_table() -> None:
    """Canal would take the tables for the filter of whoever reads the destination; where that is a job of ours, canal
    is not asked at all.
    """

    class Asked(House):
        def inspect(self, source: Any, tables: Sequence[Table], locked: Locked = never) -> Facts:
            assert not tables
            return super().inspect(source, tables, locked)

    house, orders = Asked(), Channel(source=Name(db="shop", name="orders"), target=Name(name="orders"))
    asked = wanted(replace(orders, columns=(ColumnMapping(target="id"),)), source=make_canal())
    rows = house.explanation().explain(asked)
    assert ({row[4] for row in rows}, house.inspections) == ({"ok"}, 1)
    taken = SyncError(Code.CANAL_IN_USE, destination="example", address="canal1:11111", reader="sync job 'demo.a'")
    [row] = house.explanation().explain(asked, taken)
    assert (row[4], house.inspections) == (f"{taken} (error 20124)", 1)


def test_a_table_that_is_made_while_others_are_looked_at_is_no_less_meant() -> None:
    """Its CREATE TABLE stands before the place from which changes are read, so nothing else would tell of it."""

    class Growing(House):
        def inspect(self, source: Any, tables: Sequence[Table], locked: Locked = never) -> Facts:
            facts = super().inspect(source, tables, locked)
            self.sources = ("orders", "lines", "late")
            return facts

    house = Growing(sources=("orders", "lines"))
    plan = house.planner().plan(wanted(whole()))
    assert [channel.source.name for channel in plan.channels] == ["late", "lines", "orders"]
    assert house.inspections == 2


def test_tables_that_come_all_the_time_keep_no_statement_from_its_end() -> None:
    """Those that are left out are known to be so: the job's run looks for them."""

    class Busy(House):
        def survey(self, source: Any, patterns: Sequence[str]) -> Mapping[Table, Found]:
            self.sources = (*self.sources, f"t{len(self.sources)}")
            return super().survey(source, patterns)

    house = Busy()
    plan = house.planner().plan(wanted(whole("log")))
    assert (house.inspections, plan.has_grown) == (3, True)
    assert [channel.source.name for channel in plan.channels][-1] == f"t{len(house.sources) - 2}"
    assert not House().planner().plan(wanted(whole("log"))).has_grown


def test_a_pattern_of_which_all_is_excluded_needs_another_channel() -> None:
    """Beside one it waits for tables that are created later; alone it would make a job without tables."""
    orders = Channel(source=Name(db="shop", name="orders"), target=Name(db="demo", name="orders"))
    alone = whole(*House().sources)
    plan = House().planner().plan(wanted(alone, orders))
    assert [channel.source.name for channel in plan.channels] == ["orders"]
    with pytest.raises(SyncError, match="EXCLUDE leaves none of them") as raised:
        House().planner().plan(wanted(alone))
    assert raised.value.code is Code.NO_TABLE_MATCHES


@pytest.mark.parametrize(
    ("channel", "lacking"),
    [
        (Tables(source=Name(db="shop", name="hidden"), target_db="demo"), "REPLICATION SLAVE, SELECT on hidden"),
        (Tables(source=WholeDatabase(db="hidden"), target_db="demo"), "GRANT; GRANT SELECT ON `hidden`.* TO 'u'@'%'"),
    ],
)
def test_who_sees_no_table_is_told_all_grants_at_once(channel: Tables, lacking: str) -> None:
    """Not that the table is not there, and after a GRANT the next one; who lacks none is told that nothing is meant."""
    with pytest.raises(SyncError) as raised:
        House(lacking="REPLICATION SLAVE").planner().plan(wanted(channel))
    assert raised.value.code is Code.SOURCE_GRANT_MISSING
    assert lacking in str(raised.value)
    with pytest.raises(SyncError) as raised:
        House().planner().plan(wanted(channel))
    assert raised.value.code is Code.NO_TABLE_MATCHES


def test_who_sees_one_table_less_is_told_the_grants_of_all() -> None:
    """Of every channel of the statement, whichever kind it is: one visit to the server is enough."""
    named = [Tables(source=Name(db="shop", name=name), target_db="demo") for name in ("hidden", "hidden_2", "lines")]
    single = Channel(source=Name(db="shop", name="log"), target=Name(db="demo", name="log"))
    house = House(lacking="REPLICATION SLAVE", targets={"log": make_target(keys=())})
    with pytest.raises(SyncError) as raised:
        house.planner().plan(wanted(*named, single, Tables(source=WholeDatabase(db="away"), target_db="demo")))
    for name in ("hidden", "hidden_2", "lines", "log", "away.*"):
        assert f"SELECT on {name}" in str(raised.value)
    assert house.locked == {"log"}


def test_all_tables_whose_names_the_lake_cannot_have_are_named_at_once() -> None:
    """With what to type, which is then accepted as it is."""
    house = House(sources=("orders", "lines", "a.b", "c/d"), keyless=set())
    with pytest.raises(SyncError, match=r"it must not contain '/'") as raised:
        house.planner().plan(wanted(whole()))
    assert raised.value.code is Code.BAD_NAME
    assert "write EXCLUDE (`shop`.`a.b`, `shop`.`c/d`) after the pattern" in str(raised.value)
    plan = house.planner().plan(wanted(whole("a.b", "c/d")))
    assert [channel.source.name for channel in plan.channels] == ["lines", "orders"]
