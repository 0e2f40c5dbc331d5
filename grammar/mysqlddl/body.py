"""The body of a trigger or of a stored function.

Owns: which statements in it change rows, and which parts of the rest call functions or read tables.
Must not know: when it runs, what its names are on the server.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from mysqlddl.nodes import Table
from mysqlddl.sources import common_tables_of, named
from mysqlddl.words import Modes, Token, UnclearError, Words
from mysqlddl.writing import Written, calls, united, written

_CHANGING: Final = frozenset({"INSERT", "REPLACE", "UPDATE", "DELETE", "LOAD"})
_OPAQUE: Final = frozenset({"CALL", "EXECUTE", "PREPARE", "TRUNCATE", "CREATE", "ALTER", "DROP", "RENAME"})
_FUNCTIONS_TOO: Final = frozenset({"INSERT", "REPLACE", "TRUNCATE"})  # before a bracket
_FLOW: Final = frozenset({"RETURN", "RETURNS", "WHILE", "ELSEIF", "UNTIL", "DO"})  # a bracket may follow, not a call


def body(text: str, db: str, modes: Modes) -> Written:
    """Everything that it may do, on any path; `text`: from any place before its first statement on.

    Raises UnclearError for what cannot be parsed, and for statements that run others or change which tables exist.
    """
    if modes.oracle:
        raise UnclearError("in sql_mode ORACLE a function is called without brackets")
    words = Words(text, modes)
    tokens = words.tokens
    if any(token.word == "LANGUAGE" and tokens[at + 1].word != "SQL" for at, token in enumerate(tokens)):
        raise UnclearError("it is not written in SQL")
    parts = [part for piece in _pieces(tokens) for part in _parts(piece, text, db, modes)]
    names = frozenset(table for part in parts for table in part.names)
    return Written(
        events=united(pair for part in parts for pair in part.events.items()),
        calls=_once(name for part in parts for name in part.calls),
        names=names,
        common=names - {table for part in parts for table in part.names - part.common},
    )


def of_function(created: str, db: str, modes: Modes) -> Written:
    """Of the text of SHOW CREATE FUNCTION. Raises UnclearError."""
    tokens = Words(created, modes).tokens
    at = next((at for at, token in enumerate(tokens) if token.word == "FUNCTION"), None)
    if at is None:
        raise UnclearError("no function")
    opens = next((token for token in tokens[at:] if token.word == "("), None)
    if opens is None:
        raise UnclearError("a function without parameters")
    return body(created[opens.start :], db, modes)


def _pieces(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The text between semicolons: a statement, and words of blocks before it."""
    start = 0
    for at, token in enumerate(tokens):
        if token.word == ";" or at == len(tokens) - 1:
            if at > start:
                yield tokens[start:at]
            start = at + 1


def _parts(piece: Sequence[Token], text: str, db: str, modes: Modes) -> Iterator[Written]:
    verb = next((at for at in range(len(piece)) if _is_statement(piece, at)), len(piece))
    if verb < len(piece) and piece[verb].word in _OPAQUE:
        raise UnclearError(f"{piece[verb].word} in a body")
    if verb:
        yield _quiet(text[piece[0].start : piece[verb - 1].end], db, modes)
    if verb < len(piece):
        yield written(text[piece[verb].start : piece[-1].end], db, modes)


def _is_statement(piece: Sequence[Token], at: int) -> bool:
    """Whether one begins there that changes rows or runs others. All of these words except three are reserved: a column
    of such a name is quoted.
    """
    word, before = piece[at].word, piece[at - 1].word if at else ""
    if word not in _CHANGING | _OPAQUE or before == ".":
        return False
    if word in _FUNCTIONS_TOO and at + 1 < len(piece) and piece[at + 1].word == "(":
        return False
    if word == "UPDATE" and before == "FOR":  # a lock, unless it is MariaDB's SET STATEMENT variable = value FOR UPDATE
        return any([token.word for token in piece[n : n + 2]] == ["SET", "STATEMENT"] for n in range(at))
    return not (word == "UPDATE" and before == "KEY")


def _quiet(text: str, db: str, modes: Modes) -> Written:
    """What changes nothing itself: conditions, assignments, queries."""
    words = Words(text, modes)
    tokens = words.tokens
    fetch = next((tokens[at] for at in range(len(tokens) - 1) if _fetches(tokens, at)), tokens[-1])
    names = named(Words(text[: fetch.start], modes), db)
    return Written(
        events={},
        calls=tuple(calls(words, db, _FLOW)),
        names=names,
        common=common_tables_of(tokens, names, db),
    )


def _fetches(tokens: Sequence[Token], at: int) -> bool:
    """FETCH [[NEXT] FROM] of a cursor, which is not a table; not FETCH FIRST 3 ROWS ONLY of a query."""
    words = [token.word for token in tokens[at : at + 3]]
    return words[0] == "FETCH" and (words[1] not in {"FIRST", "NEXT"} or words[1:] == ["NEXT", "FROM"])


def _once(found: Iterator[Table]) -> tuple[Table, ...]:
    return tuple(dict.fromkeys(found))
