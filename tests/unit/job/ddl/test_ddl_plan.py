from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import JobKind
from syncmgr.job.channel.channel_plan import ColumnItem, Condition, plan_channel
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_plan import DdlStatement, Rules, plan_ddl, settle, skip
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState, DdlStep
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.following.altering import MAX_ALTERS_TEXT
from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    DropTable,
    EmptyTable,
    FillField,
    LakeChange,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.job.ddl.session_zone import SessionZone
from syncmgr.job.ddl.stopped_table import JOB_ANEW, RESYNC, advised
from syncmgr.job.ddl_policy import RULES, Action, Kind, OnDdl, deeds_of, meaning
from syncmgr.job.job_properties import AppendOnChange, OnValueError
from syncmgr.job.position import Position
from syncmgr.job.snapshot import renewal
from syncmgr.job.types.schema import (
    MOST_TABLE_SIZE,
    GeneratedColumn,
    SourceColumn,
    SourceTable,
    TargetColumn,
    TargetTable,
    TargetType,
    UniqueKey,
)
from syncmgr.pipeline.messages import WorkerChannel
from syncmgr.sources.mysql.binlog.subscription import subscriptions
from syncmgr.sources.mysql.binlog.table_names import TableNames
from tests.unit.job.factories import with_history

SOURCE = SourceTable(
    db="shop",
    name="orders",
    columns=(
        SourceColumn(name="id", type="bigint", nullable=False, key=1),
        SourceColumn(name="a", type="int"),
        SourceColumn(name="b", type="varchar", length=20, charset="utf8mb4"),
        SourceColumn(name="n", type="int", nullable=False),
        SourceColumn(name="d", type="decimal", precision=8, scale=2),
    ),
    unique=(),
)
TARGET = TargetTable(
    db="demo",
    name="orders",
    columns=(
        TargetColumn(name="id", type=TargetType(name="BIGINT"), nullable=False),
        TargetColumn(name="a", type=TargetType(name="INT")),
        TargetColumn(name="b", type=TargetType(name="VARCHAR", args=(20,))),
        TargetColumn(name="n", type=TargetType(name="INT"), nullable=False),
        TargetColumn(name="d", type=TargetType(name="DECIMAL", args=(8, 2))),
    ),
    keys=("id",),
    reserved_columns=frozenset(),
)
RULES_OF_JOB = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: TARGET)
MOMENT = Moment(at=1_700_000_000, micros=123456, zone=SessionZone(name="UTC"))


def channel(
    *items: ColumnItem, name: str = "orders", where: Condition | None = None, target: TargetTable = TARGET
) -> ChannelDescription:
    source = replace(SOURCE, name=name)
    return plan_channel(
        token=f"token-{name}", source=source, unique_keys=[("id",)], target=target, items=items, where=where
    )


def followed(
    text: str,
    *channels: ChannelDescription,
    policy: OnDdl = OnDdl.EVOLVE,
    strict: bool = True,
    mariadb: bool = False,
    target: TargetTable = TARGET,
    append_on_change: AppendOnChange = AppendOnChange.ERROR,
    holds: bool = True,
    seen: dict[tuple[str, str], SourceTable] | None = None,
    deeds: Mapping[Kind, Action] | None = None,
    held: frozenset[tuple[str, str]] = frozenset(),
    logs_cascades: bool = False,
    own: frozenset[tuple[str, str]] = frozenset(),
    doubtful: bool = False,
) -> DdlStep:
    modes = Modes(strict=strict, mariadb=mariadb)
    said = DdlStatement(
        text=text,
        db="shop",
        modes=modes,
        moment=MOMENT,
        unknown=frozenset() if holds else frozenset({("shop", "orders")}),
        seen=seen or {},
        logs_cascades=logs_cascades,
        own=own,
        doubtful=doubtful,
    )
    rules = Rules(
        policy=policy,
        append_on_change=append_on_change,
        describe=lambda _: target,
        deeds=deeds or {},
        held=held,
        unrenewable=partial(renewal.refused, terms=renewal.RenewalTerms()),
    )
    return plan_ddl(said, channels or (channel(),), rules)


def changes(text: str, *channels: ChannelDescription, **terms: object) -> tuple[LakeChange, ...]:
    return followed(text, *channels, **terms).changes.get("token-orders", ())  # type: ignore[arg-type]


def refusal(text: str, *channels: ChannelDescription, **terms: object) -> str:
    with pytest.raises(SyncError) as caught:
        followed(text, *channels, **terms)  # type: ignore[arg-type]
    assert caught.value.code is Code.SOURCE_DDL
    return str(caught.value)


def kind(name: str, *args: int) -> TargetType:
    return TargetType(name=name, args=args)


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("ADD c INT", [AddField(name="c", type=kind("INT"))]),
        ("ADD c INT NOT NULL", [AddField(name="c", type=kind("INT"), initial="0")]),
        (
            "ADD c INT UNSIGNED DEFAULT 7 COMMENT 'x'",
            [AddField(name="c", type=kind("BIGINT"), comment="x", initial="7")],
        ),
        ("ADD c VARCHAR(9) NOT NULL", [AddField(name="c", type=kind("VARCHAR", 9), initial='""')]),
        ("ADD c BIGINT UNSIGNED NOT NULL", [AddField(name="c", type=kind("LARGEINT"), initial='"0"')]),
        ("ADD c BIT(64) DEFAULT b'11'", [AddField(name="c", type=kind("LARGEINT"), initial='"3"')]),
        ("ADD c DECIMAL(5,2) DEFAULT 1.5", [AddField(name="c", type=kind("DECIMAL", 5, 2), initial='"1.50"')]),
        ("ADD c ENUM('x','y') NOT NULL", [AddField(name="c", type=kind("STRING"), initial='"x"')]),
        ("ADD c SET('x','y') DEFAULT 'y,x'", [AddField(name="c", type=kind("STRING"), initial='"x,y"')]),
        ("ADD c BINARY(3) DEFAULT 'a'", [AddField(name="c", type=kind("BINARY"), initial='"610000"')]),
        ("ADD c BIT(3) DEFAULT b'101'", [AddField(name="c", type=kind("TINYINT"), initial="5")]),
        ("ADD c BOOL DEFAULT TRUE", [AddField(name="c", type=kind("TINYINT"), initial="1")]),
        ("ADD c DOUBLE DEFAULT -1e3", [AddField(name="c", type=kind("DOUBLE"), initial="-1000.0")]),
        ("ADD c DATE DEFAULT '2024-02-29'", [AddField(name="c", type=kind("DATE"), initial='"2024-02-29"')]),
        (
            "ADD c DATETIME(3) DEFAULT '2024-02-29 01:02:03.5'",
            [AddField(name="c", type=kind("DATETIME"), initial='"2024-02-29T01:02:03.500000"')],
        ),
        (
            "ADD c TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3)",
            [AddField(name="c", type=kind("TIMESTAMP"), initial='"2023-11-14T22:13:20.123000+00:00"')],
        ),
        ("ADD c TIME(1) NOT NULL", [AddField(name="c", type=kind("STRING"), initial='"00:00:00.0"')]),
        ("ADD c JSON", [AddField(name="c", type=kind("JSON"))]),
        ("ADD c TEXT FIRST", [AddField(name="c", type=kind("STRING")), MoveField(name="c", after=None)]),
        ("ADD c TEXT AFTER a", [AddField(name="c", type=kind("STRING")), MoveField(name="c", after="a")]),
        ("ADD COLUMN IF NOT EXISTS a INT", []),
        ("DROP a", [DropField(name="a")]),
        ("DROP COLUMN IF EXISTS zzz", []),
        ("DROP a, ADD a TEXT", [DropField(name="a"), AddField(name="a", type=kind("STRING"))]),
        ("RENAME COLUMN a TO z", [RenameField(old="a", new="z")]),
        ("RENAME COLUMN id TO number", [RenameField(old="id", new="number")]),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO a", [RenameField(old="a", new="b"), RenameField(old="b", new="a")]),
        ("RENAME COLUMN a TO z, ADD a INT", [RenameField(old="a", new="z"), AddField(name="a", type=kind("INT"))]),
        ("CHANGE a z BIGINT", [RenameField(old="a", new="z"), RetypeField(name="z", type=kind("BIGINT"))]),
        ("MODIFY a BIGINT", [RetypeField(name="a", type=kind("BIGINT"))]),
        ("MODIFY a INT UNSIGNED", [RetypeField(name="a", type=kind("BIGINT"))]),
        ("MODIFY a SMALLINT", []),
        ("MODIFY b VARCHAR(30)", [RetypeField(name="b", type=kind("VARCHAR", 30))]),
        ("MODIFY b TEXT", [RetypeField(name="b", type=kind("STRING"))]),
        ("MODIFY d DECIMAL(12,2)", [RetypeField(name="d", type=kind("DECIMAL", 12, 2))]),
        ("MODIFY n INT NULL", [RelaxField(name="n")]),
        ("MODIFY a INT NOT NULL", []),
        ("MODIFY a INT COMMENT 'x'", [CommentField(name="a", comment="x")]),
        ("MODIFY a INT FIRST", [MoveField(name="a", after=None)]),
        ("MODIFY a INT AFTER n", [MoveField(name="a", after="n")]),
        ("MODIFY a INT, ADD INDEX (a), ENGINE=InnoDB, COMMENT 'x'", []),
        ("CONVERT TO CHARACTER SET utf8mb4", []),
        ("ADD UNIQUE (a), DROP INDEX b", []),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id)", []),
        ("PARTITION BY HASH (id) PARTITIONS 4", []),
    ],
)
def test_what_the_target_becomes(clauses: str, expected: list[LakeChange]) -> None:
    """Every change of a column of the source is one of the target, in an order that Iceberg can make."""
    assert list(changes(f"ALTER TABLE orders {clauses}")) == expected


