import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel import channel_state
from syncmgr.job.channel.channel_state import ChannelState, Stop, Verdict
from syncmgr.job.ddl.ddl_step import READ_AGAIN, DdlStep
from syncmgr.job.ddl.lake_change import AddField, DropField, LakeChange, RenameField
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, Epoch, LastCommit, Prepared
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import ChunkPlan, Load
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.types.schema import SourceTable, TargetType
from syncmgr.pipeline.snapshot.port import SnapshotOptions
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.chunk.chunks import MysqlChunks
from tests.support.until import HANG_SECOND, until
from tests.unit.job.factories import make_channel, with_history

EXACT = Position(file="b.000001", offset=50, server="s")
START, END = (Position(file="b.000001", offset=at, server="s") for at in (4, 100))
ROWS = 10
BROKEN = SyncError(Code.SNAPSHOT_BROKEN, table="shop.two", reason="SELECT command denied to user")
AWAY = SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused")
NOWHERE = Path("/nonexistent")  # nothing is read
READER = MysqlChunks(MysqlAddress(host="db2", port=3307, user="repl", password="p"))


@dataclass(frozen=True)
class Done:
    last: LastCommit = field(default_factory=LastCommit)


@dataclass
class MemoryLoads:
    """What a job's ledger keeps of its snapshot."""

    known: dict[str, Load]
    last: Epoch = field(default_factory=lambda: Epoch(number=0, end=START, last_seq=0))

    def loads(self) -> Mapping[str, Load]:
        return dict(self.known)

    def begin_loads(self, excerpts: Mapping[str, KeyRange | None]) -> None:
        self.known |= {token: Load(token=token, replaces=True, excerpt=excerpt) for token, excerpt in excerpts.items()}

    def plan_load(self, token: str, plan: ChunkPlan) -> None:
        self.known[token] = replace(self.known[token], plan=plan)

    def add_chunk(self, token: str, number: int, committed: ChannelCommitted) -> None:
        load = self.known[token]
        self.known[token] = replace(load, done=load.done | {number}, rows=load.rows + committed.rows)

    def end_loads(self, tokens: Collection[str], upper: Position) -> None:
        self.known |= {token: replace(self.known[token], upper=upper) for token in tokens}

    def catch_up(self, tokens: Collection[str]) -> None:
        self.known |= {token: replace(self.known[token], caught_up=True) for token in tokens}

    def progress(self) -> Mapping[str, Done]:
        return dict.fromkeys(self.known, Done())

    def last_epoch(self) -> Epoch:
        return self.last

    def intents(self) -> list[Epoch]:
        return []

    def backlog(self) -> list[Epoch]:
        return []


@dataclass
class MemorySource:
    """Each table has so many chunks."""

    asked: list[str] = field(default_factory=list)
    fails: Callable[[str], None] = lambda _: None
    chunks: int = 30
    keys: list[tuple[str, ...]] = field(default_factory=list)
    given_up: threading.Event = field(default_factory=threading.Event)

    def give_up(self) -> None:
        self.given_up.set()

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        self.fails(what)

    def await_seen(self, table: SourceTable, start: Position) -> None:
        pass

    def settle(self, start: Position) -> MysqlChunks:
        self._ask("settle")
        return READER

    def plan(self, table: SourceTable, key: Sequence[str], wanted_rows: int, where: str = "") -> ChunkPlan:
        self._ask(f"plan {wanted_rows} {where}".rstrip())
        self.keys.append(tuple(key))
        return ChunkPlan(id="p", key=("id",), bounds=tuple((str(n),) for n in range(self.chunks - 1)), rows=300)

    def end(self) -> Position:
        self._ask("end")
        return END

    @contextmanager
    def exact(self, table: SourceTable, name: str, known: Collection[str]) -> Iterator["GivenPoint"]:
        self._ask(f"exact {name}")
        yield GivenPoint(self.asked)

    def check_same(self, tables: Sequence[tuple[SourceTable, Sequence[str]]]) -> None:
        self._ask("same")

    def check_held(self, start: Position) -> float | None:
        self._ask("held")
        return None


@dataclass
class GivenPoint:
    """A hand-shake with a reader who is always there."""

    asked: list[str]

    def find(self, ended: Callable[[], bool]) -> Position | None:
        return EXACT

    def release(self) -> None:
        self.asked.append("release")


