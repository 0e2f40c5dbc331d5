"""One running job as the frontend sees it: its worker process and its commits.

Owns: the thread that starts workers, commits what they stage, retries, and ends.
Must not know: states of jobs, statements, how rows are read or written.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Final

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel import channel_state
from syncmgr.job.channel.channel_state import Standing, Verdict, held, verdict
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl import ddl
from syncmgr.job.ddl.ddl_plan import arrived, not_followed, refused, settle
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.stopped_table import advised, concerned, standstill, stop_of, stopped_by
from syncmgr.job.epoch import Backlog, Epoch
from syncmgr.job.failure import RETRIED_BY_WORKER, FailType, Remedy, Series, remedy
from syncmgr.job.freshness import Reading, of_table
from syncmgr.job.position import Position
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.committer import Committer, Lake, Ledger
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
    WorkerChannel,
    WorkerPlan,
)
from syncmgr.pipeline.run_options import Listeners, RunOptions
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from syncmgr.pipeline.staging import listed, sweep
from syncmgr.pipeline.standings import Standings
from syncmgr.pipeline.watermark import Watermark
from syncmgr.pipeline.worker import worker
from syncmgr.pipeline.worker_process import POLL_SECOND, WorkerLost, WorkerProcess

SLOW_SECOND: Final = 60.0  # a commit that takes longer is told

log = logging.getLogger(__name__)


class JobRun:
    """Runs one job until it is told to finish, is abandoned, or fails. One thread beside its worker process."""

    def __init__(
        self,
        options: RunOptions,
        ledger: Ledger,
        lake: Lake,
        pool: Executor,
        open_source: worker.OpenSource,
        listeners: Listeners,
        snapshot: Snapshot | None = None,
    ) -> None:
        """`snapshot`: of the rows that come before the binlog; None: they are there, or are not wanted."""
        self._options = options
        self._channels = options.channels
        self._ledger = ledger
        self._open_source = open_source
        self._listeners = listeners
        self._snapshot = snapshot
        self._standings = Standings(options.channels) if snapshot is None else snapshot.standings
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
            standings=self._standings,
            renews=self._renews,
            points=self._points,
            consistent=self._is_consistent,
        )
        self._life: WorkerProcess | None = None
        self._recovers = True
        self._abandoned = self._healthy = self._slow = False  # the last: a slow commit was told
        self._standing: tuple[Code, object] | None = None  # what was told last of a table that stands still
        self._unanswered = False  # the store has perhaps more than this run knows of
        self._series = Series()
        self._watermark = Watermark(options.silence_second, options.synced_until)
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
        if self._snapshot is not None:
            self._snapshot.give_up()

    def abandon(self) -> None:
        """End as soon as the commit under way has ended; what is only staged is dropped. Returns at once."""
        self._abandoned = True
        self._ending.set()
        if self._snapshot is not None:
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
        return {} if self._snapshot is None else self._snapshot.rates()

    def standings(self) -> dict[str, Standing]:
        """How each table stands, by channel token."""
        return self._standings.all()

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
        if self._snapshot is not None:
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
        except _GaveUp as gave_up:
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
                error = self._advised(raised)
            kind = FailType.SUBMIT_FAIL if self._watermark.committing() is None else FailType.RUN_FAIL
            self._bury()
            left = self._left_of(error)
            if left is None:
                continue
            error, self._unanswered = left, self._unanswered or left.code is Code.META_DOWN
            retry, now = self._options.retry(), time.monotonic()
            self._series = self._series.failed(now)
            if remedy(error.code) is not Remedy.RETRY or self._series.is_over(retry, now):
                raise _GaveUp(error, kind)
            log.warning("retrying", extra={"job": self._options.name, "error": str(error)})
            self._tell(error)
            if self._ending.wait(self._series.wait(retry)):
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
            self._overturn(error)
            return None if self._leaves_out(error) else error
        except SyncError as down:
            return down

    def _overturn(self, error: SyncError) -> None:
        """A statement was not followed after all where the columns of the next rows disagree with it."""
        for channel in concerned(error, self._channels) if error.code is Code.SOURCE_SCHEMA else ():
            self._ledger.overturn(channel.token, str(error))

    def _leaves_out(self, error: SyncError) -> bool:
        """Whether it stops one table alone: the others are read on, from behind the last epoch."""
        channel = self._alone(error)
        if channel is None:
            return False
        now = time.time()
        stop = stop_of(error, since=now, synced_until=self._synced_until_of(channel))
        stopped = replace(channel, stopped=stop)
        self._ledger.describe(stopped)
        self._standings.change(channel.token, partial(channel_state.stopped, stop=stop, at=now))
        self._channels = tuple(stopped if each is channel else each for each in self._channels)
        if self._snapshot is not None:
            self._snapshot.read_as(self._channels)
        log.warning("a table is not read any more", extra={"job": self._options.name, "error": str(error)})
        self._tell(None)
        return True

    def _synced_until_of(self, channel: ChannelDescription) -> float | None:
        load = None if self._snapshot is None else self._snapshot.load(channel.token)
        stale = None if load is None else load.stale
        waits = self._standings[channel.token].waits
        return of_table(channel, stale=stale, waits=waits, job=self.synced_until() or None)

    def _alone(self, error: SyncError) -> ChannelDescription | None:
        rules = self._options.rules
        return stopped_by(error, self._channels, rules.stop) if self._options.leaves_out else None

    def _advised(self, error: SyncError) -> SyncError:
        return advised(error, alone=self._alone(error) is not None, has_rows=self._options.leaves_out)

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
        if self._snapshot is not None and not self._ending.is_set():
            self._snapshot.run(self._ending, self._mended)
            self._catch_up()
        if self._ending.is_set():
            return
        self._sweep()
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
        is_due = self._snapshot is not None and self._snapshot.is_due()
        if is_due:
            life.send(Finish())
        return is_due

    def _tend(self) -> None:
        """Channels that are behind; Msg says so as long as one of them stands still."""
        self._committer.laggards.tend()
        self._catch_up()
        error = self._standstill()
        stands = None if error is None else (error.code, error.context.get("table"))
        if stands != self._standing:
            self._standing = stands
            self._tell(None)

    def _renews(self, token: str) -> bool:
        return self._snapshot is not None and self._snapshot.renews(token)

    def _standstill(self) -> SyncError | None:
        """Of one table; the others go on."""
        late = None if self._snapshot is None else self._snapshot.trouble()
        return late or self._committer.laggards.trouble() or standstill(self._channels)

    def _catch_up(self) -> None:
        if self._snapshot is not None and self._snapshot.is_catching_up:
            self._snapshot.committed(self._last_epoch().end, self._committer.laggards)

    def _tell(self, error: SyncError | None) -> None:
        """Msg: what is being retried, else the table that stands still, else nothing."""
        self._listeners.on_trouble(error or self._standstill())

    def _ends_with(self, message: FromWorker) -> bool:  # noqa: C901 - one row per message
        match message:
            case Staged(epoch=epoch):
                self._commit(self._judged(epoch), self._committer.commit)
            case SchemaLearned(token=token, source=source):
                self._learn(token, source)
            case Nameless(tokens=tokens):
                self._doubt(tokens)
            case DdlMet():
                self._follow(message)
            case Asked(second=second):
                self._keep(second)
            case SourceTrouble(error=error):
                self._tell(error)
            case Failed(error=error):
                if error.code in RETRIED_BY_WORKER:
                    raise _GaveUp(error, FailType.SUBMIT_FAIL)
                raise error
            case Finished():
                return True
            case Progress():
                self._on_progress(message)
        return False

    def _learn(self, token: str, source: SourceTable) -> None:
        """The next life, of the worker or of the frontend, holds the rows against the same columns."""
        self._ledger.learn(token, source)
        self._channels = tuple(replace(c, source=source) if c.token == token else c for c in self._channels)

    def _doubt(self, tokens: Collection[str]) -> None:
        """What was never compared is compared in the next life, too."""
        told = {c.token: replace(c, nameless=c.token in tokens) for c in self._channels if self._is_read(c)}
        for channel in [c for c in self._channels if told.get(c.token, c) != c]:
            self._ledger.describe(told[channel.token])
        self._channels = tuple(told.get(c.token, c) for c in self._channels)

    def _keep(self, second: int) -> None:
        """What the worker goes by from here on must not be forgotten with it."""
        self._ledger.keep_asked(second)
        if self._life is not None:
            self._life.send(Kept())

    def _follow(self, met: DdlMet) -> None:
        """Every epoch before the statement is in the lake; those behind it are read and written by what it made."""
        if self._ending.is_set():
            return  # the next run reads it again, perhaps with other rules
        try:
            channels = [channel for channel in self._channels if self._has_begun(channel, met.epoch.end)]
            self._refuse_reshaped(met, channels)
            met_not = [channel for channel in self._channels if channel not in channels and not channel.dropped]
            rules = replace(self._options.rules, held=frozenset((c.source.db, c.source.name) for c in met_not))
            step = settle(self._ledger.settled(met.epoch.end), met.said, channels, rules)
        except SyncError as error:
            if error.code is Code.SOURCE_DDL:
                self._refuse(met, error)
            raise
        if not self._joined(met, step):  # else the next run reads it again
            with nullcontext() if self._snapshot is None else self._snapshot.begun_anew(step):
                self._follow_with(met, step)

    def _refuse_reshaped(self, met: DdlMet, channels: Iterable[ChannelDescription]) -> None:
        """A target that gets other columns with its rows has not got them yet."""
        tables = {(c.source.db, c.source.name) for c in channels if self._snapshot and self._snapshot.reshapes(c.token)}
        for table in ddl.meant(met.said.text, met.said.db, tables, met.said.modes) if tables else ():
            raise not_followed(table, "its rows are being read anew, with other columns", met.said.text)

    def _follow_with(self, met: DdlMet, step: DdlStep) -> None:
        rows = {t: self._standings.obstacle(t) for t in step.concerned if held(self._standings[t], skipped=False)}
        waiting = {token: error for token, error in rows.items() if error is not None}
        for token in step.changes.keys() & waiting.keys() - step.dropped:
            raise waiting[token]
        if not self._committer.caught_up(step.concerned - waiting.keys() - step.dropped):
            return
        passing(CrashPoint.DDL_DECIDED)
        self._commit(self._judged(replace(met.epoch, ddl=step)), self._committer.commit)
        passing(CrashPoint.DDL_STORED)
        if self._life is not None:
            self._life.send(ChannelsAltered(channels=self._worker_channels()))

    def _has_begun(self, channel: ChannelDescription, at: Position) -> bool:
        """Whether what stands right before that place of the source's history is a change of this channel. What was
        before the point of a table without a key came with its rows, a TRUNCATE too.
        """
        after = self._points().get(channel.token, channel.after)
        return self._is_read(channel) and not replace(channel, after=after).skips(at)

    def _is_read(self, channel: ChannelDescription) -> bool:
        return not channel.dropped and verdict(self._standings[channel.token], staged=False) is not Verdict.OMIT

    def _refuse(self, met: DdlMet, error: SyncError) -> None:
        alone = self._alone(error) is not None
        record = refused(met.said, met.epoch.end, met.table, self._advised(error), alone=alone)
        (self._ledger.note if alone else self._ledger.refuse)(record)

    def _joined(self, met: DdlMet, step: DdlStep) -> bool:
        """Whether tables that the statement made, or named, have joined the job, which ends this run. The next one
        meets the statement again, so it may yet say why others do not.
        """
        said, behind = met.said, [step.channels.get(channel.token, channel) for channel in self._channels]
        synced = {(channel.source.db, channel.source.name) for channel in behind}
        came = [table for table in ddl.arrivals(said.text, said.db, said.modes) if table not in synced]
        came = [table for table in came if any(family.has(table) for family in self._options.families)]
        told = self._listeners.on_arrival(came, met.epoch.end) if came else {}
        if told is None:
            self.finish()
        ends = self._ending.is_set()
        for table, error in (told or {}).items():
            if error is None or not ends:
                self._ledger.note(arrived(said, met.epoch.end, table, error))
        return ends

    def _commit(self, epoch: Epoch, step: Callable[[Epoch], None]) -> None:
        self._committing_since = time.monotonic()
        epoch = self._watermark.commits(epoch)
        step(epoch)
        if epoch.ddl is not None:
            self._channels = tuple(epoch.ddl.channels.get(c.token, c) for c in self._channels)
            self._committer.read_as(self._channels)
            if self._snapshot is not None:
                self._snapshot.read_as(self._channels)
            if epoch.ddl.dropped or epoch.ddl.resynced:
                self.finish()  # the next run begins with what the store has made of it
        self._watermark.committed()
        took = time.monotonic() - self._committing_since
        log.debug("committed", extra={"epoch": epoch.number, "rows": epoch.rows, "second": round(took, 3)})
        self._catch_up()
        self._mended()

    def _mended(self) -> None:
        if self._series.failures or self._slow:
            self._series, self._slow = Series(), False
            self._tell(None)

    def _judged(self, epoch: Epoch) -> Epoch:
        return epoch if self._is_consistent(epoch.end) else replace(epoch, end=replace(epoch.end, whole=False))

    def _is_consistent(self, end: Position) -> bool:
        """Until the binlog has brought what the snapshot saw, the rows never were the source's state; nor with a table
        that is read no more.
        """
        loaded = self._snapshot is None or self._snapshot.whole(end)
        return loaded and not any(channel.stopped for channel in self._channels)

    def _ack(self, epoch: Epoch) -> None:
        if self._life is not None:
            self._life.send(Committed(number=epoch.number, end=epoch.end))

    def _on_progress(self, progress: Progress) -> None:
        """Intents are done before a worker starts: one that hears its source has left every old trouble behind."""
        self._watermark.heard(progress)
        if progress.heard_at and not self._healthy:
            self._healthy = True
            self._tell(None)
        self._tell_slowness()

    def _tell_slowness(self) -> None:
        """The run's own thread waits for the commit; the worker's signs of life are a clock beside it."""
        epoch, second = self._watermark.committing(), time.monotonic() - self._committing_since
        if epoch is not None and not self._slow and second > SLOW_SECOND:
            self._slow = True
            self._tell(SyncError(Code.LAKE_SLOW, epoch=epoch.number, second=int(second)))

    def _bury(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            life.kill()
        self._watermark.lost()

    # -- where it begins

    def _plan(self) -> WorkerPlan:
        last = self._last_epoch()
        self._watermark.begins(last)
        return WorkerPlan(
            job_id=self._options.job_id,
            start=last.end,
            first_epoch=last.number + 1,
            last_seq=last.last_seq,
            channels=self._worker_channels(),
            limits=self._options.limits(),
            folder=str(self._options.folder / uuid.uuid4().hex),
            prepared=last.prepared,
            families=self._options.families,
            asked_until=self._ledger.asked_until(),
        )

    def _last_epoch(self) -> Epoch:
        last = self._ledger.last_epoch()
        assert last is not None, "epoch 0 holds the start position"
        return last

    def _worker_channels(self) -> tuple[WorkerChannel, ...]:
        read = [channel for channel in self._channels if self._is_read(channel)]
        assert len({(c.source.db, c.source.name) for c in read}) == len(read), "each table has one channel"
        points = self._points()
        return tuple(WorkerChannel.of(c, self._options.rules, points.get(c.token, c.after)) for c in read)

    def _points(self) -> Mapping[str, Position]:
        return {} if self._snapshot is None else self._snapshot.points()

    def _sweep(self) -> None:
        """What neither an intent nor the last epoch's open XA transactions name.

        Whoever stood still for long may have been replaced: what was there, and what is wanted of it, holds if the
        metadata are ours afterwards. Files of the one that takes over later are not among them.
        """
        there = listed(self._options.folder)
        wanted = (*self._ledger.intents(), *self._ledger.backlog())
        kept = {f.path for epoch in wanted for segment in epoch.files.values() for f in segment}
        kept |= self._last_epoch().prepared_files
        self._ledger.hold()
        sweep(there, kept)


class _GaveUp(Exception):  # noqa: N818 - an outcome, not an error of ours
    def __init__(self, error: SyncError, kind: FailType) -> None:
        super().__init__(str(error))
        self.error = error
        self.kind = kind