@pytest.mark.parametrize(
    ("clauses", "why"),
    [
        ("ADD c INT AUTO_INCREMENT UNIQUE", "MySQL numbers the rows"),
        ("ADD c INT AS (a + 1) STORED", "its values are computed"),
        ("ADD c VARCHAR(36) DEFAULT (uuid())", "may differ by row"),
        ("ADD c VARCHAR(36) DEFAULT DATE'2020-1-1'", "cannot be computed here"),
        ("ADD c DATE NOT NULL", "no value of the lake"),
        ("ADD c FROBNICATION", "the lake has no type for"),
        ("ADD id INT", "two columns would have one name"),
        ("DROP id", "in the target's key"),
        ("DROP zzz", "column 'zzz' was not known"),
        ("RENAME COLUMN zzz TO y", "column 'zzz' was not known"),
        ("MODIFY a VARCHAR(20)", "may change its values"),
        ("MODIFY b VARCHAR(3)", "may change its values"),
        ("MODIFY b CHAR(20)", "may change its values"),
        ("MODIFY d DECIMAL(8,1)", "may change its values"),
        ("MODIFY d DECIMAL(10,4)", "does not fit"),
        ("MODIFY a BIGINT UNSIGNED", "does not fit"),
        ("MODIFY a INT AS (n) STORED", "it recomputes column 'a'"),
        ("DROP PRIMARY KEY", "two rows could share one"),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)", "two rows could share one"),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id, p WITHOUT OVERLAPS)", "two rows could share one"),
        ("DROP PARTITION p", "DROP PARTITION changes rows"),
        ("TRUNCATE PARTITION p", "TRUNCATE PARTITION changes rows"),
        ("EXCHANGE PARTITION p WITH TABLE x", "EXCHANGE PARTITION changes rows"),
        ("IMPORT TABLESPACE", "IMPORT TABLESPACE changes rows"),
        ("ENGINE = BLACKHOLE", "ENGINE = BLACKHOLE changes rows"),
        ("ADD COLUMN c INT, ENGINE 'blackhole'", "ENGINE = blackhole changes rows"),
        ("FROBNICATE", "cannot be read"),
    ],
)
def test_what_is_refused(clauses: str, why: str) -> None:
    """Where a value cannot be known it is not followed: with the table, the reason and the statement."""
    text = refusal(f"ALTER TABLE orders {clauses}")
    assert why in text
    assert "shop.orders" in text
    assert clauses in text


@pytest.mark.parametrize("policy", OnDdl)
@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE orders",
        "DROP DATABASE shop",
        "TRUNCATE TABLE orders",
        "CREATE OR REPLACE TABLE orders (id BIGINT PRIMARY KEY)",
    ],
)
def test_a_table_that_was_another_before_it_is_known_is_emptied_and_no_more(text: str, policy: OnDdl) -> None:
    """Rows from before it may have been read again, and those that are there follow. What the table is has been asked
    of the server later: neither its columns nor the policy, which is about the table of the job, say anything here.
    """
    drops = deeds_of({"on_drop_table": "drop"})
    at = channel()
    for statement in (text, "CREATE TABLE orders (id BIGINT PRIMARY KEY)", "ALTER TABLE orders ADD z INT"):
        step = followed(statement, at, holds=False, policy=policy, deeds=drops, mariadb=True)
        assert step.channels == {}
        assert step.changes == ({at.token: (EmptyTable(),)} if statement == text else {})


BESIDE = JobKind(has_rows=True, has_others=True, runs=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ALTER TABLE orders DROP id", "column 'id' is gone, and target column 'id' is in the key"),
        ("ALTER TABLE orders DROP id, ADD s INT PRIMARY KEY", "column 'id' is gone"),
        ("ALTER TABLE orders MODIFY id DATE", "target column 'id' is BIGINT, and date does not fit it"),
        ("ALTER TABLE orders DROP PRIMARY KEY, ADD PRIMARY KEY (id, n)", "its UNIQUE KEY must include all columns"),
        ("ALTER TABLE orders DROP PRIMARY KEY", "its UNIQUE KEY must include all columns"),
    ],
)
def test_a_statement_after_which_resync_refuses_does_not_offer_it(text: str, why: str) -> None:
    """The rule by which RESYNC refuses is asked at once, and what works is said in its place."""
    told = str(advised(stopped(text), BESIDE))
    assert f"; RESYNC TABLE does not bring it back ({why}" in told
    assert "): ALTER SYNC JOB ... DROP TABLE it; once " in told
    assert RESYNC not in told


def test_a_table_that_is_made_with_another_key_is_made_anew() -> None:
    """What is open depends on whether the job runs, and on whose the target and the job are besides."""
    error = stopped("DROP TABLE orders", "CREATE TABLE orders (s INT PRIMARY KEY, a INT)")
    assert "): ALTER SYNC JOB ... DROP TABLE it; once " in str(advised(error, BESIDE))
    paused = replace(BESIDE, runs=False)
    assert "): ALTER SYNC JOB ... DROP TABLE it, and RESUME; once " in str(advised(error, paused))
    for kind in (replace(BESIDE, shares=True), replace(paused, has_others=False)):
        assert f"): {JOB_ANEW}. Statement" in str(advised(error, kind))


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE orders MODIFY a DATE",
        "ALTER TABLE orders DROP PRIMARY KEY, ADD PRIMARY KEY (n), ADD UNIQUE (id)",
    ],
)
def test_a_statement_after_which_resync_brings_the_table_offers_it(text: str) -> None:
    """The target gets the columns of the source, and another key does where it holds the rows apart."""
    assert f"; {RESYNC}" in str(advised(stopped(text), BESIDE))


def stopped(*statements: str) -> SyncError:
    """By the last of them, after the others."""
    *before, last = statements
    at = channel()
    for text in before:
        at = followed(text, at, deeds=deeds_of({"on_drop_table": "keep"})).channels[at.token]
    with pytest.raises(SyncError) as caught:
        followed(last, at)
    return caught.value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ALTER TABLE orders DROP PARTITION p", "DROP PARTITION: its rows are read again"),
        ("ALTER IGNORE TABLE orders ADD UNIQUE (a)", "ALTER IGNORE: its rows are read again"),
    ],
)
def test_rows_that_change_unseen_are_read_anew_where_that_is_wanted(text: str, told: str) -> None:
    """With "on_rows_change" = "resync" nothing stops, and the step names the channel."""
    step = followed(text, deeds=deeds_of({"on_rows_change": "resync"}))
    assert step.resynced == {"token-orders"}
    assert told in step.done["token-orders"]
    assert followed(text, deeds=deeds_of({"on_rows_change": "keep"})).resynced == frozenset()


@pytest.mark.parametrize(
    "text",
    ["CREATE TABLE m (id INT) ENGINE=MERGE UNION=(x, orders)", "ALTER TABLE m UNION=(orders), INSERT_METHOD=LAST"],
)
def test_a_table_whose_rows_a_merge_table_writes_stops(text: str) -> None:
    """They come under another name, and reading the table anew would not bring the next ones."""
    for word in ("pause", "resync"):
        assert "written through a MERGE table" in refusal(text, deeds=deeds_of({"on_rows_change": word}))
    kept = followed(text, deeds=deeds_of({"on_rows_change": "keep"}))
    assert kept.done["token-orders"] == "part of a MERGE table: rows kept"


def test_a_mode_that_is_not_strict_trusts_no_conversion() -> None:
    """What MySQL may have clipped or made of NULL is not taken for unchanged."""
    for clauses in ("MODIFY a SMALLINT", "MODIFY a INT UNSIGNED", "MODIFY a INT NOT NULL", "MODIFY b TEXT"):
        assert "may change its values" in refusal(f"ALTER TABLE orders {clauses}", strict=False)
    assert changes("ALTER TABLE orders MODIFY a BIGINT", strict=False) == (RetypeField(name="a", type=kind("BIGINT")),)


def test_a_column_list_takes_what_concerns_it() -> None:
    """New columns and those that no one reads pass; a rename is read on under the new name; a drop pauses."""
    listed = channel(ColumnItem(target="id"), ColumnItem(target="n"), ColumnItem(target="a"))
    assert changes("ALTER TABLE orders ADD c INT, DROP b, MODIFY d TEXT", listed) == ()
    step = followed("ALTER TABLE orders RENAME COLUMN a TO z", listed)
    assert step.changes == {}
    after = step.channels["token-orders"]
    assert {(c.target, c.expression) for c in after.columns} == {("id", "`id`"), ("n", "`n`"), ("a", "`z`")}
    assert after.reads == ("id", "z", "n")
    assert changes("ALTER TABLE orders MODIFY a BIGINT", listed) == (RetypeField(name="a", type=kind("BIGINT")),)
    assert "column list names" in refusal("ALTER TABLE orders DROP a", listed)


def test_what_an_expression_reads_stays() -> None:
    """A column that an expression or WHERE names can neither go nor change its name."""
    computed = channel(
        ColumnItem(target="id"),
        ColumnItem(target="n"),
        ColumnItem(target="a", expression="length(b)", reads=("b",)),
        where=Condition(expression="d > 1", reads=("d",)),
    )
    for clauses in ("DROP b", "RENAME COLUMN b TO c", "DROP d", "CHANGE d e DECIMAL(8,2)"):
        assert "an expression or WHERE" in refusal(f"ALTER TABLE orders {clauses}", computed)
    assert changes("ALTER TABLE orders DROP a", computed) == ()


