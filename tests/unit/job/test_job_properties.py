import pytest

from syncmgr.errors import SyncError
from syncmgr.job.ddl_policy import Action, Kind, OnDdl, OnDdlStop
from syncmgr.job.job_properties import AppendOnChange, JobProperties, OnValueError, WithoutKey, overrides_of, parsed


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sync_commit_interval_second", "fast", "cannot be 'fast': it must be a number"),
        ("sync_comit_interval_second", "1", "did you mean 'sync_commit_interval_second'"),
        ("query_port", "1", "Unknown property 'query_port' in PROPERTIES"),
        ("append_on_change", "maybe", "it must be error, append or ignore"),
        ("on_truncate", "drop", "it must be apply, ignore or pause"),
    ],
)
def test_properties_of_a_job_are_checked(name: str, value: str, message: str) -> None:
    """PROPERTIES overrides settings that a job may override, with the same checks."""
    with pytest.raises(SyncError, match=message):
        overrides_of({name: value})


def test_what_is_not_given_has_its_default() -> None:
    """A job follows DDL, stops the table that cannot go on, and looks at no value."""
    assert parsed({}) == JobProperties(
        on_ddl=OnDdl.EVOLVE,
        actions={},
        on_ddl_stop=OnDdlStop.TABLE,
        append_on_change=AppendOnChange.ERROR,
        tables_without_key=WithoutKey.REFUSE,
        on_value_error=None,
    )


def test_what_is_given_counts() -> None:
    """Each as its own kind of value; who wants every statement to pause wants the job to."""
    found = parsed(
        {"on_ddl": "pause", "on_drop_column": "keep", "on_value_error": "null", "append_on_change": "append"}
    )
    assert (found.on_ddl_stop, found.actions) == (OnDdlStop.JOB, {Kind.DROP_COLUMN: Action.KEEP})
    assert (found.on_value_error, found.append_on_change) == (OnValueError.NULL, AppendOnChange.APPEND)
    assert found.checked
