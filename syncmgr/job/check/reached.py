"""A place of the source that a job has to reach before its target can be compared.

Owns: when it has.
Must not know: how both are found out.
"""

from dataclasses import dataclass

from syncmgr.job.freshness import Reading
from syncmgr.job.position import Order, Position, compare, has_passed, number_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """The end of the binlog, of a server, and a time of its clock after it."""

    position: Position
    at: float
    server: str

    def by(self, committed: Position, reading: Reading | None) -> bool:
        """Whether everything up to there is committed.

        A server that is quiet writes nothing after it, and its binlog may end with events that are in no transaction:
        then it is enough that it had nothing more at a later time of its own clock.
        """
        if has_passed(committed, self.position) and number_of(committed.file) >= number_of(self.position.file):
            return True  # a SELECT may have shown what is in the later file and does not count as executed yet
        if reading is None or not reading.drained or reading.server != self.server:
            return False
        order = compare(Position(gtids=committed.gtids), Position(gtids=self.position.gtids))
        return order in {Order.SAME, Order.AFTER} and reading.caught_up_at > self.at
