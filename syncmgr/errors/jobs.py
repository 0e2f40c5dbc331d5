"""Errors of jobs and of statements about them: 20001 to 20099.

Owns: their rows: what is wrong with a job, or with a statement about one.
Must not know: who raises an error or how it is shown.
"""

from syncmgr.errors.row import Row

UNKNOWN_JOB = Row(20001, "42S02", "Unknown sync job '{job}' in database '{db}'")
ILLEGAL_TRANSITION = Row(20002, "HY000", "A {state} job cannot be {event}")
JOB_EXISTS = Row(20003, "42S01", "The sync job '{job}' in database '{db}' already exists")
TARGET_IN_USE = Row(
    20004,
    "HY000",
    "Table '{table}' is already the target of sync job '{job}'; stop that job first, or take the table out of it by ALTER SYNC JOB ... DROP TABLE and wait until no row of it in information_schema.sync_channels has a STATE",
)
DUPLICATE_MAPPING = Row(
    20005,
    "HY000",
    "A source table may have only one target, and a target only one source table: '{table}' is named twice",
)
STALE_JOB = Row(20006, "HY000", "The sync job '{job}' was changed by someone else meanwhile; try again")
NO_CHANNEL_KEY = Row(20007, "HY000", "Table '{table}': {reason}")
PROPERTY_MISSING = Row(20008, "HY000", "Property '{name}' is missing in {where}")
PROPERTY_UNKNOWN = Row(20009, "HY000", "Unknown property '{name}' in {where}{hint}")
PROPERTY_WRONG = Row(20010, "HY000", "Property '{name}' cannot be '{value}': {reason}")
PROPERTY_TWICE = Row(20011, "HY000", "Property '{name}' is given twice")
TYPE_DOES_NOT_FIT = Row(
    20012,
    "HY000",
    "Source column '{source}' ({source_type}) does not fit target column '{target}' ({target_type}): {reason}",
)
BAD_EXPRESSION = Row(20013, "HY000", "Column or WHERE expression '{expression}' cannot be used: {reason}")
PARTITION_REFUSED = Row(
    20014,
    "HY000",
    "PARTITION ({partitions}) cannot be honoured: the lake places rows by the partition transforms of table '{table}'; leave it out",
)
COLUMN_NOT_COVERED = Row(
    20015, "HY000", "Target column '{column}' of table '{table}' is NOT NULL and is not filled by the channel"
)
NO_SUCH_POINT = Row(
    20016,
    "HY000",
    "Sync job '{job}' has no consistent point{at}; information_schema.sync_points lists those that are kept",
)
NOT_AT_POINT = Row(
    20017,
    "HY000",
    "Table '{table}' has no snapshot at the consistent point '{point}': it is not a target of that job, or had no rows then",
)
NO_DDL_TO_SETTLE = Row(20018, "HY000", "The sync job '{job}' is not paused by a DDL statement")
NO_SUCH_CHANNEL = Row(
    20019, "42S02", "Table '{table}' does not name one source table of sync job '{job}', which are: {tables}"
)
LAST_CHANNEL = Row(20020, "HY000", "Table '{table}' is the only table of sync job '{job}'; use STOP SYNC JOB")
NO_TABLE_MATCHES = Row(20031, "42S02", "No table of the source matches {pattern}{hint}")
NO_SOURCE_KEY = Row(20032, "HY000", "No unique key that a target can have: {tables}; {cure}")
SHARDS_REFUSED = Row(
    20033, "HY000", "The rows of '{table}' cannot go into '{target}' together with those of other databases: {reason}"
)
RESYNC_WHERE = Row(20034, "HY000", "RESYNC of table '{table}' cannot take WHERE {condition}: {reason}")
BAD_PATTERN = Row(20035, "42000", "Pattern {pattern} cannot be used: {reason}")
POSITION_LOST_FOR_ALL = Row(
    20036,
    "HY000",
    "{what} would not let the job continue: its position in the binlog is lost (error 20107), for all of its tables; STOP it, DROP its targets and create it again; where the server is a replica that lags, RESUME once it has caught up",
)
ROWS_BEFORE_START = Row(
    20037,
    "HY000",
    'The statement created {targets}, which receive only changes after "start": rows written earlier and not changed since will be missing; ALTER SYNC JOB ... RESYNC TABLE brings all rows of a table, and a job without "start" brings those of all its tables',
)
TOO_MANY_JOBS = Row(
    20038,
    "HY000",
    "There are {limit} sync jobs, as many as max_jobs allows; STOP those that are not needed, or give several tables to one job, or raise max_jobs in conf/fe.conf",
)
LOST_BY_STOP = Row(
    20039, "HY000", "Target '{target}' lacks rows of '{table}'; they are lost with the job: {reason}; {cure}"
)
SOURCE_ZONED = Row(20040, "HY000", "Column '{column}' of table '{table}' has no single stored value: {reason}")
TOO_MANY_OF_ACCOUNT = Row(
    20041,
    "HY000",
    "Account {account} has {limit} sync jobs, as many as max_jobs_per_account allows; STOP those that are not needed, or give several tables to one job, or raise max_jobs_per_account in conf/fe.conf",
)
ROWS_TWICE = Row(
    20042,
    "HY000",
    "Target '{target}' has no key, and may have duplicate rows: job '{job}', which has ended, has written changes after \"start\", or was about to; look for duplicates with SELECT: if there are none, nothing needs to be done; otherwise STOP the new job, DROP the target and create it again, and create the job without \"start\", which brings all rows",
)
