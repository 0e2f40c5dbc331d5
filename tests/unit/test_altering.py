from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from syncmgr.altering import Altering
from syncmgr.errors import Code, SyncError
from syncmgr.job.description import ChannelDescription
from syncmgr.job.position import Position
from syncmgr.job.schema import SourceColumn, SourceTable
from syncmgr.job.sync_job import SyncJob
from syncmgr.planning import Planner
from syncsql import Expression, LeaveTable, Name, RenameSync, ResyncTable
from tests.unit.job.factories import make_canal, make_channel, make_job, make_source, make_source_table

NOW = Position(gtids="u:1-9", file="b.000002", offset=9, server="u")
STATEMENT = (
    "CREATE SYNC demo.job1 (FROM shop.orders INTO orders, FROM shop.lines INTO lines) FROM BINLOG (type = mysql)"
)
LINES = make_channel(token="lines", source=make_source_table(name="lines"), target="lines")
RESYNC = ResyncTable(job=Name(name="job1"), table=Name(db="shop", name="lines"))


@dataclass(frozen=True)
class Facts:
    tables: tuple[SourceTable, ...]
    start: Position = NOW


@dataclass
class Shelf:
    """A store that notes what is changed, and a source of one table."""

    now: SourceTable = LINES.source
    position: Position = NOW
    others: tuple[SyncJob, ...] = ()
    changed: list[ChannelDescription] = field(default_factory=list)
    marked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    saved: list[SyncJob] = field(default_factory=list)

    def altering(self) -> Altering:
        return Altering(self, self, _unused(Planner), self.inspect, self.survey, lambda _: 1)  # type: ignore[arg-type]

    def inspect(self, source: Any, tables: Sequence[tuple[str, str]]) -> Facts:
        assert (source.start, source.server_id, list(tables)) == ("snapshot", 0, [("shop", "lines")])
        return Facts((self.now,))

    def survey(self, source: Any, databases: Sequence[str]) -> Mapping[Any, Any]:
        raise AssertionError("nobody asks for it")

    def figures(self, job_id: int) -> Any:
        return self

    def jobs(self, db: str | None = None) -> list[SyncJob]:
        return list(self.others)

    def save(self, job: SyncJob) -> SyncJob:
        self.saved.append(job)
        return job

    def alter(
        self,
        job: SyncJob,
        *,
        joining: object = None,
        leaving: Collection[str] = (),
        resyncing: Collection[str] = (),
        changed: Collection[ChannelDescription] = (),
    ) -> None:
        self.saved.append(job)
        self.marked = {"leaving": tuple(leaving), "resyncing": tuple(resyncing)}
        self.changed += changed


def _unused(kind: type[Planner]) -> Planner:
    return object.__new__(kind)


def job_of(*channels: ChannelDescription, **overrides: Any) -> SyncJob:
    return make_job(channels=channels or (make_channel(), LINES), statement=STATEMENT, **overrides)


def test_a_table_is_read_anew_from_the_next_run_on() -> None:
    """One that is read as it should be stays what it is; nobody asks its source."""
    shelf, job = Shelf(), job_of()
    altering = shelf.altering()
    assert altering.looked_at(job, RESYNC) is None
    assert altering.alter(job, RESYNC)
    assert (shelf.marked["resyncing"], shelf.changed) == (("lines",), [])


def test_a_table_that_was_stopped_is_read_from_where_its_source_stands() -> None:
    """What it has missed comes with its rows; where its columns are others, nobody knows what its target should be."""
    stopped = replace(LINES, stopped="its rows were cut")
    shelf, job = Shelf(), job_of(make_channel(), stopped)
    altering = shelf.altering()
    again = altering.looked_at(job, RESYNC)
    assert altering.alter(job, RESYNC, again)
    assert shelf.changed == [replace(LINES, after=NOW)]
    shelf.now = replace(LINES.source, columns=(SourceColumn(name="id", type="int"), *LINES.source.columns[1:]))
    with pytest.raises(SyncError, match="columns have changed") as raised:
        altering.looked_at(job, RESYNC)
    assert raised.value.code is Code.SNAPSHOT_REFUSED


@pytest.mark.parametrize(
    ("job", "position", "code"),
    [
        (job_of(), replace(NOW, gtids=""), Code.SNAPSHOT_REFUSED),
        (job_of(make_channel(), replace(LINES, keys=())), NOW, Code.NOT_SUPPORTED),
        (job_of(source=make_canal()), NOW, Code.NOT_SUPPORTED),
        (job_of(make_channel()), NOW, Code.NO_SUCH_CHANNEL),
    ],
)
def test_what_cannot_be_read_anew_is_refused(job: SyncJob, position: Position, code: Code) -> None:
    """Without GTIDs, without a key, from canal, and what the job does not have."""
    with pytest.raises(SyncError) as raised:
        Shelf(position=position).altering().alter(job, RESYNC)
    assert raised.value.code is code


def test_a_part_of_a_table_is_not_read_anew() -> None:
    """A row that went unseen from what the condition means would be taken for one that is gone, or stay."""
    where = Expression(canonical="`id` > 5", text="id > 5", line=1, column=1)
    with pytest.raises(SyncError, match="leave WHERE out") as raised:
        Shelf().altering().alter(job_of(), replace(RESYNC, where=where))
    assert raised.value.code is Code.NOT_SUPPORTED


def test_the_last_table_does_not_leave() -> None:
    """The job would have nothing to do; another one goes, and the text forgets it."""
    shelf, node = Shelf(), LeaveTable(job=Name(name="job1"), table=Name(name="lines"))
    assert shelf.altering().alter(job_of(), node)
    assert shelf.marked["leaving"] == ("lines",)
    assert "`lines`" not in shelf.saved[-1].statement
    with pytest.raises(SyncError, match="STOP SYNC JOB"):
        shelf.altering().alter(job_of(LINES), node)


def test_a_table_whose_target_was_dropped_is_named_no_more() -> None:
    """A pattern may mean it again when it comes again; where no other is left, the job ends."""
    shelf, dropped = Shelf(), replace(LINES, gone=True, dropped=True)
    assert shelf.altering().let_go(job_of())
    assert shelf.saved == []
    assert shelf.altering().let_go(job_of(make_channel(), dropped))
    assert shelf.marked["leaving"] == ("lines",)
    assert "`lines`" not in shelf.saved[-1].statement
    text = STATEMENT.replace("FROM shop.lines INTO lines", "FROM shop.`l%` INTO demo.*")
    assert shelf.altering().let_go(make_job(channels=(make_channel(), dropped), statement=text))
    assert "EXCLUDE" not in shelf.saved[-1].statement
    assert not shelf.altering().let_go(job_of(dropped))


def test_a_name_is_free_or_refused() -> None:
    """Of a job that is not cancelled; what runs need not know of another name."""
    node = RenameSync(job=Name(name="job1"), to="job2")
    shelf = Shelf()
    assert not shelf.altering().alter(job_of(source=make_source()), node)
    assert shelf.saved[-1].name == "job2"
    with pytest.raises(SyncError) as raised:
        Shelf(others=(make_job(name="job2"),)).altering().alter(job_of(), node)
    assert raised.value.code is Code.JOB_EXISTS
