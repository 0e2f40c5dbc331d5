"""How an entry relates to what was taken before.

Owns: what makes an entry old, new, or part of another history; the position after one.
Must not know: transactions, batches, connections.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final

from syncmgr.job.position import GtidSet, MariadbGtids, Position, numbered, parse_gtids
from syncmgr.sources.canal.packet import MalformedPacketError
from syncmgr.sources.canal.proto import entry_pb2

NEAR: Final = 256  # bytes between a position and the first entry after it: one GTID event
FILE_HEAD: Final = 4096  # the same at the beginning of the next file
_MYSQL_GTID: Final = re.compile(r"([0-9a-fA-F-]{36}):(\d+)")
_MARIADB_GTID: Final = re.compile(r"(\d+)-(\d+)-(\d+)")


class Relation(StrEnum):
    """How an entry relates to a position."""

    OLD = "OLD"
    NEW = "NEW"
    ELSEWHERE = "ELSEWHERE"  # it cannot be determined: the binlogs are no longer the same ones


@dataclass(frozen=True, slots=True)
class EntryPosition:
    """The place of an entry. `number`: from 1 among the entries of its coordinate, which a compressed transaction
    shares; `counted` False: entries of that coordinate may have come before the first one seen. `time`: unix seconds.
    `gtid`: of its transaction only, "" if none is given; `gtids`: the executed set as canal reports it.
    """

    file: str
    offset: int
    length: int
    number: int
    counted: bool
    server: str
    time: int
    gtid: str
    gtids: str


def place_of(header: entry_pb2.Header, number: int, *, counted: bool) -> EntryPosition:
    return EntryPosition(
        file=header.logfileName,
        offset=header.logfileOffset,
        length=header.eventLength,
        number=number,
        counted=counted,
        server=str(header.serverId),
        time=header.executeTime // 1000,
        gtid=_current_gtid(header) if header.gtid else "",
        gtids=header.gtid,
    )


def _current_gtid(header: entry_pb2.Header) -> str:
    """MariaDB's set of a stream is the current GTID; MySQL's is in a property."""
    if _MARIADB_GTID.fullmatch(header.gtid):
        return header.gtid
    return next((pair.value for pair in header.props if pair.key == "curtGtid"), "")


class Taken:
    """Everything up to `position` was taken. Follows the stream entry by entry."""

    def __init__(self, position: Position) -> None:
        self._gtids = parse_gtids(position.gtids) if position.gtids else None
        self._gtids_pending = ""
        self._position = position
        self._torn = ""  # the GTID of the split transaction, "" if not known
        self._away = False  # it is delivered again from other binlogs

    @property
    def position(self) -> Position:
        """`gtids` is brought up to date here: a set is too long to be written for each transaction."""
        if self._gtids_pending:
            self._absorb(self._gtids_pending)
            self._gtids_pending = ""
            self._position = replace(self._position, gtids=str(self._gtids))
        return self._position

    @property
    def inside(self) -> bool:
        """Whether it is inside a transaction."""
        return self._position.ordinal > 0

    def behind(self, at: EntryPosition, *, time: int, whole: bool, acked: bool) -> None:
        """A transaction, or a statement without one, ended with this entry."""
        self._torn, self._away = "", False
        self._gtids_pending = at.gtids or self._gtids_pending
        if self._gtids is not None and at.gtid:
            self._add(at.gtid)
        self._position = Position(
            gtids=self._position.gtids,
            file=at.file,
            offset=at.offset + at.length,
            server=at.server,
            time=time,
            whole=whole,
            acked=acked,
        )

    def release(self) -> Position:
        """The same position, marked so that canal may forget everything up to it."""
        self._position = replace(self.position, acked=True)
        return self._position

    def within(self, at: EntryPosition, *, time: int) -> None:
        """A transaction was taken up to and with this entry."""
        self._torn, self._away = at.gtid, False
        self._position = replace(
            self._position,
            file=at.file,
            offset=at.offset,
            ordinal=at.number,
            server=at.server,
            time=time,
            whole=False,
            acked=False,
        )

    def relation_to(self, at: EntryPosition, *, trusted: bool) -> Relation:
        """`trusted` False: coordinates prove nothing."""
        taken = self._position
        known = self._knows(at.gtid) if at.gtid else None
        if known:
            return Relation.OLD
        if not trusted:
            return Relation.ELSEWHERE
        if not taken.file or (known is False and not self._is_of_torn(at)):
            return Relation.NEW
        return Relation.ELSEWHERE if self._away else _by_coordinate(at, taken)

    def go_away(self) -> None:
        """A split transaction is delivered again from other binlogs: no coordinate shows which part of it was taken."""
        self._away = self._position.ordinal > 0

    def ends_at(self, at: EntryPosition) -> bool:
        """Whether the position is exactly the one after this entry, or at it if a transaction is split."""
        taken = self._position
        offset = at.offset if taken.ordinal else at.offset + at.length
        return (at.file, offset) == (taken.file, taken.offset) and taken.ordinal in {0, at.number}

    def continues(self, at: EntryPosition) -> bool:
        """Whether nothing can be between the position and this entry."""
        taken = self._position
        if at.gtid and self._gtids is not None:
            return self._lacks_only(at)
        mine, other = numbered(at.file), numbered(taken.file)
        if mine is None or other is None or mine[0] != other[0]:
            return False
        if mine == other:
            return 0 <= at.offset - taken.offset <= NEAR
        return not taken.ordinal and mine[1] == other[1] + 1 and at.offset <= FILE_HEAD

    def jumps_back(self, at: EntryPosition, second: int, *, ended: int, twice: bool) -> bool:
        """Whether a transaction's end is older than what was taken, in another file.

        In the next file it is rather that of a session with a timestamp of its own, if the previous end, at `ended`, is
        as old; 0: not known. `twice` False: nothing may be taken twice, so that beyond the next file an end has to be
        younger.
        """
        taken = self._position
        mine, other = numbered(at.file), numbered(taken.file)
        if mine is None or other is None or at.gtid or mine == other:
            return False
        follows = mine == (other[0], other[1] + 1)
        if not (follows or twice):
            return at.time <= taken.time
        return at.time < (ended if follows else taken.time) - second

    def knows(self, at: EntryPosition) -> bool:
        """Whether its GTID says that it was taken."""
        return at.gtid != "" and self._knows(at.gtid) is True

    def by_gtid(self, at: EntryPosition) -> bool:
        """Whether its GTID shows if it was taken."""
        return at.gtid != "" and self.position.gtids != "" and self._knows(at.gtid) is not None

    def tears(self, at: EntryPosition) -> bool:
        """Whether this entry of another transaction arrives although the rest of the split one did not."""
        if not self._position.ordinal or not self._torn or at.gtid in {"", self._torn}:
            return False
        return not _has(_parsed_set(at.gtids), self._torn)

    def may_be_torn(self) -> bool:
        """Whether the first transaction that arrived may be the split one: it follows those that were taken."""
        match _parsed(self._torn):
            case (str(uuid), int(number)):
                return self._knows(f"{uuid}:{number - 1}") is True
            case (int(domain), int(server), int(number)):
                return self._knows(f"{domain}-{server}-{number - 1}") is True
            case _:
                return False

    def _is_of_torn(self, at: EntryPosition) -> bool:
        """A stored position does not contain its GTID: canal delivers the rest of it first."""
        if not self._position.ordinal:
            return False
        self._torn = self._torn or at.gtid
        return at.gtid == self._torn

    def _knows(self, gtid: str) -> bool | None:
        """None if the set and the GTID are not of one kind."""
        return _has(self._gtids, gtid)

    def _add(self, gtid: str) -> None:
        match self._gtids, _parsed(gtid):
            case GtidSet() as mine, (str(uuid), int(number)):
                mine.add((uuid, ""), number)
            case MariadbGtids() as mine, (int(domain), int(server), int(number)):
                mine.add(domain, server, number)

    def _absorb(self, text: str) -> None:
        """What canal has passed, filtered transactions too."""
        later = _parsed_set(text)
        match self._gtids, later:
            case (GtidSet() as mine, GtidSet()) | (MariadbGtids() as mine, MariadbGtids()):
                self._gtids = mine.union(later)  # type: ignore[arg-type]  # both alike
            case _:
                self._gtids = later

    def _lacks_only(self, at: EntryPosition) -> bool:
        match self._gtids, _parsed_set(at.gtids), _parsed(at.gtid):
            case GtidSet() as mine, GtidSet() as later, (str(uuid), int(number)):
                current = GtidSet()
                current.add((uuid, ""), number)
                return not later.subtract(mine).subtract(current)
            case MariadbGtids() as mine, _, (int(domain), int(_), int(number)):
                return number == 1 or mine.has(domain, number - 1)
            case _:
                return False


def _has(gtids: GtidSet | MariadbGtids | None, gtid: str) -> bool | None:
    match gtids, _parsed(gtid):
        case GtidSet() as mine, (str(uuid), int(number)):
            return mine.has((uuid, ""), number)
        case MariadbGtids() as mine, (int(domain), int(_), int(number)):
            return mine.has(domain, number)
        case _:
            return None


def _by_coordinate(at: EntryPosition, taken: Position) -> Relation:
    """By file and offset; an old entry cannot be younger than what was taken after it."""
    mine, other = numbered(at.file), numbered(taken.file)
    if mine is None or other is None or mine[0] != other[0]:
        return Relation.ELSEWHERE
    if not at.counted and taken.ordinal > 1 and (at.file, at.offset) == (taken.file, taken.offset):
        return Relation.ELSEWHERE
    if (mine[1], at.offset, at.number) > (other[1], taken.offset, taken.ordinal):
        return Relation.NEW
    return Relation.OLD if at.time <= taken.time else Relation.ELSEWHERE


def _parsed_set(text: str) -> GtidSet | MariadbGtids:
    """What canal says was executed."""
    try:
        return parse_gtids(text)
    except ValueError as error:
        raise MalformedPacketError(f"no set of GTIDs: {error}") from error


@lru_cache(maxsize=16)
def _parsed(gtid: str) -> tuple[str, int] | tuple[int, int, int] | None:
    mysql = _MYSQL_GTID.fullmatch(gtid)
    if mysql:
        return mysql[1].lower(), int(mysql[2])
    mariadb = _MARIADB_GTID.fullmatch(gtid)
    return (int(mariadb[1]), int(mariadb[2]), int(mariadb[3])) if mariadb else None
