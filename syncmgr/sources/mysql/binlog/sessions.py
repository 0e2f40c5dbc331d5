"""Sessions of a server that the stream shows completely, since they began after it was connected.

Owns: which those are.
Must not know: what a session does, connections.
"""

from dataclasses import dataclass

from syncmgr.job.position import Position, has_passed


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """Of the server whose server_id is `origin`: its sessions with a higher number than `thread`, from `end` of the
    binlog on; None: in everything that is read from here on.

    A server numbers its sessions from its start on, so the number says nothing about what is before `end`, which may be
    from before a start. After four billion sessions the numbers restart: no session is that old.
    """

    origin: int
    thread: int = 0
    end: Position | None = None

    def has(self, thread: int, origin: int, here: Position) -> bool:
        """Whether a session began there that has a statement at `here`."""
        if origin != self.origin or thread <= self.thread:
            return False
        return self.end is None or has_passed(
            Position(file=here.file, offset=here.offset, server=here.server), self.end
        )
