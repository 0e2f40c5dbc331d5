"""The table formats.

Owns: which formats exist, and which one targets have.
Must not know: how a table is written or read, Spark.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.job.types.table_rules import Check
from syncmgr.lake.target.table_properties import PROPERTIES


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFormat:
    """`lake`, `saved`: where its classes are, which bring Spark with them; `opening` loads them. `properties`: those of
    CREATE TABLE, under the format's own names.
    """

    lake: str
    saved: str
    properties: Mapping[str, Check]


FORMATS: Final[Mapping[str, TableFormat]] = {
    "iceberg": TableFormat(
        lake="syncmgr.lake.lake:Lake", saved="syncmgr.lake.saved_tables:IcebergFiles", properties=PROPERTIES
    ),
}
FORMAT: Final = FORMATS["iceberg"]  # of all targets
