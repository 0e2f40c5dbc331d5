"""HELP.

Owns: the topics, and the three forms of an answer that the mysql client knows. Properties, settings and privileges come
from their own tables.
Must not know: the parser; a test checks every example against it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from syncmgr.accounts.user import ANYWHERE_ONLY, Privilege
from syncmgr.config.settings import SETTINGS
from syncmgr.console.statements.help_topics import OF_SESSIONS, Topic
from syncmgr.job.check.check_options import PROPERTIES as CHECK_PROPERTIES
from syncmgr.job.job_properties import JOB_PROPERTIES
from syncmgr.job.property import Property
from syncmgr.lake.registry import FORMAT
from syncmgr.sources.registry import KINDS

SETTABLE: Final = [name for name in FORMAT.properties if name not in FORMAT.fixed]
_LINK: Final = re.compile(r"\[([^]]*)\]\([^)]*\)")


def _explained(properties: Iterable[Property]) -> str:
    """A line for each, in plain text: its default in brackets, or that it is required."""
    return "\n".join(f'"{each.name}" ({_default(each)}): {_plain(each.doc)}' for each in properties)


def _default(known: Property) -> str:
    return "required" if known.default is None else known.default or "optional"


def _plain(markdown: str) -> str:
    return _LINK.sub(r"\1", markdown).replace("`", "")


_OF_JOBS: Final = [Property(each.name, str(each.default), each.doc) for each in SETTINGS if each.job]
_OF_SOURCES: Final = "\n\n".join(
    f'FROM BINLOG, if "type" = "{name}":\n{_explained(kind.properties)}' for name, kind in KINDS.items()
)
_MUTABLE: Final = ", ".join(each.name for each in SETTINGS if each.mutable)
_GLOBAL: Final = " and ".join(each for each in Privilege if each in ANYWHERE_ONLY)
_OTHERS: Final = ", ".join(each for each in Privilege if each not in ANYWHERE_ONLY)


# What ALTER SYNC JOB does; those with keywords also have a page of their own.
CLAUSES: Final = (
    Topic(
        name="SET",
        syntax='ALTER SYNC JOB [db.]job SET ("key" = "value", ...)',
        text=f"""SET changes the job's PROPERTIES (see HELP CREATE SYNC JOB); a running job continues with the new ones.
Those of FROM BINLOG are changed by SET SOURCE. The properties for changes of the source are
{", ".join(each.name for each in JOB_PROPERTIES)}.""",
        example='ALTER SYNC JOB demo.job1 SET ("on_ddl" = "ignore")',
    ),
    Topic(
        name="SET SOURCE",
        syntax='ALTER SYNC JOB [db.]job SET SOURCE ("key" = "value", ...)',
        text="""SET SOURCE changes how the job reaches its source: password, user, hosts, ports, server id, TLS (HELP
CREATE SYNC JOB); not "type", "start" or "canal.destination". The new source is checked first: the login, the grants,
and that it has the history that the job has read. If a check fails, nothing changes. If the server changes, or how it
proves its identity, the statement must give the password again.""",
        example='ALTER SYNC JOB demo.job1 SET SOURCE ("mysql.password" = "the new one")',
        keywords=("BINLOG",),
    ),
    Topic(
        name="ADD TABLE",
        syntax="ALTER SYNC JOB [db.]job ADD TABLE channel [, ...]",
        text="""ADD TABLE takes channels as CREATE SYNC does (see HELP CREATE SYNC JOB); INTO db.* creates the targets.
Their rows are read while the other tables keep streaming, whatever the "start" of the job was.""",
        example="ALTER SYNC JOB demo.job1 ADD TABLE FROM shop.lines INTO demo.*",
        keywords=("CHANNEL",),
    ),
    Topic(
        name="DROP TABLE",
        syntax="ALTER SYNC JOB [db.]job DROP TABLE [db.]source_table",
        text="DROP TABLE removes a channel; its target table is kept.",
        example="ALTER SYNC JOB demo.job1 DROP TABLE shop.lines",
    ),
    Topic(
        name="RESYNC TABLE",
        syntax="ALTER SYNC JOB [db.]job RESYNC TABLE [db.]source_table [WHERE condition]",
        text="""RESYNC TABLE reads a table again and replaces its rows in one commit; if the table was stopped, also its
