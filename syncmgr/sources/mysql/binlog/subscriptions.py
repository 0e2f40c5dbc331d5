"""Which tables are read, and what their columns are at this place of the stream.

Owns: which table a table map means, what was seen of it so far, which statements concern it.
Must not know: where transactions end, how columns are found, how rows are decoded.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from mysqlddl.reading import Modes
from mysqlddl.temporary import is_temporary, may_be_temporary
from syncmgr.errors import SyncError
from syncmgr.job.channel.description import RECREATED
from syncmgr.job.ddl import ddl, older_statement
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.following.ddl_statement import DdlStatement, not_followed
from syncmgr.job.ddl.session_zone import SessionZone
from syncmgr.job.position import Position, has_passed
from syncmgr.job.rows.batch import Ddl
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog.cutoff import Cutoffs, Gtid
from syncmgr.sources.mysql.binlog.events import Query
from syncmgr.sources.mysql.binlog.nameless import Nameless
from syncmgr.sources.mysql.binlog.sessions import Begun
from syncmgr.sources.mysql.binlog.subscription import Subscription, subscriptions
from syncmgr.sources.mysql.binlog.table_columns import changed, check_types, schema_of, wanted_of
from syncmgr.sources.mysql.binlog.table_names import TableNames
from syncmgr.sources.mysql.binlog.unlogged import Unlogged
from syncmgr.sources.mysql.binlog.unlogged_tables import UnloggedTables
from syncmgr.sources.mysql.server.server_settings import ServerSettings
from syncmgr.sources.mysql.values.decoder import MOST_CELLS, RowsDecoder
from syncmgr.sources.mysql.values.table_map import parse
from syncmgr.sources.mysql.wire import MalformedEventError
from syncmgr.sources.port import ChannelPlan

_CAPITAL: Final = re.compile(r"[A-Z]")  # others may have no lower case on a server with an older Unicode
MAX_MAPS: Final = 4096
MOST_STATEMENT: Final = 4 << 20  # characters; 8192 partitions take a quarter of it
MAX_MAP_BYTES: Final = 64 << 20  # of all of them, and of any one that is not forgotten at once


@dataclass(frozen=True, eq=False, slots=True)
class Subscribed:
    """A subscribed table under one table map. `logged`: the columns by their names, None if it has none."""

    table: Table
    decoder: RowsDecoder
    logged: SourceTable | None


class Subscriptions:
    """Used by one thread. `followed`: the tables whose DDL matters. Of the families of
    `unlogged_tables` it matters that a table appears.

    `server`: its settings, since it was connected to. `unlogged`: where a statement that is logged instead of rows
    leads, and what is known of sessions.
    """

    def __init__(
        self,
        tables: Mapping[Table, Subscription],
        address: str,
        unlogged: Unlogged,
        unlogged_tables: UnloggedTables | None = None,
        nameless: Nameless | None = None,
        *,
        most_cells: int = MOST_CELLS,
    ) -> None:
        """`most_cells`: of one event."""
        self.tables = dict(tables)
        self.followed = frozenset({*tables, *(shadow for each in tables.values() for shadow in each.shadows)})
        self.server = ServerSettings()
        self._address = address
        self.unlogged = unlogged
        self.unlogged_tables = unlogged_tables or UnloggedTables()
        self._most_cells = most_cells
        self._nameless = nameless or Nameless(table for table, each in tables.items() if each.nameless)
        self._names = TableNames(tables)
        afters = {table: each.after for table, each in tables.items() if each.after is not None}
        self._cutoffs = Cutoffs(afters, address)
        self._by_map: dict[bytes, Subscribed | None] = {}
        self._map_bytes = 0
        self._seen: dict[Table, tuple[SourceTable, bool]] = {}  # schema and whether it arrived with FULL metadata
        self._before: dict[Table, SourceTable] = {}  # as it arrived before statements, and as they left it
        self._met: Query | None = None  # the last one

    def connected(self, server: ServerSettings, begun: Begun | None) -> None:
        """`begun`: the sessions that begin after it; None: it is not known which do. Raises SOURCE_SCHEMA."""
        if server.folds != self.server.folds:  # a name seen before now means another table
            self._by_map, self._map_bytes = {}, 0
        self.server = server
        self.unlogged.connected(begun)
        if server.lowers:
            self._refuse_capitals()

    def _refuse_capitals(self) -> None:
        """In the name of a table, if the server stores names in lower case. Raises SOURCE_SCHEMA.

        Versions that stored such names read no row under them; present ones, and RESYNC, store the server's own.
        """
        for table in self.tables:
            if _CAPITAL.search("".join(table)):
                lost = "and an earlier version read no row of it while it called it so, so that rows may be missing"
                raise changed(table, f"the server keeps its name in lower case, {lost}; RESYNC TABLE reads all of it")

    @property
    def begin_later(self) -> bool:
        """Whether there is a table whose changes up to some place are not wanted."""
        return bool(self._cutoffs)

    def is_early(self, body: bytes, gtid: Gtid | None, here: Position) -> bool:
        """Whether a table map, which ends before `here`, is before that place.

        Raises SyncError if it is not known.
        """
        return self._cutoffs.is_early(self._table(body), gtid, here)

    def passed(self, gtid: Gtid | None, here: Position) -> frozenset[Table]:
        """The tables that begin after a transaction, which ends before `here`. Raises SyncError as `is_early` does."""
        return self._cutoffs.passed(gtid, here)

    def of(self, body: bytes) -> Subscribed | None:
        """The table of a table map's body, None if it is not wanted. Raises SyncError, MalformedEventError."""
        found = self._by_map[body] if body in self._by_map else self._found(body)
        if found is not None:
            of = self.tables[found.table]
            self._nameless.heed(found.table, of.schema if of.known_at is None else None, found.logged)
        return found

    def _found(self, body: bytes) -> Subscribed | None:
        name = self._table(body)
        if name not in self.tables and self._leaver(name) is not None:
            raise self._not_left(name)
        if len(self._by_map) >= MAX_MAPS or self._map_bytes + len(body) > MAX_MAP_BYTES:
            self._by_map, self._map_bytes = {}, 0
        self._map_bytes += len(body)
        if name not in self.tables and self.unlogged_tables.heed(name):
            return None
        found = self._by_map[body] = self._resolve(body, name) if name in self.tables else None
        return found

    def _table(self, body: bytes) -> Table:
        return self._names.known_as(_name(body), folds=self.server.folds)

    def _leaver(self, name: Table) -> Table | None:
        return self._names.leaver(name, folds=self.server.folds)

    def _resolve(self, body: bytes, table: Table) -> Subscribed:
        table_map = replace(parse(body, mariadb=self.server.mariadb), db=table[0], name=table[1])
        subscription = self.tables[table]
        if subscription.gone and subscription.known_at is None:
            raise changed(table, f"rows of it came, though {RECREATED}")
        schema = schema_of(table_map, subscription, mariadb=self.server.mariadb)
        wanted = wanted_of(table_map, schema, subscription, self._address)
        check_types(table, wanted, self._seen[table][0] if table in self._seen else subscription.schema)
        self._seen[table] = schema, table_map.full
        decoder = RowsDecoder(table_map, wanted, self._address, most_cells=self._most_cells)
        return Subscribed(table, decoder, schema if table_map.full else None)

    def _not_left(self, name: Table) -> SyncError:
        """MariaDB logs RENAME TABLE of a session's temporary table like any other, although it leaves out its
        CREATE.
        """
        here = ".".join(name)
        what = (
            f"rows of {here} came, the name that it had before a RENAME, so the server renamed another table, such as "
        )
        return changed(self._leaver(name) or name, f"{what}a temporary one; RESYNC TABLE {here} reads {here} again")

    @property
    def nameless(self) -> Nameless:
        """Through all results of `following`."""
        return self._nameless

    def stands_for_rows(self, query: Query, at: int, here: Position, passed: Collection[Table]) -> bool:
        """Whether it was logged instead of the rows that it changed. If they may be subscribed ones, it raises
        SOURCE_NOT_ROW, SOURCE_UNSEEN or SOURCE_LATE. `at`: its second; `here`: where it begins. `passed`: tables whose
        rows were read after it.
        """
        tables = [table for table in self.tables if table not in passed]
        return self.unlogged.heed(query, self._modes(query), tables, at, here)

    def begins(self, query: Query) -> bool:
        """Whether it is a CREATE TABLE whose rows follow in its transaction."""
        return ddl.begins(query.text, query.db, self._modes(query))

    def met(
        self, query: Query, at: int, here: Position, own: frozenset[Table], *, followable: bool, with_rows: bool
    ) -> Ddl | None:
        """A statement about a table that is followed. `at`: its second; `followable`: it has a place of its own, after
        `here`. `own`: temporary ones of its session. `with_rows`: rows follow it in its transaction. Raises SOURCE_DDL
        for one that is too long to be stored.
        """
        self._reach(here)
        if own and is_temporary(query.text, query.db, own, self._modes(query), used=query.temporary):
            return None
        concerned = ddl.meant(query.text, query.db, self.followed, self._modes(query), with_rows=with_rows)
        if concerned and len(query.text) > MOST_STATEMENT:
            reason = f"it has {len(query.text)} characters, and at most {MOST_STATEMENT} are followed"
            raise not_followed(concerned[0], reason, query.text)
        doubtful = self._is_doubtful(query, here)
        statement = replace(self._ddl_statement(query, at), own=own, doubtful=doubtful) if followable else None
        if not concerned and statement is not None:
            concerned = self._joining(statement)
        self._met = query
        if not concerned:
            return None
        return Ddl(table=concerned[0], statement=query.text, rows_survive=False, followable=statement)

    def _is_doubtful(self, query: Query, here: Position) -> bool:
        if not query.temporary or self.unlogged.knows_session(query, here):
            return False
        facts = {"numbered": query.numbered, "names_databases": query.names_databases}
        return may_be_temporary(query.text, query.db, self._modes(query), **facts)

    def _joining(self, statement: DdlStatement) -> tuple[Table, ...]:
        """Not about a table that is read, but about one that is to be."""
        if not self.unlogged_tables.families:
            return ()
        altered = ddl.altered(statement.text, statement.db, statement.modes)
        if altered is not None:
            self.unlogged_tables.heed(altered)
        return tuple(filter(self.unlogged_tables.has, ddl.arrivals(statement.text, statement.db, statement.modes)))

    def _modes(self, query: Query) -> Modes:
        return Modes(
            ansi_quotes=bool(query.sql_mode & wire.ANSI_QUOTES),
            no_backslash=bool(query.sql_mode & wire.NO_BACKSLASH_ESCAPES),
            strict=bool(query.sql_mode & wire.STRICT),
            mariadb=self.server.mariadb,
            folds=self.server.folds,
            dates_nulls=not self._explicit(query),
            oracle=self.server.mariadb and bool(query.sql_mode & wire.ORACLE),
            pads=bool(query.sql_mode & wire.PAD_CHAR_TO_FULL_LENGTH),
            short_reals=bool(query.sql_mode & wire.REAL_AS_FLOAT),
            keys_beside=self.server.keys_beside,
            keeps_zeros=bool(query.sql_mode & wire.NO_AUTO_VALUE_ON_ZERO),
            empty_nulls=self.server.mariadb and bool(query.sql_mode & wire.EMPTY_STRING_IS_NULL),
            maxdb=self.server.mariadb and bool(query.sql_mode & wire.MAXDB),
            client=query.client,
            connection=query.connection,
        )

    def _explicit(self, query: Query) -> bool:
        if query.explicit_defaults is not None:
            return query.explicit_defaults
        if self.server.session_defaults:
            return query.mariadb_explicit_defaults
        return self.server.explicit_defaults

    def _ddl_statement(self, query: Query, at: int) -> DdlStatement:
        zone = SessionZone(name=query.zone, system=self.server.system_zone)
        return DdlStatement(
            text=query.text,
            db=query.db,
            modes=self._modes(query),
            moment=Moment(at=at, micros=query.micros, zone=zone),
            seen=self._logged_columns,
            unknown=frozenset(table for table, each in self.tables.items() if each.known_at is not None),
            logs_cascades=self.server.logs_cascades,
        )

    def known(self) -> dict[Table, SourceTable]:
        """The tables whose stored schema is the present one, by which rows without names are read."""
        found = {table: each.schema for table, each in self.tables.items() if each.known_at is None}
        return {table: schema for table, schema in found.items() if schema is not None and schema.columns}

    def _reach(self, here: Position) -> None:
        """From there on the stored schemas are those of the tables, as DDL changes them."""
        for table, each in self.tables.items():
            if each.known_at is not None and has_passed(here, each.known_at):
                self.tables[table] = replace(each, known_at=None)
                self._before.pop(table, None)

    def following(self, channels: Iterable[ChannelPlan], here: Position) -> "Subscriptions":
        """What is read after a DDL statement at that place."""
        tables, most = subscriptions(channels, here), self._most_cells
        self._nameless.renamed(table for table, each in tables.items() if each.nameless)
        made = Subscriptions(
            tables, self._address, self.unlogged, self.unlogged_tables, self._nameless, most_cells=most
        )
        made.server = self.server
        if self._met is not None:
            older = {table: seen for table, seen in self._logged_columns.items() if _is_older(tables.get(table))}
            made._before = older_statement.behind(older, self._met.text, self._met.db, self._modes(self._met))
        return made

    @property
    def _logged_columns(self) -> dict[Table, SourceTable]:
        """The tables as FULL metadata last described them."""
        return {**self._before, **{table: schema for table, (schema, full) in self._seen.items() if full}}


def _is_older(subscription: Subscription | None) -> bool:
    """Whether the place at which its schema is known was not reached."""
    return subscription is not None and subscription.known_at is not None


def _name(body: bytes) -> Table:
    """Database and table of a table map's body, without parsing the rest."""
    size = body[0]
    other = body[size + 2]
    try:
        return body[1 : size + 1].decode(), body[size + 3 : size + 3 + other].decode()
    except UnicodeDecodeError as error:
        raise MalformedEventError("a table name that is not UTF-8") from error
