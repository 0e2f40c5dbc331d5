"""What a statement of DDL makes of what is known of a server's objects.

Owns: which facts it ends, which it tells itself, and where a fact was asked too late: the stream lags behind the
server, which told how things stood after a statement that comes only now.
Must not know: how a server is asked, what becomes of the job.
"""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from syncmgr.job.objects.surroundings import FRESH, Fact, Known, fold
from syncmgr.job.statement import nodes
from syncmgr.job.statement.nodes import Table
from syncmgr.job.statement.reading import Modes, UnclearError, read
from syncmgr.job.statement.words import NAME, WORD, Token, Words

MOST: Final = 20_000  # facts that are kept, so many temporary tables too
_SHAPING: Final = frozenset({"CREATE", "ALTER", "DROP", "RENAME"})
_WHOLE: Final = frozenset({"DATABASE", "SCHEMA", "TRIGGER"})  # DROP TRIGGER does not name the table
_LEADING: Final = _WHOLE | {"TABLE", "TABLES", "VIEW", "SEQUENCE", "FUNCTION"}
_OTHERS: Final = frozenset({"PROCEDURE", "PACKAGE", "EVENT", "INDEX", "USER", "ROLE", "SERVER"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Late:
    """These objects were judged by what they became only after the statement, or by it. None: one that is not known
    any more may have been.
    """

    tables: tuple[Table, ...]


def after(known: Known, text: str, db: str, modes: Modes, *, at: int, thread: int = 0) -> Known | Late:
    """`at`: the second in which the statement began, by the clock that `Fact.asked_at` has too."""
    try:
        tokens = _tokens(text, modes)
    except UnclearError:
        every = tuple(table for table, fact in known.facts.items() if fact.asked_at >= at)
        return Late(tables=every) if every or _forgot(known, at) else replace(known, facts={})
    words = [token.word for token in tokens]
    kind = next((word for word in words if word in _LEADING | _OTHERS), "")
    if words[0] not in _SHAPING or kind in _OTHERS:
        return known
    if "TEMPORARY" in words[:4]:
        return _bounded(_of_session(known, text, db, modes, thread))
    own = frozenset(table for of, table in known.temporary if of == thread)
    of_kind = [table for table, fact in known.facts.items() if _is_of(fact, kind)]
    concerned = frozenset(_concerned(of_kind, tokens, db, whole=kind in _WHOLE)) - own
    late = sorted(table for table in concerned if known.facts[table].asked_at >= at)
    takes_away = _takes_away(words, kind)
    unsure = _forgot(known, at) and kind in _LEADING and not _remembered(known, text, db, modes, own)
    if takes_away and (late or unsure):
        return Late(tables=tuple(late))
    facts = dict(known.facts)
    if takes_away or words[0] == "CREATE" or "REFERENCES" in words:
        facts = {table: fact for table, fact in facts.items() if table not in concerned}
        facts |= {table: Fact(asked_at=known.facts[table].asked_at) for table in late}
    named = [table for table in _fresh(known, text, db, modes, words) if table not in own]
    fresh = {table: FRESH for table in named if table not in facts or facts[table].function is None}
    known = _of_session(known, text, db, modes, thread)
    return _bounded(replace(known, facts={**facts, **fresh}))


def _tokens(text: str, modes: Modes) -> Sequence[Token]:
    tokens = Words(text, modes).tokens
    if [token.word for token in tokens[:2]] != ["SET", "STATEMENT"]:  # MariaDB: ... FOR one of the others
        return tokens
    return tokens[next((at + 1 for at, token in enumerate(tokens) if token.word == "FOR"), 0) :]


def _concerned(facts: Collection[Table], tokens: Sequence[Token], db: str, *, whole: bool) -> tuple[Table, ...]:
    """Those whose bare names stand somewhere in the text; `whole`: those of every database there."""
    names = {token.text.casefold() for token in tokens if token.kind in {WORD, NAME}} | {db.casefold()}
    return tuple(table for table in facts if table[0 if whole else 1].casefold() in names)


def _is_of(fact: Fact, kind: str) -> bool:
    if fact == Fact(asked_at=fact.asked_at):  # nobody knows of what any more
        return True
    match kind:
        case "FUNCTION":
            return fact.function is not None
        case "DATABASE" | "SCHEMA":
            return True
        case _:
            return fact.shape is not None or fact.triggers is not None


def _takes_away(words: Sequence[str], kind: str) -> bool:
    """Whether something may lead on no more that did, or a name may have meant another object before."""
    pairs = set(itertools.pairwise(words))
    if words[0] == "ALTER" and kind == "TABLE":
        renamed = {second for first, second in pairs if first == "RENAME"} - {"COLUMN", "INDEX", "KEY"}
        return bool(renamed) or bool({("DROP", "FOREIGN"), ("DROP", "CONSTRAINT")} & pairs)
    return words[0] != "CREATE" or ("OR", "REPLACE") in set(itertools.pairwise(words[:4]))


def _forgot(known: Known, at: int) -> bool:
    """Whether the server was asked in that second or later of what is not known any more."""
    return 0 < known.forgotten >= at


def _remembered(known: Known, text: str, db: str, modes: Modes, own: Collection[Table]) -> bool:
    """Whether all that it takes away is known, or a session's own, so that its facts say whether it was asked too
    late. What else a statement takes away its text does not name as certainly.
    """
    match _parsed(text, db, modes):
        case nodes.DropTables(tables=tables):
            dropped = {fold(table, modes) for table in tables}.difference(own)
            return all(known.facts.get(table, Fact()).shape is not None for table in dropped)
        case _:
            return False


def _of_session(known: Known, text: str, db: str, modes: Modes, thread: int) -> Known:
    """Tables of one session alone."""
    match _parsed(text, db, modes):
        case nodes.CreateTable(temporary=True, table=table):
            return replace(known, temporary=known.temporary | {(thread, fold(table, modes))})
        case nodes.DropTables(tables=tables):
            ended = {(thread, fold(table, modes)) for table in tables}
            return replace(known, temporary=known.temporary - ended)
        case _:
            return known


def _fresh(known: Known, text: str, db: str, modes: Modes, words: Sequence[str]) -> tuple[Table, ...]:
    """What the stream shows to begin anew, and to lead nowhere. IF EXISTS may leave a view of that name."""
    match _parsed(text, db, modes):
        case nodes.DropTables(tables=tables) if "EXISTS" not in words[:4]:
            return tuple(fold(table, modes) for table in tables)
        case nodes.CreateTable(temporary=False, table=made) as found if not {"REFERENCES", "UNION"} & {*words}:
            table = fold(made, modes)
            is_new = not found.if_not_exists or known.facts.get(table) == FRESH
            return (table,) if is_new else ()
        case _:
            return ()


def _parsed(text: str, db: str, modes: Modes) -> nodes.Statement | None:
    try:
        return read(text, db, modes)
    except UnclearError:
        return None


def _bounded(known: Known) -> Known:
    """The newest answers stay."""
    if len(known.temporary) > MOST:
        known = replace(known, temporary=frozenset())
    if len(known.facts) <= MOST:
        return known
    by_age = sorted(known.facts.items(), key=lambda item: item[1].asked_at)
    dropped, kept = by_age[: -MOST // 2], by_age[-MOST // 2 :]
    return replace(known, facts=dict(kept), forgotten=max(known.forgotten, dropped[-1][1].asked_at))
