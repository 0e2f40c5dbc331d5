"""What a statement in place of rows leads to: by views, triggers, stored functions, foreign keys.

Owns: whether it may have changed a synced table, and what must be asked of the server before anybody can say so.
Must not know: how a server is asked, what becomes of the job.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from syncmgr.job.statement.nodes import Table
from syncmgr.job.statement.words import Modes, UnclearError, Words
from syncmgr.job.statement.writing import Written, written

TO_WRITE: Final = "SELECT, SHOW VIEW, TRIGGER"  # what shows objects of a database and where they lead
TO_READ: Final = "SHOW VIEW"  # shows that an object is a table, and none of its rows
ONCE_GONE: Final = (
    "if it was a table without triggers, CREATE TABLE one of that name, RESUME, once more where the job then stops at"
    " the statement that took it away, and drop it again"
)
SERVER_OWN: Final = frozenset({"information_schema", "performance_schema"})
_CHANGING: Final = frozenset({"CASCADE", "SET"})  # ON DELETE SET NULL
_NAME: Final = r"`((?:[^`]|``)+)`"
_GRANT: Final = re.compile(rf"(GRANT|REVOKE) (.+?) ON (?:TABLE )?(?:\*|{_NAME})\.(?:\*|{_NAME}) (?:TO|FROM) ")


# -- what is known of an object


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseTable:
    """`parents`: those whose changes foreign keys pass on to it."""

    parents: frozenset[Table] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """`query`: what it shows."""

    query: Written


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such object, or none that others than its session see."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """The user may not see it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """It is there, but `reason`."""

    reason: str


Shape = BaseTable | View | Gone | Hidden | Unreadable
Triggers = tuple[str, ...] | Hidden


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """As far as it was asked. `asked_at`: the server's second once it had answered; 0: the stream told it."""

    shape: Shape | None = None
    triggers: Triggers | None = None
    asked_at: int = 0


FRESH: Final = Fact(shape=BaseTable(), triggers=())  # a table, as the stream shows it made, or no object at all


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """`temporary`: tables that sessions have made for themselves, by thread. `account`: ours, as a GRANT names it."""

    facts: Mapping[Table, Fact] = field(default_factory=dict)
    temporary: frozenset[tuple[int, Table]] = frozenset()
    account: str = ""


