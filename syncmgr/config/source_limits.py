"""How long sources may take to answer.

Owns: these rows of the table of settings.
Must not know: the other rows, who uses a value.
"""

from typing import Final

from syncmgr.config.checks import Setting, at_least, between

MiB: Final = 1024 * 1024
SOURCE_LIMITS: Final[tuple[Setting, ...]] = (
    Setting(
        "source_read_timeout_second",
        30.0,
        "seconds",
        "Silence of a source (heartbeats included) after which the connection counts as lost.",
        at_least(2),
    ),
    Setting(
        "source_schema_check_second",
        30.0,
        "seconds",
        "How often a server whose binlog lacks the names of columns (binlog_row_metadata is not FULL) is asked for "
        "them, to find an ALTER TABLE that it did not log; and how often a server that would not log what it "
        "replicates is asked whether it replicates.",
        at_least(1),
    ),
    Setting(
        "source_connect_timeout_second", 10.0, "seconds", "How long a connection to a source may take.", at_least(1)
    ),
    Setting(
        "source_question_timeout_second",
        5,
        "seconds",
        "How long a source may take to describe an object that a statement logged instead of rows writes or reads.",
        between(1, 3600),
    ),
    Setting(
        "source_questions_second",
        20,
        "seconds",
        "How long such queries run on one connection; the rest run on the next one.",
        at_least(1),
    ),
    Setting(
        "source_lookahead_second",
        5.0,
        "seconds",
        "How far the binlog is read ahead when a table of a pattern is created, to find others that join with it; "
        "tables that it does not find by then join when the job itself has read that far.",
        between(0.1, 600),
    ),
    Setting(
        "binlog_check_second",
        30.0,
        "seconds",
        "How often a source is asked how long it will keep what a job reads next, and how much is left to read "
        "(binlog_left_second and lag_bytes of Status); it is asked once for all its jobs.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "binlog_warn_second",
        86400,
        "seconds",
        "Msg warns (20147) if what a job reads next may be purged from the binlog of its source within this time; 0: "
        "never.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "source_lock_wait_second",
        1,
        "seconds",
        "How long one try to lock a table waits for its writers; a snapshot without a key or GTIDs needs that lock.",
        between(1, 3600),
    ),
    Setting(
        "source_lock_tries",
        20,
        "times",
        "How often such a lock is tried, with a second in between in which writers continue.",
        at_least(1),
    ),
    Setting("max_connections", 1024, "connections", "Maximum number of console connections at one time.", at_least(1)),
    Setting("max_allowed_packet", 64 * MiB, "bytes", "Largest packet that the console reads.", at_least(1024)),
)
