"""The table formats.

Owns: which formats exist, and which one targets have.
Must not know: how a table is written or read, Spark.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.job.types.table_rules import Check
from syncmgr.lake.target.table_properties import FIXED, PROPERTIES, RESERVED_COLUMNS


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFormat:
    """A line of the registry."""

    #: as users read it
    name: str
    #: the format of its data files, as users read it
    files: str
    #: where its classes are, which bring Spark with them; `opening` loads them
    lake: str
    saved: str
    #: of CREATE TABLE, under the format's own names
    properties: Mapping[str, Check]
    #: those that a table keeps: readers are chosen by them
    fixed: frozenset[str]
    #: names, in lower case, that its readers have for columns of their own
    reserved_columns: frozenset[str]


FORMATS: Final[Mapping[str, TableFormat]] = {
    "iceberg": TableFormat(
        name="Iceberg",
        files="Parquet",
        lake="syncmgr.lake.lake:Lake",
        saved="syncmgr.lake.saved_tables:IcebergFiles",
        properties=PROPERTIES,
        fixed=FIXED,
        reserved_columns=RESERVED_COLUMNS,
    ),
}
FORMAT: Final = FORMATS["iceberg"]  # of all targets
