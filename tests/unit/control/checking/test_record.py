import json

import pytest

from syncmgr.console.table_columns import TABLES
from syncmgr.control.checking.record import CheckedTable, CheckState
from syncmgr.job.check.verdict import Found, Kind
from tests.unit.control.checking.test_table_check import CHANNEL, TABLE
from tests.unit.job.factories import make_job


def record() -> CheckedTable:
    made = CheckedTable(job=make_job(), channel=CHANNEL)
    made.begins(TABLE)
    return made


def test_its_rows_have_the_columns_of_information_schema() -> None:
    made = record()
    made.figures.source, made.figures.estimated = 10, 20
    made.finds(Found(key=("7",), kind=Kind.DIFFERENT, columns=(1,), source=("7", "6E"), target=("7", None)), 10)
    told = dict(zip(TABLES["sync_checks"], made.row(3), strict=True))
    assert {key: told[key] for key in ("CHECK_ID", "STATE", "RESULT", "DIFFERENT")} == {
        "CHECK_ID": 3,
        "STATE": "RUNNING",
        "RESULT": None,
        "DIFFERENT": 1,
    }
    [row] = made.rows(3)
    found = dict(zip(TABLES["sync_check_rows"], row, strict=True))
    assert (found["KIND"], found["COLUMN_LIST"]) == ("DIFFERENT", "status")
    assert json.loads(str(found["SOURCE_ROW"])) == {"id": 7, "status": "n"}
    assert json.loads(str(found["TARGET_ROW"])) == {"id": 7, "status": None}


def test_a_table_that_has_not_begun_has_a_row_and_finds_nothing() -> None:
    made = CheckedTable(job=make_job(), channel=CHANNEL)
    assert len(made.row(1)) == len(TABLES["sync_checks"])
    assert list(made.rows(1)) == []


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        ([], "EQUAL: 10 rows"),
        ([Kind.MISSING, Kind.MISSING, Kind.UNSETTLED], "DIFFERENT: 10 rows; 2 missing, 1 unsettled"),
        ([Kind.UNSETTLED], "UNSETTLED: 10 rows; 1 unsettled"),
    ],
)
def test_the_end_of_a_table_is_told_in_words(kinds: list[Kind], told: str) -> None:
    made = record()
    made.figures.source = 10
    for kind in kinds:
        made.finds(Found(key=("7",), kind=kind), 10)
    made.ends(CheckState.DONE)
    assert made.told == told


def test_one_that_has_failed_has_no_result() -> None:
    made = record()
    made.ends(CheckState.FAILED, "it has no key")
    assert (made.result, made.told) == (None, "it has no key")


def test_the_time_that_is_left_follows_from_the_rate() -> None:
    made = record()
    made.figures.estimated, made.figures.source = 300, 100
    made.figures.since = (made.figures.since or 0.0) - 10
    assert made.figures.per_second == pytest.approx(10, abs=1)
    assert made.figures.left_second == pytest.approx(20, abs=3)
    made.ends(CheckState.DONE)
    assert made.figures.left_second is None
