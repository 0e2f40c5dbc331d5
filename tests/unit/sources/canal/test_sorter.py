import dataclasses

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.sources.canal.history import RewindError
from syncmgr.sources.canal.proto import entry_pb2
from tests.unit.sources.canal.binlog import LENGTH, TABLE, UUID, Binlog, Sorting, values

OTHER = ("shop", "other")


@pytest.mark.parametrize("begins", [True, False], ids=["mysql", "mariadb"])
def test_a_batch_ends_with_a_transaction(*, begins: bool) -> None:
    """What stops in the middle is held until its END, and the position is the one behind that END."""
    log, sorting = Binlog(begins=begins), Sorting()
    first, second = log.transaction("a", "b"), log.transaction("c", "d")
    [batch] = sorting.feed(first + second[:-1])
    assert (values([batch]), batch.open) == (["a", "b"], False)
    [rest] = sorting.feed(second[-1:])
    assert (values([rest]), rest.open) == (["c", "d"], False)
    assert (rest.end.file, rest.end.offset, rest.end.ordinal, rest.end.whole) == (
        log.file,
        log.offset + LENGTH,
        0,
        True,
    )


def test_rows_of_other_tables_only_move_the_position() -> None:
    """A transaction without rows of ours is an empty batch."""
    log, sorting = Binlog(), Sorting()
    [batch] = sorting.feed(log.transaction("x", table=OTHER))
    assert (batch.changes, batch.events, batch.end.offset) == ((), 0, log.offset + LENGTH)


def test_what_was_taken_is_dropped_after_a_reconnect() -> None:
    """Canal delivers again what was not acked; every row comes out once, an open transaction from its begin."""
    log, sorting = Binlog(), Sorting()
    first, second, third = (log.transaction(*names) for names in ("ab", "cd", "ef"))
    assert sorting.values(first + second[:2]) == ["a", "b"]
    sorting.reconnect()
    assert sorting.values(first + second + third[:1]) == ["c", "d"]
    sorting.reconnect()
    assert sorting.values(second + third) == ["e", "f"]


@pytest.mark.parametrize("gtids", [False, True])
def test_a_position_is_enough_to_go_on(*, gtids: bool) -> None:
    """A new worker that starts at any delivered position takes exactly what lies behind it."""
    log, sorting = Binlog(gtids=gtids), Sorting()
    parts = [log.transaction(name) for name in "abcd"]
    ends = [sorting.feed(part)[0].end for part in parts]
    for at, end in enumerate(ends):
        again = Sorting(end)
        assert again.values([entry for part in parts for entry in part]) == list("abcd"[at + 1 :])


def test_gtids_tell_what_is_old_on_another_server() -> None:
    """After a failover other files and offsets hold the same transactions; GTIDs know them."""
    log, sorting = Binlog(gtids=True), Sorting()
    [batch] = sorting.feed(log.transaction("a") + log.transaction("b"))
    assert batch.end.gtids == f"{UUID}:1-2"
    standby = Binlog("other.000007", gtids=True)
    again = Sorting(batch.end)
    assert again.values(standby.transaction("a") + standby.transaction("b") + standby.transaction("c")) == ["c"]


def test_a_cursor_that_was_lost_is_found() -> None:
    """After a reconnect something known must come first; where it does not, rows are missing, and the job stops."""
    for gtids in (False, True):
        log, sorting = Binlog(gtids=gtids), Sorting()
        sorting.feed(log.transaction("first"))
        sorting.feed(log.transaction("a"))
        log.transaction(*("missed" for _ in range(20)))
        sorting.reconnect()
        with pytest.raises(SyncError) as raised:
            sorting.feed(log.transaction("b"))
        assert raised.value.code is Code.CANAL_POSITION_LOST


def test_what_follows_at_once_needs_no_proof() -> None:
    """Nothing can lie between a position and the entry right behind it."""
    for gtids in (False, True):
        log, sorting = Binlog(gtids=gtids), Sorting()
        sorting.feed(log.transaction("a"))
        sorting.reconnect()
        assert sorting.values(log.transaction("b")) == ["b"]


def test_a_binlog_that_began_anew_is_no_redelivery() -> None:
    """After RESET the coordinates repeat: entries that are younger than what was taken are not taken for old."""
    log, sorting = Binlog(), Sorting()
    sorting.feed(log.transaction("a") + log.transaction("b"))
    reset = Binlog()
    reset.time = log.time + 1
    [batch] = sorting.feed(reset.transaction("c"))
    assert values([batch]) == ["c"]
    assert not batch.end.whole, "rows of two histories are no state of the source"
    reset.time += 1
    assert sorting.feed(reset.transaction("d"))[0].end.whole


