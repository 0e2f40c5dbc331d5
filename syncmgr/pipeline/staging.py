"""The folder in which the workers of a job stage rows.

Owns: what of it may go, and how.
Must not know: which files are still wanted, or why.
"""

import errno
from collections.abc import Collection
from pathlib import Path

from syncmgr.pipeline.worker.segment import disk_error

Listed = dict[Path, list[Path]]  # by folder of a worker


def listed(staging: Path) -> Listed:
    """What is there now. Workers make folders of files: what is something else is somebody's, and stays."""
    folders = [path for path in staging.glob("*") if path.is_dir()]
    return {folder: [path for path in folder.glob("*") if not path.is_dir()] for folder in folders}


def sweep(there: Listed, kept: Collection[str]) -> None:
    """Delete what earlier lives had staged when it was listed, but for the files that are kept.

    The worker of a frontend that was killed may still write. Raises DISK_FULL, NOT_WRITABLE, which are tried again.
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
        if error.errno not in {errno.ENOTEMPTY, errno.ENOENT}:  # it wrote once more: the next life sweeps that
            raise
