"""How each statement is executed. A test ensures that none of the language's is missing.

Owns: the table of statements.
Must not know: what a statement does, the protocol.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import syncsql as sql
from syncmgr.console.statements.execution import (
    catalog,
    checks,
    jobs,
    queries,
    server,
    variables,
)
from syncmgr.console.statements.execution.context import Context
from syncmgr.console.wire.results import Result

Execution = Callable[[Context, Any], Awaitable[Result]]  # of the statement next to it

EXECUTIONS: Final[Mapping[type, Execution]] = {
    sql.CreateSync: jobs.change,
    sql.AlterSync: jobs.change,
    sql.RenameSync: jobs.change,
    sql.AddTables: jobs.change,
    sql.LeaveTable: jobs.change,
    sql.ResyncTable: jobs.change,
    sql.SetSource: jobs.change,
    sql.SettleDdl: jobs.change,
    sql.PauseSync: jobs.change,
    sql.ResumeSync: jobs.change,
    sql.StopSync: jobs.change,
    sql.CheckSync: checks.check_job,
    sql.CheckTables: checks.check_tables,
    sql.StopCheck: checks.stop_check,
    sql.RepairSync: checks.repair_job,
    sql.ExplainSync: jobs.explain,
    sql.ShowSync: jobs.show,
    sql.ShowSyncStatus: jobs.show_status,
    sql.ShowSyncTables: jobs.show_tables,
    sql.ShowCreateSync: jobs.show_create,
    sql.CreateDatabase: catalog.create_database,
    sql.DropDatabase: catalog.drop_database,
    sql.CreateTable: catalog.create_table,
    sql.AlterTable: catalog.alter_table,
    sql.EnableFeature: catalog.enable_feature,
    sql.DropTable: catalog.drop_table,
    sql.Use: catalog.use,
    sql.ShowDatabases: catalog.show_databases,
    sql.ShowCreateDatabase: catalog.show_create_database,
    sql.ShowTables: catalog.show_tables,
    sql.ShowCreateTable: catalog.show_create_table,
    sql.ShowColumns: catalog.show_columns,
    sql.DescribeTable: catalog.describe,
    sql.Select: queries.select,
    sql.ExplainSelect: queries.explain,
    sql.ShowProcesslist: server.show_processlist,
    sql.Kill: server.kill,
    sql.ShowFrontendConfig: server.show_config,
    sql.AdminSetFrontendConfig: server.set_config,
    sql.AdminTestAlert: server.send_test_alert,
    sql.Help: server.show_help,
    sql.ShowMeta: server.show_meta,
    sql.CreateUser: server.change_users,
    sql.AlterUser: server.change_users,
    sql.DropUser: server.change_users,
    sql.SetPassword: server.change_users,
    sql.Grant: server.change_users,
    sql.Revoke: server.change_users,
    sql.ShowGrants: server.show_grants,
    sql.Set: variables.assign,
    sql.Transaction: variables.transaction,
}
