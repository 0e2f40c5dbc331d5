import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.control.checking.bracket import AlteredError, Bracket, UnsteadyError
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import ChannelState, Standing
from syncmgr.job.check.reached import Reached
from syncmgr.job.check.verdict import Touched
from syncmgr.job.epoch import Epoch, StagedFile
from syncmgr.job.freshness import Reading
from syncmgr.job.position import Position
from syncmgr.job.sync_job import JobId
from syncmgr.pipeline.witness import Witness
from tests.unit.control.checking.test_table_check import TABLE

UUID = "11111111-1111-1111-1111-111111111111"


def at(gno: int) -> Position:
    return Position(gtids=f"{UUID}:1-{gno}", file="b.000001", offset=gno * 100, server=UUID)


@dataclass
class Job:
    """A job whose commits are made by the test. `source`: its last transaction."""

    folder: Path
    witness_of: Witness = field(default_factory=Witness)
    committed: int = 1
    source: int = 1
    standing: Standing = Standing()  # noqa: RUF009 - frozen
    runs: bool = True
    settled: list[Position] = field(default_factory=list)
    at_end: Callable[[], None] = lambda: None

    def run(self, _job_id: JobId) -> Any:
        return self if self.runs else None

    def witness(self, _job_id: JobId) -> Witness:
        return self.witness_of

    def stored_end(self, _job_id: JobId) -> Position:
        return at(self.committed)

    def reading(self) -> Reading | None:
        return None

    def recovers(self) -> bool:
        return False

    def standings(self) -> dict[str, Standing]:
        return {TABLE.channel.token: self.standing}

    def settle(self, _channel: object, start: Position) -> None:
        self.settled.append(start)

    def end(self) -> Reached:
        self.at_end()
        return Reached(position=at(self.source), at=0.0, server="db:1")

    def commit(self, gno: int, *ids: int) -> None:
        path = self.folder / f"{gno}.parquet"
        pq.write_table(pa.table({"id": ids}), path)
        files = {TABLE.channel.token: (StagedFile(path=str(path), rows=len(ids), bytes=1),)}
        with self.witness_of.committing(Epoch(number=gno, end=at(gno), last_seq=0, files=files)):
            self.committed = gno


def bracket(job: Any, **facts: Any) -> Bracket:
    given = {"wait_second": 0.1, "now": lambda: TABLE, "stopped": threading.Event()} | facts
    return Bracket(job_id=JobId(1), table=TABLE, server=job, runs=job, **given)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_the_target_is_asked_when_it_has_what_the_source_has_shown(job: Job) -> None:
    """And the keys that were committed in between, before, while and after the source was asked, count as touched."""
    order: list[str] = []

    def there() -> int:
        job.source = 3
        job.commit(2, 7)
        order.append("source")
        return 1

    def at_end() -> None:
        threading.Thread(target=lambda: job.commit(3, 8)).start()

    job.at_end = at_end

    def here() -> int:
        assert job.committed == 3
        order.append("target")
        return 2

    assert bracket(job, wait_second=60.0).ask(there, here) == (1, 2, Touched(keys=frozenset({("7",), ("8",)})))
    assert (order, job.settled) == (["source", "target"], [at(1)])


def test_a_job_that_does_not_reach_the_source_proves_nothing(job: Job) -> None:
    job.source = 2
    with pytest.raises(UnsteadyError, match="has not reached"):
        bracket(job).ask(lambda: 1, lambda: 2)


@pytest.mark.parametrize("state", [state for state in ChannelState if state is not ChannelState.STREAMING])
def test_a_table_that_does_not_stream_proves_nothing(job: Job, state: ChannelState) -> None:
    """Its epochs are committed later than those of the others; also if it stopped streaming meanwhile."""
    with pytest.raises(UnsteadyError, match=state):
        bracket(replace(job, standing=Standing(state=state))).ask(lambda: 1, lambda: 2)

    def here() -> None:
        job.standing = Standing(state=state)

    with pytest.raises(UnsteadyError, match=state):
        bracket(job).ask(lambda: 1, here)


def test_another_run_proves_nothing(job: Job) -> None:
    """Its witness has not seen what the last one has committed."""

    def here() -> None:
        job.witness_of = Witness()

    with pytest.raises(UnsteadyError, match="does not run"):
        bracket(job).ask(lambda: 1, here)
    job.runs = False
    with pytest.raises(UnsteadyError, match="does not run"):
        bracket(job).ask(lambda: 1, lambda: 2)


def test_another_server_proves_nothing(job: Job) -> None:
    def there() -> None:
        end = replace(at(1), server="22222222-2222-2222-2222-222222222222")
        with job.witness_of.committing(Epoch(number=2, end=end, last_seq=0)):
            pass

    with pytest.raises(UnsteadyError, match="another server"):
        bracket(job).ask(there, lambda: 2)


class Step:
    """A statement on the table."""

    concerned = frozenset({TABLE.channel.token})
    changes: dict[str, object] = {}  # noqa: RUF012 - a double


def statement() -> Epoch:
    step: Any = Step()
    return Epoch(number=2, end=at(2), last_seq=0, ddl=step)


def test_a_statement_on_the_table_ends_it(job: Job) -> None:
    def there() -> None:
        with job.witness_of.committing(statement()):
            pass

    with pytest.raises(AlteredError):
        bracket(job).ask(there, lambda: 2)


def test_a_statement_that_is_being_followed_is_waited_for(job: Job) -> None:
    """However long its commit takes: a check that began again at once would soon have begun too often."""
    with job.witness_of.committing(statement()), pytest.raises(UnsteadyError, match="follows a statement"):
        bracket(job).ask(lambda: 1, lambda: 2)
    assert bracket(job).ask(lambda: 1, lambda: 2)[:2] == (1, 2)


def test_whoever_stops_it_ends_it(job: Job) -> None:
    stopped, job.source = threading.Event(), 2
    with pytest.raises(SyncError) as raised:
        bracket(job, stopped=stopped, wait_second=60.0).ask(stopped.set, lambda: 2)
    assert raised.value.code is Code.INTERRUPTED


def test_answers_about_a_table_that_has_other_columns_now_prove_nothing(job: Job) -> None:
    """A statement may be followed before the question, when nobody watches, and ALTER may come at any time."""
    altered = replace(TABLE, channel=replace(TABLE.channel, columns=TABLE.channel.columns[:-1]))
    with pytest.raises(AlteredError):
        bracket(job, now=lambda: altered).ask(lambda: 1, lambda: 2)
    seen = iter([TABLE, altered])
    with pytest.raises(AlteredError):
        bracket(job, now=lambda: next(seen)).ask(lambda: 1, lambda: 2)
    other = replace(TABLE, channel=replace(TABLE.channel, history=replace(TABLE.channel.history, known_at=at(3))))
    assert bracket(job, now=lambda: other).ask(lambda: 1, lambda: 2)[:2] == (1, 2)
