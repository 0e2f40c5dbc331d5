"""The folder in which the workers of a job stage rows.

Owns: which parts of it may be deleted, and how.
Must not know: why files are still wanted.
"""

import errno
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from syncmgr.job.epoch import Epoch
from syncmgr.pipeline.worker.segment import disk_error

Listed = dict[Path, list[Path]]  # by folder of a worker


class StagedEpochs(Protocol):
    """What names files that are wanted."""

    def intents(self) -> Sequence[Epoch]: ...
    def backlog(self) -> Sequence[Epoch]: ...
    def hold(self) -> None: ...


def sweep_unnamed(staging: Path, ledger: StagedEpochs, last: Epoch) -> None:
    """Delete what neither an epoch that is to be committed nor the last epoch's open XA transactions name.

    A frontend that was suspended for long may have been replaced: the list of files, and which are wanted, is valid if
    the metadata are ours afterwards. Files of a later owner are not among them.
    """
    there = listed(staging)
    wanted = (*ledger.intents(), *ledger.backlog())
    kept = {f.path for epoch in wanted for segment in epoch.files.values() for f in segment}
    kept |= last.prepared_files
    ledger.hold()
    sweep(there, kept)


def listed(staging: Path) -> Listed:
    """What exists now. Workers create folders of files: anything else is not ours, and stays."""
    folders = [path for path in staging.glob("*") if path.is_dir()]
    return {folder: [path for path in folder.glob("*") if not path.is_dir()] for folder in folders}


def sweep(there: Listed, kept: Collection[str]) -> None:
    """Delete what earlier processes had staged when it was listed, except the files that are kept.

    The worker of a frontend that was killed may still write. Raises DISK_FULL, NOT_WRITABLE, which are retried.
    """
    for folder, files in there.items():
        try:
            _sweep(folder, files, kept)
        except OSError as error:
            raise disk_error(error, folder) from error


def _sweep(folder: Path, files: Collection[Path], kept: Collection[str]) -> None:
    left = {path for path in files if str(path) in kept}
    for path in {*files} - left:
        path.unlink(missing_ok=True)
    if left:
        return
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.ENOENT}:  # it wrote once more: the next process deletes that
            raise
