"""Key files that an account may name, on a real disk."""

from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.host.source_files import refuse_others


def refused(path: object, folder: object, db: str = "demo") -> bool:
    try:
        refuse_others({"mysql.ssl_key": str(path)}, str(folder), db)
    except SyncError as error:
        assert error.code is Code.FILE_DENIED  # noqa: PT017 - it may be none
        return True
    return False


def test_files_of_the_own_database_may_be_named(tmp_path: Path) -> None:
    """In any folder of it, also before they are there; no file is none of others."""
    for name in ("k.pem", "deep/k.pem"):
        assert not refused(tmp_path / "demo" / name, tmp_path)
    assert not refused("", "")


@pytest.mark.parametrize(
    "path", ["other/k", "k", "demo/../other/k", "demo2/k", "demo/link", "demo/folder/k", "demo/loop"]
)
def test_no_way_leads_out_of_it(tmp_path: Path, path: str) -> None:
    """Neither the folder of another database, nor dots, nor links."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "demo" / "link").symlink_to(tmp_path / "other" / "k")
    (tmp_path / "demo" / "folder").symlink_to(tmp_path / "other")
    (tmp_path / "demo" / "loop").symlink_to(tmp_path / "demo" / "loop")
    assert refused(tmp_path / path, tmp_path)


@pytest.mark.parametrize("db", ["", ".", "..", "a/../.."])
def test_a_database_is_one_folder(tmp_path: Path, db: str) -> None:
    """Whatever names databases may have."""
    assert refused(tmp_path / "demo" / "k", tmp_path, db)


def test_without_a_folder_none_may_be_named() -> None:
    """The message says what is missing."""
    with pytest.raises(SyncError, match="source_files_dir, which is not set"):
        refuse_others({"mysql.ssl_key": "/fe/k"}, "", "demo")
    assert refused("/fe/k\0", "/fe")
