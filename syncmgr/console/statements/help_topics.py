"""The pages of HELP that no table of properties is a part of.

Owns: the shape of a page, and the pages about statements that concern only the session.
Must not know: how a page is found; properties, settings and privileges.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """One page of help."""

    name: str
    syntax: str
    text: str
    example: str
    keywords: tuple[str, ...] = ()


OF_SESSIONS: Final = (
    Topic(
        name="EXPLAIN",
        syntax="EXPLAIN [EXTENDED | FORMATTED | COST | CODEGEN] SELECT ...",
        text="Shows Spark's plan of a query, which is not run. EXPLAIN of a table's name is DESCRIBE.",
        example="EXPLAIN SELECT count(*) FROM demo.orders",
        keywords=("QUERY",),
    ),
    Topic(
        name="USE",
        syntax="USE db",
        text="Makes a database the current one of the connection: names without a database belong to it.",
        example="USE demo",
        keywords=("DATABASE",),
    ),
    Topic(
        name="SET",
        syntax="SET [SESSION] variable = value, ...",
        text="""Sets variables of the connection. time_zone, max_execution_time, sql_select_limit and the character sets
act as in MySQL; most others are kept only because drivers set them. SHOW VARIABLES lists all. Settings of the frontend
are changed by ADMIN SET FRONTEND CONFIG.""",
        example="SET time_zone = '+02:00', max_execution_time = 60000",
        keywords=("VARIABLES",),
    ),
    Topic(
        name="START TRANSACTION",
        syntax="""START TRANSACTION | BEGIN
COMMIT
ROLLBACK""",
        text="Accepted because drivers send them; they do nothing. Each SELECT reads the last commit of each table.",
        example="START TRANSACTION",
        keywords=("BEGIN", "COMMIT", "ROLLBACK"),
    ),
    Topic(
        name="HELP",
        syntax="HELP [topic]",
        text="Shows a topic, or lists those whose name or keywords have that word; without a word it lists all.",
        example="HELP CREATE SYNC JOB",
    ),
)
