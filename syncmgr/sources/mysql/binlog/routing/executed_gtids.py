"""The GTIDs of everything read, and the one of the open transaction.

Owns: their set and its bound, ids of servers as text, which transaction was read last.
Must not know: files and offsets, rows, what a transaction does.
"""

import logging
from dataclasses import replace
from typing import Final, NamedTuple

from syncmgr.job.position import MAX_PIECES, GtidSet, MariadbGtids, Position, Sid, parse_gtids
from syncmgr.job.source_history.last_read import LastRead
from syncmgr.sources.mysql.binlog.continuation import gtid_events
from syncmgr.sources.mysql.wire import OversizeError

log = logging.getLogger(__name__)
MAX_SIDS: Final = 4096  # server ids whose text is cached


class Begin(NamedTuple):
    """The event of a transaction that has its GTID, or says that it has none, and where that begins."""

    event: bytes
    file: str = ""
    offset: int = 0


NO_BEGIN: Final = Begin(b"")


class ExecutedGtids:
    """Used by one thread. `executed`: None if not known. `open`: of the open transaction, if any."""

    def __init__(self, start: Position, address: str) -> None:
        self.executed: GtidSet | MariadbGtids | None = parse_gtids(start.gtids) if start.gtids else None
        self._address = address
        self._sids: dict[bytes, Sid] = {}
        self._last = start.last  # the last transaction
        self._last_begin = NO_BEGIN  # of it, until that is parsed
        self.begin()

    def begin(self) -> None:
        """No transaction is open."""
        self.open: tuple[Sid, int] | tuple[int, int, int] | None = None
        self._begin = NO_BEGIN

    def forget(self) -> None:
        """The GTIDs of a server that no longer writes any are not a place to go on from."""
        self.executed = None

    def forget_files(self) -> None:
        """Another server has others."""
        last = LastRead.parse(self.last_read())
        self._last = "" if last is None or not last.gtid else str(last.elsewhere())

    def begins_at(self, file: str, offset: int) -> None:
        """Where the transaction begins whose GTID event came last."""
        self._begin = self._begin._replace(file=file, offset=offset)

    def open_nameless(self, event: bytes) -> None:
        self.open, self._begin = None, Begin(event)

    def open_uuid(self, data: memoryview, start: int, end: int) -> None:
        raw = bytes(data[start + 20 : start + 36])
        sid = self._sids.get(raw)
        if sid is None:
            if len(self._sids) >= MAX_SIDS:
                self._sids.clear()
            sid = self._sids[raw] = gtid_events.uuid_text(raw), ""
        self._close_left_open()
        self.open = sid, int.from_bytes(data[start + 36 : start + 44], "little")
        self._begin = Begin(bytes(data[start:end]))

    def open_tagged(self, event: bytes) -> None:
        self._close_left_open()
        self.open, self._begin = gtid_events.tagged_gtid(event), Begin(event)

    def open_mariadb(self, gtid: tuple[int, int, int], event: bytes) -> None:
        self._close_left_open()
        self.open, self._begin = gtid, Begin(event)

    def _close_left_open(self) -> None:
        """The next transaction begins, so the one before is over; its GTID must not be missing from the position."""
        if self.open is None:
            return
        log.error(
            "%s: the transaction of GTID %s has no end that is known; it counts as read", self._address, self.open
        )
        self.add_open()
        self.open = None

    def add_open(self) -> None:
        """The open transaction was read."""
        if self.executed is not None and self.open is not None:
            self.executed.add(*self.open)
        if self._begin.event:
            self._last_begin = self._begin

    def text(self) -> str:
        """As a position has them. Raises OversizeError if the server has scattered them so that its size is
        unbounded.
        """
        if self.executed is None:
            return ""
        if self.executed.pieces > MAX_PIECES:
            raise OversizeError(f"GTIDs in {self.executed.pieces} pieces; {MAX_PIECES} are taken")
        return str(self.executed)

    def last_read(self) -> str:
        """Only one per batch is needed, so the others do not have to be parsed."""
        if self._last_begin.event:
            event, file, offset = self._last_begin
            found = gtid_events.begun(memoryview(event))
            self._last = "" if found is None else str(replace(found, file=file, begin=offset))
            self._last_begin = NO_BEGIN
        return self._last
