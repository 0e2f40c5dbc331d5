"""How a table shows what it bears."""

from collections.abc import Iterator

from syncmgr.job.epoch import ChannelCommit, LastCommit
from syncmgr.lake.commit.commit_marker import EpochMarker
from syncmgr.lake.iceberg.ancestry import CHUNK_MARK, EPOCH_MARK, FILES_MARK
from syncmgr.lake.iceberg.layout import Snapshot

EPOCH = ChannelCommit(
    token="me",
    epoch=2,
    fingerprint="",
    db="demo",
    table="t",
    files=(),
    columns=(),
    keys=(),
    where=None,
    last=LastCommit(epoch=1, snapshot=None),
)


class Listed:
    def history(self, *_: object, **__: object) -> Iterator[Snapshot]:
        chunk = {EPOCH_MARK: "me:2", CHUNK_MARK: "plan:1", FILES_MARK: "of the chunk"}
        yield Snapshot(id=6, parent=5, operation="append", marks=chunk)
        yield Snapshot(id=5, parent=None, operation="append", marks={EPOCH_MARK: "me:2", FILES_MARK: "of the epoch"})


def test_a_chunk_behind_an_epoch_is_not_taken_for_it() -> None:
    """Whoever finds its epoch borne keeps the folder that its snapshot names, and deletes others: another frontend may
    have gone on with chunks, which bear the mark of the epoch, too.
    """
    found = EpochMarker(Listed(), EPOCH).found(None)  # type: ignore[arg-type]
    assert found is not None
    assert found.marks[FILES_MARK] == "of the epoch"
