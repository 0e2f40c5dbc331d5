"""The variables of one session.

Owns: names, defaults and kinds of the system variables that clients query; values set in this session.
Must not know: SQL, packets. Nothing here changes the frontend: that is ADMIN SET FRONTEND CONFIG.
"""

import socket
from collections.abc import Mapping
from typing import Final

from syncmgr.console.limits import Limits
from syncmgr.console.statements import time_zone
from syncmgr.console.wire.protocol import VERSION, VERSION_COMMENT
from syncmgr.console.wire.tracking import TRACKED
from syncmgr.errors import Code, SyncError
from syncmgr.lake.registry import FORMAT

Value = int | str

ALL_ROWS: Final = 2**64 - 1
ON: Final = "ON"
OFF: Final = "OFF"
LONGEST: Final = 1024  # characters of a value
_TRUTH: Final = {"1": ON, "ON": ON, "TRUE": ON, "0": OFF, "OFF": OFF, "FALSE": OFF}
_COLLATION: Final = "utf8mb4_0900_ai_ci"
MYSQL: Final = "mysql"
SPARK: Final = "spark"
DIALECT: Final = "sql_dialect"  # of SELECT

_DEFAULTS: Final[Mapping[str, Value]] = {
    "auto_increment_increment": 1,
    "auto_increment_offset": 1,
    "autocommit": ON,
    "basedir": "/",
    "character_set_client": "utf8mb4",
    "character_set_connection": "utf8mb4",
    "character_set_database": "utf8mb4",
    "character_set_filesystem": "binary",
    "character_set_results": "utf8mb4",
    "character_set_server": "utf8mb4",
    "character_set_system": "utf8mb3",
    "collation_connection": _COLLATION,
    "collation_database": _COLLATION,
    "collation_server": _COLLATION,
    "datadir": "/",
    "default_storage_engine": FORMAT.name.upper(),
    "error_count": 0,
    "event_scheduler": OFF,
    "explicit_defaults_for_timestamp": ON,
    "foreign_key_checks": ON,
    "group_concat_max_len": 1024,
    "gtid_mode": OFF,
    "have_openssl": "YES",
    "have_profiling": "NO",
    "have_ssl": "YES",
    "hostname": "",
    "identity": 0,
    "init_connect": "",
    "innodb_version": "8.0.36",
    "interactive_timeout": 28800,
    "last_insert_id": 0,
    "license": "Apache-2.0",
    "lock_wait_timeout": 31536000,
    "log_bin": OFF,
    "lower_case_file_system": OFF,
    "lower_case_table_names": 0,
    "max_allowed_packet": 0,
    "max_connections": 0,
    "max_execution_time": 0,
    "net_buffer_length": 16384,
    "net_read_timeout": 30,
    "net_write_timeout": 60,
    "performance_schema": OFF,
    "port": 0,
    "profiling": OFF,
    "protocol_compression_algorithms": "zlib,zstd,uncompressed",
    "protocol_version": 10,
    "query_cache_size": 0,
    "query_cache_type": OFF,
    "read_only": OFF,
    "resultset_metadata": "FULL",
    "session_track_gtids": OFF,
    "session_track_schema": ON,
    "session_track_state_change": OFF,
    "session_track_system_variables": ",".join(sorted(TRACKED)),
    "session_track_transaction_info": OFF,
    "show_old_temporals": OFF,
    "skip_show_database": OFF,
    "sql_auto_is_null": OFF,
    DIALECT: MYSQL,
    "sql_mode": "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES",
    "sql_notes": ON,
    "sql_quote_show_create": ON,
    "sql_safe_updates": OFF,
    "sql_select_limit": ALL_ROWS,
    "sql_warnings": OFF,
    "ssl_cipher": "",
    "super_read_only": OFF,
    "system_time_zone": "UTC",
    "time_zone": time_zone.SYSTEM,
    "timestamp": 0,
    "transaction_isolation": "REPEATABLE-READ",
    "transaction_read_only": OFF,
    "tx_isolation": "REPEATABLE-READ",
    "tx_read_only": OFF,
    "unique_checks": ON,
    "version": VERSION,
    "version_comment": VERSION_COMMENT,
    "version_compile_machine": "x86_64",
    "version_compile_os": "Linux",
    "wait_timeout": 28800,
    "warning_count": 0,
}
_READ_ONLY: Final = frozenset(
    {
        "basedir",
        "character_set_system",
        "datadir",
        "error_count",
        "have_openssl",
        "have_profiling",
        "have_ssl",
        "hostname",
        "innodb_version",
        "license",
        "log_bin",
        "lower_case_file_system",
        "lower_case_table_names",
        "max_allowed_packet",
        "max_connections",
        "performance_schema",
        "port",
        "protocol_compression_algorithms",
        "protocol_version",
        "skip_show_database",
        "system_time_zone",
        "version",
        "version_comment",
        "version_compile_machine",
        "version_compile_os",
        "warning_count",
    }
)


