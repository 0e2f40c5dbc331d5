"""Whether a server has what lies behind a position.

Owns: what GTIDs that are missing on either side mean, in words.
Must not know: connections, how the server was asked.
"""

from typing import Final

from syncmgr.job.position import GtidSet

SHOWN: Final = 300  # characters of a GTID set in a message


def gap(read: GtidSet, executed: GtidSet, purged: GtidSet) -> str | None:
    """Why a server cannot go on behind what was read; None: it can.

    `executed`: every transaction that it knows. `purged`: those of them that its binlog has no longer.
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


def _shown(gtids: GtidSet) -> str:
    text = str(gtids) or "nothing"
    return text if len(text) <= SHOWN else text[:SHOWN] + " ..."
