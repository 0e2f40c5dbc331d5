import dataclasses
from dataclasses import replace
from typing import Any

import pytest

from syncmgr.job.epoch import Epoch, OpenEpoch, Prepared, StagedFile, Thresholds, should_cut
from syncmgr.job.position import Position

AT = Thresholds(interval_second=10, min_events=100, min_bytes=1_000, max_bytes=64_000)
STAGED = OpenEpoch(events=1, bytes=10, first_row_at=0.0)


@pytest.mark.parametrize(
    ("why", "changes", "now", "queue_empty", "in_transaction", "expected"),
    [
        ("nothing staged", {"first_row_at": None}, 99, True, False, False),
        ("young and small", {}, 1, True, False, False),
        ("just before the interval is over", {}, 9.999, True, False, False),
        ("the interval is over", {}, 10, False, False, True),
        ("never inside a transaction", {"bytes": 999_999}, 99, True, True, False),
        ("enough events, and nothing waits", {"events": 100}, 1, True, False, True),
        ("one event too few", {"events": 99}, 1, True, False, False),
        ("enough events, but more waits", {"events": 100}, 1, False, False, False),
        ("enough bytes, and nothing waits", {"bytes": 1_000}, 1, True, False, True),
        ("full", {"bytes": 64_000}, 1, False, False, True),
        ("one byte short of full, and more waits", {"bytes": 63_999}, 1, False, False, False),
    ],
)
def test_an_epoch_is_cut(
    why: str,
    changes: dict[str, float],
    now: float,
    queue_empty: bool,  # noqa: FBT001 - a column of the table
    in_transaction: bool,  # noqa: FBT001 - the same
    expected: bool,  # noqa: FBT001 - the same
) -> None:
    """The cut follows fe.conf to the letter, at transaction boundaries only."""
    epoch = dataclasses.replace(STAGED, **changes)  # type: ignore[arg-type]
    assert expected is should_cut(epoch, AT, now=now, queue_empty=queue_empty, in_transaction=in_transaction), why


def test_an_epoch_without_files_is_empty() -> None:
    """An epoch that only moves the position counts as no commit."""
    file = StagedFile(path="/x", rows=1, bytes=1)
    assert Epoch(number=1, end=Position(), last_seq=0).empty
    assert not Epoch(number=1, end=Position(), last_seq=1, files={"t": (file,)}).empty


EPOCH = Epoch(number=3, end=Position(gtids="u:1-5", file="b.1", offset=4), last_seq=9)


@pytest.mark.parametrize(
    "changes",
    [
        {"number": 4},
        {"last_seq": 10},
        {"end": replace(EPOCH.end, offset=5)},
        {"end": replace(EPOCH.end, gtids="u:1-6")},
    ],
)
def test_another_stretch_of_history_has_another_fingerprint(changes: dict[str, Any]) -> None:
    """By it a table knows an epoch of its own number that it does not hold; a restart does not change it."""
    again = replace(EPOCH, rows=7, source_time=1.0)
    assert again.fingerprint == EPOCH.fingerprint
    assert replace(EPOCH, **changes).fingerprint != EPOCH.fingerprint
    assert len(EPOCH.fingerprint) == 16


def test_rows_that_wait_for_an_xa_transaction_are_named() -> None:
    """All of them, of every transaction and channel: whatever is not named is deleted."""
    files = [StagedFile(path=f"/s/{number}", rows=1, bytes=1) for number in range(3)]
    waiting = {"x": Prepared(files={"a": (files[0], files[1]), "b": (files[2],)}), "y": Prepared()}
    assert replace(EPOCH, prepared=waiting).prepared_files == {"/s/0", "/s/1", "/s/2"}
    assert EPOCH.prepared_files == frozenset()


def test_a_fingerprint_is_that_of_every_version() -> None:
    """A table may bear an epoch that an earlier version has begun to commit: fields that came later do not count."""
    end = Position(gtids="3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5", file="binlog.000001", offset=4, server="s")
    epoch = replace(EPOCH, number=7, last_seq=42, end=end)
    assert epoch.fingerprint == "7b4945d551237b86"
    assert (
        replace(epoch, end=replace(end, last="3e11fa47-71ca-11e1-9e33-c80aa9429562:5@1")).fingerprint
        == epoch.fingerprint
    )
