"""The statements that change sync jobs.

Owns: what each of them calls on the jobs' port, and which may have to wait for a source. Everything here blocks.
Must not know: sessions, how jobs run.
"""

from typing import TypeAlias, assert_never

from syncmgr.console.authorization.jobs import AuthorizedJobs
from syncmgr.errors import Diagnostic
from syncsql import (
    AddTables,
    AlterSync,
    CreateSync,
    JobAlteration,
    LeaveTable,
    PauseSync,
    RenameSync,
    ResumeSync,
    ResyncTable,
    SetSource,
    SettleDdl,
    StopSync,
)

JobChange: TypeAlias = CreateSync | JobAlteration | AddTables | SetSource | PauseSync | ResumeSync | StopSync


def asks_source(statement: JobChange) -> bool:
    """Whether a source is queried, which may be slow to answer."""
    return isinstance(statement, CreateSync | AddTables | ResyncTable | SetSource)


def change(statement: JobChange, jobs: AuthorizedJobs, db: str | None) -> tuple[Diagnostic, ...]:
    """Further remarks for the client. `db`: the current one."""
    match statement:
        case CreateSync():
            return jobs.create(statement, db)
        case AddTables():
            return jobs.add_tables(statement, db)
        case SetSource():
            jobs.set_source(statement, db)
        case AlterSync() | RenameSync() | LeaveTable() | ResyncTable() | SettleDdl():
            jobs.alter(statement, db)
        case PauseSync():
            jobs.pause(statement.job, db)
        case ResumeSync():
            jobs.resume(statement.job, db)
        case StopSync():
            return jobs.stop(statement.job, db)
        case _:
            assert_never(statement)
    return ()
