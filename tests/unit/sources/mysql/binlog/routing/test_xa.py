import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.sources.mysql.binlog import events
from syncmgr.sources.mysql.binlog.routing.xa import Branches
from syncmgr.sources.mysql.wire import MalformedEventError


def branches(**delivered: bool) -> Branches:
    return Branches(delivered, "db1:3306")


def test_one_that_ends_before_its_delivery_is_as_any_other() -> None:
    """Nobody hears of it: its rows are in hand, and the batch has nothing to say."""
    known = branches()
    known.prepare("a")
    assert known.commit("a")
    assert (known.prepared, known.forgotten, known.committed) == ({}, [], None)
    known.prepare("b")
    known.roll_back("b")
    assert (known.prepared, known.forgotten, known.committed) == ({}, [], None)


def test_delivered_rows_are_committed_by_name() -> None:
    """Only the consumer has them; once it was told, the xid is free for another transaction."""
    known = branches(a=True)
    assert not known.commit("a")
    assert known.committed == "a"
    known.deliver({})
    assert known.committed is None
    with pytest.raises(SyncError):
        known.commit("a")


def test_what_has_no_rows_is_forgotten_at_any_end() -> None:
    """A COMMIT of it does not stop the reader, and counts as known."""
    known = branches()
    known.prepare("a")
    known.prepare("b")
    known.deliver({"a": False, "b": False})
    assert not known.commit("a")
    known.roll_back("b")
    assert (known.forgotten, known.committed) == (["a", "b"], None)
    known.deliver({})
    assert known.forgotten == []


def test_parts_that_came_at_different_times_are_one() -> None:
    """A transaction larger than a batch has rows, whichever part came last."""
    known = branches()
    known.deliver({"a": True})
    known.prepare("a")
    known.deliver({"a": False})
    assert not known.commit("a")
    assert known.committed == "a"


@pytest.mark.parametrize("delivered", [True, False])
def test_an_xid_that_begins_again_was_lost(*, delivered: bool) -> None:
    """Rows of a transaction that a crash of its server undid do not come with its namesake."""
    known = branches()
    known.prepare("a")
    if delivered:
        known.deliver({"a": True})
    known.begin("a")
    assert known.forgotten == ["a"] * delivered
    assert known.prepared == {}


def test_a_commit_of_an_unknown_one_is_refused() -> None:
    """Its rows lie before the start and cannot be had; a rollback of such is nothing."""
    known = branches()
    known.roll_back("a")
    with pytest.raises(SyncError) as caught:
        known.commit("a")
    assert caught.value.code is Code.SOURCE_XA


def test_an_xid_reads_alike_in_events_and_statements() -> None:
    """What XA_PREPARE tells in binary is what XA COMMIT says in words."""
    body = bytes([0]) + (7).to_bytes(4, "little") + (2).to_bytes(4, "little") + (1).to_bytes(4, "little") + b"\xffAb"
    name, one_phase = events.xa_prepare(bytes(19) + body)
    assert (name, one_phase) == ("X'ff41',X'62',7", False)
    assert events.xid_of("XA COMMIT X'FF41',X'62',7") == name
    assert events.xa_prepare(bytes(19) + b"\1" + body[1:]) == (name, True)


@pytest.mark.parametrize("flags", [64, 66])
def test_an_xid_in_a_gtid_of_mariadb(flags: int) -> None:
    """It stands behind the id of the group commit, where there is one."""
    group = bytes(8) if flags & 2 else b""
    body = (9).to_bytes(8, "little") + bytes(4) + bytes([flags]) + group + (1).to_bytes(4, "little") + b"\2\1xyz\1\xff"
    assert events.mariadb_xid(bytes(19) + body) == "X'7879',X'7a',1"


@pytest.mark.parametrize("text", ["XA COMMIT 'a'", "XA COMMIT X'61',X'',1 ONE PHASE", "XA COMMIT"])
def test_an_xid_is_never_guessed(text: str) -> None:
    """A statement that no server writes is an error."""
    with pytest.raises(MalformedEventError):
        events.xid_of(text)
