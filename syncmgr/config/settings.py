"""Every key of conf/fe.conf, in one table, and its reader.

Owns: names, types, defaults, units and words; conf/fe.conf, docs/configuration.md and SHOW come from it.
Must not know: who uses a value. Only fe.py reads settings; everything else takes plain arguments.
"""

import codecs
import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from syncmgr.config import spark_keys
from syncmgr.config.checks import (
    Setting,
    Value,
    at_least,
    audit_mode,
    between,
    folder,
    folder_or_empty,
    lake_folder,
    log_level,
    port,
    switch,
)
from syncmgr.errors import Code, SyncError
from syncmgr.host.private import is_secret

MiB: Final = 1024 * 1024


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting("query_port", 9030, "port", "Port of the MySQL console.", port),
    Setting(
        "query_host",
        "",
        "address",
        "Address the console listens on. Empty: loopback only while root has no password, else every address.",
    ),
    Setting(
        "require_secure_transport",
        "OFF",
        "ON or OFF",
        "ON: clients of the console that do not use TLS are refused.",
        switch,
        mutable=True,
    ),
    Setting(
        "audit_log",
        "ON",
        "OFF, ON or STRICT",
        "ON: every statement and login of the console is written to audit.log in log_dir. STRICT: what changes anything"
        " is written before it is done, too, and refused while that cannot be written. Changed by ADMIN_PRIV alone.",
        audit_mode,
        mutable=True,
    ),
    Setting("root_password", "", "text", "Password of the user root. Empty: no password, loopback only.", secret=True),
    Setting("meta_dir", "var/meta", "folder", "Where the frontend keeps jobs, intents and epochs (SQLite).", folder),
    Setting(
        "meta_url",
        "",
        "SQLAlchemy URL",
        "Database of the metadata instead of SQLite in meta_dir, of MySQL or MariaDB (mysql+pymysql://..., with"
        " CHARACTER SET utf8mb4) or of PostgreSQL (postgresql+psycopg://..., with the extra syncmgr[postgresql]).",
        secret=True,
    ),
    Setting(
        "meta_timeout_second",
        30.0,
        "seconds",
        "How long a MySQL server at meta_url may take to connect, and to answer; then it counts as away (20310).",
        at_least(1),
    ),
    Setting("lake_dir", "var/lake", "folder", "Where the embedded Iceberg catalog and its tables live.", lake_folder),
    Setting(
        "jars_dir",
        "",
        "folder",
        "Where the jars of Iceberg and of MySQL's driver are kept, for all frontends that name it. "
        "Empty: syncmgr/jars in the user's cache ($XDG_CACHE_HOME or ~/.cache).",
        folder_or_empty,
    ),
    Setting("staging_dir", "var/staging", "folder", "Where change rows wait for their commit.", folder),
    Setting("log_dir", "log", "folder", "Where fe.log and audit.log are written.", folder),
    Setting("log_level", "INFO", "word", "DEBUG, INFO, WARNING or ERROR.", log_level, mutable=True),
    Setting(
        "sync_commit_interval_second",
        10.0,
        "seconds",
        "An epoch is committed at the latest this long after its first row. Fractions are allowed.",
        at_least(0.05),
        mutable=True,
        job=True,
    ),
    Setting(
        "sync_checker_interval_second",
        5.0,
        "seconds",
        "Period of the scheduler's safety net; a change of state wakes it at once.",
        at_least(0.1),
    ),
    Setting(
        "max_jobs",
        1000,
        "jobs",
        "How many jobs there may be that are not cancelled, over all databases: CREATE SYNC of one more is refused. "
        "Each that runs has a worker process of its own, which takes 11 MiB at rest.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "max_sync_task_threads_num",
        10,
        "threads",
        "How many channels commit side by side, over all jobs.",
        at_least(1),
    ),
    Setting(
        "min_sync_commit_size",
        10000,
        "change rows",
        "While nothing more waits to be read, an epoch of this many change rows is committed "
        "before its interval is over.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "min_bytes_sync_commit",
        15 * MiB,
        "bytes",
        "The same by size.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_bytes_sync_commit",
        64 * MiB,
        "bytes",
        "An epoch of this size is committed at the next transaction boundary, whatever else waits.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "snapshot_max_connections",
        4,
        "connections",
        "How many chunks of its tables a job's snapshot reads from the source at a time.",
        between(1, 64),
        mutable=True,
        job=True,
    ),
    Setting(
        "snapshot_max_rows_per_second",
        0,
        "rows",
        "How many rows a job's snapshot reads in a second, over all its tables; it waits between chunks. 0: no bound.",
        at_least(0),
        mutable=True,
        job=True,
    ),
    Setting(
        "snapshot_chunk_rows",
        250_000,
        "rows",
        "Rows that a snapshot reads and commits at a time; fewer where they are wide, more where a table would have "
        "over 500 such chunks.",
        at_least(1),
        job=True,
    ),
    Setting(
        "snapshot_retry_max_second",
        300.0,
        "seconds",
        "A table whose rows cannot be read, while the others go on, is tried again after 5 seconds, and then after "
        "twice as long each time, up to this.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "position_commit_interval_second",
        10.0,
        "seconds",
        "Where only changes of other tables pass, the job's position is stored this often, "
        "so that a quiet table never falls behind the binlog's retention.",
        at_least(0.1),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_staged_bytes",
        2048 * MiB,
        "bytes",
        "Staged and not yet committed rows of one job; beyond it the job stops reading until commits have caught up.",
        at_least(MiB),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_channel_backlog_bytes",
        1024 * MiB,
        "bytes",
        "A table that cannot be committed does not stop the others of its job: its rows wait in staging_dir up to this "
        "size; beyond it the job is paused.",
        at_least(0),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_dead_letters",
        10_000,
        "rows",
        "How many rows a job with `on_value_error` = `dead-letter` may keep out of its targets before it is paused.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "source_queue_batches",
        64,
        "batches",
        "How far the reader of a source runs ahead of staging, in batches of at most 4000 row events.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "source_queue_bytes",
        64 * MiB,
        "bytes",
        "The same by size: a worker's memory grows with it. One batch (16 MiB, or one larger event) may come on top.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_source_event_bytes",
        2048 * MiB,
        "bytes",
        "How large an event of a MySQL source may be, unpacked where it came compressed: a larger one pauses the job "
        "(20171). A worker may need three times as much memory for it. Servers send none of more than 1 GiB.",
        at_least(MiB),
    ),
    Setting(
        "max_source_event_cells",
        4_000_000,
        "cells",
        "How many cells (rows times columns, of an UPDATE twice) an event of a MySQL source may have: more pause the "
        "job (20171). Each takes a worker some hundred bytes and 10 microseconds, however short it is. Servers "
        "cut events at binlog_row_event_max_size, which is 8 KiB by default.",
        at_least(100_000),
    ),
    Setting(
        "max_source_transaction_bytes",
        16384 * MiB,
        "bytes",
        "How large a transaction that a MySQL source has compressed (binlog_transaction_compression) may be when it is "
        "unpacked, which is done in pieces: a larger one pauses the job (20171).",
        at_least(MiB),
    ),
    Setting(
        "pause_timeout_second",
        20.0,
        "seconds",
        "How long a job that is paused may take to stage what it has read. What is not staged by then is read again "
        "after RESUME.",
        at_least(0.1),
        mutable=True,
        job=True,
    ),
    Setting(
        "shutdown_timeout_second",
        25.0,
        "seconds",
        "How long the frontend waits for the last commits of its jobs when it is stopped. What is not done by then is "
        "resumed by the next start. bin/stop_fe.sh kills a frontend that takes 60 seconds.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "max_retry",
        5,
        "times",
        "Passing troubles (network, lock, a worker or Spark died) are retried with back-off inside RUNNING at least "
        "this often in a row, and for at least max_retry_second; then the job is paused and resumes by itself.",
        at_least(0),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_retry_second",
        300.0,
        "seconds",
        "The same by time: a server that is away for less does not pause a job.",
        at_least(0),
        mutable=True,
        job=True,
    ),
    Setting(
        "label_keep_max_second",
        3 * 24 * 3600,
        "seconds",
        "A cancelled job is shown this long, then forgotten.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "consistent_point_keep_second",
        900,
        "seconds",
        "How long a consistent point over all tables of a job stays readable by time travel.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "key_index_max_bytes",
        1024 * MiB,
        "bytes",
        "Memory for the key indexes of all tables: 16 bytes a row for a single integer key, 24 for any other. A table "
        "that finds no room is committed with equality deletes. 0: no index.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "upkeep_interval_second",
        2.0,
        "seconds",
        "Period of the upkeep tick: fold, compaction, expiry of snapshots, orphans.",
        at_least(0.5),
    ),
    Setting(
        "source_read_timeout_second",
        30.0,
        "seconds",
        "Silence of a source (heartbeats included) that counts as lost.",
        at_least(2),
    ),
    Setting(
        "source_schema_check_second",
        30.0,
        "seconds",
        "How often a server whose binlog lacks the names of columns (binlog_row_metadata is not FULL) is asked for "
        "them, to find an ALTER TABLE that it did not log.",
        at_least(1),
    ),
    Setting(
        "source_connect_timeout_second", 10.0, "seconds", "How long a connection to a source may take.", at_least(1)
    ),
    Setting(
        "source_question_timeout_second",
        5,
        "seconds",
        "How long a source may take to say what an object is that a statement in place of rows writes or reads.",
        between(1, 3600),
    ),
    Setting(
        "source_questions_second",
        20,
        "seconds",
        "How long such questions follow each other on one connection; what is left is asked on the next.",
        at_least(1),
    ),
    Setting(
        "source_lookahead_second",
        5.0,
        "seconds",
        "How long the binlog is read ahead where a table of a pattern is made, for others that join with it; what it "
        "does not see by then joins when the job itself has read so far.",
        between(0.1, 600),
    ),
    Setting(
        "source_lock_wait_second",
        1,
        "seconds",
        "How long writers may queue after a job that waits to lock a table, for its snapshot without a key or GTIDs.",
        between(1, 3600),
    ),
    Setting(
        "source_lock_tries",
        20,
        "times",
        "How often such a lock is tried, with a second between in which writers go on.",
        at_least(1),
    ),
    Setting("max_connections", 1024, "connections", "Console connections at one time.", at_least(1)),
    Setting("max_allowed_packet", 64 * MiB, "bytes", "Largest packet the console reads.", at_least(1024)),
    Setting(
        "max_statement_bytes",
        4 * MiB,
        "bytes",
        "Longest text of a statement. What is longer is refused, and read without being kept, up to "
        "max_allowed_packet; beyond that the connection ends.",
        at_least(1024),
    ),
    Setting(
        "max_query_bytes",
        256 * 1024,
        "bytes",
        "Longest text of a SELECT: Spark takes far longer than its size to read it.",
        at_least(1024),
    ),
    Setting(
        "max_logins",
        256,
        "connections",
        "Console connections that are not logged in yet, at one time; 32 more for addresses from which somebody has"
        " logged in before. When another comes, one that has said nothing is ended for it.",
        at_least(1),
    ),
    Setting("max_logins_per_address", 64, "connections", "The same of one address.", at_least(1)),
    Setting(
        "reserved_connections",
        8,
        "connections",
        "Of max_connections, for root and whoever has ADMIN_PRIV or NODE_PRIV.",
        at_least(0),
    ),
    Setting(
        "max_login_failures",
        20,
        "failures",
        "After so many wrong passwords in a row an account is refused at that address for login_refuse_second, whatever"
        " the password. 0: never.",
        at_least(0),
    ),
    Setting("login_refuse_second", 60.0, "seconds", "How long that is.", at_least(1)),
    Setting(
        "max_connection_bytes",
        32 * MiB,
        "bytes",
        "What one console connection may hold: prepared statements, data sent ahead for them, open cursors, user"
        " variables, the statement that runs.",
        at_least(MiB),
    ),
    Setting(
        "max_console_bytes",
        256 * MiB,
        "bytes",
        "The same of all connections together, with the rows of results that have come and were not read yet. A result"
        " for which there is no room ends with an error; up to 256 KiB of each have room always.",
        at_least(8 * MiB),
    ),
    Setting("connect_timeout", 10.0, "seconds", "How long a console client may take to log in.", at_least(1)),
    Setting("wait_timeout", 28800.0, "seconds", "An idle console connection is closed after this.", at_least(1)),
    Setting("net_read_timeout", 30.0, "seconds", "How long the rest of a started packet may take.", at_least(1)),
    Setting("net_write_timeout", 60.0, "seconds", "A client that takes no rows for this long is dropped.", at_least(1)),
    Setting("query_threads", 32, "threads", "Statements of the console that run at one time.", at_least(1)),
    Setting(
        "max_queries_per_account",
        8,
        "queries",
        "SELECTs of one account that compute at one time, of query_threads; its others wait their turn.",
        at_least(1),
    ),
    Setting(
        "source_threads",
        8,
        "threads",
        "Statements of the console that ask a source (CREATE SYNC, EXPLAIN SYNC, ADD TABLE, RESYNC TABLE) at one time, "
        "besides query_threads; half of them of one account.",
        at_least(2),
    ),
    Setting(
        "source_statement_second",
        600.0,
        "seconds",
        "How long such a statement may take, its turn included, until it has all that it asks; then it is given up, "
        "and changes nothing.",
        at_least(1),
    ),
    Setting(
        "unbounded_expressions",
        "OFF",
        "ON or OFF",
        "ON: CREATE SYNC takes expressions and WHERE that may take any time or memory, as regular expressions do: who "
        "has LOAD_PRIV can stop the syncing of all jobs with one.",
        switch,
    ),
    Setting(
        "query_memory",
        1024 * MiB,
        "bytes",
        "Heap of the JVM that answers SELECT, started by the first one, ended after an hour without any. A query "
        "that needs more ends it alone, never the one that commits.",
        at_least(512 * MiB),
    ),
    Setting(
        "max_query_second",
        3600.0,
        "seconds",
        "Longest time of a SELECT, its rows included, whatever max_execution_time says. 0: for ever; then a query that"
        " never ends holds its part of the query engine until somebody kills it.",
        at_least(0),
    ),
    Setting(
        "query_spill_bytes",
        20 * 1024 * MiB,
        "bytes",
        "What SELECTs may have on the disk at one time, in the folder for temporary files or in spark.local.dir: rows"
        " that they sort and group beyond query_memory. Above it they end, all of them.",
        at_least(256 * MiB),
    ),
    Setting(
        "question_spill_bytes",
        1024 * MiB,
        "bytes",
        "What questions to information_schema may have on the disk at one time, all together, in the folder for"
        " temporary files: rows that they sort and group. Above it the one ends that has written much.",
        at_least(64 * MiB),
    ),
    Setting(
        "query_nice",
        5,
        "",
        "How far commits go before SELECT where both want all cores, as nice(1) counts: 0 not at all, 5 three to one.",
        between(0, 19),
    ),
    Setting(
        "spark_start_timeout_second",
        300.0,
        "seconds",
        "How long a statement or a job waits for Spark to start (the first start downloads jars).",
        at_least(1),
    ),
)

