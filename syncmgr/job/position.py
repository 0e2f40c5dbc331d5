"""Where in a source's history a job stands.

Owns: GTID sets, positions, their order and their text forms.
Must not know: connections, sources, jobs.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final

_UUID: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_TAG: Final = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_INTERVAL: Final = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")
_MARIADB: Final = re.compile(r"([0-9]{1,10})-([0-9]{1,10})-([0-9]{1,20})")
_FILE: Final = re.compile(r"(.*)\.([0-9]+)")
MAX_GNO: Final = 2**63 - 1
MAX_TEXT: Final = 16 << 20  # characters of the GTIDs of a server
MAX_PIECES: Final = 250_000  # intervals, or domains, that a server may add by its transactions

Sid = tuple[str, str]  # (uuid, tag); the tag is "" before MySQL 8.3


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """Everything up to here has been read."""

    #: the executed set in canonical text, MySQL's (uuid[:tag]:1-5,...) or MariaDB's (domain-server-seq,...); "" where
    #: the server has none
    gtids: str = ""
    #: with `offset` the binlog coordinate after the last transaction
    file: str = ""
    offset: int = 0
    #: above 0 inside a transaction that was split: on canal the coordinate is that of the last entry taken, and this is
    #: its number among the entries of that coordinate; on MySQL it is 1 after the DDL that the next transaction begins
    #: with
    ordinal: int = 0
    #: server uuid, or server id of MariaDB and canal
    server: str = ""
    #: unix seconds at which the binlog file was made; 0 where unknown
    created: int = 0
    #: unix seconds of the newest event up to here; 0 where unknown
    time: int = 0
    #: False: the rows up to here never were the source's state: a transaction is split, or history is applied a second
    #: time
    whole: bool = True
    #: the source may have been told that all of it is committed, so that nothing of it has to be sent again (canal
    #: only)
    acked: bool = False
    #: the last transaction that was read, as `LastRead` writes it; "" if there was none. It describes the place, and is
    #: not part of it
    last: str = field(default="", compare=False)


class Order(StrEnum):
    """How one position relates to another."""

    BEFORE = "BEFORE"
    SAME = "SAME"
    AFTER = "AFTER"
    INCOMPARABLE = "INCOMPARABLE"


def _refuse_long(text: str) -> None:
    if len(text) > MAX_TEXT:
        raise ValueError(f"a set of GTIDs of {len(text)} characters")


class GtidSet:
    """MySQL's executed GTIDs, tags included: for each (uuid, tag) sorted, disjoint, closed intervals.

    Only `add` changes a set; it is constant time where transactions come in order.
    """

    __slots__ = ("_starts", "_stops")

    def __init__(self) -> None:
        self._starts: dict[Sid, list[int]] = {}
        self._stops: dict[Sid, list[int]] = {}

    @classmethod
    def parse(cls, text: str) -> "GtidSet":
        """Raises ValueError for anything MySQL would not accept, and for more than MAX_TEXT."""
        _refuse_long(text)
        made = cls()
        for part in filter(None, (piece.strip() for piece in text.lower().split(","))):
            uuid, *rest = (piece.strip() for piece in part.split(":"))
            if not _UUID.fullmatch(uuid) or not rest:
                raise ValueError(f"'{part}' is not a GTID set")
            made._parse_intervals((_dashed(uuid), ""), rest)
        return made

    def _parse_intervals(self, sid: Sid, pieces: list[str]) -> None:
        for piece in pieces:
            interval = _INTERVAL.fullmatch(piece)
            if interval is not None:
                first = int(interval[1])
                self.add_interval(sid, first, int(interval[2] or first))
            elif _TAG.fullmatch(piece):
                sid = sid[0], piece
            else:
                raise ValueError(f"'{piece}' is neither an interval nor a tag")

    def add(self, sid: Sid, gno: int) -> None:
        stops = self._stops.get(sid)
        if stops and stops[-1] == gno - 1:
            stops[-1] = gno
        else:
            self.add_interval(sid, gno, gno)

    def add_interval(self, sid: Sid, first: int, last: int) -> None:
        """Both ends belong to it. Raises ValueError for an interval that MySQL cannot have."""
        if not 0 < first <= last <= MAX_GNO:
            raise ValueError(f"'{first}-{last}' is not an interval of transaction numbers")
        starts, stops = self._starts.setdefault(sid, []), self._stops.setdefault(sid, [])
        begin = bisect_right(stops, first - 2)  # the first interval that touches or follows
        end = bisect_right(starts, last + 1)
        if begin < end:
            first, last = min(first, starts[begin]), max(last, stops[end - 1])
        starts[begin:end], stops[begin:end] = [first], [last]

    @property
    def pieces(self) -> int:
        """How many intervals it has."""
        return sum(map(len, self._starts.values()))

    def intervals(self) -> Iterator[tuple[Sid, list[tuple[int, int]]]]:
        """In canonical order; both ends of an interval belong to it."""
        for sid in sorted(self._starts):
            yield sid, self.of(sid)

    def of(self, sid: Sid) -> list[tuple[int, int]]:
        return list(zip(self._starts.get(sid, ()), self._stops.get(sid, ()), strict=True))

    def has(self, sid: Sid, gno: int) -> bool:
        at = bisect_right(self._starts.get(sid, ()), gno) - 1
        return at >= 0 and gno <= self._stops[sid][at]

    def contains(self, other: "GtidSet") -> bool:
        return all(self._covers(sid, first, last) for sid, intervals in other.intervals() for first, last in intervals)

    def _covers(self, sid: Sid, first: int, last: int) -> bool:
        at = bisect_right(self._starts.get(sid, ()), first) - 1
        return at >= 0 and last <= self._stops[sid][at]

    def copy(self) -> "GtidSet":
        return GtidSet().union(self)

    def union(self, other: "GtidSet") -> "GtidSet":
        made = GtidSet()
        for whole in (self, other):
            for sid, intervals in whole.intervals():
                for first, last in intervals:
                    made.add_interval(sid, first, last)
        return made

    def subtract(self, other: "GtidSet") -> "GtidSet":
        made = GtidSet()
        for sid, intervals in self.intervals():
            holes = other.of(sid)
            for first, last in intervals:
                for left in _without(first, last, holes):
                    made.add_interval(sid, *left)
        return made

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GtidSet) and self._starts == other._starts and self._stops == other._stops

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"GtidSet({str(self)!r})"

    def __str__(self) -> str:
        """As MySQL prints it: a tag appears once, before its intervals."""
        by_uuid: dict[str, list[str]] = {}
        for (uuid, tag), intervals in self.intervals():
            words = by_uuid.setdefault(uuid, [uuid])
            if tag:
                words.append(tag)
            words += [str(first) if first == last else f"{first}-{last}" for first, last in intervals]
        return ",".join(":".join(words) for words in by_uuid.values())


class MariadbGtids:
    """MariaDB's position: the last (server id, sequence) of each domain."""

    __slots__ = ("_last",)

    def __init__(self, last: Mapping[int, tuple[int, int]] | None = None) -> None:
        self._last = dict(last or {})

    @classmethod
    def parse(cls, text: str) -> "MariadbGtids":
        """Raises ValueError for anything MariaDB would not accept, and for more than MAX_TEXT."""
        _refuse_long(text)
        made = cls()
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            words = _MARIADB.fullmatch(part)
            if words is None:
                raise ValueError(f"'{part}' is not a GTID of MariaDB")
            domain, server, seq = (int(word) for word in words.groups())
            if domain in made._last:
                raise ValueError(f"domain {domain} stands twice")
            made.add(domain, server, seq)
        return made

    @property
    def pieces(self) -> int:
        """How many domains it has."""
        return len(self._last)

    def items(self) -> Iterable[tuple[int, tuple[int, int]]]:
        """Domain -> (server, sequence)."""
        return self._last.items()

    def add(self, domain: int, server: int, seq: int) -> None:
        self._last[domain] = server, seq

    def has(self, domain: int, seq: int) -> bool:
        return domain in self._last and seq <= self._last[domain][1]

    def contains(self, other: "MariadbGtids") -> bool:
        """Also False if a domain's histories have diverged: the same sequence by another server."""
        return all(self._reaches(domain, server, seq) for domain, (server, seq) in other.items())

    def _reaches(self, domain: int, server: int, seq: int) -> bool:
        mine = self._last.get(domain)
        return mine is not None and (mine[1] > seq or mine == (server, seq))

    def copy(self) -> "MariadbGtids":
        return MariadbGtids(self._last)

    def union(self, other: "MariadbGtids") -> "MariadbGtids":
        """The later of both in each domain."""
        made = self.copy()
        for domain, (server, seq) in other.items():
            if not made.has(domain, seq):
                made.add(domain, server, seq)
        return made

    def subtract(self, other: "MariadbGtids") -> "MariadbGtids":
        """The domains in which this one is ahead."""
        return MariadbGtids({d: (server, seq) for d, (server, seq) in self._last.items() if not other.has(d, seq)})

    def __bool__(self) -> bool:
        return bool(self._last)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MariadbGtids) and self._last == other._last

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"MariadbGtids({str(self)!r})"

    def __str__(self) -> str:
        return ",".join(f"{domain}-{server}-{seq}" for domain, (server, seq) in sorted(self._last.items()))


