import pytest

from mysqlddl.nodes import CreateTrigger, Table
from syncmgr.job.channel.description import Shadow
from syncmgr.job.ddl.copies.shadows import MAX_TRIGGERS, with_trigger


@pytest.mark.parametrize(
    ("written", "folds", "fills"),
    [
        (("a", "_t_new"), False, True),
        (("A", "_T_new"), True, True),
        (("A", "_T_new"), False, False),
        (("a", "_u_new"), True, False),
    ],
)
def test_a_trigger_fills_the_copy_that_it_writes(written: Table, *, folds: bool, fills: bool) -> None:
    """By the server's own comparison of names."""
    assert bool(_filled(("a", "_t_new"), written, folds=folds)) is fills


def test_a_period_in_a_name_parts_nothing() -> None:
    """The table `_t_new` of the database `a._t` is another one than `_t._t_new` of `a`."""
    assert _filled(("a._t", "_t_new"), ("a", "_t._t_new"), folds=True) == ()


def test_a_copy_has_so_many_triggers() -> None:
    """They are stored with the channel, and a source may make any number of them: the newest count."""
    shadows = (Shadow(db="a", name="_t_new"),)
    for number in range(2 * MAX_TRIGGERS):
        made = CreateTrigger(
            name=("a", f"pt_osc_a_t_{number}"),
            table=("a", "t"),
            event="INSERT",
            after=True,
            writes=frozenset({("a", "_t_new")}),
        )
        shadows = with_trigger(shadows, made, folds=False)
    assert [name for name, _ in shadows[0].triggers] == [
        f"pt_osc_a_t_{number}" for number in range(MAX_TRIGGERS, 2 * MAX_TRIGGERS)
    ]


def _filled(copy: Table, written: Table, *, folds: bool) -> tuple[tuple[str, str], ...]:
    """The triggers of a copy, where one that keeps it up writes that table."""
    db, name = copy
    made = CreateTrigger(
        name=(db, "pt_osc_a_t_ins"), table=(db, "t"), event="INSERT", after=True, writes=frozenset({written})
    )
    [shadow] = with_trigger((Shadow(db=db, name=name),), made, folds=folds)
    return shadow.triggers
