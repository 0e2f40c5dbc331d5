"""Expressions and conditions: parsed by sqlglot, kept as canonical text.

Owns: which expressions are allowed: of one row, and always with the same result.
Must not know: statements, the schema of any table, Spark.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from sqlglot import TokenType, exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token as RawToken

from syncsql import comparison, spark
from syncsql.bounded import BoundedParser
from syncsql.errors import SHOWN_CHARACTERS, NestedTooDeeplyError, SqlSyntaxError, error_at, place
from syncsql.tokens import raw_tokens

T = TypeVar("T")

DEEPEST: Final = 25  # nested brackets and CASEs: sqlglot takes 26 frames for each
LONGEST: Final = 4_000  # words and signs; literals and commas do not count, an IN list may be long
LONGEST_PREFIX: Final = 25  # NOT NOT NOT ...
_OPENING: Final = frozenset({"(", "CASE"})
_CLOSING: Final = frozenset({")", "END"})
_PREFIXES: Final = frozenset({"NOT", "!", "-", "+", "~", "BINARY"})
_LITERALS: Final = frozenset({"STRING", "NUMBER", "COMMA"})
_ROUNDS: Final = 4
_PLAIN_NAMES: Final = frozenset({"CHARSET", "ANY", "RETURNING", "ROLLBACK"})
_SAID_OTHERWISE: Final = frozenset(
    {exp.Space, exp.TimestampAdd, exp.TsOrDsToDate, exp.Cast, exp.Nvl2}
)  # means the same
_QUOTED: Final = frozenset({TokenType.STRING, TokenType.IDENTIFIER})

_REFUSED: Final[Mapping[type[exp.Expr], str]] = {
    exp.Query: "a subquery is not allowed here",
    exp.Exists: "a subquery is not allowed here",
    exp.Window: "a window function is not allowed here",
    exp.AggFunc: "an aggregate function is not allowed here",
    exp.Star: "* is not allowed here",
    exp.Command: "this cannot be used in an expression",
    exp.Parameter: "a variable is not allowed here",
    exp.SessionParameter: "a variable is not allowed here",
    exp.Placeholder: "a placeholder is not allowed here",
    exp.PropertyEQ: "an assignment is not allowed here",
    exp.Alias: "an alias is not allowed here",
    exp.Rand: "a function whose result changes from call to call is not allowed here",
    exp.Uuid: "a function whose result changes from call to call is not allowed here",
    exp.CurrentTimestamp: "the current time is not allowed here",
    exp.CurrentDate: "the current time is not allowed here",
    exp.CurrentTime: "the current time is not allowed here",
    exp.Localtime: "the current time is not allowed here",
    exp.Localtimestamp: "the current time is not allowed here",
    exp.UtcTimestamp: "the current time is not allowed here",
    exp.UtcDate: "the current time is not allowed here",
    exp.UtcTime: "the current time is not allowed here",
    exp.CurrentUser: "a function of the connection is not allowed here",
    exp.SessionUser: "a function of the connection is not allowed here",
    exp.CurrentSchema: "a function of the connection is not allowed here",
    exp.CurrentVersion: "a function of the connection is not allowed here",
}
_REFUSED_FUNCTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("NOW", "SYSDATE", "LOCALTIME", "LOCALTIMESTAMP", "CURDATE", "CURTIME"), "the current time is not allowed here"
    ),
    **dict.fromkeys(
        ("UUID_SHORT", "RANDOM_BYTES", "SLEEP", "BENCHMARK"),
        "a function whose result changes from call to call is not allowed here",
    ),
    **dict.fromkeys(
        (
            *("CONNECTION_ID", "LAST_INSERT_ID", "ROW_COUNT", "FOUND_ROWS", "USER", "SYSTEM_USER", "LOAD_FILE"),
            *("GET_LOCK", "RELEASE_LOCK", "RELEASE_ALL_LOCKS", "IS_FREE_LOCK", "IS_USED_LOCK", "VALUES", "VERSION"),
        ),
        "a function of the connection is not allowed here",
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Expression:
    """An expression of columns in MySQL's syntax.

    canonical is what it prints and what makes it equal; text is what was typed; line and column are its place.
    """

    canonical: str
    text: str = field(compare=False)
    line: int = field(compare=False, repr=False)
    column: int = field(compare=False, repr=False)

    def sql(self) -> str:
        return self.canonical

    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, each once, in order of appearance."""
        found = self._read(lambda tree: [column.name for column in tree.find_all(exp.Column, bfs=False)])
        return tuple(dict.fromkeys(found))

    def spark(self) -> str:
        """The same in Spark SQL; raises SqlSyntaxError if Spark has no equivalent."""
        try:
            return self._read(spark.translate)
        except spark.NoEqualError as missing:
            raise SqlSyntaxError(reason=str(missing), near=missing.near, line=self.line, column=self.column) from None

    def comparisons(self) -> comparison.Test:
        """Of columns with constants; raises SqlSyntaxError if it has anything else."""
        try:
            return self._read(comparison.compared)
        except comparison.NoComparisonError as other:
            raise SqlSyntaxError(reason=str(other), near=other.near, line=self.line, column=self.column) from None

    def sqlite(self) -> str:
        """The same for SQLite, on which SHOW filters its rows."""
        return self._read(lambda tree: tree.sql("sqlite", identify=True, comments=False))

    def _read(self, how: Callable[[exp.Expr], T]) -> T:
        """The result of `how` on sqlglot's tree, which is rebuilt so that an expression stays a plain value."""
        try:
            return how(_parsed(self.canonical))
        except RecursionError:
            raise NestedTooDeeplyError(
                reason="too deeply nested", near=self.text[:SHOWN_CHARACTERS], line=self.line, column=self.column
            ) from None


