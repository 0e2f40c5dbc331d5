"""Copies that take the place of a synced table on real servers: which of them have its rows, and which have not."""

from collections.abc import Iterator
from typing import Final

import pytest

from syncmgr.errors import SyncError
from syncmgr.job.ddl.ddl_plan import Rules, plan_ddl
from syncmgr.job.ddl_policy import OnDdl
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.sources.mysql.binlog.subscriptions import subscriptions
from tests.contract.mysql.ddl.test_mysql_ddl_corpus import QUICK, SWAPPED, planned, statements, target, worker
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer

pytestmark = pytest.mark.mysql
BY_HAND: Final = ("CREATE TABLE {db}._t_new LIKE {db}.t", "ALTER TABLE {db}._t_new ADD COLUMN c INT")
ALL: Final = "INSERT INTO {db}._t_new (id, word, hall, place) SELECT * FROM {db}.t"
SWAP: Final = "RENAME TABLE {db}.t TO {db}._t_old, {db}._t_new TO {db}.t"
CHANGELOG: Final = "CREATE TABLE {db}._t_ghc (id BIGINT PRIMARY KEY, hint VARCHAR(64), value VARCHAR(4096))"
GHOST: Final = "CREATE TABLE {db}._t_gho LIKE {db}.t"
GHOST_SWAP: Final = "RENAME TABLE {db}.t TO {db}._t_del, {db}._t_gho TO {db}.t"
COPIED: Final = "INSERT IGNORE INTO {db}._t_gho ({columns}) SELECT {columns} FROM {db}.t LOCK IN SHARE MODE"


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database with table t, whose words are apart by their bytes, and whose places by both of their numbers."""
    with database(any_server) as name:
        any_server.run(
            f"CREATE TABLE {name}.t (id INT PRIMARY KEY, word VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            " NOT NULL UNIQUE, hall INT NOT NULL DEFAULT 1, place INT NOT NULL, UNIQUE KEY places (hall, place))",
            f"INSERT INTO {name}.t VALUES (1, 'a', 1, 1), (2, 'A', 2, 1), (3, 'b', 1, 2), (4, 'c', 1, 3)",
        )
        yield name


def became(server: MysqlServer, db: str, *texts: str) -> str:
    """What was done with table t at the last of these statements, or why it stops."""
    known = facts(server, [(db, "t")])
    channel, done = planned(known.tables[0]), "nothing"
    describe = target(channel.source, channel.keys)
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.APPEND, describe=lambda _: describe)
    shared = "id, word, place" if any("DROP COLUMN hall" in text for text in texts) else "id, word, hall, place"
    with reading(server, subscriptions([worker(channel)], known.start), known.start, options=QUICK) as reader:
        server.run(*(text.format(db=db, columns=shared) for text in texts))
        for ddl in statements(reader, latest(server)):
            if ddl is None:
                return done
            assert ddl.followable is not None
            try:
                step = plan_ddl(ddl.followable, [channel], rules)
            except SyncError as error:
                return str(error)
            channel = step.channels.get(channel.token, channel)
            done = step.done.get(channel.token, done)
            reader.source.follow([worker(channel)])
    return done


def words(server: MysqlServer, db: str) -> set[tuple[int, str]]:
    """Which rows the table has."""
    return {(number, word) for number, word in server.run(f"SELECT id, word FROM {db}.t")}


@pytest.mark.parametrize(
    "filled",
    [
        ("INSERT INTO {db}._t_new (id, word, hall, place) SELECT * FROM {db}.t WHERE id < 3",),
        (ALL, "UPDATE {db}._t_new SET word = CONCAT('old ', word)"),
        (ALL, "DELETE FROM {db}._t_new WHERE id = 2"),
    ],
    ids=["a part", "a backfill", "a purge"],
)
@ALIKE
def test_a_copy_that_a_person_fills_stops_the_table(any_server: MysqlServer, db: str, filled: tuple[str, ...]) -> None:
    """Under a tool's name: nobody has read its rows, and they are not those that the target has."""
    before = words(any_server, db)
    reason = became(any_server, db, *BY_HAND, *filled, SWAP)
    assert words(any_server, db) != before
    assert "does not show that a migration tool has filled it" in reason


@pytest.mark.parametrize(
    "change",
    [
        "MODIFY word VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
        "DROP COLUMN hall",
        pytest.param("CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", marks=pytest.mark.long),
        pytest.param("ADD UNIQUE KEY alone (place)", marks=pytest.mark.long),
    ],
)
@ALIKE
def test_a_key_for_which_a_tool_leaves_rows_out_stops_the_table(any_server: MysqlServer, db: str, change: str) -> None:
    """INSERT IGNORE keeps one of two rows that a unique key beside the primary one takes for the same."""
    if change == "DROP COLUMN hall" and any_server.flavour == "mariadb":
        pytest.skip("MariaDB refuses it")
    alter = f"ALTER TABLE {{db}}._t_gho {change}"
    reason = became(any_server, db, CHANGELOG, GHOST, alter, COPIED, GHOST_SWAP)
    assert len(words(any_server, db)) < 4
    assert "rows may have been left out" in reason


@pytest.mark.parametrize(
    "change",
    [
        "ADD CONSTRAINT few CHECK (id < 3)",
        pytest.param("MODIFY place INT NOT NULL CHECK (place < 2)", marks=pytest.mark.long),
        "DROP KEY word, DROP KEY places PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (3))",
    ],
)
@ALIKE
def test_a_constraint_for_which_gh_ost_leaves_rows_out_stops_the_table(
    any_server: MysqlServer, db: str, change: str
) -> None:
    """INSERT IGNORE passes over what does not fit, and gh-ost does not look at its warnings by itself."""
    alter = f"ALTER TABLE {{db}}._t_gho {change}"
    reason = became(any_server, db, CHANGELOG, GHOST, alter, COPIED, GHOST_SWAP)
    assert len(words(any_server, db)) < 4
    assert "for which rows may have been left out" in reason


@pytest.mark.parametrize(
    "change",
    [
        "ADD COLUMN c INT, MODIFY place BIGINT NOT NULL",
        "DROP KEY places, DROP COLUMN hall",
        "DROP KEY word, MODIFY word VARCHAR(30) CHARACTER SET utf8mb4 NOT NULL",
    ],
)
@ALIKE
def test_keys_that_stay_apart_or_go_are_followed(any_server: MysqlServer, db: str, change: str) -> None:
    """The tool has left no row out."""
    before = words(any_server, db)
    alter = f"ALTER TABLE {{db}}._t_gho {change}"
    done = became(any_server, db, CHANGELOG, GHOST, alter, COPIED, GHOST_SWAP)
    assert words(any_server, db) == before
    assert SWAPPED in done
