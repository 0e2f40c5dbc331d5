from collections.abc import Sequence
from typing import Final, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from syncsql import (
    AdminSetFrontendConfig,
    Channel,
    ColumnDefinition,
    ColumnMapping,
    CreateDatabase,
    CreateSync,
    CreateTable,
    DataType,
    Default,
    DefaultKind,
    DescribeTable,
    Distribution,
    DropDatabase,
    DropTable,
    Expression,
    Filter,
    Help,
    KeyKind,
    Kill,
    Limit,
    Name,
    OrderItem,
    PartitionNames,
    PauseSync,
    Property,
    ResumeSync,
    Scope,
    Set,
    SetCharacterSet,
    SetNames,
    SetUserVariable,
    SetValue,
    SetVariable,
    ShowColumns,
    ShowCreateSync,
    ShowDatabases,
    ShowFrontendConfig,
    ShowSync,
    ShowTables,
    Statement,
    StopSync,
    TableKey,
    Transform,
    TransformKind,
    Use,
    ValueKind,
    parse,
    quote_name,
    quote_string,
)

T = TypeVar("T")
MOST: Final = 2**31 - 1

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = texts.filter(bool) | st.sampled_from(["job", "select", "`", "a b", "日本", "Ж", "5", "a.b", "/*!40101 x */"])
qualified = st.builds(Name, name=names, db=st.none() | names)


def distinct(items: st.SearchStrategy[T], *, least: int = 1) -> st.SearchStrategy[tuple[T, ...]]:
    """Some items of which no two have the same name in any case; an item without a name is its own."""
    return st.lists(items, min_size=least, max_size=4, unique_by=_name).map(tuple)


def _name(item: object) -> str:
    named = (getattr(item, each) for each in ("name", "target", "key") if hasattr(item, each))
    return str(next(named, item)).casefold()


def _expression(text: str) -> Expression:
    (parsed,) = parse(f"SHOW DATABASES WHERE {text}")
    assert isinstance(parsed.statement, ShowDatabases)
    where = parsed.statement.filter.where
    assert where is not None
    return where


def _joined(parts: Sequence[str]) -> str:
    return " ".join(parts)


leaves = names.map(quote_name) | texts.map(quote_string) | st.sampled_from(["1", "2.5", "NULL", "TRUE", "x'ff'", "c"])
operators = st.sampled_from(["+", "-", "*", "/", "DIV", "%", "=", "<=>", "<>", "AND", "OR", "LIKE", "&", "<<", "||"])
expression_texts = st.recursive(
    leaves,
    lambda inner: (
        st.tuples(inner, operators, inner).map(lambda parts: f"({_joined(parts)})")
        | st.tuples(st.sampled_from(["NOT", "-", "~"]), inner).map(lambda parts: f"({_joined(parts)})")
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"f({', '.join(parts)})")
        | st.tuples(inner, inner, inner).map("CASE WHEN {0[0]} THEN {0[1]} ELSE {0[2]} END".format)
        | st.tuples(inner, inner).map("({0[0]} IN ({0[1]}, 1))".format)
        | inner.map("({} IS NULL)".format)
        | inner.map("CAST({} AS CHAR)".format)
    ),
    max_leaves=6,
)
expressions = expression_texts.map(_expression)

properties = st.builds(Property, key=texts.filter(bool), value=texts)
some_properties = distinct(properties)
any_properties = distinct(properties, least=0)
partitions = st.builds(PartitionNames, names=distinct(names), temporary=st.booleans())
mappings = st.builds(ColumnMapping, target=names, expression=st.none() | expressions)
channels = st.builds(
    Channel,
    source=st.builds(Name, name=names, db=names),
    target=qualified,
    partitions=st.none() | partitions,
    columns=distinct(mappings, least=0),
    where=st.none() | expressions,
)
like_or_where = st.builds(Filter, like=texts) | st.builds(Filter, where=expressions) | st.just(Filter())
limits = st.builds(Limit, rows=st.integers(0, 10**18), offset=st.integers(0, 10**18))

