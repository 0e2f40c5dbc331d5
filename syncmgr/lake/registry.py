"""The table formats.

Owns: which formats exist, and which one targets have.
Must not know: how a table is written or read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from syncmgr.lake.lake import Lake
from syncmgr.lake.port import SavedTables
from syncmgr.lake.saved_tables import IcebergFiles


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFormat:
    """`lake`: opens it for a frontend. `saved`: its tables as files; of a lake whose files name each other in a folder,
    and where such a file is, by its relative path.
    """

    lake: Callable[..., Lake]
    saved: Callable[[Path, Callable[[Path], Path]], SavedTables]


FORMATS: Final[Mapping[str, TableFormat]] = {"iceberg": TableFormat(lake=Lake, saved=IcebergFiles)}
FORMAT: Final = FORMATS["iceberg"]  # of all targets