@dataclass
class CountingLake:
    """Takes chunks and counts how many come at a time."""

    on_commit: Callable[[ChannelCommit], None] = lambda _: None
    commits: list[tuple[str, int]] = field(default_factory=list)
    now: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def give_up(self, chunk: ChunkRows) -> None: ...

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None: ...

    def check_integrity(self, db: str, table: str, *, replaced: bool = False) -> None:
        """It always is."""

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        assert commit.chunk is not None
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.on_commit(commit)
        with self.lock:
            self.now -= 1
            self.commits.append((commit.token, commit.chunk.number))
        return ChannelCommitted(snapshot=1, rows=ROWS)


class Bench:
    """A snapshot of two channels on doubles."""

    def __init__(self, keys: tuple[str, ...] = ("id",), **options: Any) -> None:
        channels = (make_channel(token="one", keys=keys), make_channel(token="two", target="lines", keys=keys))
        self.loads = MemoryLoads({channel.token: Load(token=channel.token) for channel in channels})
        self.source, self.lake, self.ending = MemorySource(), CountingLake(), threading.Event()
        limits = {"connections": lambda: 3, "chunk_rows": lambda: 1000, "rows_per_second": lambda: 0}
        limits |= {"retry_most": lambda: 300.0, "folder": NOWHERE} | options
        self.options = SnapshotOptions(channels=channels, **limits)

    def run(self) -> Snapshot:
        snapshot = Snapshot(self.options, self.source, self.loads, self.lake)
        snapshot.run(self.ending, lambda: None)
        return snapshot


def held(snapshot: Snapshot, token: str, end: Position | None = None) -> SyncError | None:
    """Why staged changes of a table wait for its rows; `end`: of the epoch that has them."""
    skipped = end is not None and snapshot._channels[token].history.skips(end)
    is_held = channel_state.held(snapshot.standings[token], skipped=skipped)
    return snapshot.standings.obstacle(token) if is_held else None


def is_unread(snapshot: Snapshot, token: str) -> bool:
    return channel_state.verdict(snapshot.standings[token], staged=False) is Verdict.OMIT


def test_all_chunks_of_all_tables_come_once() -> None:
    """Plans first, then the chunks, then the tables are looked at again, and only then the end is asked for."""
    bench = Bench()
    bench.run()
    assert sorted(bench.lake.commits) == [(token, number) for token in ("one", "two") for number in range(1, 31)]
    assert bench.source.asked == ["settle", "held", "plan 1000", "plan 1000", "same", "same", "held", "end"]
    assert all(load.upper == END and not load.caught_up for load in bench.loads.known.values())
    assert bench.loads.known["one"].rows == 300


def test_chunks_are_read_side_by_side_and_no_more() -> None:
    """As many as the setting says, and it may change while they are read."""
    connections = 1
    together = threading.Barrier(4)

    def on_commit(commit: ChannelCommit) -> None:
        nonlocal connections
        assert commit.chunk is not None
        if commit.chunk.number == 5:
            connections = 4
        if commit.token == "one" and 6 <= commit.chunk.number <= 9:
            together.wait(HANG_SECOND)

    bench = Bench(connections=lambda: connections)
    bench.lake.on_commit = on_commit
    bench.run()
    assert bench.lake.most == 4


def test_a_pause_ends_behind_a_chunk_and_the_rest_is_read_later() -> None:
    """What is in the lake is not read again."""
    bench = Bench(connections=lambda: 1)

    def on_commit(_: ChannelCommit) -> None:
        if len(bench.lake.commits) == 6:
            bench.ending.set()

    bench.lake.on_commit = on_commit
    bench.run()
    assert len(bench.lake.commits) == 7
    assert bench.loads.known["one"].upper is None
    bench.ending.clear()
    bench.lake.on_commit = lambda _: None
    bench.run()
    assert len(bench.lake.commits) == len(set(bench.lake.commits)) == 60


@pytest.mark.parametrize("what", ["settle", "held", "plan 1000", "same", "end"])
def test_a_server_that_is_away_is_asked_again(what: str) -> None:
    """Whatever step fails, the next attempt goes on there."""
    bench = Bench()

    def fail(asked: str) -> None:
        if asked == what:
            bench.source.fails = lambda _: None
            raise AWAY

    bench.source.fails = fail
    with pytest.raises(SyncError, match="refused"):
        bench.run()
    bench.run()
    assert len(set(bench.lake.commits)) == len(bench.lake.commits) == 60


