"""Whether the lake is right.

Owns: what must hold in a quiet moment, and at every consistent point.
Must not know: who broke what.
"""

import contextlib
import json
import random
import sqlite3
from collections.abc import Iterator
from typing import Any, Final

import pymysql

from tests.acceptance.agreement import differing
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until
from tests.torture.asking import asked
from tests.torture.engine import KEYS, OWN
from tests.torture.operator import Operator
from tests.torture.workload import ACCOUNTS, HOLDERS, START_MONEY, TABLES, Table, tables

CAUGHT_UP_SECOND: Final = 900.0
QUIET_SECOND: Final = 600.0
ASK_SECOND: Final = 0.1
POINTS: Final = 4  # of those that are kept, so many are read each time
SHOWN: Final = 20
OFF: Final = "key_index_max_bytes"  # in the reason why there is no index, where the run has switched it off


class WrongError(AssertionError):
    """The lake is not what the source is."""


def check(fe: FrontendProcess, mysql: MysqlServer, operator: Operator, dice: random.Random) -> tuple[int, int]:
    """With nobody writing: rows that were compared, and consistent points that were read. Raises WrongError."""
    for db in ("bank", "shop"):

        def caught_up(db: str = db) -> bool:
            operator.look()
            return _caught_up(fe, mysql, db)

        until(caught_up, deadline=CAUGHT_UP_SECOND, why=f"{db} caught up", step=ASK_SECOND)
    compared = sum(_compare(fe, mysql, table) for table in TABLES)
    for db in ("bank", "shop"):
        until(lambda db=db: not _unclean(fe, db), deadline=QUIET_SECOND, why=f"a clean {db}", step=ASK_SECOND)
        if differs := asked(lambda db=db: differing(fe, f"{db}.job1", OWN)):
            raise WrongError(f"CHECK does not find {db} equal, which is: {differs}")
    points = _points(fe)
    for point in dice.sample(points, min(POINTS, len(points))):
        _look_back(fe, point)
    return compared, len(points)


def _caught_up(fe: FrontendProcess, mysql: MysqlServer, db: str) -> bool:
    """A job that an error has paused is resumed at once; else it would do so by itself."""
    job = asked(lambda: fe.job(db))
    if job["State"] == "PAUSED":
        with contextlib.suppress(pymysql.err.MySQLError):
            fe.sql(f"RESUME SYNC JOB {db}.job1")
    executed = str(mysql.run("SELECT @@gtid_executed")[0][0]).replace("\n", "")
    status = job["Status"]
    return bool(not status["behind"] and status["position"]["gtid"] == executed)


def _compare(fe: FrontendProcess, mysql: MysqlServer, table: Table) -> int:
    """Row by row, exact values, at once: the job says that it has caught up."""
    expected = sorted(mysql.run(f"SELECT * FROM {table.path}"), key=repr)
    own = OWN.get(table.name, "FALSE")
    found = sorted(_rows(fe, f"SELECT * FROM {table.path} WHERE NOT ({own})"), key=repr)
    if table.name in KEYS:
        _refuse_doubled(fe, table)
    if found != expected:
        missing, strange = _without(expected, found), _without(found, expected)
        lines = [f"{table.path}: {len(expected)} rows at the source, {len(found)} in the lake"]
        lines += [f"  not in the lake: {row}" for row in missing[:SHOWN]]
        lines += [f"  only in the lake: {row}" for row in strange[:SHOWN]]
        raise WrongError("\n".join(lines))
    return len(expected)


def _refuse_doubled(fe: FrontendProcess, table: Table) -> None:
    """Rows of another engine, which no source has; each of their keys was inserted once."""
    key = KEYS[table.name]
    twice = f"SELECT {key} FROM {table.path} WHERE {OWN[table.name]} GROUP BY {key} HAVING count(*) > 1"
    if found := _rows(fe, twice):
        raise WrongError(f"{table.path}: {len(found)} keys of another engine are there more than once")


def _without(rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """As often as they are too many."""
    left = list(rows)
    for row in others:
        with contextlib.suppress(ValueError):
            left.remove(row)
    return left


def _rows(fe: FrontendProcess, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in asked(lambda: fe.sql(sql))]


def _unclean(fe: FrontendProcess, db: str) -> dict[str, Any]:
    """What a quiet table must not have."""
    index = asked(lambda: fe.job(db))["Status"]["index"]
    missed = {name: facts for name, facts in index.items() if facts["missing"]}
    if missed:
        raise WrongError(f"changes of {db} met no row: {missed}")
    return {name: facts for name, facts in index.items() if not _is_ready(facts) or facts["equality_deletes"]}


def _is_ready(facts: dict[str, Any]) -> bool:
    """The index of a table that no commit has needed since the frontend started has not been opened."""
    has_none = facts["state"] == "off" and OFF in facts["reason"]
    return has_none or facts["state"] == "ready" or (facts["state"] == "building" and not facts["rows"])


def _points(fe: FrontendProcess) -> list[dict[str, int]]:
    """The bank's consistent points: snapshot by table."""
    with contextlib.closing(sqlite3.connect(f"file:{fe.folder}/var/meta/meta.db?mode=ro", uri=True)) as meta:
        tokens = dict(meta.execute("SELECT token, description FROM channels"))
        names = {token: json.loads(described)["target"] for token, described in tokens.items()}
        kept = meta.execute(
            "SELECT snapshots FROM epochs WHERE committed_at IS NOT NULL AND job_id = (SELECT id FROM jobs"
            " WHERE db = 'bank')",
        )
        found = [{names[token]: at for token, at in json.loads(text or "{}").items()} for (text,) in kept]
    bank = {table.name for table in tables("bank")}
    return [point for point in found if all(point.get(name) for name in bank)]


def _look_back(fe: FrontendProcess, point: dict[str, int]) -> None:
    """All tables of a job at one epoch show one and the same moment of the source."""
    parts = [f"SELECT sum(money), sum(moves), 0 FROM bank.{name} VERSION AS OF {point[name]}" for name in HOLDERS]
    parts.append(f"SELECT 0, 0, count(*) FROM bank.journal VERSION AS OF {point['journal']}")
    found = _rows(fe, " UNION ALL ".join(parts))
    money, moves, lines = (sum(int(row[place]) for row in found) for place in range(3))
    if (money, moves) != (ACCOUNTS * len(HOLDERS) * START_MONEY, 2 * lines):
        raise WrongError(f"consistent point {point}: {money} of the money, {moves} moves, {lines} lines: {found}")


@contextlib.contextmanager
def quiet(*turns: contextlib.AbstractContextManager[Any]) -> Iterator[None]:
    """While nobody writes."""
    with contextlib.ExitStack() as stack:
        for turn in turns:
            stack.enter_context(turn)
        yield