def parse_expression(source: str, raw: Sequence[RawToken], *, what: str, long_lists: bool = True) -> Expression:
    """The expression that these tokens of source are; what names it in errors. `long_lists`: literals do not count."""
    start, end = raw[0].start, raw[-1].end + 1
    _check_size(source, raw, uncounted=_LITERALS if long_lists else frozenset())
    try:
        tree = _tree(source, raw)
        _check_allowed(source, tree, (start, end))
        canonical = _fixed_point(tree.sql("mysql", identify=True, comments=False))
        lost = _functions(tree) - _functions(_parsed(canonical)) - _SAID_OTHERWISE
    except ParseError as error:
        token = _blamed(raw, error)
        raise error_at(source, token.start, token.end + 1, f"invalid {what}") from None
    except RecursionError:
        raise error_at(source, start, end, f"too deeply nested {what}", kind=NestedTooDeeplyError) from None
    except (AttributeError, LookupError):  # sqlglot's own, of functions with fewer or other arguments than it expects
        raise error_at(source, start, end, f"invalid {what}") from None
    if lost:
        name = min(kind.sql_name() for kind in lost)
        raise error_at(source, start, end, f"{name} is no function of MySQL's: in its words it would be another one")
    line, column = place(source, start)
    return Expression(canonical=canonical, text=source[start:end], line=line, column=column)


def _with_plain_names(raw: Sequence[RawToken]) -> list[RawToken]:
    """Sqlglot gives a meaning to some words that can name a column in MySQL."""
    return [
        RawToken(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, token.comments)
        if token.token_type not in _QUOTED and token.text.upper() in _PLAIN_NAMES
        else token
        for token in raw
    ]


def _tree(source: str, raw: Sequence[RawToken]) -> exp.Expr:
    return BoundedParser().condition(_with_plain_names(raw), source)


def _parsed(canonical: str) -> exp.Expr:
    return _tree(canonical, raw_tokens(canonical))


def _fixed_point(canonical: str) -> str:
    """The form that prints as itself: sqlglot needs a second round for some."""
    for _ in range(_ROUNDS):
        again = _parsed(canonical).sql("mysql", identify=True, comments=False)
        if again == canonical:
            return canonical
        canonical = again
    raise ParseError("no stable form")


def _functions(tree: exp.Expr) -> set[type[exp.Func]]:
    return {type(node) for node in tree.find_all(exp.Func)}


def _check_size(source: str, raw: Sequence[RawToken], *, uncounted: frozenset[str]) -> None:
    """Checked before sqlglot descends: its compiled build would overflow the stack of the process."""
    depth = prefixes = long = 0
    for token in raw:
        word = token.text.upper()
        depth += (word in _OPENING) - (word in _CLOSING)
        prefixes = prefixes + 1 if word in _PREFIXES else 0
        long += token.token_type.name not in uncounted
        if depth > DEEPEST or prefixes > LONGEST_PREFIX or long > LONGEST:
            reason = "the expression is too long or too deeply nested"
            raise error_at(source, token.start, token.end + 1, reason, kind=NestedTooDeeplyError)


def _check_allowed(source: str, tree: exp.Expr, whole: tuple[int, int]) -> None:
    for node in tree.walk(bfs=False):
        reason = _refusal(node)
        if reason is not None:
            start = node.meta.get("start", whole[0])
            end = node.meta["end"] + 1 if "end" in node.meta else whole[1]
            raise error_at(source, start, end, reason)


def _refusal(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Anonymous):
        name = node.name.upper()
        return "the current time is not allowed here" if _is_now(node) else _REFUSED_FUNCTIONS.get(name)
    if isinstance(node, exp.Column) and node.table:
        return "a column stands alone here, without its table"
    return next((reason for kind, reason in _REFUSED.items() if isinstance(node, kind)), None)


def _is_now(function: exp.Anonymous) -> bool:
    return function.name.upper() == "UNIX_TIMESTAMP" and not function.expressions


def _blamed(raw: Sequence[RawToken], error: ParseError) -> RawToken:
    """The token that sqlglot names by its line and last column; the last one if it names none."""
    facts = error.errors[0] if error.errors else {}
    spot = facts.get("line"), facts.get("col")
    return next((token for token in raw if (token.line, token.col) == spot), raw[-1])
