"""Changes of a table, which all take effect at once or not at all.

Owns: what Iceberg validates when one commits, and how long it waits before it repeats one.
Must not know: epochs, jobs, why a commit was refused.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from syncmgr.job.channel.shard import Part
from syncmgr.lake.iceberg.java_api import closing_java, iterated, listed
from syncmgr.lake.iceberg.table_metadata import TableMetadata
from syncmgr.lake.spark.jvm import Java

FEW_FILES: Final = 10_000  # data and delete files whose manifests one thread reads at once
LONGEST_WAIT_SECOND: Final = 5.0
LARGEST_INT: Final = 2**31 - 1
MOST_SCHEMAS: Final = 1 << 20  # characters of all schemas that the metadata of a table list
MIN_WAIT: Final = "commit.retry.min-wait-ms"
MAX_WAIT: Final = "commit.retry.max-wait-ms"
RETRIES: Final[Mapping[str, int]] = {  # with Iceberg's defaults
    "commit.retry.num-retries": 4,
    MIN_WAIT: 100,
    MAX_WAIT: 60_000,
    "commit.retry.total-timeout-ms": 1_800_000,
}


def bad_retries(properties: Callable[[str], str | None]) -> list[str]:
    """Those of `RETRIES` that Java does not take for a number, or Iceberg not for a wait."""
    found = {key: value for key in RETRIES if (value := properties(key)) is not None}
    return [key for key, value in found.items() if not _is_taken(key, value)]


def _is_taken(key: str, value: str) -> bool:
    if re.fullmatch("[+-]?[0-9]+", value) is None or not -LARGEST_INT <= int(value) <= LARGEST_INT:
        return False
    return int(value) >= 0 or key not in {MIN_WAIT, MAX_WAIT}


def waits_long(properties: Callable[[str], str | None]) -> bool:
    """Whether Iceberg would wait too long before it repeats a refused commit for the first time; it takes none where it
    cannot read that.
    """
    given = [properties(key) or str(RETRIES[key]) for key in (MIN_WAIT, MAX_WAIT)]
    return all(_is_taken(MIN_WAIT, each) and int(each) > LONGEST_WAIT_SECOND * 1000 for each in given)


class Transactions(TableMetadata):
    """On the tables of one catalog."""

    def begin(self, table: Java) -> Java:
        """A transaction; Iceberg refreshes the table as it opens one."""
        return table.newTransaction()

    def table_of(self, transaction: Java) -> Java:
        """The table as the transaction found it: anything that must hold when it commits has to be read from here."""
        return transaction.table()

    def add(self, delta: Java, rows: Iterable[Java], deletes: Iterable[Java], marks: Mapping[str, str]) -> None:
        for file in rows:
            delta.addRows(file)
        for file in deletes:
            delta.addDeletes(file)
        for mark, value in marks.items():
            delta.set(mark, value)
        delta.commit()

    def set_properties(self, transaction: Java, values: Mapping[str, str]) -> None:
        update = transaction.updateProperties()
        for key, value in values.items():
            update = update.set(key, value)
        update.commit()

    def finish(self, transaction: Java) -> int:
        """Commits; returns the snapshot that it made. An error of `jvm.REFUSED`: nothing was done, or the outcome is
        unknown.
        """
        self.commit(transaction)
        return int(transaction.table().currentSnapshot().snapshotId())

    @contextmanager
    def updating(self, table: Java) -> Iterator[Java]:
        """What begins an update of files, which is committed at the end: a table of our own catalog, where Iceberg
        repeats it on newer metadata; of another one a transaction, as in `commit`.
        """
        if self.embedded:
            yield table
            return
        transaction = self.begin(table)
        yield transaction
        self.commit(transaction)

    def commit(self, transaction: Java) -> None:
        """An error of `jvm.REFUSED`: nothing was done, or the outcome is unknown.

        It is sent once, and whoever sends it repeats it, where the table's properties would make Iceberg wait long, and
        to a catalog of others: after a conflict Iceberg deletes the manifests, and that may be one with the same
        commit, whose answer was lost.
        """
        start = transaction.startMetadata()
        if not self.embedded or waits_long(start.properties().get):
            transaction.underlyingOps().commit(start, transaction.currentMetadata())
        else:
            transaction.commitTransaction()

    def update_schema(self, transaction: Java) -> Java:
        """An UpdateSchema; its own commit puts it into the transaction, which a newer schema then rejects."""
        return transaction.updateSchema()

    def add_column(self, update: Java, name: str, kind: str, doc: str, initial: str | None) -> None:
        """An optional column; `initial`: what older rows show, in the JSON of Iceberg's specification."""
        wanted = self._package.types.Types.fromPrimitiveString(kind)
        value = None
        if initial is not None:
            parsed = self._package.SingleValueParser.fromJson(wanted, initial)
            value = self._package.expressions.Expressions.lit(parsed)
        update.addColumn(None, name, wanted, doc or None, value)

    def retype_column(self, update: Java, name: str, kind: str) -> None:
        """To a type that its own may be promoted to."""
        update.updateColumn(name, self._package.types.Types.fromPrimitiveString(kind))

    def forget_schemas(self, transaction: Java) -> None:
        """Removes the schemas that no snapshot was written with, once all are long: Iceberg keeps one for each change,
        and every commit reads and writes them all. Not every REST catalog takes such an update, so those keep them.
        """
        metadata = transaction.currentMetadata()
        longest = len(str(self._classes.schema_parser.toJson(metadata.schema())))
        if is_of_rest(transaction.underlyingOps()) or int(metadata.schemas().size()) * longest <= MOST_SCHEMAS:
            return
        kept = {metadata.currentSchemaId(), *(each.schemaId() for each in listed(metadata.snapshots()))}
        unused = self.jvm.java.util.HashSet()
        for schema in listed(metadata.schemas()):
            if schema.schemaId() not in kept:
                unused.add(schema.schemaId())
        if unused.isEmpty():
            return
        builder = self._package.TableMetadata.buildFrom(metadata)
        self._package.MetadataUpdate.RemoveSchemas(unused).applyTo(builder)
        self.table_of(transaction).operations().commit(metadata, builder.build())

    def order_without(self, transaction: Java, columns: Collection[int]) -> None:
        """The table's sort order, by which nobody reads, no longer names these columns."""
        order = self.table_of(transaction).sortOrder()
        kept = [field for field in listed(order.fields()) if int(field.sourceId()) not in columns]
        if len(kept) == int(order.fields().size()):
            return
        update = transaction.replaceSortOrder()
        for field in kept:
            name = order.schema().findColumnName(field.sourceId())
            term = self._package.expressions.Expressions.transform(name, field.transform())
            by = update.asc if str(field.direction().name()) == "ASC" else update.desc
            update = by(term, field.nullOrder())
        update.commit()

    def empty(self, transaction: Java, marks: Mapping[str, str], part: Part | None = None) -> None:
        """Deletes every row, of a part by which the table is partitioned or of all of it; refused if rows were added or
        deleted since the transaction opened.
        """
        self.replace(transaction, (), marks, part)

    def replace(
        self, transaction: Java, rows: Iterable[Java], marks: Mapping[str, str], part: Part | None = None
    ) -> None:
        """Replaces all rows by these files, refused like `empty`; does nothing if there is no snapshot."""
        snapshot = transaction.table().currentSnapshot()
        if snapshot is None:
            return
        overwrite = transaction.newOverwrite().overwriteByRowFilter(self._rows_of(part))
        overwrite = overwrite.validateFromSnapshot(snapshot.snapshotId()).conflictDetectionFilter(
            self._classes.always_true
        )
        overwrite = overwrite.validateNoConflictingData().validateNoConflictingDeletes()
        for file in rows:
            overwrite.addFile(file)
        for mark, value in marks.items():
            overwrite.set(mark, value)
        overwrite.commit()

    def _rows_of(self, part: Part | None) -> Java:
        """A condition; for a part by which the table is partitioned, it matches all rows of a file or none."""
        return (
            self._classes.always_true
            if part is None
            else self._package.expressions.Expressions.equal(part.column, part.value)
        )

    def has_rows(self, table: Java, part: Part) -> bool:
        """Whether a part has any, even deleted ones."""
        with closing_java(table.newScan().filter(self._rows_of(part)).planFiles()) as files:
            return bool(files.iterator().hasNext())

    def keeps_apart(self, table: Java, part: Part) -> bool:
        """Whether every file has rows of a part alone, or none of it, as far as Iceberg can tell. That of a transaction
        cannot be scanned.
        """
        column = table.schema().caseInsensitiveFindField(part.column)
        if all(self._has_identity(table.specs().get(spec), column.fieldId()) for spec in self.specs_in_use(table)):
            return True
        strict = self._package.expressions.StrictMetricsEvaluator
        with closing_java(table.newScan().includeColumnStats().filter(self._rows_of(part)).planFiles()) as tasks:
            return all(
                task.residual().equals(self._classes.always_true)
                or strict(table.schema(), task.residual()).eval(task.file())
                for task in iterated(tasks)
            )

    def _has_identity(self, spec: Java, column: int) -> bool:
        return any(
            int(field.sourceId()) == column and field.transform().isIdentity() for field in listed(spec.fields())
        )

    def pin(self, transaction: Java) -> None:
        """Refuses the transaction if anything is committed before it: a change of the spec, even an empty one, applies
        only to the metadata that it was begun with.
        """
        transaction.updateSpec().commit()

    def fence(self, transaction: Java, marks: Mapping[str, str]) -> bool:
        """Adds an empty snapshot if there is none in the transaction yet, and the catalog is REST: of properties and
        columns it may compare nothing that tells whether others were committed meanwhile, so that a request which was
        given up, and arrives late, would set them back. Returns whether it did.
        """
        before = transaction.startMetadata().currentSnapshot()
        now = transaction.table().currentSnapshot()
        is_new = now is not None and (before is None or now.snapshotId() != before.snapshotId())
        if is_new or not is_of_rest(transaction.underlyingOps()):
            return False
        append = transaction.newFastAppend()
        for mark, value in marks.items():
            append.set(mark, value)
        append.commit()
        return True

    def fenced_delta(self, transaction: Java) -> Java:
        """A RowDelta that is refused if rows or deletes were changed since the transaction opened."""
        table = transaction.table()
        delta = transaction.newRowDelta()
        snapshot = table.currentSnapshot()
        if snapshot is not None:
            delta = self.in_place(table, delta.validateFromSnapshot(snapshot.snapshotId()))
        return (
            delta.conflictDetectionFilter(self._classes.always_true)
            .validateNoConflictingDataFiles()
            .validateNoConflictingDeleteFiles()
        )

    def in_place(self, table: Java, update: Java) -> Java:
        """A snapshot update that reads manifests in the calling thread if they are few: Iceberg polls its own threads
        only every 10 ms, several times per commit.
        """
        totals = self.current(table)
        if totals is None or totals.data_files + totals.delete_files > FEW_FILES:
            return update
        return update.scanManifestsWith(self._classes.in_place)

    def strings(self, values: Iterable[str]) -> Java:
        """A Java list."""
        found = self._classes.array_list()
        for value in values:
            found.add(value)
        return found


def is_of_rest(operations: Java) -> bool:
    """Whether a table is one of a REST catalog."""
    return str(operations.getClass().getSimpleName()).startswith("REST")
