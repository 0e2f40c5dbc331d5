"""HELP.

Owns: the topics and the three forms of an answer that the mysql client knows.
Must not know: the parser; a test holds every example against it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from syncmgr.job.job_properties import JOB_PROPERTIES
from syncmgr.job.property import Property


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """One page of help."""

    name: str
    syntax: str
    says: str
    example: str
    keywords: tuple[str, ...] = ()


def _told(known: Property) -> str:
    """In plain text."""
    return f'"{known.name}" ({known.default}): {known.doc.replace("`", "")}'


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
        says="""Starts a job that carries every change of the source tables into tables of the lake.
BINLOG takes "type" = "mysql", "mysql.host", "mysql.port", "mysql.user", "mysql.password" and "start" ("snapshot": the
rows that are there first; "latest", "earliest", a GTID set or file:position). Without a column list all columns are
taken by name.
Or "type" = "canal", "canal.server.ip" and "canal.server.port" (or "canal.zk.servers"), "canal.destination",
"canal.username", "canal.password": then the list maps by place and names every source column.
A pattern is LIKE 'shop\\_%.orders' or REGEXP '^shop_[0-9]+\\.orders$', over database.table; what is excluded is
a table or a pattern. A name is never a pattern.
PROPERTIES override settings of fe.conf for this job, and say what it does where the source changes:
"""
        + "\n".join(_told(each) for each in JOB_PROPERTIES),
        example="""CREATE SYNC demo.job1 (FROM shop.orders INTO orders (id, status, amount))
FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "3306",
             "mysql.user" = "repl", "mysql.password" = "secret")""",
        keywords=("BINLOG", "SYNC", "JOB"),
    ),
    Topic(
        name="EXPLAIN SYNC JOB",
        syntax="EXPLAIN SYNC [JOB] [db.]job (channel, ...) FROM BINLOG (...) [PROPERTIES (...)]",
        says="""Tells what CREATE SYNC with the same text would do, and makes nothing: for each table its target, key,
columns and types, about how many rows, bytes and chunks a snapshot has, and the outcome of every check.""",
        example="""EXPLAIN SYNC demo.job1 (FROM shop.* INTO demo.*)
FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "3306",
             "mysql.user" = "repl", "mysql.password" = "secret")""",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="ALTER SYNC JOB",
        syntax="""ALTER SYNC JOB [db.]job SET ("key" = "value", ...)
ALTER SYNC JOB [db.]job ADD TABLE channel [, ...]
ALTER SYNC JOB [db.]job DROP TABLE [db.]source_table
ALTER SYNC JOB [db.]job RESYNC TABLE [db.]source_table [WHERE condition]
ALTER SYNC JOB [db.]job RENAME TO new_name
ALTER SYNC JOB [db.]job SKIP DDL
ALTER SYNC JOB [db.]job APPLY DDL 'statement'""",
        says="""SET changes properties; a job that runs goes on with them.
ADD TABLE takes channels as CREATE SYNC does: their rows come while the other tables stream on.
DROP TABLE ends a channel; its target stays. RESYNC TABLE reads a table anew and replaces its rows in one commit,
and its columns where the table was stopped; with WHERE those of some keys alone: the condition compares columns of the
key with constants.
SKIP DDL passes over the statement that paused it: the target stays as it is, and you see to it that it fits.
APPLY DDL applies another statement to the target in its place. Both are done at RESUME.""",
        example='ALTER SYNC JOB demo.job1 SET ("on_ddl" = "ignore")',
        keywords=("SYNC", "JOB", "BINLOG", "DDL"),
    ),
    Topic(
        name="PAUSE SYNC JOB",
        syntax="PAUSE SYNC JOB [db.]job",
        says="Stops reading; what was read is committed. The job keeps its position and waits for RESUME.",
        example="PAUSE SYNC JOB demo.job1",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="RESUME SYNC JOB",
        syntax="RESUME SYNC JOB [db.]job",
        says="Lets a paused job go on where it stopped.",
        example="RESUME SYNC JOB demo.job1",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="STOP SYNC JOB",
        syntax="STOP SYNC JOB [db.]job",
        says="Ends a job for good. Its tables stay; its name is free again.",
        example="STOP SYNC JOB demo.job1",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="SHOW SYNC JOB",
        syntax="SHOW SYNC JOB [FROM db] [LIKE 'pattern'] [WHERE condition] [ORDER BY column] [LIMIT n]",
        says="The jobs of a database; of the one in use, or of all of them, where none is named.",
        example="SHOW SYNC JOB FROM demo",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="SHOW CREATE SYNC JOB",
        syntax="SHOW CREATE SYNC JOB [db.]job",
        says="The statement that makes this job, passwords masked.",
        example="SHOW CREATE SYNC JOB demo.job1",
        keywords=("SYNC", "JOB", "BINLOG"),
    ),
    Topic(
        name="CREATE DATABASE",
        syntax="CREATE DATABASE [IF NOT EXISTS] db",
        says="Makes a database of the lake.",
        example="CREATE DATABASE demo",
    ),
    Topic(
        name="DROP DATABASE",
        syntax="DROP DATABASE [IF EXISTS] db [FORCE]",
        says="Drops a database; with FORCE, its tables too.",
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
        says="""Makes an Iceberg table. With UNIQUE KEY, changes are upserts and deletes; without it, rows are appended.
