"""What clients of the console and their queries may use.

Owns: these rows of the table of settings.
Must not know: the other rows, who uses a value.
"""

from typing import Final

from syncmgr.config.checks import Setting, at_least, between, sql_dialect, switch

MiB: Final = 1024 * 1024
CONSOLE_LIMITS: Final[tuple[Setting, ...]] = (
    Setting(
        "max_statement_bytes",
        4 * MiB,
        "bytes",
        "Maximum length of a statement's text. A longer one is refused, and read without being kept, up to "
        "max_allowed_packet; beyond that the connection ends.",
        at_least(1024),
    ),
    Setting(
        "max_query_bytes",
        256 * 1024,
        "bytes",
        "Maximum length of a SELECT's text: Spark takes disproportionately long to parse large ones.",
        at_least(1024),
    ),
    Setting(
        "max_logins",
        256,
        "connections",
        "Maximum number of console connections that are not logged in yet, at one time; 32 more for addresses from "
        "which someone has logged in before. When another one arrives, one that has sent nothing is closed for it.",
        at_least(1),
    ),
    Setting("max_logins_per_address", 64, "connections", "The same limit, per address.", at_least(1)),
    Setting(
        "reserved_connections",
        8,
        "connections",
        "Part of max_connections that is reserved for root and accounts with ADMIN_PRIV or NODE_PRIV.",
        at_least(0),
    ),
    Setting(
        "max_login_failures",
        20,
        "failures",
        "After this many wrong passwords in a row an account is refused from that address for login_refuse_second, "
        "whatever the password. 0: never.",
        at_least(0),
    ),
    Setting(
        "login_refuse_second",
        60.0,
        "seconds",
        "How long an account is refused after max_login_failures wrong passwords.",
        at_least(1),
    ),
    Setting(
        "max_connection_bytes",
        32 * MiB,
        "bytes",
        "Maximum memory of one console connection: prepared statements, data sent ahead for them, open cursors, user "
        "variables, the running statement.",
        at_least(MiB),
    ),
    Setting(
        "max_console_bytes",
        256 * MiB,
        "bytes",
        "The same for all connections together, including result rows that have arrived and were not read yet. A "
        "result for which there is no room ends with an error; up to 256 KiB of each always have room.",
        at_least(8 * MiB),
    ),
    Setting("connect_timeout", 10.0, "seconds", "How long a console client may take to log in.", at_least(1)),
    Setting("wait_timeout", 28800.0, "seconds", "An idle console connection is closed after this.", at_least(1)),
    Setting(
        "net_read_timeout", 30.0, "seconds", "How long the rest of a packet may take once it has begun.", at_least(1)
    ),
    Setting(
        "net_write_timeout", 60.0, "seconds", "A client that reads no rows for this long is disconnected.", at_least(1)
    ),
    Setting("query_threads", 32, "threads", "Maximum number of console statements that run at one time.", at_least(1)),
    Setting(
        "max_queries_per_account",
        8,
        "queries",
        "Maximum number of SELECTs of one account that run at one time, out of query_threads; its others wait their "
        "turn.",
        at_least(1),
    ),
    Setting(
        "source_threads",
        8,
        "threads",
        "Maximum number of console statements that query a source (CREATE SYNC, EXPLAIN SYNC, ADD TABLE, RESYNC "
        "TABLE) at one time, in addition to query_threads; at most half of them of one account.",
        at_least(2),
    ),
    Setting(
        "source_statement_second",
        600.0,
        "seconds",
        "How long such a statement may take, including its wait for a turn, until it has everything that it queries; "
        "then it is abandoned, and changes nothing.",
        at_least(1),
    ),
    Setting(
        "unbounded_expressions",
        "OFF",
        "ON or OFF",
        "ON: CREATE SYNC accepts expressions and WHERE that may take any amount of time or memory, as regular "
        "expressions do: anyone who has LOAD_PRIV can stop the syncing of all jobs with one.",
        switch,
    ),
    Setting(
        "query_memory",
        1024 * MiB,
        "bytes",
        "Heap of the JVM that answers SELECT; the first SELECT starts it, and it ends after an hour without any. A "
        "query that needs more ends only this JVM, never the one that commits.",
        at_least(512 * MiB),
    ),
    Setting(
        "max_query_second",
        3600.0,
        "seconds",
        "Maximum time of a SELECT, including its rows, whatever max_execution_time says. 0: unlimited; then a query "
        "that never ends holds its part of the query engine until someone kills it.",
        at_least(0),
    ),
    Setting(
        "query_spill_bytes",
        20 * 1024 * MiB,
        "bytes",
        "Maximum disk space of all SELECTs at one time, in the folder for temporary files or in spark.local.dir, for "
        "rows that they sort and group beyond query_memory. Above it all of them end.",
        at_least(256 * MiB),
    ),
    Setting(
        "question_spill_bytes",
        1024 * MiB,
        "bytes",
        "Maximum disk space of all queries of information_schema at one time, in the folder for temporary files, for "
        "rows that they sort and group. Above it, the query that wrote the most is ended.",
        at_least(64 * MiB),
    ),
    Setting(
        "sql_dialect",
        "mysql",
        "mysql or spark",
        "In whose words the SELECTs of a session are that does not SET sql_dialect itself: mysql: they mean what they "
        "mean to MySQL; spark: they are for Spark, as typed.",
        sql_dialect,
    ),
    Setting(
        "query_nice",
        5,
        "",
        "Priority of commits over SELECT when both want all cores, as a value of nice(1): 0: none, 5: three to one.",
        between(0, 19),
    ),
    Setting(
        "spark_start_timeout_second",
        300.0,
        "seconds",
        "How long a statement or a job waits for Spark to start (the first start downloads jars).",
        at_least(1),
    ),
)
