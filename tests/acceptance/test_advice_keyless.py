"""What Status advises of a job on canal if a target has no key: canal delivers its last batch to a new job again."""

import shutil
from collections.abc import Callable
from functools import partial

import pytest

from syncmgr.errors import Code
from syncmgr.job.advice.treatment import QUIET, TWICE
from tests.acceptance.altered import BINLOG
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice_canal import ZONE, CanalPatient
from tests.acceptance.test_advice_lake import edit, require
from tests.acceptance.test_canal_job import has_cursor
from tests.support.servers.canal import CanalServer
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

Start = Callable[..., CanalServer]
COLUMNS = "id BIGINT NOT NULL, a INT NOT NULL, b VARCHAR(20), d DECIMAL(8,2)"


class Log(CanalPatient):
    """Its target `t` has no key, and it may read a second table, `s`."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess, canal: CanalServer) -> None:
        super().__init__(name, mysql, fe, canal)
        self.rows, self.columns = 0, COLUMNS
        self.run(f"CREATE TABLE {name}.s (id BIGINT PRIMARY KEY, a INT, at TIMESTAMP NULL)")
        self.empty()

    def empty(self) -> None:
        self.fe.sql(f"DROP TABLE {self.name}.t")
        self.fe.sql(f"CREATE TABLE {self.name}.t ({self.columns})")

    def write(self, b: str = "5") -> None:
        self.rows += 1
        self.run(f"INSERT INTO {self.name}.t VALUES ({self.rows}, 1, '{b}', 1)")

    def until_kept_back(self) -> None:
        """Until canal has a cursor, and gives the next job a batch that the target has."""
        for _ in range(3):
            self.write()
            self.wait_until_equal()
        until(lambda: has_cursor(self.canal), why="canal's first cursor")

    def until_well(self) -> None:
        self.write()
        self.wait_until_equal()
        until(lambda: self.job["State"] == "RUNNING" and self.job["Msg"] is None, why="a job that is well")

    def past(self) -> None:
        """As TWICE says: the rows come with a job on the server itself."""
        self.stop()
        self.canal.stop()
        shutil.rmtree(self.canal.folder / "data")
        self.canal.start()
        self.empty()
        binlog = BINLOG.format(port=self.mysql.port, start="snapshot")
        self.fe.sql(f"CREATE SYNC {self.name}.job1 (FROM {self.name}.t INTO t) {binlog}")
        self.wait_until_equal()
        self.stop()


def test_a_new_job_appends_nothing_twice(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start, spark: Callable[[str], None]
) -> None:
    """20012, 20013, 20015, 20116 and 20007: the new job that is advised, behind canal's cursor."""
    t = Log("advised_log", mysql_server, frontend, canal())
    name = t.name
    frontend.sql(f"CREATE TABLE {name}.s (id BIGINT NOT NULL, a SMALLINT, at DATETIME) UNIQUE KEY(id)")
    frontend.sql(f"CREATE TABLE {name}.k (id BIGINT, a INT NOT NULL, at DATETIME) UNIQUE KEY(a)")
    of_t = f"FROM {name}.t INTO t"
    of_s = f"{of_t}, FROM {name}.s INTO s (id, a, at)"

    def paused(code: Code, channels: str, more: str = "") -> None:
        """By the first row of `s`, or by the next of `t`."""
        t.read(channels, more)
        t.until_kept_back()
        if "WHERE" in channels:
            t.write("no number")
        else:
            t.run(f"INSERT INTO {name}.s VALUES ({t.rows}, {t.rows}, '2024-02-29 01:02:03')")
        advice = t.until_paused(code)
        assert advice.endswith(TWICE), advice
        t.past()

    paused(Code.TYPE_DOES_NOT_FIT, of_s, ZONE)
    spark(f"ALTER TABLE lake.{name}.s ALTER COLUMN a TYPE BIGINT")
    paused(Code.CANAL_INEXACT, of_s)
    paused(Code.NO_CHANNEL_KEY, of_s.replace("INTO s", "INTO k"), ZONE)
    paused(Code.BAD_EXPRESSION, f"{of_t} WHERE CAST(b AS INT) < 9")
    t.read(of_s, ZONE)
    t.until_kept_back()
    t.run(f"INSERT INTO {name}.s VALUES ({t.rows}, {t.rows}, '2024-02-29 01:02:03')")
    until(lambda: [row["id"] for row in frontend.sql(f"SELECT id FROM {name}.s")] == [t.rows], why="the row")
    spark(f"ALTER TABLE lake.{name}.t ADD COLUMN x INT")
    edit(t, partial(require, name="x"))
    t.write()
    until(lambda: f"{name}.t" in t.job["Status"]["behind"], why="a table that is behind, of two")
    behind = t.job["Status"]["behind"][f"{name}.t"]
    assert behind["error"] == Code.COLUMN_NOT_COVERED.number
    assert behind["advice"].endswith(TWICE), behind["advice"]
    t.past()
    t.read(of_t)
    t.until_well()


def test_resume_appends_nothing_twice(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start, spark: Callable[[str], None]
) -> None:
    """20015, and 1054 of a column that was renamed: the job goes on behind its own position."""
    t = Log("advised_log_on", mysql_server, frontend, canal())
    t.read()
    t.until_kept_back()
    spark(f"ALTER TABLE lake.{t.name}.t ADD COLUMN x INT")
    edit(t, partial(require, name="x"))
    t.write()
    assert "Make the target's column nullable, by ALTER TABLE" in t.until_paused(Code.COLUMN_NOT_COVERED)
    spark(f"ALTER TABLE lake.{t.name}.t DROP COLUMN x")
    t.resume()
    t.until_well()
    spark(f"ALTER TABLE lake.{t.name}.t RENAME COLUMN d TO dd")
    t.write()
    assert "If it was renamed, rename it back, by ALTER TABLE" in t.until_paused(Code.UNKNOWN_COLUMN)
    spark(f"ALTER TABLE lake.{t.name}.t RENAME COLUMN dd TO d")
    t.resume()
    t.until_well()


def test_an_event_is_left_behind_with_nothing_twice(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start
) -> None:
    """20112: the cursor is deleted in any case; what else a target without a key asks for is said, too."""
    t = Log("advised_log_past", mysql_server, frontend, canal())
    t.read()
    t.until_kept_back()
    t.run(f"ALTER TABLE {t.name}.t MODIFY d DECIMAL(4,1)")
    assert t.until_paused(Code.SOURCE_DDL).endswith(QUIET)
    t.run(f"ALTER TABLE {t.name}.t MODIFY d DECIMAL(8,2)")
    t.past()
    t.read()
    t.until_well()


def test_a_change_that_cannot_be_appended_is_settled(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start
) -> None:
    """20210, APPEND_CHANGE: SET and RESUME; or a target with a key, which is brought in line before the new job."""
    t = Log("advised_log_key", mysql_server, frontend, canal())
    t.read()
    t.until_kept_back()
    t.run(f"UPDATE {t.name}.t SET a = 2 WHERE id = 1")
    advice = t.until_paused(Code.APPEND_CHANGE)
    assert "bring it in line with the source, and create the job again." in advice
    t.alter('SET ("append_on_change" = "ignore")')
    t.resume()
    t.run(f"UPDATE {t.name}.t SET a = 1 WHERE id = 1")
    t.until_well()
    t.alter('SET ("append_on_change" = "error")')
    t.run(f"DELETE FROM {t.name}.t WHERE id = 1")
    t.until_paused(Code.APPEND_CHANGE)
    t.columns = f"{COLUMNS}) UNIQUE KEY(id"
    t.past()
    t.read()
    t.until_well()
