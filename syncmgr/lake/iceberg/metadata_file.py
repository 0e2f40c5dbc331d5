"""A table's metadata file: JSON, or compressed if the table's `write.metadata.compression-codec` is gzip.

Owns: how its bytes are read and written; only its name decides how, as in Iceberg.
Must not know: what the metadata mean.
"""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any, Final

PACKED: Final = (".gz.metadata.json", ".metadata.json.gz")  # the second by writers of old


def read(path: Path) -> dict[str, Any]:
    """Raises OSError; ValueError if it is not whole."""
    content = path.read_bytes()
    try:
        found: dict[str, Any] = json.loads(gzip.decompress(content) if _is_packed(path) else content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"'{path.name}' is not whole: {error}") from error
    return found


def content(path: Path, metadata: dict[str, Any]) -> bytes:
    """What the file at `path` must hold."""
    text = json.dumps(metadata).encode()
    return gzip.compress(text, mtime=0) if _is_packed(path) else text


def _is_packed(path: Path) -> bool:
    return path.name.endswith(PACKED)
