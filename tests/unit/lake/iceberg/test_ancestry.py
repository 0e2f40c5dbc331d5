"""What happened to a table since a channel's last commit."""

import pytest

from syncmgr.job.channel.shard import Part
from syncmgr.job.epoch import LastCommit
from syncmgr.lake.iceberg.ancestry import (
    CHUNK_MARK,
    DATA_FILES,
    DONE_MARK,
    EPOCH_MARK,
    OTHERS_MARK,
    PART_MARK,
    UPKEEP_MARK,
    has_gone,
    has_others_rows,
    is_replaced,
    lacks,
    lost_chunks,
    newest_done,
    newest_epoch,
)
from syncmgr.lake.iceberg.layout import Snapshot

OURS, OTHERS = "me:2", "you:9"
FIRST = Snapshot(id=1, parent=None, operation="append", marks={})


def history(*snapshots: tuple[int, dict[str, str], str]) -> list[Snapshot]:
    """Newest first; the oldest follows one that was expired."""
    return [
        Snapshot(id=number, parent=number - 1, operation=operation, marks=marks)
        for number, marks, operation in snapshots
    ]


@pytest.mark.parametrize(
    ("why", "snapshots", "replaced", "others"),
    [
        ("nothing since", history((5, {EPOCH_MARK: OURS}, "overwrite")), False, False),
        ("a fold", history((6, {UPKEEP_MARK: "fold"}, "delete"), (5, {}, "append")), False, False),
        ("a compaction", history((6, {}, "replace"), (5, {}, "append")), False, False),
        ("somebody's insert", history((6, {}, "append"), (5, {}, "append")), False, True),
        ("another job's epoch", history((6, {EPOCH_MARK: OTHERS}, "overwrite"), (5, {}, "append")), False, True),
        ("another part", history((6, {PART_MARK: "theirs"}, "append"), (5, {}, "append")), False, False),
        ("expired, ours is left", history((9, {EPOCH_MARK: OURS}, "append"), (8, {}, "replace")), False, True),
        ("expired, a rewrite is left", history((9, {}, "replace")), None, True),
        ("rolled back to our older epoch", history((4, {EPOCH_MARK: "me:1"}, "append")), True, True),
        ("expired, none of ours is left", history((9, {}, "append")), None, True),
        ("emptied since", history((9, {DATA_FILES: "0"}, "delete"), (8, {}, "append")), None, False),
        ("without a snapshot", [], True, False),
        ("begun anew", [FIRST], True, True),
        (
            "rolled back to before a chunk of our epoch",
            [Snapshot(id=1, parent=None, operation="append", marks={EPOCH_MARK: OURS})],
            True,
            False,
        ),
    ],
)
def test_since_the_last_commit(why: str, snapshots: list[Snapshot], *, replaced: bool | None, others: bool) -> None:
    """Rows that others may have written are told from upkeep, expiry from a table that was rolled back; a history that
    was cut off before anything of ours does not tell.
    """
    part = Part(column="db", value="mine")
    assert is_replaced(snapshots, token="me", epoch=2, last=LastCommit(snapshot=5)) is replaced, why
    assert has_others_rows(snapshots, token="me", last_snapshot=5, part=part) is others, why


@pytest.mark.parametrize(
    ("why", "snapshots", "remains", "replaced"),
    [
        ("nothing else", history((5, {EPOCH_MARK: OURS}, "append")), True, False),
        ("somebody's insert", history((6, {}, "append"), (5, {EPOCH_MARK: OURS}, "append")), True, False),
        ("expired but for somebody's insert", history((9, {}, "append")), False, None),
        ("rolled back", history((4, {EPOCH_MARK: "me:1"}, "append")), True, True),
        ("rolled back, and the rest expired", history((4, {EPOCH_MARK: "me:1"}, "append")), False, True),
        ("rolled back to somebody's insert", history((4, {}, "append")), True, True),
    ],
)
def test_after_a_statement_that_makes_no_snapshot(
    why: str, snapshots: list[Snapshot], *, remains: bool, replaced: bool | None
) -> None:
    """The token is one ahead of the last snapshot: that alone says nothing."""
    found = is_replaced(snapshots, token="me", epoch=3, last=LastCommit(snapshot=5), remains=lambda: remains)
    assert found is replaced, why


@pytest.mark.parametrize(
    ("why", "sequences", "replaced"),
    [
        ("expired: all that is left is newer", [9, 8], None),
        ("rolled back to an older one of others", [6], True),
        ("rolled back, and written to by others since", [8, 6], True),
        ("of an earlier version, which stored no number", [], None),
    ],
)
def test_the_order_of_commits_tells_a_roll_back_from_an_expiry(
    why: str, sequences: list[int], *, replaced: bool | None
) -> None:
    """What was committed before our last commit is behind it in the history, or that one is gone."""
    snapshots = [
        Snapshot(id=number, parent=number - 1, operation="append", marks={}, sequence=number)
        for number in sequences or [6]
    ]
    last = 7 if sequences else 0
    assert is_replaced(snapshots, token="me", epoch=2, last=LastCommit(snapshot=5, sequence=last)) is replaced, why


