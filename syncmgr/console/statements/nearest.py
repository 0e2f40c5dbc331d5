"""What may have been meant by a name that does not exist.

Owns: which errors are about such a name, among which names the nearest is searched, where a property belongs.
Must not know: sessions, statements; who may see what: it asks a catalog that hides what the caller may not see.
"""

import difflib
from contextlib import suppress
from functools import cache
from typing import Final

from syncmgr.config.settings import LONGEST_NAME, SETTINGS, did_you_mean
from syncmgr.console.authorization.authorized import Authorized
from syncmgr.errors import Code, SyncError
from syncmgr.job.job_properties import JOB_PROPERTIES, PROPERTIES
from syncmgr.job.source import BINLOG
from syncmgr.lake.registry import FORMAT
from syncmgr.sources.registry import KINDS

MOST_JOBS: Final = 3
CONF: Final = "conf/fe.conf, for all jobs"
FIXED: Final = "; ALTER SYNC JOB ... SET SOURCE changes how a source is reached, the rest is that of another job"
OTHER_LAKE: Final = (
    "; the metadata has sync jobs of it: unless they were stopped, lake_dir in conf/fe.conf, or the catalog of "
    "spark.sql.catalog.lake, is not that of these jobs: set it right and restart the frontend"
)
OF_REPLICA: Final = frozenset({"snapshot.port", "snapshot.user", "snapshot.password"})


def with_nearest(error: SyncError, house: Authorized) -> SyncError:
    """The error, with the name that resembles the one in it. Blocks."""
    if error.code is Code.PROPERTY_UNKNOWN:
        return at_home(error)
    with suppress(SyncError):  # a failed lookup is no reason for another error
        return error.saying(_hint(error, house))
    return error


def _hint(error: SyncError, house: Authorized) -> str:
    context = {name: str(value) for name, value in error.context.items()}
    match error.code:
        case Code.UNKNOWN_JOB:
            return _of_job(context["db"], context["job"], house)
        case Code.NO_DATABASE if "job" in context:
            return _elsewhere(context["job"], house) or did_you_mean(context["job"], _all_jobs(house))
        case Code.UNKNOWN_DATABASE:
            return did_you_mean(context["db"], house.catalog.databases()) or _of_another_lake(context["db"], house)
        case Code.NO_SUCH_TABLE:
            return _of_table(context["db"], context["table"], house)
        case Code.UNKNOWN_TABLE:
            db, _, table = context["table"].partition(".")
            return _of_table(db, table, house)
        case _:
            return ""


def at_home(error: SyncError) -> SyncError:
    """That about an unknown property, with where it belongs, or where the one that resembles it most does."""
    name, where = str(error.context["name"]), str(error.context["where"])
    homes = [home for home, names in _homes().items() if name in names]
    if len(name) > LONGEST_NAME:
        return error
    if where == BINLOG and name in OF_REPLICA:
        hint = "; snapshot.host takes host:port, and is read with the user and the password of the source"
    elif homes:
        fixed = where == PROPERTIES and homes[0].startswith(BINLOG)
        hint = f"; it belongs in {' or '.join(homes)}{FIXED if fixed else ''}"
    else:
        hint = _near_home(name, where)
    return SyncError(error.code, **(error.context | {"hint": hint or error.context["hint"]}))


def _near_home(name: str, where: str) -> str:
    """Empty: the nearest name belongs where it was looked for, or there is none."""
    folded = {each.casefold(): each for names in _homes().values() for each in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    homes = [home for home, names in _homes().items() if near and folded[near[0]] in names]
    if not homes or any(home.startswith(where) for home in homes):
        return ""
    return f"; did you mean '{folded[near[0]]}', which belongs in {' or '.join(homes)}?"


@cache
def _homes() -> dict[str, list[str]]:
    """The names of all properties, by where they belong."""
    binlog = {f'{BINLOG} with "type" = "{kind}"': [p.name for p in KINDS[kind].properties] for kind in KINDS}
    of_jobs = [*(p.name for p in JOB_PROPERTIES), *(s.name for s in SETTINGS if s.job)]
    others = [s.name for s in SETTINGS if not s.job]
    return {**binlog, f"{PROPERTIES} of the job": of_jobs, "CREATE TABLE": list(FORMAT.properties), CONF: others}


def _of_table(db: str, table: str, house: Authorized) -> str:
    databases = house.catalog.databases()
    if db in databases:
        return did_you_mean(table, house.catalog.tables(db))
    return did_you_mean(db, databases) or _of_another_lake(db, house)


def _of_another_lake(db: str, house: Authorized) -> str:
    """Where there are jobs of a database that is not there."""
    return OTHER_LAKE if house.jobs.names(db) else ""


def _of_job(db: str, name: str, house: Authorized) -> str:
    """The same name in another database is nearer than a similar name in this one."""
    here = [each for _, each in house.jobs.names(db).values()]
    return _elsewhere(name, house) or did_you_mean(name, here)


def _elsewhere(name: str, house: Authorized) -> str:
    there = [each for each in _all_jobs(house) if each.partition(".")[2].casefold() == name.casefold()]
    return f"; did you mean {', '.join(repr(each) for each in there[:MOST_JOBS])}?" if there else ""


def _all_jobs(house: Authorized) -> list[str]:
    return sorted(f"{db}.{name}" for db, name in house.jobs.names(None).values())
