"""What a statement that is logged instead of rows reaches: by views, triggers, stored functions, foreign keys.

Owns: whether it may have changed a synced table, and what must be queried from the server to decide that.
Must not know: how a server is queried, what happens to the job.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, assert_never

from mysqlddl.functions import BUILT_IN
from mysqlddl.nodes import Table
from mysqlddl.words import Modes, UnclearError
from mysqlddl.writing import Event, Written, written
from syncmgr.job.objects.surroundings import (
    ONCE_GONE,
    SERVER_OWN,
    TO_READ,
    TO_WRITE,
    BaseTable,
    Fact,
    Gone,
    Hidden,
    Known,
    Trigger,
    Unasked,
    Unreadable,
    View,
    folded,
)

ADDS: Final = frozenset({Event.INSERT})  # which no foreign key passes on
SHOWS_FUNCTIONS: Final = {False: "SHOW_ROUTINE ON *.*", True: "SELECT ON mysql.proc"}  # by whether it is MariaDB


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """How a statement may have changed synced tables. `unknown`: why that cannot be decided; "" if it may have.

    `tables`: which; empty if it may be any.
    """

    how: str
    unknown: str = ""
    tables: tuple[Table, ...] = ()


def reach(
    text: str, db: str, modes: Modes, synced: Collection[Table], known: Known, own: frozenset[Table] = frozenset()
) -> Reach | Unasked | None:
    """None if it has changed no row of a synced table. `own`: temporary ones of its session, which it has used."""
    try:
        found = _without(own, folded(written(text, db, modes), modes))
    except UnclearError as error:
        return Reach(how=f"cannot be read ({error})")
    return _first(_Ways(frozenset(modes.folded(table) for table in synced), known, modes).of(found))


def _without(own: frozenset[Table], found: Written) -> Written:
    """Names in the text itself mean them; names in views, triggers and functions may not."""
    events = {table: of for table, of in found.events.items() if table not in own}
    return replace(found, events=events, names=found.names - own)


def _first(ways: Iterator[Reach | Unasked]) -> Reach | Unasked | None:
    """One that is certain; otherwise everything that has to be queried; otherwise one that cannot be judged."""
    doubt: Reach | None = None
    shapes, triggers, functions = set[Table](), set[Table](), set[Table]()
    for each in ways:
        match each:
            case Unasked():
                shapes |= each.shapes
                triggers |= each.triggers
                functions |= each.functions
            case Reach(unknown=""):
                return each
            case Reach():
                doubt = doubt or each
            case _:
                assert_never(each)
    open_ = Unasked(frozenset(shapes), frozenset(triggers), frozenset(functions))
    return open_ if open_ != Unasked() else doubt


class _Ways:
    """One statement's, to synced tables."""

    def __init__(self, synced: frozenset[Table], known: Known, modes: Modes) -> None:
        self._synced = synced
        self._known = known
        self._mariadb = modes.mariadb
        self._met: dict[Table, frozenset[Event]] = {}  # written
        self._seen: set[tuple[Table, bool]] = set()  # read, and whether as what may be a common table
        self._run: set[Table] = set()  # functions
        self._changed: list[Table] = []  # base tables to which more happens than added rows

    def of(self, found: Written) -> Iterator[Reach | Unasked]:
        """What the text itself says comes first: then nothing is queried."""
        own = tuple(table for table in found.events if table in self._synced)
        if own:
            yield Reach(how=f"changes {_labels(own)} of the job", tables=own)
        yield from self._done(found, "")
        yield from self._cascades()

    def _done(self, found: Written, how: str) -> Iterator[Reach | Unasked]:
        """By a statement, or by the body of a trigger or function; `how`: why it runs."""
        yield from self._called(found, f"{how}calls")
        for table, events in found.events.items():
            yield from self._written(table, events, f"{how}changes {_labels([table])}")
        yield from self._reads(found, found.events.keys())

    def _called(self, found: Written, how: str) -> Iterator[Reach | Unasked]:
        for name in found.calls:
            if name in self._run:
                continue
            self._run.add(name)
            called = f"{how} '{'.'.join(name)}'"
            does = self._known.facts.get(name, Fact()).function
            match does:
                case None:
                    yield Unasked(functions=frozenset({name}))
                case Written():
                    yield from self._done(does, f"{called}, which ")
                case Gone() if name[1].upper() in BUILT_IN:
                    pass  # the server's own, then
                case Gone():
                    yield Reach(how=f"{called}, which may change any table")
                case Hidden():
                    grant = f"GRANT {SHOWS_FUNCTIONS[self._mariadb]} TO {self._known.account}"
                    yield Reach(how=called, unknown=f"the server shows that function only after {grant}")
                case Unreadable(reason=reason):
                    yield Reach(how=f"{called}, which may change any table ({reason})")
                case _:
                    assert_never(does)

    def _written(self, table: Table, events: frozenset[Event], how: str) -> Iterator[Reach | Unasked]:
        before = self._met.get(table, frozenset())
        if events <= before:
            return
        self._met[table] = before | events
        if table in self._synced:
            yield Reach(how=f"{how} of the job", tables=(table,))
            return
        fact = self._known.facts.get(table, Fact())
        match fact.shape:
            case None:
                yield Unasked(shapes=frozenset({table}))
            case BaseTable():
                if events - ADDS and not before - ADDS:
                    self._changed.append(table)
                yield from self._triggered(table, fact, events - before, how)
            case View(query=query):
                yield from self._called(query, f"{how}, a view that calls")
                for shown in sorted(query.names):
                    yield from self._written(shown, events, f"{how}, a view of {_labels([shown])}")
            case Gone() | Hidden() | Unreadable():
                yield from self._unseen(table, fact.shape, how)
            case _:
                assert_never(fact.shape)

    def _triggered(self, table: Table, fact: Fact, events: frozenset[Event], how: str) -> Iterator[Reach | Unasked]:
        match fact.triggers:
            case None:
                yield Unasked(triggers=frozenset({table}))
            case Hidden():
                yield Reach(how=how, unknown=self._grant(TO_WRITE, table))
            case triggers:
                for trigger in triggers:
                    if trigger.events & events:
                        yield from self._fired(trigger, how)

    def _fired(self, trigger: Trigger, how: str) -> Iterator[Reach | Unasked]:
        match trigger.does:
            case Written() as does:
                yield from self._done(does, f"{how}, whose trigger {trigger.name} ")
            case Unreadable(reason=reason):
                yield Reach(how=f"{how}, whose trigger {trigger.name} may change any other table ({reason})")
            case _:
                assert_never(trigger.does)

    def _reads(self, found: Written, but: Collection[Table]) -> Iterator[Reach | Unasked]:
        for table in sorted(found.names.difference(but)):
            yield from self._read(table, common=table in found.common)

    def _read(self, table: Table, *, common: bool) -> Iterator[Reach | Unasked]:
        """A view may call a function, which may change any table. `common`: it may not be a table of the server."""
        done = table in self._met or not self._seen.isdisjoint({(table, False), (table, common)})
        if done or table in self._synced or table[0].lower() in SERVER_OWN:
            return
        self._seen.add((table, common))
        how = f"reads {_labels([table])}"
        found = self._known.facts.get(table, Fact()).shape
        match found:
            case None:
                yield Unasked(shapes=frozenset({table}))
            case BaseTable():
                pass
            case View(query=query):
                yield from self._called(query, f"{how}, a view that calls")
                yield from self._reads(query, ())
            case Hidden():
                reason = f"{self._grant(TO_READ, table)}, and SELECT too where it is a view"
                yield Reach(how=how, unknown=reason)
            case Gone() if common:
                pass
            case Gone() | Unreadable():
                yield from self._unseen(table, found, how)
            case _:
                assert_never(found)

    def _unseen(self, table: Table, found: Gone | Hidden | Unreadable, how: str) -> Iterator[Reach]:
        match found:
            case Gone():
                yield Reach(how=how, unknown=f"{_labels([table])} is gone; {ONCE_GONE}")
            case Hidden():
                yield Reach(how=how, unknown=self._grant(TO_WRITE, table))
            case Unreadable(reason=reason):
                yield Reach(how=f"{how}, which cannot be read ({reason})")

    def _grant(self, needed: str, table: Table) -> str:
        return f"the server shows it only after GRANT {needed} ON `{table[0]}`.* TO {self._known.account}"

    def _cascades(self) -> Iterator[Reach | Unasked]:
        """Upwards from the synced tables: only a table's own text shows its foreign keys without a search of all
        others.
        """
        if not self._changed:
            return
        children: dict[Table, set[Table]] = {}
        open_ = sorted(self._synced)
        seen = set(open_)
        while open_:
            child = open_.pop()
            found = self._known.facts.get(child, Fact()).shape
            match found:
                case None:
                    yield Unasked(shapes=frozenset({child}))
                case BaseTable(parents=parents):
                    for parent in parents:
                        children.setdefault(parent, set()).add(child)
                    open_ += parents - seen
                    seen |= parents
                case View() | Gone():
                    pass
                case Hidden() | Unreadable():
                    yield from self._unseen(child, found, f"changes {_labels(self._changed)}, perhaps a parent")
                case _:
                    assert_never(found)
        yield from self._passed_on(children)

    def _passed_on(self, children: Mapping[Table, set[Table]]) -> Iterator[Reach]:
        for table in self._changed:
            below: set[Table] = set()
            open_ = [table]
            while open_:
                more = children.get(open_.pop(), set()) - below
                below |= more
                open_ += more
            hit = tuple(sorted(below & self._synced))
            if hit:
                how = f"changes {_labels([table])}, and by foreign keys {_labels(hit)} of the job"
                yield Reach(how=how, tables=hit)


def _labels(tables: Iterable[Table]) -> str:
    return ", ".join(f"'{db}.{name}'" for db, name in tables)