def test_a_chunk_that_fails_is_read_again() -> None:
    """Those beside it end first; the error comes out; only what is not in the lake comes again."""
    bench = Bench()

    def fail(commit: ChannelCommit) -> None:
        if commit.chunk is not None and commit.chunk.number == 9:
            raise AWAY

    bench.lake.on_commit = fail
    with pytest.raises(SyncError, match="refused"):
        bench.run()
    assert bench.lake.now == 1, "only the one that failed has not ended"
    assert bench.loads.known["one"].upper is None
    bench.lake.on_commit = lambda _: None
    bench.run()
    assert {number for token, number in bench.lake.commits if token == "one"} == set(range(1, 31))


def test_a_slow_reading_has_small_chunks_and_waits() -> None:
    """With a bound no more rows are read in a second than it says."""
    bench = Bench(rows_per_second=lambda: 5, connections=lambda: 1)
    bench.lake.on_commit = lambda _: bench.ending.set() if len(bench.lake.commits) == 1 else None
    bench.run()
    assert bench.source.asked[2] == "plan 50"
    assert len(bench.lake.commits) == 2


@pytest.mark.parametrize(("offset", "whole"), [(99, False), (100, True)])
def test_rows_are_a_state_of_the_source_past_the_upper_bound(offset: int, *, whole: bool) -> None:
    """No consistent point before; from then on every epoch is one."""
    bench = Bench()
    snapshot = bench.run()
    end = replace(START, offset=offset)
    assert snapshot.whole(end) is whole
    snapshot.committed(end)
    assert bench.loads.known["one"].caught_up is whole
    assert snapshot.whole(START) is whole


def test_a_quiet_source_is_consistent_at_once() -> None:
    """Where nothing was written meanwhile there is nothing to catch up with."""
    bench = Bench()
    bench.loads.last = replace(bench.loads.last, end=END)
    snapshot = bench.run()
    snapshot.committed(END)
    assert snapshot.whole(START)
    assert bench.loads.known["one"].caught_up


def test_a_table_that_was_stopped_is_not_read() -> None:
    """Neither by the first snapshot of a later life, nor where all of them were."""
    bench = Bench()
    one, two = bench.options.channels
    bench.options = replace(bench.options, channels=(one, with_history(two, stopped=Stop(reason="a statement"))))
    bench.run()
    assert {token for token, _ in bench.lake.commits} == {"one"}
    assert bench.loads.known["two"].upper is None
    bench = Bench()
    stopped = tuple(with_history(channel, stopped=Stop(reason="a statement")) for channel in bench.options.channels)
    bench.options = replace(bench.options, channels=stopped)
    assert bench.run().trouble() is None
    assert bench.lake.commits == []


def refuse_two(commit: ChannelCommit) -> None:
    if commit.token == "two":
        raise BROKEN


def test_a_table_that_fails_alone_comes_later() -> None:
    """The others end without it; no change of it is committed, and nothing is a consistent point, before it came."""
    bench = Bench(retry_most=lambda: 0.01)
    bench.lake.on_commit = refuse_two
    snapshot = bench.run()
    assert bench.loads.known["one"].upper == END
    assert bench.loads.known["two"].upper is None
    assert (held(snapshot, "one"), held(snapshot, "two"), snapshot.trouble()) == (None, BROKEN, BROKEN)
    assert not snapshot.whole(END)
    bench.lake.on_commit = lambda _: None
    until(lambda: held(snapshot, "two") is None)
    bench.ending.set()
    snapshot.join()
    assert bench.loads.known["two"].upper == END
    assert snapshot.failures() == {}
    snapshot.committed(END, {"two"})
    assert not bench.loads.known["two"].caught_up
    snapshot.committed(END)
    assert bench.loads.known["two"].caught_up


def test_a_table_that_is_missing_does_not_hold_up_others_after_a_restart() -> None:
    """They have gone on in an earlier life; its changes wait from the first moment on."""
    bench = Bench()
    bench.loads.end_loads(["one"], END)
    entered, gate = threading.Event(), threading.Event()
    bench.lake.on_commit = lambda _: entered.set() or gate.wait(HANG_SECOND)
    snapshot = Snapshot(bench.options, bench.source, bench.loads, bench.lake)
    why = held(snapshot, "two")
    assert why is not None
    assert why.code is Code.SNAPSHOT_OPEN
    snapshot.run(bench.ending, lambda: None)
    assert entered.wait(HANG_SECOND)
    gate.set()
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()
    assert {token for token, _ in bench.lake.commits} == {"two"}


