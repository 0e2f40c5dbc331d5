"""One running job as the frontend sees it: its worker process and its commits.

Owns: the thread that starts workers, commits what they stage, retries, and ends.
Must not know: states of jobs, statements, how rows are read or written.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Standing
from syncmgr.job.ddl.stopped_table import standstill
from syncmgr.job.epoch import Backlog, Epoch
from syncmgr.job.failure import RETRIED_BY_WORKER, FailType, Remedy, remedy
from syncmgr.job.freshness import Reading
from syncmgr.job.position import Position
from syncmgr.lake.port import Commits
from syncmgr.pipeline.channels import Channels
from syncmgr.pipeline.committer import Committer, Ledger
from syncmgr.pipeline.ddl_following import DdlFollowing
from syncmgr.pipeline.health import GaveUpError, Health
from syncmgr.pipeline.laggards import Behind
from syncmgr.pipeline.messages import (
    Asked,
    ChannelsAltered,
    Committed,
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
    WorkerPlan,
)
from syncmgr.pipeline.run_options import Listeners, RunOptions, worker_plan
from syncmgr.pipeline.snapshot.none import NoSnapshot
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from syncmgr.pipeline.staging import sweep_unnamed
from syncmgr.pipeline.watermark import Watermark
from syncmgr.pipeline.worker import worker
from syncmgr.pipeline.worker_process import POLL_SECOND, WorkerLost, WorkerProcess

log = logging.getLogger(__name__)


class JobRun:
    """Runs one job until it is told to finish, is abandoned, or fails. One thread beside its worker process."""

    def __init__(
        self,
        options: RunOptions,
        ledger: Ledger,
        lake: Commits,
        pool: Executor,
        open_source: worker.OpenSource,
        listeners: Listeners,
        snapshot: Snapshot | None = None,
    ) -> None:
        """`snapshot`: of the rows that come before the binlog; None: they are there, or are not wanted."""
        self._options = options
        self._ledger = ledger
        self._open_source = open_source
        self._listeners = listeners
        self._snapshot = NoSnapshot(options.channels) if snapshot is None else snapshot
        self._channels = Channels(options, ledger, self._snapshot, self.synced_until)
        self._ending = threading.Event()  # finish or abandon
        self._committer = Committer(
            options.channels,
            ledger,
            lake,
            pool,
            ack=self._ack,
            max_backlog_bytes=options.max_backlog_bytes,
            ending=self._ending.is_set,
            keeps_out=options.rules.keeps_out,
            standings=self._snapshot.standings,
            renews=self._snapshot.renews,
            points=self._channels.points,
            consistent=self._is_consistent,
        )
        self._ddl = DdlFollowing(
            options,
            listeners,
            ledger,
            channels=self._channels,
            snapshot=self._snapshot,
            committer=self._committer,
            commit=lambda epoch: self._commit(self._judged(epoch), self._committer.commit),
            finish=self.finish,
            ending=self._ending.is_set,
        )
        self._health = Health(listeners.on_trouble, self._standstill)
        self._life: WorkerProcess | None = None
        self._recovers, self._abandoned = True, False
        self._unanswered = False  # the store has perhaps more than this run knows of
        self._watermark = Watermark(options.synced_until)
        self._committing_since = 0.0  # monotonic
        self._thread = threading.Thread(target=self._run, name=f"job-{options.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Stop reading, commit what is staged, end. Returns at once."""
        self._ending.set()
        life = self._life
        if life is not None:
            threading.Thread(target=life.send, args=(Finish(),), name="finish", daemon=True).start()

    def pause(self) -> None:
        """The same, and give up rows that are being read, however long they would take. Returns at once."""
        self.finish()  # first: a reading that is given up is not through
        self._snapshot.give_up()

    def abandon(self) -> None:
        """End as soon as the commit under way has ended; what is only staged is dropped. Returns at once."""
        self._abandoned = True
        self._ending.set()
        self._snapshot.give_up()
        life = self._life
        if life is not None:
            life.end()

    def retune(self) -> None:
        """Limits have changed."""
        life = self._life
        if life is not None:
            life.send(Retune(limits=self._options.limits()))

    def join(self, timeout: float) -> bool:
        """Whether it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def reading(self) -> Reading | None:
        """How far behind the source it is, but for channels that are behind; None where nothing is known yet."""
        return self._watermark.reading()

    def synced_until(self) -> float:
        """Up to where of the source's time its tables have all, but for those that are behind; 0.0: not known."""
        return self._watermark.until()

    def behind(self) -> tuple[Behind, ...]:
        """Channels that cannot commit, or are catching up, while the others go on."""
        return self._committer.laggards.shown()

    def rates(self) -> dict[str, float]:
        """Rows a second that a snapshot reads now, by channel token."""
        return self._snapshot.rates()

    def standings(self) -> dict[str, Standing]:
        """How each table stands, by channel token."""
        return self._snapshot.standings.all()

    def backlogs(self) -> dict[str, Backlog]:
        """What waits, by channel token."""
        return {b.token: Backlog(epochs=b.epochs, bytes=b.bytes, since=b.since) for b in self.behind()}

    def recovers(self) -> bool:
        """Whether it has yet to commit what an earlier life left."""
        return self._recovers

    # -- the thread

    def _run(self) -> None:
        error, kind = self._outcome(self._work)
        self._bury()
        self._ending.set()
        self._snapshot.join()
        late, _ = self._outcome(self._settle)
        self._listeners.on_end(error or late, kind)

    def _settle(self) -> None:
        try:
            self._committer.laggards.settle()
        except SyncError as error:
            if error.code is not Code.META_DOWN:  # else the next run finds what is stored
                raise

    def _work(self) -> None:
        self._retrying(self._finish_intents)
        self._recovers = False
        while not self._ending.is_set():
            self._retrying(self._live)

    def _outcome(self, step: Callable[[], None]) -> tuple[SyncError | None, FailType]:
        try:
            step()
        except GaveUpError as gave_up:
            return gave_up.error, gave_up.kind
        except Exception as error:
            log.exception("job failed", extra={"job": self._options.name})
            if self._abandoned:  # the pool of a frontend that ends cancels commits, and takes no more
                return None, FailType.UNKNOWN
            return SyncError(Code.INTERNAL, message=f"the job's thread failed: {error!r}"), FailType.UNKNOWN
        return None, FailType.UNKNOWN

    def _retrying(self, step: Callable[[], None]) -> None:
        """Run a step until it ends; passing troubles are told and waited out."""
        while True:
            try:
                return self._begin_anew() if self._unanswered else step()
            except WorkerLost as lost:
                if self._abandoned:
                    return None
                error = SyncError(Code.WORKER_DIED, status=lost.status)
            except SyncError as raised:
                error = self._channels.advised(raised)
            kind = FailType.SUBMIT_FAIL if self._watermark.committing() is None else FailType.RUN_FAIL
            self._bury()
            left = self._left_of(error)
            if left is None:
                continue
            error, self._unanswered = left, self._unanswered or left.code is Code.META_DOWN
            second = self._health.failed(self._options.retry())
            if remedy(error.code) is not Remedy.RETRY or second is None:
                raise GaveUpError(error, kind)
            log.warning("retrying", extra={"job": self._options.name, "error": str(error)})
            self._health.tell(error)
            if self._ending.wait(second):
                return None

    def _begin_anew(self) -> None:
        """Once the metadata are there again: what they were told last may be in them although the answer was lost, so
        that the next run has to begin with what they have.
        """
        self._ledger.hold()
        self.pause()

    def _left_of(self, error: SyncError) -> SyncError | None:
        """What is to be waited out; None: a table stands alone with it."""
        try:
            self._channels.overturn(error)
            if not self._channels.leave_out(error):
                return error
            self._health.tell(None)
        except SyncError as down:
            return down
        return None

    def _finish_intents(self) -> None:
        if not self._abandoned:
            self._committer.recover()
        for epoch in self._ledger.intents():
            if self._abandoned:
                return
            self._commit(self._committer.relieved(epoch), self._committer.resume)

    def _live(self) -> None:
        """One worker's life, until it finished as asked, or for a snapshot. Raises what ended it otherwise."""
        self._finish_intents()
        if not self._ending.is_set():
            self._snapshot.run(self._ending, self._health.mended)
            self._catch_up()
        if self._ending.is_set():
            return
        sweep_unnamed(self._options.folder, self._ledger, self._last_epoch())
        passing(CrashPoint.STAGING_SWEPT)
        life = self._life = WorkerProcess(self._plan(), self._open_source, self._on_progress)
        if self._ending.is_set():
            life.send(Finish())
        deadline: float | None = None
        while not self._abandoned:
            message = life.receive(POLL_SECOND)
            if deadline is None and self._is_to_end(life):
                deadline = time.monotonic() + self._options.finish_second()
            if message is None and deadline is not None and time.monotonic() > deadline:
                break
            if message is not None and self._ends_with(message):
                break
            self._tend()
        self._bury()

    def _is_to_end(self, life: WorkerProcess) -> bool:
        """As asked, or since the rows of a table without a key come before any change is read."""
        if self._ending.is_set():
            return True
        is_due = self._snapshot.is_due()
        if is_due:
            life.send(Finish())
        return is_due

    def _tend(self) -> None:
        """Channels that are behind, and what is reported of those that stand still."""
        self._committer.laggards.tend()
        self._catch_up()
        self._health.tend()

    def _standstill(self) -> SyncError | None:
        """Of one table; the others go on."""
        return self._snapshot.trouble() or self._committer.laggards.trouble() or standstill(self._channels.now)

    def _catch_up(self) -> None:
        if self._snapshot.is_catching_up:
            self._snapshot.committed(self._last_epoch().end, self._committer.laggards)

    def _ends_with(self, message: FromWorker) -> bool:  # noqa: C901 - one row per message
        match message:
            case Staged(epoch=epoch):
                self._commit(self._judged(epoch), self._committer.commit)
            case SchemaLearned(token=token, told=told):
                self._channels.learn(token, told)
            case Nameless(tokens=tokens):
                self._channels.doubt(tokens)
            case DdlMet():
                self._follow(message)
            case Asked(second=second):
                self._keep(second)
            case SourceTrouble(error=error):
                self._health.tell(error)
            case Failed(error=error):
                if error.code in RETRIED_BY_WORKER:
                    raise GaveUpError(error, FailType.SUBMIT_FAIL)
                raise error
            case Finished():
                return True
            case Progress():
                self._on_progress(message)
        return False

    def _keep(self, second: int) -> None:
        """What the worker goes by from here on must not be forgotten with it."""
        self._ledger.keep_asked(second)
        if self._life is not None:
            self._life.send(Kept())

    def _follow(self, met: DdlMet) -> None:
        if self._ending.is_set():
            return  # the next run reads it again, perhaps with other rules
        if self._ddl.follow(met) and self._life is not None:
            self._life.send(ChannelsAltered(channels=self._channels.for_worker()))

    def _commit(self, epoch: Epoch, step: Callable[[Epoch], None]) -> None:
        self._committing_since = time.monotonic()
        epoch = self._watermark.commits(epoch)
        step(epoch)
        if epoch.ddl is not None:
            self._channels.follow(epoch.ddl)
            self._committer.read_as(self._channels.now)
            if epoch.ddl.dropped or epoch.ddl.resynced:
                self.finish()  # the next run begins with what the store has made of it
        self._watermark.committed()
        took = time.monotonic() - self._committing_since
        log.debug("committed", extra={"epoch": epoch.number, "rows": epoch.rows, "second": round(took, 3)})
        self._catch_up()
        self._health.mended()

    def _judged(self, epoch: Epoch) -> Epoch:
        return epoch if self._is_consistent(epoch.end) else replace(epoch, end=replace(epoch.end, whole=False))

    def _is_consistent(self, end: Position) -> bool:
        """Until the binlog has brought what the snapshot saw, the rows never were the source's state; nor with a table
        that is read no more.
        """
        return self._snapshot.whole(end) and not any(channel.stopped for channel in self._channels.now)

    def _ack(self, epoch: Epoch) -> None:
        if self._life is not None:
            self._life.send(Committed(number=epoch.number, end=epoch.end))

    def _on_progress(self, progress: Progress) -> None:
        """The run's own thread waits for the commit; the worker's signs of life are a clock beside it."""
        self._watermark.heard(progress)
        if progress.heard_at:
            self._health.heard()
        epoch = self._watermark.committing()
        if epoch is not None:
            self._health.committing(epoch.number, time.monotonic() - self._committing_since)

    def _bury(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            life.kill()
        self._watermark.lost()

    # -- where it begins

    def _plan(self) -> WorkerPlan:
        last = self._last_epoch()
        self._watermark.begins(last)
        return worker_plan(self._options, last, self._channels.for_worker(), self._ledger.asked_until())

    def _last_epoch(self) -> Epoch:
        last = self._ledger.last_epoch()
        assert last is not None, "epoch 0 holds the start position"
        return last
