"""A statement that is in a binlog instead of the rows that it changes.

Owns: which tables it writes and how, by the names in its text, and whether it calls something that may write others.
Must not know: what those names are on the server, which tables are synced.
"""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mysqlddl.functions import BUILT_IN, CLOSE, DOUBTFUL
from mysqlddl.nodes import Table
from mysqlddl.sources import PACE, QUERIES, Source, common, common_tables, common_tables_of, named, sources
from mysqlddl.words import NAME, WORD, Modes, Token, UnclearError, Words, until

_FIRST_WORD: Final = re.compile(r"(?:\s|/\*M?!\d*|\*/|/\*.*?\*/|\()*+(\w+)", re.DOTALL)  # if the rest has no words


class Event(StrEnum):
    """What may happen to a row, in a trigger's terms."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


EVERY: Final = frozenset(Event)


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """`events`: what may happen to rows of which tables, or views. `calls`: functions that are not built in.

    `names`: every table and view in its lists, including those that it only reads. `common`: those of them that may be
    its common tables instead, by their names.
    """

    events: Mapping[Table, frozenset[Event]]
    calls: tuple[Table, ...]
    names: frozenset[Table]
    common: frozenset[Table] = frozenset()


def stands_for_rows(statement: str, modes: Modes) -> bool:
    """Whether it is a statement instead of row events: binlog_format was not ROW."""
    try:
        words = Words(statement, modes)
        _skip_prefix(words)
    except UnclearError:
        found = _FIRST_WORD.match(statement)
        return found is not None and found[1].upper() in _VERBS
    return words.token.word in _VERBS or words.sees("(")


def selected(statement: str, modes: Modes) -> str:
    """The query of a CREATE TABLE that stands for its rows too; "" of every other statement."""
    try:
        words = Words(statement, modes)
        _skip_prefix(words)
    except UnclearError:
        return ""
    if not words.skip("CREATE") or all(words.ahead(at).word != "TABLE" for at in range(4)):
        return ""
    while words.take().word != "TABLE":
        pass
    depth = 0
    while not words.done:
        if not depth and _begins_query(words):
            return statement[words.token.start :]
        word = words.take().word
        depth += (word == "(") - (word == ")")
    return ""


def _begins_query(words: Words) -> bool:
    at = 0
    while words.ahead(at).word == "(":
        at += 1
    word, following = words.ahead(at).word, words.ahead(at + 1).word
    return word in QUERIES and (word, following) != ("WITH", "SYSTEM")  # VERSIONING


def written(statement: str, db: str, modes: Modes) -> Written:
    """`db`: of names without one. Raises UnclearError for a text that cannot be parsed, and for one that runs
    others.
    """
    if modes.oracle:
        raise UnclearError("in sql_mode ORACLE a function is called without brackets")
    words = Words(statement, modes)
    _skip_prefix(words)
    while words.skip("("):
        pass
    if words.skip("WITH"):
        common_tables(words)
    verb = words.skip_any(_VERBS.keys())
    if not verb:
        raise words.unclear("a statement that changes rows")
    tables = tuple(_VERBS[verb](words, db))
    tokens, names = words.tokens, named(words, db)
    return Written(
        events=dict.fromkeys(tables, _events(verb, tokens)) if tables else {},
        calls=tuple(calls(words, db)),
        names=names,
        common=common_tables_of(tokens, names, db),
    )


def united(parts: Iterable[tuple[Table, frozenset[Event]]]) -> dict[Table, frozenset[Event]]:
    """What they do together, in the order of the tables' first events."""
    found: dict[Table, frozenset[Event]] = {}
    for table, events in parts:
        found[table] = found.get(table, frozenset()) | events
    return found


def _events(verb: str, tokens: Sequence[Token]) -> frozenset[Event]:
    """Everything that it may be, if a word of it is a name."""
    words = {token.word for token in tokens}
    if "PORTION" in words:  # what MariaDB's FOR PORTION OF leaves of a row is inserted
        return EVERY
    match verb:
        case "INSERT" if "DUPLICATE" in words:  # ON DUPLICATE KEY UPDATE
            return frozenset({Event.INSERT, Event.UPDATE})
        case "REPLACE":
            return frozenset({Event.INSERT, Event.DELETE})
        case "LOAD" if "REPLACE" in words:
            return frozenset({Event.INSERT, Event.DELETE})
        case "INSERT" | "LOAD":
            return frozenset({Event.INSERT})
        case "UPDATE":
            return frozenset({Event.UPDATE})
        case "DELETE":
            return frozenset({Event.DELETE})
        case _:
            return EVERY


def _skip_prefix(words: Words) -> None:
    """MariaDB's SET STATEMENT variable = value, ... FOR statement, and ANALYZE [FORMAT = JSON] statement."""
    if words.sees("SET", "STATEMENT"):
        while not words.skip("FOR"):
            words.take_value()
    if words.modes.mariadb and words.sees("ANALYZE") and not _maintains(words):
        words.take()
        if words.skip("FORMAT", "="):
            words.take()