columns. With WHERE it replaces only some keys: the condition compares columns of the key with constants.
A paused job does this after RESUME.""",
        example="ALTER SYNC JOB demo.job1 RESYNC TABLE shop.lines WHERE id BETWEEN 1000 AND 2000",
        keywords=("CHANNEL",),
    ),
    Topic(
        name="RENAME",
        syntax="ALTER SYNC JOB [db.]job RENAME TO new_name",
        text="RENAME gives the job another name in its database.",
        example="ALTER SYNC JOB demo.job1 RENAME TO job2",
    ),
    Topic(
        name="SKIP DDL",
        syntax="ALTER SYNC JOB [db.]job SKIP DDL",
        text="""SKIP DDL skips the statement that paused the job: the target is not changed, and you must make sure that
it fits. The statement is in Msg and in information_schema.sync_ddl. SKIP DDL takes effect at RESUME.""",
        example="ALTER SYNC JOB demo.job1 SKIP DDL",
        keywords=("DDL",),
    ),
    Topic(
        name="APPLY DDL",
        syntax="ALTER SYNC JOB [db.]job APPLY DDL 'statement'",
        text="""APPLY DDL applies another statement to the target instead of the one that paused the job, at RESUME.""",
        example="ALTER SYNC JOB demo.job1 APPLY DDL 'ALTER TABLE shop.lines DROP COLUMN note'",
        keywords=("DDL",),
    ),
)

TOPICS: Final = (
    Topic(
        name="CREATE SYNC JOB",
        syntax="""CREATE SYNC [JOB] [IF NOT EXISTS] [db.]job
(
  FROM source_db.source_table INTO target_table [(column [= expression], ...)] [WHERE condition], ...
  | FROM source_db.* INTO target_db.* [EXCLUDE (excluded, ...)], ...
  | FROM source_db.source_table INTO target_db.*, ...
  | FROM TABLES pattern INTO target_db.* [EXCLUDE (excluded, ...)], ...
  | FROM TABLES pattern INTO target_table [(column, ...)] [EXCLUDE (excluded, ...)] [WHERE condition], ...
)
FROM BINLOG ("key" = "value", ...)
[PROPERTIES ("key" = "value", ...)]""",
        text=f"""Creates and starts a job that writes every change of the source tables to tables of the lake.
Without a column list, columns are matched by name. With "type" = "canal" the list maps columns by position and names
every source column.
A pattern is LIKE 'shop\\_%.orders' or REGEXP '^shop_[0-9]+\\.orders$', matched against database.table. EXCLUDE takes
tables and patterns. A name is never a pattern.

{_OF_SOURCES}

PROPERTIES, what the job does when the source changes:
{_explained(JOB_PROPERTIES)}

PROPERTIES that override a setting of fe.conf for this job:
{_explained(_OF_JOBS)}""",
        example="""CREATE SYNC demo.job1 (FROM shop.orders INTO orders (id, status, amount))
FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "3306",
             "mysql.user" = "repl", "mysql.password" = "secret")""",
        keywords=("BINLOG", "SYNC", "JOB"),
    ),
    Topic(
        name="EXPLAIN SYNC JOB",
        syntax="EXPLAIN SYNC [JOB] [db.]job (channel, ...) FROM BINLOG (...) [PROPERTIES (...)]",
        text="""Reports what CREATE SYNC with the same text would do, without creating anything: for each table its
target, key, columns and types, the estimated rows, bytes and chunks of a snapshot, and the result of every check.
It takes the same properties as CREATE SYNC JOB.""",
        example="""EXPLAIN SYNC demo.job1 (FROM shop.* INTO demo.*)
FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "3306",
             "mysql.user" = "repl", "mysql.password" = "secret")""",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="ALTER SYNC JOB",
        syntax="\n".join(clause.syntax for clause in CLAUSES),
        text="\n".join(clause.text for clause in CLAUSES),
        example='ALTER SYNC JOB demo.job1 SET ("on_ddl" = "ignore")',
        keywords=("SYNC", "JOB", "BINLOG", "DDL"),
    ),
    *(clause for clause in CLAUSES if clause.keywords),
    Topic(
        name="PAUSE SYNC JOB",
        syntax="PAUSE SYNC JOB [db.]job",
        text="Stops reading and commits what was read. The job keeps its position and waits for RESUME.",
        example="PAUSE SYNC JOB demo.job1",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="RESUME SYNC JOB",
        syntax="RESUME SYNC JOB [db.]job",
        text="Continues a paused job from where it stopped.",
        example="RESUME SYNC JOB demo.job1",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="STOP SYNC JOB",
        syntax="STOP SYNC JOB [db.]job",
        text="Ends a job permanently. Its tables are kept, and its name can be used again.",
        example="STOP SYNC JOB demo.job1",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="CHECK SYNC JOB",
        syntax="CHECK SYNC JOB [db.]job [TABLE [db.]table, TABLE ...] [WITH (properties)]",
        text="""Compares the tables of a job, or some of them, named as at the source, with their source, while both
change. Returns at once, with the id of the check: information_schema.sync_checks shows its progress and its
result, sync_check_rows the rows that differ. Nothing is locked or written.
"""
        + _explained(CHECK_PROPERTIES),
        example='CHECK SYNC JOB demo.job1 TABLE shop.orders WITH ("max_rows_per_second" = "100000")',
        keywords=("SYNC", "JOB", "CHECK"),
    ),
    Topic(
        name="CHECK TABLE",
        syntax="CHECK TABLE [db.]table, ...",
        text="Compares targets with their sources, as CHECK SYNC JOB does, and waits for the result.",
        example="CHECK TABLE demo.orders",
        keywords=("CHECK",),
    ),
    Topic(
        name="STOP CHECK",
        syntax="STOP CHECK id",
        text="Ends a check.",
        example="STOP CHECK 7",
        keywords=("CHECK",),
    ),
    Topic(
        name="REPAIR SYNC JOB",
        syntax="REPAIR SYNC JOB [db.]job CHECK id [TABLE [db.]table]",
        text="""Reads the rows again that a check has found to differ, and replaces them in the targets, in one commit
for each table. Returns at once, with the id of a check that compares these rows when they are there: its RESULT is
EQUAL if all of them are right. REPAIR_TIME in information_schema.sync_check_rows says which are.
""",
        example="REPAIR SYNC JOB demo.job1 CHECK 7",
        keywords=("SYNC", "JOB", "CHECK"),
    ),
    Topic(
        name="SHOW SYNC JOB",
        syntax="SHOW SYNC JOB [FROM db] [LIKE 'pattern'] [WHERE condition] [ORDER BY column] [LIMIT n]",
        text="Lists the jobs of a database: the one in FROM, or the current one; without either, all jobs.",
        example="SHOW SYNC JOB FROM demo",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="SHOW SYNC JOB STATUS",
        syntax="SHOW SYNC JOB STATUS [FROM db] [LIKE 'pattern'] [WHERE condition] [ORDER BY column] [LIMIT n]",
        text="One short line for each job: its state, the age of its targets, rows, the number of its tables in each "
        "state, whether it needs an operator, the number of its error. LIKE matches db.job.",
        example="SHOW SYNC JOB STATUS WHERE NeedsOperator = 'yes'",
        keywords=("SYNC", "JOB"),
    ),
    Topic(
        name="SHOW SYNC JOB TABLES",
        syntax="SHOW SYNC JOB TABLES FOR [db.]job [LIKE 'pattern' | WHERE condition]",
        text="The tables of a job: source, target, state, since when, the error, and what to do about it. LIKE "
        "matches the target.",
        example="SHOW SYNC JOB TABLES FOR demo.shop WHERE State <> 'STREAMING'",
        keywords=("SYNC", "JOB"),
    ),
    Topic(
        name="SHOW CREATE SYNC JOB",
        syntax="SHOW CREATE SYNC JOB [db.]job",
        text="Shows the statement that creates this job, with passwords masked.",
        example="SHOW CREATE SYNC JOB demo.job1",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="CREATE DATABASE",
        syntax="CREATE DATABASE [IF NOT EXISTS] db",
        text="Creates a database in the lake.",
        example="CREATE DATABASE demo",
    ),
    Topic(
        name="DROP DATABASE",
        syntax="DROP DATABASE [IF EXISTS] db [FORCE]",
        text="Drops an empty database; with FORCE also its tables.",
        example="DROP DATABASE demo",
    ),
    Topic(
        name="CREATE TABLE",
        syntax="""CREATE TABLE [IF NOT EXISTS] [db.]table
