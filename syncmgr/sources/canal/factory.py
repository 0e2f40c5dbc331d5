"""A job's description of a canal source -> the source.

Owns: which property and setting becomes which option, the filter that canal is asked to set.
Must not know: how the server is read.
"""

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code
from syncmgr.job.backoff import Retry
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.job.types.folding import DOTTED_I, folded_name
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources import cancellation
from syncmgr.sources.canal.cluster import SESSION_SECOND, Cluster, OneServer
from syncmgr.sources.canal.connector import CanalLostError, Connector, Endpoint
from syncmgr.sources.canal.description import CanalDescription
from syncmgr.sources.canal.source import MAX_FETCH, CanalSource, Locator, SourceOptions
from syncmgr.sources.canal.table_reader import LearnedTable
from syncmgr.sources.canal.values.schema import check_zone
from syncmgr.sources.port import StreamPlan, Trouble

GRACE_SECOND: Final = 5.0
RETRY_SECOND: Final = 0.5
SIGMAS: Final = frozenset("σς")
PROBE: Final = "CREATE SYNC"  # the reader's name while a statement checks whether the destination can be read


@dataclass(frozen=True, kw_only=True, slots=True)
class DestinationFacts:
    """What is known of a destination at CREATE SYNC: that it can be read, and nothing of its tables.

    `start` is empty: canal's own cursor says where reading begins.
    """

    start: Position
    server_time: float
    tables: tuple[SourceTable, ...]
    unique_keys: tuple[tuple[tuple[str, ...], ...], ...]
    known_at: None = None
    full_metadata: bool = True


def inspect(source: CanalDescription, tables: Sequence[Table], *, connect_timeout: float) -> DestinationFacts:
    """Logs in and subscribes, so that from now on canal keeps what the job will read. Without tables it only checks
    whether the destination is served: subscribing would replace the filter of its reader, and so take away rows.

    Raises SyncError: CANAL_*, PROPERTY_WRONG.
    """
    check_zone(source.time_zone)
    locator = _locator(source, connect_timeout, connect_timeout, PROBE)
    try:
        endpoint, wanted = (_located(locator), table_filter(tables)) if tables else (locator.seen(), None)
        Connector(endpoint, wanted).close()
    except CanalLostError as lost:
        raise lost.cause_for_user from lost
    finally:
        locator.close()
    return DestinationFacts(
        start=Position(),
        server_time=time.time(),
        tables=tuple(SourceTable(db=db, name=name, columns=()) for db, name in tables),
        unique_keys=tuple(() for _ in tables),
    )


def _located(locator: Locator) -> Endpoint:
    """The node of a killed reader stays as long as its session: a new job may have to wait for it."""
    deadline = time.monotonic() + SESSION_SECOND + GRACE_SECOND
    while True:
        try:
            return locator.locate()
        except CanalLostError as lost:
            if lost.cause_for_user.code is not Code.CANAL_IN_USE or time.monotonic() > deadline:
                raise
            cancellation.check()
            time.sleep(RETRY_SECOND)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenCanal:
    """Opens the source of a job; it travels to the worker's process. Times in seconds."""

    description: CanalDescription
    connect_timeout: float
    read_timeout: float
    retry: Retry

    def __call__(self, plan: StreamPlan, trouble: Trouble, _keep: object, /) -> CanalSource:
        there = self.description
        label = f"{there.address}/{there.destination}"
        truths = [LearnedTable(channel, time_zone=there.time_zone, address=label) for channel in plan.channels]
        tables = {truth.table: truth for truth in truths}
        return CanalSource(
            _locator(there, self.connect_timeout, self.read_timeout, plan.channels[0].token),
            table_filter(tuple(tables)),
            plan.start,
            tables,
            label=label,
            options=SourceOptions(fetch_size=min(there.batch_size, MAX_FETCH), retry=self.retry),
            trouble=trouble,
            debug=_say if there.debug else None,
        )


def _locator(source: CanalDescription, connect_timeout: float, read_timeout: float, owner: str) -> Cluster | OneServer:
    endpoint = Endpoint(
        host=source.host,
        port=source.port,
        destination=source.destination,
        user=source.user,
        password=source.password,
        connect_timeout=connect_timeout,
        read_timeout=read_timeout,
    )
    return Cluster(source.zk_servers, endpoint, owner) if source.zk_servers else OneServer(endpoint)


def table_filter(tables: Sequence[Table]) -> str:
    """Canal's regular expression for these tables: it compares names in the lower case of its Java."""
    return ",".join(f"{_literally(db)}\\.{_literally(name)}" for db, name in tables)


def _literally(name: str) -> str:
    return "".join(map(_character, name))


def _character(character: str) -> str:
    """A comma would end the expression, so a wildcard replaces it. Java checks around a capital sigma for the end of a
    word, which may be in the adjacent name, turns a dotted I into two characters, and knows fewer capitals than we do.
    A server that stores names in lower case does none of that, while its statements have them as they were typed.
    """
    if character == ",":
        return "."
    spelt = {character, character.lower(), folded_name(character)}
    if spelt & {"i", DOTTED_I}:
        return "i\u0307?"
    if character.isascii():
        return re.escape(character.lower())
    forms = sorted(spelt | SIGMAS if spelt & SIGMAS else spelt)
    return forms[0] if len(forms) == 1 else f"({'|'.join(forms)})"


def _say(line: str) -> None:
    """To the frontend's standard error, which the worker shares."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
