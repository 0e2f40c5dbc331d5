"""What privileges the user of a job lacks on a server, all of them at once.

Owns: the queries that show it, and the GRANT that gives it.
Must not know: jobs, what a privilege is used for.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pymysql import err

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.sources.mysql.address import Connection, MysqlAddress, query
from syncmgr.sources.mysql.server.tables import quoted

NO_SUCH: Final = frozenset({1049, 1146})  # database, table
LOCK_TIMEOUT: Final = 1205
LOCK_PASSING: Final = NO_SUCH | {LOCK_TIMEOUT}
ACCESS_DENIED: Final = 1044
SELECT_DENIED: Final = frozenset({ACCESS_DENIED, 1142, 1143})
LOCK_DENIED: Final = frozenset({ACCESS_DENIED, 1142, 1227})
TABLE: Final = ("database", "table")
SELECT: Final = "SELECT"
LOCK_TABLES: Final = "LOCK TABLES"
REPLICATION_SLAVE: Final = "REPLICATION SLAVE"


@dataclass(frozen=True, slots=True)
class Lacking:
    """A privilege, and where it is missing: on everything, a database, or a table of one."""

    privilege: str
    on: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.privilege} on {'.'.join(self.on)}" if self.on else self.privilege

    @property
    def level(self) -> str:
        named = quoted(self.on)
        return named if len(self.on) == len(TABLE) else f"{named or '*'}.*"


def remedy(lacking: Iterable[Lacking], account: str) -> str:
    """What to type: MySQL takes one GRANT for each level."""
    levels: dict[str, list[str]] = {}
    for each in lacking:
        levels.setdefault(each.level, []).append(each.privilege)
    return "; ".join(f"GRANT {', '.join(each)} ON {level} TO {_typed(account)}" for level, each in levels.items())


def _typed(account: str) -> str:
    name, _, host = account.rpartition("@")
    return f"'{name}'@'{host}'"


def grants_missing(address: MysqlAddress, connection: Connection, lacking: Iterable[Lacking]) -> SyncError:
    """One error for all of them, without a repetition."""
    lacking = list(dict.fromkeys(lacking))
    [row] = query(connection, "SELECT CURRENT_USER() account")
    return SyncError(
        Code.SOURCE_GRANT_MISSING,
        account=_typed(row["account"]),
        user=address.user,
        grant=", ".join(each.shown for each in lacking),
        address=address.label,
        remedy=remedy(lacking, row["account"]),
    )


def unreadable(connection: Connection, tables: Sequence[Table]) -> list[Table]:
    """Those on which SELECT is missing. A table that does not exist is not among them."""
    asked = {table: f"SELECT 1 FROM {quoted(table)} LIMIT 0" for table in tables}  # noqa: S608 - quoted
    return [table for table, text in asked.items() if _is_denied(connection, text, SELECT_DENIED, NO_SUCH)]


def unlockable(address: MysqlAddress, connection: Connection, tables: Sequence[Table]) -> list[Table]:
    """Those on which LOCK TABLES is missing. A transaction that has one locked now says nothing about the grant."""
    query(connection, f"SET SESSION lock_wait_timeout = {address.locking.wait}")
    return [table for table in tables if _is_unlockable(connection, table)]


def _is_unlockable(connection: Connection, table: Table) -> bool:
    try:
        return _is_denied(connection, f"LOCK TABLES {quoted(table)} READ", LOCK_DENIED, LOCK_PASSING)
    finally:
        query(connection, "UNLOCK TABLES")


def _is_denied(connection: Connection, text: str, denied: Collection[int], passed_by: Collection[int]) -> bool:
    try:
        query(connection, text)
    except err.MySQLError as error:
        number = error.args[0] if error.args else 0
        if number not in {*denied, *passed_by}:
            raise
        return number in denied
    return False
