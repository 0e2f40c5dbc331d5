"""Where in a source's history a job stands.

Owns: GTID sets, positions, their order and their text forms.
Must not know: connections, sources, jobs.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """Everything up to here has been read.

    `gtids`: the executed set in canonical text, MySQL's (uuid[:tag]:1-5,...) or MariaDB's (domain-server-seq,...); "" where the
    server has none. `file`, `offset`: the binlog coordinate behind the last transaction. `ordinal`: change rows of the open
    transaction already taken (torn canal epochs only). `server`: server uuid, or MariaDB's server id. `created`: unix seconds
    at which the binlog file was made, 0 where unknown.
    """

    gtids: str = ""
    file: str = ""
    offset: int = 0
    ordinal: int = 0
    server: str = ""
    created: int = 0
