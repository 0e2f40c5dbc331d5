"""Whether the source still has the binlog from a snapshot's start on.

Owns: how often it is queried, and the warning about one that is not kept for long.
Must not know: what is read meanwhile.
"""

import logging
import time
from typing import Final

from syncmgr.job.position import Position
from syncmgr.pipeline.snapshot.port import SnapshotLedger
from syncmgr.sources.port import SnapshotSource

SHORT_HOURS: Final = 24.0  # a binlog that is kept for less causes a warning
HELD_SECOND: Final = 30.0  # between two queries

log = logging.getLogger(__name__)


class HeldBinlog:
    """Of one job."""

    def __init__(self, source: SnapshotSource, ledger: SnapshotLedger) -> None:
        self._source, self._ledger = source, ledger
        self._asked_at = 0.0

    @property
    def start(self) -> Position:
        """The place from which the binlog is read after the rows."""
        last = self._ledger.last_epoch()
        assert last is not None, "epoch 0 holds the start position"
        return last.end

    def check(self) -> None:
        """Raises SOURCE_POSITION_LOST if it is gone."""
        hours = self._source.check_held(self.start)
        if not self._asked_at and hours is not None and hours < SHORT_HOURS:
            log.warning("the source keeps its binlog for %.1f hours, and it is read after the snapshot", hours)
        self._asked_at = time.monotonic()

    def check_now_and_then(self) -> None:
        if time.monotonic() - self._asked_at > HELD_SECOND:
            self.check()
