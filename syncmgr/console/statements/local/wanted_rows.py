"""Which rows of a table a query can show at most.

Owns: what of WHERE, ORDER BY and LIMIT bounds the rows that have to be read. Anything else leaves them unbounded.
Must not know: the tables; the query itself decides again about every row that it is given.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from syncmgr.console.statements.local.sqlite_times import MOMENT_OF

_JOB: Final = frozenset({"JOB_ID", "JOB_SCHEMA", "JOB_NAME"})
_NUMBERED: Final = frozenset({"EPOCH", "CHECK_ID"})  # the higher, the newer
_LATER: Final = (exp.GT, exp.GTE)
_GATHERED: Final = ("group", "having", "distinct", "windows", "qualify")


@dataclass(frozen=True, kw_only=True, slots=True)
class RowBounds:
    """`job`: what columns of a job must be equal to. `since`: SQLite's expression of the earliest commit, "": any.
    `newest`: so many rows with the highest epochs of each job, or of the highest checks; None: all. `check`: its id;
    None: any.
    """

    job: tuple[tuple[str, int | str], ...] = ()
    epoch: int = 0
    since: str = ""
    newest: int | None = None
    check: int | None = None


UNBOUNDED: Final = RowBounds()


def bounds(tree: exp.Query) -> RowBounds:
    """Of a query in SQLite's words."""
    if not isinstance(tree, exp.Select) or tree.args.get("joins") or len(list(tree.find_all(exp.Table))) != 1:
        return UNBOUNDED
    found, whole = UNBOUNDED, True
    for condition in _conditions(tree):
        narrowed = _narrowed(found, condition)
        whole = whole and narrowed is not None and not (isinstance(condition, exp.EQ) and narrowed.job == found.job)
        found = narrowed or found
        whole = whole and not found.since
    return replace(found, newest=_newest(tree)) if whole else found


def _conditions(tree: exp.Select) -> Iterator[exp.Expr]:
    where = tree.args.get("where")
    if where is None:
        return
    if not isinstance(where.this, exp.And):
        yield where.this.unnest()
        return
    yield from (each.unnest() for each in where.this.flatten())


def _narrowed(found: RowBounds, condition: exp.Expr) -> RowBounds | None:
    """None: the condition is none of those."""
    if not isinstance(condition, (exp.EQ, *_LATER)):
        return None
    column, value = condition.left, condition.right
    if isinstance(column, exp.Anonymous) and column.name == MOMENT_OF and isinstance(condition, _LATER):
        is_time = column.expressions[0].name.upper() == "COMMIT_TIME" and not list(value.find_all(exp.Column))
        return replace(found, since=value.sql("sqlite", identify=True)) if is_time and not found.since else None
    if not isinstance(column, exp.Column) or not isinstance(value, exp.Literal):
        return None
    name = column.name.upper()
    if name == "EPOCH" and value.is_int:
        return replace(found, epoch=max(found.epoch, int(value.name)))
    if name == "CHECK_ID" and value.is_int and isinstance(condition, exp.EQ):
        return replace(found, check=int(value.name))
    if name not in _JOB or not isinstance(condition, exp.EQ) or value.is_int != (name == "JOB_ID"):
        return None
    return replace(found, job=(*found.job, (name, int(value.name) if value.is_int else value.name)))


def _newest(tree: exp.Select) -> int | None:
    """Without ORDER BY any rows will do."""
    limit, order = tree.args.get("limit"), tree.args.get("order")
    if limit is None or any(tree.args.get(each) for each in _GATHERED) or tree.find(exp.AggFunc, exp.Window):
        return None
    if order is not None and not _is_newest_first(order.expressions[0], tree):
        return None
    offset = tree.args.get("offset")
    numbers = [each.expression for each in (limit, offset) if each is not None]
    if not all(isinstance(each, exp.Literal) and each.is_int for each in numbers):
        return None
    return sum(int(each.name) for each in numbers)


def _is_newest_first(first: exp.Expr, tree: exp.Select) -> bool:
    key = first.this.unnest()
    named = {alias.alias.upper() for alias in tree.find_all(exp.Alias)}
    return bool(first.args.get("desc")) and isinstance(key, exp.Column) and key.name.upper() in _NUMBERED - named
