"""Tables that come to a job by its patterns, and what else goes on meanwhile, on the real metadata."""

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

import syncsql
from syncmgr.control import statement_text
from syncmgr.control.jobs import Jobs
from syncmgr.control.running.new_tables import LOOK_SECOND
from syncmgr.control.running.retained_binlogs import RetainedBinlogs
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import Shadow
from syncmgr.job.channel.patterns import Found
from syncmgr.job.ddl.ddl_plan import found_there
from syncmgr.job.ddl.ddl_step import DdlState
from syncmgr.job.epoch import Epoch
from syncmgr.job.failure import FailType
from syncmgr.job.overview import TableOverview
from syncmgr.job.position import Position
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.job.types.schema import GeneratedColumn, SourceColumn, SourceTable, TargetTable
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.jobs import JobStore
from syncmgr.meta.store import Store
from syncmgr.sources.cancellation import Cancellation
from syncsql import AddTables, CreateSync, Name, ResyncTable
from tests.support import metadata
from tests.support.until import HANG_SECOND, PROMPT_SECOND, until
from tests.unit.job.factories import make_channel, make_job, make_source_table, make_target, with_history

Table = tuple[str, str]
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
NOW = Position(gtids=f"{UUID}:1-9", file="b.000002", offset=9, server=UUID)
TEXT = "CREATE SYNC demo.job1 ({channels}) FROM BINLOG (type = mysql)"
WHOLE = "FROM shop.* INTO ods.*, FROM mall.* INTO ods.*"
SHOP, MALL, LATE = ("shop", "t"), ("mall", "t"), ("shop", "late")
AWAY = SyncError(Code.LAKE_FAILED, reason="connection refused")


@dataclass
class Lake:
    """Databases demo and ods. `before_make`: what happens while a target is being made; `blocks`: it waits for that."""

    there: dict[Table, TargetTable] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    before_make: Callable[[TargetTable], object] = print
    before_look: Callable[[], object] = print

    def databases(self) -> list[str]:
        self.before_look()
        return ["demo", "ods"]

    def tables(self, db: str) -> list[str]:
        self.before_look()
        return [name for home, name in self.there if home == db]

    def table(self, db: str, name: str) -> TargetTable:
        self.before_look()
        if (db, name) not in self.there:
            raise SyncError(Code.NO_SUCH_TABLE, db=db, table=name)
        return self.there[db, name]

    def make(self, table: TargetTable) -> TargetTable:
        self.before_make(table)
        if table.uuid:
            self.unmake(table)
        assert (table.db, table.name) not in self.there
        self.numbers.append(len(self.numbers))
        made = replace(table, uuid=f"u{len(self.numbers)}", is_unused=True, is_spare=True)
        self.there[table.db, table.name] = made
        return made

    def unmake(self, table: TargetTable) -> None:
        if self.there[table.db, table.name].uuid == table.uuid:
            del self.there[table.db, table.name]

    def check_channel(self, channel: object) -> None: ...

    def upkeep_log(self, db: str, table: str) -> list[Any]:
        return []

    def index(self, db: str, table: str) -> SimpleNamespace:
        numbers = dict.fromkeys(("rows", "bytes", "equality_deletes", "missing"), 0)
        return SimpleNamespace(state="ready", reason=None, snapshot=None, **numbers)

    def is_empty(self, db: str, table: str, part: object = None) -> bool:
        return True

    def writers(self, db: str, table: str, second: float) -> frozenset[str]:
        return frozenset()


class Run:
    """One that ends when it is told to."""

    def __init__(
        self,
        job: SyncJob,
        on_arrival: Callable[[Sequence[Table], Position], Any],
        on_unlogged_tables: Callable[[Collection[Table]], None],
    ) -> None:
        self.job, self.on_arrival, self.on_unlogged_tables = job, on_arrival, on_unlogged_tables
        self.told: list[str] = []
        self.waited: list[float] = []

    def start(self) -> None: ...

    def finish(self) -> None:
        self.told.append("finish")

    def pause(self) -> None:
        self.told.append("pause")

    def abandon(self) -> None:
        self.told.append("abandon")

    def synced_until(self) -> float:
        return 0.0

    def reading(self) -> None: ...

    def standings(self) -> dict[str, Any]:
        return {}

    backlogs = rates = standings

    def join(self, timeout: float) -> bool:
        self.waited.append(timeout)
        return False


