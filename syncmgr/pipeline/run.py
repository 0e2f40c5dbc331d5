"""One running job as the frontend sees it: its worker process and its commits.

Owns: the thread that starts workers and handles their messages, and how it ends.
Must not know: states of jobs, statements, how rows are read or written, which errors are retried.
"""

import threading
import time
from concurrent.futures import Executor

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import SyncError
from syncmgr.job.channel.channel_state import Standing
from syncmgr.job.ddl.stopped_table import standstill
from syncmgr.job.epoch import Backlog
from syncmgr.job.failure import RETRIED_BY_WORKER, FailType
from syncmgr.job.freshness import Reading
from syncmgr.lake.port import Commits
from syncmgr.pipeline.channels import Channels
from syncmgr.pipeline.committer import CommitLedger, Committer
from syncmgr.pipeline.ddl_following import DdlFollowing
from syncmgr.pipeline.epoch_commits import EpochCommits
from syncmgr.pipeline.laggards import Behind
from syncmgr.pipeline.messages import (
    Asked,
    ChannelsAltered,
    DdlMet,
    Failed,
    Finish,
    Finished,
    FromWorker,
    Kept,
    Nameless,
    Progress,
    Retune,
    SchemaLearned,
    SourceTrouble,
    Staged,
    UnloggedTables,
)
from syncmgr.pipeline.run_options import Listeners, RunOptions, worker_plan
from syncmgr.pipeline.snapshot.none import NoSnapshot
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from syncmgr.pipeline.staging import sweep_unnamed
from syncmgr.pipeline.supervision.current_worker import CurrentWorker
from syncmgr.pipeline.supervision.health import GaveUpError, Health
from syncmgr.pipeline.supervision.retries import Retries
from syncmgr.pipeline.supervision.stop_request import StopRequest
from syncmgr.pipeline.watermark import Watermark
from syncmgr.pipeline.worker import worker


