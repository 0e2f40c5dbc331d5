"""The files of a commit before it is one.

Owns: what is known of them, for which tables they are good, and which folders failed attempts have left.
Must not know: when they are written or deleted, tokens.
"""

import threading
from dataclasses import dataclass, field

from syncmgr.job.epoch import ChannelCommit
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.index.key_index import Keys
from syncmgr.lake.spark.jvm import Java


@dataclass(kw_only=True, slots=True)
class Written:
    """Files that wait for their commit; they fit tables of this layout only. `keys`: those of their rows as
    the index with that `seed` numbers them.

    `gone`: the keys that vanish are among them. `sent`: a commit that names them was, and whatever it answered the
    table may have them. `beside`: paths in the folder that one attempt alone may name; the last one is that of the
    keys that go with a part.
    """

    folder: str
    layout: Layout
    gone: bool
    files: list[Java] | None = None
    keys: list[Keys] | None = None
    seed: int | None = None
    sent: bool = False
    beside: list[str] = field(default_factory=list)

    def fits(self, layout: Layout, *, gone: bool) -> bool:
        return self.layout == layout and (self.gone or not gone)


def name_of(folder: str) -> str:
    return folder.rsplit("/", 1)[-1]


class Strays:
    """Folders that failed attempts at an epoch left behind. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: dict[str, tuple[int, list[str]]] = {}  # by token: epoch, folders

    def of(self, channel: ChannelCommit) -> list[str]:
        """Those of this epoch, a list to which more may be added; those of earlier epochs are settled.

        Chunks are committed side by side, so that none may sweep for the others: their strays are orphans.
        """
        if channel.chunk is not None:
            return []
        with self._lock:
            epoch, folders = self._folders.get(channel.token, (channel.epoch, []))
            if epoch != channel.epoch:
                folders = []
            self._folders[channel.token] = channel.epoch, folders
            return folders
