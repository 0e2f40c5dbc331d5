"""Canal's parser connects to a server anew, while the connection to canal stays."""

from collections.abc import Sequence

import pytest

from tests.unit.sources.canal.binlog import Binlog, Sorting, values


def halved(log: Binlog, *, compressed: bool = False) -> tuple[list[bytes], list[bytes]]:
    """A transaction of four rows, and what of it came before the parser connected anew."""
    begin = log.begin()
    log.shared = compressed
    entries = [*begin, *(log.row(name) for name in "abcd"), log.end()]
    log.shared = False
    return entries, entries[: len(begin) + 2]


def split(entries: Sequence[bytes]) -> list[list[bytes]]:
    return [[entry] for entry in entries]


@pytest.mark.parametrize("alone", [False, True], ids=["at-once", "one-by-one"])
@pytest.mark.parametrize("end", [False, True], ids=["no-end", "end"])
@pytest.mark.parametrize("kind", ["mysql", "gtids", "gtids-compressed", "compressed", "mariadb"], ids=str)
def test_half_a_transaction_that_comes_again_is_no_whole_one(kind: str, *, end: bool, alone: bool) -> None:
    """Its rows come once, with its END; no position lies between, and a job without keys goes on."""
    log, sorting = Binlog(gtids="gtids" in kind, begins=kind != "mariadb"), Sorting(keyed=False)
    before = log.transaction("first")
    [first] = sorting.feed(before)
    entries, half = halved(log, compressed="compressed" in kind)
    again = [*(before[-1:] if end else []), *entries]
    for part in split([*half, *again[:-1]]) if alone else [half, again[:-1]]:
        assert sorting.feed(part) == []
    [whole] = sorting.feed(again[-1:])
    assert (values([whole]), whole.end.whole, whole.open) == (list("abcd"), True, False)
    assert values(sorting.feed(log.transaction("next"))) == ["next"]
    assert Sorting(first.end, keyed=False).values([*before, *half, *again]) == list("abcd")


def test_an_end_that_canal_had_left_out_ends_nothing_else() -> None:
    """Canal goes on at the END of an empty transaction, which it told nobody before."""
    log, sorting = Binlog(), Sorting(keyed=False)
    sorting.feed(log.transaction("first"))
    empty = log.transaction()
    entries, half = halved(log)
    sorting.feed(half)
    assert sorting.feed(empty[-1:]) == []
    [whole] = sorting.feed(entries)
    assert (values([whole]), whole.end.whole) == (list("abcd"), True)


def test_a_begin_that_canal_leaves_out_is_not_needed() -> None:
    """The rows of a large transaction may come without it, where other tables' rows stand between."""
    log, sorting = Binlog(), Sorting(keyed=False)
    sorting.feed(log.transaction("first"))
    entries, half = halved(log)
    sorting.feed(half[1:])
    assert sorting.values(entries[1:]) == list("abcd")


def test_an_end_that_nobody_told_stays_one_before_half_a_transaction() -> None:
    """Canal leaves out an END that only rows of other tables stand beside, and goes on at it."""
    log, sorting = Binlog(), Sorting(keyed=False)
    early = log.transaction("x", "y")
    entries, half = halved(log)
    assert sorting.values([*early[:-1], *half]) == ["x", "y"]
    assert sorting.values([early[-1], *entries]) == list("abcd")


@pytest.mark.parametrize("torn", [False, True])
def test_what_was_handed_on_of_a_transaction_does_not_come_again(*, torn: bool) -> None:
    """A part of it is in the lake already: the rest comes once, and what was not handed on is not lost."""
    log = Binlog()
    before, (entries, half) = log.transaction("first"), halved(log)
    sorting = Sorting(keyed=False, max_open_bytes=10**9 if torn else sum(map(len, half[1:])))
    sorting.feed(before)
    parts = sorting.feed(half)
    if torn:
        sorting.sorter.tear()
        parts = sorting.taken()
    assert values(parts) == ["a", "b"]
    parts = [*sorting.feed(entries[3:4]), *sorting.feed([before[-1], *entries[:3]]), *sorting.feed(entries[3:])]
    assert values(parts) == ["c", "d"]
    assert (parts[-1].end.ordinal, parts[-1].end.whole) == (0, True)


