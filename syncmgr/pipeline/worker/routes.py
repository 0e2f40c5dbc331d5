"""The channels of a worker by table and by token.

Owns: which channel the rows of a table go to, which tables have no column names in the binlog.
Must not know: rows, epochs, processes.
"""

from collections.abc import Collection

from syncmgr.job.ddl.ddl import Table
from syncmgr.pipeline.messages import WorkerChannel


class Routes:
    """From the plan, or from the answer to a DDL statement."""

    def __init__(self, channels: Collection[WorkerChannel]) -> None:
        self._by_table = {_table(channel): channel for channel in channels}
        self._by_token = {channel.token: channel for channel in channels}
        self.nameless = frozenset(channel.token for channel in channels if channel.nameless)

    def to(self, table: Table) -> WorkerChannel:
        return self._by_table[table]

    def read_now(self, token: str, passed: Collection[Table]) -> WorkerChannel | None:
        """None if its table is no longer read, or was read after the rows that `passed` is given for."""
        channel = self._by_token.get(token)
        return None if channel is None or _table(channel) in passed else channel

    def doubt(self, tables: Collection[Table]) -> bool:
        """Whether the set of tables without names has changed."""
        before = self.nameless
        self.nameless = frozenset(token for token, channel in self._by_token.items() if _table(channel) in tables)
        return self.nameless != before


def _table(channel: WorkerChannel) -> Table:
    return channel.source.db, channel.source.name
