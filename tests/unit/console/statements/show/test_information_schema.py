import datetime as dt
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from syncmgr.accounts.user import Account
from syncmgr.console.statements.local.local_select import SessionFacts, question
from syncmgr.console.statements.show.information_schema import answer
from syncmgr.job.show_sync import WantedRows

Row = tuple[Any, ...]
NOON = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)
JOBS = ((1, "demo", "orders"), (2, "demo", "Orders "), (3, "shop", "lines"))
FACTS = SessionFacts(
    connection_id=1,
    user="root",
    account=Account(name="root", host="%"),
    host="localhost",
    db="information_schema",
    now=NOON,
    variable=lambda _: 1,
    user_variable=lambda _: None,
)
COMMITTED = {number: NOON - dt.timedelta(minutes=20 - number, microseconds=-1) for number in range(1, 19)}


class Epochs:
    """Twenty of each job, a minute apart; the last two are not committed. It gives no row that it need not give."""

    def __init__(self, *, bounded: bool) -> None:
        self._bounded = bounded
        self.given = 0

    def rows(self, _table: str, wanted: WantedRows) -> Sequence[Row]:
        found = [row for job in JOBS for row in self._of(job, wanted if self._bounded else WantedRows())]
        self.given += len(found)
        return found

    def _of(self, job: tuple[int, str, str], wanted: WantedRows) -> list[Row]:
        def is_wanted(number: int) -> bool:
            at = COMMITTED.get(number)
            return number >= wanted.epoch and (
                wanted.since is None or (at is not None and at.timestamp() >= wanted.since)
            )

        numbers = [number for number in range(1, 21) if wanted.job(*job) and is_wanted(number)]
        return [_row(job, number) for number in (numbers if wanted.newest is None else numbers[-wanted.newest :])]

    def snapshots(self, db: str, name: str, epoch: int | None) -> dict[tuple[str, str], int]:
        raise NotImplementedError


def _row(job: tuple[int, str, str], number: int) -> Row:
    at = COMMITTED.get(number)
    shown = None if at is None else at.strftime("%Y-%m-%d %H:%M:%S.%f")
    return (*job, number, "INTENT" if at is None else "COMMITTED", number % 7, 1, shown, shown, "", "b.1", number)


WHERE = (
    "",
    "WHERE job_id = 2",
    "WHERE job_name = 'ORDERS'",
    "WHERE job_schema = 'demo' AND job_id > 1",
    "WHERE epoch > 17",
    "WHERE epoch = 3",
    "WHERE commit_time > now() - INTERVAL 5 MINUTE",
    "WHERE commit_time >= '2026-11-27 11:58:00.000001' AND job_id = 3",
    "WHERE commit_time > '2026-11-27 11:55' AND epoch > 16 AND state = 'COMMITTED'",
    "WHERE job_name = 'lines' OR epoch = 20",
)
END = ("ORDER BY job_id, epoch", "ORDER BY epoch DESC, job_id LIMIT 4", "ORDER BY epoch DESC, job_id LIMIT 2 OFFSET 3")


@pytest.mark.parametrize(("where", "end"), list(product(WHERE, END)))
def test_rows_that_are_not_asked_for_change_no_answer(where: str, end: str) -> None:
    """Whoever gives only what a query needs is answered as if it had given all."""
    asked = question(f"SELECT job_id, epoch FROM sync_epochs {where} {end}", FACTS)
    assert asked is not None
    nobody: Any = None
    answers = [answer(asked, nobody, Epochs(bounded=bounded), nobody, spill=0)[1] for bounded in (True, False)]
    assert answers[0] == answers[1]
    assert answers[0] or "OFFSET" in end


@pytest.mark.parametrize(
    ("rest", "given"),
    [
        ("", 60),
        ("WHERE job_name = 'lines' ORDER BY epoch DESC LIMIT 4", 4),
        ("WHERE commit_time > now() - INTERVAL 5 MINUTE", 12),
        ("WHERE job_id = 1 AND epoch > 18", 3),
    ],
)
def test_no_more_epochs_are_read_than_a_query_needs(rest: str, given: int) -> None:
    """By job, time and LIMIT."""
    asked, epochs = question(f"SELECT epoch FROM sync_epochs {rest}", FACTS), Epochs(bounded=True)
    assert asked is not None
    nobody: Any = None
    answer(asked, nobody, epochs, nobody, spill=0)
    assert epochs.given == given
