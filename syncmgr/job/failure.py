"""What an error does to a job.

Owns: the one table of errors and their remedies.
Must not know: clocks, threads, where an error came from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.errors.concern import Phase, is_of_one_table
from syncmgr.job.advice.treatment import CURSOR, JobKind, Remedy, Treatment


class FailType(StrEnum):
    """Doris' SyncFailMsg types."""

    USER_CANCEL = "USER_CANCEL"
    SUBMIT_FAIL = "SUBMIT_FAIL"  # reading or staging
    RUN_FAIL = "RUN_FAIL"  # committing
    SCHEDULE_FAIL = "SCHEDULE_FAIL"  # could not start
    UNKNOWN = "UNKNOWN"


_T, _R = partial(Treatment, Remedy.RETRY), partial(Treatment, Remedy.RESUME)
_O = partial(Treatment, Remedy.OPERATOR, by_person=True)
_TP, _RP = partial(_T, by_person=True), partial(_R, by_person=True)  # it goes on by itself once a person has fixed it
_CANAL: Final = "STOP the job, bring its targets in line with the source, and create it again."
_CANAL_PAST: Final = (
    f"STOP the job. S{CURSOR[1:]}, or the next job meets the same event. Bring the targets in line with the source, "
    "and create the job again."
)
_AGAIN: Final = (
    "STOP the job, DROP its targets and create them again (INTO db.* does it by itself), and create the job again "
    'without "start", whose default brings all rows.'
)
_WHERE: Final = """, with the text of SHOW CREATE SYNC JOB, while behind, stopped and refused of Status are empty: \
changes that wait for a table are deleted with the job, and a table that could not join would lack rows. EXPLAIN SYNC \
shows first which targets it would create: those lack what was written before "start", until ALTER SYNC JOB ... RESYNC \
TABLE"""
_THERE: Final = f' and the position of Status as "start"{_WHERE}. Its default asks for targets that are empty.'
_RESYNC: Final = "ALTER SYNC JOB ... RESYNC TABLE, then RESUME."
_SESSION: Final = (
    "and in the session that wrote the event. If the server already has the right value, the session has overridden "
    "it, which requires SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or BINLOG ADMIN"
)
_IMAGE: Final = f"Set binlog_row_image to FULL on the server, {_SESSION}"
_CLOCK: Final = """Set the clock right if it is behind. If it is right, it was ahead when the last commit was made, \
and commits go on by themselves at the time of the message. If that is too late: """
_APPEND: Final = """ALTER SYNC JOB ... SET ("append_on_change" = "append") or "ignore", then RESUME. Otherwise STOP \
the job, recreate the target with UNIQUE KEY"""
_LEAVE: Final = "ALTER SYNC JOB ... DROP TABLE leaves the table out; then RESUME."

