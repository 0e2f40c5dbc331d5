"""The GTIDs of everything read, and the one of the open transaction.

Owns: their set and its bound, ids of servers as text, which transaction was read last.
Must not know: files and offsets, rows, what a transaction does.
"""

import logging
from typing import Final

from syncmgr.job.position import MAX_PIECES, GtidSet, MariadbGtids, Position, Sid, parse_gtids
from syncmgr.sources.mysql.binlog import events
from syncmgr.sources.mysql.wire import OversizeError

log = logging.getLogger(__name__)
MAX_SIDS: Final = 4096  # server ids whose text is cached


class ExecutedGtids:
    """Used by one thread. `executed`: None if not known. `open`: of the open transaction, if any."""

    def __init__(self, start: Position, address: str) -> None:
        self.executed: GtidSet | MariadbGtids | None = parse_gtids(start.gtids) if start.gtids else None
        self._address = address
        self._sids: dict[bytes, Sid] = {}
        self._last, self._last_event = start.last, b""  # the last transaction, and its GTID event until that is read
        self.begin()

    def begin(self) -> None:
        """No transaction is open."""
        self.open: tuple[Sid, int] | tuple[int, int, int] | None = None
        self._event = b""

    def forget(self) -> None:
        """The GTIDs of a server that no longer writes any are not a place to go on from."""
        self.executed, self._last, self._last_event = None, "", b""

    def open_uuid(self, data: memoryview, start: int, end: int) -> None:
        raw = bytes(data[start + 20 : start + 36])
        sid = self._sids.get(raw)
        if sid is None:
            if len(self._sids) >= MAX_SIDS:
                self._sids.clear()
            sid = self._sids[raw] = events.uuid_text(raw), ""
        self._close_left_open()
        self.open = sid, int.from_bytes(data[start + 36 : start + 44], "little")
        self._event = bytes(data[start:end])

    def open_tagged(self, event: bytes) -> None:
        self._close_left_open()
        self._event = event
        self.open = events.tagged_gtid(event)

    def open_mariadb(self, gtid: tuple[int, int, int], event: bytes) -> None:
        self._close_left_open()
        self.open, self._event = gtid, event

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
            self._last_event = self._event

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
        if self._last_event:
            self._last, self._last_event = str(events.begun(memoryview(self._last_event)) or ""), b""
        return self._last
