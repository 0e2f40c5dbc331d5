"""The DDL of some sixty tools through the product: the columns that it derives, against those of the server."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.channel_plan import plan_channel
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_plan import Rules, plan_ddl
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import AddField, RenameField
from syncmgr.job.ddl_policy import OnDdl
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import OP, Batch, ChangeKind, Ddl
from syncmgr.job.types.derived_type import derived
from syncmgr.job.types.schema import SourceTable, TargetColumn, TargetTable, UniqueKey
from syncmgr.pipeline.messages import WorkerChannel
from syncmgr.sources.mysql.binlog.subscriptions import subscriptions
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.ddl_server import Done, Run, execute, prepared
from tests.contract.mysql.ddl.test_mysql_ddl_values import new_values, unlike
from tests.contract.mysql_reader import Reader, Row, facts, latest, reached, reading
from tests.support.ddl_corpus import cases
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND
from tests.unit.job.factories import with_history

pytestmark = pytest.mark.mysql
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02))
SWAPPED: Final = "took its place"
STATEMENTS, TOOLS = 1000, 60  # that the corpus has at least
NOTHING: Final[tuple[str, ...]] = ()
FRAMEWORKS: Final = ("orm_",)  # the beginnings of files


def planned(
    source: SourceTable, before: ChannelDescription | None = None, by: tuple[str, ...] | None = None
) -> ChannelDescription:
    """A channel that takes the whole table; `before`: what it was, of which copies and the like stay known. `by`: the
    unique key by which the target distinguishes rows; None: the primary one.
    """
    primary = tuple(column.name for column in sorted(source.columns, key=lambda each: each.key) if column.key)
    keys = primary if by is None else by
    made = plan_channel(
        token=source.db,
        source=source,
        unique_keys=[keys] if keys else [],
        target=target(source, keys),
        items=(),
        where=None,
    )
    return (
        made
        if before is None
        else with_history(made, shadows=before.history.shadows, source_dropped=before.history.source_dropped)
    )


def target(source: SourceTable, keys: tuple[str, ...]) -> TargetTable:
    columns = tuple(TargetColumn(name=c.name, type=derived(c), nullable=c.nullable) for c in source.columns)  # type: ignore[arg-type]
    return TargetTable(db="lake", name=source.name, columns=columns, keys=keys, reserved_columns=frozenset())


def worker(channel: ChannelDescription) -> WorkerChannel:
    return WorkerChannel(
        token=channel.token,
        source=channel.source,
        reads=channel.reads,
        source_keys=channel.source_keys,
        append_on_change=AppendOnChange.ERROR,
        shadows=channel.history.shadows,
    )


@dataclass(slots=True)
class Followed:
    """A case as the product reads it. `channel` None: its table is not read. `old`: the row that was written last."""

    run: Run
    flavour: str
    version: tuple[int, int]
    channel: ChannelDescription | None
    last: Done | None = None
    step: DdlStep | None = None
    before: SourceTable | None = None
    old: Row | None = None

    def met(self, ddl: Ddl) -> Iterator[str]:
        """What is not as the server has it after the statement."""
        assert ddl.followable is not None
        done = self.run.done.pop(ddl.followable.moment.at)
        yield from self._unheeded(ddl.followable.moment.at)
        assert self.channel is not None
        self.before, self.last, self.step = self.channel.source, done, None
        before = self.channel
        describe = target(before.source, before.keys)
        rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.APPEND, describe=lambda _: describe)
        wanted = done.statement.stop(self.flavour, self.version)
        try:
            self.step = plan_ddl(ddl.followable, [before], rules)
        except SyncError as error:
            reason = str(error.context["reason"])
            if wanted is None or wanted.reason not in reason:
                yield f"stopped: {reason}: {done.statement.line}"
            self._resync(done)
            return
        if wanted is not None:
            yield f"followed, where it was to stop: {done.statement.line}"
        now = self.step.channels.get(before.token, before)
        found = done.tables.get(now.source.name)
        if (found is None) is not now.history.source_dropped:
            where = "gone here, and there" if now.history.source_dropped else "here, and gone"
            yield f"{now.source.name} is {where} at the server: {done.statement.line}"
        self.channel = now
        if found is not None:
            different = [*unlike(now.source, found), *lost_keys(now.source, found)]
            yield from (f"{each}: {done.statement.line}" for each in different)
            self.channel = planned(found if different else now.source, now)

    def _unheeded(self, until_second: float) -> Iterator[str]:
        """Statements that passed without being told: the columns must be what they were."""
        for second in [each for each in self.run.done if each < until_second]:
            done = self.run.done.pop(second)
            if self.channel is None or self.channel.history.source_dropped:
                continue
            found = done.tables.get(self.channel.source.name)
            if found is None or list(unlike(self.channel.source, found)):
                yield f"passed unseen: {done.statement.line}"

    def ended(self) -> Iterator[str]:
        yield from self._unheeded(float("inf"))

    def _resync(self, done: Done) -> None:
        """As RESYNC TABLE does it; what the table is called now, a stop does not say."""
        assert self.channel is not None
        found = done.tables.get(self.channel.source.name)
        self.channel = None if found is None else planned(found)
        self.old = None

    def rows(self, batches: Sequence[Batch]) -> Iterator[str]:
        """Those that were written after the statement: first the old one goes, as it is now."""
        if self.channel is None or self.last is None:
            return
        name = self.channel.source.db, self.channel.source.name
        parts = [part for batch in batches for part in batch.changes if part.table == name]
        try:
            found = [row for part in parts for row in part.decode().to_pylist()]
        except SyncError as error:
            if error.code is not Code.SOURCE_ROW_IMAGE or name[1] not in self.last.cut:
                raise
            self.old = None
            return
        gone = next((row for row in found if row[OP] == ChangeKind.DELETE), None)
        new = next((row for row in reversed(found) if row[OP] == ChangeKind.INSERT), None)
        if new is None and name[1] in self.last.tables:
            yield f"no row came after {self.last.statement.line}"
        if self.step is not None and self.old is not None and gone is not None:
            yield from (f"{each}: {self.last.statement.line}" for each in self._values(self.step, self.old, gone))
        self.old = new

    def _values(self, step: DdlStep, old: Row, gone: Row) -> Iterator[str]:
        assert self.before is not None
        changes = step.changes.get(self.before.db, ())
        others = {name for each in changes if isinstance(each, RenameField) for name in (each.old, each.new)}
        others |= {each.name for each in changes if isinstance(each, AddField)}
        for name in gone.keys() & old.keys() - others - {OP}:
            if old[name] != gone[name]:
                yield f"{name} was {old[name]!r} and is {gone[name]!r}"
        if SWAPPED not in step.done.get(self.before.db, ""):  # after which the row is that of the copy
            yield from new_values(changes, gone)


def lost_keys(made: SourceTable, found: SourceTable) -> Iterator[str]:
    """The unique keys that the server has, and those that were derived have not; more of them do no harm."""
    assert found.unique is not None
    for key in found.unique:
        if made.unique is not None and not any(_covers(mine, key) for mine in made.unique):
            yield f"no {key} in {made.unique}"


def _covers(mine: UniqueKey, key: UniqueKey) -> bool:
    """Where it has more than columns, nobody asks which."""
    known = {column.casefold() for column in mine.columns}
    return known == {column.casefold() for column in key.columns} or "" in known


def follow_all(server: MysqlServer, runs: Sequence[Run]) -> list[str]:
    """All cases through one reader; what is wrong, with its place."""
    known = facts(server, [(run.db, run.subject) for run in runs])
    followed = {
        run.db: Followed(run, server.flavour, server.version(), planned(table))
        for run, table in zip(runs, known.tables, strict=True)
    }
    failed = list(execute(server, runs))
    end = latest(server)
    wanted = subscriptions([worker(each.channel) for each in followed.values() if each.channel], known.start)
    with reading(server, wanted, known.start, options=QUICK) as reader:
        here, mark = None, 0
        for ddl in statements(reader, end):
            if here is not None:
                failed += [f"{here.run.case.place}: {each}" for each in here.rows(reader.batches[mark:])]
            mark = len(reader.batches)
            if ddl is not None:
                here = followed[ddl.table[0]]
                failed += [f"{here.run.case.place}: {each}" for each in here.met(ddl)]
                reader.source.follow([worker(each.channel) for each in followed.values() if each.channel])
    for each in followed.values():
        failed += [f"{each.run.case.place}: {said}" for said in each.ended()]
    return failed


def statements(reader: Reader, end: Position) -> Iterator[Ddl | None]:
    """As they are met; None: there are no more."""
    deadline = time.monotonic() + HANG_SECOND
    while time.monotonic() < deadline:
        batch = reader.get()
        if batch is not None and batch.ddl is not None:
            yield batch.ddl
            deadline = time.monotonic() + HANG_SECOND
        elif batch is not None and batch.end is not None and reached(batch.end, end):
            yield None
            return
    raise AssertionError(f"{end} was not reached: {reader.batches[-1:]}")


# Each server and each form of the metadata in every run; MariaDB without what frameworks write: MySQL takes it alike.
@pytest.mark.parametrize(
    ("any_server", "metadata", "left_out"),
    [
        pytest.param("mysql", "MINIMAL", NOTHING, id="mysql-MINIMAL"),
        pytest.param("mariadb", "FULL", FRAMEWORKS, id="mariadb-FULL, without frameworks"),
        pytest.param("mariadb", "FULL", NOTHING, id="mariadb-FULL", marks=pytest.mark.slow),
        pytest.param("mysql", "FULL", NOTHING, id="mysql-FULL", marks=pytest.mark.long),
        pytest.param("mariadb", "MINIMAL", NOTHING, id="mariadb-MINIMAL", marks=pytest.mark.long),
    ],
    indirect=["any_server"],
)
def test_the_columns_are_those_of_the_server(any_server: MysqlServer, metadata: str, left_out: tuple[str, ...]) -> None:
    """After each statement of the corpus, which is read to its end; it stops where its case says so, and why."""
    asked = [case for case in cases() if not case.place.startswith(left_out)]
    with (
        any_server.global_variable("binlog_row_metadata", f"'{metadata}'"),
        prepared(any_server, asked) as runs,
    ):
        failed = follow_all(any_server, runs)
    assert not failed, "\n".join(failed)


def test_the_corpus_is_large() -> None:
    """Enough statements, each tool's own."""
    assert sum(each.is_ddl for case in cases() for each in case.statements) >= STATEMENTS
    assert len({case.tool for case in cases()}) >= TOOLS
