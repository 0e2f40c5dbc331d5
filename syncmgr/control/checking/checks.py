"""CHECK SYNC JOB, CHECK TABLE, STOP CHECK and REPAIR SYNC JOB: what the doors call.

Owns: which checks there are, and the thread of each.
Must not know: protocols, how a table is checked.
"""

import itertools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from syncmgr.control.alter.named_channel import channel_of
from syncmgr.control.checking.bracket import Bracket
from syncmgr.control.checking.record import OVER, Check, CheckedTable, CheckState, Row, interrupted
from syncmgr.control.checking.repairs import Repair, Repairs
from syncmgr.control.checking.table_check import OwnQueries, Suspects, TableCheck
from syncmgr.control.running.live_runs import LiveRun, LiveRuns
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.check.check_options import CheckLimits, CheckOptions
from syncmgr.job.check.compared_table import ComparedTable, compared_table, refused
from syncmgr.job.job_properties import OnValueError, parsed
from syncmgr.job.position import Position
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.source import SourceDescription
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.job.types.schema import TargetTable
from syncmgr.meta.checks.outcomes import Outcome
from syncmgr.meta.store import Store
from syncmgr.pipeline.witness import Witness, Witnesses
from syncmgr.sources.port import CheckedServer
from syncsql import CheckSync, Name, RepairSync

MOST_STORED: Final = 1000  # rows of a table that differ, of at most 8 KiB: a server of metadata takes 16 MiB at once
EVERYTHING: Final = WantedRows()
NEWEST: Final = 8  # epochs, of which at most one or two are intents
KEEPS_OUT: Final = "its job has on_value_error = {policy}, so that its target may lack values that the source has"
BEFORE: Final = "it is of an earlier life of this frontend, which has not kept the keys; check it again"
NO_SERVER: Final = "its source is {kind}, which cannot be asked for rows"

log = logging.getLogger(__name__)


