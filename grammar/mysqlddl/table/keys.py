"""The definitions of keys in CREATE and ALTER TABLE.

Owns: how they are spelled, and which parts distinguish rows or change them.
Must not know: columns, where a definition is.
"""

from collections.abc import Iterable
from typing import Final

from mysqlddl.table.options import value
from mysqlddl.words import Words
from syncmgr.job.types.schema import UniqueKey

_KEY_OPTIONS: Final = frozenset(
    {
        "ALGORITHM",
        "CLUSTERING",
        "COMMENT",
        "DISTANCE",
        "ENGINE_ATTRIBUTE",
        "KEY_BLOCK_SIZE",
        "LOCK",
        "M",
        "SECONDARY_ENGINE_ATTRIBUTE",
    },
)
CASCADING: Final = "FOREIGN KEY with an action"
_KEYS: Final = (  # what begins the definition of a key
    "FULLTEXT INDEX",
    "FULLTEXT KEY",
    "FULLTEXT",
    "SPATIAL INDEX",
    "SPATIAL KEY",
    "SPATIAL",
    "VECTOR INDEX",
    "VECTOR KEY",
    "INDEX",
    "KEY",
)


def unique_key(words: Words, symbol: str) -> UniqueKey | None:
    """Take the definition of a unique key, if it is here; `symbol`: after CONSTRAINT."""
    if not words.skip("UNIQUE"):
        return None
    words.skip_any({"INDEX", "KEY"})
    words.skip("IF", "NOT", "EXISTS")
    name = key_name(words) or symbol
    return UniqueKey(name=name, columns=columns_of(key_parts(words)))


def columns_of(parts: Iterable[str]) -> tuple[str, ...]:
    """Of a key; "" if it is not a key."""
    return tuple("" if part.startswith("(") else part for part in parts)


def key(words: Words) -> str:
    """Take the definition of a key that is not unique, of a check or a period; its kind, "" if there is none here."""
    if name := words.skip_phrase(_KEYS):
        words.skip("IF", "NOT", "EXISTS")
        key_name(words)
        key_parts(words)
        return name
    if words.skip("FOREIGN", "KEY"):
        words.skip("IF", "NOT", "EXISTS")
        if not words.sees("("):
            words.name()
        words.brackets()
        words.expect("REFERENCES")
        return CASCADING if references(words) else "FOREIGN KEY"
    if words.skip("CHECK"):
        words.brackets()
        words.skip("NOT")
        words.skip("ENFORCED")
        return "CHECK"
    if words.skip("PERIOD", "FOR"):
        words.name()
        words.brackets()
        return "PERIOD"
    return ""


def symbol(words: Words) -> str:
    """CONSTRAINT [name], if it is here; the name, "" if there is none."""
    if words.skip("CONSTRAINT"):
        words.skip("IF", "NOT", "EXISTS")
        if not any(words.sees(word) for word in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")):
            return words.name()
    return ""


def key_name(words: Words) -> str:
    """That of a key, if there is one before its columns."""
    return "" if any(words.sees(word) for word in ("(", "USING", "TYPE")) else words.name()


def key_parts(words: Words) -> tuple[str, ...]:
    """[USING BTREE] (column [(length)] [ASC], ...) and the options of a key; the columns."""
    key_options(words)
    words.expect("(")
    columns = words.listed(lambda: _key_part(words))
    words.expect(")")
    key_options(words)
    return tuple(columns)


def _key_part(words: Words) -> str:
    """Its name, or in brackets what is not a column: an expression, or a period."""
    if words.sees("("):
        name = words.brackets()
    else:
        name = words.name()
        words.skip_brackets()
    words.skip_any({"ASC", "DESC"})
    if words.skip("WITHOUT"):
        words.expect("OVERLAPS")
        return f"({name})"
    return name


def key_options(words: Words) -> None:
    while True:
        if words.skip("USING") or words.skip("TYPE") or words.skip("WITH", "PARSER"):
            words.take()
        elif words.skip_any(_KEY_OPTIONS):
            value(words)
        elif not (words.skip_any({"VISIBLE", "INVISIBLE", "IGNORED"}) or words.skip("NOT", "IGNORED")):
            return


def references(words: Words) -> bool:
    """REFERENCES table (columns) and what follows, its first word taken; whether it changes rows."""
    words.table("")
    words.skip_brackets()
    acts = False
    while True:
        if words.skip("MATCH"):
            words.take()
        elif words.skip("ON", "DELETE") or words.skip("ON", "UPDATE"):
            if words.skip("SET", "NULL") or words.skip("SET", "DEFAULT") or words.skip("CASCADE"):
                acts = True
            elif not words.skip("NO", "ACTION"):
                words.take()
        else:
            return acts
