import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.position import GtidSet, MariadbGtids, Order, Position, compare, has_passed, is_beyond, parse_gtids

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "4e11fa47-71ca-11e1-9e33-c80aa9429562"
SIDS = st.tuples(st.sampled_from([A, B]), st.sampled_from(["", "tag", "_x1"]))
MEMBERS = st.sets(st.tuples(SIDS, st.integers(1, 40)), max_size=60)
SEQUENCES = st.dictionaries(st.integers(0, 3), st.tuples(st.integers(1, 2), st.integers(1, 9)))


def made(members: set[tuple[tuple[str, str], int]]) -> GtidSet:
    gtids = GtidSet()
    for sid, gno in members:
        gtids.add(sid, gno)
    return gtids


def members(gtids: GtidSet) -> set[tuple[tuple[str, str], int]]:
    return {(sid, gno) for sid, parts in gtids.intervals() for first, last in parts for gno in range(first, last + 1)}


@given(MEMBERS, MEMBERS)
def test_a_gtid_set_is_a_set(a: set[tuple[tuple[str, str], int]], b: set[tuple[tuple[str, str], int]]) -> None:
    """Union, subtraction, containment and membership are those of sets of transactions; text loses nothing."""
    mine, other = made(a), made(b)
    assert members(mine) == a
    assert members(mine.union(other)) == a | b
    assert members(mine.subtract(other)) == a - b
    assert mine.contains(other) == (b <= a)
    assert (mine == other) == (a == b)
    assert all(mine.has(*member) for member in a)
    assert not any(mine.has(*member) for member in b - a)
    assert GtidSet.parse(str(mine)) == mine
    assert str(GtidSet.parse(str(mine))) == str(mine)
    assert mine.copy() == mine
    assert bool(mine) == bool(a)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (f"{A}:1-5", f"{A}:1-5"),
        (f"{A.upper()}:5:1-2 : 3,\n{A}:6", f"{A}:1-3:5-6"),
        (A.replace("-", "") + ":1", f"{A}:1"),
        (f"{B}:1,{A}:2-2", f"{A}:2,{B}:1"),
        (f"{A}:1-5:Tag:1-3:7:other:1", f"{A}:1-5:other:1:tag:1-3:7"),
        ("", ""),
        (",,", ""),
    ],
)
def test_text_is_read_as_mysql_reads_it(text: str, canonical: str) -> None:
    """Case, spaces, order and neighbours do not matter; a tag holds until the next tag."""
    assert str(GtidSet.parse(text)) == canonical


@pytest.mark.parametrize(
    "text", [A, f"{A}:", f"{A}:0", f"{A}:5-3", f"{A}:1-", "x:1", f"{A}:1-2-3", f"{A}:-1", f"{A}:1x"]
)
def test_what_is_no_gtid_set_is_refused(text: str) -> None:
    """A text that MySQL would refuse is a ValueError."""
    with pytest.raises(ValueError, match=r"is|not"):
        GtidSet.parse(text)


@given(SEQUENCES, SEQUENCES)
def test_mariadb_positions(a: dict[int, tuple[int, int]], b: dict[int, tuple[int, int]]) -> None:
    """Text loses nothing, the union is ahead of neither by less, and what is left after subtraction is ahead."""
    mine, other = MariadbGtids(a), MariadbGtids(b)
    assert MariadbGtids.parse(str(mine)) == mine
    both = mine.union(other)
    assert all(both.has(domain, seq) for whole in (a, b) for domain, (_, seq) in whole.items())
    assert {domain for domain, _ in mine.subtract(other).items()} == {d for d in a if d not in b or a[d][1] > b[d][1]}
    assert mine.contains(mine.copy())


@pytest.mark.parametrize("text", ["0-1", "0-1-2-3", "a-b-c", "0-1-2,0-2-3", "-1-1"])
def test_what_is_no_mariadb_position_is_refused(text: str) -> None:
    """A domain twice, too few or too many parts are ValueErrors."""
    with pytest.raises(ValueError, match=r"MariaDB|twice"):
        MariadbGtids.parse(text)


def test_the_kind_is_told_by_the_form() -> None:
    """Either server's text is read as what it is."""
    assert isinstance(parse_gtids("0-1-2,1-1-1"), MariadbGtids)
    assert isinstance(parse_gtids(f"{A}:1"), GtidSet)
    assert isinstance(parse_gtids(""), GtidSet)


