"""Both sides of a table, asked so that what differs for certain can be told from what is on its way.

Owns: the order of the questions, and when their answers are void.
Must not know: the questions, what follows from the answers.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from syncmgr.control.running.live_runs import LiveRun
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.check.compared_table import ComparedTable
from syncmgr.job.check.reached import Reached
from syncmgr.job.check.verdict import Touched
from syncmgr.job.position import Position
from syncmgr.job.sync_job import JobId
from syncmgr.pipeline.witness import Watch, Witness
from syncmgr.sources.port import CheckedServer

STEP_SECOND: Final = 0.03  # between two looks at what is committed
NOT_RUNNING: Final = "its job does not run"
FOLLOWING: Final = "its job follows a statement on it"

Here = TypeVar("Here")
There = TypeVar("There")


class UnsteadyError(Exception):
    """The answers prove nothing, or none can be had now: the table is to be asked again. The reason, for people."""


class AlteredError(Exception):
    """A statement has changed the table meanwhile."""


class WatchedRuns(Protocol):
    """Jobs that run, and what is known of their commits."""

    def run(self, job_id: JobId) -> LiveRun | None: ...
    def witness(self, job_id: JobId) -> Witness | None: ...
    def stored_end(self, job_id: JobId) -> Position | None:
        """Of the newest epoch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bracket:
    """Of one table. `now`: as it is now. `stopped`: nobody wants it any more. `wait_second`: for a commit."""

    job_id: JobId
    table: ComparedTable
    now: Callable[[], ComparedTable]
    server: CheckedServer
    runs: WatchedRuns
    stopped: threading.Event
    wait_second: float = 300.0

    def ask(self, there: Callable[[], There], here: Callable[[], Here]) -> tuple[There, Here, Touched]:
        """`there`: of the source, `here`: of the target, which has everything by then that the source has shown.

        The source is asked when it shows all that was committed when the watch began, and the target when everything
        up to the end of the source's answer is committed: so the answer of the source is of a place between both.
        Raises UnsteadyError, AlteredError, INTERRUPTED, CHECK_REFUSED, CHECK_BROKEN.
        """
        run, witness = self.runs.run(self.job_id), self.runs.witness(self.job_id)
        if run is None or witness is None:
            raise UnsteadyError(NOT_RUNNING)
        channel = self.table.channel
        with witness.watching(channel.token, [column.name for column in self.table.key_sources]) as watch:
            if watch.altered:  # by what is committed now; what the table is, is known once that has ended
                raise UnsteadyError(FOLLOWING)
            self._refuse_unsteady(run, witness, watch)
            self._refuse_altered()
            start = self._committed(witness)
            self.server.settle(channel, start)
            of_source = there()
            self._await(self.server.end(), start, run, witness, watch)
            of_target = here()
            self._refuse_unsteady(run, witness, watch)
            self._refuse_altered()
            return of_source, of_target, watch.touched

    def _refuse_unsteady(self, run: LiveRun, witness: Witness, watch: Watch) -> None:
        if self.stopped.is_set():
            raise SyncError(Code.INTERRUPTED)
        if watch.altered:
            raise AlteredError
        if self.runs.run(self.job_id) is not run or self.runs.witness(self.job_id) is not witness:
            raise UnsteadyError(NOT_RUNNING)
        standing = run.standings().get(watch.token)
        if run.recovers() or standing is None or standing.state is not ChannelState.STREAMING:
            state = "unknown" if standing is None else standing.state
            raise UnsteadyError(f"its state is {state}")

    def _refuse_altered(self) -> None:
        """By a statement that was followed since the last questions, or ALTER."""
        if not self.table.is_still(self.now()):
            raise AlteredError

    def _committed(self, witness: Witness) -> Position:
        """Everything up to there is in the target."""
        waited = 0.0
        while (end := witness.committed(lambda: self.runs.stored_end(self.job_id))) is None:
            if self.stopped.wait(STEP_SECOND):
                raise SyncError(Code.INTERRUPTED)
            waited += STEP_SECOND
            if waited > self.wait_second:
                raise UnsteadyError("its first commit takes long")
        return end

    def _await(self, reached: Reached, start: Position, run: LiveRun, witness: Witness, watch: Watch) -> None:
        waited = 0.0
        while True:
            reading = run.reading()  # first: what it knows may become outdated, and is then too little
            end = self._committed(witness)
            if end.server != start.server:
                raise UnsteadyError("its job reads another server now")
            if reached.by(end, reading):
                return
            self.stopped.wait(STEP_SECOND)
            self._refuse_unsteady(run, witness, watch)
            waited += STEP_SECOND
            if waited > self.wait_second:
                raise UnsteadyError(f"its job has not reached {reached.position.gtids} in {self.wait_second:g} s")
