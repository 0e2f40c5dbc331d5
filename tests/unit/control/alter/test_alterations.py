from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pytest

from syncmgr.control.alter.alterations import Alterations
from syncmgr.control.alter.joining_tables import JoiningTables
from syncmgr.control.alter.resync import LookedAt, Resyncs
from syncmgr.control.planning import Planner
from syncmgr.control.sync_request import Plan
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import ChannelDescription, MappedColumn
from syncmgr.job.channel.patterns import Found
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import AddField
from syncmgr.job.epoch import Backlog, Epoch, LastCommit
from syncmgr.job.failure import FailMsg, FailType
from syncmgr.job.position import Position
from syncmgr.job.show_sync import Figures
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.snapshot.renewal import Renewal
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetTable, TargetType
from syncmgr.job.types.target import parse_type
from syncmgr.meta.channels import ChannelProgress
from syncsql import LeaveTable, Name, RenameSync, ResyncTable, SettleDdl, parse
from tests.unit.job.factories import (
    make_canal,
    make_channel,
    make_job,
    make_source,
    make_source_table,
    make_target,
    with_history,
)

NOW = Position(gtids="u:1-9", file="b.000002", offset=9, server="u")
STATEMENT = (
    "CREATE SYNC demo.job1 (FROM shop.orders INTO orders, FROM shop.lines INTO lines) FROM BINLOG (type = mysql)"
)
LINES = make_channel(token="lines", source=make_source_table(name="lines"), target="lines")
TARGET = make_target(name="lines", writers=("lines",))
RESYNC = ResyncTable(job=Name(name="job1"), table=Name(db="shop", name="lines"))


@dataclass(frozen=True)
class Facts:
    tables: tuple[SourceTable, ...]
    start: Position = NOW
    known_at: Position = NOW
    unique_keys: tuple[tuple[tuple[str, ...], ...], ...] = ((("id",),),)


