"""Charsets in statements.

Owns: how they and collations are named, and the table options that state the table's own.
Must not know: columns, where in a statement they are.
"""

from typing import Final

from mysqlddl.nodes import DefaultCharset
from mysqlddl.table.options import CHARSETS, COLLATIONS
from mysqlddl.words import Words

NATIONAL: Final = "utf8mb3"


def charset_name(words: Words) -> str:
    """A charset, under the name that servers give it."""
    name = words.name().lower()
    return NATIONAL if name == "utf8" else name


def charset_of(collation: str) -> str | None:
    """MariaDB has collations that fit several charsets."""
    name = collation.partition("_")[0]
    return {"uca1400": None, "utf8": NATIONAL}.get(name, name)


def table_charset(words: Words) -> DefaultCharset | None:
    """What an option of a table states, if one is here. DEFAULT is the database's."""
    if words.skip_phrase(CHARSETS):
        words.skip("=")
        return DefaultCharset(charset=None if words.skip("DEFAULT") else charset_name(words))
    if words.skip_phrase(COLLATIONS):
        words.skip("=")
        return DefaultCharset(charset=charset_of(words.name().lower()))
    return None
