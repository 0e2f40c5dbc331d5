"""The kinds of sources.

Owns: which kinds exist.
Must not know: what they are.
"""

from collections.abc import Mapping
from typing import Any, Final

from syncmgr.config.settings import Settings
from syncmgr.errors import Code, SyncError
from syncmgr.job.property import wrong_property
from syncmgr.job.source import BINLOG, SourceDescription
from syncmgr.sources.canal.kind import CANAL
from syncmgr.sources.mysql.kind import MYSQL
from syncmgr.sources.port import Source, SourceKind

KINDS: Final[dict[str, SourceKind]] = {"mysql": MYSQL, "canal": CANAL}  # by "type" of FROM BINLOG


def described(properties: Mapping[str, str]) -> SourceDescription:
    """The source of FROM BINLOG. Raises PROPERTY_MISSING, PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    name = properties.get("type")
    if name is None:
        raise SyncError(Code.PROPERTY_MISSING, name="type", where=BINLOG)
    kind = KINDS.get(name.lower())
    if kind is None:
        names = " or ".join(f'"{each}"' for each in KINDS)
        raise wrong_property("type", name, f"it must be {names}")
    return kind.described(properties)


def restored(kind: str, facts: Mapping[str, Any]) -> SourceDescription:
    """The source of a stored job, `kind` as its description has it. Raises SOURCE_KIND_UNKNOWN."""
    found = KINDS.get(kind.lower())
    if found is None:
        raise SyncError(Code.SOURCE_KIND_UNKNOWN, kind=kind, known=", ".join(KINDS))
    return found.restored(facts)


def source(description: SourceDescription, settings: Settings) -> Source:
    return KINDS[description.kind.lower()].source(description, settings)
