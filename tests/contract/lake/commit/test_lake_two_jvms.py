"""Two frontends that take themselves for the owner of one job: the fence in the table decides."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.spark.launch import LakePlace
from tests.support.spark_session import SPARK, Tables
from tests.support.until import HANG_SECOND

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
EPOCHS = 12


class OtherFrontend:
    """A lake in another process, with a JVM of its own."""

    def __init__(self, place: LakePlace, index_dir: Path) -> None:
        command = [sys.executable, "-m", "tests.contract.rival_jvm", str(place.lake_dir), str(index_dir)]
        root = Path(__file__).parents[4]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
        self._tell(dict(place.options))
        assert self._answer() == "ready"

    def commit(self, commit: ChannelCommit) -> object:
        self._tell(commit)
        return self._answer()

    def _tell(self, value: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin)
        self._process.stdin.flush()

    def _answer(self) -> object:
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(HANG_SECOND)
        self._process.stdout.close()


@pytest.fixture
def other(tables: Tables, tmp_path: Path) -> Iterator[OtherFrontend]:
    other = OtherFrontend(tables.lake.place, tmp_path / "index")
    yield other
    other.stop()


def test_two_jvms_commit_the_same_epochs_at_once(tables: Tables, other: OtherFrontend) -> None:
    """Each epoch is in the table once, whoever was faster, and the slower one is told so; an older one is refused."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
    appended = tables.make("(id BIGINT, v BIGINT) DUPLICATE KEY(id)", keys=())
    winners = {"mine": 0, "theirs": 0}
    pool = ThreadPoolExecutor(1)
    for number in range(EPOCHS):
        for target, rows in (
            (table, [(INS, number, 0), (UPD, number // 2, number), (DEL, number - 5, 0)]),
            (appended, [(INS, number, 0)]),
        ):
            commit = target.prepared(rows)
            answer = pool.submit(other.commit, commit)
            mine, theirs = target.apply(commit), answer.result()
            assert isinstance(theirs, ChannelCommitted), theirs
            assert mine.passed_over != theirs.passed_over
            assert mine.snapshot == theirs.snapshot
            winners["theirs" if mine.passed_over else "mine"] += 1
    expected = {}
    for number in range(EPOCHS):
        expected[number] = 0
        expected[number // 2] = number
        expected.pop(number - 5, None)
    assert table.rows() == sorted(expected.items())
    assert appended.rows() == [(number, 0) for number in range(EPOCHS)]
    table.epoch -= 2
    late = other.commit(table.prepared([(INS, 999, 0)]))
    assert isinstance(late, SyncError)
    assert late.code is Code.FENCED
    pool.shutdown()
    print(winners)
