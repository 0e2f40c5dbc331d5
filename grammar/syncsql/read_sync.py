"""Reads the statements about sync jobs.

Owns: their syntax, Doris' order of clauses.
Must not know: what a property, a partition or a column means.
"""

from collections.abc import Callable, Sequence
from typing import Final

from syncsql.cursor import Cursor
from syncsql.names import Name
from syncsql.sync import (
    AddTables,
    AlterSync,
    Channel,
    ColumnMapping,
    CreateSync,
    DatabaseColumn,
    ExplainSync,
    JobAlteration,
    LeaveTable,
    PartitionNames,
    PauseSync,
    RenameSync,
    ResumeSync,
    ResyncTable,
    SettleDdl,
    Shards,
    StopSync,
    Tables,
)
from syncsql.tokens import Kind, Token


def create_sync(at: Cursor) -> CreateSync:
    """Behind CREATE SYNC."""
    _take_job_word(at)
    if_not_exists = at.take_if_not_exists()
    job = _job(at)
    channels = at.in_brackets(lambda: _channel(at), "channel")
    at.expect("FROM", "BINLOG")
    binlog = at.properties()
    properties = at.properties() if at.take("PROPERTIES") else ()
    return at.end(
        CreateSync(job=job, channels=channels, binlog=binlog, properties=properties, if_not_exists=if_not_exists)
    )


def explain_sync(at: Cursor) -> ExplainSync:
    """Behind EXPLAIN SYNC."""
    return ExplainSync(sync=create_sync(at))


def pause_sync(at: Cursor) -> PauseSync:
    """Behind PAUSE."""
    at.expect("SYNC")
    return at.end(PauseSync(job=job_name(at)))


def resume_sync(at: Cursor) -> ResumeSync:
    """Behind RESUME."""
    at.expect("SYNC")
    return at.end(ResumeSync(job=job_name(at)))


def stop_sync(at: Cursor) -> StopSync:
    """Behind STOP."""
    at.expect("SYNC")
    return at.end(StopSync(job=job_name(at)))


def alter_sync(at: Cursor) -> JobAlteration | AddTables:
    """Behind ALTER SYNC."""
    job = job_name(at)
    if at.take("RENAME"):
        at.expect("TO")
        return at.end(RenameSync(job=job, to=_one_part(at)))
    if at.take("ADD"):
        at.expect("TABLE")
        return at.end(AddTables(job=job, channels=_channels(at)))
    if at.take("DROP"):
        at.expect("TABLE")
        return at.end(LeaveTable(job=job, table=at.name("a source table")))
    if at.take("RESYNC"):
        at.expect("TABLE")
        table = at.name("a source table")
        return at.end(ResyncTable(job=job, table=table, where=at.expression("condition") if at.take("WHERE") else None))
    if at.take("SKIP"):
        at.expect("DDL")
        return at.end(SettleDdl(job=job))
    if at.take("APPLY"):
        at.expect("DDL")
        return at.end(SettleDdl(job=job, instead=at.string("a DDL statement")))
    at.expect("SET")
    return at.end(AlterSync(job=job, properties=at.properties()))


def job_name(at: Cursor) -> Name:
    """[JOB] [db.]name: JOB is the word unless a dot follows; the name may be a string."""
    _take_job_word(at)
    return _job(at)


def _take_job_word(at: Cursor) -> None:
    if not at.sees_sign(".", 1):
        at.take("JOB")


def _job(at: Cursor) -> Name:
    if not _sees_string(at):
        first = at.identifier("a job name")
        if not at.take_sign("."):
            return Name(name=first)
        last = _one_part(at)
    else:
        first, last = None, _string_name(at)
    if at.sees_sign("."):
        raise at.error("a job name has two parts at most")
    return Name(db=first, name=last)


def _one_part(at: Cursor) -> str:
    return _string_name(at) if _sees_string(at) else at.identifier("a job name")


def _sees_string(at: Cursor) -> bool:
    token = at.peek()
    return token is not None and token.kind is Kind.STRING


def _string_name(at: Cursor) -> str:
    start = at.peek()
    name = at.string("a job name")
    if not name:
        raise at.error("a job name cannot be empty", start)
    return name


def _channels(at: Cursor) -> tuple[Channel | Tables | Shards, ...]:
    """Without brackets, up to the end."""
    found = [_channel(at)]
    while at.take_sign(","):
        found.append(_channel(at))
    return tuple(found)


def _channel(at: Cursor) -> Channel | Tables | Shards:
    at.expect("FROM")
    if _sees_star(at):
        return _all_tables(at)
    if (databases := _databases(at)) is not None:
        return _shards(at, databases)
    source_at = at.peek()
    source = at.name("a source table")
    if source.db is None:
        raise at.error("expected the source table as database.table", source_at)
    at.expect("INTO")
    if _sees_star(at):
        return _tables(at, source.db, source.name)
    target = at.name("a target table")
    partitions = _partitions(at)
    columns = _columns(at) if at.sees_sign("(") else ()
    where = at.expression("condition") if at.take("WHERE") else None
    if not _sees_end(at):
        raise at.error(_channel_may_end(at))
    return Channel(source=source, target=target, partitions=partitions, columns=columns, where=where)