def test_before_the_first_commit() -> None:
    """Whatever is in the table then was written by others; nothing of ours can have gone."""
    assert not has_others_rows([], token="me", last_snapshot=None)
    assert has_others_rows([FIRST], token="me", last_snapshot=None)
    assert not is_replaced([FIRST], token="me", epoch=0, last=LastCommit())


@pytest.mark.parametrize(
    ("why", "snapshots", "gone"),
    [
        ("it is there", history((6, {}, "replace"), (5, {EPOCH_MARK: OURS}, "append")), False),
        ("an older one of ours is the newest", history((6, {}, "replace"), (4, {EPOCH_MARK: "me:1"}, "append")), True),
        ("expired, none of ours is left", history((9, {EPOCH_MARK: OTHERS}, "append")), None),
        ("known from its beginning", [FIRST], True),
        ("without a snapshot", [], True),
    ],
)
def test_an_epoch_that_the_token_tells(why: str, snapshots: list[Snapshot], *, gone: bool | None) -> None:
    """Its snapshot has been rolled back where the history is known without it; one that was cut off does not tell."""
    assert has_gone(snapshots, token="me", epoch=2) is gone, why


def test_a_chunk_that_is_not_the_last_one() -> None:
    """The newest snapshot of the channel shows a done-set that the table's properties have outgrown."""
    snapshots = history((9, {}, "append"), (8, {EPOCH_MARK: OURS, CHUNK_MARK: "p:2", DONE_MARK: "p:1-2"}, "append"))
    for done, replaced in [("p:1-2", False), ("p:1-3", True)]:
        assert is_replaced(snapshots, token="me", epoch=2, last=LastCommit(snapshot=5), done=done) is replaced


@pytest.mark.parametrize(
    ("why", "snapshots", "lost"),
    [
        ("the newest one names all", history((9, {CHUNK_MARK: "p:3", DONE_MARK: "p:1-3"}, "append")), set()),
        ("rolled back", history((9, {CHUNK_MARK: "p:2", DONE_MARK: "p:1-2"}, "append")), {3}),
        (
            "one each, of an earlier version",
            history(*((n, {CHUNK_MARK: f"p:{n}"}, "append") for n in (3, 2, 1))),
            set(),
        ),
        ("another plan", history((9, {CHUNK_MARK: "q:3", DONE_MARK: "q:1-3"}, "append")), {1, 2, 3}),
        ("nothing is left that names one", history((9, {}, "replace")), {1, 2, 3}),
    ],
)
def test_chunks_that_are_lost(why: str, snapshots: list[Snapshot], lost: set[int]) -> None:
    """The properties of a table name chunks that its history has lost."""
    assert lost_chunks(snapshots, plan="p", numbers=range(1, 4)) == lost, why


@pytest.mark.parametrize(
    ("why", "snapshots", "since", "epoch", "done"),
    [
        ("nothing at all", [], None, 0, None),
        ("ours behind a foreign one", history((6, {}, "append"), (5, {EPOCH_MARK: OURS}, "append")), None, 2, None),
        ("of the last known one itself", history((5, {EPOCH_MARK: OURS, DONE_MARK: "p:1"}, "append")), 5, 2, "p:1"),
        ("not of an older one", history((6, {}, "append"), (5, {EPOCH_MARK: OURS}, "append")), 6, 0, None),
        ("not another job's", history((6, {EPOCH_MARK: OTHERS, DONE_MARK: "p:1"}, "append")), None, 0, None),
        (
            "chunks before an epoch that has none",
            history((6, {EPOCH_MARK: "me:3"}, "append"), (5, {EPOCH_MARK: OURS, DONE_MARK: "p:1-4"}, "append")),
            None,
            3,
            "p:1-4",
        ),
    ],
)
def test_what_snapshots_show_without_properties(
    why: str, snapshots: list[Snapshot], since: int | None, epoch: int, done: str | None
) -> None:
    """The newest epoch and done-set of a channel, from the last commit on whose answer is known."""
    assert newest_epoch(snapshots, token="me", since=since) == epoch, why
    assert newest_done(snapshots, token="me", since=since) == done, why


def test_what_a_chunk_has_found_is_known_to_the_next() -> None:
    """Rows of others before the last known chunk, which are no longer looked for; another read begins anew."""
    found = history((5, {EPOCH_MARK: OURS, OTHERS_MARK: "p"}, "append"))
    assert [has_others_rows(found, token="me", last_snapshot=5, plan=plan) for plan in ("p", "q", None)] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("snapshots", "missing"),
    [
        (history((6, {}, "append"), (5, {}, "append")), False),
        (history((9, {}, "append")), False),
        ([FIRST], True),
        ([], True),
    ],
)
def test_a_history_that_lacks_a_snapshot(snapshots: list[Snapshot], *, missing: bool) -> None:
    """Only one that is known from its beginning does; of another, expiry may have cut it off."""
    assert lacks(snapshots, 5) is missing
