"""What the end of a server's binlog says of a stream that is quiet.

Owns: the rule.
Must not know: connections, when the server is asked.

A dump goes on from an open file. RESET deletes that, and the server begins another one of the same name: the dump waits
until that has grown past its place, and its heartbeats go on meanwhile. Only the server itself says where it is.
"""

from enum import StrEnum
from typing import Final

from syncmgr.job.position import Position, numbered

HEARTBEAT_PLACES: Final = 1 << 32  # a heartbeat has the place in its file modulo this


class Quiet(StrEnum):
    """What a quiet stream means."""

    AT_END = "AT_END"
    BEHIND = "BEHIND"  # events are on their way
    ANOTHER = "ANOTHER"  # the binlog that was read is not there any more


def meaning(file: str, place: int, end: Position) -> Quiet:
    """`file`, `place`: where the stream is quiet. `end`: of the server's binlog, asked after that was known."""
    if file == end.file:
        if end.offset % HEARTBEAT_PLACES == place:
            return Quiet.AT_END
        return Quiet.ANOTHER if end.offset < place else Quiet.BEHIND
    mine, newest = numbered(file), numbered(end.file)
    begins_anew = mine is not None and newest is not None and mine[0] == newest[0] and newest[1] < mine[1]
    return Quiet.ANOTHER if begins_anew else Quiet.BEHIND
