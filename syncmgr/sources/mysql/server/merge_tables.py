"""MERGE tables, whose rows are those of MyISAM tables.

Owns: which of them show the rows of a table. What is written through one is in the binlog only under its name.
Must not know: jobs, what is done about it.
"""

from typing import Final

from pymysql import err

from mysqlddl.nodes import CreateTable
from mysqlddl.reading import Modes, read
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects.surroundings import MERGE
from syncmgr.sources.mysql.address import Connection, query
from syncmgr.sources.mysql.server.tables import quoted

CHILD_ENGINE: Final = "MyISAM"  # no other engine has rows for a MERGE table
BROKEN: Final = frozenset({1146, 1168})  # deleted meanwhile, or its tables do not fit, so it takes no writes
MODES: Final = Modes(mariadb=True)  # reads the options of both servers


def merging(connection: Connection, table: Table) -> list[Table]:
    """Those that show rows of a table, as far as the user sees them. Raises pymysql's errors and UnclearError."""
    text = "SELECT TABLE_SCHEMA db, TABLE_NAME tab FROM information_schema.TABLES WHERE ENGINE = %s"
    found = [(row["db"], row["tab"]) for row in query(connection, text, MERGE)]
    return [each for each in found if table in _merged(connection, each)]


def _merged(connection: Connection, table: Table) -> tuple[Table, ...]:
    try:
        definition = query(connection, f"SHOW CREATE TABLE {quoted(table)}")[0]["Create Table"]
    except err.MySQLError as error:
        if error.args and error.args[0] in BROKEN:
            return ()
        raise
    parsed = read(definition, table[0], MODES)
    return parsed.merged if isinstance(parsed, CreateTable) else ()