def test_the_channel_reads_what_the_statement_made() -> None:
    """Names, keys and order behind the statement are those of the source."""
    step = followed("ALTER TABLE orders CHANGE id number BIGINT FIRST, DROP a, ADD z INT AFTER b")
    after = step.channels["token-orders"]
    assert [column.name for column in after.source.columns] == ["number", "b", "z", "n", "d"]
    assert after.reads == ("number", "b", "z", "n", "d")
    assert (after.keys, after.source_keys) == (("number",), ("number",))
    assert {column.target: column.expression for column in after.columns} == {
        name: f"`{name}`" for name in ("number", "b", "z", "n", "d")
    }
    assert step.done["token-orders"].startswith("dropped column 'a'; renamed column 'id' to 'number'")


POLICIES = {
    Kind.ADD_COLUMN: "ALTER TABLE orders ADD c INT",
    Kind.OLD_VALUES: "ALTER TABLE orders ADD c DATE NOT NULL",
    Kind.DROP_COLUMN: "ALTER TABLE orders DROP a",
    Kind.RENAME_COLUMN: "ALTER TABLE orders RENAME COLUMN a TO z",
    Kind.WIDEN: "ALTER TABLE orders MODIFY a BIGINT",
    Kind.NULLABLE: "ALTER TABLE orders MODIFY n INT",
    Kind.MOVE: "ALTER TABLE orders MODIFY a INT FIRST",
    Kind.COMMENT: "ALTER TABLE orders MODIFY a INT COMMENT 'x'",
    Kind.CONVERT: "ALTER TABLE orders MODIFY a VARCHAR(5)",
    Kind.KEY: "ALTER TABLE orders DROP PRIMARY KEY",
    Kind.TRUNCATE: "TRUNCATE orders",
    Kind.DROP_TABLE: "DROP TABLE orders",
    Kind.CREATE_TABLE: "CREATE OR REPLACE TABLE orders (id BIGINT PRIMARY KEY, a INT, n INT NOT NULL)",
    Kind.RENAME_TABLE: "RENAME TABLE orders TO old",
    Kind.SWAP_TABLE: "RENAME TABLE orders TO old, new TO orders",
    Kind.ROWS: "ALTER TABLE orders DROP PARTITION p",
    Kind.UNREAD: "FROBNICATE orders",
}


@pytest.mark.parametrize("policy", OnDdl)
@pytest.mark.parametrize("kind_of", Kind)
def test_the_policy_is_kept(kind_of: Kind, policy: OnDdl) -> None:
    """Each kind of DDL under each policy does what the table says, and the table says it in words."""
    assert meaning(kind_of, policy)
    text, deed = POLICIES[kind_of], RULES[kind_of][policy]
    if deed is Action.PAUSE:
        assert refusal(text, policy=policy)
        return
    step = followed(text, policy=policy)
    assert step.done["token-orders"]
    applied = bool(step.changes) or (
        kind_of is Kind.RENAME_TABLE and step.channels["token-orders"].source.name == "old"
    )
    assert applied == (deed is Action.APPLY)


def test_a_truncate_empties_the_target() -> None:
    """One with a key loses every row; one that is only appended to keeps them, or pauses, as it says of deletes."""
    assert changes("TRUNCATE TABLE shop.orders") == (EmptyTable(),)
    appended = replace(TARGET, keys=())
    history = channel(target=appended)
    assert "append_on_change" in refusal("TRUNCATE orders", history, target=appended)
    assert changes("TRUNCATE orders", history, target=appended, append_on_change=AppendOnChange.IGNORE) == ()


def test_a_key_that_may_cascade_changes_no_target() -> None:
    """Where rows that a cascade takes are in no binlog, it is refused, whichever way it comes."""
    cascade = "ALTER TABLE orders ADD FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE"
    beside = "ALTER TABLE orders ADD p INT REFERENCES p (id) ON UPDATE SET NULL"
    for statement in (cascade, beside):
        assert "is not in the binlog" in refusal(statement)
        followed(statement, logs_cascades=True)
    assert changes(cascade, logs_cascades=True) == ()
    assert changes(cascade.replace("CASCADE", "NO ACTION ON UPDATE RESTRICT")) == ()
    anew = "CREATE TABLE orders (id BIGINT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE)"
    gone = with_history(channel(), source_dropped=True)
    assert "is not in the binlog" in refusal(anew, gone)
    followed(anew, gone, logs_cascades=True)


def test_a_copy_that_is_made_with_a_key_that_may_cascade_stops_its_table() -> None:
    """It takes no place of a table of which every change is to be in the binlog."""
    copy = "CREATE TABLE _orders_new (id BIGINT PRIMARY KEY, a INT, b VARCHAR(20), n INT NOT NULL, d DECIMAL(8,2)"
    key = ", FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE)"
    swap = "RENAME TABLE orders TO _orders_old, _orders_new TO orders"
    assert "its copy" in str(through(f"{copy})", *PT_OSC, swap)[2])
    assert "takes its name" in refusal(swap, through(copy + key, *PT_OSC)[0])


def test_tables_exchange_their_names() -> None:
    """Each job goes on with the rows that it had."""
    step = followed("RENAME TABLE orders TO tmp, items TO orders, tmp TO items", channel(), channel(name="items"))
    assert {token: c.source.name for token, c in step.channels.items()} == {
        "token-orders": "items",
        "token-items": "orders",
    }


@pytest.mark.parametrize("rename", ["RENAME TABLE orders TO items", "ALTER TABLE orders RENAME TO items"])
def test_two_tables_of_a_job_never_have_one_name(rename: str) -> None:
    """The one that was dropped stops, then the one that takes its name: rows went into the target of either."""
    gone = with_history(channel(name="items"), source_dropped=True)
    assert "'shop.items' cannot be followed: table shop.orders takes its name" in refusal(rename, channel(), gone)
    assert "'shop.items' cannot be followed: table shop.orders takes its name" in refusal(rename, gone, channel())
    stopped = frozenset({("shop", "items")})
    assert "'shop.orders' cannot be followed: it renames the table to shop.items" in refusal(rename, held=stopped)


def test_a_synced_table_takes_the_name_of_one_that_is_kept() -> None:
    """Also where that one gets a name as tools give it: the new table is no copy."""
    step = followed("RENAME TABLE orders TO _orders_old, items TO orders", channel(), channel(name="items"))
    assert {token: (c.source.name, c.history.source_dropped) for token, c in step.channels.items()} == {
        "token-orders": ("_orders_old", False),
        "token-items": ("orders", False),
    }


DROPS = deeds_of({"on_drop_table": "drop"})


@pytest.mark.parametrize("text", ["DROP TABLE customers, orders", "DROP DATABASE shop"])
def test_a_target_is_dropped_with_its_source(text: str) -> None:
    """By policy, and as the table that it is: one made later under its name is another."""
    step = followed(text, deeds=DROPS, target=replace(TARGET, uuid="u-1", writers=("token-orders",)))
    assert step.changes == {"token-orders": (DropTable(uuid="u-1"),)}
    assert step.dropped == {"token-orders"}
    assert not step.channels["token-orders"].history.is_read
    assert step.done == {"token-orders": "dropped in the source; the target is dropped, too"}


@pytest.mark.parametrize(
    ("before", "target", "told"),
    [
        (channel(), replace(TARGET, writers=("token-orders", "x")), "another channel has written into it"),
        (
            with_history(channel(), source_dropped=True),
            TARGET,
            "the target keeps its rows",
        ),
        (followed("CREATE TABLE _orders_new LIKE orders").channels["token-orders"], TARGET, "a copy that may follow"),
    ],
)
def test_a_target_whose_rows_may_be_wanted_stays(before: ChannelDescription, target: TargetTable, told: str) -> None:
    """Those of another channel, of a table that was dropped long ago, of one that a tool is about to replace."""
    step = followed("DROP TABLE IF EXISTS orders", before, deeds=DROPS, target=target)
    assert step.changes == {}
    assert step.done["token-orders"].endswith(told)


def test_a_table_that_takes_a_synced_name_pauses() -> None:
    """Nobody knows its rows."""
    assert "table shop.new takes its name" in refusal("RENAME TABLE orders TO old, new TO orders")
    assert "table shop.new takes its name" in refusal("ALTER TABLE new RENAME TO orders")


