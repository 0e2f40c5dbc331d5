"""A table's metadata file: JSON, or compressed if the table's `write.metadata.compression-codec` is gzip.

Owns: how its bytes are read and written; only its name decides how, as in Iceberg.
Must not know: what the metadata mean.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

HEAD_BYTES: Final = 4096  # Iceberg writes the uuid before anything that grows
PACKED: Final = (".gz.metadata.json", ".metadata.json.gz")  # the second by writers of old


def read(path: Path) -> dict[str, Any]:
    """Raises OSError; ValueError if it is not whole."""
    content = path.read_bytes()
    with _whole(path):
        found: dict[str, Any] = json.loads(gzip.decompress(content) if _is_packed(path) else content)
    return found


def uuid(path: Path) -> str:
    """Of the table: that of all names that it has. Raises as `read`."""
    with _whole(path), (gzip.open if _is_packed(path) else open)(path, "rb") as file:
        found = re.search(rb'"table-uuid"\s*:\s*"([^"]+)"', file.read(HEAD_BYTES))
    if found is not None:
        return found[1].decode()
    try:
        return str(read(path)["table-uuid"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"'{path.name}' names no table") from error


def content(path: Path, metadata: dict[str, Any]) -> bytes:
    """What the file at `path` must hold."""
    text = json.dumps(metadata).encode()
    return gzip.compress(text, mtime=0) if _is_packed(path) else text


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"'{path.name}' is not whole: {error}") from error


def _is_packed(path: Path) -> bool:
    return path.name.endswith(PACKED)
