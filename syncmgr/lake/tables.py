"""The tables of the lake and what is known of them: created, described, dropped.

Owns: which question the embedded catalog's file answers, and which needs Spark.
Must not know: epochs, commits, upkeep.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from syncmgr.errors import SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.shard import Part
from syncmgr.job.ddl.following.column_ids import ids_of, known_columns, replaced_column
from syncmgr.job.targets.target_change import TargetChange
from syncmgr.job.types.schema import TargetTable
from syncmgr.job.types.table_rules import parse_transform
from syncmgr.lake.commit.alter import alter_target
from syncmgr.lake.commit.expressions import check_expressions
from syncmgr.lake.drops import Drops
from syncmgr.lake.iceberg.ancestry import EPOCH_MARK, columns_property, lacks
from syncmgr.lake.iceberg.catalog_reader import CatalogReader
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.spark.jvm import JAVA_ERRORS, asked
from syncmgr.lake.spark.launch import LakePlace
from syncmgr.lake.storage.locations import is_local
from syncmgr.lake.storage.servers import naming, servers
from syncmgr.lake.target.own_properties import as_written
from syncmgr.lake.target.target_table import REQUEST, described, fields_of, folder_of, identifier_of, properties_of
from syncmgr.lake.unknown_storage import known_storage

log = logging.getLogger(__name__)


class IcebergTables:
    """From any thread. `ready` waits for Spark; `making` is around the creation of a table, which is on the disk when
    that ends, and `writing` around a commit to one; `drops`: of an embedded catalog, None if another one takes care of
    its tables; `forget` is notified of tables that were dropped.
    """

    def __init__(
        self,
        place: LakePlace,
        shelf: CatalogReader,
        iceberg: Callable[[], Iceberg],
        *,
        ready: Callable[[], None],
        making: Callable[[str, str], AbstractContextManager[None]],
        writing: Callable[[str, str], AbstractContextManager[object]],
        drops: Drops | None,
        forget: Callable[[str, str], None],
        trusts_expressions: bool,
    ) -> None:
        self._place, self._shelf, self._iceberg = place, shelf, iceberg
        self._ready, self._making, self._writing = ready, making, writing
        self.drops, self._forget = drops, forget
        self._trusts_expressions = trusts_expressions

    def ready(self) -> None:
        """Waits for a lake that starts. Raises LAKE_STARTING, JAVA_MISSING, LAKE_FAILED."""
        self._ready()

    @contextmanager
    def _asked(self) -> Iterator[None]:
        with naming(servers(self._place.catalog)), asked():
            yield

    def namespaces(self) -> list[str]:
        if self._place.embedded:
            return self._shelf.namespaces()
        with self._asked():
            return self._iceberg().namespaces()

    def tables(self, db: str) -> list[str]:
        if self._place.embedded:
            return self._shelf.tables(db)
        with self._asked():
            return self._iceberg().tables(db)

    def views(self, db: str) -> list[str]:
        if self._place.embedded:
            return self._shelf.views(db)
        with self._asked():
            return self._iceberg().views(db)

    def describe(self, db: str, table: str) -> TargetTable:
        """Raises NO_SUCH_TABLE."""
        return described(db, table, *self._found(db, table))

    def _found(self, db: str, table: str) -> tuple[Layout, Mapping[str, str]]:
        if self._is_read(db, table):
            return self._shelf.describe(db, table)
        with self.asking(db, table):
            iceberg = self._iceberg()
            found = iceberg.load(db, table)
            return iceberg.layout(found), iceberg.properties(found)

    def snapshots(self, db: str, table: str) -> frozenset[int]:
        """Those of a table that may be read. Raises NO_SUCH_TABLE, and LAKE_STARTING if only Spark can tell."""
        if self._is_read(db, table):
            return self._shelf.snapshots(db, table)
        with self.asking(db, table):
            iceberg = self._iceberg()
            return iceberg.snapshots(iceberg.load(db, table))

    def _is_read(self, db: str, table: str) -> bool:
        """Without Spark, unless another engine has put the metadata elsewhere. Raises NO_SUCH_TABLE."""
        return self._place.embedded and is_local(self._shelf.pointer(db, table).location)

    @contextmanager
    def asking(self, db: str, table: str) -> Iterator[None]:
        """Around calls into Spark about one table: what a failed one means to the operator."""
        with self._asked(), known_storage((db, table), self._shelf.pointer if self._place.embedded else None):
            yield

    def is_other(self, db: str, table: str, token: str, last_snapshot: int) -> bool:
        """Whether the table no longer has what a channel has committed: a snapshot is missing from its history, or a
        column that the channel fills is another one. Raises NO_SUCH_TABLE, and LAKE_STARTING if only Spark can tell.
        """
        layout, properties = self._found(db, table)
        key = columns_property(token)
        with as_written(db, table, key):
            known = known_columns(properties.get(key))
        if replaced_column(known, ids_of((field.name, field.id) for field in layout.fields)) is not None:
            return True
        if self._is_read(db, table):
            return lacks(self._shelf.history(db, table), last_snapshot)
        with self.asking(db, table):
            iceberg = self._iceberg()
            return lacks(iceberg.history(iceberg.load(db, table), ()), last_snapshot)

    def create_namespace(self, db: str) -> None:
        with self._asked():
            self._iceberg().create_namespace(db)
        self._is_durable()

    def drop_namespace(self, db: str) -> None:
        with self._asked():
            self._iceberg().drop_namespace(db)
        self._is_durable()

    def _is_durable(self) -> None:
        if self.drops is not None:
            self.drops.confirm()

    def create_table(self, table: TargetTable, *, for_job: bool) -> str:
        """Returns the table's uuid. A catalog may have created it although its answer was lost, or was another one, as
        that a table of that name exists. Raises TABLE_EXISTS.
        """
        warehouse = self._place.warehouse
        location = None if warehouse is None else f"{warehouse}/{folder_of(table)}"
        parts = [(part.kind, part.column, part.width) for part in map(parse_transform, table.partition)]
        fields, request = fields_of(table), uuid.uuid4().hex
        properties = {**properties_of(table, for_job=for_job), REQUEST: request}
        with self._making(table.db, table.name):
            iceberg = self._iceberg()
            try:
                return iceberg.create_table(
                    table.db, table.name, fields, identifier_of(table), parts, location, properties
                )
            except (SyncError, *JAVA_ERRORS):
                created = self._created(iceberg, table, request)
                if created is None:
                    raise
                return created

    def _created(self, iceberg: Iceberg, table: TargetTable, request: str) -> str | None:
        """The uuid of a table that was created on request; None if there is none, or nobody knows."""
        try:
            found = iceberg.load(table.db, table.name)
            return iceberg.uuid(found) if iceberg.property(found, REQUEST) == request else None
        except (SyncError, *JAVA_ERRORS):
            return None

    def alter_table(self, db: str, table: str, decide: Callable[[TargetTable], TargetChange]) -> None:
        """`decide`: what is to change of the table as it is. Raises what that raises, NO_SUCH_TABLE, FOREIGN_CHANGE."""
        with self._writing(db, table):
            alter_target(self._iceberg(), db, table, decide)

    def drop_table(self, db: str, table: str) -> str | None:
        """Drops the table and its files, unless another table has them, too: then returns its label."""
        with self.asking(db, table):
            other = self._iceberg().drop_table(db, table, self.drops)
        self._forget(db, table)
        if other is not None:
            log.warning("%s.%s was dropped, but its files stay: table %s uses them, too", db, table, other)
        return other

    def is_empty(self, db: str, table: str, part: Part | None = None) -> bool:
        """Whether the table, or a part of it, has no row, not even a deleted one. Raises NO_SUCH_TABLE."""
        with self.asking(db, table):
            iceberg = self._iceberg()
            found = iceberg.load(db, table)
            totals = iceberg.current(found)
            if totals is None or totals.data_files == 0:
                return True
            return part is not None and not iceberg.has_rows(found, part)

    def writers(self, db: str, table: str, second: float) -> frozenset[str]:
        """The tokens of channels that have committed rows in the last seconds; waits for a lake that starts. Raises
        NO_SUCH_TABLE.
        """
        self._ready()
        with self.asking(db, table):
            iceberg = self._iceberg()
            since = int((time.time() - second) * 1000)
            marks = iceberg.writers(iceberg.load(db, table), EPOCH_MARK, since)
        return frozenset(mark.rpartition(":")[0] for mark in marks)

    def check_channel(self, channel: ChannelDescription) -> None:
        """Raises BAD_EXPRESSION if Spark cannot use an expression or WHERE over the channel's source columns."""
        self._ready()
        with self.asking(channel.target_db, channel.target):
            iceberg = self._iceberg()
            layout = iceberg.layout(iceberg.load(channel.target_db, channel.target))
            check_expressions(iceberg.spark, channel, layout, trusts=self._trusts_expressions)
