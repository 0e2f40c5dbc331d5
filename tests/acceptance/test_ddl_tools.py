"""DDL that spans tables: migration tools, renames of several, a parallel snapshot."""

import random
import threading

import pytest

from tests.acceptance.altered import Altered, Changing
from tests.acceptance.frontend import FrontendProcess
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]
NAMES = "id, a, b, d"
CHANGELOG = (
    "(id bigint unsigned auto_increment, last_update timestamp not null DEFAULT CURRENT_TIMESTAMP ON UPDATE"
    " CURRENT_TIMESTAMP, hint varchar(64) charset ascii not null, value varchar(4096) charset ascii not null,"
    " primary key(id), unique key hint_uidx(hint)) auto_increment=256 comment='gh-ost table'"
)


def pt_osc(db: str, created: str, change: str) -> list[str]:
    """What pt-online-schema-change does to table t; `created`: the text of SHOW CREATE TABLE."""
    new = f"`{db}`.`_t_new`"
    values = ", ".join(f"NEW.`{name}`" for name in NAMES.split(", "))
    moved = f"DELETE IGNORE FROM {new} WHERE !(OLD.`id` <=> NEW.`id`) AND {new}.`id` <=> OLD.`id`"
    replaces = f"REPLACE INTO {new} ({NAMES}) VALUES ({values})"

    def trigger(name: str, event: str) -> str:
        return f"CREATE TRIGGER `{db}`.`pt_osc_{db}_t_{name}` AFTER {event} ON `{db}`.`t` FOR EACH ROW"

    return [
        created.replace("CREATE TABLE `t`", f"CREATE TABLE {new}", 1),
        f"ALTER TABLE {new} {change}",
        f"{trigger('del', 'DELETE')} DELETE IGNORE FROM {new} WHERE {new}.`id` <=> OLD.`id`",
        f"{trigger('upd', 'UPDATE')} BEGIN {moved}; {replaces}; END",
        f"{trigger('ins', 'INSERT')} {replaces}",
        f"INSERT LOW_PRIORITY IGNORE INTO {new} ({NAMES}) SELECT {NAMES} FROM `{db}`.`t` LOCK IN SHARE MODE",
        f"UPDATE `{db}`.`t` SET a = a + 100 WHERE id < 3",
        f"INSERT INTO `{db}`.`t` ({NAMES}) VALUES (10, 10, 'while it copies', 10)",
        f"DELETE FROM `{db}`.`t` WHERE id = 4",
        f"ANALYZE TABLE {new}",
        f"RENAME TABLE `{db}`.`t` TO `{db}`.`_t_old`, {new} TO `{db}`.`t`",
        f"DROP TABLE IF EXISTS `{db}`.`_t_old`",
        *(f"DROP TRIGGER IF EXISTS `{db}`.`pt_osc_{db}_t_{name}`" for name in ("del", "upd", "ins")),
    ]


def gh_ost(db: str, change: str, columns: str) -> list[str]:
    """What gh-ost does to table t, whose `columns` it copies, with its own copy of each write."""
    gho = f"`{db}`.`_t_gho`"
    return [
        f"create /* gh-ost */ table `{db}`.`_t_ghc` {CHANGELOG}",
        f"create /* gh-ost */ table {gho} like `{db}`.`t`",
        f"alter /* gh-ost */ table {gho} {change}",
        f"insert /* gh-ost */ into `{db}`.`_t_ghc` (id, hint, value) values (NULLIF(1, 0), 'state', 'Migrated')",
        f"insert /* gh-ost */ ignore into {gho} ({columns}) (select {columns} from `{db}`.`t` lock in share mode)",
        f"UPDATE `{db}`.`t` SET a = a + 1000 WHERE id = 2",
        f"replace /* gh-ost */ into {gho} ({columns}) select {columns} from `{db}`.`t` where id = 2",
        f"create /* gh-ost */ table `{db}`.`_t_del` (id int auto_increment primary key) comment='sentry'",
        f"drop /* gh-ost */ table if exists `{db}`.`_t_del`",
        f"rename /* gh-ost */ table `{db}`.`t` to `{db}`.`_t_del`, {gho} to `{db}`.`t`",
        f"drop /* gh-ost */ table if exists `{db}`.`_t_ghc`",
        f"drop /* gh-ost */ table if exists `{db}`.`_t_del`",
    ]


