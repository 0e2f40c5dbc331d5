"""Changes of a table of the lake, as values that survive a crash.

Owns: their shape. Columns are named as they are once the preceding change has been made.
Must not know: how a table format makes them, why.
"""

from dataclasses import dataclass

from syncmgr.job.types.schema import TargetType


@dataclass(frozen=True, kw_only=True, slots=True)
class DropField:
    """The column is dropped with its values."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameField:
    """All renames of one DDL are made at once, after all drops: two columns may exchange their names."""

    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AddField:
    """`initial`: what older rows show, as JSON of default_value; None: NULL."""

    name: str
    type: TargetType
    comment: str = ""
    initial: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RetypeField:
    """The type grows; no row is rewritten."""

    name: str
    type: TargetType


@dataclass(frozen=True, kw_only=True, slots=True)
class RelaxField:
    """It takes NULL from now on."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CommentField:
    """Its comment."""

    name: str
    comment: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MoveField:
    """Right after another column; None: to the front."""

    name: str
    after: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EmptyTable:
    """Every row is deleted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FillField:
    """Older rows get a value, as JSON of default_value; all of them are rewritten."""

    name: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DropTable:
    """The table is dropped, if it still has that uuid; no other change goes with it."""

    uuid: str


LakeChange = (
    DropField
    | RenameField
    | AddField
    | RetypeField
    | RelaxField
    | CommentField
    | MoveField
    | EmptyTable
    | DropTable
    | FillField
)