@dataclass(frozen=True, slots=True)
class Unasked:
    """Of which objects the shape has to be asked, and of which the triggers."""

    shapes: frozenset[Table] = frozenset()
    triggers: frozenset[Table] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Of one server. `at`: the second by its clock when all of them had been given."""

    at: int
    account: str
    shapes: Mapping[Table, Shape]
    triggers: Mapping[Table, Triggers]


MERGE: Final = "MRG_MYISAM"
MERGED: Final = Unreadable(reason="it is a MERGE table, whose rows are those of others")


def told(known: Known, answers: Answers) -> Known:
    facts = dict(known.facts)
    for table, shape in answers.shapes.items():
        facts[table] = replace(facts.get(table, Fact()), shape=shape, asked_at=answers.at)
    for table, triggers in answers.triggers.items():
        facts[table] = replace(facts.get(table, Fact()), triggers=triggers, asked_at=answers.at)
    return replace(known, facts=facts, account=answers.account)


def shape(created: str, table: Table, modes: Modes) -> Shape:
    """Of the text of SHOW CREATE TABLE, in which every name is quoted, and has its database where that is another."""
    try:
        words = Words(created, modes)
        word = next((token.word for token in words.tokens if token.word in {"TABLE", "VIEW", "SEQUENCE"}), "")
        while words.take().word != word:
            pass
        if word == "VIEW":
            return view(_query(created, words), modes)
        if any(token.word == MERGE for token in words.tokens):
            return MERGED
        parents = frozenset(_parents(words, table[0]))
    except UnclearError as error:
        return Unreadable(reason=str(error))
    return BaseTable(parents=frozenset(fold(parent, modes) for parent in parents))


def view(query: str, modes: Modes) -> Shape:
    """Of its query, in which every table has its database."""
    try:
        return View(query=folded(written(query, "", modes), modes))
    except UnclearError as error:
        return Unreadable(reason=str(error))


def _query(created: str, words: Words) -> str:
    words.table("")
    words.skip_brackets()
    words.expect("AS")
    return created[words.token.start :]


def _parents(words: Words, db: str) -> Iterator[Table]:
    """Of the foreign keys that have an action."""
    while not words.done:
        if not words.skip("REFERENCES"):
            words.take()
            continue
        parent = words.table(db)
        words.brackets()
        if any(token.word in _CHANGING for token in words.until(lambda token: token.word == "REFERENCES")):
            yield parent


def shows_triggers(grants: Iterable[str], table: Table) -> bool:
    """Whether the lines of SHOW GRANTS have TRIGGER there. A pattern of databases counts for its own name alone."""
    return _granted(grants, table, frozenset({"TRIGGER"}))


def shows(grants: Iterable[str], table: Table) -> bool:
    """Whether they have anything that shows it, were it there."""
    return _granted(grants, table, frozenset(TO_WRITE.split(", ")))


def _granted(grants: Iterable[str], table: Table, any_of: frozenset[str]) -> bool:
    given = False
    for line in grants:
        found = _GRANT.match(line)
        if found is None or not {*any_of, "ALL PRIVILEGES"} & set(found[2].split(", ")):
            continue
        db, name = _plain(found[3] or ""), _plain(found[4] or "")
        if db in {"", table[0]} and name in {"", table[1]}:
            if found[1] == "REVOKE":
                return False
            given = True
    return given


def _plain(name: str) -> str:
    return name.replace("``", "`").replace("\\_", "_").replace("\\%", "%")


def fold(table: Table, modes: Modes) -> Table:
    """As the server compares names."""
    return (table[0].lower(), table[1].lower()) if modes.folds else table


def folded(found: Written, modes: Modes) -> Written:
    tables = tuple(fold(table, modes) for table in found.tables)
    return replace(found, tables=tables, names=frozenset(fold(table, modes) for table in found.names))


# -- a statement in place of rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """How a statement may have changed synced tables. `unknown`: why nobody can say so; "" where it may.

    `tables`: which; empty where it may be any.
    """

    how: str
    unknown: str = ""
    tables: tuple[Table, ...] = ()


def reach(
    text: str, db: str, modes: Modes, synced: Collection[Table], known: Known, thread: int = 0
) -> Reach | Unasked | None:
    """None where it has changed no row of a synced table. `thread`: whose statement it is."""
    try:
        found = folded(written(text, db, modes), modes)
    except UnclearError as error:
        return Reach(how=f"cannot be read ({error})")
    temporary = frozenset(table for of, table in known.temporary if of == thread)
    return _first(_Ways(frozenset(fold(table, modes) for table in synced), known, temporary).of(found))


def _first(ways: Iterator[Reach | Unasked]) -> Reach | Unasked | None:
    """One that is certain; else all that has to be asked; else one that nobody can judge."""
    doubt: Reach | None = None
    shapes, triggers = set[Table](), set[Table]()
    for each in ways:
        match each:
            case Unasked():
                shapes |= each.shapes
                triggers |= each.triggers
            case Reach(unknown=""):
                return each
            case Reach():
                doubt = doubt or each
            case _:
                assert_never(each)
    return Unasked(frozenset(shapes), frozenset(triggers)) if shapes or triggers else doubt


class _Ways:
    """One statement's, to synced tables."""

    def __init__(self, synced: frozenset[Table], known: Known, temporary: frozenset[Table]) -> None:
        self._synced = synced
        self._known = known
        self._temporary = temporary
        self._seen: set[Table] = set()
        self._changed: list[Table] = []  # base tables

    def of(self, found: Written) -> Iterator[Reach | Unasked]:
        """What the text says itself comes first: then nothing is asked."""
        own = tuple(table for table in found.tables if table in self._synced)
        if own:
            yield Reach(how=f"changes {_labels(own)} of the job", tables=own)
        yield from _called(found, "calls")
        for table in found.tables:
            yield from self._written(table, f"changes {_labels([table])}")
        for table in sorted(found.names - {*found.tables}):
            yield from self._read(table)
        if not found.adds:
            yield from self._cascades()

    def _written(self, table: Table, how: str) -> Iterator[Reach | Unasked]:
        if table in self._seen:
            return
        self._seen.add(table)
        if table in self._synced:
            yield Reach(how=f"{how}, and so {_labels([table])} of the job", tables=(table,))
            return
        fact = self._known.facts.get(table, Fact())
        match fact.shape:
            case None:
                yield Unasked(shapes=frozenset({table}))
            case BaseTable():
                self._changed.append(table)
                yield from self._triggered(table, fact, how)
            case View(query=query):
                yield from _called(query, f"{how}, a view that calls")
                for shown in sorted(query.names):
                    yield from self._written(shown, f"{how}, a view")
            case Gone() | Hidden() | Unreadable():
                yield from self._unseen(table, fact.shape, how)
            case _:
                assert_never(fact.shape)

    def _triggered(self, table: Table, fact: Fact, how: str) -> Iterator[Reach | Unasked]:
        match fact.triggers:
            case None:
                yield Unasked(triggers=frozenset({table}))
            case Hidden():
                yield Reach(how=how, unknown=self._grant(TO_WRITE, table))
            case ():
                pass
            case names:
                yield Reach(how=f"{how}, whose trigger {', '.join(names)} may change any other table")

    def _read(self, table: Table) -> Iterator[Reach | Unasked]:
        """A view may call a function, which may change any table."""
        if table in self._synced or table in self._seen or table[0].lower() in SERVER_OWN:
            return
        self._seen.add(table)
        how = f"reads {_labels([table])}"
        found = self._known.facts.get(table, Fact()).shape
        match found:
            case None:
                yield Unasked(shapes=frozenset({table}))
            case BaseTable():
                pass
            case View(query=query):
                yield from _called(query, f"{how}, a view that calls")
                for shown in sorted(query.names):
                    yield from self._read(shown)
            case Hidden():
                reason = f"{self._grant(TO_READ, table)}, and SELECT too where it is a view"
                yield Reach(how=how, unknown=reason)
            case Gone() | Unreadable():
                yield from self._unseen(table, found, how)
            case _:
                assert_never(found)

    def _unseen(self, table: Table, found: Gone | Hidden | Unreadable, how: str) -> Iterator[Reach]:
        match found:
            case Gone() if table in self._temporary:
                pass
            case Gone():
                yield Reach(how=how, unknown=f"{_labels([table])} is gone; {ONCE_GONE}")
            case Hidden():
                yield Reach(how=how, unknown=self._grant(TO_WRITE, table))
            case Unreadable(reason=reason):
                yield Reach(how=f"{how}, which cannot be read ({reason})")

    def _grant(self, needed: str, table: Table) -> str:
        return f"the server shows it only after GRANT {needed} ON `{table[0]}`.* TO {self._known.account}"

    def _cascades(self) -> Iterator[Reach | Unasked]:
        """Up from the synced tables: only a table's own text tells its foreign keys without a search of all others."""
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


def _called(found: Written, how: str) -> Iterator[Reach]:
    for name in found.calls:
        yield Reach(how=f"{how} '{name}', which may change any table")


def _labels(tables: Iterable[Table]) -> str:
    return ", ".join(f"'{db}.{name}'" for db, name in tables)
