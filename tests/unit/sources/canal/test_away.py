"""Canal's parser turns to another server without GTIDs, while the connection to canal stays."""

import pytest

from syncmgr.errors import Code, SyncError
from tests.unit.sources.canal.binlog import Binlog, Sorting, values


def primary() -> Binlog:
    log = Binlog("binlog.000005")
    log.offset = 50_000
    return log


def standby(log: Binlog, file: str, offset: int, second: int) -> Binlog:
    """As of `second` seconds before: canal steps back."""
    other = Binlog(file)
    other.offset, other.time = offset, log.time - second
    return other


LOWER = pytest.mark.parametrize(
    ("file", "offset"), [("binlog.000003", 70_000), ("binlog.000005", 9_000), ("other.000005", 70_000)]
)


@LOWER
@pytest.mark.parametrize("second", [0, 60])
def test_nothing_of_another_server_is_taken_for_old(file: str, offset: int, second: int) -> None:
    """Its coordinates say nothing: rows with a key are applied again, and none of them is dropped."""
    log, sorting = primary(), Sorting()
    sorting.feed(log.transaction("x"))
    other = standby(log, file, offset, second)
    again = [*other.transaction("x"), *other.transaction("y")]
    other.time = log.time
    batches = sorting.feed([*again, *other.transaction("n")])
    assert values(batches) == ["x", "y", "n"]
    assert not batches[-1].end.whole, "what was taken comes a second time"
    other.time += 1
    [past] = sorting.feed(other.transaction("past"))
    assert (values([past]), past.end.whole) == (["past"], True)


@LOWER
def test_rows_without_a_key_stop_where_canal_turns_to_another_server(file: str, offset: int) -> None:
    """They would be appended twice; what was taken before stays."""
    log, sorting = primary(), Sorting(keyed=False)
    sorting.feed(log.transaction("x"))
    with pytest.raises(SyncError, match="would be appended twice") as raised:
        sorting.feed(standby(log, file, offset, 60).transaction("x"))
    assert raised.value.code is Code.CANAL_POSITION_LOST
    assert sorting.taken() == []


@pytest.mark.parametrize("end", [False, True], ids=["no-end", "end"])
def test_half_a_transaction_is_let_go_where_canal_turns_to_another_server(*, end: bool) -> None:
    """It comes again from there. The END of before, at which canal goes on, ends nothing."""
    log, sorting = primary(), Sorting()
    sorting.feed(log.transaction("x"))
    assert sorting.feed(log.transaction("a", "b")[:2]) == []
    other = standby(log, "binlog.000003", 70_000, 60)
    before = other.transaction("w")
    assert sorting.feed(before[-1:] if end else []) == []
    assert sorting.values(other.transaction("x") + other.transaction("a", "b")) == ["x", "a", "b"]


def test_a_timestamp_ahead_hides_no_transaction() -> None:
    """A session had set one before canal turned to another server: all that comes is younger than that, or not."""
    log, sorting = primary(), Sorting()
    log.time += 10_000
    sorting.feed(log.transaction("ahead"))
    log.time -= 10_000
    sorting.feed(log.transaction("x"))
    other = standby(log, "binlog.000003", 70_000, 60)
    names = [f"later {number}" for number in range(50)]
    assert values([batch for name in names for batch in sorting.feed(other.transaction(name))]) == names


def test_a_turn_behind_a_reconnect_is_seen() -> None:
    """Canal delivers again what it had of one server, and then what the other one has."""
    log, sorting = primary(), Sorting()
    before = [*log.transaction("x"), *log.transaction("y")]
    sorting.feed(before)
    sorting.reconnect()
    other = standby(log, "binlog.000003", 70_000, 60)
    assert sorting.values([*before, *other.transaction("y"), *other.transaction("n")]) == ["y", "n"]


def test_the_next_file_may_be_that_of_another_server() -> None:
    """A transaction there that is older than the one before was taken already; the first one of a file is no excuse."""
    log, sorting = primary(), Sorting(keyed=False)
    sorting.feed(log.transaction("x"))
    with pytest.raises(SyncError, match="would be appended twice"):
        sorting.feed(standby(log, "binlog.000006", 1_000, 60).transaction("x"))
    keyed = Sorting()
    keyed.feed(log.transaction("x"))
    [again] = keyed.feed(standby(log, "binlog.000006", 1_000, 60).transaction("x"))
    assert (values([again]), again.end.whole) == (["x"], False)


