"""How often jobs commit, how much of them waits, how often they retry.

Owns: these rows of the table of settings.
Must not know: the other rows, who uses a value.
"""

from typing import Final

from syncmgr.config.checks import Setting, at_least, between

MiB: Final = 1024 * 1024
JOB_LIMITS: Final[tuple[Setting, ...]] = (
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
        "Period of the scheduler's safety net; a change of state wakes it immediately.",
        at_least(0.1),
    ),
    Setting(
        "max_jobs",
        1000,
        "jobs",
        "Maximum number of jobs that are not cancelled, over all databases: CREATE SYNC of one more is refused. Each "
        "running job has a worker process of its own, which takes 11 MiB at rest.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "max_jobs_per_account",
        200,
        "jobs",
        "Maximum number of such jobs that one account has created: CREATE SYNC of one more is refused, unless it has "
        "ADMIN_PRIV. Jobs of earlier versions count for no account.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "max_sync_task_threads_num",
        10,
        "threads",
        "Number of channels that commit in parallel, over all jobs.",
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
        "The same as min_sync_commit_size, by size.",
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
        "Number of chunks that the snapshot of a job reads from the source at a time.",
        between(1, 64),
        mutable=True,
        job=True,
    ),
    Setting(
        "snapshot_max_rows_per_second",
        0,
        "rows",
        "Number of rows that the snapshot of a job reads per second, over all its tables; it pauses between chunks. "
        "0: no limit.",
        at_least(0),
        mutable=True,
        job=True,
    ),
    Setting(
        "snapshot_chunk_rows",
        250_000,
        "rows",
        "Rows that a snapshot reads and commits at a time; fewer if they are wide, more if a table would have over "
        "500 such chunks.",
        at_least(1),
        job=True,
    ),
    Setting(
        "snapshot_retry_max_second",
        300.0,
        "seconds",
        "A table whose rows cannot be read, while the others continue, is retried after 5 seconds, and then after "
        "twice as long each time, up to this.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "position_commit_interval_second",
        10.0,
        "seconds",
        "While only other tables change, the job's position is stored this often, so that a quiet table never falls "
        "behind the binlog's retention.",
        at_least(0.1),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_staged_bytes",
        2048 * MiB,
        "bytes",
        "Staged and not yet committed rows of one job; beyond that the job stops reading until commits have caught up.",
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
        "Number of rows that a job with `on_value_error` = `dead-letter` may keep out of its targets before it is "
        "paused.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_dead_letter_bytes",
        64 * MiB,
        "bytes",
        "The same by the size of their rows, which the metadata keep and each query of sync_dead_letters reads. "
        "No job can override it.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "source_queue_batches",
        64,
        "batches",
        "How far the reader of a source may run ahead of staging, in batches of at most 4000 row events.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "source_queue_bytes",
        64 * MiB,
        "bytes",
        "The same by size: a worker's memory grows with it. One batch (16 MiB, or one larger event) may be added to "
        "that.",
        at_least(1),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_source_event_bytes",
        2048 * MiB,
        "bytes",
        "Maximum size of an event of a MySQL source, uncompressed, and of a row of its snapshot: a larger one pauses "
        "the job (20171). A worker may need three times as much memory for it. Servers send none of more than 1 GiB.",
        at_least(MiB),
    ),
    Setting(
        "max_source_event_cells",
        4_000_000,
        "cells",
        "Maximum number of cells (rows times columns, twice for an UPDATE) of an event of a MySQL source: more pause "
        "the job (20171). Each takes a worker some hundred bytes and 10 microseconds, however short it is. Servers "
        "cut events at binlog_row_event_max_size, which is 8 KiB by default.",
        at_least(100_000),
    ),
    Setting(
        "max_source_transaction_bytes",
        16384 * MiB,
        "bytes",
        "Maximum uncompressed size of a transaction that a MySQL source has compressed "
        "(binlog_transaction_compression); it is decompressed in pieces. A larger one pauses the job (20171).",
        at_least(MiB),
    ),
    Setting(
        "pause_timeout_second",
        20.0,
        "seconds",
        "How long a job that is being paused may take to stage what it has read. What is not staged by then is read "
        "again after RESUME.",
        at_least(0.1),
        mutable=True,
        job=True,
    ),
    Setting(
        "shutdown_timeout_second",
        25.0,
        "seconds",
        "How long the frontend waits for the last commits of its jobs when it is stopped. What is not done by then is "
        "done after the next start. bin/stop_fe.sh kills a frontend that takes 60 seconds.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "max_retry",
        5,
        "times",
        "Transient problems (network, lock, a worker or Spark died) are retried with back-off inside RUNNING at "
        "least this often in a row, and for at least max_retry_second; then the job is paused and resumes by itself.",
        at_least(0),
        mutable=True,
        job=True,
    ),
    Setting(
        "max_retry_second",
        300.0,
        "seconds",
        "The same as max_retry, by time: a server that is down for less does not pause a job.",
        at_least(0),
        mutable=True,
        job=True,
    ),
    Setting(
        "label_keep_max_second",
        3 * 24 * 3600,
        "seconds",
        "A cancelled job is shown this long, then deleted; earlier once its account has cancelled "
        "`max_jobs_per_account` later ones.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "consistent_point_keep_second",
        900,
        "seconds",
        "How long a consistent point over all tables of a job can be read by time travel.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "key_index_max_bytes",
        1024 * MiB,
        "bytes",
        "Memory for the key indexes of all tables: 16 bytes per row for a single integer key, 24 for any other. A "
        "table that finds no room is committed with equality deletes. 0: no index.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "fold_copy_bytes",
        1024 * MiB,
        "bytes",
        "Total size of the data files of a lake elsewhere that a fold of equality deletes copies to copies_dir at a "
        "time; a larger file is copied alone.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "task_rows_bytes",
        16 * MiB,
        "bytes",
        "Staged rows of an epoch or chunk that travel in memory with the tasks of a Spark cluster; more of them go "
        "through files next to the table's. Spark sends a task in one message of spark.rpc.message.maxSize, 128 MiB.",
        between(0, 64 * MiB),
        mutable=True,
    ),
    Setting(
        "upkeep_interval_second",
        2.0,
        "seconds",
        "Period of the upkeep tick: fold, compaction, expiry of snapshots, orphans.",
        at_least(0.5),
    ),
)
