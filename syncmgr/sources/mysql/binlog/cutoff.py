"""What lies up to a position, transaction by transaction.

Owns: how one transaction of a stream is told to be at or before a position, or behind it.
Must not know: tables, rows, streams.
"""

from dataclasses import replace

from syncmgr.job.position import GtidSet, MariadbGtids, Position, Sid, compare, parse_gtids
from syncmgr.job.source_history.numbers_back import contradiction

Gtid = tuple[Sid, int] | tuple[int, int, int]  # MySQL's; MariaDB's domain, server and sequence


class NumbersBackError(Exception):
    """GTIDs and places in files say the opposite; which one is right nobody knows."""


class Cutoff:
    """By GTID where there are any, else by coordinate on the same server."""

    def __init__(self, position: Position) -> None:
        self._gtids = parse_gtids(position.gtids) if position.gtids else None
        self._place = replace(position, gtids="")

    def has(self, gtid: Gtid | None, here: Position) -> bool:
        """`here`: the coordinate behind an event of the transaction. Raises NumbersBackError."""
        match self._gtids, gtid:
            case GtidSet() as executed, ((_, _) as sid, int(gno)):
                return executed.has(sid, gno)
            case MariadbGtids() as last, (int(domain), int(server), int(sequence)):
                by_number = last.has(domain, sequence)
                reason = contradiction((domain, server, sequence), last, compare(here, self._place), here)
                if reason is not None:
                    raise NumbersBackError(reason)
                return by_number
            case _:
                return _numbered(here) <= _numbered(self._place)


def _numbered(at: Position) -> tuple[int, int]:
    return int(at.file.rpartition(".")[2]), at.offset