def test_a_dropped_table_that_comes_again_is_a_new_one() -> None:
    """DROP keeps the rows, CREATE of the same name empties the target and gives it the new columns."""
    gone = followed("DROP TABLE orders").channels["token-orders"]
    assert gone.history.source_dropped
    text = (
        "CREATE TABLE IF NOT EXISTS orders (b VARCHAR(9) NOT NULL, id BIGINT NOT NULL AUTO_INCREMENT, a BIGINT,"
        " s INT AS (a + 1) STORED, u CHAR(36) NOT NULL DEFAULT (UUID()), n INT, PRIMARY KEY (id))"
    )
    step = followed(text, gone)
    after = step.channels["token-orders"]
    assert not after.history.source_dropped
    assert [column.name for column in after.source.columns] == ["b", "id", "a", "s", "u", "n"]
    assert [change for change in step.changes["token-orders"] if not isinstance(change, MoveField)] == [
        EmptyTable(),
        DropField(name="d"),
        RetypeField(name="a", type=kind("BIGINT")),
        RelaxField(name="n"),
        AddField(name="s", type=kind("INT")),
        AddField(name="u", type=kind("VARCHAR", 36)),
    ]
    assert step.done["token-orders"].startswith("emptied; dropped column 'd'")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CREATE TABLE orders LIKE customers", "like shop.customers, whose columns are not known"),
        ("CREATE TABLE orders SELECT 1 AS id", "columns of a query"),
        ("CREATE TABLE orders (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", "historical rows"),
        ("CREATE TABLE orders (id INT PRIMARY KEY, a INT WITH SYSTEM VERSIONING)", "historical rows"),
        ("CREATE TABLE orders (id INT PRIMARY KEY, a INT DEFAULT 5 WITH SYSTEM VERSIONING)", "historical rows"),
        (
            (
                "CREATE TABLE orders (id BIGINT NOT NULL, d1 DATE, d2 DATE, n INT, PERIOD FOR p (d1, d2),"
                " PRIMARY KEY (id, p WITHOUT OVERLAPS))"
            ),
            "two rows could share one",
        ),
        ("CREATE TABLE orders (id VARCHAR(9) PRIMARY KEY, a INT, n INT)", "column 'id' becomes varchar(9)"),
        ("CREATE TABLE orders (id BIGINT NOT NULL, a INT, n INT)", "two rows could share one"),
        ("CREATE TABLE orders (a INT PRIMARY KEY)", "it drops column 'id', which is in the target's key"),
    ],
)
def test_a_new_table_must_fit_the_target(text: str, reason: str) -> None:
    """Otherwise the job pauses, and nothing of the target is lost."""
    assert reason in refusal(text, with_history(channel(), source_dropped=True))


NEW_TABLE = "CREATE TABLE orders (id BIGINT PRIMARY KEY, a VARCHAR(9), b VARCHAR(20), n INT NOT NULL, d DECIMAL(8,2))"


def test_a_column_of_a_new_table_takes_the_place_of_one_of_another_type() -> None:
    """The target was just emptied; where its rows stay, or its partitions depend on the column, the job pauses."""
    gone = with_history(channel(), source_dropped=True)
    exchanged = [DropField(name="a"), AddField(name="a", type=kind("VARCHAR", 9))]
    made = changes(NEW_TABLE, gone)
    assert made[0] == EmptyTable()
    assert [change for change in made if getattr(change, "name", "") == "a"][:2] == exchanged
    assert "does not fit" in refusal(NEW_TABLE, gone, deeds=deeds_of({"on_truncate": "ignore"}))
    placed = replace(TARGET, partition=("bucket(4, a)",))
    assert "does not fit" in refusal(NEW_TABLE, gone, target=placed)


def test_a_table_is_created_like_one_that_the_job_reads() -> None:
    """Its columns and key are those of the other one, as the rows told it last."""
    items = channel(name="items")
    told = replace(items.source, columns=(*items.source.columns, SourceColumn(name="c", type="int")))
    gone = with_history(channel(), source_dropped=True)
    step = followed("CREATE TABLE orders LIKE items", gone, items, seen={("shop", "items"): told})
    assert AddField(name="c", type=kind("INT")) in step.changes["token-orders"]
    assert step.channels["token-orders"].source.columns == told.columns
    assert "columns are not known" in refusal(
        "CREATE TABLE orders LIKE items", gone, with_history(items, source_dropped=True)
    )


def test_a_table_is_not_created_where_there_is_one() -> None:
    """IF NOT EXISTS passes; so does what made the table, where a job begins before its columns are known."""
    text = "CREATE TABLE {} orders (id INT)"
    assert followed(text.format("IF NOT EXISTS")).channels == {}
    assert followed(text.format(""), holds=False).channels == {}
    assert "which already existed" in refusal(text.format(""))


def test_only_its_own_tables_concern_a_job() -> None:
    """Other databases, temporary tables and names in another case are not its business."""
    for text in (
        "ALTER TABLE other.orders DROP a",
        "DROP TEMPORARY TABLE orders",
        "ALTER TABLE ORDERS DROP a",
        "CREATE VIEW orders AS SELECT 1",
    ):
        step = followed(text)
        assert (step.channels, step.changes, step.done) == ({}, {}, {})


def test_a_statement_older_than_the_known_schema_must_not_matter() -> None:
    """The target has what it did already, whatever older rows have shown: only what no one reads may change."""
    older = replace(SOURCE, columns=SOURCE.columns[:4])
    assert followed("ALTER TABLE orders ADD x INT", holds=False).changes == {}
    assert "column 'd'" in refusal("ALTER TABLE orders ADD d DECIMAL(8,2)", holds=False)
    listed = channel(ColumnItem(target="id"), ColumnItem(target="n"))
    seen = {("shop", "orders"): older}
    assert followed("ALTER TABLE orders ADD d INT", listed, holds=False, seen=seen).changes == {}
    swap = "ALTER TABLE orders RENAME COLUMN a TO b, RENAME COLUMN b TO a"
    assert "column 'a'" in refusal(swap, holds=False, seen={("shop", "orders"): SOURCE})


@pytest.mark.parametrize(
    ("clauses", "strict", "why"),
    [
        ("MODIFY b VARCHAR(5)", False, "may change its values"),
        ("MODIFY b VARCHAR(5)", True, "may change its values"),
        ("MODIFY b VARCHAR(80)", False, "may change its values"),
        ("MODIFY b VARCHAR(80) CHARACTER SET utf8mb4", False, None),
        ("MODIFY b VARCHAR(20) CHARACTER SET latin1", False, "may change its values"),
        ("CONVERT TO CHARACTER SET latin1", False, "may change its values"),
        ("CONVERT TO CHARACTER SET utf8mb4", False, None),
        ("MODIFY a INT NOT NULL", False, "becomes NOT NULL"),
        ("MODIFY a INT NOT NULL", True, None),
        ("MODIFY d DECIMAL(9,1)", True, "may change its values"),
        ("MODIFY d DECIMAL(9,2)", True, None),
        ("MODIFY zzz INT", True, "was not known"),
        ("ADD INDEX (b)", False, None),
    ],
)
def test_an_older_statement_must_not_change_what_was_read(clauses: str, why: str | None, *, strict: bool) -> None:
    """By the columns as the rows before it told them, and the session's sql_mode."""
    told = {("shop", "orders"): SOURCE}
    text = f"ALTER TABLE orders {clauses}"
    if why is None:
        assert followed(text, holds=False, seen=told, strict=strict).changes == {}
    else:
        assert why in refusal(text, holds=False, seen=told, strict=strict)


def test_an_older_statement_must_not_change_what_nobody_knows() -> None:
    """After a restart no row has told the columns, though the target has rows; before its first ones it has none."""
    filled = replace(TARGET, writers=("token-orders",))
    listed = channel(ColumnItem(target="id"), ColumnItem(target="n"))
    for clauses in ("MODIFY b VARCHAR(80)", "CONVERT TO CHARACTER SET utf8mb4", "CHANGE b b TEXT"):
        text = f"ALTER TABLE orders {clauses}"
        assert "column 'b'" in refusal(text, holds=False, target=filled)
        assert followed(text, holds=False).changes == {}
        assert followed(text, listed, holds=False, target=filled).changes == {}
    for quiet in ("ADD INDEX (b)", "ADD x INT", "MODIFY x INT", "COMMENT = 'x'"):
        assert followed(f"ALTER TABLE orders {quiet}", holds=False, target=filled).changes == {}


def test_a_table_of_v2_shows_no_defaults() -> None:
    """There a value is written into the rows that are there; or, as the policy says, NULL is, or the job pauses."""
    v2 = replace(TARGET, lacks_defaults="a table of format v2")
    assert changes("ALTER TABLE orders ADD c INT", target=v2) == (AddField(name="c", type=kind("INT")),)
    text, added = "ALTER TABLE orders ADD c INT NOT NULL FIRST", AddField(name="c", type=kind("INT"))
    moved = MoveField(name="c", after=None)
    assert changes(text, target=v2) == (added, moved, FillField(name="c", value="0"))
    assert "0 in rows from before, which are written again" in followed(text, target=v2).done["token-orders"]
    assert changes(text, target=v2, deeds=deeds_of({"on_old_values": "null"})) == (added, moved)
    assert "format v2" in refusal(text, target=v2, deeds=deeds_of({"on_old_values": "pause"}))


def skipped(text: str) -> DdlStep:
    said = DdlStatement(text=text, db="shop", modes=Modes(strict=True), moment=MOMENT)
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: TARGET)
    return skip(said, (channel(),), rules)


@pytest.mark.parametrize("text", [*POLICIES.values(), "ALTER TABLE orders DROP id", "ALTER TABLE orders DROP zzz"])
def test_whatever_an_operator_skips_is_passed_over(text: str) -> None:
    """No target changes but to take NULL; the source is known as the statement left it, where that can be known."""
    step = skipped(text)
    assert step.done == {"token-orders": "skipped"}
    made = step.changes.get("token-orders", ())
    assert all(isinstance(change, RelaxField) for change in made)
    assert skipped("ALTER TABLE orders MODIFY b INT").channels["token-orders"].source.columns[2].type == "int"
    assert skipped("ALTER TABLE items DROP x").done == {}


