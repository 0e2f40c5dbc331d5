from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, Epoch
from syncmgr.pipeline.committer import Committer
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from tests.support.fakes import MemoryLake, MemoryLedger
from tests.unit.pipeline.snapshot.test_snapshot import Bench
from tests.unit.pipeline.test_reshaped import AFTER, staged


class ToldLake(MemoryLake):
    def __init__(self) -> None:
        super().__init__()
        self.settled: list[bool] = []

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        self.settled.append(commit.settled)
        return ChannelCommitted(snapshot=commit.epoch)


@pytest.mark.parametrize(("before", "settled"), [(40, False), (60, True)])
def test_changes_from_before_the_rows_were_read_anew_may_miss_theirs(
    tmp_path: Path, before: int, *, settled: bool
) -> None:
    """An intent that an earlier process stored says that the rows were whole then; RESYNC has replaced them since,
    and until the commits have passed the place at which they were read, a deleted key without a row is none to count.
    """
    bench = Bench()
    bench.loads.known = {
        token: replace(load, caught_up=token == "one", upper=AFTER) for token, load in bench.loads.known.items()
    }
    snapshot = Snapshot(bench.options, bench.source, bench.loads, bench.lake)
    ledger, lake = MemoryLedger(("one", "two")), ToldLake()
    stored = Epoch(number=1, end=replace(AFTER, offset=before), last_seq=1)
    assert stored.end.whole
    ledger.stored.append((stored, False))
    files = {"two": (staged(tmp_path / "2.parquet"),)}
    with ThreadPoolExecutor(1) as pool:
        committer = Committer(
            bench.options.channels,
            ledger,
            lake,
            pool,
            ack=lambda _: None,
            max_backlog_bytes=lambda: 10**9,
            ending=lambda: False,
            standings=snapshot.standings,
            consistent=snapshot.whole,
        )
        committer.resume(stored)
        committer.commit(Epoch(number=2, end=replace(AFTER, offset=70), last_seq=2, files=files))
    assert lake.settled == [settled]