@pytest.mark.slow
@ALIKE
def test_migration_tools_end_as_the_change_that_they_make(any_server: MysqlServer, frontend: FrontendProcess) -> None:
    """pt-online-schema-change, then gh-ost, on either server: the target has the columns, and no row came twice."""
    db = f"tools_{any_server.flavour}"
    t = Altered(db, any_server, frontend)
    t.run(*(f"INSERT INTO {db}.t VALUES ({number}, {number}, 'row {number}', 1.5)" for number in range(6)))
    t.wait_until_equal()
    created = any_server.run(f"SHOW CREATE TABLE {db}.t")[0][1]
    t.run(*pt_osc(db, created, "ADD COLUMN c INT NOT NULL DEFAULT 5, MODIFY b VARCHAR(60), ADD INDEX (a)"))
    t.run(f"INSERT INTO {db}.t ({NAMES}) VALUES (11, 11, 'a text that is longer than twenty', 0.25)")
    t.wait_until_equal()
    t.run(*gh_ost(db, "drop column d, add column e varchar(9) after id", "id, a, b, c"))
    t.run(f"INSERT INTO {db}.t (id, e, a) VALUES (12, 'new', 12)", f"UPDATE {db}.t SET e = 'set' WHERE id = 1")
    t.wait_until_equal()
    told = frontend.sql(f"SELECT outcome FROM information_schema.sync_ddl WHERE job_schema = '{db}'")
    swaps = [row["outcome"] for row in told if "took its place" in row["outcome"]]
    assert len(swaps) == 2


@pytest.mark.slow
def test_a_copy_that_a_person_has_filled_is_read_after_resync(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """Under a tool's name, with some of the rows, one of them changed: the table stops there, the other goes on."""
    t = Altered("by_hand", mysql_server, frontend, tables=("t", "u"), rows=3)
    t.wait_until_equal()
    before = t.lake()
    t.run(
        "CREATE TABLE by_hand._t_new LIKE by_hand.t",
        "ALTER TABLE by_hand._t_new ADD COLUMN c INT NOT NULL DEFAULT 5",
        "INSERT INTO by_hand._t_new (id, a, b, d) SELECT * FROM by_hand.t WHERE id < 2",
        "UPDATE by_hand._t_new SET a = 70 WHERE id = 1",
        "RENAME TABLE by_hand.t TO by_hand._t_old, by_hand._t_new TO by_hand.t",
        "INSERT INTO by_hand.u VALUES (9, 9, 'nine', 9)",
    )
    t.wait_until_equal("u", "u")
    assert t.lake() == before
    told = "SELECT state, reason FROM information_schema.sync_channels WHERE job_schema = 'by_hand'"
    [stopped] = frontend.sql(f"{told} AND target_table = 't'")
    assert stopped["state"] == "STOPPED"
    assert "does not show that a migration tool has filled it" in str(stopped["reason"])
    frontend.sql("ALTER SYNC JOB by_hand.job1 RESYNC TABLE by_hand.t")
    t.wait_until_equal()


def test_several_tables_are_renamed_by_one_statement(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Two synced tables exchange their names, and columns of each change after it: each target follows its rows."""
    t = Altered("exchange", mysql_server, frontend, tables=("t", "u"))
    t.run("INSERT INTO exchange.t VALUES (1, 1, 't', 1)", "INSERT INTO exchange.u VALUES (2, 2, 'u', 2)")
    t.run("RENAME TABLE exchange.t TO exchange.x, exchange.u TO exchange.t, exchange.x TO exchange.u")
    t.run("ALTER TABLE exchange.t ADD COLUMN of_u INT", "ALTER TABLE exchange.u ADD COLUMN of_t INT")
    t.run("INSERT INTO exchange.t VALUES (3, 3, 'u', 3, 33)", "INSERT INTO exchange.u VALUES (4, 4, 't', 4, 44)")
    t.wait_until_equal("u", "t")
    t.wait_until_equal("t", "u")


CHANGES = 60  # some 20 of them DDL


@pytest.mark.slow
def test_columns_come_while_rows_are_read(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """New columns, keys and writes during a snapshot: after it both sides are equal, column by column."""
    t = Altered("snapping", mysql_server, frontend, rows=1500, properties='PROPERTIES ("snapshot_chunk_rows" = "100")')
    changing, ended = Changing("snapping.t", t.run, random.Random(9), keys=10_000), threading.Event()
    changing.kept = frozenset({"a", "b", "d"})

    def write() -> None:
        for _ in range(CHANGES):  # each DDL begins the reading again: on a slow machine it would never end
            if ended.wait(0.3):
                return
            changing.step()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        loads = lambda: frontend.job("snapping")["Status"]["snapshot"]["t"]  # noqa: E731 - named for until
        until(lambda: loads()["phase"] == "streaming", why="the end of the snapshot")
    finally:
        ended.set()
        writer.join()
    assert len(changing.columns) > 3, "columns came meanwhile"
    t.wait_until_equal()


@pytest.mark.slow
@ALIKE
def test_random_ddl_on_several_tables_leaves_them_equal(any_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Columns and rows of three tables change concurrently, through one job."""
    db, names = f"several_{any_server.flavour}", ("t", "u", "v")
    t = Altered(db, any_server, frontend, tables=names)
    dice = random.Random(4)
    tables = [Changing(f"{db}.{name}", t.run, dice) for name in names]
    for _ in range(60):
        dice.choice(tables).step()
    for name in names:
        t.wait_until_equal(name, name)
