"""The folder for copies of files that are elsewhere."""

from pathlib import Path

from syncmgr.lake.storage.copies import Copies


def test_each_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Two frontends may be given one parent, and none deletes what the other is about to upload."""
    one, two = Copies(tmp_path / "copies"), Copies(tmp_path / "copies")
    (one.folder / "file").touch()
    assert two.folder != one.folder
    assert (one.folder / "file").exists()
    two.close()
    one.close()


def test_what_a_killed_process_has_left_is_removed(tmp_path: Path) -> None:
    """The disk would fill up."""
    left = tmp_path / "0a"
    (left / "inside").mkdir(parents=True)
    left.with_suffix(".lock").touch()
    copies = Copies(tmp_path)
    assert copies.folder.is_dir()
    assert sorted(tmp_path.iterdir()) == sorted([copies.folder, copies.folder.with_suffix(".lock")])
    copies.close()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_made_before_it_is_needed(tmp_path: Path) -> None:
    """A lake on the local disk has no copies."""
    Copies(tmp_path / "copies").close()
    assert list(tmp_path.iterdir()) == []


def test_after_its_end_another_one_is_made(tmp_path: Path) -> None:
    """For the next JVM."""
    copies = Copies(tmp_path)
    first = copies.folder
    copies.close()
    assert not first.exists()
    assert copies.folder != first
    copies.close()