(
  column type [NOT NULL] [COMMENT 'text'], ...
)
[UNIQUE KEY (column, ...) | DUPLICATE KEY (column, ...)]
[COMMENT 'text']
[PARTITION BY (column | BUCKET(n, column) | TRUNCATE(n, column) | YEAR|MONTH|DAY|HOUR(column), ...)]
[DISTRIBUTED BY HASH (column, ...) BUCKETS n]
[PROPERTIES ("key" = "value", ...)]""",
        text=f"""Creates an {FORMAT.name} table. With UNIQUE KEY changes are applied as upserts and deletes;
without it rows are appended. BUCKETS n with n > 1 partitions by a hash of the column.
PROPERTIES takes {", ".join(f'"{name}"' for name in FORMAT.properties)}.""",
        example="""CREATE TABLE demo.orders (id BIGINT NOT NULL, status VARCHAR(16), amount DECIMAL(12,2))
UNIQUE KEY (id)""",
    ),
    Topic(
        name="ALTER TABLE",
        syntax="""ALTER TABLE [db.]table clause, ...

ADD [COLUMN] column type [COMMENT 'text'] [FIRST | AFTER column]
DROP [COLUMN] column
RENAME COLUMN column TO name
MODIFY [COLUMN] column type [NULL] [COMMENT 'text'] [FIRST | AFTER column]
MODIFY COLUMN column COMMENT 'text'
COMMENT = 'text'
SET ("key" = "value", ...)
ENABLE FEATURE 'BATCH_DELETE'""",
        text=f"""Changes a table alongside the jobs that fill it, while they run; all clauses at once, and no row is
