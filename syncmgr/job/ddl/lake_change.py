"""Changes of a table of the lake, as values that outlive a crash.

Owns: their shape. Columns are named as they are when the change before has been made.
Must not know: how a table format makes them, why.
"""

from dataclasses import dataclass

from syncmgr.job.types.schema import TargetType


@dataclass(frozen=True, kw_only=True, slots=True)
class DropField:
    """The column and its values go."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameField:
    """All renames of one DDL are made at once, behind all drops: two columns may exchange their names."""

    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AddField:
    """`initial`: what rows from before show, as JSON of default_value; None: NULL."""

    name: str
    type: TargetType
    comment: str = ""
    initial: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RetypeField:
    """The type grows; no row is written anew."""

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
    """Right behind another column; None: to the front."""

    name: str
    after: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EmptyTable:
    """Every row goes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FillField:
    """Rows from before get a value, as JSON of default_value; all of them are written anew."""

    name: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DropTable:
    """The table goes, if it is still the one of that uuid; nothing else is changed beside."""

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
