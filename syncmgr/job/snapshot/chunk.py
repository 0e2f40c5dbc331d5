"""The chunks in which a snapshot reads a table, and which of them are in the lake.

Owns: the plan of the chunks, their sizes and conditions, the text of a done-set, what is shown of the progress.
Must not know: connections, Spark, where a plan is kept. Sizes in rows.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from syncmgr.job.channel.shard import Part
from syncmgr.job.position import Position, has_passed
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.snapshot.select_list import quoted

if TYPE_CHECKING:
    from syncmgr.job.ddl.lake_change import LakeChange

Bound = tuple[str, ...]  # a value of each key column, as SQL literals

MOST_CHUNKS: Final = 500  # each one is a commit: a bigger table has bigger chunks
CHUNK_BYTES: Final = 256 * 1024 * 1024  # of rows at the source: a longer consistent read, a bigger file
MOST_CONNECTIONS: Final = 64  # of one job at a time
MOST_POINTS: Final = 20  # of the last reads of a table without a key, any of which may be the one that is committed
DONE_SET: Final = re.compile(r"(\d{1,6}(-\d{1,6})?(,|$))*")  # as numbers_text writes it
SPARSE: Final = 4  # up to so many integers for each row, ranges of integers are chunks of bounded size


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkPlan:
    """How a table is cut: chunk n, counted from 1, ends with bounds[n - 1]; the first and the last are open-ended.

    `id`: the generation of its load, and random; a table's done-set names the plan that it counts. `key`: columns of a
    unique key that the target's key includes, so that two rows of one target key are never in two chunks. None: one
    chunk, whatever the table holds. `rows`: estimated by the server. `point`: the place in the binlog of the one read
    of a table without a key, the last one until it is known which is in the table; None if there was none yet, or keys
    distinguish rows. `points`: of the last reads, each with its id, oldest first. `replaces`: its one chunk replaces
    all rows that the table has, or only those of an `excerpt`; `way`: of the channel; once that changes, another plan
    follows.
    """

    id: str
    key: tuple[str, ...]
    bounds: tuple[Bound, ...]
    rows: int
    point: Position | None = None
    points: tuple[tuple[str, Position], ...] = ()
    replaces: bool = False
    way: str = ""
    excerpt: KeyRange | None = None

    @property
    def count(self) -> int:
        return len(self.bounds) + 1

    @property
    def numbers(self) -> range:
        return range(1, self.count + 1)

    def read_at(self, read: str, point: Position) -> "ChunkPlan":
        """With one more read, which has an id of its own."""
        return replace(self, point=point, points=(*self.points, (read, point))[-MOST_POINTS:])

    def paired(self, read: str | None, *, since: Position | None) -> "ChunkPlan | None":
        """With the point of the read that is in the table; None: it is not known, or the binlog was read beyond it
        without the table. `since`: from where the binlog is read on.
        """
        point = dict(self.points).get(read or "")
        if point is None or not (since is None or has_passed(point, since)):
            return None
        return replace(self, point=point)

    def condition(self, number: int) -> str:
        """WHERE of a chunk in MySQL's words; "" if it is the whole table."""
        names = [quoted(name) for name in self.key]
        parts = [] if self.excerpt is None else [f"({self.excerpt.source})"]
        if number > 1:
            parts.append(beyond(names, self.bounds[number - 2]))
        if number < self.count:
            parts.append(f"NOT {beyond(names, self.bounds[number - 1])}")
        return " AND ".join(parts)


def beyond(key: Sequence[str], bound: Bound) -> str:
    """The condition that a row is beyond a bound; `key`: quoted names. MySQL would not use an index range for (a, b) >
    (x, y).
    """
    ways = []
    for place in range(len(key)):
        same = [f"{name} = {value}" for name, value in zip(key[:place], bound[:place], strict=True)]
        ways.append(" AND ".join([*same, f"{key[place]} > {bound[place]}"]))
    return "(" + " OR ".join(f"({way})" for way in ways) + ")"


