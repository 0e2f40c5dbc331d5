import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.job import backoff
from syncmgr.job.backoff import Retry
from syncmgr.lake.spark.launch import Jvm, LakePlace
from syncmgr.lake.spark.session import Session
from tests.support.until import HANG_SECOND, until

SPARK = cast("SparkSession", object())
KILLED = SyncError(Code.LAKE_STARTING, reason="Spark's JVM is gone")
NO_JAVA = SyncError(Code.JAVA_MISSING, reason="none was found")


class Living:
    """A JVM that lives until it is told to end."""

    pid = 1

    def __init__(self) -> None:
        self._ended = threading.Event()

    def wait(self) -> int:
        self._ended.wait()
        return 0

    def close(self, _: float) -> None:
        self._ended.set()


class Scripted(Session):
    """Its starts fail as they are told to, then one succeeds."""

    def __init__(self, *failures: Exception) -> None:
        super().__init__(LakePlace(lake_dir=Path("lake"), jars_dir=Path("jars"), options={}), lambda _: None)
        self._failures = iter(failures)

    def _launch(self) -> tuple[Jvm, SparkSession]:
        failure = next(self._failures, None)
        if failure is not None:
            raise failure
        process: Any = Living()
        self._process = process
        return process, SPARK


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(backoff, "JVM", Retry(first=0.01, most=60.0))
    sessions = list[Scripted]()

    def start(*failures: Exception) -> Scripted:
        sessions.append(Scripted(*failures))
        sessions[-1].start()
        return sessions[-1]

    yield start
    for session in sessions:
        session.stop()


def test_the_reason_is_told_once(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the next JVM is awaited, the words say why the last one is gone."""
    monkeypatch.setattr(backoff, "JVM", Retry(first=60.0, most=60.0))
    session = scripted(KILLED)
    until(lambda: session.state == "Spark's JVM is gone")
    with pytest.raises(SyncError, match=r"^The lake is still starting \(Spark's JVM is gone\); try again"):
        session.current()


@pytest.mark.parametrize("times", [1, 3])
def test_a_jvm_that_is_killed_in_its_first_start_is_waited_for(scripted: Any, times: int) -> None:
    """The next one is on its way, so whoever waits hears nothing of it and is served the moment that it is there."""
    assert scripted(*[KILLED] * times).ready(HANG_SECOND) is SPARK


def test_a_start_that_cannot_succeed_is_told_at_once(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a JVM without Java."""
    monkeypatch.setattr(backoff, "JVM", Retry(first=60.0, most=60.0))
    with pytest.raises(SyncError) as caught:
        scripted(NO_JAVA).ready(HANG_SECOND)
    assert caught.value.code is Code.JAVA_MISSING


def test_whatever_a_start_meets_there_is_a_next_one(scripted: Any) -> None:
    """A full disk, or a fault of ours: it is told, and Spark comes back when it has passed."""
    session = scripted(OSError(28, "No space left on device"), ValueError("of ours"), KILLED)
    until(lambda: session.state == "ready")
    assert session.current() is SPARK
