"""Which of canal's batches may be acknowledged.

Owns: the way from a committed position to batch ids, and the one batch that is kept back.
Must not know: entries, sockets, why a position was committed.
"""

from collections import deque
from dataclasses import dataclass

from syncmgr.job.position import Position


@dataclass(slots=True)
class Unacked:
    """A batch that canal keeps. `stamp`: number of the position that covers all of it, None while none does."""

    number: int  # from 1 in order of arrival
    batch_id: int
    entries: int
    bytes: int
    stamp: int | None = None


class Acks:
    """Batches in the order of canal, positions in the order in which they were given out.

    The newest batch whose rows are all committed is acked only when the next one is committed too. So after every
    reconnect canal delivers something that is known: otherwise its cursor was lost. Only a position that says `acked`
    releases it at once.
    """

    def __init__(self, start: Position | None = None) -> None:
        """`start`: what an earlier process committed, whose newest batch is delivered again and kept as it was."""
        self._batches: deque[Unacked] = deque()
        self._positions: deque[tuple[int, Position]] = deque()
        self._given = self._committed = 0
        self._released = -1 if start is not None and start.file and not start.acked else 0
        self.received_last = 0
        self.entries = self.bytes = 0

    def received(self, batch_id: int, entries: int, size: int) -> None:
        self.received_last += 1
        self._batches.append(Unacked(self.received_last, batch_id, entries, size))
        self.entries += entries
        self.bytes += size

    def given(self, position: Position) -> None:
        """A position was handed on; it will be committed later."""
        self._given += 1
        self._positions.append((self._given, position))

    def covered(self, last: int) -> None:
        """The batches up to number `last` hold nothing after the position handed on last."""
        for batch in self._batches:
            if batch.number <= last and batch.stamp is None:
                batch.stamp = self._given

    def committed(self, position: Position) -> None:
        """Everything up to a position that was handed on is in the lake."""
        numbers = [number for number, each in self._positions if each == position]
        if not numbers:
            return
        self._committed = numbers[-1]
        if position.acked:
            self._released = self._committed
        while self._positions and self._positions[0][0] <= self._committed:
            self._positions.popleft()

    def due(self) -> list[int]:
        """Ids to acknowledge now, in order."""
        ids = []
        while self._batches and self._goes(self._batches[0]):
            batch = self._batches.popleft()
            self.entries -= batch.entries
            self.bytes -= batch.bytes
            ids.append(batch.batch_id)
        return ids

    def _goes(self, batch: Unacked) -> bool:
        if _within(batch, self._released):
            return True
        following = self._batches[1] if len(self._batches) > 1 else None
        return _within(batch, self._committed) and following is not None and _within(following, self._committed)

    @property
    def pending(self) -> bool:
        """Whether a position was handed on that is not committed yet."""
        return self._given > self._committed

    @property
    def kept_bytes(self) -> int:
        """Of the batch that is kept back, if it is the only one left."""
        alone = len(self._batches) == 1 and _within(self._batches[0], self._committed)
        return self._batches[0].bytes if alone else 0

    def restart(self) -> None:
        """Canal gives new ids to what it delivers again."""
        self._batches.clear()
        self.entries = self.bytes = 0


def _within(batch: Unacked, number: int) -> bool:
    return batch.stamp is not None and batch.stamp <= number