BUCKETS n, n > 1, partitions by the hash of the column.""",
        example="""CREATE TABLE demo.orders (id BIGINT NOT NULL, status VARCHAR(16), amount DECIMAL(12,2))
UNIQUE KEY (id)""",
    ),
    Topic(
        name="DROP TABLE",
        syntax="DROP TABLE [IF EXISTS] [db.]table [FORCE]",
        says="Drops a table that is not the target of a job.",
        example="DROP TABLE demo.orders",
    ),
    Topic(
        name="DESCRIBE",
        syntax="DESCRIBE [db.]table",
        says="The columns of a table.",
        example="DESCRIBE demo.orders",
        keywords=("DESC",),
    ),
    Topic(
        name="SHOW",
        syntax="SHOW DATABASES | TABLES [FROM db] | CREATE TABLE [db.]table | CREATE DATABASE db | PROCESSLIST | ...",
        says="What there is. Most forms take LIKE 'pattern' or WHERE condition.",
        example="SHOW TABLES FROM demo",
    ),
    Topic(
        name="SELECT",
        syntax="SELECT ... (Spark SQL)",
        says="""Goes to Spark as it is. KILL QUERY or Ctrl-C cancels it;
SET max_execution_time bounds it (milliseconds).""",
        example="SELECT status, count(*), sum(amount) FROM demo.orders GROUP BY status",
        keywords=("QUERY",),
    ),
    Topic(
        name="KILL",
        syntax="KILL [CONNECTION | QUERY] id",
        says="Ends a connection, or the statement that it runs. SHOW PROCESSLIST has the ids.",
        example="KILL QUERY 7",
    ),
    Topic(
        name="CREATE USER",
        syntax="""CREATE USER [IF NOT EXISTS] user[@host] IDENTIFIED [WITH plugin] BY 'password'
ALTER USER [IF EXISTS] user[@host] IDENTIFIED [WITH plugin] BY 'password'
SET PASSWORD [FOR user[@host]] = 'password'
DROP USER [IF EXISTS] user[@host]""",
        says="""Users of this console. The host is a pattern of addresses with % and _, or localhost.
A new user may do nothing before GRANT.""",
        example="CREATE USER 'alice'@'10.0.%' IDENTIFIED BY 'a password'",
        keywords=("USER", "PASSWORD"),
    ),
    Topic(
        name="GRANT",
        syntax="""GRANT privilege, ... ON *.* | db.* | db.table | JOB db.job TO user[@host]
REVOKE privilege, ... ON *.* | db.* | db.table | JOB db.job FROM user[@host]
SHOW [ALL] GRANTS [FOR user[@host]]""",
        says="""Privileges: ADMIN_PRIV and NODE_PRIV (ON *.* alone), SELECT_PRIV, LOAD_PRIV (sync jobs), CREATE_PRIV,
ALTER_PRIV, DROP_PRIV, or ALL. Both hold at once, in open connections too.""",
        example="GRANT SELECT_PRIV, LOAD_PRIV ON demo.* TO alice",
        keywords=("REVOKE", "GRANTS", "PRIVILEGES"),
    ),
    Topic(
        name="SHOW FRONTEND CONFIG",
        syntax="SHOW FRONTEND CONFIG [LIKE 'pattern']",
        says="The settings in force, and which of them can be changed while the frontend runs.",
        example="SHOW FRONTEND CONFIG LIKE 'sync%'",
        keywords=("CONFIG",),
    ),
    Topic(
        name="ADMIN SET FRONTEND CONFIG",
        syntax='ADMIN SET FRONTEND CONFIG ("key" = "value", ...)',
        says="Changes settings until the next start; conf/fe.conf holds them for good.",
        example='ADMIN SET FRONTEND CONFIG ("sync_commit_interval_second" = "1")',
        keywords=("CONFIG",),
    ),
)


def answer(words: str | None) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Columns and rows: one topic in full, or the names of those that fit."""
    topics = _fitting(" ".join((words or "").replace("%", " ").split()).upper())
    if len(topics) == 1:
        topic = topics[0]
        return ("name", "description", "example"), [
            (topic.name, f"Syntax:\n{topic.syntax}\n\n{topic.says}\n", topic.example + "\n")
        ]
    return ("name", "is_it_category"), [(topic.name, "N") for topic in topics]


def _fitting(words: str) -> list[Topic]:
    if words in {"", "CONTENTS"}:
        return list(TOPICS)
    exact = [topic for topic in TOPICS if words == topic.name]
    return exact or [topic for topic in TOPICS if words in topic.name or words in topic.keywords]
