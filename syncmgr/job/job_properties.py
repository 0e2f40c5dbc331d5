"""PROPERTIES of a job.

Owns: those besides the settings that a job may override, their checks, what they mean as values.
Must not know: statements' text, how the values are used.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncmgr.config.settings import SETTINGS, did_you_mean, find, parse
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl_policy import OF_ONE_KIND, Action, Kind, OnDdl, OnDdlStop, deeds_of, stop_of
from syncmgr.job.property import Property, wrong_property

PROPERTIES: Final = "PROPERTIES"


class AppendOnChange(StrEnum):
    """What an update or delete of the source does to a target without a key."""

    ERROR = "error"
    APPEND = "append"  # an update appends its new row, a delete appends nothing
    IGNORE = "ignore"


class OnValueError(StrEnum):
    """What a value that its target column cannot hold does."""

    STOP = "stop"  # its table stops before it; the last one pauses the job
    NULL = "null"  # NULL replaces it, if the target allows that
    DEAD_LETTER = "dead-letter"  # the row is not in the target as long as it has the value, and is reported


class WithoutKey(StrEnum):
    """What happens to a table without a key that matches a pattern."""

    REFUSE = "refuse"
    APPEND = "append"  # its target has no key, either


# Properties of a job besides the settings that it may override.
JOB_PROPERTIES: Final = (
    Property(
        "append_on_change",
        AppendOnChange.ERROR,
        "What an update or delete does to a target without a key: `error`, `append` or `ignore`.",
    ),
    Property(
        "tables_without_key",
        WithoutKey.REFUSE,
        "For a whole database: `refuse` the statement because of a table without a key, or `append` to its target.",
    ),
    Property(
        "on_ddl",
        OnDdl.EVOLVE,
        "What happens at DDL on a synced table: `evolve`, `add_only`, `ignore` or `pause`; see DDL.",
    ),
    Property("on_drop_column", "as on_ddl", "For a dropped column only: `drop` it, `keep` it with NULL, or `pause`."),
    Property("on_old_values", "pause", "If a new column's values in old rows cannot be known: `pause`, or `null`."),
    Property(
        "on_type_change",
        "pause",
        "For a type that changes values, or that the target cannot take: `pause`, or `new_column`, called `name__2`.",
    ),
    Property("on_truncate", "as on_ddl", "For TRUNCATE only: `apply`, `ignore` or `pause`."),
    Property(
        "on_drop_table",
        "as on_ddl",
        "For a dropped table only: `keep` the target's rows, `drop` the target, or `pause`.",
    ),
    Property(
        "on_rows_change",
        "as on_ddl",
        "For rows that change without row events, as by DROP PARTITION, only: `pause`, `keep` the target's rows, or "
        "`resync` them.",
    ),
    Property(
        "on_ddl_stop",
        "table, with on_ddl pause: job",
        "What stops at a statement that cannot be followed: only its `table`, until RESYNC TABLE, or the `job`. The "
        "last table that is still read stops the job; so does any table of a job on canal, which has no rows to "
        "bring.",
    ),
    Property(
        "on_value_error",
        OnValueError.STOP,
        "What a value that its target cannot hold does: `stop`, `null` or `dead-letter`; see Values that do not fit. "
        "If it is given, a target may be narrower than its source, and each value is checked.",
    ),
)
DDL_PROPERTIES: Final = ("on_ddl", "on_ddl_stop", *OF_ONE_KIND)  # of jobs whose source can follow DDL
_CHOICES: Final[Mapping[str, Collection[str]]] = {
    "append_on_change": list(AppendOnChange),
    "tables_without_key": list(WithoutKey),
    "on_ddl": list(OnDdl),
    "on_ddl_stop": list(OnDdlStop),
    "on_value_error": list(OnValueError),
    **{name: deeds for name, (_, deeds) in OF_ONE_KIND.items()},
}


def overrides_of(given: Mapping[str, str]) -> dict[str, str]:
    """The checked PROPERTIES of a job. Raises PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    names = [s.name for s in SETTINGS if s.job] + [p.name for p in JOB_PROPERTIES]
    for name, value in given.items():
        if name not in names:
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where=PROPERTIES, hint=did_you_mean(name, names))
        if name in _CHOICES:
            *choices, last = _CHOICES[name]
            if value not in [*choices, last]:
                raise wrong_property(name, value, f"it must be {', '.join(choices)} or {last}")
        else:
            try:
                parse(find(name), value)
            except SyncError as error:
                raise wrong_property(name, value, str(error.context["reason"])) from None
    return dict(given)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobProperties:
    """What they specify for DDL and rows. `actions`: for single kinds of DDL, if `on_ddl` is not to decide.
    `on_value_error` None: it is not given, and values are not checked.
    """

    on_ddl: OnDdl
    actions: Mapping[Kind, Action]
    on_ddl_stop: OnDdlStop
    append_on_change: AppendOnChange
    tables_without_key: WithoutKey
    on_value_error: OnValueError | None

    @property
    def checked(self) -> bool:
        """Whether each value is checked, so that a target may be narrower than its source."""
        return self.on_value_error is not None


def parsed(given: Mapping[str, str]) -> JobProperties:
    """Of checked ones."""
    on_value_error = given.get("on_value_error")
    return JobProperties(
        on_ddl=OnDdl(given.get("on_ddl", OnDdl.EVOLVE)),
        actions=deeds_of(given),
        on_ddl_stop=stop_of(given),
        append_on_change=AppendOnChange(given.get("append_on_change", AppendOnChange.ERROR)),
        tables_without_key=WithoutKey(given.get("tables_without_key", WithoutKey.REFUSE)),
        on_value_error=None if on_value_error is None else OnValueError(on_value_error),
    )
