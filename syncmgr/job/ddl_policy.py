"""What happens to a DDL statement on a synced table, as one table.

Owns: kind of DDL x policy -> what is done.
Must not know: statements, targets, how it is done.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class OnDdl(StrEnum):
    """The property `on_ddl` of a job."""

    EVOLVE = "evolve"
    ADD_ONLY = "add_only"
    IGNORE = "ignore"
    PAUSE = "pause"


class OnDdlStop(StrEnum):
    """The property `on_ddl_stop` of a job: what stops if a statement cannot be followed."""

    TABLE = "table"  # while another table is still read; the last one stops the job
    JOB = "job"


class Kind(StrEnum):
    """What a statement does, in the words of docs/sql.md."""

    ADD_COLUMN = "ADD COLUMN"
    OLD_VALUES = "ADD COLUMN whose values in old rows cannot be known"
    DROP_COLUMN = "DROP COLUMN"
    RENAME_COLUMN = "RENAME COLUMN, CHANGE"
    WIDEN = "MODIFY to a type that holds more"
    NULLABLE = "MODIFY to NULL"
    MOVE = "FIRST, AFTER"
    COMMENT = "COMMENT of a column"
    CONVERT = "MODIFY that may change values"
    KEY = "another key"
    TRUNCATE = "TRUNCATE TABLE"
    DROP_TABLE = "DROP TABLE, DROP DATABASE"
    CREATE_TABLE = "CREATE TABLE of a synced name that was dropped"
    RENAME_TABLE = "RENAME TABLE"
    SWAP_TABLE = "RENAME of another table to a synced name"
    ROWS = "rows change without row events"
    UNREAD = "a statement that cannot be parsed"


class Action(StrEnum):
    """What is done."""

    APPLY = "applied"
    KEEP = "kept"  # the target stays as it is, the job goes on
    PAUSE = "stopped"  # its table, or its job
    RESYNC = "resynced"  # the rows are read again


EVOLVE, ADD_ONLY, IGNORE, PAUSE = OnDdl
A, K, P = Action.APPLY, Action.KEEP, Action.PAUSE

RULES: Final[Mapping[Kind, Mapping[OnDdl, Action]]] = {
    Kind.ADD_COLUMN: {EVOLVE: A, ADD_ONLY: A, IGNORE: K, PAUSE: P},
    Kind.OLD_VALUES: {EVOLVE: P, ADD_ONLY: P, IGNORE: K, PAUSE: P},
    Kind.DROP_COLUMN: {EVOLVE: A, ADD_ONLY: K, IGNORE: K, PAUSE: P},
    Kind.RENAME_COLUMN: {EVOLVE: A, ADD_ONLY: K, IGNORE: K, PAUSE: P},
    Kind.WIDEN: {EVOLVE: A, ADD_ONLY: A, IGNORE: P, PAUSE: P},
    Kind.NULLABLE: {EVOLVE: A, ADD_ONLY: A, IGNORE: P, PAUSE: P},
    Kind.MOVE: {EVOLVE: A, ADD_ONLY: K, IGNORE: K, PAUSE: K},
    Kind.COMMENT: {EVOLVE: A, ADD_ONLY: K, IGNORE: K, PAUSE: K},
    Kind.CONVERT: dict.fromkeys(OnDdl, P),
    Kind.KEY: dict.fromkeys(OnDdl, P),
    Kind.TRUNCATE: {EVOLVE: A, ADD_ONLY: K, IGNORE: K, PAUSE: P},
    Kind.DROP_TABLE: {EVOLVE: K, ADD_ONLY: K, IGNORE: K, PAUSE: P},
    Kind.CREATE_TABLE: {EVOLVE: A, ADD_ONLY: P, IGNORE: P, PAUSE: P},
    Kind.RENAME_TABLE: {EVOLVE: A, ADD_ONLY: A, IGNORE: A, PAUSE: P},
    Kind.SWAP_TABLE: dict.fromkeys(OnDdl, P),
    Kind.ROWS: {EVOLVE: P, ADD_ONLY: P, IGNORE: K, PAUSE: P},
    Kind.UNREAD: dict.fromkeys(OnDdl, P),
}
MEANING: Final[Mapping[tuple[Kind, Action], str]] = {
    (Kind.ADD_COLUMN, A): "the target gets it; older rows show MySQL's default",
    (Kind.ADD_COLUMN, K): "not synced",
    (Kind.OLD_VALUES, K): "not synced",
    (Kind.DROP_COLUMN, A): "dropped from the target",
    (Kind.DROP_COLUMN, K): "stays in the target, NULL in new rows",
    (Kind.RENAME_COLUMN, A): "renamed in the target",
    (Kind.RENAME_COLUMN, K): "the target's column keeps its name",
    (Kind.WIDEN, A): "the target's type is widened",
    (Kind.NULLABLE, A): "the target's column allows NULL",
    (Kind.MOVE, A): "moved in the target",
    (Kind.MOVE, K): "not moved",
    (Kind.COMMENT, A): "commented in the target",
    (Kind.COMMENT, K): "not commented",
    (Kind.CONVERT, A): "the target's column keeps what it has; a new one has the values from then on",
    (Kind.TRUNCATE, A): "the target is emptied",
    (Kind.TRUNCATE, K): "the target keeps its rows",
    (Kind.DROP_TABLE, A): "the target is dropped, and the job continues without the table",
    (Kind.DROP_TABLE, K): "the target keeps its rows",
    (Kind.CREATE_TABLE, A): "the target is emptied and gets the columns of the new table",
    (Kind.RENAME_TABLE, A): "the job reads the table under its new name",
    (Kind.ROWS, K): "the target keeps its rows",
}


# Properties that specify one kind, whatever on_ddl says.
OF_ONE_KIND: Final[Mapping[str, tuple[Kind, Mapping[str, Action]]]] = {
    "on_drop_column": (Kind.DROP_COLUMN, {"drop": A, "keep": K, "pause": P}),
    "on_old_values": (Kind.OLD_VALUES, {"pause": P, "null": A}),
    "on_type_change": (Kind.CONVERT, {"new_column": A, "pause": P}),
    "on_truncate": (Kind.TRUNCATE, {"apply": A, "ignore": K, "pause": P}),
    "on_drop_table": (Kind.DROP_TABLE, {"keep": K, "drop": A, "pause": P}),
    "on_rows_change": (Kind.ROWS, {"pause": P, "keep": K, "resync": Action.RESYNC}),
}


def deeds_of(properties: Mapping[str, str]) -> dict[Kind, Action]:
    """What a job's properties specify for single kinds."""
    return {kind: deeds[properties[name]] for name, (kind, deeds) in OF_ONE_KIND.items() if name in properties}


def stop_of(properties: Mapping[str, str]) -> OnDdlStop:
    """What stops; if every statement is to pause, then it is the job."""
    pauses = properties.get("on_ddl") == OnDdl.PAUSE
    return OnDdlStop(properties.get("on_ddl_stop", OnDdlStop.JOB if pauses else OnDdlStop.TABLE))


def meaning(kind: Kind, policy: OnDdl) -> str:
    """For docs/sql.md and the log."""
    deed = RULES[kind][policy]
    return "stops" if deed is Action.PAUSE else MEANING[kind, deed]
