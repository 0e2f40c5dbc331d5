import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable
from pyroaring import BitMap

from syncmgr.lake.commit.vectors import POSITIONS
from syncmgr.lake.iceberg import moving
from syncmgr.lake.iceberg.moving import Move, NotMovableError
from syncmgr.lake.iceberg.named_files import (
    FileKind,
    NamedFile,
    NamedFiles,
    NotATableError,
    kind_of,
    mentioned,
    of_manifest,
    of_metadata,
)
from syncmgr.lake.iceberg.puffin import puffin, vector_rows

MOVE = Move(old=Path("/srv/old/lake"), new=Path("/mnt/a longer/new lake"))


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_path_keeps_its_form(scheme: str) -> None:
    """Only the folder is another; whoever wrote it with a scheme reads it with one."""
    assert MOVE.moved(f"{scheme}/srv/old/lake/a/b.parquet") == f"{scheme}/mnt/a longer/new lake/a/b.parquet"
    assert MOVE.relative(f"{scheme}/srv/old/lake/a/b.parquet") == Path("a/b.parquet")
    assert MOVE.moved(f"{scheme}/srv/old/lake") == f"{scheme}/mnt/a longer/new lake"


@pytest.mark.parametrize("location", ["/srv/old/lakes/a", "s3://srv/old/lake/a", "a", "/elsewhere/srv/old/lake/a"])
def test_a_path_that_is_not_in_the_lake_is_refused(location: str) -> None:
    """It would name what the new lake does not have."""
    with pytest.raises(NotMovableError, match="is not in"):
        MOVE.moved(location)
    with pytest.raises(NotMovableError, match="is not in"):
        MOVE.relative(location)


def test_deletion_vectors_name_their_data_files_anew() -> None:
    """The blobs stay where the manifests say that they are, and are the same bytes."""
    before, where = puffin({"/srv/old/lake/t/1.parquet": BitMap([1, 5]), "/srv/old/lake/t/2.parquet": BitMap([0])})
    after = moving.vectors(before, MOVE)
    for blob in where.values():
        assert after[blob.offset : blob.offset + blob.length] == before[blob.offset : blob.offset + blob.length]
    first = where["/srv/old/lake/t/1.parquet"]
    assert vector_rows(after[first.offset : first.offset + first.length]) == BitMap([1, 5])
    [length] = struct.unpack("<I", after[-12:-8])
    footer = json.loads(after[-12 - length : -12])
    named = [blob["properties"]["referenced-data-file"] for blob in footer["blobs"]]
    assert named == ["/mnt/a longer/new lake/t/1.parquet", "/mnt/a longer/new lake/t/2.parquet"]


def test_a_footer_in_another_form_is_refused() -> None:
    """A compressed one would keep the old paths."""
    data, _ = puffin({"/srv/old/lake/t/1.parquet": BitMap([1])})
    with pytest.raises(ValueError, match="is not where it should be"):
        moving.vectors(data[:-1] + b"?", MOVE)
    with pytest.raises(NotMovableError, match="is compressed"):
        moving.vectors(data[:-8] + b"\1" + data[-7:], MOVE)


def position_deletes(path: Path, *names: str) -> None:
    table = pa.table({"file_path": names, "pos": range(len(names))}, POSITIONS)
    pq.write_table(table, path, row_group_size=2)


