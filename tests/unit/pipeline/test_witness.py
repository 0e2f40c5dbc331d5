from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.job.check.verdict import Touched
from syncmgr.job.epoch import Epoch, StagedFile
from syncmgr.job.position import Position
from syncmgr.job.sync_job import JobId
from syncmgr.pipeline.witness import Witness, Witnesses


def epoch(folder: Path, number: int, *ids: int) -> Epoch:
    path = folder / f"{number}.parquet"
    pq.write_table(pa.table({"id": ids, "v": ids}), path)
    file = StagedFile(path=str(path), rows=len(ids), bytes=1)
    return Epoch(number=number, end=Position(offset=number), last_seq=0, files={"t": (file,)})


def test_a_watch_has_the_keys_of_what_is_committed_while_it_lasts(tmp_path: Path) -> None:
    """And of what was being committed when it began, since that may come into the table later; nothing of before."""
    witness = Witness()
    with witness.committing(epoch(tmp_path, 1, 1)):
        pass
    begun = epoch(tmp_path, 2, 2)
    committing = witness.committing(begun)
    with committing, witness.watching("t", ["id"]) as watch, witness.watching("other", ["id"]) as other:
        assert watch.touched == Touched(keys=frozenset({("2",)}))
        assert other.touched == Touched()
    with witness.watching("t", ["id"]) as watch:
        with witness.committing(epoch(tmp_path, 3, 3, -4)):
            assert watch.touched.keys == {("3",), ("-4",)}, "before any of it is in the table"
        assert ("5",) not in watch.touched
    with witness.committing(epoch(tmp_path, 4, 5)):
        assert ("5",) not in watch.touched, "it has ended"


def test_what_cannot_be_read_counts_as_every_key(tmp_path: Path) -> None:
    """Files are dropped at the end of a commit that is under way when the watch begins."""
    witness, lost = Witness(), epoch(tmp_path, 1, 1)
    Path(lost.files["t"][0].path).unlink()
    with witness.committing(lost), witness.watching("t", ["id"]) as watch:
        assert ("7",) in watch.touched


def test_a_commit_that_fails_still_counts(tmp_path: Path) -> None:
    """It may be in the table, or come there when it is tried again."""
    witness = Witness()
    with pytest.raises(OSError), witness.committing(epoch(tmp_path, 1, 1)):
        raise OSError
    with witness.watching("t", ["id"]) as watch:
        assert ("1",) in watch.touched
    assert witness.committed(lambda: Position(offset=1)) is None


def test_what_is_committed_is_known_without_the_store_after_the_first_epoch(tmp_path: Path) -> None:
    """The newest epoch of the store may be one that is being committed."""
    witness = Witness()
    assert witness.committed(lambda: Position(offset=7)) == Position(offset=7)
    with witness.committing(epoch(tmp_path, 8, 1)):
        assert witness.committed(lambda: Position(offset=8)) is None
    with witness.committing(epoch(tmp_path, 9, 1)):
        assert witness.committed(lambda: Position(offset=9)) == Position(offset=8)


def test_each_life_of_a_job_has_its_own() -> None:
    witnesses = Witnesses()
    first, second = witnesses.begin(JobId(1)), witnesses.begin(JobId(1))
    assert witnesses.of(JobId(1)) is second is not first
    assert witnesses.of(JobId(2)) is None
