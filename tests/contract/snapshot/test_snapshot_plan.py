"""How a server's tables are cut into chunks."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import may_be_followed
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.sources.mysql.address import connect, query
from syncmgr.sources.mysql.chunk.chunks import MysqlChunks
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from syncmgr.sources.mysql.server.tables import schema_of
from tests.contract.mysql_reader import address, database, facts
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = pytest.mark.mysql


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    with database(any_server) as name:
        yield name


def plan_of(server: MysqlServer, db: str, key: tuple[str, ...], rows: int = 10) -> ChunkPlan:
    server.run(f"ANALYZE TABLE {db}.t")
    table = facts(server, [(db, "t")]).tables[0]
    return MysqlSnapshot([address(server)]).plan(table, key, rows)


def sizes(server: MysqlServer, db: str, plan: ChunkPlan) -> list[int]:
    """Rows of each chunk."""
    where = [plan.condition(number) or "1" for number in plan.numbers]
    return [server.run("SET NAMES utf8mb4", f"SELECT count(*) FROM {db}.t WHERE {each}")[0][0] for each in where]


def check(server: MysqlServer, db: str, plan: ChunkPlan, most: int) -> None:
    """Every row is in exactly one chunk, and none is larger than told."""
    rows = server.run(f"SELECT count(*) FROM {db}.t")[0][0]
    found = sizes(server, db, plan)
    assert sum(found) == rows
    assert max(found) <= most
    hits = " + ".join(f"({plan.condition(number) or '1'})" for number in plan.numbers)
    assert server.run("SET NAMES utf8mb4", f"SELECT count(*) FROM {db}.t WHERE {hits} <> 1")[0][0] == 0


KEYS = {
    "dense": ("BIGINT", [str(n) for n in range(1, 101)]),
    "negative": ("INT", [str(n) for n in range(-50, 50)]),
    "sparse": ("BIGINT UNSIGNED", [str(n * 10**17) for n in range(100)]),
    "skewed": ("BIGINT", [*(str(n) for n in range(99)), str(2**62)]),
    "decimal": ("DECIMAL(20,3)", [f"{n}.{n:03d}" for n in range(-50, 50)]),
    "text": ("VARCHAR(20)", [f"'k{n * 7919 % 1000:03d}'" for n in range(100)]),
    "no case": ("VARCHAR(20) COLLATE utf8mb4_general_ci", [f"'{'aAbBcC'[n % 6]}{n}'" for n in range(100)]),
    "latin1": (
        "VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin",
        [f"_latin1 x'{n + 0x9C:02X}41'" for n in range(100)],
    ),
    "quotes": ("VARCHAR(20)", [f"'\\\\''\"%{n}'" for n in range(100)]),
    "binary": ("VARBINARY(8)", [f"x'{n * 65537 % 2**31:08X}'" for n in range(100)]),
    "fixed bytes": ("BINARY(4)", [f"x'{n:02X}00'" for n in range(100)]),
    "date": ("DATE", [f"'2024-{n // 28 + 1:02d}-{n % 28 + 1:02d}'" for n in range(100)]),
    "datetime": ("DATETIME(6)", [f"'2024-01-01 00:00:00.{n:06d}'" for n in range(100)]),
    "timestamp": ("TIMESTAMP(3)", [f"'2024-01-01 00:00:00.{n:03d}'" for n in range(100)]),
}


@pytest.mark.parametrize("name", KEYS)
@ALIKE
def test_each_row_is_in_one_chunk(any_server: MysqlServer, db: str, name: str) -> None:
    """Keys of every kind are cut where the server itself says; no chunk is far larger than wanted."""
    kind, values = KEYS[name]
    any_server.run(f"CREATE TABLE {db}.t (k {kind} NOT NULL PRIMARY KEY, v INT)")
    shuffled = random.Random(1).sample(values, len(values))
    any_server.run("SET NAMES utf8mb4", f"INSERT INTO {db}.t (k) VALUES {', '.join(f'({v})' for v in shuffled)}")
    plan = plan_of(any_server, db, ("k",))
    assert plan.count >= 5
    check(any_server, db, plan, 40)


@pytest.mark.parametrize(
    ("before", "after"), [("utf8mb4_bin", "utf8mb4_general_ci"), ("utf8mb4_general_ci", "utf8mb4_bin")]
)
def test_a_collation_that_is_altered_leaves_each_row_in_its_chunk(
    any_server: MysqlServer, db: str, before: str, after: str
) -> None:
    """Chunks are read over hours: rows that came in one of them must not be in a later one, nor in none. While the
    collation is the same, the condition of a chunk is a range of the key.
    """
    any_server.run(f"CREATE TABLE {db}.t (k VARCHAR(20) COLLATE {before} NOT NULL PRIMARY KEY, v INT)")
    rows = ", ".join(f"('{letter}{number:04d}', 0)" for letter in "aBcD" for number in range(500))
    any_server.run("SET NAMES utf8mb4", f"INSERT INTO {db}.t VALUES {rows}")
    plan = plan_of(any_server, db, ("k",), 190)

    def keys(number: int) -> set[str]:
        found = any_server.run("SET NAMES utf8mb4", f"SELECT k FROM {db}.t WHERE {plan.condition(number)}")
        return {row[0] for row in found}

    chunks = {number: keys(number) for number in plan.numbers}
    seen = any_server.run("SET NAMES utf8mb4", f"EXPLAIN SELECT k, v FROM {db}.t WHERE {plan.condition(2)}")
    assert "range" in str(seen[0])
    any_server.run(f"ALTER TABLE {db}.t MODIFY k VARCHAR(20) COLLATE {after} NOT NULL")
    assert {number: keys(number) for number in plan.numbers} == chunks
    assert sum(map(len, chunks.values())) == 2000


def test_a_limit_of_the_server_limits_no_question(any_server: MysqlServer, db: str) -> None:
    """`sql_select_limit`, by which some guard their servers, cuts what a session reads without a word."""
    any_server.run(
        f"CREATE TABLE {db}.t (a INT, b INT, c INT, k INT PRIMARY KEY)", f"INSERT INTO {db}.t (k) VALUES (1)"
    )
    with any_server.global_variable("sql_select_limit", "1"), connect(address(any_server)) as connection:
        found = schema_of(connection, (db, "t"))
    assert found is not None
    assert len(found.columns) == 4


def test_a_guard_against_large_joins_refuses_no_question(any_server: MysqlServer, db: str) -> None:
    """`max_join_size` turns sql_big_selects off: what is asked about a table of one row already reads more rows."""
    any_server.run(f"CREATE TABLE {db}.t (k INT PRIMARY KEY)")
    with any_server.global_variable("max_join_size", "1"), connect(address(any_server)) as connection:
        assert schema_of(connection, (db, "t")) is not None


def test_a_guard_against_long_queries_ends_no_question(any_server: MysqlServer) -> None:
    """`max_execution_time` and `max_statement_time` are for people's queries; ours have limits of their own."""
    guard = ("max_statement_time", "0.01") if any_server.flavour == "mariadb" else ("max_execution_time", "10")
    with any_server.global_variable(*guard), connect(address(any_server)) as connection:
        assert query(connection, "SELECT SLEEP(0.05) slept") == [{"slept": 0}]


