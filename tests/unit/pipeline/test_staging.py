"""What of the staged files may go."""

from pathlib import Path

from syncmgr.pipeline.staging import listed, sweep


def staged(folder: Path, *names: str) -> list[Path]:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()
    return [folder / name for name in names]


def test_only_what_was_there_when_it_was_listed_is_swept(tmp_path: Path) -> None:
    """What a frontend stages that takes over in between stays, wanted or not."""
    kept, old = staged(tmp_path / "life", "kept", "old")
    staged(tmp_path / "dead", "1")
    there = listed(tmp_path)
    later = [*staged(tmp_path / "life", "later"), *staged(tmp_path / "new", "1")]
    sweep(there, {str(kept)})
    assert not old.exists()
    assert not (tmp_path / "dead").exists()
    assert all(path.exists() for path in (kept, *later))


def test_a_worker_that_wrote_once_more_is_no_trouble(tmp_path: Path) -> None:
    """Its folder stays for the next sweep; nobody is told that rights are to be mended."""
    [old] = staged(tmp_path / "dead", "1")
    there = listed(tmp_path)
    [late] = staged(tmp_path / "dead", "2")
    sweep(there, ())
    assert late.exists()
    assert not old.exists()
    sweep(listed(tmp_path), ())
    assert not (tmp_path / "dead").exists()
    sweep(there, ())


def test_what_no_worker_has_made_stays(tmp_path: Path) -> None:
    """A file of somebody's beside the folders of workers, or a folder in one of them, stops no job."""
    [old] = staged(tmp_path / "dead", "1")
    [stray] = staged(tmp_path, "stray")
    foreign = tmp_path / "dead" / "lost+found"
    foreign.mkdir()
    sweep(listed(tmp_path), ())
    assert not old.exists()
    assert stray.exists()
    assert foreign.exists()
