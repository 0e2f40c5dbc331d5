"""Databases and tables of the lake, as the console's statements mean them.

Owns: the way from CREATE TABLE's values to a target and back, what IF EXISTS forgives, which table is busy.
Must not know: connections, jobs, how a table format keeps a target.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

import syncsql
from syncmgr.control.alter.altered_target import INTEGERS, altered, target_column
from syncmgr.errors import Code, Diagnostic, SyncError, as_note
from syncmgr.job.types import table_rules
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import TargetColumn, TargetTable
from syncmgr.lake.port import LakeTables
from syncmgr.lake.registry import FORMAT

ENGINES: Final = frozenset({FORMAT.name.lower(), "olap"})
MYSQL_ENGINES: Final = frozenset({"innodb", "myisam", "aria", "rocksdb"})
UTF8: Final = frozenset({"utf8", "utf8mb3", "utf8mb4"})
IGNORED: Final[Mapping[syncsql.OptionKind, str]] = {
    syncsql.OptionKind.CHARSET: "all text is UTF-8",
    syncsql.OptionKind.COLLATE: "text compares by its bytes",
    syncsql.OptionKind.AUTO_INCREMENT: "values come from the source",
    syncsql.OptionKind.ROW_FORMAT: f"data files are {FORMAT.files}",
}


BATCH_DELETE: Final = "BATCH_DELETE"
WITH_COLUMN: Final = (syncsql.AddColumn, syncsql.ModifyColumn)
MEANWHILE: Final = "; another statement has made it meanwhile: type this one again"


class Catalog:
    """What the console calls. `job_of`: the job that has a table as its target.

    A change waits for a starting lake, and returns what its IF EXISTS or IF NOT EXISTS forgave.
    """

    def __init__(
        self,
        tables: LakeTables,
        job_of: Callable[[str, str], str | None],
        filled: Callable[[str, str], Mapping[str, str]] = lambda *_: {},
    ) -> None:
        """`filled`: the columns of a table that jobs fill, folded as in the lake, each with the job."""
        self._tables = tables
        self._job_of = job_of
        self._filled = filled

    def databases(self) -> list[str]:
        return sorted(self._tables.namespaces())

    def create_database(self, name: str, *, if_not_exists: bool) -> tuple[Diagnostic, ...]:
        table_rules.check_name(name, "database")
        if name in self._tables.namespaces():
            return as_note(if_not_exists, SyncError(Code.DATABASE_EXISTS, db=name))
        self._tables.ready()
        self._tables.create_namespace(name)
        return ()

    def drop_database(self, name: str, *, if_exists: bool, force: bool) -> tuple[Diagnostic, ...]:
        """`force` drops its tables too, with a warning for each whose files stay. Raises TABLE_BUSY if a job writes to
        one of them, DATABASE_HAS_VIEWS.
        """
        if name not in self._tables.namespaces():
            return as_note(if_exists, SyncError(Code.DROP_NO_DATABASE, db=name))
        self._tables.ready()
        tables = self._tables.tables(name)
        if tables and not force:
            raise SyncError(Code.DATABASE_NOT_EMPTY, db=name, count=len(tables))
        views = self._tables.views(name)
        if views:
            raise SyncError(Code.DATABASE_HAS_VIEWS, db=name, views=", ".join(views))
        for table in tables:
            self._refuse_if_busy(name, table)
        remarks = [self._drop(name, table) for table in tables]
        self._tables.drop_namespace(name)
        return tuple(chain.from_iterable(remarks))

    def tables(self, db: str) -> list[str]:
        """Raises UNKNOWN_DATABASE."""
        self._must_exist(db)
        return sorted(self._tables.tables(db))

    def table(self, db: str, name: str) -> TargetTable:
        """Raises UNKNOWN_DATABASE, NO_SUCH_TABLE."""
        self._must_exist(db)
        return self._tables.describe(db, name)

    def is_other(self, db: str, name: str, token: str, last_snapshot: int) -> bool:
        """Whether a table no longer has what the channel of a token has committed. Raises NO_SUCH_TABLE."""
        return self._tables.is_other(db, name, token, last_snapshot)

    def create_table(self, statement: syncsql.CreateTable, db: str | None) -> tuple[Diagnostic, ...]:
        """`db`: the one in use. Raises NO_DATABASE, TABLE_EXISTS and whatever `table_rules` find."""
        table = defined(statement, _named(statement.table, db))
        table_rules.check(table)
        table_rules.check_properties(table, FORMAT.properties)
        self._must_exist(table.db)
        if table.name in self._tables.tables(table.db):
            return as_note(statement.if_not_exists, SyncError(Code.TABLE_EXISTS, table=table.label))
        self._make(table, for_job=False)
        return tuple(ignored(statement))

    def make(self, table: TargetTable) -> TargetTable:
        """The target of a job, which was checked and does not exist yet; with its uuid.

        If `table` has one, it is that of a spare target, which is replaced. Raises TABLE_EXISTS.
        """
        if table.uuid:
            self.unmake(table)
        try:
            return replace(table, uuid=self._make(table, for_job=True))
        except SyncError as error:
            if error.code is not Code.TABLE_EXISTS:
                raise
            raise error.saying(MEANWHILE) from error

    def _make(self, table: TargetTable, *, for_job: bool) -> str:
        """Returns its uuid."""
        self._tables.ready()
        return self._tables.create_table(table, for_job=for_job)

    def unmake(self, table: TargetTable) -> None:
        """The inverse of `make`. A table that another engine has put under the name stays, and so does one that a job
        writes to, or that was changed.
        """
        self._tables.ready()
        try:
            found = self.table(table.db, table.name)
        except SyncError as error:
            if error.code not in {Code.NO_SUCH_TABLE, Code.UNKNOWN_DATABASE}:
                raise
            return
        if found.uuid == table.uuid and found.is_unused and self._job_of(table.db, table.name) is None:
            self._tables.drop_table(table.db, table.name)

    def alter_table(self, statement: syncsql.AlterTable, db: str | None) -> tuple[Diagnostic, ...]:
        """Raises NO_DATABASE, UNKNOWN_DATABASE, NO_SUCH_TABLE, and what `altered` does."""
        db, name = _named(statement.table, db), statement.table.name
        self.table(db, name)
        self._tables.ready()
        known, fixed = FORMAT.properties, FORMAT.fixed
        self._tables.alter_table(
            db, name, lambda table: altered(statement, table, self._filled(db, name), known, fixed)
        )
        given = (each.column for each in statement.alterations if isinstance(each, WITH_COLUMN))
        return tuple(chain.from_iterable(map(_ignored_of, given)))

    def enable_feature(self, statement: syncsql.EnableFeature, db: str | None) -> tuple[Diagnostic, ...]:
        """What Doris asks for before a job may delete rows; every table with a key has it here. Raises NO_DATABASE,
        UNKNOWN_DATABASE, NO_SUCH_TABLE, NOT_SUPPORTED.
        """
        table, feature = self.table(_named(statement.table, db), statement.table.name), statement.feature
        if feature.upper() != BATCH_DELETE:
            raise SyncError(Code.NOT_SUPPORTED, what=f"the feature '{feature}' of a table; there is {BATCH_DELETE}")
        if not table.keys:
            raise SyncError(
                Code.NOT_SUPPORTED, what=f"{BATCH_DELETE} of table '{table.label}', which has no UNIQUE KEY"
            )
        return (_ignored(f'ENABLE FEATURE "{BATCH_DELETE}"', "a table with a UNIQUE KEY always has it"),)

    def drop_table(self, statement: syncsql.DropTable, db: str | None) -> tuple[Diagnostic, ...]:
        """Drops the table and its files, or warns that these stay. Raises NO_DATABASE, UNKNOWN_TABLE, TABLE_BUSY."""
        db, name = _named(statement.table, db), statement.table.name
        if db not in self._tables.namespaces() or name not in self._tables.tables(db):
            return as_note(statement.if_exists, SyncError(Code.UNKNOWN_TABLE, table=f"{db}.{name}"))
        self._refuse_if_busy(db, name)
        self._tables.ready()
        return self._drop(db, name)

    def _drop(self, db: str, name: str) -> tuple[Diagnostic, ...]:
        """A job may have got it for a target while the lake started, or other tables were dropped."""
        self._refuse_if_busy(db, name)
        other = self._tables.drop_table(db, name)
        if other is None:
            return ()
        warning = SyncError(Code.FILES_KEPT, table=f"{db}.{name}", other=other)
        return (Diagnostic(level="Warning", code=warning.code, text=str(warning)),)

    def _refuse_if_busy(self, db: str, name: str) -> None:
        job = self._job_of(db, name)
        if job is not None:
            raise SyncError(Code.TABLE_BUSY, table=f"{db}.{name}", job=job)

    def create_table_text(self, db: str, name: str) -> str:
        """SHOW CREATE TABLE: parses back to the same table."""
        return statement_of(self.table(db, name)).sql()

    def _must_exist(self, db: str) -> None:
        if db not in self._tables.namespaces():
            raise SyncError(Code.UNKNOWN_DATABASE, db=db)


def _named(name: syncsql.Name, in_use: str | None) -> str:
    db = name.db or in_use
    if db is None:
        raise SyncError(Code.NO_DATABASE)
    return db


def defined(statement: syncsql.CreateTable, db: str) -> TargetTable:
    """The table that a statement means; key columns are NOT NULL unless it says NULL. Raises NOT_SUPPORTED."""
    if statement.engine is not None and statement.engine.lower() not in ENGINES | MYSQL_ENGINES:
        raise SyncError(Code.NOT_SUPPORTED, what=f"ENGINE = {statement.engine}")
    key = statement.key
    unique = key.columns if key and key.kind is syncsql.KeyKind.UNIQUE else ()
    duplicate = key.columns if key and key.kind is syncsql.KeyKind.DUPLICATE else ()
    folded = {folded_name(name) for name in unique}
    return TargetTable(
        db=db,
        name=statement.table.name,
        columns=tuple(target_column(each, key=folded_name(each.name) in folded) for each in statement.columns),
        keys=unique,
        duplicate_key=duplicate,
        partition=(*(_transform(each) for each in statement.partition_by), *_buckets(statement.distribution)),
        comment=statement.comment or "",
        properties=tuple((each.key, each.value) for each in statement.properties),
        reserved_columns=FORMAT.reserved_columns,
    )


def ignored(statement: syncsql.CreateTable) -> Iterator[Diagnostic]:
    """A warning for each part of MySQL's own CREATE TABLE that was accepted and has no effect."""
    if statement.engine is not None and statement.engine.lower() in MYSQL_ENGINES:
        yield _ignored(f"ENGINE = {statement.engine}", f"tables are {FORMAT.name}'s")
    for option in statement.options:
        if option.kind is not syncsql.OptionKind.CHARSET or option.value.lower() not in UTF8:
            yield _ignored(f"{option.kind} = {option.value}", IGNORED[option.kind])
    for column in statement.columns:
        yield from _ignored_of(column)


