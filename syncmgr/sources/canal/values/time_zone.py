"""Local times of a time zone -> UTC.

Owns: how a zone is written, and which local times mean one point in time.
Must not know: columns, who chose the zone.
"""

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from syncmgr.job.types.cells import Bools

_OFFSET: Final = re.compile(r"([+-])(0\d|1[0-4]):([0-5]\d)")
_UTC: Final = frozenset({"UTC", "Z", "GMT"})
_SAMPLE: Final = pa.array([0], pa.timestamp("us"))


def known_zone(zone: str) -> bool:
    """Whether it is UTC, an offset, or a name that this machine knows."""
    if zone.startswith(("+", "-")):
        return _offset(zone) is not None
    try:
        to_utc(_SAMPLE, zone)
    except pa.ArrowInvalid:
        return False
    return True


def to_utc(local: pa.Array, zone: str) -> tuple[pa.Array, Bools]:
    """timestamp[us] of local times -> timestamp[us, UTC], and which of them occurred twice or never in that zone.

    Raises ArrowInvalid for an unknown zone.
    """
    utc = pa.timestamp("us", "UTC")
    offset = _offset(zone)
    if offset is not None:
        micros = pc.subtract(local.cast(pa.int64()), offset * 1_000_000)
        return micros.cast(utc), np.zeros(len(local), np.bool_)
    early, late = (
        pc.assume_timezone(local, zone, ambiguous=which, nonexistent=which) for which in ("earliest", "latest")
    )
    unclear = pc.not_equal(early, late).fill_null(False).to_numpy(zero_copy_only=False)
    return early.cast(utc), unclear


def _offset(zone: str) -> int | None:
    """Seconds east of UTC, None if it is not an offset."""
    if zone.upper() in _UTC:
        return 0
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return None
    seconds = int(found[2]) * 3600 + int(found[3]) * 60
    return -seconds if found[1] == "-" else seconds
