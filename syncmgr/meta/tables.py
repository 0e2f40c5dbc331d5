"""The tables of the metadata database.

Owns: names, columns and keys; migrations/ follows them.
Must not know: what the values mean.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.dialects.mysql import MEDIUMTEXT

METADATA = MetaData()
# a plain one takes 65,535 bytes on MySQL and MariaDB
MEDIUM = Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")
# SQLite numbers rows by itself only in INTEGER columns.
ID = BigInteger().with_variant(Integer, "sqlite")

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("db", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("state", String(32), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("source", JSON, nullable=False),  # the password in it is encrypted
    Column("properties", JSON, nullable=False),
    Column("statement", MEDIUM, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("last_start_at", Double),
    Column("last_stop_at", Double),
    Column("finished_at", Double),
    Column("fail", JSON),
    Column("failures", Integer, nullable=False),
    Column("resume_at", Double),
    Column("synced_until", Double),  # of the source's time, when it was paused; NULL: not known
    Column("creator", String(511)),  # the account that has created it; NULL: of an older version
    Column("asked_until", BigInteger),  # unix second, of the source; NULL: never asked
    Index("jobs_by_name", "db", "name"),
)

CHANNELS = Table(
    "channels",
    METADATA,
    Column("token", String(36), primary_key=True),
    Column("job_id", ID, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("ordinal", Integer, nullable=False),
    Column("description", JSON, nullable=False),
    Column("last_snapshot", BigInteger),
    Column("last_sequence", BigInteger, nullable=False),  # of that snapshot; 0: of an earlier version
    Column("last_epoch", BigInteger, nullable=False),
    Column("leaving", Boolean, nullable=False),  # it is removed when the run that commits to it has ended
    Column("resyncing", Boolean, nullable=False),  # it is read again when that has ended
    Column("excerpt", JSON),  # the part of its rows that is then read; NULL: all
    Column("changes", JSON),  # of its target, in the commit of those rows; NULL: none
    Column("stale_since", Double),  # of that reading
)

LOADS = Table(
    "loads",
    METADATA,
    Column("token", String(36), ForeignKey("channels.token", ondelete="CASCADE"), primary_key=True),
    Column("plan", JSON),  # NULL: not made yet
    Column("done", MEDIUM, nullable=False),  # chunks in the lake: "1-5,7"
    Column("rows", BigInteger, nullable=False),
    Column("upper", JSON),  # NULL: chunks are missing
    Column("caught_up", Boolean, nullable=False),
    Column("replaces", Boolean, nullable=False),  # its rows replace those in the table
    Column("excerpt", JSON),  # the part of its rows that does; NULL: all
    Column("changes", JSON),  # of the table, in their commit; NULL: none
    Column("begun_at", Double),  # NULL: of an earlier version
    Column("generation", Integer, nullable=False, server_default="0"),  # how often it was begun before
    Column("stale_since", Double),  # the table is complete up to there until then; 0: not known; NULL: as the others
)

EPOCHS = Table(
    "epochs",
    METADATA,
    Column("job_id", ID, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("end", JSON, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("files", JSON, nullable=False),  # by channel token
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("source_time", Double, nullable=False),
    Column("oldest_time", Double, nullable=False, server_default="0"),
    Column("committed_at", Double),  # NULL: an intent
    Column("snapshots", JSON),  # by channel token: a consistent point
    Column("waiting", Integer),  # this many channels have not committed it, though the epoch counts; NULL: none
    Column("prepared", JSON),  # by xid: XA transactions open at `end`; only the newest epoch's are kept
    Column("ddl", JSON),  # what a statement makes of the job; NULL: an epoch of rows
)

DDL = Table(
    "ddl",
    METADATA,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("job_id", ID, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("position", JSON, nullable=False),  # after the statement
    Column("at", Double, nullable=False),  # unix seconds, of the source
    Column("table_name", String(511), nullable=False),
    Column("statement", MEDIUM, nullable=False),
    Column("state", String(16), nullable=False),  # a DdlState
    Column("outcome", MEDIUM, nullable=False),
    Column("instead", MEDIUM),  # the statement that an operator wants applied instead
    Column("epoch", BigInteger),  # that of a statement that was followed; NULL: of another one, or of an older version
)

DEAD_LETTERS = Table(
    "dead_letters",
    METADATA,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("job_id", ID, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("epoch", BigInteger, nullable=False),  # counts once this epoch does
    Column("token", String(36), nullable=False),
    Column("change", String(16), nullable=False),
    Column("column", String(255), nullable=False),
    Column("value", MEDIUM, nullable=False),
    Column("reason", MEDIUM, nullable=False),
    Column("row", MEDIUM, nullable=False),
    Column("at", Double, nullable=False),
    Column("file", String(512), nullable=False),
    Column("offset", BigInteger, nullable=False),
)

OWNER = Table(
    "owner",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1
    Column("frontend", String(255), nullable=False),
    Column("beat", BigInteger, nullable=False),  # grows as long as that frontend lives
)

TOTALS = Table(
    "totals",
    METADATA,
    Column("job_id", ID, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("commits", BigInteger, nullable=False),
)

USERS = Table(
    "users",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("host", String(60), primary_key=True),
    Column("plugin", String(64), nullable=False),
    Column("secret", String(255), nullable=False),  # salted scrypt, or SHA1(SHA1()) for mysql_native_password
)

GRANTS = Table(
    "grants",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("host", String(60), primary_key=True),
    Column("level", String(16), primary_key=True),
    Column("db", String(255), primary_key=True),
    Column("object", String(255), primary_key=True),
    Column("privilege", String(32), primary_key=True),
)

ALERTS = Table(
    "alerts",
    METADATA,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("event", String(64), nullable=False),
    Column("job", String(511), nullable=False),  # as db.name; empty: of the frontend
    Column("subject", String(511), nullable=False),  # a table or folder; empty: of the job
    Column("text", MEDIUM, nullable=False),
    Column("error", Integer),
    Column("advice", MEDIUM),
    Column("fired_at", Double, nullable=False),
    Column("resolved_at", Double),  # NULL: it is the case
    Column("sent_at", Double),  # when it was last sent as firing
    Column("resolved_sent_at", Double),
    Column("failures", Integer, nullable=False),  # of the message that is due, in a row
    Column("tried_at", Double),
    Column("reason", MEDIUM),  # of the last failure
)

CHECKS = Table(
    "checks",
    METADATA,
    Column("check_id", BigInteger, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),  # of the table in its check
    Column("job_id", ID, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("shown", JSON, nullable=False),  # the row of sync_checks
    Column("found", JSON, nullable=False),  # rows of sync_check_rows
    Column("ended", Boolean, nullable=False),
)
