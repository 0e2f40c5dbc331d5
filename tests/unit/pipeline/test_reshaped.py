"""Epochs of an earlier life for a table whose rows are read again, with other columns."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, Epoch, LastCommit, StagedFile
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.commit.commit_marker import check_token
from syncmgr.pipeline.committer import Committer
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from tests.support.fakes import MemoryLake, MemoryLedger
from tests.unit.job.factories import with_history
from tests.unit.pipeline.snapshot.test_snapshot import Bench

AFTER = Position(server="s", file="f.000001", offset=50, created=1)
WAITING = (40, 50, 60)  # ends of epochs 1, 2 and 3: the first two came with the rows


class StrictLake(MemoryLake):
    """Looks at the token as a table does. `bears`: what is in it."""

    def __init__(self, bears: int) -> None:
        super().__init__()
        self.bears = bears
        self.written: list[tuple[int, tuple[StagedFile, ...]]] = []

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        check_token(self.bears, commit)
        if self.bears < commit.epoch:
            self.written.append((commit.epoch, commit.files))
        self.bears = commit.epoch
        return ChannelCommitted(snapshot=commit.epoch)


class CountingLedger(MemoryLedger):
    """Knows what a channel that was behind has committed."""

    def commit_channel(self, number: int, token: str, outcome: ChannelCommitted) -> None:
        super().commit_channel(number, token, outcome)
        self._progress[token].last = LastCommit(epoch=number)


def staged(path: Path) -> StagedFile:
    pq.write_table(pa.table({"id": [1]}), path)
    return StagedFile(path=str(path), rows=1, bytes=path.stat().st_size)


@pytest.mark.parametrize("bears", [0, 1])
def test_what_came_with_the_rows_is_borne_before_them(tmp_path: Path, bears: int) -> None:
    """Without its rows, and also where the answer of its commit was lost; what is behind waits for the columns."""
    bench = Bench()
    reshaping = Load(token="two", replaces=True, changes=(AddField(name="x", type=TargetType(name="INT")),))
    bench.loads.known = {"one": replace(bench.loads.known["one"], caught_up=True, upper=AFTER), "two": reshaping}
    one, two = bench.options.channels
    channels = (one, with_history(two, after=AFTER))
    snapshot = Snapshot(replace(bench.options, channels=channels), bench.source, bench.loads, bench.lake)
    ledger, lake = CountingLedger(("one", "two")), StrictLake(bears)
    for number, end in enumerate(WAITING, 1):
        files = {"two": (staged(tmp_path / f"{number}.parquet"),)}
        ledger.stored.append((Epoch(number=number, end=replace(AFTER, offset=end), last_seq=number, files=files), True))
    with ThreadPoolExecutor(1) as pool:
        committer = Committer(
            channels,
            ledger,
            lake,
            pool,
            ack=lambda _: None,
            max_backlog_bytes=lambda: 10**9,
            ending=lambda: False,
            standings=snapshot.standings,
        )
        for _ in WAITING:
            committer.recover()
    assert lake.written == [(number, ()) for number in (1, 2) if number > bears]
    assert ledger.progress()["two"].last.epoch == lake.bears == 2
    (behind,) = committer.laggards.shown()
    assert isinstance(behind.error, SyncError)
    assert behind.error.code is Code.SNAPSHOT_OPEN
