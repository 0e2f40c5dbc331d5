"""The tables that a statement names after FROM, UPDATE and JOIN.

Owns: where such a list begins and ends, which names in it are tables, and by what aliases.
Must not know: which of the tables is written.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from mysqlddl.nodes import Table
from mysqlddl.words import NAME, WORD, Token, Words

Source = tuple[str, Table]  # the alias, "" if there is none, and the table

PACE: Final = frozenset({"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "CONCURRENT", "QUICK", "IGNORE"})
QUERIES: Final = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_JOINS: Final = frozenset({"JOIN", "STRAIGHT_JOIN"})
_ENDS: Final = frozenset(
    [
        "WHERE",
        "SET",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "RETURNING",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "INTO",
        "WINDOW",
        "PROCEDURE",
        "DUPLICATE",  # ON DUPLICATE KEY UPDATE
    ]
)
_AFTER_TABLE: Final = _ENDS | {  # words after a table that are not an alias of it
    "PARTITION",
    "ON",
    "USING",
    "USE",
    "FORCE",
    "IGNORE",
    "JOIN",
    "STRAIGHT_JOIN",
    "INNER",
    "CROSS",
    "LEFT",
    "RIGHT",
    "NATURAL",
    "FOR",
    "FROM",
    "WITH",
    "LOCK",
}
_OWN_FROM: Final = frozenset({"EXTRACT", "TRIM", "TRIM_ORACLE", "SUBSTRING", "SUBSTR", "MID"})  # TRIM('x' FROM column)


def sources(words: Words, db: str) -> list[Source]:
    """The tables of the list that begins here, up to its end, without derived tables."""
    found: list[Source] = []
    begins, depth = True, 0
    while not words.done and not (words.token.word == ")" and not depth):
        if begins and words.sees("(") and words.ahead(1).word not in QUERIES:
            words.take()
            depth += 1
        elif begins and not words.sees("("):
            found += _source(words, db)
            begins = False
        elif _ends(words):
            break
        else:
            taken = words.take_value().word
            begins = taken in {",", *_JOINS}
            depth -= taken == ")"
    return found


def _ends(words: Words) -> bool:
    """Whether the list does here. Some of the words may be names, too."""
    word, before = words.token.word, words.ahead(-1).word
    match word:
        case "DUPLICATE":
            return before == "ON" and words.ahead(1).word == "KEY"
        case "RETURNING":
            return words.modes.mariadb and before != "."
        case "WINDOW":
            return words.ahead(2).word == "AS"
        case "ORDER" | "GROUP":
            return before not in {".", "FOR"}  # USE INDEX FOR ORDER BY
        case _:
            return word in _ENDS and before != "."


def _follows(words: Words) -> bool:
    """Whether it is a word after a table, and not an alias of it."""
    return _ends(words) if words.token.word in _ENDS else words.token.word in _AFTER_TABLE


def _source(words: Words, db: str) -> Iterator[Source]:
    words.skip("LATERAL")
    if words.sees("("):
        words.brackets()
        return
    if words.ahead(1).word == "(":  # JSON_TABLE
        words.take()
        words.brackets()
        return
    if words.token.word == "DUAL" and words.ahead(1).word != ".":
        words.take()
        return
    table = words.table(db)
    if words.skip("PARTITION"):
        words.brackets()
    if words.skip("AS") or (words.token.kind in {WORD, NAME} and not _follows(words)):
        yield words.name(), table
    else:
        yield "", table


def common_tables(words: Words) -> None:
    """After WITH, up to the statement that they serve."""
    words.skip("RECURSIVE")

    def one() -> None:
        words.name()
        words.skip_brackets()
        words.expect("AS")
        words.brackets()
        if words.skip("CYCLE"):
            while not words.skip("RESTRICT"):
                words.take()

    words.listed(one)


def named(words: Words, db: str) -> frozenset[Table]:
    """Every table and view of every list, including those of subqueries and common tables."""
    return frozenset(table for at in _lists(words.tokens) for _, table in sources(words.again(at), db))


def common_tables_of(tokens: Sequence[Token], names: Collection[Table], db: str) -> frozenset[Table]:
    """Those of `names` that have the name of a common table of the same statement, and no other database than `db`."""
    common_names = {tokens[at].text.casefold() for at in common(tokens)}
    return frozenset(table for table in names if table[0] == db and table[1].casefold() in common_names)


def common(tokens: Sequence[Token]) -> Iterator[int]:
    """Where common tables are declared: name [(columns)] AS (query)."""
    for at, token in enumerate(tokens[1:], 1):
        if token.kind in {WORD, NAME} and tokens[at - 1].word in {"WITH", "RECURSIVE", ","}:
            behind = _behind_brackets(tokens, at + 1)
            follows = [each.word for each in tokens[behind : behind + 3]]
            if follows[:2] == ["AS", "("] and {*follows[2:]} <= {*QUERIES, "("}:
                yield at


def _behind_brackets(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    while at < len(tokens):
        depth += (tokens[at].word == "(") - (tokens[at].word == ")")
        if not depth:
            return at + (tokens[at].word == ")")
        at += 1
    return at


def _lists(tokens: Sequence[Token]) -> Iterator[int]:
    """Where they begin. A FROM in the brackets of a function like TRIM does not begin one, that of DELETE names
    aliases.
    """
    opened: list[str] = []
    deleting = next((_behind_pace(tokens, at + 1) for at, token in enumerate(tokens) if token.word == "DELETE"), -1)
    for at, token in enumerate(tokens[:-1]):
        before = tokens[at - 1].word if at else ""
        match token.word:
            case "(":
                opened.append("" if tokens[at + 1].word in QUERIES else before)
            case ")" if opened:
                opened.pop()
            case "FROM" if at != deleting and not (opened and opened[-1] in _OWN_FROM):
                yield at + 1
            case "TABLE" if before != "INTO" or tokens[0].word != "LOAD":
                yield at + 1
            case "USING" if tokens[at + 1].word != "(":  # DELETE FROM t USING t JOIN u
                yield at + 1
            case "UPDATE" if before not in {"KEY", "FOR"}:
                yield _behind_pace(tokens, at + 1)
            case _:
                pass


def _behind_pace(tokens: Sequence[Token], at: int) -> int:
    while tokens[at].word in PACE:
        at += 1
    return at