def _databases(at: Cursor) -> str | None:
    """A pattern of databases with the dot behind it, quoted or bare: words and % that touch each other."""
    pieces: list[Token] = []
    while (token := at.peek(len(pieces))) is not None and _continues(pieces, token):
        pieces.append(token)
    text = "".join(token.text for token in pieces)
    if "%" not in text or not at.sees_sign(".", len(pieces)):
        return None
    for _ in pieces:
        at.take_token()
    at.expect_sign(".", "behind a source database")
    return text


def _continues(pieces: Sequence[Token], token: Token) -> bool:
    if token.kind is Kind.NAME or not pieces:
        return not pieces and (token.kind in {Kind.NAME, Kind.WORD} or token.text == "%")
    bare = token.kind in {Kind.WORD, Kind.NUMBER} or (token.kind is Kind.SIGN and token.text == "%")
    return bare and pieces[-1].kind is not Kind.NAME and token.start == pieces[-1].end


def _shards(at: Cursor, databases: str) -> Shards:
    """Behind the dot."""
    table = at.identifier("a source table")
    at.expect("INTO")
    target = at.name("a target table")
    columns = _shard_columns(at) if at.sees_sign("(") else ()
    exclude = at.in_brackets(lambda: _excluded_shard(at, table), "table") if at.take("EXCLUDE") else ()
    where = at.expression("condition") if at.take("WHERE") else None
    if not _sees_end(at):
        raise at.error(_channel_may_end(at))
    return Shards(databases=databases, table=table, target=target, columns=columns, exclude=exclude, where=where)


def _excluded_shard(at: Cursor, table: str) -> Name:
    start = at.peek()
    name = at.name("a table name")
    if name.db is None or name.name != table:
        raise at.error(f"only database.{table} can be excluded here", start)
    return name


def _all_tables(at: Cursor) -> Tables:
    db = _star(at, "a source database")
    at.expect("INTO")
    return _tables(at, db, None)


def _sees_star(at: Cursor) -> bool:
    return at.sees_sign(".", 1) and at.sees_sign("*", 2)


def _star(at: Cursor, what: str) -> str:
    """name.*"""
    db = at.identifier(what)
    at.expect_sign(".", f"behind {what}")
    at.expect_sign("*", "behind the dot")
    return db


def _tables(at: Cursor, db: str, pattern: str | None) -> Tables:
    """Behind INTO."""
    target_db = _star(at, "a target database")
    exclude = at.in_brackets(lambda: _excluded(at, db), "table") if at.take("EXCLUDE") else ()
    if not _sees_end(at):
        raise at.error("expected EXCLUDE, or , or ) in the channel list")
    return Tables(db=db, target_db=target_db, pattern=pattern, exclude=exclude)


def _sees_end(at: Cursor) -> bool:
    """Of a channel; which list it is in says whether that may be the end of all."""
    return at.peek() is None or at.sees_sign(",") or at.sees_sign(")")


def _excluded(at: Cursor, db: str) -> Name:
    start = at.peek()
    name = at.name("a table name")
    if name.db not in {None, db}:
        raise at.error(f"only tables of '{db}' can be excluded here", start)
    return Name(db=db, name=name.name)


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
    return PartitionNames(names=at.identifiers("partition"), temporary=temporary)


def _columns(at: Cursor) -> tuple[ColumnMapping, ...]:
    seen: set[str] = set()
    return at.in_brackets(lambda: _mapping(at, _target_column(at, seen)), "column")


def _shard_columns(at: Cursor) -> tuple[ColumnMapping | DatabaseColumn, ...]:
    seen: set[str] = set()

    def one() -> ColumnMapping | DatabaseColumn:
        target = _target_column(at, seen)
        if at.sees_sign("=") and at.word(1) in {"DATABASE", "SCHEMA"} and at.sees_sign("(", 2) and at.sees_sign(")", 3):
            for _ in range(4):
                at.take_token()
            return DatabaseColumn(target=target)
        return _mapping(at, target)

    return at.in_brackets(one, "column")


def _target_column(at: Cursor, seen: set[str]) -> str:
    return at.unseen(seen, at.identifier("a column name"), "column")


def _mapping(at: Cursor, target: str) -> ColumnMapping:
    return ColumnMapping(target=target, expression=at.expression("expression") if at.take_sign("=") else None)


READERS: Final[dict[str, Callable[[Cursor], PauseSync | ResumeSync | StopSync]]] = {
    "PAUSE": pause_sync,
    "RESUME": resume_sync,
    "STOP": stop_sync,
}
