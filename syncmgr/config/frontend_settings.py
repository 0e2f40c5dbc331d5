"""Where a frontend is reached, and where it keeps its data.

Owns: these rows of the table of settings.
Must not know: the other rows, who uses a value.
"""

from typing import Final

from syncmgr.config.catalog_keys import EMBEDDED
from syncmgr.config.checks import (
    Setting,
    at_least,
    audit_mode,
    catalog_type,
    folder,
    folder_or_empty,
    lake_folder,
    log_format,
    log_level,
    log_target,
    port,
    switch,
)

FRONTEND_SETTINGS: Final[tuple[Setting, ...]] = (
    Setting("query_port", 9030, "port", "Port of the MySQL console.", port),
    Setting(
        "query_host",
        "",
        "address",
        "Address that the console listens on. Empty: loopback only while root has no password, otherwise every "
        "address.",
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
        "ON: every statement and login of the console is written to audit.log in log_dir. STRICT: statements that "
        "change anything are also written before they run, and refused while that cannot be written. Only ADMIN_PRIV "
        "can change it.",
        audit_mode,
        mutable=True,
    ),
    Setting("root_password", "", "text", "Password of the user root. Empty: no password, loopback only.", secret=True),
    Setting("meta_dir", "var/meta", "folder", "Where the frontend keeps jobs, intents and epochs (SQLite).", folder),
    Setting(
        "meta_url",
        "",
        "SQLAlchemy URL",
        "Database of the metadata instead of SQLite in meta_dir: MySQL or MariaDB (mysql://..., read by pymysql, with "
        "CHARACTER SET utf8mb4, and a max_allowed_packet of at least 16 MiB) or PostgreSQL (postgresql+psycopg://..., "
        "with the extra syncmgr[postgresql]).",
        secret=True,
    ),
    Setting(
        "meta_timeout_second",
        30.0,
        "seconds",
        "How long a MySQL server at meta_url may take to connect, and to answer; after that it counts as down (20310).",
        at_least(1),
    ),
    Setting(
        "catalog_type",
        EMBEDDED,
        "embedded, rest, jdbc, glue or hive",
        "The catalog of the lake: our own in lake_dir, or one that is described by catalog_uri, catalog_warehouse and "
        "keys that begin with catalog., such as catalog.credential or catalog.s3.endpoint.",
        catalog_type,
    ),
    Setting("catalog_uri", "", "URI", "Where that catalog is. Passwords have keys of their own."),
    Setting(
        "catalog_warehouse",
        "",
        "URI or name",
        "Where the tables of that catalog are, such as s3://bucket/folder; for a REST catalog, a warehouse's name.",
    ),
    Setting("lake_dir", "var/lake", "folder", "Folder of the embedded Iceberg catalog and its tables.", lake_folder),
    Setting(
        "jars_dir",
        "",
        "folder",
        "Folder of the jars of Iceberg and of MySQL's driver, shared by all frontends that name it. Empty: "
        "syncmgr/jars in the user's cache ($XDG_CACHE_HOME or ~/.cache).",
        folder_or_empty,
    ),
    Setting(
        "copies_dir",
        "var/copies",
        "folder",
        "Where files of a lake that is not on a local disk are written before they are uploaded, and where they are "
        "downloaded to be read.",
        folder,
    ),
    Setting(
        "executor_wait_second",
        60.0,
        "seconds",
        "How long a Spark job may wait for an executor of the cluster; then the JVM is restarted, since a master that "
        "was restarted does not know the old one. Set it higher than a busy or growing cluster needs.",
        at_least(10),
    ),
    Setting(
        "source_files_dir",
        "",
        "folder",
        "Has a folder for each database, of the same name, whose files the jobs of that database may use as "
        "mysql.ssl_cert, mysql.ssl_key and the same of snapshot. Others, and all if this is empty, need ADMIN_PRIV.",
        folder_or_empty,
    ),
    Setting("staging_dir", "var/staging", "folder", "Where change rows wait for their commit.", folder),
    Setting("log_dir", "log", "folder", "Where fe.log and audit.log are written.", folder),
    Setting(
        "log_format",
        "text",
        "text or json",
        "Format of fe.log. json: one object per line, with time (UTC), level, logger, thread, msg, further facts, and "
        "exc for the lines of an exception. audit.log is JSON in any case.",
        log_format,
    ),
    Setting(
        "log_to",
        "file",
        "file or stderr",
        "stderr: what fe.log would have goes to standard error, as containers expect. audit.log stays a file.",
        log_target,
    ),
    Setting("log_level", "INFO", "word", "DEBUG, INFO, WARNING or ERROR.", log_level, mutable=True),
)