@pytest.mark.parametrize("gtids", [False, True])
@pytest.mark.parametrize("torn", [False, True], ids=["part", "torn"])
@pytest.mark.parametrize("ddl", [False, True])
def test_an_end_that_nobody_told_is_not_where_a_new_connection_begins(*, gtids: bool, torn: bool, ddl: bool) -> None:
    """All of a transaction was handed on before the connection was lost, and its END is left out: what comes next ends
    it, and no position without a place is stored, from which everything would be taken for new.
    """
    log, sorting = Binlog(gtids=gtids), Sorting(keyed=False, max_open_bytes=10**9 if torn else 1)
    before, half = log.transaction("first"), log.transaction("a", "b")[:-1]
    sorting.feed(before)
    parts = sorting.feed(half)
    if torn:
        sorting.sorter.tear()
        parts = sorting.taken()
    assert values(parts) == ["a", "b"]
    sorting.reconnect()
    assert sorting.feed([*before, *half]) == []
    statement = [log.statement("ALTER TABLE shop.orders COMMENT 'x'")] if ddl else []
    batches = [batch for part in split([*statement, *log.transaction("next")]) for batch in sorting.feed(part)]
    assert values(batches) == ["next"]
    assert all(batch.end is None or batch.end.file for batch in batches)
    assert batches[-1].end.whole


def test_the_batch_with_the_first_begin_is_not_acked() -> None:
    """Canal would go on behind that BEGIN, though the transaction has come again and is not at its end."""
    log, sorting = Binlog(), Sorting()
    [first] = sorting.feed(log.transaction("first"))
    sorting.acks.committed(first.end)
    assert sorting.acks.due() == [1]
    before = log.transaction("x")
    [whole] = sorting.feed(before)
    entries, half = halved(log)
    for part in (half, before[-1:], entries[:1], entries[1:-1]):
        sorting.feed(part)
        sorting.acks.committed(whole.end)
        assert sorting.acks.due() == []
        assert sorting.sorter.open
    [end] = sorting.feed(entries[-1:])
    sorting.acks.committed(end.end)
    assert sorting.acks.due() == [2, 3, 4, 5, 6]


def test_a_ring_that_is_full_of_what_came_again_is_let_go() -> None:
    """Where nothing of the transaction is held, no position moves: canal hears of it at once, but for the newest."""
    log, sorting = Binlog(), Sorting(keyed=False)
    sorting.feed(log.transaction("first"))
    before = log.transaction("second")
    [second] = sorting.feed(before)
    entries, half = halved(log)
    sorting.feed(half)
    sorting.feed(before[-1:])
    assert sorting.sorter.open
    sorting.acks.committed(second.end)
    assert sorting.acks.due() == [1]
    sorting.sorter.tear()
    assert sorting.taken() == []
    assert sorting.acks.due() == [2, 3]
    assert sorting.values(entries) == list("abcd")


@pytest.mark.parametrize("file", ["binlog.000007", "other.000001"])
def test_half_a_transaction_comes_again_from_another_server(file: str) -> None:
    """By its GTID, wherever it stands there."""
    log, sorting = Binlog(gtids=True), Sorting(keyed=False)
    sorting.feed(log.transaction("first"))
    _, half = halved(log)
    assert sorting.feed(half) == []
    standby = Binlog(file, gtids=True)
    standby.offset, standby.number = 9000, log.number - 1
    entries, _ = halved(standby)
    assert sorting.feed(entries[:-1]) == []
    [whole] = sorting.feed(entries[-1:])
    assert (values([whole]), whole.end.whole) == (list("abcd"), True)
