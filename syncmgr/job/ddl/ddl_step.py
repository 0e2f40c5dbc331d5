"""What a DDL statement made of a job, as values that are stored.

Owns: the step of one statement, and the record of what was done with it.
Must not know: how either came about, how a table is changed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.position import Position

READ_AGAIN: Final = "its rows are read again: some were read after the statement"
READ_ANEW: Final = "passed over, since all rows were read again after it"


@dataclass(frozen=True, kw_only=True, slots=True)
class DdlStep:
    """What a statement makes of a job. By channel token: channels without an entry stay as they are.

    `done`: in words, for every channel that the statement concerns. `at`: unix seconds of the source. `resynced`: of
    the channels whose rows are read again.
    """

    statement: str
    at: float = 0.0
    channels: Mapping[str, ChannelDescription] = field(default_factory=dict)
    changes: Mapping[str, tuple[LakeChange, ...]] = field(default_factory=dict)
    done: Mapping[str, str] = field(default_factory=dict)
    resynced: frozenset[str] = frozenset()

    @property
    def concerned(self) -> frozenset[str]:
        """Tokens of the channels that it changes, or whose target it changes."""
        return frozenset(self.channels.keys() | self.changes.keys())

    @property
    def dropped(self) -> frozenset[str]:
        """Tokens of the channels whose target is dropped, with whatever waits for it."""
        return frozenset(token for token, channel in self.channels.items() if channel.history.dropped)

    def without(self, tokens: Collection[str]) -> "DdlStep":
        """What it makes of the other channels."""
        return replace(
            self,
            channels={token: channel for token, channel in self.channels.items() if token not in tokens},
            changes={token: changes for token, changes in self.changes.items() if token not in tokens},
            done={token: done for token, done in self.done.items() if token not in tokens},
            resynced=self.resynced - frozenset(tokens),
        )

    def read_again(self, tokens: Collection[str]) -> "DdlStep":
        """With the rows of these channels, too."""
        again = {token: "; ".join(filter(None, (self.done.get(token), READ_AGAIN))) for token in tokens}
        return replace(self, done={**self.done, **again}, resynced=self.resynced | frozenset(tokens))

    def passed_over(self, tokens: Collection[str]) -> "DdlStep":
        """What it makes of the other channels, if the rows of these are read again after it."""
        rest = self.without(tokens)
        return replace(rest, done={**rest.done, **dict.fromkeys(self.done.keys() & tokens, READ_ANEW)})


class DdlState(StrEnum):
    """The outcome of a statement."""

    DONE = "DONE"
    REFUSED = "REFUSED"  # the table that it made does not join the job
    GONE = "GONE"  # that table no longer exists, or is not meant
    STOPPED = "STOPPED"  # its table is no longer read
    RESYNCED = "RESYNCED"  # it had stopped its table, whose rows have been read again since
    PAUSED = "PAUSED"
    SKIP = "SKIP"  # it is skipped at RESUME
    APPLY = "APPLY"  # another one is applied instead at RESUME


@dataclass(frozen=True, kw_only=True, slots=True)
class DdlRecord:
    """What was done with a statement on one source table, or why not. `at`: unix seconds of the source.

    `instead`: what APPLY applies.
    """

    position: Position
    at: float
    table: str
    statement: str
    state: DdlState
    outcome: str
    instead: str | None = None
