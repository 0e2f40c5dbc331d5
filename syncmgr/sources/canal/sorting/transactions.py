"""Where transactions of canal's stream begin and end, and what the open one holds.

Owns: ends that are reported, and those that only the next begin shows; transactions that are delivered again, XA ones.
Must not know: statements, entries that were taken before, batches.
"""

from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.sources.canal import packet
from syncmgr.sources.canal.acks import Acks
from syncmgr.sources.canal.entry_position import EntryPosition
from syncmgr.sources.canal.history import CanalHistory
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.sorting.entry_places import START, EntryPlaces
from syncmgr.sources.canal.sorting.outgoing import Outgoing
from syncmgr.sources.canal.synced import Synced, Waiting

PREPARED: Final = "rows of synced tables in an XA transaction, whose outcome canal reports later"


class Transactions:
    """Used by one thread. Raises SyncError. `has_begun`: there is an open one; `rows`: of it, that were not handed on.

    `delivered`: a part of it was handed on. `torn`: it is to be handed on in parts. `unended`: a part of it was
    dropped, which is delivered again from its beginning. `begun_in`: the batch of canal in which it began. `first`:
    canal has no cursor before the first ack, so that one is not delayed.
    """

    def __init__(
        self, synced: Synced, history: CanalHistory, acks: Acks, places: EntryPlaces, outgoing: Outgoing, *, first: bool
    ) -> None:
        self._synced = synced
        self._history = history
        self._acks = acks
        self._places = places
        self._outgoing = outgoing
        self.first = first
        self.restart()

    def restart(self) -> None:
        """A new connection: the open one is delivered again."""
        self.rows = Waiting()
        self.has_begun = self.torn = self.delivered = False
        self._prepares = False
        self.unended = False
        self.begun_in = self._acks.received_last

    @property
    def holds(self) -> bool:
        return self.has_begun and (self.rows.events > 0 or self.delivered)

    def begin(self, *, prepares: bool = False) -> None:
        """`prepares`: it is an XA transaction."""
        self.has_begun, self._prepares = True, prepares
        if not self.unended:
            self.begun_in = self._acks.received_last

    def add(self, value: bytes, header: entry_pb2.Header, size: int) -> None:
        """Rows, or a statement instead of them."""
        table = self._synced.table(header.schemaName, header.tableName)
        if not _counted(header):
            self._synced.refuse_statement(packet.row_change(value), header, table)
        if table is None:
            return
        if not self.has_begun:
            self.begin()
        if self._prepares:
            raise self._prepared()
        self.rows.add(table, (value,), size)

    def end_unsaid(self) -> None:
        """The next begin ends a transaction whose end was not reported. If none of it has arrived since the connection
        was made, the position stays inside it: it is not known which of its entries was the last one.
        """
        if not self.holds:
            return
        if self._places.last is START:
            self.has_begun = self.delivered = False
            return
        self.end(self._places.last)

    def finish(self, value: bytes, at: EntryPosition) -> None:
        """As its END shows."""
        if self.rows.events or self.delivered or self._history.inside:
            end = entry_pb2.TransactionEnd.FromString(value)
            if any(pair.key == "XA_TYPE" for pair in end.props):
                raise self._prepared()
        self.end(at)

    def end(self, at: EntryPosition) -> None:
        self._history.end(at, acked=self.first)
        self._outgoing.end_transaction(self.rows, float(at.time))
        self.rows = Waiting()
        self.has_begun = self.delivered = self.torn = self.unended = False

    def let_go(self) -> None:
        """The open one is delivered again from its beginning."""
        self.unended = self.unended or self.holds
        self.rows = Waiting()
        self.has_begun = self.torn = False

    def take_open(self) -> Waiting:
        """Its rows so far."""
        self._places.settle()
        if self.rows.events:
            self._history.within(self._places.last)
            self.delivered = True
        rows, self.rows = self.rows, Waiting()
        return rows

    def _prepared(self) -> SyncError:
        return SyncError(Code.CANAL_UNSUPPORTED, address=self._synced.label, reason=PREPARED)


def _counted(header: entry_pb2.Header) -> bool:
    """Whether canal says how many rows there are: it does not for a statement that is logged instead."""
    return bool(header.props) and header.props[-1].key == "rowsCount"
