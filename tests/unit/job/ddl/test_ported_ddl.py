"""What becomes of a job through the DDL that the tests of its forerunners have; the cases are in ported/.

A case is one statement a line, a line of dashes, and its outcome: what was done on each table, or why the job paused,
and the columns of a target that changed. A line `-- words` before the statements gives a policy or a mode.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mysqlddl.reading import Modes
from syncmgr.errors import SyncError
from syncmgr.job.channel.channel_plan import plan_channel
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_plan import DdlStatement, Rules, plan_ddl
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    EmptyTable,
    LakeChange,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.job.ddl.session_zone import SessionZone
from syncmgr.job.ddl_policy import OnDdl, deeds_of
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetColumn, TargetTable, TargetType
from syncmgr.lake.registry import FORMAT

PORTED = Path(__file__).parent / "ported"
TABLES = ("orders", "items")
MOMENT = Moment(at=1_700_000_000, micros=0, zone=SessionZone(name="UTC"))
SOURCE = SourceTable(
    db="shop",
    name="orders",
    columns=(
        SourceColumn(name="id", type="bigint", nullable=False, key=1),
        SourceColumn(name="a", type="int"),
        SourceColumn(name="b", type="varchar", length=20, charset="utf8mb4"),
        SourceColumn(name="n", type="int", nullable=False),
    ),
    charset="utf8mb4",
    unique=(),
)
TARGET = TargetTable(
    db="demo",
    name="orders",
    columns=(
        TargetColumn(name="id", type=TargetType(name="BIGINT"), nullable=False),
        TargetColumn(name="a", type=TargetType(name="INT")),
        TargetColumn(name="b", type=TargetType(name="VARCHAR", args=(20,))),
        TargetColumn(name="n", type=TargetType(name="INT"), nullable=False),
    ),
    keys=("id",),
    reserved_columns=FORMAT.reserved_columns,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    file: str
    words: tuple[str, ...]
    statements: tuple[str, ...]
    outcome: str

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.words)} {self.statements[-1][:60]}"


def cases() -> Iterator[Case]:
    for path in sorted(PORTED.glob("*.test")):
        for block in path.read_text().strip("\n").split("\n\n"):
            text, outcome = block.split("\n----\n")
            head, *rest = text.split("\n")
            words = head.removeprefix("-- ").split() if head.startswith("-- ") else []
            statements = rest if words else [head, *rest]
            yield Case(file=path.stem, words=tuple(words), statements=tuple(statements), outcome=outcome.rstrip("\n"))


class World:
    """A job on two tables without column lists, and its targets."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.modes = Modes(
            strict="loose" not in words,
            mariadb="mariadb" in words,
            ansi_quotes="ansi" in words,
            folds="folds" in words,
        )
        policies = [word for word in words if word in list(OnDdl)]
        self.policy = OnDdl(policies[0]) if policies else OnDdl.EVOLVE
        self.deeds = deeds_of(dict(word.split("=") for word in words if "=" in word))
        self.targets = {name: replace(TARGET, name=name) for name in TABLES}
        self.channels = [self._channel(name) for name in TABLES]
        self.told: list[str] = []

    def _channel(self, name: str) -> ChannelDescription:
        source = replace(SOURCE, name=name)
        return plan_channel(
            token=name, source=source, unique_keys=[("id",)], target=self.targets[name], items=(), where=None
        )

    def take(self, statement: str) -> bool:
        """Whether the job goes on."""
        said = DdlStatement(text=statement, db="shop", modes=self.modes, moment=MOMENT)
        rules = Rules(
            policy=self.policy,
            append_on_change=AppendOnChange.ERROR,
            describe=lambda channel: self.targets[channel.target],
            deeds=self.deeds,
        )
        try:
            step = plan_ddl(said, self.channels, rules)
        except SyncError as error:
            reason = str(error.context["reason"]).split("; settle it")[0]
            self.told.append(f"paused: {error.context['table']}: {reason}")
            return False
        self.told += [f"{token}: {done}" for token, done in step.done.items()]
        self.channels = [step.channels.get(channel.token, channel) for channel in self.channels]
        for token, changes in step.changes.items():
            self.targets[token] = changed(self.targets[token], changes)
        return True

    def outcome(self) -> str:
        shown = [f"{name}: {described(t)}" for name, t in self.targets.items() if t.columns != TARGET.columns]
        return "\n".join([*self.told, *shown]) or "nothing"


def described(target: TargetTable) -> str:
    parts = (f"{c.name} {c.type.text}{'' if c.nullable else ' NOT NULL'}" for c in target.columns)
    return ", ".join(parts)


def changed(target: TargetTable, changes: tuple[LakeChange, ...]) -> TargetTable:
    """As Iceberg makes them: what is dropped and renamed first."""
    gone = {change.name for change in changes if isinstance(change, DropField)}
    renames = {change.old: change.new for change in changes if isinstance(change, RenameField)}
    columns = [replace(c, name=renames.get(c.name, c.name)) for c in target.columns if c.name not in gone]
    for change in changes:
        columns = _one(columns, change)
    keys = tuple(renames.get(key, key) for key in target.keys)
    return replace(target, columns=tuple(columns), keys=keys)


def _one(columns: list[TargetColumn], change: LakeChange) -> list[TargetColumn]:
    match change:
        case AddField(name=name, type=kind):
            return [*columns, TargetColumn(name=name, type=kind)]
        case RetypeField(name=name, type=kind):
            return [replace(c, type=kind) if c.name == name else c for c in columns]
        case RelaxField(name=name):
            return [replace(c, nullable=True) if c.name == name else c for c in columns]
        case CommentField(name=name, comment=comment):
            return [replace(c, comment=comment) if c.name == name else c for c in columns]
        case MoveField(name=name, after=after):
            [moved] = [c for c in columns if c.name == name]
            rest = [c for c in columns if c.name != name]
            place = 0 if after is None else [c.name for c in rest].index(after) + 1
            return [*rest[:place], moved, *rest[place:]]
        case DropField() | RenameField() | EmptyTable():
            return columns


def outcome(case: Case) -> str:
    world = World(case.words)
    for statement in case.statements:
        if not world.take(statement):
            break
    return world.outcome()


CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_ported_case_has_its_outcome(case: Case) -> None:
    """The job goes on with what stands there, or pauses for the reason that stands there."""
    assert outcome(case) == case.outcome


def test_the_cases_are_many() -> None:
    """150 and more, of all policies."""
    assert len({(case.words, case.statements) for case in CASES}) >= 150
    assert {word for case in CASES for word in case.words} >= set(OnDdl) - {OnDdl.EVOLVE}
