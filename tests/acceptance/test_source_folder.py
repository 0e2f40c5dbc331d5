"""What a source has to be for the whole of the product to run on it: one folder, and one line of the registry."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.support.spark_session import SPARK
from tests.support.until import until

pytestmark = SPARK
TABLES = [
    {"db": "shop", "name": name, "columns": [{"name": "id", "type": "bigint", "nullable": False, "key": 1}, *more]}
    for name, more in {
        "orders": [{"name": "note", "type": "varchar", "length": 20, "charset": "utf8mb4"}],
        "lines": [{"name": "price", "type": "decimal", "precision": 12, "scale": 2}],
    }.items()
]


class Server:
    """The folder, as its owner writes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "tables.json").write_text(json.dumps(TABLES))
        (folder / "changes.jsonl").touch()

    def commit(self, *changes: tuple[str, int, dict[str, Any]]) -> None:
        """A transaction: table, kind and row of each change."""
        with (self.folder / "changes.jsonl").open("a") as file:
            file.write(json.dumps([[["shop", table], kind, row] for table, kind, row in changes]) + "\n")


@pytest.fixture
def frontend(tmp_path: Path) -> Iterator[FrontendProcess]:
    process = FrontendProcess(tmp_path / "fe", module="tests.support.memory_source").start()
    yield process
    process.kill_if_alive()


@pytest.mark.slow
def test_the_whole_product_runs_on_a_source_of_its_own(frontend: FrontendProcess, tmp_path: Path) -> None:
    """Snapshot, targets that are made, changes, PAUSE and RESUME, death and restart: no module but the registry knows
    the kind of source.
    """
    server = Server(tmp_path / "server")
    server.commit(*(("orders", 0, {"id": number, "note": f"n{number}"}) for number in range(100)))
    server.commit(("orders", 2, {"id": 7, "note": "n7"}), ("lines", 0, {"id": 1, "price": None}))
    frontend.sql("CREATE DATABASE demo")
    frontend.sql(
        "CREATE SYNC demo.job1 (FROM shop.* INTO demo.*)"
        f' FROM BINLOG ("type" = "memory", "memory.folder" = "{server.folder}")'
    )
    until(lambda: len(rows(frontend, "orders")) == 99, why="the rows that were there")
    until(lambda: rows(frontend, "lines") == [{"id": 1, "price": None}], why="the row that was there, of another table")
    assert frontend.job()["Type"] == "MEMORY"
    server.commit(("orders", 1, {"id": 3, "note": "new"}), ("orders", 2, {"id": 4, "note": "n4"}))
    until(lambda: len(rows(frontend, "orders")) == 98, why="a delete")
    frontend.sql("PAUSE SYNC JOB demo.job1")
    server.commit(("orders", 0, {"id": 1000, "note": "while paused"}))
    frontend.kill()
    frontend.start()
    frontend.sql("RESUME SYNC JOB demo.job1")
    until(lambda: {"id": 1000, "note": "while paused"} in rows(frontend, "orders"), why="what came meanwhile")
    assert {"id": 3, "note": "new"} in rows(frontend, "orders")
    assert len(rows(frontend, "orders")) == 99


def rows(frontend: FrontendProcess, table: str) -> list[dict[str, Any]]:
    return frontend.sql(f"SELECT * FROM demo.{table} ORDER BY id")


@pytest.mark.slow
def test_a_kind_that_is_not_known_any_more_stops_the_start(tmp_path: Path) -> None:
    """A frontend without the folder says what is missing, and changes nothing: the one that has it goes on."""
    server = Server(tmp_path / "server")
    knows = FrontendProcess(tmp_path / "fe", module="tests.support.memory_source").start()
    knows.sql("CREATE DATABASE demo")
    knows.sql(
        "CREATE SYNC demo.job1 (FROM shop.orders INTO demo.*)"
        f' FROM BINLOG ("type" = "memory", "memory.folder" = "{server.folder}")'
    )
    until(lambda: knows.job()["State"] == "RUNNING", why="a running job")
    knows.kill()
    refused = FrontendProcess.try_to_start(knows)
    assert "a source of the type MEMORY, which this syncmgr does not know" in refused.stdout
    assert refused.returncode == 1
    server.commit(("orders", 0, {"id": 1, "note": "later"}))
    knows.start()
    until(lambda: rows(knows, "orders") == [{"id": 1, "note": "later"}], why="the job goes on")
    knows.kill()
