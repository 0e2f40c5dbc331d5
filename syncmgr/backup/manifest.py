"""What a backup holds, in a file of its own that is written last.

Owns: its form; how a file is compared with it.
Must not know: which files belong to a backup.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import xxhash

from syncmgr.errors import Code, SyncError

NAME: Final = "backup.json"
FORMAT: Final = 1
META: Final = "meta"
LAKE: Final = "lake"
STAGING: Final = "staging"
PIECE_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A file. `digest`: XXH3 of 128 bits, which detects damage, not malice."""

    bytes: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """`at`: the moment, in unix seconds. `lake_dir`, `staging_dir`: the folders whose paths the files name.

    `files`: by path below the backup.
    """

    version: str
    at: float
    lake_dir: str
    staging_dir: str
    files: Mapping[str, Entry]


def entry_of(path: Path) -> Entry:
    """Reads the whole file."""
    hashed, length = xxhash.xxh3_128(), 0
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            hashed.update(piece)
            length += len(piece)
    return Entry(bytes=length, digest=hashed.hexdigest())


def write(folder: Path, manifest: Manifest) -> None:
    """Written as a whole or not at all."""
    temporary = folder / f"{NAME}.new"
    temporary.write_text(json.dumps({"format": FORMAT} | asdict(manifest), indent=1))
    temporary.rename(folder / NAME)


def read(folder: Path) -> Manifest:
    """Raises BACKUP_BROKEN."""
    try:
        stored = json.loads((folder / NAME).read_bytes())
    except FileNotFoundError as error:
        reason = f"{NAME}, which a backup gets last, is not there" if folder.is_dir() else "there is no such folder"
        raise SyncError(Code.BACKUP_BROKEN, folder=folder, reason=reason) from error
    except PermissionError as error:
        reason = f"{NAME} cannot be read: {error.strerror}; run it as the user who has made the backup, or as root"
        raise SyncError(Code.BACKUP_BROKEN, folder=folder, reason=reason) from error
    except (OSError, ValueError) as error:
        raise SyncError(Code.BACKUP_BROKEN, folder=folder, reason=f"{NAME}: {error}") from error
    if stored.pop("format") != FORMAT:
        reason = f"it was made by syncmgr {stored['version']}, in a form that this version does not know"
        raise SyncError(Code.BACKUP_BROKEN, folder=folder, reason=reason)
    return Manifest(**(stored | {"files": {path: Entry(**each) for path, each in stored["files"].items()}}))


def compare(folder: Path, manifest: Manifest) -> None:
    """Compares every file with its entry. Raises BACKUP_BROKEN."""
    for name, wanted in manifest.files.items():
        try:
            found = entry_of(folder / name)
        except OSError as error:
            raise SyncError(Code.BACKUP_BROKEN, folder=folder, reason=f"'{name}': {error.strerror}") from error
        if found != wanted:
            reason = f"'{name}' is not what was saved: {found.bytes} of {wanted.bytes} bytes, or other ones"
            raise SyncError(Code.BACKUP_BROKEN, folder=folder, reason=reason)