class House:
    """A job that runs, and the tables that its source has beside those that it reads."""

    def __init__(self, store: Store, channels: str = WHOLE) -> None:
        self.store, self.lake, self.max_jobs = store, Lake(), 1000
        self.max_jobs_per_account = 200
        self.before_inspect: Callable[[], object] = print
        self.sources: dict[Table, SourceTable] = {}
        self.ahead: Callable[[], Iterable[Table]] = lambda: self.sources  # what statements further on make
        self.last = NOW  # the end of the binlog
        self.keyless: set[Table] = set()
        self.failing: dict[Table, SyncError] = {}
        self.runs: dict[JobId, Run] = {}
        self.ends: dict[JobId, Callable[..., None]] = {}
        self.troubles: dict[JobId, Callable[[SyncError | None], None]] = {}
        self.jobs = Jobs(
            store=store,
            catalog=self.lake,
            tables=self.lake,  # type: ignore[arg-type]
            upkeep=self.lake,  # type: ignore[arg-type]
            upkeep_failure=lambda *_: None,
            inspect=self.inspect,
            survey=self.survey,
            check_exact=lambda *_: None,
            check_continues=lambda *_: None,
            retained=RetainedBinlogs(store, lambda *_: None, lambda: 0.0, lambda: 30.0),
            binlog=self,
            new_run=self.new_run,
            drop_staged=lambda _: None,
            keep_cancelled_second=lambda: 1e9,
            max_jobs=lambda: self.max_jobs,
            max_jobs_per_account=lambda: self.max_jobs_per_account,
            source_files_dir="/etc/files",
            chunk_rows=lambda _: 100,
        )
        self.id = self.add("job1", "job1_target", channels)

    def add(self, name: str, target: str, channels: str = WHOLE, target_db: str = "demo") -> JobId:
        [parsed] = syncsql.parse(TEXT.format(channels=channels))
        source = make_source_table(name=target)
        channel = make_channel(token=name, source=source, target_db=target_db, target=target)
        self.lake.there[target_db, target] = make_target(db=target_db, name=target)
        job = make_job(name=name, channels=(channel,), statement=parsed.statement.sql())
        job_id = self.store.jobs.add(job, NOW, 0.0).id
        self.jobs.lives.tick()
        return job_id

    def new_run(self, job: SyncJob, trouble: Any, end: Any, on_arrival: Any, on_unlogged_tables: Any) -> Any:
        self.runs[job.id] = Run(job, on_arrival, on_unlogged_tables)
        self.troubles[job.id] = trouble
        self.ends[job.id] = lambda error=None: end(error, FailType.UNKNOWN)
        return self.runs[job.id]

    def come(self, *tables: Table) -> None:
        self.sources |= {table: make_source_table(db=table[0], name=table[1]) for table in tables}

    def told(self, *tables: Table) -> Mapping[Table, SyncError | None] | None:
        found: Mapping[Table, SyncError | None] | None = self.runs[self.id].on_arrival(tables, NOW)
        return found

    def codes(self, *tables: Table) -> dict[Table, Code | None]:
        told = self.told(*tables)
        assert told is not None
        return {table: None if error is None else error.code for table, error in told.items()}

    def end(self, _source: object) -> Position:
        return self.last

    def named(self, *_: object) -> frozenset[Table]:
        return frozenset(self.ahead())

    def survey(self, _source: object, _databases: Sequence[str]) -> Mapping[Table, Found]:
        return {table: Found(db=table[0], name=table[1]) for table in self.sources}

    def inspect(self, _source: object, tables: Sequence[Table], _locked: object = None) -> Any:
        self.before_inspect()
        for table in tables:
            if table in self.failing:
                raise self.failing[table]
        keys = tuple(() if table in self.keyless else (("id",),) for table in tables)
        found = tuple(self.sources[table] for table in tables)
        facts = {"start": NOW, "known_at": NOW, "full_metadata": True, "server_time": 1.0}
        return SimpleNamespace(tables=found, unique_keys=keys, **facts)

    @property
    def job(self) -> SyncJob:
        job = self.store.jobs.by_id(self.id)
        assert job is not None
        return job

    @property
    def joined(self) -> dict[str, str]:
        """What fills what, beside the table that the job began with."""
        return {each.source.label: f"{each.target_db}.{each.target_label}" for each in self.job.channels[1:]}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield House(store)
    store.close()


def test_of_two_tables_that_would_fill_one_target_the_first_joins(house: House) -> None:
    """Whether they are told at once or one after the other; the run goes on with the first, and no target is lost."""
    house.come(SHOP, MALL, LATE)
    assert house.codes(SHOP, MALL) == {MALL: None, SHOP: Code.DUPLICATE_MAPPING}
    assert house.joined == {"mall.t": "ods.t", "shop.late": "ods.late"}
    assert house.runs[house.id].told == ["finish"]
    assert house.codes(SHOP) == {SHOP: Code.DUPLICATE_MAPPING}
    assert house.joined == {"mall.t": "ods.t", "shop.late": "ods.late"}


def test_the_second_joins_where_the_first_cannot(house: House) -> None:
    """What is wrong with the first is said of it."""
    house.come(SHOP, MALL)
    house.keyless.add(MALL)
    assert house.codes(SHOP, MALL) == {SHOP: None, MALL: Code.NO_SOURCE_KEY}
    assert house.joined == {"shop.t": "ods.t"}


def test_shards_that_are_looked_at_one_by_one_join_with_one_target(tmp_path: Path) -> None:
    """It is made once, and each has its part of it."""
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    house = House(store, "FROM TABLES LIKE 's%.t' INTO ods.t, FROM other.* INTO ods.*")
    house.come(("s1", "t"), ("s2", "t"), ("other", "log"))
    house.keyless.add(("other", "log"))
    assert house.codes(("s1", "t")) == {("s1", "t"): None}
    assert house.joined == {"s1.t": "ods.t (s1)", "s2.t": "ods.t (s2)"}
    assert house.lake.numbers == [0]
    store.close()


def test_a_job_that_is_paused_says_nothing_of_a_table(house: House) -> None:
    """The run that has told it ends, and the next one, after RESUME, meets the statement again."""
    house.come(SHOP)
    house.jobs.pause(Name(name="job1"), "demo")
    assert house.told(SHOP) is None
    house.jobs.stop(Name(name="job1"), "demo")
    assert house.told(SHOP) is None
    assert (house.joined, house.lake.numbers) == ({}, [])


def test_a_table_that_no_statement_has_made_yet_is_left_to_the_one_that_names_it(house: House) -> None:
    """It may be one of the job, whose new name stands further on in the binlog."""
    house.come(SHOP, LATE)
    house.ahead = lambda: ()
    assert house.codes(SHOP) == {SHOP: None}
    assert house.joined == {"shop.t": "ods.t"}


def test_what_nobody_told_joins_once_all_is_read_that_was_there(house: House) -> None:
    """Until then it may be a table of the job under another name."""
    house.come(LATE)
    house.last = replace(NOW, gtids=f"{UUID}:1-10")
    house.jobs.lives.recover()
    house.ends[house.id]()
    house.jobs.lives.tick()
    run = house.runs[house.id]
    until(lambda: run.waited, why="a look that came too early")
    assert house.joined == {}
    house.store.epochs.add_intent(house.id, Epoch(number=1, end=house.last, last_seq=0))
    house.store.epochs.commit(house.id, Epoch(number=1, end=house.last, last_seq=0), {}, at=1.0, keep_since=0.0)
    until(lambda: run.told == ["finish"])
    assert house.joined == {"shop.late": "ods.late"}


def read_up_to(house: House, end: Position) -> None:
    house.store.epochs.add_intent(house.id, Epoch(number=1, end=end, last_seq=0))
    house.store.epochs.commit(house.id, Epoch(number=1, end=end, last_seq=0), {}, at=1.0, keep_since=0.0)