@dataclass
class Shelf:
    """A store that notes what is changed, and a source of one table."""

    now: SourceTable = LINES.source
    position: Position = NOW
    others: tuple[SyncJob, ...] = ()
    changed: list[Renewal] = field(default_factory=list)
    marked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    saved: list[SyncJob] = field(default_factory=list)
    excerpts: dict[str, KeyRange | None] = field(default_factory=dict)
    open: dict[str, Load] = field(default_factory=dict)
    pending: list[Epoch] = field(default_factory=list)
    behind: dict[str, Backlog] = field(default_factory=dict)
    stale: dict[str, float] = field(default_factory=dict)
    target: TargetTable | None = None
    replaced: bool = False
    locked: bool = False

    def altering(self) -> Alterations:
        return Alterations(self, self.resyncs())

    def resyncs(self) -> Resyncs:
        return Resyncs(self, self, _unused(Planner), self.inspect)  # type: ignore[arg-type]

    def joining(self) -> JoiningTables:
        return JoiningTables(self, _unused(Planner), self.survey, lambda _: 1)

    def inspect(self, source: Any, tables: Sequence[tuple[str, str]]) -> Facts:
        asked = source.start, source.server_id, source.joins, list(tables)
        assert asked == ("snapshot", 0, True, [("shop", self.now.name)])
        return Facts((self.now,))

    def is_other(self, db: str, name: str, token: str, last_snapshot: int) -> bool:
        assert not self.locked, "the jobs wait for the lake"
        assert (token, last_snapshot) in {("lines", 1), ("token-1", 1)}
        return self.replaced

    def survey(self, source: Any, databases: Sequence[str]) -> Mapping[Any, Any]:
        raise AssertionError("nobody asks for it")

    @property
    def jobs(self) -> "Shelf":
        return self

    @property
    def epochs(self) -> "Shelf":
        return self

    def labels(self, db: str | None = None, *, live: bool = False) -> list[SyncJob]:
        return list(self.others)

    def figures(self, job_id: int) -> Figures:
        return Figures(position=NOW, rows=0, bytes=0, commits=0, synced_until=70.0)

    def progress(self, job_id: int) -> Mapping[str, ChannelProgress]:
        return {
            token: ChannelProgress(token=token, last=LastCommit(epoch=1, snapshot=1)) for token in ("token-1", "lines")
        }

    def waiting(self, job_id: int) -> Mapping[str, Backlog]:
        return self.behind

    def intents(self, job_id: int) -> Sequence[Epoch]:
        return self.pending

    def save(self, job: SyncJob) -> SyncJob:
        self.saved.append(job)
        return job

    def alter(
        self,
        job: SyncJob,
        *,
        joining: object = None,
        leaving: Collection[str] = (),
        resyncing: Mapping[str, KeyRange | None] = MappingProxyType({}),
        changed: Collection[Renewal] = (),
        stale: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.saved.append(job)
        self.marked = {"leaving": tuple(leaving), "resyncing": tuple(resyncing)}
        self.excerpts = dict(resyncing)
        self.changed += changed
        self.stale |= stale

    @property
    def loads(self) -> "Shelf":
        return self

    def of(self, job_id: int) -> Mapping[str, Load]:
        return self.open

    def table(self, db: str, name: str) -> TargetTable:
        assert (db, name) == (LINES.target_db, LINES.target)
        return self.target or TARGET


def _unused(kind: type[Planner]) -> Planner:
    return object.__new__(kind)


def alter(shelf: Shelf, job: SyncJob, node: ResyncTable) -> bool:
    """As a statement does it: source and lake are asked before the jobs are locked, and not again."""
    looked_at = shelf.resyncs().looked_at(job, node)
    shelf.locked = True
    try:
        return shelf.altering().alter(job, node, looked_at)
    finally:
        shelf.locked = False


def job_of(*channels: ChannelDescription, **overrides: Any) -> SyncJob:
    return make_job(channels=channels or (make_channel(), LINES), statement=STATEMENT, **overrides)


def test_a_table_is_read_anew_from_the_next_run_on() -> None:
    """One that is read as it should be stays what it is; nobody asks its source."""
    shelf, job = Shelf(), job_of()
    altering = shelf.altering()
    looked_at = shelf.resyncs().looked_at(job, RESYNC)
    assert looked_at is not None
    assert looked_at.renewal is None
    assert altering.alter(job, RESYNC, looked_at)
    assert (shelf.marked["resyncing"], shelf.changed) == (("lines",), [])


@pytest.mark.parametrize(("state", "is_renewed"), [(JobState.PAUSED, True), (JobState.RUNNING, False)])
def test_a_stored_statement_on_a_table_is_made_up_for(state: JobState, *, is_renewed: bool) -> None:
    """Which RESUME would follow first; while the job runs it is being followed."""
    step = DdlStep(statement="ALTER", channels={"lines": LINES})
    shelf, job = Shelf(pending=[Epoch(number=2, end=NOW, last_seq=0, ddl=step)]), replace(job_of(), state=state)
    assert alter(shelf, job, RESYNC)
    assert [renewal.channel.history.after for renewal in shelf.changed] == [NOW] * is_renewed


def test_a_table_is_read_under_the_name_that_a_stored_statement_gives_it() -> None:
    """The source has it under no other by then."""
    renamed = replace(LINES, source=replace(LINES.source, name="rows"))
    pending = [Epoch(number=2, end=NOW, last_seq=0, ddl=DdlStep(statement="RENAME", channels={"lines": renamed}))]
    shelf = Shelf(now=renamed.source, pending=pending)
    assert alter(shelf, replace(job_of(), state=JobState.PAUSED_BY_ERROR), RESYNC)
    assert [renewal.channel.source.name for renewal in shelf.changed] == ["rows"]


def of_excerpt(where: str) -> ResyncTable:
    [parsed] = parse(f"ALTER SYNC JOB job1 RESYNC TABLE shop.lines WHERE {where}")
    assert isinstance(parsed.statement, ResyncTable)
    return parsed.statement


def test_a_part_of_a_table_is_read_anew() -> None:
    """Also while another part of it is."""
    shelf = Shelf()
    assert alter(shelf, job_of(), of_excerpt("id > 5"))
    excerpt = shelf.excerpts["lines"]
    assert excerpt is not None
    assert (excerpt.lake, excerpt.text) == ("`id` > 5", "`id` > 5")
    shelf.open = {"lines": Load(token="lines", replaces=True, excerpt=excerpt)}
    assert alter(shelf, job_of(), of_excerpt("id < 3"))
    assert alter(shelf, job_of(), RESYNC)
    assert shelf.excerpts == {"lines": None}


@pytest.mark.parametrize(
    ("where", "job", "load", "reason"),
    [
        ("status = 'x'", job_of(), Load(token="lines", upper=NOW, caught_up=True), "not in the key of the target"),
        ("id > 5", job_of(), Load(token="lines", upper=NOW), "its rows are being read"),
        ("id > 5", job_of(), Load(token="lines"), "its rows are being read"),
        ("id > 5", job_of(), Load(token="lines", replaces=True), "its rows are being read"),
        (
            "id > 5",
            job_of(make_channel(), with_history(LINES, stopped=Stop(reason="cut"))),
            None,
            "any of its rows may have changed",
        ),
    ],
)
def test_a_part_is_refused_where_all_rows_may_differ(where: str, job: SyncJob, load: Load | None, reason: str) -> None:
    """While they are being read for the first time or once more, and where the binlog was not read."""
    shelf = Shelf(open={} if load is None else {"lines": load})
    with pytest.raises(SyncError, match=reason) as raised:
        alter(shelf, job, of_excerpt(where))
    assert raised.value.code is Code.RESYNC_WHERE
    assert not shelf.saved


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        (Code.SOURCE_NOT_ROW, True),
        (Code.SOURCE_ROW_IMAGE, True),
        (Code.SOURCE_SCHEMA, True),
        (Code.SOURCE_LATE, False),
        (Code.SOURCE_DDL, False),
        (Code.SOURCE_VALUE, False),
        (Code.SOURCE_UNREACHABLE, False),
    ],
)
def test_a_part_is_refused_where_resume_would_not_get_on(code: Code, *, refused: bool) -> None:
    """What paused the job is passed only where the whole table is read; the message says so, and the whole is taken."""
    fail = FailMsg(type=FailType.SUBMIT_FAIL, code=code.number, message="", at=1.0)
    job = job_of(state=JobState.PAUSED_BY_ERROR, fail=fail)
    if refused:
        with pytest.raises(SyncError, match=f"error {code.number} has paused the job.*leave WHERE out") as raised:
            alter(Shelf(), job, of_excerpt("id > 5"))
        assert raised.value.code is Code.RESYNC_WHERE
        assert alter(Shelf(), job, RESYNC)
    else:
        assert alter(Shelf(), job, of_excerpt("id > 5"))
    assert alter(Shelf(), replace(job, state=JobState.RUNNING), of_excerpt("id > 5"))


