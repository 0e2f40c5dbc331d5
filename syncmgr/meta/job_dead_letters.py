"""The changes of one job that are kept out of its tables: how many there may be, and which are new.

Owns: their bound, which of them were already stored, what the log says of them.
Must not know: why a change is kept out, what is committed with it.
"""

import logging
import threading
from collections.abc import Callable, Mapping

from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import DeadLetter, DeadLetterBounds, not_known
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.sync_job import JobId
from syncmgr.meta.dead_letters import DeadLetters

log = logging.getLogger(__name__)


class JobDeadLetters:
    """Of one job. `name` of the job and `label` of a source table, by channel token: for the log.

    `reporting`: held from the check of what is known until what is new is stored: epochs and chunks come in parallel.
    """

    def __init__(
        self,
        stored: DeadLetters,
        job_id: JobId,
        most: Callable[[], DeadLetterBounds],
        name: str,
        label: Callable[[str], str],
    ) -> None:
        self._stored, self._job_id, self._most = stored, job_id, most
        self._name, self._label = name, label
        self.reporting = threading.Lock()

    def of_epoch(
        self, dead: tuple[DeadLetter, ...], end: Position | None, loads: Mapping[str, Load]
    ) -> tuple[DeadLetter, ...]:
        """Without those that a snapshot has reported, of tables for which the binlog delivers what it had seen.

        `end`: of the previous epoch. Raises DEAD_LETTERS_FULL.
        """
        repeated = {token for token, load in loads.items() if load.repeats(end)}
        known = (letter for epoch, letter in self._stored.of(self._job_id) if not epoch)
        return self._bounded(not_known(dead, (letter for letter in known if letter.token in repeated)))

    def of_chunk(self, dead: tuple[DeadLetter, ...]) -> tuple[DeadLetter, ...]:
        """A row that was kept out before is read again by RESYNC. Raises DEAD_LETTERS_FULL."""
        known = (letter for _, letter in self._stored.of(self._job_id, under_way=True)) if dead else ()
        return self._bounded(not_known(dead, known))

    def _bounded(self, dead: tuple[DeadLetter, ...]) -> tuple[DeadLetter, ...]:
        if dead:
            kept, size = self._stored.count(self._job_id), self._stored.bytes(self._job_id)
            self._most().refuse_more(dead, kept=kept, kept_bytes=size)
        return dead

    def report(self, dead: tuple[DeadLetter, ...]) -> None:
        """They are stored."""
        if dead:
            table = self._label(dead[0].token)
            log.warning("job %s: %d changes kept out, the first of %s: %s", self._name, len(dead), table, dead[0].text)