def test_what_cannot_be_moved_is_found_without_rewriting_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each kind of file that names others; only what names them is read."""
    inside, outside = "/srv/old/lake/t/1.parquet", "/elsewhere/2.parquet"
    monkeypatch.setattr(moving, "rewritten", None)
    monkeypatch.setattr(moving, "positions", None)
    monkeypatch.setattr(moving, "vectors", None)
    for names, reasons in (((inside, inside), []), ((inside, inside, outside), [f"'{outside}' is not in {MOVE.old}"])):
        path = tmp_path / "deletes"
        position_deletes(path, *names)
        assert list(moving.unmovable(NamedFile(kind=FileKind.POSITIONS, location=""), path, MOVE)) == reasons
        data, _ = puffin({name: BitMap([1]) for name in names})
        path.write_bytes(data)
        assert list(moving.unmovable(NamedFile(kind=FileKind.VECTORS, location=""), path, MOVE)) == reasons
        path.write_text(
            json.dumps({"location": "file:/srv/old/lake/t", "metadata-log": [{"metadata-file": names[-1]}]})
        )
        for kind in (FileKind.METADATA, FileKind.PREVIOUS):
            assert list(moving.unmovable(NamedFile(kind=kind, location=""), path, MOVE)) == reasons


def test_what_a_manifest_mentions_besides_its_files() -> None:
    """Deleted ones, and the data files of vectors."""
    files = [{"file_path": name, "referenced_data_file": of} for name, of in (("a", None), ("b", "a"), ("c", "x"))]
    records = [{"status": status, "data_file": file} for status, file in zip((2, 1, 2), files, strict=True)]
    assert list(mentioned(records)) == ["a", "a", "c", "x"]


def test_position_deletes_name_their_data_files_anew(tmp_path: Path) -> None:
    """Rows, order and field ids stay."""
    path = tmp_path / "deletes.parquet"
    paths = ["/srv/old/lake/t/1.parquet", "/srv/old/lake/t/1.parquet", "/srv/old/lake/t/2.parquet"]
    pq.write_table(pa.table([paths, [3, 7, 0]], schema=POSITIONS), path, store_schema=False)
    moved = pq.read_table(pa.BufferReader(moving.positions(path, MOVE)))
    assert moved.column("file_path").to_pylist() == [MOVE.moved(each) for each in paths]
    assert moved.column("pos").to_pylist() == [3, 7, 0]
    assert [f.metadata[b"PARQUET:field_id"] for f in moved.schema] == [
        f.metadata[b"PARQUET:field_id"] for f in POSITIONS
    ]


def test_bounds_of_paths_move_and_cut_ones_go() -> None:
    """A reader skips files by them: a wrong one would hide deletes. Those of other columns stay."""
    whole, cut, other = b"/srv/old/lake/t/1", b"/srv/old", b"/srv/old/lake/t/1"

    def after(key: int, value: bytes) -> list[dict[str, Any]]:
        file = {"file_path": "/srv/old/lake/d", "lower_bounds": [{"key": key, "value": value}]}
        moving._move_file(file, MOVE, {})
        bounds: list[dict[str, Any]] = file["lower_bounds"]  # type: ignore[assignment]
        return bounds

    assert after(2147483546, whole) == [{"key": 2147483546, "value": b"/mnt/a longer/new lake/t/1"}]
    assert after(2147483546, cut) == []
    assert after(3, other) == [{"key": 3, "value": other}]


def test_what_was_rewritten_has_its_new_length() -> None:
    """In the entry that names it; a Parquet file then has one row group."""
    file = {
        "file_path": "/srv/old/lake/d",
        "file_format": "PARQUET",
        "file_size_in_bytes": 7,
        "split_offsets": [4, 99],
        "referenced_data_file": "/srv/old/lake/t/1",
    }
    moving._move_file(file, MOVE, {"/srv/old/lake/d": 11})
    assert file["file_size_in_bytes"] == 11
    assert file["split_offsets"] == [4]
    assert file["referenced_data_file"] == "/mnt/a longer/new lake/t/1"


def test_which_files_count() -> None:
    """An entry of what is gone names no file; what a table of another kind names is not guessed."""

    def entry(status: int, **facts: object) -> dict[str, Any]:
        file = {"file_path": f"/{status}", "file_size_in_bytes": 1, "file_format": "PARQUET", "content": 0}
        return {"status": status, "data_file": file | facts}

    assert [named.location for named in of_manifest([entry(0), entry(1), entry(2)])] == ["/0", "/1"]
    assert kind_of(entry(1, file_format="puffin", content=1)["data_file"]) is FileKind.VECTORS
    assert kind_of(entry(1, content=1)["data_file"]) is FileKind.POSITIONS
    assert kind_of(entry(1, content=2)["data_file"]) is FileKind.DATA
    for version in (1, 2):
        with pytest.raises(NotATableError, match="it is no table"):
            list(of_metadata({"view-uuid": "u", "format-version": version}))
    for uuid in ({}, {"table-uuid": "u"}):  # format 1 needs none
        with pytest.raises(NotATableError, match=r"of format 1.*ALTER TABLE \.\.\. SET TBLPROPERTIES"):
            list(of_metadata({"format-version": 1, **uuid}))


def test_a_table_that_was_moved_is_read_by_another_engine(tmp_path: Path) -> None:
    """Under its new paths, with all of its snapshots, when nothing is left under the old ones."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    catalog = SqlCatalog("lake", uri=f"sqlite:///{old}/catalog.db", warehouse=f"file://{old}")
    catalog.create_namespace("a")
    table = catalog.create_table("a.t", schema=pa.schema([pa.field("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2]}))
    first = table.current_snapshot()
    table.append(pa.table({"id": [3]}))
    table.delete("id = 1")
    catalog.engine.dispose()
    shutil.move(old, new)
    move = Move(old=old, new=new)
    metadata = NamedFile(kind=FileKind.METADATA, location=table.metadata_location)
    files = NamedFiles(lambda named: new / move.relative(named.location)).files(metadata).values()
    lengths: dict[str, int] = {}
    for kind in moving.ORDER:
        for named in (each for each in files if each.kind is kind):
            path = new / move.relative(named.location)
            content = moving.rewritten(named, path, move, lengths)
            assert content is not None
            path.write_bytes(content)
            lengths[named.location] = len(content)
    assert str(old) not in (new / move.relative(table.metadata_location)).read_text()
    moved = StaticTable.from_metadata(move.moved(table.metadata_location))
    assert sorted(moved.scan().to_arrow()["id"].to_pylist()) == [2, 3]
    assert first is not None
    assert moved.scan(snapshot_id=first.snapshot_id).to_arrow()["id"].to_pylist() == [1, 2]
    found = NamedFiles(lambda named: Path(named.location.removeprefix("file://")))
    for named in found.files(NamedFile(kind=FileKind.METADATA, location=move.moved(table.metadata_location))).values():
        path = Path(named.location.removeprefix("file://"))
        assert named.bytes is None or path.stat().st_size == named.bytes
