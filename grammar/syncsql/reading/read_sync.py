"""Reads the statements about sync jobs.

Owns: their syntax, Doris' order of clauses.
Must not know: the inside of a channel, what a property means.
"""

from collections.abc import Callable
from typing import Final

from syncsql.names import Name
from syncsql.reading.cursor import Cursor
from syncsql.reading.lists import read_properties, take_if_not_exists
from syncsql.reading.read_channel import channel, channels
from syncsql.reading.read_expression import read_expression
from syncsql.statements.sync import (
    AddTables,
    AlterSync,
    CheckSync,
    CheckTables,
    CreateSync,
    ExplainSync,
    JobAlteration,
    LeaveTable,
    PauseSync,
    RenameSync,
    RepairSync,
    ResumeSync,
    ResyncTable,
    SetSource,
    SettleDdl,
    StopCheck,
    StopSync,
)
from syncsql.tokens import Kind


def create_sync(at: Cursor) -> CreateSync:
    """After CREATE SYNC."""
    _take_job_word(at)
    if_not_exists = take_if_not_exists(at)
    job = _job(at)
    listed = at.in_brackets(lambda: channel(at), "channel")
    at.expect("FROM", "BINLOG")
    binlog = read_properties(at)
    properties = read_properties(at) if at.take("PROPERTIES") else ()
    return at.end(
        CreateSync(job=job, channels=listed, binlog=binlog, properties=properties, if_not_exists=if_not_exists)
    )


def explain_sync(at: Cursor) -> ExplainSync:
    """After EXPLAIN SYNC."""
    return ExplainSync(sync=create_sync(at))


def pause_sync(at: Cursor) -> PauseSync:
    """After PAUSE."""
    at.expect("SYNC")
    return at.end(PauseSync(job=job_name(at)))


def resume_sync(at: Cursor) -> ResumeSync:
    """After RESUME."""
    at.expect("SYNC")
    return at.end(ResumeSync(job=job_name(at)))


def check(at: Cursor) -> CheckSync | CheckTables:
    """After CHECK."""
    if at.take("TABLE"):
        targets = [at.name("a table name")]
        while at.take_sign(","):
            targets.append(at.name("a table name"))
        return at.end(CheckTables(tables=tuple(targets)))
    if not at.take("SYNC"):
        raise at.error("expected SYNC JOB or TABLE")
    job, tables = job_name(at), list[Name]()
    if at.take("TABLE"):
        tables.append(at.name("a source table"))
        while at.take_sign(","):
            at.expect("TABLE")
            tables.append(at.name("a source table"))
    options = read_properties(at) if at.take("WITH") else ()
    return at.end(CheckSync(job=job, tables=tuple(tables), properties=options))


def stop_sync(at: Cursor) -> StopSync | StopCheck:
    """After STOP."""
    if at.take("CHECK"):
        return at.end(StopCheck(id=at.number("the id of a check")))
    at.expect("SYNC")
    return at.end(StopSync(job=job_name(at)))


def repair_sync(at: Cursor) -> RepairSync:
    """After REPAIR."""
    at.expect("SYNC")
    job = job_name(at)
    at.expect("CHECK")
    check = at.number("the id of a check")
    return at.end(RepairSync(job=job, check=check, table=at.name("a source table") if at.take("TABLE") else None))


def alter_sync(at: Cursor) -> JobAlteration | AddTables | SetSource:
    """After ALTER SYNC."""
    job = job_name(at)
    if at.take("RENAME"):
        at.expect("TO")
        return at.end(RenameSync(job=job, to=_one_part(at)))
    if at.take("ADD"):
        at.expect("TABLE")
        return at.end(AddTables(job=job, channels=channels(at)))
    if at.take("DROP"):
        at.expect("TABLE")
        return at.end(LeaveTable(job=job, table=at.name("a source table")))
    if at.take("RESYNC"):
        at.expect("TABLE")
        table = at.name("a source table")
        return at.end(
            ResyncTable(job=job, table=table, where=read_expression(at, "condition") if at.take("WHERE") else None)
        )
    if at.take("SKIP"):
        at.expect("DDL")
        return at.end(SettleDdl(job=job))
    if at.take("APPLY"):
        at.expect("DDL")
        return at.end(SettleDdl(job=job, instead=at.string("a DDL statement")))
    if not at.take("SET"):
        raise at.error("expected SET [SOURCE], RENAME TO, ADD TABLE, DROP TABLE, RESYNC TABLE, SKIP DDL or APPLY DDL")
    if at.take("SOURCE"):
        return at.end(SetSource(job=job, properties=read_properties(at)))
    return at.end(AlterSync(job=job, properties=read_properties(at)))


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


READERS: Final[
    dict[str, Callable[[Cursor], PauseSync | ResumeSync | StopSync | StopCheck | CheckSync | CheckTables | RepairSync]]
] = {
    "CHECK": check,
    "PAUSE": pause_sync,
    "REPAIR": repair_sync,
    "RESUME": resume_sync,
    "STOP": stop_sync,
}
