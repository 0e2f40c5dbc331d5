import struct
from dataclasses import replace
from typing import Final

import pytest

from mysqlddl.nodes import Table
from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.objects.surroundings import Answers, Unasked
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Ddl
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog import events
from syncmgr.sources.mysql.binlog.cutoff import Gtid
from syncmgr.sources.mysql.binlog.events import Query, xid_of
from syncmgr.sources.mysql.binlog.router import Limits, Router
from syncmgr.sources.mysql.binlog.routing.table_routes import MAX_ROUTES
from syncmgr.sources.mysql.binlog.sessions import Begun
from syncmgr.sources.mysql.binlog.subscriptions import MOST_STATEMENT, Subscription, Subscriptions
from syncmgr.sources.mysql.binlog.unlogged import Unlogged
from syncmgr.sources.mysql.server.server_settings import ServerSettings


def unasked(_unasked: Unasked, _modes: Modes) -> Answers:
    raise AssertionError("nothing is to be asked")


def unlogged() -> Unlogged:
    return Unlogged("db1:3306", unasked)


def event(kind: int, log_pos: int, body: bytes = b"") -> bytes:
    size = wire.HEADER + len(body)
    return struct.pack("<IBIIIH", 1_700_000_000, kind, 1, size, log_pos, 0) + body


def fed(*told: bytes) -> Router:
    """A router behind these events, which stand in a file from its begin on."""
    start = Position(file="binlog.000001", offset=4, server="s")
    router = Router(Subscriptions({}, "db1:3306", unlogged()), Limits(), start, "db1:3306", {})
    for each in told:
        router.feed(memoryview(each), [(0, len(each))], 0)
    return router


def transaction(log_pos: int) -> tuple[bytes, bytes]:
    return event(wire.ANONYMOUS_GTID, log_pos - 31, bytes(25)), event(wire.XID, log_pos, bytes(8))


def test_an_incident_ends_the_source() -> None:
    """The server says itself that events are missing: nothing may go on as if they were not."""
    with pytest.raises(SyncError, match="events are missing from its binlog") as caught:
        fed(event(wire.INCIDENT, 200, b"\x01\x00\x00"))
    assert caught.value.code is Code.SOURCE_UNSUPPORTED


def test_positions_grow_beyond_32_bits() -> None:
    """Events tell the lower half; a file that a transaction made larger than 4 GiB goes on behind them."""
    ends = (2**32 - 100, 50, 2**32 - 10, 2**31)
    offsets = [
        fed(*(part for end in ends[:count] for part in transaction(end))).position().offset for count in range(5)
    ]
    assert offsets == [4, 2**32 - 100, 2**32 + 50, 2**33 - 10, 2**33 + 2**31]


class Meeting(Subscriptions):
    """Notes where statements stand."""

    def __init__(self) -> None:
        super().__init__({}, "db1:3306", unlogged())
        self.places: list[int] = []

    def met(
        self, query: Query, at: int, here: Position, own: frozenset[Table], *, followable: bool, with_rows: bool
    ) -> Ddl | None:
        self.places.append(here.offset)
        return super().met(query, at, here, own, followable=followable, with_rows=with_rows)


def test_a_statement_that_crosses_32_bits_stands_where_it_begins() -> None:
    """Whether a schema that was asked of the server is older is judged by that place."""
    meeting = Meeting()
    start = Position(file="binlog.000001", offset=4, server="s")
    router = Router(meeting, Limits(), start, "db1:3306", {})
    statement = struct.pack("<IIBHH", 1, 0, 1, 0, 0) + b"d\0ALTER TABLE t ADD c INT"
    size = wire.HEADER + len(statement)
    for each in (*transaction(2**32 - 10), event(wire.QUERY, size - 10, statement)):
        router.feed(memoryview(each), [(0, len(each))], 0)
    assert meeting.places == [2**32 - 10]
    assert router.position().offset == 2**32 + size - 10


