"""Which test provokes each error of the table of errors on the real thing, and cures it as its advice says."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from syncmgr.config.settings import find, parse
from syncmgr.errors import Code
from syncmgr.job.failure import TREATMENTS
from syncmgr.job.job_properties import JOB_PROPERTIES
from syncmgr.sources.registry import KINDS

TESTS: Final = Path(__file__).parents[2]
ADVICE, LAKE, SOURCE, CANAL = (f"acceptance/test_advice{part}.py::test_" for part in ("", "_lake", "_source", "_canal"))
CREATES: Final = "acceptance/test_advice_create.py::test_"
META: Final = "acceptance/test_advice_meta.py::test_"
FAULTS: Final = "acceptance/test_faults.py::test_"
TLS: Final = "acceptance/test_source_tls.py::test_"
HELD: Final[Mapping[Code, str]] = {
    Code.SOURCE_UNREACHABLE: FAULTS + "an_outage_pauses_no_job",
    Code.SOURCE_ACCESS_DENIED: ADVICE + "who_is_let_in_again_goes_on",
    Code.SOURCE_GRANT_MISSING: ADVICE + "who_is_granted_again_goes_on_by_itself",
    Code.SOURCE_BINLOG_OFF: SOURCE + "a_server_that_leaves_changes_out_is_set_right",
    Code.SOURCE_NOT_ROW: SOURCE + "a_statement_in_place_of_rows_is_made_good",
    Code.SOURCE_UNSEEN: SOURCE + "a_statement_is_judged_again",
    Code.SOURCE_LATE: SOURCE + "what_was_asked_too_late_is_compared",
    Code.SOURCE_ROW_IMAGE: ADVICE + "rows_that_were_written_in_part_are_read_again",
    Code.SOURCE_POSITION_LOST: ADVICE + "a_lost_position_is_left_behind_by_a_new_job",
    Code.SOURCE_MOVED: "contract/mysql/history/test_mysql_positions.py::test_a_job_goes_on_at_the_next_server",
    Code.SOURCE_SERVER_ID: SOURCE + "another_replica_of_the_same_id_is_ended",
    Code.SOURCE_SCHEMA: SOURCE + "columns_that_were_altered_unseen_are_read_anew",
    Code.SOURCE_TLS: TLS + "a_source_proves_who_it_is_on_every_way",
    Code.SOURCE_CLEAR_PASSWORD: TLS + "a_user_of_a_directory_is_proved_the_server",
    Code.PEM_FILE: TLS + "a_source_proves_who_it_is_on_every_way",
    Code.SOURCE_TOO_LARGE: SOURCE + "a_transaction_that_is_too_large_comes_by_a_setting",
    Code.SOURCE_ANSWER: SOURCE + "somebody_else_at_the_address_passes",
    Code.SOURCE_ASKS_FILE: SOURCE + "somebody_else_at_the_address_passes",
    Code.SOURCE_LOCKED: "acceptance/test_advice_others.py::test_a_session_that_has_a_table_locked_is_ended",
    Code.SOURCE_DDL: ADVICE + "a_statement_that_cannot_be_followed_is_settled_by_resync",
    Code.SOURCE_VALUE: ADVICE + "a_value_is_kept_out_by_a_property",
    Code.SOURCE_UNSUPPORTED: ADVICE + "rows_that_were_written_in_part_are_read_again",
    Code.SOURCE_PROTOCOL: SOURCE + "bytes_that_something_changes_pause_the_job",
    Code.SOURCE_XA: SOURCE + "rows_of_an_xa_transaction_that_are_unknown_come_with_a_new_job",
    Code.SOURCE_UNLOGGED: SOURCE + "a_server_that_leaves_changes_out_is_set_right",
    Code.SOURCE_FILTERED: SOURCE + "a_server_that_leaves_changes_out_is_set_right",
    Code.REPLICA_FILTERED: SOURCE + "a_replica_that_leaves_rows_out_is_left_alone",
    Code.DEAD_LETTERS_FULL: ADVICE + "more_dead_letters_are_let_be",
    Code.PREPARED_LOST: SOURCE + "rows_of_an_xa_transaction_that_are_unknown_come_with_a_new_job",
    Code.SNAPSHOT_REFUSED: SOURCE + "a_table_without_a_key_is_read_once_it_may_be_locked",
    Code.SNAPSHOT_BROKEN: SOURCE + "rows_that_may_be_read_again_are_read",
    Code.SNAPSHOT_WAITS: SOURCE + "a_table_without_a_key_is_read_once_it_may_be_locked",
    Code.TABLE_STOPPED: "acceptance/test_resync_matrix.py::test_a_stopped_table_comes_back",
    Code.TABLES_STOPPED: "acceptance/test_channel_states.py::test_each_table_says_how_it_stands",
    Code.SNAPSHOT_OPEN: SOURCE + "changes_wait_for_the_rows_of_their_table",
    Code.APPEND_CHANGE: ADVICE + "an_update_of_a_target_without_a_key_is_settled",
    Code.CANAL_UNREACHABLE: CANAL + "a_reader_that_canal_refuses_is_let_in",
    Code.CANAL_REFUSED: CANAL + "a_reader_that_canal_refuses_is_let_in",
    Code.CANAL_IN_USE: "contract/canal/test_canal_cluster.py::test_zookeeper_tells_the_server_and_keeps_others_out",
    Code.CANAL_PROTOCOL: CANAL + "somebody_else_at_the_address_of_canal_passes",
    Code.CANAL_ACCESS_DENIED: CANAL + "a_reader_that_canal_refuses_is_let_in",
    Code.CANAL_POSITION_LOST: CANAL + "what_canal_lost_or_cannot_tell_comes_with_a_new_job",
    Code.CANAL_UNSUPPORTED: CANAL + "what_canal_lost_or_cannot_tell_comes_with_a_new_job",
    Code.CANAL_INEXACT: CANAL + "what_the_first_rows_refuse_is_made_otherwise",
    Code.LAKE_STARTING: LAKE + "a_jvm_that_stands_still_is_told",
    Code.LAKE_FAILED: LAKE + "a_failure_of_the_lake_is_read_in_the_log",
    Code.JAR_ALTERED: "acceptance/test_jars.py::test_a_job_tells_of_a_jar_that_is_missing_or_wrong",
    Code.JARS_MISSING: "acceptance/test_jars.py::test_a_job_tells_of_a_jar_that_is_missing_or_wrong",
    Code.LAKE_SLOW: LAKE + "a_jvm_that_stands_still_is_told",
    Code.LAKE_FULL: FAULTS + "one_table_on_a_full_disk_does_not_stop_its_sibling",
    Code.SPEC_CHANGED: LAKE + "a_lost_identifier_is_set_again",
    Code.LAKE_CLOCK: "acceptance/test_advice_clock.py::test_a_clock_that_was_set_back_is_set_right",
    Code.LAKE_DENIED: LAKE + "a_lake_that_may_not_be_written_pauses_the_job",
    Code.LAKE_DAMAGED: LAKE + "a_damaged_catalog_is_restored",
    Code.TARGET_REPLACED: LAKE + "a_target_that_was_rolled_back_is_read_anew",
    Code.TABLE_BROKEN: LAKE + "a_table_that_is_not_whole_is_set_back",
    Code.WRITES_LOST: "acceptance/test_lost_writes.py::test_a_table_whose_writes_were_lost_is_set_back",
    Code.OTHER_HISTORY: LAKE + "a_table_that_is_newer_than_the_metadata_is_made_anew",
    Code.TARGET_SET_BACK: "acceptance/test_restores.py::test_resync_renews_a_table_that_was_set_back",
    Code.NO_SUCH_TABLE: "acceptance/test_restores.py::test_a_target_that_leaves_its_name_pauses_the_job",
    Code.UNKNOWN_COLUMN: LAKE + "a_lost_column_is_added_again",
    Code.COLUMN_REPLACED: LAKE + "a_column_that_was_replaced_is_read_anew",
    Code.FOREIGN_CHANGE: LAKE + "what_depends_on_a_dropped_column_is_removed",
    Code.COLUMN_NOT_COVERED: LAKE + "a_column_that_nobody_fills_is_made_nullable",
    Code.BAD_EXPRESSION: LAKE + "a_condition_that_fails_is_replaced",
    Code.TYPE_DOES_NOT_FIT: CANAL + "what_the_first_rows_refuse_is_made_otherwise",
    Code.NO_CHANNEL_KEY: CANAL + "what_the_first_rows_refuse_is_made_otherwise",
    Code.CHANNEL_BEHIND: FAULTS + "one_table_on_a_full_disk_does_not_stop_its_sibling",
    Code.BACKLOG_WAITS: LAKE + "a_table_that_waits_for_room_with_too_much_goes_on",
    Code.BACKLOG_STUCK: LAKE + "a_table_that_waits_with_too_much_may_leave",
    Code.DISK_FULL: LAKE + "staging_that_takes_no_rows_stops_nothing",
    Code.NOT_WRITABLE: LAKE + "staging_that_takes_no_rows_stops_nothing",
    Code.STAGED_LOST: LAKE + "rows_that_were_staged_and_are_gone_come_with_a_new_job",
    Code.META_DOWN: FAULTS + "a_full_disk_of_the_metadata_stops_no_job_for_good",
    Code.META_PACKET: META + "a_database_of_the_metadata_is_helped_and_left",
    Code.META_UNFIT: META + "a_database_of_the_metadata_is_helped_and_left",
    Code.WORKER_DIED: LAKE + "a_worker_that_dies_is_replaced",
    Code.FENCED: "acceptance/test_two_frontends.py::test_a_frontend_that_stood_still_is_replaced_and_writes_no_more",
    Code.JAVA_MISSING: LAKE + "a_job_waits_for_java",
    Code.INTERNAL: LAKE + "a_fault_is_reported_and_skips_nothing",
}
KEYLESS: Final = "acceptance/test_advice_keyless.py::test_"
ON_CANAL: Final[Mapping[Code, str]] = {
    Code.APPEND_CHANGE: KEYLESS + "a_change_that_cannot_be_appended_is_settled",
    Code.SOURCE_DDL: CANAL + "what_canal_lost_or_cannot_tell_comes_with_a_new_job",
    **dict.fromkeys(
        (Code.SOURCE_NOT_ROW, Code.SOURCE_SCHEMA, Code.SOURCE_VALUE),
        CANAL + "an_event_that_cannot_be_followed_is_left_behind",
    ),
    **dict.fromkeys(
        (Code.COLUMN_REPLACED, Code.TARGET_REPLACED, Code.TARGET_SET_BACK, Code.OTHER_HISTORY, Code.STAGED_LOST),
        CANAL + "a_target_that_somebody_changed_is_brought_in_line",
    ),
    Code.LAKE_CLOCK: CANAL + "a_target_that_somebody_changed_is_brought_in_line",
    **dict.fromkeys(
        (Code.UNKNOWN_COLUMN, Code.COLUMN_NOT_COVERED, Code.BAD_EXPRESSION),
        CANAL + "what_is_set_right_at_the_target_goes_on",
    ),
}

SHARDS: Final = "acceptance/test_shards.py::test_"
# Rows of "What an error does to a job" that are no error of a job, or that say more of one than its advice
OTHER_ROWS: Final[Mapping[str, str]] = {
    "RUNNING, the same, and `server` in Status changes": "acceptance/test_advice_failover.py::"
    "test_the_next_server_takes_over_in_a_transaction",
    "CREATE SYNC or ADD TABLE warns with 20163": "acceptance/test_alter_sync.py::"
    "test_a_table_that_was_altered_unlogged_stops_alone",
    'Msg with 20145 and "nothing in the binlog has created it again"': "acceptance/test_alter_sync.py::"
    "test_a_table_that_was_created_again_unlogged_stops_alone",
    "Some rows of a target differ from their source": "acceptance/test_alter_sync.py::"
    "test_a_part_of_a_table_is_read_anew",
    "CANCELLED, 1146": "acceptance/test_ddl.py::test_a_target_is_dropped_with_its_source",
    "SELECT fails with 20240": "contract/lake/engine/test_query_engine.py::"
    "test_an_engine_that_stands_still_is_replaced",
    "SELECT fails with 20241": "acceptance/test_hostile_queries.py::"
    "test_a_query_that_needs_too_much_memory_stops_no_job",
    "`CREATE SYNC` or another statement that queries a source ends with 20321": "contract/console/"
    "test_console_sources.py::test_a_statement_that_waits_for_a_source_has_an_end",
    "SELECTs wait, jobs do not": "acceptance/test_hostile_queries.py::test_a_query_that_never_ends_stops_no_job",
    "SELECT fails with 3024": "contract/console/test_console_limits.py::test_a_query_that_nobody_bounds_is_ended",
    "The frontend is gone, exit status 3": HELD[Code.FENCED],
    "The frontend is gone for another reason": "acceptance/test_main_job.py::test_kills_lose_and_double_nothing",
    "CREATE SYNC, ADD TABLE or RESYNC TABLE fails, 20108 or 20109": CREATES + "a_name_that_is_mistyped_is_suggested",
    "CREATE SYNC or ADD TABLE fails, 20135": CREATES + "a_foreign_key_that_is_not_logged_is_accepted_or_dropped",
    "CREATE SYNC fails, 20031": CREATES + "a_pattern_is_typed_as_the_message_says",
    "CREATE SYNC fails, 20033": SHARDS + "shards_whose_keys_would_meet_are_refused",
    "CREATE SYNC fails, 20035": CREATES + "a_pattern_is_typed_as_the_message_says",
    "CREATE SYNC fails, 20234": "acceptance/test_target_of_others.py::"
    "test_a_target_into_which_another_frontend_syncs_is_refused",
}


def rows() -> list[str]:
    """What is seen, of each row that operations.md has of what an error does to a job."""
    page = (TESTS.parent / "docs" / "operations.md").read_text()
    part = page.split("\n## What an error does to a job\n")[1].split("\n## ")[0]
    tables = part.split("| What you see | What happened | What to do |\n| --- | --- | --- |\n")[1:]
    return [line[2:].partition(" | ")[0] for table in tables for line in table.split("\n\n")[0].splitlines()]


def named(row: str) -> set[int]:
    """The numbers of errors in it."""
    spans = re.findall(r"\b(1\d{3}|2\d{4})(?: to (2\d{4}))?\b", row)
    return {number for first, last in spans for number in range(int(first), int(last or first) + 1)}


@pytest.mark.parametrize("row", rows())
def test_each_row_of_the_page_has_a_test(row: str) -> None:
    """That provokes what is seen, and cures it: by the advice of its error, or what is named here."""
    other = [test for beginning, test in OTHER_ROWS.items() if row.startswith(beginning)]
    of_canal = row.endswith("a canal job")
    held = {code.number for code in (ON_CANAL if of_canal else HELD)} | ({20007, 20012} if of_canal else set())
    assert len(other) == 1 or (named(row) and named(row) <= held), row


@pytest.mark.parametrize("beginning", OTHER_ROWS)
def test_the_test_of_a_row_is_there(beginning: str) -> None:
    """Under that name; and the row is still on the page."""
    assert [row for row in rows() if row.startswith(beginning)]
    file, _, name = OTHER_ROWS[beginning].partition("::")
    assert re.search(rf"^def {name}\(", _text(file), re.MULTILINE)


def test_every_row_is_provoked_and_cured() -> None:
    """By the test that is named here."""
    assert TREATMENTS.keys() == HELD.keys()
    assert {code for code, each in TREATMENTS.items() if each.on_canal} == ON_CANAL.keys()


@pytest.mark.parametrize("code", HELD)
def test_the_test_is_there(code: Code) -> None:
    """Under that name."""
    file, _, name = HELD[code].partition("::")
    assert re.search(rf"^def {name}\(", _text(file), re.MULTILINE)


@pytest.mark.parametrize("code", [code for code, test in HELD.items() if test.startswith("acceptance/test_advice")])
def test_the_test_names_its_error(code: Code) -> None:
    """So that the table and the tests do not part."""
    file, _, name = HELD[code].partition("::")
    decorators, body = _around(_text(file), name)
    assert f"Code.{code.name}" in decorators + body


@pytest.mark.parametrize("code", ON_CANAL)
def test_the_test_on_canal_names_its_error(code: Code) -> None:
    """The same, of a job that gets another advice."""
    file, _, name = ON_CANAL[code].partition("::")
    assert code.name in "".join(_around(_text(file), name))


@cache
def _text(file: str) -> str:
    return (TESTS / file).read_text()


def _around(text: str, name: str) -> tuple[str, str]:
    """The decorators of a test, and the test itself."""
    before, after = text.split(f"def {name}(")
    return before.rpartition("\n\n\n")[2], after.partition("\n\n\n")[0]


SETS: Final = sorted(
    {pair for each in TREATMENTS.values() for pair in re.findall(r'\("([\w.]+)" = "([^"]+)"\)', each.whole)}
)


@pytest.mark.parametrize(("name", "value"), SETS)
def test_what_is_to_be_set_can_be_typed(name: str, value: str) -> None:
    """As it stands there: a property of the job, or of its source, with a value that it may have."""
    known = {each.name for each in (*JOB_PROPERTIES, *(each for kind in KINDS.values() for each in kind.properties))}
    assert name in known or find(name).job
    if name not in known:
        parse(find(name), value)
