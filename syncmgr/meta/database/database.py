"""The database of the metadata, and its owner.

Owns: transactions, that none of a former owner is stored, which errors failures of the database are.
Must not know: what is stored in it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, inspect, select, update
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, InternalError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from syncmgr.errors import Code, SyncError
from syncmgr.meta.database import versions
from syncmgr.meta.database.engine import engine_of, refuse_unfit
from syncmgr.meta.tables import OWNER


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A frontend, and how often it has given a sign of life."""

    frontend: str
    beat: int


class Database:
    """Safe to use from any thread. Each `reading` and `writing` is one transaction."""

    def __init__(self, url: str, timeout: float | None = None) -> None:
        """`timeout`: seconds that the database's server may take to answer; None: as long as its driver allows."""
        self._url, self.engine = url, engine_of(url, timeout)
        self._frontend: str | None = None  # its owner, once that matters
        try:
            self._prepare()
        except BaseException:
            self.engine.dispose()
            raise

    def _prepare(self) -> None:
        """Makes its owner readable, whatever version it has. Raises META_CHARSET, META_PACKET, META_NEWER."""
        refuse_unfit(self.engine)
        versions.refuse_newer(self.engine)
        try:
            OWNER.create(self.engine, checkfirst=True)
        except SQLAlchemyError:  # another one has created it since we looked
            if not inspect(self.engine).has_table(OWNER.name):
                raise

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Raises META_DOWN."""
        with _naming_failures(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, which a takeover waits for or refuses. Raises META_OWNED, META_GIVEN_BACK, META_DOWN."""
        with _naming_failures(), self.engine.begin() as connection:
            self._hold(connection)
            yield connection

    def owner(self) -> Owner | None:
        """Which frontend has it, or had it last."""
        with self.engine.connect() as connection:
            row = connection.execute(select(OWNER)).first()
        return None if row is None else Owner(frontend=row.frontend, beat=row.beat)

    def take_over(self, frontend: str, seen: Owner | None) -> bool:
        """Whether it is ours now; False if the owner is not the one that was seen. Raises META_NEWER."""
        versions.refuse_newer(self.engine)  # the owner may have brought it there since we looked
        if seen is None:
            taken = self._is_first(frontend)
        else:
            this = (OWNER.c.frontend == seen.frontend) & (OWNER.c.beat == seen.beat)
            with self.engine.begin() as connection:
                changed = connection.execute(update(OWNER).where(this).values(frontend=frontend, beat=seen.beat + 1))
            taken = changed.rowcount == 1
        if taken:
            self._frontend = frontend
        return taken

    def _is_first(self, frontend: str) -> bool:
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(OWNER).values(id=1, frontend=frontend, beat=0))
        except IntegrityError:
            return False
        return True

    def migrate(self) -> None:
        """Upgrades to this program's version. Only by the owner, whose signs of life go on meanwhile. Raises META_OWNED
        if another has taken over.
        """
        self.hold()
        patient = engine_of(self._url)  # a server may need longer for a step than for an answer
        try:
            versions.migrate(patient, between=self._hold_beside)
        finally:
            patient.dispose()

    def _hold_beside(self, migrating: Connection) -> None:
        """SQLite has one writer at a time: a frontend that waits for that to take over learns here that we are
        alive.
        """
        if migrating.dialect.name == "sqlite":
            self._hold(migrating)
        else:
            self.hold()

    def beat(self, frontend: str) -> bool:
        """A sign of life; False where it belongs to another."""
        with self.engine.begin() as connection:
            return _beat(connection, frontend)

    def disown(self, frontend: str) -> None:
        """It is free at once, and late writes are refused."""
        with self.engine.begin() as connection:
            connection.execute(delete(OWNER).where(OWNER.c.frontend == frontend))

    def _hold(self, connection: Connection) -> None:
        if self._frontend is not None and not _beat(connection, self._frontend):
            raise _lost(connection.execute(select(OWNER.c.frontend)).scalar())

    def hold(self) -> None:
        """What was read is still valid if no other frontend has taken over since. Raises META_OWNED, META_GIVEN_BACK,
        META_DOWN.
        """
        with self.writing():
            pass


@contextmanager
def _naming_failures() -> Iterator[None]:
    """Transient errors: a database that is unavailable, locked, full or read-only, which PostgreSQL reports as an
    internal error; and permanent ones: a value that it rejects.
    """
    try:
        yield
    except (DataError, IntegrityError) as error:
        raise SyncError(Code.META_UNFIT, reason=reason_of(error)) from error
    except (OperationalError, InterfaceError, InternalError, PoolTimeoutError) as error:
        raise SyncError(Code.META_DOWN, reason=reason_of(error)) from error


def reason_of(error: SQLAlchemyError) -> str:
    """What the driver says, without the statement and its values."""
    return str(error).splitlines()[0]


def _lost(owner: str | None) -> SyncError:
    """`owner`: the one that has it instead."""
    return SyncError(Code.META_GIVEN_BACK) if owner is None else SyncError(Code.META_OWNED, owner=owner)


def _beat(connection: Connection, frontend: str) -> bool:
    beaten = update(OWNER).where(OWNER.c.frontend == frontend).values(beat=OWNER.c.beat + 1)
    return connection.execute(beaten).rowcount == 1
