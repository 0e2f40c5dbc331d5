"""SELECT, UNION and WITH of MySQL in Spark's words.

Owns: the clauses, what each of them may name, the types of a result.
Must not know: operators and functions; where a table's columns come from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from mysqlselect import conversions
from mysqlselect.expressions import compiler
from mysqlselect.functions.aggregates import AGGREGATES
from mysqlselect.nodes.compiler import Asked, Compiler
from mysqlselect.scopes import ColumnsOf, Scope, Shape, Tables, with_names
from mysqlselect.types import ForSparkError, Kind, NotSupportedRefusal, Type, Value

_KNOWN: Final = frozenset(
    {
        *("with_", "expressions", "from_", "joins", "where", "group", "having", "windows", "order", "limit", "offset"),
        *("distinct", "hint", "operation_modifiers", "locks", "kind"),
    }
)
_MOST_ROWS: Final = 2**31 - 1
_DROPPED: Final = ("operation_modifiers", "locks")
_OF_TABLE: Final = frozenset({"this", "db", "catalog", "alias", "hints", "version", "joins"})


@dataclass(slots=True)
class _Item:
    """One of a SELECT's list. `value` None: it is *. `place`: where it is in the tree. `columns`: what it gives."""

    value: Value | None
    place: exp.Expr
    columns: Shape | None


@dataclass(frozen=True, slots=True)
class Result:
    """`shape` None: the columns are not known. `leaves`: the items of each SELECT of a UNION."""

    shape: Shape | None
    leaves: tuple[tuple[_Item, ...], ...]


class Queries:
    """Translates the trees of one text, in place."""

    def __init__(self, columns_of: ColumnsOf, asked: Asked) -> None:
        self._columns_of, self._asked = columns_of, asked

    def translated(self, tree: exp.Expr) -> tuple[str, Result]:
        """Raises Refusal, ForSparkError."""
        result = self._query(tree, None, {})
        return tree.sql("spark", identify=True, comments=False), result

    def _nested(self, tree: exp.Expr, outer: Scope, tables: Tables) -> tuple[str, Shape | None]:
        result = self._query(tree, outer, tables)
        return tree.sql("spark", identify=True, comments=False), result.shape

    def _query(self, tree: exp.Expr, outer: Scope | None, tables: Tables) -> Result:
        match tree:
            case exp.Select():
                return self._select(tree, outer, tables)
            case exp.SetOperation():
                return self._set_operation(tree, outer, tables)
            case exp.Subquery():
                return self._in_brackets(tree, outer, tables)
            case _:
                raise ForSparkError

    def _in_brackets(self, tree: exp.Subquery, outer: Scope | None, tables: Tables) -> Result:
        tables = self._with(tree, outer, tables)
        result = self._query(tree.this, outer, tables)
        _end(tree, self._expressions(Scope(outer, {"": result.shape}), tables))
        return result

    def _with(self, tree: exp.Expr, outer: Scope | None, tables: Tables) -> Tables:
        found = tree.args.get("with_")
        if found is None:
            return tables
        if found.args.get("recursive"):
            raise NotSupportedRefusal("WITH RECURSIVE")
        known = dict(tables)
        for each in found.expressions:
            shape = self._query(each.this, outer, known).shape
            known[each.alias.lower()] = with_names(shape, [name.name for name in each.args["alias"].columns])
        return known

    def _expressions(self, scope: Scope, tables: Tables) -> Compiler:
        return compiler(scope, lambda tree, around: self._nested(tree, around, tables), self._asked)

    # SELECT

    def _select(self, tree: exp.Select, outer: Scope | None, tables: Tables) -> Result:
        if any(value and name not in _KNOWN for name, value in tree.args.items()):
            raise ForSparkError
        for name in _DROPPED:
            tree.set(name, None)
        tables = self._with(tree, outer, tables)
        scope = Scope(outer)
        by = self._expressions(scope, tables)
        self._sources(tree, scope, by, tables)
        _replace_condition(tree.args.get("where"), by)
        items = tuple(_items(tree, scope, by))
        _refuse_having_alone(tree, items)
        _group(tree, by)
        _replace_condition(tree.args.get("having"), by)
        for window in tree.args.get("windows") or ():
            _window(window, by)
        _end(tree, by)
        return Result(_shape(items), (items,))

    def _sources(self, tree: exp.Select, scope: Scope, by: Compiler, tables: Tables) -> None:
        first = tree.args.get("from_")
        if first is None:
            return
        if first.this.name.lower() == "dual" and not tree.args.get("joins"):
            tree.set("from_", None)
            return
        self._source(first.this, scope, tables)
        for join in (*(tree.args.get("joins") or ()), *(first.this.args.get("joins") or ())):
            self._join(join, scope, by, tables)

    def _join(self, join: exp.Join, scope: Scope, by: Compiler, tables: Tables) -> None:
        if str(join.args.get("kind") or "").upper() == "STRAIGHT_JOIN":
            join.set("kind", None)
        self._source(join.this, scope, tables)
        scope.is_joined = scope.is_joined or bool(join.args.get("using") or join.args.get("method"))
        on = join.args.get("on")
        if on is not None:
            join.set("on", _raw(by.condition(on)))

    def _source(self, node: exp.Expr, scope: Scope, tables: Tables) -> None:
        match node:
            case exp.Table():
                scope.sources[node.alias_or_name.lower()] = self._table(node, tables)
                if node.args.get("version") is not None:
                    scope.older.add(node.alias_or_name.lower())
            case exp.Subquery() if isinstance(node.this, exp.Select | exp.SetOperation):
                shape = self._query(node.this, None, tables).shape
                names = [each.name for each in node.args["alias"].columns] if node.args.get("alias") else []
                scope.sources[node.alias.lower()] = with_names(shape, names)
            case _:
                raise ForSparkError

    def _table(self, node: exp.Table, tables: Tables) -> Shape | None:
        if not isinstance(node.this, exp.Identifier) or {name for name, each in node.args.items() if each} - _OF_TABLE:
            raise ForSparkError
        node.set("hints", None)
        if not node.db and node.name.lower() in tables:
            return tables[node.name.lower()]
        if node.catalog:
            return None
        return self._columns_of(node.db or None, node.name)

    # UNION

    def _set_operation(self, tree: exp.SetOperation, outer: Scope | None, tables: Tables) -> Result:
        tables = self._with(tree, outer, tables)
        left = self._query(tree.this, outer, tables)
        right = self._query(tree.expression, outer, tables)
        shape = _united(left, right)
        _end(tree, self._expressions(Scope(outer, {"": shape}), tables))
        return Result(shape, (*left.leaves, *right.leaves))


