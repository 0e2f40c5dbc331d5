"""Who has written an epoch that is newer than the one at hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch, LastCommit
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.pipeline.known_history import KnownHistory

FENCED = SyncError(Code.FENCED, table="demo.t", found=7, epoch=4)
OTHER = SyncError(Code.TARGET_SET_BACK, table="demo.t", found=3, epoch=4)


class Refusing:
    def __init__(self, error: SyncError) -> None:
        self.error = error

    def give_up(self, chunk: ChunkRows) -> None: ...

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None: ...

    def check_integrity(self, db: str, table: str, *, replaced: bool = False) -> None: ...

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        raise self.error

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        raise self.error


@dataclass(frozen=True)
class Stored:
    last: LastCommit


class Knowing:
    """`waiting`: of the channel; the first of them as an intent."""

    def __init__(self, stored: int, waiting: tuple[int, ...]) -> None:
        self.stored, self.waiting = stored, waiting

    def progress(self) -> Mapping[str, Stored]:
        return {"": Stored(LastCommit(epoch=self.stored)), "other": Stored(LastCommit(epoch=9))}

    def intents(self) -> list[Epoch]:
        return [self._epoch(number, "") for number in self.waiting[:1]]

    def backlog(self) -> list[Epoch]:
        others = [self._epoch(number, "other") for number in range(1, 9)]
        return [*others, *(self._epoch(number, "") for number in self.waiting[1:])]

    def _epoch(self, number: int, token: str) -> Epoch:
        return Epoch(number=number, end=Position(), last_seq=0, files={token: ()})


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
            last=LastCommit(epoch=3, snapshot=1),
        )
    )


def alter(lake: KnownHistory) -> None:
    lake.alter(
        ChannelAlter(
            token="", epoch=4, fingerprint="", db="demo", table="t", changes=(), last=LastCommit(epoch=3, snapshot=1)
        )
    )


@pytest.mark.parametrize("call", [commit, alter])
@pytest.mark.parametrize(
    ("error", "stored", "waiting", "code"),
    [
        (FENCED, 8, (), Code.FENCED),
        (FENCED, 7, (8,), Code.FENCED),
        (FENCED, 6, (7, 8), Code.FENCED),  # a frontend that has taken over is about to store it
        (FENCED, 3, (7, 8), Code.FENCED),  # or has gathered into it what waited before it
        (FENCED, 3, (4, 5, 6, 7, 8), Code.OTHER_HISTORY),  # the table was behind when the metadata were copied
        (FENCED, 3, (4, 8), Code.OTHER_HISTORY),
        (FENCED, 4, (), Code.OTHER_HISTORY),
        (FENCED, 0, (), Code.OTHER_HISTORY),
        (OTHER, 4, (), Code.TARGET_SET_BACK),
    ],
)
def test_metadata_that_are_older_than_the_lake_are_told_from_a_rival(
    call: Callable[[KnownHistory], None], error: SyncError, stored: int, waiting: tuple[int, ...], code: Code
) -> None:
    """A frontend that has taken over has left its epochs of this very channel in the metadata, however far others are;
    every other error stays as it is.
    """
    with pytest.raises(SyncError) as raised:
        call(KnownHistory(Refusing(error), Knowing(stored, waiting)))
    assert raised.value.code is code
