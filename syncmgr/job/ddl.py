"""What a statement in the stream does to synced tables without saying it row by row.

Owns: which tables and columns a DDL statement concerns and whether their rows live through it. When in doubt: all
mentioned tables, and no.
Must not know: where the statement came from, what becomes of the job.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncmgr.job.schema import GEOMETRY, TEXT, SourceColumn, arrow_type

if TYPE_CHECKING:
    from syncsql.tokens import Token

Table = tuple[str, str]

_CONDITIONAL: Final = re.compile(r"/\*M?!\d*")  # whatever the version: the server that logged it has run it
_DML: Final = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH", "CALL", "DO"})
_HARMLESS: Final = frozenset(
    {"GRANT", "REVOKE", "SET", "FLUSH", "ANALYZE", "OPTIMIZE", "REPAIR", "CHECK", "INSTALL", "UNINSTALL", "RESET"},
)
_WITHOUT_ROWS: Final = frozenset(
    {
        "AGGREGATE",
        "DEFINER",
        "EVENT",
        "FULLTEXT",
        "FUNCTION",
        "INDEX",
        "INSTANCE",
        "LOGFILE",
        "PACKAGE",
        "PREPARE",
        "PROCEDURE",
        "RESOURCE",
        "ROLE",
        "SEQUENCE",
        "SERVER",
        "SPATIAL",
        "SQL",
        "TABLESPACE",
        "TEMPORARY",
        "TRIGGER",
        "UNDO",
        "UNIQUE",
        "USER",
        "VIEW",
        "ALGORITHM",
    },
)
# how clauses of ALTER TABLE begin that leave every row and column as it is
_QUIET_CLAUSES: Final = (
    "ALGORITHM",
    "ALTER",
    "ANALYZE",
    "AUTO_INCREMENT",
    "AUTOEXTEND_SIZE",
    "AVG_ROW_LENGTH",
    "CHARACTER",
    "CHARSET",
    "CHECK",
    "CHECKSUM",
    "COALESCE",
    "COLLATE",
    "COMMENT",
    "COMPRESSION",
    "CONNECTION",
    "CONVERT TO",
    "DEFAULT",
    "DELAY_KEY_WRITE",
    "DISABLE",
    "ENABLE",
    "ENCRYPTION",
    "ENGINE",
    "ENGINE_ATTRIBUTE",
    "FORCE",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "LOCK",
    "MAX_ROWS",
    "MIN_ROWS",
    "NOWAIT",
    "OPTIMIZE",
    "ORDER",
    "PACK_KEYS",
    "PAGE_CHECKSUM",
    "PAGE_COMPRESSED",
    "PARTITION",
    "REBUILD",
    "REMOVE",
    "RENAME INDEX",
    "RENAME KEY",
    "REORGANIZE",
    "REPAIR",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SECONDARY_LOAD",
    "SECONDARY_UNLOAD",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "TABLESPACE",
    "TRANSACTIONAL",
    "WAIT",
    "WITH",
    "WITHOUT",
)
_NO_COLUMN: Final = frozenset(
    {
        "INDEX",
        "KEY",
        "UNIQUE",
        "FULLTEXT",
        "SPATIAL",
        "FOREIGN",
        "CHECK",
        "CONSTRAINT",
        "PARTITION",
        "PRIMARY",
        "PERIOD",
    },
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Concern:
    """What a statement does to synced tables.

    `rows_survive` False: rows changed, or came or went, without row events. `columns`, folded: those that were added,
    dropped, renamed or computed anew, so that their values are not what earlier row events said.
    """

    tables: tuple[Table, ...]
    rows_survive: bool
    columns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Effect:
    tables: tuple[Table, ...]
    rows_survive: bool
    columns: frozenset[str] = frozenset()
    database: str | None = None  # every table of it


class _UnclearError(ValueError):
    """A statement that this module cannot read to its end."""


def concerned(statement: str, default_db: str, synced: Collection[Table]) -> Concern | None:
    """What a statement outside any transaction does to the synced tables, None if nothing."""
    try:
        effect = _effect(_tokens(statement), default_db)
    except _UnclearError:
        tables = mentioned(statement, synced)
        return Concern(tables=tables, rows_survive=False) if tables else None
    named = {_folded(table) for table in effect.tables}
    database = effect.database.casefold() if effect.database is not None else None
    hit = tuple(t for t in synced if _folded(t) in named or t[0].casefold() == database)
    return Concern(tables=hit, rows_survive=effect.rows_survive, columns=effect.columns) if hit else None


def changes_rows(statement: str) -> bool:
    """Whether it is a statement in place of row events: binlog_format was not ROW."""
    try:
        return _tokens(statement)[0].text.upper() in _DML
    except (_UnclearError, IndexError):
        return False


def mentioned(statement: str, synced: Collection[Table]) -> tuple[Table, ...]:
    """The synced tables whose bare name stands anywhere in the text."""
    text = statement.casefold()
    return tuple(t for t in synced if re.search(rf"(?<!\w){re.escape(t[1].casefold())}(?!\w)", text))


def touched(statement: str, default_db: str, synced: Collection[Table]) -> tuple[Table, ...]:
    """The synced tables that a row-changing statement can mean: a qualified name only in its own database."""
    return tuple(table for table in mentioned(statement, synced) if _can_mean(statement, default_db, table))


def _can_mean(statement: str, default_db: str, table: Table) -> bool:
    db, name = (part.casefold() for part in table)
    named = re.compile(rf"(?:([\w$]+|`[^`]+`)\s*\.\s*)?`?(?<!\w){re.escape(name)}(?!\w)")
    qualifiers = (found[1] for found in named.finditer(statement.casefold()))
    return any((default_db.casefold() if each is None else each.strip("`")) == db for each in qualifiers)


def keeps_values(old: SourceColumn, new: SourceColumn) -> bool:
    """Whether every value that a column held is still the same one after its type became `new`."""
    if old == new or {old.type, new.type} <= GEOMETRY:
        return True
    if arrow_type(old) != arrow_type(new) or old.unsigned != new.unsigned:
        return False
    if old.type in TEXT and new.type in TEXT:
        wider = not old.length or new.length >= old.length or not new.length
        return wider and new.charset in {old.charset, "utf8mb4"}
    if old.type != new.type or old.charset != new.charset:
        return False
    if old.type == "time":
        return old.precision == new.precision  # its text shows the digits
    same_labels = new.members[: len(old.members)] == old.members
    return same_labels and new.precision >= old.precision and (new.length >= old.length or not new.length)


def _folded(table: Table) -> Table:
    return table[0].casefold(), table[1].casefold()


def _tokens(statement: str) -> "Sequence[Token]":
    from syncsql.errors import SqlSyntaxError  # sqlglot is slow to import, and DDL is rare
    from syncsql.tokens import statements

    try:
        parts = list(statements(_CONDITIONAL.sub("/*!", statement)))
    except SqlSyntaxError as error:
        raise _UnclearError from error
    if len(parts) != 1 or "/*!" in parts[0].source:
        raise _UnclearError
    return parts[0].tokens


class _Words:
    """A cursor over tokens; keywords are compared in upper case and never match quoted names."""

    def __init__(self, tokens: "Sequence[Token]") -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at >= len(self._tokens)

    def _word(self, ahead: int = 0) -> str:
        at = self._at + ahead
        if at >= len(self._tokens) or self._tokens[at].kind in {"NAME", "STRING"}:
            return ""
        return self._tokens[at].text.upper()

    def peek(self, *words: str) -> bool:
        return all(self._word(i) == word for i, word in enumerate(words))

    def skip(self, *words: str) -> bool:
        if not self.peek(*words):
            return False
        self._at += len(words)
        return True

    def skip_any(self, words: Collection[str]) -> bool:
        if self._word() not in words or self.done:
            return False
        self._at += 1
        return True

    def name(self) -> str:
        if self.done or self._tokens[self._at].kind not in {"NAME", "WORD", "STRING"}:
            raise _UnclearError
        self._at += 1
        return self._tokens[self._at - 1].text

    def table(self, default_db: str) -> Table:
        first = self.name()
        return (first, self.name()) if self.skip(".") else (default_db, first)

    def tables(self, default_db: str) -> tuple[Table, ...]:
        found = [self.table(default_db)]
        while self.skip(","):
            found.append(self.table(default_db))
        return tuple(found)

    def clauses(self) -> "Iterator[_Words]":
        """What stands between commas outside all parentheses."""
        depth, begin = 0, self._at
        for at in range(self._at, len(self._tokens)):
            token = self._tokens[at]
            if token.kind != "SIGN":
                continue
            depth += (token.text == "(") - (token.text == ")")
            if token.text == "," and depth == 0:
                yield _Words(self._tokens[begin:at])
                begin = at + 1
        yield _Words(self._tokens[begin:])

    def contains(self, *words: str) -> bool:
        return any(_Words(self._tokens[at:]).peek(*words) for at in range(self._at, len(self._tokens)))

    def inside(self) -> "_Words":
        """The tokens between the parentheses that enclose the rest."""
        return _Words(self._tokens[self._at + 1 : -1])


_NOTHING: Final = _Effect((), rows_survive=True)


def _effect(tokens: "Sequence[Token]", default_db: str) -> _Effect:
    words = _Words(tokens)
    if words.skip("ALTER"):
        return _alter(words, default_db)
    if words.skip("CREATE"):
        return _create(words, default_db)
    if words.skip("DROP"):
        return _drop(words, default_db)
    if words.skip("RENAME"):
        return _rename(words, default_db)
    if words.skip("TRUNCATE"):
        words.skip("TABLE")
        return _Effect((words.table(default_db),), rows_survive=False)
    if words.skip_any(_HARMLESS):
        return _NOTHING
    raise _UnclearError


def _create(words: _Words, default_db: str) -> _Effect:
    replaces = words.skip("OR", "REPLACE")
    if words.skip_any({"DATABASE", "SCHEMA"}):
        words.skip("IF", "NOT", "EXISTS")
        return _Effect((), rows_survive=False, database=words.name()) if replaces else _NOTHING
    if words.skip("TABLE"):
        words.skip("IF", "NOT", "EXISTS")  # without OR REPLACE: it is there, or something before has dropped it
        return _Effect((words.table(default_db),), rows_survive=False) if replaces else _NOTHING
    return _without_rows(words)


def _drop(words: _Words, default_db: str) -> _Effect:
    if words.skip_any({"DATABASE", "SCHEMA"}):
        words.skip("IF", "EXISTS")
        return _Effect((), rows_survive=False, database=words.name())
    if words.skip_any({"TABLE", "TABLES"}):
        words.skip("IF", "EXISTS")
        return _Effect(words.tables(default_db), rows_survive=False)
    return _without_rows(words)


def _rename(words: _Words, default_db: str) -> _Effect:
    if not words.skip_any({"TABLE", "TABLES"}):
        return _without_rows(words)
    words.skip("IF", "EXISTS")
    found: list[Table] = []
    for pair in words.clauses():
        found.append(pair.table(default_db))
        if not pair.skip("TO"):
            raise _UnclearError
        found.append(pair.table(default_db))
    return _Effect(tuple(found), rows_survive=False)


def _without_rows(words: _Words) -> _Effect:
    words.skip_any({"ONLINE", "OFFLINE"})
    if words.skip_any(_WITHOUT_ROWS):
        return _NOTHING
    raise _UnclearError


def _alter(words: _Words, default_db: str) -> _Effect:
    words.skip_any({"ONLINE", "OFFLINE"})
    drops_duplicates = words.skip("IGNORE")
    if not words.skip("TABLE"):
        return _NOTHING if words.skip_any({"DATABASE", "SCHEMA"}) else _without_rows(words)
    words.skip("IF", "EXISTS")
    tables, survive, columns = [words.table(default_db)], not drops_duplicates, set[str]()
    for clause in words.clauses():
        found = _clause(clause, default_db)
        tables += found.tables
        survive &= found.rows_survive
        columns |= found.columns
    return _Effect(tuple(tables), survive, frozenset(columns))


def _clause(words: _Words, default_db: str) -> _Effect:
    if words.done or any(words.peek(*quiet.split()) for quiet in _QUIET_CLAUSES):
        return _NOTHING
    if words.skip("RENAME"):
        return _rename_clause(words, default_db)
    if words.skip("ADD"):
        return _add_clause(words)
    if words.skip("DROP"):
        return _drop_clause(words)
    if words.skip("CHANGE"):
        return _change_clause(words)
    if words.skip("MODIFY"):
        words.skip("COLUMN")
        words.skip("IF", "EXISTS")
        name = words.name()
        return _columns(name) if _computed(words) else _NOTHING
    if words.skip("EXCHANGE", "PARTITION"):
        words.name()
        if words.skip("WITH", "TABLE"):
            return _Effect((words.table(default_db),), rows_survive=False)
    return _Effect((), rows_survive=False)  # TRUNCATE, DISCARD, IMPORT, and what we do not know


def _columns(*names: str) -> _Effect:
    return _Effect((), rows_survive=True, columns=frozenset(name.casefold() for name in names))


def _computed(words: _Words) -> bool:
    return words.contains("AS", "(") or words.contains("GENERATED")


def _rename_clause(words: _Words, default_db: str) -> _Effect:
    if words.skip("COLUMN"):
        words.skip("IF", "EXISTS")
        old = words.name()
        words.skip("TO")
        return _columns(old, words.name())
    words.skip_any({"TO", "AS", "="})
    return _Effect((words.table(default_db),), rows_survive=False)


def _add_clause(words: _Words) -> _Effect:
    explicit = words.skip("COLUMN")
    if not explicit and any(words.peek(word) for word in _NO_COLUMN):
        return _NOTHING
    words.skip("IF", "NOT", "EXISTS")
    if words.peek("("):
        return _columns(*(column.name() for column in words.inside().clauses()))
    return _columns(words.name())


def _drop_clause(words: _Words) -> _Effect:
    explicit = words.skip("COLUMN")
    if not explicit and words.peek("PARTITION"):
        return _Effect((), rows_survive=False)
    if not explicit and any(words.peek(word) for word in _NO_COLUMN):
        return _NOTHING
    if not explicit and words.peek("SYSTEM", "VERSIONING"):
        return _Effect((), rows_survive=False)
    words.skip("IF", "EXISTS")
    return _columns(words.name())


def _change_clause(words: _Words) -> _Effect:
    words.skip("COLUMN")
    words.skip("IF", "EXISTS")
    old, new = words.name(), words.name()
    if old.casefold() == new.casefold() and not _computed(words):
        return _NOTHING
    return _columns(old, new)