@pytest.mark.parametrize("reads", ["e", ""])
def test_a_column_that_the_lake_has_no_type_for_can_be_skipped(reads: str) -> None:
    """Whether an expression reads it or a target column is filled with it."""
    column = SourceColumn(name="e", type="enum", members=("x",), charset="latin1")
    source = replace(SOURCE, columns=(*SOURCE.columns, column))
    target = replace(TARGET, columns=(*TARGET.columns, TargetColumn(name="e", type=kind("STRING"))))
    where = Condition(expression="e = 'x'", reads=("e",)) if reads else None
    items = [ColumnItem(target=each.name) for each in (TARGET if reads else target).columns]
    made = plan_channel(
        token="token-orders", source=source, unique_keys=[("id",)], target=target, items=items, where=where
    )
    text = "ALTER TABLE orders MODIFY e FROBNICATION"
    said = DdlStatement(text=text, db="shop", modes=Modes(strict=True), moment=MOMENT)
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: target)
    assert skip(said, [made], rules).done == {"token-orders": "skipped"}


def test_a_target_that_was_narrower_may_stay_so() -> None:
    """Where each value is looked at; a target that held every value grows as ever."""
    whole = [replace(c, type=kind("INT")) if c.name == "d" else c for c in TARGET.columns]
    narrow = replace(TARGET, columns=tuple(whole))
    given = plan_channel(
        token="token-orders", source=SOURCE, unique_keys=[("id",)], target=narrow, items=(), where=None, checked=True
    )
    text = "ALTER TABLE orders MODIFY d DECIMAL(9,2), MODIFY a BIGINT"
    said = DdlStatement(text=text, db="shop", modes=Modes(strict=True), moment=MOMENT)
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: narrow)
    checked = replace(rules, on_value_error=OnValueError.NULL)
    assert plan_ddl(said, [given], checked).changes == {"token-orders": (RetypeField(name="a", type=kind("BIGINT")),)}
    with pytest.raises(SyncError, match="does not fit INT"):
        plan_ddl(said, [given], rules)


def test_a_rename_if_exists_of_no_table_is_passed_over() -> None:
    """MariaDB logs it though nothing has happened; a table that was dropped may have got another one's rows."""
    for text in (
        "RENAME TABLE IF EXISTS nix TO orders",
        "RENAME TABLE IF EXISTS nix TO nix2, nix2 TO orders",
        "RENAME TABLE IF EXISTS nix TO orders, x TO y",
    ):
        step = followed(text, mariadb=True)
        assert (step.channels, step.done) == ({}, {"token-orders": "nothing to do"})
        assert "takes its name" in refusal(text.replace(" IF EXISTS", ""), mariadb=True)
    gone = with_history(channel(), source_dropped=True)
    assert "takes its name" in refusal("RENAME TABLE IF EXISTS nix TO orders", gone, mariadb=True)
    assert followed("RENAME TABLE IF EXISTS orders TO orders2", gone, mariadb=True).channels == {}
    renamed = followed("RENAME TABLE IF EXISTS orders TO o2, orders TO o3", mariadb=True).channels["token-orders"]
    assert renamed.source.name == "o2"


def test_names_with_dots_are_those_of_one_table() -> None:
    """The database a.b has no table of the database a."""
    dotted = replace(channel(), source=replace(SOURCE, db="a.b", name="c"))
    step = followed("RENAME TABLE a.`b.c` TO a.d", dotted)
    assert (step.channels, step.done) == ({}, {})


names = st.sampled_from(["a", "b", "n", "d", "x", "y", "id"])
clause = st.one_of(
    st.builds("ADD {} INT".format, names),
    st.builds("DROP {}".format, names),
    st.builds("RENAME COLUMN {} TO {}".format, names, names),
    st.builds("MODIFY {} BIGINT AFTER {}".format, names, names),
)


@given(st.lists(clause, min_size=1, max_size=4).map(", ".join), st.sampled_from(OnDdl))
def test_any_alter_is_followed_whole_or_refused(clauses: str, policy: OnDdl) -> None:
    """What the channel reads behind it is in the source then; what it fills is in the target, no name twice."""
    try:
        step = followed(f"ALTER TABLE orders {clauses}", policy=policy)
    except SyncError as error:
        assert error.code is Code.SOURCE_DDL  # noqa: PT017 - either of the two may happen
        return
    after = step.channels.get("token-orders", channel())
    there = [column.name for column in after.source.columns]
    assert len(set(there)) == len(there)
    assert set(after.reads) == {column.expression.strip("`") for column in after.columns} <= set(there)
    columns = [column.name for column in TARGET.columns]
    made = step.changes.get("token-orders", ())
    for change in made:
        if isinstance(change, DropField):
            columns.remove(change.name)
    renames = {c.old: c.new for c in made if isinstance(c, RenameField)}
    columns = [renames.get(name, name) for name in columns]
    assert len(set(columns)) == len(columns)
    for change in made:
        if isinstance(change, AddField):
            assert change.name not in columns
            columns.append(change.name)
    assert {column.target for column in after.columns} <= set(columns)
    if policy is OnDdl.EVOLVE:
        assert {column.target for column in after.columns} == set(columns)


ORIGINAL = (
    "CREATE TABLE `_orders_new` (`id` bigint NOT NULL, `a` int DEFAULT NULL, `b` varchar(20) DEFAULT NULL,"
    " `n` int NOT NULL, `d` decimal(8,2) DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB"
)


def settled(text: str, instead: str | None) -> DdlStep:
    """What an operator has decided."""
    record = DdlRecord(
        position=Position(), at=0.0, table="t", statement=text, state=DdlState.APPLY, outcome="", instead=instead
    )
    said = DdlStatement(text=text, db="shop", modes=Modes(), moment=MOMENT)
    rules = Rules(policy=OnDdl.PAUSE, append_on_change=AppendOnChange.ERROR, describe=lambda _: TARGET)
    return settle(record, said, (channel(),), rules)


def test_an_operator_says_what_is_applied_instead() -> None:
    """Whatever the policy; the record has both texts."""
    step = settled("ALTER TABLE orders MODIFY b INT", "ALTER TABLE orders DROP b, ADD b INT")
    assert step.changes["token-orders"] == (DropField(name="b"), AddField(name="b", type=kind("INT")))
    assert step.statement == "ALTER TABLE orders MODIFY b INT"
    assert step.done["token-orders"].startswith("ALTER TABLE orders DROP b, ADD b INT was applied instead: dropped")


def test_what_is_applied_instead_must_fit_too() -> None:
    """It names a table of the job, and can be followed; else the job pauses again."""
    for instead, reason in (("ALTER TABLE t ADD c INT", "about no table"), ("ALTER TABLE orders MODIFY b INT", "may")):
        with pytest.raises(SyncError, match=reason) as caught:
            settled("ALTER TABLE orders MODIFY b INT", instead)
        assert caught.value.code is Code.SOURCE_DDL


CHANGELOG = "create /* gh-ost */ table `shop`.`_orders_ghc` (id bigint, hint varchar(64), value varchar(4096))"
_VALUES = "(`id`, `a`) VALUES (NEW.`id`, NEW.`a`)"


def triggers(prefix: str, copy: str, names: tuple[str, str, str] = ("_del", "_upd", "_ins")) -> tuple[str, ...]:
    """Those of pt-online-schema-change, or of LHM."""
    handler = "DECLARE CONTINUE HANDLER FOR 1146 begin end;"
    delete = f"DELETE IGNORE FROM `shop`.`{copy}` WHERE `shop`.`{copy}`.`id` <=> OLD.`id`;"
    replaced = f"REPLACE INTO `shop`.`{copy}` {_VALUES};"
    bodies = {"DELETE": delete, "UPDATE": delete + replaced, "INSERT": replaced}
    return tuple(
        f"CREATE DEFINER=`root`@`%` TRIGGER `{prefix}{name}` AFTER {event} ON `shop`.`orders`"
        f" FOR EACH ROW BEGIN {handler} {body} END"
        for name, (event, body) in zip(names, bodies.items(), strict=True)
    )


PT_OSC = triggers("pt_osc_shop_orders", "_orders_new")
LHM = triggers("lhmt", "lhmn_orders", ("_del_orders", "_upd_orders", "_ins_orders"))


def through(*texts: str) -> tuple[ChannelDescription, tuple[LakeChange, ...], list[str]]:
    """A channel through statements one after the other, and what its target becomes in all."""
    now, made, done = channel(), list[LakeChange](), list[str]()
    for text in texts:
        step = followed(text, now)
        now = step.channels.get(now.token, now)
        made += step.changes.get(now.token, ())
        done += step.done.values()
    return now, tuple(made), done


