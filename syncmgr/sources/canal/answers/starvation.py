"""When canal gives no more because its ring is full of what is not acknowledged.

Owns: how many answers without rows mean that, and what is handed on then so that something can be acknowledged.
Must not know: sockets, where transactions end, who commits.
"""

from typing import Final

from syncmgr.job.rows.batch import Batch
from syncmgr.sources.canal.acks import Acks
from syncmgr.sources.canal.history import RewindError
from syncmgr.sources.canal.sorter import Sorter

FULL_ENTRIES: Final = 8192  # half of the default ring
FULL_BYTES: Final = 8 * 1024 * 1024
STARVED_GETS: Final = 12  # empty ones in a row, with that much un-acked
SILENT_GETS: Final = 80  # the same whatever is un-acked: two seconds
KEPT_BYTES: Final = 64 * 1024  # the share of the ring that un-acked data may take while nothing moves


class Starvation:
    """Of one connection after the other. Used by the thread that reads."""

    def __init__(self, acks: Acks, sorter: Sorter) -> None:
        self._acks = acks
        self._sorter = sorter
        self._empty = 0  # GETs in a row that brought nothing
        self._hinted = False

    def ended(self) -> None:
        """Something came, or there is a new connection."""
        self._empty, self._hinted = 0, False

    def nothing_came(self) -> None:
        self._empty += 1

    def acknowledged(self) -> None:
        self._empty = 0

    def has_room(self, size: int) -> bool:
        """With that many bytes not sorted yet. A full ring answers like an empty one."""
        return self._acks.bytes + size < KEPT_BYTES

    def hint(self) -> Batch | None:
        """What is to be handed on. The sorter then holds a split transaction. Raises RewindError."""
        full = self._acks.entries >= FULL_ENTRIES or self._acks.bytes >= FULL_BYTES
        starved = self._empty >= STARVED_GETS and full
        silent = self._empty >= SILENT_GETS
        if not (starved or silent):
            return None
        if starved and self._sorter.doubtful:
            raise RewindError
        if self._acks.pending and not self._sorter.ahead:
            return self._hurry() if starved or self._sorter.open else None
        if silent and self._acks.kept_bytes >= KEPT_BYTES:
            self._empty = 0
            return self._sorter.release()
        if self._sorter.open and not self._acks.kept_bytes:
            self._empty = 0
            self._sorter.tear()
        return None

    def _hurry(self) -> Batch | None:
        """Ask once for a commit of what was handed on."""
        if self._hinted:
            return None
        self._hinted = True
        return Batch(
            changes=(),
            end=None,
            open=self._sorter.delivered_open,
            events=0,
            bytes=0,
            source_time=0.0,
            starved=True,
        )
