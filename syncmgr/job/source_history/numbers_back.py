"""MariaDB's sequence numbers that go backwards within a domain, which gtid_strict_mode = OFF allows.

Owns: whether the number of a transaction and its place in the binlog contradict each other, and the words for it.
Must not know: connections, tables, streams.
"""

from syncmgr.job.position import MariadbGtids, Order, Position


def contradiction(gtid: tuple[int, int, int], last: MariadbGtids, lies: Order, here: Position) -> str | None:
    """Why it cannot be known whether a transaction is before a place or after it; None: its number shows it.

    `gtid`: domain, server, sequence. `last`: the GTIDs of that place. `lies`: how `here`, where the transaction ends,
    relates to it by file and offset, which are those of one history of one server, or INCOMPARABLE. The number alone
    would leave out later rows with lower numbers; the offset alone would, after a RESET, leave out those of another
    history.
    """
    domain, server, sequence = gtid
    of_domain = dict(last.items()).get(domain)
    if of_domain is None or lies is Order.INCOMPARABLE or last.has(domain, sequence) is (lies is not Order.AFTER):
        return None
    side, number = ("behind", "higher") if lies is Order.AFTER else ("before", "lower")
    return (
        f"{domain}-{server}-{sequence} ends {side} {domain}-{of_domain[0]}-{of_domain[1]} in its binlog, at "
        f"{here.file}:{here.offset}, and its number is not {number}"
    )
