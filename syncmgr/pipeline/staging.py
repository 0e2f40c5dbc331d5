"""The folder in which the workers of a job stage rows.

Owns: what of it may go, and how.
Must not know: which files are still wanted, or why.
"""

import shutil
from collections.abc import Collection
from pathlib import Path

from syncmgr.pipeline.segment import disk_error


def sweep(staging: Path, kept: Collection[str]) -> None:
    """Delete what earlier lives staged, but for the files that are kept.

    The worker of a frontend that was killed may still write. Raises DISK_FULL, NOT_WRITABLE, which are tried again.
    """
    for folder in staging.glob("*"):
        try:
            _sweep(folder, kept)
        except OSError as error:
            raise disk_error(error, folder) from error


def _sweep(folder: Path, kept: Collection[str]) -> None:
    files = list(folder.glob("*"))
    for path in files:
        if str(path) not in kept:
            path.unlink(missing_ok=True)
    if not any(str(path) in kept for path in files):
        shutil.rmtree(folder)
