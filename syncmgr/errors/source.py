"""Errors of a MySQL source, its snapshots and its tables: 20101 to 20199.

Owns: their rows: what is wrong at the source, or with what comes from it.
Must not know: who raises an error or how it is shown.
"""

from syncmgr.errors.row import Row

SOURCE_UNREACHABLE = Row(20101, "HY000", "Cannot reach the MySQL server at {address}: {reason}")
SOURCE_ACCESS_DENIED = Row(20102, "HY000", "The MySQL server at {address} refused user '{user}': {reason}")
SOURCE_GRANT_MISSING = Row(
    20103, "HY000", "User '{user}' lacks {grant} on the MySQL server at {address}; run: {remedy}"
)
SOURCE_BINLOG_OFF = Row(20104, "HY000", "The MySQL server at {address} writes no binlog; start it with log_bin")
SOURCE_NOT_ROW = Row(20105, "HY000", "binlog_format is {value} on the MySQL server at {address}; it must be ROW")
SOURCE_ROW_IMAGE = Row(20106, "HY000", "binlog_row_image is {value} on the MySQL server at {address}; it must be FULL")
SOURCE_POSITION_LOST = Row(
    20107, "HY000", "The position {position} is no longer in the binlog of the MySQL server at {address}: {reason}"
)
SOURCE_UNKNOWN_TABLE = Row(
    20108, "42S02", "Source table '{table}' does not exist on the MySQL server at {address}{hint}"
)
SOURCE_UNKNOWN_COLUMN = Row(20109, "42S22", "Source table '{table}' has no column '{column}'{hint}")
SOURCE_SERVER_ID = Row(
    20110,
    "HY000",
    "server id {server_id} is already used by another replica of {address}; choose another 'mysql.server_id'",
)
SOURCE_SCHEMA = Row(20111, "HY000", "Table '{table}': {reason}")
SOURCE_DDL = Row(
    20112, "HY000", "A DDL statement on table '{table}' cannot be followed: {reason}. Statement: {statement}"
)
SOURCE_VALUE = Row(
    20113, "HY000", "Column '{column}' of table '{table}' holds {value}, which the target cannot hold: {reason}"
)
SOURCE_PROTOCOL = Row(20114, "HY000", "The binlog stream of {address} cannot be read: {reason}")
SOURCE_UNSUPPORTED = Row(
    20115, "HY000", "The MySQL server at {address} does something that syncmgr does not support: {reason}"
)
SOURCE_XA = Row(
    20131,
    "HY000",
    "The MySQL server at {address} committed XA transaction {xid}, which was prepared before the job's start position, so its rows are unknown; STOP the job, drop the target, and create both again, or with a 'start' before its XA PREPARE",
)
SOURCE_XA_OPEN = Row(
    20132,
    "HY000",
    "There are prepared XA transactions on the MySQL server at {address}, so no start position is guaranteed to include all rows: {xids}; commit or roll them back, and try again",
)
PREPARED_LOST = Row(
    20133,
    "HY000",
    "The staged rows of XA transaction {xid} cannot be read: {reason}; STOP the job, drop the target, and create both again",
)
SOURCE_MOVED = Row(
    20134,
    "HY000",
    "The job switched to the MySQL server at {address} in the middle of a transaction and reads that transaction again",
)
SOURCE_CASCADES = Row(
    20135,
    "HY000",
    'A foreign key of table \'{table}\' changes its rows ON DELETE or ON UPDATE, and the MySQL server at {address} writes nothing of that into its binlog; {cure}drop the action, or write "unlogged_cascades" = "accept" and accept that rows differ',
)
DEAD_LETTERS_FULL = Row(
    20136,
    "HY000",
    "The job would have {count} {what}, more than {setting} ({limit}); the last one: {reason}",
)
SNAPSHOT_REFUSED = Row(20141, "HY000", "Table '{table}' cannot be read by a snapshot: {reason}")
SNAPSHOT_BROKEN = Row(
    20142,
    "HY000",
    "The snapshot of table '{table}' cannot continue: {reason}; it is retried, and ALTER SYNC JOB ... RESYNC TABLE starts it from the beginning",
)
SNAPSHOT_OPEN = Row(20143, "HY000", "Table '{table}' waits for its snapshot, which is being read")
SNAPSHOT_WAITS = Row(20144, "HY000", "Table '{table}' cannot be locked for its snapshot: {reason}")
TABLE_STOPPED = Row(
    20145, "HY000", "Table '{table}' is no longer read, while the other tables of the job continue: {reason}"
)
TABLES_STOPPED = Row(
    20146,
    "HY000",
    "{count} tables are no longer read, while the other tables of the job continue: {tables}; of '{table}': {reason}",
)
SOURCE_PURGES_SOON = Row(
    20147,
    "HY000",
    "What the job reads next may be purged from the binlog of {address} in {left}, and its changes are then lost; let the job catch up before that, or raise binlog_expire_logs_seconds with SET GLOBAL",
)
NO_SUCH_CHECK = Row(20154, "HY000", "There is no check {id}")
TOO_MANY_CHECKS = Row(20151, "HY000", "There are {limit} checks under way; wait for the end of one, or STOP CHECK it")
REPAIR_REFUSED = Row(20155, "HY000", "Check {check} cannot be repaired: {reason}")
CHECK_REFUSED = Row(20152, "HY000", "Table '{table}' cannot be compared with its source: {reason}")
CHECK_BROKEN = Row(20153, "HY000", "The check of table '{table}' has ended: {reason}")
SOURCE_UNLOGGED = Row(
    20160,
    "HY000",
    "The MySQL server at {address} replicates from another one and writes nothing of that into its binlog, so those rows would never come: {variable} is OFF; start it with {variable} = ON, read the server that it replicates from, or end its replication by {end}",
)
SOURCE_FILTERED = Row(
    20161,
    "HY000",
    "The MySQL server at {address} filters its binlog: {reason}; start it without binlog_do_db and binlog_ignore_db",
)
RESYNC_COLUMNS = Row(20162, "HY000", "Table '{table}' cannot be read again into '{target}': {reason}")
SOURCE_UNNAMED = Row(
    20163,
    "HY000",
    "The binlog of {address} has no column names, so an ALTER TABLE that is not logged is found only by comparing the table with what is known of it; SET GLOBAL binlog_row_metadata = FULL on the server",
)
SOURCE_LATE = Row(
    20164,
    "HY000",
    "Sessions of the MySQL server at {address}, whose binlog_format is not ROW, have {done} before this statement"
    " and may have changed tables of the job that way. Which tables is unknown: this statement removed or"
    " replaced the objects involved before the server could be queried. Compare the"
    " tables of the job with the source, ALTER SYNC JOB ... RESYNC TABLE those that differ, and RESUME."
    " Statement: {statement}",
)
SOURCE_TLS = Row(
    20165, "HY000", "The MySQL server at {address} did not prove its identity by TLS, so no password was sent: {reason}"
)
SOURCE_CLEAR_PASSWORD = Row(
    20166,
    "HY000",
    'The MySQL server at {address} asks for the password of user \'{user}\' in clear text ({plugin}), which is sent over verified TLS only, so it was not sent; set "{ssl}" = "verify_identity" and "{ca}", or let that user log in by caching_sha2_password',
)
PEM_FILE = Row(
    20167,
    "HY000",
    "Property '{name}' cannot be used: '{path}' must be a PEM file with {wanted} that the frontend can read; fe.log has the details",
)
SOURCE_UNSEEN = Row(
    20170,
    "HY000",
    "A session of the MySQL server at {address}, whose binlog_format is not ROW, {how}; syncmgr cannot determine whether that changes a table of the job: {reason}. Statement: {statement}",
)
SOURCE_TOO_LARGE = Row(20171, "HY000", "The MySQL server at {address} sends more than is accepted from it: {reason}")
SOURCE_ASKS_FILE = Row(
    20172,
    "HY000",
    "The MySQL server at {address} answered a query by asking for a file of this machine ({file}), and did not get it",
)
SOURCE_ANSWER = Row(20173, "HY000", "The MySQL server at {address} does not answer as MySQL does: {reason}")
REPLICA_FILTERED = Row(
    20174,
    "HY000",
    "The replica at {address} filters out changes that it counts as executed, so a snapshot cannot be read from it: {reason}; name a replica that has all rows in snapshot.host, or leave snapshot.host out",
)
SOURCE_LOCKED = Row(
    20180, "HY000", "A query on the MySQL server at {address} has waited {second} seconds for a lock: {reason}"
)