TREATMENTS: Final[Mapping[Code, Treatment]] = {
    # MySQL and the network to it
    Code.SOURCE_UNREACHABLE: _T("Nothing if the server comes back; else look at the server, its port and the network."),
    Code.SOURCE_LOCKED: _T(
        "Nothing if the lock is released; else end the session that has the table locked, or alters it "
        "(SHOW PROCESSLIST at the source)."
    ),
    Code.SOURCE_TLS: _RP(
        "Fix what the message says at the server, or add its CA to the file of mysql.ssl_ca; the job resumes by "
        "itself. If nothing has changed at the server, another server may be answering at its address."
    ),
    Code.SOURCE_TOO_LARGE: _O(
        "If the message names a setting, and the server is meant to send that much, raise it, restart the frontend, "
        "then RESUME. Otherwise another server answers at its address."
    ),
    Code.SOURCE_ASKS_FILE: _RP(
        "Another program answers at the server's address, or the server is compromised: a MySQL server never does "
        "this. The job resumes by itself once that is over."
    ),
    Code.SOURCE_ANSWER: _R(
        "Nothing if it passes; else no MySQL server answers at the address, or something alters its replies."
    ),
    Code.SOURCE_CLEAR_PASSWORD: _RP(
        'If this user is meant to log in this way, ALTER SYNC JOB ... SET SOURCE ("mysql.ssl" = "verify_identity", '
        '"mysql.ssl_ca" = "...", "mysql.password" = "..."). Otherwise another server may be answering at '
        "the server's address; the job resumes by itself once that is over."
    ),
    Code.PEM_FILE: _RP("Put a file there as the message says; the job resumes by itself."),
    Code.SOURCE_ACCESS_DENIED: _O(
        "Fix user, password or host on the server, then RESUME. If they were changed on purpose, ALTER SYNC JOB ... "
        'SET SOURCE ("mysql.password" = "the new one"), then RESUME.'
    ),
    Code.SOURCE_GRANT_MISSING: _RP("Run the GRANT of the message on the server; the job resumes by itself."),
    Code.SOURCE_BINLOG_OFF: _O("Start the server with log_bin. " + _AGAIN),
    Code.SOURCE_NOT_ROW: _O(
        "Set binlog_format to ROW for that session. If the message says what to do first, do that. ALTER SYNC JOB "
        "... RESYNC TABLE for each table that the statement may have changed, all of the job where it says any, then "
        "RESUME.",
        on_canal="Set binlog_format to ROW for that session. " + _CANAL_PAST,
    ),
    Code.SOURCE_UNSEEN: _O("Do on the server what the message says, then RESUME: the statement is checked again."),
    Code.SOURCE_LATE: _O(
        "Compare the tables of the job with the source, ALTER SYNC JOB ... RESYNC TABLE those that differ, and RESUME, "
        "which confirms that all of them are correct."
    ),
    Code.SOURCE_ROW_IMAGE: _O(f"{_IMAGE}. Rows written meanwhile are incomplete: {_RESYNC}"),
    Code.SOURCE_POSITION_LOST: _O(
        "If the server is a replica that lags, RESUME once it has caught up. Otherwise changes between the two "
        "positions are gone from the binlog. " + _AGAIN
    ),
    Code.SOURCE_MOVED: _T("Nothing: the job goes on."),
    Code.SOURCE_SERVER_ID: _RP(
        "Stop the other replica that uses this server id, or give it a different id; the job resumes by itself. "
        'Otherwise ALTER SYNC JOB ... SET SOURCE ("mysql.server_id" = "0"), or another one.'
    ),
    Code.SOURCE_SCHEMA: _O(
        _RESYNC,
        on_canal=f"Set right at the source what the message says. If it is binlog_row_image: {_IMAGE}. {_CANAL_PAST}",
    ),
    Code.SOURCE_DDL: _O(
        "ALTER SYNC JOB ... RESYNC TABLE, SKIP DDL or APPLY DDL 'statement', whichever fits, then RESUME. If the "
        "message says that RESYNC TABLE does not bring the table back, do what it says.",
        on_canal=_CANAL_PAST,
    ),
    Code.SOURCE_VALUE: _O(
        'ALTER SYNC JOB ... SET ("on_value_error" = "dead-letter") or "null", unless an expression computes the '
        "column, whose result has to fit; or fix the row at the source and ALTER SYNC JOB ... RESYNC TABLE. Then "
        "RESUME.",
        on_canal=f"Fix the row at the source. {_CANAL_PAST} Or, without touching canal: STOP the job, and create it "
        "again with a column list that has, in place of the column, a name that is none of the target's; the target "
        "needs a key, and the column is NULL in rows that change from then on, and in the last ones before.",
    ),
    Code.SOURCE_UNSUPPORTED: _O(
        f"Turn off at the server what the message names, {_SESSION}. ALTER SYNC JOB ... RESYNC TABLE if it names a "
        "table, whose rows are in the binlog as they were written; then RESUME. If that meets the same event again: "
        + _AGAIN
    ),
    Code.SOURCE_PROTOCOL: _R(
        "Nothing if it passes; else the binlog is damaged, or something on the network path alters bytes."
    ),
    Code.SOURCE_XA: _O("Rows of that transaction are unknown. " + _AGAIN),
    Code.SOURCE_UNLOGGED: _O("Read the server that it replicates from, or let it log. Rows are missing: " + _AGAIN),
    Code.SOURCE_FILTERED: _O("Start the server without the filter. Rows of filtered databases are missing: " + _AGAIN),
    Code.REPLICA_FILTERED: _O(
        "The replica still lacks rows after the filter is removed: rebuild it without a filter, then RESUME. Otherwise "
        "STOP the job, DROP its targets and create them again (INTO db.* does it by itself), and create the job "
        "again, without it in snapshot.host."
    ),
    Code.DEAD_LETTERS_FULL: _O(
        'ALTER SYNC JOB ... SET ("max_dead_letters" = "100000"), or another number above that of the message, then '
        "RESUME; where the message names max_dead_letter_bytes, an operator raises that by ADMIN SET FRONTEND CONFIG. "
        "Only then information_schema.sync_dead_letters has the rows that were too many: read it, and fix the source "
        "where it can be."
    ),
    Code.PREPARED_LOST: _O("Staged rows are gone. " + _AGAIN),
    Code.SNAPSHOT_REFUSED: _O(
        'Do what the message says, then RESUME. Otherwise STOP the job, and create it with "start" = "latest".',
        of_many=_LEAVE,
    ),
    Code.SNAPSHOT_BROKEN: _O(
        "The table was altered or dropped while its rows were read, or SELECT on it is missing: GRANT it, then "
        "RESUME. Otherwise " + _RESYNC
    ),
    Code.SNAPSHOT_WAITS: _T("Nothing if it passes; else end the transactions that have written to the table."),
    Code.TABLE_STOPPED: _TP(
        "Fix what the reason says, then ALTER SYNC JOB ... RESYNC TABLE, unless the reason says that this does not "
        "bring it back.",
        of_many="ALTER SYNC JOB ... DROP TABLE leaves the table out.",
    ),
    Code.TABLES_STOPPED: _TP(
        "Fix for each what `stopped` in Status says, then ALTER SYNC JOB ... RESYNC TABLE, unless that says that this "
        "does not bring it back; or ALTER SYNC JOB ... DROP TABLE leaves it out."
    ),
    Code.SNAPSHOT_OPEN: _T("Nothing: its changes are applied after its existing rows have been copied."),
    Code.APPEND_CHANGE: _O(
        f"{_APPEND}, and create the job again.",
        on_canal=f"{_APPEND}, bring it in line with the source, and create the job again.",
    ),
    # canal and ZooKeeper
    Code.CANAL_UNREACHABLE: _T("Nothing if the server comes back; else look at the server, its port and ZooKeeper."),
    Code.CANAL_REFUSED: _T("Nothing while canal starts; else look at the destination in canal's log."),
    Code.CANAL_IN_USE: _TP("End the other reader of the destination."),
    Code.CANAL_PROTOCOL: _R("Nothing if it passes; else check the version of canal."),
    Code.CANAL_ACCESS_DENIED: _O(
        "Fix user and password on the canal server, then RESUME. If they were changed on purpose, ALTER SYNC JOB ... "
        'SET SOURCE ("canal.password" = "the new one"), then RESUME.'
    ),
    Code.CANAL_POSITION_LOST: _O("Canal has lost its cursor, or another client has read: rows are missing. " + _CANAL),
    Code.CANAL_UNSUPPORTED: _O("Turn off at canal what the message names. " + _CANAL_PAST),
    Code.CANAL_INEXACT: _O(
        "STOP the job, and create it with `canal.time_zone`, or with a column list that has, in place of the column, a "
        "name that is none of the target's."
    ),
    # the lake
    Code.LAKE_STARTING: _T("Nothing: Spark starts by itself."),
    Code.LAKE_FAILED: _T("Nothing if it passes; else read the reason and log/fe.log."),
    Code.LAKE_SLOW: _T("Nothing if it ends; else check the load and log/fe.log, and restart the frontend."),
    Code.LAKE_FULL: _TP("Make room on the lake's storage; the job goes on by itself."),
    Code.SPEC_CHANGED: _TP(
        "If the key index is being built, nothing. Otherwise fix what it lacks (an identifier: ALTER TABLE ... SET "
        "IDENTIFIER FIELDS in Spark), or rewrite all files as the message says."
    ),
    Code.LAKE_CLOCK: _TP(
        _CLOCK + _AGAIN,
        on_canal=_CLOCK + _CANAL,
        of_many="For one table alone: ALTER SYNC JOB ... DROP TABLE, DROP its target, and ADD TABLE with INTO db.*.",
    ),
    Code.LAKE_DENIED: _O("Fix the rights of the frontend on the lake's storage, then RESUME."),
    Code.LAKE_DAMAGED: _O(
        "Stop the frontend, restore the catalog from a backup, together with the metadata, start it, then RESUME."
    ),
    Code.JAVA_MISSING: _RP("Install Java 17 or 21 and start the frontend again; the job resumes by itself."),
    Code.JAR_ALTERED: _TP("Put the right jar into the folder jars_dir; the job goes on by itself."),
    Code.JARS_MISSING: _TP(
        "Let the machine reach Maven, or put the jars into the folder jars_dir; the job goes on by itself."
    ),
    Code.TARGET_REPLACED: _O(
        "The table was rolled back or replaced. ALTER SYNC JOB ... RESYNC TABLE replaces all of its rows; then RESUME.",
        on_canal="The table was rolled back or replaced. " + _CANAL,
        on_shards="The table was rolled back or replaced. " + _AGAIN,
    ),
    Code.TABLE_BROKEN: _O(
        "Set the catalog back as the message says, or restore a backup, then RESUME. Where neither brings the file "
        "back, docs/operations.md, Power failure, says how the rows are read again."
    ),
    Code.WRITES_LOST: _O(
        "Repair the disk. Set the catalog back as the message says, or restore a backup, then RESUME."
    ),
    Code.OTHER_HISTORY: _O(
        "Restore metadata and lake from the same moment. Otherwise " + _AGAIN,
        on_canal="Restore metadata and lake from the same moment. Otherwise " + _CANAL,
    ),
    Code.TARGET_SET_BACK: _O(
        "Restore metadata and lake from the same moment; or ALTER SYNC JOB ... RESYNC TABLE, which replaces all rows "
        "of the table. Then RESUME.",
        on_canal="Restore metadata and lake from the same moment. Otherwise " + _CANAL,
        on_shards="Restore metadata and lake from the same moment, then RESUME. Otherwise " + _AGAIN,
    ),
    Code.FENCED: _RP("Another frontend has taken over, and this one exits by itself: connect to the other one."),
    Code.NO_SUCH_TABLE: _O(
        "Restore the target under its name, then RESUME: its rows are still staged. If all targets are gone, look at "
        "lake_dir in conf/fe.conf: it may name another folder than before. Otherwise STOP the job.",
        of_many=_LEAVE,
    ),
    Code.UNKNOWN_COLUMN: _O(
        "The target has lost a column. If it was renamed, rename it back, by ALTER TABLE, then RESUME. If it "
        "was dropped, add it again; ALTER SYNC JOB ... RESYNC TABLE brings the values of the rows that are there. Then "
        "RESUME.",
        on_canal="The target has lost a column. If it was renamed, rename it back, by ALTER TABLE, then "
        "RESUME. Otherwise " + _CANAL,
    ),
    Code.COLUMN_REPLACED: _O(
        "Rows from before show NULL in it. ALTER SYNC JOB ... RESYNC TABLE brings their values; then RESUME.",
        on_canal="Rows from before show NULL in it. " + _CANAL,
        on_shards="Rows from before show NULL in it. " + _AGAIN,
    ),
    Code.FOREIGN_CHANGE: _O("Do what the reason says, then RESUME."),
    Code.COLUMN_NOT_COVERED: _O(
        "Make the target's column nullable, by ALTER TABLE, then RESUME. Otherwise STOP the job, and create "
        "it with that column" + _THERE,
        on_canal="Make the target's column nullable, by ALTER TABLE, then RESUME. Otherwise STOP the job, and "
        "create it with that column.",
    ),
    Code.BAD_EXPRESSION: _O(
        "Do what the reason says, then RESUME. Otherwise STOP the job, and create it with another expression or WHERE"
        + _THERE,
        on_canal="Do what the reason says, then RESUME. Otherwise STOP the job, and create it with another "
        "expression or WHERE.",
    ),
    Code.TYPE_DOES_NOT_FIT: _O(
        "The job knows the target as it was at CREATE SYNC. STOP the job, make the target column wider (an integer "
        "BIGINT, a DECIMAL with more digits), or add another one, by ALTER TABLE, and create it again, with "
        "the column that fits."
    ),
    Code.NO_CHANNEL_KEY: _O(
        "STOP the job, create its target again with a UNIQUE KEY as the message says, bring it in line with the "
        "source, and create the job again."
    ),
    Code.CHANNEL_BEHIND: _T("Fix what the reason says; the table then catches up by itself."),
    Code.BACKLOG_WAITS: _RP("Fix what the reason says; the job resumes by itself and the table catches up."),
    Code.BACKLOG_STUCK: _O("Fix what the reason says, then RESUME.", of_many=_LEAVE),
    # the disk of the frontend, and the frontend itself
    Code.DISK_FULL: _TP("Make room in staging_dir; the job goes on by itself."),
    Code.NOT_WRITABLE: _TP("Fix rights or disk of the folder; the job goes on by itself."),
    Code.STAGED_LOST: _O(
        "Rows that were read and not committed are gone. " + _AGAIN,
        on_canal="Rows that were read and not committed are gone. " + _CANAL,
    ),
    Code.META_DOWN: _TP("Make room in meta_dir, or fix the database of meta_url; the job goes on by itself."),
    Code.META_PACKET: _TP("Run the statement of the message on the database of meta_url; the job goes on by itself."),
    Code.META_UNFIT: _O("Move the metadata as the message says, then RESUME."),
    Code.WORKER_DIED: _T("Nothing: a new worker starts. If that repeats, look in the kernel's log for an OOM kill."),
    Code.INTERNAL: _RP("A bug in syncmgr: report it with log/fe.log."),
}
# An error that is not here may pass, and pausing loses nothing.
UNKNOWN: Final = _R("Read the message and log/fe.log.")

