"""The consumer on a real staging folder, with a queue that is written down."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl_plan import DdlStatement
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.epoch import Epoch, Thresholds
from syncmgr.job.job_properties import AppendOnChange, OnValueError
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import PLACE, SEQ, Batch, ChangeKind, Ddl, PreparedChanges
from syncmgr.job.rows.dead_letter import DeadLetterBounds
from syncmgr.job.rows.value_error import Bound, ValueRules
from syncmgr.job.types.cells import Unheld
from syncmgr.pipeline.messages import DdlMet, FromWorker, Limits, Progress, Staged, WorkerChannel, WorkerPlan
from syncmgr.pipeline.worker import reports
from syncmgr.pipeline.worker.consumer import Consumer, Inbox
from tests.support.fakes import GivenChanges, OpenedBatches, make_batch
from tests.unit.job.factories import make_source_table

NEVER = 10**9


@dataclass
class Queue:
    """What the receiver would have: None is a moment in which nothing came. Its end ends the consumer."""

    waiting: deque[Batch | SyncError | None]
    inbox: Inbox
    followed: list[tuple[WorkerChannel, ...]] = field(default_factory=list)

    def take(self, timeout: float) -> Batch | None:
        if not self.waiting:
            self.inbox.finish = True
            return None
        batch = self.waiting.popleft()
        if isinstance(batch, SyncError):
            raise batch
        return batch

    def follow(self, channels: tuple[WorkerChannel, ...]) -> None:
        self.followed.append(channels)

    @property
    def empty(self) -> bool:
        return not self.waiting or self.waiting[0] is None


@dataclass
class Bench:
    """Runs a consumer over batches; `commits`: whether each epoch is committed as soon as it is sent."""

    folder: Path
    thresholds: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    commits: bool = True
    values: ValueRules = field(default_factory=lambda: ValueRules(policy=OnValueError.STOP))
    sent: list[FromWorker] = field(default_factory=list)
    followed: list[tuple[WorkerChannel, ...]] = field(default_factory=list)
    source: OpenedBatches = field(default_factory=lambda: OpenedBatches((), 0))
    waiting: deque[Batch | SyncError | None] = field(default_factory=deque)

    def run(self, batches: Iterable[Batch | SyncError | None], watch: Callable[[], None] = lambda: None) -> list[Epoch]:
        never = {"interval_second": NEVER, "min_events": NEVER, "min_bytes": NEVER, "max_bytes": NEVER}
        bounds = {"position_interval_second": NEVER, "max_staged_bytes": NEVER, "queue_batches": 9, "queue_bytes": 9}
        limits = Limits(thresholds=Thresholds(**(never | self.thresholds)), **(bounds | self.limits))
        inbox = Inbox(limits)
        inbox.committed = 6
        channel = WorkerChannel(
            token="token-1",
            source=make_source_table(),
            reads=("id", "version"),
            source_keys=("id",),
            append_on_change=AppendOnChange.ERROR,
            values=self.values,
        )
        plan = WorkerPlan(
            job_id=1,
            start=Position(offset=100),
            first_epoch=7,
            last_seq=1000,
            channels=(channel,),
            limits=limits,
            folder=str(self.folder),
        )

        def send(message: FromWorker) -> None:
            self.sent.append(message)
            if isinstance(message, Staged) and self.commits:
                inbox.committed = message.epoch.number
            if isinstance(message, DdlMet):
                inbox.committed = message.epoch.number
                inbox.altered.put((renamed(channel),))
            watch()

        self.waiting.extend(batches)
        queue = Queue(self.waiting, inbox)
        self.followed = queue.followed
        Consumer(plan, queue, inbox, send, self.source).run()  # type: ignore[arg-type]  # it has its shape
        return self.epochs

    @property
    def epochs(self) -> list[Epoch]:
        return [message.epoch for message in self.sent if isinstance(message, Staged)]


def renamed(channel: WorkerChannel) -> WorkerChannel:
    return replace(channel, source=replace(channel.source, name="purchases"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def whole(end: int, *ids: int, **facts: Any) -> Batch:
    changes = GivenChanges(tuple((ChangeKind.INSERT, number, 1) for number in ids))
    return make_batch(*((changes,) if ids else ()), end=Position(offset=end), **facts)


def part(*ids: int) -> Batch:
    changes = GivenChanges(tuple((ChangeKind.INSERT, number, 1) for number in ids))
    return make_batch(changes, open=True)


def staged(epoch: Epoch) -> list[tuple[int, int]]:
    """(id, `_seq`) of every row."""
    tables = [pq.read_table(file.path) for files in epoch.files.values() for file in files]
    return [(row["id"], row[SEQ]) for table in tables for row in table.to_pylist()]


def test_the_end_sends_what_is_whole(bench: Bench) -> None:
    """One epoch with the rows, their numbers behind those of the last one, and the position."""
    (epoch,) = bench.run([whole(101, 1, 2), whole(102, 3)])
    assert (epoch.number, epoch.end, epoch.rows, epoch.bytes) == (7, Position(offset=102), 3, 20)
    assert staged(epoch) == [(1, 1001), (2, 1002), (3, 1003)]
    assert epoch.last_seq == 1003


def test_an_open_transaction_is_not_sent(bench: Bench) -> None:
    """Neither at the end nor when the source fails: its rows come again."""
    assert bench.run([whole(101, 1), part(2)]) == []
    lost = SyncError(Code.SOURCE_PROTOCOL, address="a", reason="b")
    with pytest.raises(SyncError):
        bench.run([whole(101, 1), part(2), lost])
    assert bench.epochs == []


def test_what_was_whole_before_an_error_is_sent(bench: Bench) -> None:
    """The error comes behind it."""
    lost = SyncError(Code.SOURCE_PROTOCOL, address="a", reason="b")
    with pytest.raises(SyncError):
        bench.run([whole(101, 1), lost])
    assert [epoch.end for epoch in bench.epochs] == [Position(offset=101)]


@pytest.mark.parametrize(
    ("thresholds", "ends"),
    [
        ({"min_events": 2}, [102, 105]),  # only where nothing more waits
        ({"min_bytes": 15}, [102, 105]),
        ({"max_bytes": 15}, [102, 104, 105]),
        ({"max_bytes": 10}, [101, 102, 103, 104, 105]),
        ({"interval_second": 0.0}, [101, 102, 103, 104, 105]),
        ({}, [105]),
    ],
)
def test_epochs_are_cut_by_the_thresholds(bench: Bench, thresholds: dict[str, Any], ends: list[int]) -> None:
    """Two transactions and a pause, then three more; every row is in exactly one epoch, numbered in order."""
    bench.thresholds = thresholds
    batches = [whole(101, 1), whole(102, 2), None, whole(103, 3), whole(104, 4), whole(105, 5)]
    epochs = bench.run(batches)
    assert [epoch.end.offset for epoch in epochs] == ends
    assert [epoch.number for epoch in epochs] == list(range(7, 7 + len(ends)))
    assert [row for epoch in epochs for row in staged(epoch)] == [(n, 1000 + n) for n in range(1, 6)]


def test_a_transaction_is_never_torn(bench: Bench) -> None:
    """However large it is, and whatever the thresholds say."""
    bench.thresholds = {"interval_second": 0.0, "max_bytes": 1}
    epochs = bench.run([part(1), part(2), None, part(3), whole(101, 4), whole(102, 5)])
    assert [[number for number, _ in staged(epoch)] for epoch in epochs] == [[1, 2, 3, 4], [5]]


def test_a_full_source_ends_no_epoch_before_its_rows(bench: Bench) -> None:
    """Whoever asks for a commit inside a transaction says where: no epoch has rows that are behind its end."""
    asks = make_batch(end=None, open=True, starved=True)
    torn = make_batch(end=Position(offset=102, ordinal=1, whole=False), open=True, starved=True)
    epochs = bench.run([whole(101, 1), part(2), asks, part(3), torn, asks, whole(103, 4)])
    assert [(epoch.end.offset, epoch.end.whole) for epoch in epochs] == [(102, False), (103, True)]
    assert [[number for number, _ in staged(epoch)] for epoch in epochs] == [[1, 2, 3], [4]]


def test_one_epoch_waits_for_the_one_before(bench: Bench) -> None:
    """While a commit lasts, what is due grows instead of being sent."""
    bench.thresholds, bench.commits = {"interval_second": 0.0}, False
    epochs = bench.run([whole(101, 1), whole(102, 2), whole(103, 3)])
    assert [epoch.end.offset for epoch in epochs] == [101, 103]


@pytest.mark.parametrize(("interval", "ends"), [(0.0, [101, 102]), (NEVER, [102])])
def test_a_position_alone_is_sent_now_and_then(bench: Bench, interval: float, ends: list[int]) -> None:
    """Where only other tables change; the last one always, and no epoch where nothing moved."""
    bench.limits = {"position_interval_second": interval}
    epochs = bench.run([whole(101), whole(102), None, None])
    assert [epoch.end.offset for epoch in epochs] == ends
    assert all(epoch.empty for epoch in epochs)


def test_nothing_is_sent_where_nothing_came(bench: Bench) -> None:
    """An idle job makes no epochs."""
    bench.limits, bench.thresholds = {"position_interval_second": 0.0}, {"interval_second": 0.0}
    assert bench.run([None, None]) == []


@pytest.mark.parametrize("survive", [True, False])
def test_a_ddl_ends_the_epoch_before_it(bench: Bench, *, survive: bool) -> None:
    """Rows before it go by themselves; one that changes rows unseen is an error that shows the statement."""
    ddl = Ddl(table=("shop", "orders"), statement="TRUNCATE orders", rows_survive=survive)
    batches = [whole(101, 1), whole(102, 2, ddl=ddl), whole(103, 3)]
    if survive:
        bench.run(batches)
    else:
        with pytest.raises(SyncError, match=r"shop\.orders.*TRUNCATE orders"):
            bench.run(batches)
    assert [epoch.end.offset for epoch in bench.epochs] == ([102, 103] if survive else [102])


def test_a_ddl_that_is_followed_has_an_epoch_of_its_own(bench: Bench) -> None:
    """The rows before it are sent first; those behind it go to the channels that the frontend answers with."""
    said = DdlStatement(text="RENAME", db="shop", modes=Modes(), moment=Moment(at=0))
    ddl = Ddl(
        table=("shop", "orders"), statement="RENAME", rows_survive=False, followable=said, behind=Position(offset=103)
    )
    after = make_batch(
        GivenChanges(((ChangeKind.INSERT, 3, 1),), table=("shop", "purchases")), end=Position(offset=104)
    )
    bench.run([whole(102, 2, ddl=ddl), after])
    kinds = [type(message) for message in bench.sent if not isinstance(message, Progress)]
    assert kinds == [Staged, DdlMet, Staged]
    [met] = [message for message in bench.sent if isinstance(message, DdlMet)]
    assert (met.epoch.number, met.epoch.end.offset, met.epoch.files) == (8, 103, {})
    assert [(epoch.number, epoch.end.offset, epoch.rows) for epoch in bench.epochs] == [(7, 102, 1), (9, 104, 1)]
    assert [[channel.source.name for channel in channels] for channels in bench.followed] == [["purchases"]]


def test_a_value_that_cannot_be_read_leaves_the_epoch_whole(bench: Bench) -> None:
    """No row of its batch is staged, not even of another table."""
    bad = SyncError(Code.SOURCE_VALUE, column="c", table="t", value="v", reason="r")

    @dataclass
    class Bad(GivenChanges):
        def decode(self, _unheld: object = None, **_which: bool) -> Any:
            raise bad

    broken = make_batch(GivenChanges(((ChangeKind.INSERT, 2, 1),)), Bad(()), end=Position(offset=102))
    with pytest.raises(SyncError):
        bench.run([whole(101, 1), broken])
    assert [staged(epoch) for epoch in bench.epochs] == [[(1, 1001)]]


def test_reading_stops_at_the_bound_and_goes_on_behind_it(bench: Bench) -> None:
    """Past max_staged_bytes nothing is taken until what is staged went out; all rows arrive."""
    bench.limits = {"max_staged_bytes": 15}
    epochs = bench.run([whole(101, 1), whole(102, 2), whole(103, 3), whole(104, 4)])
    assert [epoch.end.offset for epoch in epochs] == [102, 104]
    assert [row for epoch in epochs for row in staged(epoch)] == [(n, 1000 + n) for n in range(1, 5)]


@dataclass
class HalfHeld(GivenChanges):
    """Of whose rows the second has a version that nobody can hold."""

    def decode(self, unheld: Any = None, **_which: bool) -> Any:
        rows = super().decode()
        assert unheld is not None, "the job goes on"
        unheld.append(Unheld(row=1, column="version", shown="?", reason="why"))
        when, file, offset = PLACE
        size = len(rows)
        return (
            rows.append_column(when, [[5] * size])
            .append_column(file, [["b.1"] * size])
            .append_column(offset, [[9] * size])
        )


DEAD = ValueRules(policy=OnValueError.DEAD_LETTER, bounds=(Bound(column="id", nullable=False, key=True),))


MANY = DeadLetterBounds(count=9, bytes=10**6)
FEW_BYTES = DeadLetterBounds(count=9, bytes=40)  # one letter


def half_held(first: int) -> HalfHeld:
    return HalfHeld(((ChangeKind.INSERT, first, 1), (ChangeKind.INSERT, first + 1, 1)))


def test_dead_letters_go_with_their_epoch(bench: Bench) -> None:
    """Once, with the rows beside them; a row that is kept out is deleted in the target."""
    bench.values, bench.thresholds, bench.limits = (
        DEAD,
        {"min_events": 1},
        {"dead_letters": MANY},
    )
    epochs = bench.run([make_batch(half_held(1), end=Position(offset=101)), None, whole_held(102, 7)])
    assert [[letter.column for letter in epoch.dead] for epoch in epochs] == [["version"], ["version"]]
    [file] = epochs[0].files["token-1"]
    rows = pq.read_table(file.path)
    assert rows.column_names == ["id", "version", "_op", SEQ]
    assert rows["_op"].to_pylist() == [ChangeKind.INSERT, ChangeKind.DELETE]


def whole_held(end: int, first: int) -> Batch:
    return make_batch(half_held(first), end=Position(offset=end))


def test_dead_letters_of_a_prepared_transaction_wait_with_it(bench: Bench) -> None:
    """They belong to the epoch that commits it, and to none where it is rolled back."""
    bench.values, bench.limits = DEAD, {"dead_letters": MANY}
    part = PreparedChanges(xid="x", changes=(half_held(1),), bytes=10)
    other = PreparedChanges(xid="y", changes=(half_held(5),), bytes=10)
    prepared = make_batch(end=Position(offset=101), prepared=(part, other))
    ended = make_batch(end=Position(offset=102), committed="x", forgotten=("y",))
    ddl = Ddl(table=("shop", "orders"), statement="ALTER", rows_survive=True)
    first, second = bench.run([replace(prepared, ddl=ddl), ended])
    assert (len(first.dead), [len(one.dead) for one in first.prepared.values()]) == (0, [1, 1])
    assert len(second.dead) == 1


def test_dead_letters_of_a_table_that_was_read_since_go_with_its_rows(bench: Bench) -> None:
    """What a prepared transaction has of it came with the rows that were read, dead letters among them."""
    bench.values, bench.limits = DEAD, {"dead_letters": MANY}
    part = PreparedChanges(xid="x", changes=(half_held(1),), bytes=10)
    passed = frozenset({("shop", "orders")})
    ended = make_batch(end=Position(offset=102), committed="x", passed=passed)
    [epoch] = bench.run([make_batch(end=Position(offset=101), prepared=(part,)), ended])
    assert (epoch.rows, epoch.dead) == (0, ())


def test_too_many_dead_letters_stop_in_front_of_them(bench: Bench) -> None:
    """What is kept has a bound; the batch that exceeds it is left whole, and those before it are sent."""
    bench.values, bench.limits = DEAD, {"dead_letters": DeadLetterBounds(count=1, bytes=10**6)}
    with pytest.raises(SyncError) as caught:
        bench.run([whole_held(101, 1), whole_held(102, 5)])
    assert caught.value.code is Code.DEAD_LETTERS_FULL
    assert [(epoch.end.offset, len(epoch.dead)) for epoch in bench.epochs] == [(101, 1)]


def test_dead_letters_of_too_many_bytes_stop_in_front_of_them(bench: Bench) -> None:
    """However few they are."""
    bench.values, bench.thresholds, bench.limits = DEAD, {"min_events": 1}, {"dead_letters": FEW_BYTES}
    with pytest.raises(SyncError, match="max_dead_letter_bytes") as caught:
        bench.run([whole_held(101, 1), None, whole_held(102, 5), whole_held(103, 7)])
    assert caught.value.code is Code.DEAD_LETTERS_FULL
    assert [(epoch.end.offset, len(epoch.dead)) for epoch in bench.epochs] == [(101, 1), (102, 1)]


def test_dead_letters_of_transactions_that_wait_are_bounded(bench: Bench) -> None:
    """Whoever prepares and never ends them fills neither the worker nor the metadata."""
    bench.values, bench.limits = DEAD, {"dead_letters": FEW_BYTES}
    parts = [PreparedChanges(xid=xid, changes=(half_held(1),), bytes=10) for xid in "xy"]
    with pytest.raises(SyncError, match="max_dead_letter_bytes"):
        bench.run([make_batch(end=Position(offset=101 + n), prepared=(part,)) for n, part in enumerate(parts)])


@pytest.mark.parametrize(("same_second", "count"), [(reports.SAME_SECOND, 1), (0.0, 51)])
def test_what_has_not_changed_is_told_seldom(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, same_second: float, count: int
) -> None:
    """A quiet job looks often whether there is something to tell, and costs the frontend nothing where there is not."""
    monkeypatch.setattr(reports, "PROGRESS_SECOND", 0.0)
    monkeypatch.setattr(reports, "SAME_SECOND", same_second)
    for clock in ("heard_at", "caught_up_at"):  # between two heartbeats
        monkeypatch.setattr(bench.source, clock, lambda: 1.0)
    bench.run([None] * 50)
    assert len([message for message in bench.sent if isinstance(message, Progress)]) == count


def test_what_comes_while_it_tells_is_not_taken_for_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that is caught up has given all that it had: into the queue, which is looked at after that."""
    late = [whole(101, 1)]

    class GivesLate(OpenedBatches):
        def caught_up_at(self) -> float:
            bench.waiting.extend(late)
            late.clear()
            return 90.0

    bench.source = GivesLate((), 0)
    monkeypatch.setattr(reports, "PROGRESS_SECOND", 0.0)
    bench.run([])
    first = next(message for message in bench.sent if isinstance(message, Progress))
    assert (first.caught_up_at, first.drained) == (90.0, False)


def test_rows_of_tomorrow_are_of_today(bench: Bench) -> None:
    """A session may set its time; whatever came is no newer than now."""
    tomorrow = time.time() + 86400
    [epoch] = bench.run([whole(101, 1, source_time=tomorrow, first_time=tomorrow)])
    assert epoch.since <= epoch.source_time <= time.time()
