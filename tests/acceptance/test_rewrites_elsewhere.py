"""Another engine rewrites the target all the time, and the key index still knows where each key is."""

import threading
from pathlib import Path

import pytest

from tests.acceptance.altered import Altered
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.torture.engine import Engine

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

INSERTS = 6_000  # transactions
ROWS = 10  # of each of them
EPOCH = '("sync_commit_interval_second" = "1")'
REWRITE = "CALL lake.system.rewrite_data_files(table => '{table}', options => map({options}))"
OPTIONS = ("'min-input-files', '2'", "'rewrite-all', 'true'")
INSERT = "INSERT INTO {table} VALUES " + ", ".join(f"({{at}} + {n}, {n}, 'row', 0.25)" for n in range(ROWS))


class Rewriting:
    """Until it is ended: one rewrite after the other, small files and all files by turns."""

    def __init__(self, engine: Engine, table: str) -> None:
        self._engine, self._table = engine, table
        self._ended = threading.Event()
        self.done = self.given_way = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            options = OPTIONS[(self.done + self.given_way) % 2]
            wrong = self._engine.ask(REWRITE.format(table=self._table, options=options))
            self.done += wrong is None
            self.given_way += wrong is not None

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


@pytest.mark.long  # some minutes of load
def test_rows_that_were_only_inserted_beside_rewrites_are_then_updated_and_deleted_once(
    mysql_server: MysqlServer, tmp_path: Path
) -> None:
    """Insert-only epochs look at no key, so that a stale index shows only later: every row is updated, and a third of
    them deleted, while the other engine still rewrites.
    """
    fe = FrontendProcess(tmp_path).start()
    t = Altered("rewritten", mysql_server, fe, properties=f"PROPERTIES {EPOCH}")
    engine = Engine(tmp_path / "var" / "lake")
    rewriting = Rewriting(engine, "rewritten.t")
    for at in range(0, INSERTS * ROWS, ROWS):
        mysql_server.run(INSERT.format(table="rewritten.t", at=at))
    t.wait_until_equal()
    beside_inserts = rewriting.done
    t.run("UPDATE rewritten.t SET a = a + 1")
    t.wait_until_equal()
    t.run("DELETE FROM rewritten.t WHERE id % 3 = 0")
    t.wait_until_equal()
    rewriting.end()
    t.run("UPDATE rewritten.t SET b = CONCAT(b, id)")
    t.wait_until_equal()
    print(f"{beside_inserts} rewrites beside inserts, {rewriting.done} in all, {rewriting.given_way} gave way")
    assert beside_inserts >= 10
    engine.stop()
    assert fe.stop() == 0