def test_a_table_that_was_stopped_is_read_from_where_its_source_stands() -> None:
    """What it has missed comes with its rows; a column that it has got meanwhile comes with them, too."""
    stop = Stop(reason="its rows were cut", synced_until=40.0)
    stopped = replace(with_history(LINES, stopped=stop), takes_new_columns=True)
    shelf, job = Shelf(), job_of(make_channel(), stopped)
    altering = shelf.altering()
    again = shelf.resyncs().looked_at(job, RESYNC)
    assert altering.alter(job, RESYNC, again)
    [renewal] = shelf.changed
    assert (renewal.channel.history.after, renewal.channel.history.known_at, renewal.channel.history.stopped) == (
        NOW,
        NOW,
        None,
    )
    assert renewal.stale_since == 40.0
    assert shelf.marked["resyncing"] == ("lines",)
    shelf.now = replace(LINES.source, columns=(*LINES.source.columns, SourceColumn(name="c", type="int")))
    again = shelf.resyncs().looked_at(job, RESYNC)
    assert again is not None
    assert again.renewal is not None
    assert again.renewal.changes[-1] == AddField(name="c", type=TargetType(name="INT"))


def test_a_job_that_stands_at_an_error_is_read_from_where_its_source_stands() -> None:
    """What stopped it lies before that place, so that RESUME does not meet it again."""
    job = job_of(state=JobState.PAUSED_BY_ERROR)
    shelf = Shelf()
    again = shelf.resyncs().looked_at(job, RESYNC)
    assert again is not None
    assert again.renewal is not None
    assert (again.renewal.channel.history.after, again.renewal.stale_since) == (NOW, 70.0)