rewritten. Columns that a job fills are neither dropped nor renamed; any column but those of the key and of partitions
may get a wider type. Older rows show NULL in a new column. SET takes {", ".join(f'"{name}"' for name in SETTABLE)}.
ENABLE FEATURE is accepted for Doris' guides, with a warning; it does nothing.""",
        example="ALTER TABLE demo.orders ADD COLUMN note STRING COMMENT 'by hand' AFTER status",
    ),
    Topic(
        name="DROP TABLE",
        syntax="DROP TABLE [IF EXISTS] [db.]table [FORCE]",
        text="Drops a table that no job writes to.",
        example="DROP TABLE demo.orders",
    ),
    Topic(
        name="DESCRIBE",
        syntax="DESCRIBE [db.]table",
        text="Lists the columns of a table.",
        example="DESCRIBE demo.orders",
        keywords=("DESC",),
    ),
    Topic(
        name="SHOW",
        syntax="""SHOW DATABASES | [FULL] TABLES [FROM db] | [FULL] COLUMNS FROM [db.]table | INDEX FROM [db.]table
SHOW CREATE TABLE [db.]table | CREATE DATABASE db
SHOW [FULL] PROCESSLIST | VARIABLES | STATUS | WARNINGS | ERRORS | FRONTENDS | PRIVILEGES | ...""",
        text="Lists databases, tables, connections and more. Most forms take LIKE 'pattern' or WHERE condition.",
        example="SHOW TABLES FROM demo",
    ),
    Topic(
        name="SELECT",
        syntax="SELECT ... (Spark SQL)",
        text="""Runs on Spark, unchanged. KILL QUERY or Ctrl-C cancels it; SET max_execution_time limits its time, in
milliseconds.""",
        example="SELECT status, count(*), sum(amount) FROM demo.orders GROUP BY status",
        keywords=("QUERY",),
    ),
    *OF_SESSIONS,
    Topic(
        name="KILL",
        syntax="KILL [CONNECTION | QUERY] id",
        text="Ends a connection, or only the statement that it runs. SHOW PROCESSLIST lists the ids.",
        example="KILL QUERY 7",
    ),
    Topic(
        name="CREATE USER",
        syntax="""CREATE USER [IF NOT EXISTS] user[@host] IDENTIFIED [WITH plugin] BY 'password'
ALTER USER [IF EXISTS] user[@host] IDENTIFIED [WITH plugin] BY 'password'
SET PASSWORD [FOR user[@host]] = 'password'
DROP USER [IF EXISTS] user[@host]""",
        text="""Manages the users of this console. The host is a pattern of addresses with % and _, or localhost.
A new user has no privileges until GRANT.""",
        example="CREATE USER 'alice'@'10.0.%' IDENTIFIED BY 'a password'",
        keywords=("USER", "PASSWORD"),
    ),
    Topic(
        name="GRANT",
        syntax="""GRANT privilege, ... ON *.* | db.* | db.table | JOB db.job TO user[@host]
REVOKE privilege, ... ON *.* | db.* | db.table | JOB db.job FROM user[@host]
SHOW [ALL] GRANTS [FOR user[@host]]""",
        text=f"""The privileges are {_GLOBAL} (only ON *.*), {_OTHERS}, or ALL. Sync jobs need
LOAD_PRIV. GRANT and REVOKE take effect immediately, also in open connections.""",
        example="GRANT SELECT_PRIV, LOAD_PRIV ON demo.* TO alice",
        keywords=("REVOKE", "GRANTS", "PRIVILEGES"),
    ),
    Topic(
        name="SHOW FRONTEND CONFIG",
        syntax="SHOW FRONTEND CONFIG [LIKE 'pattern']",
        text="Lists the current settings, and which of them can be changed while the frontend runs.",
        example="SHOW FRONTEND CONFIG LIKE 'sync%'",
        keywords=("CONFIG",),
    ),
    Topic(
        name="ADMIN SET FRONTEND CONFIG",
        syntax='ADMIN SET FRONTEND CONFIG ("key" = "value", ...)',
        text=f"Changes settings until the next start; edit conf/fe.conf to keep them. These may be changed: {_MUTABLE}",
        example='ADMIN SET FRONTEND CONFIG ("sync_commit_interval_second" = "1")',
        keywords=("CONFIG",),
    ),
    Topic(
        name="SHOW ALERTS",
        syntax="SHOW ALERTS [LIKE 'pattern' | WHERE condition]",
        text="Lists what needs attention now, and what did earlier: what it is, what to do, and whether alert_webhook "
        "has received it. LIKE matches the event. For root and accounts with ADMIN_PRIV or NODE_PRIV.",
        example="SHOW ALERTS WHERE State = 'firing'",
        keywords=("ALERT",),
    ),
    Topic(
        name="ADMIN TEST ALERT",
        syntax="ADMIN TEST ALERT",
        text="Sends one message to alert_webhook; if it is not received, reports why.",
        example="ADMIN TEST ALERT",
        keywords=("ALERT",),
    ),
)


def answer(words: str | None) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Columns and rows: one topic in full, or the names of those that match."""
    topics = _fitting(" ".join((words or "").replace("%", " ").split()).upper())
    if len(topics) == 1:
        topic = topics[0]
        return ("name", "description", "example"), [
            (topic.name, f"Syntax:\n{topic.syntax}\n\n{topic.text}\n", topic.example + "\n")
        ]
    return ("name", "is_it_category"), [(topic.name, "N") for topic in topics]


def _fitting(words: str) -> list[Topic]:
    if words in {"", "CONTENTS"}:
        return list(TOPICS)
    exact = [topic for topic in TOPICS if words == topic.name]
    return exact or [topic for topic in TOPICS if words in topic.name or words in topic.keywords]
