"""From text to statements.

Owns: which word begins which statement, and the errors for those that are not supported.
Must not know: the inside of any statement.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias

from syncsql.reading import read_session, read_show, read_sync, read_table, read_user
from syncsql.reading.cursor import Cursor
from syncsql.statements.alter_table import AlterTable
from syncsql.statements.session import (
    AdminSetFrontendConfig,
    AdminTestAlert,
    ExplainSelect,
    Help,
    Kill,
    Select,
    Set,
    ShowFrontendConfig,
    ShowMeta,
    ShowProcesslist,
    Transaction,
)
from syncsql.statements.sync import (
    AddTables,
    AlterSync,
    CheckSync,
    CheckTables,
    CreateSync,
    ExplainSync,
    LeaveTable,
    PauseSync,
    RenameSync,
    RepairSync,
    ResumeSync,
    ResyncTable,
    SetSource,
    SettleDdl,
    ShowCreateSync,
    ShowSync,
    ShowSyncStatus,
    ShowSyncTables,
    StopCheck,
    StopSync,
)
from syncsql.statements.table import (
    CreateDatabase,
    CreateTable,
    DescribeTable,
    DropDatabase,
    DropTable,
    EnableFeature,
    ShowColumns,
    ShowCreateDatabase,
    ShowCreateTable,
    ShowDatabases,
    ShowTables,
    Use,
)
from syncsql.statements.user import AlterUser, CreateUser, DropUser, Grant, Revoke, SetPassword, ShowGrants
from syncsql.tokens import TokenisedStatement, statements

Statement: TypeAlias = (
    CreateSync
    | ExplainSync
    | AlterSync
    | RenameSync
    | AddTables
    | LeaveTable
    | ResyncTable
    | SetSource
    | SettleDdl
    | PauseSync
    | ResumeSync
    | StopSync
    | CheckSync
    | CheckTables
    | StopCheck
    | RepairSync
    | ShowSync
    | ShowSyncStatus
    | ShowSyncTables
    | ShowCreateSync
    | CreateDatabase
    | DropDatabase
    | ShowDatabases
    | ShowCreateDatabase
    | Use
    | CreateTable
    | AlterTable
    | EnableFeature
    | DropTable
    | DescribeTable
    | ShowTables
    | ShowCreateTable
    | ShowColumns
    | Select
    | ExplainSelect
    | ShowProcesslist
    | Kill
    | ShowFrontendConfig
    | AdminSetFrontendConfig
    | AdminTestAlert
    | Help
    | Transaction
    | Set
    | ShowMeta
    | CreateUser
    | AlterUser
    | DropUser
    | SetPassword
    | Grant
    | Revoke
    | ShowGrants
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """A statement and the text it was read from, comments around it left out.  The text may hold passwords."""

    statement: Statement
    text: str


_ROWS: Final = "rows come from sync jobs alone; change them at the source, or use CREATE SYNC"
_NO_ALTER: Final = "there is no ALTER; drop and create it again"
_NO_ROLES: Final = "there are no roles; GRANT to the user"
_NO_VIEWS: Final = "there are no views; use a query with WITH"
_NO_PREPARE: Final = "there is no PREPARE in SQL; use the driver's prepared statements"
_NO_LOCKS: Final = "there are no table locks; every query reads one snapshot"

# Two words decide before one.
_NOT_OFFERED: Final[Mapping[tuple[str, ...], str | None]] = {
    **{(verb,): _ROWS for verb in ("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "LOAD", "TRUNCATE")},
    ("ALTER", "SYNC"): None,
    ("ALTER",): _NO_ALTER,
    ("RENAME",): _NO_ALTER,
    ("DROP", "SYNC"): "there is no DROP SYNC JOB; use STOP SYNC JOB",
    ("CANCEL", "SYNC"): "there is no CANCEL SYNC JOB; use STOP SYNC JOB",
    ("START", "SYNC"): "there is no START SYNC JOB; use RESUME SYNC JOB",
    ("DESC", "SYNC"): "there is no DESC SYNC JOB; use SHOW CREATE SYNC JOB",
    ("DESCRIBE", "SYNC"): "there is no DESCRIBE SYNC JOB; use SHOW CREATE SYNC JOB",
    ("CREATE", "JOB"): "there is no CREATE JOB; use CREATE SYNC",
    ("PAUSE", "JOB"): "there is no PAUSE JOB; use PAUSE SYNC JOB",
    ("RESUME", "JOB"): "there is no RESUME JOB; use RESUME SYNC JOB",
    ("STOP", "JOB"): "there is no STOP JOB; use STOP SYNC JOB",
    ("DROP", "JOB"): "there is no DROP JOB; use STOP SYNC JOB",
    ("ALTER", "JOB"): "there is no ALTER JOB; use ALTER SYNC JOB",
    ("SHOW", "JOB"): "there is no SHOW JOB; use SHOW SYNC JOB",
    ("SHOW", "JOBS"): "there is no SHOW JOBS; use SHOW SYNC JOB",
    ("CREATE", "ROLE"): _NO_ROLES,
    ("DROP", "ROLE"): _NO_ROLES,
    ("CREATE", "VIEW"): _NO_VIEWS,
    ("CREATE", "OR"): _NO_VIEWS,
    ("DROP", "VIEW"): _NO_VIEWS,
    ("CREATE", "INDEX"): "there are no indexes",
    ("DROP", "INDEX"): "there are no indexes",
    ("CREATE", "UNIQUE"): "there are no indexes",
    ("CREATE", "TEMPORARY"): "there are no temporary tables; use a query with WITH",
    ("PREPARE",): _NO_PREPARE,
    ("EXECUTE",): _NO_PREPARE,
    ("LOCK",): _NO_LOCKS,
    ("UNLOCK",): _NO_LOCKS,
    ("ANALYZE",): "there is no ANALYZE; statistics are kept with every commit",
    ("OPTIMIZE",): "there is no OPTIMIZE; tables are compacted in the background",
    ("SAVEPOINT",): "there are no savepoints",
    ("CALL",): "there are no procedures",
}

_BY_FIRST_WORD: Final[Mapping[str, Callable[[Cursor], Statement]]] = {
    **read_sync.READERS,
    "SHOW": read_show.show,
    "DESC": read_session.describe,
    "DESCRIBE": read_session.describe,
    "EXPLAIN": read_session.describe,
    "USE": read_session.use,
    "KILL": read_session.kill,
    "ADMIN": read_session.admin,
    "HELP": read_session.help_topic,
    "BEGIN": read_session.begin,
    "START": read_session.start,
    "COMMIT": read_session.commit,
    "ROLLBACK": read_session.rollback,
    "SET": read_session.set_,
    "GRANT": read_user.grant,
    "REVOKE": read_user.revoke,
}
_BY_SECOND_WORD: Final[Mapping[str, Mapping[str, Callable[[Cursor], Statement]]]] = {
    "CREATE": {**read_table.CREATE, **read_user.CREATE, "SYNC": read_sync.create_sync},
    "ALTER": {**read_table.ALTER, **read_user.ALTER, "SYNC": read_sync.alter_sync},
    "DROP": {**read_table.DROP, **read_user.DROP},
    "EXPLAIN": {"SYNC": read_sync.explain_sync},
}

_FIRST_WORDS: Final = sorted({"SELECT", "WITH", *_BY_FIRST_WORD, *_BY_SECOND_WORD})
# no name that may be written like this follows them
_BEFORE_SYNC: Final = {"CREATE", "ALTER", "DROP", "SHOW", "PAUSE", "RESUME", "STOP", "CANCEL", "START"}
_SYNC_JOB: Final = {"SYNC_JOB", "SYNCJOB", "SYNC_JOBS", "SYNCJOBS"}
LIKENESS: Final = 0.75  # of a typo; WITHOUT is not one of WITH


def parse(sql: str) -> tuple[Parsed, ...]:
    """The statements of a text, in order; raises SqlSyntaxError for the first that is not in the language."""
    return tuple(Parsed(statement=_statement(each), text=each.text) for each in statements(sql))


def _statement(tokens: TokenisedStatement) -> Statement:
    at = Cursor(tokens)
    if read_session.sees_question(at):
        return read_session.select(at)
    first, second = at.word() or "", at.word(1) or ""
    if second not in _BY_SECOND_WORD.get(first, {}):
        _refuse_not_offered(at)
    if second in _BY_SECOND_WORD.get(first, {}):
        at.take(first, second)
        return _BY_SECOND_WORD[first][second](at)
    if first in _BY_FIRST_WORD:
        at.take(first)
        return _BY_FIRST_WORD[first](at)
    raise at.error(f"unknown statement{_meant(first)}")


def _meant(word: str) -> str:
    """The first word of a statement of which it may be a typo."""
    near = get_close_matches(word, _FIRST_WORDS, n=1, cutoff=LIKENESS)
    return f"; did you mean {near[0]}?" if near and word not in _FIRST_WORDS else ""


def _refuse_not_offered(at: Cursor) -> None:
    words = (at.word() or "", at.word(1) or "")
    if words[0] in _BEFORE_SYNC:
        joined = at.word(2) if words == ("SHOW", "CREATE") else words[1]
        if joined in _SYNC_JOB:
            raise at.error(f"there is no {joined}; write SYNC JOB, which is two words")
    reason = _NOT_OFFERED.get(words, _NOT_OFFERED.get(words[:1]))
    if reason is not None:
        raise at.error(reason)
