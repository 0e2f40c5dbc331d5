"""The key index of a table on disk, so that a restart does not have to read the table.

Owns: the files of one folder. They are never fsynced: each is checked when it is read, and dropped if it is wrong.
Must not know: when an index is saved, whether it still fits its table.
"""

import json
import logging
import shutil
import threading
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyroaring import BitMap

from syncmgr.lake.iceberg.snapshot_files import ContentFile
from syncmgr.lake.index.index import IndexedFile, TableIndex, unsettled
from syncmgr.lake.index.key_index import KeyIndex, KeyNumbers, SortedRun, Words
from syncmgr.lake.index.keys import KeyShape

VERSION: Final = 2
HEAD: Final = "index.json"

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexImage:
    """A table's index as it was at one moment; nothing in it changes any more."""

    snapshot: int | None
    runs: tuple[SortedRun, ...]
    files: Mapping[int, tuple[ContentFile, ContentFile | None, bytes]]  # data file, vector, its dead rows
    pending: Mapping[int, bytes]
    equality: tuple[ContentFile, ...]


def picture(index: TableIndex) -> IndexImage:
    """To be called while the index is not being changed; `save` may then take its time."""
    return IndexImage(
        snapshot=index.snapshot,
        runs=index.keys.runs,
        files={n: (file.content, file.vector, file.dead.serialize()) for n, file in index.files.items()},
        pending={number: rows.serialize() for number, rows in index.pending.items()},
        equality=index.equality,
    )


class IndexStore:
    """One table's index in `folder`. `table`: its UUID, which no other table ever has."""

    def __init__(self, folder: Path, table: str) -> None:
        self._folder = folder
        self._table = table
        self._saved: dict[int, tuple[SortedRun, dict[str, Any]]] = {}  # by id of the run, which it keeps alive
        self._writing = threading.Lock()

    def save(self, taken: IndexImage, shape: KeyShape) -> None:
        """Writes only runs that were not written before. From any thread. Raises OSError."""
        with self._writing:
            self._save(taken, shape)

    def _save(self, taken: IndexImage, shape: KeyShape) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._saved = {id(run): (run, self._written(run)) for run in taken.runs}
        dead = b"".join(rows for _, _, rows in taken.files.values()) + b"".join(taken.pending.values())
        name = self._write("dead", dead)
        head = {
            "table": self._table,
            "snapshot": taken.snapshot,
            "shape": _shape_text(shape),
            "seed": shape.seed,
            "runs": [self._saved[id(run)][1] for run in taken.runs],
            "dead": {"file": name, "crc": zlib.crc32(dead)},
            "files": [
                [number, _content(file), None if vector is None else _content(vector), len(rows)]
                for number, (file, vector, rows) in taken.files.items()
            ],
            "pending": [[number, len(rows)] for number, rows in taken.pending.items()],
            "equality": [_content(file) for file in taken.equality],
        }
        text = json.dumps(head)
        whole = json.dumps({"version": VERSION, "crc": zlib.crc32(text.encode()), "head": text})
        temporary = self._folder / f"{HEAD}.new"
        temporary.write_text(whole, encoding="utf-8")
        temporary.replace(self._folder / HEAD)
        self._sweep({name, HEAD, *(saved["file"] for _, saved in self._saved.values())})

    def _written(self, run: SortedRun) -> dict[str, Any]:
        if id(run) in self._saved:
            return self._saved[id(run)][1]
        arrays = [run.keys.high, run.at] + ([] if run.keys.low is None else [run.keys.low])
        data = b"".join(np.ascontiguousarray(array, "<i8").tobytes() for array in arrays)
        return {"file": self._write("run", data), "rows": len(run), "arrays": len(arrays), "crc": zlib.crc32(data)}

    def _write(self, kind: str, data: bytes) -> str:
        name = f"{kind}-{uuid.uuid4().hex}"
        (self._folder / name).write_bytes(data)
        return name

    def _sweep(self, kept: set[str]) -> None:
        for path in self._folder.iterdir():
            if path.name not in kept:
                path.unlink()

    def load(self, shape: KeyShape) -> TableIndex | None:
        """What was saved last, None if there is nothing or something is wrong with it, which is logged."""
        if not (self._folder / HEAD).exists():
            return None
        try:
            return self._loaded(shape)
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            log.warning("the key index in %s is dropped and built again: %s", self._folder, error)
            self.drop()
            return None

    def drop(self) -> None:
        self._saved = {}
        shutil.rmtree(self._folder, ignore_errors=True)

    def _loaded(self, shape: KeyShape) -> TableIndex:
        whole = json.loads((self._folder / HEAD).read_text(encoding="utf-8"))
        if whole["version"] != VERSION:
            raise ValueError(f"its version is {whole['version']}, not {VERSION}")
        if zlib.crc32(whole["head"].encode()) != whole["crc"]:
            raise ValueError("its head is torn")
        head = json.loads(whole["head"])
        if (head["table"], head["shape"]) != (self._table, _shape_text(shape)):
            raise ValueError("it is of another table or key")
        index = TableIndex(replace(shape, seed=head["seed"]))
        index.advanced(None, head["snapshot"], lambda: self._fill(index, head))
        return index

    def _fill(self, index: TableIndex, head: Mapping[str, Any]) -> None:
        runs = tuple(self._run(saved) for saved in head["runs"])
        self._saved = {id(run): (run, saved) for run, saved in zip(runs, head["runs"], strict=True)}
        index.keys = KeyIndex(runs)
        self._take_files(index, head)
        index.equality = tuple(ContentFile(**file) for file in head["equality"])

    def _take_files(self, index: TableIndex, head: Mapping[str, Any]) -> None:
        dead = (self._folder / head["dead"]["file"]).read_bytes()
        if zlib.crc32(dead) != head["dead"]["crc"]:
            raise ValueError("its deleted rows are torn")
        at = 0
        for number, content, vector, size in head["files"]:
            rows, at = BitMap.deserialize(dead[at : at + size]), at + size
            known = None if vector is None else ContentFile(**vector)
            index.files[number] = IndexedFile(content=ContentFile(**content), vector=known, dead=rows)
            index.numbers[content["path"]] = number
        for number, size in head["pending"]:
            index.pending[number], at = BitMap.deserialize(dead[at : at + size]), at + size
        index.pending = unsettled(index.pending, index.files)  # earlier versions kept what was settled

    def _run(self, saved: Mapping[str, Any]) -> SortedRun:
        """Mapped: only what a lookup touches is loaded into memory."""
        rows, path = saved["rows"], self._folder / saved["file"]
        if path.stat().st_size != rows * saved["arrays"] * 8:
            raise ValueError(f"{path.name} has the wrong size")
        data: Words = np.memmap(path, "<i8", "r", shape=(saved["arrays"], rows)) if rows else np.zeros((3, 0), np.int64)
        if zlib.crc32(data.data) != saved["crc"]:
            raise ValueError(f"{path.name} is torn")
        low = data[2] if saved["arrays"] == 3 else None
        return SortedRun(keys=KeyNumbers(high=data[0], low=low), at=data[1])


def _content(file: ContentFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "rows": file.rows,
        "bytes": file.bytes,
        "sequence": file.sequence,
        "text": file.text,
    }


def _shape_text(shape: KeyShape) -> str:
    return json.dumps([[field.id, field.type] for field in shape.fields])
