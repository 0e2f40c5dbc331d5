"""What a DDL statement does to the known facts about a server's objects.

Owns: which facts it invalidates, and when a fact was queried too late: the stream lags behind the server, whose answer
may show the state after a statement that is only now reached.
Must not know: how a server is queried, what a statement's own text says, what happens to the job.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, assert_never

from mysqlddl.nodes import Table
from mysqlddl.shaping import ShapeKind, Shaping, shaping
from mysqlddl.temporary import renamed
from mysqlddl.words import Modes, UnclearError
from syncmgr.job.objects.statement_facts import facts_of
from syncmgr.job.objects.surroundings import FRESH, NOBODY, BaseTable, Fact, Known, Session, Triggers, own_tables
from syncmgr.job.position import Position, has_passed

MOST: Final = 20_000  # facts that are kept, so many temporary tables too


@dataclass(frozen=True, kw_only=True, slots=True)
class Late:
    """These objects were judged by a state that they reached only after the statement, or by it. None: an object that
    is no longer known may have been.
    """

    tables: tuple[Table, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Of a statement: `at`: the second in which it began, by the same clock as `Fact.asked_at`. `before`: the position
    before it in the binlog. `session`: the one that ran it; `temporary`: it has used a temporary table.
    """

    at: int
    before: Position | None = None
    session: Session = NOBODY
    temporary: bool = False

    def is_late(self, fact: Fact) -> bool:
        """Whether the answer may show what the statement did."""
        if not 0 < fact.asked_at >= self.at:
            return False
        return self.before is None or fact.asked_by is None or not has_passed(self.before, fact.asked_by)


def after(known: Known, text: str, db: str, modes: Modes, place: Place, synced: Iterable[Table] = ()) -> Known | Late:
    """`db`: of names without one."""
    try:
        found = shaping(text, db, modes)
    except UnclearError:
        every = tuple(table for table, fact in known.facts.items() if place.is_late(fact))
        doubtful = every or _forgot(known, place)
        return Late(tables=every) if doubtful else replace(known, facts={}, schemas=frozenset())
    if found is None:
        return known
    found = _folded(found, modes)
    own = own_tables(known, place.session)
    found, own = _without_own(found, own, modes, place), _own_after(found, own, modes, place)
    known = replace(known, temporary=_with_own(known, place.session, own))
    if not found.names:
        return _bounded(known)
    concerned = frozenset(_concerned(known, found))
    late = frozenset(table for table in concerned if place.is_late(known.facts[table]))
    if found.takes_away:
        judged = _judged(known, late, found, synced)
        if judged or (_forgot(known, place) and not _remembered(known, found)):
            return Late(tables=tuple(judged))
    found = _settled(known, found, late)
    facts = {**_rest(known, concerned, late, found), **dict(facts_of(found, known.facts, db, modes))}
    return _bounded(replace(known, facts=facts, schemas=_schemas(known, found)))


def _folded(found: Shaping, modes: Modes) -> Shaping:
    """As facts are named."""
    match found.kind:
        case ShapeKind.FUNCTION:
            names = tuple((modes.folded(name)[0], name[1].lower()) for name in found.names)
        case ShapeKind.TRIGGER:
            names = tuple((modes.folded(name)[0], name[1]) for name in found.names)
        case _:
            names = tuple(modes.folded(name) for name in found.names)
    return replace(found, names=names, on=None if found.on is None else modes.folded(found.on))


def _without_own(found: Shaping, own: frozenset[Table], modes: Modes, place: Place) -> Shaping:
    """`own`: tables of only the session before it, which hide others of the same names."""
    if found.temporary:
        return replace(found, names=())
    if found.kind is not ShapeKind.TABLE:
        return found
    match found.verb:
        case "RENAME":
            others, _ = renamed(_pairs(found), own, modes)
            return replace(found, names=tuple(itertools.chain(*others)))
        case "DROP":
            return replace(found, names=tuple(name for name in found.names if name not in own))
        case "ALTER" if place.temporary and found.names[0] in own:
            return replace(found, names=())
        case _:
            return found


