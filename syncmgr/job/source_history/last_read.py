"""The last transaction that was read, as every server of one history has it.

Owns: what distinguishes it from another transaction in its place, its stored form, the words for a difference.
Must not know: connections, how a server is queried for it.
"""

from dataclasses import dataclass, replace
from typing import Final

from syncmgr.job.failure import time_text
from syncmgr.job.position import GtidSet, MariadbGtids, parse_gtids

MICROS: Final = 1_000_000
WITHOUT: Final = "one without a GTID"
PARTED: Final = "the server was restored, or has parted from the one that was read"


@dataclass(frozen=True, slots=True)
class LastRead:
    """`gtid`: uuid:number, uuid:tag:number or domain-server-number; "" if it has none. `committed`: when its first
    server committed it, which replicas keep: unix time in microseconds for MySQL, in seconds for MariaDB, 0 if not
    known. `file`, `begin`: where it begins in the binlog of the server that was read; "" if not known.
    """

    gtid: str
    committed: int
    file: str = ""
    begin: int = 0

    def __str__(self) -> str:
        """As a position stores it."""
        place = f"@{self.begin}@{self.file}" if self.file else ""
        return f"{self.gtid}@{self.committed}{place}"

    @classmethod
    def parse(cls, stored: str) -> "LastRead | None":
        """None for "": no transaction was read yet, or an older version of this program read it."""
        if not stored:
            return None
        gtid, committed, *place = stored.split("@", 3)
        return cls(gtid, int(committed), place[1], int(place[0])) if place else cls(gtid, int(committed))

    def elsewhere(self) -> "LastRead":
        """As another server has it, whose files are others."""
        return replace(self, file="", begin=0)

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
        return (
            f"in the place of {read.gtid or WITHOUT}, which the job has read, it has {found.gtid or WITHOUT}: {PARTED}"
        )
    if not read.committed or not found.committed or read.committed == found.committed:
        return None
    named, same = (read.gtid, "number") if read.gtid else (f"at {read.file}:{read.begin}", "place")
    return (
        f"the transaction {named} which the job has read was committed at {_shown(read)}, the one of that {same} "
        f"there at {_shown(found)}: {PARTED}"
    )


def nothing_there(read: LastRead) -> str:
    """Why a server has another history where no transaction begins in the place of one that was read."""
    return f"no transaction begins at {read.file}:{read.begin}, where the job has read one: {PARTED}"


def _shown(transaction: LastRead) -> str:
    """To the second, or to the microsecond if it has them."""
    is_mysql = "-" not in transaction.gtid or ":" in transaction.gtid
    seconds, micros = divmod(transaction.committed, MICROS) if is_mysql else (transaction.committed, 0)
    return time_text(seconds) + (f".{micros:06}" if is_mysql else "")