def test_another_history_is_applied_again_to_keys_only() -> None:
    """Canal turned to another server without GTIDs: keyed rows are applied twice, appended ones never."""
    log = Binlog()
    [batch] = Sorting().feed(log.transaction("a"))
    standby = Binlog("other.000007")
    standby.time = log.time - 60
    keyed = Sorting(batch.end)
    with pytest.raises(RewindError):
        keyed.feed(standby.transaction("a"))
    keyed.reconnect(trusted=False)
    assert keyed.values(standby.transaction("a") + standby.transaction("b")) == ["a", "b"]
    with pytest.raises(SyncError, match="would be appended twice"):
        Sorting(batch.end, keyed=False).feed(standby.transaction("a"))


def test_entries_dropped_in_vain_are_asked_for_again() -> None:
    """Where the redelivered history never meets the position, what was dropped as old was something else."""
    log = Binlog()
    [batch] = Sorting().feed(log.transaction("a"))
    shifted = Binlog()
    shifted.offset -= 7
    sorting = Sorting(batch.end)
    entries = shifted.transaction("a")
    shifted.offset += 500
    entries += shifted.transaction("b")
    with pytest.raises(RewindError):
        sorting.feed(entries)
    sorting.reconnect(trusted=False)
    assert sorting.values(entries) == ["a", "b"]


def test_a_torn_transaction_is_marked_and_goes_on() -> None:
    """Starved, the open part comes out with a position inside it; the rest follows, and its END makes it whole."""
    log, sorting = Binlog(), Sorting()
    entries = log.transaction("a", "b", "c")
    assert sorting.feed(entries[:3]) == []
    assert sorting.sorter.open
    sorting.sorter.tear()
    [torn] = sorting.taken()
    assert (values([torn]), torn.open, torn.end.ordinal, torn.end.whole) == (["a", "b"], True, 1, False)
    for again in (sorting, Sorting(torn.end)):
        again.reconnect()
        [rest] = again.feed(entries)
        assert (values([rest]), rest.open, rest.end.ordinal, rest.end.whole) == (["c"], False, 0, True)


def test_a_torn_compressed_transaction_is_counted() -> None:
    """All entries of a compressed transaction share a coordinate: their number tells which were taken."""
    log, sorting = Binlog(), Sorting()
    begin = log.begin()
    log.shared = True
    entries = [*begin, *(log.row(name) for name in "abcd"), log.end()]
    sorting.feed(entries[:3])
    sorting.sorter.tear()
    [torn] = sorting.taken()
    assert torn.end.ordinal == 3
    assert Sorting(torn.end).values(entries) == ["c", "d"]
    # canal goes on in the middle: how many came before nobody can tell
    assert Sorting(torn.end).values(entries[2:]) == ["b", "c", "d"]
    with pytest.raises(SyncError, match="would be appended twice"):
        Sorting(torn.end, keyed=False).feed(entries[2:])


def test_a_large_transaction_does_not_fill_memory() -> None:
    """Past the bound its rows are handed on before its END, and come once though the connection breaks."""
    log, sorting = Binlog(), Sorting(max_open_bytes=1)
    entries = log.transaction("a", "b", "c")
    [part] = sorting.feed(entries[:2])
    assert (values([part]), part.open, part.end) == (["a"], True, None)
    sorting.reconnect()
    [rest] = sorting.feed(entries)
    assert (values([rest]), rest.open) == (["b", "c"], False)


def test_a_ddl_ends_a_batch_and_drops_nothing() -> None:
    """What stands before it comes before it, and the rest of the delivery after it."""
    log, sorting = Binlog(), Sorting()
    entries = [
        *log.transaction("a"),
        log.statement("ALTER TABLE orders ADD COLUMN n INT"),
        *log.transaction("b"),
        log.statement("ALTER TABLE other ADD COLUMN n INT"),
        *log.transaction("c"),
    ]
    first, second = sorting.feed(entries)
    assert first.ddl is not None
    assert (first.ddl.table, first.ddl.rows_survive, values([first])) == (TABLE, True, ["a"])
    assert second.ddl is None
    assert values([second]) == ["b", "c"]
    assert second.changes[0].altered.columns == {"n"}


def test_an_alter_is_judged_though_no_row_follows() -> None:
    """By whichever server it was read: what is a comment for one of them is a statement of the other."""
    log, sorting = Binlog(), Sorting()
    met, judged = sorting.feed([*log.transaction("a"), log.statement("ALTER TABLE orders /*M! DROP COLUMN n */")])
    assert met.ddl is not None
    assert (values([met]), [change.altered for change in met.changes]) == (["a"], [None])
    assert (values([judged]), [change.altered.columns for change in judged.changes]) == ([], [{"n"}])


