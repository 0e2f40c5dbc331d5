"""What is known of a server's objects: tables, views, triggers, stored functions, foreign keys.

Owns: what each of them leads to, by its text, and which grants show it.
Must not know: statements, how a server is queried, what happens to the job.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from mysqlddl.body import body, of_function
from mysqlddl.nodes import Table
from mysqlddl.words import Modes, UnclearError, Words, until
from mysqlddl.writing import EVERY, Event, Written, united, written
from syncmgr.job.position import Position

TO_WRITE: Final = "SELECT, SHOW VIEW, TRIGGER"  # what shows objects of a database and where they lead
TO_READ: Final = "SHOW VIEW"  # shows that an object is a table, but none of its rows
ONCE_GONE: Final = (
    "if it was a table without triggers, create an empty table of that name and RESUME; if the job then stops at the"
    " statement that removed it, RESUME again; then drop the table"
)
SERVER_OWN: Final = frozenset({"information_schema", "performance_schema"})
_CHANGING: Final = frozenset({"CASCADE", "SET"})  # ON DELETE SET NULL
_NAME: Final = r"`((?:[^`]|``)+)`"
_GRANT: Final = re.compile(rf"(GRANT|REVOKE) (.+?) ON (?:TABLE )?(?:\*|{_NAME})\.(?:\*|{_NAME}) (?:TO|FROM) ")


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
    """There is no such object, or only one that is visible to its session alone."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """The user may not see it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """It exists, but `reason`."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Trigger:
    """`does`: what its body may do. `events`: what fires it."""

    name: str
    does: Written | Unreadable
    events: frozenset[Event] = EVERY


Session = tuple[int, int]  # the server_id of its server, and its number there
NOBODY: Final[Session] = (0, 0)
Shape = BaseTable | View | Gone | Hidden | Unreadable
Triggers = tuple[Trigger, ...] | Hidden
Function = Written | Gone | Hidden | Unreadable  # what its body may do


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """As far as it was queried. `asked_at`: the server's second once it had answered; 0: the stream showed it.

    `asked_by`: the end of its binlog at that moment, which contains all that the answer shows; None: not known.
    `function`: the stored function of the name; it has nothing to do with the table or view.
    """

    shape: Shape | None = None
    triggers: Triggers | None = None
    function: Function | None = None
    asked_at: int = 0
    asked_by: Position | None = None


FRESH: Final = Fact(shape=BaseTable(), triggers=())  # a table, as the stream shows it made, or no object at all


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """`temporary`: tables that sessions have made for themselves. `account`: ours, as a GRANT names it.

    `forgotten`: the second of the newest answer that may no longer be among the facts; 0: none. `schemas`: those whose
    creation the stream has shown, which contain nothing beyond the facts.
    """

    facts: Mapping[Table, Fact] = field(default_factory=dict)
    temporary: frozenset[tuple[Session, Table]] = frozenset()
    account: str = ""
    forgotten: int = 0
    schemas: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unasked:
    """The objects whose shape has to be queried, those whose triggers, and which stored functions."""

    shapes: frozenset[Table] = frozenset()
    triggers: frozenset[Table] = frozenset()
    functions: frozenset[Table] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Of one server. `at`: the second by its clock when all answers had been given; `by`: the end of its binlog at that
    moment, if it contains all that they show.
    """

    at: int
    account: str
    shapes: Mapping[Table, Shape]
    triggers: Mapping[Table, Triggers]
    functions: Mapping[Table, Function] = field(default_factory=dict)
    by: Position | None = None


MERGE: Final = "MRG_MYISAM"
MERGED: Final = Unreadable(reason="it is a MERGE table, whose rows belong to other tables")


def with_answers(known: Known, answers: Answers) -> Known:
    facts = dict(known.facts)
    for table, shape in answers.shapes.items():
        facts[table] = replace(facts.get(table, Fact()), shape=shape)
    for table, triggers in answers.triggers.items():
        facts[table] = replace(facts.get(table, Fact()), triggers=triggers)
    for name, function in answers.functions.items():
        facts[name] = replace(facts.get(name, Fact()), function=function)
    for name in {*answers.shapes, *answers.triggers, *answers.functions}:
        facts[name] = replace(facts[name], asked_at=answers.at, asked_by=answers.by)
    return replace(known, facts=facts, account=answers.account)


def used(known: Known, names: Iterable[Table]) -> str:
    """What sessions have done with these objects, as far as the queries show."""
    by_verb: dict[str, list[str]] = {}
    for name in names:
        by_verb.setdefault(_did(known.facts[name]), []).append(f"'{name[0]}.{name[1]}'")
    return " and ".join(f"{verb} {', '.join(labels)}" for verb, labels in by_verb.items())