@pytest.mark.parametrize("fails_at", ["plan", "chunk"])
def test_a_table_that_fails_alone_is_told_while_the_others_are_read(fails_at: str) -> None:
    """Not when the last of them is there, which may take hours: its operator can mend it meanwhile."""
    bench = Bench()
    reached, gate = threading.Event(), threading.Event()

    def commit(of: ChannelCommit) -> None:
        if of.token == "two":
            raise BROKEN
        if of.chunk is not None and of.chunk.number == bench.source.chunks - 1:
            reached.set()
            gate.wait(HANG_SECOND)

    def plan(what: str) -> None:
        if fails_at == "plan" and what.startswith("plan") and len(bench.source.keys) == 1:
            raise BROKEN

    bench.lake.on_commit, bench.source.fails = commit, plan
    snapshot = Snapshot(bench.options, bench.source, bench.loads, bench.lake)
    thread = threading.Thread(target=snapshot.run, args=(bench.ending, lambda: None))
    thread.start()
    assert reached.wait(HANG_SECOND)
    try:
        until(lambda: snapshot.failures().get("two") is BROKEN)
        assert snapshot.standings["two"].state is ChannelState.SNAPSHOT
        assert bench.loads.known["one"].upper is None
    finally:
        bench.ending.set()
        gate.set()
        thread.join()
        snapshot.join()


def test_where_every_table_fails_the_error_comes_out() -> None:
    """Then there is nothing that could go on."""
    bench = Bench()
    bench.lake.on_commit = refuse_both
    with pytest.raises(SyncError) as raised:
        bench.run()
    assert raised.value is BROKEN


@pytest.mark.parametrize("fact", ["altered", "gone"])
def test_where_a_statement_may_have_changed_every_table_the_binlog_is_read(fact: str) -> None:
    """A rename or a drop is followed, too; the rows are read behind it, and the trouble is told meanwhile."""
    bench = Bench()
    told = SyncError(Code.SNAPSHOT_BROKEN, table="shop.orders", reason="it is not what it was", **{fact: True})

    def differs(what: str) -> None:
        if what == "same":
            raise told

    bench.lake.on_commit, bench.source.fails = refuse_both, differs
    snapshot = bench.run()
    assert set(snapshot.failures().values()) == {told}
    bench.ending.set()
    snapshot.join()


def refuse_both(_: ChannelCommit) -> None:
    raise BROKEN


def test_a_table_without_a_key_is_read_at_its_point() -> None:
    """The point is stored before its rows may be read, and its changes begin there; keys need none."""
    bench = Bench(keys=())
    bench.source.chunks = 1
    stored: list[bool] = []
    bench.lake.on_commit = lambda commit: stored.append(exact_of(commit))
    snapshot = bench.run()
    assert snapshot.points() == {"one": EXACT, "two": EXACT}
    assert bench.source.asked.count("release") == 2
    assert stored == [True, True]


def test_rows_of_which_nothing_is_used_count_by_some_column() -> None:
    """A target that has an expression of no column, such as a constant, gets as many rows."""
    bench, asked = Bench(keys=()), list[tuple[str, ...]]()
    bench.source.chunks = 1
    first, *rest = bench.options.channels
    bench.options = replace(bench.options, channels=(replace(first, reads=()), *rest))

    def on_commit(commit: ChannelCommit) -> None:
        assert commit.chunk is not None
        asked.append(commit.chunk.columns)

    bench.lake.on_commit = on_commit
    bench.run()
    assert asked == [(first.source.columns[0].name,), rest[0].reads]


def exact_of(commit: ChannelCommit) -> bool:
    assert commit.chunk is not None
    return commit.chunk.exact


