"""A table that is read again beside its job, and a statement that changes it meanwhile."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from mysqlddl.reading import Modes
from syncmgr.job.ddl.ddl_plan import DdlStatement
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.lake_change import EmptyTable
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Ddl
from syncmgr.job.snapshot.chunk import ChunkPlan, Load
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.pipeline.run import JobRun
from syncmgr.pipeline.run_options import Listeners
from syncmgr.pipeline.snapshot.port import SnapshotOptions
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from tests.support.fakes import BatchSource, MemoryLake, MemoryLedger, make_batch
from tests.support.until import HANG_SECOND, until
from tests.unit.pipeline.snapshot.test_snapshot import END, MemoryLoads, MemorySource
from tests.unit.pipeline.test_failure_domains import TOKENS, batches, channel, expected, run_options

READ_EARLY = {99: 99}


@dataclass
class Loads(MemoryLoads):
    """What the job's ledger keeps of its snapshot."""

    ledger: MemoryLedger = field(kw_only=True)

    def last_epoch(self) -> Epoch:
        return self.ledger.last_epoch()


class Anew:
    """A lake of two tables; the rows of one are read, as often as is wanted, from what its source has at that time."""

    def __init__(self) -> None:
        self.tables = {token: MemoryLake() for token in TOKENS}
        self.at_source: list[dict[int, int]] = [{}, READ_EARLY]  # the last one first
        self.entered, self.gate = threading.Event(), threading.Event()
        self.altered: list[dict[int, int]] = []

    def give_up(self, chunk: ChunkRows) -> None: ...

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None: ...

    def check_integrity(self, db: str, table: str, *, replaced: bool = False) -> None:
        """They always are."""

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        table = self.tables[commit.token]
        if commit.chunk is None:
            return table.commit(commit)
        assert commit.chunk.replaces
        found = self.at_source.pop()
        self.entered.set()
        assert self.gate.wait(HANG_SECOND)
        table.rows = dict(found)
        return ChannelCommitted(snapshot=None, rows=len(found))

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        assert alter.changes == (EmptyTable(),)
        self.altered.append(dict(self.tables[alter.token].rows))
        return self.tables[alter.token].alter(alter)


def test_a_statement_comes_between_two_readings(tmp_path: Path) -> None:
    """What was read before it is emptied with the table, what waited goes in before it, and what is read behind it
    stays: no row of the first reading comes back.
    """
    lake, ledger = Anew(), MemoryLedger(TOKENS)
    loads = Loads({"bad": Load(token="bad", replaces=True)}, ledger=ledger)
    source = MemorySource(chunks=1)
    options = SnapshotOptions(
        channels=tuple(map(channel, TOKENS)),
        folder=tmp_path,
        connections=lambda: 1,
        chunk_rows=lambda: 1000,
        rows_per_second=lambda: 0,
        retry_most=lambda: 300.0,
    )
    snapshot = Snapshot(options, source, loads, lake)
    said = DdlStatement(text="TRUNCATE bad", db="shop", modes=Modes(), moment=Moment(at=1))
    ddl = Ddl(
        table=("shop", "bad"), statement=said.text, rows_survive=False, followable=said, behind=Position(offset=11)
    )
    rows = batches(20)
    with ThreadPoolExecutor(4) as pool:
        run = JobRun(
            run_options(tmp_path),
            ledger,
            lake,
            pool,
            BatchSource((*rows[:10], make_batch(ddl=ddl), *rows[10:])),
            Listeners(on_trouble=lambda _: None, on_end=lambda _error, _kind: None),
            snapshot,
        )
        run.start()
        assert lake.entered.wait(HANG_SECOND)
        until(lambda: lake.tables["good"].rows == expected(10))
        until(snapshot._order._wanted.is_set)
        assert (lake.tables["bad"].rows, lake.altered) == ({}, [])
        lake.gate.set()
        until(lambda: lake.tables["good"].rows == expected(20) and loads.known["bad"].upper == END)
        until(lambda: not run.behind())
        run.finish()
        assert run.join(HANG_SECOND)
    assert lake.altered == [READ_EARLY | expected(10)]
    assert lake.at_source == []
    assert lake.tables["bad"].rows == {n % 7: n for n in range(11, 21)}