@pytest.mark.parametrize(
    "texts",
    [
        (
            CHANGELOG,
            "create /* gh-ost */ table `shop`.`_orders_gho` like `shop`.`orders`",
            "alter /* gh-ost */ table `shop`.`_orders_gho` ADD COLUMN c INT NOT NULL DEFAULT 5, DROP a",
            "rename /* gh-ost */ table `shop`.`orders` to `shop`.`_orders_del`, `_orders_gho` to `shop`.`orders`",
            "drop /* gh-ost */ table if exists `shop`.`_orders_del`",
        ),
        (
            ORIGINAL,
            "ALTER TABLE `shop`.`_orders_new` ADD COLUMN c INT NOT NULL DEFAULT 5, DROP a",
            *PT_OSC,
            "RENAME TABLE `shop`.`orders` TO `shop`.`_orders_old`, `shop`.`_orders_new` TO `shop`.`orders`",
            "DROP TABLE IF EXISTS `_orders_old`",
        ),
        (
            CHANGELOG,
            "create /* gh-ost */ table `shop`.`_orders_gho` like `shop`.`orders`",
            "alter /* gh-ost */ table `shop`.`_orders_gho` ADD COLUMN z TEXT, DROP a",
            "alter /* gh-ost */ table `shop`.`_orders_gho` CHANGE z c INT NOT NULL DEFAULT 5",
            "rename /* gh-ost */ table `shop`.`orders` to `shop`.`_orders_20260102030405_del`",
            "rename /* gh-ost */ table `shop`.`_orders_gho` to `shop`.`orders`",
        ),
        (
            "CREATE TABLE lhmn_orders LIKE orders",
            "ALTER TABLE lhmn_orders ADD COLUMN c INT NOT NULL DEFAULT 5, DROP a",
            "create index `on_c` on `lhmn_orders` (`c`)",
            *LHM,
            "RENAME TABLE orders TO lhma_2026_01_02_03_04_05_678_orders, lhmn_orders TO orders",
        ),
        (
            "CREATE TABLE _orders_new LIKE orders",
            "ALTER TABLE _orders_new ADD COLUMN c INT NOT NULL DEFAULT 5, DROP a, ALGORITHM=COPY",
            "CREATE TABLE _orders_chkpnt (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, copier_watermark TEXT)",
            "RENAME TABLE orders TO _orders_old_20260102_030405, _orders_new TO orders",
        ),
        (
            ORIGINAL,
            "ALTER TABLE _orders_new ADD COLUMN c INT NOT NULL DEFAULT 5, DROP a",
            *PT_OSC,
            "DROP TABLE orders",
            "RENAME TABLE _orders_new TO orders",
        ),
    ],
    ids=["gh-ost", "pt-osc", "gh-ost in two steps", "lhm", "spirit", "pt-osc, which drops first"],
)
def test_a_migration_tool_changes_a_schema(texts: tuple[str, ...]) -> None:
    """The copy that takes the table's place is the change that was made to it; its rows are those that are there."""
    now, made, done = through(*texts)
    assert made == (DropField(name="a"), AddField(name="c", type=kind("INT"), initial="5"))
    assert now.source.label == "shop.orders"
    assert now.reads == ("id", "b", "n", "d", "c")
    assert not [shadow for shadow in now.history.shadows if shadow.is_copy]
    assert not now.history.source_dropped
    assert "took its place; dropped column 'a'" in done[-1]
    aside = "set aside as shop._orders_20260102030405_del; its copy is to follow"
    assert done[:-1] in ([], [aside], ["dropped in the source; the target keeps its rows"])
    assert made[-1] == AddField(name="c", type=kind("INT"), initial="5")


def test_a_copy_that_nobody_can_tell_is_a_stranger() -> None:
    """One that was dropped, whose rows changed unseen, or that was made otherwise does not take the table's place."""
    copy = through("CREATE TABLE _orders_new LIKE orders", *PT_OSC)[0]
    swap = "RENAME TABLE orders TO _orders_old, _orders_new TO orders"
    assert followed(swap, copy).changes == {}
    for text in ("DROP TABLE _orders_new", "ALTER IGNORE TABLE _orders_new ADD UNIQUE (a)"):
        spoilt = followed(text, copy, mariadb=True).channels["token-orders"]
        assert "takes its name" in refusal(swap, spoilt)
    altered = followed("ALTER TABLE _orders_new ADD c TIMESTAMP DEFAULT CURRENT_TIMESTAMP", copy)
    assert "each row was copied" in refusal(swap, altered.channels["token-orders"])


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE _orders_new (id BIGINT NOT NULL)",
        "CREATE TABLE _orders_new LIKE customers",
        ORIGINAL + " SELECT * FROM orders WHERE id > 5",
        ORIGINAL + " START TRANSACTION",
        "CREATE TABLE orders_new LIKE orders",
        "CREATE TABLE orders_2026 LIKE orders",
    ],
)
def test_rows_of_a_table_that_no_tool_made_are_not_believed(text: str) -> None:
    """Who swaps by hand may have copied a part of the rows: the job pauses, and no row of the target is wrong."""
    made = followed(text).channels.get("token-orders", channel())
    name = text.split()[2]
    assert "takes its name" in refusal(f"RENAME TABLE orders TO orders_old, {name} TO orders", made)


@pytest.mark.parametrize(
    ("clause", "reason"),
    [
        ("DROP d, ADD d DOUBLE", "another column 'd', into which values may be copied"),
        ("ADD UNIQUE KEY (a)", "rows may have been left out"),
        ("ADD u INT UNIQUE", "rows may have been left out"),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (n)", "rows may have been left out"),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id, n)", "its primary key is no longer within the target's key"),
    ],
)
def test_what_a_tool_copies_otherwise_is_not_believed(clause: str, reason: str) -> None:
    """They leave out what a new key forbids, and fill columns by their names; the binlog of the table has neither."""
    altered = through("CREATE TABLE _orders_new LIKE orders", f"ALTER TABLE _orders_new {clause}", *PT_OSC)[0]
    assert reason in refusal("RENAME TABLE orders TO _orders_old, _orders_new TO orders", altered)


def test_a_copy_that_is_altered_without_end_is_none() -> None:
    """Its statements are stored with the channel, and whoever owns the source writes any number of long ones."""
    long = f"ALTER TABLE _orders_new COMMENT 'x' /* {'x' * (MAX_ALTERS_TEXT // 2)} */"
    for times, is_copy in ((1, True), (2, False)):
        now = through("CREATE TABLE _orders_new LIKE orders", *[long] * times)[0]
        assert any(shadow.is_copy for shadow in now.history.shadows) is is_copy


