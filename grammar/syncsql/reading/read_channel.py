"""Reads the channels of a sync job: FROM what INTO what.

Owns: their syntax, and the error for a pattern outside a string.
Must not know: the statements that have channels, which tables match a pattern.
"""

from typing import Final

from syncsql.names import Name
from syncsql.pattern import PatternKind, TablePattern, escaped, has_dot, pattern_text, typed
from syncsql.reading.cursor import Cursor
from syncsql.reading.lists import read_identifiers, unseen
from syncsql.reading.read_expression import read_expression, source_text
from syncsql.statements.sync import (
    Channel,
    ColumnMapping,
    DatabaseColumn,
    PartitionNames,
    Shards,
    Tables,
    WholeDatabase,
)
from syncsql.tokens import Kind, Token


def channels(at: Cursor) -> tuple[Channel | Tables | Shards, ...]:
    """Without brackets, up to the end."""
    found = [channel(at)]
    while at.take_sign(","):
        found.append(channel(at))
    return tuple(found)


def channel(at: Cursor) -> Channel | Tables | Shards:
    at.expect("FROM")
    _refuse_bare_pattern(at)
    if at.sees("TABLES") and not at.sees_sign(".", 1):
        return _of_pattern(at)
    if _sees_star(at):
        whole = WholeDatabase(db=_star(at, "a source database"))
        at.expect("INTO")
        return _tables(at, whole)
    return _of_name(at)


def _of_name(at: Cursor) -> Channel | Tables:
    source_at = at.peek()
    if source_at is not None and source_at.kind is Kind.STRING:
        like = typed(pattern_text(source_text(at, [source_at])))
        raise at.error(f"expected a source table; a pattern is FROM TABLES LIKE {like}")
    if at.sees("TABLE", "LIKE") or at.sees("TABLE", "REGEXP"):
        raise at.error("expected TABLES")
    source = at.name("a source table")
    if source.db is None:
        raise at.error("expected the source table as database.table", source_at)
    at.expect("INTO")
    if _sees_star(at):
        return _tables(at, source)
    target = at.name("a target table")
    partitions = _partitions(at)
    columns = _columns(at) if at.sees_sign("(") else ()
    where = read_expression(at, "condition") if at.take("WHERE") else None
    if not _sees_end(at):
        raise at.error(_channel_may_end(at))
    return Channel(source=source, target=target, partitions=partitions, columns=columns, where=where)


def _of_pattern(at: Cursor) -> Tables | Shards:
    """TABLES LIKE 'pattern' INTO ..."""
    at.expect("TABLES")
    pattern = _pattern(at, "database")
    if pattern is None:
        raise at.error("expected LIKE or REGEXP after TABLES")
    at.expect("INTO")
    if _sees_star(at):
        return _tables(at, pattern)
    target = at.name("a target table")
    if at.word() in {"TEMPORARY", "PARTITION", "PARTITIONS"}:
        raise at.error("only a single source table can have PARTITION")
    columns = _shard_columns(at) if at.sees_sign("(") else ()
    exclude = _exclude(at, None)
    where = read_expression(at, "condition") if at.take("WHERE") else None
    if not _sees_end(at):
        raise at.error(_channel_may_end(at))
    return Shards(source=pattern, target=target, columns=columns, exclude=exclude, where=where)


def _pattern(at: Cursor, home: str) -> TablePattern | None:
    """LIKE or REGEXP and its string; None if there is neither. `home`: which database may be missing in it."""
    word = at.take_any("LIKE", "REGEXP")
    if word is None:
        return None
    start = at.peek()
    at.string("a pattern of database.table in quotes")
    kind, text = PatternKind(word), pattern_text(source_text(at, [at.last()]))
    if not text:
        raise at.error("a pattern cannot be empty", start)
    if kind is PatternKind.LIKE and not has_dot(text):
        like = text.replace("\\.", ".") if "\\." in text else f"{home}.{text}"
        reason = f"LIKE is over database.table, and has no dot between the two here; write {typed(like)}"
        raise at.error(reason, start)
    return TablePattern(kind=kind, text=text)


def _sees_star(at: Cursor) -> bool:
    return at.sees_sign(".", 1) and at.sees_sign("*", 2)


def _star(at: Cursor, what: str) -> str:
    """name.*"""
    db = at.identifier(what)
    at.expect_sign(".", f"after {what}")
    at.expect_sign("*", "after the dot")
    return db


def _tables(at: Cursor, source: WholeDatabase | Name | TablePattern) -> Tables:
    """What follows INTO."""
    target_db = _star(at, "a target database")
    exclude = _exclude(at, None if isinstance(source, TablePattern) else source.db)
    if not _sees_end(at):
        raise at.error("expected EXCLUDE, or , or ) in the channel list")
    return Tables(source=source, target_db=target_db, exclude=exclude)


def _exclude(at: Cursor, db: str | None) -> tuple[Name | TablePattern, ...]:
    """`db`: the only database there is; None: a name must have its own."""
    return at.in_brackets(lambda: _excluded(at, db), "table") if at.take("EXCLUDE") else ()


def _excluded(at: Cursor, db: str | None) -> Name | TablePattern:
    _refuse_bare_exclusion(at, db)
    after = at.peek(1)
    in_quotes = after is not None and after.kind is Kind.STRING
    if (in_quotes or at.sees("LIKE")) and (pattern := _pattern(at, escaped(db or "database"))) is not None:
        return pattern
    start = at.peek()
    name = at.name("a table name, LIKE 'pattern' or REGEXP 'pattern'")
    if db is None and name.db is None:
        raise at.error("expected the excluded table as database.table", start)
    if db is not None and name.db not in {None, db}:
        raise at.error(f"only tables of '{db}' can be excluded here", start)
    return Name(db=name.db or db, name=name.name)