def _ignored_of(column: syncsql.ColumnDefinition) -> Iterator[Diagnostic]:
    if column.type.name in INTEGERS and column.type.args:
        yield _ignored(f"{column.type.sql()} of column '{column.name}'", "a display width changes no value")
    if column.auto_increment:
        yield _ignored(f"AUTO_INCREMENT of column '{column.name}'", IGNORED[syncsql.OptionKind.AUTO_INCREMENT])


def _ignored(option: str, reason: str) -> Diagnostic:
    error = SyncError(Code.OPTION_IGNORED, option=option, reason=reason)
    return Diagnostic(level="Warning", code=error.code, text=str(error))


def _transform(transform: syncsql.Transform) -> str:
    return table_rules.Transform(kind=transform.kind.value.lower(), column=transform.column, width=transform.width).text


def _buckets(distribution: syncsql.Distribution | None) -> tuple[str, ...]:
    """One column of the hash places a row as well as all do; with one bucket there is nothing to place."""
    if distribution is None or distribution.buckets in {None, 1} or not distribution.columns:
        return ()
    return (table_rules.Transform(kind="bucket", column=distribution.columns[0], width=distribution.buckets).text,)


def statement_of(table: TargetTable) -> syncsql.CreateTable:
    """The CREATE TABLE that makes this table."""
    transforms = [table_rules.parse_transform(text) for text in table.partition]
    last = transforms.pop() if transforms and transforms[-1].kind == "bucket" and transforms[-1].width != 1 else None
    kind, keys = (
        (syncsql.KeyKind.UNIQUE, table.keys) if table.keys else (syncsql.KeyKind.DUPLICATE, table.duplicate_key)
    )
    return syncsql.CreateTable(
        table=syncsql.Name(name=table.name, db=table.db),
        columns=tuple(_definition(column) for column in table.columns),
        key=syncsql.TableKey(kind=kind, columns=keys) if keys else None,
        comment=table.comment or None,
        partition_by=tuple(
            syncsql.Transform(kind=syncsql.TransformKind(each.kind.upper()), column=each.column, width=each.width)
            for each in transforms
        ),
        distribution=syncsql.Distribution(columns=(last.column,), buckets=last.width) if last else None,
        properties=tuple(syncsql.Property(key=key, value=value) for key, value in table.properties),
    )


def _definition(column: TargetColumn) -> syncsql.ColumnDefinition:
    return syncsql.ColumnDefinition(
        name=column.name,
        type=syncsql.DataType(name=column.type.name, args=column.type.args),
        nullable=column.nullable,
        comment=column.comment or None,
    )