def test_a_table_becomes_only_so_large() -> None:
    """It is stored with its job, and read again with it: whoever owns the source could add labels without end."""
    labels = ", ".join(f"'{number:0200}'" for number in range(MOST_TABLE_SIZE // 200 // 2 + 2))
    one, two = f"ADD c ENUM({labels})", f"ADD e ENUM({labels})"
    assert followed(f"ALTER TABLE orders {one}").changes
    assert f"characters, more than {MOST_TABLE_SIZE}" in refusal(f"ALTER TABLE orders {one}, {two}")


SWAP = "RENAME TABLE orders TO _orders_old, _orders_new TO orders"
GHOST_SWAP = "RENAME TABLE orders TO _orders_del, _orders_gho TO orders"
BY_HAND = "CREATE TABLE _orders_new LIKE orders"
GHOST = "CREATE TABLE _orders_gho LIKE orders"


@pytest.mark.parametrize(
    ("texts", "swap"),
    [
        ((BY_HAND,), SWAP),
        ((ORIGINAL, "ALTER TABLE _orders_new ADD c INT"), SWAP),
        ((GHOST,), GHOST_SWAP),
        ((BY_HAND, CHANGELOG), SWAP),
        ((BY_HAND, *PT_OSC[:2]), SWAP),
        ((BY_HAND, *PT_OSC, "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_orders_ins`"), SWAP),
        ((*PT_OSC, BY_HAND), SWAP),
        ((BY_HAND, *PT_OSC, "DROP TABLE _orders_new", BY_HAND), SWAP),
        ((BY_HAND, *(text.replace("pt_osc_", "mine_") for text in PT_OSC)), SWAP),
        ((BY_HAND, *(text.replace("_orders_new", "audit") for text in PT_OSC)), SWAP),
        ((BY_HAND, *(text.replace("AFTER", "BEFORE") for text in PT_OSC)), SWAP),
        ((BY_HAND, *PT_OSC, "CREATE TRIGGER lower BEFORE INSERT ON _orders_new FOR EACH ROW SET NEW.b = 'x'"), SWAP),
        ((CHANGELOG, GHOST, "drop table if exists `_orders_ghc`"), GHOST_SWAP),
        ((CHANGELOG, GHOST), "RENAME TABLE orders TO orders_before, _orders_gho TO orders"),
        ((CHANGELOG, GHOST, "RENAME TABLE _orders_gho TO mine"), "RENAME TABLE orders TO _orders_del, mine TO orders"),
        (("CREATE TABLE _orders_chkpnt (id INT)", BY_HAND), SWAP),
    ],
)
def test_a_copy_of_which_no_tool_is_seen_is_a_stranger(texts: tuple[str, ...], swap: str) -> None:
    """Whoever makes a copy by hand under a tool's name may have filled it with some rows alone, or other values."""
    assert "takes its name" in refusal(swap, through(*texts)[0])


def test_what_stops_at_a_copy_of_nobody_says_why() -> None:
    """What would have shown that it has all rows."""
    reason = refusal(SWAP, through(BY_HAND)[0])
    assert "table shop._orders_new takes its name, and the binlog does not show that a migration tool" in reason


def test_a_statement_that_changes_keys_alone_is_kept() -> None:
    """The next copy is judged by them."""
    made = through("CREATE UNIQUE INDEX by_b ON orders (b)", "ALTER TABLE orders ADD UNIQUE by_d (d), DROP INDEX by_b")[
        0
    ]
    assert made.source.unique == (UniqueKey(name="by_d", columns=("d",)),)


def test_a_copy_is_judged_by_its_columns_as_they_are_called_then() -> None:
    """A second ALTER names a column of the key as the first one has called it."""
    texts = ("ALTER TABLE _orders_gho RENAME COLUMN b TO code", "ALTER TABLE _orders_gho MODIFY code VARCHAR(30)")
    key = UniqueKey(name="b", columns=("b",))
    keyed = replace(channel(), source=replace(SOURCE, unique=(key,)))
    for text in (CHANGELOG, GHOST, *texts):
        keyed = followed(text, keyed).channels.get(keyed.token, keyed)
    assert "column 'code' of a key" in refusal(GHOST_SWAP, keyed)


@pytest.mark.parametrize(
    ("charset", "text", "follows"),
    [
        ("utf8mb4", "ALTER TABLE orders MODIFY b VARCHAR(60)", True),
        ("utf8mb4", "ALTER TABLE orders MODIFY b VARCHAR(60) CHARACTER SET latin1", False),
        ("latin1", "ALTER TABLE orders MODIFY b VARCHAR(60)", False),
        ("latin1", "ALTER TABLE orders MODIFY b VARCHAR(60) CHARACTER SET utf8mb4", True),
        (None, "ALTER TABLE orders MODIFY b VARCHAR(60)", False),
        ("utf8mb4", "ALTER TABLE orders MODIFY b VARCHAR(60), DEFAULT COLLATE latin1_bin", False),
        ("latin1", "ALTER TABLE orders MODIFY b VARCHAR(60), CONVERT TO CHARACTER SET utf8mb4", True),
    ],
)
def test_a_text_that_grows_keeps_its_values_where_its_charset_is_known(
    charset: str | None, text: str, *, follows: bool
) -> None:
    """Also where the session is not strict: a column of which no charset is said has the table's own."""
    source = replace(channel(), source=replace(SOURCE, charset=charset))
    if follows:
        wide = RetypeField(name="b", type=kind("VARCHAR", 60))
        assert changes(text, source, strict=False) == (wide,)
    else:
        assert "may change its values" in refusal(text, source, strict=False)


def test_a_text_of_unknown_charset_may_get_another_one_that_is_unknown() -> None:
    """Outside strict mode it would lose what that has not; inside it the statement would have failed."""
    source = replace(
        SOURCE, columns=(*SOURCE.columns[:2], replace(SOURCE.columns[2], charset=None), *SOURCE.columns[3:])
    )
    text = "ALTER TABLE orders MODIFY b VARCHAR(60)"
    assert "may change its values" in refusal(text, replace(channel(), source=source), strict=False)
    assert changes(text, replace(channel(), source=source)) == (RetypeField(name="b", type=kind("VARCHAR", 60)),)


@pytest.mark.parametrize(
    ("clause", "name", "type_"),
    [
        ("MODIFY b INT", "b", kind("INT")),
        ("MODIFY d DECIMAL(8,1)", "d", kind("DECIMAL", 8, 1)),
        ("MODIFY a VARCHAR(9) NOT NULL", "a", kind("VARCHAR", 9)),
        ("MODIFY n VARCHAR(9)", "n", kind("VARCHAR", 9)),
    ],
)
def test_a_type_that_changes_values_gets_a_column_of_its_own(clause: str, name: str, type_: TargetType) -> None:
    """Rows from before keep theirs in the old one, which takes NULL from then on; another such change makes a third."""
    deeds = deeds_of({"on_type_change": "new_column"})
    text = f"ALTER TABLE orders {clause}"
    step = followed(text, deeds=deeds, strict=False)
    made = f"{name}__2"
    relaxed = [RelaxField(name=name)] if name == "n" else []
    assert step.changes["token-orders"] == (*relaxed, AddField(name=made, type=type_, comment="", initial=None))
    after = step.channels["token-orders"]
    assert f"`{name}`" in {column.expression for column in after.columns if column.target == made}
    grown = replace(TARGET, columns=(*TARGET.columns, TargetColumn(name=made, type=type_)))
    again = followed(f"ALTER TABLE orders MODIFY {name} DATE", after, deeds=deeds, target=grown)
    assert AddField(name=f"{name}__3", type=kind("DATE"), comment="", initial=None) in again.changes["token-orders"]


@pytest.mark.parametrize("clause", ["MODIFY id VARCHAR(20)", "MODIFY b INT"])
def test_where_no_new_column_can_take_a_type_the_job_pauses(clause: str) -> None:
    """A key is what rows are found by, and a column list says what there is."""
    listed = channel(*(ColumnItem(target=name) for name in ("id", "b", "n")))
    reason = refusal(f"ALTER TABLE orders {clause}", listed, deeds=deeds_of({"on_type_change": "new_column"}))
    assert "no new column can take them" in reason


GENERATED = replace(
    SOURCE,
    columns=(
        *SOURCE.columns,
        SourceColumn(name="g", type="varchar", length=40, charset="utf8mb4"),
        SourceColumn(name="h", type="int"),
    ),
    generated=(GeneratedColumn(name="g", reads=("h",)), GeneratedColumn(name="h", reads=("a", "d"))),
)


def generated(
    source: SourceTable = GENERATED, *, listed: tuple[str, ...] = ()
) -> tuple[ChannelDescription, TargetTable]:
    """Of a table in which g is generated from h, which is generated from a and d."""
    columns = (
        *TARGET.columns,
        TargetColumn(name="g", type=kind("VARCHAR", 40)),
        TargetColumn(name="h", type=kind("INT")),
    )
    target = replace(TARGET, columns=tuple(c for c in columns if not listed or c.name in listed))
    items = [ColumnItem(target=name) for name in listed]
    made = plan_channel(
        token="token-orders", source=source, unique_keys=[("id",)], target=target, items=items, where=None
    )
    return made, target


@pytest.mark.parametrize("listed", [(), ("id", "g", "b")])
@pytest.mark.parametrize("clauses", ["MODIFY a BIGINT", "CHANGE a a2 BIGINT", "MODIFY d DECIMAL(9,2)"])
def test_a_column_that_is_generated_from_one_that_changes_stops_its_table(
    clauses: str, listed: tuple[str, ...]
) -> None:
    """The values of the changed column stay, those of the generated one may not, and no row event says so; whether or
    not the changed one is read.
    """
    channel, target = generated(listed=listed)
    text = f"ALTER TABLE orders {clauses}"
    assert "'g' is generated from one" in refusal(text, channel, target=target)
    step = followed(text, channel, target=target, deeds=deeds_of({"on_rows_change": "resync"}))
    assert step.resynced == {"token-orders"}


@pytest.mark.parametrize(
    "clauses",
    [
        "MODIFY n BIGINT NOT NULL",
        "MODIFY a INT COMMENT 'x'",
        "MODIFY a INT FIRST",
        "MODIFY b VARCHAR(30)",
        "CONVERT TO CHARACTER SET utf8mb4",
        "ADD INDEX (g), ADD z INT",
    ],
)
def test_what_no_column_is_generated_from_changes_no_generated_one(clauses: str) -> None:
    """So the statement is followed as in any table."""
    channel, target = generated()
    assert not followed(f"ALTER TABLE orders {clauses}", channel, target=target).resynced


def test_texts_from_which_one_is_generated_count_as_changed() -> None:
    """Which collation a text had nobody knows, so each definition of it may be another one."""
    channel, target = generated(replace(GENERATED, generated=(GeneratedColumn(name="h", reads=("b",)),)))
    for clauses in ("MODIFY b VARCHAR(20)", "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"):
        assert "is generated from one" in refusal(f"ALTER TABLE orders {clauses}", channel, target=target)


def test_what_is_generated_is_kept_up() -> None:
    """By each statement: under new names, with new expressions, and without those that are dropped."""

    def after(clauses: str) -> dict[str, tuple[str, ...]]:
        channel, target = generated()
        deeds = deeds_of({"on_old_values": "null"})
        found = followed(f"ALTER TABLE orders {clauses}", channel, target=target, deeds=deeds).channels["token-orders"]
        return {each.name: each.reads for each in found.source.generated or ()}

    assert after("RENAME COLUMN a TO a2") == {"g": ("h",), "h": ("a2", "d")}
    assert after("MODIFY h INT") == {"g": ("h",)}
    assert after("DROP h, DROP g") == {}
    assert after("CHANGE a a2 INT, ADD z INT AS (`A2` + n + id2), ADD id2 INT")["z"] == ("a2", "n", "id2")


def test_a_table_of_which_nobody_knows_what_is_generated_stops_where_a_type_changes() -> None:
    """As of jobs of earlier versions; reading it anew asks the server."""
    channel, target = generated(replace(GENERATED, generated=None))
    assert "is not known" in refusal("ALTER TABLE orders MODIFY a BIGINT", channel, target=target)
    followed("ALTER TABLE orders ADD z INT, DROP COLUMN n, RENAME COLUMN a TO c", channel, target=target)


def test_a_statement_older_than_the_schema_may_retype_nothing_where_a_column_is_generated() -> None:
    """What the columns were then is not known, nor from which of them the generated one was."""
    channel, target = generated()
    assert "may change a column" in refusal("ALTER TABLE orders MODIFY n BIGINT", channel, target=target, holds=False)
    followed("ALTER TABLE orders ADD INDEX (g)", channel, target=target, holds=False)
    followed("ALTER TABLE orders MODIFY n BIGINT", holds=False)


@pytest.mark.parametrize(
    ("pairs", "name"),
    [("orders TO x", "orders"), ("orders TO x, orders TO y", "y"), ("orders TO x, x TO orders", "orders")],
)
def test_a_temporary_table_of_its_name_is_renamed_first(pairs: str, name: str) -> None:
    """On MariaDB each pair is of the session's own table where it has one of that name."""
    own = frozenset({("shop", "orders")})
    step = followed(f"RENAME TABLE {pairs}", mariadb=True, own=own)
    assert step.channels.get("token-orders", channel()).source.name == name
    assert followed("RENAME TABLE orders TO x", own=own).channels["token-orders"].source.name == "x"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("TRUNCATE TABLE orders", True),
        ("TRUNCATE TABLE orders", False),
        ("ALTER TABLE orders ADD x INT", True),
        ("ALTER TABLE orders DROP a", False),
        ("ALTER TABLE mine RENAME TO orders", True),
    ],
)
def test_a_statement_that_may_be_about_a_temporary_table_stops_the_one_of_its_name(text: str, *, holds: bool) -> None:
    """In place of emptying it, or altering what is known of it."""
    reason = refusal(text, doubtful=True, holds=holds)
    assert "on table 'shop.orders'" in reason
    assert "may be about that one; SKIP DDL if it was, APPLY DDL" in reason


