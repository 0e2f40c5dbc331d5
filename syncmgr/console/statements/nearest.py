"""What somebody may have meant by a name that is not there.

Owns: which errors are about such a name, and among which names the nearest is looked for.
Must not know: sessions, statements; who may see what: it asks a house that names nothing to whom it is hidden.
"""

from contextlib import suppress

from syncmgr.config.settings import did_you_mean
from syncmgr.console.authorization import Authorized, AuthorizedCatalog
from syncmgr.errors import Code, SyncError


def with_nearest(error: SyncError, house: Authorized) -> SyncError:
    """The error, with the name that is like the one in it. Blocks."""
    with suppress(SyncError):  # what cannot be looked up is no reason for another error
        return error.saying(_hint(error, house))
    return error


def _hint(error: SyncError, house: Authorized) -> str:
    told = {name: str(value) for name, value in error.context.items()}
    match error.code:
        case Code.UNKNOWN_JOB:
            return did_you_mean(told["job"], [name for _, name in house.jobs.names(told["db"]).values()])
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
