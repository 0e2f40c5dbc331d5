"""Errors of the lake, its engine and the disks: 20201 to 20299.

Owns: their rows: what is wrong with Spark, a table of the lake, or a folder of the frontend.
Must not know: who raises an error or how it is shown.
"""

from syncmgr.errors.row import Row

LAKE_STARTING = Row(20201, "HY000", "The lake is still starting ({reason}); try again in a few seconds")
LAKE_FAILED = Row(20202, "HY000", "The lake failed: {reason}")
TARGET_REPLACED = Row(
    20203,
    "HY000",
    "Table '{table}' was rolled back or replaced: its snapshot of epoch {epoch} ({snapshot}) is no longer in its history; ALTER SYNC JOB ... RESYNC TABLE replaces its rows (not for a canal job, nor where several tables fill it: STOP the job, drop its targets and create all of them again)",
)
FENCED = Row(
    20204,
    "HY000",
    "Table '{table}' has epoch {found}, and this job was about to commit epoch {epoch}: another frontend has taken over",
)
NOT_WRITABLE = Row(20205, "HY000", "Folder '{folder}' cannot be written: {reason}")
DISK_FULL = Row(20206, "HY000", "No space left in '{folder}' for staged rows")
JAVA_MISSING = Row(20207, "HY000", "Java 17 or 21 is needed and was not found: {reason}")
QUERY_FAILED = Row(20208, "HY000", "{reason}")
TABLE_BUSY = Row(
    20209,
    "HY000",
    "Table '{table}' is the target of sync job '{job}'; stop the job first, or take the table out of it by ALTER SYNC JOB ... DROP TABLE and wait until no row of it in information_schema.sync_channels has a STATE",
)
APPEND_CHANGE = Row(
    20210,
    "HY000",
    'The target of \'{table}\' has no key, and its source had {change}; create it with UNIQUE KEY, or set "append_on_change" = "append" or "ignore"',
)
BAD_TABLE = Row(20211, "HY000", "Table '{table}' cannot be created: {reason}")
BAD_NAME = Row(20212, "42000", "Incorrect {what} name '{name}': {reason}")
DATABASE_NOT_EMPTY = Row(20213, "HY000", "Database '{db}' still holds {count} tables; drop them first, or add FORCE")
OTHER_HISTORY = Row(
    20221,
    "HY000",
    "Table '{table}' has an epoch {epoch} that the metadata does not know: the metadata is older than the lake; restore both together, or stop the job, drop the table and create both again",
)
TABLE_BROKEN = Row(
    20222,
    "HY000",
    "Table '{table}' is damaged, as after a power failure during a commit: {reason}. The catalog names {location}; the metadata before it is {previous}. Set the catalog back to it (docs/operations.md, Power failure) or restore a backup",
)
LAKE_FULL = Row(20223, "HY000", "No space left on the lake's storage: {reason}")
LAKE_DENIED = Row(20224, "HY000", "The frontend may not read or write on the lake's storage: {reason}")
LAKE_DAMAGED = Row(20225, "HY000", "The catalog of the lake is damaged: {reason}")
STAGED_LOST = Row(
    20226,
    "HY000",
    "Rows of epoch {epoch} for table '{table}' are no longer staged: {path} is gone; STOP the job, drop the target, and create both again",
)
CHANNEL_BEHIND = Row(
    20227,
    "HY000",
    "Table '{table}' cannot be committed, and is {epochs} epochs ({bytes} bytes) behind, while the other tables of the job continue: {reason}",
)
BACKLOG_WAITS = Row(
    20228, "HY000", "Table '{table}' is {bytes} bytes behind, more than max_channel_backlog_bytes ({limit}): {reason}"
)
BACKLOG_STUCK = Row(
    20229,
    "HY000",
    "Table '{table}' is {bytes} bytes behind, more than max_channel_backlog_bytes ({limit}), and waits for an operator: {reason}",
)
LAKE_SLOW = Row(
    20230,
    "HY000",
    "The commit of epoch {epoch} has been running for {second} seconds: Spark or the lake's storage is busy or hangs",
)
TARGET_SET_BACK = Row(
    20231,
    "HY000",
    "Table '{table}' has epoch {found} and had epoch {epoch} before: it was created again, or the lake, or this table, is older than the metadata; restore both together, or ALTER SYNC JOB ... RESYNC TABLE, which replaces its rows (not for a canal job, nor where several tables fill it: STOP the job, drop its targets and create all of them again)",
)
SPEC_CHANGED = Row(
    20232,
    "HY000",
    "Table '{table}' has no usable key index ({index}), and its partition spec was changed so that rows of one key may be in two partitions ({reason}): remove the cause that the index reports, or rewrite all files with CALL system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true')), and partition by columns of the key alone",
)
LAKE_CLOCK = Row(
    20233,
    "HY000",
    "The clock of this machine is {second} s behind the last commit of table '{table}'; Iceberg refuses commits that are more than a minute older than the last one, so the next commit is possible at {until} UTC",
)
TARGET_OF_OTHERS = Row(
    20234,
    "HY000",
    "Table '{table}' was written less than {second} seconds ago by a table of a sync job that this frontend does not know: it has just left its job here, or another frontend syncs into the table; stop the job of the other frontend, and wait that long",
)
DATABASE_HAS_VIEWS = Row(
    20235,
    "HY000",
    "Database '{db}' holds views of another engine ({views}); nothing was dropped: DROP VIEW by that engine first",
)
WRITES_LOST = Row(
    20236,
    "HY000",
    "The disk of the lake has lost writes ({reason}), so table '{table}' may name rows that are not on it. Repair the disk, then {cure}, or restore a backup",
)
COLUMN_REPLACED = Row(20237, "HY000", "Another engine dropped column '{column}' of table '{table}' and added it again")
FOREIGN_CHANGE = Row(20238, "HY000", "Table '{table}' has to be changed in Spark first: {reason}")
QUERIES_ENDED = Row(20240, "HY000", "The query engine has ended and is being restarted ({reason}); run the query again")
QUERY_TOO_BIG = Row(20241, "HY000", "The query needs more memory than it may use (query_memory)")
JAR_ALTERED = Row(
    20242,
    "HY000",
    "Jar '{file}' is not the expected one, even after it was downloaded again: its SHA-256 is {found}, not {expected}",
)
JARS_MISSING = Row(20243, "HY000", "Jars are missing from '{folder}' and could not be downloaded ({files}): {reason}")
FILES_KEPT = Row(
    20244,
    "HY000",
    "Table '{table}' was dropped, but its files stay: table '{other}' uses them, too (register_table); DROP TABLE of the last name deletes them",
)
COLUMN_BUSY = Row(
    20246,
    "HY000",
    "Column '{column}' of table '{table}' cannot be {what}: sync job '{job}' fills it, and follows the DDL of the source; alter the source, or stop the job first",
)
BAD_ALTER = Row(20245, "HY000", "Table '{table}' cannot be altered: {reason}")
