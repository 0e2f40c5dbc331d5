"""What is at or before a position, transaction by transaction.

Owns: how to decide whether a transaction of a stream is at or before a position, or after it.
Must not know: rows, streams.
"""

from collections.abc import Mapping
from dataclasses import replace

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import GtidSet, MariadbGtids, Position, Sid, compare, parse_gtids
from syncmgr.job.source_history.numbers_back import contradiction

Gtid = tuple[Sid, int] | tuple[int, int, int]  # MySQL's; MariaDB's domain, server and sequence


class NumbersBackError(Exception):
    """GTIDs and places in files contradict each other; it is not known which is right."""


class Cutoff:
    """By GTID if there are any, otherwise by coordinate on the same server."""

    def __init__(self, position: Position) -> None:
        self._gtids = parse_gtids(position.gtids) if position.gtids else None
        self._place = replace(position, gtids="")

    def has(self, gtid: Gtid | None, here: Position) -> bool:
        """`here`: the coordinate after an event of the transaction. Raises NumbersBackError."""
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


class Cutoffs:
    """For tables whose changes up to a place are not wanted. Raises SyncError if it is not known which those are."""

    def __init__(self, afters: Mapping[Table, Position], address: str) -> None:
        self._cutoffs = {table: Cutoff(after) for table, after in afters.items()}
        self._address = address

    def __bool__(self) -> bool:
        return bool(self._cutoffs)

    def is_early(self, table: Table, gtid: Gtid | None, here: Position) -> bool:
        """Whether changes of a table in a transaction that ends before `here` are not wanted."""
        return table in self._cutoffs and self._has(table, gtid, here)

    def passed(self, gtid: Gtid | None, here: Position) -> frozenset[Table]:
        """The tables that begin after that transaction."""
        return frozenset(table for table in self._cutoffs if self._has(table, gtid, here))

    def _has(self, table: Table, gtid: Gtid | None, here: Position) -> bool:
        try:
            return self._cutoffs[table].has(gtid, here)
        except NumbersBackError as error:
            label = ".".join(table)
            reason = (
                f"numbers of a domain that go back, so it is not known whether rows of {label} came with its "
                f"snapshot: {error}; SET GLOBAL gtid_strict_mode = ON"
            )
            raise SyncError(Code.SOURCE_UNSUPPORTED, address=self._address, reason=reason, table=label) from error


def _numbered(at: Position) -> tuple[int, int]:
    return int(at.file.rpartition(".")[2]), at.offset
