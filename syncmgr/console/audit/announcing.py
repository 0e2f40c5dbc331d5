"""What is noted in the audit before it is done.

Owns: which statements change something, and which are refused if the audit cannot be written.
Must not know: sessions, files, what any statement does.
"""

from dataclasses import dataclass
from typing import Final

from syncmgr.console.audit import audit
from syncmgr.console.ports import AuditFile
from syncmgr.errors import Code, SyncError
from syncsql import (
    AdminSetFrontendConfig,
    DescribeTable,
    ExplainSelect,
    ExplainSync,
    Help,
    Kill,
    Select,
    Set,
    ShowColumns,
    ShowCreateDatabase,
    ShowCreateSync,
    ShowCreateTable,
    ShowDatabases,
    ShowFrontendConfig,
    ShowGrants,
    ShowMeta,
    ShowProcesslist,
    ShowSync,
    ShowSyncStatus,
    ShowSyncTables,
    ShowTables,
    Statement,
    Transaction,
    Use,
)

CHANGES_NOTHING: Final = (
    *(Select, ExplainSelect, ExplainSync, Help, Use, Set, Transaction, DescribeTable),
    *(ShowColumns, ShowCreateDatabase, ShowCreateSync, ShowCreateTable, ShowDatabases, ShowFrontendConfig),
    *(ShowGrants, ShowMeta, ShowProcesslist, ShowSync, ShowSyncStatus, ShowSyncTables, ShowTables),
    Kill,  # by which an operator repairs things
)
KEY: Final = "audit_log"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """Who sends a statement, and its text, masked."""

    connection: int
    user: str
    host: str
    db: str | None
    statement: str


def announce(statement: Statement, asking: Asking, file: AuditFile) -> None:
    """Write that a statement outside CHANGES_NOTHING is going to run: any if the audit is STRICT, one about settings
    always.

    Raises AUDIT_FAILED if it could not be written and must be.
    """
    is_setting = isinstance(statement, AdminSetFrontendConfig)
    if not (file.strict or is_setting):
        return
    lost = file.lost
    audit.begins(
        connection=asking.connection, user=asking.user, host=asking.host, db=asking.db, statement=asking.statement
    )
    of_audit = isinstance(statement, AdminSetFrontendConfig) and any(each.key == KEY for each in statement.settings)
    if file.lost != lost and (file.strict or of_audit):
        raise SyncError(Code.AUDIT_FAILED, reason=file.trouble)