@pytest.mark.parametrize(("after", "passed"), [(2**32 + 500, False), (3 * 10**9, False), (2**32 + 5000, True)])
def test_the_end_of_an_xa_transaction_is_placed_beyond_32_bits(after: int, *, passed: bool) -> None:
    """A table that was read after it has its rows; one that was read before gets them."""
    text = "XA COMMIT X'61',X'',1"
    table, xid = ("d", "t"), xid_of(text)
    wanted = Subscription(columns=(), after=Position(file="binlog.000001", offset=after, server="s"))
    start = Position(file="binlog.000001", offset=4, server="s")
    router = Router(Subscriptions({table: wanted}, "db1:3306", unlogged()), Limits(), start, "db1:3306", {xid: True})
    statement = struct.pack("<IIBHH", 1, 0, 1, 0, 0) + b"d\0" + text.encode()
    ends = event(wire.QUERY, 5000, statement)
    for each in (*transaction(2**32 - 100), *transaction(1000), ends):
        router.feed(memoryview(each), [(0, len(each))], 0)
    assert router.take().passed == (frozenset({table}) if passed else frozenset())


@pytest.mark.parametrize("kind", [wire.GTID, wire.ANONYMOUS_GTID])
@pytest.mark.parametrize(
    ("committed_at", "told"),
    [(1_600_000_000.5, 1_600_000_000.5), (1_800_000_000.0, 1_700_000_000.0), (None, 1_700_000_000.0)],
)
def test_no_session_says_that_its_rows_are_of_later(kind: int, committed_at: float | None, told: float) -> None:
    """Events bear the time that a session calls its own; where the server says when it committed, that bounds it."""
    body = b"\1" + bytes(16) + struct.pack("<QBQQ", 6, 2, 0, 1)
    if committed_at is not None:
        body += (int(committed_at * 1e6) | 1 << 55).to_bytes(7, "little") + bytes(7)
    assert fed(event(kind, 100, body), event(wire.XID, 200, bytes(8))).take().source_time == told


def test_a_gtid_behind_an_open_one_leaves_no_hole(caplog: pytest.LogCaptureFixture) -> None:
    """A transaction whose end was not known is over when the next begins: its number is kept, and the log has it."""
    first, second = (event(wire.GTID, 100, b"\1" + bytes(16) + struct.pack("<Q", number)) for number in (6, 7))
    uuid = "00000000-0000-0000-0000-000000000000"
    start = Position(gtids=f"{uuid}:1-5", file="binlog.000001", offset=4, server="s")
    router = Router(Subscriptions({}, "db1:3306", unlogged()), Limits(), start, "db1:3306", {})
    for each in (first, second, event(wire.XID, 200, bytes(8))):
        router.feed(memoryview(each), [(0, len(each))], 0)
    assert router.position().gtids == f"{uuid}:1-7"
    assert "has no end that is known" in caplog.text


def query(text: str, variables: bytes = b"") -> bytes:
    """Of a session that has used a temporary table."""
    body = struct.pack("<IIBHH", 1, 0, 1, 0, len(variables)) + variables + b"d\0" + text.encode()
    made = bytearray(event(wire.QUERY, 500, body))
    made[17] = wire.FLAG_THREAD_SPECIFIC
    return bytes(made)


def head(created: int) -> bytes:
    return event(wire.FORMAT_DESCRIPTION, 126, struct.pack("<H50sI", 4, b"8.0.36", created) + bytes(64))


@pytest.mark.parametrize(
    ("between", "followed"),
    [
        ([], False),
        ([event(wire.ROTATE, 0, struct.pack("<Q", 4) + b"binlog.000002"), head(0)], False),
        ([event(wire.ROTATE, 0, struct.pack("<Q", 4) + b"binlog.000002"), head(1_700_000_000)], True),
        ([query("DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`")], True),
        ([query("ALTER TABLE t RENAME TO x")], True),
        ([query("ALTER TABLE t RENAME TO x"), query("ALTER TABLE x RENAME TO t")], False),
    ],
)
def test_a_temporary_table_lives_as_long_as_its_session(between: list[bytes], *, followed: bool) -> None:
    """Only the server's end, which its next file tells, ends sessions that log nothing more."""
    tables = {("d", "t"): Subscription(columns=())}
    start = Position(file="binlog.000001", offset=4, server="s")
    router = Router(Subscriptions(tables, "db1:3306", unlogged()), Limits(), start, "db1:3306", {})
    for each in (query("CREATE TEMPORARY TABLE t (id INT)"), *between, query("TRUNCATE t")):
        router.feed(memoryview(each), [(0, len(each))], 0)
    assert (router.take().ddl is not None) is followed


