"""Names as a MySQL server compares them.

Owns: which two names of columns, and of tables on a server that stores these in lower case, are equal; which are equal
in Spark.
Must not know: what is named.
"""

from typing import Final

DOTTED_I: Final = "\u0130"


def folded_name(name: str) -> str:
    """In lower case as on a server: each character by itself, one to one. Python's `lower` treats a final sigma by
    context, and turns a dotted I into two characters; its `casefold` equates `ß` and `ss`, which are two columns.
    """
    return "".join(character.lower()[0] for character in name)


def folded_in_lake(name: str) -> str:
    """As Spark compares two names of columns, by Java's `equalsIgnoreCase`: each character in upper case, then in lower
    case. Names that are equal on a server are equal here; both sigmas, and the micro sign and mu, are equal only here.
    """
    return folded_name("".join(upper if len(upper := character.upper()) == 1 else character for character in name))


def loosely_folded(text: str) -> str:
    """Names that any server may treat as equal give one text: also with a dotted I, which Python turns into two
    characters.
    """
    return text.replace(DOTTED_I, "i").casefold()


def folded_table(table: tuple[str, str]) -> tuple[str, str]:
    """Of a database and in it."""
    return folded_name(table[0]), folded_name(table[1])
