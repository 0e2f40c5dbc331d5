"""What lies up to a position, transaction by transaction.

Owns: how one transaction of a stream is told to be at or before a position, or behind it.
Must not know: tables, rows, streams.
"""

from syncmgr.job.position import GtidSet, MariadbGtids, Position, Sid, parse_gtids

Gtid = tuple[Sid, int] | tuple[int, int, int]  # MySQL's; MariaDB's domain, server and sequence


class Cutoff:
    """By GTID where there are any, else by coordinate on the same server."""

    def __init__(self, position: Position) -> None:
        self._gtids = parse_gtids(position.gtids) if position.gtids else None
        self._place = position.file, position.offset

    def has(self, gtid: Gtid | None, file: str, end: int) -> bool:
        """`end`: the offset in the file behind an event of the transaction."""
        match self._gtids, gtid:
            case GtidSet() as executed, ((_, _) as sid, int(gno)):
                return executed.has(sid, gno)
            case MariadbGtids() as last, (int(domain), int(_), int(sequence)):
                return last.has(domain, sequence)
            case _:
                return _numbered(file, end) <= _numbered(*self._place)


def _numbered(file: str, offset: int) -> tuple[int, int]:
    return int(file.rpartition(".")[2]), offset
