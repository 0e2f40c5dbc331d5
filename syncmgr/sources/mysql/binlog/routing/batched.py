"""Waiting rows, in the form of a batch.

Owns: which of them are changes of a table now, and which of an XA transaction that is prepared.
Must not know: what is taken when, positions, events.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from syncmgr.job.rows.batch import PreparedChanges
from syncmgr.sources.mysql.binlog.changes import RowsOfTable
from syncmgr.sources.mysql.binlog.undelivered import TableBuffer

if TYPE_CHECKING:
    from syncmgr.job.ddl.ddl import Table


def changes_of(lanes: Iterable[TableBuffer], address: str) -> tuple[RowsOfTable, ...]:
    by_table: dict[Table, list[TableBuffer]] = {}
    for lane in lanes:
        by_table.setdefault(lane.table.table, []).append(lane)
    return tuple(
        RowsOfTable(table, [(lane.table.decoder, lane.rows()) for lane in of_table], address)
        for table, of_table in by_table.items()
    )


def prepared_of(lanes: Iterable[TableBuffer], xids: Iterable[str], address: str) -> Iterator[PreparedChanges]:
    """`xids`: prepared since the last batch, with rows or without."""
    by_xid: dict[str, list[TableBuffer]] = {xid: [] for xid in xids}
    for lane in lanes:
        if lane.xid is not None:
            by_xid.setdefault(lane.xid, []).append(lane)
    for xid, of_xid in by_xid.items():
        size = sum(len(lane.data) for lane in of_xid)
        yield PreparedChanges(xid=xid, changes=changes_of(of_xid, address), bytes=size)
