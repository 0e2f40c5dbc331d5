import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import JobKind
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.ddl.following.ddl_statement import not_followed
from syncmgr.job.ddl.stopped_table import ANEW, RESUME, RESYNC, SETTLE, advised, standstill, stop_of, stopped_by
from syncmgr.job.ddl_policy import OnDdlStop
from syncmgr.job.types.schema import SourceTable
from tests.unit.job.factories import make_channel, with_history

ORDERS = make_channel()
LINES = make_channel(token="lines", source=SourceTable(db="shop", name="lines", columns=()), target="lines")
DDL = not_followed(("shop", "lines"), "nobody can read it", "ALTER novelty")
UNRENEWED = not_followed(("shop", "lines"), "it drops the key", "ALTER TABLE lines DROP id", "the key is gone")
SCHEMA = SyncError(Code.SOURCE_SCHEMA, table="shop.lines", reason="column 'a' is gone")
IMAGE = SyncError(Code.SOURCE_ROW_IMAGE, value="not FULL", address="db1:3306", table="shop.lines")


@pytest.mark.parametrize(
    ("error", "stops"),
    [
        (IMAGE, True),
        (SCHEMA, True),
        (DDL, True),
        (SyncError(Code.SOURCE_VALUE, table="shop.lines", column="a", value="0000-00-00", reason="no such date"), True),
        (SyncError(Code.SOURCE_SCHEMA, table="shop.others", reason="column 'a' is gone"), False),
        (SyncError(Code.SOURCE_UNSUPPORTED, address="db1:3306", reason="partial JSON", table="shop.lines"), True),
        (SyncError(Code.SOURCE_UNSUPPORTED, address="db1:3306", reason="an incident"), False),
        (SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused"), False),
    ],
)
def test_an_error_stops_a_table_alone(error: SyncError, *, stops: bool) -> None:
    """Where it is about one table: its rows, its columns, a value, a statement."""
    assert stopped_by(error, (ORDERS, LINES), OnDdlStop.TABLE) == (LINES if stops else None)


@pytest.mark.parametrize(("error", "stops"), [(DDL, False), (IMAGE, True)])
def test_a_statement_stops_the_job_where_that_is_wanted(error: SyncError, *, stops: bool) -> None:
    """The property says so of statements, and of nothing else."""
    assert stopped_by(error, (ORDERS, LINES), OnDdlStop.JOB) == (LINES if stops else None)


@pytest.mark.parametrize(
    ("error", "alone", "has_rows", "way"),
    [
        (DDL, True, True, RESYNC),
        (DDL, False, True, SETTLE),
        (DDL, False, False, ANEW),
        (UNRENEWED, False, False, ANEW),
        (SCHEMA, True, True, RESYNC),
        (SCHEMA, False, True, RESUME),
        (SCHEMA, False, False, ANEW),
        (IMAGE, True, True, ""),
    ],
)
def test_an_error_says_the_way_out(error: SyncError, way: str, *, alone: bool, has_rows: bool) -> None:
    """What it offers depends on what stopped, and on whether the source has rows to give."""
    told = advised(error, JobKind(has_rows=has_rows, has_others=True, runs=alone))
    assert str(told) == str(error) if not way else f"; {way}" in str(told)
    assert [offer for offer in (RESYNC, SETTLE, RESUME, ANEW) if f"; {offer}" in str(told)] == [way] * bool(way)


def test_too_much_that_waits_is_told_with_what_mends_its_cause() -> None:
    """20229 of a lost column: adding it is not enough, the values of older rows come by RESYNC TABLE alone."""
    cause = SyncError(Code.UNKNOWN_COLUMN, column="d", where="demo.lines")
    full = SyncError(Code.BACKLOG_STUCK, table="demo.lines", bytes=9, limit=1, reason=cause)
    told = str(advised(full, JobKind(has_rows=True, has_others=True)))
    assert f"{cause}; The target has lost a column" in told
    assert "RESYNC TABLE brings the values of the rows that are there. Then RESUME." in told


def test_the_last_table_stops_the_job() -> None:
    """There is nothing left that could go on."""
    assert stopped_by(IMAGE, (LINES,), OnDdlStop.TABLE) is None
    assert (
        stopped_by(
            IMAGE,
            (with_history(ORDERS, stopped=Stop(reason="gone")), LINES),
            OnDdlStop.TABLE,
        )
        is None
    )
    assert (
        stopped_by(
            IMAGE,
            (ORDERS, with_history(LINES, stopped=Stop(reason="gone"))),
            OnDdlStop.TABLE,
        )
        is None
    )


def test_a_table_that_is_not_read_is_told() -> None:
    """As long as it is so."""
    assert standstill((ORDERS, LINES)) is None
    told = standstill((ORDERS, with_history(LINES, stopped=Stop(reason="its rows are cut"))))
    assert "Table 'shop.lines' is no longer read, while the other tables" in str(told)


def test_tables_that_are_not_read_are_counted() -> None:
    """Msg says how many, names the first of them, and gives the reason of one; Status has all."""
    stopped = [
        with_history(
            make_channel(source=SourceTable(db="shop", name=f"t{n}", columns=())), stopped=Stop(reason=f"reason {n}")
        )
        for n in range(7)
    ]
    told = str(standstill((ORDERS, *stopped)))
    assert told.startswith("7 tables are no longer read, while the other tables")
    assert "'shop.t0', 'shop.t1', 'shop.t2', 'shop.t3', 'shop.t4' and 2 more" in told
    assert "reason 0" in told
    assert str(standstill(stopped[:2])).endswith(": 'shop.t0', 'shop.t1'; of 'shop.t0': reason 0")


def test_what_stopped_a_table_is_remembered() -> None:
    """With its number, by which the advice is found, and up to where the target has all."""
    assert stop_of(IMAGE, since=9.0, synced_until=None) == Stop(reason=str(IMAGE), error=20106, since=9.0)
