"""Which tables a server has.

Owns: the queries about whole databases.
Must not know: what is done with the tables.
"""

from collections.abc import Sequence
from typing import Any, Final

from pymysql import err

from syncmgr.config.settings import did_you_mean
from syncmgr.job.channel.patterns import Found
from syncmgr.job.channel.table_pattern import matches
from syncmgr.job.ddl.ddl import Table
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures, query
from syncmgr.sources.mysql.server.tables import refuse_long_names

UNKNOWN_VARIABLE: Final = 1193
VERSIONED: Final = "SYSTEM VERSIONED"  # of MariaDB
KINDS: Final = ("BASE TABLE", VERSIONED)
NAMES: Final = "SELECT TABLE_NAME name FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s LIMIT 2000"  # not all


def found_on(address: MysqlAddress, patterns: Sequence[str]) -> dict[Table, Found]:
    """The visible tables, without views, of the databases that match one of these LIKE patterns; including refused
    ones: they must not be mistaken for synced.

    Raises SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED, SOURCE_TOO_LARGE.
    """
    connection = connect(address)
    try:
        with naming_failures(address):
            _ask_for_new_statistics(connection)
            databases = [db for db in _databases(connection) if any(matches(pattern, db) for pattern in patterns)]
            if not databases:
                return {}
            comments, tables = _comments(connection, databases), _tables(connection, databases)
            refuse_long_names(connection, (row[part] for row in tables for part in ("db", "name")))
            return {(row["db"], row["name"]): _found(row, comments) for row in tables}
    finally:
        connection.close()


def nearest(connection: Connection, table: Table) -> str:
    """A hint for a table that the server does not have: the one of the nearest name, or else the nearest database."""
    db, name = table
    found = query(connection, NAMES, db)
    if found:
        return did_you_mean(name, [row["name"] for row in found])
    return did_you_mean(db, _databases(connection)) or f"; it has no database '{db}', or no table there to see"


def _ask_for_new_statistics(connection: Connection) -> None:
    """MySQL's may be a day old; MariaDB's never are, and it does not have the variable."""
    try:
        query(connection, "SET SESSION information_schema_stats_expiry = 0")
    except err.MySQLError as error:
        if error.args[0] != UNKNOWN_VARIABLE:
            raise


def _databases(connection: Connection) -> list[str]:
    return [row["db"] for row in query(connection, "SELECT SCHEMA_NAME db FROM information_schema.SCHEMATA")]


def _tables(connection: Connection, databases: Sequence[str]) -> list[dict[str, Any]]:
    return query(
        connection,
        "SELECT TABLE_SCHEMA db, TABLE_NAME name, TABLE_ROWS row_count, DATA_LENGTH size, TABLE_COMMENT comment"
        " FROM information_schema.TABLES WHERE TABLE_SCHEMA IN %s AND TABLE_TYPE IN %s",
        tuple(databases),
        KINDS,
    )


def _comments(connection: Connection, databases: Sequence[str]) -> dict[Table, dict[str, str]]:
    """By table and column."""
    rows = query(
        connection,
        "SELECT TABLE_SCHEMA db, TABLE_NAME name, COLUMN_NAME col, COLUMN_COMMENT comment"
        " FROM information_schema.COLUMNS WHERE TABLE_SCHEMA IN %s AND COLUMN_COMMENT <> ''",
        tuple(databases),
    )
    comments: dict[Table, dict[str, str]] = {}
    for row in rows:
        comments.setdefault((row["db"], row["name"]), {})[row["col"]] = row["comment"]
    return comments


def _found(row: dict[str, Any], comments: dict[Table, dict[str, str]]) -> Found:
    return Found(
        db=row["db"],
        name=row["name"],
        rows=int(row["row_count"] or 0),
        bytes=int(row["size"] or 0),
        comment=row["comment"],
        comments=comments.get((row["db"], row["name"]), {}),
    )
