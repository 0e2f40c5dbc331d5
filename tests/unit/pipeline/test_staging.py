"""What of the staged files may go."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position
from syncmgr.pipeline.staging import listed, sweep, sweep_unnamed

LAST: Final = Epoch(number=1, end=Position(), last_seq=0)


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


class Replaced:
    """The metadata of a frontend that was suspended; the one that took over stages meanwhile."""

    def __init__(self, staging: Path) -> None:
        self._staging = staging
        self.asked: list[str] = []

    def intents(self) -> Sequence[Epoch]:
        self.asked.append("intents")
        return ()

    def backlog(self) -> Sequence[Epoch]:
        self.asked.append("backlog")
        staged(self._staging / "new", "of the other")
        return ()

    def hold(self) -> None:
        self.asked.append("hold")
        raise SyncError(Code.FENCED, table="t", found=2, epoch=1)


def test_a_frontend_that_was_replaced_deletes_nothing(tmp_path: Path) -> None:
    """Whether the metadata are still its own is asked after what they want, and before the first file goes."""
    old = staged(tmp_path / "life", "old")
    ledger = Replaced(tmp_path)
    with pytest.raises(SyncError):
        sweep_unnamed(tmp_path, ledger, LAST)
    assert ledger.asked == ["intents", "backlog", "hold"]
    assert all(path.exists() for path in (*old, tmp_path / "new" / "of the other"))


def test_what_another_one_stages_meanwhile_stays(tmp_path: Path) -> None:
    """The files are listed before it is asked which are wanted."""
    staged(tmp_path / "life", "old")
    ledger = Replaced(tmp_path)
    ledger.hold = lambda: None  # type: ignore[method-assign]
    sweep_unnamed(tmp_path, ledger, LAST)
    assert sorted(path.name for path in tmp_path.glob("*/*")) == ["of the other"]