def test_composite_keys_are_cut_between_rows(any_server: MysqlServer, db: str) -> None:
    """Also where all rows share the first column."""
    any_server.run(
        f"CREATE TABLE {db}.t (a VARCHAR(5) NOT NULL, b INT NOT NULL, c DATE NOT NULL, PRIMARY KEY (b, a, c))"
    )
    rows = [f"('{'xyz'[n % 3]}', {n // 60}, '2024-01-{n % 28 + 1:02d}')" for n in range(84)]
    any_server.run(f"INSERT INTO {db}.t VALUES {', '.join(rows)}")
    plan = plan_of(any_server, db, ("a", "b", "c"))
    assert plan.key == ("b", "a", "c")
    check(any_server, db, plan, 11)


def test_the_key_is_inside_of_the_targets_key(any_server: MysqlServer, db: str) -> None:
    """Two rows of one target key must never be in two chunks: a target keyed by another unique key is cut by that."""
    any_server.run(
        f"CREATE TABLE {db}.t (id INT PRIMARY KEY, email VARCHAR(50) NOT NULL UNIQUE, kind ENUM('a','b') NOT NULL)"
    )
    values = ", ".join(f"({n}, 'm{n:03d}', 'a')" for n in range(60))
    any_server.run(f"INSERT INTO {db}.t VALUES {values}")
    plan = plan_of(any_server, db, ("EMAIL", "kind"))
    assert plan.key == ("email",)
    check(any_server, db, plan, 11)


def test_a_key_that_cannot_be_cut_is_read_whole(any_server: MysqlServer, db: str) -> None:
    """Labels compare otherwise than they sort: one chunk, whatever there is."""
    any_server.run(
        f"CREATE TABLE {db}.t (k ENUM('b','a') NOT NULL PRIMARY KEY)", f"INSERT INTO {db}.t VALUES ('a'), ('b')"
    )
    plan = plan_of(any_server, db, ("k",), 1)
    assert (plan.key, plan.count, plan.condition(1)) == ((), 1, "")


