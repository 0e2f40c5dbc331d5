import json
from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.host.moved_folder import Move, NotMovableError
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.lost_writes import NOTE, Lost, is_later, moved, read, text

LOST = Lost(db="shop", table="orders", reason="Input/output error", before="file:/old/lake/t/metadata/2.metadata.json")
NEW = replace(LOST, before=None)


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Also of a table of which nothing was ever confirmed."""
    (tmp_path / NOTE).write_text(text([LOST, NEW]))
    assert read(tmp_path) == [LOST, NEW]


def test_a_note_moves_with_its_lake() -> None:
    """Or the table would count as another one, and accept commits."""
    move = Move(old=Path("/old/lake"), new=Path("/new"))
    assert moved(LOST, move).before == "file:/new/t/metadata/2.metadata.json"
    assert moved(NEW, move) == NEW
    with pytest.raises(NotMovableError):
        moved(LOST, Move(old=Path("/other"), new=Path("/new")))


@pytest.mark.parametrize(("pointer", "later"), [("1", True), ("2", False), ("3", False)])
def test_a_table_from_before_what_was_confirmed_lacks_nothing(tmp_path: Path, pointer: str, *, later: bool) -> None:
    """The metadata that were confirmed last know it as an earlier one."""
    folder = tmp_path / "t" / "metadata"
    folder.mkdir(parents=True)
    names = {n: f"file:{folder}/{n}.metadata.json" for n in "123"}
    (folder / "2.metadata.json").write_text(json.dumps({"metadata-log": [{"metadata-file": names["1"]}]}))
    lost = replace(LOST, before=names["2"])
    lake = Move(old=tmp_path, new=tmp_path)
    assert is_later(lost, Pointer(location=names[pointer], previous=None), lake) is later


def test_in_doubt_a_table_lacks_rows(tmp_path: Path) -> None:
    """What was confirmed last is not there, or was never."""
    lake, at = Move(old=tmp_path, new=tmp_path), Pointer(location=f"file:{tmp_path}/t/1.metadata.json", previous=None)
    assert not is_later(replace(LOST, before=f"file:{tmp_path}/t/2.metadata.json"), at, lake)
    assert not is_later(NEW, at, lake)
