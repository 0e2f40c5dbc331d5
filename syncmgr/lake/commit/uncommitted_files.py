"""The files of a commit before it is one.

Owns: what is known of them, and for which tables they are good.
Must not know: when they are written or deleted, tokens.
"""

from dataclasses import dataclass, field

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
