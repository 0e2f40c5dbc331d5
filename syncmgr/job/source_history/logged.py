"""Whether the binlog of a server contains everything that changes on it.

Owns: what is required of a server's settings; what settings that leave something out of a binlog mean, in words.
Must not know: connections, how the server was queried.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code

UPDATES: Final = ("log_replica_updates", "log_slave_updates")  # the newer name first: MySQL 8.0.26 has both
SKIPS: Final = ("replica_skip_errors", "slave_skip_errors")
OFF: Final = "OFF"
WHOLE_JSON: Final = "binlog_row_value_options must be '' on the server, and in the session that wrote it"
FILTER: Final = "Replicate_"  # how the columns of SHOW REPLICA STATUS begin that name a filter


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a job requires of one setting. Anything but `wanted` is refused with `code`, if it `matters`.

    `at_connect`: checked whenever a job connects, since a failover may lead to another server; otherwise only by CREATE
    SYNC and ADD TABLE.
    """

    setting: str
    wanted: str
    code: Code
    why: str
    matters: str = "always"
    at_connect: bool = False


PLAIN: Final = (  # one variable each; a server without it behaves as wanted
    Asked(setting="log_bin", wanted="ON", code=Code.SOURCE_BINLOG_OFF, why="changes come from the binlog"),
    Asked(setting="binlog_format", wanted="ROW", code=Code.SOURCE_NOT_ROW, why="a statement does not say which rows"),
    Asked(setting="binlog_row_image", wanted="FULL", code=Code.SOURCE_ROW_IMAGE, why="rows must come whole"),
    Asked(
        setting="binlog_row_value_options",
        wanted="",
        code=Code.SOURCE_UNSUPPORTED,
        why="partial JSON updates; SET GLOBAL binlog_row_value_options = ''",
    ),
)
_UNLOGGED: Final = "what is replicated and not logged is in no binlog of the server"
ASKED: Final = (
    *PLAIN,
    Asked(
        setting=", ".join(UPDATES),
        wanted="ON",
        code=Code.SOURCE_UNLOGGED,
        why=_UNLOGGED,
        matters="the server replicates from another one, even if that is stopped; or wsrep_on is ON",
        at_connect=True,
    ),
    Asked(
        setting="binlog_do_db, binlog_ignore_db",
        wanted="",
        code=Code.SOURCE_FILTERED,
        why="rows of filtered databases, and DDL of sessions that are in one, are not logged",
        at_connect=True,
    ),
    Asked(
        setting=", ".join(SKIPS),
        wanted=OFF,
        code=Code.REPLICA_FILTERED,
        why="changes that failed there are left out, and count as executed",
        matters="the replica of snapshot.host",
    ),
    Asked(
        setting="replicate_*",
        wanted="",
        code=Code.REPLICA_FILTERED,
        why="changes that a filter leaves out count as executed there",
        matters="the replica of snapshot.host",
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Heeded:
    """A setting that is accepted as it is, and what a job does if it has this value."""

    setting: str
    value: str
    servers: str
    does: str


HEEDED: Final = (
    Heeded(
        setting="gtid_mode",
        value="OFF, OFF_PERMISSIVE, ON_PERMISSIVE",
        servers="MySQL",
        does="reads by file and offset, only from this one server; CREATE SYNC, ADD TABLE and RESYNC TABLE lock a "
        "table for a moment before its rows are read",
    ),
    Heeded(
        setting="binlog_row_metadata",
        value="MINIMAL, NO_LOG",
        servers="MySQL, MariaDB",
        does="warns at CREATE SYNC and ADD TABLE (20163); reads rows by the stored columns, which it compares with "
        "those of the server every source_schema_check_second, and with the first names that arrive; refuses a start "
        "at an older position",
    ),
    Heeded(
        setting="explicit_defaults_for_timestamp",
        value="OFF",
        servers="MySQL, MariaDB",
        does="treats a TIMESTAMP as NOT NULL, with the server's defaults; the session's value counts if the binlog "
        "has it",
    ),
    Heeded(
        setting="sql_mode",
        value="not strict",
        servers="MySQL, MariaDB",
        does="stops at a statement whose conversions such a session does not refuse; the session's value counts",
    ),
    Heeded(
        setting="system_time_zone",
        value="of a session with time_zone = SYSTEM",
        servers="MySQL, MariaDB",
        does="computes local times of a statement in it if it is the name of one zone; else stops at the statement",
    ),
    Heeded(
        setting="lower_case_table_names",
        value="1, 2",
        servers="MySQL, MariaDB",
        does="compares names of databases and tables case-insensitively",
    ),
    Heeded(
        setting="innodb_native_foreign_keys",
        value="ON, or absent",
        servers="MySQL before 9.6, MariaDB",
        does="refuses tables that a foreign key changes (20135), unless unlogged_cascades is accept",
    ),
    Heeded(
        setting="wsrep_on",
        value="ON",
        servers="Galera",
        does="treats the server as one that replicates, and its files as no evidence of its history",
    ),
    Heeded(
        setting="wsrep_gtid_mode",
        value="OFF",
        servers="MariaDB with Galera",
        does="reads only one node: several hosts are refused (20010), and so is the GTID of another node (20107)",
    ),
)

_NEUTRAL: Final = ("binlog_checksum", "server_id", "server_uuid", "version")  # any value will do
# What a server is queried for: so only what is in the tables above, and those of the docs, is taken into account. # It
# gives no answer for names that are not its variables.
VARIABLES: Final = (*_NEUTRAL, *(name for row in (*ASKED, *HEEDED) for name in row.setting.split(", ")))


def refusal(variables: Mapping[str, str]) -> tuple[Asked, str] | None:
    """The first unacceptable setting, and its value."""
    values = ((asked, variables.get(asked.setting, asked.wanted)) for asked in PLAIN)
    return next(((asked, value) for asked, value in values if value != asked.wanted), None)


def without_replicated(variables: Mapping[str, str]) -> str | None:
    """The variable that makes a server leave out what comes from other servers; None: it does not."""
    return next((name for name in UPDATES if variables.get(name) == "OFF"), None)


def why_not_shared(variables: Mapping[str, str], *, by_gtid: bool) -> str | None:
    """Why the GTIDs of a server cannot be used on another one; None: they can. `by_gtid`: all that it writes has them.

    A node of MariaDB's Galera assigns its own numbers to what all nodes commit, unless configured to share them.
    """
    if not by_gtid:
        return "a job goes from one server to another by GTID alone, and gtid_mode is not ON"
    if variables.get("wsrep_on") == "ON" and variables.get("wsrep_gtid_mode", "ON") != "ON":
        return (
            "a job goes from one node of Galera to another by GTID alone, and each has its own while wsrep_gtid_mode "
            "is not ON"
        )
    return None


def unapplied(replication: Iterable[Mapping[str, object]], variables: Mapping[str, str]) -> str | None:
    """What lets a replica count transactions as executed that it has not fully applied; None: nothing.

    `replication`: the answer of SHOW REPLICA STATUS, a row for each channel.
    """
    rules = {(name, value) for row in replication for name, value in row.items() if name.startswith(FILTER) and value}
    passed = {(name, variables.get(name, OFF)) for name in SKIPS}
    found = rules | {(name, value) for name, value in passed if value != OFF}
    return ", ".join(sorted(f"{name}: {value}" for name, value in found)) or None


def left_out(only: str, without: str) -> str | None:
    """What a database filter leaves out; None: there is none.

    `only`: of binlog_do_db, `without`: of binlog_ignore_db, as the server prints them. Rows are filtered by the
    database of their table, statements by that of their session. So a session in a filtered database may TRUNCATE or
    ALTER any table unlogged, and no filter is harmless: some database is always filtered.
    """
    if only:
        where = f"any other database than {only} (binlog_do_db)"
    elif without:
        where = f"the databases {without} (binlog_ignore_db)"
    else:
        return None
    return f"it leaves out the rows of {where}, and what a session that is in one does by DDL to a table anywhere"