class Variables:
    """The system variables as one session sees them. Names are compared without case."""

    def __init__(self, limits: Limits, *, port: int) -> None:
        self._limits = limits
        self._defaults = dict(_DEFAULTS) | {
            "hostname": socket.gethostname(),
            "interactive_timeout": int(limits.wait_timeout),
            "max_allowed_packet": limits.max_packet,
            "max_connections": limits.max_connections,
            "net_read_timeout": int(limits.read_timeout),
            "net_write_timeout": int(limits.write_timeout),
            "port": port,
            DIALECT: limits.dialect,
            "wait_timeout": int(limits.wait_timeout),
        }
        self._values: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        """Raises UNKNOWN_VARIABLE."""
        folded = name.lower()
        if folded not in self._defaults:
            raise SyncError(Code.UNKNOWN_VARIABLE, name=name)
        return self._values.get(folded, self._defaults[folded])

    def reset(self) -> None:
        self._values.clear()

    def set(self, name: str, text: str | None) -> Value:
        """The new value; `text` None: the default.

        Raises UNKNOWN_VARIABLE, READ_ONLY_VARIABLE, WRONG_TYPE, WRONG_VALUE, UNKNOWN_TIME_ZONE.
        """
        folded = name.lower()
        default = self[folded] if text is None else self._defaults.get(folded)
        if default is None:
            raise SyncError(Code.UNKNOWN_VARIABLE, name=name)
        if folded in _READ_ONLY:
            raise SyncError(Code.READ_ONLY_VARIABLE, name=folded)
        if text is None:
            self._values.pop(folded, None)
            return self._defaults[folded]
        self._values[folded] = _converted(folded, text, self._defaults[folded])
        return self._values[folded]

    def rows(self) -> list[tuple[str, str]]:
        """SHOW VARIABLES."""
        return [(name, str(self[name])) for name in sorted(self._defaults)]

    @property
    def select_limit(self) -> int | None:
        """Rows of a SELECT without a LIMIT of its own; None: all."""
        most = int(self["sql_select_limit"])
        return most if most < ALL_ROWS else None

    @property
    def dialect(self) -> str:
        """MYSQL or SPARK: in whose words a SELECT is."""
        return str(self[DIALECT])

    @property
    def time_zone(self) -> str:
        return str(self["time_zone"])

    @property
    def statement_timeout(self) -> float:
        """Seconds; 0: none."""
        return int(self["max_execution_time"]) / 1000

    @property
    def wait_timeout(self) -> float:
        """Seconds; a session may shorten what the console allows, but not extend it."""
        if "wait_timeout" in self._values:
            return min(float(self._values["wait_timeout"]), self._limits.wait_timeout)
        return self._limits.wait_timeout


def _converted(name: str, text: str, default: Value) -> Value:
    if len(text) > LONGEST:
        raise SyncError(Code.WRONG_VALUE, name=name, value=f"{text[:60]}...")
    if isinstance(default, int):
        try:
            number = int(text)
        except ValueError:
            raise SyncError(Code.WRONG_TYPE, name=name) from None
        if number < (1 if name == "wait_timeout" else 0):
            raise SyncError(Code.WRONG_VALUE, name=name, value=text)
        return number
    if default in {ON, OFF}:
        if text.upper() not in _TRUTH:
            raise SyncError(Code.WRONG_VALUE, name=name, value=text)
        return _TRUTH[text.upper()]
    if name == DIALECT:
        return _dialect(text)
    return time_zone.zone(text) if name == "time_zone" else text


def _dialect(text: str) -> str:
    if text.lower() not in {MYSQL, SPARK}:
        raise SyncError(Code.WRONG_VALUE, name=DIALECT, value=text)
    return text.lower()