def test_a_table_that_was_created_unlogged_joins_when_something_of_it_comes(house: House) -> None:
    """Once all is read that was there when it was looked for: until then it may be a table of the job."""
    house.come(LATE)
    house.last = replace(NOW, gtids=f"{UUID}:1-10")
    run = house.runs[house.id]
    run.on_unlogged_tables({LATE})
    until(lambda: run.waited, why="a look that came too early")
    assert house.joined == {}
    read_up_to(house, house.last)
    until(lambda: run.told == ["finish"])
    assert house.joined == {"shop.late": "ods.late"}
    until(lambda: not house.jobs._new_tables._unseen, why="the end of the look")


def test_a_look_that_a_pause_ends_is_made_by_the_next_run(house: House) -> None:
    """The rows that showed the table are not read a second time."""
    house.come(LATE)
    house.last = replace(NOW, gtids=f"{UUID}:1-10")
    first = house.runs[house.id]
    first.on_unlogged_tables({LATE})
    until(lambda: first.waited, why="a look that came too early")
    house.ends[house.id]()
    house.jobs.lives.tick()
    read_up_to(house, house.last)
    until(lambda: house.runs[house.id].told == ["finish"])
    assert house.joined == {"shop.late": "ods.late"}


def test_a_table_that_was_created_unlogged_and_cannot_join_is_reported_once(house: House) -> None:
    """Its rows show it in each run, and the server is not asked again; one that is gone says nothing."""
    house.come(LATE)
    house.keyless.add(LATE)
    read_up_to(house, NOW)
    surveys = []
    survey, house.jobs._new_tables._joining._survey = house.survey, lambda *of: surveys.append(of) or survey(*of)  # type: ignore[func-returns-value]
    house.runs[house.id].on_unlogged_tables({LATE, MALL})
    until(lambda: not house.jobs._new_tables._unseen, why="the look")
    assert refused(house).keys() == {"shop.late"}
    asked = len(surveys)
    assert asked > 0
    house.runs[house.id].on_unlogged_tables({LATE})
    until(lambda: not house.jobs._new_tables._unseen, why="the second look")
    assert len(house.store.ddl.of(house.id)) == 1
    assert len(surveys) == asked


def refused(house: House) -> dict[str, Any]:
    """What Status says of tables that could not join, where it calls for an operator, and only there."""
    [row] = house.jobs.show("demo")
    status = json.loads(str(row[5]))
    assert status["needs_operator"] is bool(status["refused"])
    found: dict[str, Any] = status["refused"]
    return found


def note(house: House, *tables: Table) -> None:
    """As a run does with what it is told of these."""
    told = house.told(*tables)
    for table, error in (told or {}).items():
        house.store.ddl.note(house.id, found_there(NOW, 1.6e9, table, error))


def alter(house: House, text: str) -> None:
    [parsed] = syncsql.parse(f"ALTER SYNC JOB demo.job1 {text}")
    house.jobs.alter(parsed.statement, None)  # type: ignore[arg-type]


def test_a_table_that_cannot_join_calls_for_an_operator(house: House) -> None:
    """Until it has joined as the advice says, whose words the job's text has already."""
    house.come(SHOP)
    house.keyless.add(SHOP)
    note(house, SHOP)
    [(label, facts)] = refused(house).items()
    assert (label, facts["since"]) == ("shop.t", "2020-09-13 12:26:40")
    assert "No unique key" in facts["reason"]
    added = "ADD TABLE FROM `shop`.`t` INTO `ods`.*"
    assert f"ALTER SYNC JOB ... {added};" in facts["advice"]
    house.keyless.clear()
    before = house.job.statement
    [parsed] = syncsql.parse(f"ALTER SYNC JOB demo.job1 {added}")
    house.jobs.add_tables(parsed.statement, None)  # type: ignore[arg-type]
    assert house.joined == {"shop.t": "ods.t"}
    assert refused(house) == {}
    assert house.job.statement == before


def test_a_table_that_is_not_wanted_calls_for_nobody(house: House) -> None:
    """DROP TABLE of one that could not join leaves it out of the patterns that mean it, also if it comes again."""
    house.come(SHOP)
    house.keyless.add(SHOP)
    note(house, SHOP)
    advice = refused(house)["shop.t"]["advice"]
    assert "ALTER SYNC JOB ... DROP TABLE `shop`.`t`." in advice
    alter(house, "DROP TABLE shop.t")
    assert refused(house) == {}
    assert "EXCLUDE (`shop`.`t`)" in house.job.statement
    assert house.runs[house.id].told == ["finish"]
    with pytest.raises(SyncError) as raised:
        alter(house, "DROP TABLE shop.t")
    assert raised.value.code is Code.NO_SUCH_CHANNEL


def test_a_table_that_is_gone_calls_for_nobody(house: House) -> None:
    """Whether it was gone when the job came to it, or is when the next one comes."""
    note(house, LATE)
    assert [record.state for record in house.store.ddl.of(house.id)] == [DdlState.GONE]
    house.come(SHOP)
    house.keyless |= {SHOP, MALL}
    note(house, SHOP)
    assert refused(house).keys() == {"shop.t"}
    house.sources.clear()
    house.come(MALL)
    note(house, MALL)
    assert refused(house).keys() == {"mall.t"}
    assert [record.state for record in house.store.ddl.of(house.id)] == [DdlState.GONE] * 2 + [DdlState.REFUSED]
    house.keyless.clear()
    note(house, MALL)
    assert refused(house) == {}


def test_a_table_that_is_found_and_cannot_join_is_told_once(house: House) -> None:
    """No statement in the binlog is there to tell it, and each start looks again."""
    house.come(LATE)
    house.keyless.add(LATE)
    house.store.epochs.add_intent(house.id, Epoch(number=1, end=NOW, last_seq=0))
    house.store.epochs.commit(house.id, Epoch(number=1, end=NOW, last_seq=0), {}, at=1.0, keep_since=0.0)
    for _ in range(2):
        house.jobs.lives.recover()
        house.ends[house.id]()
        house.jobs.lives.tick()
        until(lambda: not house.jobs._new_tables._unseen, why="the look")
    assert refused(house).keys() == {"shop.late"}
    assert len(house.store.ddl.of(house.id)) == 1


