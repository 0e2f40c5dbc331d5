"""Names as a MySQL server compares them.

Owns: which two names of columns, and of tables of a server that keeps these in lower case, are one; which are one in
Spark.
Must not know: what is named.
"""

from typing import Final

DOTTED_I: Final = "\u0130"


def folded_name(name: str) -> str:
    """In lower case as a server has it: each character by itself, and one for one. Python's own looks around it for a
    sigma at the end, and makes two of a dotted I; its `casefold` makes one of `ß` and `ss`, which are two columns.
    """
    return "".join(character.lower()[0] for character in name)


def folded_in_lake(name: str) -> str:
    """As Spark compares two names of columns, by Java's `equalsIgnoreCase`: each character in upper case, then in lower
    case. What a server takes for one name is one here; both sigmas, and the micro sign and mu, are one here alone.
    """
    return folded_name("".join(upper if len(upper := character.upper()) == 1 else character for character in name))


def loosely_folded(text: str) -> str:
    """What any server may take for one name is one text: a dotted I, of which Python makes two characters, too."""
    return text.replace(DOTTED_I, "i").casefold()


def folded_table(table: tuple[str, str]) -> tuple[str, str]:
    """Of a database and in it."""
    return folded_name(table[0]), folded_name(table[1])
