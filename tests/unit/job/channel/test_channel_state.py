import itertools
import re
from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import JobKind
from syncmgr.job.channel.channel_state import (
    BACK,
    CATCHING_UP,
    CHANNEL_TRANSITIONS,
    READING,
    UNREAD,
    WAITING,
    ChannelEvent,
    ChannelState,
    Rows,
    Standing,
    Stop,
    Verdict,
    begun,
    bringing,
    failed,
    moved,
    obstacle,
    outdated,
    read,
    resting,
    shown,
    stopped,
    verdict,
    waited,
)
from syncmgr.job.failure import advice

SNAPSHOT, STREAMING, BEHIND, STOPPED = ChannelState
COMMIT, WAIT, OMIT = Verdict
FULL = SyncError(Code.LAKE_FULL, reason="no room")
DENIED = SyncError(Code.SNAPSHOT_BROKEN, table="shop.lines", reason="SELECT is missing")
ALTERED_TABLE = SyncError(Code.SNAPSHOT_BROKEN, table="shop.lines", reason="column 'a' is gone", altered=True)
STOP = Stop(reason="nobody can read it", error=Code.SOURCE_DDL.number, since=50.0, synced_until=40.0)
READ, STREAMS = resting(stop=None, rows=Rows()), Standing()
ANEW = resting(stop=None, rows=Rows(replaces=True))
ONE = JobKind(has_rows=True, has_others=False, runs=True)
MANY = replace(ONE, has_others=True)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(ChannelState, ChannelEvent)))
def test_every_event_leads_somewhere_from_every_state(state: ChannelState, event: ChannelEvent) -> None:
    """Only RESYNC brings a stopped table back, and only rows that are there end a snapshot."""
    after = CHANNEL_TRANSITIONS[state][event]
    assert after is STOPPED or state is not STOPPED or event is ChannelEvent.BEGUN
    assert after is SNAPSHOT or state is not SNAPSHOT or event in {ChannelEvent.READ, ChannelEvent.STOPPED}


def test_a_table_goes_from_its_rows_to_its_changes() -> None:
    """At once where nothing waits for it; else when that is in."""
    assert read(READ, at=9.0) == STREAMS
    late = read(waited(READ, 5.0), at=9.0)
    assert (late.state, late.waits) == (BEHIND, 5.0)
    assert moved(moved(late, 6.0, at=9.0), None, at=10.0) == STREAMS


def test_a_commit_that_fails_leaves_a_table_behind_until_all_of_it_is_in() -> None:
    """The oldest change that waits counts, and the error goes with the first one that gets in."""
    behind = failed(waited(waited(STREAMS, 5.0), 6.0), FULL, at=9.0)
    assert (behind.state, behind.waits, behind.error) == (BEHIND, 5.0, FULL)
    assert moved(behind, 6.0, at=9.0) == Standing(state=BEHIND, since=5.0, waits=6.0)


def test_a_reading_that_fails_is_still_one() -> None:
    """It is tried again, and its error goes when its rows are there, or are read from the beginning."""
    late = failed(READ, DENIED, at=9.0)
    assert (late.state, late.error) == (SNAPSHOT, DENIED)
    assert read(late, at=9.0).error is None
    assert begun(late, Rows(replaces=True), at=9.0).error is None


def test_a_stopped_table_stays_so() -> None:
    """What it had staged goes in all the same; only a new reading brings it back."""
    still = stopped(waited(STREAMS, 5.0), STOP, at=50.0)
    assert moved(failed(still, FULL, at=60.0), None, at=70.0).state is STOPPED
    back = begun(still, Rows(replaces=True), at=80.0)
    assert (back.state, back.since, back.stop) == (SNAPSHOT, 80.0, None)


