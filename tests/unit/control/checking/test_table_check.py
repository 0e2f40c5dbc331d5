"""The check of a table whose target follows its source an epoch late, with servers that compute what they are asked."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import pytest

from syncmgr.control.checking.bracket import AlteredError, Bracket, UnsteadyError
from syncmgr.control.checking.record import CheckedTable, CheckState
from syncmgr.control.checking.table_check import MOST_BEGINNINGS, Suspects, TableCheck
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.check.check_options import CheckOptions
from syncmgr.job.check.compared_table import ComparedTable, compared_table
from syncmgr.job.check.verdict import Kind, Touched
from tests.unit.job.factories import make_channel, make_job, make_source_table, make_target

SOURCE = make_source_table(columns=make_source_table().columns[:2])
CHANNEL = make_channel(
    source=SOURCE, columns=tuple(MappedColumn(target=name, expression=f"`{name}`") for name in ("id", "status"))
)
TABLE = compared_table(CHANNEL, make_target())
PARTS = 8

There = TypeVar("There")
Here = TypeVar("Here")


@dataclass
class Pair:
    """Rows of both sides, and what changes the source, and the target later. `server`: itself."""

    source: dict[int, str]
    target: dict[int, list[str]]
    change: Callable[["Pair"], set[int]] = lambda _: set()
    troubles: list[Exception] = field(default_factory=list)
    asked: int = 0

    @property
    def server(self) -> "Pair":
        return self

    def bounds(self, _channel: object, _rows: int) -> tuple[tuple[str, ...], int]:
        return (), len(self.source)

    def ask_both(self, there: Callable[[], There], here: Callable[[], Here]) -> tuple[There, Here, Touched]:
        """The source is asked before a change, the target after it, as late as a bracket allows."""
        if self.troubles:
            raise self.troubles.pop()
        self.asked += 1
        answer = there()
        touched = self.change(self)
        return answer, here(), Touched(keys={(str(key),) for key in touched})

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        return _answer(text, [(key, value) for key, value in self.source.items()])

    def lake(self, text: str) -> list[tuple[Any, ...]]:
        return _answer(text, [(key, value) for key, values in self.target.items() for value in values])


def _answer(text: str, rows: list[tuple[int, str]]) -> list[tuple[Any, ...]]:
    """What both kinds of servers say to the three kinds of questions."""
    if "GROUP BY" in text:
        sums: dict[int, tuple[int, int]] = {}
        for key, value in rows:
            count, total = sums.get(key % PARTS, (0, 0))
            sums[key % PARTS] = count + 1, total ^ _hash(key, value)
        return [(part, *of_part) for part, of_part in sums.items()]
    if _is_hashes(text):
        parts = {int(word) for word in text.rsplit("IN (", 1)[1].split(")", maxsplit=1)[0].split(",")}
        return [(str(key), _hash(key, value)) for key, value in rows if key % PARTS in parts]
    wanted = {int(word) for word in text.rsplit("IN (", 1)[1].split(")", maxsplit=1)[0].split(",")}
    return [(str(key), value.encode().hex().upper()) for key, value in rows if key in wanted]


def _is_hashes(text: str) -> bool:
    return "16, 10)" in text or "16, -10)" in text


def _hash(key: int, value: str) -> int:
    return hash((key, value)) % (1 << 63)


def checked(pair: Pair, suspects: Suspects | None = None, **options: int) -> CheckedTable:
    record = CheckedTable(job=make_job(), channel=CHANNEL)
    told = {name: str(value) for name, value in options.items()}

    def bracket(_table: ComparedTable) -> Bracket:
        made = _AsBracket(pair)
        return cast("Bracket", made)

    stopped = threading.Event()
    TableCheck(
        record,
        CheckOptions.of(told),
        lambda: TABLE,
        bracket,
        pair.lake,
        stopped,
        patience_second=60.0,
        suspects=suspects,
    ).run()
    return record


@dataclass
class _AsBracket:
    pair: Pair

    @property
    def server(self) -> Pair:
        return self.pair

    def ask(self, there: Callable[[], There], here: Callable[[], Here]) -> tuple[There, Here, Touched]:
        return self.pair.ask_both(there, here)


def pair_of(rows: int, **facts: Any) -> Pair:
    source = dict.fromkeys(range(rows), "a")
    return Pair(source=source, target={key: ["a"] for key in source}, **facts)


def test_equal_tables_are_equal_after_one_look() -> None:
    pair = pair_of(100)
    record = checked(pair)
    assert (record.state, record.result, pair.asked) == (CheckState.DONE, "EQUAL", 1)
    assert (record.figures.source, record.figures.target) == (100, 100)


def test_each_kind_of_difference_is_found_with_its_rows() -> None:
    pair = pair_of(100)
    pair.target |= {1: ["b"], 3: ["a", "a"], 200: ["a"]}
    del pair.target[2]
    record = checked(pair)
    found = {int(each.key[0]): each.kind for each in record.found}
    assert found == {1: Kind.DIFFERENT, 2: Kind.MISSING, 3: Kind.EXTRA, 200: Kind.EXTRA}
    assert record.result == "DIFFERENT"


def test_rows_on_their_way_are_never_different_and_settle_when_they_rest() -> None:
    """Each bracket changes hot rows at the source and brings the change to the target, before it is asked."""
    dice = random.Random(1)

    def change(pair: Pair) -> set[int]:
        hot = {key for key in range(10) if dice.random() < 0.5}
        for key in hot:
            pair.source[key] = dice.choice("ab")
            pair.target[key] = [pair.source[key]]
        return hot

    for _ in range(50):
        pair = pair_of(100, change=change)
        pair.target[50] = ["z"]
        record = checked(pair, rounds=50)
        assert [(each.key, each.kind) for each in record.found] == [(("50",), Kind.DIFFERENT)]


def test_what_never_rests_is_unsettled() -> None:
    def change(pair: Pair) -> set[int]:
        pair.source[1] = "b" if pair.source[1] == "a" else "a"
        pair.target[1] = [pair.source[1]]
        return {1}

    record = checked(pair_of(10, change=change), rounds=3)
    assert (record.result, record.counts[Kind.UNSETTLED]) == ("UNSETTLED", 1)


def test_all_differences_count_though_only_some_are_kept() -> None:
    pair = pair_of(100)
    pair.target.clear()
    record = checked(pair, keep_rows=7)
    assert (record.counts[Kind.MISSING], len(record.found)) == (100, 7)


def test_a_table_that_is_altered_is_compared_from_its_beginning() -> None:
    record = checked(pair_of(10, troubles=[AlteredError()]))
    assert (record.state, record.figures.source) == (CheckState.DONE, 10)
    failed = checked(pair_of(10, troubles=[AlteredError()] * MOST_BEGINNINGS))
    assert failed.state is CheckState.FAILED
    assert f"{MOST_BEGINNINGS} times" in str(failed.reason)


def test_it_waits_for_what_passes_and_ends_with_what_does_not() -> None:
    passing = [UnsteadyError("its state is BEHIND"), SyncError(Code.SOURCE_UNREACHABLE, address="a", reason="r")]
    assert checked(pair_of(10, troubles=[*passing])).state is CheckState.DONE
    refused = SyncError(Code.CHECK_REFUSED, table="t", reason="no GTIDs")
    record = checked(pair_of(10, troubles=[refused]))
    assert (record.state, record.reason) == (CheckState.FAILED, str(refused))


@pytest.mark.parametrize("limit", [0, 10**9])
def test_a_limit_that_is_not_reached_costs_nothing(limit: int) -> None:
    assert checked(pair_of(10), max_rows_per_second=limit).state is CheckState.DONE


def test_only_suspects_are_compared_once_they_are_read() -> None:
    """By their own values, and only those; before that the check waits. A key of other columns ends it."""
    pair = pair_of(10)
    pair.target |= {1: ["b"], 2: ["b"], 3: ["b"]}
    waits = [UnsteadyError("its rows are being read again")]

    def read() -> None:
        if waits:
            raise waits.pop()
        pair.target[1] = ["a"]

    suspects = Suspects(keys=(("1",), ("3",)), key=TABLE.key_sources, read=read)
    record = checked(pair, suspects)
    assert [(each.key, each.kind) for each in record.found] == [(("3",), Kind.DIFFERENT)]
    assert (record.figures.source, record.figures.target, record.figures.estimated) == (2, 2, 2)
    other = checked(pair, replace(suspects, key=TABLE.key_sources[:0]))
    assert (other.state, "its key has changed" in str(other.reason)) == (CheckState.FAILED, True)
