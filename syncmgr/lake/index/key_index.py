"""Where each key's row is: key -> (data file, row), an LSM tree of sorted arrays.

Owns: find, add, merge, and the translation of places when files are rewritten.
Must not know: files, tables, snapshots; how keys become numbers. 16 or 24 bytes a key.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]

NOWHERE: Final = -1  # the place of a key that has no row
MOST_FILES: Final = 2**31 - 1
MOST_ROWS: Final = 2**32
MOST_RUNS: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyNumbers:
    """Keys as numbers: the exact value of a single integer key, otherwise both halves of a 128-bit hash."""

    high: Words
    low: Words | None = None

    def __len__(self) -> int:
        return len(self.high)

    def take(self, which: NDArray[np.bool_] | Words) -> "KeyNumbers":
        """Those of a mask or of positions."""
        return KeyNumbers(high=self.high[which], low=None if self.low is None else self.low[which])

    def order(self) -> Words:
        """The positions that sort them; equal keys stay in order."""
        if self.low is None:
            return np.argsort(self.high, kind="stable")
        return np.lexsort((self.low, self.high))

    def repeats(self) -> NDArray[np.bool_]:
        """Of sorted keys: whether each equals the one before it."""
        same = np.zeros(len(self), np.bool_)
        same[1:] = self.high[1:] == self.high[:-1]
        if self.low is not None:
            same[1:] &= self.low[1:] == self.low[:-1]
        return same


def joined(parts: list[KeyNumbers]) -> KeyNumbers:
    """Concatenated. At least one part."""
    low = None if parts[0].low is None else np.concatenate([part.low for part in parts if part.low is not None])
    return KeyNumbers(high=np.concatenate([part.high for part in parts]), low=low)


def places(file: int, rows: Words) -> Words:
    """Rows of a file as places. Raises OverflowError if they exceed 32 bits."""
    if not 0 <= file <= MOST_FILES:
        raise OverflowError(f"file number {file} has more than 31 bits")
    last = int(np.max(rows, initial=0))
    if last >= MOST_ROWS:
        raise OverflowError(f"row {last} has more than 32 bits")
    return (np.int64(file) << np.int64(32)) | rows


def files_of(at: Words) -> Words:
    """File numbers of places."""
    return at >> np.int64(32)


def rows_of(at: Words) -> NDArray[np.uint32]:
    """Rows of places."""
    return (at & np.int64(0xFFFFFFFF)).astype(np.uint32)


@dataclass(frozen=True, kw_only=True, slots=True)
class SortedRun:
    """Sorted distinct keys and their places; NOWHERE: a removed key, which hides older runs."""

    keys: KeyNumbers
    at: Words

    def __len__(self) -> int:
        return len(self.at)

    @property
    def nbytes(self) -> int:
        low = 0 if self.keys.low is None else self.keys.low.nbytes
        return self.keys.high.nbytes + low + self.at.nbytes


def _found(run: KeyNumbers, keys: KeyNumbers) -> tuple[NDArray[np.bool_], Words]:
    """Which keys a run has, and where in it. Hashes that agree in one half are distinguished by the other."""
    at = np.searchsorted(run.high, keys.high).astype(np.int64)
    hit = at < len(run)
    hit[hit] = run.high[at[hit]] == keys.high[hit]
    if run.low is None or keys.low is None:
        return hit, at
    unsure = np.flatnonzero(hit)
    while len(unsure):
        unsure = unsure[run.low[at[unsure]] != keys.low[unsure]]
        at[unsure] += 1
        inside = at[unsure] < len(run)
        inside[inside] = run.high[at[unsure[inside]]] == keys.high[unsure[inside]]
        hit[unsure[~inside]] = False
        unsure = unsure[inside]
    return hit, at


def merged(new: SortedRun, old: SortedRun, *, oldest: bool) -> SortedRun:
    """Both merged; `new` wins. `oldest`: nothing is below, so removed keys need no entry."""
    kept = np.ones(len(old), np.bool_)
    hit, at = _found(old.keys, new.keys)
    kept[at[hit]] = False
    if oldest:
        there = new.at != NOWHERE
        new = SortedRun(keys=new.keys.take(there), at=new.at[there])
        kept &= old.at != NOWHERE
    old = SortedRun(keys=old.keys.take(kept), at=old.at[kept])
    target = np.searchsorted(old.keys.high, new.keys.high)
    low = None
    if old.keys.low is not None and new.keys.low is not None:
        low = np.insert(old.keys.low, target, new.keys.low)
    return SortedRun(
        keys=KeyNumbers(high=np.insert(old.keys.high, target, new.keys.high), low=low),
        at=np.insert(old.at, target, new.at),
    )


class KeyIndex:
    """Not thread-safe. `runs`: newest first; none of them is ever changed, only replaced."""

    def __init__(self, runs: tuple[SortedRun, ...] = ()) -> None:
        self.runs = runs

    def __len__(self) -> int:
        """Entries, including removed keys and hidden ones."""
        return sum(len(run) for run in self.runs)

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self.runs)

    def find(self, keys: KeyNumbers) -> Words:
        """The place of each key, NOWHERE if it has none."""
        found = np.full(len(keys), NOWHERE, np.int64)
        left = np.arange(len(keys), dtype=np.int64)
        for run in self.runs:
            hit, at = _found(run.keys, keys.take(left))
            found[left[hit]] = run.at[at[hit]]
            left = left[~hit]
            if not len(left):
                break
        return found

    def add(self, keys: KeyNumbers, at: Words) -> None:
        """Distinct keys and where each is from now on, NOWHERE for a removed one."""
        if not len(keys):
            return
        order = keys.order()
        self.runs = (SortedRun(keys=keys.take(order), at=at[order]), *self.runs)
        while len(self.runs) > 1 and (len(self.runs[0]) * 2 > len(self.runs[1]) or len(self.runs) > MOST_RUNS):
            self._merge()

    def _merge(self) -> None:
        new, old, *rest = self.runs
        self.runs = (merged(new, old, oldest=not rest), *rest)

    def settle(self) -> None:
        """Merges it into one run without removed keys."""
        while len(self.runs) > 1:
            self._merge()
        if self.runs:
            [run] = self.runs
            there = run.at != NOWHERE
            self.runs = (run if there.all() else SortedRun(keys=run.keys.take(there), at=run.at[there]),)

    def move(self, files: NDArray[np.bool_], translate: Callable[[Words], Words]) -> None:
        """New places for every entry in a file f with files[f]; NOWHERE if the row no longer exists."""
        self.runs = tuple(_moved(run, files, translate) for run in self.runs)

    def entries(self) -> Iterator[tuple[KeyNumbers, Words]]:
        """Every key that has a row, once, in pieces."""
        for number, run in enumerate(self.runs):
            there = run.at != NOWHERE
            for newer in self.runs[:number]:
                there &= ~_found(newer.keys, run.keys)[0]
            yield run.keys.take(there), run.at[there]


def _moved(run: SortedRun, files: NDArray[np.bool_], translate: Callable[[Words], Words]) -> SortedRun:
    numbers = files_of(run.at)
    known = (numbers >= 0) & (numbers < len(files))
    concerned = np.flatnonzero(known)[files[numbers[known]]]
    if not len(concerned):
        return run
    at = np.array(run.at)
    at[concerned] = translate(at[concerned])
    return SortedRun(keys=run.keys, at=at)
