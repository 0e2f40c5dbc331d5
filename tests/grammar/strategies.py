"""Statements of every kind, made from the fields of their nodes.

A field gets what its type can hold; what the language allows beyond a type, or forbids, stands in FIELDS and NODES.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from syncsql import (
    Channel,
    ColumnDefinition,
    CommentColumn,
    CommentTable,
    CreateTable,
    DataType,
    Default,
    DefaultKind,
    Distribution,
    ExplainSelect,
    Expression,
    Filter,
    Grant,
    GrantLevel,
    GrantScope,
    Help,
    Identified,
    MetaKind,
    Name,
    OptionKind,
    PatternKind,
    Property,
    Revoke,
    Scope,
    Select,
    Set,
    SetCharacterSet,
    SetNames,
    SetPassword,
    SettleDdl,
    SetTransaction,
    SetUserVariable,
    SetValue,
    SetVariable,
    Shards,
    ShowDatabases,
    ShowMeta,
    ShowSync,
    ShowSyncStatus,
    Statement,
    TableOption,
    TablePattern,
    Tables,
    Transform,
    TransformKind,
    UserName,
    ValueKind,
    WholeDatabase,
    parse,
    quote_name,
    quote_string,
)

T = TypeVar("T")
Strategy = st.SearchStrategy[Any]
MOST: Final = 2**31 - 1
WIDTHS: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT")
NODES_OF_STATEMENTS: Final[Sequence[type]] = typing.get_args(Statement)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ODD_NAMES: Final = (
    *("job", "select", "tables", "`", "a b", "日本", "Ж", "5", "a.b", "/*!40101 x */"),
    *("50%", "shop_1", "a\\", "\\%", "it's", 'a"b', "%", "*", "\0", "a\nb", "--", ";"),
)
names = st.sampled_from(ODD_NAMES) | texts.filter(bool)
some_texts = st.sampled_from(("", "%", "\\", "''", '"', "a\\'b", "\0\n")) | texts


def distinct(items: st.SearchStrategy[T], *, least: int) -> st.SearchStrategy[tuple[T, ...]]:
    """Some items of which no two have the same name in any case; an item without a name is its own."""
    return st.lists(items, min_size=least, max_size=3, unique_by=_name).map(tuple)


def _name(item: object) -> str:
    named = (getattr(item, each) for each in ("name", "target", "key", "kind") if hasattr(item, each))
    return str(next(named, item)).casefold()


def _expression(text: str) -> Expression:
    (parsed,) = parse(f"SHOW DATABASES WHERE {text}")
    assert isinstance(parsed.statement, ShowDatabases)
    where = parsed.statement.filter.where
    assert where is not None
    return where


leaves = (
    names.map(quote_name) | some_texts.map(quote_string) | st.sampled_from(["1", "2.5", "NULL", "TRUE", "x'ff'", "c"])
)
operators = st.sampled_from(["+", "-", "*", "/", "DIV", "%", "=", "<=>", "<>", "AND", "OR", "LIKE", "&", "<<", "||"])
expression_texts = st.recursive(
    leaves,
    lambda inner: (
        st.tuples(inner, operators, inner).map(lambda parts: f"({' '.join(parts)})")
        | st.tuples(st.sampled_from(["NOT", "-", "~"]), inner).map(lambda parts: f"({' '.join(parts)})")
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"f({', '.join(parts)})")
        | st.tuples(inner, inner, inner).map("CASE WHEN {0[0]} THEN {0[1]} ELSE {0[2]} END".format)
        | st.tuples(inner, inner).map("({0[0]} IN ({0[1]}, 1))".format)
        | inner.map("({} IS NULL)".format)
        | inner.map("CAST({} AS CHAR)".format)
    ),
    max_leaves=4,
)
any_expressions = expression_texts.map(_expression)
# Within statements a few are enough, and cheap: which ones there are does not matter to the words around them.
expressions = st.sampled_from(
    [
        _expression(text)
        for text in (
            "`a` > 1",
            "c",
            "`from` = 'it''s \\\\ , ) \"'",
            "f(`,`, (1), ')')",
            "`50%` % 2 = 0 OR `order` LIKE '%;'",
            "CASE WHEN `limit` IN (1, 2) THEN `x``y` ELSE -1 END",
        )
    ]
)


@cache
def of_node(node: type) -> Strategy:
    """Any value of a node."""
    if node in NODES:
        return NODES[node]()
    return built(node)


def built(node: type, **given: Strategy) -> Strategy:
    """From its fields, but for those that are given."""
    hints = typing.get_type_hints(node)
    fields = {
        field.name: given[field.name] if field.name in given else _of_field(node, field, hints[field.name])
        for field in dataclasses.fields(node)
    }
    return st.builds(node, **fields)


def _of_field(node: type, field: "dataclasses.Field[Any]", hint: object) -> Strategy:
    if (node, field.name) in FIELDS:
        return FIELDS[node, field.name]
    needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    try:
        return _of_hint(hint, least=1 if needed else 0)
    except TypeError as error:
        raise TypeError(f"{node.__name__}.{field.name}: {error}") from None


def _of_hint(hint: Any, *, least: int) -> Strategy:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        return st.one_of(*(_of_hint(each, least=least) for each in args))
    if origin is tuple and args[1:] == (...,):
        return distinct(_of_hint(args[0], least=0), least=least)
    if hint in PLAIN:
        return PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if dataclasses.is_dataclass(hint):
        return of_node(typing.cast("type", hint))
    raise TypeError(f"nothing is known of fields of type {hint}; tell tests/grammar/strategies.py of it")


PLAIN: Final[Mapping[object, Strategy]] = {
    str: names,
    bool: st.booleans(),
    int: st.integers(0, 10**18),
    type(None): st.none(),
    Expression: expressions,
}

FIELDS: Final[Mapping[tuple[type, str], Strategy]] = {
    (Property, "value"): some_texts,
    (Filter, "like"): st.none() | some_texts,
    (ColumnDefinition, "comment"): st.none() | some_texts,
    (CreateTable, "comment"): st.none() | some_texts,
    (CommentColumn, "comment"): some_texts,
    (CommentTable, "comment"): some_texts,
    (SettleDdl, "instead"): st.none() | some_texts,
    (UserName, "name"): some_texts,
    (UserName, "host"): some_texts,
    (Identified, "password"): some_texts,
    (Identified, "plugin"): st.none() | some_texts,
    (SetPassword, "password"): some_texts,
    (SetNames, "charset"): st.none() | some_texts,
    (SetNames, "collation"): st.none() | some_texts,
    (SetCharacterSet, "charset"): st.none() | some_texts,
    (Select, "text"): names.map(quote_name).map("SELECT {} FROM `t;`".format) | st.just("(VALUES (1, ')'))"),
    (ExplainSelect, "mode"): st.none() | st.sampled_from(["EXTENDED", "FORMATTED", "COST", "CODEGEN"]),
    (Help, "topic"): st.none() | texts.map(lambda text: " ".join(text.split())).filter(bool),
    (Distribution, "buckets"): st.none() | st.integers(1, MOST),
    (SetTransaction, "characteristics"): distinct(
        st.sampled_from(["READ ONLY", "READ WRITE", "ISOLATION LEVEL SERIALIZABLE", "ISOLATION LEVEL READ COMMITTED"]),
        least=1,
    ),
    **{
        (node, "privileges"): st.just(("ALL",)) | distinct(st.sampled_from(["LOAD_PRIV", "SELECT_PRIV"]), least=1)
        for node in (Grant, Revoke)
    },
}

_tables = st.builds(Name, name=names, db=names)


def _of_some_filter() -> Strategy:
    return st.builds(Filter, like=some_texts) | st.builds(Filter, where=expressions) | st.just(Filter())


def _patterns() -> Strategy:
    """LIKE has a dot between database and table."""
    like = st.tuples(some_texts, some_texts).map(lambda parts: parts[0].replace("\\", "\\\\") + "." + parts[1])
    return st.builds(TablePattern, kind=st.just(PatternKind.LIKE), text=like) | st.builds(
        TablePattern, kind=st.just(PatternKind.REGEXP), text=some_texts.filter(bool)
    )


def _tables_of(source: Name | WholeDatabase) -> Strategy:
    """Only tables of its database can be excluded."""
    out = st.builds(Name, name=names, db=st.just(source.db)) | of_node(TablePattern)
    return built(Tables, source=st.just(source), exclude=st.lists(out, max_size=2).map(tuple))


def _all_tables() -> Strategy:
    excluded = st.lists(_tables | of_node(TablePattern), max_size=2).map(tuple)
    anywhere = built(Tables, source=of_node(TablePattern), exclude=excluded)
    return anywhere | (_tables | of_node(WholeDatabase)).flatmap(_tables_of)


def _shards() -> Strategy:
    return built(Shards, exclude=st.lists(_tables | of_node(TablePattern), max_size=2).map(tuple))


def _data_types() -> Strategy:
    plain = ["BOOLEAN", "FLOAT", "DOUBLE", "DATE", "STRING", "JSON"]
    sized: dict[str, tuple[int, int]] = dict.fromkeys(WIDTHS, (0, 255))
    sized |= {"CHAR": (1, 255), "VARCHAR": (1, 65533), "BINARY": (1, MOST), "DATETIME": (0, 6), "TIMESTAMP": (0, 6)}
    return st.one_of(
        st.builds(DataType, name=st.sampled_from([*plain, *sized])),
        st.builds(DataType, name=st.just("DECIMAL"), args=st.tuples(st.integers(19, 38), st.integers(0, 19))),
        *(
            st.builds(DataType, name=st.just(name), args=st.tuples(st.integers(*range_)))
            for name, range_ in sized.items()
        ),
    )


def _defaults() -> Strategy:
    return st.one_of(
        st.builds(Default, kind=st.just(DefaultKind.STRING), text=some_texts),
        st.builds(Default, kind=st.just(DefaultKind.NUMBER), text=st.integers(-(10**20), 10**20).map(str)),
        st.builds(Default, kind=st.just(DefaultKind.BOOLEAN), text=st.sampled_from(["TRUE", "FALSE"])),
        st.builds(Default, kind=st.just(DefaultKind.NOW), text=st.sampled_from(["", "0", "6"])),
        st.just(Default(kind=DefaultKind.NULL)),
    )


def _transforms() -> Strategy:
    wide = [TransformKind.BUCKET, TransformKind.TRUNCATE]
    return st.builds(Transform, kind=st.sampled_from([k for k in TransformKind if k not in wide]), column=names) | (
        st.builds(Transform, kind=st.sampled_from(wide), column=names, width=st.integers(1, MOST))
    )


def _options() -> Strategy:
    return st.builds(TableOption, kind=st.just(OptionKind.AUTO_INCREMENT), value=st.integers(0, 10**9).map(str)) | (
        st.builds(
            TableOption,
            kind=st.sampled_from([kind for kind in OptionKind if kind is not OptionKind.AUTO_INCREMENT]),
            value=names,
        )
    )


def _values() -> Strategy:
    return st.one_of(
        st.builds(SetValue, kind=st.just(ValueKind.STRING), text=some_texts),
        st.builds(SetValue, kind=st.just(ValueKind.NUMBER), text=st.integers(-(10**9), 10**9).map(str)),
        st.builds(SetValue, kind=st.just(ValueKind.WORD), text=st.sampled_from(["ON", "NULL", "DEFAULT", "utf8mb4"])),
        st.builds(
            SetValue, kind=st.just(ValueKind.EXPRESSION), text=st.sampled_from(["@@x", "f(1, 2)", "a + 1", "`x`"])
        ),
    )


def _scopes() -> Strategy:
    levels: dict[GrantLevel, tuple[Strategy, Strategy]] = {
        GrantLevel.GLOBAL: (st.none(), st.none()),
        GrantLevel.DATABASE: (names, st.none()),
        GrantLevel.TABLE: (names, names),
        GrantLevel.JOB: (names, names),
    }
    return st.one_of(*(st.builds(GrantScope, level=st.just(k), db=db, name=name) for k, (db, name) in levels.items()))


def _meta() -> Strategy:
    """Each kind with what may follow it."""
    none, some = st.none(), _of_some_filter()
    rows = built(
        ShowMeta, kind=st.sampled_from([MetaKind.WARNINGS, MetaKind.ERRORS]), **_nothing("scope table db filter")
    )
    scoped = [MetaKind.VARIABLES, MetaKind.STATUS]
    homes = [MetaKind.TABLE_STATUS, MetaKind.OPEN_TABLES, MetaKind.TRIGGERS, MetaKind.EVENTS]
    lists = [MetaKind.COLLATION, MetaKind.CHARACTER_SET, MetaKind.PROCEDURE_STATUS, MetaKind.FUNCTION_STATUS]
    known = {*scoped, *homes, *lists, MetaKind.WARNINGS, MetaKind.ERRORS, MetaKind.INDEX}
    return st.one_of(
        rows,
        built(ShowMeta, kind=st.just(MetaKind.INDEX), table=names, filter=some, **_nothing("scope limit")),
        built(
            ShowMeta,
            kind=st.sampled_from(scoped),
            scope=none | st.sampled_from([Scope.GLOBAL, Scope.SESSION]),
            filter=some,
            **_nothing("table db limit"),
        ),
        built(ShowMeta, kind=st.sampled_from(homes), filter=some, **_nothing("scope table limit")),
        built(ShowMeta, kind=st.sampled_from(lists), filter=some, **_nothing("scope table db limit")),
        built(
            ShowMeta,
            kind=st.sampled_from([kind for kind in MetaKind if kind not in known]),
            **_nothing("scope table db filter limit"),
        ),
    )


def _nothing(fields: str) -> dict[str, Strategy]:
    return {field: st.just(Filter()) if field == "filter" else st.none() for field in fields.split()}


def _sets() -> Strategy:
    """TRANSACTION is the last item: commas after it part its own words."""
    others = (SetVariable, SetUserVariable, SetNames, SetCharacterSet)
    item = st.one_of(*map(of_node, others))
    last = st.tuples(of_node(SetTransaction)) | st.tuples(item, of_node(SetTransaction))
    return st.builds(Set, items=st.lists(item, min_size=1, max_size=3).map(tuple) | last)


NODES: Final[Mapping[type, Callable[[], Strategy]]] = {
    Filter: _of_some_filter,
    TablePattern: _patterns,
    Channel: lambda: built(Channel, source=_tables),
    Tables: _all_tables,
    Shards: _shards,
    ShowSync: lambda: built(ShowSync, filter=built(Filter)),
    ShowSyncStatus: lambda: built(ShowSyncStatus, filter=built(Filter)),
    DataType: _data_types,
    Default: _defaults,
    Transform: _transforms,
    TableOption: _options,
    Set: _sets,
    SetValue: _values,
    GrantScope: _scopes,
    ShowMeta: _meta,
}