MONEY = replace(
    LINES,
    columns=(*LINES.columns, MappedColumn(target="amount", expression="`amount`")),
    reads=("id", "amount"),
    takes_new_columns=True,
)


def target_with(name: str, kind: TargetType) -> TargetTable:
    return replace(TARGET, columns=tuple(replace(c, type=kind) if c.name == name else c for c in TARGET.columns))


@pytest.mark.parametrize("kind", ["INT", "BOOLEAN", "DOUBLE", "DECIMAL(12,1)", "DECIMAL(10,2)"])
def test_a_target_whose_column_another_engine_has_made_narrower_is_renewed(kind: str) -> None:
    """While the job runs and has not noticed: the rows come with a column that holds them, and a part of the rows is
    not enough.
    """
    shelf, job = Shelf(target=target_with("amount", parse_type(kind))), job_of(make_channel(), MONEY)
    with pytest.raises(SyncError, match="another engine has replaced its target") as raised:
        alter(shelf, job, of_excerpt("id > 5"))
    assert raised.value.code is Code.RESYNC_WHERE
    assert alter(shelf, job, RESYNC)
    [renewal] = shelf.changed
    assert renewal.changes[-1].type == TargetType(name="DECIMAL", args=(12, 2))  # type: ignore[union-attr]


def test_a_target_that_is_another_table_is_renewed() -> None:
    """Before the job has noticed: its next commit into it, which would pause it, comes after the rows. Where several
    tables fill it, it takes a new job.
    """
    shelf = Shelf(target=make_target(name="lines"))
    with pytest.raises(SyncError, match="another engine has replaced its target"):
        alter(shelf, job_of(), of_excerpt("id > 5"))
    assert alter(shelf, job_of(), RESYNC)
    shelf.target = replace(TARGET, is_unused=True)
    assert alter(shelf, job_of(), RESYNC)
    shelf.target, shelf.replaced = TARGET, True  # CREATE OR REPLACE TABLE ... AS SELECT, or another column of a name
    assert alter(shelf, job_of(), RESYNC)
    assert [renewal.channel.history.after for renewal in shelf.changed] == [NOW, NOW, NOW]
    shelf.replaced = False
    shelf.changed.clear()
    assert alter(shelf, job_of(), RESYNC)
    assert not shelf.changed
    shelf.replaced = True
    db = MappedColumn(target="status", expression="'shop'", constant="shop")
    shelf.changed.clear()
    assert alter(shelf, job_of(make_channel(), replace(LINES, columns=(*LINES.columns, db))), RESYNC)
    assert not shelf.changed


def test_a_target_that_was_narrower_from_the_start_is_not_renewed() -> None:
    """Each of its values is checked, whatever the type."""
    shelf = Shelf(target=target_with("amount", TargetType(name="INT")))
    assert alter(shelf, job_of(make_channel(), MONEY, properties={"on_value_error": "null"}), RESYNC)
    assert not shelf.changed


def test_a_key_that_another_engine_has_made_inexact_is_not_read_into() -> None:
    """Two rows of the source would be one."""
    shelf = Shelf(target=target_with("id", TargetType(name="DOUBLE")))
    with pytest.raises(SyncError, match="'id' is DOUBLE, and bigint does not fit it") as raised:
        alter(shelf, job_of(make_channel(), MONEY), RESYNC)
    assert raised.value.code is Code.RESYNC_COLUMNS
    assert not shelf.saved


