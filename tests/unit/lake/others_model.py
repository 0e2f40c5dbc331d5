"""Somebody else who works on the table of the model, and what the table's files say, as the specification has it.

What Spark does for commits and folds is done here by Arrow.
"""

import random
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap

from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.lake.commit import rows as spark_rows
from syncmgr.lake.commit.vectors import POSITIONS
from syncmgr.lake.executors.row_sink import DATA, GONE, KIND, FolderSink
from syncmgr.lake.iceberg.layout import Layout, PartitionField
from syncmgr.lake.iceberg.puffin import puffin, vector_rows
from syncmgr.lake.iceberg.snapshot_files import ContentFile, ContentFiles, contents_of, reaching, vector_of
from syncmgr.lake.index.arrow import arrow_schema
from syncmgr.lake.index.index import DeletedRows
from syncmgr.lake.upkeep.fold import Fold, Key
from tests.unit.lake.iceberg_model import (
    LAYOUT,
    NUMBERS,
    Catalog,
    Change,
    File,
    IcebergModel,
    Table,
    Values,
    as_file,
    data_file,
    values_of,
)

FIRST_OF_OTHERS = 1000
Rows = dict[int, int]
KEY_ID, VALUE_ID = 1, 2
SPECS = (
    (),
    (PartitionField(name="id_bucket", transform="bucket[2]", source_id=KEY_ID, id=1000),),
    (PartitionField(name="id_bucket_3", transform="bucket[3]", source_id=KEY_ID, id=1001),),
    (PartitionField(name="v", transform="identity", source_id=VALUE_ID, id=1002),),
)
IDENTIFIERS = ((KEY_ID,), (), (VALUE_ID,), (KEY_ID, VALUE_ID))
CHANGES = ("order", "spec", "identifier")
Reached = dict[tuple[str | None, int], int]  # when a key was deleted last, by the partition that this reaches


