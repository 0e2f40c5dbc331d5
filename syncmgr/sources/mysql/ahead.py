"""What the binlog says of the names of tables after the place up to which a job has read.

Owns: how far it is read, and that a failed look is not an error of the job.
Must not know: jobs, what happens to the tables.
"""

import contextlib
import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Final

from syncmgr.errors import SyncError
from syncmgr.job.channel.patterns import Pattern
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.ddl.following.ddl_statement import DdlStatement
from syncmgr.job.ddl.joining import named
from syncmgr.job.position import Position, has_passed
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.source import MysqlSource, SourceOptions

GET_SECOND: Final = 0.1


def named_ahead(
    addresses: Sequence[MysqlAddress],
    start: Position,
    end: Position,
    families: Sequence[Pattern],
    options: SourceOptions,
    *,
    second: float,
) -> frozenset[Table]:
    """The tables of these families that statements between both places create, under their last names. If the binlog
    cannot be read that far, or not in that many seconds: those found so far.
    """
    server_id = secrets.randbelow(1 << 31) + (1 << 31) - 1
    source = MysqlSource(addresses, server_id, start, {}, options=options, families=families)
    statements: list[DdlStatement] = []
    try:
        with contextlib.suppress(SyncError):
            statements.extend(_statements(source, end, time.monotonic() + second))  # those before an error stay
    finally:
        source.close()
        source.get(0)
    return named(statements)


def _statements(source: MysqlSource, end: Position, until: float) -> Iterator[DdlStatement]:
    while time.monotonic() < until:
        batch = source.get(GET_SECOND)
        if batch is not None and batch.ddl is not None and batch.ddl.followable is not None:
            yield batch.ddl.followable
            source.follow(())
        elif batch is not None and batch.end is not None and has_passed(batch.end, end):
            return
