"""What a run has instead of a snapshot if all rows are in the targets.

Owns: that nothing is left to be read.
Must not know: anything else.
"""

import threading
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from syncmgr.errors import SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import Load
from syncmgr.pipeline.standings import Standings


class NoSnapshot:
    """Answers as `Snapshot` does for tables whose rows are all in the targets."""

    is_catching_up = False

    def __init__(self, channels: Sequence[ChannelDescription]) -> None:
        self.standings = Standings(channels)

    def give_up(self) -> None: ...
    def run(self, ending: threading.Event, on_chunk: Callable[[], None]) -> None: ...
    def join(self) -> None: ...
    def read_as(self, channels: Iterable[ChannelDescription]) -> None: ...
    def committed(self, end: Position, behind: Container[str] = ()) -> None: ...

    def is_due(self) -> bool:
        return False

    def load(self, _token: str) -> Load | None:
        return None

    def reshapes(self, _token: str) -> bool:
        return False

    def renews(self, _token: str) -> bool:
        return False

    def points(self) -> dict[str, Position]:
        return {}

    def trouble(self) -> SyncError | None:
        return None

    def whole(self, _end: Position) -> bool:
        return True

    def begun_anew(self, step: DdlStep, _end: Position) -> AbstractContextManager[DdlStep]:
        return nullcontext(step)

    def rates(self) -> dict[str, float]:
        return {}