class Others:
    """Somebody who works on rows of his own, and on files whosever rows they hold. He commits in one step.

    `changes`: of the table itself, that he makes, too.
    """

    def __init__(self, catalog: Catalog, dice: random.Random, changes: tuple[str, ...] = ()) -> None:
        self.catalog, self.dice, self.rows = catalog, dice, Rows()
        self.often = 0.0
        of = {"order": [self.order], "spec": [self.spec, self.move], "identifier": [self.identify]}
        self._changes = [deed for change in changes for deed in of[change]]
        self._keys = iter(range(FIRST_OF_OTHERS, 10**9))

    def work(self) -> None:
        """Nothing, one thing, or some in a row."""
        if self.dice.random() < self.often:
            often = [self.insert, self.rewrite]
            deeds = [*often, *often, self.delete, self.upsert, self.expire, *self._changes]
            for _ in range(self.dice.choice((1, 1, 3))):
                self.dice.choice(deeds)()

    def _commit(self, change: Change) -> None:
        self.catalog.meta = self.catalog.meta.after(change, next(NUMBERS))

    def order(self) -> None:
        """The sort order: no file changes, and no snapshot is made."""
        self.catalog.meta = replace(self.catalog.meta, ordered="" if self.catalog.meta.ordered else "v")

    def spec(self) -> None:
        """The partition spec of files that are written from now on."""
        self.catalog.meta = self.catalog.meta.partitioned(*self.dice.choice(SPECS))

    def identify(self) -> None:
        self.catalog.meta = self.catalog.meta.identified(*self.dice.choice(IDENTIFIERS))

    def move(self) -> None:
        """All rows, to partitions by nothing but the key: as 20232 advises."""
        self.catalog.meta = self.catalog.meta.partitioned(*self.dice.choice(SPECS[:3]))
        self.rewrite(1.0)

    def written(self, rows: Rows, layout: Layout | None = None) -> tuple[File, ...]:
        """A file for each partition of the present spec, or another one."""
        layout = layout or self.catalog.meta.layout
        parts: dict[Values, Rows] = {}
        for key, value in rows.items():
            parts.setdefault(values_of(layout, {"id": key, "v": value}), {})[key] = value
        return tuple(self._written(part, layout.spec_id, values) for values, part in parts.items())

    def _written(self, rows: Rows, spec: int, values: Values) -> File:
        path = self.catalog.folder / f"others-{uuid.uuid4()}.parquet"
        columns = [pa.array(rows.keys(), pa.int64()), pa.array(rows.values(), pa.int64())]
        pq.write_table(pa.Table.from_arrays(columns, schema=arrow_schema(LAYOUT.fields)), path)
        return data_file(path, spec, values)

    def insert(self, *keys: int) -> None:
        rows = dict.fromkeys(keys or (next(self._keys), next(self._keys)), -1)
        self.rows |= rows
        self._commit(Change("append", self.written(rows)))

    def rewrite(self, share: float = 0.6) -> None:
        files = list(places(self.catalog))
        chosen = [each for each in files if self.dice.random() < share]
        if not chosen:
            return
        rows = {key: value for _, _, live in chosen for key, value, _ in live}
        gone = [file for file, vector, _ in chosen for file in (file, vector) if file is not None]
        current = self.catalog.meta.current
        assert current is not None
        new = tuple(replace(file, sequence=current.sequence) for file in self.written(rows))
        self._commit(Change("replace", new, tuple(gone)))

    def moving(self, *parts: PartitionField) -> Callable[[], None]:
        """A rewrite of all rows into a spec that the table has left, or has yet to get; the result ends it."""
        before, files = self.catalog.meta, list(places(self.catalog))
        specs = before.partitioned(*parts).specs
        self.catalog.meta = replace(before, specs=specs)
        rows = {key: value for _, _, live in files for key, value, _ in live}
        written = self.written(rows, replace(before.layout, partition=parts, spec_id=specs[parts]))
        assert before.current is not None
        new = tuple(replace(file, sequence=before.current.sequence) for file in written)
        return lambda: self._commit(Change("replace", new, tuple(file for file, _, _ in files)))

    def delete(self) -> None:
        """One row of his, by a vector, or the whole file where it holds nothing else."""
        for file, vector, live in places(self.catalog):
            mine = [(key, row) for key, _, row in live if key in self.rows]
            if not mine:
                continue
            old = () if vector is None else (vector,)
            if len(mine) == len(live):
                self.rows = {key: value for key, value in self.rows.items() if key not in {key for key, _ in mine}}
                self._commit(Change("delete", (), (file, *old)))
                return
            key, row = mine[0]
            del self.rows[key]
            if self.catalog.version < 3:
                self._commit(Change("overwrite", (self._positions(file, row),)))
            else:
                self._commit(Change("overwrite", (self._vector(file, vector, row),), old))
            return

    def _positions(self, file: File, row: int) -> File:
        path = self.catalog.folder / f"others-{uuid.uuid4()}.parquet"
        pq.write_table(pa.table([[file.location()], [row]], schema=POSITIONS), path)
        facts = data_file(path, file.facts["spec-id"], file.facts["partition"]).facts
        return File({**facts, "content": "position-deletes"})

    def _vector(self, file: File, vector: File | None, row: int) -> File:
        dead = dead_rows(vector) | BitMap([row])
        content, where = puffin({file.location(): dead})
        path = self.catalog.folder / f"others-{uuid.uuid4()}.puffin"
        path.write_bytes(content)
        [data] = [each for each in contents(self.catalog).data if each.path == file.location()]
        return as_file(vector_of(data, str(path), len(content), where[file.location()]))

    def upsert(self) -> None:
        """As a stream of Flink does: an equality delete beside the new row. It reaches all partitions."""
        if not self.rows:
            return
        key = self.dice.choice(sorted(self.rows))
        self.rows[key] -= 1
        [gone] = self.written({key: 0}, LAYOUT)
        facts = {**gone.facts, "content": "equality-deletes", "equality-ids": [KEY_ID]}
        self._commit(Change("overwrite", (*self.written({key: self.rows[key]}), File(facts))))

    def expire(self) -> None:
        """All snapshots but the current one."""
        current = self.catalog.meta.current
        if current is not None:
            self.catalog.meta = replace(self.catalog.meta, known={current.id: current})


def contents(catalog: Catalog) -> ContentFiles:
    return contents_of(IcebergModel(Catalog(catalog.folder)), Table(catalog))  # type: ignore[arg-type]


def dead_rows(vector: File | None) -> BitMap:
    if vector is None:
        return BitMap()
    with Path(vector.location()).open("rb") as file:
        file.seek(vector.facts["content-offset"])
        return vector_rows(file.read(vector.facts["content-size-in-bytes"]))


