"""The place of the stream in the server's binlog files, and where its last whole transaction ended.

Owns: file, offset and creation of both places, offsets beyond 32 bits, which file comes after which.
Must not know: GTIDs, what an event means, where transactions end.
"""

import struct

from syncmgr.job.position import Position, number_of

_U32 = struct.Struct("<I").unpack_from


class Coordinates:
    """Used by one thread. `file`, `offset`, `created`: the place of the stream; `end_file`, `end_offset`,
    `end_created`: where its last whole transaction ended. `server`: as a position names it. `shares_id`: others may
    have its id, so the name does not show whose files they are. `payload_end`: where the compressed transaction that is
    being read ends in its file; None: none is being read.
    """

    def __init__(self, start: Position) -> None:
        self.server = start.server
        self.shares_id = False
        self.end_file, self.end_offset, self.end_created = start.file, start.offset, start.created
        self.restart()

    def connected(self, server: str, *, shares_id: bool) -> None:
        """The files of another server are not its own, whatever their names."""
        self.shares_id = shares_id
        if self.server and self.server != server:
            self.end_file, self.end_offset, self.end_created = "", 0, 0
            self.file, self.offset, self.created = "", 0, 0
        self.server = server

    def restart(self) -> None:
        """A new stream begins at the end of the last whole transaction."""
        self.payload_end: int | None = None
        self.file, self.offset, self.created = self.end_file, self.end_offset, self.end_created

    def end_transaction(self) -> None:
        """The last whole transaction ended here."""
        self.end_file, self.end_offset, self.end_created = self.file, self.offset, self.created

    def pass_event(self, data: memoryview, start: int) -> None:
        """The stream is at the end of this event."""
        self.offset = self.end_of(data, start)

    def end_of(self, data: memoryview, start: int) -> int:
        """Where an event ends in its file; for an event of a compressed transaction, where that ends.

        Positions in events have 32 bits; a file grows beyond them when a transaction does. An event may have none.
        """
        end = log_pos(data, start) if self.payload_end is None else self.payload_end
        if not end:
            return self.offset
        high = self.offset >> 32
        return (high + (end < self.offset & 0xFFFFFFFF)) << 32 | end

    def begin_of(self, data: memoryview, start: int) -> int:
        """Where an event begins in its file; for an event of a compressed transaction, where that ends."""
        end = self.end_of(data, start)
        return end if self.payload_end is not None else max(self.offset, end - int(_U32(data, start + 9)[0]))

    def after(self, data: memoryview, start: int) -> Position:
        """The coordinate after an event."""
        server = "" if self.shares_id else self.server
        return Position(file=self.file, offset=self.end_of(data, start), server=server, created=self.created)

    def is_later(self) -> bool:
        """Whether this file comes after that of the end: whatever ended the previous one, like a restart, may not be an
        event.
        """
        (base, number), (end_base, end_number) = number_of(self.file), number_of(self.end_file)
        return base == end_base and number > end_number


def log_pos(data: memoryview, start: int) -> int:
    """Where the event says that it ends; the offset in its file may have more than 32 bits."""
    return int(_U32(data, start + 13)[0])