@pytest.mark.parametrize("rows", [0, 1, 10])
def test_a_small_table_is_one_chunk(any_server: MysqlServer, db: str, rows: int) -> None:
    """No chunk for nothing."""
    any_server.run(f"CREATE TABLE {db}.t (k INT PRIMARY KEY)")
    for number in range(rows):
        any_server.run(f"INSERT INTO {db}.t VALUES ({number})")
    assert plan_of(any_server, db, ("k",)).count == 1


@ALIKE
def test_a_table_that_left_its_name_is_told(any_server: MysqlServer, db: str) -> None:
    """A statement may have renamed it, which the job follows; only else the grant is missing."""
    any_server.run(f"CREATE TABLE {db}.t (k INT PRIMARY KEY)")
    table, source = facts(any_server, [(db, "t")]).tables[0], MysqlSnapshot([address(any_server)])
    any_server.run(f"RENAME TABLE {db}.t TO {db}.u")
    for ask in (lambda: source.check_same([(table, ("k",))]), lambda: source.plan(table, ("k",), 10)):
        with pytest.raises(
            SyncError, match=r"renamed or dropped it is followed .* if there was none, .* grant SELECT"
        ) as e:
            ask()
        assert may_be_followed(e.value)


@ALIKE
def test_a_table_that_changed_is_told(any_server: MysqlServer, db: str) -> None:
    """A wanted column that is gone or altered breaks the snapshot; another does not."""
    any_server.run(f"CREATE TABLE {db}.t (k INT PRIMARY KEY, v VARCHAR(9), w INT)")
    table, source = facts(any_server, [(db, "t")]).tables[0], MysqlSnapshot([address(any_server)])
    any_server.run(f"ALTER TABLE {db}.t ADD COLUMN x INT FIRST", f"ALTER TABLE {db}.t DROP COLUMN w")
    source.check_same([(table, ("k", "v"))])
    any_server.run(f"ALTER TABLE {db}.t MODIFY v VARCHAR(10)")
    for wanted, words in ((("v",), r"was varchar\(9\) and is varchar\(10\)"), (("w",), "is gone")):
        with pytest.raises(SyncError, match=words) as raised:
            source.check_same([(table, wanted)])
        assert raised.value.code is Code.SNAPSHOT_BROKEN
    any_server.run(f"ALTER TABLE {db}.t MODIFY v VARCHAR(9) CHARACTER SET ascii")
    with pytest.raises(SyncError, match=r"was varchar\(9\) CHARACTER SET \w+ and is varchar\(9\) CHARACTER SET ascii"):
        source.check_same([(table, ("v",))])
    unsaid = replace(table, columns=tuple(replace(column, charset=None) for column in table.columns))
    source.check_same([(unsaid, ("k", "v"))])
    any_server.run(f"DROP TABLE {db}.t")
    with pytest.raises(SyncError, match="not there under that name"):
        source.plan(table, ("k",), 10)


def test_a_binlog_that_was_purged_is_told(any_server: MysqlServer, db: str) -> None:
    """The start of a snapshot must stay in the binlog until it is read; the retention is told in hours."""
    start, source = facts(any_server, start="snapshot").start, MysqlSnapshot([address(any_server)])
    source.check_held(start)
    with any_server.global_variable("binlog_expire_logs_seconds", "7200"):
        assert source.check_held(start) == 2.0
    any_server.run(f"CREATE TABLE {db}.t (k INT PRIMARY KEY)", "FLUSH BINARY LOGS")
    last = any_server.run("SHOW BINARY LOGS")[-1][0]

    def purged() -> bool:
        """A reader that has just gone holds its file for a moment."""
        any_server.run(f"PURGE BINARY LOGS TO '{last}'")
        return bool(any_server.run("SHOW BINARY LOGS")[0][0] == last)

    until(purged, why="a purged binlog")
    with pytest.raises(SyncError, match="purged") as raised:
        source.check_held(start)
    assert raised.value.code is Code.SOURCE_POSITION_LOST


def test_a_snapshot_begins_where_every_select_sees_all_before(any_server: MysqlServer) -> None:
    """By GTID at what is executed; MariaDB at what a consistent read sees."""
    start, now = facts(any_server, start="Snapshot").start, facts(any_server).start
    assert (start.gtids, start.server) == (now.gtids, now.server)
    assert isinstance(start, Position)


def test_rows_come_from_the_server_at_which_the_job_began(
    mysql_server: MysqlServer, mariadb_server: MysqlServer
) -> None:
    """Another one may be behind the start, whatever it says of itself."""
    start = facts(mysql_server, start="snapshot").start
    both = [address(mariadb_server), address(mysql_server)]
    assert MysqlSnapshot(both).settle(start) == MysqlChunks(
        address(mysql_server), identity=("server_uuid", start.server)
    )
    with pytest.raises(SyncError, match="not the server at which the job began") as raised:
        MysqlSnapshot(both[:1]).settle(start)
    assert raised.value.code is Code.SOURCE_UNREACHABLE