def test_old_timestamps_go_on_in_the_next_file() -> None:
    """Where a binlog is replayed with its own timestamps, the transaction before is as old."""
    log, sorting = primary(), Sorting(keyed=False)
    sorting.feed(log.transaction("now"))
    log.time -= 1_000
    sorting.feed(log.transaction("replayed"))
    log.file, log.offset = "binlog.000006", 4
    [batch] = sorting.feed(log.transaction("replayed, too"))
    assert (values([batch]), batch.end.whole) == (["replayed, too"], True)


def test_what_nobody_has_taken_cannot_come_twice() -> None:
    """A job that has only half of its first transaction takes what another server has, keys or not."""
    log, sorting = primary(), Sorting(keyed=False)
    sorting.feed(log.transaction("a", "b")[:2])
    [batch] = sorting.feed(standby(log, "binlog.000003", 70_000, 60).transaction("a", "b"))
    assert (values([batch]), batch.end.whole) == (["a", "b"], True)


def test_the_last_of_the_other_server_is_not_kept_back() -> None:
    """Delivered again it would lie elsewhere than the position does, and prove nothing."""
    log, sorting = primary(), Sorting()
    [first] = sorting.feed(log.transaction("x"))
    sorting.acks.committed(first.end)
    assert sorting.acks.due() == [1]
    other = standby(log, "binlog.000003", 70_000, 60)
    [turned] = sorting.feed([*log.transaction("y"), *other.transaction("y")])
    sorting.acks.committed(turned.end)
    assert sorting.acks.due() == [2]
    [behind] = sorting.feed(other.transaction("n"))
    sorting.acks.committed(behind.end)
    assert sorting.acks.due() == []


@pytest.mark.parametrize("keyed", [True, False])
def test_what_is_dropped_before_the_position_is_met_is_not_acked(*, keyed: bool) -> None:
    """It may be of another server, and has to be delivered again then; without a key the job stops there anyway."""
    log = primary()
    [batch] = Sorting().feed(log.transaction("x"))
    other, sorting = standby(log, "binlog.000003", 70_000, 0), Sorting(batch.end, keyed=keyed)
    for name in ("y", "z"):
        assert sorting.values(other.transaction(name)) == []
    assert sorting.acks.due() == ([] if keyed else [1, 2])
    assert sorting.sorter.doubtful == keyed
    met, log = Sorting(batch.end), primary()
    assert met.values(log.transaction("x")) == []
    assert not met.sorter.doubtful
    met.feed(log.transaction("y"))
    assert met.sorter._history._joined


@pytest.mark.parametrize(("second", "stops"), [(5, True), (0, True), (-1, False)])
def test_rows_without_a_key_stop_where_a_file_far_on_is_no_younger(second: int, *, stops: bool) -> None:
    """A standby with more files repeats what is but a few seconds old: between two of them a server's own time goes
    on.
    """
    log, sorting = primary(), Sorting(keyed=False)
    sorting.feed(log.transaction("x"))
    further = standby(log, "binlog.000008", 1_000, second).transaction("x")
    if not stops:
        assert sorting.values(further) == ["x"]
        return
    with pytest.raises(SyncError, match="would be appended twice"):
        sorting.feed(further)
    assert sorting.taken() == []


def test_rows_with_a_key_are_not_applied_again_for_a_few_seconds() -> None:
    """Nor are those without one where the next file begins with a session that began a little earlier."""
    log, keyed = primary(), Sorting()
    keyed.feed(log.transaction("x"))
    [again] = keyed.feed(standby(log, "binlog.000008", 1_000, 5).transaction("x"))
    assert again.end.whole
    unkeyed = Sorting(keyed=False)
    unkeyed.feed(log.transaction("y"))
    assert unkeyed.values(standby(log, "binlog.000006", 1_000, 5).transaction("z")) == ["z"]