def test_a_ddl_is_met_again_where_it_was_not_passed() -> None:
    """The position in front of a TRUNCATE lies before it."""
    log, sorting = Binlog(), Sorting()
    entries = [*log.transaction("a"), log.statement("TRUNCATE TABLE orders", entry_pb2.TRUNCATE)]
    [batch] = sorting.feed(entries)[:1]
    assert batch.ddl is not None
    assert not batch.ddl.rows_survive
    [again] = Sorting(batch.end).feed(entries)[:1]
    assert again.ddl == batch.ddl
    assert again.end == batch.end


def test_the_text_of_a_statement_is_no_ddl() -> None:
    """MariaDB writes a statement before its rows: only that entry is passed over."""
    log, sorting = Binlog(begins=False), Sorting()
    text = log.statement("INSERT INTO orders VALUES (1)", entry_pb2.QUERY, ddl=False)
    assert sorting.values([text, *log.transaction("a")]) == ["a"]


def test_a_statement_in_place_of_rows_stops() -> None:
    """A session that does not write rows is found, as nothing else would tell of its changes."""
    log, sorting = Binlog(), Sorting()
    change = entry_pb2.RowChange(eventType=entry_pb2.INSERT, sql="INSERT INTO orders VALUES (1)").SerializeToString()
    entry = log.entry(entry_pb2.ROWDATA, entry_pb2.INSERT, change, schemaName="shop", tableName="orders")
    with pytest.raises(SyncError) as raised:
        sorting.feed([*log.begin(), entry])
    assert raised.value.code is Code.SOURCE_NOT_ROW


@pytest.mark.parametrize(
    ("table", "text", "told"),
    [
        ("a_view", "UPDATE a_view SET v = 1", "has changed shop.a_view"),
        ("", "UPDATE orders, other SET v = 1", "has changed shop.orders, shop.other"),
        ("", "DELETE FROM parents", "has changed shop.parents"),
        ("heartbeat", "INSERT INTO mysql.heartbeat VALUES (shop.f())", "has called shop.f"),
        ("heartbeat", "UPDATE mysql.heartbeat SET v = 'its', w = \"f()\"", None),
        ("heartbeat", "INSERT INTO mysql.heartbeat (id) VALUES (1) ON DUPLICATE KEY UPDATE v = NOW()", None),
        ("any", "DELETE FROM", "has changed what is not known"),
    ],
)
def test_a_statement_that_may_reach_a_table_stops(table: str, text: str, told: str | None) -> None:
    """By a view, a trigger or a foreign key, whatever canal says that it is about; nobody can be asked."""
    log, sorting = Binlog(), Sorting()
    change = entry_pb2.RowChange(eventType=entry_pb2.UPDATE, sql=text, ddlSchemaName="shop").SerializeToString()
    entry = log.entry(entry_pb2.ROWDATA, entry_pb2.UPDATE, change, schemaName="shop", tableName=table)
    entries = [*log.begin(), entry, log.end()]
    if told is None:
        assert sorting.values([*entries, *log.transaction("a")]) == ["a"]
        return
    with pytest.raises(SyncError, match=told) as raised:
        sorting.feed(entries)
    assert raised.value.code is Code.SOURCE_NOT_ROW


def test_rows_of_an_xa_transaction_stop() -> None:
    """Whether it was committed stands in a later entry: what cannot be told yet is not written."""
    log, sorting = Binlog(), Sorting()
    with pytest.raises(SyncError, match="XA transaction"):
        sorting.feed([*log.begin(), log.row("a"), log.end(XA_TYPE="XA END")])
    begin = entry_pb2.TransactionEnd(props=[entry_pb2.Pair(key="XA_TYPE", value="XA START")]).SerializeToString()
    with pytest.raises(SyncError, match="XA transaction"):
        Sorting(max_open_bytes=1).feed([*log.begin(begin), log.row("a")])
    assert Sorting().values([*log.begin(begin), log.row("a", OTHER), *log.transaction("b")]) == ["b"]
    part, torn = [*log.begin(), log.row("a")], Sorting()
    torn.feed(part)
    torn.sorter.tear()
    [batch] = torn.taken()
    with pytest.raises(SyncError, match="XA transaction"):
        Sorting(batch.end).feed([*part, log.end(XA_TYPE="XA END")])
    other = [*log.begin(), log.row("a", OTHER), log.end(XA_TYPE="XA END")]
    assert Sorting().values([*other, log.statement("XA COMMIT", entry_pb2.XACOMMIT, ddl=False)]) == []


