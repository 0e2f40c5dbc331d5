"""One chunk of a snapshot, whose rows are given."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.dead_letter import DeadLetter, DeadLetterBounds
from syncmgr.pipeline.worker.chunk import ChunkTask

LETTER = DeadLetter(
    token="t", change="INSERT", column="c", value="v", reason="r", row="x" * 99, at=1.0, file="", offset=0
)


class AllDead:
    """Rules by which no row goes on."""

    def settled(self, read: Sequence[DeadLetter], now: float) -> tuple[pa.Table, tuple[DeadLetter, ...]]:
        return pa.table({"id": []}), tuple(read)


def task(pieces: Sequence[Sequence[DeadLetter]], **most: int) -> tuple[ChunkTask, list[int]]:
    """With how many pieces it has read."""
    read: list[int] = []

    def rows() -> Iterator[Any]:
        for number, piece in enumerate(pieces):
            read.append(number)
            yield piece

    rules: Any = AllDead()
    return ChunkTask(rows=rows, sink=None, rules=rules, dead_letters=DeadLetterBounds(**most)), read


@pytest.mark.parametrize("most", [{"count": 3, "bytes": 10**6}, {"count": 99, "bytes": 300}])
def test_a_chunk_ends_at_more_dead_letters_than_a_job_keeps(most: dict[str, int]) -> None:
    """Also where rows are alike, as those of a table without a key may be: none is left out without a word."""
    chunk, read = task([[LETTER, LETTER], [LETTER, LETTER], [LETTER]], **most)
    with pytest.raises(SyncError) as raised:
        chunk.run()
    assert (raised.value.code, read) == (Code.DEAD_LETTERS_FULL, [0, 1])
    kept, _ = task([[LETTER, LETTER], [LETTER]], **most)
    assert len(kept.run().dead) == 3
