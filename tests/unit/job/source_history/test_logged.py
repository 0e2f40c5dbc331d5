import pytest

from syncmgr.errors import Code
from syncmgr.job.source_history.logged import (
    ASKED,
    HEEDED,
    SKIPS,
    UPDATES,
    VARIABLES,
    left_out,
    refusal,
    unapplied,
    without_replicated,
)


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, None),
        ({"log_replica_updates": "ON", "log_slave_updates": "ON"}, None),
        ({"log_slave_updates": "OFF"}, "log_slave_updates"),
        ({"log_replica_updates": "OFF", "log_slave_updates": "OFF"}, "log_replica_updates"),
    ],
)
def test_what_leaves_out_replicated_changes(variables: dict[str, str], told: str | None) -> None:
    """By the name that the server has for it, the newer one where it has both."""
    assert without_replicated(variables) == told


@pytest.mark.parametrize(
    ("only", "without", "told"),
    [
        ("", "", None),
        ("a,b", "", "any other database than a,b (binlog_do_db)"),
        ("", "c", "the databases c (binlog_ignore_db)"),
        ("a", "c", "any other database than a (binlog_do_db)"),
    ],
)
def test_every_filter_leaves_something_out(only: str, without: str, told: str | None) -> None:
    """binlog_do_db wins where both are set, as it does in the server."""
    found = left_out(only, without)
    assert (found is None) is (told is None)
    assert (told or "") in (found or "")


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_value_options": ""}, None),
        ({"log_bin": "ON"}, None),
        ({"log_bin": "OFF", "binlog_format": "STATEMENT"}, Code.SOURCE_BINLOG_OFF),
        ({"log_bin": "ON", "binlog_format": "MIXED"}, Code.SOURCE_NOT_ROW),
        ({"log_bin": "ON", "binlog_row_image": "NOBLOB"}, Code.SOURCE_ROW_IMAGE),
        ({"log_bin": "ON", "binlog_row_value_options": "PARTIAL_JSON"}, Code.SOURCE_UNSUPPORTED),
    ],
)
def test_settings_that_will_not_do(variables: dict[str, str], code: Code | None) -> None:
    """Each has its own error; a server that is too old for a setting does as is wanted."""
    found = refusal(variables)
    assert (None if found is None else found[0].code) == code


@pytest.mark.parametrize(
    ("channels", "variables", "told"),
    [
        ([], {}, None),
        ([{"Replicate_Do_DB": "", "Last_Errno": 0}], {"replica_skip_errors": "OFF", "slave_skip_errors": "OFF"}, None),
        (
            [{"Replicate_Do_DB": ""}, {"Replicate_Do_DB": "a,b", "Replicate_Ignore_Table": "a.c"}],
            {},
            "Replicate_Do_DB: a,b, Replicate_Ignore_Table: a.c",
        ),
        ([], {"slave_skip_errors": "all"}, "slave_skip_errors: all"),
    ],
)
def test_what_a_replica_does_not_apply(
    channels: list[dict[str, object]], variables: dict[str, str], told: str | None
) -> None:
    """The filters of whichever channel, and errors that it passes over."""
    assert unapplied(channels, variables) == told


def test_a_server_is_asked_for_no_setting_that_the_documents_do_not_list() -> None:
    """Their tables are made of the rows by which it is asked and refused."""
    listed = {name for row in (*ASKED, *HEEDED) for name in row.setting.split(", ")}
    assert set(VARIABLES) - listed == {"binlog_checksum", "server_id", "server_uuid", "version"}
    assert {*SKIPS, *UPDATES, "wsrep_on", "binlog_row_metadata"} <= listed