# The worker tries these max_retry times by itself before it ends; its end is not retried.
RETRIED_BY_WORKER: Final = frozenset(
    {Code.SOURCE_UNREACHABLE, Code.CANAL_UNREACHABLE, Code.CANAL_REFUSED, Code.CANAL_IN_USE}
)


def remedy(code: Code) -> Remedy:
    return TREATMENTS.get(code, UNKNOWN).remedy


def may_pass(code: Code) -> bool:
    """Whether the same may work at another time: no single table is at fault, so none is given up for it."""
    if code is Code.SOURCE_GRANT_MISSING:  # which may be of that table alone
        return False
    mended = code in TREATMENTS and remedy(code) is not Remedy.OPERATOR
    return mended or not is_of_one_table(code, Phase.JOIN)


def fail_type(code: Code) -> FailType:
    """Of an error that is being retried: reading and staging, or committing."""
    reads = 20100 <= code.number < 20200 or code in {Code.DISK_FULL, Code.NOT_WRITABLE, Code.WORKER_DIED}
    return FailType.SUBMIT_FAIL if reads else FailType.RUN_FAIL


def needs_person(number: int) -> bool:
    """Whether the error of that number never passes with time alone."""
    return any(treatment.by_person for code, treatment in TREATMENTS.items() if code.number == number)


def advice(number: int, kind: JobKind) -> str | None:
    """What to do about the error of that number, None if there is no advice."""
    return next((treatment.advice_for(kind) for code, treatment in TREATMENTS.items() if code.number == number), None)


def mildest(errors: Iterable[SyncError]) -> SyncError:
    """Of several, the one that asks for the least: worse ones can wait for it."""
    order = list(Remedy)
    return min(errors, key=lambda error: order.index(remedy(error.code)))


@dataclass(frozen=True, kw_only=True, slots=True)
class FailMsg:
    """Root cause, code and time (unix seconds) of an error of a job. `table`: the source or target that the error
    names, "": none. `heals`: it passes with time alone, whatever others of its number do.
    """

    type: FailType
    code: int
    message: str
    at: float
    table: str = ""
    heals: bool = False

    @property
    def text(self) -> str:
        """As Doris prints it, with the error's number and time (UTC) if it has one."""
        number = f" (error {self.code}) at {time_text(self.at)}" if self.code else ""
        return f"SyncFailMsg [type={self.type}, msg={self.message}{number}]"


def time_text(at: float) -> str:
    """Unix seconds as SHOW prints them, UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
