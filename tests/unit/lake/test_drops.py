"""Which table has the files of another one."""

import gzip
import json
from pathlib import Path

import pytest

from syncmgr.lake.drops import sharing
from syncmgr.lake.iceberg.catalog_reader import Pointer, RowName


def named(table: str, catalog: str = "lake") -> RowName:
    return RowName(catalog=catalog, db="d", table=table)


def pointed(folder: Path, uuid: str, name: str = "v.metadata.json", *, before: str = "") -> Pointer:
    """`before`: what an engine writes ahead of the uuid."""
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"properties": {"x": before}, "table-uuid": uuid}).encode()
    (folder / name).write_bytes(gzip.compress(content) if ".gz" in name else content)
    return Pointer(location=f"file:{folder / name}", previous=None)


@pytest.mark.parametrize("name", ["v.metadata.json", "v.gz.metadata.json"])
@pytest.mark.parametrize("before", ["", "x" * 10_000, '"table-uuid": "mine"'])
def test_the_same_table_is_known_wherever_it_is(tmp_path: Path, name: str, before: str) -> None:
    """By its uuid, however its metadata are written; another table is not taken for it, not even in its folder."""
    metadata = str(tmp_path / "here" / "old.metadata.json")
    tables = {named("other"): pointed(tmp_path / "here", "theirs", name, before=before)}
    assert sharing(tables, "mine", metadata) is None
    tables[named("second")] = pointed(tmp_path / "elsewhere", "mine", name, before=before)
    assert sharing(tables, "mine", metadata) == "d.second"


@pytest.mark.parametrize("name", ["v.metadata.json", "v.gz.metadata.json"])
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", gzip.compress(b"{}")[:9], gzip.compress(b"{}")[:-9], None],
    ids=["empty", "cut", "list", "cut head of gzip", "cut gzip", "gone"],
)
def test_what_cannot_be_read_is_judged_by_its_folder(tmp_path: Path, name: str, content: bytes | None) -> None:
    """It may be the same table; a broken one elsewhere keeps no files."""
    for folder in ("here", "elsewhere"):
        pointer = pointed(tmp_path / folder, "mine", name)
        path = Path(pointer.location.removeprefix("file:"))
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        metadata = str(tmp_path / "here" / "old.metadata.json")
        assert sharing({named("t"): pointer}, "mine", metadata) == ("d.t" if folder == "here" else None)


def test_metadata_that_are_not_on_this_machine(tmp_path: Path) -> None:
    """Their folder tells."""
    pointer = Pointer(location="s3a://bucket/t/metadata/2.metadata.json", previous=None)
    assert sharing({named("t"): pointer}, "mine", str(tmp_path / "old.metadata.json")) is None
    assert sharing({named("t"): pointer}, "mine", "s3a://bucket/t/metadata/1.metadata.json") == "d.t"
