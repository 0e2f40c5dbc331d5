"""The note of a lake: the tables of which its disk has lost writes.

Owns: where it is, its form, which of it still holds for an earlier moment of the lake.
Must not know: when a write is lost, when a table counts as repaired.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from syncmgr.host.moved_folder import Move
from syncmgr.lake.iceberg import metadata_file
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.iceberg.named_files import older

NOTE: Final = "lost_writes.json"  # in the folder of the lake, since a restart must know of it, too


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """`before`: the metadata that were confirmed last; None: the table has none."""

    db: str
    table: str
    reason: str
    before: str | None


def read(folder: Path) -> list[Lost]:
    """Raises OSError; ValueError, TypeError if it is damaged, or another version wrote it."""
    return [Lost(**each) for each in json.loads((folder / NOTE).read_text())]


def text(lost: Iterable[Lost]) -> str:
    return json.dumps([asdict(each) for each in lost])


def moved(lost: Lost, move: Move) -> Lost:
    """Raises NotMovableError."""
    return lost if lost.before is None else replace(lost, before=move.moved(lost.before))


def is_later(lost: Lost, pointer: Pointer, folder: Move) -> bool:
    """Whether the table that has this pointer is from before what was confirmed last, so that it lacks nothing."""
    if lost.before is None or lost.before == pointer.location:
        return False
    try:
        return pointer.location in older(metadata_file.read(folder.old / folder.relative(lost.before)))
    except (OSError, ValueError):
        return False