def test_a_table_that_is_behind_is_as_old_as_what_waits() -> None:
    """Until its rows are there: what waits for it was read, and is in no target."""
    shelf = Shelf(behind={"lines": Backlog(epochs=1, bytes=1, since=50.0)})
    again = shelf.resyncs().looked_at(job_of(state=JobState.PAUSED_BY_ERROR), RESYNC)
    assert again is not None
    assert again.renewal is not None
    assert again.renewal.stale_since == 50.0


@pytest.mark.parametrize(("stored", "since"), [(None, 70.0), (90.0, 90.0)])
def test_a_table_without_a_key_is_as_old_as_its_job_was(stored: float | None, since: float) -> None:
    """Until its rows are there: no change of it is read before the point at which they are. One with a key follows."""
    keyless = replace(LINES, keys=(), source_keys=())
    shelf = Shelf()
    looked_at = LookedAt(target=TARGET)
    shelf.resyncs().store(job_of(make_channel(), keyless, synced_until=stored), RESYNC, looked_at)
    assert shelf.stale == {"lines": since}
    with_key = Shelf()
    assert alter(with_key, job_of(), RESYNC)
    assert with_key.stale == {}


def test_a_job_that_was_resumed_meanwhile_is_asked_again() -> None:
    """What was looked at holds of a table that is not read alone."""
    shelf, job = Shelf(), job_of(state=JobState.PAUSED_BY_ERROR)
    altering = shelf.altering()
    with pytest.raises(SyncError) as raised:
        altering.alter(job_of(), RESYNC, shelf.resyncs().looked_at(job, RESYNC))
    assert raised.value.code is Code.STALE_JOB
    assert not shelf.saved


def test_a_part_of_a_table_that_is_read_again_meanwhile_is_asked_again() -> None:
    """Nobody asked then whether its target is another one, and nobody may ask now."""
    shelf, stopped = (
        Shelf(),
        job_of(make_channel(), with_history(LINES, stopped=Stop(reason="cut"))),
    )
    looked_at = shelf.resyncs().looked_at(stopped, of_excerpt("id > 5"))
    with pytest.raises(SyncError) as raised:
        shelf.altering().alter(job_of(), of_excerpt("id > 5"), looked_at)
    assert raised.value.code is Code.STALE_JOB
    assert not shelf.saved


@pytest.mark.parametrize(
    ("job", "code"),
    [
        (job_of(source=make_canal()), Code.NOT_SUPPORTED),
        (job_of(make_channel()), Code.NO_SUCH_CHANNEL),
    ],
)
def test_what_cannot_be_read_anew_is_refused(job: SyncJob, code: Code) -> None:
    """From canal, and what the job does not have."""
    with pytest.raises(SyncError) as raised:
        alter(Shelf(), job, RESYNC)
    assert raised.value.code is code


def test_a_part_of_a_table_without_a_key_is_refused() -> None:
    """Nobody could tell which of its rows are those of the condition."""
    job = job_of(make_channel(), replace(LINES, keys=(), source_keys=()))
    with pytest.raises(SyncError) as raised:
        alter(Shelf(), job, of_excerpt("id > 5"))
    assert raised.value.code is Code.NOT_SUPPORTED


def test_the_last_table_does_not_leave() -> None:
    """The job would have nothing to do; another one goes, and the text forgets it."""
    shelf, node = Shelf(), LeaveTable(job=Name(name="job1"), table=Name(name="lines"))
    assert shelf.altering().alter(job_of(), node)
    assert shelf.marked["leaving"] == ("lines",)
    assert "`lines`" not in shelf.saved[-1].statement
    with pytest.raises(SyncError, match="STOP SYNC JOB"):
        shelf.altering().alter(job_of(LINES), node)
    left = make_job(channels=(make_channel(), LINES), statement=shelf.saved[-1].statement)  # its run goes on
    with pytest.raises(SyncError, match="STOP SYNC JOB"):
        shelf.altering().alter(left, LeaveTable(job=Name(name="job1"), table=Name(name="orders")))


