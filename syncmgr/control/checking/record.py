"""What is known of a check, while it runs and later.

Owns: its states, its figures, its rows in sync_checks and sync_check_rows.
Must not know: how a table is checked.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.check.check_options import CheckOptions
from syncmgr.job.check.compared_table import ComparedTable
from syncmgr.job.check.verdict import Found, Key, Kind, Result, result
from syncmgr.job.sync_job import SyncJob

LONGEST: Final = 4096  # characters of a row that is shown
CHECK: Final = 3  # the places in a row of sync_checks
STATE: Final = 8  # the result follows it
BEGIN_TIME: Final = 22
REASON: Final = 24
REPAIRS: Final = 25
INTERRUPTED: Final = "the frontend ended meanwhile, so that nothing is known of it; check it again"

Row = tuple[object, ...]


class CheckState(StrEnum):
    """Of one table of a check."""

    WAITING = "WAITING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    STOPPED = "STOPPED"


OVER: Final = frozenset({CheckState.DONE, CheckState.FAILED, CheckState.STOPPED})


@dataclass(slots=True)
class Figures:
    """Of one table, as far as it is compared. `since` and `until`: unix seconds."""

    estimated: int | None = None
    source: int = 0
    target: int = 0
    chunks: int = 0
    chunks_done: int = 0
    round: int = 0
    since: float | None = None
    until: float | None = None

    @property
    def per_second(self) -> int | None:
        """Rows of the source."""
        if self.since is None or not self.source:
            return None
        return round(self.source / max((self.until or time.time()) - self.since, 0.001))

    @property
    def left_second(self) -> float | None:
        """None: it is over, or nothing is known yet."""
        if self.until is not None or not self.per_second or self.estimated is None:
            return None
        return round(max(self.estimated - self.source, 0) / self.per_second, 1)


@dataclass(slots=True)
class CheckedTable:
    """One table of a check. Written by the check's thread alone."""

    job: SyncJob
    channel: ChannelDescription
    state: CheckState = CheckState.WAITING
    reason: str | None = None
    figures: Figures = field(default_factory=Figures)
    counts: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(Kind, 0))
    found: list[Found] = field(default_factory=list)
    table: ComparedTable | None = None
    generation: int | None = None  # of the read of its rows before it was compared; None: there was none
    repairs: int | None = None  # the check whose rows were read again before this one
    repaired: dict[Key, float] = field(default_factory=dict)  # unix seconds, of each key that is right since then

    def begins(self, table: ComparedTable) -> None:
        """From its beginning, perhaps again."""
        self.table, self.state, self.reason = table, CheckState.RUNNING, None
        self.figures, self.counts = Figures(since=time.time()), dict.fromkeys(Kind, 0)
        self.found = []

    def finds(self, found: Found, most: int) -> None:
        self.counts[found.kind] += 1
        if len(self.found) < most:
            self.found.append(found)

    def ends(self, state: CheckState, reason: str | None = None) -> None:
        self.figures.until = time.time()
        self.reason, self.state = reason, state

    @property
    def result(self) -> Result | None:
        """None: it has none."""
        if self.state is not CheckState.DONE:
            return None
        unsettled = self.counts[Kind.UNSETTLED]
        return result(different=sum(self.counts.values()) - unsettled, unsettled=unsettled)

    @property
    def names(self) -> tuple[str, str, str, str]:
        channel = self.channel
        return channel.source.db, channel.source.name, channel.target_db, channel.target

    def row(self, check_id: int) -> Row:
        """As of TABLES["sync_checks"]."""
        at, counts = self.figures, self.counts
        return (
            *(self.job.id, self.job.db, self.job.name, check_id, *self.names, str(self.state)),
            *(None if self.result is None else str(self.result), at.estimated, at.source, at.target),
            *(at.chunks, at.chunks_done, at.round),
            *(counts[kind] for kind in (Kind.MISSING, Kind.EXTRA, Kind.DIFFERENT, Kind.UNSETTLED)),
            *(at.per_second, at.left_second, _time(at.since), _time(at.until), self.reason),
            *(self.repairs, len(self.repaired)),
        )

    def rows(self, check_id: int) -> Iterator[Row]:
        """As of TABLES["sync_check_rows"]."""
        table = self.table
        for found in tuple(self.found) if table is not None else ():
            assert table is not None
            yield (
                *(self.job.id, self.job.db, self.job.name, check_id, *self.names, str(found.kind)),
                *(_json(table.shown_key(found.key)), table.named(found)),
                *(
                    _json(table.shown(found.source)),
                    _json(table.shown(found.target)),
                    _time(self.repaired.get(found.key)),
                ),
            )

    @property
    def told(self) -> str:
        """Of a table that is over, in words."""
        if self.result is None:
            return self.reason or str(self.state)
        counts = {str(kind).lower(): count for kind, count in self.counts.items() if count}
        found = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        return f"{self.result}: {self.figures.source} rows" + (f"; {found}" if found else "")


@dataclass(slots=True)
class Check:
    """`id`: as CHECK SYNC JOB answers."""

    id: int
    options: CheckOptions
    tables: tuple[CheckedTable, ...]

    @property
    def is_over(self) -> bool:
        return all(each.state in OVER for each in self.tables)


def interrupted(row: Row) -> Row:
    """That of a table whose check ended with its frontend, from the row that was stored when it began."""
    return (*row[:STATE], str(CheckState.FAILED), None, *row[STATE + 2 : REASON], INTERRUPTED, *row[REASON + 1 :])


def _json(value: object) -> str | None:
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