def test_one_without_a_key_that_fails_alone_has_turns_of_its_own() -> None:
    """Nothing is read of it meanwhile, since only its point tells its changes from its rows; the others go on."""
    bench = Bench(keys=(), retry_most=lambda: 0.01)
    bench.source.chunks = 1
    bench.lake.on_commit = refuse_two
    snapshot = bench.run()
    assert (is_unread(snapshot, "one"), is_unread(snapshot, "two"), snapshot.trouble()) == (False, True, BROKEN)
    until(snapshot.is_due)
    snapshot.run(bench.ending, lambda: None)
    assert is_unread(snapshot, "two")
    bench.lake.on_commit = lambda _: None
    until(snapshot.is_due)
    snapshot.run(bench.ending, lambda: None)
    assert (is_unread(snapshot, "two"), snapshot.is_due(), snapshot.trouble()) == (False, False, None)
    assert snapshot.points() == {"one": EXACT, "two": EXACT}


def test_a_table_that_joins_does_not_hold_up_the_others() -> None:
    """Of a job that began without a snapshot only the new one has rows to read, beside the changes of the others."""
    bench = Bench()
    bench.loads.known = {"two": Load(token="two")}
    entered, gate = threading.Event(), threading.Event()
    bench.lake.on_commit = lambda _: entered.set() or gate.wait(HANG_SECOND)
    snapshot = bench.run()
    assert entered.wait(HANG_SECOND)
    assert (held(snapshot, "one"), held(snapshot, "two") is None) == (None, False)
    gate.set()
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()


def test_a_table_that_joins_waits_for_transactions_from_before() -> None:
    """What was prepared before it joined lacks its rows: no chunk is read until that has ended."""
    bench = Bench()
    bench.loads.known = {"two": Load(token="two")}
    bench.loads.last = replace(bench.loads.last, prepared={"x": Prepared()})
    snapshot = bench.run()
    assert bench.source.asked == []
    bench.loads.last = replace(bench.loads.last, prepared={"y": Prepared()})
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()


def test_one_without_a_key_that_joins_is_read_first() -> None:
    """Only its point tells its changes from its rows, and the worker must know it."""
    bench = Bench(keys=())
    bench.source.chunks = 1
    bench.loads.known = {"two": Load(token="two")}
    snapshot = bench.run()
    assert snapshot.points() == {"two": EXACT}
    assert held(snapshot, "two") is None


def test_a_table_that_is_read_anew_has_one_chunk_that_replaces() -> None:
    """What an earlier life was about to commit goes in before, or the table bore more than the ledger knows."""
    bench = Bench()
    bench.source.chunks = 1
    bench.loads.known = {"one": Load(token="one", caught_up=True, upper=END), "two": Load(token="two", replaces=True)}
    chunks: list[ChunkRows | None] = []
    bench.lake.on_commit = lambda commit: chunks.append(commit.chunk)
    snapshot = Snapshot(bench.options, bench.source, bench.loads, bench.lake)
    assert held(snapshot, "two") is None
    snapshot.run(bench.ending, lambda: None)
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()
    assert [chunk is not None and chunk.replaces for chunk in chunks] == [True]
    assert bench.source.keys == [()]


def anew() -> Bench:
    """One of two tables is read again, in one chunk."""
    bench = Bench()
    bench.source.chunks = 1
    bench.loads.known = {"one": Load(token="one", caught_up=True, upper=END), "two": Load(token="two", replaces=True)}
    return bench


def test_a_table_that_gets_columns_takes_before_only_what_it_skips() -> None:
    """It may bear that epoch already, and its chunk would meet one that the ledger does not know; rows do not fit yet,
    and nothing comes beside the chunk.
    """
    after = Position(server="s", file="f.000001", offset=50, created=1)
    bench = anew()
    load = bench.loads.known["two"]
    bench.loads.known["two"] = replace(load, changes=(AddField(name="x", type=TargetType(name="INT")),))
    one, two = bench.options.channels
    bench.options = replace(bench.options, channels=(one, with_history(two, after=after)))
    snapshot = Snapshot(bench.options, bench.source, bench.loads, bench.lake)
    assert held(snapshot, "two", after) is None
    assert all(held(snapshot, "two", end) is not None for end in (replace(after, offset=51), None))
    bench.ending.set()
    snapshot.run(bench.ending, lambda: None)
    assert held(snapshot, "two", after) is not None