def at(offset: int, file: str = "b.000009", server: str = "s", created: int = 9, ordinal: int = 0) -> Position:
    return Position(file=file, offset=offset, server=server, created=created, ordinal=ordinal)


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        (Position(), Position(), Order.SAME),
        (Position(gtids=f"{A}:1-5"), Position(gtids=f"{A}:1-6"), Order.BEFORE),
        (
            Position(gtids=f"{A}:1-5", file="b.1", offset=9),
            Position(gtids=f"{A}:1-5", file="b.2", offset=4),
            Order.SAME,
        ),
        (Position(gtids=f"{A}:1-5", ordinal=3), Position(gtids=f"{A}:1-5"), Order.AFTER),
        (Position(gtids=f"{A}:1-5", ordinal=3), Position(gtids=f"{A}:1-6"), Order.BEFORE),
        (Position(gtids=f"{A}:1-5"), Position(gtids=f"{B}:1"), Order.INCOMPARABLE),
        (Position(gtids=f"{A}:1-5"), Position(gtids="0-1-5"), Order.INCOMPARABLE),
        (Position(gtids="0-1-5"), Position(gtids="0-1-6,1-1-1"), Order.BEFORE),
        (Position(gtids="0-1-5"), Position(gtids="0-2-5"), Order.INCOMPARABLE),
        (at(4), at(8), Order.BEFORE),
        (at(8, ordinal=2), at(8, ordinal=1), Order.AFTER),
        (at(4, file="b.000010", created=12), at(8), Order.AFTER),
        (at(4, file="b.999999"), at(4, file="b.1000000", created=10), Order.BEFORE),
        (at(4, file="b.000010", created=5), at(8), Order.INCOMPARABLE),
        (at(4, created=8), at(8), Order.INCOMPARABLE),
        (at(4, created=0), at(8), Order.INCOMPARABLE),
        (at(4, server="t"), at(8), Order.INCOMPARABLE),
        (at(4, file="c.000009"), at(8), Order.INCOMPARABLE),
        (Position(gtids=f"{A}:1"), at(4), Order.INCOMPARABLE),
    ],
)
def test_order(a: Position, b: Position, order: Order) -> None:
    """By GTID, else by coordinate on one server and generation of files, else there is none; both ways round."""
    opposite = {Order.BEFORE: Order.AFTER, Order.AFTER: Order.BEFORE}
    assert compare(a, b) is order
    assert compare(b, a) is opposite.get(order, order)


POSITIONS = st.builds(
    Position,
    gtids=st.sampled_from(["", f"{A}:1", f"{A}:1-2", f"{B}:1", "0-1-1", "0-1-2"]),
    file=st.sampled_from(["b.1", "b.2", ""]),
    offset=st.integers(0, 2),
    ordinal=st.integers(0, 1),
    server=st.sampled_from(["", "s"]),
    created=st.integers(0, 2),
)


@given(POSITIONS, POSITIONS)
def test_order_has_two_sides(a: Position, b: Position) -> None:
    """What lies before is what the other lies after; nothing lies before itself."""
    opposite = {Order.BEFORE: Order.AFTER, Order.AFTER: Order.BEFORE}
    assert compare(a, b) is opposite.get(compare(b, a), compare(b, a))
    assert compare(a, a) is Order.SAME


@pytest.mark.parametrize(
    ("why", "at", "upper", "passed"),
    [
        ("behind it", {"offset": 300}, {}, True),
        ("at it", {}, {}, True),
        ("before it", {"offset": 100}, {}, False),
        ("executed, and yet before the end of the file", {"offset": 100}, {"gtids": f"{A}:1-5"}, False),
        ("at the end, and yet not executed", {"gtids": f"{A}:1-4"}, {}, False),
        ("another server tells by GTID alone", {"server": "other", "offset": 1}, {}, True),
        ("without GTIDs the coordinate tells", {"gtids": "", "offset": 300}, {"gtids": ""}, True),
        ("without both nobody can tell", {"gtids": "", "server": "other"}, {"gtids": ""}, False),
        ("the file ended, and the next one is empty", {"file": "binlog.000000", "offset": 900}, {}, True),
        ("an older file without GTIDs", {"file": "binlog.000000", "gtids": ""}, {"gtids": ""}, False),
        ("a later file", {"file": "binlog.000002", "offset": 4}, {}, True),
    ],
)
def test_the_upper_bound_is_passed(why: str, at: dict[str, object], upper: dict[str, object], *, passed: bool) -> None:
    """A transaction may be shown before it counts as executed: both the coordinate and the GTIDs must be there."""
    end = Position(gtids=f"{A}:1-5", file="binlog.000001", offset=200, server="s")
    assert has_passed(dataclasses.replace(end, **at), dataclasses.replace(end, **upper)) is passed, why  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("why", "at", "passed"),
    [
        ("a higher number in an earlier file", {"gtids": "0-1-100"}, False),
        ("two servers write into the domain", {"gtids": "0-2-100", "offset": 900}, False),
        ("the end of the file before", {"gtids": "0-1-50", "offset": 900}, True),
        ("a later file", {"gtids": "0-1-60", "file": "binlog.000009"}, True),
        ("a place in the files of another server", {"gtids": "0-1-100", "server": "2"}, True),
        (
            "a node of Galera with the same id, whose files are of another time",
            {"gtids": "0-1-100", "created": 9},
            True,
        ),
        ("another base name", {"gtids": "0-1-100", "file": "log.000002"}, True),
    ],
)
def test_numbers_that_go_back_over_files_pass_nothing(why: str, at: dict[str, object], *, passed: bool) -> None:
    """MariaDB lets a session choose a lower number: a place in an earlier file has not passed one in a later file."""
    upper = Position(gtids="0-1-50", file="binlog.000003", offset=200, server="1", created=7)
    before = Position(gtids="0-1-50", file="binlog.000002", offset=900, server="1", created=5)
    assert has_passed(dataclasses.replace(before, **at), upper) is passed, why  # type: ignore[arg-type]
    assert not (is_beyond(dataclasses.replace(before, **at), upper) and not passed), why  # type: ignore[arg-type]
