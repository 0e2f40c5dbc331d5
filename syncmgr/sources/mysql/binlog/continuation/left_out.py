"""What MySQL leaves out of a dump by GTID: transactions without one, in files before the one it begins with.

Owns: which files it skips, and whether they contain such transactions.
Must not know: what happens to a job that would lose them.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Final

from syncmgr.job.position import GtidSet, Position
from syncmgr.sources.mysql.address import Connection, query
from syncmgr.sources.mysql.wire import FIRST_OFFSET

HEAD_EVENTS: Final = 3  # within which a file lists the GTIDs before it
PAGE_EVENTS: Final = 1000


def left_out(connection: Connection, at: Position, read: GtidSet, files: Sequence[str]) -> str | None:
    """The first file after `at` that has such transactions and is skipped, None if there is none.

    `read`: the GTIDs of that place. `files`: all that the server has, the oldest first. It begins with the newest file
    before which no GTID is left to be read, and from there on refuses transactions without a GTID by itself.
    """
    behind = files[files.index(at.file) :] if at.file in files else files
    heads = range(1, len(behind))
    begin = bisect_left(heads, True, key=lambda number: not read.contains(_before(connection, behind[number])))
    for file in behind[:begin]:
        events = _events(connection, file, at.offset if file == at.file else FIRST_OFFSET)
        if any(event["Event_type"] == "Anonymous_Gtid" for event in events):
            return file
    return None


def _before(connection: Connection, file: str) -> GtidSet:
    """The GTIDs of all files before it."""
    rows = query(connection, f"SHOW BINLOG EVENTS IN %s LIMIT {HEAD_EVENTS}", file)
    return GtidSet.parse(next((row["Info"] for row in rows if row["Event_type"] == "Previous_gtids"), ""))


def _events(connection: Connection, file: str, offset: int) -> Iterator[dict[str, Any]]:
    while True:
        page = query(connection, f"SHOW BINLOG EVENTS IN %s FROM {offset} LIMIT {PAGE_EVENTS}", file)
        yield from page
        if len(page) < PAGE_EVENTS:
            return
        offset = int(page[-1]["End_log_pos"])
