"""SHOW and DESCRIBE on databases and tables.

Owns: which facts of the catalog each of them needs, and the errors for what does not exist. Everything here blocks.
Must not know: sessions, threads.
"""

from syncmgr.console.ports import Catalog
from syncmgr.console.statements.local.local_select import INFORMATION_SCHEMA
from syncmgr.console.statements.show import show
from syncmgr.console.statements.show.create_text import create_text
from syncmgr.console.statements.show.information_schema import described, tables_of
from syncmgr.console.statements.show.show import Listing, listing
from syncmgr.console.table_columns import TABLES
from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import TargetTable
from syncsql import CreateTable, Name, parse, quote_name


def check_database(catalog: Catalog, db: str) -> None:
    """Raises UNKNOWN_DATABASE."""
    if db.lower() != INFORMATION_SCHEMA and db not in catalog.databases():
        raise SyncError(Code.UNKNOWN_DATABASE, db=db)


def named(db: str | None, in_use: str | None) -> str:
    """The database in question. Raises NO_DATABASE."""
    found = db or in_use
    if not found:
        raise SyncError(Code.NO_DATABASE)
    return found


def table(catalog: Catalog, name: Name, in_use: str | None) -> TargetTable:
    """Raises NO_DATABASE, UNKNOWN_DATABASE, NO_SUCH_TABLE, UNKNOWN_SCHEMA_TABLE."""
    db = named(name.db, in_use)
    if db.lower() == INFORMATION_SCHEMA:
        return described(name.name)
    return catalog.table(db, name.name)


def tables(catalog: Catalog, db: str, *, full: bool) -> Listing:
    if db.lower() == INFORMATION_SCHEMA:
        return show.tables(db, [name.upper() for name in TABLES], full=full, kind="SYSTEM VIEW")
    check_database(catalog, db)
    return show.tables(db, catalog.tables(db), full=full)


def table_status(catalog: Catalog, db: str) -> Listing:
    check_database(catalog, db)
    return show.table_status([] if db.lower() == INFORMATION_SCHEMA else list(tables_of(catalog, db)))


def create_database(catalog: Catalog, db: str) -> Listing:
    check_database(catalog, db)
    return listing(("Database", "Create Database"), [(db, f"CREATE DATABASE {quote_name(db)}")])


def create_table(catalog: Catalog, name: Name, in_use: str | None) -> Listing:
    db = named(name.db, in_use)
    [parsed] = parse(catalog.create_table_text(db, name.name))
    assert isinstance(parsed.statement, CreateTable)
    return listing(("Table", "Create Table"), [(name.name, create_text(parsed.statement))])