@pytest.mark.parametrize("statement", ["PAUSE", "STOP", "ALTER"])
def test_a_job_that_is_altered_while_a_table_joins_looks_again(house: House, statement: str) -> None:
    """Nothing is stored, the target goes, and nobody is told that the table has joined."""
    name = Name(name="job1", db="demo")
    [parsed] = syncsql.parse('ALTER SYNC JOB demo.job1 SET ("on_ddl" = "ignore")')
    act: dict[str, Callable[[], object]] = {
        "PAUSE": lambda: house.jobs.pause(name, None),
        "STOP": lambda: house.jobs.stop(name, None),
        "ALTER": lambda: house.jobs.alter(parsed.statement, None),  # type: ignore[arg-type]
    }
    house.lake.before_make = lambda _: act[statement]()
    house.come(SHOP)
    assert house.told(SHOP) is None
    assert (house.joined, house.lake.numbers) == ({}, [0])
    assert ("ods", "t") not in house.lake.there
    assert house.runs[house.id].told


def test_a_target_that_another_job_takes_meanwhile_is_looked_at_again(house: House) -> None:
    """By the next run, which says so; the job is not paused by it."""

    def take(_: TargetTable) -> None:
        taken = make_channel(token="taken", source=make_source_table(name="x"), target_db="ods", target="t")
        house.store.jobs.add(make_job(name="job2", channels=(taken,), statement="CREATE SYNC"), NOW, 0.0)

    house.lake.before_make = take
    house.come(SHOP)
    assert house.told(SHOP) is None
    assert house.joined == {}
    house.lake.there["ods", "t"] = make_target(db="ods", name="t")
    assert house.codes(SHOP) == {SHOP: Code.TARGET_IN_USE}


@pytest.mark.parametrize("code", [Code.SOURCE_UNREACHABLE, Code.SOURCE_TLS, Code.SOURCE_ACCESS_DENIED])
def test_what_may_pass_costs_no_table(house: House, code: Code) -> None:
    """Nothing is decided, so that the statement is met again; then all of them join."""
    house.come(SHOP, LATE)
    house.failing[SHOP] = SyncError(code, address="db1:3306", reason="refused", user="u")
    with pytest.raises(SyncError) as raised:
        house.told(SHOP)
    assert (raised.value.code, house.joined) == (code, {})
    house.failing.clear()
    assert house.codes(SHOP) == {SHOP: None}
    assert house.joined == {"shop.late": "ods.late", "shop.t": "ods.t"}


def test_tables_join_together_or_none_does(house: House) -> None:
    """A lake that goes away between two targets leaves no channel that the run does not know."""

    def fail(table: TargetTable) -> None:
        if table.name == "t":
            raise AWAY

    house.come(SHOP, LATE)
    house.lake.before_make = fail
    with pytest.raises(SyncError) as raised:
        house.told(SHOP)
    assert (raised.value, house.joined) == (AWAY, {})
    assert house.lake.there.keys() == {("demo", "job1_target")}
    house.lake.before_make = print
    assert house.codes(SHOP) == {SHOP: None}


