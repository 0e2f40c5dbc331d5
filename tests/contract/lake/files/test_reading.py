"""docs/reading.md, of the embedded catalog: what it says to type reads the rows."""

from pathlib import Path

import pytest

from syncmgr.job.rows.batch import ChangeKind
from tests.support.lakes import VARIABLE
from tests.support.snippets import run_snippet
from tests.support.spark_session import SPARK, Tables

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
FOLDER = "/srv/syncmgr/var/lake"


@pytest.mark.parametrize("version", [3, 2])
def test_the_snippets_for_the_embedded_catalog_read_what_is_there(tables: Tables, version: int) -> None:
    """One block reads the rows of a table with updates and deletes, the other names its newest metadata file."""
    if not tables.lake.place.embedded:
        pytest.skip(f"{VARIABLE} names another lake")
    table = tables.make(f'(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "{version}")')
    table.commit([(INS, 1, 1), (INS, 2, 2), (INS, 3, 3)])
    table.commit([(UPD, 1, 10), (DEL, 2, None)])
    places = {FOLDER: str(tables.lake.place.lake_dir)}
    read = run_snippet("SqlCatalog", {**places, "sales.orders": f"{table.db}.{table.name}"})
    read["catalog"].engine.dispose()
    assert sorted(map(tuple, (row.values() for row in read["rows"].to_pylist()))) == table.rows()
    found = run_snippet("import sqlite3", {**places, "'sales'": f"'{table.db}'", "'orders'": f"'{table.name}'"})
    found["catalog"].close()
    newest = str(table.lake.iceberg().load(table.db, table.name).operations().current().metadataFileLocation())
    assert found["metadata"] == newest
    assert Path(newest.removeprefix("file:")).is_file()