@pytest.mark.parametrize(
    ("standing", "staged", "unread"),
    [
        (STREAMS, COMMIT, COMMIT),
        (waited(STREAMS, 5.0), WAIT, WAIT),
        (READ, WAIT, WAIT),
        (resting(stop=None, rows=Rows(exact=True)), WAIT, OMIT),
        (resting(stop=STOP), COMMIT, OMIT),
        (resting(stop=STOP, waits=5.0), WAIT, OMIT),
        (resting(stop=STOP, rows=Rows()), WAIT, OMIT),
        (resting(stop=None, rows=Rows(replaces=True)), WAIT, WAIT),
        (resting(stop=None, rows=Rows(replaces=True, begun=False)), COMMIT, COMMIT),
        (resting(stop=None, rows=Rows(replaces=True, reshapes=True, begun=False)), WAIT, WAIT),
    ],
)
def test_what_becomes_of_changes(standing: Standing, staged: Verdict, unread: Verdict) -> None:
    """They are committed in order, never beside rows that are being read, and not read at all of a stopped table."""
    assert (verdict(standing, staged=True), verdict(standing, staged=False)) == (staged, unread)


def test_rows_that_replace_all_end_what_a_commit_failed_for() -> None:
    """From where they begin to be read; a failure of the reading itself is its own, until that goes on."""
    tried = failed(bringing(ANEW, begun=False), FULL, at=9.0)
    assert tried.error is FULL
    assert bringing(tried, begun=True).error is None
    assert outdated(ANEW)
    assert not outdated(tried)
    assert not outdated(failed(READ, DENIED, at=9.0))
    assert bringing(failed(ANEW, DENIED, at=9.0), begun=True).error is DENIED


def test_an_epoch_without_wanted_changes_may_be_borne_before_other_columns() -> None:
    """It changes nothing of a target that has not got them yet; once rows are read it waits as all do."""
    reshaped = Rows(replaces=True, reshapes=True, begun=False)
    assert verdict(resting(stop=None, rows=reshaped), staged=True, skipped=True) is COMMIT
    assert verdict(READ, staged=True, skipped=True) is WAIT


@pytest.mark.parametrize(
    ("why", "standing", "code"),
    [
        ("it streams", STREAMS, None),
        ("what has waited goes in", waited(STREAMS, 5.0), None),
        ("a commit has failed", failed(waited(STREAMS, 5.0), FULL, at=9.0), Code.LAKE_FULL),
        ("its first rows are read", READ, Code.SNAPSHOT_OPEN),
        ("they cannot be read", failed(READ, DENIED, at=9.0), Code.SNAPSHOT_BROKEN),
        ("they were altered, as a statement will say", failed(READ, ALTERED_TABLE, at=9.0), Code.SNAPSHOT_OPEN),
        ("they cannot be read once more", failed(ANEW, DENIED, at=9.0), Code.SNAPSHOT_OPEN),
        ("what waited goes in before them", bringing(ANEW, begun=False), None),
        ("and cannot", failed(bringing(ANEW, begun=False), FULL, at=9.0), Code.LAKE_FULL),
        ("it is stopped, and what it had goes in", resting(stop=STOP), None),
    ],
)
def test_a_statement_waits_for_what_stands_in_the_way(why: str, standing: Standing, code: Code | None) -> None:
    """An error that the next statement may mend is none: that one must be met."""
    error = obstacle(standing, "shop.lines")
    assert (None if error is None else error.code) is code, why


@pytest.mark.parametrize(
    ("standing", "state", "reason"),
    [
        (STREAMS, STREAMING, None),
        (READ, SNAPSHOT, READING),
        (waited(STREAMS, 5.0), BEHIND, WAITING),
        (failed(waited(STREAMS, 5.0), FULL, at=9.0), BEHIND, str(FULL)),
        (failed(READ, DENIED, at=9.0), SNAPSHOT, str(DENIED)),
        (resting(stop=STOP), STOPPED, STOP.reason),
    ],
)
def test_show_names_state_and_reason(standing: Standing, state: ChannelState, reason: str | None) -> None:
    """The reason is that of the state; a table that streams needs none."""
    told = shown(standing, ONE)
    assert (told.state, told.reason) == (state, reason)