def _maintains(words: Words) -> bool:
    return words.ahead(1).word in {"TABLE", "LOCAL", "NO_WRITE_TO_BINLOG"}


def _insert(words: Words, db: str) -> Iterator[Table]:
    while words.skip_any(PACE):
        pass
    words.skip("INTO")
    yield words.table(db)


def _load(words: Words, db: str) -> Iterator[Table]:
    while not words.skip("INTO", "TABLE"):
        words.take()
    yield words.table(db)


def _update(words: Words, db: str) -> Sequence[Table]:
    while words.skip_any(PACE):
        pass
    found = _joined(words, db)
    words.expect("SET")
    if len(found) == 1 and not words.done:
        return [found[0][1]]
    return [table for owner in _owners(words) for table in _meant(owner, found, words)]


def _delete(words: Words, db: str) -> Sequence[Table]:
    while words.skip_any(PACE):
        pass
    if not words.skip("FROM"):
        targets = words.listed(lambda: _target(words))
        words.expect("FROM")
        found = _joined(words, db)
    else:
        targets = words.listed(lambda: _target(words))
        if not words.skip("USING"):
            return [(owner or db, name) for owner, name in targets]
        found = _joined(words, db)
    return [table for target in targets for table in _meant(target, found, words)]


def _none(_words: Words, _db: str) -> Sequence[Table]:
    return ()


def _runs_others(words: Words, _db: str) -> Sequence[Table]:
    raise words.unclear("a statement that says itself what it does")


_VERBS: Final[Mapping[str, Callable[[Words, str], Sequence[Table] | Iterator[Table]]]] = {
    "INSERT": _insert,
    "REPLACE": _insert,
    "LOAD": _load,
    "UPDATE": _update,
    "DELETE": _delete,
    "SELECT": _none,
    "VALUES": _none,
    "TABLE": _none,
    "DO": _none,
    "CALL": _runs_others,
    "EXECUTE": _runs_others,
    "WITH": _runs_others,
}
Owner = tuple[str, str]  # the database, "" if none is given, and a table's name or alias


def _target(words: Words) -> Owner:
    """name[.*] or db.name[.*]"""
    first, second = words.name(), ""
    while words.skip("."):
        if not words.skip("*"):
            first, second = second or first, words.name()
    return (first, second) if second else ("", first)


def _joined(words: Words, db: str) -> list[Source]:
    found = sources(words, db)
    if not found:
        raise words.unclear("a table")
    return found


def _owners(words: Words) -> Iterator[Owner]:
    """Of each column that SET assigns; ("", "") if none is given."""
    while True:
        parts = [words.name()]
        while words.skip("."):
            parts.append(words.name())
        yield ("", "", *parts)[-3], ("", "", *parts)[-2]
        for _ in until(words, lambda token: token.word in {"WHERE", "ORDER", "LIMIT"}):
            pass
        if not words.skip(","):
            return


def _meant(owner: Owner, named_there: Sequence[Source], words: Words) -> Iterator[Table]:
    """All of them if nothing is given."""
    db, name = owner[0].casefold(), owner[1].casefold()
    found = [
        table
        for alias, table in named_there
        if not name
        or (not db and alias.casefold() == name)
        or (table[1].casefold() == name and db in {"", table[0].casefold()})
    ]
    if not found:
        raise words.unclear(f"a table {owner[1]}")
    yield from found


def calls(words: Words, db: str, flow: Collection[str] = ()) -> Iterator[Table]:
    """Each name before a bracket that is not certainly built in, and after which no columns are named. `flow`: further
    words that are not names.
    """
    tokens, own = words.tokens, (BUILT_IN | {*flow}) - DOUBTFUL[words.modes.mariadb]
    target, declared = _columns_at(tokens), frozenset(common(tokens))
    for at, (token, following) in enumerate(itertools.pairwise(tokens)):
        if following.word != "(" or at == target or token.kind not in {WORD, NAME}:
            continue
        before = tokens[at - 1].word if at else ""
        if before == "AS" or at in declared:
            continue
        apart = token.word in CLOSE and token.end != following.start
        if before == "." and at > 1:
            yield tokens[at - 2].text, token.text
        elif before == "." or apart or token.word not in own:
            yield db, token.text


def _columns_at(tokens: Sequence[Token]) -> int:
    """The place of the last part of the name of INSERT's table, or of an alias, before the columns; otherwise -1."""
    at = next((at for at, token in enumerate(tokens) if token.word in {"INSERT", "REPLACE"}), -1)
    if at < 0:
        return -1
    at += 1
    while tokens[at].word in {*PACE, "INTO"}:
        at += 1
    while at + 2 < len(tokens) and tokens[at + 1].word == ".":
        at += 2
    return at