class Checks:
    """Of all jobs of this frontend. Safe to use from any thread.

    What a check has found of a table is stored when it has ended with it; one that ends with the frontend says so
    after the next start.
    """

    def __init__(
        self,
        *,
        store: Store,
        runs: LiveRuns,
        witnesses: Witnesses,
        server_of: Callable[[SourceDescription], CheckedServer | None],
        target_of: Callable[[str, str], TargetTable],
        queries: OwnQueries,
        repairs: Repairs,
        limits: Callable[[], CheckLimits],
    ) -> None:
        self._store, self._runs, self._witnesses = store, runs, witnesses
        self._server_of, self._target_of, self._queries = server_of, target_of, queries
        self.repairs, self.limits = repairs, limits
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._checks: OrderedDict[int, Check] = OrderedDict()
        self._running: dict[int, _Running] = {}
        self._past: list[Outcome] = []  # of earlier lives of this frontend

    def recover(self) -> None:
        """At the start of the frontend. Raises META_DOWN."""
        for each in self._store.checks.all():
            outcome = each if each.over else replace(each, row=interrupted(each.row), over=True)
            if outcome is not each:
                self._store.checks.change(outcome)
            self._past.append(outcome)
        self._ids = itertools.count(1 + max((each.check for each in self._past), default=0))

    def start(self, node: CheckSync, db: str | None) -> int:
        """Returns at once. Raises UNKNOWN_JOB, NO_SUCH_CHANNEL, CHECK_REFUSED, PROPERTY_UNKNOWN, PROPERTY_WRONG."""
        job = self._job(node.job, db)
        options = CheckOptions.of({each.key: each.value for each in node.properties})
        channels = [channel_of(job, name) for name in node.tables] or job.channels
        return self._begin([(job, channel) for channel in channels], options)

    def start_targets(self, names: Sequence[Name], db: str | None) -> int:
        """CHECK TABLE: whatever fills these tables. Raises NO_SUCH_TABLE, CHECK_REFUSED."""
        wanted, jobs = list[tuple[SyncJob, ChannelDescription]](), self._store.jobs.all(live=True)
        for name in names:
            home = name.db or db
            if home is None:
                raise SyncError(Code.NO_DATABASE)
            here = [(job, c) for job in jobs for c in job.channels if (c.target_db, c.target) == (home, name.name)]
            if not here:
                self._target_of(home, name.name)
                reason = "no sync job fills it"
                raise SyncError(Code.CHECK_REFUSED, table=f"{home}.{name.name}", reason=reason)
            wanted += here
        return self._begin(wanted, CheckOptions.of({}))

    def repair(self, node: RepairSync, db: str | None) -> int:
        """The rows that differ are read again, and then compared by a check of their own, whose id is returned at once.

        Raises UNKNOWN_JOB, NO_SUCH_CHECK, NO_SUCH_CHANNEL, REPAIR_REFUSED, CHECK_REFUSED, RESYNC_WHERE.
        """
        job = self._job(node.job, db)
        if (job.db, job.name) not in self.jobs_of(node.check):
            raise SyncError(Code.NO_SUCH_CHECK, id=node.check)
        check = self._checks.get(node.check)
        if check is None:
            raise SyncError(Code.REPAIR_REFUSED, check=node.check, reason=BEFORE)
        token = None if node.table is None else channel_of(job, node.table).token
        repairs = self.repairs.of(job, check, token, self.limits().repaired_rows)
        options = CheckOptions.of({"keep_rows": str(max(len(each.keys) for each in repairs))})
        return self._begin([(job, each.channel) for each in repairs], options, repairs)

    def _job(self, name: Name, db: str | None) -> SyncJob:
        home = name.db or db
        if home is None:
            raise SyncError(Code.NO_DATABASE, job=name.name)
        return self._store.jobs.by_name(home, name.name)

    def _begin(
        self,
        wanted: Iterable[tuple[SyncJob, ChannelDescription]],
        options: CheckOptions,
        repairs: Sequence[Repair] = (),
    ) -> int:
        """`repairs`: of these tables, in their order."""
        pairs, limits = list(wanted), self.limits()
        for job, channel in pairs:
            if job.state is JobState.CANCELLED:
                raise SyncError(Code.ILLEGAL_TRANSITION, state=job.state.shown, event="compared with its source")
            policy = parsed(job.properties).on_value_error
            if policy not in {None, OnValueError.STOP}:
                raise refused(channel, KEEPS_OUT.format(policy=policy))
        servers = {job.id: self._server(job, channel) for job, channel in pairs}
        tables = tuple(CheckedTable(job=job, channel=channel) for job, channel in pairs)
        for table, repair in zip(tables, repairs, strict=False):
            table.repairs = repair.check.id
        with self._lock:
            if len(self._running) >= limits.running:
                raise SyncError(Code.TOO_MANY_CHECKS, limit=limits.running)
            check = Check(id=next(self._ids), options=options, tables=tables)
            self._store.checks.begin([_outcome(check, place) for place in range(len(tables))], self._forget(limits))
            self._checks[check.id] = check
            running = self._running[check.id] = _Running(self, check, servers, repairs)
        running.start()
        return check.id

    def _forget(self, limits: CheckLimits) -> list[int]:
        """So many of the oldest ones that there is room for another one."""
        past = list(dict.fromkeys(each.check for each in self._past))
        over = [each.id for each in self._checks.values() if each.is_over]
        old = [*past, *over][: max(len(past) + len(self._checks) + 1 - limits.kept, 0)]
        self._past = [each for each in self._past if each.check not in old]
        for each in old:
            self._checks.pop(each, None)
        return old

    def _server(self, job: SyncJob, channel: ChannelDescription) -> CheckedServer:
        found = self._server_of(job.source)
        if found is None:
            raise refused(channel, NO_SERVER.format(kind=job.source.kind.lower()))
        return found

    def stop(self, check_id: int) -> None:
        """Returns at once; one that has ended stays as it is. Raises NO_SUCH_CHECK."""
        self.jobs_of(check_id)
        running = self._running.get(check_id)
        if running is not None:
            running.stop()

    def outcome(self, check_id: int) -> list[tuple[str, str, str, str]] | None:
        """The rows of CHECK TABLE: table, "check", kind of message, message. None: it is not over."""
        check = self._found(check_id)
        if not check.is_over:
            return None
        return [(f"{t.channel.target_db}.{t.channel.target}", "check", *_message(t)) for t in check.tables]

    def jobs_of(self, check_id: int) -> frozenset[tuple[str, str]]:
        """Database and name. Raises NO_SUCH_CHECK."""
        past = frozenset((str(each.row[1]), str(each.row[2])) for each in self._past if each.check == check_id)
        return past or frozenset((each.job.db, each.job.name) for each in self._found(check_id).tables)

    def jobs_of_targets(self, names: Sequence[Name], db: str | None) -> frozenset[tuple[str, str]]:
        """Of the jobs that fill these tables."""
        wanted = {(name.db or db, name.name) for name in names}
        jobs = self._store.jobs.all(live=True)
        return frozenset((j.db, j.name) for j in jobs for c in j.channels if (c.target_db, c.target) in wanted)

    def rows(self, table: str, wanted: WantedRows = EVERYTHING) -> list[Row]:
        """Of sync_checks or sync_check_rows, the oldest check first. What is not wanted is not made."""
        with self._lock:
            checks, past = list(self._checks.values()), list(self._past)
        newest = itertools.chain(_newest_first(checks, table, wanted), _past_newest_first(past, table, wanted))
        found = itertools.islice(itertools.chain.from_iterable(newest), wanted.newest)
        return list(found)[::-1]

    def close(self) -> None:
        """Every one ends."""
        for running in list(self._running.values()):
            running.stop()

    def _found(self, check_id: int) -> Check:
        check = self._checks.get(check_id)
        if check is None:
            raise SyncError(Code.NO_SUCH_CHECK, id=check_id)
        return check

    # what a running check asks

    def run(self, job_id: JobId) -> LiveRun | None:
        return self._runs.of(job_id)

    def witness(self, job_id: JobId) -> Witness | None:
        return self._witnesses.of(job_id)

    def stored_end(self, job_id: JobId) -> Position | None:
        """Of the newest epoch that is committed: an intent may be in no table yet."""
        newest = self._store.epochs.of(job_id, WantedRows(newest=NEWEST))
        return next((each.epoch.end for each in reversed(newest) if each.committed_at is not None), None)

    def described(self, record: CheckedTable) -> ComparedTable:
        """As it is now. Raises CHECK_REFUSED, CHECK_BROKEN."""
        job = self._store.jobs.by_id(record.job.id)
        channels = () if job is None else job.channels
        channel = next((each for each in channels if each.token == record.channel.token), None)
        if channel is None or not channel.history.is_read:
            label = record.channel.source.label
            raise SyncError(Code.CHECK_BROKEN, table=label, reason="its job no longer reads it")
        return compared_table(channel, self._target_of(channel.target_db, channel.target))

    def own(self, sql: str, tag: str) -> list[tuple[Any, ...]]:
        return self._queries.own(sql, tag)

    def cancel(self, tag: str) -> None:
        self._queries.cancel(tag)

    def keep(self, check: Check, place: int) -> None:
        """Of a table that is over. What cannot be stored is shown as long as this frontend lives."""
        try:
            self._store.checks.change(_outcome(check, place))
        except SyncError as error:
            log.warning("what check %d has found is not stored: %s", check.id, error)

    def ended(self, check_id: int) -> None:
        self._running.pop(check_id, None)


