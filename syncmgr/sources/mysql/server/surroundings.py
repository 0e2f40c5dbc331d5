"""What a server shows of objects that are not synced: what they are, which triggers they have.

Owns: the queries, and how long a server may take to answer them.
Must not know: why they are sent, how the answers are used.

MySQL's information_schema reads its dictionary, and opens no table. SHOW CREATE TABLE of a view opens what it shows:
during an ALTER TABLE of that, threads of MySQL 9.7 hung in it after their clients were gone, and the ALTER with them.
MariaDB answers SHOW CREATE TABLE without a temporary table, while its information_schema makes one of Aria when
triggers are queried, as SHOW COLUMNS does: so they are queried for one table at a time, by its exact name, last, and
never if the answer would be empty for lack of a grant.
"""

import contextlib
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from pymysql import err

from mysqlddl.words import Modes
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects.surroundings import (
    MERGE,
    MERGED,
    Answers,
    BaseTable,
    Function,
    Gone,
    Hidden,
    Shape,
    Triggers,
    Unasked,
    Unreadable,
    function,
    shape,
    shows,
    shows_functions,
    shows_triggers,
    trigger,
    view,
)
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures, query, unreachable
from syncmgr.sources.mysql.server.grants import NO_SUCH
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.server.tables import quoted

T = TypeVar("T")

DENIED: Final = frozenset({1044, 1142, 1143, 1227, 1345})
TRANSIENT: Final = frozenset({1205, 1213, 1317, 3024})  # locks, KILL QUERY; from 2000 on: the connection's

_PLAIN: Final = "SET SESSION sql_mode = '', sql_quote_show_create = 1, lock_wait_timeout = %s"
_KIND: Final = (
    f"SELECT IF(ENGINE = '{MERGE}', ENGINE, TABLE_TYPE) told FROM information_schema.TABLES"  # noqa: S608 - a constant
    " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
)
_QUERY: Final = "SELECT VIEW_DEFINITION told FROM information_schema.VIEWS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_PARENTS: Final = (
    "SELECT UNIQUE_CONSTRAINT_SCHEMA db, REFERENCED_TABLE_NAME name FROM information_schema.REFERENTIAL_CONSTRAINTS"
    " WHERE CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s"
    " AND (UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION'))"
)
_TRIGGERS: Final = (
    "SELECT TRIGGER_NAME name, EVENT_MANIPULATION event, ACTION_STATEMENT body, SQL_MODE mode"
    " FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = %s AND EVENT_OBJECT_TABLE = %s"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """Whole seconds, for one `question`, and for those of a `round`, which are sent at once; what is left of that is
    queried again.
    """

    question: int = 5
    round: int = 20


def asked(
    address: MysqlAddress,
    server: str,
    unasked: Unasked,
    modes: Modes,
    opened: Callable[[socket.socket], None],
    patience: Patience,
) -> Answers:
    """Of as many as there was time for, at least one. `server`: the one whose answers count, as a position names it.

    Raises SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED, SOURCE_GRANT_MISSING.
    """
    address = replace(address, query_timeout=patience.question)
    with naming_failures(address), contextlib.closing(connect(address, opened)) as connection:
        here = Server(address, connection)
        if here.id != server:
            raise unreachable(address, "another server has come to its address")
        answers = _answers(connection, unasked, modes, patience)
        if modes.mariadb and answers.functions:  # it has none before its binlog has the DROP
            return answers
        return replace(answers, by=here.latest())


def _answers(connection: Connection, unasked: Unasked, modes: Modes, patience: Patience) -> Answers:
    query(connection, _PLAIN, patience.question)
    modes = replace(modes, ansi_quotes=False, no_backslash=False, oracle=False)  # the answers follow it
    ends = time.monotonic() + patience.round
    grants = [str(next(iter(row.values()))) for row in query(connection, "SHOW GRANTS")]
    shape_of = partial(_created, connection) if modes.mariadb else partial(_listed, connection, grants)
    shapes = _asked(sorted(unasked.shapes), ends, lambda table: shape_of(table, modes))
    triggers = _asked(sorted(unasked.triggers), ends, lambda table: _triggers(connection, table, grants, modes))
    functions = _asked(sorted(unasked.functions), ends, lambda name: _function(connection, name, grants, modes))
    row = query(connection, "SELECT CURRENT_USER() account, UNIX_TIMESTAMP() second")[0]
    name, _, host = row["account"].rpartition("@")
    account = f"'{name}'@'{host}'"
    return Answers(at=int(row["second"]), account=account, shapes=shapes, triggers=triggers, functions=functions)


def _asked(tables: Iterable[Table], ends: float, ask: Callable[[Table], T]) -> dict[Table, T]:
    given: dict[Table, T] = {}
    for table in tables:
        if given and time.monotonic() > ends:
            break
        given[table] = ask(table)
    return given


def _listed(connection: Connection, grants: Iterable[str], table: Table, modes: Modes) -> Shape:
    """Of MySQL's dictionary."""
    kind = _one(connection, _KIND, table)
    if kind is None:
        return Gone() if shows(grants, table) else Hidden()
    if kind.upper() == MERGE:
        return MERGED
    if kind == "VIEW":
        text = _one(connection, _QUERY, table)
        return view(text, table[0], modes) if text else Hidden()
    parents = query(connection, _PARENTS, *table)
    return BaseTable(parents=frozenset(modes.folded((row["db"], row["name"])) for row in parents))


def _one(connection: Connection, text: str, table: Table) -> str | None:
    rows = query(connection, text, *table)
    return None if not rows else str(rows[0]["told"] or "")


def _created(connection: Connection, table: Table, modes: Modes) -> Shape:
    try:
        row = query(connection, f"SHOW CREATE TABLE {quoted(table)}")[0]
    except err.MySQLError as error:
        return _failure(error)
    return shape(_text(row), table, modes)


def _text(row: dict[str, Any]) -> str:
    return str(row["Create View"] if "Create View" in row else row["Create Table"])


def _failure(error: err.MySQLError) -> Shape:
    """Raises it if it says nothing about the table."""
    number = error.args[0] if error.args else 0
    if number in NO_SUCH:
        return Gone()
    if number in DENIED:
        return Hidden()
    if not _is_answer(error):
        raise error
    return Unreadable(reason=f"{error.args[1]} ({number})")


def _is_answer(error: err.MySQLError) -> bool:
    """Whether it is about the object, not about a server that is out of time, or gone."""
    number = error.args[0] if error.args else 0
    return isinstance(number, int) and number not in TRANSIENT and 1000 <= number < 2000


def _triggers(connection: Connection, table: Table, grants: Iterable[str], modes: Modes) -> Triggers:
    """Without the grant the server shows none, as if there were none."""
    if not shows_triggers(grants, table):
        return Hidden()
    found = query(connection, _TRIGGERS, *table)
    return tuple(trigger(row["name"], row["event"], row["body"], table[0], row["mode"], modes) for row in found)


def _function(connection: Connection, name: Table, grants: Iterable[str], modes: Modes) -> Function:
    """MySQL shows it to its definer, and to users with SHOW_ROUTINE; the text is NULL to users who may only run it."""
    try:
        row = query(connection, f"SHOW CREATE FUNCTION {quoted(name)}")[0]
    except err.MySQLError as error:
        if not _is_answer(error):
            raise
        return Gone() if shows_functions(grants) else Hidden()
    created = row["Create Function"]
    return Hidden() if created is None else function(str(created), name[0], str(row["sql_mode"]), modes)
