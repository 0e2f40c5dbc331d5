"""Canal's entries for tests: a binlog written down by hand."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from syncmgr.job.position import Position
from syncmgr.sources.canal import packet
from syncmgr.sources.canal.acks import Acks
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.sorter import Sorter
from syncmgr.sources.canal.synced import Altered

if TYPE_CHECKING:
    from syncmgr.job.types.schema import SourceTable

TABLE = ("shop", "orders")
UUID = "a8d639d7-e58f-11f1-95b6-02fc00000001"
LENGTH = 31


class Binlog:
    """Makes entries in order; every entry is LENGTH bytes long unless a coordinate is shared."""

    def __init__(self, file: str = "binlog.000001", *, gtids: bool = False, begins: bool = True) -> None:
        self.file = file
        self.offset = 1000
        self.time = 500
        self.number = 0
        self.shared = False
        self._gtids = gtids
        self._begins = begins

    def entry(self, kind: int, event: int = 0, store: bytes = b"", **header: Any) -> bytes:
        if not self.shared:
            self.offset += LENGTH
        facts: dict[str, Any] = {
            "logfileName": self.file,
            "logfileOffset": self.offset,
            "eventLength": LENGTH,
            "serverId": 1,
            "executeTime": self.time * 1000,
            "eventType": event,
        }
        made = entry_pb2.Entry(header=entry_pb2.Header(**(facts | header)), entryType=kind, storeValue=store)
        if self._gtids:
            made.header.gtid = f"{UUID}:1-{self.number}"
            made.header.props.add(key="curtGtid", value=f"{UUID}:{self.number}")
        return made.SerializeToString()

    def row(self, value: str = "x", table: tuple[str, str] = TABLE, event: int = entry_pb2.INSERT) -> bytes:
        """A rows event; its RowChange holds `value` where a statement would stand."""
        change = entry_pb2.RowChange(eventType=event, ddlSchemaName=value).SerializeToString()
        made = self.entry(entry_pb2.ROWDATA, event, change, schemaName=table[0], tableName=table[1])
        counted = entry_pb2.Entry.FromString(made)
        counted.header.props.add(key="rowsCount", value="1")
        return counted.SerializeToString()

    def begin(self, store: bytes = b"") -> list[bytes]:
        self.number += 1
        return [self.entry(entry_pb2.TRANSACTIONBEGIN, store=store)] if self._begins else []

    def end(self, **props: str) -> bytes:
        end = entry_pb2.TransactionEnd(props=[entry_pb2.Pair(key=key, value=value) for key, value in props.items()])
        return self.entry(entry_pb2.TRANSACTIONEND, store=end.SerializeToString())

    def transaction(self, *values: str, table: tuple[str, str] = TABLE) -> list[bytes]:
        return [*self.begin(), *(self.row(value, table) for value in values), self.end()]

    def statement(self, text: str, event: int = entry_pb2.ALTER, *, ddl: bool = True, db: str = "shop") -> bytes:
        self.number += 1
        change = entry_pb2.RowChange(eventType=event, isDdl=ddl, sql=text, ddlSchemaName=db)
        return self.entry(entry_pb2.ROWDATA, event, change.SerializeToString(), schemaName=db)


class FakeChanges:
    """TableChanges that only shows what it was made of."""

    def __init__(self, table: tuple[str, str], parts: Sequence[bytes], altered: Altered | None) -> None:
        self.table = table
        self.values = [packet.row_change(part).ddlSchemaName for part in parts]
        self.altered = altered
        self.learned: SourceTable | None = None

    def decode(self, _unheld: object = None, **_which: bool) -> pa.Table:
        raise NotImplementedError


class FakeTruth:
    def __init__(self, table: tuple[str, str], *, keyed: bool = True) -> None:
        self.table = table
        self.keyed = keyed

    def changes(self, parts: Sequence[bytes], altered: Altered | None) -> FakeChanges:
        return FakeChanges(self.table, parts, altered)


class Sorting:
    """A sorter and what comes out of it."""

    def __init__(self, start: Position | None = None, *, keyed: bool = True, max_open_bytes: int = 10**9) -> None:
        self.acks = Acks()
        tables = {TABLE: FakeTruth(TABLE, keyed=keyed)}
        self.sorter = Sorter(tables, start or Position(), self.acks, label="canal", max_open_bytes=max_open_bytes)
        self.batch_id = 0

    def feed(self, entries: Sequence[bytes]) -> list[Any]:
        """All batches that are ready after one more delivery."""
        self.batch_id += 1
        self.sorter.feed(self.batch_id, entries)
        return self.taken()

    def taken(self) -> list[Any]:
        batches = []
        while self.sorter.ready:
            batches.append(self.sorter.take())
        return batches

    def values(self, entries: Sequence[bytes]) -> list[str]:
        return values(self.feed(entries))

    def reconnect(self, *, trusted: bool = True) -> None:
        self.sorter.restart(trusted=trusted)


def values(batches: Sequence[Any]) -> list[str]:
    return [value for batch in batches for changes in batch.changes for value in changes.values]
