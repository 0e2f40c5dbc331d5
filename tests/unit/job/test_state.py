import itertools

import pytest

from syncmgr.errors import SyncError
from syncmgr.job.state import TRANSITIONS, JobEvent, JobState, next_state


@pytest.mark.parametrize(("state", "event"), list(itertools.product(JobState, JobEvent)))
def test_the_table_is_total(state: JobState, event: JobEvent) -> None:
    """Every event in every state either leads somewhere or is refused by name; nothing is forgotten."""
    if event in TRANSITIONS[state]:
        assert next_state(state, event) is TRANSITIONS[state][event]
    else:
        with pytest.raises(SyncError, match=f"A {state.shown} job cannot be {event.words}"):
            next_state(state, event)


def test_nothing_leaves_cancelled() -> None:
    """CANCELLED is final."""
    assert TRANSITIONS[JobState.CANCELLED] == {}


def test_a_user_may_pause_what_an_error_paused() -> None:
    """PAUSE of a job that an error paused ends its auto-resume; PAUSE of a user's pause is the error."""
    assert next_state(JobState.PAUSED_BY_ERROR, JobEvent.PAUSED_BY_USER) is JobState.PAUSED
    with pytest.raises(SyncError, match="A PAUSED job cannot be paused"):
        next_state(JobState.PAUSED, JobEvent.PAUSED_BY_USER)


def test_show_knows_one_word_for_both_pauses() -> None:
    """SHOW prints PAUSED whoever paused, as Doris does."""
    assert {state.shown for state in JobState} == {"PENDING", "RUNNING", "PAUSED", "CANCELLED"}
