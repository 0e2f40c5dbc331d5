"""The catalog file as whoever walks over all tables sees it."""

import json
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema

from syncmgr.lake.drops import sharing
from syncmgr.lake.iceberg import catalog_file
from syncmgr.lake.iceberg.catalog_reader import RowName


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """With tables whose labels are alike: of another catalog in the file, and with dots at other places."""
    for catalog, names in (("lake", [("a", "t"), ("a", "b.c"), ("a", "b", "c")]), ("default", [("a", "t")])):
        opened = SqlCatalog(catalog, uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / catalog))
        for name in names:
            opened.create_namespace_if_not_exists(name[:-1])
            opened.create_table(name, Schema(), location=str(tmp_path / catalog / str(len(name)) / name[-1]))
        opened.engine.dispose()
    return tmp_path / "catalog.db"


def test_every_table_of_the_file_is_there(file: Path) -> None:
    """Those of other engines, too, whatever their names are; a message tells them apart."""
    found = catalog_file.pointers(file)
    assert {name.label for name in found} == {"a.t", "a.`b.c`", "a.b.c", "a.t of catalog default"}
    assert len({pointer.location for pointer in found.values()}) == 4
    assert found[RowName("lake", "a", "t")].location.startswith(f"{file.parent}/lake/")


def test_a_table_beside_one_of_its_label_keeps_its_files(file: Path) -> None:
    """A drop that was noted, and that the catalog never heard of, finds the table of its uuid."""
    written = list(file.parent.rglob("*.metadata.json"))
    assert len(written) == 4
    for path in written:
        assert sharing(catalog_file.pointers(file), json.loads(path.read_bytes())["table-uuid"], str(path)) is not None
