"""What a server's settings mean for readers of its binlog.

Owns: the values that apply to one connection, and how they follow from the server's variables.
Must not know: sockets, events, tables.
"""

from dataclasses import dataclass
from typing import Final

from syncmgr.job.source_history.logged import without_replicated
from syncmgr.sources.mysql.server.server import Server

SESSION_DEFAULTS: Final = (10, 10)  # of MariaDB, the first version


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSettings:
    """What of a server's settings decides how its binlog is read."""

    #: as a position names it
    id: str = ""
    mariadb: bool = False
    by_gtid: bool = False
    #: its table maps have column names
    named: bool = False
    in_galera: bool = False
    #: it compares names of tables without case
    folds: bool = False
    #: it stores names of tables in lower case
    lowers: bool = False
    #: its explicit_defaults_for_timestamp, which applies if an event does not state that of the session
    explicit_defaults: bool = True
    #: each event states that of its session: those of MariaDB from 10.10 on
    session_defaults: bool = False
    #: what it calls its own time zone
    system_zone: str = ""
    #: its binlog has the rows that foreign keys change
    logs_cascades: bool = False
    #: as of Modes
    keys_beside: bool = True
    #: its binlog has all that it replicates
    logs_replicated: bool = True


def settings_of(server: Server) -> ServerSettings:
    """Queries the server for its time zone. Raises as `query` does."""
    variables = server.variables
    version = tuple(int(part) for part in variables["version"].split(".")[:2])
    return ServerSettings(
        id=server.id,
        mariadb=server.mariadb,
        by_gtid=server.by_gtid,
        named=server.full_metadata,
        in_galera=server.in_galera,
        folds=int(variables["lower_case_table_names"]) > 0,
        lowers=variables["lower_case_table_names"] == "1",
        # MySQL will drop the variable, and behave as if it were ON.
        explicit_defaults=variables.get("explicit_defaults_for_timestamp", "ON") == "ON",
        session_defaults=server.mariadb and version >= SESSION_DEFAULTS,
        system_zone=server.system_zone(),
        logs_cascades=server.logs_cascades,
        keys_beside=server.keys_beside,
        logs_replicated=without_replicated(variables) is None,
    )