def chunk_rows(rows: int, wanted: int, row_bytes: int) -> int:
    """Rows per chunk for a table with so many rows of this size: as wanted, fewer if they are wide, more if the table
    is huge.
    """
    return max(min(wanted, CHUNK_BYTES // max(row_bytes, 1)), math.ceil(rows / MOST_CHUNKS), 1)


def is_dense(low: int, high: int, rows: int) -> bool:
    """Whether equal ranges of integers are chunks of bounded size, however the rows are spread between both ends."""
    return high - low < SPARSE * rows


def even_bounds(low: int, high: int, chunks: int) -> tuple[int, ...]:
    """The last integers of all equal ranges but the last."""
    span = high - low + 1
    chunks = min(chunks, span)
    return tuple(low + span * number // chunks - 1 for number in range(1, chunks))


def plan_id(generation: int, random: str) -> str:
    return f"{generation}-{random}"


def is_older(plan: str, other: str) -> bool:
    """Whether a read of the same table began before another one; by the ids of their plans."""
    return _generation(plan) < _generation(other)


def _generation(plan: str) -> int:
    """An id of an earlier version has none."""
    generation, separator, _ = plan.partition("-")
    return int(generation) if separator else 0


def done_set(text: str) -> tuple[str, frozenset[int]]:
    """The id of a plan, and the numbers of its chunks: "3-5f0c:1-5,7". Raises ValueError."""
    plan, separator, numbers = text.partition(":")
    if not plan or not separator or not DONE_SET.fullmatch(numbers):
        raise ValueError(text)
    _generation(plan)
    return plan, numbers_of(numbers)


def numbers_text(numbers: Iterable[int]) -> str:
    """Numbers in ranges: "1-5,7"."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in _ranges(sorted(numbers)))


def _ranges(ordered: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for number in ordered:
        if last is not None and number == last + 1:
            last = number
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = number
    if first is not None and last is not None:
        yield first, last


def numbers_of(text: str) -> frozenset[int]:
    """The inverse of numbers_text."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """The snapshot of one channel."""

    token: str
    #: None: not made yet
    plan: ChunkPlan | None = None
    #: numbers of the chunks in the lake
    done: frozenset[int] = frozenset()
    #: those in the lake
    rows: int = 0
    #: the end of the source's binlog after the last read; None: chunks are missing
    upper: Position | None = None
    #: `upper` has been passed, so the table is consistent
    caught_up: bool = False
    #: the table has rows, which are deleted when these come; only those of `excerpt`, if there is one
    replaces: bool = False
    excerpt: KeyRange | None = None
    #: what the target becomes in the commit of its rows
    changes: "tuple[LakeChange, ...]" = ()
    #: unix seconds; None: of an earlier version
    begun_at: float | None = None
    #: the source time up to which the target is complete until the rows are there; None: as for the other tables of the
    #: job; 0.0: never, or not known
    stale_since: float | None = None
    #: how many reads of the channel's rows were begun before
    generation: int = 0

    def renews(self, part: Part | None) -> bool:
        """Whether all rows of the target are replaced. If others fill it too, as with a `part`, their losses would go
        unnoticed.
        """
        return self.replaces and self.excerpt is None and part is None

    def repeats(self, end: Position | None) -> bool:
        """Whether changes after that place may concern rows as the read saw them. A table without a key has its own
        point, before which no change is read.
        """
        if self.caught_up or (self.plan is not None and self.plan.point is not None):
            return False
        return self.upper is None or end is None or not has_passed(end, self.upper)

    @property
    def reshapes(self) -> bool:
        """Whether the target has yet to be changed for the rows."""
        return bool(self.changes) and not self.done

    @property
    def stale(self) -> float | None:
        """As `stale_since`, while that matters."""
        return self.stale_since if self.upper is None else None

    @property
    def missing(self) -> tuple[int, ...]:
        """Chunks that are not in the lake yet, in order."""
        assert self.plan is not None
        return tuple(number for number in self.plan.numbers if number not in self.done)

    @property
    def phase(self) -> str:
        """As SHOW prints it."""
        if self.upper is None:
            return "snapshot"
        return "streaming" if self.caught_up else "catch-up"


def load_facts(load: Load, rate: float | None) -> dict[str, str | int | float | None]:
    """What the Status column says of a snapshot. `rate`: rows per second now, None if it is not read now."""
    estimated = None if load.plan is None else max(load.plan.rows, load.rows)
    left, reads = None, load.plan is not None and load.upper is None and bool(load.missing)
    if rate and load.plan is not None and reads:
        left = round(max(load.plan.rows, load.rows) * len(load.missing) / load.plan.count / rate, 1)
    return {
        "phase": load.phase,
        "rows": load.rows,
        "estimated_rows": load.rows if load.upper is not None else estimated,
        "chunks": None if load.plan is None else load.plan.count,
        "chunks_done": len(load.done),
        "rows_per_second": round(rate) if rate is not None and reads else None,
        "left_second": left,
        "where": None if load.excerpt is None else load.excerpt.text,
    }
