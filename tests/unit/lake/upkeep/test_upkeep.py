"""When upkeep is due."""

from dataclasses import replace
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.snapshot.retention import Kept
from syncmgr.lake.iceberg.table_metadata import TableTotals
from syncmgr.lake.upkeep import upkeep
from syncmgr.lake.upkeep.upkeep import (
    BUSY_DELETE_FILES,
    BUSY_OLD_SNAPSHOTS,
    BUSY_SHARE,
    OLD_SNAPSHOTS,
    ORPHAN_PERIOD_SECOND,
    QUIET_SECOND,
    QUIET_SHARE,
    SMALL_FILE_BYTES,
    SMALL_FILES,
    Kind,
    Situation,
    TableUpkeep,
    due,
    due_of_snapshots,
)

CLEAN = TableTotals(
    snapshot=1,
    data_files=1,
    data_bytes=SMALL_FILE_BYTES,
    delete_files=0,
    equality_deletes=0,
)
DELETES = {"equality_deletes": 1, "delete_files": 1}
MANY_DELETES = {"equality_deletes": 1, "delete_files": BUSY_DELETE_FILES}
SMALL = {"data_files": SMALL_FILES, "data_bytes": SMALL_FILES}
QUIET, BUSY = QUIET_SECOND, 0.0
RESTED, TIRED = float(BUSY_SHARE), 1.0
LEFT = replace(CLEAN, **SMALL, **DELETES)
NOTHING = Situation(totals=CLEAN, quiet=QUIET, since={}, compacted_files=0)


@pytest.mark.parametrize(
    ("why", "totals", "quiet", "since", "expected"),
    [
        ("nothing to do", {}, QUIET, {}, None),
        ("a quiet table has no equality deletes for long", DELETES, QUIET, {Kind.FOLD: TIRED}, Kind.FOLD),
        ("few deletes beside commits wait", DELETES, BUSY, {}, None),
        ("many do not", MANY_DELETES, BUSY, {Kind.FOLD: RESTED}, Kind.FOLD),
        ("but folds beside commits take a tenth of the time", MANY_DELETES, BUSY, {Kind.FOLD: TIRED}, None),
        ("small files", SMALL, QUIET, {}, Kind.COMPACT),
        ("fold comes first", SMALL | DELETES, QUIET, {}, Kind.FOLD),
        ("small files beside commits wait", SMALL, BUSY, {}, None),
        ("big files stay", SMALL | {"data_bytes": SMALL_FILES * SMALL_FILE_BYTES}, QUIET, {}, None),
    ],
)
def test_what_is_due(
    why: str, totals: dict[str, int], quiet: float, since: dict[Kind, float], expected: Kind | None
) -> None:
    """One kind at a time, the one that helps readers most, and never much of the time beside commits."""
    assert expected is due(replace(NOTHING, totals=replace(CLEAN, **totals), quiet=quiet, since=since)), why


@pytest.mark.parametrize(
    ("why", "situation", "expected"),
    [
        ("the index comes first", {"index_behind": True, "totals": replace(CLEAN, **DELETES)}, Kind.INDEX),
        ("what no fold takes leaves the turn to others", {"totals": LEFT, "unfoldable": 1}, Kind.COMPACT),
        ("until there is more", {"totals": LEFT, "unfoldable": 0}, Kind.FOLD),
        ("the index says what to rewrite, beside commits too", {"pressing": True, "quiet": BUSY}, Kind.COMPACT),
        ("and what not", {"pressing": False, "totals": replace(CLEAN, **SMALL)}, None),
        (
            "but rewriting takes a tenth of the time",
            {"pressing": True, "quiet": BUSY, "since": {Kind.COMPACT: RESTED - 1}},
            None,
        ),
        ("at rest half of it", {"pressing": True, "since": {Kind.COMPACT: float(QUIET_SHARE)}}, Kind.COMPACT),
        ("and no more", {"pressing": True, "since": {Kind.COMPACT: TIRED}}, None),
    ],
)
def test_what_is_due_with_an_index(why: str, situation: dict[str, Any], expected: Kind | None) -> None:
    """An index makes compaction cheap beside commits."""
    assert expected is due(replace(NOTHING, **situation)), why


def test_what_compaction_left_is_not_small_again() -> None:
    """Files that compaction could not join do not call for it again."""
    assert due(replace(NOTHING, totals=replace(CLEAN, **SMALL), compacted_files=SMALL_FILES)) is None


@pytest.mark.parametrize(
    ("why", "expirable", "quiet", "since", "expected"),
    [
        ("nothing to do", 0, QUIET, {}, None),
        ("old snapshots of a quiet table", OLD_SNAPSHOTS, QUIET, {}, Kind.EXPIRE),
        ("some beside commits wait", OLD_SNAPSHOTS, BUSY, {}, None),
        ("many do not", BUSY_OLD_SNAPSHOTS, BUSY, {}, Kind.EXPIRE),
        ("but an expiry takes a tenth of the time", BUSY_OLD_SNAPSHOTS, BUSY, {Kind.EXPIRE: TIRED}, None),
    ],
)
def test_when_snapshots_expire(
    why: str, expirable: int, quiet: float, since: dict[Kind, float], expected: Kind | None
) -> None:
    """An expiry is dear for every kept snapshot, so that it waits beside commits."""
    assert expected is due_of_snapshots(expirable, quiet, since, orphans=False), why


def test_orphans_wait_until_a_table_is_quiet() -> None:
    """They are in nobody's way."""
    assert due_of_snapshots(0, BUSY, {}, orphans=True) is None
    assert due_of_snapshots(0, QUIET, {}, orphans=True) is Kind.ORPHANS


class Shelf:
    """Iceberg, as far as an expiry asks it: a table with more than enough old snapshots."""

    def __init__(self, **properties: str) -> None:
        self.properties = properties

    def load(self, _db: str, _table: str) -> None: ...

    def property(self, _table: None, key: str) -> str | None:
        return self.properties.get(key)

    def oldest_kept(self, _table: None, _kept: Kept) -> int:
        return 7

    def older_snapshots(self, _table: None, _snapshot: int) -> int:
        return BUSY_OLD_SNAPSHOTS


@pytest.mark.parametrize(
    ("properties", "orphans"),
    [
        ({"commit.retry.min-wait-ms": "60000"}, 1),
        ({"commit.retry.num-retries": "often"}, 1),
        ({}, 1),
        ({"gc.enabled": "false"}, 0),
    ],
)
def test_a_refused_expiry_keeps_no_orphans(
    monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], orphans: int
) -> None:
    """Whatever refuses it is said, and the files that nothing names go all the same, once a day; unless the table is
    not to lose any.
    """
    removed = 0

    def refuse(*_: object) -> int:
        raise SyncError(Code.LAKE_FAILED, reason="of the test")

    def remove(*_: object) -> int:
        nonlocal removed
        removed += 1
        return 1

    now = 0.0
    monkeypatch.setattr(upkeep, "expire", refuse)
    monkeypatch.setattr(upkeep, "remove_orphans", remove)
    nothing: Any = None
    iceberg: Any = Shelf(**properties)
    table = TableUpkeep("d", "t", nothing, lambda: now)
    for now in (1.0, ORPHAN_PERIOD_SECOND, ORPHAN_PERIOD_SECOND + 1.0):  # noqa: B007 - the clock
        with pytest.raises(SyncError):
            table.expire(iceberg, nothing, Kept(point=7))
    assert removed == orphans
    assert [each.kind for each in table.ran] == [Kind.ORPHANS] * orphans
