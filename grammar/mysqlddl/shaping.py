"""A statement that creates, alters, renames or drops an object of a server.

Owns: which objects its text names, and whether one of them may be gone after it, or be another.
Must not know: what is known of the objects, what leads where.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from mysqlddl.nodes import Table
from mysqlddl.words import Modes, Token, Words


class ShapeKind(StrEnum):
    """Of an object. A sequence shares the namespace of tables."""

    TABLE = "TABLE"
    VIEW = "VIEW"
    TRIGGER = "TRIGGER"
    FUNCTION = "FUNCTION"
    DATABASE = "DATABASE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shaping:
    """`names`: of the objects; of a database its own and "". `certain`: no IF EXISTS or IF NOT EXISTS leaves open what
    existed. `takes_away`: an object that led on may no longer do so, or a name may have meant another object before.
    `of_base`: what it removes was a base table. `on`, `event`: of a new trigger. `body`: what the text says of new
    objects, and of added keys.
    """

    verb: str
    kind: ShapeKind
    names: tuple[Table, ...]
    certain: bool = True
    takes_away: bool = False
    of_base: bool = False
    temporary: bool = False
    on: Table | None = None
    event: str = ""
    body: str = ""

    @property
    def made(self) -> bool:
        """Whether all of it was created by the statement."""
        return self.certain and self.verb == "CREATE"

    @property
    def gone(self) -> bool:
        """Whether it existed, and ended."""
        return self.certain and self.verb == "DROP"


_KINDS: Final = {
    "TABLE": ShapeKind.TABLE,
    "TABLES": ShapeKind.TABLE,
    "SEQUENCE": ShapeKind.TABLE,
    "VIEW": ShapeKind.VIEW,
    "TRIGGER": ShapeKind.TRIGGER,
    "FUNCTION": ShapeKind.FUNCTION,
    "DATABASE": ShapeKind.DATABASE,
    "SCHEMA": ShapeKind.DATABASE,
}
_VERBS: Final = frozenset({"CREATE", "ALTER", "DROP", "RENAME"})
_BEFORE_KIND: Final = frozenset(
    {"AGGREGATE", "DUALITY", "IGNORE", "JSON", "MATERIALIZED", "OFFLINE", "ONLINE", "RELATIONAL"}
)
_OTHERS: Final = frozenset(  # objects that lead nowhere
    [
        "CATALOG",
        "EVENT",
        "FULLTEXT",
        "INDEX",
        "INSTANCE",
        "LIBRARY",
        "LOGFILE",
        "PACKAGE",
        "PREPARE",
        "PROCEDURE",
        "RESOURCE",
        "ROLE",
        "SERVER",
        "SPATIAL",
        "TABLESPACE",
        "UNDO",
        "UNIQUE",
        "USER",
        "VECTOR",
    ]
)
_PARTS: Final = frozenset({"COLUMN", "INDEX", "KEY"})  # of a table, which are renamed in it
_KEYS: Final = frozenset({"FOREIGN", "CONSTRAINT"})


def shaping(statement: str, db: str, modes: Modes) -> Shaping | None:
    """None: it does not change where any object leads. `db`: of names without one. Raises UnclearError."""
    words = Words(statement, modes)
    if words.skip("SET", "STATEMENT"):  # MariaDB: ... FOR one of the others
        while not words.skip("FOR"):
            words.take_value()
    verb = words.skip_any(_VERBS)
    if not verb:
        return None
    replaces, temporary = words.skip("OR", "REPLACE"), words.skip("TEMPORARY")
    _skip_attributes(words)
    if words.skip_any(_OTHERS):
        return None
    kind = _KINDS.get(words.token.word)
    if kind is None:
        raise words.unclear(f"something to {verb}")
    words.take()
    found = _READERS[verb](words, kind, db)
    if found is None or verb != "CREATE":
        return None if found is None else replace(found, temporary=temporary)
    return replace(found, temporary=temporary, takes_away=replaces, of_base=kind is ShapeKind.TABLE)


def _skip_attributes(words: Words) -> None:
    """Of a view or a routine."""
    while True:
        if words.skip("DEFINER", "="):
            words.take()
            if words.skip("@"):
                words.take()
            words.skip_brackets()  # CURRENT_USER()
        elif words.skip("ALGORITHM", "=") or words.skip("SQL", "SECURITY"):
            words.take()
        elif not words.skip_any(_BEFORE_KIND):
            return


def _create(words: Words, kind: ShapeKind, db: str) -> Shaping:
    certain = not words.skip("IF", "NOT", "EXISTS")
    name = (words.name(), "") if kind is ShapeKind.DATABASE else words.table(db)
    found = Shaping(verb="CREATE", kind=kind, names=(name,), certain=certain)
    if kind is ShapeKind.TRIGGER:
        return _trigger(words, found, db)
    begin = words.tokens[0] if kind is ShapeKind.FUNCTION else words.token
    return replace(found, body=_rest(words, begin))


def _trigger(words: Words, found: Shaping, db: str) -> Shaping:
    words.skip_any({"BEFORE", "AFTER"})
    begin = words.token
    while not words.sees("ON"):
        words.take()
    event = words.text_from(begin)
    words.expect("ON")
    table = words.table(db)
    words.expect("FOR", "EACH", "ROW")
    if words.skip_any({"FOLLOWS", "PRECEDES"}):
        words.name()
    return replace(found, on=table, event=event, body=_rest(words, words.token))


def _rest(words: Words, begin: Token) -> str:
    words.rest()
    return words.text_from(begin)


def _alter(words: Words, kind: ShapeKind, db: str) -> Shaping | None:
    match kind:
        case ShapeKind.VIEW:
            return Shaping(verb="ALTER", kind=kind, names=(words.table(db),), takes_away=True)
        case ShapeKind.TABLE:
            return _alter_table(words, db)
        case ShapeKind.DATABASE if any(token.word == "UPGRADE" for token in words.tokens):
            raise words.unclear("a database of that name")
        case _:  # its charset, how a function is run
            return None


def _alter_table(words: Words, db: str) -> Shaping | None:
    words.skip("IF", "EXISTS")
    names, begin = [words.table(db)], words.token
    renamed, dropped, changed = False, False, False
    while not words.done:
        if words.skip("RENAME"):
            if words.token.word not in _PARTS:
                words.skip_any({"TO", "AS", "="})
                names.append(words.table(db))
                renamed = True
        elif words.skip("DROP"):
            dropped = dropped or words.token.word in _KEYS
        else:
            changed = words.take().word in {"REFERENCES", "UNION"} or changed
    if not (renamed or dropped or changed):
        return None
    found = Shaping(verb="ALTER", kind=ShapeKind.TABLE, names=tuple(names), of_base=not renamed)
    if renamed or dropped:
        return replace(found, takes_away=True)
    return replace(found, body=_rest(words, begin))


def _drop(words: Words, kind: ShapeKind, db: str) -> Shaping:
    certain = not words.skip("IF", "EXISTS")
    names = [(words.name(), "")] if kind is ShapeKind.DATABASE else words.listed(lambda: words.table(db))
    of_base = kind is ShapeKind.TABLE
    return Shaping(verb="DROP", kind=kind, names=tuple(names), certain=certain, takes_away=True, of_base=of_base)


def _rename(words: Words, kind: ShapeKind, db: str) -> Shaping:
    if kind is not ShapeKind.TABLE:
        raise words.unclear("TABLE")
    words.skip("IF", "EXISTS")

    def pair() -> tuple[Table, Table]:
        old = words.table(db)
        while not words.skip("TO"):  # MariaDB: WAIT n, NOWAIT
            words.take()
        return old, words.table(db)

    names = tuple(name for each in words.listed(pair) for name in each)
    return Shaping(verb="RENAME", kind=kind, names=names, takes_away=True)


_READERS: Final[Mapping[str, Callable[[Words, ShapeKind, str], Shaping | None]]] = {
    "CREATE": _create,
    "ALTER": _alter,
    "DROP": _drop,
    "RENAME": _rename,
}
