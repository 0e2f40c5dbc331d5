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
    """`id`: as a position names it. `named`: its table maps have column names. `folds`: it compares names of tables
    without case; `lowers`: it stores them in lower case. `explicit_defaults`: its explicit_defaults_for_timestamp,
    which applies if an event does not state that of the session; `session_defaults`:
    those of a MariaDB do. `system_zone`: what it calls its own time zone. `logs_cascades`: its binlog has the rows that
    foreign keys change; `keys_beside`: as of Modes. `logs_replicated`: its binlog has all that it replicates.
    """

    id: str = ""
    mariadb: bool = False
    by_gtid: bool = False
    named: bool = False
    in_galera: bool = False
    folds: bool = False
    lowers: bool = False
    explicit_defaults: bool = True
    session_defaults: bool = False
    system_zone: str = ""
    logs_cascades: bool = False
    keys_beside: bool = True
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
