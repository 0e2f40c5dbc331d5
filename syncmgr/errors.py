"""Every error a client can see: number, SQLSTATE, words.

Owns: the one error table. MySQL's number where MySQL has one, ours from 20000.
Numbers below 1000 and from 5000 to 5999 belong to client libraries (libmariadb shows those as a broken packet), and
some read the number as a signed 16-bit integer: ours are between 20000 and 32767.
Must not know: who raises an error or how it is shown.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeVar

E = TypeVar("E", bound=Exception)
MOST_SHOWN = 8192  # characters of a text that others have written: it is stored, logged and shown


class Code(Enum):
    """number, SQLSTATE, message template, and for errors of ours what to do (for docs/errors.md)."""

    # the numbers of MySQL itself
    TOO_MANY_CONNECTIONS = 1040, "08004", "Too many connections"
    HANDSHAKE = 1043, "08S01", "Bad handshake"
    DATABASE_DENIED = 1044, "42000", "Access denied for user '{user}'@'{host}' to database '{db}'"
    ACCESS_DENIED = 1045, "28000", "Access denied for user '{user}'@'{host}' (using password: {using})"
    NO_DATABASE = 1046, "3D000", "No database selected"
    UNKNOWN_COMMAND = 1047, "08S01", "Unknown command"
    UNKNOWN_DATABASE = 1049, "42000", "Unknown database '{db}'"
    TABLE_EXISTS = 1050, "42S01", "Table '{table}' already exists"
    UNKNOWN_TABLE = 1051, "42S02", "Unknown table '{table}'"
    UNKNOWN_COLUMN = 1054, "42S22", "Unknown column '{column}' in '{where}'"
    AMBIGUOUS_COLUMN = 1052, "23000", "{reason}"
    NOT_GROUPED = 1055, "42000", "{reason}"
    DUPLICATE_COLUMN = 1060, "42S21", "Duplicate column name '{column}'"
    SYNTAX = (
        1064,
        "42000",
        "You have an error in your SQL syntax; {reason} near '{near}' at line {line}, column {column}",
    )
    EMPTY_QUERY = 1065, "42000", "Query was empty"
    NO_SUCH_THREAD = 1094, "HY000", "Unknown thread id: {id}"
    INTERNAL = 1105, "HY000", "{message}"
    UNKNOWN_SCHEMA_TABLE = 1109, "42S02", "Unknown table '{table}' in information_schema"
    AGGREGATE_MISPLACED = 1111, "HY000", "{reason}"
    UNKNOWN_CHARSET = 1115, "42000", "Unknown character set: '{charset}'"
    MIXED_WITH_AGGREGATE = 1140, "42000", "{reason}"
    NO_SUCH_GRANT = 1141, "42000", "There is no such grant defined for user '{user}' on host '{host}'"
    TABLE_DENIED = 1142, "42000", "{privilege} command denied to user '{user}'@'{host}' for {what} '{name}'"
    NO_SUCH_TABLE = 1146, "42S02", "Table '{db}.{table}' doesn't exist"
    PACKET_TOO_LARGE = 1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes"
    UNKNOWN_VARIABLE = 1193, "HY000", "Unknown system variable '{name}'"
    WRONG_ARGUMENTS = 1210, "HY000", "Incorrect arguments to {what}"
    COLUMNS_DIFFER = 1222, "21000", "{reason}"
    PRIVILEGE_NEEDED = (
        1227,
        "42000",
        "Access denied; you need (at least one of) the {privilege} privilege(s) for this operation",
    )
    WRONG_VALUE = 1231, "42000", "Variable '{name}' can't be set to the value of '{value}'"
    WRONG_TYPE = 1232, "42000", "Incorrect argument type to variable '{name}'"
    NOT_SUPPORTED = 1235, "42000", "This version of syncmgr doesn't yet support '{what}'"
    READ_ONLY_VARIABLE = 1238, "HY000", "Variable '{name}' is a read only variable"
    MORE_THAN_ONE_ROW = 1242, "21000", "{reason}"
    UNKNOWN_PREPARED = 1243, "HY000", "Unknown prepared statement handler ({id}) given to EXECUTE"
    WRONG_TEXT_OF_VALUE = 1292, "22007", "{reason}"
    UNKNOWN_TIME_ZONE = 1298, "HY000", "Unknown or incorrect time zone: '{zone}'"
    INVALID_TEXT = 1300, "HY000", "Invalid {charset} character string: '{text}'"
    UNKNOWN_FUNCTION = 1305, "42000", "FUNCTION {name} does not exist"
    READ_TIMEOUT = 1159, "08S01", "Got timeout reading communication packets"
    INTERRUPTED = 1317, "70100", "Query execution was interrupted"
    DATABASE_EXISTS = 1007, "HY000", "Can't create database '{db}'; database exists"
    DROP_NO_DATABASE = 1008, "HY000", "Can't drop database '{db}'; database doesn't exist"
    DIVISION_BY_ZERO = 1365, "22012", "{reason}"
    USER_FAILED = 1396, "HY000", "Operation {what} failed for {user}"
    TABLE_CHANGED = 1412, "HY000", "Table definition has changed, please retry transaction"
    NO_CURSOR = 1421, "HY000", "The statement ({id}) has no open cursor."
    NESTED_TOO_DEEPLY = 1436, "HY000", "The statement is nested too deeply"
    TOO_MANY_PREPARED = (
        1461,
        "42000",
        "Can't create more than max_prepared_stmt_count statements (current value: {limit})",
    )
    OPTION_IGNORED = 1618, "HY000", "{option} is ignored: {reason}"
    NO_SUCH_PLUGIN = 1524, "HY000", "Plugin '{plugin}' is not loaded"
    WRONG_PARAMETER_COUNT = 1582, "42000", "{reason}"
    OUT_OF_RANGE = 1690, "22003", "{reason}"
    TIMED_OUT = 3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded"
    SECURE_TRANSPORT = 3159, "HY000", "Connections using insecure transport are prohibited"

    # ours, about jobs
    UNKNOWN_JOB = 20001, "42S02", "Unknown sync job '{job}' in database '{db}'"
    ILLEGAL_TRANSITION = 20002, "HY000", "A {state} job cannot be {event}"
    JOB_EXISTS = 20003, "42S01", "The sync job '{job}' in database '{db}' already exists"
    TARGET_IN_USE = (
        20004,
        "HY000",
        "Table '{table}' is already the target of sync job '{job}'; stop that job first, or take the table out of it by ALTER SYNC JOB ... DROP TABLE and wait until no row of it in information_schema.sync_channels has a STATE",
    )
    TARGET_OF_OTHERS = (
        20234,
        "HY000",
        "Table '{table}' was written less than {second} seconds ago by a table of a sync job that this frontend does not know: it has just left its job here, or another frontend syncs into the table; stop the job of the other frontend, and wait that long",
    )
    DUPLICATE_MAPPING = (
        20005,
        "HY000",
        "A source table may have only one target, and a target only one source table: '{table}' is named twice",
    )
    STALE_JOB = 20006, "HY000", "The sync job '{job}' was changed by someone else meanwhile; try again"
    NO_CHANNEL_KEY = 20007, "HY000", "Table '{table}': {reason}"
    PROPERTY_MISSING = 20008, "HY000", "Property '{name}' is missing in {where}"
    PROPERTY_UNKNOWN = 20009, "HY000", "Unknown property '{name}' in {where}{hint}"
    PROPERTY_WRONG = 20010, "HY000", "Property '{name}' cannot be '{value}': {reason}"
    PROPERTY_TWICE = 20011, "HY000", "Property '{name}' is given twice"
    TYPE_DOES_NOT_FIT = (
        20012,
        "HY000",
        "Source column '{source}' ({source_type}) does not fit target column '{target}' ({target_type}): {reason}",
    )
    BAD_EXPRESSION = 20013, "HY000", "Column or WHERE expression '{expression}' cannot be used: {reason}"
    PARTITION_REFUSED = (
        20014,
        "HY000",
        "PARTITION ({partitions}) cannot be honoured: the lake places rows by the partition transforms of table '{table}'; leave it out",
    )
    COLUMN_NOT_COVERED = (
        20015,
        "HY000",
        "Target column '{column}' of table '{table}' is NOT NULL and is not filled by the channel",
    )
    NO_SUCH_POINT = (
        20016,
        "HY000",
        "Sync job '{job}' has no consistent point{at}; information_schema.sync_points lists those that are kept",
    )
    NOT_AT_POINT = (
        20017,
        "HY000",
        "Table '{table}' has no snapshot at the consistent point '{point}': it is no target of that job, or had no rows",
    )
    NO_DDL_TO_SETTLE = 20018, "HY000", "The sync job '{job}' is not paused by a DDL statement"
    NO_SUCH_CHANNEL = (
        20019,
        "42S02",
        "Table '{table}' does not name one source table of sync job '{job}', which are: {tables}",
    )
    LAST_CHANNEL = 20020, "HY000", "Table '{table}' is the only one of sync job '{job}'; use STOP SYNC JOB"

    # ours: the source
    SOURCE_UNREACHABLE = 20101, "HY000", "Cannot reach the MySQL server at {address}: {reason}"
    SOURCE_ACCESS_DENIED = 20102, "HY000", "The MySQL server at {address} refused user '{user}': {reason}"
    SOURCE_GRANT_MISSING = 20103, "HY000", "User '{user}' lacks {grant} on the MySQL server at {address}; run: {remedy}"
    SOURCE_BINLOG_OFF = 20104, "HY000", "The MySQL server at {address} writes no binlog; start it with log_bin"
    SOURCE_NOT_ROW = 20105, "HY000", "binlog_format is {value} on the MySQL server at {address}; it must be ROW"
    SOURCE_UNSEEN = (
        20170,
        "HY000",
        "A session of the MySQL server at {address}, whose binlog_format is not ROW, {how}; syncmgr cannot determine whether that changes a table of the job: {reason}. Statement: {statement}",
    )
    SOURCE_LATE = (
        20164,
        "HY000",
        (
            "Sessions of the MySQL server at {address}, whose binlog_format is not ROW, have {done} before this statement"
            " and may have changed tables of the job that way. Which tables is unknown: this statement removed or"
            " replaced the objects involved before the server could be queried. Compare the"
            " tables of the job with the source, ALTER SYNC JOB ... RESYNC TABLE those that differ, and RESUME."
            " Statement: {statement}"
        ),
    )
    SOURCE_ROW_IMAGE = 20106, "HY000", "binlog_row_image is {value} on the MySQL server at {address}; it must be FULL"
    SOURCE_POSITION_LOST = (
        20107,
        "HY000",
        "The position {position} is no longer in the binlog of the MySQL server at {address}: {reason}",
    )
    SOURCE_UNKNOWN_TABLE = 20108, "42S02", "Source table '{table}' does not exist on the MySQL server at {address}"
    SOURCE_UNKNOWN_COLUMN = 20109, "42S22", "Source table '{table}' has no column '{column}'{hint}"
    SOURCE_SERVER_ID = (
        20110,
        "HY000",
        "server id {server_id} is already used by another replica of {address}; choose another 'mysql.server_id'",
    )
    SOURCE_SCHEMA = 20111, "HY000", "Table '{table}': {reason}"
    SOURCE_DDL = (
        20112,
        "HY000",
        "A DDL statement on table '{table}' cannot be followed: {reason}. Statement: {statement}",
    )
    SOURCE_VALUE = (
        20113,
        "HY000",
        "Column '{column}' of table '{table}' holds {value}, which the target cannot hold: {reason}",
    )
    SOURCE_PROTOCOL = 20114, "HY000", "The binlog stream of {address} cannot be read: {reason}"
    SOURCE_UNSUPPORTED = 20115, "HY000", "The MySQL server at {address} does what syncmgr does not support: {reason}"
    CANAL_INEXACT = 20116, "HY000", "Column '{column}' of table '{table}' cannot come through canal exactly: {reason}"
    SOURCE_XA = (
        20131,
        "HY000",
        "The MySQL server at {address} committed XA transaction {xid}, which was prepared before the job's start position, so its rows are unknown; STOP the job, drop the target, and create both again, or with a 'start' before its XA PREPARE",
    )
    SOURCE_XA_OPEN = (
        20132,
        "HY000",
        "There are prepared XA transactions on the MySQL server at {address}, so no start position is guaranteed to include all rows: {xids}; commit or roll them back, and try again",
    )
    PREPARED_LOST = (
        20133,
        "HY000",
        "The staged rows of XA transaction {xid} cannot be read: {reason}; STOP the job, drop the target, and create both again",
    )
    SOURCE_CASCADES = (
        20135,
        "HY000",
        'A foreign key of table \'{table}\' changes its rows ON DELETE or ON UPDATE, and the MySQL server at {address} writes nothing of that into its binlog; {cure}drop the action, or write "unlogged_cascades" = "accept" and accept that rows differ',
    )
    SOURCE_UNLOGGED = (
        20160,
        "HY000",
        "The MySQL server at {address} replicates from another one and writes nothing of that into its binlog, so those rows would never come: {variable} is OFF; start it with {variable} = ON, read the server that it replicates from, or end its replication by {end}",
    )
    SOURCE_FILTERED = (
        20161,
        "HY000",
        "The MySQL server at {address} filters its binlog: {reason}; start it without binlog_do_db and binlog_ignore_db",
    )
    RESYNC_COLUMNS = 20162, "HY000", "Table '{table}' cannot be read again into '{target}': {reason}"
    SOURCE_UNNAMED = (
        20163,
        "HY000",
        "The binlog of {address} has no column names, so an ALTER TABLE that is not logged is found only by comparing the table with what is known of it; SET GLOBAL binlog_row_metadata = FULL on the server",
    )
    SOURCE_TLS = (
        20165,
        "HY000",
        "The MySQL server at {address} did not prove its identity by TLS, so no password was sent: {reason}",
    )
    SOURCE_CLEAR_PASSWORD = (
        20166,
        "HY000",
        'The MySQL server at {address} asks for the password of user \'{user}\' in clear text ({plugin}), which is sent over verified TLS only, so it was not sent; set "{ssl}" = "verify_identity" and "{ca}", or let that user log in by caching_sha2_password',
    )
    PEM_FILE = (
        20167,
        "HY000",
        "Property '{name}' cannot be used: '{path}' must be a PEM file with {wanted} that the frontend can read; fe.log has the details",
    )
    SOURCE_TOO_LARGE = 20171, "HY000", "The MySQL server at {address} sends more than is accepted from it: {reason}"
    SOURCE_ASKS_FILE = (
        20172,
        "HY000",
        "The MySQL server at {address} answered a query by asking for a file of this machine ({file}), and did not get it",
    )
    SOURCE_ANSWER = 20173, "HY000", "The MySQL server at {address} does not answer as MySQL does: {reason}"
    REPLICA_FILTERED = (
        20174,
        "HY000",
        "The replica at {address} filters out changes that it counts as executed, so a snapshot cannot be read from it: {reason}; name a replica that has all rows in snapshot.host, or leave snapshot.host out",
    )
    SOURCE_LOCKED = (
        20180,
        "HY000",
        "A query on the MySQL server at {address} has waited {second} seconds for a lock: {reason}",
    )
    DEAD_LETTERS_FULL = (
        20136,
        "HY000",
        "The job would have {count} dead letters, more than max_dead_letters ({limit}); the last one: {reason}",
    )
    SNAPSHOT_REFUSED = 20141, "HY000", "Table '{table}' cannot be read by a snapshot: {reason}"
    SNAPSHOT_BROKEN = (
        20142,
        "HY000",
        "The snapshot of table '{table}' cannot continue: {reason}; it is retried, and ALTER SYNC JOB ... RESYNC TABLE starts it from the beginning",
    )
    ROWS_BEFORE_START = (
        20037,
        "HY000",
        'The statement created {targets}, which receive only changes after "start": rows written earlier and not changed since will be missing; ALTER SYNC JOB ... RESYNC TABLE brings all rows of a table, and a job without "start" brings those of all its tables',
    )
    SOURCE_ZONED = 20040, "HY000", "Column '{column}' of table '{table}' has no single stored value: {reason}"
    NO_TABLE_MATCHES = 20031, "42S02", "No table of the source matches {pattern}{hint}"
    NO_SOURCE_KEY = 20032, "HY000", "No unique key that a target can have: {tables}; {cure}"
    SHARDS_REFUSED = (
        20033,
        "HY000",
        "The rows of '{table}' cannot go into '{target}' together with those of other databases: {reason}",
    )
    RESYNC_WHERE = 20034, "HY000", "RESYNC of table '{table}' cannot take WHERE {condition}: {reason}"
    LOST_BY_STOP = (
        20039,
        "HY000",
        "Target '{target}' lacks rows of '{table}'; they are lost with the job: {reason}; {cure}",
    )
    BAD_PATTERN = 20035, "42000", "Pattern {pattern} cannot be used: {reason}"
    POSITION_LOST_FOR_ALL = (
        20036,
        "HY000",
        "{what} would not let the job continue: its position in the binlog is lost (error 20107), for all of its tables; STOP it, DROP its targets and create it again; where the server is a replica that lags, RESUME once it has caught up",
    )
    TOO_MANY_JOBS = (
        20038,
        "HY000",
        "There are {limit} sync jobs, as many as max_jobs allows; STOP those that are not needed, or give several tables to one job, or raise max_jobs in conf/fe.conf",
    )
    TOO_MANY_OF_ACCOUNT = (
        20041,
        "HY000",
        "Account {account} has {limit} sync jobs, as many as max_jobs_per_account allows; STOP those that are not needed, or give several tables to one job, or raise max_jobs_per_account in conf/fe.conf",
    )
    SNAPSHOT_WAITS = 20144, "HY000", "Table '{table}' cannot be locked for its snapshot: {reason}"
    TABLE_STOPPED = (
        20145,
        "HY000",
        "Table '{table}' is no longer read, while the other tables of the job continue: {reason}",
    )
    TABLES_STOPPED = (
        20146,
        "HY000",
        "{count} tables are no longer read, while the other tables of the job continue: {tables}; of '{table}': {reason}",
    )
    SNAPSHOT_OPEN = 20143, "HY000", "Table '{table}' waits for its snapshot, which is being read"

    SOURCE_MOVED = (
        20134,
        "HY000",
        "The job switched to the MySQL server at {address} in the middle of a transaction and reads that transaction again",
    )

    # ours: a canal server as source
    CANAL_UNREACHABLE = 20121, "HY000", "Cannot reach the canal server at {address}: {reason}"
    CANAL_ACCESS_DENIED = 20122, "HY000", "The canal server at {address} refused user '{user}': {reason}"
    CANAL_REFUSED = 20123, "HY000", "The canal server at {address} does not serve destination '{destination}': {reason}"
    CANAL_IN_USE = (
        20124,
        "HY000",
        "Canal destination '{destination}' at {address} is already read by {reader}; a destination has one reader",
    )
    CANAL_POSITION_LOST = (
        20125,
        "HY000",
        "Canal destination {address} cannot continue at {position}: {reason}; stop the job and create it and its targets again, from a copy of the source",
    )
    CANAL_PROTOCOL = 20126, "HY000", "What the canal server at {address} sends cannot be read: {reason}"
    CANAL_UNSUPPORTED = (
        20127,
        "HY000",
        "The canal server at {address} sent an event that syncmgr does not support: {reason}",
    )

    # ours: the lake
    LAKE_STARTING = 20201, "HY000", "The lake is still starting ({reason}); try again in some seconds"
    LAKE_FAILED = 20202, "HY000", "The lake failed: {reason}"
    TARGET_REPLACED = (
        20203,
        "HY000",
        "Table '{table}' was rolled back or replaced: its snapshot of epoch {epoch} ({snapshot}) is no longer in its history; ALTER SYNC JOB ... RESYNC TABLE replaces its rows (not for a canal job, nor where several tables fill it: STOP the job, drop its targets and create all of them again)",
    )
    FENCED = (
        20204,
        "HY000",
        "Table '{table}' has epoch {found}, and this job was about to commit epoch {epoch}: another frontend has taken over",
    )
    OTHER_HISTORY = (
        20221,
        "HY000",
        "Table '{table}' has an epoch {epoch} that the metadata does not know: the metadata is older than the lake; restore both together, or stop the job, drop the table and create both again",
    )
    TARGET_SET_BACK = (
        20231,
        "HY000",
        "Table '{table}' has epoch {found} and had epoch {epoch} before: it was created again, or the lake, or this table, is older than the metadata; restore both together, or ALTER SYNC JOB ... RESYNC TABLE, which replaces its rows (not for a canal job, nor where several tables fill it: STOP the job, drop its targets and create all of them again)",
    )
    TABLE_BROKEN = (
        20222,
        "HY000",
        "Table '{table}' is damaged, as after a power failure during a commit: {reason}. The catalog names {location}; the metadata before it is {previous}. Set the catalog back to it (docs/operations.md, Power failure) or restore a backup",
    )
    WRITES_LOST = (
        20236,
        "HY000",
        "The disk of the lake has lost writes ({reason}), so table '{table}' may name rows that are not on it. Repair the disk, then {cure}, or restore a backup",
    )
    SPEC_CHANGED = (
        20232,
        "HY000",
        "Table '{table}' has no usable key index ({index}), and its partition spec was changed so that rows of one key may be in two partitions ({reason}): remove the cause that the index reports, or rewrite all files with CALL system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true')), and partition by columns of the key alone",
    )
    COLUMN_REPLACED = 20237, "HY000", "Another engine dropped column '{column}' of table '{table}' and added it again"
    FOREIGN_CHANGE = 20238, "HY000", "Table '{table}' has to be changed in Spark first: {reason}"
    LAKE_CLOCK = (
        20233,
        "HY000",
        "The clock of this machine is {second} s behind the last commit of table '{table}'; Iceberg refuses commits that are more than a minute older than the last one, so the next commit is possible at {until} UTC",
    )
    LAKE_FULL = 20223, "HY000", "No space left on the lake's storage: {reason}"
    LAKE_DENIED = 20224, "HY000", "The frontend may not read or write on the lake's storage: {reason}"
    LAKE_DAMAGED = 20225, "HY000", "The catalog of the lake is damaged: {reason}"
    LAKE_SLOW = (
        20230,
        "HY000",
        "The commit of epoch {epoch} has not ended for {second} seconds: Spark, or the lake's storage, is busy or hangs",
    )
    CHANNEL_BEHIND = (
        20227,
        "HY000",
        "Table '{table}' cannot be committed, and is {epochs} epochs ({bytes} bytes) behind, while the other tables of the job continue: {reason}",
    )
    BACKLOG_WAITS = (
        20228,
        "HY000",
        "Table '{table}' is {bytes} bytes behind, more than max_channel_backlog_bytes ({limit}): {reason}",
    )
    BACKLOG_STUCK = (
        20229,
        "HY000",
        "Table '{table}' is {bytes} bytes behind, more than max_channel_backlog_bytes ({limit}), and waits for an operator: {reason}",
    )
    STAGED_LOST = (
        20226,
        "HY000",
        "Rows of epoch {epoch} for table '{table}' are no longer staged: {path} is gone; STOP the job, drop the target, and create both again",
    )
    NOT_WRITABLE = 20205, "HY000", "Folder '{folder}' cannot be written: {reason}"
    DISK_FULL = 20206, "HY000", "No space left in '{folder}' for staged rows"
    JAVA_MISSING = 20207, "HY000", "Java 17 or 21 is needed and was not found: {reason}"
    QUERIES_ENDED = 20240, "HY000", "The query engine has ended and is started again ({reason}); ask again"
    QUERY_TOO_BIG = 20241, "HY000", "The query needs more memory than it may have (query_memory)"
    JAR_ALTERED = (
        20242,
        "HY000",
        "Jar '{file}' is not the expected one, even after it was fetched again: its SHA-256 is {found}, not {expected}",
    )
    JARS_MISSING = 20243, "HY000", "Jars are neither in '{folder}' nor could they be fetched ({files}): {reason}"
    QUERY_FAILED = 20208, "HY000", "{reason}"
    TABLE_BUSY = (
        20209,
        "HY000",
        "Table '{table}' is the target of sync job '{job}'; stop the job first, or take the table out of it by ALTER SYNC JOB ... DROP TABLE and wait until no row of it in information_schema.sync_channels has a STATE",
    )
    BAD_TABLE = 20211, "HY000", "Table '{table}' cannot be created: {reason}"
    BAD_NAME = 20212, "42000", "Incorrect {what} name '{name}': {reason}"
    DATABASE_NOT_EMPTY = 20213, "HY000", "Database '{db}' still holds {count} tables; drop them first, or add FORCE"
    DATABASE_HAS_VIEWS = (
        20235,
        "HY000",
        "Database '{db}' holds views of another engine ({views}); nothing was dropped: DROP VIEW by that engine first",
    )
    APPEND_CHANGE = (
        20210,
        "HY000",
        'The target of \'{table}\' has no key, and its source had {change}; create it with UNIQUE KEY, or set "append_on_change" = "append" or "ignore"',
    )

    # ours: the users of the console
    PASSWORD_NEEDED = 20401, "HY000", "User '{user}' needs a password; write IDENTIFIED BY 'a password'"
    BAD_GRANT = 20402, "HY000", "This cannot be granted: {reason}"
    ROOT_IN_CONF = (
        20403,
        "HY000",
        "User root cannot be created or changed by statements: it has all privileges, and its password is root_password in conf/fe.conf",
    )

    # ours: the frontend
    BAD_CONFIG = 20301, "HY000", "{message}"
    UNKNOWN_CONFIG = 20302, "HY000", "Unknown config '{name}'{hint}"
    IMMUTABLE_CONFIG = (
        20303,
        "HY000",
        "Config '{name}' cannot be changed while the frontend runs; set it in conf/fe.conf and restart",
    )
    WRONG_CONFIG = 20304, "HY000", "Config '{name}' cannot be '{value}': {reason}"
    PORT_IN_USE = 20305, "HY000", "Port {port} on {host} cannot be opened: {reason}"
    META_FAILED = 20307, "HY000", "The metadata in {where} cannot be opened: {reason}"
    META_NEWER = (
        20311,
        "HY000",
        "The metadata was made by a newer syncmgr (schema {found}; this one knows {known}): start that one, or restore the backup from before the upgrade",
    )
    SOURCE_KIND_UNKNOWN = (
        20325,
        "HY000",
        "A job reads a source of the type {kind}, which this syncmgr does not know (it knows {known}): start the one that made it",
    )
    META_CHARSET = 20322, "HY000", "The metadata would lose characters of names: {reason}"
    META_UNFIT = (
        20323,
        "HY000",
        "The database of meta_url cannot hold a value: {reason}; move the metadata to one that can: `syncmgr backup FOLDER`, stop the frontend, move its folders away, name another meta_url in fe.conf, or none, and `syncmgr restore FOLDER`",
    )
    META_PACKET = 20326, "HY000", "The database of meta_url accepts only packets that are too small: {reason}"
    META_IN_USE = 20308, "HY000", "Folder '{folder}' is in use by another frontend; stop that one first"
    META_DOWN = 20310, "HY000", "The metadata cannot be read or written: {reason}"
    META_OWNED = 20309, "HY000", "The metadata belongs to frontend {owner}, which is alive; stop that one first"
    META_GIVEN_BACK = (
        20324,
        "HY000",
        "This frontend is shutting down and has released the metadata, so it writes nothing more; start it again, then repeat the statement",
    )
    BACKUP_REFUSED = 20312, "HY000", "The backup is refused: {reason}"
    BACKUP_LACKS = 20313, "HY000", "'{path}' of {what} cannot be backed up: {reason}"
    BACKUP_BROKEN = 20314, "HY000", "'{folder}' holds no complete backup: {reason}"
    RESTORE_REFUSED = 20315, "HY000", "The restore is refused: {reason}"
    RESTORE_UNFINISHED = (
        20317,
        "HY000",
        "A restore into '{folder}' was interrupted: empty meta_dir, lake_dir (but for jars) and staging_dir, and restore again",
    )
    BACKUP_FAILED = 20316, "HY000", "The {what} failed: {reason}"
    LOGIN_REFUSED = (
        3955,
        "HY000",
        "Access denied for user '{user}'@'{host}'. Account is blocked for {second} seconds due to {count} consecutive failed logins",
    )
    AUDIT_FAILED = (
        20319,
        "HY000",
        "The statement is refused, since audit.log cannot be written: {reason}; make room in log_dir, or set audit_log in conf/fe.conf and restart",
    )
    MEMORY_FULL = (
        20320,
        "HY000",
        "{who} as much memory as {name} allows; close prepared statements and cursors, or end other connections",
    )
    SOURCE_WAITED = (
        20321,
        "HY000",
        "The statement was given up after {second} seconds (source_statement_second), because its source had not answered by then, and has changed nothing; check the source and the network to it, or SHOW PROCESSLIST for statements of the same account that wait for theirs",
    )
    STATEMENT_TOO_LARGE = 20318, "HY000", "The statement is too large: it has more than {limit} {what}; {advice}"
    WORKER_DIED = 20306, "HY000", "The worker process ended with status {status}"
    SHUTTING_DOWN = 1053, "08S01", "Server shutdown in progress"

    @property
    def number(self) -> int:
        return self.value[0]

    @property
    def sqlstate(self) -> str:
        return self.value[1]

    @property
    def template(self) -> str:
        return self.value[2]


class SyncError(Exception):
    """An error for the operator: a row of the table, the facts that fill its words, and `more` that follows them.

    None of these is longer than MOST_SHOWN: some come from sources.
    """

    def __init__(self, code: Code, *, more: object = "", **context: object) -> None:
        self.code = code
        self.context = context = {name: _short(value) for name, value in context.items()}
        self.more = more = _short(more)
        super().__init__(f"{code.template.format(**context)}{more}")

    def __reduce__(self) -> tuple[object, ...]:
        """It crosses from worker processes to the FE."""
        return _rebuild, (self.code, self.context, self.more)

    def saying(self, more: str) -> "SyncError":
        """The same, with more words at its end."""
        return SyncError(self.code, more=f"{self.more}{more}", **self.context)


def _rebuild(code: Code, context: dict[str, object], more: object) -> SyncError:
    return SyncError(code, more=more, **context)


def _short(value: object) -> object:
    """A text, up to MOST_SHOWN."""
    if not isinstance(value, str) or len(value) <= MOST_SHOWN:
        return value
    end = f"... ({len(value)} characters)"
    return value[: MOST_SHOWN - len(end)] + end


def shorten(error: E) -> E:
    """A foreign error whose message contains no data, so that it may be logged."""
    error.args = tuple(map(_short, error.args))
    return error


@dataclass(frozen=True, kw_only=True, slots=True)
class Remark:
    """A message of a statement besides its answer, or its error again: a row of SHOW WARNINGS."""

    level: Literal["Note", "Warning", "Error"]
    code: Code
    text: str


def forgiven(forgives: bool, error: SyncError) -> tuple[Remark, ...]:  # noqa: FBT001 - the statement's own flag
    """Turns an error into a note for IF EXISTS and IF NOT EXISTS. Raises the error without them."""
    if not forgives:
        raise error
    return (Remark(level="Note", code=error.code, text=str(error)),)
