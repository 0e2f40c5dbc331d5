"""Values of the core as JSON and back.

Owns: the stored form of sources, channels, positions and epochs; encryption of passwords.
Must not know: tables, connections.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final, get_args

from cryptography.fernet import Fernet, InvalidToken

from mysqlddl.words import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import (
    ChannelDescription,
    ChannelHistory,
    Listed,
    MappedColumn,
    PastDdl,
    Reshaped,
    Shadow,
)
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.epoch import Prepared, StagedFile
from syncmgr.job.failure import FailMsg, FailType
from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.source import SourceDescription
from syncmgr.job.types.charset import of_today
from syncmgr.job.types.schema import GeneratedColumn, SourceColumn, SourceTable, TargetType, UniqueKey
from syncmgr.sources.registry import restored

Json = dict[str, Any]
_CHANGES: Final = {kind.__name__: kind for kind in get_args(LakeChange)}


class Vault:
    """Encrypts passwords with a key next to the metadata, readable only by the owner."""

    def __init__(self, key_file: Path) -> None:
        if not key_file.exists():
            _make_key(key_file)
        self._file = key_file
        self._fernet = Fernet(key_file.read_bytes())

    def seal(self, text: str) -> str:
        return self._fernet.encrypt(text.encode()).decode()

    def open(self, sealed: str) -> str:
        """The text. Raises BAD_CONFIG if the key is not the one that encrypted it."""
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            message = f"{self._file} is not the key that encrypted the stored passwords"
            raise SyncError(Code.BAD_CONFIG, message=message) from error


def _make_key(key_file: Path) -> None:
    """Whole, and on the disk, before anything is encrypted with it: what it encrypted survives a power failure, too."""
    temporary = key_file.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600, exist_ok=False)
    with temporary.open("wb") as file:
        file.write(Fernet.generate_key())
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(key_file)
    folder = os.open(key_file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def source_json(source: SourceDescription, vault: Vault) -> Json:
    return source.facts() | {"kind": source.kind, "password": vault.seal(source.password)}


def source_of(stored: Json, vault: Vault) -> SourceDescription:
    facts = stored | {"password": vault.open(stored["password"])}
    kind = facts.pop("kind", "MYSQL")  # jobs of the first version have none
    return restored(kind, facts)


# fields of a channel that are stored under the names of the first version
_STORED: Final = {"takes_new_columns": "follows", "kept_columns": "left", "source_dropped": "gone"}
_HISTORY: Final = tuple(each.name for each in fields(ChannelHistory))
_PRESENT: Final = {stored: name for name, stored in _STORED.items()}


def channel_json(channel: ChannelDescription) -> Json:
    """The history's fields beside the others, as all versions store them."""
    facts = asdict(channel)
    facts |= facts.pop("history")
    return {_STORED.get(name, name): value for name, value in facts.items()}


def channel_of(stored: Json) -> ChannelDescription:
    stored = {_PRESENT.get(name, name): value for name, value in stored.items()}
    lists = {name: tuple(stored[name]) for name in ("keys", "source_keys", "reads")}
    made = {
        "columns": tuple(MappedColumn(**column) for column in stored["columns"]),
        "places": tuple(Listed(**each) for each in stored.get("places", ())),
        "source": _table_of(stored["source"]),
        "history": _history_of({name: stored.pop(name) for name in _HISTORY if name in stored}),
    }
    return ChannelDescription(**(stored | lists | made))


def _history_of(stored: Json) -> ChannelHistory:
    made = {
        "kept_columns": tuple(stored.get("kept_columns", ())),
        "shadows": tuple(map(_shadow_of, stored.get("shadows", ()))),
        "after": None if stored.get("after") is None else position_of(stored["after"]),
        "known_at": None if stored.get("known_at") is None else position_of(stored["known_at"]),
        "stopped": _stop_of(stored.get("stopped")),
        "reshaped": Reshaped(**stored.get("reshaped", {})),
    }
    return ChannelHistory(**(stored | made))


def _stop_of(stored: Json | str | None) -> Stop | None:
    """Jobs of earlier versions have only the reason, "" if there is none."""
    if isinstance(stored, str):
        return Stop(reason=stored) if stored else None
    return None if stored is None else Stop(**stored)


def _shadow_of(stored: Json) -> Shadow:
    alters = tuple(PastDdl(**(each | {"modes": _modes_of(each["modes"])})) for each in stored["alters"])
    triggers = tuple((name, event) for name, event in stored.get("triggers", ()))
    return Shadow(**(stored | {"alters": alters, "triggers": triggers}))


def _modes_of(stored: Json) -> Modes:
    """Earlier versions stored whether texts are converted to a charset that may lack characters, and not to which."""
    narrow = {"connection": "ascii"} if stored.get("narrow") else {}
    return Modes(**({name: fact for name, fact in stored.items() if name != "narrow"} | narrow))