def test_nobody_is_said_to_read_rows_of_a_job_that_does_not_run() -> None:
    """A paused job whose table waits for its rows has nothing that brings them, until RESUME."""
    told = shown(READ, ONE, reads=False)
    assert (told.state, told.reason) == (SNAPSHOT, UNREAD)


def test_a_table_is_not_shown_as_streaming_before_its_rows_are_of_one_moment() -> None:
    """Its changes go in as they come, but rows that were read early miss some."""
    told = shown(STREAMS, ONE, whole=False)
    assert (told.state, told.reason) == (BEHIND, CATCHING_UP)


@pytest.mark.parametrize(
    ("standing", "needed"),
    [
        (STREAMS, False),
        (READ, False),
        (failed(READ, DENIED, at=9.0), True),
        (failed(waited(STREAMS, 5.0), FULL, at=9.0), True),
        (failed(waited(STREAMS, 5.0), SyncError(Code.LAKE_FAILED, reason="timeout"), at=9.0), False),
        (resting(stop=STOP), True),
    ],
)
def test_who_is_needed(standing: Standing, *, needed: bool) -> None:
    """A person, for whatever time alone does not mend, also where it is tried again by itself."""
    assert shown(standing, ONE).needs_operator is needed


def test_a_table_is_shown_with_what_works_for_its_job() -> None:
    """Leaving it out only beside others, RESUME only where the job is paused; none while it catches up."""
    gone = failed(waited(STREAMS, 5.0), SyncError(Code.NO_SUCH_TABLE, db="shop", table="lines"), at=9.0)
    alone, beside = shown(gone, ONE), shown(gone, replace(ONE, has_others=True))
    assert alone.advice is not None
    assert alone.advice.startswith("Restore the target under its name: its rows are still staged. ")
    assert alone.advice.endswith("Otherwise STOP the job.")
    assert beside.advice == f"{alone.advice} ALTER SYNC JOB ... DROP TABLE leaves the table out."
    assert ", then RESUME: its rows are still staged" in str(shown(gone, replace(ONE, runs=False)).advice)
    full = shown(failed(STREAMS, FULL, at=9.0), ONE)
    assert (full.error, full.advice) == (20223, "Make room on the lake's storage; the job goes on by itself.")
    assert shown(waited(STREAMS, 5.0), ONE).advice is None


@pytest.mark.parametrize(
    ("code", "first"),
    [
        (Code.SOURCE_DDL, "Unless the reason says otherwise, "),
        (Code.SOURCE_ROW_IMAGE, "Set binlog_row_image"),
        (Code.SOURCE_VALUE, "ALTER SYNC JOB"),
    ],
)
def test_a_stop_says_what_to_do_of_its_table(code: Code, first: str) -> None:
    """The job runs, so nothing is resumed or skipped; one that an earlier version stored has no number."""
    told = shown(resting(stop=Stop(reason="why", error=code.number)), MANY)
    assert told.advice is not None
    assert told.advice.startswith(first)
    assert told.advice.endswith(BACK)
    assert "RESUME" not in told.advice
    assert shown(resting(stop=Stop(reason="why")), ONE).error is None


@pytest.mark.parametrize("code", [Code.SOURCE_ROW_IMAGE, Code.SOURCE_UNSUPPORTED])
def test_a_session_of_its_own_values_is_told_of(code: Code) -> None:
    """The server may have the right value already: who wrote the rows has set another."""
    assert re.search(
        r"(on|at) the server, and in the session that wrote ", Stop(reason="why", error=code.number).advised(MANY)
    )
    for kind in (ONE, replace(ONE, runs=False, has_others=True)):
        assert ", and in the session that wrote the event. If the server already has " in str(advice(code.number, kind))
