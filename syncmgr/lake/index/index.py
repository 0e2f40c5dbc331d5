"""The key index of one table: the row and data file of each key, as of exactly one snapshot.

Owns: following the table from snapshot to snapshot, and what must be deleted when keys vanish.
Must not know: commits, jobs, where the index is kept between starts, Java.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from syncmgr.lake.iceberg.snapshot_files import ContentFile, ContentFiles, reaching
from syncmgr.lake.index.dead_rows import position_deletes, read_vector
from syncmgr.lake.index.key_index import NOWHERE, KeyIndex, KeyNumbers, Words, files_of, joined, places, rows_of
from syncmgr.lake.index.keys import KeyShape, UnindexableError, file_keys

DeletedRows = dict[int, BitMap]  # rows that must vanish, by file number
Vanished = Mapping[
    str | None, tuple[KeyNumbers, Words]
]  # last deletes of keys, by the partition that they reach, None: all
BEYOND: Final = np.iinfo(np.int64).max
READ_AT_ONCE: Final = 4_000_000  # keys of new files that are held in addition to the index


@dataclass(kw_only=True, slots=True)
class IndexedFile:
    """A data file of the table. `dead`: its deleted rows, those of `vector` or of position deletes."""

    content: ContentFile
    dead: BitMap = field(default_factory=BitMap)
    vector: ContentFile | None = None

    @property
    def alive(self) -> NDArray[np.bool_]:
        """For each row whether it is not deleted."""
        alive = np.ones(self.content.rows, np.bool_)
        alive[np.array(self.dead, np.int64)] = False
        return alive


@dataclass(frozen=True, kw_only=True, slots=True)
class DeletePlan:
    """What a commit does to files: `emptied` are removed, `vectors` hold all dead rows of each, `folded` are
    settled.
    """

    rows: DeletedRows
    emptied: tuple[IndexedFile, ...]
    vectors: Mapping[int, BitMap]
    replaced: tuple[ContentFile, ...]
    folded: tuple[ContentFile, ...]


class RolledBackError(Exception):
    """Rows that were deleted exist again."""


class TableIndex:
    """Not thread-safe. It is valid for `snapshot` only; None: for a table that has none. One that is `lost` is not
    valid at all. `place`: of the table, None: not known; one that is moved has other paths in the same snapshot.

    `pending`: rows that equality deletes of the snapshot hit; the next commit turns them into vectors.
    """

    def __init__(self, shape: KeyShape) -> None:
        self.shape = shape
        self.keys = KeyIndex()
        self.files: dict[int, IndexedFile] = {}
        self.numbers: dict[str, int] = {}
        self._snapshot: int | None = None
        self.place: str | None = None
        self.lost = False
        self.pending: DeletedRows = {}
        self.equality: tuple[ContentFile, ...] = ()

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes

    @property
    def snapshot(self) -> int | None:
        return self._snapshot

    def advanced(self, before: int | None, snapshot: int | None, how: Callable[[], None]) -> None:
        """It is valid for `snapshot` once `how` has changed it; nothing else may set that.

        `before`: the snapshot from which `how` leads there; for a commit the parent of its snapshot. If the index is
        valid for another one, there was a commit in between that Iceberg let pass: it is not valid and must follow. The
        same if `how` fails.
        """
        leads = not self.lost and self._snapshot == before
        self.lose()
        if leads:
            how()
            self._snapshot, self.lost = snapshot, False

    def lose(self) -> None:
        """The present state of the table is unknown."""
        self._snapshot, self.lost = None, True

    def distance(self, contents: ContentFiles) -> int:
        """How many rows must be read to follow to that state."""
        new = sum(file.rows for file in contents.data if file.path not in self.numbers)
        known = {file.path for file in self.equality}
        return new + sum(file.rows for file in contents.equality if file.path not in known)

    def follow(self, contents: ContentFiles) -> None:
        """Makes it valid for another snapshot; only keys of files that are new to it are read.

        Raises RolledBackError, UnindexableError; then it is not valid and must be rebuilt.
        """
        self.lost = False  # whatever the state, this leads there
        self.advanced(self._snapshot, contents.snapshot, lambda: self._take_over(contents))
        self.place = contents.place

    def _take_over(self, contents: ContentFiles) -> None:
        dead = self._dead_rows(contents)
        self._refuse_return(contents, dead)
        self._forget(contents, dead)
        vanished = self._vanished(contents)
        self.equality = contents.equality
        self._strike_known(vanished)
        new = sorted((file for file in contents.data if file.path not in self.numbers), key=lambda file: file.sequence)
        for batch in _batches(new):
            self._take_in(batch, dead, contents, vanished)

    def _dead_rows(self, contents: ContentFiles) -> dict[str, BitMap]:
        """Deleted rows of every data file whose deletes are not yet known."""
        by_position = position_deletes(contents)
        dead: dict[str, BitMap] = {}
        for content in contents.data:
            vector, positions = contents.vectors.get(content.path), by_position.get(content.path)
            if positions is None and self._is_known(content.path, vector):
                continue
            rows = BitMap() if vector is None else read_vector(vector, contents)
            dead[content.path] = rows if positions is None else rows | positions
        return dead

    def _is_known(self, path: str, vector: ContentFile | None) -> bool:
        if path not in self.numbers:
            return False
        file = self.files[self.numbers[path]]
        if vector is None or file.vector is None:
            return vector is file.vector and not file.dead
        return vector.place == file.vector.place

    def _refuse_return(self, contents: ContentFiles, dead: Mapping[str, BitMap]) -> None:
        """Rows that were dead and live again, after a rollback: their keys are no longer in the index."""
        there = {file.path for file in contents.data}
        left = {file.path for file in contents.equality}
        folded = any(file.path not in left for file in self.equality)
        for number, file in self.files.items():
            if file.content.path in there:
                struck = self.pending.get(number, BitMap()) if folded else BitMap()
                if not dead.get(file.content.path, file.dead).issuperset(file.dead | struck):
                    raise RolledBackError

    def _forget(self, contents: ContentFiles, dead: Mapping[str, BitMap]) -> None:
        """Entries for removed files, and for rows that others deleted, lead nowhere."""
        there = {file.path for file in contents.data}
        gone = {number for path, number in self.numbers.items() if path not in there}
        changed = {self.numbers[path]: rows for path, rows in dead.items() if path in self.numbers}
        newly = {number: rows for number, rows in changed.items() if rows != self.files[number].dead}
        self._move(gone | newly.keys(), lambda at: _where_alive(at, gone, newly))
        for number in gone:
            del self.numbers[self.files.pop(number).content.path]
        for number, rows in changed.items():
            file = self.files[number]
            file.dead, file.vector = rows, contents.vectors.get(file.content.path)
        self.pending = unsettled(self.pending, self.files)

    def _move(self, numbers: Iterable[int], translate: Callable[[Words], Words]) -> None:
        concerned = list(numbers)
        if concerned:
            mask = np.zeros(max(concerned) + 1, np.bool_)
            mask[concerned] = True
            self.keys.move(mask, translate)

    def _vanished(self, contents: ContentFiles) -> Vanished:
        wanted = {field.id for field in self.shape.fields}
        if any(set(file.facts["equality-ids"]) != wanted for file in contents.equality):
            raise UnindexableError("another writer left equality deletes over other columns than the key")
        refuse_unknown_reach(contents)
        groups: dict[str | None, list[ContentFile]] = {}
        for reach, file in reaching(contents, contents.equality):
            groups.setdefault(reach, []).append(file)
        return {reach: _last_deletes(files, contents, self.shape) for reach, files in groups.items()}

    def _strike_known(self, vanished: Vanished) -> None:
        """Indexed rows that an equality delete hits are dead."""
        for reach, (keys, sequences) in vanished.items():
            at = self.keys.find(keys)
            there = at != NOWHERE
            numbers, at_file = np.unique(files_of(at[there]), return_inverse=True)
            files = [self.files[int(number)].content for number in numbers]
            written = np.array([f.sequence if reach in {None, *f.lies} else BEYOND for f in files], np.int64)
            hit = np.flatnonzero(there)[written[at_file] < sequences[there]]
            self._add_pending(at[hit])
            self.keys.add(keys.take(hit), np.full(len(hit), NOWHERE, np.int64))

    def _add_pending(self, at: Words) -> None:
        for number, rows in grouped(at).items():
            self.pending[number] = self.pending.get(number, BitMap()) | rows

    def _take_in(
        self,
        batch: Sequence[ContentFile],
        dead: Mapping[str, BitMap],
        contents: ContentFiles,
        vanished: Vanished,
    ) -> None:
        """New files. A key that already has a live row would exist twice: then it is undecidable which row is meant."""
        deletes = {reach: _looked_up(*of) for reach, of in vanished.items()}
        taken = [
            self._alive(each, *self._rows_of(each, dead.get(each.path, BitMap()), contents), deletes) for each in batch
        ]
        keys = joined([part for part, _ in taken])
        at = np.concatenate([part for _, part in taken])
        order = keys.order()
        keys, at = keys.take(order), at[order]
        twice = int(keys.repeats().sum()) + int((self.keys.find(keys) != NOWHERE).sum())
        if twice:
            raise UnindexableError(f"{twice} keys are in the table more than once")
        self.keys.add(keys, at)

    def _alive(
        self, content: ContentFile, keys: KeyNumbers, at: Words, deletes: Mapping[str | None, KeyIndex]
    ) -> tuple[KeyNumbers, Words]:
        """The rows of a new file that no equality delete hits."""
        for reach in {None, *content.lies} & deletes.keys():
            alive = content.sequence >= deletes[reach].find(keys)  # NOWHERE is less than any number
            self._add_pending(at[~alive])
            keys, at = keys.take(alive), at[alive]
        return keys, at

    def _rows_of(self, content: ContentFile, dead: BitMap, contents: ContentFiles) -> tuple[KeyNumbers, Words]:
        keys = _keys_of(content, contents, self.shape)
        if len(keys) != content.rows:
            raise UnindexableError(
                f"{content.path} has {len(keys)} rows where the table's metadata says {content.rows}"
            )
        number = self.number(content, dead, contents.vectors.get(content.path))
        alive = self.files[number].alive
        return keys.take(alive), places(number, np.flatnonzero(alive))

    def number(self, content: ContentFile, dead: BitMap, vector: ContentFile | None) -> int:
        """The lowest number that no file has: numbers of removed files are reused."""
        number = len(self.files)
        if number in self.files:
            number = next(free for free in range(number) if free not in self.files)
        self.files[number] = IndexedFile(content=content, dead=dead, vector=vector)
        self.numbers[content.path] = number
        return number

    def strike(self, vanished: KeyNumbers | None) -> tuple[DeletePlan, Words]:
        """The strike that deletes the rows of these keys and all pending ones, and where each key was found. Changes
        nothing.
        """
        at = np.zeros(0, np.int64) if vanished is None else self.keys.find(vanished)
        rows = grouped(at[at != NOWHERE])
        for number, more in self.pending.items():
            rows[number] = rows.get(number, BitMap()) | more
        total = {number: self.files[number].dead | more for number, more in rows.items()}
        emptied = [number for number, dead in total.items() if len(dead) == self.files[number].content.rows]
        vectors = {number: dead for number, dead in total.items() if number not in set(emptied)}
        old = [self.files[number].vector for number in total]
        return DeletePlan(
            rows=rows,
            emptied=tuple(self.files[number] for number in emptied),
            vectors=vectors,
            replaced=tuple(vector for vector in old if vector is not None),
            folded=self.equality,
        ), at

    def vanish(self, keys: KeyNumbers) -> None:
        """Distinct keys whose rows a commit struck."""
        self.keys.add(keys, np.full(len(keys), NOWHERE, np.int64))

    def struck(self, strike: DeletePlan, vectors: Mapping[int, ContentFile]) -> None:
        """The commit of a strike is in the table. `vectors`: the new delete files by file number."""
        for number, dead in strike.vectors.items():
            self.files[number].dead, self.files[number].vector = dead, vectors.get(number)
        for file in strike.emptied:  # entries that lead into it are hidden by newer ones until both go in a merge
            del self.files[self.numbers.pop(file.content.path)]
        self.pending, self.equality = {}, ()

    def move_rows(self, files: Mapping[int, Words], target: int | None) -> None:
        """Files were copied into `target`, None if no row was left. By file number: for each row its place in the copy,
        NOWHERE for one that was not copied.
        """

        def translate(at: Words) -> Words:
            moved = np.full(len(at), NOWHERE, np.int64)
            numbers, rows = files_of(at), rows_of(at)
            for number, new in files.items():
                here = np.flatnonzero((numbers == number) & (rows < len(new)))  # hidden entries may lead beyond its end
                there = here[new[rows[here]] != NOWHERE]
                if target is not None:
                    moved[there] = places(target, new[rows[there]])
            return moved

        self._move(files, translate)
        for number in files:
            del self.numbers[self.files.pop(number).content.path]

    def added(self, written: Sequence[tuple[ContentFile, KeyNumbers]]) -> None:
        """Data files that the same commit added, with the keys of their rows, which no other live row has."""
        for content, keys in written:
            number = self.number(content, BitMap(), None)
            self.keys.add(keys, places(number, np.arange(len(keys), dtype=np.int64)))


def unsettled(pending: DeletedRows, files: Mapping[int, IndexedFile]) -> DeletedRows:
    """What is left of pending rows: those that are not dead yet, in existing files."""
    left = {number: rows - files[number].dead for number, rows in pending.items() if number in files}
    return {number: rows for number, rows in left.items() if rows}


def grouped(at: Words) -> DeletedRows:
    """Places as rows by file number."""
    if not len(at):
        return {}
    ordered = np.sort(at)
    numbers, starts = np.unique(files_of(ordered), return_index=True)
    ends = [*starts[1:].tolist(), len(ordered)]
    rows = rows_of(ordered)
    return {
        int(number): BitMap(rows[start:end])
        for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True)
    }


def _where_alive(at: Words, gone: set[int], dead: Mapping[int, BitMap]) -> Words:
    """Places as they are, NOWHERE for removed files and dead rows."""
    moved = np.array(at)
    numbers, rows = files_of(at), rows_of(at)
    for number in np.unique(numbers).tolist():
        here = np.flatnonzero(numbers == number)
        if number in gone:
            moved[here] = NOWHERE
        else:
            moved[here[np.isin(rows[here], np.array(dead[number], np.uint32))]] = NOWHERE
    return moved


def _last_deletes(equality: Sequence[ContentFile], contents: ContentFiles, shape: KeyShape) -> tuple[KeyNumbers, Words]:
    """The keys of equality deletes, sorted and distinct, each with the last sequence number that deletes it."""
    parts = [(_keys_of(file, contents, shape), file.sequence) for file in equality]
    keys = joined([part for part, _ in parts])
    sequences = np.concatenate([np.full(len(part), sequence, np.int64) for part, sequence in parts])
    order = np.argsort(-sequences, kind="stable")
    keys, sequences = keys.take(order), sequences[order]
    order = keys.order()  # stable: the highest sequence number of each key comes first
    keys, sequences = keys.take(order), sequences[order]
    first = ~keys.repeats()
    return keys.take(first), sequences[first]


def _keys_of(file: ContentFile, contents: ContentFiles, shape: KeyShape) -> KeyNumbers:
    with contents.reader.whole(file.path) as path:
        return file_keys(path, shape)


def refuse_unknown_reach(contents: ContentFiles) -> None:
    """Raises UnindexableError if the partition of an equality delete has no value: if its spec has nothing but what
    format v1 leaves of removed fields, it reaches all partitions, and otherwise that of NULL.
    """
    unknown = {f.partition for f in contents.equality if f.reach and set(f.facts["partition"]) == {None}}
    if unknown and unknown != {file.partition for file in contents.data}:
        raise UnindexableError("another writer left equality deletes in a partition of NULL")


def _looked_up(keys: KeyNumbers, sequences: Words) -> KeyIndex:
    deletes = KeyIndex()
    deletes.add(keys, sequences)
    return deletes


def _batches(files: Sequence[ContentFile]) -> Iterable[list[ContentFile]]:
    batch: list[ContentFile] = []
    for file in files:
        batch.append(file)
        if sum(each.rows for each in batch) >= READ_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