def _did(fact: Fact) -> str:
    """Triggers are queried for what is written, functions for what is called."""
    if fact.triggers is not None:
        return "written"
    return "called" if fact.function is not None else "used"


def own_tables(known: Known, session: Session) -> frozenset[Table]:
    """Temporary ones, which a session has created for itself."""
    return frozenset(table for of, table in known.temporary if of == session)


def unasked(known: Known) -> Known:
    """What only the stream has shown: no answer that was used still matters."""
    facts = {table: fact for table, fact in known.facts.items() if not fact.asked_at}
    return replace(known, facts=facts, forgotten=0, schemas=frozenset())


def trigger(name: str, event: str, text: str, db: str, sql_mode: str, modes: Modes) -> Trigger:
    """`event`: in the server's word. `text`: its body; `db`: of names without one. `sql_mode`: of when it was made."""
    events = fired_by(event)
    try:
        return Trigger(name=name, does=folded(body(text, db, _made_in(sql_mode, modes)), modes), events=events)
    except UnclearError as error:
        return Trigger(name=name, does=Unreadable(reason=str(error)), events=events)


def fired_by(event: str) -> frozenset[Event]:
    """MariaDB 12 has triggers of several events. Any event, if the text has other words too."""
    words = frozenset(re.findall(r"\w+", event.upper())) - {"OR"}
    return frozenset(Event(word) for word in words) if words and words <= {*Event} else EVERY


def function(created: str, db: str, sql_mode: str, modes: Modes) -> Function:
    """Of the text of SHOW CREATE FUNCTION."""
    try:
        return folded(of_function(created, db, _made_in(sql_mode, modes)), modes)
    except UnclearError as error:
        return Unreadable(reason=str(error))


def _made_in(sql_mode: str, modes: Modes) -> Modes:
    of = set(sql_mode.upper().split(","))
    quotes, plain = "ANSI_QUOTES" in of, "NO_BACKSLASH_ESCAPES" in of
    return replace(modes, ansi_quotes=quotes, no_backslash=plain, oracle="ORACLE" in of)


def shape(created: str, table: Table, modes: Modes) -> Shape:
    """Of the text of SHOW CREATE TABLE, in which every name is quoted, and has its database if that is another."""
    try:
        words = Words(created, modes)
        word = next((token.word for token in words.tokens if token.word in {"TABLE", "VIEW", "SEQUENCE"}), "")
        while words.take().word != word:
            pass
        if word == "VIEW":
            return view(_query(created, words), table[0], modes)
        if any(token.word == MERGE for token in words.tokens):
            return MERGED
        return BaseTable(parents=frozenset(modes.folded(parent) for parent in _parents(words, table[0])))
    except UnclearError as error:
        return Unreadable(reason=str(error))


def view(query: str, db: str, modes: Modes) -> Shape:
    """Of its query, in which every table except a common one has its database, and every function outside the view's
    own, `db`.
    """
    try:
        found = written(query, "", modes)
        calls = tuple((name[0] or db, name[1]) for name in found.calls)
        tables = found.names - found.common
        return View(query=folded(replace(found, calls=calls, names=tables, common=frozenset()), modes))
    except UnclearError as error:
        return Unreadable(reason=str(error))


def parents(text: str, db: str, modes: Modes) -> frozenset[Table]:
    """Of the foreign keys in a text that creates or alters a table of `db`. Raises UnclearError."""
    return frozenset(modes.folded(parent) for parent in _parents(Words(text, modes), db))


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
        if any(token.word in _CHANGING for token in until(words, lambda token: token.word == "REFERENCES")):
            yield parent


def shows_triggers(grants: Iterable[str], table: Table) -> bool:
    """Whether the lines of SHOW GRANTS have TRIGGER there. A pattern of databases counts for its own name alone."""
    return _granted(grants, table, frozenset({"TRIGGER"}))


def shows_functions(grants: Iterable[str]) -> bool:
    """Whether they have what shows every stored function."""
    every = {"SELECT", "SHOW_ROUTINE", "ALL PRIVILEGES"}
    given = [found for line in grants if (found := _GRANT.match(line)) is not None and found[1] == "GRANT"]
    on_all = (found for found in given if not found[3] and every & set(found[2].split(", ")))
    return any(on_all) or _granted(grants, ("mysql", "proc"), frozenset({"SELECT"}))


def shows(grants: Iterable[str], table: Table) -> bool:
    """Whether they have anything that would show it if it existed."""
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


def folded(found: Written, modes: Modes) -> Written:
    """Names of functions differ in no case, those of databases as tables' do."""
    return Written(
        events=united((modes.folded(table), events) for table, events in found.events.items()),
        calls=tuple((modes.folded(name)[0], name[1].lower()) for name in found.calls),
        names=frozenset(modes.folded(table) for table in found.names),
        common=frozenset(modes.folded(table) for table in found.common),
    )