def parse_gtids(text: str) -> GtidSet | MariadbGtids:
    """By its form. Raises ValueError."""
    if _MARIADB.fullmatch(text.partition(",")[0].strip()):
        return MariadbGtids.parse(text)
    return GtidSet.parse(text)


def compare(a: Position, b: Position) -> Order:
    """How `a` relates to `b`: by GTID, otherwise by coordinate on the same server and generation of files."""
    if a == b:
        return Order.SAME
    if a.gtids and b.gtids:
        return _by_gtid(a, b)
    return _by_coordinate(a, b)


def _by_gtid(a: Position, b: Position) -> Order:
    mine, other = parse_gtids(a.gtids), parse_gtids(b.gtids)
    match mine, other:
        case (GtidSet(), GtidSet()) | (MariadbGtids(), MariadbGtids()):
            below, above = other.contains(mine), mine.contains(other)  # type: ignore[arg-type]  # both alike
        case _:
            return Order.INCOMPARABLE
    if below and above:
        return _order(a.ordinal, b.ordinal)
    if below:
        return Order.BEFORE
    return Order.AFTER if above else Order.INCOMPARABLE


def _by_coordinate(a: Position, b: Position) -> Order:
    mine, other = numbered(a.file), numbered(b.file)
    if not a.server or a.server != b.server or mine is None or other is None or mine[0] != other[0]:
        return Order.INCOMPARABLE
    by_file = _order(mine[1], other[1])
    if not a.created or not b.created or _order(a.created, b.created) not in {by_file, Order.SAME}:
        return Order.INCOMPARABLE  # RESET BINARY LOGS restarts at 000001
    if by_file is not Order.SAME:
        return by_file
    return _order((a.offset, a.ordinal), (b.offset, b.ordinal))


