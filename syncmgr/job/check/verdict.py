"""What follows for a key from the rows that were seen of it on both sides.

Owns: when rows are equal, when they are different for certain, and when a key has to be looked at again.
Must not know: how rows are read, texts of values.

Between the first epoch that a target has for certain when the source is read and the last one that may be in what is
read of the target, only the keys that those epochs touch change in the target. The source was read at a place between
both. So a key that differs, and was not touched, differs at that place.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

Key = tuple[str, ...]  # texts, as `canonical` has them
Texts = tuple[str | None, ...]  # of a row


class Kind(StrEnum):
    """What is wrong with a key."""

    MISSING = "MISSING"  # in the target
    EXTRA = "EXTRA"  # in the target
    DIFFERENT = "DIFFERENT"
    UNSETTLED = "UNSETTLED"  # it was on its way whenever it was looked at


class Result(StrEnum):
    """Of a table."""

    EQUAL = "EQUAL"
    DIFFERENT = "DIFFERENT"
    UNSETTLED = "UNSETTLED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Touched:
    """The keys that the epochs between have changed. `everything`: which is not known."""

    keys: Collection[Key] = frozenset()
    everything: bool = False

    def __contains__(self, key: Key) -> bool:
        return self.everything or key in self.keys


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A key that is not equal. `columns`: places of the texts that differ; empty: all. A row is None if there is
    none, or if it was not read.
    """

    key: Key
    kind: Kind
    columns: tuple[int, ...] = ()
    source: Texts | None = None
    target: Texts | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """Of some keys: those that are certainly different, and those to be looked at again."""

    different: tuple[Found, ...] = ()
    moving: tuple[Found, ...] = field(default=())


def by_key(rows: Iterable[tuple[Key, Texts]]) -> dict[Key, list[Texts]]:
    """A key may stand in a target more than once."""
    found: dict[Key, list[Texts]] = {}
    for key, texts in rows:
        found.setdefault(key, []).append(texts)
    return found


def judged(source: Mapping[Key, Sequence[Texts]], target: Mapping[Key, Sequence[Texts]], touched: Touched) -> Judged:
    """Of all keys of both sides."""
    wrong = [found for key in sorted(source.keys() | target.keys()) if (found := _compared(key, source, target))]
    moving = [found for found in wrong if found.key in touched]
    return Judged(different=tuple(found for found in wrong if found.key not in touched), moving=tuple(moving))


def _compared(key: Key, source: Mapping[Key, Sequence[Texts]], target: Mapping[Key, Sequence[Texts]]) -> Found | None:
    """None: equal. A key that is twice in the target is wrong whatever its rows are."""
    here, there = source.get(key, ()), target.get(key, ())
    if not there:
        return Found(key=key, kind=Kind.MISSING, source=here[0])
    if not here or len(there) > len(here):
        return Found(key=key, kind=Kind.EXTRA, source=here[0] if here else None, target=there[0])
    if sorted(map(_ordered, here)) == sorted(map(_ordered, there)):
        return None
    columns = tuple(place for place, pair in enumerate(zip(here[0], there[0], strict=True)) if pair[0] != pair[1])
    return Found(key=key, kind=Kind.DIFFERENT, columns=columns, source=here[0], target=there[0])


def _ordered(texts: Texts) -> tuple[tuple[bool, str], ...]:
    return tuple((text is None, text or "") for text in texts)


def differing_parts(source: Mapping[int, tuple[int, int]], target: Mapping[int, tuple[int, int]]) -> tuple[int, ...]:
    """The parts of which count and sum of the hashes are not the same on both sides; one that is not there is empty."""
    nothing = 0, 0
    return tuple(
        part for part in sorted(source.keys() | target.keys()) if source.get(part, nothing) != target.get(part, nothing)
    )


def lots(parts: Iterable[int], sizes: Mapping[int, int], most: int) -> list[tuple[int, ...]]:
    """The parts, together as long as they have no more than so many rows; a larger one is alone."""
    made, room = list[tuple[int, ...]](), 0
    for part in parts:
        if made and sizes[part] <= room:
            made[-1] += (part,)
            room -= sizes[part]
        else:
            made.append((part,))
            room = most - sizes[part]
    return made


def result(*, different: int, unsettled: int) -> Result:
    """Of a table that was compared to its end."""
    if different:
        return Result.DIFFERENT
    return Result.UNSETTLED if unsettled else Result.EQUAL
