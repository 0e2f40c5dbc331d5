"""Files of the frontend's machine by which it proves who it is to a source.

Owns: which of them an account without ADMIN_PRIV may name in a job: those that the operator has put there for the job's
database.
Must not know: what is in them, statements, sources.
"""

from collections.abc import Mapping
from pathlib import Path

from syncmgr.errors import Code, SyncError


def refuse_others(files: Mapping[str, str], folder: str, db: str) -> None:
    """`files`: paths by property, "": none. `folder`: the setting source_files_dir, absolute, or "". Raises
    FILE_DENIED, whether such a file exists or not.
    """
    for name, path in files.items():
        if path and not _is_of(path, folder, db):
            where = (
                f"in {folder}/{db}" if folder else "in the folder of its database in source_files_dir, which is not set"
            )
            raise SyncError(Code.FILE_DENIED, name=name, path=path, where=where)


def _is_of(path: str, folder: str, db: str) -> bool:
    """Links count as what they lead to."""
    if not folder or db in {"", ".", ".."} or "/" in db:
        return False
    try:
        return Path(path).resolve().is_relative_to((Path(folder) / db).resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, a zero byte
        return False
