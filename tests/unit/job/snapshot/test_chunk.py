import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import (
    MOST_CHUNKS,
    ChunkPlan,
    Load,
    chunk_rows,
    done_set,
    even_bounds,
    is_dense,
    is_older,
    load_facts,
    numbers_of,
    numbers_text,
    plan_id,
)

PLAN = ChunkPlan(id="p", key=("id",), bounds=(("10",), ("20",)), rows=30)


def test_the_first_and_the_last_chunk_are_open_ended() -> None:
    """No row is beyond all chunks, whenever it comes."""
    assert [PLAN.condition(number) for number in PLAN.numbers] == [
        "NOT ((`id` > 10))",
        "((`id` > 10)) AND NOT ((`id` > 20))",
        "((`id` > 20))",
    ]
    assert ChunkPlan(id="p", key=(), bounds=(), rows=0).condition(1) == ""


def test_a_composite_bound_is_told_in_words_that_an_index_serves() -> None:
    """Column by column; names are quoted."""
    plan = ChunkPlan(id="p", key=("a", "b`c"), bounds=(("1", "_latin1 x'E9'"),), rows=2)
    assert plan.condition(2) == "((`a` > 1) OR (`a` = 1 AND `b``c` > _latin1 x'E9'))"


@given(st.integers(-50, 50), st.integers(0, 200), st.integers(1, 20))
def test_even_bounds_cut_every_range(low: int, span: int, chunks: int) -> None:
    """They ascend, lie inside, and no chunk is much larger than another."""
    bounds = even_bounds(low, low + span, chunks)
    ends = [low - 1, *bounds, low + span]
    sizes = [after - before for before, after in itertools.pairwise(ends)]
    assert len(sizes) == min(chunks, span + 1)
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1


def test_ranges_are_used_where_no_chunk_can_be_huge() -> None:
    """Keys that lie far apart are cut by the index instead."""
    assert is_dense(1, 4000, 1000)
    assert not is_dense(1, 2**60, 1000)


def test_a_big_table_has_bigger_chunks() -> None:
    """Never more chunks than a table's history bears well, and else none that takes long."""
    assert chunk_rows(1_000_000, 250_000, 100) == 250_000
    assert chunk_rows(1_000_000, 250_000, 0) == 250_000
    assert chunk_rows(1_000, 250_000, 2**20) == 256
    assert chunk_rows(10**9, 250_000, 100) * MOST_CHUNKS >= 10**9


@given(st.frozensets(st.integers(1, 40)))
def test_done_sets_come_back(numbers: frozenset[int]) -> None:
    """The text of a done-set is short and exact."""
    assert numbers_of(numbers_text(numbers)) == numbers


def test_a_done_set_is_told_in_ranges() -> None:
    """So that a thousand chunks take a word."""
    assert numbers_text({1, 2, 3, 5, 7, 8}) == "1-3,5,7-8"
    assert numbers_text(()) == ""


@given(st.frozensets(st.integers(1, 40)))
def test_a_done_set_names_its_plan(numbers: frozenset[int]) -> None:
    """As a table has it."""
    assert done_set(f"{plan_id(3, '5f0c')}:{numbers_text(numbers)}") == ("3-5f0c", numbers)
    assert done_set("5f0c:") == ("5f0c", frozenset())


@pytest.mark.parametrize(
    "text", ["", "abc", ":1", "1-a:x", "1-a:1-", "1-a:1;2", "1-a:1-9999999", "one-a:1", "{}", "a:1:2"]
)
def test_a_done_set_is_not_guessed(text: str) -> None:
    """What another engine has written is none."""
    with pytest.raises(ValueError):
        done_set(text)


def test_progress_is_told() -> None:
    """Phase, rows, chunks, rate and the time that is left, as far as they are known."""
    assert load_facts(Load(token="t"), None)["phase"] == "snapshot"
    load = Load(token="t", plan=PLAN, done=frozenset({1}), rows=12)
    facts = load_facts(load, 10.0)
    assert (facts["rows"], facts["estimated_rows"], facts["chunks"], facts["chunks_done"]) == (12, 30, 3, 1)
    assert (facts["rows_per_second"], facts["left_second"]) == (10, 2.0)
    ended = dataclasses.replace(load, done=frozenset({1, 2, 3}), rows=29, upper=Position())
    facts = load_facts(ended, 10.0)
    assert (facts["phase"], facts["estimated_rows"], facts["rows_per_second"]) == ("catch-up", 29, None)
    assert load_facts(dataclasses.replace(ended, caught_up=True), None)["phase"] == "streaming"


def test_readings_of_a_table_have_an_order() -> None:
    """By number, not by text; those of an earlier version, which have none, come first."""
    ids = ["0a1b2c3d4e5f", *(plan_id(generation, "0a1b2c3d4e5f") for generation in (1, 9, 10))]
    for one, plan in enumerate(ids):
        assert [is_older(other, plan) for other in ids] == [number < one for number in range(len(ids))]
    assert not is_older(plan_id(1, "a"), plan_id(1, "b"))