HERE = Position(file="binlog.000001", offset=400, server="s")  # before the statements of `query`


@pytest.mark.parametrize("text", ["TRUNCATE t", "RENAME TABLE t TO x"])
def test_a_session_of_another_server_has_no_tables_of_its_namesake(text: str) -> None:
    """A replica's binlog has the sessions of its source beside its own, and each server counts its own from 1: what
    the one does to the synced table must not be taken for what the other does to a temporary one.
    """
    other = bytearray(query(text))
    other[events.ORIGIN] = (2).to_bytes(4, "little")
    for said, followed in ((query(text), False), (bytes(other), True)):
        router = Router(subscribed(mariadb=True), Limits(), HERE, "db1:3306", {})
        for each in (query("CREATE TEMPORARY TABLE t (id INT)"), said):
            router.feed(memoryview(each), [(0, len(each))], 0)
        assert (router.take().ddl is not None) is followed


@pytest.mark.parametrize(
    ("begun", "doubtful"),
    [
        (None, True),
        (Begun(origin=1, thread=0, end=HERE), False),
        (Begun(origin=1, thread=1, end=HERE), True),
        (Begun(origin=2, thread=0, end=HERE), True),
        (Begun(origin=1, thread=0, end=replace(HERE, offset=600)), True),
    ],
)
def test_which_table_a_session_means_is_known_where_all_of_it_was_read(begun: Begun | None, *, doubtful: bool) -> None:
    """It began after the connection: its number is higher, on the same server, which has not started since."""
    router = following(begun, query("TRUNCATE t"))
    assert doubt(router) is doubtful


XID, DATABASE = bytes([events.TRANSACTION]) + bytes(8), bytes([events.UPDATED_DATABASES]) + b"\x01d\0"


@pytest.mark.parametrize(
    ("text", "variables", "doubtful"),
    [
        ("TRUNCATE TABLE t", b"", True),
        ("TRUNCATE TABLE t", DATABASE, True),
        ("TRUNCATE TABLE t", DATABASE + XID, True),
        ("TRUNCATE TABLE t", XID, False),
        ("ALTER TABLE t ADD x INT", DATABASE, True),
        ("ALTER TABLE t ADD x INT", DATABASE + XID, False),
        ("CREATE INDEX i ON t (x)", DATABASE, True),
        ("CREATE INDEX i ON t (x)", DATABASE + XID, False),
        ("DROP TABLE t", DATABASE, False),
    ],
)
def test_mysql_says_which_statements_are_about_no_temporary_table(
    text: str, variables: bytes, *, doubtful: bool
) -> None:
    """By the number of their transaction. DDL of a temporary one lacks it; TRUNCATE of one has it, and its database."""
    assert doubt(following(None, query(text, variables))) is doubtful


def test_what_begins_with_the_server_is_known() -> None:
    """Whoever else has its number; another server's sessions may have begun before."""
    start = [query("CREATE TEMPORARY TABLE t (id INT)"), event(wire.ROTATE, 0, struct.pack("<Q", 4) + b"binlog.000002")]
    begun = Begun(origin=1, thread=9, end=replace(HERE, offset=10**6))
    assert not doubt(following(begun, *start, head(1_700_000_000), query("TRUNCATE t")))
    assert doubt(following(begun, *start, head(0), query("ALTER TABLE u ADD x INT")))


FAKE: Final = struct.Struct("<H").pack(wire.FLAG_ARTIFICIAL)


def rotate(number: int, *, artificial: bool) -> bytes:
    """To the head of another file; `artificial`: as a dump begins."""
    made = event(wire.ROTATE, 0, struct.pack("<Q", 4) + f"binlog.{number:06}".encode())
    return made[:17] + FAKE + made[19:] if artificial else made


def test_what_a_session_had_is_not_known_behind_a_file_that_nobody_has_read() -> None:
    """The server may have started anew in it, and the number be another session's."""
    made = query("CREATE TEMPORARY TABLE t (id INT)")
    kept = following(None, made, rotate(2, artificial=False), head(0), rotate(2, artificial=True), query("TRUNCATE t"))
    assert kept.take().ddl is None
    assert doubt(following(None, made, rotate(3, artificial=True), head(0), query("TRUNCATE t")))
    begun = Begun(origin=1, end=HERE)
    assert not doubt(following(begun, made, rotate(3, artificial=True), head(0), query("TRUNCATE t")))