_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}
SPARK_PREFIX: Final = "spark."


def find(name: str) -> Setting:
    """The row of a key. Raises UNKNOWN_CONFIG with the nearest name."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise SyncError(Code.UNKNOWN_CONFIG, name=name, hint=did_you_mean(name, _BY_NAME)) from None


LONGEST_NAME: Final = 256  # characters of what is looked up among names: of megabytes it takes seconds


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The nearest of some names, whatever their case; "" where none is near, or it is too long to be a name."""
    if len(name) > LONGEST_NAME:
        return ""
    folded = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean '{folded[near[0]]}'?" if near else ""


def parse(setting: Setting, text: str) -> Value:
    """The value that a text stands for. Raises WRONG_CONFIG with the reason."""
    value = _convert(setting, text)
    reason = setting.check(value)
    if reason:
        raise SyncError(Code.WRONG_CONFIG, name=setting.name, value=text, reason=reason)
    return value


def _convert(setting: Setting, text: str) -> Value:
    try:
        if setting.kind is bool:
            return {"true": True, "false": False}[text.lower()]
        if setting.kind is float:
            return _finite(text)
        return int(text.encode("ascii")) if setting.kind is int else text  # digits of other scripts pass as text
    except (ValueError, KeyError):
        word = {bool: "true or false", int: "a whole number", float: "a number"}[setting.kind]
        raise SyncError(Code.WRONG_CONFIG, name=setting.name, value=text, reason=f"it must be {word}") from None