def test_a_statement_on_a_table_that_is_read_begins_that_again() -> None:
    """It waits for the chunk under way; what waits for the table may be committed before it; then all is read again,
    as the statement has left the table.
    """
    bench = anew()
    entered, gate = threading.Event(), threading.Event()
    reads: list[tuple[str, ...]] = []

    def on_commit(commit: ChannelCommit) -> None:
        assert commit.chunk is not None
        reads.append(commit.chunk.columns)
        entered.set()
        assert gate.wait(HANG_SECOND)

    bench.lake.on_commit = on_commit
    snapshot = bench.run()
    assert entered.wait(HANG_SECOND)
    altered = replace(bench.options.channels[1], reads=("id", "status"))
    step = DdlStep(statement="", channels={"two": altered}, changes={"two": (DropField(name="x"),)})
    waited: list[bool] = []

    def follow() -> None:
        with snapshot.begun_anew(step, END):
            waited.append(held(snapshot, "two") is not None)
            snapshot.read_as([altered])

    statement = threading.Thread(target=follow)
    statement.start()
    until(snapshot._order._wanted.is_set)
    assert held(snapshot, "two") is not None
    gate.set()
    statement.join(HANG_SECOND)
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()
    assert waited == [False]
    assert reads == [("id",), ("id", "status")]


def test_what_waits_may_be_committed_only_while_a_statement_is_followed() -> None:
    """Rows that come then replace it; behind the statement they may be on their way."""
    bench = anew()
    bench.ending.set()
    snapshot = bench.run()
    step = DdlStep(statement="", changes={"two": (DropField(name="x"),)})
    assert held(snapshot, "two") is not None
    with snapshot.begun_anew(step, END):
        assert held(snapshot, "two") is None
    assert held(snapshot, "two") is not None


def test_rows_that_were_read_in_another_way_count_as_none() -> None:
    """Also where a crash came between the statement and its second reading; and nothing else begins again."""
    bench = anew()
    plan = ChunkPlan(id="p", key=(), bounds=(), rows=1, replaces=True, way="another")
    bench.loads.known["two"] = Load(token="two", plan=plan, done=frozenset({1}), replaces=True)
    snapshot = bench.run()
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()
    assert bench.lake.commits == [("two", 1)]
    step = DdlStep(statement="", changes={"one": (DropField(name="x"),), "two": (DropField(name="x"),)})
    with snapshot.begun_anew(step, END) as followed:
        assert bench.loads.known["one"].upper == bench.loads.known["two"].upper == END
    assert followed.resynced == {"two"}


@pytest.mark.parametrize(("offset", "is_read"), [(99, True), (100, True), (101, False)])
def test_rows_that_a_statement_may_have_preceded_are_read_again(offset: int, *, is_read: bool) -> None:
    """They were read by the names of after it, and following it would change them once more."""
    bench = anew()
    snapshot = bench.run()
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()
    step = DdlStep(statement="", changes={"two": (RenameField(old="a", new="b"),)}, done={"two": "renamed"})
    with snapshot.begun_anew(step, replace(END, offset=offset)) as followed:
        assert (followed != step) == is_read
    assert followed.resynced == ({"two"} if is_read else set())
    assert followed.done["two"] == ("renamed; " + READ_AGAIN if is_read else "renamed")
    assert followed.changes == step.changes


def test_a_table_that_is_renamed_while_it_is_read_is_read_from_the_beginning() -> None:
    """Another table may have had its name when a chunk was read."""
    bench = anew()
    bench.ending.set()
    snapshot = bench.run()
    two = bench.options.channels[1]
    bench.loads.known["two"] = Load(token="two", replaces=True, done=frozenset({1}))
    renamed = replace(two, source=replace(two.source, name="other"))
    with snapshot.begun_anew(DdlStep(statement="", channels={"two": renamed}), END):
        assert not bench.loads.known["two"].done


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [(AddField(name="x", type=TargetType(name="INT")), True), (DropField(name="id"), False)],
)
def test_a_part_is_read_again_behind_a_statement(change: LakeChange, *, is_kept: bool) -> None:
    """Or all rows, where its condition names what the statement has changed."""
    bench = anew()
    two = bench.options.channels[1]
    excerpt = KeyRange(way=two.mapping_fingerprint, text="", columns=("id",), lake="`id` > 5", source="`id` > 5")
    bench.loads.known["two"] = Load(token="two", replaces=True, excerpt=excerpt)
    altered = replace(two, reads=("id", "status"))
    step = DdlStep(statement="", channels={"two": altered}, changes={"two": (change,)})
    excerpts: list[KeyRange | None] = []
    entered = threading.Event()

    def on_commit(commit: ChannelCommit) -> None:
        assert commit.chunk is not None
        assert commit.chunk.condition == ("(`id` > 5)" if commit.chunk.excerpt else "")
        excerpts.append(commit.chunk.excerpt)
        entered.set()
        assert len(excerpts) > 1 or snapshot._order._wanted.wait(HANG_SECOND)

    bench.lake.on_commit = on_commit
    snapshot = Snapshot(bench.options, bench.source, bench.loads, bench.lake)
    snapshot.run(bench.ending, lambda: None)
    assert entered.wait(HANG_SECOND)
    with snapshot.begun_anew(step, END):
        snapshot.read_as([altered])
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()
    assert excerpts == [excerpt, replace(excerpt, way=altered.mapping_fingerprint) if is_kept else None]
    assert f"plan 1000 {excerpt.source}" in bench.source.asked