plain_types = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "LARGEINT",
    "FLOAT",
    "DOUBLE",
    "DATE",
    "STRING",
    "JSON",
]
types = (
    st.builds(DataType, name=st.sampled_from([*plain_types, "CHAR", "VARCHAR", "DATETIME", "TIMESTAMP", "BINARY"]))
    | st.builds(DataType, name=st.just("CHAR"), args=st.tuples(st.integers(1, 255)))
    | st.builds(DataType, name=st.just("VARCHAR"), args=st.tuples(st.integers(1, 65533)))
    | st.builds(DataType, name=st.just("BINARY"), args=st.tuples(st.integers(1, MOST)))
    | st.builds(DataType, name=st.sampled_from(["DATETIME", "TIMESTAMP"]), args=st.tuples(st.integers(0, 6)))
    | st.builds(DataType, name=st.just("DECIMAL"), args=st.tuples(st.integers(19, 38), st.integers(0, 19)))
)
defaults = (
    st.builds(Default, kind=st.just(DefaultKind.STRING), text=texts)
    | st.builds(Default, kind=st.just(DefaultKind.NUMBER), text=st.integers(-(10**20), 10**20).map(str))
    | st.builds(Default, kind=st.just(DefaultKind.BOOLEAN), text=st.sampled_from(["TRUE", "FALSE"]))
    | st.builds(Default, kind=st.just(DefaultKind.NOW), text=st.sampled_from(["", "0", "6"]))
    | st.just(Default(kind=DefaultKind.NULL))
)
columns = st.builds(
    ColumnDefinition,
    name=names,
    type=types,
    nullable=st.none() | st.booleans(),
    default=st.none() | defaults,
    comment=st.none() | texts,
)
transforms = (
    st.builds(Transform, kind=st.just(TransformKind.IDENTITY), column=names)
    | st.builds(Transform, kind=st.sampled_from(list(TransformKind)[3:]), column=names)
    | st.builds(Transform, kind=st.sampled_from(list(TransformKind)[1:3]), column=names, width=st.integers(1, MOST))
)
distributions = st.builds(
    Distribution, columns=distinct(names, least=0), buckets=st.none() | st.integers(min_value=1, max_value=MOST)
)
values = (
    st.builds(SetValue, kind=st.just(ValueKind.STRING), text=texts)
    | st.builds(SetValue, kind=st.just(ValueKind.NUMBER), text=st.integers(-(10**9), 10**9).map(str))
    | st.builds(SetValue, kind=st.just(ValueKind.WORD), text=st.sampled_from(["ON", "NULL", "DEFAULT", "utf8mb4"]))
    | st.builds(SetValue, kind=st.just(ValueKind.EXPRESSION), text=st.sampled_from(["@@x", "f(1, 2)", "a + 1", "`x`"]))
)
set_items = (
    st.builds(SetVariable, scope=st.sampled_from(Scope), name=names, value=values)
    | st.builds(SetUserVariable, name=names, value=values)
    | st.builds(SetNames, charset=st.none() | names, collation=st.none() | names)
    | st.builds(SetCharacterSet, charset=st.none() | names)
)

statements: st.SearchStrategy[Statement] = st.one_of(
    st.builds(
        CreateSync,
        job=qualified,
        channels=st.lists(channels, min_size=1, max_size=3).map(tuple),
        binlog=some_properties,
        properties=any_properties,
        if_not_exists=st.booleans(),
    ),
    st.builds(PauseSync, job=qualified),
    st.builds(ResumeSync, job=qualified),
    st.builds(StopSync, job=qualified),
    st.builds(ShowCreateSync, job=qualified),
    st.builds(
        ShowSync,
        db=st.none() | names,
        filter=st.builds(Filter, like=st.none() | texts, where=st.none() | expressions),
        order_by=st.lists(st.builds(OrderItem, column=names, descending=st.booleans()), max_size=3).map(tuple),
        limit=st.none() | limits,
    ),
    st.builds(CreateDatabase, name=names, if_not_exists=st.booleans()),
    st.builds(DropDatabase, name=names, if_exists=st.booleans(), force=st.booleans()),
    st.builds(ShowDatabases, filter=like_or_where),
    st.builds(Use, db=names),
    st.builds(
        CreateTable,
        table=qualified,
        columns=distinct(columns),
        engine=st.none() | names,
        key=st.none() | st.builds(TableKey, kind=st.sampled_from(KeyKind), columns=distinct(names)),
        comment=st.none() | texts,
        partition_by=st.lists(transforms, max_size=3).map(tuple),
        distribution=st.none() | distributions,
        properties=any_properties,
        if_not_exists=st.booleans(),
    ),
    st.builds(DropTable, table=qualified, if_exists=st.booleans(), force=st.booleans()),
    st.builds(DescribeTable, table=qualified),
    st.builds(ShowTables, full=st.booleans(), db=st.none() | names, filter=like_or_where),
    st.builds(ShowColumns, table=qualified, full=st.booleans(), filter=like_or_where),
    st.builds(Kill, id=st.integers(0, 10**18), query=st.booleans()),
    st.builds(ShowFrontendConfig, filter=like_or_where),
    st.builds(AdminSetFrontendConfig, settings=some_properties),
    st.builds(Help, topic=st.none() | texts.map(lambda text: " ".join(text.split())).filter(bool)),
    st.builds(Set, items=st.lists(set_items, min_size=1, max_size=3).map(tuple)),
)


@settings(max_examples=700, deadline=None)
@given(statement=statements)
def test_every_statement_prints_itself(statement: Statement) -> None:
    """Whatever names, texts and numbers a statement holds, its print parses back to an equal statement."""
    (parsed,) = parse(statement.sql())
    assert parsed.statement == statement
    assert parsed.text == statement.sql()


@settings(max_examples=150, deadline=None)
@given(several=st.lists(statements, max_size=4))
def test_statements_between_semicolons_stay_apart(several: list[Statement]) -> None:
    """Statements joined by semicolons parse back one by one, whatever their strings and names hold."""
    text = " ;\n/* between */ ; ".join(statement.sql() for statement in several)
    assert [parsed.statement for parsed in parse(text)] == several