def _own_after(found: Shaping, own: frozenset[Table], modes: Modes, place: Place) -> frozenset[Table]:
    if found.kind is not ShapeKind.TABLE:
        return own
    match found.verb:
        case "CREATE" if found.temporary:
            return own.union(found.names)
        case "DROP":
            return own.difference(found.names)
        case "RENAME":
            return renamed(_pairs(found), own, modes)[1]
        case "ALTER" if place.temporary and found.names[0] in own:
            return own - {found.names[0]} | {found.names[-1]}
        case _:
            return own


def _pairs(found: Shaping) -> Iterable[tuple[Table, Table]]:
    return zip(found.names[::2], found.names[1::2], strict=True)


def _with_own(known: Known, session: Session, own: Iterable[Table]) -> frozenset[tuple[Session, Table]]:
    others = (each for each in known.temporary if each[0] != session)
    return frozenset(others).union((session, table) for table in own)


def _concerned(known: Known, found: Shaping) -> Iterator[Table]:
    """What may lead elsewhere because of it, or is in an unknown state."""
    match found.kind:
        case ShapeKind.DATABASE if found.verb == "CREATE" and not found.certain:
            pass  # it exists, or is empty
        case ShapeKind.DATABASE:
            yield from (table for table in known.facts if table[0] == found.names[0][0])
        case ShapeKind.TRIGGER:
            alone = None if found.takes_away else found.on
            of_schema = ((table, fact) for table, fact in known.facts.items() if table[0] == found.names[0][0])
            fired = (table for table, fact in of_schema if fact.triggers is not None or _is_blank(fact))
            yield from (table for table in fired if alone in {None, table})
        case ShapeKind.FUNCTION:
            yield from (name for name in found.names if _may_be(known.facts.get(name), is_function=True))
        case _:
            yield from (name for name in found.names if _may_be(known.facts.get(name), is_function=False))


def _may_be(fact: Fact | None, *, is_function: bool) -> bool:
    if fact is None:
        return False
    return _is_blank(fact) or (fact.function is not None if is_function else _is_table(fact))


def _is_table(fact: Fact) -> bool:
    return fact.shape is not None or fact.triggers is not None


def _is_blank(fact: Fact) -> bool:
    """It is no longer known of which objects."""
    return not _is_table(fact) and fact.function is None


def _judged(known: Known, late: Collection[Table], found: Shaping, synced: Iterable[Table]) -> list[Table]:
    """Those through which an earlier statement may have led elsewhere than it was judged to."""
    if not (late and found.of_base):
        return sorted(late)
    chain = _chain(known, synced)
    return sorted(table for table in late if table in chain or not _was_only_read(known.facts[table]))


def _was_only_read(fact: Fact) -> bool:
    """Of a base table that leads nowhere: if a statement writes one, its triggers are queried."""
    return isinstance(fact.shape, BaseTable) and fact.triggers is None and fact.function is None


def _chain(known: Known, synced: Iterable[Table]) -> frozenset[Table]:
    """The synced tables, and those from which foreign keys lead to them."""
    found, open_ = set[Table](), list(synced)
    while open_:
        table = open_.pop()
        found.add(table)
        match known.facts.get(table, Fact()).shape:
            case BaseTable(parents=parents):
                open_ += parents - found
            case _:
                pass
    return frozenset(found)


def _forgot(known: Known, place: Place) -> bool:
    """Whether the server was queried in that second or later about facts that are no longer known."""
    return 0 < known.forgotten >= place.at


def _remembered(known: Known, found: Shaping) -> bool:
    """Whether everything that it removes is known, or was made since: then its facts say whether they were queried too
    late.
    """
    return all(name[0] in known.schemas or _is_known(known, found.kind, name) for name in found.names)


def _is_known(known: Known, kind: ShapeKind, name: Table) -> bool:
    fact = known.facts.get(name, Fact())
    match kind:
        case ShapeKind.DATABASE:
            return False
        case ShapeKind.TRIGGER:
            return any(_has_trigger(each, name[1]) for table, each in known.facts.items() if table[0] == name[0])
        case ShapeKind.FUNCTION:
            return fact.function is not None
        case _:
            return fact.shape is not None


def _has_trigger(fact: Fact, name: str) -> bool:
    triggers = fact.triggers if isinstance(fact.triggers, tuple) else ()
    return any(each.name.casefold() == name.casefold() for each in triggers)