def test_a_table_whose_target_was_dropped_is_named_no_more() -> None:
    """A pattern may mean it again when it comes again; where no other is left, the job ends."""
    shelf, dropped = Shelf(), with_history(LINES, source_dropped=True, dropped=True)
    assert shelf.altering().let_go(job_of())
    assert shelf.saved == []
    assert shelf.altering().let_go(job_of(make_channel(), dropped))
    assert shelf.marked["leaving"] == ("lines",)
    assert "`lines`" not in shelf.saved[-1].statement
    text = STATEMENT.replace("FROM shop.lines INTO lines", "FROM TABLES LIKE 'shop.l%' INTO demo.*")
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


def test_a_table_is_not_added_to_a_job_that_cannot_continue() -> None:
    """Its rows would never come: the position of the job is lost for all of its tables, as RESYNC says."""
    fail = FailMsg(type=FailType.SUBMIT_FAIL, code=Code.SOURCE_POSITION_LOST.number, message="lost", at=1.0)
    job = job_of(state=JobState.PAUSED_BY_ERROR, fail=fail)
    [parsed] = parse("ALTER SYNC JOB demo.job1 ADD TABLE FROM shop.new INTO new")
    plan = Plan(channels=(), inspected=Facts(()), made=())  # type: ignore[arg-type]
    with pytest.raises(SyncError, match=r"ADD TABLE would not let the job continue: .* STOP it, DROP its") as raised:
        Shelf().joining().add(job, parsed.statement, plan, job)  # type: ignore[arg-type]
    assert raised.value.code is Code.POSITION_LOST_FOR_ALL


def test_a_table_that_two_patterns_mean_does_not_join() -> None:
    """Which target would be its own is not guessed; CREATE SYNC says the same of it."""
    shelf = Shelf()
    shelf.survey = lambda *_: {("ov", "ab"): Found(db="ov", name="ab")}  # type: ignore[method-assign]
    text = "FROM TABLES LIKE 'ov.a%' INTO ov1.*, FROM TABLES LIKE 'ov.%b' INTO ov2.*"
    [parsed] = parse(f"CREATE SYNC demo.job1 ({text}) FROM BINLOG (type = mysql)")
    job = make_job(statement=parsed.statement.sql(), source=make_source())
    coming = shelf.joining().arrivals(job, [("ov", "ab")])
    assert coming.plans == ()
    assert {table: error.code for table, error in coming.refused.items()} == {("ov", "ab"): Code.DUPLICATE_MAPPING}


@pytest.mark.parametrize(
    ("channels", "way"),
    [
        ((make_channel(), LINES), "; ALTER SYNC JOB ... DROP TABLE it, and RESUME; once "),
        ((LINES,), "; STOP the job, create the target again, and create the job again"),
    ],
)
def test_columns_that_cannot_be_renewed_are_told_with_a_way_that_is_open(
    channels: tuple[ChannelDescription, ...], way: str
) -> None:
    """The last table of a job cannot leave it."""
    lost = replace(LINES.source, columns=LINES.source.columns[1:])
    job = job_of(*channels, state=JobState.PAUSED_BY_ERROR)
    with pytest.raises(SyncError) as raised:
        Shelf(now=lost).resyncs().looked_at(job, RESYNC)
    assert raised.value.code is Code.RESYNC_COLUMNS
    assert way in str(raised.value)


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PENDING])
def test_a_statement_of_a_job_that_goes_on_is_settled_by_resync(state: JobState) -> None:
    """SKIP DDL is for a job that is paused by one, and PAUSE would not make it so: a table that stopped comes back
    by RESYNC TABLE.
    """
    node = SettleDdl(job=Name(name="job1"), instead=None)
    job = job_of(
        make_channel(),
        with_history(LINES, stopped=Stop(reason="nobody can read it")),
        state=state,
    )
    with pytest.raises(SyncError, match=r"RESYNC TABLE brings back what is not read any more: shop\.lines") as raised:
        Shelf().altering().alter(job, node)
    assert raised.value.code is Code.NO_DDL_TO_SETTLE
    with pytest.raises(SyncError, match=r"DDL statement$"):
        Shelf().altering().alter(job_of(state=state), node)
