"""From samples to incidents.

Owns: what is remembered between two samples.
Must not know: the rules, who is notified, who measures.
"""

import logging
from collections.abc import Callable, Mapping

from syncmgr.alerts.ports import Outbox
from syncmgr.errors import Code, SyncError
from syncmgr.job.alerts.condition import AlertKey, Thresholds, conditions
from syncmgr.job.alerts.incident import changes
from syncmgr.job.metrics.sample import Sample

log = logging.getLogger(__name__)


class Watching:
    """One thread calls it. What it has missed, for a crash or because the metadata were down, the next sample shows:
    a condition is compared with what is stored.
    """

    def __init__(self, outbox: Outbox, thresholds: Callable[[], Thresholds], wake: Callable[[], None]) -> None:
        """`wake`: there is something to send."""
        self._outbox, self._thresholds, self._wake = outbox, thresholds, wake
        self._pending: Mapping[AlertKey, float] = {}

    def heard(self, sample: Sample) -> None:
        if not sample.meta_up:  # its jobs are old
            return
        try:
            self._compare(sample)
        except SyncError as error:
            if error.code is not Code.META_DOWN:
                raise

    def _compare(self, sample: Sample) -> None:
        found = conditions(sample, self._thresholds())
        change = changes(self._outbox.unresolved(), self._pending, found, sample.at)
        if change.fired or change.resolved:
            self._outbox.change(change.fired, change.resolved, sample.at)
            for each in change.fired:
                log.warning("alert %s: %s", each.key.event, each.text)
            self._wake()
        self._pending = change.pending