def test_a_table_that_joined_without_an_answer_has_joined(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata that store, and fail to say so, leave the target where it is; the next answer ends the run."""
    alter = JobStore.alter

    def lost(self: JobStore, *given: Any, **named: Any) -> None:
        alter(self, *given, **named)
        raise SyncError(Code.META_DOWN, reason="the connection was lost")

    house.come(SHOP)
    monkeypatch.setattr(JobStore, "alter", lost)
    house.lake.unmake = lambda _: None  # type: ignore[method-assign] # as the real one does of a target of a job
    with pytest.raises(SyncError, match="connection was lost"):
        house.told(SHOP)
    monkeypatch.undo()
    assert house.runs[house.id].told == []
    assert house.codes(SHOP) == {SHOP: None}
    assert (house.joined, house.runs[house.id].told) == ({"shop.t": "ods.t"}, ["finish"])


def test_a_target_that_a_death_has_left_is_made_anew(house: House) -> None:
    """Its source may have other columns by the time of the next look, and the target would lack them forever."""
    left = replace(make_target(db="ods", name="t"), columns=make_target().columns[:1])
    house.lake.there["ods", "t"] = replace(left, uuid="old", is_unused=True, is_spare=True)
    house.come(SHOP)
    added = SourceColumn(name="v", type="int")
    house.sources[SHOP] = replace(house.sources[SHOP], columns=(*house.sources[SHOP].columns, added))
    assert house.codes(SHOP) == {SHOP: None}
    assert [column.name for column in house.lake.there["ods", "t"].columns] == ["id", "status", "amount", "v"]
    assert "v" in [column.target for column in house.job.channels[1].columns]


def test_a_target_that_somebody_has_made_is_taken_as_it_is(house: House) -> None:
    """Without rows, too: nobody else made it."""
    theirs = replace(make_target(db="ods", name="t"), comment="mine", is_unused=True)
    house.lake.there["ods", "t"] = theirs
    house.come(SHOP)
    assert house.codes(SHOP) == {SHOP: None}
    assert house.lake.there["ods", "t"] is theirs


class Hanging:
    """A lake that does not answer until it is let go."""

    def __init__(self) -> None:
        self.asked, self.goes_on = threading.Event(), threading.Event()

    def __call__(self, *_: object) -> None:
        self.asked.set()
        assert self.goes_on.wait(HANG_SECOND)


def add_table(house: House) -> object:
    house.come(("else", "x"))
    [parsed] = syncsql.parse("ALTER SYNC JOB demo.job1 ADD TABLE FROM `else`.* INTO ods.*")
    return house.jobs.add_tables(parsed.statement, None)  # type: ignore[arg-type]


def create_on_canal(house: House, name: str, act: str = "CREATE") -> object:
    """Into a target of the job's own name."""
    house.lake.there["demo", name] = make_target(name=name)
    source = '"type" = "canal", "canal.server.ip" = "127.0.0.1", "canal.server.port" = "11111",'
    source += ' "canal.destination" = "example", "canal.username" = "", "canal.password" = ""'
    [parsed] = syncsql.parse(f"{act} SYNC demo.{name} (FROM shop.t INTO {name} (id)) FROM BINLOG ({source})")
    node: Any = parsed.statement
    return house.jobs.create(node, None) if act == "CREATE" else house.jobs.explain(node, None)[0][4]


def test_one_destination_of_canal_is_looked_at_by_one_statement(house: House) -> None:
    """A look sets canal's filter: one that came between another's look and its job would take rows from that job."""
    house.come(SHOP)

    def come_second() -> None:
        house.before_inspect = lambda: pytest.fail("canal is asked")
        with pytest.raises(SyncError, match="is already read by a job that is being created"):
            create_on_canal(house, "second")
        assert "a job that is being created" in str(create_on_canal(house, "second", "EXPLAIN"))

    house.before_inspect = come_second
    create_on_canal(house, "first")
    with pytest.raises(SyncError, match=r"is already read by sync job 'demo\.first'"):
        create_on_canal(house, "second")
    assert "'demo.first'" in str(create_on_canal(house, "second", "EXPLAIN"))
    house.jobs.stop(Name(name="first"), "demo")
    house.before_inspect = print
    create_on_canal(house, "second")


def test_a_job_on_canal_that_was_not_created_reads_nothing(house: House) -> None:
    """The next one may have its destination."""
    house.come(SHOP)
    house.failing[SHOP] = SyncError(Code.CANAL_UNREACHABLE, address="127.0.0.1:11111", reason="refused")
    with pytest.raises(SyncError, match="Cannot reach"):
        create_on_canal(house, "first")
    house.failing.clear()
    create_on_canal(house, "second")


@pytest.fixture
def ending(house: House) -> JobId:
    """A job that was stopped, and whose last commit into ods.t is on its way."""
    job_id = house.add("job2", "t", "FROM a.t INTO ods.t", target_db="ods")
    house.jobs.stop(Name(name="job2"), "demo")
    house.come(SHOP)
    return job_id


@pytest.mark.parametrize("channels", ["FROM shop.t INTO ods.t", "FROM shop.* INTO ods.*"])
def test_a_table_is_added_once_a_stopped_job_has_committed_to_its_target(
    house: House, ending: JobId, channels: str
) -> None:
    """As by CREATE SYNC: a commit that came behind the first rows would bring older ones over them."""
    [parsed] = syncsql.parse(f"ALTER SYNC JOB demo.job1 ADD TABLE {channels}")
    node: Any = parsed.statement
    with pytest.raises(SyncError) as raised:
        house.jobs.add_tables(node, None)
    assert (raised.value.code, house.joined) == (Code.TARGET_IN_USE, {})
    house.ends[ending]()
    house.jobs.add_tables(node, None)
    assert house.joined == {"shop.t": "ods.t"}


def test_a_table_that_comes_joins_once_a_stopped_job_has_committed_to_its_target(house: House, ending: JobId) -> None:
    """The run that tells of it waits a moment at most, and the next one tells of it again; others wait with it."""
    house.come(LATE)
    assert house.told(SHOP, LATE) is None
    assert (house.joined, house.runs[ending].waited) == ({}, [LOOK_SECOND])
    house.ends[ending]()
    assert house.codes(SHOP) == {SHOP: None}
    assert house.joined == {"shop.late": "ods.late", "shop.t": "ods.t"}


def resync(house: House) -> object:
    [parsed] = syncsql.parse("ALTER SYNC JOB demo.job1 RESYNC TABLE job1_target")
    return house.jobs.alter(parsed.statement, None)  # type: ignore[arg-type]


def resync_part(house: House) -> object:
    [parsed] = syncsql.parse("ALTER SYNC JOB demo.job1 RESYNC TABLE job1_target WHERE id > 5")
    return house.jobs.alter(parsed.statement, None)  # type: ignore[arg-type]


BINLOG: Final = '"type" = "mysql", "mysql.host" = "db1", "mysql.user" = "repl", "mysql.password" = "p"'


def create(house: House) -> object:
    house.come(("else", "x"))
    [parsed] = syncsql.parse(f"CREATE SYNC demo.job2 (FROM `else`.* INTO ods.*) FROM BINLOG ({BINLOG})")
    return house.jobs.create(parsed.statement, None)  # type: ignore[arg-type]


def test_a_name_is_as_long_as_the_metadata_hold_it(house: House) -> None:
    """Each SHOW and each line of the log has it: a longer one is refused before a source is queried, and shown in
    part.
    """
    long = "j" * 256
    [made] = syncsql.parse(f"CREATE SYNC demo.{long} (FROM `else`.* INTO ods.*) FROM BINLOG ({BINLOG})")
    [renamed] = syncsql.parse(f"ALTER SYNC JOB demo.job1 RENAME TO {long}")
    for change in (lambda: house.jobs.create(made.statement, None), lambda: house.jobs.alter(renamed.statement, None)):  # type: ignore[arg-type]
        with pytest.raises(SyncError) as caught:
            change()
        assert caught.value.code is Code.NAME_TOO_LONG
        assert len(str(caught.value)) < 200
    [renamed] = syncsql.parse(f"ALTER SYNC JOB demo.job1 RENAME TO {long[1:]}")
    house.jobs.alter(renamed.statement, None)  # type: ignore[arg-type]


def test_a_job_that_has_got_the_name_meanwhile_is_another_one(house: House) -> None:
    """What was asked for one job is not done to one that has its name by the time that all answers are there."""

    def swap() -> None:
        house.lake.before_look = print
        for one, other in (("job1", "old"), ("job2", "job1")):
            [parsed] = syncsql.parse(f"ALTER SYNC JOB demo.{one} RENAME TO {other}")
            house.jobs.alter(parsed.statement, None)  # type: ignore[arg-type]

    house.add("job2", "other")
    house.lake.before_look = swap
    with pytest.raises(SyncError) as caught:
        resync(house)
    assert caught.value.code is Code.STALE_JOB


def test_stop_ends_the_job_that_it_has_warned_of(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one that has got its name since then."""

    def swap(_jobs: object) -> dict[JobId, tuple[TableOverview, ...]]:
        for one, other in (("job1", "old"), ("job2", "job1")):
            [parsed] = syncsql.parse(f"ALTER SYNC JOB demo.{one} RENAME TO {other}")
            house.jobs.alter(parsed.statement, None)  # type: ignore[arg-type]
        return {}

    house.add("job2", "other")
    monkeypatch.setattr(house.jobs._showing, "overviews", swap)
    with pytest.raises(SyncError) as caught:
        house.jobs.stop(Name(name="job1"), "demo")
    assert caught.value.code is Code.STALE_JOB
    assert JobState.CANCELLED not in {job.state for job in house.store.jobs.all()}


@pytest.mark.parametrize("change", [create, add_table, resync, resync_part])
def test_what_is_given_up_while_it_asks_changes_nothing(house: House, change: Callable[[House], object]) -> None:
    """No target is made and nothing is stored, however late that was; what runs goes on."""
    mine, before = Cancellation(), house.job
    house.lake.before_look = mine.give_up
    with pytest.raises(SyncError) as caught, mine.here():
        change(house)
    assert caught.value.code is Code.INTERRUPTED
    assert (house.job, len(house.store.jobs.all()), house.lake.numbers) == (before, 1, [])
    assert house.runs[house.id].told == []
    house.lake.before_look = print
    change(house)  # nothing was in the way but that


@pytest.mark.parametrize("change", [create, add_table])
def test_what_is_given_up_while_it_makes_targets_leaves_none(house: House, change: Callable[[House], object]) -> None:
    """After one of several, and after the last: nothing is stored, and the same statement works afterwards."""
    house.come(("else", "x"), ("else", "y"), ("else", "z"))
    for last in (1, 3):
        mine, before, there = Cancellation(), house.job, dict(house.lake.there)
        made: list[TargetTable] = []

        def give_up(table: TargetTable, mine: Cancellation = mine, made: Any = made, last: int = last) -> None:
            made.append(table)
            if len(made) == last:
                mine.give_up()

        house.lake.before_make = give_up
        with pytest.raises(SyncError) as caught, mine.here():
            change(house)
        assert (caught.value.code, len(made)) == (Code.INTERRUPTED, last)
        assert (house.job, len(house.store.jobs.all()), house.lake.there) == (before, 1, there)
    house.lake.before_make = print
    change(house)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER SYNC JOB demo.job1 ADD TABLE FROM `else`.* INTO ods.*",
        "ALTER SYNC JOB demo.job1 RESYNC TABLE job1_target",
        (
            'CREATE SYNC demo.job2 (FROM `else`.* INTO ods.*) FROM BINLOG ("type" = "mysql", "mysql.host" = "db1", '
            '"mysql.user" = "repl", "mysql.password" = "p")'
        ),
    ],
    ids=["add", "resync", "create"],
)
def test_what_is_no_longer_allowed_once_the_source_has_answered_changes_nothing(house: House, sql: str) -> None:
    """No target stays and nothing is stored: a right is checked again when all answers are there."""
    asked: list[Table] = []
    house.before_inspect = lambda: asked.append(SHOP)
    house.come(("else", "x"))
    before, node = house.job, syncsql.parse(sql)[0].statement

    def refuse() -> None:
        assert asked or isinstance(node, ResyncTable)
        raise SyncError(Code.DATABASE_DENIED, db="demo", user="ann", host="h")

    act = {CreateSync: partial(house.jobs.create, creator="ann"), AddTables: house.jobs.add_tables}
    with pytest.raises(SyncError) as caught:
        act.get(type(node), house.jobs.alter)(node, None, allowed=refuse)  # type: ignore[call-arg, arg-type]
    assert caught.value.code is Code.DATABASE_DENIED
    assert (house.job, len(house.store.jobs.all()), house.lake.there.keys()) == (before, 1, {("demo", "job1_target")})


@pytest.mark.parametrize(
    ("act", "place"),
    [
        (lambda house: house.told(SHOP), "before_make"),
        (lambda house: house.told(SHOP), "before_look"),
        (add_table, "before_make"),
        (add_table, "before_look"),
        (resync, "before_look"),
        (resync_part, "before_look"),
    ],
)
def test_a_lake_that_hangs_keeps_no_job_from_its_statements(
    house: House, act: Callable[[House], object], place: str
) -> None:
    """PAUSE and STOP, of the job itself too, answer at once, and the tick starts other jobs."""
    hanging, other = Hanging(), house.add("job2", "job2_target", "FROM a.b INTO c")
    house.come(SHOP)
    setattr(house.lake, place, hanging)
    with ThreadPoolExecutor(2) as pool:
        asking: Future[object] = pool.submit(act, house)
        try:
            until(lambda: hanging.asked.is_set() or asking.done())
            assert not asking.done()
            pool.submit(house.jobs.pause, Name(name="job1"), "demo").result(PROMPT_SECOND)
            pool.submit(house.jobs.stop, Name(name="job2"), "demo").result(PROMPT_SECOND)
            pool.submit(house.add, "job3", "job3_target", "FROM a.b INTO c").result(PROMPT_SECOND)
        finally:
            hanging.goes_on.set()
    assert house.job.state is JobState.PAUSED
    stopped = house.store.jobs.by_id(other)
    assert stopped is not None
    assert stopped.state is JobState.CANCELLED
    assert {run.job.name for run in house.runs.values()} == {"job1", "job2", "job3"}


def test_tables_are_added_to_the_job_that_was_looked_at(house: House) -> None:
    """One that was altered meanwhile is looked at again, and the target goes."""
    [parsed] = syncsql.parse('ALTER SYNC JOB demo.job1 SET ("tables_without_key" = "append")')
    house.come(SHOP)
    house.lake.before_make = lambda _: house.jobs.alter(parsed.statement, None)  # type: ignore[arg-type]
    with pytest.raises(SyncError) as raised:
        add_table(house)
    assert raised.value.code is Code.STALE_JOB
    assert (house.joined, ("ods", "x") in house.lake.there) == ({}, False)


def test_a_table_that_comes_while_its_pattern_is_added_belongs_to_the_job(house: House) -> None:
    """The run that goes on meanwhile reads its statement and does not heed it: the next run begins behind it."""
    house.lake.before_make = lambda _: house.come(("else", "late"))
    house.failing["else", "late"] = SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused")
    add_table(house)
    house.lake.before_make = print
    assert house.joined == {"else.x": "ods.x"}
    old = house.runs[house.id]
    house.ends[house.id]()
    house.jobs.lives.tick()
    run = house.runs[house.id]
    assert (old.told, run is old) == (["finish"], False)
    house.failing.clear()
    until(lambda: run.told == ["finish"])
    assert house.joined == {"else.x": "ods.x", "else.late": "ods.late"}
    house.ends[house.id]()
    house.jobs.lives.tick()
    assert house.runs[house.id] is not run


def test_a_frontend_that_starts_looks_for_what_nobody_told(house: House) -> None:
    """Of a job with patterns: the one before may have died before it looked."""
    house.come(LATE)
    house.jobs.lives.recover()
    house.ends[house.id]()
    house.jobs.lives.tick()
    until(lambda: house.runs[house.id].told == ["finish"])
    assert house.joined == {"shop.late": "ods.late"}


def test_an_outage_that_many_looks_meet_is_one_line(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """As often as the source is asked again."""
    house.come(LATE)
    ends = iter([SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused")] * 9)

    def end(_: object) -> Position:
        for error in ends:
            raise error
        return house.last

    house.end = end  # type: ignore[method-assign]
    house.jobs.lives.recover()
    house.ends[house.id]()
    house.jobs.lives.tick()
    until(lambda: house.runs[house.id].told == ["finish"])
    assert [record.getMessage().count("is asked again") for record in caplog.records].count(1) == 1


def test_a_table_that_lost_its_channel_to_another_joins(house: House) -> None:
    """RESYNC of the name that it left reads the other one; no statement that is still to be read names this one."""
    left = (Shadow(db="shop", name="late", left=True),)
    channel = replace(
        with_history(house.job.channels[0], shadows=left), source=make_source_table(db="shop", name="late_old")
    )
    house.store.jobs.describe(with_history(channel, stopped=Stop(reason="another table")))
    house.come(LATE, ("shop", "late_old"))
    [parsed] = syncsql.parse("ALTER SYNC JOB demo.job1 RESYNC TABLE shop.late")
    house.jobs.alter(parsed.statement, None)  # type: ignore[arg-type]
    assert [each.source.label for each in house.job.channels] == ["shop.late"]
    house.ends[house.id]()
    house.jobs.lives.tick()
    until(lambda: house.runs[house.id].told == ["finish"])
    assert house.joined == {"shop.late_old": "ods.late_old"}


def test_a_new_job_looks_for_what_came_too_fast(house: House) -> None:
    """A source that gets tables all the time has more when the job begins than those that were looked at."""
    survey, names = house.survey, iter("abcdef")

    def busy(source: object, dbs: Sequence[str]) -> Mapping[Table, Found]:
        house.come(*(("else", name) for name in next(names, "")))
        return survey(source, dbs)

    house.jobs._planner.wanted_tables._survey = busy
    create(house, "job2", "FROM `else`.* INTO ods.*")

    def sources() -> list[str]:
        return [channel.source.name for channel in house.store.jobs.by_name("demo", "job2").channels]

    assert sources() == [*"abcde"]
    house.jobs.lives.tick()
    until(lambda: sources() == [*"abcdef"])


@pytest.mark.parametrize(
    "cure",
    ['SET ("on_value_error" = "null")', "RESYNC TABLE shop.job1_target"],
)
def test_what_ends_a_run_does_not_pause_a_job_that_was_altered_meanwhile(house: House, cure: str) -> None:
    """It starts again with what was stored, which may be the cure; what ends that run, too, pauses it."""
    error = SyncError(Code.SOURCE_VALUE, column="a", table="t", value="0000-00-00", reason="there is no such date")
    alter(house, cure)
    before = house.runs[house.id]
    house.ends[house.id](error)
    assert house.job.state is JobState.RUNNING
    house.jobs.lives.tick()
    assert house.runs[house.id] is not before
    assert house.runs[house.id].job.version > before.job.version
    house.ends[house.id](error)
    assert house.job.state is JobState.PAUSED_BY_ERROR


def test_jobs_are_bounded(house: House) -> None:
    """One more than max_jobs is refused before its source is asked; who stops one makes room."""
    house.max_jobs = 1
    house.come(("else", "x"))
    inspect, house.jobs._planner._inspect = house.jobs._planner._inspect, never
    with pytest.raises(SyncError) as raised:
        create(house, "job2", "FROM `else`.* INTO ods.*")
    assert raised.value.code is Code.TOO_MANY_JOBS
    assert "There are 1 sync jobs, as many as max_jobs allows" in str(raised.value)
    house.jobs._planner._inspect = inspect
    house.jobs.stop(Name(name="job1"), "demo")
    create(house, "job2", "FROM `else`.* INTO ods.*")
    assert [job.name for job in house.store.jobs.all(live=True)] == ["job2"]


def test_tables_that_one_statement_names_are_bounded(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its source is asked; a pattern among them counts as one, whatever it means."""
    monkeypatch.setattr(statement_text, "MOST_NAMED", 2)
    house.come(*(("else", f"x{number}") for number in range(5)))
    create(house, "job2", "FROM `else`.* INTO ods.*")
    named = ", ".join(f"FROM mall.t{number} INTO t{number}" for number in range(3))
    house.before_inspect = never
    [add] = syncsql.parse(f"ALTER SYNC JOB demo.job1 ADD TABLE {named}")
    for refused in (
        lambda: create(house, "job3", named),
        lambda: house.jobs.add_tables(add.statement, None),  # type: ignore[arg-type]
    ):
        with pytest.raises(SyncError, match="more than 2 tables and patterns; FROM db") as raised:
            refused()
        assert raised.value.code is Code.STATEMENT_TOO_LARGE


@pytest.mark.parametrize("prefix", ["mysql", "snapshot"])
@pytest.mark.parametrize(("cert", "key"), [("/fe/c", "/etc/files/demo/k"), ("/etc/files/demo/c", "/etc/files/ods/k")])
def test_an_account_names_the_key_files_of_its_database_alone(house: House, prefix: str, cert: str, key: str) -> None:
    """The frontend would prove by them to be whom another account's source trusts: refused before any is asked, by
    CREATE and by EXPLAIN, whether they exist or not. An administrator names any file.
    """
    house.come(("else", "x"))
    text = f'CREATE SYNC demo.{{name}} (FROM `else`.* INTO ods.*) FROM BINLOG ({BINLOG}, "mysql.ssl" = "required"'
    text += ', "snapshot.host" = "db2", "snapshot.ssl" = "required"' if prefix == "snapshot" else ""
    text += f', "{prefix}.ssl_cert" = "{cert}", "{prefix}.ssl_key" = "{key}")'
    [parsed] = syncsql.parse(text.format(name="job2"))
    [explained] = syncsql.parse(f"EXPLAIN {text.format(name='job2').removeprefix('CREATE ')}")
    house.before_inspect = never
    for refused in (
        lambda: house.jobs.create(parsed.statement, None, "ann", bounded=True),  # type: ignore[arg-type]
        lambda: house.jobs.explain(explained.statement, None, bounded=True),  # type: ignore[arg-type]
    ):
        with pytest.raises(SyncError) as raised:
            refused()
        assert raised.value.code is Code.FILE_DENIED
        assert raised.value.context["path"] == (cert if cert.startswith("/fe") else key)
    house.before_inspect = print
    house.jobs.create(parsed.statement, None, "root")  # type: ignore[arg-type]
    password = '"mysql.password" = "own"'
    for change in (f'"{prefix}.ssl_cert" = "{cert}", "{prefix}.ssl_key" = "{key}"', '"mysql.host" = "db9"'):
        [altered] = syncsql.parse(f"ALTER SYNC JOB demo.job2 SET SOURCE ({change}, {password})")
        with pytest.raises(SyncError) as raised:
            house.jobs.set_source(altered.statement, None, bounded=True)  # type: ignore[arg-type]
        assert raised.value.code is Code.FILE_DENIED
    own = text.replace("/fe/c", "/etc/files/demo/c").replace("/etc/files/ods/k", "/etc/files/demo/k")
    [parsed] = syncsql.parse(own.format(name="job3").replace("ods.*", "demo.*"))
    house.jobs.create(parsed.statement, None, "ann", bounded=True)  # type: ignore[arg-type]


def test_jobs_of_one_account_are_bounded(house: House) -> None:
    """Before its source is asked, and while others have places; who may have any number, and other accounts, go on."""
    house.max_jobs_per_account = 1
    house.come(*((f"db{number}", f"x{number}") for number in range(5)))
    create(house, "job2", "FROM db0.* INTO ods.*", "'ann'@'%'")
    inspect, house.jobs._planner._inspect = house.jobs._planner._inspect, never
    with pytest.raises(SyncError) as raised:
        create(house, "job3", "FROM db1.* INTO ods.*", "'ann'@'%'")
    assert raised.value.code is Code.TOO_MANY_OF_ACCOUNT
    assert "Account 'ann'@'%' has 1 sync jobs, as many as max_jobs_per_account allows; STOP those" in str(raised.value)
    house.jobs._planner._inspect = inspect
    create(house, "job3", "FROM db1.* INTO ods.*", "'bob'@'%'")
    house.jobs.stop(Name(name="job2"), "demo")
    create(house, "job4", "FROM db2.* INTO ods.*", "'ann'@'%'")
    create(house, "job5", "FROM db3.* INTO ods.*", "'ann'@'%'", bounded=False)
    creators = {job.name: job.creator for job in house.store.jobs.all(live=True)}
    assert creators == {"job1": None, "job3": "'bob'@'%'", "job4": "'ann'@'%'", "job5": "'ann'@'%'"}


def test_cancelled_jobs_of_one_account_are_bounded(house: House) -> None:
    """Those that it cancelled first are deleted by the next tick, however young they are; those of others stay."""
    house.max_jobs_per_account = 1
    house.come(*((f"db{number}", f"x{number}") for number in range(4)))
    for number, account in enumerate(["'ann'@'%'", "'ann'@'%'", "'ann'@'%'", "'bob'@'%'"]):
        create(house, f"of{number}", f"FROM db{number}.* INTO ods.*", account)
        house.jobs.stop(Name(name=f"of{number}"), "demo")
    house.jobs.lives.tick()
    assert [job.name for job in house.store.jobs.all()] == ["job1", "of2", "of3"]


def test_jobs_that_are_created_beside_each_other_are_bounded_too(house: House) -> None:
    """The last place goes to who is ready first; of the other no table stays."""
    house.max_jobs = 2
    house.come(("else", "x"))
    house.lake.before_make = lambda _: house.add("first", "first_target")
    with pytest.raises(SyncError) as raised:
        create(house, "job2", "FROM `else`.* INTO ods.*")
    assert raised.value.code is Code.TOO_MANY_JOBS
    assert ("ods", "x") not in house.lake.there
    assert {job.name for job in house.store.jobs.all(live=True)} == {"job1", "first"}


def create(house: House, name: str, channels: str, creator: str | None = None, *, bounded: bool = True) -> None:
    facts = '"type" = "mysql", "mysql.host" = "h", "mysql.user" = "u", "mysql.password" = "p", "start" = "snapshot"'
    [parsed] = syncsql.parse(f"CREATE SYNC demo.{name} ({channels}) FROM BINLOG ({facts})")
    house.jobs.create(parsed.statement, None, creator, bounded=bounded)  # type: ignore[arg-type]


def never(*_: object) -> Any:
    raise AssertionError("the source was asked")


def test_a_job_that_is_not_there_is_told_from_a_database_that_is_not(house: House) -> None:
    """The lake is asked for the second alone."""
    for db, code in (("demo", Code.UNKNOWN_JOB), ("nowhere", Code.UNKNOWN_DATABASE)):
        with pytest.raises(SyncError) as raised:
            house.jobs.pause(Name(name="none"), db)
        assert raised.value.code is code
    with pytest.raises(SyncError) as raised:
        house.jobs.pause(Name(name="job1"), None)
    assert raised.value.code is Code.NO_DATABASE


def test_a_table_that_joins_is_warned_of_as_by_create_sync(house: House) -> None:
    """Of its VIRTUAL columns over a TIMESTAMP, where it is told that it has joined: by a statement, along with the
    table of another one, or by a look.
    """
    unlogged = ("mall", "y")

    def come(table: Table) -> None:
        house.come(table)
        zoned = (GeneratedColumn(name="status", reads=("id",), zoned=True),)
        house.sources[table] = replace(house.sources[table], generated=zoned)

    come(SHOP)
    come(LATE)
    note(house, SHOP)
    come(unlogged)
    read_up_to(house, NOW)
    house.runs[house.id].on_unlogged_tables({unlogged})
    until(lambda: not house.jobs._new_tables._unseen, why="the look")
    outcomes = {record.table: record.outcome for record in house.store.ddl.of(house.id)}
    assert outcomes.keys() == {"shop.t", "shop.late", "mall.y"}
    for table, outcome in outcomes.items():
        assert outcome.startswith(f"joins the job, its rows first; warning 20040: Column 'status' of table '{table}'")
    assert refused(house) == {}
