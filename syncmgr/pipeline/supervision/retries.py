"""What a run does about an error: it waits it out, reads on without one table, or ends.

Owns: the loop around a step that may fail, and that a store which has not answered is queried again.
Must not know: what the steps are, how long a series of attempts lasts.
"""

import logging
from collections.abc import Callable

from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import Remedy
from syncmgr.job.failure import FailType, remedy
from syncmgr.pipeline.channels import Channels
from syncmgr.pipeline.committer import CommitLedger
from syncmgr.pipeline.run_options import RunOptions
from syncmgr.pipeline.supervision.current_worker import CurrentWorker
from syncmgr.pipeline.supervision.health import GaveUpError, Health
from syncmgr.pipeline.supervision.stop_request import StopRequest
from syncmgr.pipeline.worker_process import WorkerLost

log = logging.getLogger(__name__)


class Retries:
    """Of one run, whose thread calls it."""

    def __init__(
        self,
        options: RunOptions,
        ledger: CommitLedger,
        channels: Channels,
        health: Health,
        *,
        worker: CurrentWorker,
        stop: StopRequest,
        commits: Callable[[], bool],
        pause: Callable[[], None],
    ) -> None:
        """`commits`: whether an epoch is on its way into the lake. `pause`: the run is to end."""
        self._options, self._ledger, self._channels, self._health = options, ledger, channels, health
        self._worker, self._stop = worker, stop
        self._commits, self._pause = commits, pause
        self._unanswered = False  # the store may have more than this run knows

    def outcome(self, step: Callable[[], None]) -> tuple[SyncError | None, FailType]:
        """The error by which a step ended the run; None: as requested."""
        try:
            step()
        except GaveUpError as gave_up:
            return gave_up.error, gave_up.kind
        except Exception as error:
            log.exception("job failed", extra={"job": self._options.name})
            if self._stop.is_abandoned():  # the pool of a frontend that ends cancels commits, and accepts no more
                return None, FailType.UNKNOWN
            return SyncError(Code.INTERNAL, message=f"the job's thread failed: {error!r}"), FailType.UNKNOWN
        return None, FailType.UNKNOWN

    def retry(self, step: Callable[[], None]) -> None:
        """Run a step until it ends; transient errors are reported and waited out."""
        while True:
            try:
                return self._begin_anew() if self._unanswered else step()
            except WorkerLost as lost:
                if self._stop.is_abandoned():
                    return None
                error = SyncError(Code.WORKER_DIED, status="unknown" if lost.status is None else lost.status)
            except SyncError as raised:
                error = self._channels.advised(raised)
            kind = FailType.RUN_FAIL if self._commits() else FailType.SUBMIT_FAIL
            self._worker.kill()
            left = self._left_of(error)
            if left is not None and self._waited_out(left, kind):
                return None

    def _begin_anew(self) -> None:
        """Once the metadata are available again: the last write may be in them although the answer was lost, so the
        next run has to begin with what they have.
        """
        self._ledger.hold()
        self._pause()

    def _left_of(self, error: SyncError) -> SyncError | None:
        """The error to be waited out; None: it stops only one table."""
        try:
            self._channels.overturn(error)
            if not self._channels.leave_out(error):
                return error
            self._health.report(None)
        except SyncError as down:
            return down
        return None

    def _waited_out(self, error: SyncError, kind: FailType) -> bool:
        """Whether the run is to end instead of the next attempt. Raises GaveUpError if none is left."""
        self._unanswered = self._unanswered or error.code is Code.META_DOWN
        second = self._health.failed(self._options.retry())
        if remedy(error.code) is not Remedy.RETRY or second is None:
            raise GaveUpError(error, kind)
        log.warning("retrying", extra={"job": self._options.name, "error": str(error)})
        self._health.report(error)
        return self._stop.ending.wait(second)
