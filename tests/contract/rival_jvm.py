"""A second frontend's lake: a process with a JVM of its own on a lake that another process has open.

Run: python -m tests.contract.rival_jvm LAKE_FOLDER INDEX_FOLDER. Reads from its standard input, pickled, the options of
the lake and then ChannelCommits, and answers each of these with a pickled ChannelCommitted or SyncError; ends with its
input.
"""

import os
import pickle
import sys
from pathlib import Path

from syncmgr.errors import SyncError
from syncmgr.lake.lake import Lake
from tests.support import jvm
from tests.support.spark_session import START_SECOND


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")  # what Spark prints must not come between
    os.dup2(2, 1)
    lake = Lake(
        lake_dir=Path(sys.argv[1]),
        jars_dir=jvm.jars_dir(Path(sys.argv[2])),
        options=pickle.load(sys.stdin.buffer),
        progress=lambda _: None,
        wait_second=START_SECOND,
        copies_dir=Path(sys.argv[2]) / "copies",
        index_dir=Path(sys.argv[2]),
        index_max_bytes=lambda: 2**30,
    )
    lake.start()
    lake.ready()
    answer(answers, "ready")
    while True:
        try:
            commit = pickle.load(sys.stdin.buffer)
        except EOFError:
            break
        try:
            answer(answers, lake.commit(commit))
        except SyncError as error:
            answer(answers, error)
    lake.stop()


def answer(answers, value: object) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - a binary file
    pickle.dump(value, answers)
    answers.flush()


if __name__ == "__main__":
    main()
