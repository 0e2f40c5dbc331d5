"""Who has written an epoch that is newer than the one at hand."""

from collections.abc import Callable

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.chunk import ChunkPlan, ChunkRows
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch
from syncmgr.job.position import Position
from syncmgr.pipeline.known_history import KnownHistory

FENCED = SyncError(Code.FENCED, table="demo.t", found=7, epoch=4)
OTHER = SyncError(Code.TARGET_SET_BACK, table="demo.t", found=3, epoch=4)


class Refusing:
    def __init__(self, error: SyncError) -> None:
        self.error = error

    def give_up(self, chunk: ChunkRows) -> None: ...

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None: ...

    def check_whole(self, db: str, table: str) -> None: ...

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        raise self.error

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        raise self.error


class Knowing:
    def __init__(self, newest: int) -> None:
        self.newest = newest

    def last_epoch(self) -> Epoch | None:
        return Epoch(number=self.newest, end=Position(), last_seq=0) if self.newest else None


def commit(lake: KnownHistory) -> None:
    lake.commit(
        ChannelCommit(
            token="",
            epoch=4,
            fingerprint="",
            db="demo",
            table="t",
            files=(),
            columns=(),
            keys=(),
            where=None,
            last_epoch=3,
            last_snapshot=1,
        )
    )


def alter(lake: KnownHistory) -> None:
    lake.alter(
        ChannelAlter(token="", epoch=4, fingerprint="", db="demo", table="t", changes=(), last_epoch=3, last_snapshot=1)
    )


@pytest.mark.parametrize("call", [commit, alter])
@pytest.mark.parametrize(
    ("error", "newest", "code"),
    [
        (FENCED, 8, Code.FENCED),
        (FENCED, 7, Code.FENCED),
        (FENCED, 4, Code.OTHER_HISTORY),
        (FENCED, 0, Code.OTHER_HISTORY),
        (OTHER, 4, Code.TARGET_SET_BACK),
    ],
)
def test_metadata_that_are_older_than_the_lake_are_told_from_a_rival(
    call: Callable[[KnownHistory], None], error: SyncError, newest: int, code: Code
) -> None:
    """A frontend that has taken over has left its epochs in the metadata; every other error stays as it is."""
    with pytest.raises(SyncError) as raised:
        call(KnownHistory(Refusing(error), Knowing(newest)))
    assert raised.value.code is code
