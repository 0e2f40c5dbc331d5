"""What CHECK may be told.

Owns: the keys of WITH, their defaults and bounds; the limits of all checks.
Must not know: statements, what a check does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from syncmgr.job.property import Property, filled, whole

PROPERTIES: Final = (
    Property("rounds", "10", "How often keys that are on their way are looked at again, before they are UNSETTLED."),
    Property("max_rows_per_second", "0", "Rows that are compared in a second; 0: without a limit."),
    Property("keep_rows", "1000", "How many rows that differ `sync_check_rows` shows of each table."),
    Property("chunk_rows", "250000", "Rows that one SELECT of the source covers, where the key is one integer."),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckLimits:
    """Of all checks of a frontend. `wait_second`: for a job that does not run."""

    running: int
    kept: int
    wait_second: float
    repaired_rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckOptions:
    """As PROPERTIES says."""

    rounds: int
    max_rows_per_second: int
    keep_rows: int
    chunk_rows: int

    @classmethod
    def of(cls, told: Mapping[str, str]) -> Self:
        """Raises PROPERTY_UNKNOWN, PROPERTY_WRONG."""
        values = filled(told, PROPERTIES, "CHECK")
        return cls(
            rounds=whole("rounds", values["rounds"], 1, 1000),
            max_rows_per_second=whole("max_rows_per_second", values["max_rows_per_second"], 0, 10**9),
            keep_rows=whole("keep_rows", values["keep_rows"], 1, 100_000),
            chunk_rows=whole("chunk_rows", values["chunk_rows"], 100, 10**9),
        )
