"""The tables of a catalog as a format of the tests saves them: small JSON files that name each other.

Owns: what `lake.port.SavedTables` promises, of files that hold numbers.
Must not know: Iceberg, backups.

The catalog is a file of SQLite. A table's metadata are {"files": {path: bytes}, "previous": [path], "place": path}.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from syncmgr.errors import Code, SyncError
from syncmgr.host.moved_folder import Move, NotMovableError
from syncmgr.lake.port import Movable

NOTE = "lost.json"  # the names of tables


def make_catalog(catalog: Path) -> None:
    with closing(sqlite3.connect(catalog)) as connection, connection:
        connection.execute("CREATE TABLE tables (name TEXT PRIMARY KEY, metadata TEXT)")
        connection.execute("CREATE TABLE views (name TEXT PRIMARY KEY)")


def put(catalog: Path, name: str, metadata: Path) -> None:
    with closing(sqlite3.connect(catalog)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO tables VALUES (?, ?)", (name, str(metadata)))


class MemorySaved:
    """`named_in`: the folder of the paths. `at`: where such a file is, by its relative path."""

    def __init__(self, named_in: Path, at: Callable[[Path], Path]) -> None:
        self._folder, self._at = Move(old=named_in, new=named_in), at

    def count(self, catalog: Path) -> int:
        return len(self._tables(catalog))

    def files(self, catalog: Path) -> frozenset[str]:
        found = set[str]()
        for name, location in self._tables(catalog).items():
            found.add(location)
            with _lacking(name, location):
                lengths = self._metadata(location)["files"]
            for each, length in lengths.items():
                found.add(each)
                with _lacking(name, each):
                    if self._path(each).stat().st_size != length:
                        raise ValueError(f"it has not {length} bytes")
        return frozenset(found)

    def previous(self, catalog: Path) -> frozenset[str]:
        found = list[str]()
        for name, location in self._tables(catalog).items():
            with _lacking(name, location):
                found += self._metadata(location)["previous"]
        return frozenset(each for each in found if self._path(each).exists())

    def take(self, catalog: Path) -> None:
        for name, location in self._tables(catalog).items():
            with _lacking(name, location):
                self._path(location).stat()

    def unmovable(self, catalog: Path) -> list[str]:
        found = list[str]()
        for name, location in self._tables(catalog).items():
            try:
                self._folder.moved(self._metadata(location)["place"])
            except NotMovableError as error:
                found.append(f"table '{name}': {error}")
        return found

    def relative(self, location: str) -> Path:
        return self._folder.relative(location)

    def copy_lost(self, catalog: Path, to: Path) -> tuple[Path, Sequence[str]] | None:
        note = self._folder.old / NOTE
        lost = json.loads(note.read_text()) if note.exists() else []
        held = [name for name in self._tables(catalog) if name in lost]
        if not held:
            return None
        (to / NOTE).write_text(json.dumps(held))
        return to / NOTE, [f"table '{name}'" for name in held]

    def drop_views(self, catalog: Path) -> list[str]:
        with closing(sqlite3.connect(catalog)) as connection, connection:
            found = [name for (name,) in connection.execute("SELECT name FROM views ORDER BY name")]
            connection.execute("DELETE FROM views")
        return found

    def move(self, catalog: Path, new: Path, movable: Movable) -> None:
        move = Move(old=self._folder.old, new=new)
        tables = self._tables(catalog)
        for location in {*tables.values(), *self.previous(catalog)}:
            with movable(location):
                now = self._metadata(location)
                now["files"] = {move.moved(each): length for each, length in now["files"].items()}
                now["previous"] = [move.moved(each) for each in now["previous"]]
                now["place"] = move.moved(now["place"])
                self._path(location).write_text(json.dumps(now))
        for name, location in tables.items():
            with movable(str(catalog)):
                put(catalog, name, Path(move.moved(location)))

    def _tables(self, catalog: Path) -> dict[str, str]:
        with closing(sqlite3.connect(catalog)) as connection:
            return dict(connection.execute("SELECT name, metadata FROM tables ORDER BY name").fetchall())

    def _metadata(self, location: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._path(location).read_text())
        return found

    def _path(self, location: str) -> Path:
        return self._at(self.relative(location))


@contextmanager
def _lacking(name: str, location: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError, LookupError) as error:
        raise SyncError(Code.BACKUP_LACKS, path=location, what=f"table '{name}'", reason=error) from error


class MemoryWriter:
    """What has such a table open: each commit makes a file of numbers, and metadata that name all of them."""

    def __init__(self, lake: Path, name: str) -> None:
        self.catalog, self._folder, self._name = lake / "catalog.db", lake / name, name
        self._folder.mkdir(parents=True)
        if not self.catalog.exists():
            make_catalog(self.catalog)
        self.commit()

    def commit(self, *numbers: int, place: Path | None = None) -> None:
        before = newest(self.catalog, self._name)
        known = {"files": {}, "previous": []} if before is None else json.loads(before.read_text())
        version = len(list(self._folder.glob("*.metadata")))
        data = self._folder / f"{version}.data"
        data.write_text(json.dumps(numbers))
        metadata = self._folder / f"{version}.metadata"
        now = {
            "files": {**known["files"], str(data): data.stat().st_size},
            "previous": [*known["previous"], *([] if before is None else [str(before)])],
            "place": str(place or self._folder),
        }
        metadata.write_text(json.dumps(now))
        put(self.catalog, self._name, metadata)


def newest(catalog: Path, name: str) -> Path | None:
    with closing(sqlite3.connect(catalog)) as connection:
        found = connection.execute("SELECT metadata FROM tables WHERE name = ?", (name,)).fetchone()
    return None if found is None else Path(found[0])


def numbers_of(catalog: Path, name: str) -> list[int]:
    """What a reader finds who goes by the paths alone."""
    metadata = newest(catalog, name)
    assert metadata is not None
    return [
        number for file in json.loads(metadata.read_text())["files"] for number in json.loads(Path(file).read_text())
    ]
