"""Errors of the frontend, its settings, metadata and backups: 20301 to 20399.

Owns: their rows: what is wrong with the frontend itself.
Must not know: who raises an error or how it is shown.
"""

from syncmgr.errors.row import Row

BAD_CONFIG = Row(20301, "HY000", "{message}")
UNKNOWN_CONFIG = Row(20302, "HY000", "Unknown config '{name}'{hint}")
IMMUTABLE_CONFIG = Row(
    20303, "HY000", "Config '{name}' cannot be changed while the frontend runs; set it in conf/fe.conf and restart"
)
WRONG_CONFIG = Row(20304, "HY000", "Config '{name}' cannot be '{value}': {reason}")
PORT_IN_USE = Row(20305, "HY000", "Port {port} on {host} cannot be opened: {reason}")
WORKER_DIED = Row(20306, "HY000", "The worker process ended with status {status}")
META_FAILED = Row(20307, "HY000", "The metadata in {where} cannot be opened: {reason}")
META_IN_USE = Row(20308, "HY000", "Folder '{folder}' is in use by another frontend; stop that one first")
META_OWNED = Row(20309, "HY000", "The metadata belongs to frontend {owner}, which is alive; stop that one first")
META_DOWN = Row(20310, "HY000", "The metadata cannot be read or written: {reason}")
META_NEWER = Row(
    20311,
    "HY000",
    "The metadata was made by a newer syncmgr (schema {found}; this one knows {known}): start that one, or restore the backup from before the upgrade",
)
BACKUP_REFUSED = Row(20312, "HY000", "The backup is refused: {reason}")
BACKUP_LACKS = Row(20313, "HY000", "'{path}' of {what} cannot be backed up: {reason}")
BACKUP_BROKEN = Row(20314, "HY000", "'{folder}' holds no complete backup: {reason}")
RESTORE_REFUSED = Row(20315, "HY000", "The restore is refused: {reason}")
BACKUP_FAILED = Row(20316, "HY000", "The {what} failed: {reason}")
RESTORE_UNFINISHED = Row(
    20317,
    "HY000",
    "A restore into '{folder}' was interrupted: empty meta_dir, lake_dir (except jars) and staging_dir, and restore again",
)
STATEMENT_TOO_LARGE = Row(20318, "HY000", "The statement is too large: it has more than {limit} {what}; {advice}")
AUDIT_FAILED = Row(
    20319,
    "HY000",
    "The statement is refused, since audit.log cannot be written: {reason}; make room in log_dir, or set audit_log in conf/fe.conf and restart",
)
MEMORY_FULL = Row(
    20320,
    "HY000",
    "{who} as much memory as {name} allows; close prepared statements and cursors, or end other connections",
)
SOURCE_WAITED = Row(
    20321,
    "HY000",
    "The statement was abandoned after {second} seconds (source_statement_second), because its source had not answered by then; nothing was changed. Check the source and the network to it, and SHOW PROCESSLIST for statements of the same account that are waiting for their sources",
)
META_CHARSET = Row(20322, "HY000", "The metadata would lose characters of names: {reason}")
META_UNFIT = Row(
    20323,
    "HY000",
    "The database of meta_url cannot hold a value: {reason}; move the metadata to one that can: `syncmgr backup FOLDER`, stop the frontend, move its folders away, name another meta_url in fe.conf, or none, and `syncmgr restore FOLDER`",
)
META_GIVEN_BACK = Row(
    20324,
    "HY000",
    "This frontend is shutting down and has released the metadata, so it writes nothing more; start it again, then repeat the statement",
)
SOURCE_KIND_UNKNOWN = Row(
    20325,
    "HY000",
    "A job reads a source of the type {kind}, which this syncmgr does not know (it knows {known}): start the one that made it",
)
META_PACKET = Row(20326, "HY000", "The database of meta_url accepts only packets that are too small: {reason}")
NO_WEBHOOK = Row(
    20327,
    "HY000",
    "No receiver of alerts is set: set alert_webhook in conf/fe.conf, or with ADMIN SET FRONTEND CONFIG until the next start",
)
WEBHOOK_FAILED = Row(20328, "HY000", "The alert was not received: {reason}; check alert_webhook and its receiver")