def reached(deletes: Iterable[tuple[str | None, ContentFile]]) -> Reached:
    """By equality deletes, each with the partition that it reaches, None: all."""
    gone: Reached = {}
    for reach, file in deletes:
        for key in pq.read_table(file.path)["id"].to_pylist():
            gone[reach, key] = max(gone.get((reach, key), 0), file.sequence)
    return gone


def is_gone(gone: Reached, file: ContentFile, key: int, lies: Iterable[str] = ()) -> bool:
    """`lies`: where else deletes find its rows than in its own partition."""
    return any(gone.get((reach, key), 0) > file.sequence for reach in (None, file.partition, *lies))


def places(catalog: Catalog) -> Iterator[tuple[File, File | None, list[tuple[int, int, int]]]]:
    """Each data file with its vector and its live rows (key, value, row), as the specification says."""
    files = catalog.meta.files.values()
    vectors = {f.facts["referenced-data-file"]: f for f in files if "referenced-data-file" in f.facts}
    positions = [f for f in files if f.facts["content"] == "position-deletes" and "referenced-data-file" not in f.facts]
    struck = [(p, each) for f in positions for each in pq.read_table(f.location()).to_pylist() for p in [f.sequence]]
    seen = contents(catalog)
    gone, by_path = reached((file.reach, file) for file in seen.equality), {file.path: file for file in seen.data}
    for file in files:
        if file.is_data:
            vector = vectors.get(file.location())
            dead, rows = dead_rows(vector), pq.read_table(file.location())
            dead |= BitMap(
                each["pos"] for at, each in struck if each["file_path"] == file.location() and at >= file.sequence
            )
            pairs = zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True)
            live = [
                (key, value, row)
                for row, (key, value) in enumerate(pairs)
                if row not in dead and not is_gone(gone, by_path[file.location()], key)
            ]
            yield file, vector, live


@contextmanager
def without_spark() -> Iterator[None]:
    """Arrow writes what Spark would write, and finds what it would find."""
    with patch.object(spark_rows, "write", _write), patch.object(Fold, "_found", _found):
        yield


def _write(_spark: object, channel: ChannelCommit, layout: Layout, writing: spark_rows.WriteSpec) -> None:
    """The last image of each key, and where they are wanted the keys that vanish."""
    staged = [row for file in channel.files for row in pq.read_table(file.path).to_pylist()]
    last = {row["id"]: row for row in sorted(staged, key=lambda row: row[SEQ])}
    _save([row for row in last.values() if row[OP] != ChangeKind.DELETE], DATA, layout, writing)
    if writing.gone:
        _save(list(last.values()), GONE, layout, writing)


def folder_of(writing: spark_rows.WriteSpec) -> str:
    assert isinstance(writing.sink, FolderSink)
    return writing.sink.folder


def _save(rows: list[dict[str, int]], kind: int, layout: Layout, writing: spark_rows.WriteSpec) -> None:
    parts: dict[Values, list[dict[str, int]]] = {}
    for row in rows:
        parts.setdefault(values_of(layout, row), []).append(row)
    for values, those in parts.items():
        names = (f"/syncmgr_p{place}=x{str(value).encode().hex()}" for place, value in enumerate(values))
        folder = Path(f"{folder_of(writing)}/{KIND}={kind}{''.join(names)}")
        folder.mkdir(parents=True, exist_ok=True)
        columns = [pa.array([row[name] for row in those], pa.int64()) for name in ("id", "v")]
        table = pa.Table.from_arrays(columns, schema=arrow_schema(layout.fields))
        pq.write_table(table, folder / f"{uuid.uuid4()}.parquet")


def _found(_self: Fold, _table: Table, _key: Key, gone: list[ContentFile], of: ContentFiles) -> Mapping[int, BitMap]:
    """The rows that equality deletes hit, by the place of their file."""
    hit, when = DeletedRows(), reached(reaching(of, gone))
    for number, file in enumerate(of.data):
        keys = pq.read_table(file.path)["id"].to_pylist()
        dead = [row for row, key in enumerate(keys) if is_gone(when, file, key, file.lies)]
        if dead:
            hit[number] = BitMap(dead)
    return hit
