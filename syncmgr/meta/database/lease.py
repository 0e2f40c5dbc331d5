"""One frontend at a time owns the metadata.

Owns: the owner's signs of life, and when one without them may be replaced.
Must not know: jobs, what an owner does.

Clocks are never compared: a frontend that wants to take over watches for signs of life by its own clock.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from syncmgr.errors import Code, SyncError
from syncmgr.meta.database.database import Database, Owner, reason_of

BEAT_SECOND: Final = 3.0
PATIENCE_SECOND: Final = 15.0
LOOK_SECOND: Final = 0.5

log = logging.getLogger(__name__)


class Lease:
    """Taken once, kept by a thread until it is given back or lost."""

    def __init__(
        self,
        database: Database,
        frontend: str,
        on_lost: Callable[[], None],
        *,
        beat_second: float = BEAT_SECOND,
        patience_second: float = PATIENCE_SECOND,
    ) -> None:
        """`frontend`: this one's name, the same after every restart. `on_lost`: another has taken over meanwhile."""
        self._database = database
        self._frontend = frontend
        self._on_lost = on_lost
        self._beat_second = beat_second
        self._patience_second = patience_second
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def take(self) -> None:
        """At once if it has no owner, or an earlier process of ours; otherwise once its owner has given no sign of life
        for long enough; then the metadata are of this program's version. Raises META_OWNED if the owner is alive.
        """
        while not self._database.take_over(self._frontend, self._free()):
            log.info("another frontend was faster")
        self._thread.start()
        self._database.migrate()

    def _free(self) -> Owner | None:
        """The owner that may be replaced."""
        seen = self._database.owner()
        if seen is None or seen.frontend == self._frontend:
            return seen
        end = time.monotonic() + self._patience_second
        while time.monotonic() < end:
            self._ended.wait(min(LOOK_SECOND, self._patience_second / 4))
            now = self._database.owner()
            if now is None:  # it was given back
                return None
            if now != seen:
                raise SyncError(Code.META_OWNED, owner=seen.frontend)
        return seen

    def _keep(self) -> None:
        answers = True
        while not self._ended.wait(self._beat_second):
            try:
                kept = self._database.beat(self._frontend)
            except SQLAlchemyError as error:  # no other frontend can take over through a database that does not answer
                if answers:
                    log.warning("the metadata cannot be written: %s", reason_of(error))
                answers = False
                continue
            if not answers:
                log.info("the metadata can be written again")
            answers = True
            if not kept:
                log.error("another frontend has taken over")
                self._on_lost()
                return

    def give_back(self) -> None:
        """The next frontend does not have to wait."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
            self._database.disown(self._frontend)
