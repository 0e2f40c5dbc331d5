"""The index of keys against a dict."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmgr.lake.index.key_index import (
    MOST_ROWS,
    NOWHERE,
    KeyIndex,
    KeyNumbers,
    Words,
    files_of,
    joined,
    places,
    rows_of,
)

# Few values, so that keys meet again; halves of hashes agree often.
exact = st.integers(-3, 12).map(lambda key: (key, None))
hashed = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
Key = tuple[int, int | None]


def keys_of(keys: list[Key]) -> KeyNumbers:
    high = np.array([key[0] for key in keys], np.int64)
    low = None if not keys or keys[0][1] is None else np.array([key[1] for key in keys], np.int64)
    return KeyNumbers(high=high, low=low)


def model_of(index: KeyIndex) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for keys, at in index.entries():
        lows = [None] * len(keys) if keys.low is None else keys.low.tolist()
        for high, low, place in zip(keys.high.tolist(), lows, at.tolist(), strict=True):
            assert (high, low) not in found, "an entry is told once"
            found[high, low] = place
    return found


def batches(key: st.SearchStrategy[Key]) -> st.SearchStrategy[list[dict[Key, int]]]:
    place = st.integers(0, 5).flatmap(lambda file: st.integers(0, 9).map(lambda row: (file << 32) | row))
    return st.lists(st.dictionaries(key, st.one_of(st.just(NOWHERE), place), max_size=8), max_size=14)


@pytest.mark.parametrize("key", [exact, hashed])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_it_is_a_dict(key: st.SearchStrategy[Key], data: st.DataObject) -> None:
    """Whatever is added and merged in whatever order, find and entries say what a dict would."""
    index, model = KeyIndex(), dict[Key, int]()
    for batch in data.draw(batches(key)):
        index.add(keys_of(list(batch)), np.array(list(batch.values()), np.int64))
        model |= batch
        asked = [*model, *data.draw(st.lists(key, max_size=4))]
        if asked:
            assert [model.get(one, NOWHERE) for one in asked] == index.find(keys_of(asked)).tolist()
        if data.draw(st.booleans()):
            index.settle()
            assert NOWHERE not in model_of(index).values()
        assert {one: at for one, at in model.items() if at != NOWHERE} == model_of(index)


@settings(max_examples=40, deadline=None)
@given(batches(exact), st.sets(st.integers(0, 5)))
def test_places_move_with_their_files(added: list[dict[Key, int]], gone: set[int]) -> None:
    """Entries in files that were rewritten get their new places, and no other entry changes."""
    index, model = KeyIndex(), dict[Key, int]()
    for batch in added:
        index.add(keys_of(list(batch)), np.array(list(batch.values()), np.int64))
        model |= batch
    files = np.array([number in gone for number in range(6)])

    def translate(at: Words) -> Words:
        assert set(files_of(at).tolist()) <= gone
        return np.where(rows_of(at) % 2 == 0, at + np.int64(100 << 32), np.int64(NOWHERE))

    index.move(files, translate)
    expected = {}
    for key, at in model.items():
        if at == NOWHERE or (at >> 32 in gone and at % 2):
            continue
        expected[key] = at + (100 << 32) if at >> 32 in gone else at
    assert expected == model_of(index)


def test_keys_that_went_vanish_in_the_oldest_run() -> None:
    """A table whose rows all went leaves an index without entries."""
    index, keys = KeyIndex(), keys_of([(key, None) for key in range(1000)])
    index.add(keys, places(0, np.arange(1000)))
    index.add(keys, np.full(1000, NOWHERE))
    assert len(index) == 0


def test_many_small_batches_stay_few_runs() -> None:
    """A thousand epochs of a few keys never leave more than nine runs, of which the oldest holds most."""
    index = KeyIndex()
    index.add(KeyNumbers(high=np.arange(100_000)), places(0, np.arange(100_000)))
    for number in range(1000):
        index.add(KeyNumbers(high=np.arange(number, number + 10)), places(number + 1, np.arange(10)))
        assert len(index.runs) <= 9
    assert len(index.runs[-1]) == 100_000


def test_16_bytes_a_key_or_24() -> None:
    """What the index costs of memory is what the documents say."""
    exactly, by_hash = KeyIndex(), KeyIndex()
    exactly.add(KeyNumbers(high=np.arange(1000)), places(0, np.arange(1000)))
    by_hash.add(KeyNumbers(high=np.arange(1000), low=np.arange(1000)), places(0, np.arange(1000)))
    assert (exactly.nbytes, by_hash.nbytes) == (16_000, 24_000)


@pytest.mark.parametrize(("file", "row"), [(2**31, 0), (-1, 0), (0, MOST_ROWS)])
def test_what_does_not_fit_raises(file: int, row: int) -> None:
    """A place beyond 32 bits is an error, not another place."""
    with pytest.raises(OverflowError):
        places(file, np.array([row], np.int64))


def test_the_widest_places_fit() -> None:
    """The last row of the last file comes back as it is."""
    [at] = places(2**31 - 1, np.array([MOST_ROWS - 1], np.int64))
    assert (files_of(at), rows_of(at)) == (2**31 - 1, MOST_ROWS - 1)


def test_repeats_and_join() -> None:
    """Keys that come twice are seen once they are sorted, also where only one half of a hash agrees."""
    keys = joined([keys_of([(1, 1), (2, 1)]), keys_of([(1, 2), (1, 1)])])
    ordered = keys.take(keys.order())
    assert ordered.repeats().tolist() == [False, True, False, False]
