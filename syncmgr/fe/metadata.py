"""The metadata of a frontend: opened, owned, given back.

Owns: which settings say where they are, the words of a failure to open them, what happens to a frontend that was
replaced.
Must not know: what is stored.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from syncmgr.config.settings import Settings
from syncmgr.errors import Code, SyncError
from syncmgr.fe.places import name_of
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.database.lease import Lease
from syncmgr.meta.store import Store

REPLACED: Final = 3  # exit status


class Metadata:
    """`take` and `close` once each."""

    def __init__(self, settings: Settings, lock: IO[Any]) -> None:
        """`lock`: of meta_dir. Raises META_FAILED."""
        self._settings, self._lock = settings, lock
        self.store = open_store(settings)
        self._lease = Lease(self.store.database, name_of(settings.folder("meta_dir")), _replaced)

    def take(self) -> None:
        """Raises META_OWNED, META_FAILED."""
        with _naming_failures(self._settings):
            self._lease.take()

    def close(self) -> None:
        self._lease.give_back()
        self.store.close()
        self._lock.close()


def _replaced() -> None:
    """Another frontend commits by now; JVM and workers end when their pipes break, and what they do is fenced."""
    os._exit(REPLACED)


def open_store(settings: Settings) -> Store:
    """Raises META_FAILED."""
    folder, url = settings.folder("meta_dir"), settings.text("meta_url")
    with _naming_failures(settings):
        timeout = settings.seconds("meta_timeout_second")
        return Store(url or sqlite_url(folder), Vault(folder / "secret.key"), timeout)


@contextmanager
def _naming_failures(settings: Settings) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, CommandError, ImportError, ValueError, OSError) as error:
        where = "meta_url" if settings.text("meta_url") else settings.folder("meta_dir")
        raise SyncError(Code.META_FAILED, where=where, reason=str(error).splitlines()[0]) from error