def _sees_end(at: Cursor) -> bool:
    """Of a channel; its list determines whether that may be the end of all."""
    return at.peek() is None or at.sees_sign(",") or at.sees_sign(")")


_CLAUSES: Final = frozenset({"INTO", "EXCLUDE", "WHERE", "FROM"})


def _refuse_bare_pattern(at: Cursor) -> None:
    """As in FROM shop_%.orders: the error suggests the intended statement."""
    source = _pieces(at, 0)
    if not _is_pattern(source):
        return
    target = _pieces(at, len(source) + 1) if at.word(len(source)) == "INTO" else []
    into_many = any(piece.text == "*" for piece in target)
    database = source[: next((at for at, piece in enumerate(source) if piece.text == "."), 0)]
    if into_many and any(map(_is_wildcard, database)):
        into = source_text(at, target)
        raise at.error(f"INTO {into} takes one database only; write FROM database.* INTO {into} for each of them")
    like = _like("database", source) if into_many else _like("database", source, one_name=True)
    reason = (
        f"a pattern stands in quotes; write FROM TABLES LIKE {typed(like)} INTO {source_text(at, target) or 'table'}"
    )
    raise at.error(reason)


def _refuse_bare_exclusion(at: Cursor, db: str | None) -> None:
    pieces = _pieces(at, 0)
    if any(map(_is_wildcard, pieces)):
        like = _like(escaped(db or "database"), pieces)
        raise at.error(f"a pattern stands in quotes; write EXCLUDE (LIKE {typed(like)})")


def _pieces(at: Cursor, ahead: int) -> list[Token]:
    """The text from there on that may be a name with dots, stars and %."""
    pieces: list[Token] = []
    while (token := at.peek(ahead + len(pieces))) is not None:
        sign = token.kind is Kind.SIGN
        if sign != (token.text in {"%", ".", "*"}) or token.kind is Kind.STRING or token.text.upper() in _CLAUSES:
            break
        if pieces and not sign and pieces[-1].kind is not Kind.SIGN:
            break  # another word
        pieces.append(token)
    return pieces


def _is_pattern(pieces: list[Token]) -> bool:
    """With a wildcard somewhere; name.* does not count."""
    is_whole = len(pieces) == 3 and not _is_wildcard(pieces[0])
    return any(map(_is_wildcard, pieces[:1] if is_whole and pieces[2].text == "*" else pieces))


def _is_wildcard(piece: Token) -> bool:
    """% of LIKE, or * as in names of files."""
    return piece.kind is Kind.SIGN and piece.text in {"%", "*"}


def _like(db: str, pieces: list[Token], *, one_name: bool = False) -> str:
    """The intended LIKE pattern. `db`: if none is given. `one_name`: the table is not a pattern."""
    dots = [place for place, piece in enumerate(pieces) if piece.kind is Kind.SIGN and piece.text == "."]
    if not dots:
        return f"{db}.{_part(pieces)}"
    left, right = pieces[: dots[-1]], pieces[dots[-1] + 1 :]
    return f"{_part(left, literal=not any(map(_is_wildcard, left)))}.{_part(right, literal=one_name)}"


def _part(pieces: list[Token], *, literal: bool = False) -> str:
    return "".join(
        piece.text.replace("*", "%")
        if piece.kind is Kind.SIGN
        else escaped(piece.text)
        if literal or piece.kind is Kind.NAME
        else piece.text
        for piece in pieces
    )


_MISPLACED: Final = {
    "PARTITION": "PARTITION stands before the columns",
    "PARTITIONS": "PARTITIONS stands before the columns",
    "COLUMNS": "the columns stand in brackets without the word COLUMNS",
}


def _channel_may_end(at: Cursor) -> str:
    return _MISPLACED.get(at.word() or "", "expected , or ) in the channel list")


def _partitions(at: Cursor) -> PartitionNames | None:
    temporary = at.take("TEMPORARY")
    word = at.take_any("PARTITION", "PARTITIONS")
    if word is None:
        if temporary:
            raise at.error("expected PARTITION")
        return None
    if word == "PARTITION" and not at.sees_sign("("):
        return PartitionNames(names=(at.identifier("a partition name"),), temporary=temporary)
    return PartitionNames(names=read_identifiers(at, "partition"), temporary=temporary)


def _columns(at: Cursor) -> tuple[ColumnMapping, ...]:
    seen: set[str] = set()
    return at.in_brackets(lambda: _mapping(at, _target_column(at, seen)), "column")


def _shard_columns(at: Cursor) -> tuple[ColumnMapping | DatabaseColumn, ...]:
    seen: set[str] = set()

    def one() -> ColumnMapping | DatabaseColumn:
        target = _target_column(at, seen)
        if not _sees_database(at):
            return _mapping(at, target)
        for _ in range(4):
            at.take_token()
        return DatabaseColumn(target=target)

    return at.in_brackets(one, "column")


def _sees_database(at: Cursor) -> bool:
    """= DATABASE() and nothing more: within an expression it means the same as in every channel."""
    called = (
        at.sees_sign("=") and at.word(1) in {"DATABASE", "SCHEMA"} and at.sees_sign("(", 2) and at.sees_sign(")", 3)
    )
    return called and (at.sees_sign(",", 4) or at.sees_sign(")", 4))


def _target_column(at: Cursor, seen: set[str]) -> str:
    return unseen(at, seen, at.identifier("a column name"), "column")


def _mapping(at: Cursor, target: str) -> ColumnMapping:
    return ColumnMapping(target=target, expression=read_expression(at, "expression") if at.take_sign("=") else None)
