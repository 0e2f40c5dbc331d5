"""What the statements in a stream mean: a transaction's edge, an end of XA, or a DDL.

Owns: the first word of a statement, the DDL at which reading halts, and whether its rows follow it.
Must not know: GTIDs, how rows are routed, files that begin.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.sources.mysql.binlog import events
from syncmgr.sources.mysql.binlog.routing.transactions import Transactions
from syncmgr.sources.mysql.binlog.subscriptions import Subscriptions
from syncmgr.sources.mysql.binlog.undelivered import RowBuffer

if TYPE_CHECKING:
    from syncmgr.job.rows.batch import Ddl


class Statements:
    """Used by one thread. `ddl`: the one that was reached and not taken yet, and the position before it."""

    def __init__(
        self, subscriptions: Subscriptions, transactions: Transactions, waiting: RowBuffer, address: str
    ) -> None:
        self._subscriptions = subscriptions
        self._transactions = transactions
        self._open = transactions.open
        self._waiting = waiting
        self._address = address
        self._met_inside = False  # a DDL whose rows follow in its own transaction
        self.ddl: Ddl | None = None
        self.before_ddl: Position | None = None

    def follow(self, subscriptions: Subscriptions) -> None:
        """What is wanted after the DDL that was taken last."""
        self._transactions.followed_inside, self._met_inside = self._met_inside, False
        self._subscriptions = subscriptions

    def taken(self) -> None:
        """The DDL was delivered."""
        self.ddl = self.before_ddl = None

    def query(self, data: memoryview, start: int, end: int) -> None:
        if events.is_begin(data, start, end):
            self._open.has_begun = True
            return
        query = events.query(bytes(data[start:end]))
        word = query.text[:16].lstrip().upper()
        if word.startswith("BEGIN"):
            self._open.has_begun = True
        elif word == "COMMIT":
            self._transactions.end(data, start)
        elif word.startswith("XA "):
            self._xa(word, events.xid_of(query.text), data, start)
        elif word.startswith("ROLLBACK"):
            self._rollback(query.text, data, start)
        elif not word.startswith(("SAVEPOINT", "RELEASE ")):
            self._statement(query, data, start)

    def _xa(self, word: str, xid: str, data: memoryview, start: int) -> None:
        if word.startswith("XA START"):
            self._open.has_begun = True
            self._transactions.begin_xa(xid)
        elif not word.startswith("XA END"):
            if self._open.taken:
                raise self._unsupported(f"an {word} inside the transaction that it ends")
            if word.startswith("XA COMMIT"):
                self._transactions.commit_xa(xid, data, start)
            else:
                self._transactions.roll_back_xa(xid)
            self._transactions.end(data, start)

    def _rollback(self, text: str, data: memoryview, start: int) -> None:
        """Written only if a table without transactions took part: which rows stay depends on their engines.

        One table is named, which stops alone; the next one is reached when the stream is read again without it.
        """
        if self._open.taken:
            label = ".".join(min(self._open.delivered_tables | self._waiting.open_tables()))
            reason = f"a ROLLBACK after rows of {label}, alongside a table without transactions"
            raise self._unsupported(reason, table=label)
        if text.strip().upper() == "ROLLBACK":
            self._transactions.end(data, start)

    def _statement(self, query: events.Query, data: memoryview, start: int) -> None:
        at = int.from_bytes(data[start : start + 4], "little")
        place, known = self._transactions.coordinates, self._subscriptions
        passed = known.passed(self._transactions.gtids.open, place.after(data, start))
        here = replace(self._transactions.position(), file=place.file, offset=place.begin_of(data, start))
        own = known.unlogged.own_tables(query)
        if not known.stands_for_rows(query, at, here, passed) and not self._open.alters_nothing:
            if known.begins(query):
                self._open.has_begun = True
            if not self._transactions.followed_inside:
                self._meet(query, at, here, own)
        if not self._open.has_begun:
            self._transactions.end(data, start)
            if self.ddl is not None:
                self.ddl = replace(self.ddl, behind=self._transactions.position())

    def _meet(self, query: events.Query, at: int, here: Position, own: frozenset[Table]) -> None:
        """CREATE TABLE ... SELECT is followed by its rows: its result is reached with a part of its transaction.

        `here`: the place of the statement. `own`: temporary tables of its session.
        """
        inside, before, taken = self._open.has_begun, self._transactions.position(), self._open.taken
        self.ddl = self._subscriptions.met(query, at, here, own, followable=not taken, with_rows=inside)
        self.before_ddl = before if self.ddl else None
        if self.ddl is not None and inside and not taken:
            self.ddl = replace(self.ddl, behind=replace(before, ordinal=1, whole=False))
            self._met_inside = True

    def _unsupported(self, reason: str, **facts: str) -> SyncError:
        return SyncError(Code.SOURCE_UNSUPPORTED, address=self._address, reason=reason, **facts)
