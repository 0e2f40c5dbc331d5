"""CREATE TRIGGER and DROP TRIGGER.

Owns: the table and event of a trigger, and which tables it writes.
Must not know: whose trigger it is, what happens to them.
"""

from typing import Final

from mysqlddl.body import body
from mysqlddl.nodes import CreateTrigger, DropTrigger, Table
from mysqlddl.words import UnclearError, Words

_EVENTS: Final = frozenset({"INSERT", "UPDATE", "DELETE"})


def created(words: Words, db: str) -> CreateTrigger | None:
    """None if something else is created, or a trigger of another form; `words` are after CREATE [OR REPLACE]."""
    words = words.again(words.tokens.index(words.token))
    try:
        _skip_definer(words)
        return _created(words, db) if words.skip("TRIGGER") else None
    except UnclearError:
        return None


def _skip_definer(words: Words) -> None:
    """DEFINER = user, or a role, which has no host."""
    if words.skip("DEFINER"):
        words.expect("=")
        words.take()
        words.skip_brackets()  # CURRENT_USER()
        if words.skip("@"):
            words.take()


def _created(words: Words, db: str) -> CreateTrigger:
    words.skip("IF", "NOT", "EXISTS")
    name = words.table(db)
    after = words.skip("AFTER")
    if not after:
        words.expect("BEFORE")
    event = words.skip_any(_EVENTS)
    words.expect("ON")
    table = words.table(name[0])
    words.expect("FOR", "EACH", "ROW")
    return CreateTrigger(name=name, table=table, event=event, after=after, writes=_writes(words, table[0]))


def _writes(words: Words, db: str) -> frozenset[Table]:
    first = words.token
    words.rest()
    try:
        return frozenset(body(words.text_from(first), db, words.modes).events)
    except UnclearError:
        return frozenset()


def dropped(words: Words, db: str) -> DropTrigger | None:
    """None if something else is dropped; `words` are after DROP."""
    if not words.skip("TRIGGER"):
        return None
    words.skip("IF", "EXISTS")
    name = words.table(db)
    words.end()
    return DropTrigger(name=name)
