"""XA transactions of the source that were prepared and have not ended.

Owns: what was delivered of each, and so what its end means.
Must not know: events, rows, positions.
"""

from collections.abc import Mapping

from syncmgr.errors import Code, SyncError


class Branches:
    """Used by one thread. `prepared`: xids since the last delivery. `forgotten`, `committed`: what a batch has to
    report.

    An XA transaction that is prepared and ends before anything of it is delivered is like any other.
    """

    def __init__(self, delivered: Mapping[str, bool], address: str) -> None:
        """`delivered`: the xids that are prepared where reading begins, and whether they have rows."""
        self._delivered = dict(delivered)
        self._address = address
        self.prepared: dict[str, None] = {}  # a set in order
        self.forgotten: list[str] = []
        self.committed: str | None = None

    def begin(self, xid: str) -> None:
        """An xid that begins again has ended without a trace: its server lost it in a crash."""
        if xid in self._delivered or xid in self.prepared:
            self.roll_back(xid)

    def prepare(self, xid: str) -> None:
        self.prepared[xid] = None

    def commit(self, xid: str) -> bool:
        """Whether all its rows are still in hand. Raises SOURCE_XA for one whose rows were never seen."""
        in_hand = xid in self.prepared
        if self._delivered.get(xid):
            self.committed = xid
            return False
        if xid in self._delivered:
            self._forget(xid)
        elif not in_hand:
            raise SyncError(Code.SOURCE_XA, xid=xid, address=self._address)
        self.prepared.pop(xid, None)
        return in_hand

    def roll_back(self, xid: str) -> None:
        """For one that was never seen there is nothing to undo."""
        self.prepared.pop(xid, None)
        if xid in self._delivered:
            self._forget(xid)

    def _forget(self, xid: str) -> None:
        del self._delivered[xid]
        self.forgotten.append(xid)

    def deliver(self, rows: Mapping[str, bool]) -> None:
        """A batch goes with these xids: by each, whether rows of it are in the batch."""
        for xid, any_rows in rows.items():
            self.prepared.pop(xid, None)
            self._delivered[xid] = any_rows or self._delivered.get(xid, False)
        if self.committed is not None:
            del self._delivered[self.committed]
        self.forgotten, self.committed = [], None
