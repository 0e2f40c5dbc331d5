import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.check.verdict import Kind, Result, Touched, by_key, differing_parts, judged, lots, result

ONE, TWO = ("1",), ("2",)
KEYS = st.tuples(st.sampled_from("1234"))
ROWS = st.lists(st.tuples(KEYS, st.tuples(st.sampled_from(["a", "b", None]))), max_size=8)


def test_what_was_not_touched_is_different_at_once_and_what_was_is_looked_at_again() -> None:
    source, target = by_key([(ONE, ("a",)), (TWO, ("a",))]), by_key([(ONE, ("b",)), (TWO, ("b",))])
    seen = judged(source, target, Touched(keys={TWO}))
    assert [(found.key, found.kind, found.columns) for found in seen.different] == [(ONE, Kind.DIFFERENT, (0,))]
    assert [found.key for found in seen.moving] == [TWO]


def test_if_it_is_not_known_what_was_touched_nothing_is_different_for_certain() -> None:
    seen = judged(by_key([(ONE, ("a",))]), {}, Touched(everything=True))
    assert (seen.different, [found.kind for found in seen.moving]) == ((), [Kind.MISSING])


def test_a_key_that_is_twice_in_the_target_is_wrong_though_both_rows_are_right() -> None:
    [found] = judged(by_key([(ONE, ("a",))]), by_key([(ONE, ("a",)), (ONE, ("a",))]), Touched()).different
    assert (found.kind, found.columns) == (Kind.EXTRA, ())


def test_a_null_is_no_empty_text() -> None:
    [found] = judged(by_key([(ONE, (None,))]), by_key([(ONE, ("",))]), Touched()).different
    assert found.kind is Kind.DIFFERENT


@given(source=st.dictionaries(KEYS, st.tuples(st.sampled_from(["a", "b", None]))), target=ROWS, keys=st.sets(KEYS))
def test_every_key_that_differs_is_judged_once_and_no_other(
    source: dict[tuple[str], tuple[str | None]],
    target: list[tuple[tuple[str], tuple[str | None]]],
    keys: set[tuple[str]],
) -> None:
    here, there = by_key(source.items()), by_key(target)
    seen = judged(here, there, Touched(keys=keys))
    assert {found.key for found in seen.different} & keys == set()
    assert {found.key for found in seen.moving} <= keys
    told = [found.key for found in (*seen.different, *seen.moving)]
    assert sorted(told) == sorted(key for key in here.keys() | there.keys() if here.get(key) != there.get(key))


def test_a_part_that_is_on_one_side_alone_differs() -> None:
    assert differing_parts({1: (2, 5), 2: (1, 9)}, {1: (2, 5), 3: (1, 9)}) == (2, 3)


@pytest.mark.parametrize(
    ("different", "unsettled", "said"),
    [(0, 0, Result.EQUAL), (1, 1, Result.DIFFERENT), (0, 1, Result.UNSETTLED)],
)
def test_a_table_is_equal_only_if_every_row_was_seen_equal(different: int, unsettled: int, said: Result) -> None:
    assert result(different=different, unsettled=unsettled) is said


def test_parts_are_asked_together_up_to_a_number_of_rows() -> None:
    """So that a table all of whose rows differ fills no memory."""
    assert lots((1, 2, 3, 4), {1: 4, 2: 6, 3: 20, 4: 1}, 10) == [(1, 2), (3,), (4,)]
    assert lots((), {}, 10) == []