@lru_cache(maxsize=16)
def numbered(file: str) -> tuple[str, int] | None:
    """Base name and number of a binlog file; None if it has none."""
    found = _FILE.fullmatch(file)
    return None if found is None else (found[1], int(found[2]))


def number_of(file: str) -> tuple[str, int]:
    """The same, and 0 if it has none."""
    return numbered(file) or (file, 0)


def _order(a: int | tuple[int, int], b: int | tuple[int, int]) -> Order:
    if a == b:
        return Order.SAME
    return Order.BEFORE if a < b else Order.AFTER  # type: ignore[operator]  # both are of one kind


def _dashed(uuid: str) -> str:
    plain = uuid.replace("-", "")
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))


def _without(first: int, last: int, holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, stop in holes:
        if stop < first or start > last:
            continue
        if start > first:
            yield first, start - 1
        first = stop + 1
    if first <= last:
        yield first, last


def has_passed(position: Position, upper: Position) -> bool:
    """Whether all up to `upper` has been read.

    A transaction may be in the binlog, and visible to a SELECT, for a moment before it counts as executed: if both are
    in one file, the coordinate has to be passed, too. A file that has ended waited for its last commit, and the next
    one may stay without any. In an earlier file of a MariaDB whose numbers went back only its end may be past.
    """
    return _is_in(position, upper, frozenset({Order.SAME, Order.AFTER}))


def is_beyond(position: Position, upper: Position) -> bool:
    """Whether what ends at `position` was certainly not in the binlog yet when that ended at `upper`."""
    return _is_in(position, upper, frozenset({Order.AFTER}))


def _is_in(position: Position, upper: Position, orders: frozenset[Order]) -> bool:
    """By GTID, and by coordinate where that may know more."""
    by_gtid = bool(position.gtids and upper.gtids)
    if by_gtid and (compare(position, upper) not in orders or _numbers_went_back(position, upper)):
        return False
    if by_gtid and (position.server, position.file) != (upper.server, upper.file):
        return True
    return compare(_coordinate(position), _coordinate(upper)) in orders


def _numbers_went_back(position: Position, upper: Position) -> bool:
    """Whether MariaDB's numbers, which may go back within a domain, say more of a place in an earlier file than of one
    in a later file of the same server: only that has all of both.
    """
    known = min(position.created, upper.created)  # files of another generation have other births
    here, there = (replace(_coordinate(at), created=at.created if known else 1) for at in (position, upper))
    if position.file == upper.file or _by_coordinate(here, there) is not Order.BEFORE:
        return False
    mine = parse_gtids(position.gtids)
    return isinstance(mine, MariadbGtids) and mine != parse_gtids(upper.gtids)


def _coordinate(at: Position) -> Position:
    """A reader that got from one position to the other has seen that the files were not restarted."""
    return Position(file=at.file, offset=at.offset, server=at.server, created=1)