def test_a_part_of_another_way_is_all_rows() -> None:
    """It was made for the table as it was; nobody knows which rows it means now."""
    bench = anew()
    excerpt = KeyRange(way="another", text="", columns=("id",), lake="`id` > 5", source="`id` > 5")
    bench.loads.known["two"] = Load(token="two", replaces=True, excerpt=excerpt)
    excerpts: list[KeyRange | None] = []
    bench.lake.on_commit = lambda commit: excerpts.append(commit.chunk.excerpt if commit.chunk else excerpt)
    snapshot = bench.run()
    until(lambda: bench.loads.known["two"].upper == END)
    snapshot.join()
    assert excerpts == [None]


def test_the_only_table_is_read_anew_beside_its_changes() -> None:
    """Or a statement that its columns wait for would never be met; that it fails is told, and stops nothing."""
    bench = anew()
    bench.loads.known = {token: Load(token=token, replaces=True) for token in ("one", "two")}
    bench.lake.on_commit = refuse_both
    snapshot = bench.run()
    until(snapshot.failures)
    why = held(snapshot, "two")
    assert why is not None
    assert why.code is Code.SNAPSHOT_OPEN
    bench.ending.set()
    snapshot.join()


def test_a_chunk_that_is_given_up_is_missing_still() -> None:
    """Also where the wish to end comes only after it: the table has not all of its rows."""
    bench = Bench()
    snapshot = Snapshot(bench.options, bench.source, bench.loads, bench.lake)

    def give_up(commit: ChannelCommit) -> None:
        if commit.token == "one" and commit.chunk is not None and commit.chunk.number == 6:
            snapshot.give_up()
            raise SyncError(Code.INTERRUPTED)

    bench.lake.on_commit = give_up
    snapshot.run(bench.ending, lambda: None)
    load = bench.loads.known["one"]
    assert (tuple(load.missing), load.upper) == ((6,), None)
    assert snapshot.standings["one"].state is ChannelState.SNAPSHOT


@pytest.mark.parametrize("question", ["settle", "plan", "same", "held"])
def test_a_question_that_is_given_up_fails_nothing(question: str) -> None:
    """Whatever the source is asked when the job is paused, the table waits for its rows as before."""
    bench = Bench()
    snapshot = Snapshot(bench.options, bench.source, bench.loads, bench.lake)

    def wait_for_the_end(asked: str) -> None:
        if asked.startswith(question):
            bench.ending.set()
            threading.Thread(target=snapshot.give_up).start()
            assert bench.source.given_up.wait(HANG_SECOND)
            raise SyncError(Code.INTERRUPTED)

    bench.source.fails = wait_for_the_end
    snapshot.run(bench.ending, lambda: None)
    snapshot.join()
    assert not snapshot.failures()
    assert all(load.upper is None for load in bench.loads.known.values())


def test_a_table_that_was_rolled_back_while_it_was_read_is_not_through() -> None:
    """A chunk has gone from it: it fails alone, and says so; the others go on."""
    bench = Bench()

    def check(_db: str, table: str, _plan: ChunkPlan) -> None:
        if table != "lines":
            raise SyncError(Code.TARGET_REPLACED, table=table, snapshot="chunk 2", epoch=0)

    bench.lake.check_chunks = check  # type: ignore[method-assign]
    snapshot = bench.run()
    bench.ending.set()
    snapshot.join()
    assert bench.loads.known["one"].upper is None
    assert bench.loads.known["two"].upper is not None
    assert snapshot.failures()["one"].code is Code.TARGET_REPLACED
