"""What may have been meant by a name that does not exist.

Owns: which errors are about such a name, and among which names the nearest is searched.
Must not know: sessions, statements; who may see what: it asks a catalog that hides what the caller may not see.
"""

from contextlib import suppress
from typing import Final

from syncmgr.config.settings import did_you_mean
from syncmgr.console.authorization import Authorized, AuthorizedCatalog
from syncmgr.errors import Code, SyncError

MOST_JOBS: Final = 3


def with_nearest(error: SyncError, house: Authorized) -> SyncError:
    """The error, with the name that resembles the one in it. Blocks."""
    with suppress(SyncError):  # a failed lookup is no reason for another error
        return error.saying(_hint(error, house))
    return error


def _hint(error: SyncError, house: Authorized) -> str:
    told = {name: str(value) for name, value in error.context.items()}
    match error.code:
        case Code.UNKNOWN_JOB:
            return _of_job(told["db"], told["job"], house)
        case Code.NO_DATABASE if "job" in told:
            return _elsewhere(told["job"], house) or did_you_mean(told["job"], _all_jobs(house))
        case Code.UNKNOWN_DATABASE:
            return did_you_mean(told["db"], house.catalog.databases())
        case Code.NO_SUCH_TABLE:
            return _of_table(told["db"], told["table"], house.catalog)
        case Code.UNKNOWN_TABLE:
            db, _, table = told["table"].partition(".")
            return _of_table(db, table, house.catalog)
        case _:
            return ""


def _of_table(db: str, table: str, catalog: AuthorizedCatalog) -> str:
    databases = catalog.databases()
    return did_you_mean(table, catalog.tables(db)) if db in databases else did_you_mean(db, databases)


def _of_job(db: str, name: str, house: Authorized) -> str:
    """The same name in another database is nearer than a similar name in this one."""
    here = [each for _, each in house.jobs.names(db).values()]
    return _elsewhere(name, house) or did_you_mean(name, here)


def _elsewhere(name: str, house: Authorized) -> str:
    there = [each for each in _all_jobs(house) if each.partition(".")[2].casefold() == name.casefold()]
    return f"; did you mean {', '.join(repr(each) for each in there[:MOST_JOBS])}?" if there else ""


def _all_jobs(house: Authorized) -> list[str]:
    return sorted(f"{db}.{name}" for db, name in house.jobs.names(None).values())
