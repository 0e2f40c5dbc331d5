"""README.md, "State of things": what is there has a test that holds it, and what is not there yet is not there."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from syncmgr.config.settings import find

ROOT: Final = Path(__file__).parents[2]
HELD: Final[Mapping[str, str]] = {
    "the existing rows, and then every change in the binlog of MySQL or MariaDB": "acceptance/test_snapshot.py",
    "the changes from a canal server or cluster": "contract/canal/test_canal_cluster.py",
    "DDL statements of the source": "acceptance/test_ddl.py",
    "Iceberg tables with and without keys": "acceptance/test_main_job.py::test_the_tables_are_open",
    "columns, expressions and WHERE per table": "acceptance/test_main_job.py::"
    "test_columns_and_where_decide_what_arrives",
    "whole databases and shards": "acceptance/test_whole_database.py::test_one_statement_takes_a_whole_database",
    "queries": "acceptance/test_readme.py::test_the_session_of_the_readme",
    "a lake in S3 behind a REST or JDBC catalog": "contract/lake/remote/test_remote_lake.py::"
    "test_epochs_are_committed_as_on_a_local_disk",
    "a key index that keeps every snapshot free of deletes by key, and upkeep of the tables": "acceptance/"
    "test_clean_snapshots.py",
    "restarts and kills, after which all of it goes on": "acceptance/test_crash_points.py",
    "a table that cannot be followed stops alone, and `RESYNC TABLE` brings it back": "acceptance/"
    "test_resync_matrix.py::test_a_stopped_table_comes_back",
    "backup while it runs, and restore into other folders": "acceptance/test_backup.py::"
    "test_a_backup_of_a_running_frontend_comes_back",
    "metrics for Prometheus, and health, over HTTP": "acceptance/test_metrics.py",
    "alerts by webhook": "contract/alerts/test_delivery.py",
    "a page for operators, and an API over HTTP": "contract/web/test_browser.py",
}


def listed(beginning: str) -> list[str]:
    """The bullets after a line that begins so."""
    part = (ROOT / "README.md").read_text().partition("## State of things")[2].partition("\n## ")[0]
    after = part.partition(f"\n{beginning}")[2].partition("\n\n")[2].partition("\n\n")[0]
    return [line.removeprefix("- ") for line in after.splitlines()]


def test_what_is_there_is_held_by_a_test() -> None:
    """Each bullet has one, and each is still in README.md."""
    assert listed("Available") == list(HELD)


@pytest.mark.parametrize("bullet", HELD)
def test_the_test_is_there(bullet: str) -> None:
    """Under its name."""
    file, _, name = HELD[bullet].partition("::")
    text = (ROOT / "tests" / file).read_text()
    assert re.search(rf"^def {name or 'test_'}", text, re.MULTILINE)


def test_what_is_not_there_yet_is_not_there() -> None:
    """A feature that lands leaves the list: its package, setting or folder is what is looked for."""
    storage, proof = listed("Not available yet")
    assert "object storage" in storage
    assert find("lake_dir").check("s3a://bucket/lake") is not None
    assert "proves" in proof
    assert not (ROOT / "syncmgr" / "check_binlog").exists()
