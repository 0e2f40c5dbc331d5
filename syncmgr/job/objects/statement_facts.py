"""What the stream itself shows of the objects whose creation it contains, so that no query is needed.

Owns: the fact that follows from a statement's own text.
Must not know: what that invalidates, what was queried from a server.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from mysqlddl.body import body, of_function
from mysqlddl.nodes import Table
from mysqlddl.shaping import ShapeKind, Shaping
from mysqlddl.words import Modes, UnclearError, Words
from mysqlddl.writing import written
from syncmgr.job.objects.surroundings import (
    FRESH,
    BaseTable,
    Fact,
    Function,
    Shape,
    Trigger,
    Triggers,
    Unreadable,
    View,
    fired_by,
    folded,
    parents,
)


def facts_of(found: Shaping, facts: Mapping[Table, Fact], db: str, modes: Modes) -> Iterator[tuple[Table, Fact]]:
    """As far as its text says all. `facts`: before it; `db`: of names without one."""
    match found.kind:
        case ShapeKind.TABLE if found.gone:
            yield from ((name, _as_table(facts.get(name, Fact()), FRESH.shape, ())) for name in found.names)
        case ShapeKind.TABLE if found.made:
            [name] = found.names
            yield from _whole(name, facts, _table(found, name, frozenset(), db, modes))
        case ShapeKind.TABLE:
            yield from _with_keys(found, facts, db, modes)
        case ShapeKind.VIEW if found.made:
            yield from _whole(found.names[0], facts, _view(found, db, modes))
        case ShapeKind.TRIGGER if found.made:
            yield from _with_trigger(found, facts, modes)
        case ShapeKind.FUNCTION if found.made:
            yield from _with_function(found, facts, modes)
        case ShapeKind.VIEW | ShapeKind.TRIGGER | ShapeKind.FUNCTION | ShapeKind.DATABASE:
            pass
        case _:
            assert_never(found.kind)


def _whole(name: Table, facts: Mapping[Table, Fact], shape: Shape | None) -> Iterator[tuple[Table, Fact]]:
    if shape is not None:
        yield name, _as_table(facts.get(name, Fact()), shape, ())


def _as_table(fact: Fact, shape: Shape | None, triggers: Triggers) -> Fact:
    """It was not queried; the function of its name stays as it was."""
    made = Fact(shape=shape, triggers=triggers)
    if fact.function is None:
        return made
    return replace(made, function=fact.function, asked_at=fact.asked_at, asked_by=fact.asked_by)


def _table(found: Shaping, name: Table, more: frozenset[Table], db: str, modes: Modes) -> Shape | None:
    """Names without a database are of the table's, or of the session's: both count."""
    try:
        if _merges(found.body, modes):
            return None
        keys = parents(found.body, name[0], modes) | parents(found.body, db, modes)
    except UnclearError:
        return None
    return BaseTable(parents=keys | more)


def _merges(text: str, modes: Modes) -> bool:
    """Whether it has the tables of a MERGE table, or a query that begins like them."""
    tokens = Words(text, modes).tokens
    return any(token.word == "UNION" and tokens[at + 1].word in {"=", "("} for at, token in enumerate(tokens))


def _with_keys(found: Shaping, facts: Mapping[Table, Fact], db: str, modes: Modes) -> Iterator[tuple[Table, Fact]]:
    name = found.names[0]
    match facts.get(name):
        case Fact(shape=BaseTable(parents=before)) as fact if found.body:
            shape = _table(found, name, before, db, modes)
            if shape is not None:
                yield name, replace(fact, shape=shape)
        case _:
            pass


def _view(found: Shaping, db: str, modes: Modes) -> Shape | None:
    """None if a name may be that of a common table, or of another one."""
    try:
        words = Words(found.body, modes)
        words.skip_brackets()
        words.expect("AS")
        query = written(found.body[words.token.start :], db, modes)
    except UnclearError:
        return None
    return None if query.common else View(query=folded(query, modes))


def _with_trigger(found: Shaping, facts: Mapping[Table, Fact], modes: Modes) -> Iterator[tuple[Table, Fact]]:
    [(db, name)] = found.names
    match facts.get(found.on or ("", "")):
        case Fact(triggers=tuple(before)) as fact if found.on is not None:
            others = tuple(each for each in before if each.name.casefold() != name.casefold())
            yield found.on, replace(fact, triggers=(*others, _trigger(found, db, name, modes)))
        case _:
            pass


def _trigger(found: Shaping, db: str, name: str, modes: Modes) -> Trigger:
    events = fired_by(found.event)
    try:
        return Trigger(name=name, does=folded(body(found.body, db, modes), modes), events=events)
    except UnclearError as error:
        return Trigger(name=name, does=Unreadable(reason=str(error)), events=events)


def _with_function(found: Shaping, facts: Mapping[Table, Fact], modes: Modes) -> Iterator[tuple[Table, Fact]]:
    name = found.names[0]
    does = _function(found, name[0], modes)
    if does is not None:
        fact = facts.get(name, Fact())
        yield name, replace(fact, function=does) if fact.shape or fact.triggers else Fact(function=does)


def _function(found: Shaping, db: str, modes: Modes) -> Function | None:
    try:
        return folded(of_function(found.body, db, modes), modes)
    except UnclearError:
        return None
