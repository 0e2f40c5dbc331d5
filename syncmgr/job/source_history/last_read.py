"""The last transaction that was read, as every server of one history has it.

Owns: what distinguishes it from another transaction with the same GTID, its stored form, the words for a difference.
Must not know: connections, how a server is queried for it.
"""

from dataclasses import dataclass
from typing import Final

from syncmgr.job.failure import time_text
from syncmgr.job.position import GtidSet, MariadbGtids, parse_gtids

MICROS: Final = 1_000_000
PARTED: Final = "the server was restored, or has parted from the one that was read"


@dataclass(frozen=True, slots=True)
class LastRead:
    """`gtid`: uuid:number, uuid:tag:number or domain-server-number. `committed`: when its first server committed it,
    which replicas keep: unix time in microseconds for MySQL, in seconds for MariaDB, 0 if not known.
    """

    gtid: str
    committed: int

    def __str__(self) -> str:
        """As a position stores it."""
        return f"{self.gtid}@{self.committed}"

    @classmethod
    def parse(cls, stored: str) -> "LastRead | None":
        """None for "": no transaction with a GTID was read yet, or an older version of this program read it."""
        gtid, _, committed = stored.partition("@")
        return cls(gtid, int(committed)) if stored else None

    def place_before(self, executed: GtidSet | MariadbGtids) -> GtidSet | MariadbGtids:
        """The position from which a server that has `executed` sends this transaction first."""
        mine = parse_gtids(self.gtid)
        match executed, mine:
            case GtidSet(), GtidSet():
                return executed.subtract(mine)
            case MariadbGtids(), MariadbGtids():
                places = dict(executed.items())
                for domain, (server, sequence) in mine.items():
                    places.pop(domain, None)
                    if sequence > 1:
                        places[domain] = server, sequence - 1
                return MariadbGtids(places)
        raise ValueError(f"{self.gtid} is not of the same kind as {executed}")

    def replaces(self, gtid: str) -> bool:
        """Whether a server that sends this other transaction first lacks this one: MySQL sends only what is missing,
        MariaDB what follows in each domain.
        """
        if ":" in self.gtid:
            return True
        (domain, _, number), (other_domain, _, other) = self.gtid.split("-"), gtid.split("-")
        return domain == other_domain and int(other) >= int(number)


def other_transaction(read: LastRead, found: LastRead) -> str | None:
    """Why a server that has `found` instead of `read` has another history; None: nothing indicates that.

    A restored server gives the numbers of lost transactions to new ones, and so do its replicas.
    """
    if read.gtid != found.gtid:
        return f"in the place of {read.gtid}, which the job has read, it has {found.gtid}: {PARTED}"
    if not read.committed or not found.committed or read.committed == found.committed:
        return None
    return (
        f"the transaction {read.gtid} which the job has read was committed at {_shown(read)}, the one of that number "
        f"there at {_shown(found)}: {PARTED}"
    )


def _shown(transaction: LastRead) -> str:
    """To the second, or to the microsecond if it has them."""
    is_mysql = ":" in transaction.gtid
    seconds, micros = divmod(transaction.committed, MICROS) if is_mysql else (transaction.committed, 0)
    return time_text(seconds) + (f".{micros:06}" if is_mysql else "")