class JobRun:
    """Runs one job until it is asked to finish, is abandoned, or fails. One thread besides its worker process."""

    def __init__(
        self,
        options: RunOptions,
        ledger: CommitLedger,
        lake: Commits,
        pool: Executor,
        open_source: worker.OpenSource,
        listeners: Listeners,
        snapshot: Snapshot | None = None,
    ) -> None:
        """`snapshot`: of the rows that come before the binlog; None: they are in the targets, or not wanted."""
        self._options, self._ledger, self._listeners = options, ledger, listeners
        self._snapshot = NoSnapshot(options.channels) if snapshot is None else snapshot
        self._stop = StopRequest()
        self._watermark = Watermark(options.synced_until)
        self._worker = CurrentWorker(open_source, on_gone=self._watermark.lost)
        self._channels = Channels(options, ledger, self._snapshot, self.synced_until)
        self._committer = self._new_committer(lake, pool)
        self._health = Health(listeners.on_trouble, self._standstill)
        self._commits = self._new_commits()
        self._ddl = DdlFollowing(
            options,
            listeners,
            ledger,
            channels=self._channels,
            snapshot=self._snapshot,
            committer=self._committer,
            commit=self._commits.commit,
            finish=self.finish,
            ending=self._stop.is_ending,
        )
        self._retries = Retries(
            options,
            ledger,
            self._channels,
            self._health,
            worker=self._worker,
            stop=self._stop,
            commits=lambda: self._watermark.committing() is not None,
            pause=self.pause,
        )
        self._recovers = True
        self._thread = threading.Thread(target=self._run, name=f"job-{options.name}", daemon=True)

    def _new_committer(self, lake: Commits, pool: Executor) -> Committer:
        return Committer(
            self._options.channels,
            self._ledger,
            lake,
            pool,
            ack=self._worker.ack,
            max_backlog_bytes=self._options.max_backlog_bytes,
            ending=self._stop.is_ending,
            keeps_out=self._options.rules.keeps_out,
            standings=self._snapshot.standings,
            renews=self._snapshot.renews,
            points=self._channels.points,
            consistent=self._channels.are_consistent,
        )

    def _new_commits(self) -> EpochCommits:
        return EpochCommits(
            self._ledger,
            self._committer,
            channels=self._channels,
            snapshot=self._snapshot,
            watermark=self._watermark,
            health=self._health,
            witness=self._listeners.witness,
            finish=self.finish,
            is_abandoned=self._stop.is_abandoned,
        )

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Stop reading, commit what is staged, end. Returns at once."""
        self._stop.finish()
        self._worker.finish()

    def pause(self) -> None:
        """The same, and give up rows that are being read, however far they are. Returns at once."""
        self.finish()  # first: a read that is given up is not complete
        self._snapshot.give_up()

    def abandon(self) -> None:
        """End as soon as the commit under way has ended; what is only staged is dropped. Returns at once."""
        self._stop.abandon()
        self._snapshot.give_up()
        self._worker.end()

    def retune(self) -> None:
        """Limits have changed."""
        self._worker.send(Retune(limits=self._options.limits()))

    def join(self, timeout: float) -> bool:
        """Whether it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def reading(self) -> Reading | None:
        """How far behind the source it is, except channels that are behind; None if nothing is known yet."""
        return self._watermark.reading()

    def synced_until(self) -> float:
        """The source time up to which its tables are complete, except those that are behind; 0.0: not known."""
        return self._watermark.until()

    def behind(self) -> tuple[Behind, ...]:
        """Channels that cannot commit, or are catching up, while the others go on."""
        return self._committer.laggards.shown()

    def rates(self) -> dict[str, float]:
        """Rows per second that a snapshot reads now, by channel token."""
        return self._snapshot.rates()

    def standings(self) -> dict[str, Standing]:
        """The state of each table, by channel token."""
        return self._snapshot.standings.all()

    def backlogs(self) -> dict[str, Backlog]:
        """What waits, by channel token."""
        return {b.token: Backlog(epochs=b.epochs, bytes=b.bytes, since=b.since) for b in self.behind()}

    def recovers(self) -> bool:
        """Whether it has yet to commit what an earlier process left."""
        return self._recovers

    def _run(self) -> None:
        error, kind = self._retries.outcome(self._work)
        self._worker.kill()
        self._stop.finish()
        self._snapshot.join()
        late, _ = self._retries.outcome(self._commits.settle)
        self._listeners.on_end(error or late, kind)

    def _work(self) -> None:
        self._retries.retry(self._commits.finish_intents)
        self._recovers = False
        while not self._stop.is_ending():
            self._retries.retry(self._live)

    def _live(self) -> None:
        """One worker's life, until it finished as requested, or for a snapshot. Raises what ended it otherwise."""
        self._commits.finish_intents()
        if not self._stop.is_ending():
            self._snapshot.run(self._stop.ending, self._health.read)
            self._commits.catch_up()
        if self._stop.is_ending():
            return
        self._start_worker()
        deadline: float | None = None
        while not self._stop.is_abandoned():
            message = self._worker.receive()
            if deadline is None and self._is_to_end():
                deadline = time.monotonic() + self._options.finish_second()
            if message is None and deadline is not None and time.monotonic() > deadline:
                break
            if message is not None and self._ends_with(message):
                break
            self._tend()
        self._worker.kill()

    def _start_worker(self) -> None:
        """It begins where the last epoch ends."""
        last = self._commits.last()
        sweep_unnamed(self._options.folder, self._ledger, last)
        passing(CrashPoint.STAGING_SWEPT)
        self._watermark.begins(last)
        plan = worker_plan(self._options, last, self._channels.for_worker(), self._ledger.asked_until())
        self._worker.start(plan, self._commits.heard)
        if self._stop.is_ending():
            self._worker.send(Finish())

    def _is_to_end(self) -> bool:
        """As requested, or since the rows of a table without a key come before any change is read."""
        if self._stop.is_ending():
            return True
        is_due = self._snapshot.is_due()
        if is_due:
            self._worker.send(Finish())
        return is_due

    def _tend(self) -> None:
        """Channels that are behind, and what is reported of those that stand still."""
        self._committer.laggards.tend()
        self._commits.catch_up()
        self._health.tend()

    def _standstill(self) -> SyncError | None:
        """Of one table; the others go on."""
        return self._snapshot.trouble() or self._committer.laggards.trouble() or standstill(self._channels.now)

    def _ends_with(self, message: FromWorker) -> bool:  # noqa: C901 - one row per message
        match message:
            case Staged(epoch=epoch):
                self._commits.commit(epoch)
            case SchemaLearned(token=token, learned=learned):
                self._channels.learn(token, learned)
            case Nameless(tokens=tokens):
                self._channels.doubt(tokens)
            case UnloggedTables(tables=tables):
                self._listeners.on_unlogged_tables(tables)
            case DdlMet():
                self._follow(message)
            case Asked(second=second):  # what the worker relies on from here on must survive it
                self._ledger.keep_asked(second)
                self._worker.send(Kept())
            case SourceTrouble(error=error):
                self._health.report(error)
            case Failed(error=error):
                if error.code in RETRIED_BY_WORKER:
                    raise GaveUpError(error, FailType.SUBMIT_FAIL)
                raise error
            case Finished():
                return True
            case Progress():
                self._commits.heard(message)
        return False

    def _follow(self, met: DdlMet) -> None:
        if self._stop.is_ending():
            return  # the next run reads it again, perhaps with other rules
        if self._ddl.follow(met):
            self._worker.send(ChannelsAltered(channels=self._channels.for_worker()))