def _finite(text: str) -> float:
    value = float(text.encode("ascii"))
    if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - NaN is the value unlike itself
        raise ValueError(text)
    return value


class Settings:
    """The values in force: defaults, then conf/fe.conf, then ADMIN SET. Safe to read from any thread."""

    def __init__(self, values: Mapping[str, Value], spark: Mapping[str, str], file: Path) -> None:
        self._values = {setting.name: setting.default for setting in SETTINGS} | dict(values)
        self.spark = dict(spark)
        self.file = file
        self._root = file.parent.parent

    def __getitem__(self, name: str) -> Value:
        return self._values[find(name).name]

    def text(self, name: str) -> str:
        return str(self[name])

    def number(self, name: str) -> int:
        return int(self[name])

    def seconds(self, name: str) -> float:
        return float(self[name])

    def folder(self, name: str) -> Path:
        """A folder setting as an absolute path; a relative one stands beside the folder of fe.conf."""
        return (self._root / self.text(name)).resolve()

    def given(self) -> str:
        """What is not the default, for the log; no secret, and of spark.* the names alone, which may have some."""
        own = [s for s in SETTINGS if self._values[s.name] != s.default]
        told = [f"{s.name} = {'***' if s.secret else show(self._values[s.name])}" for s in own]
        return ", ".join([*told, *sorted(self.spark)]) or "nothing"

    def secrets(self) -> list[str]:
        """The keys that are set to what nobody else may read."""
        own = [s.name for s in SETTINGS if s.secret and self._values[s.name]]
        return own + sorted(name for name, value in self.spark.items() if value and is_secret(name))

    def set(self, name: str, text: str) -> None:
        """ADMIN SET FRONTEND CONFIG. Raises UNKNOWN_CONFIG, IMMUTABLE_CONFIG, WRONG_CONFIG."""
        setting = find(name)
        if not setting.mutable:
            raise SyncError(Code.IMMUTABLE_CONFIG, name=name)
        self._values[name] = parse(setting, text)

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """SHOW FRONTEND CONFIG: Key, Value, Type, IsMutable, MasterOnly, Comment."""
        return [
            (
                setting.name,
                "********" if setting.secret and self[setting.name] else show(self[setting.name]),
                setting.kind.__name__,
                str(setting.mutable).lower(),
                "false",
                setting.doc,
            )
            for setting in sorted(SETTINGS, key=lambda s: s.name)
        ]


