"""When upkeep is due."""

from dataclasses import replace
from typing import Any

import pytest

from syncmgr.spark.iceberg import Totals
from syncmgr.spark.upkeep import (
    BUSY_DELETE_FILES,
    BUSY_OLD_SNAPSHOTS,
    BUSY_SHARE,
    OLD_SNAPSHOTS,
    QUIET_SECOND,
    SMALL_FILE_BYTES,
    SMALL_FILES,
    Kind,
    Situation,
    due,
)

CLEAN = Totals(
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
NOTHING = Situation(totals=CLEAN, quiet=QUIET, since={}, orphans_due=False, compacted_files=0, expirable=0)


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
        ("the index says what to rewrite, beside commits too", {"pressing": True, "quiet": BUSY}, Kind.COMPACT),
        ("and what not", {"pressing": False, "totals": replace(CLEAN, **SMALL)}, None),
        ("but rewriting takes a tenth of the time", {"pressing": True, "since": {Kind.COMPACT: TIRED}}, None),
        ("old snapshots of a quiet table", {"expirable": OLD_SNAPSHOTS}, Kind.EXPIRE),
        ("some beside commits wait", {"expirable": OLD_SNAPSHOTS, "quiet": BUSY}, None),
        ("many do not", {"expirable": BUSY_OLD_SNAPSHOTS, "quiet": BUSY}, Kind.EXPIRE),
    ],
)
def test_what_is_due_with_an_index(why: str, situation: dict[str, Any], expected: Kind | None) -> None:
    """An index makes compaction cheap beside commits, and an expiry is dear for every kept snapshot."""
    assert expected is due(replace(NOTHING, **situation)), why


def test_what_compaction_left_is_not_small_again() -> None:
    """Files that compaction could not join do not call for it again."""
    situation = replace(NOTHING, totals=replace(CLEAN, **SMALL), orphans_due=True, compacted_files=SMALL_FILES)
    assert due(situation) is Kind.ORPHANS
