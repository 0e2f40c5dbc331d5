"""The transaction that is being read, and which part of it was already delivered.

Owns: what its events said of it so far, and where it is resumed after the stream broke inside of it.
Must not know: events, GTIDs, what its end means for the position.
"""

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.sources.mysql.binlog.undelivered import Part


class OpenTransaction:
    """Used by one thread. `has_begun`: by a BEGIN or as its GTID says. `alters_nothing`: its statement changes no row.

    `committed_at`: from its GTID, 0.0 if not stated. `branch`: the xid of an XA transaction. `taken`: its subscribed
    rows events so far; `log_pos`: where the last of them ends. `skip`: the part that was delivered before the stream
    broke and is sent again.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._delivered: Part | None = None
        self.restart()

    def begin(self) -> None:
        """None is open."""
        self.has_begun = self.alters_nothing = False
        self.committed_at = 0.0
        self.branch: str | None = None
        self.taken = 0
        self.log_pos = 0

    def restart(self) -> None:
        """It is sent again from its beginning."""
        self.skip = self._delivered
        self.begin()

    def undo(self) -> None:
        """It is discarded: it never existed."""
        self._delivered = self.skip = None
        self.begin()

    def deliver(self, file: str, tables: frozenset[Table]) -> None:
        """All of it that was taken is delivered, with rows of these tables."""
        tables |= self.delivered_tables
        self._delivered = Part(events=self.taken, file=file, log_pos=self.log_pos, tables=tables)

    def was_delivered(self, part: Part, file: str, log_pos: int) -> bool:
        """The stream broke inside this event's transaction, of which that much was delivered before."""
        if self.taken == part.events:
            self.skip = None
            if (file, log_pos) != (part.file, part.log_pos):
                raise self._torn()
        return True

    def check_whole(self) -> None:
        """Raises SOURCE_PROTOCOL if it ends before everything delivered of it was sent again."""
        if self.skip is not None:
            raise self._torn()

    def forget_delivered(self) -> None:
        """It has ended."""
        self._delivered = None

    @property
    def torn(self) -> bool:
        """Whether a part of it was delivered."""
        return self._delivered is not None

    @property
    def delivered_tables(self) -> frozenset[Table]:
        """The tables whose rows in it were delivered."""
        return frozenset[Table]() if self._delivered is None else self._delivered.tables

    @property
    def is_any(self) -> bool:
        """Whether there is one, judging by anything but its GTID."""
        return self.has_begun or self.taken != 0 or self._delivered is not None

    def _torn(self) -> SyncError:
        reason = "the server changed inside a transaction of which a part was read"
        return SyncError(Code.SOURCE_PROTOCOL, address=self._address, reason=reason)
