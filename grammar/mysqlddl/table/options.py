"""What CREATE and ALTER TABLE may contain besides columns and keys: options, partitions, clauses that change neither.

Owns: their names, and where each ends.
Must not know: columns, what any of it means for rows.
"""

from collections.abc import Callable, Mapping
from typing import Final

from mysqlddl.nodes import Table
from mysqlddl.words import NAME, NUMBER, WORD, Words

# Table options: name [=] one value.
_OPTIONS: Final = (
    "AUTO_INCREMENT",
    "AUTOEXTEND_SIZE",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "COMPRESSION",
    "CONNECTION",
    "DATA DIRECTORY",
    "DELAY_KEY_WRITE",
    "ENCRYPTED",
    "ENCRYPTION",
    "ENCRYPTION_KEY_ID",
    "ENGINE_ATTRIBUTE",
    "ENGINE",
    "FETCH_MODE",
    "IETF_QUOTES",
    "INDEX DIRECTORY",
    "INSERT_METHOD",
    "ITEF_QUOTES",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "NODEGROUP",
    "PACK_KEYS",
    "PAGE_CHECKSUM",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "PASSWORD",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SEQUENCE",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "TABLE_CHECKSUM",
    "TRANSACTIONAL",
    "TYPE",
)
CHARSETS: Final = (  # of a table; what follows is parsed where charsets are known
    "CHARACTER SET",
    "CHARSET",
    "CHAR SET",
    "DEFAULT CHARACTER SET",
    "DEFAULT CHARSET",
    "DEFAULT CHAR SET",
)
COLLATIONS: Final = ("DEFAULT COLLATE", "COLLATE")
# Engines that keep the rows of a table that is moved to them. BLACKHOLE drops them, others show rows from elsewhere.
KEEPING: Final = frozenset(
    {
        *("INNODB", "INNOBASE", "MYISAM", "ARIA", "MEMORY", "HEAP", "ARCHIVE", "CSV"),
        *("ROCKSDB", "TOKUDB", "NDB", "NDBCLUSTER", "COLUMNSTORE"),
    },
)
# Clauses of ALTER TABLE that consist only of their words.
_BARE: Final = (
    "FORCE",
    "DISABLE KEYS",
    "ENABLE KEYS",
    "WITH VALIDATION",
    "WITHOUT VALIDATION",
    "SECONDARY_LOAD",
    "SECONDARY_UNLOAD",
    "UPGRADE PARTITIONING",
    "REMOVE PARTITIONING",
    "NOWAIT",
)


def option(words: Words) -> str:
    """Take one table option; its name, "" if there is none here. Its value may be anything that MySQL allows."""
    if name := words.skip_phrase(_OPTIONS):
        words.skip("=")
        words.take()
        return name
    if words.sees("STORAGE", "DISK") or words.sees("STORAGE", "MEMORY"):
        words.take()
        words.take()
        return "STORAGE"
    return _by_hand(words) or _of_an_engine(words)


def _by_hand(words: Words) -> str:
    if words.skip("TABLESPACE"):
        words.skip("=")
        words.name()
        return "TABLESPACE"
    if words.skip("START", "TRANSACTION"):
        return "START TRANSACTION"
    if words.skip("WITH", "SYSTEM", "VERSIONING"):
        return "WITH SYSTEM VERSIONING"
    return ""


def _of_an_engine(words: Words) -> str:
    """MariaDB's engines have options of their own: name = value."""
    if not words.modes.mariadb or words.token.kind not in {WORD, NAME} or words.ahead(1).word != "=":
        return ""
    name = words.take().text
    words.take()
    words.take()
    return name


def merged(words: Words, db: str) -> tuple[Table, ...] | None:
    """UNION [=] (table, ...) of a MERGE table, if it is here."""
    if not words.skip("UNION"):
        return None
    words.skip("=")
    words.expect("(")
    tables = [] if words.sees(")") else words.listed(lambda: words.table(db))
    words.expect(")")
    return tuple(tables)


def comment(words: Words) -> str | None:
    """COMMENT [=] 'text' of a table, if it is here."""
    if not words.skip("COMMENT"):
        return None
    words.skip("=")
    return words.string()


def emptying(words: Words) -> str:
    """Take ENGINE = one that may not keep the rows of the table; its name, "" if there is none here."""
    if not words.sees("ENGINE"):
        return ""
    at = 2 if words.ahead(1).word == "=" else 1
    engine = words.ahead(at).text
    if engine.upper() in KEEPING:
        return ""
    for _ in range(at + 1):
        words.take()
    return engine


