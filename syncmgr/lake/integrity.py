"""Whether the files of a table that the catalog names are on the disk.

Owns: which files of a table can be missing after a power failure, and what the operator is told.
Must not know: epochs, jobs; how the catalog or Java is queried.

Iceberg writes files and then the catalog's row, and syncs none of them; the file system is synced right after. A power
failure during that sync may leave the row without the files, so every writer to a table checks first.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.lake.iceberg import metadata_file
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.snapshot_files import contents_of
from syncmgr.lake.spark.jvm import JAVA_ERRORS, Java, is_lost, words
from syncmgr.lake.storage.locations import is_local, local

SNAPSHOTS: Final = 4  # newest first: each commit syncs the file system, upkeep may run in parallel


def check_metadata(label: str, pointer: Pointer) -> None:
    """The root metadata file exists and is whole, unless another engine has put it elsewhere. Raises TABLE_BROKEN."""
    if not is_local(pointer.location):
        return
    try:
        metadata_file.read(local(pointer.location))
    except (OSError, ValueError) as error:
        raise broken(label, pointer, str(error)) from error


def check_files(label: str, pointer: Pointer, iceberg: Iceberg, table: Java, *, rows: bool = True) -> None:
    """The same for all manifests, and, for the `rows`, the files that the newest snapshots added and the table still
    has. Raises TABLE_BROKEN.
    """
    try:
        for _, fault in _faults(iceberg.named_files(table, 0)):
            raise broken(label, pointer, fault)
        faults = dict(_faults(iceberg.named_files(table, SNAPSHOTS))) if rows else {}
        left = faults.keys() & contents_of(iceberg, table).paths if faults else ()
        for location in left:
            raise broken(label, pointer, faults[location])
    except JAVA_ERRORS as error:
        if is_lost(error):
            raise
        raise broken(label, pointer, words(error)) from error


def _faults(named: Iterable[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    """Of files on the local disk: where each is, and what is wrong with it."""
    for location, size in named:
        fault = _fault(local(location), size) if is_local(location) else None
        if fault is not None:
            yield location, fault


def _fault(path: Path, size: int) -> str | None:
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        return f"'{path}' is missing"
    return None if found == size else f"'{path}' has {found} of {size} bytes"


def broken(label: str, pointer: Pointer, reason: str) -> SyncError:
    return SyncError(
        Code.TABLE_BROKEN, table=label, reason=reason, location=pointer.location, previous=pointer.previous or "none"
    )
