"""What a target becomes whose table is read again."""

from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import ColumnItem, Condition, plan_channel
from syncmgr.job.ddl.lake_change import AddField, DropField, LakeChange, RelaxField, RetypeField
from syncmgr.job.job_properties import parsed
from syncmgr.job.snapshot.renewal import Renewal, RenewalTerms, becoming, renewed, terms_of
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetColumn, TargetTable, TargetType
from tests.unit.job.factories import make_source_table, make_target

SOURCE = make_source_table()
ID, STATUS, AMOUNT = SOURCE.columns
KEYS = [("id",)]
TARGET = make_target()
CHANNEL = plan_channel(token="t", source=SOURCE, unique_keys=KEYS, target=TARGET, items=(), where=None)


def of(*columns: SourceColumn) -> SourceTable:
    return replace(SOURCE, columns=columns)


def again(now: SourceTable, target: TargetTable = TARGET, **terms: bool) -> Renewal:
    return renewed(CHANNEL, now, KEYS, target, RenewalTerms(**terms))


@pytest.mark.parametrize(
    ("now", "changes"),
    [
        (SOURCE, ()),
        (of(ID, STATUS), (DropField(name="amount"),)),
        (of(ID, AMOUNT, STATUS), ()),
        (of(*SOURCE.columns, SourceColumn(name="n", type="int")), (AddField(name="n", type=TargetType(name="INT")),)),
        (
            of(ID, replace(STATUS, length=40), AMOUNT),
            (RetypeField(name="status", type=TargetType(name="VARCHAR", args=(40,))),),
        ),
        (
            of(ID, STATUS, SourceColumn(name="amount", type="date")),
            (DropField(name="amount"), AddField(name="amount", type=TargetType(name="DATE"))),
        ),
        (
            of(ID, replace(STATUS, name="state"), AMOUNT),
            (DropField(name="status"), AddField(name="state", type=TargetType(name="VARCHAR", args=(16,)))),
        ),
    ],
)
def test_the_target_gets_the_columns_of_the_source(now: SourceTable, changes: tuple[LakeChange, ...]) -> None:
    """As if it had been made from them; columns that fit stay as they are."""
    made = again(now)
    assert made.changes == changes
    assert made.channel.source == now
    assert made.channel.reads == tuple(column.name for column in now.columns)
    after = becoming(TARGET, changes)
    assert {column.target for column in made.channel.columns} == {column.name for column in after.columns}


def test_a_target_column_that_kept_its_name_is_filled_by_the_column_that_has_it() -> None:
    """A shard leaves the name to the others where its column is renamed; a new column may get it then."""
    old = replace(AMOUNT, name="amount_old")
    renamed = replace(
        CHANNEL,
        source=of(ID, STATUS, old),
        columns=tuple(
            replace(each, expression="`amount_old`") if each.target == "amount" else each for each in CHANNEL.columns
        ),
        reads=("id", "status", "amount_old"),
    )
    made = renewed(renamed, of(ID, STATUS, old, AMOUNT), KEYS, TARGET, RenewalTerms())
    assert [change.name for change in made.changes if isinstance(change, AddField)] == ["amount_old"]
    assert len(made.changes) == 1
    assert {each.target: each.source for each in made.channel.columns} == {
        name: name for name in ("id", "status", "amount", "amount_old")
    }


def test_a_column_that_may_be_null_by_now_takes_it() -> None:
    """In the target, too."""
    target = replace(TARGET, columns=(*TARGET.columns[:2], replace(TARGET.columns[2], nullable=False)))
    assert again(SOURCE, target).changes == (RelaxField(name="amount"),)


def test_a_column_that_nothing_fills_takes_null() -> None:
    """Also one that an earlier reading was to relax, and has not."""
    target = replace(TARGET, columns=(*TARGET.columns[:2], replace(TARGET.columns[2], nullable=False)))
    first = again(of(ID, STATUS), target, drops=False)
    assert first.changes == (RelaxField(name="amount"),)
    second = renewed(first.channel, first.channel.source, KEYS, target, RenewalTerms(drops=False), first.changes)
    assert second.changes == first.changes


