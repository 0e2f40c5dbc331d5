"""Rows that are sorted at once are those that one by one would have been taken."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syncmgr.errors import SyncError
from syncmgr.sources.canal.history import RewindError
from syncmgr.sources.canal.packet import MalformedPacketError
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.runs import runs
from tests.unit.sources.canal.binlog import LENGTH, TABLE, Binlog, Sorting

TABLES = (TABLE, ("shop", "orderz"), ("shop", "order"), ("shop2", "orders"), ("shop", "o" * 300))
EVENTS = (entry_pb2.INSERT, entry_pb2.UPDATE, entry_pb2.DELETE)
STEPS = st.one_of(
    st.tuples(st.just("row"), st.integers(0, len(TABLES) - 1), st.sampled_from(EVENTS)),
    st.tuples(st.just("row"), st.just(0), st.sampled_from(EVENTS)),
    st.sampled_from([("begin",), ("end",), ("share",), ("rotate",), ("back",), ("uncounted",), ("statement",)]),
)
LOGS = st.lists(st.one_of(STEPS, st.lists(STEPS.filter(lambda step: step[0] == "row"), min_size=9, max_size=30)))


def written(steps: Sequence[Any], *, gtids: bool) -> list[bytes]:
    """A log of what canal may write, and of what it never does."""
    log = Binlog(gtids=gtids)
    made = log.transaction("first")
    for number, step in enumerate(flat(steps)):
        match step:
            case ("row", table, event):
                made.append(log.row(f"v{number}", TABLES[table], event))
            case ("begin",):
                made += log.begin()
            case ("end",):
                made.append(log.end())
            case ("share",):
                log.shared = not log.shared
            case ("rotate",):
                log.file, log.offset = "binlog.000002", 4
            case ("back",):
                log.offset -= 100
            case ("uncounted",):
                change = entry_pb2.RowChange(eventType=entry_pb2.INSERT, ddlSchemaName="uncounted")
                facts = {"schemaName": TABLE[0], "tableName": TABLE[1]}
                made.append(log.entry(entry_pb2.ROWDATA, entry_pb2.INSERT, change.SerializeToString(), **facts))
            case ("statement",):
                made.append(log.statement("ALTER TABLE shop.unknown ADD x INT"))
    return made


def flat(steps: Sequence[Any]) -> list[Any]:
    return [each for step in steps for each in (step if isinstance(step, list) else [step])]


def outcome(deliveries: Sequence[Sequence[bytes]]) -> tuple[Any, ...]:
    """Rows by table, the last position, how much it was; or which error."""
    sorting = Sorting()
    try:
        for number, entries in enumerate(deliveries):
            sorting.sorter.feed(number + 1, entries)
        batches = sorting.taken()
    except (SyncError, RewindError, MalformedPacketError) as error:
        return (type(error), getattr(error, "code", None))
    batches.append(sorting.sorter.take())
    rows = [value for batch in batches for changes in batch.changes for value in changes.values]
    end = next((batch.end for batch in reversed(batches) if batch.end is not None), None)
    return rows, end and dataclasses.asdict(end), sum(b.events for b in batches), sum(b.bytes for b in batches)


def test_rows_of_a_transaction_are_one_run() -> None:
    """What stands before and behind is not part of it, and the values are the rows' own."""
    entries = Binlog(gtids=True).transaction(*"abcdefghij")
    found = list(runs(entries))
    assert [len(run.entries) for run in found] == [1, 10, 1]
    assert [entry for run in found for entry in run.entries] == entries
    assert list(found[1].values) == [entry_pb2.Entry.FromString(entry).storeValue for entry in entries[1:-1]]


@given(LOGS, st.booleans())
@example([("begin",), [("row", 0, 1)] * 9, ("rotate",), [("row", 0, 1)] * 9, ("end",)], False)
@example([("begin",), [("row", 0, 1)] * 9, ("uncounted",), [("row", 1, 1)] * 9, ("end",)], True)
def test_at_once_is_as_one_by_one(steps: Sequence[Any], gtids: bool) -> None:  # noqa: FBT001
    """A delivery brings the rows, the position and the sizes that its entries bring each by itself."""
    entries = written(steps, gtids=gtids)
    assert outcome([entries]) == outcome([[entry] for entry in entries])


@given(st.data())
def test_mangled_entries_bring_nothing_else(data: st.DataObject) -> None:
    """Changed bytes end in an error, or in the rows that protobuf sees in them."""
    entries = [*Binlog().begin(), *(Binlog().row(value) for value in "abcdefghijkl"), Binlog().end()]
    number = data.draw(st.integers(0, len(entries) - 1))
    changed = bytearray(entries[number])
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    entries[number] = bytes(changed[: data.draw(st.integers(0, len(changed)))])
    single = outcome([[entry] for entry in entries])
    if len(single) > 2:
        assert outcome([entries]) == single
    else:
        outcome([entries])


@pytest.mark.parametrize(
    "other",
    [
        {"logfileName": "binlog.000002"},
        {"schemaName": "shop2"},
        {"tableName": "order"},
        {"eventType": entry_pb2.QUERY},
        {"logfileOffset": 1000 + 6 * LENGTH},
        {"logfileOffset": 1000},
        {"props": []},
    ],
    ids=lambda facts: next(iter(facts)),
)
def test_a_run_ends_where_an_entry_differs(other: dict[str, Any]) -> None:
    """Rows of another table, file or place, and what is no row, are looked at by themselves."""
    log = Binlog()
    entries = [entry_pb2.Entry.FromString(log.row()) for _ in range(12)]
    for name, value in other.items():
        entries[6].header.ClearField(name)  # type: ignore[arg-type]
        if value:
            setattr(entries[6].header, name, value)
    lengths = [len(run.entries) for run in runs([entry.SerializeToString() for entry in entries])]
    assert lengths[0] == 6
    assert sum(lengths) == 12
