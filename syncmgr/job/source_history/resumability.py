"""Whether a server has what follows a position, and whether it is still the history that was read.

Owns: what GTIDs that are missing on either side mean, what recreated binlog files mean, in words.
Must not know: connections, how the server was queried.
"""

from collections.abc import Mapping
from typing import Final

from syncmgr.job.failure import time_text
from syncmgr.job.position import GtidSet, Position, number_of

SHOWN: Final = 300  # characters of a GTID set in a message
BEGUN_ANEW: Final = "the server was reset, restored or replaced"
SHORTER: Final = "the server has lost the end of its binlog, or was restored"
UNTIL_READ: Final = "RESUME, and set it back once the job has caught up"
WITHOUT_GTID: Final = (
    "transactions without a GTID come after the position of the job, and a server whose gtid_mode is ON does not send "
    f"them; SET GLOBAL gtid_mode = ON_PERMISSIVE, {UNTIL_READ}"
)
WITH_GTID: Final = (
    "transactions with a GTID come after the position of the job, and a server whose gtid_mode is "
    "OFF does not send them; "
    f"SET GLOBAL gtid_mode = OFF_PERMISSIVE, {UNTIL_READ}"
)


def why_not_resumable(read: GtidSet, executed: GtidSet, purged: GtidSet) -> str | None:
    """Why a server cannot continue after what was read; None: it can.

    `executed`: every transaction that it knows. `purged`: those of them that its binlog no longer has.
    """
    unknown = read.subtract(executed)
    if unknown:
        return (
            f"the job has read {_shown(unknown)}, which that server never executed; it was restored, replaced, or has "
            f"parted from the others (it has {_shown(executed)})"
        )
    missing = purged.subtract(read)
    if missing:
        return f"the binlog of {_shown(missing)} was purged before the job had read it"
    return None


def other_history(read: Position, sizes: Mapping[str, int], created: int) -> str | None:
    """Why the server of a position has begun another history since; None: it has not, or that can no longer be decided.

    A restored server gives the numbers of lost transactions to new ones, so its GTIDs cannot show it. `sizes`: of its
    binlog files. `created`: the unix second in which the position's file was created there, 0 if that does not exist.
    """
    if not read.created or not read.file:
        return None
    if read.file not in sizes:
        return _without_file(read.file, sizes)
    if created != read.created:
        return (
            f"the binlog file {read.file} was made at {time_text(created)}, the one of that name which the job has "
            f"read at {time_text(read.created)}: {BEGUN_ANEW}"
        )
    if sizes[read.file] < read.offset:
        return (
            f"the binlog file {read.file} ends at {sizes[read.file]}, the job has read it to {read.offset}: {SHORTER}"
        )
    return None


def _without_file(file: str, sizes: Mapping[str, int]) -> str | None:
    """Numbers only grow and the oldest files are purged first. Files with another base name cannot be compared."""
    base, number = number_of(file)
    numbers = {name: found for name in sizes for of, found in [number_of(name)] if of == base}
    if not numbers or max(numbers.values()) > number:
        return None
    newest = max(numbers, key=numbers.__getitem__)
    return f"the job has read the binlog file {file}, and the newest one is {newest}: {BEGUN_ANEW}"


def unsent(refusal: str) -> str:
    """What it means that a server does not send transactions of the kind that its gtid_mode excludes."""
    return WITH_GTID if "GTID-transaction" in refusal else WITHOUT_GTID


def left_out_for_good(file: str) -> str:
    """For transactions that no place leads to: the job's own file no longer exists, and its GTIDs do not cover them."""
    return (
        f"transactions without a GTID stand in {file}, which the server leaves out, and the binlog file of the job was "
        "purged, so that it cannot be read on from there either"
    )


def _shown(gtids: GtidSet) -> str:
    text = str(gtids) or "nothing"
    return text if len(text) <= SHOWN else text[:SHOWN] + " ..."
