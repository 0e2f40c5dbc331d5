"""All tables of a catalog that no frontend has open, and the files that each names.

Owns: the errors of a walk over them if a file is not as it should be, and the order in which they are rewritten.
Must not know: the caller.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from syncmgr.errors import Code, SyncError
from syncmgr.host.moved_folder import Move, NotMovableError
from syncmgr.lake import lost_writes
from syncmgr.lake.iceberg import catalog_file, metadata_file
from syncmgr.lake.iceberg.catalog_reader import Pointer, RowName
from syncmgr.lake.iceberg.moving import ORDER, rewritten, unmovable
from syncmgr.lake.iceberg.named_files import FileKind, NamedFile, NamedFiles, older
from syncmgr.lake.port import Movable
from syncmgr.lake.spark.launch import CATALOG


class IcebergFiles:
    """The tables of a lake whose files name each other in `named_in`. `at`: where such a file is, by its relative
    path.
    """

    def __init__(self, named_in: Path, at: Callable[[Path], Path]) -> None:
        self._folder = Move(old=named_in, new=named_in)
        self._at = at
        self._tables = NamedFiles(self._read_at)

    def count(self, catalog: Path) -> int:
        return len(catalog_file.pointers(catalog))

    def files(self, catalog: Path) -> frozenset[str]:
        return frozenset(self._files(catalog))

    def previous(self, catalog: Path) -> frozenset[str]:
        return frozenset(self._previous(catalog))

    def drop_views(self, catalog: Path) -> list[str]:
        return catalog_file.drop_views(catalog)

    def move(self, catalog: Path, new: Path, movable: Movable) -> None:
        """Files whose length others record are rewritten first, each once: the metadata of a table may be previous ones
        of another.
        """
        move = Move(old=self._folder.old, new=new)
        files = (self._previous(catalog) | self._files(catalog)).values()
        lengths: dict[str, int] = {}
        for kind in ORDER:
            for named in (each for each in files if each.kind is kind):
                with movable(named.location):
                    path = self.path(named.location)
                    content = rewritten(named, path, move, lengths)
                if content is not None:
                    path.write_bytes(content)
                    lengths[named.location] = len(content)
        with movable(str(catalog)):
            catalog_file.move(catalog, move.moved)
        with movable(lost_writes.NOTE):
            self._move_lost(move)

    def unmovable(self, catalog: Path) -> list[str]:
        """A line for each table. Raises BACKUP_LACKS."""
        found = [self._unmovable(name, pointer) for name, pointer in catalog_file.pointers(catalog).items()]
        places = catalog_file.databases(catalog)
        found += [[f"the location of database '{db}': {why}" for why in self._outside([place])] for db, place in places]
        return [
            reasons[0] if len(reasons) == 1 else f"{reasons[0]}; and {len(reasons) - 1} more like that"
            for reasons in found
            if reasons
        ]

    def _unmovable(self, name: RowName, pointer: Pointer) -> list[str]:
        metadata, found = NamedFile(kind=FileKind.METADATA, location=pointer.location), list[str]()
        with _as_incomplete(_table(name), pointer.location):
            every = self._tables.files(metadata) | self._previous_of(pointer)
        for named in every.values():
            with _as_incomplete(_table(name), named.location):
                reasons = list(unmovable(named, self.path(named.location), self._folder))
            reasons += self._outside(self._tables.mentioned(named.location))
            found += [f"'{named.location}' of {_table(name)}: {why}" for why in reasons]
        previous = [] if pointer.previous is None else [pointer.previous]
        return found + [f"the previous metadata of {_table(name)}: {why}" for why in self._outside(previous)]

    def _outside(self, paths: Iterable[str]) -> list[str]:
        """Why each of those that are not in the folder cannot be moved."""
        found = list[str]()
        for each in paths:
            try:
                self._folder.moved(each)
            except NotMovableError as error:
                found.append(str(error))
        return found

    def _files(self, catalog: Path) -> dict[str, NamedFile]:
        """Of every table, by location. Raises BACKUP_LACKS; FileNotFoundError if one disappeared meanwhile."""
        found: dict[str, NamedFile] = {}
        for name, pointer in catalog_file.pointers(catalog).items():
            metadata = NamedFile(kind=FileKind.METADATA, location=pointer.location)
            with _as_incomplete(_table(name), pointer.location):
                found |= self._tables.files(metadata)
        return found

    def _previous(self, catalog: Path) -> dict[str, NamedFile]:
        """The metadata before the last commits of each table, as far as they exist in the folder: commits delete old
        ones.
        """
        found: dict[str, NamedFile] = {}
        for name, pointer in catalog_file.pointers(catalog).items():
            with _as_incomplete(_table(name), pointer.location):
                found |= self._previous_of(pointer)
        return found

    def _previous_of(self, pointer: Pointer) -> dict[str, NamedFile]:
        locations = older(metadata_file.read(self.path(pointer.location)))
        return {each: NamedFile(kind=FileKind.PREVIOUS, location=each) for each in locations if self._is_there(each)}

    def _is_there(self, location: str) -> bool:
        try:
            return self.path(location).is_file()
        except (FileNotFoundError, NotMovableError):
            return False

    def take(self, catalog: Path) -> None:
        for name, pointer in catalog_file.pointers(catalog).items():
            with _as_incomplete(_table(name), pointer.location):
                self.path(pointer.location)

    def copy_lost(self, catalog: Path, to: Path) -> tuple[Path, Sequence[str]] | None:
        note, lake = to / lost_writes.NOTE, self._folder.old
        there = catalog_file.pointers(catalog).items()
        pointers = {(name.db, name.table): pointer for name, pointer in there if name.catalog == CATALOG}
        try:
            found = lost_writes.read(lake)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):  # a frontend that finds it accepts no commits at all
            note.write_bytes((lake / lost_writes.NOTE).read_bytes())
            return note, (f"tables that '{lake / lost_writes.NOTE}' no longer names",)
        held = [each for each in found if (each.db, each.table) in pointers]
        lost = [e for e in held if not lost_writes.is_later(e, pointers[e.db, e.table], self._folder)]
        if not lost:
            return None
        note.write_text(lost_writes.text(lost))
        return note, [f"table '{each.db}.{each.table}'" for each in lost]

    def _move_lost(self, move: Move) -> None:
        """What cannot be read stays as it is."""
        note = self._at(Path(lost_writes.NOTE))
        with suppress(FileNotFoundError):
            try:
                found = lost_writes.read(note.parent)
            except (ValueError, TypeError):
                return
            note.write_text(lost_writes.text(lost_writes.moved(each, move) for each in found))

    def relative(self, location: str) -> Path:
        return self._folder.relative(location)

    def path(self, location: str) -> Path:
        """Where a named file is."""
        return self._at(self.relative(location))

    def _read_at(self, named: NamedFile) -> Path:
        path = self.path(named.location)
        found = path.stat().st_size
        if named.bytes is not None and found != named.bytes:
            raise ValueError(f"'{named.location}' has {found} of {named.bytes} bytes")
        return path


def _table(name: RowName) -> str:
    return f"table '{name.label}'"


@contextmanager
def _as_incomplete(what: str, location: str) -> Iterator[None]:
    """What it was."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError, LookupError, struct.error) as error:  # the last two: a file that is not whole
        raise SyncError(Code.BACKUP_LACKS, path=location, what=what, reason=error) from error