def _settled(known: Known, found: Shaping, late: Collection[Table]) -> Shaping:
    """Also certain if the known facts decide what IF EXISTS leaves open."""
    if found.certain or found.kind not in {ShapeKind.TABLE, ShapeKind.VIEW}:
        return found
    nothing = {name for name in found.names if name[0] in known.schemas and name not in known.facts}
    facts = {name: known.facts.get(name, Fact()) for name in found.names if name not in nothing | set(late)}
    if found.kind is ShapeKind.TABLE and found.verb == "DROP":
        nothing |= {name for name, fact in facts.items() if isinstance(fact.shape, BaseTable)}
    if found.kind is ShapeKind.TABLE and found.verb == "CREATE":
        nothing |= {name for name, fact in facts.items() if fact == FRESH}
    return replace(found, certain=nothing == set(found.names))


def _rest(known: Known, concerned: Collection[Table], late: Collection[Table], found: Shaping) -> dict[Table, Fact]:
    """That a fact was queried too late stays known, though nothing else of it."""
    facts = {table: fact for table, fact in known.facts.items() if table not in concerned}
    for table in concerned:
        fact = known.facts[table]
        kept = _blank(fact) if table in late else _kept(fact, found)
        if kept is not None:
            facts[table] = kept
    if (
        found.kind is ShapeKind.TABLE and found.takes_away and not found.of_base
    ):  # a foreign key follows its parent's name
        facts |= {table: _blank(fact) for table, fact in facts.items() if _is_child(fact, found.names)}
    unknown = [name for name in _still_there(found) if name[0] in known.schemas]
    return {**dict.fromkeys(unknown, Fact()), **facts}


def _blank(fact: Fact) -> Fact:
    return Fact(asked_at=fact.asked_at, asked_by=fact.asked_by)


def _kept(fact: Fact, found: Shaping) -> Fact | None:
    match found.kind:
        case ShapeKind.DATABASE:
            return None
        case ShapeKind.TRIGGER:
            return replace(fact, triggers=_without(fact, found.names[0][1]) if found.takes_away else None)
        case ShapeKind.FUNCTION:
            return replace(fact, function=None) if _is_table(fact) else None
        case ShapeKind.TABLE | ShapeKind.VIEW:
            return replace(fact, shape=None, triggers=None) if fact.function is not None else None
        case _:
            assert_never(found.kind)


def _without(fact: Fact, name: str) -> Triggers | None:
    """None if it may have another with a name that a server treats as the same."""
    if not _has_trigger(fact, name):
        return fact.triggers
    assert isinstance(fact.triggers, tuple)
    others = tuple(each for each in fact.triggers if each.name != name)
    return None if len(others) == len(fact.triggers) else others


def _is_child(fact: Fact, parents: Collection[Table]) -> bool:
    return isinstance(fact.shape, BaseTable) and not fact.shape.parents.isdisjoint(parents)


def _still_there(found: Shaping) -> tuple[Table, ...]:
    """What a schema may contain under those names."""
    if found.kind in {ShapeKind.TRIGGER, ShapeKind.DATABASE} or (
        found.verb == "DROP" and found.kind is not ShapeKind.TABLE
    ):
        return ()
    return found.names


def _schemas(known: Known, found: Shaping) -> frozenset[str]:
    if found.kind is not ShapeKind.DATABASE or (found.verb == "CREATE" and not found.certain):
        return known.schemas
    return known.schemas | {found.names[0][0]}


def _bounded(known: Known) -> Known:
    """The newest answers stay."""
    if len(known.temporary) > MOST:
        known = replace(known, temporary=frozenset())
    if len(known.schemas) > MOST:
        known = replace(known, schemas=frozenset())
    if len(known.facts) <= MOST:
        return known
    by_age = sorted(known.facts.items(), key=lambda item: item[1].asked_at)
    dropped, kept = by_age[: -MOST // 2], by_age[-MOST // 2 :]
    forgotten = max(known.forgotten, dropped[-1][1].asked_at)
    return replace(known, facts=dict(kept), forgotten=forgotten, schemas=frozenset())
