"""A transaction is torn, and canal's parser turns to another server; GTIDs are on."""

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.sources.canal.history import RewindError
from tests.unit.sources.canal.binlog import Binlog, Sorting, values


def torn(*, keyed: bool = True) -> tuple[Binlog, list[bytes], list[bytes], Sorting, Position]:
    """Torn behind the second of four rows: the log, what came before it and what of it, what has read them."""
    log, sorting = Binlog("binlog.000005", gtids=True), Sorting(keyed=keyed)
    before = log.transaction("first")
    sorting.feed(before)
    half = log.transaction(*"abcd")[:3]
    sorting.feed(half)
    sorting.sorter.tear()
    [batch] = sorting.taken()
    return log, before, half, sorting, batch.end


def elsewhere(file: str) -> tuple[Binlog, list[bytes], list[bytes]]:
    """The torn transaction and the next one on another server, all in one second."""
    log = Binlog(file, gtids=True)
    log.transaction("first")
    return log, log.transaction(*"abcd"), log.transaction("n")


FILES = pytest.mark.parametrize("file", ["binlog.000003", "binlog.000007", "other.000005"])


@FILES
def test_the_rest_of_a_torn_transaction_comes_from_another_server(file: str) -> None:
    """All of it is applied again, where rows have a key, and nothing behind it is dropped."""
    *_, sorting, _ = torn()
    log, again, following = elsewhere(file)
    batches = sorting.feed([*again, *following])
    assert values(batches) == ["a", "b", "c", "d", "n"]
    log.time += 1
    assert sorting.feed(log.transaction("past"))[0].end.whole


@FILES
def test_rows_without_a_key_are_not_torn_twice(file: str) -> None:
    """Which of them were taken no coordinate of another server tells: the job stops, and drops nothing."""
    *_, sorting, _ = torn(keyed=False)
    with pytest.raises(SyncError, match="would be appended twice"):
        sorting.feed(elsewhere(file)[1])


@FILES
def test_a_stored_position_inside_a_transaction_is_met_or_nothing_is_old(file: str) -> None:
    """A new worker knows no GTID of what is torn: what it dropped without meeting the position is delivered again."""
    *_, end = torn()
    _, again, following = elsewhere(file)
    sorting = Sorting(end)
    with pytest.raises(RewindError):
        sorting.feed([*again, *following])
    sorting.reconnect(trusted=False)
    assert sorting.values([*again, *following]) == ["a", "b", "c", "d", "n"]
    with pytest.raises(SyncError, match="would be appended twice"):
        Sorting(end, keyed=False).feed([*again, *following])


def test_a_new_worker_sees_both_servers() -> None:
    """Canal delivers what it had of the first one, and then the transaction again."""
    _, _, half, _, end = torn()
    _, again, following = elsewhere("binlog.000003")
    assert Sorting(end).values([*half, *again, *following]) == ["a", "b", "c", "d", "n"]
    with pytest.raises(SyncError, match="would be appended twice"):
        Sorting(end, keyed=False).feed([*half, *again, *following])


@FILES
@pytest.mark.parametrize("stored", [False, True])
def test_a_torn_transaction_whose_rest_does_not_come_stops(file: str, *, stored: bool) -> None:
    """The other server does not have it, or has it later: a part of it would stay, or come twice, without a word."""
    *_, sorting, end = torn()
    standby = Binlog(file, gtids=True)
    standby.transaction("first")
    standby.number += 1
    following = standby.transaction("n")
    following = [entry.replace(b":1-3", b":3-3") for entry in following]
    if stored:  # what is dropped in vain is seen at the first entry that is not
        following += [entry.replace(b":1-4", b":3-4") for entry in standby.transaction("m")]
    with pytest.raises(SyncError, match="the rest of a transaction that it tore did not come") as raised:
        (Sorting(end) if stored else sorting).feed(following)
    assert raised.value.code is Code.CANAL_POSITION_LOST


@pytest.mark.parametrize("stored", [False, True])
def test_a_torn_transaction_may_end_without_a_word(*, stored: bool) -> None:
    """Canal leaves out an END that only rows of other tables stand beside: the next BEGIN tells that it has passed."""
    log, before, half, sorting, end = torn(keyed=False)
    assert (Sorting(end, keyed=False) if stored else sorting).values(
        [*(before + half if stored else []), *log.transaction("n")]
    ) == ["n"]


def test_what_is_known_is_never_applied_again() -> None:
    """Not even where coordinates tell nothing: an older row would stay in place of a younger one."""
    _, before, _, _, end = torn()
    _, again, following = elsewhere("binlog.000003")
    sorting = Sorting(end)
    sorting.reconnect(trusted=False)
    assert sorting.values([*before, *again, *following]) == ["a", "b", "c", "d", "n"]