def _raw(sql: str) -> exp.Expr:
    return exp.Var(this=sql)


def _replace_condition(clause: exp.Expr | None, by: Compiler) -> None:
    if clause is not None:
        clause.set("this", _raw(by.condition(clause.this)))


def _items(tree: exp.Select, scope: Scope, by: Compiler) -> Iterator[_Item]:
    """Of the list, each in its place: what MySQL shows of it."""
    done: list[exp.Expr] = []
    for item in tree.expressions:
        if item.is_star:
            done.append(item)
            yield _Item(None, item, scope.star(item.text("table") if isinstance(item, exp.Column) else ""))
            continue
        found = by.value(item.this if isinstance(item, exp.Alias) else item).shown()
        place = _raw(found.sql)
        if isinstance(item, exp.Alias):
            item.set("this", place)
            place = item
            scope.aliases[item.alias.lower()] = found.type
        done.append(place)
        yield _Item(found, place, ((_name(place), found.type),))
    tree.set("expressions", done)


def _shape(items: Sequence[_Item]) -> Shape | None:
    if any(item.columns is None for item in items):
        return None
    return tuple(column for item in items for column in item.columns or ())


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return str(node.alias)
    last = str(node.name).rpartition(".")[2]
    return last[1:-1].replace("``", "`") if last.startswith("`") and last.endswith("`") else ""


def _refuse_having_alone(tree: exp.Select, items: Sequence[_Item]) -> None:
    """Without GROUP BY and aggregates MySQL filters rows by it, and Spark makes one group of all."""
    if tree.args.get("having") is None or tree.args.get("group") is not None:
        return
    calls = [each.name.upper() for each in tree.args["having"].find_all(exp.Anonymous)]
    shown = [item.value.sql.lower() for item in items if item.value is not None]
    if not any(f"{name.lower()}(" in sql for name in AGGREGATES for sql in shown) and not AGGREGATES.keys() & set(
        calls
    ):
        raise NotSupportedRefusal("HAVING without GROUP BY and without aggregates; use WHERE")


def _is_place(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def _key(node: exp.Expr, by: Compiler) -> exp.Expr:
    """Of GROUP BY and ORDER BY: a number is the place of an item."""
    return node if _is_place(node) else _raw(by.value(node).sql)


def _group(tree: exp.Select, by: Compiler) -> None:
    group = tree.args.get("group")
    if group is None:
        return
    if any(value and name not in {"expressions", "rollup"} for name, value in group.args.items()):
        raise ForSparkError
    group.set("expressions", [_key(each, by) for each in group.expressions])


def _order(tree: exp.Expr, by: Compiler) -> None:
    order = tree.args.get("order")
    if order is None:
        return
    for each in order.expressions:
        each.set("this", _key(each.this, by))
        each.set("nulls_first", not each.args.get("desc"))


def _end(tree: exp.Expr, by: Compiler) -> None:
    """ORDER BY and LIMIT. MySQL's documents name a number for "all rows" that is none of Spark's."""
    _order(tree, by)
    limit = tree.args.get("limit")
    if limit is not None and isinstance(limit.expression, exp.Column):  # LIMIT ALL
        raise ForSparkError
    if limit is not None and _is_place(limit.expression) and int(limit.expression.name) > _MOST_ROWS:
        tree.set("limit", None)


def _window(window: exp.Expr, by: Compiler) -> None:
    """Of WINDOW w AS (...)."""
    window.set("partition_by", [_raw(by.value(each).sql) for each in window.args.get("partition_by") or ()])
    _order(window, by)


def _united(left: Result, right: Result) -> Shape | None:
    """All sides of a UNION get the same types."""
    if left.shape is None or right.shape is None or len(left.shape) != len(right.shape):
        return None
    types = [
        conversions.common_type([one, other]) for (_, one), (_, other) in zip(left.shape, right.shape, strict=True)
    ]
    for items in (*left.leaves, *right.leaves):
        _cast_items(items, types)
    return tuple((name, type_) for (name, _), type_ in zip(left.shape, types, strict=True))


def _cast_items(items: Sequence[_Item], types: Sequence[Type]) -> None:
    left = list(types)
    for item in items:
        for _, own in item.columns or ():
            type_ = left.pop(0)
            if own == type_ or Kind.UNKNOWN in {own.kind, type_.kind} or own.kind is Kind.NULL:
                continue
            _cast_item(item, type_)


def _cast_item(item: _Item, type_: Type) -> None:
    if item.value is None:
        raise NotSupportedRefusal("UNION of columns of different types that come from *")
    place = _raw(conversions.as_type(item.value, type_).sql)
    if isinstance(item.place, exp.Alias):
        item.place.set("this", place)
    else:
        item.place.replace(place)
        item.place = place