def test_rows_without_a_place_stop() -> None:
    """MariaDB 11.8 tells no end of what is inside a transaction, from which canal takes the length: nothing is old."""
    log, sorting = Binlog(), Sorting()
    sorting.feed(log.transaction("a"))
    placeless = [entry_pb2.Entry.FromString(entry) for entry in log.transaction("b")]
    for entry in placeless[:-1]:
        entry.header.logfileOffset = -LENGTH
    with pytest.raises(SyncError, match="without a place") as raised:
        sorting.feed([entry.SerializeToString() for entry in placeless])
    assert raised.value.code is Code.CANAL_UNSUPPORTED


def test_a_name_in_another_case_stops() -> None:
    """Canal's filter knows no case, tables do: nothing is dropped because of it, and nothing guessed."""
    log, sorting = Binlog(), Sorting()
    with pytest.raises(SyncError, match=r"canal writes it shop\.Orders"):
        sorting.feed(log.transaction("a", table=("shop", "Orders")))


def test_an_end_that_nobody_told_is_found_by_the_next_begin() -> None:
    """The rows of a transaction without END are whole when another one begins."""
    log, sorting = Binlog(), Sorting()
    [batch] = sorting.feed([*log.transaction("a")[:-1], *log.transaction("b")])
    assert values([batch]) == ["a", "b"]
    sorting.reconnect()
    assert sorting.values(log.transaction("c")) == ["c"]


def test_the_first_ack_is_not_put_off() -> None:
    """Canal has no cursor before it; so nothing need come again behind the first position, and it says so."""
    log, sorting = Binlog(), Sorting()
    [batch] = sorting.feed(log.transaction("a"))
    assert batch.end.acked
    sorting.acks.committed(batch.end)
    assert sorting.acks.due() == [1]
    log.transaction(*("filtered" for _ in range(20)))
    [other] = Sorting(batch.end).feed(log.transaction("b"))
    assert values([other]) == ["b"]
    assert not other.end.acked


def test_a_kept_batch_can_be_let_go() -> None:
    """Where it fills a small ring, a position tells that everything may be acked, and is committed before it is."""
    log, sorting = started()
    [batch] = sorting.feed(log.transaction("b"))
    sorting.acks.committed(batch.end)
    assert (sorting.acks.due(), sorting.acks.kept_bytes > 0) == ([], True)
    released = sorting.sorter.release()
    assert (released.end, released.starved) == (dataclasses.replace(batch.end, acked=True), True)
    assert sorting.acks.due() == []
    sorting.acks.committed(released.end)
    assert sorting.acks.due() == [2]


def started() -> tuple[Binlog, Sorting]:
    """Behind the first transaction of a job."""
    log, sorting = Binlog(), Sorting()
    [batch] = sorting.feed(log.transaction("first"))
    sorting.acks.committed(batch.end)
    assert sorting.acks.due() == [1]
    return log, sorting


def test_acks_follow_commits_and_keep_one_back() -> None:
    """A batch is acked when all of it is committed and the next one is, too: the kept one proves the cursor."""
    log, sorting = started()
    ends = [sorting.feed(log.transaction(name))[0].end for name in "abc"]
    assert sorting.acks.due() == []
    sorting.acks.committed(ends[0])
    assert sorting.acks.due() == []
    sorting.acks.committed(ends[1])
    assert sorting.acks.due() == [2]
    sorting.acks.committed(ends[2])
    assert sorting.acks.due() == [3]
    assert sorting.acks.kept_bytes > 0


def test_a_batch_with_the_begin_of_an_open_transaction_is_not_acked() -> None:
    """Acking it would lose that begin: canal goes on behind what was acked."""
    log, sorting = started()
    first, second = log.transaction("a"), log.transaction("b")
    [batch] = sorting.feed(first + second[:2])
    [last] = sorting.feed(second[2:])
    sorting.acks.committed(batch.end)
    assert sorting.acks.due() == []
    sorting.acks.committed(last.end)
    assert sorting.acks.due() == [2]


def test_redelivered_batches_are_acked_by_their_new_ids() -> None:
    """After a reconnect the old ids are void; what is only old is acked with the position that covers it."""
    log, sorting = started()
    parts = [log.transaction(name) for name in "ab"]
    ends = [sorting.feed(part)[0].end for part in parts]
    sorting.reconnect()
    sorting.batch_id = 10
    assert [sorting.values(part) for part in parts] == [[], []]
    assert sorting.acks.due() == []
    sorting.acks.committed(ends[1])
    assert sorting.acks.due() == [11]


def test_an_empty_start_takes_everything() -> None:
    """A new job begins where canal's cursor stands."""
    log = Binlog("binlog.000099")
    assert Sorting(dataclasses.replace(Position(), time=0)).values(log.transaction("a")) == ["a"]