def test_a_statement_that_changes_nothing_may_be_about_either_table() -> None:
    """Also by the job's own policy."""
    assert followed("CREATE INDEX i ON orders (a)", doubtful=True).concerned == frozenset()
    keeps = followed("TRUNCATE TABLE orders", doubtful=True, deeds=deeds_of({"on_truncate": "ignore"}))
    assert keeps.done == {"token-orders": "the target keeps its rows"}
    assert "SKIP DDL" in refusal("ALTER TABLE _orders_gho ADD x INT", through(CHANGELOG, GHOST)[0], doubtful=True)


@pytest.mark.parametrize("text", ["TRUNCATE TABLE orders", "ALTER TABLE orders MODIFY a BIGINT"])
def test_an_operator_says_which_table_it_was(text: str) -> None:
    """SKIP DDL: a temporary one, of which nothing is kept; APPLY DDL: the synced one."""
    said = DdlStatement(text=text, db="shop", modes=Modes(strict=True), moment=MOMENT, doubtful=True)
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: TARGET)
    passed = skip(said, (channel(),), rules)
    assert (passed.done, passed.concerned) == ({"token-orders": "skipped"}, frozenset())
    place = {"position": Position(), "at": 0.0, "table": "shop.orders", "statement": text}
    record = DdlRecord(**place, state=DdlState.STOPPED, outcome="", instead=text)  # type: ignore[arg-type]
    assert settle(record, said, (channel(),), rules).changes == followed(text).changes


UNLOGGED = [  # what can be done to a table that is there alone
    "ALTER TABLE orders ADD x INT",
    "ALTER TABLE orders RENAME TO orders2",
    "CREATE INDEX i ON orders (a)",
    "TRUNCATE TABLE orders",
    "RENAME TABLE orders TO orders2",
]


@pytest.mark.parametrize("policy", [OnDdl.EVOLVE, OnDdl.IGNORE])
@pytest.mark.parametrize("text", UNLOGGED)
def test_what_is_done_to_a_dropped_table_shows_that_it_was_created_unseen(text: str, policy: OnDdl) -> None:
    """Its old rows would stay in the target, and those from before the statement would be missing."""
    gone = followed("DROP TABLE orders").channels["token-orders"]
    reason = refusal(text, gone, policy=policy)
    assert "on table 'shop.orders'" in reason
    assert "it was dropped, and nothing in the binlog has created it again" in reason
    back = followed("CREATE TABLE orders (id BIGINT PRIMARY KEY, a INT)", gone).channels["token-orders"]
    followed(text, back)


def test_a_dropped_table_may_be_dropped_again() -> None:
    """Statements with IF EXISTS are logged where nothing exists."""
    gone = followed("DROP TABLE orders").channels["token-orders"]
    for text in ("DROP TABLE IF EXISTS orders", "DROP DATABASE shop", "RENAME TABLE IF EXISTS orders TO x"):
        assert followed(text, gone, mariadb=True).channels == {}


def test_an_operator_may_answer_for_a_dropped_table_that_is_there() -> None:
    """What he skips or applies instead of a CREATE TABLE that did not follow makes the table one that is there."""
    gone = followed("DROP TABLE orders").channels["token-orders"]
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: TARGET)
    for text, there in (("CREATE TABLE orders (", True), ("CREATE TABLE orders LIKE x", True), (UNLOGGED[0], False)):
        said = DdlStatement(text=text, db="shop", modes=Modes(), moment=MOMENT)
        after = skip(said, [gone], rules)
        assert after.channels.get("token-orders", gone).history.source_dropped is not there, text
        assert after.done == {"token-orders": "skipped"}
        record = DdlRecord(
            position=Position(),
            at=0.0,
            table="shop.orders",
            statement=text,
            state=DdlState.APPLY,
            outcome="",
            instead=UNLOGGED[0],
        )
        applied = settle(record, said, [gone], rules)
        assert not applied.channels["token-orders"].history.source_dropped
        assert applied.changes["token-orders"] == (AddField(name="x", type=kind("INT")),)


@pytest.mark.parametrize("text", ["TRUNCATE TABLE orders", "ALTER TABLE orders DROP a", "CREATE INDEX i ON orders (a)"])
def test_what_mariadb_does_under_a_name_that_a_table_left_shows_that_it_did_not(text: str) -> None:
    """RENAME of a temporary table is logged like any other; rows that are gone would stay in the target."""
    left = followed("RENAME TABLE orders TO x", mariadb=True).channels["token-orders"]
    reason = refusal(text, left, mariadb=True)
    assert "on table 'shop.x'" in reason
    assert "RESYNC TABLE shop.orders reads shop.orders again" in reason
    assert not followed(text, left).changes
    dropped = followed("DROP TABLE IF EXISTS orders", left, mariadb=True).channels.get(left.token, left)
    assert "another table gets the name" in refusal("CREATE TABLE orders (id INT)", dropped, mariadb=True)


@pytest.mark.parametrize("mariadb", [False, True])
@pytest.mark.parametrize(
    "texts",
    [
        ["RENAME TABLE orders TO x, items TO orders, x TO items"],
        ["RENAME TABLE orders TO x", "RENAME TABLE items TO orders", "RENAME TABLE x TO items"],
        ["RENAME TABLE items TO y, orders TO items, y TO orders"],
    ],
)
def test_a_name_that_another_table_of_the_job_has_got_is_no_name_left(texts: list[str], *, mariadb: bool) -> None:
    """Once that one is stopped, or is not in the job any more, its rows and statements are not about this table."""
    channels = {each.token: each for each in (channel(), channel(name="items"))}
    for text in texts:
        channels |= followed(text, *channels.values(), mariadb=mariadb).channels
    orders, items = channels["token-orders"], channels["token-items"]
    assert (orders.source.name, items.source.name) == ("items", "orders")
    for one, other in ((orders, items), (items, orders)):
        read = subscriptions([WorkerChannel.of(one, RULES_OF_JOB, None)], Position())
        assert TableNames(read).leaver(("shop", other.source.name), folds=False) is None
        assert not followed(f"TRUNCATE TABLE {other.source.name}", one, mariadb=mariadb).concerned
        followed(f"DROP TABLE {other.source.name}", one, mariadb=mariadb)
        followed(f"CREATE TABLE {other.source.name} (id INT)", one, mariadb=mariadb)


@pytest.mark.parametrize("text", ["ALTER TABLE orders ADD UNIQUE (b)", "CREATE UNIQUE INDEX u ON orders (b)"])
def test_an_older_statement_that_makes_the_key_of_the_target_stops_it(text: str) -> None:
    """Where rows were read before it, here or in an earlier life."""
    target = replace(TARGET, keys=("b",))
    by_b = plan_channel(token="token-orders", source=SOURCE, unique_keys=[("b",)], target=target, items=(), where=None)
    table = {("shop", "orders"): SOURCE}
    assert "some that were read may share it" in refusal(text, by_b, target=target, holds=False, seen=table)
    written = replace(target, writers=("token-orders",))
    assert "some that were read may share it" in refusal(text, by_b, target=written, holds=False)
    assert followed(text, by_b, target=target, holds=False).concerned == frozenset()
    followed(text, holds=False, seen=table)


@pytest.mark.parametrize(
    ("before", "clause", "stops"),
    [
        ("x", "MODIFY e ENUM('x', '') NOT NULL", True),
        ("x", "MODIFY e ENUM('x', 'y') NOT NULL", False),
        ("", "MODIFY e ENUM('', 'y') NOT NULL", False),
        ("x", "MODIFY e ENUM('x', '') NOT NULL, DROP PRIMARY KEY, ADD PRIMARY KEY (id)", False),
    ],
)
def test_a_key_that_gets_a_label_without_a_text_stops(before: str, clause: str, *, stops: bool) -> None:
    """A wrong value would look the same in the target; RESYNC would refuse it, too, and the advice does not name it."""
    label = SourceColumn(name="e", type="enum", members=(before,), charset="utf8mb4", nullable=False, key=2)
    source = replace(SOURCE, columns=(SOURCE.columns[0], label))
    columns = (TARGET.columns[0], TargetColumn(name="e", type=TargetType(name="STRING"), nullable=False))
    target = replace(TARGET, columns=columns, keys=("id", "e"))
    uniques = [("id",)]  # so that an earlier version's plan of it is made, too
    made = plan_channel(token="token-orders", source=source, unique_keys=uniques, target=target, items=(), where=None)
    text = f"ALTER TABLE orders {clause}"
    if not stops:
        assert followed(text, made, target=target)
        return
    with pytest.raises(SyncError, match="'' is a label of column 'e', and the value that") as caught:
        followed(text, made, target=target)
    assert "two rows" in caught.value.context["unrenewable"]
