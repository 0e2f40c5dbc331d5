"""Statements that an operator types in Spark, as messages have them.

Owns: how they name a table.
Must not know: what they cure.
"""

from typing import Final

from syncmgr.job.channel.description import literal, quoted
from syncmgr.lake.spark.launch import CATALOG

REWRITE_ALL: Final = "map('rewrite-all', 'true', 'remove-dangling-deletes', 'true')"
Name = tuple[str, str]  # database and table


def in_catalog(name: Name) -> str:
    """A table in a statement."""
    return ".".join([CATALOG, *map(quoted, name)])


def as_argument(name: Name) -> str:
    """A table in a CALL."""
    return literal(".".join(map(quoted, name)))


def rewriting(name: Name) -> str:
    return f"CALL {CATALOG}.system.rewrite_data_files(table => {as_argument(name)}, options => {REWRITE_ALL})"