def quiet_clause(words: Words) -> str:
    """Take a clause of ALTER TABLE that touches neither rows nor columns; its name, "" if there is none here."""
    if name := words.skip_phrase(_BARE):
        return name
    for begin, rest in _CLAUSES.items():
        if words.skip(*begin.split()):
            rest(words)
            return begin
    return option(words)


def value(words: Words) -> None:
    words.skip("=")
    words.take()


def _order(words: Words) -> None:
    def column() -> None:
        words.name()
        while words.skip("."):
            words.name()
        words.skip_any({"ASC", "DESC"})

    words.listed(column)


def _renamed(words: Words) -> None:
    words.skip("IF", "EXISTS")
    words.name()
    words.expect("TO")
    words.name()


def _altered_index(words: Words) -> None:
    words.skip("IF", "EXISTS")
    words.name()
    if words.skip("NOT"):
        words.expect("IGNORED")
    elif not words.skip_any({"VISIBLE", "INVISIBLE", "IGNORED"}):
        raise words.unclear("VISIBLE or INVISIBLE")


def _altered_check(words: Words) -> None:
    words.name()
    words.skip("NOT")
    words.expect("ENFORCED")


def _names_or_all(words: Words) -> None:
    words.skip_any({"NO_WRITE_TO_BINLOG", "LOCAL"})
    if not words.skip("ALL"):
        words.listed(words.name)
    while words.skip_any({"FOR", "UPGRADE", "QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED", "USE_FRM"}):
        pass


def _coalesced(words: Words) -> None:
    words.skip_any({"NO_WRITE_TO_BINLOG", "LOCAL"})
    words.number()


def _reorganized(words: Words) -> None:
    words.skip_any({"NO_WRITE_TO_BINLOG", "LOCAL"})
    if not words.sees("INTO") and not words.done and not words.sees(","):
        words.listed(words.name)
    if words.skip("INTO"):
        words.brackets()


_CLAUSES: Final[Mapping[str, Callable[[Words], None]]] = {
    "ALGORITHM": value,
    "LOCK": value,
    "WAIT": value,
    "ORDER BY": _order,
    "RENAME INDEX": _renamed,
    "RENAME KEY": _renamed,
    "ALTER INDEX": _altered_index,
    "ALTER KEY": _altered_index,
    "ALTER CHECK": _altered_check,
    "ALTER CONSTRAINT": _altered_check,
    "ANALYZE PARTITION": _names_or_all,
    "CHECK PARTITION": _names_or_all,
    "OPTIMIZE PARTITION": _names_or_all,
    "REBUILD PARTITION": _names_or_all,
    "REPAIR PARTITION": _names_or_all,
    "SECONDARY_LOAD PARTITION": _names_or_all,
    "COALESCE PARTITION": _coalesced,
    "REORGANIZE PARTITION": _reorganized,
}


def partitioning(words: Words) -> bool:
    """PARTITION BY and all that belongs to it, if it is here."""
    if not words.skip("PARTITION", "BY"):
        return False
    _method(words)
    if words.skip("PARTITIONS"):
        words.number()
    if words.skip("SUBPARTITION", "BY"):
        _method(words)
        if words.skip("SUBPARTITIONS"):
            words.number()
    words.skip_brackets()
    return True


def _method(words: Words) -> None:
    words.skip("LINEAR")
    if words.skip("HASH"):
        words.brackets()
    elif words.skip("KEY"):
        if words.skip("ALGORITHM"):
            value(words)
        words.brackets()
    elif words.skip_any({"RANGE", "LIST"}):
        words.skip("COLUMNS")
        words.brackets()
        _interval(words)
    elif words.skip("SYSTEM_TIME"):
        _system_time(words)
    else:
        raise words.unclear("a way to partition")


def _interval(words: Words) -> None:
    if words.skip("INTERVAL"):
        words.take_value()


def _system_time(words: Words) -> None:
    """MariaDB's partitions by age."""
    while not words.done and not words.sees("PARTITIONS") and not words.sees("(") and not words.sees("SUBPARTITION"):
        words.take()


def new_partitions(words: Words) -> None:
    """What follows ADD PARTITION."""
    words.skip("IF", "NOT", "EXISTS")
    words.skip_any({"NO_WRITE_TO_BINLOG", "LOCAL"})
    if words.skip("PARTITIONS") or words.token.kind == NUMBER:
        words.number()
    else:
        words.brackets()