BEGUN: Final = event(wire.MARIADB_GTID, 300, struct.pack("<QIB", 7, 0, 0) + bytes(6))


@pytest.mark.parametrize("artificial", [False, True])
def test_a_crash_amid_a_transaction_ends_the_sessions_too(*, artificial: bool) -> None:
    """MariaDB leaves its begin in the file, and begins another one."""
    crash = BEGUN, rotate(2, artificial=artificial), head(1_700_000_000)
    router = following(None, query("CREATE TEMPORARY TABLE t (id INT)"), *crash, query("TRUNCATE t"))
    assert not doubt(router)
    assert router.position().file == "binlog.000002"


def subscribed(begun: Begun | None = None, *, mariadb: bool = False) -> Subscriptions:
    tables = {("d", name): Subscription(columns=()) for name in ("t", "u")}
    made = Subscriptions(tables, "db1:3306", unlogged())
    made.connected(ServerSettings(mariadb=mariadb), begun)
    return made


def following(begun: Begun | None, *told: bytes) -> Router:
    start = Position(file="binlog.000001", offset=4, server="s")
    router = Router(subscribed(begun), Limits(), start, "db1:3306", {})
    for each in told:
        router.feed(memoryview(each), [(0, len(each))], 0)
    return router


def doubt(router: Router) -> bool:
    met = router.take().ddl
    assert met is not None
    assert met.followable is not None
    return met.followable.doubtful


@pytest.mark.parametrize(("table", "stops"), [("t", True), ("x", False)])
def test_a_statement_that_is_too_long_to_be_stored_stops_its_table(table: str, *, stops: bool) -> None:
    """It has its error before it is sent to the frontend; one about other tables does not matter."""
    told = query(f"ALTER TABLE {table} ADD c INT /* {'x' * MOST_STATEMENT} */")
    if not stops:
        assert following(None, told).take().ddl is None
        return
    with pytest.raises(SyncError, match=f"at most {MOST_STATEMENT} are followed") as caught:
        following(None, told)
    assert caught.value.code is Code.SOURCE_DDL
    assert caught.value.context["table"] == "d.t"


class Early(Subscriptions):
    """Notes where rows stand of which some may be early."""

    def __init__(self) -> None:
        super().__init__({}, "db1:3306", unlogged())
        self.places: list[int] = []

    @property
    def begin_later(self) -> bool:
        return True

    def is_early(self, body: bytes, gtid: Gtid | None, here: Position) -> bool:
        self.places.append(here.offset)
        return super().is_early(body, gtid, here)


def test_rows_without_a_place_stand_behind_the_begin_of_their_transaction() -> None:
    """MariaDB tells none inside of it from 11.8 on: the end of the transaction before is not where they are."""
    early = Early()
    start = Position(file="binlog.000001", offset=300, server="1")
    router = Router(early, Limits(), start, "db1:3306", {})
    begin = event(wire.MARIADB_GTID, 342, struct.pack("<QIB6x", 87, 0, 0))
    rows = event(wire.TABLE_MAP, 0, bytes(8) + b"\x01d\0\x01t\0\0\0")
    for each in (begin, rows):
        router.feed(memoryview(each), [(0, len(each))], 0)
    assert early.places == [342]


def test_a_statement_on_two_tables_finds_both_however_many_tables_there_are() -> None:
    """Its table maps stand before its first row: whichever is forgotten, it is none of the last ones."""
    router = fed()
    for first in range(1, 3 * MAX_ROUTES, 2):
        ids = [first.to_bytes(6, "little"), (first + 1).to_bytes(6, "little")]
        maps = [event(wire.TABLE_MAP, 200, each + b"\1\0\1d\0\1t\0\0\0") for each in ids]
        rows = [event(wire.WRITE_V2, 200, each + bytes(6)) for each in ids]
        for each in (*maps, *rows):
            router.feed(memoryview(each), [(0, len(each))], 0)
    assert not router.ready
