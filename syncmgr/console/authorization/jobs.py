"""Sync jobs, as far as one account may use and see them.

Owns: which privilege each call of the port needs, and what is left out of an answer.
Must not know: statements, sessions, how rights are granted.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

import syncsql
from syncmgr.accounts.user import Privilege, Rights, Scope, database, job, table
from syncmgr.console.authorization.access import Access
from syncmgr.console.ports import Jobs
from syncmgr.console.redaction import NAMING, naming_no_job, quotes_value, text_naming_no_job, without_value
from syncmgr.errors import Code, Diagnostic, SyncError
from syncmgr.job.metrics.sample import JobSample
from syncsql import (
    AddTables,
    AlterSync,
    Channel,
    CreateSync,
    ExplainSync,
    JobAlteration,
    Name,
    Property,
    SetSource,
    Shards,
    Tables,
)

DROPS: Final = '; "on_drop_table" = "drop" needs what DROP TABLE of the job\'s targets needs'


class AuthorizedJobs:
    """Sync jobs: LOAD_PRIV on the job allows changing one, on the database and its targets creating one. What waits for
    a source is checked again when it has its answers: whoever makes the source knows how long that takes.
    """

    def __init__(self, jobs: Jobs, access: Access) -> None:
        self._jobs = jobs
        self._access = access

    def create(self, node: CreateSync, db: str | None) -> tuple[Diagnostic, ...]:
        allowed = partial(self._need_all, node, db)
        allowed()
        creator, bounded = str(self._access.account), not self._access.rights.is_admin
        with self.naming_seen():
            remarks = self._jobs.create(node, db, creator, bounded=bounded, allowed=allowed)
        hidden = self._hidden() if remarks else ()
        return tuple(replace(each, text=text_naming_no_job(each.text, hidden)) for each in remarks)

    def explain(self, node: ExplainSync, db: str | None) -> list[tuple[str, ...]]:
        """It reports tables and sources, so it needs what CREATE SYNC needs."""
        self._need_all(node.sync, db)
        rows = self._jobs.explain(node, db, bounded=not self._access.rights.is_admin)
        self._need_all(node.sync, db)
        hidden = self._hidden()
        return [tuple(text_naming_no_job(cell, hidden) for cell in row) for row in rows]

    def _need_all(self, node: CreateSync, db: str | None) -> None:
        home = node.job.db or db
        if home is None:
            return  # the call says that there is none
        self._access.need(Privilege.LOAD, database(home))
        self._need_targets(node.channels, home)
        if _drops(node.properties):
            self._need_drops(_targets(node.channels, home))

    def _need_targets(self, channels: Iterable[Channel | Tables | Shards], home: str) -> None:
        for channel in channels:
            if isinstance(channel, Tables):
                self._access.need(Privilege.LOAD, database(channel.target_db))
                self._access.need(Privilege.CREATE, database(channel.target_db))
                continue
            self._access.need(Privilege.LOAD, table(channel.target.db or home, channel.target.name))
            if isinstance(channel, Shards):
                self._access.need(Privilege.CREATE, table(channel.target.db or home, channel.target.name))

    def _need_drops(self, targets: Iterable[Scope]) -> None:
        """The job drops its targets by itself."""
        try:
            for target in targets:
                self._access.need(Privilege.DROP, target)
        except SyncError as error:
            raise error.saying(DROPS) from error

    def pause(self, name: Name, db: str | None) -> None:
        self._need(name, db)
        self._jobs.pause(name, db)

    def alter(self, node: JobAlteration, db: str | None) -> None:
        allowed = partial(self._need_altered, node, db)
        allowed()
        self._jobs.alter(node, db, allowed)

    def _need_altered(self, node: JobAlteration, db: str | None) -> None:
        self._need(node.job, db)
        home = node.job.db or db
        if home is None or not (isinstance(node, AlterSync) and _drops(node.properties)):
            return
        named = {job_id for job_id, name in self._jobs.names(home).items() if name == (home, node.job.name)}
        filled = {table(*target) for targets in self._jobs.targets(named).values() for target in targets}
        self._need_drops(sorted(filled | set(_targets(self._statement(node.job, db).channels, home))))

    def _statement(self, name: Name, db: str | None) -> CreateSync:
        [parsed] = syncsql.parse(self._jobs.create_text(name, db))
        assert isinstance(parsed.statement, CreateSync), "a job is shown by the text that would make it"
        return parsed.statement

    def set_source(self, node: SetSource, db: str | None) -> None:
        allowed = partial(self._need_source, node.job, db)
        allowed()
        with self.naming_seen():
            self._jobs.set_source(node, db, allowed, bounded=not self._access.rights.is_admin)

    def _need_source(self, name: Name, db: str | None) -> None:
        """As for CREATE SYNC: from then on its targets hold what that server says."""
        self._need(name, db)
        home = name.db or db
        ids = [job_id for job_id, of in self._jobs.names(home).items() if of == (home, name.name)]
        if home is None or not ids:
            return  # the call says what there is not
        self._access.need(Privilege.LOAD, database(home))
        for target in sorted({target for targets in self._jobs.targets(ids).values() for target in targets}):
            self._access.need(Privilege.LOAD, table(*target))

    def add_tables(self, node: AddTables, db: str | None) -> tuple[Diagnostic, ...]:
        allowed = partial(self._need_added, node, db)
        allowed()
        with self.naming_seen():
            return self._jobs.add_tables(node, db, allowed)

    @contextmanager
    def naming_seen(self) -> Iterator[None]:
        """Errors inside name no job that is not seen."""
        try:
            yield
        except SyncError as error:
            if error.code not in NAMING:
                raise
            raise naming_no_job(error, self._hidden()) from error

    def _hidden(self) -> frozenset[str]:
        rights = self._access.rights
        names = () if rights.is_admin else self._jobs.names(None).values()
        return frozenset(f"{db}.{name}" for db, name in names if not rights.sees(job(db, name)))

    def _need_added(self, node: AddTables, db: str | None) -> None:
        self._need(node.job, db)
        home = node.job.db or db
        if home is not None:
            self._need_targets(node.channels, home)
            if _drops(self._statement(node.job, db).properties):
                self._need_drops(_targets(node.channels, home))

    def resume(self, name: Name, db: str | None) -> None:
        self._need(name, db)
        self._jobs.resume(name, db)

    def stop(self, name: Name, db: str | None) -> tuple[Diagnostic, ...]:
        self._need(name, db)
        return self._jobs.stop(name, db)

    def show(self, db: str | None, ids: Collection[str] | None = None) -> list[tuple[str | None, ...]]:
        rows = self._jobs.show(db, _seen(self.names, self._access.rights, db, ids))
        return rows if self._access.rights.is_admin else self.readable(rows)

    def readable(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows that begin with the id of a job, without values of its rows for users who could not read those in its
        targets.
        """
        quoting = {str(row[0]) for row in rows if any(map(quotes_value, row))}
        targets = self._jobs.targets(quoting) if quoting else {}  # of a job that was just forgotten nothing is known
        may, select = self._access.rights.may, Privilege.SELECT
        hidden = quoting - {each for each, them in targets.items() if all(may(select, table(*one)) for one in them)}
        return [_without_values(row) if str(row[0]) in hidden else row for row in rows]

    def samples(self, db: str | None, ids: Collection[str] | None = None) -> Sequence[JobSample]:
        """They have no values of rows."""
        return self._jobs.samples(db, _seen(self.names, self._access.rights, db, ids))

    def names(self, db: str | None) -> dict[str, tuple[str, str]]:
        rights = self._access.rights
        return {job_id: name for job_id, name in self._jobs.names(db).items() if rights.sees(job(*name))}

    def create_text(self, name: Name, db: str | None) -> str:
        self._need_sight(name, db)
        return self._jobs.create_text(name, db)

    def _need(self, name: Name, db: str | None) -> None:
        self._need_sight(name, db)
        home = name.db or db
        if home is not None:
            self._access.need(Privilege.LOAD, job(home, name.name))

    def _need_sight(self, name: Name, db: str | None) -> None:
        home = name.db or db
        if home is not None and not self._access.rights.sees(job(home, name.name)):
            raise SyncError(Code.UNKNOWN_JOB, job=name.name, db=home)


def _seen(
    names: Callable[[str | None], Collection[str]], rights: Rights, db: str | None, ids: Collection[str] | None
) -> Collection[str] | None:
    """Other jobs are not even looked at: their number would show in the time. `names`: of those that are seen."""
    if rights.is_admin:
        return ids
    return {job_id for job_id in names(db) if ids is None or job_id in ids}


def _drops(properties: Iterable[Property]) -> bool:
    """Whether a job with these drops a target when its source table is dropped; the last of several counts."""
    return {each.key: each.value for each in properties}.get("on_drop_table") == "drop"


def _targets(channels: Iterable[Channel | Tables | Shards], home: str) -> list[Scope]:
    """What they fill; of a pattern, the database in which it makes its targets."""
    return [
        database(each.target_db) if isinstance(each, Tables) else table(each.target.db or home, each.target.name)
        for each in channels
    ]


def _without_values(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(without_value(cell) for cell in row)