def _table_of(stored: Json) -> SourceTable:
    """Earlier versions stored charsets under the names that the server gave them, and neither unique keys nor generated
    columns nor which one is AUTO_INCREMENT.
    """
    charset = of_today(stored.get("charset"))
    unique, generated = stored.get("unique"), stored.get("generated")
    made = {
        "columns": tuple(map(_column_of, stored["columns"])),
        "charset": charset,
        "unique": None if unique is None else tuple(map(_unique_key_of, unique)),
        "generated": None if generated is None else tuple(map(_generated_of, generated)),
    }
    return SourceTable(**(stored | made))


def _unique_key_of(stored: Json) -> UniqueKey:
    return UniqueKey(name=stored["name"], columns=tuple(stored["columns"]))


def _generated_of(stored: Json) -> GeneratedColumn:
    return GeneratedColumn(**(stored | {"reads": tuple(stored["reads"])}))


def _column_of(stored: Json) -> SourceColumn:
    return SourceColumn(**(stored | {"members": tuple(stored["members"]), "charset": of_today(stored.get("charset"))}))


def plan_json(plan: ChunkPlan) -> Json:
    return asdict(plan)


def plan_of(stored: Json) -> ChunkPlan:
    bounds = tuple(tuple(bound) for bound in stored["bounds"])
    point = None if stored.get("point") is None else position_of(stored["point"])
    made = {"key": tuple(stored["key"]), "bounds": bounds, "point": point, "excerpt": excerpt_of(stored.get("excerpt"))}
    made["points"] = tuple((read, position_of(at)) for read, at in stored.get("points", ()))
    return ChunkPlan(**(stored | made))


def excerpt_json(excerpt: KeyRange | None) -> Json | None:
    return None if excerpt is None else asdict(excerpt)


def excerpt_of(stored: Json | None) -> KeyRange | None:
    return None if stored is None else KeyRange(**(stored | {"columns": tuple(stored["columns"])}))


def fail_json(fail: FailMsg | None) -> Json | None:
    return None if fail is None else asdict(fail)


def fail_of(stored: Json | None) -> FailMsg | None:
    return None if stored is None else FailMsg(**(stored | {"type": FailType(stored["type"])}))


def position_json(position: Position) -> Json:
    return asdict(position)


def position_of(stored: Json) -> Position:
    return Position(**stored)


def files_json(files: Mapping[str, tuple[StagedFile, ...]]) -> Json:
    return {token: [asdict(file) for file in segment] for token, segment in files.items()}


def files_of(stored: Json) -> dict[str, tuple[StagedFile, ...]]:
    return {token: tuple(StagedFile(**file) for file in segment) for token, segment in stored.items()}


def prepared_json(prepared: Mapping[str, Prepared]) -> Json:
    return {
        xid: {
            "files": files_json(one.files),
            "bytes": one.bytes,
            "dead": [asdict(letter) for letter in one.dead],
        }
        for xid, one in prepared.items()
    }


def prepared_of(stored: Json | None) -> dict[str, Prepared]:
    """None: of an epoch from before they were stored, or of one that is not the newest."""
    return {xid: _prepared_of(one) for xid, one in (stored or {}).items()}


def _prepared_of(stored: Json) -> Prepared:
    """Those of the first versions have no dead letters."""
    dead = tuple(DeadLetter(**letter) for letter in stored.get("dead", ()))
    return Prepared(files=files_of(stored["files"]), bytes=stored["bytes"], dead=dead)


def ddl_json(step: DdlStep) -> Json:
    return {
        "statement": step.statement,
        "at": step.at,
        "channels": {token: channel_json(channel) for token, channel in step.channels.items()},
        "changes": {token: changes_json(changes) for token, changes in step.changes.items()},
        "done": dict(step.done),
        "resynced": sorted(step.resynced),
    }


def ddl_of(stored: Json | None) -> DdlStep | None:
    """None: the epoch is one of rows."""
    if stored is None:
        return None
    return DdlStep(
        statement=stored["statement"],
        at=stored["at"],
        channels={token: channel_of(channel) for token, channel in stored["channels"].items()},
        changes={token: changes_of(changes) for token, changes in stored["changes"].items()},
        done=stored["done"],
        resynced=frozenset(stored.get("resynced", ())),
    )


def changes_json(changes: Iterable[LakeChange]) -> list[Json]:
    return [asdict(change) | {"kind": type(change).__name__} for change in changes]


def changes_of(stored: Iterable[Json] | None) -> tuple[LakeChange, ...]:
    return tuple(map(_change_of, stored or ()))


def _change_of(stored: Json) -> LakeChange:
    facts = dict(stored)
    kind = _CHANGES[facts.pop("kind")]
    if "type" in facts:
        facts["type"] = TargetType(name=facts["type"]["name"], args=tuple(facts["type"]["args"]))
    made: LakeChange = kind(**facts)
    return made