class _Running:
    """The thread of one check."""

    def __init__(
        self, checks: Checks, check: Check, servers: dict[JobId, CheckedServer], repairs: Sequence[Repair]
    ) -> None:
        self._checks, self._check, self._servers, self._repairs = checks, check, servers, repairs
        self._stopped = threading.Event()
        self._tags = itertools.count(1)
        self._tag = ""
        self._thread = threading.Thread(target=self._run, name=f"check-{check.id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for server in self._servers.values():
            server.give_up()
        # it may take a moment, and the caller may be the event loop
        threading.Thread(target=self._checks.cancel, args=(self._tag,), name="check-cancel", daemon=True).start()

    def _run(self) -> None:
        try:
            if self._repairs:
                self._checks.repairs.store(self._check.tables[0].job, self._repairs)
            for place, record in enumerate(self._check.tables):
                self._run_table(record, self._repairs[place] if self._repairs else None)
                self._checks.keep(self._check, place)
        except SyncError as error:
            self._end_all(str(error))
        except Exception:
            log.exception("check %d", self._check.id)
        finally:
            self._end_all("an internal error; fe.log has the details")
            self._checks.ended(self._check.id)

    def _end_all(self, reason: str) -> None:
        """Those that are not over."""
        for place, record in enumerate(self._check.tables):
            if record.state not in OVER:
                record.ends(CheckState.FAILED, reason)
                self._checks.keep(self._check, place)

    def _run_table(self, record: CheckedTable, repair: Repair | None) -> None:
        server, repairs = self._servers[record.job.id], self._checks.repairs
        record.generation = repairs.generation(record.job, record.channel.token)

        def described() -> ComparedTable:
            return self._checks.described(record)

        def bracket(table: ComparedTable) -> Bracket:
            return Bracket(
                job_id=record.job.id,
                table=table,
                now=described,
                server=server,
                runs=self._checks,
                stopped=self._stopped,
            )

        TableCheck(
            record,
            self._check.options,
            described,
            bracket,
            self._asked,
            self._stopped,
            patience_second=self._checks.limits().wait_second,
            suspects=None if repair is None else self._suspects(record, repair),
        ).run()
        if repair is not None and repairs.ended(repair, record):
            self._checks.keep(repair.check, repair.place)
        log.info("check %d of %s: %s", self._check.id, record.channel.label, record.told)

    def _suspects(self, record: CheckedTable, repair: Repair) -> Suspects:
        table = repair.found.table
        assert table is not None, "it has found rows"
        return Suspects(
            keys=repair.keys,
            key=table.key_sources,
            read=lambda: self._checks.repairs.await_read(record.job, record.channel.token),
        )

    def _asked(self, sql: str) -> list[tuple[Any, ...]]:
        self._tag = f"check-{self._check.id}-{next(self._tags)}"
        if self._stopped.is_set():
            raise SyncError(Code.INTERRUPTED)
        return self._checks.own(sql, self._tag)


def _newest_first(checks: Sequence[Check], table: str, wanted: WantedRows) -> Iterator[Iterable[Row]]:
    """The rows of each table."""
    for check in reversed(checks):
        for each in reversed(check.tables):
            job = each.job
            if wanted.check in {None, check.id} and wanted.job(job.id, job.db, job.name):
                yield (each.row(check.id),) if table == "sync_checks" else reversed(tuple(each.rows(check.id)))


def _past_newest_first(past: Sequence[Outcome], table: str, wanted: WantedRows) -> Iterator[Iterable[Row]]:
    for each in reversed(past):
        if wanted.check in {None, each.check} and wanted.job(each.job_id, str(each.row[1]), str(each.row[2])):
            yield (each.row,) if table == "sync_checks" else reversed(each.found)


def _outcome(check: Check, place: int) -> Outcome:
    table = check.tables[place]
    rows = tuple(itertools.islice(table.rows(check.id), MOST_STORED))
    over = table.state in OVER
    return Outcome(check=check.id, place=place, job_id=table.job.id, row=table.row(check.id), found=rows, over=over)


def _message(table: CheckedTable) -> tuple[str, str]:
    """As MySQL's CHECK TABLE words it."""
    if table.state is CheckState.DONE:
        return ("status", "OK") if table.result == "EQUAL" else ("error", table.told)
    return "error", table.told
