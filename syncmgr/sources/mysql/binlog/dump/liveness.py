"""The signs of life of a dump: when something last arrived, and until when it is known that nothing is missing.

Owns: silence and slow events, what heartbeats prove.
Must not know: sockets besides their stream, tables, rows.
"""

import time
from typing import Final

from syncmgr.job.source_history.heartbeats import Heartbeats
from syncmgr.job.source_history.pace import stalls
from syncmgr.sources.cancellation import Opened
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.binlog import events
from syncmgr.sources.mysql.binlog.dump.packets import Chunk
from syncmgr.sources.mysql.binlog.dump.server_end import ServerEnd
from syncmgr.sources.mysql.binlog.dump.stream import BinlogStream

NEVER: Final = 0.0


class Liveness:
    """Of one stream after the other. `heartbeat`: their period; `silence`: how long a server may be silent, both in
    seconds. `opened` gets each socket that is waited on. Used by the thread that reads; `heard_at` and `caught_up_at`,
    unix times or NEVER, by any.
    """

    def __init__(self, heartbeat: float, silence: float, opened: Opened) -> None:
        self._silence = silence
        self._heartbeats = Heartbeats(period=heartbeat, sent_at=0.0)
        self._end = ServerEnd(silence, opened)
        self._proved = NEVER  # what the last heartbeat claimed that was looked at
        self._heard = time.monotonic()
        self._received = 0  # bytes of the stream by then
        self.heard_at = NEVER
        self.caught_up_at = NEVER

    def connected(self, stream: BinlogStream) -> None:
        self._hear(stream)
        self._heartbeats = Heartbeats(period=self._heartbeats.period, sent_at=stream.asked_at, place=stream.place)

    def came(self, stream: BinlogStream, chunk: Chunk) -> None:
        self._hear(stream)
        for packet in events.quiet_end(chunk.data, chunk.spans):
            self._heartbeats = self._heartbeats.heard(packet, stream.now())

    def _hear(self, stream: BinlogStream) -> None:
        self._heard, self.heard_at, self._received = time.monotonic(), time.time(), stream.received

    def nothing_waits(self, stream: BinlogStream, address: MysqlAddress, file: str) -> None:
        """What the heartbeats prove concerns what was handed out, not rows that wait to be batched; and the binlog that
        the stream reads, of which the server may no longer know. `file`: where the stream is. Raises StreamLostError.
        """
        proved, place = self._heartbeats.caught_up_at, self._heartbeats.place
        if proved > self._proved and place is not None:
            self._proved = proved
            if self._end.agrees(stream, address, file, place):
                self.caught_up_at = max(self.caught_up_at, proved)

    def disconnected(self) -> None:
        self._end.close()

    def check_pace(self, stream: BinlogStream) -> None:
        """When no event has arrived. Raises StreamLostError."""
        now = time.monotonic()
        passed, came = now - self._heard, stream.received - self._received
        if stalls(came, passed, self._silence):
            raise stream.silent(self._silence, came)
        if passed > self._silence:
            self._heard, self._received = now, stream.received