def test_what_keeps_columns_out_or_in_does_so_here() -> None:
    """New ones are left out, dropped ones stay, with NULL."""
    ignoring = terms_of(parsed({"on_ddl": "ignore"}))
    assert (ignoring.adds, ignoring.drops) == (False, False)
    assert terms_of(parsed({"on_ddl": "pause"})) == terms_of(parsed({})) == RenewalTerms()
    assert not terms_of(parsed({"on_drop_column": "keep"})).drops
    made = again(of(ID, STATUS, SourceColumn(name="n", type="int")), adds=False, drops=False)
    assert made.changes == ()
    assert made.channel.history.kept_columns == ("amount",)
    assert made.channel.reads == ("id", "status")


def test_a_reading_that_never_came_is_made_up_for() -> None:
    """What it was to add is added, what it was to drop goes, whatever the channel says by now."""
    first = again(of(ID, STATUS, SourceColumn(name="n", type="int")))
    second = renewed(first.channel, first.channel.source, KEYS, TARGET, RenewalTerms(), first.changes)
    assert set(second.changes) == set(first.changes)
    assert (
        renewed(first.channel, first.channel.source, KEYS, becoming(TARGET, first.changes), RenewalTerms()).changes
        == ()
    )


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (of(STATUS, AMOUNT), "column 'id' is gone, and target column 'id' is in the key"),
        (
            of(SourceColumn(name="id", type="varchar", length=9, key=1, charset="ascii"), STATUS, AMOUNT),
            "target column 'id' is BIGINT",
        ),
        (of(replace(ID, nullable=True), STATUS, AMOUNT), "target column 'id' is in the key"),
        (of(*SOURCE.columns, SourceColumn(name="x", type="novelty")), "no type for column 'x', novelty"),
    ],
)
def test_what_a_target_cannot_become_is_refused(now: SourceTable, reason: str) -> None:
    """With the column that forbids it."""
    with pytest.raises(SyncError, match=reason) as raised:
        again(now)
    assert raised.value.code is Code.RESYNC_COLUMNS


def test_another_key_of_the_source_is_refused() -> None:
    """Two of its rows could share one in the target."""
    with pytest.raises(SyncError) as raised:
        renewed(CHANNEL, SOURCE, [("status",)], TARGET, RenewalTerms())
    assert raised.value.code is Code.NO_CHANNEL_KEY


def test_a_partition_keeps_its_column() -> None:
    """Its rows lie by the values that it has."""
    target = replace(TARGET, partition=("amount",))
    with pytest.raises(SyncError, match="target column 'amount' is DECIMAL"):
        again(of(ID, STATUS, SourceColumn(name="amount", type="date")), target)


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (of(ID, AMOUNT), "column 'status', which an expression or WHERE reads, is gone"),
        (of(ID, SourceColumn(name="status", type="int"), AMOUNT), "an expression or WHERE reads, is int now"),
        (of(ID, STATUS), "the column list of the job fills target column 'amount' with it"),
    ],
)
def test_a_column_list_holds(now: SourceTable, reason: str) -> None:
    """What it names must be there, and what its expressions read must be what it was."""
    items = [
        ColumnItem(target="id"),
        ColumnItem(target="amount"),
        ColumnItem(target="status", expression="upper(status)", reads=("status",)),
    ]
    where = Condition(expression="status <> 'x'", reads=("status",))
    channel = plan_channel(token="t", source=SOURCE, unique_keys=KEYS, target=TARGET, items=items, where=where)
    with pytest.raises(SyncError, match=reason):
        renewed(channel, now, KEYS, TARGET, RenewalTerms())
    widened = of(ID, replace(STATUS, length=99), AMOUNT, SourceColumn(name="n", type="int"))
    assert renewed(channel, widened, KEYS, TARGET, RenewalTerms()).changes == ()


def test_a_target_column_of_a_new_ones_name_is_taken_where_it_fits() -> None:
    """One that was left before, or that somebody has added, holds nothing that would be lost."""
    target = replace(TARGET, columns=(*TARGET.columns, TargetColumn(name="n", type=TargetType(name="BIGINT"))))
    made = again(of(*SOURCE.columns, SourceColumn(name="n", type="int")), target)
    assert made.changes == ()
    assert "n" in {column.target for column in made.channel.columns}
