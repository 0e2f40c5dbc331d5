"""What the binlog says of the names of tables behind a place that a job has read up to.

Owns: how far it is looked at, and that a look is no error of the job.
Must not know: jobs, what becomes of the tables.
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
    """The tables of these families that statements between both places make, under their last names. Of a binlog that
    cannot be read so far, or not in as many seconds: those up to there.
    """
    server_id = secrets.randbelow(1 << 31) + (1 << 31) - 1
    source = MysqlSource(addresses, server_id, start, {}, options=options, families=families)
    said: list[DdlStatement] = []
    try:
        with contextlib.suppress(SyncError):
            said.extend(_statements(source, end, time.monotonic() + second))  # those before an error stay
    finally:
        source.close()
        source.get(0)
    return named(said)


def _statements(source: MysqlSource, end: Position, until: float) -> Iterator[DdlStatement]:
    while time.monotonic() < until:
        batch = source.get(GET_SECOND)
        if batch is not None and batch.ddl is not None and batch.ddl.said is not None:
            yield batch.ddl.said
            source.follow(())
        elif batch is not None and batch.end is not None and has_passed(batch.end, end):
            return