def show(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def read(path: Path) -> Settings:
    """The settings of a conf file. Raises BAD_CONFIG with every mistake and its line, all at once."""
    try:
        return read_bytes(path.read_bytes(), path)
    except OSError as error:
        advice = (
            "; python -m syncmgr --print-conf prints one with every key" if isinstance(error, FileNotFoundError) else ""
        )
        raise SyncError(Code.BAD_CONFIG, message=f"{path}: {error.strerror}{advice}") from error


def read_bytes(data: bytes, path: Path) -> Settings:
    """The settings that a file at `path` with these bytes means. Raises BAD_CONFIG."""
    values: dict[str, Value] = {}
    spark: dict[str, str] = {}
    lines: dict[str, int] = {}
    mistakes = []
    for number, raw in enumerate(data.removeprefix(codecs.BOM_UTF8).splitlines(), 1):
        try:
            line = _decoded(raw)
            if not line or line.startswith("#"):
                continue
            name, value = _entry(line, lines)
        except SyncError as error:
            mistakes.append(f"{path}: line {number}: {error}")
            continue
        lines[name] = number
        if name.startswith(SPARK_PREFIX):
            spark[name] = str(value)
        else:
            values[name] = value
    if (reason := spark_keys.catalog_fault(spark)) is not None:
        mistakes.append(f"{path}: {reason}")
    if mistakes:
        raise SyncError(Code.BAD_CONFIG, message="\n".join(mistakes))
    return Settings(values, spark, path.resolve())


def _decoded(raw: bytes) -> str:
    """A line by itself, so that a mistake in one hides none in another."""
    try:
        return raw.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise SyncError(Code.BAD_CONFIG, message=f"byte {error.start + 1} is not UTF-8") from error


def _entry(line: str, lines: Mapping[str, int]) -> tuple[str, Value]:
    name, equals, text = (part.strip() for part in line.partition("="))
    if not equals:
        word = line.split(maxsplit=1)[0]  # what follows may be a password
        raise SyncError(Code.BAD_CONFIG, message=f"expected 'key = value', found '{word}'")
    if name in lines:
        raise SyncError(Code.BAD_CONFIG, message=f"key '{name}' is set twice, first in line {lines[name]}")
    if name.startswith(SPARK_PREFIX):
        reason = spark_keys.fault(name, text)
        if reason is not None:
            raise SyncError(Code.WRONG_CONFIG, name=name, value=text, reason=reason)
        return name, text
    if name not in _BY_NAME:
        raise SyncError(Code.BAD_CONFIG, message=f"unknown key '{name}'{did_you_mean(name, _BY_NAME)}")
    return name, parse(_BY_NAME[name], text)


CONF_HEAD: Final = """\
# conf/fe.conf: settings of the syncmgr frontend.
# Generated from the settings table: every key with its default, commented out.
# Folders that are not absolute stand beside the folder of this file.
# Keys that begin with spark. are passed on to Spark as they are; docs/configuration.md lists those that are refused.
"""


def conf_text() -> str:
    """conf/fe.conf as it is shipped."""
    return CONF_HEAD + "".join(_conf_entry(setting) for setting in SETTINGS)


def _conf_entry(setting: Setting) -> str:
    marks = [setting.unit]
    if setting.mutable:
        marks.append("mutable")
    if setting.job:
        marks.append("PROPERTIES of a job may override it")
    return f"\n# {setting.doc} ({'; '.join(marks)})\n#{setting.name} = {show(setting.default)}\n"
