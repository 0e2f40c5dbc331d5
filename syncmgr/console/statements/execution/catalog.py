"""The statements about databases and tables.

Owns: what each of them calls on the catalog.
Must not know: how the catalog does its work.
"""

from syncmgr.console.statements.execution.context import Context
from syncmgr.console.statements.show import metadata, show
from syncmgr.console.wire.results import Done, Result
from syncsql import (
    AlterTable,
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


async def create_database(context: Context, statement: CreateDatabase) -> Result:
    create = context.frontend.catalog.create_database
    remarks = await context.slow(create, statement.name, if_not_exists=statement.if_not_exists)
    return context.done(remarks, affected=1)


async def drop_database(context: Context, statement: DropDatabase) -> Result:
    drop, name = context.frontend.catalog.drop_database, statement.name
    remarks = await context.slow(drop, name, if_exists=statement.if_exists, force=statement.force)
    if context.db == name:
        context.client.db = None
        context.client.answers.changes.schema("")
    return context.done(remarks)


async def create_table(context: Context, statement: CreateTable) -> Result:
    return context.done(await context.slow(context.frontend.catalog.create_table, statement, context.db))


async def alter_table(context: Context, statement: AlterTable) -> Result:
    return context.done(await context.slow(context.frontend.catalog.alter_table, statement, context.db))


async def enable_feature(context: Context, statement: EnableFeature) -> Result:
    return context.done(await context.slow(context.frontend.catalog.enable_feature, statement, context.db))


async def drop_table(context: Context, statement: DropTable) -> Result:
    return context.done(await context.slow(context.frontend.catalog.drop_table, statement, context.db))


async def use(context: Context, statement: Use) -> Result:
    await context.use(statement.db)
    return Done()


async def show_databases(context: Context, statement: ShowDatabases) -> Result:
    found = show.databases(await context.slow(context.frontend.catalog.databases))
    return await context.filtered(found, statement.filter)


async def show_create_database(context: Context, statement: ShowCreateDatabase) -> Result:
    slow, catalog = context.slow, context.frontend.catalog
    return (await slow(metadata.create_database, catalog, statement.name)).result()


async def show_tables(context: Context, statement: ShowTables) -> Result:
    slow, catalog, db = context.slow, context.frontend.catalog, metadata.named(statement.db, context.db)
    return await context.filtered(await slow(metadata.tables, catalog, db, full=statement.full), statement.filter)


async def show_create_table(context: Context, statement: ShowCreateTable) -> Result:
    slow, catalog = context.slow, context.frontend.catalog
    return (await slow(metadata.create_table, catalog, statement.table, context.db)).result()


async def show_columns(context: Context, statement: ShowColumns) -> Result:
    table = await context.slow(metadata.table, context.frontend.catalog, statement.table, context.db)
    return await context.filtered(show.columns(table, full=statement.full), statement.filter)


async def describe(context: Context, statement: DescribeTable) -> Result:
    table = await context.slow(metadata.table, context.frontend.catalog, statement.table, context.db)
    return show.columns(table, full=False).result()
